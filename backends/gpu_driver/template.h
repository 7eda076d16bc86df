/* template.h - the one template of a driver-shaped runtime: streams, events, device, pinned and managed memory.
 *
 * cuda.c and rocm.c define the parameters that vendor.h lists, include this file, and define the small
 * functions declared there with their vendor's calls; the backend tables are made of them here.  All of it runs on any
 * thread, without the GIL.
 *
 *   vendor.h   the parameters
 *   call.h     every call: its device, its error, its events
 *   pool.h             what has come back, and when it may be used again
 *   memory.h   allocating, staging
 *   events.h   events and streams
 *   compute.h  kernels
 *   ipc.h      for other processes
 *   host_copy.h   copies that concern the host's memory alone
 *
 * A stream that is being captured is refused: its work would run again with every launch of the graph, over memory that
 * others have by then.
 *
 * CDEVICE_CAP_ASYNC_FREE is not claimed: with the two events, a copy on a user's non-blocking stream is not covered,
 * and whether there is the one cannot be known before the start.  So the core keeps the source of a copy until the
 * copy's event has passed, and consumers on non-blocking streams keep the array, or say so by record_use.
 */
#ifndef CDEVICE_RUNTIME_H
#define CDEVICE_RUNTIME_H

#include "gpu_driver/compute.h"
#include "gpu_driver/events.h"
#include "gpu_driver/host_copy.h"
#include "gpu_driver/ipc.h"
#include "gpu_driver/memory.h"
#include "gpu_driver/profile.h"

/* ---- first use ---- */
static int rt_start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self, (void)host;
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  int n = 0, r = 0;
  pthread_mutex_lock(&once);
  if (!rt_devices) {
    r = rt_load(err);
    if (!r) {
      int code = rt_count(&n);
      if (code || n <= 0) {
        int none = !code || code == RT_BAD_DEVICE; /* HIP 5 returns 101 where there is none */
        r = cdevice_backend_fail(err, none ? ENODEV : rt_errno(code), code, code ? rt_error_name(code) : "",
                                 "%s is installed, but found no device: %s", rt_library,
                                 code ? rt_error_text(code) : "it lists none");
      }
    }
    for (int i = 0; !r && i < RT_DEVICES; i++) pthread_mutex_init(&rt_state[i].lock, NULL);
    if (!r) rt_pools_start();
    if (!r) rt_devices = n < RT_DEVICES ? n : RT_DEVICES;
  }
  pthread_mutex_unlock(&once);
  return r;
}

static int rt_device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self, (void)err;
  *out = rt_devices;
  return 0;
}

static int rt_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  const rt_kind *k = self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  out->alignment = 256;
  out->total_bytes = out->free_bytes = -1;
  int code = rt_describe((int)device, out);
  if (!out->name[0]) snprintf(out->name, sizeof out->name, "%s %d", RT_FAMILY, (int)device);
  if (k->kind == RT_PINNED) out->total_bytes = out->free_bytes = -1; /* the host's, not the device's */
  return rt_end(device, &saved, code, "asking about the device", err);
}

/* ---- copies ---- */

/* Without it a copy between two devices goes through the host's memory.  Asked once for each pair; it stays as it is
 * where it is enabled already. */
static void rt_see_once(int device, int other) {
  static atomic_uchar asked[RT_DEVICES][RT_DEVICES];
  if (other >= 0 && other < rt_devices && other != device && !atomic_exchange(&asked[device][other], 1))
    rt_enable_peer(device, other);
}

/* The vendor's code. */
static int rt_copy_each(int memory, int direction, const cdevice_copy *copies, int64_t n, void *stream) {
  int code = 0;
  int64_t i = 0;
  for (; !code && i < n; i++)
    if (copies[i].nbytes)
      code = rt_memcpy(memory, direction, (char *)copies[i].dst + copies[i].dst_offset,
                       (const char *)copies[i].src + copies[i].src_offset, (size_t)copies[i].nbytes, stream);
  if (code && i > 1) rt_stream_sync(stream); /* the host memory of those before must not be touched afterwards */
  return code;
}

static int rt_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  const rt_kind *k = self;
  if (!n) return 0;
  int64_t device = kind == CDEVICE_COPY_D2H ? copies[0].src_device : copies[0].dst_device;
  rt_saved_context saved;
  int r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  if (kind == CDEVICE_COPY_PEER) rt_see_once((int)device, (int)copies[0].src_device);
  int code = k->kind == RT_PINNED ? rt_copy_host(kind, copies, n, stream) : RT_NOT_SUPPORTED;
  if (code == RT_NOT_SUPPORTED) code = rt_copy_each(k->kind, kind, copies, n, stream);
  return rt_end(device, &saved, code, "copying", err);
}

static int rt_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                   cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin_on(block->device_id, stream, &saved, err);
  if (r) return r;
  int code = rt_memset((char *)block->data + offset, byte, (size_t)nbytes, stream);
  return rt_end(block->device_id, &saved, code, "filling", err);
}

static int rt_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                     cdevice_error *err) {
  const rt_kind *k = self;
  int kind = RT_DEVICE, where = 0;
  int64_t behind = -1;
  int64_t hint = device && *device >= 0 && *device < rt_devices ? *device : 0;
  rt_saved_context saved;
  int r = rt_begin(hint, &saved, err);
  if (r) return r;
  int code = rt_pointer_attributes(data, &kind, &where, &behind);
  rt_leave(&saved);
  if (code == RT_NOT_SUPPORTED)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime cannot look up addresses");
  if (code) return rt_fail(err, code, "looking up an address");
  *device_type = k->device_type;
  for (int i = 0; i < RT_N_KINDS; i++)
    if (rt_kinds[i].kind == kind) *device_type = rt_kinds[i].device_type;
  *device = where;
  *nbytes = behind;
  return 0;
}

/* ---- the tables ---- */

/* Pinned memory has no kernels of its own: the CPU reads it, and computes. */
static const void *rt_extension(void *self, const char *id) {
  const rt_kind *k = self;
  if (k->kind != RT_PINNED && !strcmp(id, CDEVICE_COMPUTE)) return &rt_compute;
  if (!strcmp(id, CDEVICE_PROFILE)) return &rt_profile;
  if (k->kind == RT_DEVICE && !strcmp(id, CDEVICE_IPC)) return &rt_ipc;
  if (!strcmp(id, RT_WHEELS)) return (const void *)rt_look_in;
  return rt_memory_extension(k, id);
}

static cdevice_backend rt_tables[RT_N_KINDS];

static int rt_table(int64_t index, const cdevice_backend **out) {
  if (index < 0 || index >= RT_N_KINDS) return ENOENT;
  cdevice_backend *b = &rt_tables[index];
  *b = (cdevice_backend){
      .abi_version = CDEVICE_BACKEND_ABI,
      .struct_size = sizeof *b,
      .device_type = rt_kinds[index].device_type,
      .capabilities = rt_kinds[index].capabilities | CDEVICE_CAP_ADDRESS | CDEVICE_CAP_EVENTS | CDEVICE_CAP_STREAMS |
                      CDEVICE_CAP_PEER,
      .name = rt_kinds[index].name,
      .family = RT_FAMILY,
      .self = (void *)&rt_kinds[index],
      .start = rt_start,
      .device_count = rt_device_count,
      .alloc = rt_alloc,
      .free = rt_free,
      .copy = rt_copy,
      .event_record = rt_record,
      .event_done = rt_event_done,
      .event_wait_host = rt_event_wait_host,
      .event_wait_stream = rt_event_wait_stream,
      .event_destroy = rt_event_destroy,
      .device_info = rt_device_info,
      .stream_create = rt_stream_create,
      .stream_destroy = rt_stream_destroy,
      .stream_wait_host = rt_stream_wait_host,
      .event_notify = rt_event_notify,
      .fill = rt_fill,
      .locate = rt_locate,
      .extension = rt_extension,
  };
  *out = b;
  return 0;
}

#endif
