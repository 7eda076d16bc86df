/* host_cache.h - what backends have found out and keep between processes (cdevice_host). */
#ifndef CDEVICE_CORE_BACKEND_HOST_CACHE_H
#define CDEVICE_CORE_BACKEND_HOST_CACHE_H

#include <stdint.h>

int64_t cdv_host_cache_get(const char *key, void *data, int64_t nbytes);
void cdv_host_cache_put(const char *key, const void *data, int64_t nbytes);

#endif
