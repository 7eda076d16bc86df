/* pool.h - the memory of runtime.h, a part of it.
 *
 * Freed blocks go into a pool: a synchronous free would wait for the device, and a stream-ordered one could overtake a
 * consumer on another stream.  A block is used again once the device has passed an event that was recorded after it was
 * given back, on any stream, and not before: to wait for the event on the new user's stream would tie that to everything
 * else that runs.  Where the runtime can record one event behind all streams, giving back calls nobody: the event is
 * recorded when the pool has nothing ready, for all that was given back until then.  So a release is legal wherever it
 * happens to come, in somebody's capture of a graph too, which such a record would end.  Elsewhere two are recorded at
 * once, on the legacy default stream (which follows all blocking streams) and on the stream of the allocation, whose
 * handle may be gone later.  Blocks behind which nothing can be recorded wait until something can, or until memory is
 * short: then for the device.  Only what the device has passed, or a dead device, makes a block free: where the question
 * fails, or may not be put (hold), it is put again later.
 */
#ifndef CDEVICE_POOL_H
#define CDEVICE_POOL_H

#define RT_STEPS 4 /* size classes between two powers of two */
#define RT_SMALLEST 512
#define RT_LARGE (1 << 20)
#define RT_CLASSES (52 * RT_STEPS)
#define RT_ODD RT_CLASSES /* the class of blocks of another size; nobody looks for one there */
#define RT_MEMORY_KINDS 3

typedef struct rt_mark { /* what the device must have passed before blocks are used again */
  int refs, passed;
  void *event[2]; /* behind all streams or the legacy one, NULL: not recorded yet; behind the block's own, or NULL */
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

static struct rt_pool {
  pthread_mutex_t lock; /* never taken by the vendor's threads */
  rt_shelf shelves[RT_MEMORY_KINDS][RT_CLASSES + 1];
  rt_chunk *freed;   /* given back, nothing is recorded behind them yet */
  rt_chunk *marking; /* one thread is recording behind these */
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

static void rt_unmark_locked(int device, rt_chunk *c) {
  rt_mark *m = c->mark;
  c->mark = NULL;
  if (!m || --m->refs) return;
  for (int i = 0; i < 2; i++) rt_event_put(device, m->event[i]);
  free(m);
}

static int rt_mark_ask(rt_mark *m) {
  int code = 0;
  if (!m->passed && atomic_load(&rt_holds)) return RT_CAPTURED; /* HIP 7: the question may end captures */
  for (int i = 0; i < 2 && !code && !m->passed; i++)
    if (m->event[i]) code = rt_event_over(m->event[i]);
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
    if (code && !rt_is_sticky(code)) break; /* not passed, or not to be asked now: that tells nothing */
    s->waiting = c->next;
    rt_unmark_locked(device, c);
    rt_push(code ? &rt_pools[device].freed : &s->ready, c);
  }
}

/* Where a block waits that has come back: on its shelf, if all is recorded behind it. */
static void rt_keep_locked(int device, rt_chunk *c) {
  rt_shelf *s = &rt_pools[device].shelves[c->kind][c->sort];
  if (!c->mark || !c->mark->event[0]) {
    rt_push(&rt_pools[device].freed, c);
    return;
  }
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

/* Records after whatever may still use memory that was allocated for `stream`. */
static int rt_mark_now(int device, void *stream, void **first, void **second) {
  if (rt_has_all()) {
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
static int rt_mark_list(int device, rt_chunk *list) {
  rt_mark *m = calloc(1, sizeof *m);
  int code = m ? rt_mark_now(device, NULL, &m->event[0], NULL) : RT_OOM;
  if (code) {
    free(m);
    return code;
  }
  for (rt_chunk *c = list; c; c = c->next) c->mark = m, m->refs++;
  return 0;
}

/* Where there is no such mark: those that lack the record on the legacy stream alone get it.  The others, whose own
 * stream could not be recorded on at the release and may be gone, wait for a trim. */
static int rt_mark_halves(int device, rt_chunk *list) {
  int code = 0, result = 0;
  for (rt_chunk *c = list; c; c = c->next) {
    if (c->mark && !code) code = rt_mark_legacy(device, &c->mark->event[0]);
    if (!c->mark || code) result = code ? code : RT_NOT_SUPPORTED;
  }
  return result;
}

/* Records behind what was given back without; the code if there is something for which it cannot be done.  By one thread
 * at a time, and outside of the lock: a full queue of the device would hold up those who give back. */
static int rt_mark_freed(int device) {
  struct rt_pool *d = &rt_pools[device];
  pthread_mutex_lock(&d->lock);
  rt_chunk *list = d->marking ? NULL : d->freed;
  if (list) d->marking = list, d->freed = NULL;
  pthread_mutex_unlock(&d->lock);
  if (!list) return 0;
  int code = rt_has_all() ? rt_mark_list(device, list) : rt_mark_halves(device, list);
  pthread_mutex_lock(&d->lock);
  for (rt_chunk *next; list; list = next) {
    next = list->next;
    rt_keep_locked(device, list);
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
static rt_chunk *rt_take(int device, int kind, int sort, int64_t patience) {
  struct rt_pool *d = &rt_pools[device];
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
  struct rt_pool *d = &rt_pools[device];
  rt_chunk *out = NULL, *late = NULL;
  int waiting = 0;
  pthread_mutex_lock(&d->lock);
  for (int k = 0; k < RT_MEMORY_KINDS; k++)
    for (int i = 0; i <= RT_CLASSES; i++) {
      rt_shelf *s = &d->shelves[k][i];
      rt_collect_locked(device, s);
      for (rt_chunk *c; (c = s->ready);) s->ready = c->next, rt_push(&out, c);
      for (rt_chunk *c; all && (c = s->waiting);) s->waiting = c->next, rt_push(&late, c);
      waiting |= s->waiting != NULL;
    }
  for (rt_chunk *c; all && (c = d->freed);) d->freed = c->next, rt_push(&late, c);
  pthread_mutex_unlock(&d->lock);
  int code = late ? rt_device_sync() : 0, idle = !code || rt_is_sticky(code);
  pthread_mutex_lock(&d->lock);
  for (rt_chunk *c = late, *next; c; c = next) {
    next = c->next;
    if (idle)
      rt_unmark_locked(device, c);
    else /* nobody has waited */
      rt_keep_locked(device, c);
  }
  pthread_mutex_unlock(&d->lock);
  if (!idle) late = NULL;
  for (int turn = 0; turn < 2; turn++)
    for (rt_chunk *c = turn ? late : out, *next; c; c = next) {
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
                              (long long)rt_pools[device].live[kind], (long long)pending, of);
}

/* What is ready, else what can be made ready at once, else new.  Waits for the device only when memory is short. */
static int rt_get(const rt_kind *k, int64_t device, int64_t nbytes, void *stream, int refuse, cdevice_block *out,
                  cdevice_error *err) {
  if (nbytes > INT64_MAX / 4)
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes are more than any device has", (long long)nbytes);
  RT_ENTER(device, err);
  if (refuse) RT_REFUSE_CAPTURED(stream, err);
  struct rt_pool *d = &rt_pools[device];
  int64_t size;
  int sort = rt_class(nbytes, &size);
  rt_chunk *c = rt_take((int)device, k->kind, sort, 0);
  if (!c && !rt_mark_freed((int)device) && size >= RT_LARGE && !atomic_load(&rt_holds))
    c = rt_take((int)device, k->kind, sort, 50000); /* an idle device passes it before malloc returns */
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
  int device = (int)block->device_id;
  struct rt_pool *d = &rt_pools[device];
  if (!c) return; /* a view */
  if (!rt_has_all() && !rt_enter(device, &saved)) {
    rt_mark *m = calloc(1, sizeof *m);
    int code = m ? rt_mark_stream(device, c->stream, &m->event[1]) : RT_OOM;
    if (code) {
      free(m);
    } else {
      m->refs = 1;
      c->mark = m;
      code = rt_mark_legacy(device, &m->event[0]);
    }
    if (rt_is_sticky(code)) rt_device_failed(device);
    rt_leave(&saved);
  }
  pthread_mutex_lock(&d->lock);
  d->live[c->kind] -= c->size;
  rt_keep_locked(device, c);
  pthread_mutex_unlock(&d->lock);
}

static void rt_statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  const rt_kind *k = self;
  rt_saved saved;
  *live = *pooled = *pending = *peak = 0;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_mark_freed((int)device);
  rt_sizes((int)device, k->kind, pooled, pending);
  pthread_mutex_lock(&rt_pools[device].lock);
  *live = rt_pools[device].live[k->kind];
  *peak = rt_pools[device].peak[k->kind];
  pthread_mutex_unlock(&rt_pools[device].lock);
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
  if (device < 0 || device >= rt_devices) return;
  atomic_fetch_add(&rt_pools[device].held, change);
  atomic_fetch_add(&rt_holds, change);
}

/* Of all devices: a question about an event of one may end a capture on another. */
static int rt_held(void *self, int64_t device) {
  (void)self, (void)device;
  return atomic_load(&rt_holds) > 0;
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
  struct rt_pool *d = &rt_pools[block->device_id];
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
      rt_stage_free, rt_usable, rt_hold,     rt_held};
  static const cdevice_memory host = {sizeof host, 0,    rt_mark_all, rt_make_current, rt_make_old_current,
                                      NULL,        NULL, rt_usable,   rt_hold,         rt_held};
  const rt_kind *k = self;
  if (!strcmp(id, CDEVICE_POOL)) return &pool;
  if (!strcmp(id, CDEVICE_MEMORY)) return k->kind == RT_PINNED ? &host : &memory;
  return NULL;
}

#endif
