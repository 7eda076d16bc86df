/* numbers.h - all that is known to do with numbers of type T; included once for each. */
#include "cdevice/kernels/scalar/arith.h"
#include "cdevice/kernels/scalar/compare.h"
#include "cdevice/kernels/aggregate/reduce.h"
#include "cdevice/kernels/aggregate/moments.h"
#include "cdevice/kernels/scan/running.h"
#include "cdevice/kernels/group_by/accumulate.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math") /* see reals.h */
#endif
#include "cdevice/kernels/math/pick.h"
#include "cdevice/kernels/aggregate/list_reduce.h"
#include "cdevice/kernels/math/rounding.h"
#if !OF(IS_FLOAT, T)
#include "cdevice/kernels/math/integers.h"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#ifndef CPU_NO_CASTS
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
#include "cdevice/kernels/scalar/cast_bool.h"
#define TEXT "cdevice/kernels/scalar/cast.h"
#include "cpu/each_integer.h"
#undef TEXT
#define S f32
#include "cdevice/kernels/scalar/cast.h"
#undef S
#define S f64
#include "cdevice/kernels/scalar/cast.h"
#undef S
#define S f16
#include "cdevice/kernels/scalar/cast.h"
#undef S
#if !OF(IS_FLOAT, T)
#define S w128
#include "cdevice/kernels/scalar/decimal_rescale.h"
#undef S
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
