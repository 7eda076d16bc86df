/* wait.h - condition variables with a limit that a change of the clock does not move, and how often they were
 * needed. */
#ifndef CDEVICE_WAIT_H
#define CDEVICE_WAIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* cffi: begin */
int64_t cdv_wakeups(void); /* how often a thread went to sleep for a stream, or rang for an event loop, until now */
/* cffi: end */

/* How often a thread of this process went to sleep for a stream, or rang for an event loop. */
extern atomic_llong cdv_sleeps;

/* Looks at what another thread writes before a thread sleeps. */
#ifndef CDV_SPINS
#define CDV_SPINS 200
#endif

/* Between two looks at what another thread writes: about a tenth of a microsecond, in which it is left alone. */
static inline void cdv_cpu_relax(void) {
  for (int i = 0; i < 4; i++)
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

void cdv_cond_init(pthread_cond_t *cond);
/* So many nanoseconds from now; < 0: never, which cdv_cond_until takes as such. */
struct timespec cdv_deadline(int64_t nanoseconds);
/* 0, or ETIMEDOUT.  Blocks; lock is held. */
int cdv_cond_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *end);
/* Without a limit. */
void cdv_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);

#endif
