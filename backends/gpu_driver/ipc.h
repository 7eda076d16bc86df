/* ipc.h - memory and events that other processes of the machine open.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_IPC_H
#define CDEVICE_RUNTIME_IPC_H

#include "gpu_driver/call.h"

/* What a driver without these functions, or memory that they do not serve, answers. */
static int rt_ipc_end(int64_t device, rt_saved_context *saved, int code, const char *doing, cdevice_error *err) {
  if (code != RT_NOT_SUPPORTED && code != RT_INVALID) return rt_end(device, saved, code, doing, err);
  rt_leave(saved);
  return cdevice_backend_fail(err, ENOTSUP, code, rt_error_name(code), "%s: %s", doing, rt_error_text(code));
}

static int rt_ipc_memory_export(void *self, int64_t device, const void *data, cdevice_ipc_handle *handle,
                                int64_t *offset, int64_t *nbytes, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  void *begin = NULL;
  size_t size = 0;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_memory_range(data, &begin, &size);
  if (!code) code = rt_memory_handle(begin, handle);
  *offset = (int64_t)((const char *)data - (const char *)begin);
  *nbytes = (int64_t)size;
  return rt_ipc_end(device, &saved, code, "making a handle of memory", err);
}

static int rt_ipc_memory_open(void *self, int64_t device, const cdevice_ipc_handle *handle, void **out,
                              cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  return rt_ipc_end(device, &saved, rt_memory_open(handle, out), "opening memory of another process", err);
}

static void rt_ipc_memory_close(void *self, int64_t device, void *data) {
  (void)self;
  rt_saved_context saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_memory_close(data);
  rt_leave(&saved);
}

/* Events are asked after their stream has gone only with RT_EVENTS_ALONE: this one is kept. */
static void rt_ipc_event_close(void *self, int64_t device, cdevice_event *event) {
  (void)self;
  rt_saved_context saved;
  if (!event->slot || device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_event_del(event->slot);
  if (event->opaque) rt_stream_del(event->opaque);
  rt_leave(&saved);
  event->slot = event->opaque = NULL;
}

static int rt_ipc_event_export(void *self, int64_t device, void *sync_event, cdevice_event *out,
                               cdevice_ipc_handle *handle, cdevice_error *err) {
  rt_saved_context saved;
  memset(out, 0, sizeof *out);
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_stream_new(&out->opaque);
  if (!code) code = rt_event_new_shared(&out->slot);
  if (!code) code = rt_stream_wait(out->opaque, *(void **)sync_event);
  if (!code) code = rt_event_rec(out->slot, out->opaque);
  if (!code) code = rt_event_handle(out->slot, handle);
  r = rt_ipc_end(device, &saved, code, "making a handle of an event", err);
  if (!r) {
    out->sync_event = &out->slot;
  } else if (out->slot) {
    rt_ipc_event_close(self, device, out);
  } else if (out->opaque && !rt_enter((int)device, &saved)) {
    rt_stream_del(out->opaque);
    out->opaque = NULL;
    rt_leave(&saved);
  }
  return r;
}

static int rt_ipc_event_open(void *self, int64_t device, const cdevice_ipc_handle *handle, cdevice_event *out,
                             cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  memset(out, 0, sizeof *out);
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  r = rt_ipc_end(device, &saved, rt_event_open(handle, &out->slot), "opening an event of another process", err);
  if (!r) out->sync_event = &out->slot;
  return r;
}

static const cdevice_ipc rt_ipc = {sizeof rt_ipc,        0,
                                   rt_ipc_memory_export, rt_ipc_memory_open,
                                   rt_ipc_memory_close,  rt_ipc_event_export,
                                   rt_ipc_event_open,    rt_ipc_event_close};

#endif
