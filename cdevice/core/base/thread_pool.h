/* thread_pool.h - threads that share one caller's work: large copies in host memory, kernels on the CPU. */
#ifndef CDEVICE_CORE_BASE_THREAD_POOL_H
#define CDEVICE_CORE_BASE_THREAD_POOL_H

#include <stdint.h>

#include "cdevice/backend.h"

/* cffi: begin */
/* Threads, the caller's among them, that share a large copy, a kernel on the CPU; set when n > 0.  The old number. */
enum cdv_pool_kind { CDV_POOL_COPIES, CDV_POOL_KERNELS, CDV_POOL_KINDS };
int cdv_threads(int crew, int n);
/* cffi: end */

/* part(arg, begin, end) for all of [0, total) in slices, on this thread and others; all at once where the helpers have
 * something else to do.  Returns when all is done. */
void cdv_parallel_for(int crew, cdevice_range_fn part, void *arg, int64_t total, int64_t slice);

#endif
