/* thread_pool.c - threads that share one caller's work: large copies in host memory, kernels on the CPU.
 *
 * They are started by the first work that is worth it and sleep between.  One work at a time has them, others are
 * done by their callers alone.  A helper that comes late finds the work closed and touches nothing. */
#include "core/base/thread_pool.h"
#include "cdevice/backend.h"
#include "core/base/system.h"
#include "core/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MOST 16

static struct {
  cdevice_range_fn part;
  void *arg;
  int64_t total, slice;
  _Atomic int64_t next; /* where the next slice begins */
} job;
static atomic_int open_, inside;          /* may helpers begin, and how many have */
static int helpers;                       /* started; under `busy` */
static atomic_int wanted[CDV_POOL_KINDS]; /* threads with the caller's; 0: not known */
static sem_t wake;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void) { /* the threads did not come along */
  helpers = 0;
  atomic_store(&open_, 0);
  atomic_store(&inside, 0);
  sem_init(&wake, 0, 0);
  pthread_mutex_init(&busy, NULL);
}
__attribute__((constructor)) static void init(void) {
  sem_init(&wake, 0, 0);
  cdv_at_fork(NULL, NULL, in_child);
}

static void take_slices(void) {
  for (int64_t at; (at = atomic_fetch_add(&job.next, job.slice)) < job.total;)
    job.part(job.arg, at, job.slice < job.total - at ? at + job.slice : job.total);
}

static void *help(void *unused) {
  for (;;) {
    while (sem_wait(&wake)) {}
    atomic_fetch_add(&inside, 1); /* before open_ is read: the caller closes first and counts then */
    if (atomic_load(&open_)) take_slices();
    atomic_fetch_sub(&inside, 1);
  }
  return unused;
}

/* Of copies one in four processors, four at most: then a socket's memory is busy, and the others have work of their
 * own. */
static int usual_threads(int crew) {
  const char *value = getenv(crew == CDV_POOL_COPIES ? "CDEVICE_COPY_THREADS" : "CDEVICE_COMPUTE_THREADS");
  if (value && *value) return atoi(value);
  int n = cdv_processors();
  return crew != CDV_POOL_COPIES ? n : n / 4 > 4 ? 4 : n / 4;
}

int cdv_threads(int crew, int n) {
  int old = atomic_load_explicit(&wanted[crew], memory_order_relaxed);
  if (!old) old = usual_threads(crew);
  old = old < 1 ? 1 : old > MOST ? MOST : old;
  atomic_store_explicit(&wanted[crew], n < 1 ? old : n > MOST ? MOST : n, memory_order_relaxed);
  return old;
}

/* How many helpers there are, n at most. */
static int need_helpers(int n) {
  if (helpers >= n) return n;
  while (helpers < n && !cdv_start_thread(help, NULL)) helpers++;
  return helpers;
}

void cdv_parallel_for(int crew, cdevice_range_fn part, void *arg, int64_t total, int64_t slice) {
  int64_t slices = slice > 0 ? total / slice + (total % slice != 0) : 1;
  int n = slices < 2 ? 1 : cdv_threads(crew, 0);
  if (n > slices) n = (int)slices;
  if (n < 2 || pthread_mutex_trylock(&busy)) {
    if (total > 0) part(arg, 0, total);
    return;
  }
  n = need_helpers(n - 1);
  job.part = part;
  job.arg = arg;
  job.total = total;
  job.slice = slice;
  atomic_store(&job.next, 0);
  atomic_store(&open_, 1);
  for (int i = 0; i < n; i++) sem_post(&wake);
  take_slices();
  atomic_store(&open_, 0);
  while (atomic_load(&inside)) sched_yield(); /* the last slices */
  pthread_mutex_unlock(&busy);
}
