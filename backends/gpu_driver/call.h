/* call.h - every call of the template: its device, its error, its events.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_CALL_H
#define CDEVICE_RUNTIME_CALL_H

#include "gpu_driver/vendor.h"

#include <pthread.h>
#include <stdatomic.h>

#define RT_DEVICES 32
#define RT_EVENTS 256
#define RT_WATCHES 8
#define RT_SHADOWS 64

/* A stream of our own that waits for an event and then calls.  One at a time: those behind it would wait for it too. */
typedef struct rt_watch {
  atomic_int state;
  void *stream;
  void (*fn)(void *);
  void *arg;
} rt_watch;
enum { RT_IDLE, RT_TAKEN, RT_ARMED, RT_DEAD };

/* A stream of our own behind one of a user's: events are recorded there once it waits for that stream, where they
 * may not be asked after his is gone. For one of his alone, or his streams would wait for each other. */
typedef struct rt_shadow {
  _Atomic(uintptr_t) of;  /* his handle; 0: free */
  _Atomic(void *) stream; /* NULL: being made */
} rt_shadow;

static struct rt_state {
  pthread_mutex_t lock; /* of the events */
  void *events[RT_EVENTS];
  int n_events;
  rt_watch watches[RT_WATCHES];
  rt_shadow shadows[RT_SHADOWS];
} rt_state[RT_DEVICES];
static char rt_library[512]; /* what was loaded */
static int rt_devices;
static atomic_int rt_holds;   /* the number of capture guards, of all devices */
static atomic_int rt_queries; /* calls under way that would end a capture */

/* Around a call that would end a capture: 0 while a guard is active. After non-zero: rt_query_end. */
static int rt_query_begin(void) {
  atomic_fetch_add(&rt_queries, 1); /* first: rt_guard looks the other way round, so one of the two sees the other */
  if (!atomic_load(&rt_holds)) return 1;
  atomic_fetch_sub(&rt_queries, 1);
  return 0;
}
static void rt_query_end(void) { atomic_fetch_sub(&rt_queries, 1); }

/* After these the device does nothing for this process any more: ECC, NVLink and contained
 * errors, faults of kernels, a context that was destroyed, an MPS server that has gone or ended this client. */
static int rt_is_sticky(int code) {
  if (RT_GONE && code == RT_GONE) return 0;
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

/* EIO is for a dead device only: memory is freed then.  EPROTO: a code that does not concern the device. */
static int rt_errno(int code) {
  if (RT_GONE && code == RT_GONE) return EINVAL;
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

/* ---- events that are free; the device is current ---- */
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

/* Has it passed?  A dead device must be reported twice: one call may fail alone. */
static int rt_event_over(void *event) {
  int code = rt_event_ask(event);
  return rt_is_sticky(code) ? rt_event_ask(event) : code;
}

static void rt_event_put(int device, void *event) {
  if (event && !rt_event_keep(device, event)) rt_event_del(event);
}

/* The legacy and the per-thread default stream: the latter is another one on the thread that gives a block back, and
 * both are covered by the legacy stream. */
static int rt_is_default(const void *stream) { return (uintptr_t)stream <= 2; }

/* cdevice's own stream behind a user's stream; NULL: there is none, and no room for it. */
static void *rt_shadow_of(int device, void *stream) {
  uintptr_t of =
      (uintptr_t)stream == 2 ? (uintptr_t)pthread_self() : (uintptr_t)stream; /* 2 is another on each thread */
  for (int i = 0; i < RT_SHADOWS; i++) {
    rt_shadow *s = &rt_state[device].shadows[(of / 64 + (uintptr_t)i) % RT_SHADOWS];
    uintptr_t there = 0;
    if (atomic_compare_exchange_strong(&s->of, &there, of)) {
      void *made = NULL;
      if (rt_stream_new(&made)) {
        atomic_store(&s->of, 0);
        return NULL;
      }
      atomic_store(&s->stream, made);
      return made;
    }
    if (there == of) return atomic_load(&s->stream);
  }
  for (int i = 0; i < RT_SHADOWS; i++) { /* one that nothing waits for takes another's place */
    rt_shadow *s = &rt_state[device].shadows[(of / 64 + (uintptr_t)i) % RT_SHADOWS];
    uintptr_t before = atomic_load(&s->of);
    void *shadow = atomic_load(&s->stream);
    if (!shadow || !rt_query_begin()) continue;
    int busy = rt_stream_ask(shadow);
    rt_query_end();
    if (!busy && atomic_compare_exchange_strong(&s->of, &before, of)) return shadow;
  }
  return NULL;
}

/* Records behind the work of a stream so that the event may be queried even after the stream was destroyed. */
static int rt_event_rec_kept(int device, void *event, void *stream) {
  void *shadow = NULL, *first = NULL;
  if (!RT_EVENTS_ALONE && stream && stream != (void *)1) shadow = rt_shadow_of(device, stream);
  if (!shadow) return rt_event_rec(event, stream);
  int code = rt_event_get(device, &first);
  if (!code) code = rt_event_rec(first, stream);
  if (!code) code = rt_stream_wait(shadow, first);
  if (!code) code = rt_event_rec(event, shadow);
  rt_event_put(device, first); /* the wait has its record already */
  return code;
}

/* A failed device makes no callbacks, so the waiters are called here.  A second failure confirms the first: one call
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

/* ---- entering and leaving ---- */

/* Makes the device current; after 0 rt_end() or rt_leave() is due. */
static inline int rt_begin(int64_t device, rt_saved_context *saved, cdevice_error *err) {
  if (device < 0 || device >= rt_devices) return rt_bad_device(err, device);
  int code = rt_enter((int)device, saved);
  return code ? rt_not_entered(err, code) : 0;
}

/* 0, or the vendor's code as an error. */
static inline int rt_end(int64_t device, rt_saved_context *saved, int code, const char *doing, cdevice_error *err) {
  if (rt_is_sticky(code)) rt_device_failed((int)device);
  rt_leave(saved);
  return code ? rt_fail(err, code, doing) : 0;
}

/* 0, or why nothing may be put on the stream.  For the legacy stream asking is all that may be done while others that
 * it follows are being captured: any work put on it ends their capture. */
static int rt_captured(void *stream) {
  int status = 0, code = rt_capture(stream, &status);
  return code == RT_CAPTURED_BY_OTHERS ? code : !code && status ? RT_CAPTURED : 0;
}

#define RT_DURING_CAPTURE \
  "the stream, or one that it follows, is being captured (do this before the capture, or give another stream)"

/* rt_begin() for what puts work on the stream. */
static inline int rt_begin_on(int64_t device, void *stream, rt_saved_context *saved, cdevice_error *err) {
  int r = rt_begin(device, saved, err);
  if (r) return r;
  int code = rt_captured(stream);
  if (!code) return 0;
  rt_leave(saved);
  return rt_fail(err, code, RT_DURING_CAPTURE);
}

#endif
