/* move.c - copies in host memory, large ones by several threads: one alone moves far less than a device's link takes.
 *
 * Threads are started by the first large copy and sleep between copies.  One copy at a time has them, others are done by
 * their callers alone.  A helper that comes late finds the work closed and touches nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SLICE ((int64_t)256 << 10)
#define WORTH_HELP (4 * SLICE)
#define MOST 8
#define PAST_CACHES ((int64_t)8 << 20) /* what is larger is in no cache when it is read */

static struct {
  const struct cdv_move *moves;
  size_t n;
  int64_t total;
  _Atomic int64_t next; /* where the next slice begins */
} job;
static atomic_int open_, inside; /* may helpers begin, and how many have */
static int threads, helpers;     /* wanted with the caller's, 0: not known; started.  Under `busy`. */
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
  pthread_atfork(NULL, NULL, in_child);
}

#if defined(__SSE2__)
/* As memcpy, past the caches: what is too large for them is written without reading what was there.  memcpy does so too,
 * but not for pieces. */
static void copy_past_caches(char *to, const char *from, size_t n) {
  size_t head = -(uintptr_t)to & 63;
  if (n < 1024) {
    memcpy(to, from, n);
    return;
  }
  memcpy(to, from, head);
  for (to += head, from += head, n -= head; n >= 64; to += 64, from += 64, n -= 64)
    for (int i = 0; i < 4; i++) _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
  memcpy(to, from, n);
}
static void copies_are_seen(void) { _mm_sfence(); }
#else
#define copy_past_caches memcpy
static void copies_are_seen(void) {}
#endif

/* The bytes [from, to) of all moves in a row. */
static void move_range(const struct cdv_move *moves, size_t n, int64_t from, int64_t to) {
  size_t low = 0, high = n;
  while (high - low > 1) { /* the last one that begins at or before `from` */
    size_t middle = (low + high) / 2;
    if (moves[middle].at <= from)
      low = middle;
    else
      high = middle;
  }
  for (; low < n && moves[low].at < to; low++) {
    const struct cdv_move *m = &moves[low];
    int64_t begin = from > m->at ? from - m->at : 0, end = m->nbytes < to - m->at ? m->nbytes : to - m->at;
    if (end <= begin) continue;
    if (job.total < PAST_CACHES)
      memcpy(m->dst + begin, m->src + begin, (size_t)(end - begin));
    else
      copy_past_caches(m->dst + begin, m->src + begin, (size_t)(end - begin));
  }
}

static void take_slices(void) {
  for (int64_t at; (at = atomic_fetch_add(&job.next, SLICE)) < job.total;)
    move_range(job.moves, job.n, at, at + SLICE < job.total ? at + SLICE : job.total);
  copies_are_seen();
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

static int processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void set_threads(int n) {
  threads = n < 1 ? 1 : n > MOST ? MOST : n;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (pthread_t t; helpers + 1 < threads && !pthread_create(&t, &attributes, help, NULL);) helpers++;
  pthread_attr_destroy(&attributes);
  if (threads > helpers + 1) threads = helpers + 1;
}

/* One in four processors, four at most: then a socket's memory is busy, and the others have work of their own. */
static int usual_threads(void) {
  const char *value = getenv("CDEVICE_COPY_THREADS");
  if (value && *value) return atoi(value);
  int n = processors() / 4;
  return n > 4 ? 4 : n;
}

static void need_threads(void) {
  if (!threads || helpers + 1 < threads) set_threads(threads ? threads : usual_threads());
}

int cdv_copy_threads(int n) {
  pthread_mutex_lock(&busy);
  need_threads();
  int old = threads;
  if (n > 0) set_threads(n);
  pthread_mutex_unlock(&busy);
  return old;
}

void cdv_move(struct cdv_move *moves, size_t n) {
  int64_t total = 0;
  for (size_t i = 0; i < n; i++) {
    moves[i].at = total;
    total += moves[i].nbytes;
  }
  if (total < WORTH_HELP || pthread_mutex_trylock(&busy)) {
    for (size_t i = 0; i < n; i++) memcpy(moves[i].dst, moves[i].src, (size_t)moves[i].nbytes);
    return;
  }
  need_threads();
  job.moves = moves;
  job.n = n;
  job.total = total;
  atomic_store(&job.next, 0);
  atomic_store(&open_, 1);
  for (int i = 1; i < threads; i++) sem_post(&wake);
  take_slices();
  atomic_store(&open_, 0);
  while (atomic_load(&inside)) sched_yield(); /* the last slices: microseconds */
  pthread_mutex_unlock(&busy);
}
