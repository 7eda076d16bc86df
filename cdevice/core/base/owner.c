/* owner.c - an owner that several keep.  Errors are built on it, so it reports none itself. */
#include "core/base/owner.h"
#include "core/base/assert.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct cdv_shared {
  atomic_long refs;
  struct cdv_owner owner;
};

int cdv_share(struct cdv_owner owner, struct cdv_shared **out) {
  struct cdv_shared *s = *out = malloc(sizeof *s);
  if (!s) return ENOMEM;
  atomic_init(&s->refs, 1);
  s->owner = owner;
  return 0;
}

struct cdv_shared *cdv_shared_ref(struct cdv_shared *s) {
  if (!s) return NULL;
  long before = atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  CDV_ASSERT(before > 0);
  (void)before;
  return s;
}

void cdv_shared_unref(struct cdv_shared *s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  s->owner.drop(s->owner.owner);
  free(s);
}

void *cdv_shared_owner(struct cdv_shared *s) { return s->owner.owner; }
