/* prefetch.c - a stream copied to a device ahead of its consumer, by a thread where the source does not enter
 * Python. */
#include "core/stream/prefetch.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/wait.h"
#include "core/copy/copy.h"
#include "core/stream/stream.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct entry { /* one array and its metadata */
  struct cdv_array *array;
  char *metadata;
};

struct prefetcher {
  struct cdv_stream s;
  struct cdv_stream *from;
  int64_t device_id, room, head;
  atomic_llong count; /* written with the lock */
  void *stream;
  struct cdv_shared *queue;
  bool threaded;
  atomic_bool over; /* the source has ended or failed */
  int failed;       /* its code, with `error` */
  struct cdv_saved_error error;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  int fork_generation;
  bool in_source, stop, interrupted; /* inside: the thread is in the source or in a copy */
  bool consumer_waiting, queue_full; /* the consumer sleeps; the thread does */
  bool notify_deferred;              /* something lies there that it was not woken for, */
  struct timespec since;             /* begun then */
  struct entry ring[];
};

/* One array of the source, copied; NULL: the end. */
static int fetch_next(struct prefetcher *c, struct entry *out) {
  struct cdv_array *a;
  int r = cdv_stream_next(c->from, &a);
  *out = (struct entry){NULL, NULL};
  if (r || !a) return r;
  r = cdv_array_copy(a, c->s.device_type, c->device_id, c->stream, false, &out->array);
  if (!r && out->array->root != a->root) cdv_array_set_stream_owner(out->array, c->queue);
  if (!r) {
    out->metadata = c->from->metadata;
    c->from->metadata = NULL;
  }
  cdv_array_unref(a);
  return r;
}

static void put(struct prefetcher *c, struct entry one, int r) {
  if (r) {
    c->failed = r;
    cdv_error_save(&c->error);
    cdv_shared_unref(cdv_error_take_cause()); /* now it is the stream's */
  }
  if (one.array)
    c->ring[(c->head + c->count++) % c->room] = one;
  else
    c->over = true;
}

static void free_prefetcher(struct prefetcher *c) {
  for (int64_t n = c->count; n; n--, c->head++) {
    struct entry *one = &c->ring[c->head % c->room];
    cdv_array_unref(one->array);
    free(one->metadata);
  }
  cdv_error_clear(&c->error);
  cdv_stream_close(c->from);
  cdv_shared_unref(c->queue);
  pthread_mutex_destroy(&c->lock);
  pthread_cond_destroy(&c->changed);
  free(c);
}

/* ---- waking: each side once for many batches, as long as that costs no time worth a wake-up.  lock is held. ---- */
#define GROUP 32
#define PATIENCE 20000 /* ns: a wake-up */

static void wake_consumer(struct prefetcher *c) {
  if (!c->consumer_waiting) return;
  if (!c->over && !c->failed && c->from->nonblocking && c->count < GROUP && c->count <= c->room / 2) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    c->notify_deferred = (now.tv_sec - c->since.tv_sec) * 1000000000 + now.tv_nsec - c->since.tv_nsec < PATIENCE;
    if (c->notify_deferred) return;
  }
  c->notify_deferred = false;
  pthread_cond_broadcast(&c->changed);
}

static void wake_thread(struct prefetcher *c) {
  if (c->queue_full && c->count <= c->room / 2) pthread_cond_broadcast(&c->changed);
}

/* A look at what the other side changes, for about as long as a wake-up takes: where the source has its batches at hand
 * the other side needs less than that.  lock is held, and let go meanwhile. */
static void spin_briefly(struct prefetcher *c, int64_t count) {
  if (!c->from->nonblocking || atomic_load(&c->count) != count) return;
  pthread_mutex_unlock(&c->lock);
  for (int i = 0; i < 40 && atomic_load(&c->count) == count && !atomic_load(&c->over); i++)
    if (i > 20) sched_yield();
  pthread_mutex_lock(&c->lock);
}

static void *copy_ahead(void *arg) {
  struct prefetcher *c = arg;
  pthread_mutex_lock(&c->lock);
  while (!c->stop && !c->over) {
    if (c->count == c->room) {
      spin_briefly(c, c->room);
      if (c->stop || c->count < c->room) continue;
      c->queue_full = true;
      cdv_cond_wait(&c->changed, &c->lock);
      c->queue_full = false;
      continue;
    }
    c->in_source = true;
    if (!c->notify_deferred) clock_gettime(CLOCK_MONOTONIC, &c->since);
    pthread_mutex_unlock(&c->lock);
    struct entry one;
    int r = fetch_next(c, &one);
    pthread_mutex_lock(&c->lock);
    c->in_source = false;
    put(c, one, r);
    wake_consumer(c);
    if (c->stop && c->threaded == false) { /* no one joins this thread any more */
      pthread_mutex_unlock(&c->lock);
      free_prefetcher(c);
      return NULL;
    }
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* Until the thread has something; lock is held. */
static int wait_for_thread(struct prefetcher *c) {
  if (!c->over && !c->interrupted) spin_briefly(c, 0);
  while (!c->count && !c->over && !c->interrupted) {
    struct timespec end = cdv_deadline(CDV_SIGNAL_POLL_NS);
    c->consumer_waiting = true;
    int waited = cdv_cond_until(&c->changed, &c->lock, &end);
    c->consumer_waiting = false;
    if (waited != ETIMEDOUT) continue;
    pthread_mutex_unlock(&c->lock);
    int r = cdv_check_signals();
    pthread_mutex_lock(&c->lock);
    if (r) return r;
  }
  return 0;
}

static int fill_here(struct prefetcher *c) {
  while (c->count < c->room && !c->over) {
    struct entry one;
    int r = fetch_next(c, &one);
    if (r && cdv_error_last()->retryable) return r;
    put(c, one, r);
  }
  return 0;
}

/* The oldest array; behind them all what ended it, and before them what must not wait. */
static int take(struct prefetcher *c, struct cdv_array **out) {
  if (c->interrupted) return cdv_fail(CDV_STREAM, ECANCELED, "the stream was cancelled");
  if (c->count && !(c->failed && c->error.error.is_interrupt)) {
    struct entry *one = &c->ring[c->head];
    *out = one->array;
    c->s.metadata = one->metadata;
    c->head = (c->head + 1) % c->room;
    c->count--;
    return 0;
  }
  if (!c->failed) return 0;
  cdv_error_restore(&c->error);
  cdv_error_clear(&c->error); /* reported once: cdv_stream_next remembers the text */
  return c->failed;
}

static int copied_next(struct cdv_stream *s, struct cdv_array **out) {
  struct prefetcher *c = (struct prefetcher *)s;
  if (!c->threaded) {
    int r = fill_here(c);
    return r ? r : take(c, out);
  }
  if (c->fork_generation != cdv_fork_generation())
    return cdv_fail(CDV_STREAM, EINVAL, "the stream was made before a fork");
  pthread_mutex_lock(&c->lock);
  int r = wait_for_thread(c);
  if (!r) r = take(c, out);
  wake_thread(c);
  pthread_mutex_unlock(&c->lock);
  return r;
}

static void copied_interrupt(struct cdv_stream *s) {
  struct prefetcher *c = (struct prefetcher *)s;
  if (c->threaded) {
    if (c->fork_generation != cdv_fork_generation()) return;
    pthread_mutex_lock(&c->lock);
    c->interrupted = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
  }
  cdv_stream_interrupt(c->from);
}

static void copied_close(struct cdv_stream *s) {
  struct prefetcher *c = (struct prefetcher *)s;
  if (c->threaded) {
    if (c->fork_generation != cdv_fork_generation())
      return; /* lock and source may be in use by the thread, which is in the parent */
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_t thread = c->thread;
    if (c->in_source) {
      pthread_mutex_unlock(&c->lock); /* it stays until it is woken or joined */
      cdv_stream_interrupt(c->from);
      pthread_mutex_lock(&c->lock);
    }
    if (c->in_source) { /* perhaps for long: it cleans up itself */
      c->threaded = false;
      pthread_detach(thread);
      pthread_mutex_unlock(&c->lock);
      return;
    }
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(thread, NULL);
  }
  free_prefetcher(c);
}

static struct cdv_stream *copied_below(struct cdv_stream *s) { return ((struct prefetcher *)s)->from; }

int cdv_stream_copy(struct cdv_stream *s, int32_t device_type, int64_t device_id, void *stream,
                    struct cdv_shared *queue, int64_t ahead, bool any_thread, struct cdv_stream **out) {
  if (ahead < 0 || ahead > 1 << 20)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "prefetch is 0 to 1048576 batches, not %lld", (long long)ahead);
  size_t room = (size_t)ahead + 1, size = sizeof(struct prefetcher) + room * sizeof(struct entry);
  struct prefetcher *c = calloc(1, size);
  if (!c) return cdv_fail_memory((int64_t)size, "a stream");
  cdv_stream_init(&c->s, s->schema, device_type, copied_next, copied_close);
  c->s.upstream = copied_below;
  c->from = s;
  c->device_id = device_id;
  c->stream = stream;
  c->queue = cdv_shared_ref(queue);
  c->room = (int64_t)room;
  c->threaded = ahead > 0 && (any_thread || !s->enters_python);
  c->s.enters_python = s->enters_python && !c->threaded;
  s->keeps_exception |= c->threaded && any_thread;
  c->s.interrupt = s->interrupt || c->threaded ? copied_interrupt : NULL;
  c->fork_generation = cdv_fork_generation();
  pthread_mutex_init(&c->lock, NULL);
  cdv_cond_init(&c->changed);
  int r = c->threaded ? pthread_create(&c->thread, NULL, copy_ahead, c) : 0;
  if (r) c->threaded = false, c->s.enters_python = s->enters_python; /* without the thread it is only slower */
  *out = &c->s;
  return 0;
}
