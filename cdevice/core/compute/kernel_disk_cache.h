/* kernel_disk_cache.h - programs on disk, in a folder of the user's own: what lies there is run. */
#ifndef CDEVICE_CORE_COMPUTE_KERNEL_DISK_CACHE_H
#define CDEVICE_CORE_COMPUTE_KERNEL_DISK_CACHE_H

#include <stdint.h>

struct cdv_digest {
  uint64_t words[2];
};
void cdv_digest_add(struct cdv_digest *digest, const char *text);
/* malloc'ed, *nbytes long; NULL: there is none, or none that is whole and belongs to this user alone. */
void *cdv_cache_read(const struct cdv_digest *digest, int64_t *nbytes);
/* A failure to write is ignored: the kernel is built again next time. */
void cdv_cache_write(const struct cdv_digest *digest, const void *data, int64_t nbytes);

#endif
