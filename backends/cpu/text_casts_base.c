/* text_casts_base.c - casts to text and back for every processor of the architecture that the extension is built for. */
#include "cpu/compute.h"

#if defined(CPU_KERNELS_SLOW)
#pragma GCC optimize("O0")
#elif !defined(CPU_KERNELS_V3) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define CPU_KERNELS cpu_text_casts_base
#include "cpu/text_casts.h"
