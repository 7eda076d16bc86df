/* producer.c - a producer as its consumer and its maker see it: request, cancel, stop, wait, how it ended.
 *
 * request and cancel count and wake, on any thread.  The producer lives by count, for libarrow's
 * consumer calls request after the end, while it empties its queue. */
#include "core/async/producer.h"
#include "cdevice/arrow_abi.h"
#include "core/async/producer_object.h"
#include "core/async/producer_run.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/base/wait.h"
#include "core/stream/stream.h"

#include <stdlib.h>
#include <string.h>

atomic_llong cdv_async_objects;
int64_t cdv_live_async(void) { return atomic_load(&cdv_async_objects); }

struct cdv_producer *cdv_producer_ref(struct cdv_producer *p) {
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  return p;
}

void cdv_producer_unref(struct cdv_producer *p) {
  CDV_ASSERT(atomic_load(&p->refs) > 0);
  if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  if (p->source) cdv_stream_close(p->source);
  cdv_error_clear(&p->error);
  if (p->fork_generation != cdv_fork_generation()) return; /* who held its lock or waited is in another process */
  pthread_mutex_destroy(&p->source_lock);
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->changed);
  free(p->metadata);
  free(p);
  atomic_fetch_sub(&cdv_async_objects, 1);
}

static void wake(struct cdv_producer *p) {
  atomic_thread_fence(memory_order_seq_cst);
  if (!atomic_load_explicit(&p->sleepers, memory_order_relaxed)) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

/* The run may be inside a source that is blocked. */
static void interrupt(struct cdv_producer *p) {
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

void cdv_producer_close_source(struct cdv_producer *p) {
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
  struct cdv_producer *p = (struct cdv_producer *)self;
  if (atomic_load(&p->cancelled) || atomic_load(&p->outcome)) return;
  cdv_producer_ref(p);
  long long requested = atomic_load_explicit(&p->requested, memory_order_relaxed), sum;
  if (n <= 0) {
    atomic_store(&p->bad_request_n, n);
    atomic_store(&p->bad_request, 1);
  }
  while (n > 0) {
    sum = n > INT64_MAX - requested ? INT64_MAX : requested + n; /* "as much as you like", and then more */
    if (atomic_compare_exchange_weak(&p->requested, &requested, sum)) break;
  }
  if (n > 0)
    wake(p);
  else
    interrupt(p);
  cdv_producer_unref(p);
}

static void cancel(struct ArrowAsyncProducer *self) {
  struct cdv_producer *p = (struct cdv_producer *)self;
  cdv_producer_ref(p);
  atomic_store(&p->cancelled, 1);
  interrupt(p);
  cdv_producer_unref(p);
}

bool cdv_is_producer(const struct ArrowAsyncProducer *p) { return p->cancel == cancel; }

void cdv_producer_init(struct cdv_producer *p, struct ArrowAsyncDeviceStreamHandler *handler) {
  p->producer.request = request;
  p->producer.cancel = cancel;
  atomic_init(&p->refs, 1);
  p->handler = handler;
  p->fork_generation = cdv_fork_generation();
  pthread_mutex_init(&p->source_lock, NULL);
  pthread_mutex_init(&p->lock, NULL);
  cdv_cond_init(&p->changed);
  atomic_fetch_add(&cdv_async_objects, 1);
}

/* ---- what its maker calls ---- */
int cdv_producer_claim(struct cdv_producer *p) { return !atomic_exchange(&p->claimed, 1); }

int cdv_producer_interrupted(struct cdv_producer *p) { return cdv_is_interrupted(p); }

void cdv_producer_stop(struct cdv_producer *p) {
  atomic_store(&p->stopped, 1);
  if (p->fork_generation == cdv_fork_generation()) interrupt(p);
}

int cdv_producer_wait(struct cdv_producer *p, int64_t nanoseconds) {
  struct timespec end = cdv_deadline(nanoseconds);
  int r = 0;
  if (p->fork_generation != cdv_fork_generation())
    return atomic_load(&p->outcome) != 0; /* its thread is in another process */
  pthread_mutex_lock(&p->lock);
  while (!atomic_load(&p->outcome) && r != ETIMEDOUT) r = cdv_cond_until(&p->changed, &p->lock, &end);
  pthread_mutex_unlock(&p->lock);
  return atomic_load(&p->outcome) != 0;
}

void cdv_producer_error(struct cdv_producer *p) {
  int outcome = atomic_load(&p->outcome);
  if (outcome == CDV_FAILED || outcome == CDV_STOPPED) {
    cdv_error_restore(&p->error);
    cdv_error_clear(&p->error); /* an exception may own the owner of this: it is returned once */
  } else if (outcome == CDV_REFUSED)
    cdv_fail(CDV_STREAM, p->code, "the consumer refused with errno %d (%s)", p->code, strerror(p->code));
}

int cdv_producer_outcome(struct cdv_producer *p, int *code) {
  int outcome = atomic_load(&p->outcome);
  *code = outcome ? p->code : 0;
  cdv_producer_error(p);
  return outcome;
}

int64_t cdv_producer_sent(struct cdv_producer *p, int64_t *unextracted) {
  int64_t extracted = atomic_load(&p->extracted), sent = atomic_load(&p->sent);
  *unextracted = sent - extracted;
  return sent;
}
