/* parallel_memcpy.h - copies in host memory, large ones by several threads: one alone moves far less than a
 * device's link takes. */
#ifndef CDEVICE_CORE_BASE_PARALLEL_MEMCPY_H
#define CDEVICE_CORE_BASE_PARALLEL_MEMCPY_H

#include <stddef.h>
#include <stdint.h>

struct cdv_memcpy_range {
  char *dst;
  const char *src;
  int64_t nbytes;
  int64_t offset; /* set by cdv_parallel_memcpy */
};
/* As memcpy for each in turn; sources and targets may not overlap.  Large ones are shared with helping threads. */
void cdv_parallel_memcpy(struct cdv_memcpy_range *moves, size_t n);

#endif
