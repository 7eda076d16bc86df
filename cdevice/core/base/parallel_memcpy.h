/* parallel_memcpy.h - copies in host memory, large ones by several threads: one alone moves far less than a
 * device's link takes. */
#ifndef CDEVICE_CORE_BASE_PARALLEL_MEMCPY_H
#define CDEVICE_CORE_BASE_PARALLEL_MEMCPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cdv_memcpy_range {
  char *dst;
  const char *src;
  int64_t nbytes;
  int64_t offset; /* set by cdv_parallel_memcpy */
};
/* Writes to memory that was never touched, where there is a faster way than by its address.  false: it could not, or not
 * all: memcpy does it. */
typedef bool cdv_memcpy_writer(char *dst, const char *src, int64_t nbytes);
/* Large copies of this thread go through `writer` from now on; NULL: as always.  The one before. */
cdv_memcpy_writer *cdv_memcpy_through(cdv_memcpy_writer *writer);
/* As memcpy for each in turn; sources and targets may not overlap.  Large ones are shared with helping threads. */
void cdv_parallel_memcpy(struct cdv_memcpy_range *moves, size_t n);

#endif
