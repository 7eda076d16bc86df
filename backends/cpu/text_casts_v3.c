/* text_casts_v3.c - casts to text and back for x86-64-v3: AVX2 and BMI2, which most processors since 2013 have. */
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
#define CPU_KERNELS cpu_text_casts_v3
#include "cpu/text_casts.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
