/* clock.c - preloaded: each look at the clock finds it an hour ahead of, or behind, the one before. Clocks that are not
 * set, as CLOCK_MONOTONIC, are as they are. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint looks;

int clock_gettime(clockid_t clock, struct timespec *out) {
  int r = (int)syscall(SYS_clock_gettime, clock, out);
  if (!r && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += atomic_fetch_add(&looks, 1) % 2 ? 3600 : -3600;
  return r;
}
time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return out ? *out = t.tv_sec : t.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
  struct timespec t;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &t);
  *out = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
  return 0;
}
