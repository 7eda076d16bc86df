/* memory.h - memory from the pool, staging memory, and the extensions about both.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_MEMORY_H
#define CDEVICE_RUNTIME_MEMORY_H

#include "gpu_driver/pool.h"

static int rt_no_memory(cdevice_error *err, int code, int device, int kind, int64_t nbytes, int64_t size) {
  cdevice_device_info info = {.total_bytes = -1, .free_bytes = -1};
  int64_t pooled, pending;
  char of[96] = "";
  rt_sizes(device, kind, &pooled, &pending);
  rt_describe(device, &info);
  if (kind == RT_DEVICE && info.total_bytes > 0)
    snprintf(of, sizeof of, ", %lld of %lld bytes of the device are free", (long long)info.free_bytes,
             (long long)info.total_bytes);
  return cdevice_backend_fail(
      err, ENOMEM, code, rt_error_name(code),
      "%lld bytes (%lld with rounding): %s; %lld in use here, %lld freed but still in use by the device%s",
      (long long)nbytes, (long long)size, rt_error_text(code), (long long)rt_pools[device].live[kind],
      (long long)pending, of);
}

/* Memory of the vendor's, perhaps of another size; or *c, what came back when it was short.  The vendor's code. */
static int rt_new_memory(int device, int kind, int64_t nbytes, int64_t *size, int *sort, void **data, rt_block **c) {
  int code = rt_malloc(kind, (size_t)*size, data);
  if (code != RT_OOM) return code;
  int wait = !rt_capturing(device); /* once more, with what the pool holds */
  if (wait) rt_device_sync();
  *c = rt_pool_get(device, kind, *sort, 0);
  if (*c) return 0;
  rt_trim_device(device, wait);
  code = rt_malloc(kind, (size_t)*size, data);
  int64_t exact = (nbytes + RT_SMALLEST - 1) / RT_SMALLEST * RT_SMALLEST;
  if (code == RT_OOM && exact < *size) {
    code = rt_malloc(kind, (size_t)exact, data);
    if (!code) *size = exact, *sort = RT_ODD;
  }
  return code;
}

static int rt_new_chunk(int device, int kind, int64_t nbytes, int64_t size, int sort, rt_block **c,
                        cdevice_error *err) {
  void *data = NULL;
  int code = rt_new_memory(device, kind, nbytes, &size, &sort, &data, c);
  if (code == RT_OOM) return rt_no_memory(err, code, device, kind, nbytes, size);
  if (rt_is_sticky(code)) rt_device_failed(device);
  if (code) return rt_fail(err, code, "allocating");
  if (*c) return 0;
  *c = malloc(sizeof **c);
  if (!*c) {
    rt_mfree(kind, data);
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for the record of an allocation");
  }
  **c = (rt_block){NULL, data, size, NULL, NULL, kind, sort};
  return 0;
}

/* Reuses a free block, else a block whose fence completes at once, else allocates. Waits for the device only when
 * memory is short. The device is current. */
static int rt_get(int device, int kind, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  struct rt_pool *d = &rt_pools[device];
  int64_t size;
  int sort = rt_class(nbytes, &size), r;
  rt_block *c = rt_pool_get(device, kind, sort, 0);
  if (!c && !rt_mark_freed(device) && size >= RT_LARGE && !atomic_load(&rt_holds))
    c = rt_pool_get(device, kind, sort, 50000); /* an idle device passes it before malloc returns */
  if (!c && (r = rt_new_chunk(device, kind, nbytes, size, sort, &c, err))) return r;
  c->next = NULL;
  c->stream = stream;
  pthread_mutex_lock(&d->lock);
  d->live[c->kind] += c->size;
  if (d->live[c->kind] > d->peak[c->kind]) d->peak[c->kind] = d->live[c->kind];
  pthread_mutex_unlock(&d->lock);
  *out = (cdevice_block){c->data, nbytes, device, {c, NULL}};
  return 0;
}

static int rt_too_much(int64_t nbytes, cdevice_error *err) {
  if (nbytes <= INT64_MAX / 4) return 0;
  return cdevice_backend_fail(err, ENOMEM, 0, NULL, "%lld bytes are larger than the memory of any device",
                              (long long)nbytes);
}

static int rt_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  const rt_kind *k = self;
  rt_saved_context saved;
  int r = rt_too_much(nbytes, err);
  if (!r) r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  r = rt_get((int)device, k->kind, nbytes, stream, out, err);
  rt_leave(&saved);
  return r;
}

static void rt_free(void *self, const cdevice_block *block) {
  (void)self;
  rt_block *c = block->opaque[0];
  rt_saved_context saved;
  int device = (int)block->device_id;
  struct rt_pool *d = &rt_pools[device];
  if (!c) return; /* a view */
  if (!rt_can_record_context() && !rt_enter(device, &saved)) {
    rt_fence *m = calloc(1, sizeof *m);
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
  rt_pool_put_locked(device, c);
  pthread_mutex_unlock(&d->lock);
}

static void rt_statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  const rt_kind *k = self;
  rt_saved_context saved;
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

/* What the device does not pass soon stays in the pool: the wait is short. */
static void rt_trim(void *self, int64_t device) {
  (void)self;
  rt_saved_context saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  int wait = rt_mark_freed((int)device) && !rt_capturing((int)device); /* only a wait tells when these have passed */
  for (int64_t begin = rt_now(); rt_trim_device((int)device, wait) && rt_now() - begin < 1000000;) sched_yield();
  rt_leave(&saved);
}

static int rt_mark_all(void *self, int64_t device, void *stream, cdevice_event *first, cdevice_event *second,
                       cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_mark_now((int)device, stream, &first->slot, &second->slot);
  if (first->slot) first->sync_event = &first->slot;
  if (second->slot) second->sync_event = &second->slot;
  return rt_end(device, &saved, code, "recording an event", err);
}

static int rt_make_current(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  *out = (void *)(intptr_t)saved;
  return 0;
}
static void rt_restore_current(void *self, int64_t device, void *old) {
  rt_saved_context saved = (rt_saved_context)(intptr_t)old;
  (void)self, (void)device;
  rt_leave(&saved);
}

static void rt_hold(void *self, int64_t device, int change) {
  (void)self;
  if (device < 0 || device >= rt_devices) return;
  atomic_fetch_add(&rt_pools[device].held, change);
  atomic_fetch_add(&rt_holds, change);
  while (change > 0 && atomic_load(&rt_queries)) sched_yield(); /* short calls: none of them waits for the device */
}

/* Of all devices: a question about an event of one may end a capture on another. */
static int rt_held(void *self, int64_t device) {
  (void)self, (void)device;
  return atomic_load(&rt_holds) > 0;
}

static int rt_usable(void *self, int64_t device, void *stream, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  rt_leave(&saved);
  return 0;
}

/* Pinned memory, from the pool; it comes back when it is idle, so nothing is recorded. */
static int rt_stage_alloc(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_too_much(nbytes, err);
  if (!r) r = rt_begin(device, &saved, err);
  if (r) return r;
  r = rt_get((int)device, RT_PINNED, nbytes, NULL, out, err);
  rt_leave(&saved);
  return r;
}
static void rt_stage_free(void *self, const cdevice_block *block) {
  (void)self;
  rt_block *c = block->opaque[0];
  struct rt_pool *d = &rt_pools[block->device_id];
  pthread_mutex_lock(&d->lock);
  rt_bin *s = &d->shelves[c->kind][c->sort];
  d->live[c->kind] -= c->size;
  rt_push(&s->ready, c);
  pthread_mutex_unlock(&d->lock);
}

static const void *rt_memory_extension(const rt_kind *k, const char *id) {
  static const cdevice_pool pool = {sizeof pool, 0, rt_statistics, rt_trim};
  static const cdevice_memory memory = {
      sizeof memory, 0,         rt_mark_all, rt_make_current, rt_restore_current, rt_stage_alloc,
      rt_stage_free, rt_usable, rt_hold,     rt_held};
  static const cdevice_memory host = {sizeof host, 0,    rt_mark_all, rt_make_current, rt_restore_current,
                                      NULL,        NULL, rt_usable,   rt_hold,         rt_held};
  if (!strcmp(id, CDEVICE_POOL)) return &pool;
  if (!strcmp(id, CDEVICE_MEMORY)) return k->kind == RT_PINNED ? &host : &memory;
  return NULL;
}

#endif
