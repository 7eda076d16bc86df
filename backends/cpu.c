/* cpu.c - the CPU as a device: an ordinary client of the plug-in door. */
#include "cdevice/backend.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT 64
#define HUGE ((size_t)2 << 20)   /* a huge page */
#define LARGE ((int64_t)4 << 20) /* from here on memory is taken in huge pages */
#define SPARE ((size_t)64 << 20) /* the largest block that is kept */

static size_t most_kept = SPARE; /* 0: CDEVICE_CPU_POOL=0 */

static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self, (void)host, (void)err;
  const char *pool = getenv("CDEVICE_CPU_POOL");
#ifdef __SANITIZE_ADDRESS__
  pool = "0"; /* what is used after it was given back shall be seen */
#endif
  if (pool && !strcmp(pool, "0")) most_kept = 0;
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
  out->alignment = ALIGNMENT;
  out->total_bytes = page * sysconf(_SC_PHYS_PAGES);
  out->free_bytes = page * sysconf(_SC_AVPHYS_PAGES);
  snprintf(out->name, sizeof out->name, "host memory (%ld processors)", sysconf(_SC_NPROCESSORS_ONLN));
  return 0;
}

/* One large block that was given back: touching fresh pages costs as much as filling them.  Its size stands in it. */
static _Atomic(void *) spare;

static void *take_spare(size_t n, size_t *size) {
  size_t has;
  void *data = n >= (size_t)LARGE / 2 && n <= most_kept ? atomic_exchange(&spare, NULL) : NULL, *none = NULL;
  if (!data) return NULL;
  memcpy(&has, data, sizeof has);
  if (has >= n && has / 2 <= n) {
    *size = has;
    return data;
  }
  if (!atomic_compare_exchange_strong(&spare, &none, data)) free(data);
  return NULL;
}

static int cpu_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream;
  if (nbytes > INT64_MAX - (int64_t)HUGE)
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes", (long long)nbytes);
  size_t alignment = nbytes >= LARGE ? HUGE : ALIGNMENT,
         size = ((size_t)nbytes + alignment - 1) / alignment * alignment;
  void *data = take_spare((size_t)nbytes, &size);
  if (data) {
    *out = (cdevice_block){data, nbytes, device, {data, (void *)size}};
    return 0;
  }
  data = aligned_alloc(alignment, size);
  if (!data) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for %lld bytes", (long long)nbytes);
#ifdef MADV_HUGEPAGE
  if (nbytes >= LARGE) madvise(data, (size_t)nbytes, MADV_HUGEPAGE); /* first touch costs a tenth */
#endif
  *out = (cdevice_block){data, nbytes, device, {data, (void *)size}};
  return 0;
}

static void cpu_free(void *self, const cdevice_block *block) {
  (void)self;
  void *data = block->opaque[0]; /* NULL for a view */
  size_t size = (size_t)block->opaque[1];
  if (data && size >= (size_t)LARGE && size <= most_kept) {
    memcpy(data, &size, sizeof size);
    data = atomic_exchange(&spare, data);
  }
  free(data);
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
};

int cdevice_cpu_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  (void)core_abi, (void)err;
  if (index) return ENOENT;
  *out = &table;
  return 0;
}
