/* device_memory.c - memory and events of a device for other processes, by the handles of its vendor. */
#include "core/ipc/device_memory.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/event/event.h"
#include "core/ipc/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "cdvdev1"

struct record {
  char magic[8];
  int64_t device_type, device, nbytes;
  cdevice_ipc_handle handle;
};

/* The calls of a started backend, which is held until cdv_backend_addref(.., -1). */
static int acquire(int32_t device_type, struct cdv_backend **backend, const cdevice_ipc **calls) {
  int r = cdv_backend_acquire(device_type, backend);
  if (r) return r;
  const cdevice_backend *b = &(*backend)->table;
  *calls = b->extension ? b->extension(b->self, CDEVICE_IPC) : NULL;
  if (*calls && (*calls)->struct_size >= sizeof **calls) return 0;
  cdv_backend_addref(*backend, -1);
  return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP, "the memory of %s cannot be opened by other processes",
                  cdv_device_type_name(device_type));
}

int cdv_has_handles(int32_t device_type) {
  struct cdv_backend *b;
  const cdevice_ipc *calls;
  if (acquire(device_type, &b, &calls)) return 0;
  cdv_backend_addref(b, -1);
  return 1;
}

static int failed(int code, const cdevice_error *err, int32_t device_type, int64_t device, const char *doing) {
  if (code == ENOTSUP) return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP, "%s: %s", doing, err->message);
  return cdv_fail_backend(code, err, device_type, device, doing);
}

int cdv_device_memory_export(int32_t device_type, int64_t device, const void *data, struct cdv_segment **out,
                             const char **base, int64_t *nbytes) {
  struct cdv_backend *b;
  const cdevice_ipc *calls;
  cdevice_error err = {.struct_size = sizeof err};
  struct record record = {.magic = MAGIC, .device_type = device_type, .device = device};
  int64_t offset = 0;
  int r = acquire(device_type, &b, &calls);
  if (r) return r;
  r = calls->memory_export(b->table.self, device, data, &record.handle, &offset, nbytes, &err);
  if (r) r = failed(r, &err, device_type, device, "sharing an array");
  record.nbytes = *nbytes;
  *base = (const char *)data - offset;
  if (!r) r = cdv_segment_of_bytes(&record, sizeof record, out);
  cdv_backend_addref(b, -1);
  return r;
}

struct opened {
  struct cdv_backend *backend;
  const cdevice_ipc *calls;
  int64_t device;
  void *data;
  cdevice_event event;
};

static void close_memory(void *context) {
  struct opened *o = context;
  if (cdv_backend_usable_in_process(o->backend)) o->calls->memory_close(o->backend->table.self, o->device, o->data);
  cdv_backend_addref(o->backend, -1);
  free(o);
}

int cdv_device_memory_open(const struct cdv_segment *from, int32_t device_type, int64_t device,
                           struct cdv_segment **out) {
  struct record record;
  cdevice_error err = {.struct_size = sizeof err};
  memset(&record, 0, sizeof record);
  if (from->nbytes >= (int64_t)sizeof record) memcpy(&record, from->base, sizeof record);
  if (memcmp(record.magic, MAGIC, sizeof record.magic) != 0 || record.nbytes < 0 || record.device_type != device_type ||
      record.device != device)
    return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "the description of the shared array is broken: a handle of memory");
  struct opened *o = calloc(1, sizeof *o);
  if (!o) return cdv_fail_memory(sizeof *o, "shared device memory");
  o->device = device;
  int r = acquire(device_type, &o->backend, &o->calls);
  if (r) {
    free(o);
    return r;
  }
  r = o->calls->memory_open(o->backend->table.self, o->device, &record.handle, &o->data, &err);
  if (r) {
    r = cdv_fail_backend(r, &err, device_type, device, "opening a shared array");
    cdv_backend_addref(o->backend, -1);
    free(o);
    return r;
  }
  return cdv_segment_of_device(o->data, record.nbytes, (struct cdv_owner){close_memory, o}, out);
}

static void close_event(void *context) {
  struct opened *o = context;
  if (cdv_backend_usable_in_process(o->backend)) o->calls->event_close(o->backend->table.self, o->device, &o->event);
  cdv_backend_addref(o->backend, -1);
  free(o);
}

static int keep(struct opened *o, struct cdv_shared **kept) {
  if (!cdv_share((struct cdv_owner){close_event, o}, kept)) return 0;
  close_event(o);
  return cdv_fail_memory(64, "an event");
}

int cdv_event_export(struct cdv_array *array, struct cdv_event_record *record, struct cdv_shared **kept) {
  const struct ArrowDeviceArray *own = &array->root->own;
  cdevice_error err = {.struct_size = sizeof err};
  int done = 0;
  memset(record, 0, sizeof *record);
  *kept = NULL;
  int r = cdv_event_ready(array, &done);
  if (r || done) return r;
  struct opened *o = calloc(1, sizeof *o);
  if (!o) return cdv_fail_memory(sizeof *o, "an event");
  o->device = own->device_id;
  r = acquire(own->device_type, &o->backend, &o->calls);
  if (!r) {
    r = o->calls->event_export(o->backend->table.self, o->device, own->sync_event, &o->event, &record->handle, &err);
    if (!r) {
      record->is_set = 1;
      return keep(o, kept);
    }
    cdv_backend_addref(o->backend, -1);
  }
  free(o);
  return cdv_event_wait_host(array); /* a fault of the event comes out there, too */
}

int cdv_event_open(int32_t device_type, int64_t device, const struct cdv_event_record *record, void **sync_event,
                   struct cdv_shared **kept) {
  cdevice_error err = {.struct_size = sizeof err};
  *kept = NULL;
  *sync_event = NULL;
  if (!record->is_set) return 0;
  struct opened *o = calloc(1, sizeof *o);
  if (!o) return cdv_fail_memory(sizeof *o, "an event");
  o->device = device;
  int r = acquire(device_type, &o->backend, &o->calls);
  if (r) {
    free(o);
    return r;
  }
  r = o->calls->event_open(o->backend->table.self, device, &record->handle, &o->event, &err);
  if (!r) {
    *sync_event = o->event.sync_event;
    return keep(o, kept);
  }
  r = cdv_fail_backend(r, &err, device_type, device, "opening a shared array");
  cdv_backend_addref(o->backend, -1);
  free(o);
  return r;
}
