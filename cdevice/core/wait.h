/* wait.h - condition variables with a limit that a change of the clock does not move. */
#ifndef CDEVICE_WAIT_H
#define CDEVICE_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void cdv_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/* So many nanoseconds from now; < 0: never, which cdv_cond_until takes as such. */
static inline struct timespec cdv_deadline(int64_t nanoseconds) {
  struct timespec end = {-1, 0};
  if (nanoseconds < 0) return end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  int64_t ns = end.tv_nsec + nanoseconds % 1000000000;
  end.tv_sec += nanoseconds / 1000000000 + ns / 1000000000;
  end.tv_nsec = ns % 1000000000;
  return end;
}

/* 0, or ETIMEDOUT. */
static inline int cdv_cond_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *end) {
  return end->tv_sec < 0 ? pthread_cond_wait(cond, lock) : pthread_cond_timedwait(cond, lock, end);
}

#endif
