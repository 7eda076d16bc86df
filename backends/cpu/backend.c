/* backend.c - the CPU as a device: an ordinary client of the plug-in door. */
#include "cdevice/backend.h"

#include "cpu/compute.h"
#include "common/host_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#endif

static host_pool_use use;

static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self, (void)err;
  host_pool_start(host);
  cpu_compute_start(host);
  return 0;
}

static int device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self, (void)err;
  *out = 1;
  return 0;
}

static long machine(int64_t *total, int64_t *available) {
#ifdef _WIN32
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  SYSTEM_INFO info;
  if (!GlobalMemoryStatusEx(&memory)) memory.ullTotalPhys = memory.ullAvailPhys = 0;
  GetSystemInfo(&info);
  *total = (int64_t)memory.ullTotalPhys;
  *available = (int64_t)memory.ullAvailPhys;
  return (long)info.dwNumberOfProcessors;
#else
  int64_t page = sysconf(_SC_PAGESIZE);
  *total = page * sysconf(_SC_PHYS_PAGES);
  *available = page * sysconf(_SC_AVPHYS_PAGES);
  return sysconf(_SC_NPROCESSORS_ONLN);
#endif
}

static int device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  out->alignment = 64;
  long processors = machine(&out->total_bytes, &out->free_bytes);
  snprintf(out->name, sizeof out->name, "host memory (%ld processors)", processors);
  return 0;
}

static int cpu_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream;
  size_t size;
  void *data = host_pool_get(nbytes, &size);
  if (!data) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for %lld bytes", (long long)nbytes);
  host_pool_count(&use, (int64_t)size);
  *out = (cdevice_block){data, nbytes, device, {data, (void *)size}};
  return 0;
}

static void cpu_free(void *self, const cdevice_block *block) {
  (void)self;
  if (!block->opaque[0]) return; /* a view */
  host_pool_count(&use, -(int64_t)(size_t)block->opaque[1]);
  host_pool_put(block->opaque[0], (size_t)block->opaque[1]);
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
  *live = atomic_load(&use.live);
  *peak = atomic_load(&use.peak);
  *pooled = host_pool_kept();
  *pending = 0;
}

static void trim(void *self, int64_t device) {
  (void)self, (void)device;
  host_pool_trim();
}

/* ---- profile: the CPU has done its work when a call returns ---- */
static int mark(void *self, int64_t device, void *stream, void **out, cdevice_error *err) {
  struct timespec now;
  int64_t *at = malloc(sizeof *at);
  (void)self, (void)device, (void)stream;
  if (!at) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory");
  clock_gettime(CLOCK_MONOTONIC, &now);
  *at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  *out = at;
  return 0;
}

static int elapsed(void *self, int64_t device, void *from, void *to, int64_t *nanoseconds, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  *nanoseconds = *(int64_t *)to - *(int64_t *)from;
  return 0;
}

static void drop(void *self, int64_t device, void *at) {
  (void)self, (void)device;
  free(at);
}

static const void *extension(void *self, const char *id) {
  static const cdevice_profile profile = {
      .struct_size = sizeof profile, .mark = mark, .elapsed = elapsed, .drop = drop};
  static const cdevice_pool pool = {.struct_size = sizeof pool, .statistics = statistics, .trim = trim};
  (void)self;
  if (!strcmp(id, CDEVICE_COMPUTE)) return &cpu_compute;
  if (!strcmp(id, CDEVICE_PROFILE)) return &profile;
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
