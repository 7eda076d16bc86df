/* host_cache.c - what backends have found out and keep between processes (cdevice_host). */
#include "core/backend/host_cache.h"
#include "core/compute/kernel_disk_cache.h"

#include <stdlib.h>
#include <string.h>

static void digest(struct cdv_digest *d, const char *key) {
  cdv_digest_add(d, "found out");
  cdv_digest_add(d, key);
}

int64_t cdv_host_cache_get(const char *key, void *data, int64_t nbytes) {
  struct cdv_digest d = {{0}};
  int64_t n = 0;
  digest(&d, key);
  void *kept = cdv_cache_read(&d, &n);
  if (!kept) return 0;
  if (n > nbytes) n = 0;
  memcpy(data, kept, (size_t)n);
  free(kept);
  return n;
}

void cdv_host_cache_put(const char *key, const void *data, int64_t nbytes) {
  struct cdv_digest d = {{0}};
  digest(&d, key);
  cdv_cache_write(&d, data, nbytes);
}
