/* deferred_release.c - work that a release callback must not do itself because it needs a lock (the GIL) that the
 * releasing thread must not wait for.  push is lock-free, never allocates and cannot fail, so it is safe from any
 * thread, before, during and after the life of the interpreter. */
#include "core/base/deferred_release.h"
#include "core/base/system.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static _Atomic(struct cdv_deferred *) head;
static atomic_int stopped;
static sem_t wake;

/* What waited at a fork is the parent's to do: it may be memory of a runtime that is not here, whose locks are as
 * some thread left them. */
static void in_child(void) { atomic_store(&head, NULL); }
__attribute__((constructor)) static void init(void) {
  sem_init(&wake, 0, 0);
  cdv_at_fork(NULL, NULL, in_child);
}

void cdv_defer_push(struct cdv_deferred *node) {
  struct cdv_deferred *h = atomic_load_explicit(&head, memory_order_relaxed);
  do node->next = h;
  while (!atomic_compare_exchange_weak_explicit(&head, &h, node, memory_order_release, memory_order_relaxed));
  if (!h) sem_post(&wake); /* only on empty -> non-empty */
}

bool cdv_defer_pending(void) { return atomic_load_explicit(&head, memory_order_relaxed) != NULL; }

/* The first that was pushed comes first: a block is given back before the stream that it was allocated for. */
struct cdv_deferred *cdv_defer_take(void) {
  if (!cdv_defer_pending()) return NULL;
  struct cdv_deferred *d = atomic_exchange_explicit(&head, NULL, memory_order_acquire), *out = NULL;
  for (struct cdv_deferred *next; d; d = next) {
    next = d->next;
    d->next = out;
    out = d;
  }
  return out;
}

/* Blocks the thread that drains; 0 once stopped. */
int cdv_defer_wait(void) {
  while (sem_wait(&wake) != 0 && errno == EINTR) {}
  if (!atomic_load(&stopped)) return 1;
  sem_post(&wake); /* for another such thread, where the package was imported twice */
  return 0;
}

void cdv_defer_stop(void) {
  atomic_store(&stopped, 1);
  sem_post(&wake);
}

/* Racy; for tests while nothing runs. */
int64_t cdv_defer_count(void) {
  int64_t n = 0;
  for (struct cdv_deferred *d = atomic_load(&head); d; d = d->next) n++;
  return n;
}
