/* cpu_compute.h - kernels for processors: they are compiled with the extension, not when they are needed. */
#ifndef CDEVICE_BACKENDS_CPU_COMPUTE_H
#define CDEVICE_BACKENDS_CPU_COMPUTE_H

#include "cdevice/backend.h"

typedef struct cpu_launch { /* items begin ... end - 1 of a kernel */
  int64_t begin, end;
  const cdevice_place *buffers;
  const int64_t *numbers;
} cpu_launch;

typedef struct cpu_kernel {
  const char *name;
  void (*run)(const cpu_launch *launch);
} cpu_kernel;

/* One table for each build, ended by a name that is NULL. */
extern const cpu_kernel cpu_kernels_base[];
#if defined(__x86_64__) && defined(__GNUC__)
#define CPU_KERNELS_V3 1
extern const cpu_kernel cpu_kernels_v3[];
#endif

extern const cdevice_compute cpu_compute;
void cpu_compute_start(const cdevice_host *host);

#endif
