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
 * Freed blocks go into a pool: a synchronous free would wait for the device, and a stream-ordered one could overtake a
 * consumer on another stream.  A block is used again once the device has passed an event that was recorded after it was
 * given back, on any stream, and not before: to wait for the event on the new user's stream would tie that to everything
 * else that runs.  Where the runtime can record one event behind all streams, giving back calls nobody: the event is
 * recorded when the pool has nothing ready, for all that was given back until then.  So a release is legal wherever it
 * happens to come, in somebody's capture of a graph too, which such a record would end.  Elsewhere two are recorded at
 * once, on the legacy default stream (which follows all blocking streams) and on the stream of the allocation, whose
 * handle may be gone later.  Blocks behind which nothing can be recorded wait until something can, or until memory is
 * short: then for the device.
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
enum { RT_CAPTURED = 900, RT_CAPTURED_BY_OTHERS = 906 };
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
#define RT_STEPS 4 /* size classes between two powers of two */
#define RT_SMALLEST 512
#define RT_LARGE (1 << 20)
#define RT_CLASSES (52 * RT_STEPS)
#define RT_ODD RT_CLASSES /* the class of blocks of another size; nobody looks for one there */
#define RT_MEMORY_KINDS 3

typedef struct rt_mark { /* what the device must have passed before blocks are used again */
  int refs, passed;
  void *event[2]; /* NULL: none */
} rt_mark;

typedef struct rt_chunk { /* one allocation of the vendor's */
  struct rt_chunk *next;
  void *data;
  int64_t size;
  void *stream; /* it was allocated for */
  rt_mark *mark;
  int kind, sort; /* sort: its size class */
} rt_chunk;

typedef struct rt_shelf {    /* what is in the pool of one size class */
  rt_chunk *ready;           /* free to use; newest first */
  rt_chunk *waiting, **last; /* their marks may not have been passed; oldest first */
} rt_shelf;

/* A stream of our own that waits for an event and then calls.  One at a time: those behind it would wait for it too. */
typedef struct rt_watch {
  atomic_int state;
  void *stream;
  void (*fn)(void *);
  void *arg;
} rt_watch;
enum { RT_IDLE, RT_TAKEN, RT_ARMED, RT_DEAD };

static struct rt_state {
  pthread_mutex_t lock; /* never taken by the vendor's threads */
  rt_shelf shelves[RT_MEMORY_KINDS][RT_CLASSES + 1];
  rt_chunk *freed;   /* given back, nothing is recorded behind them yet */
  rt_chunk *marking; /* one thread is recording behind these */
  int64_t live[RT_MEMORY_KINDS], peak[RT_MEMORY_KINDS];
  atomic_int held; /* how many say that nothing may be recorded behind all streams */
  void *events[RT_EVENTS];
  int n_events;
  rt_watch watches[RT_WATCHES];
} rt_state[RT_DEVICES];
static char rt_library[512]; /* what was loaded */
static int rt_devices;

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
    default: return EIO;
  }
}

/* After these the device does nothing for this process any more, whatever it is asked. */
static int rt_is_sticky(int code) {
  return code == 214 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

static void rt_device_failed(int device);

static int rt_fail(cdevice_error *err, int code, const char *doing) {
  return cdevice_backend_fail(err, rt_errno(code), code, rt_error_name(code), "%s: %s", doing, rt_error_text(code));
}

static int rt_bad_device(cdevice_error *err, int64_t device) {
  return cdevice_backend_fail(err, EINVAL, RT_BAD_DEVICE, rt_error_name(RT_BAD_DEVICE), "no device %lld, there are %d",
                              (long long)device, rt_devices);
}
#define RT_ENTER(device, err)                                                   \
  const int64_t rt_here = (device);                                             \
  rt_saved saved;                                                               \
  if (rt_here < 0 || rt_here >= rt_devices) return rt_bad_device(err, rt_here); \
  int code = rt_enter((int)rt_here, &saved);                                    \
  if (code) return rt_fail(err, code, "making the device current")
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
static int rt_event_keep_locked(int device, void *event) {
  struct rt_state *d = &rt_state[device];
  if (d->n_events == RT_EVENTS) return 0;
  d->events[d->n_events++] = event;
  return 1;
}

static void rt_event_put_locked(int device, void *event) {
  if (event && !rt_event_keep_locked(device, event)) rt_event_del(event);
}

static void rt_event_put(int device, void *event) {
  pthread_mutex_lock(&rt_state[device].lock);
  rt_event_put_locked(device, event);
  pthread_mutex_unlock(&rt_state[device].lock);
}

/* ---- the pool ---- */

/* 512 bytes, then four sizes in every power of two: less than a fifth of a block lies beyond what was asked. */
static int rt_class(int64_t n, int64_t *size) {
  int sort = 0;
  int64_t base = RT_SMALLEST;
  while (base * 2 <= n && sort < RT_CLASSES - RT_STEPS) base *= 2, sort += RT_STEPS;
  int64_t step = base / RT_STEPS;
  for (*size = base; *size < n; *size += step) sort++;
  return sort < RT_CLASSES ? sort : RT_ODD;
}

static void rt_unmark_locked(int device, rt_chunk *c) {
  rt_mark *m = c->mark;
  c->mark = NULL;
  if (!m || --m->refs) return;
  for (int i = 0; i < 2; i++) rt_event_put_locked(device, m->event[i]);
  free(m);
}

static int rt_mark_ask(rt_mark *m) {
  int code = 0;
  for (int i = 0; i < 2 && !code && !m->passed; i++)
    if (m->event[i]) code = rt_event_ask(m->event[i]);
  if (!code) m->passed = 1;
  return code;
}

static void rt_push(rt_chunk **list, rt_chunk *c) {
  c->next = *list;
  *list = c;
}

/* Makes ready what has passed, from the oldest on. */
static void rt_collect_locked(int device, rt_shelf *s) {
  while (s->waiting) {
    rt_chunk *c = s->waiting;
    int code = rt_mark_ask(c->mark);
    if (code == RT_NOT_READY) break;
    s->waiting = c->next;
    rt_unmark_locked(device, c);
    rt_push(code ? &rt_state[device].freed : &s->ready, c); /* an event that cannot be asked tells nothing */
  }
}

static void rt_wait_for_mark_locked(int device, rt_chunk *c, rt_mark *m) {
  rt_shelf *s = &rt_state[device].shelves[c->kind][c->sort];
  c->mark = m;
  m->refs++;
  if (!s->waiting) s->last = &s->waiting;
  c->next = NULL;
  *s->last = c;
  s->last = &c->next;
}

/* The legacy and the per-thread default stream: the latter is another one on the thread that gives a block back, and
 * both are covered by the legacy stream. */
static int rt_is_default(const void *stream) { return (uintptr_t)stream <= 2; }

static int rt_mark_one(int device, void **event, void *stream, int all) {
  int code = rt_event_get(device, event);
  if (!code) code = all ? rt_event_rec_all(device, *event) : rt_event_rec(*event, stream);
  if (code && *event) {
    rt_event_put(device, *event);
    *event = NULL;
  }
  return code;
}

/* Why nothing may concern all streams now.  A capture on a non-blocking stream cannot be seen: those who know of one say
 * so (hold). */
static int rt_capturing(int device) {
  int code = rt_captured(NULL);
  return !code && atomic_load(&rt_state[device].held) ? RT_CAPTURED : code;
}

/* Records after whatever may still use memory that was allocated for `stream`. */
static int rt_mark_now(int device, void *stream, void **first, void **second) {
  int code = rt_has_all() ? rt_capturing(device) : rt_captured(NULL);
  if (code) return code;
  if (rt_has_all()) return rt_mark_one(device, first, NULL, 1);
  if (!rt_is_default(stream)) code = rt_captured(stream);
  if (!code) code = rt_mark_one(device, first, NULL, 0);
  if (!code && !rt_is_default(stream)) code = rt_mark_one(device, second, stream, 0);
  if (code && *first) {
    rt_event_put(device, *first);
    *first = NULL;
  }
  return code;
}

/* One mark behind all that was given back since the last one; the code if there are some and it cannot be recorded.  By
 * one thread at a time, and outside of the lock: a full queue of the device would hold up those who give back. */
static int rt_mark_freed(int device) {
  struct rt_state *d = &rt_state[device];
  pthread_mutex_lock(&d->lock);
  int some = d->freed && !d->marking, mine = some && rt_has_all();
  if (mine) d->marking = d->freed, d->freed = NULL;
  pthread_mutex_unlock(&d->lock);
  if (!mine) return some ? RT_NOT_SUPPORTED : 0;
  rt_mark *m = calloc(1, sizeof *m);
  int code = m ? rt_mark_now(device, NULL, &m->event[0], &m->event[1]) : RT_OOM;
  pthread_mutex_lock(&d->lock);
  for (rt_chunk *c = d->marking, *next; c; c = next) {
    next = c->next;
    if (code)
      rt_push(&d->freed, c);
    else
      rt_wait_for_mark_locked(device, c, m);
  }
  d->marking = NULL;
  pthread_mutex_unlock(&d->lock);
  if (code) free(m);
  return code;
}

static int64_t rt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Looks again for up to so many nanoseconds while something of this size may come. */
static rt_chunk *rt_take(int device, int kind, int sort, int64_t patience) {
  struct rt_state *d = &rt_state[device];
  rt_shelf *s = &d->shelves[kind][sort];
  if (sort == RT_ODD) return NULL;
  for (int64_t begin = 0;;) {
    pthread_mutex_lock(&d->lock);
    if (!s->ready) rt_collect_locked(device, s);
    rt_chunk *c = s->ready;
    if (c) s->ready = c->next;
    int none = !s->waiting;
    pthread_mutex_unlock(&d->lock);
    if (c || none || !patience) return c;
    if (!begin) begin = rt_now();
    if (rt_now() - begin > patience) return NULL;
  }
}

/* Gives the pool back to the vendor; all: what the device may still use too, after waiting for it.  Returns whether
 * some still wait. */
static int rt_trim_device(int device, int all) {
  struct rt_state *d = &rt_state[device];
  rt_chunk *out = NULL, *late = NULL;
  int waiting = 0;
  pthread_mutex_lock(&d->lock);
  for (int k = 0; k < RT_MEMORY_KINDS; k++)
    for (int i = 0; i <= RT_CLASSES; i++) {
      rt_shelf *s = &d->shelves[k][i];
      rt_collect_locked(device, s);
      for (rt_chunk *c; (c = s->ready);) s->ready = c->next, rt_push(&out, c);
      for (rt_chunk *c; all && (c = s->waiting);) {
        s->waiting = c->next;
        rt_unmark_locked(device, c);
        rt_push(&late, c);
      }
      waiting |= s->waiting != NULL;
    }
  for (rt_chunk *c; all && (c = d->freed);) d->freed = c->next, rt_push(&late, c);
  pthread_mutex_unlock(&d->lock);
  if (late) rt_device_sync();
  for (int turn = 0; turn < 2; turn++)
    for (rt_chunk *c = turn ? late : out, *next; c; c = next) {
      next = c->next;
      rt_mfree(c->kind, c->data); /* on a failed device it fails as everything does */
      free(c);
    }
  return waiting;
}

static void rt_sizes(int device, int kind, int64_t *pooled, int64_t *pending) {
  struct rt_state *d = &rt_state[device];
  *pooled = *pending = 0;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i <= RT_CLASSES; i++) {
    rt_shelf *s = &d->shelves[kind][i];
    rt_collect_locked(device, s);
    for (rt_chunk *c = s->ready; c; c = c->next) *pooled += c->size;
    for (rt_chunk *c = s->waiting; c; c = c->next) *pending += c->size;
  }
  for (int i = 0; i < 2; i++)
    for (rt_chunk *c = i ? d->marking : d->freed; c; c = c->next)
      if (c->kind == kind) *pending += c->size;
  pthread_mutex_unlock(&d->lock);
}

static int rt_no_memory(cdevice_error *err, int code, int device, int kind, int64_t nbytes, int64_t size) {
  cdevice_device_info info = {.total_bytes = -1, .free_bytes = -1};
  int64_t pooled, pending;
  char of[96] = "";
  rt_sizes(device, kind, &pooled, &pending);
  rt_describe(device, &info);
  if (kind == RT_DEVICE && info.total_bytes > 0)
    snprintf(of, sizeof of, ", %lld of %lld bytes of the device are free", (long long)info.free_bytes,
             (long long)info.total_bytes);
  return cdevice_backend_fail(err, ENOMEM, code, rt_error_name(code),
                              "%lld bytes (%lld with rounding): %s; %lld in use here, %lld given back but still busy%s",
                              (long long)nbytes, (long long)size, rt_error_text(code),
                              (long long)rt_state[device].live[kind], (long long)pending, of);
}

/* What is ready, else what can be made ready at once, else new.  Waits for the device only when memory is short. */
static int rt_get(const rt_kind *k, int64_t device, int64_t nbytes, void *stream, int refuse, cdevice_block *out,
                  cdevice_error *err) {
  if (nbytes > INT64_MAX / 4)
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes are more than any device has", (long long)nbytes);
  RT_ENTER(device, err);
  if (refuse) RT_REFUSE_CAPTURED(stream, err);
  struct rt_state *d = &rt_state[device];
  int64_t size;
  int sort = rt_class(nbytes, &size);
  rt_chunk *c = rt_take((int)device, k->kind, sort, 0);
  if (!c && !rt_mark_freed((int)device) && size >= RT_LARGE) /* an idle device passes it before malloc returns */
    c = rt_take((int)device, k->kind, sort, 50000);
  if (!c) {
    void *data = NULL;
    code = rt_malloc(k->kind, (size_t)size, &data);
    if (code == RT_OOM) { /* once more, with what the pool holds */
      int wait = !rt_capturing((int)device);
      if (wait) rt_device_sync();
      c = rt_take((int)device, k->kind, sort, 0);
      if (!c) {
        rt_trim_device((int)device, wait);
        code = rt_malloc(k->kind, (size_t)size, &data);
      }
      int64_t exact = (nbytes + RT_SMALLEST - 1) / RT_SMALLEST * RT_SMALLEST;
      if (!c && code == RT_OOM && exact < size) {
        code = rt_malloc(k->kind, (size_t)exact, &data);
        if (!code) size = exact, sort = RT_ODD;
      }
    }
    if (c) {
      code = 0;
    } else if (code == RT_OOM) {
      int r = rt_no_memory(err, code, (int)device, k->kind, nbytes, size);
      rt_leave(&saved);
      return r;
    } else if (code) {
      RT_LEAVE(err, "allocating");
    } else if (!(c = calloc(1, sizeof *c))) {
      rt_mfree(k->kind, data);
      rt_leave(&saved);
      return cdevice_backend_fail(err, ENOMEM, 0, NULL, "no host memory to note an allocation");
    } else {
      *c = (rt_chunk){NULL, data, size, NULL, NULL, k->kind, sort};
    }
  }
  c->next = NULL;
  c->stream = stream;
  pthread_mutex_lock(&d->lock);
  d->live[c->kind] += c->size;
  if (d->live[c->kind] > d->peak[c->kind]) d->peak[c->kind] = d->live[c->kind];
  pthread_mutex_unlock(&d->lock);
  *out = (cdevice_block){c->data, nbytes, device, {c, NULL}};
  rt_leave(&saved);
  return 0;
}

static int rt_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  return rt_get(self, device, nbytes, stream, 1, out, err);
}

static void rt_free(void *self, const cdevice_block *block) {
  (void)self;
  rt_chunk *c = block->opaque[0];
  rt_saved saved;
  int device = (int)block->device_id, code = RT_NOT_READY;
  struct rt_state *d = &rt_state[device];
  rt_mark *m = NULL;
  if (!c) return; /* a view */
  if (!rt_has_all() && !rt_enter(device, &saved)) {
    m = calloc(1, sizeof *m);
    code = m ? rt_mark_now(device, c->stream, &m->event[0], &m->event[1]) : RT_OOM;
    if (rt_is_sticky(code)) rt_device_failed(device);
    rt_leave(&saved);
  }
  pthread_mutex_lock(&d->lock);
  d->live[c->kind] -= c->size;
  if (code)
    rt_push(&d->freed, c);
  else
    rt_wait_for_mark_locked(device, c, m);
  pthread_mutex_unlock(&d->lock);
  if (code) free(m);
}

static void rt_statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  const rt_kind *k = self;
  rt_saved saved;
  *live = *pooled = *pending = *peak = 0;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_mark_freed((int)device);
  rt_sizes((int)device, k->kind, pooled, pending);
  pthread_mutex_lock(&rt_state[device].lock);
  *live = rt_state[device].live[k->kind];
  *peak = rt_state[device].peak[k->kind];
  pthread_mutex_unlock(&rt_state[device].lock);
  rt_leave(&saved);
}

/* What the device does not pass soon stays in the pool: nobody waits for long. */
static void rt_trim(void *self, int64_t device) {
  (void)self;
  rt_saved saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  int wait = rt_mark_freed((int)device) && !rt_capturing((int)device); /* only a wait tells when these have passed */
  for (int64_t begin = rt_now(); rt_trim_device((int)device, wait) && rt_now() - begin < 1000000;) sched_yield();
  rt_leave(&saved);
}

static int rt_mark_all(void *self, int64_t device, void *stream, cdevice_event *first, cdevice_event *second,
                       cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  code = rt_mark_now((int)device, stream, &first->slot, &second->slot);
  if (first->slot) first->sync_event = &first->slot;
  if (second->slot) second->sync_event = &second->slot;
  RT_LEAVE(err, "recording an event");
}

static int rt_make_current(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  *out = (void *)(intptr_t)saved;
  return 0;
}
static void rt_make_old_current(void *self, int64_t device, void *old) {
  rt_saved saved = (rt_saved)(intptr_t)old;
  (void)self, (void)device;
  rt_leave(&saved);
}

static void rt_hold(void *self, int64_t device, int change) {
  (void)self;
  if (device >= 0 && device < rt_devices) atomic_fetch_add(&rt_state[device].held, change);
}

static int rt_usable(void *self, int64_t device, void *stream, cdevice_error *err) {
  (void)self;
  RT_ENTER(device, err);
  RT_REFUSE_CAPTURED(stream, err);
  rt_leave(&saved);
  return 0;
}

/* Pinned memory, from the pool; it comes back when it is idle, so nothing is recorded. */
static int rt_stage_alloc(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err) {
  static const rt_kind pinned = {RT_PINNED, 0, "", 0};
  (void)self;
  return rt_get(&pinned, device, nbytes, NULL, 0, out, err);
}
static void rt_stage_free(void *self, const cdevice_block *block) {
  (void)self;
  rt_chunk *c = block->opaque[0];
  struct rt_state *d = &rt_state[block->device_id];
  pthread_mutex_lock(&d->lock);
  rt_shelf *s = &d->shelves[c->kind][c->sort];
  d->live[c->kind] -= c->size;
  rt_push(&s->ready, c);
  pthread_mutex_unlock(&d->lock);
}

static const void *rt_extension(void *self, const char *id) {
  static const cdevice_pool pool = {sizeof pool, 0, rt_statistics, rt_trim};
  static const cdevice_memory memory = {
      sizeof memory, 0,         rt_mark_all, rt_make_current, rt_make_old_current, rt_stage_alloc,
      rt_stage_free, rt_usable, rt_hold};
  static const cdevice_memory host = {sizeof host, 0,    rt_mark_all, rt_make_current, rt_make_old_current,
                                      NULL,        NULL, rt_usable,   rt_hold};
  const rt_kind *k = self;
  if (!strcmp(id, CDEVICE_POOL)) return &pool;
  if (!strcmp(id, CDEVICE_MEMORY)) return k->kind == RT_PINNED ? &host : &memory;
  return NULL;
}

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
  pthread_mutex_lock(&rt_state[device].lock);
  int kept = rt_event_keep_locked((int)device, event->slot);
  pthread_mutex_unlock(&rt_state[device].lock);
  if (!kept && !rt_enter((int)device, &saved)) {
    rt_event_del(event->slot);
    rt_leave(&saved);
  }
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
  if (rt_captured(stream)) { /* a graph cannot wait for what is outside of it, and need not for what has passed */
    code = rt_event_ask(*(void **)sync_event);
    if (code == RT_NOT_READY) RT_REFUSE_CAPTURED(stream, err);
  } else {
    code = rt_stream_wait(stream, *(void **)sync_event);
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
