/* table.c - the places of backends: one per device type, found by one atomic load.  Messages are made from their
 * names, so this reports no error. */
#include "core/backend/table.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"

#include <stdlib.h>

_Atomic(struct cdv_backend *) cdv_backends[64];

/* Device types from 64 on: a list that only grows; a removed entry has its slot set to NULL. */
struct other {
  struct other *next;
  int32_t device_type;
  _Atomic(struct cdv_backend *) backend;
};
static _Atomic(struct other *) others;

const char *cdv_device_type_name(int32_t t) {
  static const char *const names[] = {
      [ARROW_DEVICE_CPU] = "cpu",
      [ARROW_DEVICE_CUDA] = "cuda",
      [ARROW_DEVICE_CUDA_HOST] = "cuda_host",
      [ARROW_DEVICE_OPENCL] = "opencl",
      [ARROW_DEVICE_VULKAN] = "vulkan",
      [ARROW_DEVICE_METAL] = "metal",
      [ARROW_DEVICE_VPI] = "vpi",
      [ARROW_DEVICE_ROCM] = "rocm",
      [ARROW_DEVICE_ROCM_HOST] = "rocm_host",
      [ARROW_DEVICE_EXT_DEV] = "ext_dev",
      [ARROW_DEVICE_CUDA_MANAGED] = "cuda_managed",
      [ARROW_DEVICE_ONEAPI] = "oneapi",
      [ARROW_DEVICE_WEBGPU] = "webgpu",
      [ARROW_DEVICE_HEXAGON] = "hexagon",
      [17] = "maia",
      [18] = "trn",
  };
  static _Thread_local char text[4][24];
  static _Thread_local unsigned turn;
  struct cdv_backend *backend = cdv_backend_lookup(t);
  if (backend) return backend->table.name;
  if (t > 0 && t < (int32_t)(sizeof names / sizeof *names) && names[t]) return names[t];
  char *out = text[turn++ & 3]; /* several in one message */
  snprintf(out, sizeof text[0], "device type %d", (int)t);
  return out;
}

const char *cdv_device_name(int32_t device_type, int64_t device_id) {
  static _Thread_local char text[2][48];
  static _Thread_local unsigned turn;
  const char *name = cdv_device_type_name(device_type);
  if (device_id < 0) return name;
  char *out = text[turn++ & 1];
  snprintf(out, sizeof text[0], "%.24s:%lld", name, (long long)device_id);
  return out;
}

struct cdv_backend *cdv_backend_lookup_slow(int32_t t) {
  for (struct other *o = atomic_load_explicit(&others, memory_order_acquire); o; o = o->next)
    if (o->device_type == t) return atomic_load(&o->backend); /* see cdv_backend_still_serves */
  return NULL;
}

_Atomic(struct cdv_backend *) *cdv_backend_cell(int32_t t) {
  if (t < 64) return &cdv_backends[t];
  for (struct other *o = atomic_load(&others); o; o = o->next)
    if (o->device_type == t) return &o->backend;
  struct other *o = calloc(1, sizeof *o);
  if (!o) return NULL;
  o->device_type = t;
  o->next = atomic_load(&others);
  atomic_store_explicit(&others, o, memory_order_release);
  return &o->backend;
}

int64_t cdv_backend_count(void) { /* places, used or not */
  int64_t n = 64;
  for (struct other *o = atomic_load_explicit(&others, memory_order_acquire); o; o = o->next) n++;
  return n;
}

const cdevice_backend *cdv_backend_table_at(int64_t i) { /* NULL: an unused place */
  struct cdv_backend *backend = NULL;
  if (i >= 0 && i < 64) {
    backend = atomic_load_explicit(&cdv_backends[i], memory_order_acquire);
  } else {
    struct other *o = atomic_load_explicit(&others, memory_order_acquire);
    for (i -= 64; o && i > 0; i--) o = o->next;
    if (o && i == 0) backend = atomic_load_explicit(&o->backend, memory_order_acquire);
  }
  return backend ? &backend->table : NULL;
}

const cdevice_backend *cdv_backend_table(int32_t t) {
  struct cdv_backend *backend = cdv_backend_lookup(t);
  return backend ? &backend->table : NULL;
}

int64_t cdv_backend_live(int32_t t) {
  struct cdv_backend *backend = cdv_backend_lookup(t);
  return backend ? (int64_t)atomic_load(&backend->live) : 0;
}

const cdevice_memory *cdv_memory_of(struct cdv_backend *backend) {
  return backend->table.extension(backend->table.self, CDEVICE_MEMORY);
}
