/* wait.c - threads that sleep until something changes. */
#include "core/base/wait.h"

/* Conditions of winpthreads, before its version 12, know the clock that people set. */
#ifdef _WIN32
#define CLOCK CLOCK_REALTIME
#else
#define CLOCK CLOCK_MONOTONIC
#endif

atomic_llong cdv_sleeps;

int64_t cdv_wakeups(void) { return atomic_load(&cdv_sleeps); }

void cdv_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK);
  pthread_cond_init(cond, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

struct timespec cdv_deadline(int64_t nanoseconds) {
  struct timespec end = {-1, 0};
  if (nanoseconds < 0) return end;
  clock_gettime(CLOCK, &end);
  int64_t ns = end.tv_nsec + nanoseconds % 1000000000;
  end.tv_sec += nanoseconds / 1000000000 + ns / 1000000000;
  end.tv_nsec = (long)(ns % 1000000000);
  return end;
}

void cdv_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock) {
  atomic_fetch_add_explicit(&cdv_sleeps, 1, memory_order_relaxed);
  pthread_cond_wait(cond, lock);
}

int cdv_cond_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *end) {
  atomic_fetch_add_explicit(&cdv_sleeps, 1, memory_order_relaxed);
  return end->tv_sec < 0 ? pthread_cond_wait(cond, lock) : pthread_cond_timedwait(cond, lock, end);
}
