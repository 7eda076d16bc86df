/* runtime.h - the one template of a driver-shaped runtime: streams, events, device, pinned and managed memory.
 *
 * cuda.c and rocm.c define RT_FAMILY, RT_N_KINDS and rt_saved, include this file, and define the small functions it
 * declares with their vendor's calls; the backend tables are made of them here.  All of it runs on any thread, without
 * the GIL.
 *
 *   rt_load(err)                       loads the library, notes its path in rt_library; ENODEV where there is none
 *   rt_enter(device, &saved)           makes the device current and the thread's capture mode relaxed, returns the
 *                                      vendor's code; rt_leave(saved) undoes both
 *   rt_malloc(kind, n, &p)  rt_mfree(kind, p)
 *   rt_memcpy(kind, host_kind, dst, src, n, stream)   rt_memset(p, byte, n, stream)
 *   rt_event_new(&e) rt_event_del(e) rt_event_rec(e, s) rt_event_ask(e) rt_event_sync(e)
 *   rt_has_all() rt_event_rec_all(device, e)   records after the work of all streams of the device, if it can
 *   rt_capture(s, &status)             is the stream, or for the legacy one any that it follows, being captured?
 *   rt_stream_wait(s, e) rt_stream_new(&s) rt_stream_del(s) rt_stream_sync(s) rt_call(s, fn, arg)
 *   rt_device_sync()                   waits for the current device
 *   rt_see(device, other)              lets the current device reach the other's memory itself, if it can
 *   rt_where(p, &kind, &device, &bytes_behind)   rt_error_name(code)   rt_error_text(code)
 *   rt_count(&n) rt_describe(device, info)
 *   rt_can_call()                      does the library have what rt_call needs?
 *   rt_kinds[RT_N_KINDS]               {kind, device type, name, capabilities} of each table
 *
 * A stream that is being captured is refused: its work would run again with every launch of the graph, over memory that
 * others have by then.
 *
 * CDEVICE_CAP_ASYNC_FREE is not claimed: with the two events, a copy on somebody's non-blocking stream is not covered,
 * and whether there is the one cannot be known before the start.  So the core keeps the source of a copy until the
 * copy's event has passed, and consumers on non-blocking streams keep the array, or say so by record_use.
 */
#ifndef CDEVICE_RUNTIME_H
#define CDEVICE_RUNTIME_H

#include "dl.h"

#include "cdevice/backend.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* The error numbers that CUDA's driver, CUDA's runtime and HIP share. */
enum {
  RT_OK = 0,
  RT_INVALID = 1,
  RT_OOM = 2,
  RT_SHUTDOWN = 4,
  RT_STUB = 34,
  RT_NO_DRIVER = 35,
  RT_NO_DEVICE = 100,
  RT_BAD_DEVICE = 101,
  RT_BAD_CONTEXT = 201,
  RT_BAD_HANDLE = 400,
  RT_NOT_READY = 600,
  RT_NOT_SUPPORTED = 801,
  RT_MISMATCH = 803,
  RT_TOO_OLD = 804,
};
enum { RT_CAPTURED = 900, RT_CAPTURED_BY_OTHERS = 906, RT_CAPTURE_LAST = 908 };
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
static int rt_has_all(void);
static int rt_event_rec_all(int device, void *event);
static int rt_capture(void *stream, int *status);
static int rt_event_ask(void *event);
static int rt_event_sync(void *event);
static int rt_stream_wait(void *stream, void *event);
static int rt_stream_new(void **out);
static int rt_stream_del(void *stream);
static int rt_stream_sync(void *stream);
static int rt_device_sync(void);
static void rt_see(int device, int other);
static int rt_can_call(void);
static int rt_call(void *stream, void (*fn)(void *), void *arg);
static int rt_where(const void *p, int *kind, int *device, int64_t *behind);
static const char *rt_error_name(int code);
static const char *rt_error_text(int code);

#define RT_DEVICES 32
#define RT_EVENTS 256
#define RT_WATCHES 8

/* A stream of our own that waits for an event and then calls.  One at a time: those behind it would wait for it too. */
typedef struct rt_watch {
  atomic_int state;
  void *stream;
  void (*fn)(void *);
  void *arg;
} rt_watch;
enum { RT_IDLE, RT_TAKEN, RT_ARMED, RT_DEAD };

static struct rt_state {
  pthread_mutex_t lock; /* of the events */
  void *events[RT_EVENTS];
  int n_events;
  rt_watch watches[RT_WATCHES];
} rt_state[RT_DEVICES];
static char rt_library[512]; /* what was loaded */
static int rt_devices;
static atomic_int rt_holds; /* how many say, of any device, that a capture may be under way which nobody can see */

/* After these the device does nothing for this process any more, whatever it is asked: ECC, NVLink and contained errors,
 * faults of kernels, a context that was destroyed, an MPS server that has gone or ended this client. */
static int rt_is_sticky(int code) {
  switch (code) {
    case 214:
    case 220:
    case 226:
    case 700:
    case 702:
    case 709:
    case 710:
    case 721:
    case 805:
    case 806:
    case 810: return 1;
    default: return code >= 714 && code <= 719;
  }
}

/* EIO is for a dead device alone: memory goes back on it.  EPROTO: a code that says nothing of the device. */
static int rt_errno(int code) {
  switch (code) {
    case RT_OOM: return ENOMEM;
    case RT_STUB:
    case RT_NO_DRIVER:
    case RT_NO_DEVICE:
    case RT_MISMATCH:
    case RT_TOO_OLD: return ENODEV;
    case RT_INVALID:
    case RT_BAD_DEVICE:
    case RT_BAD_HANDLE: return EINVAL;
    case RT_NOT_SUPPORTED: return ENOTSUP;
    default: return rt_is_sticky(code) ? EIO : code >= RT_CAPTURED && code <= RT_CAPTURE_LAST ? EAGAIN : EPROTO;
  }
}

static void rt_device_failed(int device);
static void rt_pools_start(void);

static int rt_fail(cdevice_error *err, int code, const char *doing) {
  if (!err) return rt_errno(code);
  return cdevice_backend_fail(err, rt_errno(code), code, rt_error_name(code), "%s: %s", doing, rt_error_text(code));
}

static int rt_bad_device(cdevice_error *err, int64_t device) {
  return cdevice_backend_fail(err, EINVAL, RT_BAD_DEVICE, rt_error_name(RT_BAD_DEVICE), "no device %lld, there are %d",
                              (long long)device, rt_devices);
}
/* EINVAL would be about what was asked for: a dead handle, memory that is none. */
static int rt_not_entered(cdevice_error *err, int code) {
  int r = rt_fail(err, code, "making the device current");
  return r == EINVAL ? EPROTO : r;
}
#define RT_ENTER(device, err)                                                   \
  const int64_t rt_here = (device);                                             \
  rt_saved saved;                                                               \
  if (rt_here < 0 || rt_here >= rt_devices) return rt_bad_device(err, rt_here); \
  int code = rt_enter((int)rt_here, &saved);                                    \
  if (code) return rt_not_entered(err, code)
#define RT_LEAVE(err, doing)                              \
  if (rt_is_sticky(code)) rt_device_failed((int)rt_here); \
  rt_leave(&saved);                                       \
  return code ? rt_fail(err, code, doing) : 0

/* 0, or why nothing may be put on the stream.  For the legacy stream asking is all that may be done while others that it
 * follows are being captured: whatever is put on it ends their capture. */
static int rt_captured(void *stream) {
  int status = 0, code = rt_capture(stream, &status);
  return code == RT_CAPTURED_BY_OTHERS ? code : !code && status ? RT_CAPTURED : 0;
}

#define RT_DURING_CAPTURE \
  "the stream, or one that it follows, is being captured (do this before the capture, or give another stream)"
#define RT_REFUSE_CAPTURED(stream, err)             \
  do {                                              \
    code = rt_captured(stream);                     \
    if (code) {                                     \
      rt_leave(&saved);                             \
      return rt_fail(err, code, RT_DURING_CAPTURE); \
    }                                               \
  } while (0)

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
        int none = !code || code == RT_BAD_DEVICE; /* HIP 5 says 101 where there is none */
        r = cdevice_backend_fail(err, none ? ENODEV : rt_errno(code), code, code ? rt_error_name(code) : "",
                                 "%s is there, but no device: %s", rt_library,
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
  RT_ENTER(device, err);
  out->alignment = 256;
  out->total_bytes = out->free_bytes = -1;
  code = rt_describe((int)device, out);
  if (!out->name[0]) snprintf(out->name, sizeof out->name, "%s %d", RT_FAMILY, (int)device);
  if (k->kind == RT_PINNED) out->total_bytes = out->free_bytes = -1; /* the host's, not the device's */
  RT_LEAVE(err, "asking about the device");
}

/* ---- events; the device is current ---- */
static int rt_event_get(int device, void **out) {
  struct rt_state *d = &rt_state[device];
  *out = NULL;
  pthread_mutex_lock(&d->lock);
  if (d->n_events) *out = d->events[--d->n_events];
  pthread_mutex_unlock(&d->lock);
  return *out ? 0 : rt_event_new(out);
}

/* Recording it again is legal while others wait for its old record.  0: there are enough. */
static int rt_event_keep(int device, void *event) {
  struct rt_state *d = &rt_state[device];
  pthread_mutex_lock(&d->lock);
  int room = d->n_events < RT_EVENTS;
  if (room) d->events[d->n_events++] = event;
  pthread_mutex_unlock(&d->lock);
  return room;
}

/* Has it passed?  That the device is dead is believed when it was said twice: one call may fail alone. */
static int rt_event_over(void *event) {
  int code = rt_event_ask(event);
  return rt_is_sticky(code) ? rt_event_ask(event) : code;
}

static void rt_event_put(int device, void *event) {
  if (event && !rt_event_keep(device, event)) rt_event_del(event);
}

/* ---- memory ---- */
#include "pool.h"

/* ---- copies ---- */

/* Without it a copy between two devices goes through the host's memory.  Asked once for each pair; it stays as it is where
 * somebody else has done it. */
static void rt_see_once(int device, int other) {
  static atomic_uchar asked[RT_DEVICES][RT_DEVICES];
  if (other >= 0 && other < rt_devices && other != device && !atomic_exchange(&asked[device][other], 1))
    rt_see(device, other);
}

static int rt_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  const rt_kind *k = self;
  if (!n) return 0;
  RT_ENTER(kind == CDEVICE_COPY_D2H ? copies[0].src_device : copies[0].dst_device, err);
  RT_REFUSE_CAPTURED(stream, err);
  int64_t i = 0;
  if (kind == CDEVICE_COPY_PEER) rt_see_once((int)rt_here, (int)copies[0].src_device);
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
  RT_REFUSE_CAPTURED(stream, err);
  code = rt_memset((char *)block->data + offset, byte, (size_t)nbytes, stream);
  RT_LEAVE(err, "filling");
}

/* ---- events ---- */
static int rt_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self;
  memset(out, 0, sizeof *out);
  RT_ENTER(device, err);
  RT_REFUSE_CAPTURED(stream, err);
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
  if (!event->slot || device < 0 || device >= rt_devices) return;
  if (!rt_event_keep((int)device, event->slot) && !rt_enter((int)device, &saved)) {
    rt_event_del(event->slot);
    rt_leave(&saved);
  }
  event->slot = NULL;
}

static int rt_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_event_over(*(void **)sync_event);
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
  int captured = rt_captured(stream); /* asked once: the capture may end meanwhile, and then nobody would wait */
  if (!captured) {
    code = rt_stream_wait(stream, *(void **)sync_event);
  } else { /* a graph cannot wait for what is outside of it, and need not for what has passed */
    code = rt_event_ask(*(void **)sync_event);
    if (code == RT_NOT_READY) {
      rt_leave(&saved);
      return rt_fail(err, captured, RT_DURING_CAPTURE);
    }
  }
  RT_LEAVE(err, "making a stream wait for an event");
}

/* A vendor's thread: no lock of ours, no call of theirs. */
static void rt_passed(void *arg) {
  rt_watch *w = arg;
  int armed = RT_ARMED;
  if (!atomic_compare_exchange_strong(&w->state, &armed, RT_TAKEN)) return; /* called already */
  void (*fn)(void *) = w->fn;
  void *x = w->arg;
  atomic_store(&w->state, RT_IDLE);
  fn(x);
}

static int rt_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *), void *arg,
                           cdevice_error *err) {
  (void)self;
  if (!rt_can_call()) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime calls nobody back");
  if (atomic_load(&rt_holds)) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "not while a graph may be captured");
  RT_ENTER(device, err);
  rt_watch *w = NULL;
  for (int i = 0; i < RT_WATCHES && !w; i++) {
    int idle = RT_IDLE;
    if (atomic_compare_exchange_strong(&rt_state[device].watches[i].state, &idle, RT_TAKEN))
      w = &rt_state[device].watches[i];
  }
  if (!w) {
    rt_leave(&saved);
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "all streams that could tell of an event are busy");
  }
  if (!w->stream) code = rt_stream_new(&w->stream);
  if (!code) code = rt_stream_wait(w->stream, *(void **)sync_event);
  if (code) {
    atomic_store(&w->state, RT_IDLE);
  } else {
    w->fn = fn;
    w->arg = arg;
    atomic_store(&w->state, RT_ARMED);
    code = rt_call(w->stream, rt_passed, w);
    int armed = RT_ARMED;
    if (code && !atomic_compare_exchange_strong(&w->state, &armed, RT_IDLE))
      code = 0; /* another thread saw the device fail and called */
  }
  RT_LEAVE(err, "watching an event");
}

/* A failed device calls nobody back, so those who wait are called here.  A second failure confirms the first: one call
 * may fail alone. */
static void rt_device_failed(int device) {
  void *event = NULL;
  int code = rt_event_get(device, &event);
  if (!code) code = rt_event_rec(event, NULL);
  if (event) rt_event_put(device, event);
  if (!rt_is_sticky(code)) return;
  for (int i = 0; i < RT_WATCHES; i++) {
    rt_watch *w = &rt_state[device].watches[i];
    int armed = RT_ARMED;
    if (!atomic_compare_exchange_strong(&w->state, &armed, RT_TAKEN)) continue;
    void (*fn)(void *) = w->fn;
    void *x = w->arg;
    atomic_store(&w->state, RT_DEAD); /* never used again, like the device */
    fn(x);
  }
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
  RT_REFUSE_CAPTURED(stream, err);
  code = rt_stream_sync(stream);
  RT_LEAVE(err, "waiting for a stream");
}

static int rt_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                     cdevice_error *err) {
  const rt_kind *k = self;
  int kind = RT_DEVICE, where = 0;
  int64_t behind = -1;
  RT_ENTER(device && *device >= 0 && *device < rt_devices ? *device : 0, err);
  code = rt_where(data, &kind, &where, &behind);
  rt_leave(&saved);
  if (code == RT_NOT_SUPPORTED)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime does not tell where memory is");
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
