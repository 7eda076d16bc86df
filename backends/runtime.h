/* runtime.h - the one template of a driver-shaped runtime: streams, events, device, pinned and managed memory.
 *
 * cuda.c and rocm.c define RT_FAMILY, RT_N_KINDS and rt_saved, include this file, and define the small functions it
 * declares with their vendor's calls; the backend tables are made of them here.  All of it runs on any thread, without
 * the GIL.
 *
 *   rt_load(err)                       loads the library; ENODEV where there is none
 *   rt_enter(device, &saved)           makes the device current, returns the vendor's code; rt_leave(saved) undoes it
 *   rt_malloc(kind, n, &p)  rt_mfree(kind, p)
 *   rt_memcpy(kind, host_kind, dst, src, n, stream)   rt_memset(p, byte, n, stream)
 *   rt_event_new(&e) rt_event_del(e) rt_event_rec(e, s) rt_event_ask(e) rt_event_sync(e)
 *   rt_stream_wait(s, e) rt_stream_new(&s) rt_stream_del(s) rt_stream_sync(s) rt_call(s, fn, arg)
 *   rt_where(p, &kind, &device, &bytes_behind)   rt_error_name(code)   rt_error_text(code)
 *   rt_count(&n) rt_describe(device, info)
 *   rt_can_call()                      does the library have what rt_call needs?
 *   rt_kinds[RT_N_KINDS]               {kind, device type, name, capabilities} of each table
 *
 * Freed blocks go into a pool: a synchronous free would wait for the device, and a stream-ordered one could overtake a
 * consumer on another stream.  A block in the pool carries events recorded at the time of its release on the legacy
 * default stream (which follows all blocking streams of the device) and on the stream it was allocated for; it is used
 * again once they have passed.  Consumers on non-blocking streams keep the array, or say so by record_use.
 */
#ifndef CDEVICE_RUNTIME_H
#define CDEVICE_RUNTIME_H

#include "dl.h"

#include "cdevice/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* The error numbers that CUDA's driver, CUDA's runtime and HIP share. */
enum {
  RT_OK = 0,
  RT_INVALID = 1,
  RT_OOM = 2,
  RT_SHUTDOWN = 4,
  RT_NO_DRIVER = 35,
  RT_NO_DEVICE = 100,
  RT_BAD_DEVICE = 101,
  RT_NOT_READY = 600
};
enum { RT_DEVICE = 0, RT_PINNED = 1, RT_MANAGED = 2 };

typedef struct rt_kind {
  int kind;
  int32_t device_type;
  const char *name;
  uint64_t capabilities;
} rt_kind;

/* What the vendor's file defines; those returning int give the vendor's code. */
static const rt_kind rt_kinds[RT_N_KINDS];
static int rt_load(cdevice_error *err);
static int rt_count(int *n);
static int rt_describe(int device, cdevice_device_info *out);
static int rt_enter(int device, rt_saved *saved);
static void rt_leave(rt_saved *saved);
static int rt_malloc(int kind, size_t n, void **out);
static int rt_mfree(int kind, void *p);
static int rt_memcpy(int kind, int direction, void *dst, const void *src, size_t n, void *stream);
static int rt_memset(void *p, int byte, size_t n, void *stream);
static int rt_event_new(void **out);
static int rt_event_del(void *event);
static int rt_event_rec(void *event, void *stream);
static int rt_event_ask(void *event);
static int rt_event_sync(void *event);
static int rt_stream_wait(void *stream, void *event);
static int rt_stream_new(void **out);
static int rt_stream_del(void *stream);
static int rt_stream_sync(void *stream);
static int rt_can_call(void);
static int rt_call(void *stream, void (*fn)(void *), void *arg);
static int rt_where(const void *p, int *kind, int *device, int64_t *behind);
static const char *rt_error_name(int code);
static const char *rt_error_text(int code);

#define RT_DEVICES 32
#define RT_EVENTS 256

typedef struct rt_chunk { /* one allocation of the vendor's */
  struct rt_chunk *next;
  void *data;
  int64_t size;
  void *stream;   /* it was allocated for */
  void *event[2]; /* recorded when it was given back */
  int kind;
} rt_chunk;

static struct {
  pthread_mutex_t lock;
  rt_chunk *idle; /* newest first */
  int64_t live, idle_bytes, peak;
  void *events[RT_EVENTS];
  int n_events;
  void *notify; /* a stream of our own for rt_call */
} rt_state[RT_DEVICES];
static int rt_devices;

static int rt_errno(int code) {
  switch (code) {
    case RT_OOM: return ENOMEM;
    case RT_NO_DRIVER:
    case RT_NO_DEVICE: return ENODEV;
    case RT_INVALID:
    case RT_BAD_DEVICE:
    case 400: return EINVAL;
    case 801: return ENOTSUP;
    default: return EIO;
  }
}

static int rt_fail(cdevice_error *err, int code, const char *doing) {
  return cdevice_backend_fail(err, rt_errno(code), code, rt_error_name(code), "%s: %s", doing, rt_error_text(code));
}

static int rt_bad_device(cdevice_error *err, int64_t device) {
  return cdevice_backend_fail(err, EINVAL, RT_BAD_DEVICE, rt_error_name(RT_BAD_DEVICE), "no device %lld, there are %d",
                              (long long)device, rt_devices);
}
#define RT_ENTER(device, err)                                                    \
  rt_saved saved;                                                                \
  if ((device) < 0 || (device) >= rt_devices) return rt_bad_device(err, device); \
  int code = rt_enter((int)(device), &saved);                                    \
  if (code) return rt_fail(err, code, "making the device current")
#define RT_LEAVE(err, doing) \
  rt_leave(&saved);          \
  return code ? rt_fail(err, code, doing) : 0

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
      if (code || !n) {
        int none = !n || code == RT_NO_DRIVER || code == RT_NO_DEVICE || code == RT_BAD_DEVICE;
        r = cdevice_backend_fail(err, none ? ENODEV : rt_errno(code), code, code ? rt_error_name(code) : "",
                                 "no device: %s", code ? rt_error_text(code) : "the driver lists none");
      }
    }
    for (int i = 0; !r && i < RT_DEVICES; i++) pthread_mutex_init(&rt_state[i].lock, NULL);
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
  RT_ENTER(device, err);
  out->alignment = 256;
  out->total_bytes = out->free_bytes = -1;
  code = rt_describe((int)device, out);
  if (k->kind == RT_PINNED) out->total_bytes = out->free_bytes = -1; /* the host's, not the device's */
  RT_LEAVE(err, "asking about the device");
}

/* ---- events; the device is current ---- */
static int rt_event_get(int device, void **out) {
  *out = NULL;
  pthread_mutex_lock(&rt_state[device].lock);
  if (rt_state[device].n_events) *out = rt_state[device].events[--rt_state[device].n_events];
  pthread_mutex_unlock(&rt_state[device].lock);
  return *out ? 0 : rt_event_new(out);
}

static void rt_event_put(int device, void *event) {
  if (!event) return;
  pthread_mutex_lock(&rt_state[device].lock);
  if (rt_state[device].n_events < RT_EVENTS) {
    rt_state[device].events[rt_state[device].n_events++] = event;
    event = NULL;
  }
  pthread_mutex_unlock(&rt_state[device].lock);
  if (event) rt_event_del(event);
}

/* ---- the pool ---- */

/* 512 bytes, then powers of two and the middles between them: a quarter is lost at most beyond what was asked. */
static int64_t rt_class(int64_t n) {
  int64_t size = 512;
  while (size < n) {
    if (size + size / 2 >= n) return size + size / 2;
    size *= 2;
  }
  return size;
}

static int rt_passed(const rt_chunk *c) {
  for (int i = 0; i < 2; i++)
    if (c->event[i] && rt_event_ask(c->event[i]) == RT_NOT_READY) return 0;
  return 1;
}

/* Takes a chunk of this size out of the pool whose events have passed; every != 0: the first of any size. */
static rt_chunk *rt_take(int device, int kind, int64_t size, int every) {
  rt_chunk *found = NULL;
  pthread_mutex_lock(&rt_state[device].lock);
  for (rt_chunk **at = &rt_state[device].idle; *at; at = &(*at)->next) {
    rt_chunk *c = *at;
    if ((!every && (c->size != size || c->kind != kind)) || !rt_passed(c)) continue;
    *at = c->next;
    rt_state[device].idle_bytes -= c->size;
    found = c;
    break;
  }
  pthread_mutex_unlock(&rt_state[device].lock);
  if (found)
    for (int i = 0; i < 2; i++) {
      rt_event_put(device, found->event[i]);
      found->event[i] = NULL;
    }
  return found;
}

static void rt_trim_device(int device) { /* the device is current */
  rt_chunk *c;
  while ((c = rt_take(device, 0, 0, 1))) {
    rt_mfree(c->kind, c->data);
    free(c);
  }
}

static int rt_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  const rt_kind *k = self;
  if (nbytes > INT64_MAX / 4) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes", (long long)nbytes);
  RT_ENTER(device, err);
  int64_t size = rt_class(nbytes);
  rt_chunk *c = rt_take((int)device, k->kind, size, 0);
  if (!c) {
    c = calloc(1, sizeof *c);
    code = c ? rt_malloc(k->kind, (size_t)size, &c->data) : RT_OOM;
    if (c && code == RT_OOM) { /* once more with what the pool holds */
      rt_trim_device((int)device);
      code = rt_malloc(k->kind, (size_t)size, &c->data);
    }
    if (code) {
      free(c);
      rt_leave(&saved);
      char doing[96];
      snprintf(doing, sizeof doing, "%lld bytes (%lld with rounding)", (long long)nbytes, (long long)size);
      return rt_fail(err, code, doing);
    }
    c->size = size;
    c->kind = k->kind;
  }
  c->stream = stream;
  pthread_mutex_lock(&rt_state[device].lock);
  rt_state[device].live += size;
  if (rt_state[device].live > rt_state[device].peak) rt_state[device].peak = rt_state[device].live;
  pthread_mutex_unlock(&rt_state[device].lock);
  *out = (cdevice_block){c->data, nbytes, device, {c, NULL}};
  RT_LEAVE(err, "");
}

static void rt_free(void *self, const cdevice_block *block) {
  (void)self;
  rt_chunk *c = block->opaque[0];
  rt_saved saved;
  int device = (int)block->device_id;
  if (!c || rt_enter(device, &saved)) return; /* a view; or the runtime is gone, and the memory with it */
  void *streams[2] = {NULL, c->stream};
  int n = c->stream ? 2 : 1, code = 0;
  for (int i = 0; i < n && !code; i++) {
    code = rt_event_get(device, &c->event[i]);
    if (!code) code = rt_event_rec(c->event[i], streams[i]);
    if (code && i == 1) { /* its stream was destroyed: all its work is over or follows the legacy stream */
      rt_event_put(device, c->event[1]);
      c->event[1] = NULL;
      code = 0;
    }
  }
  pthread_mutex_lock(&rt_state[device].lock);
  rt_state[device].live -= c->size;
  if (!code) {
    c->next = rt_state[device].idle;
    rt_state[device].idle = c;
    rt_state[device].idle_bytes += c->size;
  }
  pthread_mutex_unlock(&rt_state[device].lock);
  if (code) { /* without an event nobody could tell when; shutting down: leaked to the process's end */
    if (code != RT_SHUTDOWN) rt_mfree(c->kind, c->data);
    free(c);
  }
  rt_leave(&saved);
}

static void rt_statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  (void)self;
  rt_saved saved;
  *live = *pooled = *pending = *peak = 0;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  pthread_mutex_lock(&rt_state[device].lock);
  *live = rt_state[device].live;
  *peak = rt_state[device].peak;
  for (rt_chunk *c = rt_state[device].idle; c; c = c->next) *(rt_passed(c) ? pooled : pending) += c->size;
  pthread_mutex_unlock(&rt_state[device].lock);
  rt_leave(&saved);
}

static void rt_trim(void *self, int64_t device) {
  (void)self;
  rt_saved saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_trim_device((int)device);
  rt_leave(&saved);
}

static const void *rt_extension(void *self, const char *id) {
  static const cdevice_pool pool = {sizeof pool, 0, rt_statistics, rt_trim};
  (void)self;
  return strcmp(id, CDEVICE_POOL) ? NULL : &pool;
}

/* ---- copies ---- */
static int rt_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  const rt_kind *k = self;
  if (!n) return 0;
  RT_ENTER(kind == CDEVICE_COPY_D2H ? copies[0].src_device : copies[0].dst_device, err);
  int64_t i = 0;
  for (; !code && i < n; i++)
    if (copies[i].nbytes)
      code = rt_memcpy(k->kind, kind, (char *)copies[i].dst + copies[i].dst_offset,
                       (const char *)copies[i].src + copies[i].src_offset, (size_t)copies[i].nbytes, stream);
  if (code && i > 1) rt_stream_sync(stream); /* the host memory of those before must not be touched afterwards */
  RT_LEAVE(err, "copying");
}

static int rt_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                   cdevice_error *err) {
  (void)self;
  RT_ENTER(block->device_id, err);
  code = rt_memset((char *)block->data + offset, byte, (size_t)nbytes, stream);
  RT_LEAVE(err, "filling");
}

/* ---- events ---- */
static int rt_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self;
  memset(out, 0, sizeof *out);
  RT_ENTER(device, err);
  code = rt_event_get((int)device, &out->slot);
  if (!code) {
    code = rt_event_rec(out->slot, stream);
    if (code) {
      rt_event_put((int)device, out->slot);
      out->slot = NULL;
    }
  }
  if (!code) out->sync_event = &out->slot;
  RT_LEAVE(err, "recording an event");
}

static void rt_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self;
  rt_saved saved;
  if (!event->slot || device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_event_put((int)device, event->slot); /* recording it again is legal while others wait for the old record */
  rt_leave(&saved);
  event->slot = NULL;
}

static int rt_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_event_ask(*(void **)sync_event);
  *done = code == RT_OK;
  if (code == RT_NOT_READY) code = 0;
  RT_LEAVE(err, "asking an event");
}

static int rt_event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_event_sync(*(void **)sync_event);
  RT_LEAVE(err, "waiting for an event");
}

static int rt_event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_stream_wait(stream, *(void **)sync_event);
  RT_LEAVE(err, "making a stream wait for an event");
}

static int rt_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *), void *arg,
                           cdevice_error *err) {
  (void)self;
  if (!rt_can_call()) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime calls nobody back");
  RT_ENTER(device, err);
  pthread_mutex_lock(&rt_state[device].lock);
  if (!rt_state[device].notify) code = rt_stream_new(&rt_state[device].notify);
  void *stream = rt_state[device].notify;
  /* under the lock: wait and call stand together on the stream */
  if (!code) code = rt_stream_wait(stream, *(void **)sync_event);
  if (!code) code = rt_call(stream, fn, arg);
  pthread_mutex_unlock(&rt_state[device].lock);
  RT_LEAVE(err, "watching an event");
}

/* ---- streams ---- */
static int rt_stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_stream_new(out);
  RT_LEAVE(err, "creating a stream");
}

static void rt_stream_destroy(void *self, int64_t device, void *stream) {
  (void)self;
  rt_saved saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_stream_del(stream);
  rt_leave(&saved);
}

static int rt_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_stream_sync(stream);
  RT_LEAVE(err, "waiting for a stream");
}

static int rt_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                     cdevice_error *err) {
  const rt_kind *k = self;
  int kind = RT_DEVICE, where = 0;
  int64_t behind = -1;
  RT_ENTER(0, err);
  code = rt_where(data, &kind, &where, &behind);
  rt_leave(&saved);
  if (code == 801) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime does not tell where memory is");
  if (code) return rt_fail(err, code, "looking up an address");
  *device_type = k->device_type;
  for (int i = 0; i < RT_N_KINDS; i++)
    if (rt_kinds[i].kind == kind) *device_type = rt_kinds[i].device_type;
  *device = where;
  *nbytes = behind;
  return 0;
}

/* ---- the tables ---- */
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
