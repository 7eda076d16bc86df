/* pool.h - the pool of the template's memory: what has come back, and when it may be used again.
 *
 * Needs the parameters of vendor.h.  memory.h allocates from it.
 *
 * Freed blocks go into a pool: a synchronous free would wait for the device, and a stream-ordered one could overtake
 * a consumer on another stream.  A block is used again once the device has passed an event that was recorded after
 * it was given back, on any stream, and not before: to wait for the event on the new user's stream would tie that to
 * everything else that runs.  Where the runtime can record one event behind all streams, freeing makes no vendor
 * call: the event is recorded when the pool has nothing ready, for all that was given back until then.  So a release
 * is legal wherever it happens to come, in a user's capture of a graph too, which such a record would end.
 * Elsewhere two are recorded at once, on the legacy default stream (which follows all blocking streams) and on the
 * stream of the allocation, whose handle may be gone later; by way of a stream of cdevice where the runtime wants
 * the streams of events that are asked to be there (rt_event_rec_kept).  Blocks behind which nothing can be recorded
 * wait until something can, or until memory is short: then for the device.  Only what the device has passed, or a
 * dead device, makes a block free: where the question fails, or may not be put (hold), it is put again later.
 */
#ifndef CDEVICE_POOL_H
#define CDEVICE_POOL_H

#include "gpu_driver/call.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define RT_STEPS 4 /* size classes between two powers of two */
#define RT_SMALLEST 512
#define RT_LARGE (1 << 20)
#define RT_CLASSES (52 * RT_STEPS)
#define RT_ODD RT_CLASSES /* the class of blocks of another size; never searched */
#define RT_MEMORY_KINDS 3

typedef struct rt_fence { /* what the device must have passed before blocks are used again */
  int refs, passed;
  void *event[2]; /* behind all streams or the legacy one, NULL: not recorded yet; behind the block's own, or NULL */
} rt_fence;

typedef struct rt_block { /* one allocation of the vendor's */
  struct rt_block *next;
  void *data;
  int64_t size;
  void *stream; /* it was allocated for */
  rt_fence *mark;
  int kind, sort; /* sort: its size class */
} rt_block;

typedef struct rt_bin {      /* the pool's blocks of one size class */
  rt_block *ready;           /* free to use; newest first */
  rt_block *waiting, **last; /* their marks may not have been passed; oldest first */
} rt_bin;

static struct rt_pool {
  pthread_mutex_t lock; /* never taken by the vendor's threads */
  rt_bin shelves[RT_MEMORY_KINDS][RT_CLASSES + 1];
  rt_block *freed;   /* given back, nothing is recorded behind them yet */
  rt_block *marking; /* one thread is recording behind these */
  int64_t live[RT_MEMORY_KINDS], peak[RT_MEMORY_KINDS];
  atomic_int held; /* how many say that nothing may be recorded behind all streams */
} rt_pools[RT_DEVICES];

static void rt_pools_start(void) {
  for (int i = 0; i < RT_DEVICES; i++) pthread_mutex_init(&rt_pools[i].lock, NULL);
}

/* 512 bytes, then four sizes in every power of two: less than a fifth of a block lies beyond what was asked. */
static int rt_class(int64_t n, int64_t *size) {
  int sort = 0;
  int64_t base = RT_SMALLEST;
  while (base * 2 <= n && sort < RT_CLASSES - RT_STEPS) base *= 2, sort += RT_STEPS;
  int64_t step = base / RT_STEPS;
  for (*size = base; *size < n; *size += step) sort++;
  return sort < RT_CLASSES ? sort : RT_ODD;
}

static void rt_unmark_locked(int device, rt_block *c) {
  rt_fence *m = c->mark;
  c->mark = NULL;
  if (!m || --m->refs) return;
  for (int i = 0; i < 2; i++) rt_event_put(device, m->event[i]);
  free(m);
}

static int rt_mark_ask(rt_fence *m) {
  int code = 0;
  if (m->passed) return 0;
  if (!rt_query_begin()) return RT_CAPTURED; /* HIP 7: the question may end captures */
  for (int i = 0; i < 2 && !code; i++)
    if (m->event[i]) code = rt_event_over(m->event[i]);
  rt_query_end();
  if (!code) m->passed = 1;
  return code;
}

static void rt_push(rt_block **list, rt_block *c) {
  c->next = *list;
  *list = c;
}

/* Makes ready what has passed, from the oldest on. */
static void rt_collect_locked(int device, rt_bin *s) {
  while (s->waiting) {
    rt_block *c = s->waiting;
    int code = rt_mark_ask(c->mark);
    if (code && !rt_is_sticky(code)) break; /* not passed, or not to be asked now: that tells nothing */
    s->waiting = c->next;
    rt_unmark_locked(device, c);
    rt_push(code ? &rt_pools[device].freed : &s->ready, c);
  }
}

/* Where a block waits that has come back: on its shelf, if all is recorded behind it. */
static void rt_pool_put_locked(int device, rt_block *c) {
  rt_bin *s = &rt_pools[device].shelves[c->kind][c->sort];
  if (!c->mark || !c->mark->event[0]) {
    rt_push(&rt_pools[device].freed, c);
    return;
  }
  if (!s->waiting) s->last = &s->waiting;
  c->next = NULL;
  *s->last = c;
  s->last = &c->next;
}

static int rt_mark_one(int device, void **event, void *stream, int all) {
  int code = rt_event_get(device, event);
  if (!code) code = all ? rt_event_rec_all(device, *event) : rt_event_rec_kept(device, *event, stream);
  if (code && *event) {
    rt_event_put(device, *event);
    *event = NULL;
  }
  return code;
}

/* Why nothing may concern all streams now.  A capture on a non-blocking stream cannot be seen: those who know of one
 * say so (hold). */
static int rt_capturing(int device) {
  int code = rt_captured(NULL);
  return !code && atomic_load(&rt_pools[device].held) ? RT_CAPTURED : code;
}

/* Records behind the legacy stream, which follows all blocking ones; and behind the stream of an allocation, which is
 * needed where the former does not follow it. */
static int rt_mark_legacy(int device, void **event) {
  int code = rt_captured(NULL);
  return code ? code : rt_mark_one(device, event, NULL, 0);
}
static int rt_mark_stream(int device, void *stream, void **event) {
  int code = rt_is_default(stream) ? 0 : rt_captured(stream);
  return code || rt_is_default(stream) ? code : rt_mark_one(device, event, stream, 0);
}

/* Records after all work that may still use memory allocated for `stream`. */
static int rt_mark_now(int device, void *stream, void **first, void **second) {
  if (rt_can_record_context()) {
    int code = rt_capturing(device);
    return code ? code : rt_mark_one(device, first, NULL, 1);
  }
  int code = rt_mark_stream(device, stream, second);
  if (!code) code = rt_mark_legacy(device, first);
  if (code && *second) {
    rt_event_put(device, *second);
    *second = NULL;
  }
  return code;
}

/* One mark behind all of the list. */
static int rt_mark_list(int device, rt_block *list) {
  rt_fence *m = calloc(1, sizeof *m);
  int code = m ? rt_mark_now(device, NULL, &m->event[0], NULL) : RT_OOM;
  if (code) {
    free(m);
    return code;
  }
  for (rt_block *c = list; c; c = c->next) c->mark = m, m->refs++;
  return 0;
}

/* Where there is no such mark: those that lack the record on the legacy stream alone get it.  The others, whose own
 * stream could not be recorded on at the release and may be gone, wait for a trim. */
static int rt_mark_halves(int device, rt_block *list) {
  int code = 0, result = 0;
  for (rt_block *c = list; c; c = c->next) {
    if (c->mark && !code) code = rt_mark_legacy(device, &c->mark->event[0]);
    if (!c->mark || code) result = code ? code : RT_NOT_SUPPORTED;
  }
  return result;
}

/* Records behind what was given back without; the code if there is something for which it cannot be done.  By one
 * thread at a time, and outside of the lock: a full queue of the device would hold up those who give back. */
static int rt_mark_freed(int device) {
  struct rt_pool *d = &rt_pools[device];
  pthread_mutex_lock(&d->lock);
  rt_block *list = d->marking ? NULL : d->freed;
  if (list) d->marking = list, d->freed = NULL;
  pthread_mutex_unlock(&d->lock);
  if (!list) return 0;
  int code = rt_can_record_context() ? rt_mark_list(device, list) : rt_mark_halves(device, list);
  pthread_mutex_lock(&d->lock);
  for (rt_block *next; list; list = next) {
    next = list->next;
    rt_pool_put_locked(device, list);
  }
  d->marking = NULL;
  pthread_mutex_unlock(&d->lock);
  return code;
}

static int64_t rt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Looks again for up to so many nanoseconds while something of this size may come. */
static rt_block *rt_pool_get(int device, int kind, int sort, int64_t patience) {
  struct rt_pool *d = &rt_pools[device];
  rt_bin *s = &d->shelves[kind][sort];
  if (sort == RT_ODD) return NULL;
  for (int64_t begin = 0;;) {
    pthread_mutex_lock(&d->lock);
    if (!s->ready) rt_collect_locked(device, s);
    rt_block *c = s->ready;
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
  struct rt_pool *d = &rt_pools[device];
  rt_block *out = NULL, *late = NULL;
  int waiting = 0;
  pthread_mutex_lock(&d->lock);
  for (int k = 0; k < RT_MEMORY_KINDS; k++)
    for (int i = 0; i <= RT_CLASSES; i++) {
      rt_bin *s = &d->shelves[k][i];
      rt_collect_locked(device, s);
      for (rt_block *c; (c = s->ready);) s->ready = c->next, rt_push(&out, c);
      for (rt_block *c; all && (c = s->waiting);) s->waiting = c->next, rt_push(&late, c);
      waiting |= s->waiting != NULL;
    }
  for (rt_block *c; all && (c = d->freed);) d->freed = c->next, rt_push(&late, c);
  pthread_mutex_unlock(&d->lock);
  int code = late ? rt_device_sync() : 0, idle = !code || rt_is_sticky(code);
  pthread_mutex_lock(&d->lock);
  for (rt_block *c = late, *next; c; c = next) {
    next = c->next;
    if (idle)
      rt_unmark_locked(device, c);
    else /* no wait happened */
      rt_pool_put_locked(device, c);
  }
  pthread_mutex_unlock(&d->lock);
  if (!idle) late = NULL;
  for (int turn = 0; turn < 2; turn++)
    for (rt_block *c = turn ? late : out, *next; c; c = next) {
      next = c->next;
      rt_mfree(c->kind, c->data); /* on a failed device it fails as everything does */
      free(c);
    }
  return waiting;
}

static void rt_sizes(int device, int kind, int64_t *pooled, int64_t *pending) {
  struct rt_pool *d = &rt_pools[device];
  *pooled = *pending = 0;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i <= RT_CLASSES; i++) {
    rt_bin *s = &d->shelves[kind][i];
    rt_collect_locked(device, s);
    for (rt_block *c = s->ready; c; c = c->next) *pooled += c->size;
    for (rt_block *c = s->waiting; c; c = c->next) *pending += c->size;
  }
  for (int i = 0; i < 2; i++)
    for (rt_block *c = i ? d->marking : d->freed; c; c = c->next)
      if (c->kind == kind) *pending += c->size;
  pthread_mutex_unlock(&d->lock);
}

#endif
