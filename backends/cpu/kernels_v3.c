/* kernels_v3.c - the kernels for x86-64-v3: AVX2 and BMI2, which most processors since 2013 have. */
#include "cpu/compute.h"

#ifdef CPU_KERNELS_V3
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt"))), \
                             apply_to = function)
#else
#if defined(CPU_KERNELS_SLOW)
#pragma GCC optimize("O0")
#else
#pragma GCC optimize("O3")
#endif
#pragma GCC target("arch=x86-64-v3")
#endif
/* see compare.h */
#define QUAD_i64 1
#define QUAD_u64 1
#define QUAD_f64 1
typedef double quad_of_doubles __attribute__((vector_size(32)));
#define QUAD_MASK(v) ((u32)__builtin_ia32_movmskpd256((quad_of_doubles)(v)))
#define CPU_KERNELS cpu_kernels_v3
#define CPU_NO_CASTS /* no faster than the others */
#include "cpu/kernels.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
