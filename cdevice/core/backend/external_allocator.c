/* external_allocator.c - memory from an external allocator instead of a backend's own pool.
 *
 * Such memory goes back only when the device has passed everything that may still use it at the time of release: the
 * allocator may hand it out again at once, to a stream that is not ordered behind cdevice's. */
#include "core/backend/external_allocator.h"
#include "cdevice/backend.h"
#include "core/backend/checked_calls.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/system.h"
#include "core/event/event.h"
#include "core/event/reclaim.h"
#include "core/ipc/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cdv_external_allocator {
  atomic_long refs; /* the slot's and one for each loan */
  cdevice_allocator table;
};

struct cdv_external_block {
  struct cdv_retired kept;     /* first */
  struct cdv_event *events[2]; /* behind its last users; each is waited for in turn */
  struct cdv_external_block *next;
  struct cdv_external_allocator *from;
  struct cdv_backend *backend;
  void *stream;             /* it was allocated for */
  struct cdv_shared *queue; /* keeps that stream; or NULL */
  cdevice_block block;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct cdv_external_block *)
    stuck; /* nothing could be recorded when they came back; tried again later */

static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&stuck, NULL); /* the parent's */
}
__attribute__((constructor)) static void watch_forks(void) { cdv_at_fork(NULL, NULL, in_child); }

static void supply_unref(struct cdv_external_allocator *s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  if (s->table.drop) s->table.drop(s->table.self);
  free(s);
}

static struct cdv_external_allocator *new_supply(const cdevice_allocator *table) {
  struct cdv_external_allocator *s = malloc(sizeof *s);
  if (!s) return NULL;
  atomic_init(&s->refs, 1);
  s->table = *table;
  return s;
}

int cdv_set_allocator(int32_t device_type, const cdevice_allocator *a) {
  struct cdv_backend *backend;
  struct cdv_external_allocator *s = NULL, *old;
  int r = cdv_backend_find(device_type, &backend);
  if (r) return r;
  if (a) {
    if (a->struct_size < sizeof *a || !a->alloc || !a->free)
      return cdv_fail(CDV_ARGUMENT, EINVAL,
                      "cdevice_allocator: alloc and free are required, in a struct of at least %zu bytes", sizeof *a);
    s = new_supply(a);
    if (!s) return cdv_fail_memory(sizeof *s, "an allocator");
  }
  pthread_mutex_lock(&lock);
  old = atomic_exchange(&backend->supply, s);
  pthread_mutex_unlock(&lock);
  supply_unref(old);
  cdv_external_blocks_retry();
  return 0;
}

/* Memory that the host can read is the devices' of its family too: managed and pinned memory for a device. */
static bool is_shared(const cdevice_backend *b, int32_t type) {
  struct cdv_backend *backend = type == b->device_type ? NULL : cdv_backend_lookup(type);
  return backend && (backend->table.capabilities & CDEVICE_CAP_HOST_ACCESSIBLE) &&
         !strcmp(backend->table.family, b->family);
}

/* Memory of another device, or less of it than was asked for, as far as the backend can tell. */
static int misplaced(struct cdv_backend *backend, int64_t device, int64_t nbytes, const cdevice_block *block,
                     cdevice_error *err) {
  const cdevice_backend *b = &backend->table;
  int32_t type = b->device_type;
  int64_t where = device, size = -1;
  int r = b->locate(b->self, block->data, &type, &where, &size, err);
  if (r == ENOTSUP) return 0;
  if (r) return r;
  if (!is_shared(b, type) && (type != b->device_type || where != device))
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "the allocator returned memory of %s:%lld for %s:%lld",
                                cdv_device_type_name(type), (long long)where, b->name, (long long)device);
  if (size >= 0 && size < nbytes)
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "the allocator returned %lld bytes, %lld were requested",
                                (long long)size, (long long)nbytes);
  return 0;
}

/* *out: the allocator that this thread asked for, or that was set, counted; NULL: neither. */
static int supply_of(struct cdv_backend *backend, struct cdv_external_allocator **out, cdevice_error *err) {
  const cdevice_allocator *wanted = backend->table.device_type == ARROW_DEVICE_CPU ? cdv_overriding_allocator() : NULL;
  *out = NULL;
  if (wanted) {
    *out = new_supply(wanted);
    return *out ? 0 : cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for the record of an allocator");
  }
  if (!atomic_load_explicit(&backend->supply, memory_order_relaxed)) return 0;
  pthread_mutex_lock(&lock);
  *out = atomic_load(&backend->supply);
  if (*out) atomic_fetch_add(&(*out)->refs, 1);
  pthread_mutex_unlock(&lock);
  return 0;
}

int cdv_block_alloc_for(struct cdv_backend *backend, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                        struct cdv_external_block **external_block, cdevice_error *err) {
  *external_block = NULL;
  cdv_external_blocks_retry();
  struct cdv_external_allocator *s;
  int r = supply_of(backend, &s, err);
  if (r) return r;
  if (!s) return cdv_checked_alloc(backend, device, nbytes, stream, out, err);
  r = cdv_checked_stream(backend, device, stream, err);
  if (r) {
    supply_unref(s);
    return r;
  }
  struct cdv_external_block *l = calloc(1, sizeof *l);
  r = l ? cdv_checked_external_alloc(&s->table, device, nbytes, stream, out, err)
        : cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for the record of an allocation");
  if (!r && (r = misplaced(backend, device, nbytes, out, err))) s->table.free(s->table.self, out);
  if (r) {
    free(l);
    supply_unref(s);
    return r;
  }
  cdv_backend_addref(backend, 1);
  l->from = s;
  l->backend = backend;
  l->stream = stream;
  l->block = *out;
  out->opaque[0] = out->opaque[1] = NULL; /* the allocator's own: the backend must not take them for its */
  *external_block = l;
  return 0;
}

int cdv_block_prepare(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out,
                      cdevice_error *err) {
  const cdevice_memory *m = cdv_memory_of(backend);
  if (!CDV_HAS(m, discard) || !m->prepare || !m->commit) return ENOTSUP;
  if (atomic_load_explicit(&backend->supply, memory_order_relaxed) || cdv_overriding_allocator()) return ENOTSUP;
  return cdv_checked_prepare(backend, device, nbytes, out, err);
}

/* Records behind all that may use the block. */
static int mark(struct cdv_external_block *l) {
  const cdevice_memory *m = cdv_memory_of(l->backend);
  int64_t device = l->block.device_id;
  int r = 0;
  if (m && m->record_last_use) {
    for (int i = 0; !r && i < 2; i++) r = cdv_event_new(l->backend, device, &l->events[i]);
    if (!r)
      r = m->record_last_use(l->backend->table.self, device, l->stream, &l->events[0]->event, &l->events[1]->event,
                             NULL);
  } else {
    r = cdv_event_record(l->backend, device, NULL, &l->events[0]);
    if (!r && l->stream) r = cdv_event_record(l->backend, device, l->stream, &l->events[1]);
  }
  for (int i = 0; i < 2; i++) {
    struct cdv_event *e = l->events[i];
    if (!e || (!r && e->event.sync_event)) continue;
    cdv_event_unref(e);
    l->events[i] = NULL;
  }
  return r;
}

static void save_exception(struct cdv_external_block *l) {
  pthread_mutex_lock(&lock);
  l->next = atomic_load(&stuck);
  atomic_store(&stuck, l);
  pthread_mutex_unlock(&lock);
}

/* One event after the other, then the block is the allocator's again. */
static void go_on(struct cdv_retired *k) {
  struct cdv_external_block *l = (struct cdv_external_block *)k;
  for (int i = 0; i < 2; i++) {
    struct cdv_event *e = l->events[i];
    if (!e) continue;
    l->events[i] = NULL;
    if (cdv_on_event_complete(e, k, go_on)) {
      l->events[i] = e;
      save_exception(l);
    } else {
      cdv_event_unref(e);
    }
    return;
  }
  l->from->table.free(l->from->table.self, &l->block);
  supply_unref(l->from);
  cdv_shared_unref(l->queue);
  cdv_backend_addref(l->backend, -1);
  free(l);
}

static void try_to_end(struct cdv_external_block *l) {
  if (mark(l)) {
    cdv_shared_unref(cdv_error_take_cause()); /* it is not reported, and holds frames with arrays */
    save_exception(l);
  } else {
    go_on(&l->kept);
  }
}

void cdv_external_block_free(struct cdv_external_block *l, struct cdv_shared *queue) {
  if (!cdv_backend_usable_in_process(l->backend)) return; /* allocated in the parent: the allocator is there, too */
  l->queue = queue;
  try_to_end(l);
}

void cdv_external_blocks_retry(void) {
  if (!atomic_load_explicit(&stuck, memory_order_relaxed)) return;
  pthread_mutex_lock(&lock);
  struct cdv_external_block *l = atomic_exchange(&stuck, NULL);
  pthread_mutex_unlock(&lock);
  for (struct cdv_external_block *next; l; l = next) {
    next = l->next;
    if (l->events[0] || l->events[1])
      go_on(&l->kept);
    else
      try_to_end(l);
  }
}
