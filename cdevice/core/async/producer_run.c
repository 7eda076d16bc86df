/* producer_run.c - the run of a producer: one thread sends a stream to an ArrowAsyncDeviceStreamHandler. */
#include "core/async/producer_run.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_object.h"
#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/base/free_list.h"
#include "core/base/wait.h"
#include "core/format/schema.h"
#include "core/stream/stream.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* This thread's last error is how it ends. */
static void failed(struct cdv_producer *p, int code) {
  p->code = code;
  cdv_error_clear(&p->error);
  cdv_error_save(&p->error);
}

/* A finished array, moved out once. */
struct task {
  struct cdv_producer *owner;
  struct ArrowDeviceArray array;
  atomic_int refs;    /* the consumer's, and the sender's while on_next_task runs */
  atomic_int claimed; /* by the extraction or, after a refusal, by the sender */
  uintptr_t by;       /* the sender's thread */
};

static void task_unref(struct task *t) {
  if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
  if (t->array.array.release) t->array.array.release(&t->array.array);
  struct cdv_producer *p = t->owner;
  cdv_small_free(t, t->by);
  atomic_fetch_add_explicit(&p->extracted, 1, memory_order_release);
  if (atomic_fetch_sub_explicit(&p->outstanding, 1, memory_order_acq_rel) == 1) cdv_producer_unref(p);
}

static int extract(struct ArrowAsyncTask *self, struct ArrowDeviceArray *out) {
  struct task *t = self->private_data;
  if (atomic_exchange(&t->claimed, 1)) return EINVAL;
  if (out) {
    *out = t->array;
    t->array.array.release = NULL;
  }
  task_unref(t);
  return 0;
}

/* ---- the run ---- */
/* So many arrays of a source that has them at hand, and that were asked for, wake a consumer once. */
#define GROUP 64

/* Until one more array may be sent; false: something else is to be done. */
static bool wait_for_demand(struct cdv_producer *p) {
  long long sent = atomic_load_explicit(&p->sent, memory_order_relaxed);
  for (int spins = 0;; spins++) {
    if (cdv_is_interrupted(p)) return false;
    if (atomic_load(&p->requested) > sent) return true;
    if (spins < CDV_SPINS) { /* a consumer that keeps up asks within microseconds; sleeping costs more */
      if (spins > CDV_SPINS / 4)
        sched_yield();
      else
        cdv_cpu_relax();
      continue;
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->sleepers, 1);
    atomic_thread_fence(memory_order_seq_cst);
    while (!cdv_is_interrupted(p) && atomic_load(&p->requested) <= sent) cdv_cond_wait(&p->changed, &p->lock);
    atomic_store(&p->sleepers, 0);
    pthread_mutex_unlock(&p->lock);
  }
}

static int send_schema(struct cdv_producer *p) {
  struct ArrowSchema schema;
  int r = cdv_schema_export(p->source->schema, &schema);
  if (r) {
    failed(p, r);
    return CDV_FAILED;
  }
  r = p->handler->on_schema(p->handler, &schema);
  if (schema.release) schema.release(&schema);
  p->code = cdv_errno(r);
  return r ? CDV_REFUSED : CDV_RUNNING;
}

/* Takes the array over. */
static int send_array(struct cdv_producer *p, struct cdv_array *a) {
  struct task *t = cdv_small_alloc(sizeof *t);
  int r = t ? cdv_stream_export_array(p->source, a, &t->array) : cdv_fail_memory(sizeof *t, "a task");
  if (r) {
    failed(p, r);
    if (t) cdv_small_free(t, cdv_thread_hint());
    cdv_array_unref(a);
    return CDV_FAILED;
  }
  t->by = cdv_thread_hint();
  t->owner = p;
  atomic_init(&t->claimed, 0);
  atomic_init(&t->refs, 2);
  struct ArrowAsyncTask task = {extract, t};
  long long sent = atomic_load_explicit(&p->sent, memory_order_relaxed) + 1;
  atomic_store_explicit(&p->sent, sent, memory_order_relaxed);
  bool quick = p->source->nonblocking && !p->source->has_wait_stream;
  cdv_handler_suppress_notify(p->handler, quick && sent % GROUP && sent < atomic_load(&p->requested), quick);
  r = p->handler->on_next_task(p->handler, &task, p->source->metadata);
  if (r) {
    if (!atomic_exchange(&t->claimed, 1)) task_unref(t); /* the consumer's share, which it did not want */
    p->code = cdv_errno(r);
  }
  task_unref(t);
  return r ? CDV_REFUSED : CDV_RUNNING;
}

/* Why it ends although the source has not; CDV_RUNNING: for no such reason. */
static int ended_from_outside(struct cdv_producer *p) {
  if (atomic_load(&p->cancelled)) return CDV_CANCELLED;
  if (atomic_load(&p->bad_request)) {
    failed(p, cdv_fail(CDV_STREAM, EINVAL, "request(%lld): expected a positive number",
                       (long long)atomic_load(&p->bad_request_n)));
    return CDV_FAILED;
  }
  if (!atomic_load(&p->stopped)) return CDV_RUNNING;
  failed(p, cdv_fail(CDV_STREAM, ECANCELED, "the producer was stopped"));
  return CDV_STOPPED;
}

static int run(struct cdv_producer *p) {
  int outcome = send_schema(p);
  while (!outcome) {
    struct cdv_array *a = NULL;
    int r = 0;
    /* one array ahead of the demand, so that the end is known when the last one was sent */
    if (!cdv_is_interrupted(p)) r = cdv_stream_next(p->source, &a);
    if (r) failed(p, r);
    bool go = !r && a && wait_for_demand(p);
    if (go) {
      outcome = send_array(p, a);
      continue;
    }
    bool last = !r && !a && !cdv_is_interrupted(p);
    if (a) cdv_array_unref(a);
    outcome = last ? CDV_FINISHED : ended_from_outside(p);
    if (!outcome) outcome = CDV_FAILED;
  }
  return outcome;
}

/* The one place where a producer ends: reports the outcome to the consumer, frees everything, then publishes the
 * outcome. */
static void end(struct cdv_producer *p, int outcome) {
  struct ArrowAsyncDeviceStreamHandler *h = p->handler;
  if (outcome == CDV_REFUSED && p->code == ECANCELED) {
    outcome = CDV_CANCELLED; /* by a consumer that was closed before it began; a refusal is followed by release alone */
  } else if (outcome == CDV_FINISHED ||
             outcome == CDV_CANCELLED) { /* libarrow's consumer waits for the end after a cancel too */
    int r = h->on_next_task(h, NULL, NULL);
    if (r && outcome == CDV_FINISHED) {
      outcome = CDV_REFUSED;
      p->code = cdv_errno(r);
    }
  } else if (outcome != CDV_REFUSED) {
    cdv_error_restore(&p->error); /* a consumer of cdevice finds the cause there */
    h->on_error(h, p->code, p->error.error.message, NULL);
  }
  if (outcome == CDV_CANCELLED) p->code = 0;
  if (outcome != CDV_FAILED) cdv_error_clear(&p->error); /* what a source raised when it was interrupted */
  cdv_producer_close_source(p); /* before release: a thread that waits for that finds everything released */
  h->release(h);
  pthread_mutex_lock(&p->lock);
  atomic_store(&p->outcome, outcome);
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

void cdv_producer_run(struct cdv_producer *p) {
  cdv_producer_ref(p);
  cdv_producer_ref(p); /* the tasks' */
  p->handler->producer = &p->producer;
  int outcome = run(p);
  long long sent = atomic_load_explicit(&p->sent, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&p->outstanding, sent, memory_order_acq_rel) == -sent) cdv_producer_unref(p);
  end(p, outcome);
  cdv_producer_unref(p);
}

void cdv_producer_fail(struct cdv_producer *p, int cancelled) {
  cdv_producer_ref(p);
  failed(p, cdv_error_last()->code ? cdv_error_last()->code : EIO);
  int outcome = ended_from_outside(p);
  if (cancelled) p->code = ECANCELED; /* as if it had refused the schema */
  end(p, cancelled ? CDV_REFUSED : outcome ? outcome : CDV_FAILED);
  cdv_producer_unref(p);
}

static void *run_thread(void *arg) {
  cdv_producer_run(arg);
  cdv_producer_unref(arg);
  return NULL;
}

int cdv_producer_start(struct cdv_producer *p) {
  pthread_t thread;
  int r = pthread_create(&thread, NULL, run_thread, cdv_producer_ref(p));
  if (r) {
    cdv_producer_unref(p);
    return cdv_fail_thread(r, "a producer");
  }
  pthread_detach(thread);
  return 0;
}

/* ---- what its maker calls ---- */
static int usable(const struct ArrowAsyncDeviceStreamHandler *h) {
  if (!h) return cdv_fail(CDV_ARGUMENT, EINVAL, "the address of the handler is NULL");
  if (h->on_schema && h->on_next_task && h->on_error && h->release) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "the handler lacks %s",
                  !h->on_schema      ? "on_schema"
                  : !h->on_next_task ? "on_next_task"
                  : !h->on_error     ? "on_error"
                                     : "release (was it released before?)");
}

int cdv_producer_open(struct ArrowAsyncDeviceStreamHandler *handler, struct cdv_producer **out) {
  int r = usable(handler);
  if (r) return r;
  struct cdv_producer *p = calloc(1, sizeof *p);
  if (!p) return cdv_fail_memory(sizeof *p, "a producer");
  if (cdv_handler_claim(handler, 1) == EBUSY) {
    free(p);
    return EBUSY;
  }
  cdv_producer_init(p, handler);
  *out = p;
  return 0;
}

int cdv_producer_set_source(struct cdv_producer *p, struct cdv_stream *source, const char *metadata) {
  size_t size = (size_t)cdv_metadata_size(metadata);
  if (metadata) {
    if (!(p->metadata = malloc(size))) return cdv_fail_memory((int64_t)size, "a producer");
    memcpy(p->metadata, metadata, size);
  }
  p->producer.device_type = source->device_type;
  p->producer.additional_metadata = p->metadata;
  pthread_mutex_lock(&p->source_lock);
  p->source = source;
  pthread_mutex_unlock(&p->source_lock);
  return 0;
}

int cdv_producer_new(struct cdv_stream *source, struct ArrowAsyncDeviceStreamHandler *handler, const char *metadata,
                     struct cdv_producer **out) {
  int r = cdv_producer_open(handler, out);
  if (!r && (r = cdv_producer_set_source(*out, source, metadata))) cdv_producer_cancel_unstarted(*out);
  return r;
}

void cdv_producer_cancel_unstarted(struct cdv_producer *p) {
  p->source = NULL;
  cdv_handler_claim(p->handler, 0);
  cdv_producer_unref(p);
}
