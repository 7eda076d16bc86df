/* production.c - a producer as its consumer and its maker see it: request, cancel, stop, wait, how it ended.
 *
 * request and cancel count and wake, on whatever thread they come.  The producer lives by count, for libarrow's consumer
 * calls request after the end, while it empties its queue. */
#include "production.h"

#include <stdlib.h>
#include <string.h>

atomic_llong cdv_async_objects;
int64_t cdv_live_async(void) { return atomic_load(&cdv_async_objects); }

struct cdv_production *cdv_production_ref(struct cdv_production *p) {
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  return p;
}

void cdv_production_unref(struct cdv_production *p) {
  if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  if (p->source) cdv_stream_close(p->source);
  cdv_error_drop(&p->error);
  if (p->forks != cdv_forks()) return; /* who held its lock or waited is in another process */
  pthread_mutex_destroy(&p->source_lock);
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->changed);
  free(p->metadata);
  free(p);
  atomic_fetch_sub(&cdv_async_objects, 1);
}

static void wake(struct cdv_production *p) {
  atomic_thread_fence(memory_order_seq_cst);
  if (!atomic_load_explicit(&p->sleepers, memory_order_relaxed)) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

/* The run may be inside a source that waits for somebody else. */
static void interrupt(struct cdv_production *p) {
  wake(p);
  pthread_mutex_lock(&p->source_lock);
  struct cdv_stream *source = p->source, *leaving = NULL;
  p->source_users += source != NULL;
  pthread_mutex_unlock(&p->source_lock);
  if (!source) return;
  cdv_stream_interrupt(source);
  pthread_mutex_lock(&p->source_lock);
  if (!--p->source_users) {
    leaving = p->leaving;
    p->leaving = NULL;
  }
  pthread_mutex_unlock(&p->source_lock);
  if (leaving) cdv_stream_close(leaving);
}

void cdv_production_close_source(struct cdv_production *p) {
  pthread_mutex_lock(&p->source_lock);
  struct cdv_stream *source = p->source;
  p->source = NULL;
  if (p->source_users) {
    p->leaving = source;
    source = NULL;
  }
  pthread_mutex_unlock(&p->source_lock);
  if (source) cdv_stream_close(source);
}

/* ---- what the consumer calls: any thread, also from inside a callback ---- */
static void request(struct ArrowAsyncProducer *self, int64_t n) {
  struct cdv_production *p = (struct cdv_production *)self;
  if (atomic_load(&p->cancelled) || atomic_load(&p->ending)) return;
  cdv_production_ref(p);
  long long asked = atomic_load_explicit(&p->asked, memory_order_relaxed), sum;
  if (n <= 0) {
    atomic_store(&p->nonsense, n);
    atomic_store(&p->confused, 1);
  }
  while (n > 0) {
    sum = n > INT64_MAX - asked ? INT64_MAX : asked + n; /* "as much as you like", and then more */
    if (atomic_compare_exchange_weak(&p->asked, &asked, sum)) break;
  }
  if (n > 0)
    wake(p);
  else
    interrupt(p);
  cdv_production_unref(p);
}

static void cancel(struct ArrowAsyncProducer *self) {
  struct cdv_production *p = (struct cdv_production *)self;
  cdv_production_ref(p);
  atomic_store(&p->cancelled, 1);
  interrupt(p);
  cdv_production_unref(p);
}

bool cdv_is_production(const struct ArrowAsyncProducer *p) { return p->cancel == cancel; }

void cdv_production_init(struct cdv_production *p, struct ArrowAsyncDeviceStreamHandler *handler) {
  p->face.request = request;
  p->face.cancel = cancel;
  atomic_init(&p->refs, 1);
  p->handler = handler;
  p->forks = cdv_forks();
  pthread_mutex_init(&p->source_lock, NULL);
  pthread_mutex_init(&p->lock, NULL);
  cdv_cond_init(&p->changed);
  atomic_fetch_add(&cdv_async_objects, 1);
}

/* ---- what its maker calls ---- */
int cdv_production_claim(struct cdv_production *p) { return !atomic_exchange(&p->claimed, 1); }

int cdv_production_interrupted(struct cdv_production *p) { return cdv_is_interrupted(p); }

void cdv_production_stop(struct cdv_production *p) {
  atomic_store(&p->stopped, 1);
  if (p->forks == cdv_forks()) interrupt(p);
}

int cdv_production_wait(struct cdv_production *p, int64_t nanoseconds) {
  struct timespec end = cdv_deadline(nanoseconds);
  int r = 0;
  if (p->forks != cdv_forks()) return atomic_load(&p->ending) != 0; /* its thread is in another process */
  pthread_mutex_lock(&p->lock);
  while (!atomic_load(&p->ending) && r != ETIMEDOUT) r = cdv_cond_until(&p->changed, &p->lock, &end);
  pthread_mutex_unlock(&p->lock);
  return atomic_load(&p->ending) != 0;
}

void cdv_production_error(struct cdv_production *p) {
  int ending = atomic_load(&p->ending);
  if (ending == CDV_FAILED || ending == CDV_STOPPED) {
    cdv_error_back(&p->error);
    cdv_error_drop(&p->error); /* an exception may hold whoever holds this: it is given out once */
  } else if (ending == CDV_REFUSED)
    cdv_fail(CDV_STREAM, p->code, "the consumer refused with errno %d (%s)", p->code, strerror(p->code));
}

int cdv_production_ending(struct cdv_production *p, int *code) {
  int ending = atomic_load(&p->ending);
  *code = ending ? p->code : 0;
  cdv_production_error(p);
  return ending;
}

int64_t cdv_production_sent(struct cdv_production *p, int64_t *unextracted) {
  int64_t extracted = atomic_load(&p->extracted), sent = atomic_load(&p->sent);
  *unextracted = sent - extracted;
  return sent;
}
