/* cpu_pool.h - host memory that is used again: touching fresh pages costs as much as filling them. */
#ifndef CDEVICE_BACKENDS_CPU_POOL_H
#define CDEVICE_BACKENDS_CPU_POOL_H

#include <stddef.h>
#include <stdint.h>

/* At most so many bytes are kept for nobody; 0: none.  Before the first allocation. */
void cpu_pool_limit(int64_t bytes);
/* 64-byte aligned; from 4 MiB on in huge pages where the system has them.  *size: what cpu_pool_put wants to know.  NULL:
 * out of memory.  Any thread, does not block. */
void *cpu_pool_get(int64_t nbytes, size_t *size);
void cpu_pool_put(void *data, size_t size);
/* Bytes: in use; kept; the most that was ever in use. */
void cpu_pool_count(int64_t *live, int64_t *kept, int64_t *peak);
void cpu_pool_trim(void);

#endif
