/* A plug-in for one HEADER (-DHEADER=...): memory of the host's under a name of its own, every required function and some
 * of the optional ones.  `layout` tells where the header puts each member. */
#include HEADER

#include <errno.h>
#include <stdlib.h>

static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self;
  if (host->abi_version >> 16 != CDEVICE_BACKEND_ABI >> 16)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "another major version");
  host->log(10, "frozen: started");
  return 0;
}
static int device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self, (void)err;
  *out = 2;
  return 0;
}
static int alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream;
  if (device < 0 || device > 1)
    return cdevice_backend_fail(err, EINVAL, 7, "FROZEN_BAD_DEVICE", "no device %lld", (long long)device);
  void *p = nbytes > (int64_t)1 << 40 ? NULL : aligned_alloc(64, (size_t)(nbytes + 63) / 64 * 64);
  if (!p) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes", (long long)nbytes);
  *out = (cdevice_block){p, nbytes, device, {NULL, NULL}};
  return 0;
}
static void give_back(void *self, const cdevice_block *block) {
  (void)self;
  free(block->data);
}
static int copy(void *self, int kind, const cdevice_copy *c, int64_t n, void *stream, cdevice_error *err) {
  (void)self, (void)kind, (void)stream, (void)err;
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)c[i].dst + c[i].dst_offset, (const char *)c[i].src + c[i].src_offset, (size_t)c[i].nbytes);
  return 0;
}
static int device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  (void)self, (void)err;
  snprintf(out->name, sizeof out->name, "frozen %lld", (long long)device);
  out->alignment = 64;
  out->total_bytes = out->free_bytes = -1;
  return 0;
}

__attribute__((visibility("default"))) int cdevice_backend_init(uint32_t core_abi, int64_t index,
                                                                const cdevice_backend **out, cdevice_error *err) {
  static cdevice_backend table;
  if (core_abi >> 16 != CDEVICE_BACKEND_ABI >> 16)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "another major version");
  if (index) return ENOENT;
  table = (cdevice_backend){.abi_version = CDEVICE_BACKEND_ABI,
                            .struct_size = sizeof table,
                            .device_type = 4242,
                            .capabilities = CDEVICE_CAP_ADDRESS,
                            .name = "frozen",
                            .start = start,
                            .device_count = device_count,
                            .alloc = alloc,
                            .free = give_back,
                            .copy = copy,
                            .device_info = device_info};
  *out = &table;
  return 0;
}

#define MEMBERS(X)                                                                                                     \
  X(cdevice_backend, abi_version)                                                                                      \
  X(cdevice_backend, struct_size) X(cdevice_backend, device_type) X(cdevice_backend, flags) X(                         \
      cdevice_backend, capabilities) X(cdevice_backend, name) X(cdevice_backend, version) X(cdevice_backend, family)   \
      X(cdevice_backend, self) X(cdevice_backend, start) X(cdevice_backend, device_count) X(cdevice_backend, alloc) X( \
          cdevice_backend, free) X(cdevice_backend, copy) X(cdevice_backend, event_record)                             \
          X(cdevice_backend, event_done) X(cdevice_backend, event_wait_host) X(cdevice_backend, event_wait_stream) X(  \
              cdevice_backend, event_destroy) X(cdevice_backend, device_info) X(cdevice_backend, view)                 \
              X(cdevice_backend, current_stream) X(cdevice_backend, stream_create) X(cdevice_backend, stream_destroy)  \
                  X(cdevice_backend, stream_wait_host) X(cdevice_backend, event_notify) X(cdevice_backend, fill)       \
                      X(cdevice_backend, locate) X(cdevice_backend, compatible) X(cdevice_backend, stop) X(            \
                          cdevice_backend, extension) X(cdevice_error, struct_size) X(cdevice_error, vendor_code)      \
                          X(cdevice_error, vendor_name) X(cdevice_error, message) X(cdevice_block, data)               \
                              X(cdevice_block, nbytes) X(cdevice_block, device_id) X(cdevice_block, opaque) X(         \
                                  cdevice_event, sync_event) X(cdevice_event,                                          \
                                                               slot) X(cdevice_event, opaque)                          \
                                  X(cdevice_copy, dst) X(cdevice_copy, dst_offset) X(cdevice_copy, dst_device)         \
                                      X(cdevice_copy, src) X(cdevice_copy, src_offset) X(cdevice_copy, src_device)     \
                                          X(cdevice_copy,                                                              \
                                            nbytes) X(cdevice_device_info, struct_size)                                \
                                              X(cdevice_device_info, alignment) X(cdevice_device_info, total_bytes)    \
                                                  X(cdevice_device_info, free_bytes) X(cdevice_device_info, name)      \
                                                      X(cdevice_device_info, driver) X(cdevice_device_info, uuid)      \
                                                          X(cdevice_host, abi_version) X(cdevice_host, struct_size)    \
                                                              X(cdevice_host, log) X(cdevice_pool, statistics)         \
                                                                  X(cdevice_pool, trim) X(cdevice_memory, record_last_use) X(     \
                                                                      cdevice_memory, enter) X(cdevice_memory, leave)  \
                                                                      X(cdevice_memory, stage_alloc)                   \
                                                                          X(cdevice_memory, stage_free)                \
                                                                              X(cdevice_allocator, self)               \
                                                                                  X(cdevice_allocator, alloc)          \
                                                                                      X(cdevice_allocator, free)       \
                                                                                          X(cdevice_allocator, drop)

__attribute__((visibility("default"))) const char *layout(void) {
  static char text[8192];
  size_t used = 0;
#define X(type, member) \
  used += (size_t)snprintf(text + used, sizeof text - used, #type "." #member " %zu\n", offsetof(type, member));
  MEMBERS(X)
#undef X
  return text;
}
