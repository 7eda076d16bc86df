/* reclaim.c - memory that a device may still read.
 *
 * One thread gives it back once the device has passed the event: notified by the backend where it can, else by
 * asking otherwise.  Neither the caller nor a vendor's callback thread waits or calls the vendor.  Only a passed
 * event and a dead one let memory go; where the question itself fails, it is asked again after a pause that grows. */
#include "core/event/reclaim.h"
#include "cdevice/backend.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/system.h"
#include "core/base/thread.h"
#include "core/event/event.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Atomic(struct cdv_retired *) passed, asked; /* stacks: to give back; to ask about */
static atomic_llong n_kept;
static atomic_int running;
static atomic_llong queries; /* begun and ended; odd: one is under way */
static atomic_int polling;   /* the thread looks again by itself soon */
static _Thread_local bool is_reclaimer;
static sem_t wake;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

#define PAUSE 1000000        /* nanoseconds between two rounds */
#define LONGEST (64 * PAUSE) /* while nothing can be asked */

/* glibc has it from 2.30 on, and only it does not stand still when the clock is set back. */
static int (*wait_by)(sem_t *, clockid_t, const struct timespec *);

static void in_child(void) { /* the thread did not come along, and what it kept is the parent's */
  atomic_store(&passed, NULL);
  atomic_store(&asked, NULL);
  atomic_store(&n_kept, 0);
  atomic_store(&running, 0);
  atomic_store(&polling, 0);
  atomic_store(&queries, 0);
  sem_init(&wake, 0, 0);
  pthread_mutex_init(&starting, NULL);
}
__attribute__((constructor)) static void init(void) {
  sem_init(&wake, 0, 0);
  *(void **)&wait_by = cdv_process_symbol("sem_clockwait");
  cdv_at_fork(NULL, NULL, in_child);
}

int64_t cdv_retired_count(void) { return atomic_load(&n_kept); }

static void push(_Atomic(struct cdv_retired *) *stack, struct cdv_retired *k) {
  struct cdv_retired *h = atomic_load(stack);
  do k->next = h;
  while (!atomic_compare_exchange_weak(stack, &h, k));
  /* Waking costs the caller microseconds.  The thread stores `polling`, then looks at `asked`; here it is the other way round,
   * all sequentially consistent: where no post is made, the thread sees what was pushed. */
  if (stack == &passed || !atomic_load(&polling)) sem_post(&wake);
}

static void give_back(struct cdv_retired *k) {
  cdv_event_unref(k->event);
  k->run(k);
  atomic_fetch_sub(&n_kept, 1);
}

/* True while a capture guard forbids event queries. */
static bool is_held(const struct cdv_event *e) {
  const cdevice_memory *m = cdv_memory_of(e->backend);
  return CDV_HAS(m, capture_active) && m->capture_active(e->backend->table.self, e->device);
}

/* One round over what must be asked; gives back what has passed, returns the rest. *answered: some of it could be
 * asked. */
static struct cdv_retired *ask(struct cdv_retired *list, bool *answered) {
  struct cdv_retired *rest = NULL;
  *answered = false;
  for (struct cdv_retired *k = list, *next; k; k = next) {
    next = k->next;
    const struct cdv_event *e = k->event;
    int done = 0, r = EAGAIN;
    atomic_fetch_add(&queries, 1); /* before the look at the guards: see cdv_wait_for_query */
    if (!is_held(e)) r = cdv_event_completed(e, &done);
    atomic_fetch_add(&queries, 1);
    if (!r || cdv_is_dead(r)) *answered = true;
    if ((!r && done) || cdv_is_dead(r)) {
      give_back(k);
    } else {
      k->next = rest;
      rest = k;
    }
  }
  return rest;
}

#ifdef __clang__
__attribute__((no_sanitize("cfi-icall"))) /* wait_by is the C library's, whose functions a check of calls does not know */
#endif
static void
wait_for(int64_t nanoseconds) {
  clockid_t clock = wait_by ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += (long)nanoseconds;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  if (wait_by)
    wait_by(&wake, clock, &t);
  else
    sem_timedwait(&wake, &t);
}

static void *work(void *unused) {
  (void)unused;
  is_reclaimer = true;
  struct cdv_retired *waiting = NULL;
  int64_t pause = PAUSE;
  for (;;) {
    bool answered;
    atomic_store(&polling, waiting && pause == PAUSE);
    if (waiting)
      wait_for(pause);
    else if (!atomic_load(&asked))
      sem_wait(&wake);
    for (struct cdv_retired *k = atomic_exchange(&passed, NULL), *next; k; k = next) {
      next = k->next;
      give_back(k);
    }
    for (struct cdv_retired *k = atomic_exchange(&asked, NULL), *next; k; k = next) {
      next = k->next;
      k->next = waiting;
      waiting = k;
    }
    waiting = ask(waiting, &answered);
    pause = answered || !waiting ? PAUSE : pause < LONGEST ? 2 * pause : pause;
  }
  return NULL;
}

void cdv_wait_for_query(void) {
  long long seen = atomic_load(&queries);
  if (is_reclaimer) return; /* a backend in Python, asked in that very query */
  while (seen & 1 && atomic_load(&queries) == seen) sched_yield();
}

static int need_thread(void) {
  if (atomic_load_explicit(&running, memory_order_acquire)) return 0;
  int r = 0;
  pthread_mutex_lock(&starting);
  if (!atomic_load(&running)) {
    r = cdv_start_thread(work, NULL);
    if (!r) atomic_store_explicit(&running, 1, memory_order_release);
  }
  pthread_mutex_unlock(&starting);
  return r ? cdv_fail_thread(r, "memory that a device may still use") : 0;
}

static void on_passed(void *k) { push(&passed, k); } /* a vendor's thread: no call into the vendor from here */

int cdv_on_event_complete(struct cdv_event *event, struct cdv_retired *k, void (*run)(struct cdv_retired *)) {
  int r = need_thread();
  if (r) return r;
  const cdevice_backend *b = &event->backend->table;
  cdevice_error err = {.struct_size = sizeof err};
  *k = (struct cdv_retired){NULL, event, run};
  atomic_fetch_add(&event->refs, 1);
  atomic_fetch_add(&n_kept, 1);
  r = is_held(event) ? ENOTSUP : b->event_notify(b->self, event->device, event->event.sync_event, on_passed, k, &err);
  if (!r) return 0;
  if (!cdv_is_dead(r)) { /* no notification: poll */
    push(&asked, k);
    return 0;
  }
  atomic_fetch_sub(&n_kept, 1);
  r = cdv_fail_backend(r, &err, b->device_type, event->device, "watching an event");
  cdv_event_unref(event);
  return r;
}
