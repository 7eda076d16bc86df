/* consumer.c - an ArrowAsyncDeviceStreamHandler of our own, and the queue behind it.
 *
 * A producer's thread puts tasks in, one thread of cdevice takes them out, without a lock between them.  A producer is
 * called only where every known one is alive: inside on_schema, inside on_next_task(task), or while we hold a task that
 * was not extracted; libarrow's may be gone at any other time. */
#include "core/async/consumer.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/async/producer.h"
#include "core/base/assert.h"
#include "core/base/doorbell.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/owner.h"
#include "core/base/wait.h"
#include "core/format/schema.h"
#include "core/stream/stream.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct item {
  struct ArrowAsyncTask task;
  char *metadata;
};

struct waiter { /* one doorbell per waiter, so a wake-up cannot be consumed by another */
  struct waiter *next;
  int descriptor, armed;
};

struct cdv_consumer {
  struct ArrowAsyncDeviceStreamHandler handler; /* first */
  atomic_int refs;                              /* the owner, and the producer once it has the handler */
  atomic_int exported, has_producer;            /* the handler: exported; used by a producer of cdevice */
  int fork_generation;                          /* when the handler was given away */
  int level;
  int64_t queue_size;
  struct item *ring;
  atomic_llong requested; /* requested since the beginning; asked - head <= queue_size */
  atomic_int state;       /* CDV_HAS_SCHEMA ... */
  atomic_int cancel_due;  /* 1 until it was sent; meant once the state is CDV_CLOSED */
  struct cdv_schema *schema;
  int32_t device_type;
  bool ours; /* the producer is */
  char *metadata;
  atomic_int has_failed; /* error is being or was written, by the first failure */
  struct cdv_saved_error error;
  atomic_int error_delivered; /* the error was raised; afterwards the stream is at its end */
  atomic_int sleepers, armed; /* armed: some bell is */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct waiter *waiters; /* guarded by lock */
  /* What each side writes at every task: in cache lines of its own, which would otherwise go to and fro. */
  char pad_producer[CDV_CACHE_LINE];
  atomic_llong tail;            /* of items put in since the beginning */
  atomic_int in_callback;       /* callbacks running */
  atomic_int producer_has_more; /* it had more at hand when it sent the last one */
  bool notify_suppressed;       /* the producer thread's: the next task wakes no waiter */
  char pad_consumer[CDV_CACHE_LINE];
  atomic_llong head;      /* of items taken out */
  atomic_int calls;       /* calls into the producer, running */
  pthread_mutex_t taking; /* guards the taking end, against close */
  char pad_end[CDV_CACHE_LINE];
};

/* This thread is inside calls to these consumers' producers, the last one first: one call may lead to another. */
struct caller {
  struct caller *outer;
  struct cdv_consumer *of;
};
static _Thread_local struct caller *tls_active_call;

/* A lock may be held, and the awaited work done, by a thread that is on the other side of the fork. */
static bool is_forked_copy(struct cdv_consumer *c) {
  return atomic_load(&c->exported) && c->fork_generation != cdv_fork_generation();
}

/* ---- waking ---- */
static void notify_waiters(struct cdv_consumer *c) { /* lock is held */
  if (!atomic_exchange(&c->armed, 0)) return;
  for (struct waiter *b = c->waiters; b; b = b->next) {
    if (!b->armed) continue;
    b->armed = 0;
    atomic_fetch_add_explicit(&cdv_sleeps, 1, memory_order_relaxed);
    cdv_doorbell_ring(b->descriptor);
  }
}

static void wake(struct cdv_consumer *c) {
  atomic_thread_fence(memory_order_seq_cst);
  if (!atomic_load_explicit(&c->sleepers, memory_order_relaxed) &&
      !atomic_load_explicit(&c->armed, memory_order_relaxed))
    return;
  pthread_mutex_lock(&c->lock);
  pthread_cond_broadcast(&c->changed);
  notify_waiters(c);
  pthread_mutex_unlock(&c->lock);
}

/* What the state was before. */
static int set_state(struct cdv_consumer *c, int bits) {
  int before = atomic_fetch_or(&c->state, bits);
  wake(c);
  return before;
}

static bool is_ready(struct cdv_consumer *c, int schema, int released) {
  int s = atomic_load(&c->state);
  if (released) return s & CDV_HANDLER_RELEASED;
  if (schema && (s & CDV_HAS_SCHEMA)) return true;
  return (s & (CDV_ENDED | CDV_CLOSED | CDV_HANDLER_RELEASED | CDV_FAILED_PENDING)) ||
         atomic_load(&c->head) != atomic_load(&c->tail);
}

/* ---- errors ---- */
/* Its exception may own this consumer, by the frames of its traceback: it does not outlive the close. */
static void forget_cause(struct cdv_consumer *c) {
  if (!(atomic_load(&c->state) & CDV_FAILED_PENDING)) return;
  pthread_mutex_lock(&c->lock);
  cdv_error_clear(&c->error);
  pthread_mutex_unlock(&c->lock);
}

/* The first one counts; this thread's last error becomes it. */
static void fault(struct cdv_consumer *c) {
  if (atomic_exchange(&c->has_failed, 1)) return;
  pthread_mutex_lock(&c->lock);
  cdv_error_save(&c->error);
  pthread_mutex_unlock(&c->lock);
  if (set_state(c, CDV_FAILED_PENDING) & CDV_CLOSED)
    forget_cause(c); /* closed meanwhile: the later of the two drops it */
}

static int broken(struct cdv_consumer *c, const char *what) {
  cdv_fail(CDV_STREAM, EPROTO, "the producer broke the protocol: %s", what);
  fault(c);
  return EINVAL;
}

/* ---- calling the producer ---- */
/* n > 0: request(n); 0: cancel.  Only where the producer is known to live. */
static void call(struct cdv_consumer *c, int64_t n) {
  struct caller me = {tls_active_call, c};
  atomic_fetch_add(&c->calls, 1); /* holds the end back while we look */
  tls_active_call = &me;
  if (!(atomic_load(&c->state) & (CDV_ENDED | CDV_HANDLER_RELEASED))) {
    if (n > 0)
      c->handler.producer->request(c->handler.producer, n);
    else
      c->handler.producer->cancel(c->handler.producer);
  }
  tls_active_call = me.outer;
  atomic_fetch_sub(&c->calls, 1);
}

static void cancel_once(struct cdv_consumer *c) {
  if (atomic_exchange(&c->cancel_due, 0)) call(c, 0);
}

/* Stops calls of the producer; blocks until no thread is inside one. */
static void producer_ends(struct cdv_consumer *c, int bits) {
  set_state(c, bits);
  int own = 0;
  for (const struct caller *k = tls_active_call; k; k = k->outer) own += k->of == c;
  while (atomic_load(&c->calls) > own) sched_yield();
}

/* ---- the queue ---- */
static bool pop(struct cdv_consumer *c, struct item *out) {
  pthread_mutex_lock(&c->taking);
  long long head = atomic_load_explicit(&c->head, memory_order_relaxed);
  bool there = head != atomic_load(&c->tail);
  if (there) {
    CDV_ASSERT(head < atomic_load(&c->tail));
    *out = c->ring[head % c->queue_size];
    atomic_store(&c->head, head + 1);
  }
  pthread_mutex_unlock(&c->taking);
  return there;
}

static void drop_all(struct cdv_consumer *c) {
  struct item item;
  while (pop(c, &item)) {
    cancel_once(c); /* while a task is held */
    item.task.extract_data(&item.task, NULL);
    free(item.metadata);
  }
}

/* ---- what the producer calls ---- */
static bool enter(struct cdv_consumer *c, const char *what) {
  if (!atomic_exchange(&c->in_callback, 1)) return true;
  broken(c, what);
  return false;
}
static void leave(struct cdv_consumer *c) { atomic_store(&c->in_callback, 0); }

/* *out: NULL where there is none. */
static int copy_metadata(const char *metadata, char **out) {
  int64_t size = cdv_metadata_size(metadata);
  *out = size ? malloc((size_t)size) : NULL;
  if (size && !*out) return cdv_fail_memory(size, "metadata");
  if (size) memcpy(*out, metadata, (size_t)size);
  return 0;
}

static int take_schema(struct cdv_consumer *c, struct ArrowSchema *schema) {
  int s = atomic_load(&c->state);
  if (s & CDV_HAS_SCHEMA) return broken(c, "on_schema was called twice");
  if (s & (CDV_ENDED | CDV_HANDLER_RELEASED)) return broken(c, "on_schema was called after the end");
  if ((s & CDV_CLOSED) || is_forked_copy(c)) return ECANCELED;
  struct ArrowAsyncProducer *p = c->handler.producer;
  if (!p || !p->request || !p->cancel) return broken(c, "on_schema was called before handler->producer was set");
  if (p->device_type <= 0) return broken(c, "its device type is not positive");
  if (!schema || !schema->release) return broken(c, "on_schema was given no schema");
  /* now, not before: one that gets no producer takes no memory for its tasks */
  size_t room = (size_t)c->queue_size * sizeof *c->ring;
  if (!c->ring) c->ring = malloc(room);
  int r = c->ring ? 0 : cdv_fail_memory((int64_t)room, "a consumer");
  if (!r) r = copy_metadata(p->additional_metadata, &c->metadata);
  if (!r) r = cdv_schema_import(schema, &c->schema);
  if (r) {
    free(c->metadata); /* a producer may call again, though it was refused */
    c->metadata = NULL;
    fault(c);
    return r;
  }
  c->device_type = p->device_type;
  c->ours = cdv_is_producer(p);
  /* closed meanwhile, by one who saw no schema and therefore cancelled nothing: either sees what the other has set */
  if (set_state(c, CDV_HAS_SCHEMA) & CDV_CLOSED) return ECANCELED;
  atomic_store(&c->requested, c->queue_size); /* once for all: some producers block on a series of requests here */
  call(c, c->queue_size);
  return 0;
}

static int on_schema(struct ArrowAsyncDeviceStreamHandler *self, struct ArrowSchema *schema) {
  struct cdv_consumer *c = (struct cdv_consumer *)self;
  if (!enter(c, "on_schema was called during another callback")) return EINVAL;
  int r = take_schema(c, schema);
  if (r && schema && schema->release) schema->release(schema);
  leave(c);
  return r;
}

static int take_task(struct cdv_consumer *c, struct ArrowAsyncTask *task, const char *metadata) {
  int s = atomic_load(&c->state);
  if (s & (CDV_ENDED | CDV_HANDLER_RELEASED)) return broken(c, "on_next_task was called after the end");
  if (!task) { /* an end without a schema is what a refused on_schema gets from libarrow */
    if (!(s & (CDV_HAS_SCHEMA | CDV_CLOSED | CDV_FAILED_PENDING))) broken(c, "the end came before a schema");
    producer_ends(c, CDV_ENDED);
    return 0;
  }
  if (!(s & CDV_HAS_SCHEMA)) return broken(c, "on_next_task was called before on_schema");
  if (!task->extract_data) return broken(c, "a task has no extract_data");
  if (s & (CDV_CLOSED | CDV_FAILED_PENDING)) {
    if (s & CDV_CLOSED) cancel_once(c);
    task->extract_data(task, NULL);
    return 0;
  }
  long long tail = atomic_load_explicit(&c->tail, memory_order_relaxed);
  if (tail >= atomic_load(&c->requested)) return broken(c, "it sent more than was requested");
  CDV_ASSERT(tail - atomic_load(&c->head) < c->queue_size);
  struct item *item = &c->ring[tail % c->queue_size];
  int r = copy_metadata(metadata, &item->metadata);
  if (r) {
    fault(c);
    return r;
  }
  item->task = *task;
  atomic_store(&c->tail, tail + 1);
  if (atomic_load(&c->state) & CDV_CLOSED)
    drop_all(c); /* closed meanwhile: the last one frees the rest */
  else if (!c->notify_suppressed)
    wake(c);
  return 0;
}

static int on_next_task(struct ArrowAsyncDeviceStreamHandler *self, struct ArrowAsyncTask *task, const char *metadata) {
  struct cdv_consumer *c = (struct cdv_consumer *)self;
  if (!enter(c, "on_next_task was called during another callback")) return EINVAL;
  int r = take_task(c, task, metadata);
  leave(c);
  return r;
}

static void on_error(struct ArrowAsyncDeviceStreamHandler *self, int code, const char *message, const char *metadata) {
  struct cdv_consumer *c = (struct cdv_consumer *)self;
  (void)metadata;
  if (!enter(c, "on_error was called during another callback")) return;
  int s = atomic_load(&c->state);
  if (s & CDV_ENDED) {
    if (!(s & CDV_CLOSED)) broken(c, "on_error was called after the end");
  } else if (!(s & CDV_CLOSED)) { /* after our own cancel an error is only its echo */
    struct cdv_shared *cause = atomic_load(&c->has_producer) ? cdv_error_take_cause() : NULL; /* set by cdevice's own */
    cdv_fail(code == ENOMEM ? CDV_MEMORY : CDV_STREAM, code ? code : EIO, "the producer reported: %s (errno %d: %s)",
             message ? message : "no reason", code, strerror(code));
    if (cause) cdv_error_set_cause(cause, 0); /* whose text this is; here another thread's */
    fault(c);
    cdv_shared_unref(cdv_error_take_cause());
  }
  producer_ends(c, CDV_ENDED);
  leave(c);
}

void cdv_consumer_weak_ref(struct cdv_consumer *c) { atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed); }

void cdv_consumer_weak_unref(struct cdv_consumer *c) {
  if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  if (is_forked_copy(c)) return;
  if (c->schema) cdv_schema_unref(c->schema);
  for (struct waiter *b = c->waiters, *next; b; b = next) {
    next = b->next;
    cdv_doorbell_free(b->descriptor);
    free(b);
  }
  pthread_mutex_destroy(&c->taking);
  pthread_mutex_destroy(&c->lock);
  pthread_cond_destroy(&c->changed);
  cdv_error_clear(&c->error);
  free(c->metadata);
  free(c->ring);
  free(c);
  atomic_fetch_sub(&cdv_async_objects, 1);
}

static void release(struct ArrowAsyncDeviceStreamHandler *self) {
  struct cdv_consumer *c = (struct cdv_consumer *)self;
  int s = atomic_load(&c->state);
  if (s & CDV_HANDLER_RELEASED) return; /* twice */
  if (!(s & (CDV_ENDED | CDV_CLOSED | CDV_FAILED_PENDING))) broken(c, "release was called before the end");
  producer_ends(c, CDV_HANDLER_RELEASED | CDV_ENDED);
  cdv_consumer_weak_unref(c);
}

/* ---- what its owner calls ---- */
int cdv_consumer_new(int64_t queue_size, int level, struct cdv_consumer **out) {
  if (queue_size < 1 || queue_size > 1 << 20)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "queue_size is 1 to 1048576, not %lld", (long long)queue_size);
  struct cdv_consumer *c = calloc(1, sizeof *c);
  if (!c) return cdv_fail_memory(sizeof *c, "a consumer");
  c->handler.on_schema = on_schema;
  c->handler.on_next_task = on_next_task;
  c->handler.on_error = on_error;
  c->handler.release = release;
  atomic_init(&c->refs, 1);
  atomic_init(&c->cancel_due, 1);
  c->level = level;
  c->queue_size = queue_size;
  pthread_mutex_init(&c->taking, NULL);
  pthread_mutex_init(&c->lock, NULL);
  cdv_cond_init(&c->changed);
  atomic_fetch_add(&cdv_async_objects, 1);
  *out = c;
  return 0;
}

struct ArrowAsyncDeviceStreamHandler *cdv_consumer_borrow_handler(struct cdv_consumer *c) { return &c->handler; }

struct ArrowAsyncDeviceStreamHandler *cdv_consumer_handler(struct cdv_consumer *c) {
  if (!atomic_load(&c->exported)) {
    c->fork_generation = cdv_fork_generation(); /* it has not been shared before, in this process or its parent */
    if (!atomic_exchange(&c->exported, 1)) atomic_fetch_add(&c->refs, 1);
  }
  return &c->handler;
}

int cdv_handler_claim(struct ArrowAsyncDeviceStreamHandler *handler, int take) {
  if (handler->release != release) return ENOENT;
  struct cdv_consumer *c = (struct cdv_consumer *)handler;
  if (!atomic_exchange(&c->has_producer, take) || !take) return 0;
  return cdv_fail(CDV_ARGUMENT, EBUSY, "this consumer already has a producer: create another consumer");
}

void cdv_handler_suppress_notify(struct ArrowAsyncDeviceStreamHandler *handler, bool on, bool quick) {
  if (handler->release == release) {
    struct cdv_consumer *c = (struct cdv_consumer *)handler;
    c->notify_suppressed = on;
    atomic_store_explicit(&c->producer_has_more, quick, memory_order_relaxed);
  }
}

int cdv_consumer_state(struct cdv_consumer *c) { return atomic_load(&c->state); }
int32_t cdv_consumer_device_type(struct cdv_consumer *c) {
  return atomic_load(&c->state) & CDV_HAS_SCHEMA ? c->device_type : 0;
}
struct cdv_schema *cdv_consumer_schema(struct cdv_consumer *c) {
  return atomic_load(&c->state) & CDV_HAS_SCHEMA ? c->schema : NULL;
}
const char *cdv_consumer_metadata(struct cdv_consumer *c) {
  return atomic_load(&c->state) & CDV_HAS_SCHEMA ? c->metadata : NULL;
}
bool cdv_consumer_has_more(struct cdv_consumer *c) {
  return (atomic_load(&c->state) & (CDV_HAS_SCHEMA | CDV_ENDED | CDV_CLOSED | CDV_FAILED_PENDING)) == CDV_HAS_SCHEMA &&
         atomic_load(&c->producer_has_more);
}
int64_t cdv_consumer_waiting(struct cdv_consumer *c) { return atomic_load(&c->tail) - atomic_load(&c->head); }

int cdv_consumer_wait(struct cdv_consumer *c, int schema, int64_t nanoseconds) {
  for (int spins = 0; spins < CDV_SPINS; spins++) {
    if (is_ready(c, schema, 0)) return 1;
    if (!nanoseconds) return 0;
    if (spins > CDV_SPINS / 4)
      sched_yield();
    else
      cdv_cpu_relax();
  }
  if (is_forked_copy(c)) return 1; /* who looks gets the error */
  struct timespec end = cdv_deadline(nanoseconds);
  int r = 0;
  pthread_mutex_lock(&c->lock);
  atomic_fetch_add(&c->sleepers, 1);
  atomic_thread_fence(memory_order_seq_cst);
  while (!is_ready(c, schema, 0) && r != ETIMEDOUT) r = cdv_cond_until(&c->changed, &c->lock, &end);
  atomic_fetch_sub(&c->sleepers, 1);
  pthread_mutex_unlock(&c->lock);
  return is_ready(c, schema, 0);
}

int cdv_consumer_new_waiter(struct cdv_consumer *c) {
  if (is_forked_copy(c)) return -ECANCELED;
  struct waiter *b = malloc(sizeof *b);
  if (!b) return -ENOMEM;
  int descriptor = cdv_doorbell_new();
  if (descriptor < 0) {
    free(b);
    return descriptor;
  }
  pthread_mutex_lock(&c->lock);
  *b = (struct waiter){c->waiters, descriptor, 0};
  c->waiters = b;
  pthread_mutex_unlock(&c->lock);
  return descriptor;
}

static void arm_waiter(struct cdv_consumer *c, int descriptor, int armed) {
  pthread_mutex_lock(&c->lock);
  for (struct waiter *b = c->waiters; b; b = b->next)
    if (b->descriptor == descriptor) b->armed = armed;
  if (armed) atomic_store(&c->armed, 1);
  pthread_mutex_unlock(&c->lock);
}

int cdv_consumer_armed(struct cdv_consumer *c) {
  int n = 0;
  pthread_mutex_lock(&c->lock);
  for (struct waiter *b = c->waiters; b; b = b->next) n += b->armed;
  pthread_mutex_unlock(&c->lock);
  return n;
}

int cdv_consumer_arm(struct cdv_consumer *c, int descriptor, int schema, int released) {
  if (is_forked_copy(c)) return -1;
  if (is_ready(c, schema, released)) return 0;
  cdv_doorbell_clear(descriptor);
  arm_waiter(c, descriptor, 1);
  atomic_thread_fence(memory_order_seq_cst);
  if (!is_ready(c, schema, released)) return 1;
  arm_waiter(c, descriptor, 0);
  return 0;
}

/* EAGAIN means that nothing arrived; EAGAIN from a producer is still an error. */
static int as_error(int code) { return code && code != EAGAIN ? code : EIO; }

static int made_before_a_fork(void) { return cdv_fail(CDV_STREAM, EINVAL, "the consumer was made before a fork"); }

int cdv_consumer_error(struct cdv_consumer *c) {
  if (is_forked_copy(c)) return made_before_a_fork();
  if (!(atomic_load(&c->state) & CDV_FAILED_PENDING)) return 0;
  pthread_mutex_lock(&c->lock);
  cdv_error_restore(&c->error);
  cdv_error_clear(&c->error); /* its cause is returned once: it may own the object that owns this consumer */
  pthread_mutex_unlock(&c->lock);
  return as_error(cdv_error_last()->code);
}

/* Refills the credit before the task that is held goes: then the producer is alive. Never beyond the room, also
 * where another thread takes at the same time. */
static void refill(struct cdv_consumer *c) {
  long long requested = atomic_load(&c->requested), n;
  do {
    n = c->queue_size - (requested - atomic_load(&c->head));
    if (n < (c->queue_size + 1) / 2) return; /* few calls of many: each may wake a thread */
  } while (!atomic_compare_exchange_weak(&c->requested, &requested, requested + n));
  call(c, n);
}

static int extract(struct cdv_consumer *c, struct item *item, struct cdv_array **out) {
  struct ArrowDeviceArray d;
  memset(&d, 0, sizeof d);
  int code = item->task.extract_data(&item->task, &d);
  if (code) { /* its reason comes by on_error, on another thread perhaps: that long is waited */
    for (int i = 0; i < 100 && !(atomic_load(&c->state) & (CDV_FAILED_PENDING | CDV_ENDED)); i++) {
      struct timespec pause = {0, 1000000};
      nanosleep(&pause, NULL);
    }
    int r = cdv_consumer_error(c);
    if (r) return r;
    return cdv_fail(CDV_STREAM, code, "extract_data failed (errno %d: %s)", code, strerror(code));
  }
  if (!d.array.release) return cdv_fail(CDV_STREAM, EPROTO, "extract_data reported success but returned no array");
  return cdv_stream_accept(&d, c->schema, c->level, c->device_type, 0, out);
}

/* This thread's last error ends the stream: it is reported now, and afterwards the end. */
static int close_with_error(struct cdv_consumer *c, int r) {
  struct cdv_saved_error kept;
  cdv_error_save(&kept);
  cdv_consumer_close(c);
  cdv_error_restore(&kept);
  cdv_error_clear(&kept);
  return as_error(r);
}

int cdv_consumer_take(struct cdv_consumer *c, int64_t nanoseconds, struct cdv_array **out, char **metadata) {
  struct item item;
  *out = NULL;
  if (metadata) *metadata = NULL;
  if (is_forked_copy(c)) return made_before_a_fork();
  for (;;) {
    int s = atomic_load(&c->state); /* before the look into the queue: what came before the end is seen */
    if ((s & CDV_CLOSED) && c->error_delivered) return 0;
    if (s & CDV_CLOSED) return cdv_fail(CDV_RELEASED, EINVAL, "the consumer is closed");
    if (pop(c, &item)) break;
    if (atomic_load(&c->state) & CDV_CLOSED) continue; /* meanwhile: what was dropped then is missing, that is no end */
    if ((s & CDV_FAILED_PENDING) && !atomic_exchange(&c->error_delivered, 1))
      return close_with_error(c, cdv_consumer_error(c));
    if (s & (CDV_ENDED | CDV_HANDLER_RELEASED | CDV_FAILED_PENDING)) return 0;
    if (!nanoseconds || !cdv_consumer_wait(c, 0, nanoseconds)) return EAGAIN;
  }
  refill(c);
  int r = extract(c, &item, out);
  if (r) {
    free(item.metadata);
    fault(c);
    atomic_store(&c->error_delivered, 1);
    return close_with_error(c, r);
  }
  if (metadata)
    *metadata = item.metadata;
  else
    free(item.metadata);
  return 0;
}

void cdv_consumer_close(struct cdv_consumer *c) {
  if (is_forked_copy(c)) {
    atomic_fetch_or(&c->state, CDV_CLOSED);
    return;
  }
  int s = atomic_load(&c->state);
  if ((s & (CDV_ENDED | CDV_FAILED_PENDING)) == CDV_ENDED && !cdv_consumer_waiting(c))
    return; /* all was taken: it stays at its end */
  if (atomic_fetch_or(&c->state, CDV_CLOSED) & CDV_CLOSED) return;
  forget_cause(c);
  drop_all(c);
  /* a producer of cdevice is alive as long as it has not released us, and its cancel may come at any time; before
   * the schema is there on_schema refuses it */
  if ((atomic_load(&c->state) & CDV_HAS_SCHEMA) && c->ours) cancel_once(c);
  wake(c);
}

void cdv_consumer_unref(struct cdv_consumer *c) {
  cdv_consumer_close(c);
  cdv_consumer_weak_unref(c);
}

/* ---- as a stream ---- */
struct bridge {
  struct cdv_stream s;
  struct cdv_consumer *consumer;
};

static int bridge_next(struct cdv_stream *s, struct cdv_array **out) {
  for (;;) {
    int r = cdv_consumer_take(((struct bridge *)s)->consumer, CDV_SIGNAL_POLL_NS, out, &s->metadata);
    if (r != EAGAIN || (r = cdv_check_signals())) return r;
  }
}
static void bridge_interrupt(struct cdv_stream *s) { cdv_consumer_close(((struct bridge *)s)->consumer); }
static void bridge_close(struct cdv_stream *s) {
  cdv_consumer_unref(((struct bridge *)s)->consumer);
  free(s);
}

int cdv_consumer_stream(struct cdv_consumer *c, struct cdv_stream **out) {
  while (!cdv_consumer_wait(c, 1, CDV_SIGNAL_POLL_NS)) {
    int r = cdv_check_signals();
    if (r) return r;
  }
  if (is_forked_copy(c)) return made_before_a_fork();
  if (!(atomic_load(&c->state) & CDV_HAS_SCHEMA)) {
    int r = cdv_consumer_error(c);
    return r ? r : cdv_fail(CDV_STREAM, EPIPE, "the asynchronous stream ended without a schema");
  }
  struct bridge *b = malloc(sizeof *b);
  if (!b) return cdv_fail_memory(sizeof *b, "a stream");
  cdv_stream_init(&b->s, c->schema, c->device_type, bridge_next, bridge_close);
  b->s.interrupt = bridge_interrupt;
  b->consumer = c;
  *out = &b->s;
  return 0;
}

/* ---- for tests and benchmarks ---- */
int64_t cdv_consumer_drain(struct cdv_consumer *c) {
  struct cdv_array *a;
  for (int64_t n = 0;; n++) {
    if (cdv_consumer_take(c, -1, &a, NULL)) return -1;
    if (!a) return n;
    cdv_array_unref(a);
  }
}
