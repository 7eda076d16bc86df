/* reals.h - functions of floats, as loops that are done several rows at once: GCC does so where no flag
 * has to tell which operations of a row were invalid. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math")
#endif
#include "cdevice/kernels/math/rounder.h"
#include "cdevice/kernels/math/reals.h"
#define T f32
#include "cdevice/kernels/math/angles.h"
#include "cdevice/kernels/math/exponential.h"
#include "cdevice/kernels/math/hyperbolic.h"
#include "cdevice/kernels/math/pairs.h"
#undef T
#define T f64
#include "cdevice/kernels/math/angles.h"
#include "cdevice/kernels/math/exponential.h"
#include "cdevice/kernels/math/hyperbolic.h"
#include "cdevice/kernels/math/pairs.h"
#undef T
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
