/* host_pool.h - host memory that is used again: touching fresh pages costs as much as filling them.
 *
 * One for all devices whose memory is the host's: the CPU's, and OpenCL's of processors. */
#ifndef CDEVICE_BACKENDS_HOST_POOL_H
#define CDEVICE_BACKENDS_HOST_POOL_H

#include "cdevice/backend.h"

#include <stdatomic.h>
#include <stddef.h>

#define HOST_POOL_SMALLEST (64 << 10) /* of pooled blocks */

typedef struct host_pool_use { /* bytes of one device */
  atomic_llong live, peak;
} host_pool_use;

/* Reads CDEVICE_CPU_POOL: the maximum of pooled bytes; 0: no pool.  Before the first allocation. */
void host_pool_start(const cdevice_host *host);
/* Will a block of so many bytes be kept? */
int host_pool_keeps(int64_t nbytes);
/* 64-byte aligned, from HOST_POOL_SMALLEST on at a page, from 4 MiB on in huge pages where the system has them.  *size:
 * what host_pool_put wants to know.  NULL: out of memory.  Any thread, does not block. */
void *host_pool_get(int64_t nbytes, size_t *size);
void host_pool_put(void *data, size_t size);
void host_pool_count(host_pool_use *use, int64_t bytes);
int64_t host_pool_kept(void);
void host_pool_trim(void);

#endif
