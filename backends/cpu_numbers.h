/* cpu_numbers.h - all that is known to do with numbers of type T; included once for each. */
#include "cdevice/kernels/arith.h"
#include "cdevice/kernels/compare.h"
#include "cdevice/kernels/reduce.h"
#ifndef CPU_NO_CASTS
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
#include "cdevice/kernels/cast_bool.h"
#define TEXT "cdevice/kernels/cast.h"
#include "cpu_each_integer.h"
#undef TEXT
#define S f32
#include "cdevice/kernels/cast.h"
#undef S
#define S f64
#include "cdevice/kernels/cast.h"
#undef S
#define S f16
#include "cdevice/kernels/cast.h"
#undef S
#if !OF(IS_FLOAT, T)
#define S w128
#include "cdevice/kernels/rescale.h"
#undef S
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
