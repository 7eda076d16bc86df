/* allocator.c - memory from somebody else's allocator in place of a backend's own pool.
 *
 * Such memory goes back only when the device has passed everything that may still use it at the time of release: the
 * allocator may hand it out again at once, to a stream that knows nothing of ours. */
#include "core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cdv_supply {
  atomic_long refs; /* the slot's and one for each loan */
  cdevice_allocator table;
};

struct cdv_loan {
  struct cdv_kept kept;        /* first */
  struct cdv_event *events[2]; /* behind its last users; each is waited for in turn */
  struct cdv_loan *next;
  struct cdv_supply *from;
  struct cdv_slot *slot;
  void *stream;             /* it was allocated for */
  struct cdv_shared *queue; /* keeps that stream; or NULL */
  cdevice_block block;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct cdv_loan *) stuck; /* nothing could be recorded when they came back; tried again later */

static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&stuck, NULL); /* the parent's */
}
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

static void supply_unref(struct cdv_supply *s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  if (s->table.drop) s->table.drop(s->table.self);
  free(s);
}

int cdv_set_allocator(int32_t device_type, const cdevice_allocator *a) {
  struct cdv_slot *slot;
  struct cdv_supply *s = NULL, *old;
  int r = cdv_slot_find(device_type, &slot);
  if (r) return r;
  if (a) {
    if (a->struct_size < sizeof *a || !a->alloc || !a->free)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "an allocator needs alloc and free in a struct of %zu bytes", sizeof *a);
    s = malloc(sizeof *s);
    if (!s) return cdv_fail_memory(sizeof *s, "an allocator");
    atomic_init(&s->refs, 1);
    s->table = *a;
  }
  pthread_mutex_lock(&lock);
  old = atomic_exchange(&slot->supply, s);
  pthread_mutex_unlock(&lock);
  supply_unref(old);
  cdv_retry_loans();
  return 0;
}

/* Memory that the host can read is the devices' of its family too: managed and pinned memory for a device. */
static bool is_shared(const cdevice_backend *b, int32_t type) {
  struct cdv_slot *slot = type == b->device_type ? NULL : cdv_slot_for(type);
  return slot && (slot->table.capabilities & CDEVICE_CAP_HOST_ACCESSIBLE) && !strcmp(slot->table.family, b->family);
}

/* Memory of another device, or less of it than was asked for, as far as the backend can tell. */
static int misplaced(struct cdv_slot *slot, int64_t device, int64_t nbytes, const cdevice_block *block,
                     cdevice_error *err) {
  const cdevice_backend *b = &slot->table;
  int32_t type = b->device_type;
  int64_t where = device, size = -1;
  int r = b->locate(b->self, block->data, &type, &where, &size, err);
  if (r == ENOTSUP) return 0;
  if (r) return r;
  if (!is_shared(b, type) && (type != b->device_type || where != device))
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "the allocator gave memory of %s:%lld for %s:%lld",
                                cdv_device_type_name(type), (long long)where, b->name, (long long)device);
  if (size >= 0 && size < nbytes)
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "the allocator gave %lld bytes for %lld", (long long)size,
                                (long long)nbytes);
  return 0;
}

int cdv_lend(struct cdv_slot *slot, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
             struct cdv_loan **loan, cdevice_error *err) {
  const cdevice_backend *b = &slot->table;
  *loan = NULL;
  cdv_retry_loans();
  if (!atomic_load_explicit(&slot->supply, memory_order_relaxed))
    return cdv_door_alloc(slot, device, nbytes, stream, out, err);
  const cdevice_memory *m = cdv_memory_of(slot);
  int r = CDV_HAS(m, usable) ? m->usable(b->self, device, stream, err) : 0;
  if (r) return r;
  pthread_mutex_lock(&lock);
  struct cdv_supply *s = atomic_load(&slot->supply);
  if (s) atomic_fetch_add(&s->refs, 1);
  pthread_mutex_unlock(&lock);
  if (!s) return cdv_door_alloc(slot, device, nbytes, stream, out, err);
  struct cdv_loan *l = calloc(1, sizeof *l);
  r = l ? cdv_door_borrow(&s->table, device, nbytes, stream, out, err)
        : cdevice_backend_fail(err, ENOMEM, 0, NULL, "no host memory to note an allocation");
  if (!r && (r = misplaced(slot, device, nbytes, out, err))) s->table.free(s->table.self, out);
  if (r) {
    free(l);
    supply_unref(s);
    return r;
  }
  cdv_slot_use(slot, 1);
  l->from = s;
  l->slot = slot;
  l->stream = stream;
  l->block = *out;
  out->opaque[0] = out->opaque[1] = NULL; /* the allocator's own: the backend must not take them for its */
  *loan = l;
  return 0;
}

int cdv_prepare(struct cdv_slot *slot, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err) {
  const cdevice_memory *m = cdv_memory_of(slot);
  if (!CDV_HAS(m, discard) || !m->prepare || !m->commit) return ENOTSUP;
  if (atomic_load_explicit(&slot->supply, memory_order_relaxed)) return ENOTSUP;
  return cdv_door_prepare(slot, device, nbytes, out, err);
}

/* Records behind all that may use the block. */
static int mark(struct cdv_loan *l) {
  const cdevice_memory *m = cdv_memory_of(l->slot);
  int64_t device = l->block.device_id;
  int r = 0;
  if (m && m->mark) {
    for (int i = 0; !r && i < 2; i++) r = cdv_event_new(l->slot, device, &l->events[i]);
    if (!r) r = m->mark(l->slot->table.self, device, l->stream, &l->events[0]->event, &l->events[1]->event, NULL);
  } else {
    r = cdv_event_record(l->slot, device, NULL, &l->events[0]);
    if (!r && l->stream) r = cdv_event_record(l->slot, device, l->stream, &l->events[1]);
  }
  for (int i = 0; i < 2; i++) {
    struct cdv_event *e = l->events[i];
    if (!e || (!r && e->event.sync_event)) continue;
    cdv_event_unref(e);
    l->events[i] = NULL;
  }
  return r;
}

static void put_aside(struct cdv_loan *l) {
  pthread_mutex_lock(&lock);
  l->next = atomic_load(&stuck);
  atomic_store(&stuck, l);
  pthread_mutex_unlock(&lock);
}

/* One event after the other, then the block is the allocator's again. */
static void go_on(struct cdv_kept *k) {
  struct cdv_loan *l = (struct cdv_loan *)k;
  for (int i = 0; i < 2; i++) {
    struct cdv_event *e = l->events[i];
    if (!e) continue;
    l->events[i] = NULL;
    if (cdv_when_passed(e, k, go_on)) {
      l->events[i] = e;
      put_aside(l);
    } else {
      cdv_event_unref(e);
    }
    return;
  }
  l->from->table.free(l->from->table.self, &l->block);
  supply_unref(l->from);
  cdv_shared_unref(l->queue);
  cdv_slot_use(l->slot, -1);
  free(l);
}

static void try_to_end(struct cdv_loan *l) {
  if (mark(l)) {
    cdv_shared_unref(cdv_error_forget()); /* nobody will hear of it, and it holds frames with arrays */
    put_aside(l);
  } else {
    go_on(&l->kept);
  }
}

void cdv_loan_end(struct cdv_loan *l, struct cdv_shared *queue) {
  if (!cdv_slot_callable(l->slot)) return; /* lent in the parent: the allocator is there, too */
  l->queue = queue;
  try_to_end(l);
}

void cdv_retry_loans(void) {
  if (!atomic_load_explicit(&stuck, memory_order_relaxed)) return;
  pthread_mutex_lock(&lock);
  struct cdv_loan *l = atomic_exchange(&stuck, NULL);
  pthread_mutex_unlock(&lock);
  for (struct cdv_loan *next; l; l = next) {
    next = l->next;
    if (l->events[0] || l->events[1])
      go_on(&l->kept);
    else
      try_to_end(l);
  }
}
