/* cpu.c - the CPU as a device: an ordinary client of the plug-in door. */
#include "cdevice/backend.h"

#include "cpu_compute.h"
#include "cpu_pool.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT ((int64_t)256 << 20) /* of memory that was given back */

/* CDEVICE_CPU_POOL: bytes, or with K, M or G behind them; -1: neither. */
static int64_t bytes_of(const char *text) {
  char *end;
  long long n = strtoll(text, &end, 10);
  const char *units = "KMG", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (end == text || n < 0 || (*end && (!unit || end[1])) || n > INT64_MAX >> shift) return -1;
  return n << shift;
}

static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self, (void)err;
  const char *text = getenv("CDEVICE_CPU_POOL");
  int64_t limit = text && *text ? bytes_of(text) : KEPT;
  if (limit < 0) {
    limit = KEPT;
    if (host) host->log(30, "CDEVICE_CPU_POOL is a number of bytes, with K, M or G behind it; the default is taken");
  }
#ifdef __SANITIZE_ADDRESS__
  limit = 0; /* what is used after it was given back shall be seen */
#endif
  cpu_pool_limit(limit);
  return 0;
}

static int device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self, (void)err;
  *out = 1;
  return 0;
}

static int device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  int64_t page = sysconf(_SC_PAGESIZE);
  out->alignment = 64;
  out->total_bytes = page * sysconf(_SC_PHYS_PAGES);
  out->free_bytes = page * sysconf(_SC_AVPHYS_PAGES);
  snprintf(out->name, sizeof out->name, "host memory (%ld processors)", sysconf(_SC_NPROCESSORS_ONLN));
  return 0;
}

static int cpu_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream;
  size_t size;
  void *data = cpu_pool_get(nbytes, &size);
  if (!data) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for %lld bytes", (long long)nbytes);
  *out = (cdevice_block){data, nbytes, device, {data, (void *)size}};
  return 0;
}

static void cpu_free(void *self, const cdevice_block *block) {
  (void)self;
  if (block->opaque[0]) cpu_pool_put(block->opaque[0], (size_t)block->opaque[1]); /* NULL for a view */
}

static int cpu_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  (void)self, (void)kind, (void)stream, (void)err;
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)copies[i].dst + copies[i].dst_offset, (const char *)copies[i].src + copies[i].src_offset,
           (size_t)copies[i].nbytes);
  return 0;
}

static int cpu_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                    cdevice_error *err) {
  (void)self, (void)stream, (void)err;
  memset((char *)block->data + offset, byte, (size_t)nbytes);
  return 0;
}

static void statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  (void)self, (void)device;
  *pending = 0;
  cpu_pool_count(live, pooled, peak);
}

static void trim(void *self, int64_t device) {
  (void)self, (void)device;
  cpu_pool_trim();
}

static const void *extension(void *self, const char *id) {
  static const cdevice_pool pool = {.struct_size = sizeof pool, .statistics = statistics, .trim = trim};
  (void)self;
  if (!strcmp(id, CDEVICE_COMPUTE)) return &cpu_compute;
  return strcmp(id, CDEVICE_POOL) ? NULL : &pool;
}

static const cdevice_backend table = {
    .abi_version = CDEVICE_BACKEND_ABI,
    .struct_size = sizeof table,
    .device_type = ARROW_DEVICE_CPU,
    .capabilities = CDEVICE_CAP_HOST_ACCESSIBLE | CDEVICE_CAP_ADDRESS | CDEVICE_CAP_FORK_SAFE,
    .name = "cpu",
    .start = start,
    .device_count = device_count,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .device_info = device_info,
    .fill = cpu_fill,
    .extension = extension,
};

int cdevice_cpu_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  (void)core_abi, (void)err;
  if (index) return ENOENT;
  *out = &table;
  return 0;
}
