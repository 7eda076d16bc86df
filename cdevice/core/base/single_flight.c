/* single_flight.c - work that one thread does for all and others wait for: the start of a backend, the build of a
 * kernel.
 *
 * It is foreign code, so it runs without a lock of cdevice.  The owner of a turn may want another; where threads would
 * wait for each other in a circle, the one that closes it gets an error.  In a forked child the turns of other
 * threads are gone. */
#include "core/base/single_flight.h"
#include "core/base/system.h"

#include <errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct cdv_single_flight *turns; /* each on the stack of its thread */

static void in_child(void) {
  for (struct cdv_single_flight **at = &turns; *at;) {
    if (pthread_equal((*at)->thread, pthread_self()))
      at = &(*at)->next;
    else
      *at = (*at)->next;
  }
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&changed, NULL);
}
__attribute__((constructor)) static void watch_forks(void) { cdv_at_fork(NULL, NULL, in_child); }

static struct cdv_single_flight *turn_of(uint64_t key) {
  struct cdv_single_flight *t = turns;
  while (t && t->key != key) t = t->next;
  return t;
}

/* Does the thread behind it, in the end, wait for this one? */
static bool waits_for_me(const struct cdv_single_flight *t) {
  for (; t; t = t->waits ? turn_of(t->awaited) : NULL)
    if (pthread_equal(t->thread, pthread_self())) return true;
  return false;
}

/* What this thread waits for, noted in all that others may wait for. */
static void set_awaited(bool waits, uint64_t key) {
  for (struct cdv_single_flight *t = turns; t; t = t->next)
    if (pthread_equal(t->thread, pthread_self())) {
      t->waits = waits;
      t->awaited = key;
    }
}

int cdv_single_flight_begin(struct cdv_single_flight *me, uint64_t key) {
  struct cdv_single_flight *other;
  int r = 0;
  pthread_mutex_lock(&lock);
  while (!r && (other = turn_of(key))) {
    if (waits_for_me(other)) {
      r = EDEADLK;
    } else {
      set_awaited(true, key);
      pthread_cond_wait(&changed, &lock);
    }
  }
  set_awaited(false, 0);
  if (!r) {
    *me = (struct cdv_single_flight){turns, key, 0, pthread_self(), false};
    turns = me;
  }
  pthread_mutex_unlock(&lock);
  return r;
}

void cdv_single_flight_end(struct cdv_single_flight *me) {
  pthread_mutex_lock(&lock);
  for (struct cdv_single_flight **at = &turns; *at; at = &(*at)->next)
    if (*at == me) {
      *at = me->next;
      break;
    }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
