/* pool.h - what the two files of the plug-in know of each other. */
#ifndef POOL_H
#define POOL_H

#include <cdevice/backend.h>

typedef struct pool_launch { /* a kernel does the items begin ... end - 1 */
  int64_t begin, end;
  const cdevice_kernel_buffer *buffers;
  const int64_t *numbers;
} pool_launch;

/* Enqueues a kernel of a library that kernels.c has loaded. */
int pool_start(int64_t device, void *kernel, const cdevice_launch *launch, void *stream, cdevice_error *err);

extern const cdevice_compute pool_compute;

#endif
