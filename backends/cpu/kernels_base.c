/* kernels_base.c - the kernels for every processor of the architecture that the extension is built for.  Where there
 * is a better build, this one takes less time to compile. */
#include "cpu/compute.h"

#if defined(CPU_KERNELS_SLOW)
#pragma GCC optimize("O0")
#elif !defined(CPU_KERNELS_V3) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define CPU_KERNELS cpu_kernels_base
#include "cpu/kernels.h"
