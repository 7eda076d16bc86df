/* explore.h - a small model checker: runs two threads of real code in every order of their atomic operations.
 *
 * Include it before the sources to explore: it redefines the operations of <stdatomic.h>, mutexes, condition variables and
 * sched_yield so that each is a point where the other thread may go on.  One thread runs at a time, so all orders are
 * sequentially consistent.  explore() repeats a scenario until every order with at most `preemptions` forced switches was
 * tried; a thread that yields or blocks switches for free.  Two threads that both wait are a deadlock: a lost wake-up. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPLORE_THREADS 2
#define EXPLORE_STEPS 20000

static struct {
  sem_t go[EXPLORE_THREADS], over;
  bool done[EXPLORE_THREADS];
  bool (*ready[EXPLORE_THREADS])(void *); /* NULL: it may run; else it waits for this */
  void *waits_for[EXPLORE_THREADS];
  int current;
  int preemptions, used;
  unsigned char choice[EXPLORE_STEPS], forced[EXPLORE_STEPS]; /* 1: the other thread; forced: there was no choice */
  int n, replay;                                              /* points so far; of these to be repeated */
  long long schedules;
  bool stuck;
} ex;
static _Thread_local int explore_me = -1; /* -1: not one of the two threads */

static bool explore_runs(int t) { return !ex.done[t] && (!ex.ready[t] || ex.ready[t](ex.waits_for[t])); }

static void explore_switch(int to) {
  int me = explore_me;
  ex.current = to;
  sem_post(&ex.go[to]);
  while (sem_wait(&ex.go[me])) {}
}

/* A point at which the other thread may go on; gives: this one wants it to. */
static void explore_point(bool gives) {
  int me = explore_me, other = 1 - me, to = me;
  if (me < 0) return;
  if (ex.n >= EXPLORE_STEPS) {
    fprintf(stderr, "explore: a schedule of more than %d steps\n", EXPLORE_STEPS);
    abort();
  }
  bool mine = explore_runs(me), others = explore_runs(other);
  if (!mine && !others) {
    fprintf(stderr, "explore: deadlock in schedule %lld:", ex.schedules);
    for (int i = 0; i < ex.n; i++)
      if (ex.choice[i]) fprintf(stderr, " %d", i);
    fprintf(stderr, "\n");
    abort();
  }
  int i = ex.n++;
  ex.forced[i] = gives || !mine || !others || (i >= ex.replay && ex.used >= ex.preemptions);
  if (gives || !mine)
    ex.choice[i] = others;
  else if (!others || ex.forced[i])
    ex.choice[i] = 0;
  else if (i >= ex.replay)
    ex.choice[i] = 0; /* goes on; the other way is tried later */
  if (ex.choice[i]) to = other;
  if (ex.choice[i] && mine && !gives) ex.used++;
  if (to != me) explore_switch(to);
}

static void explore_wait(bool (*ready)(void *), void *arg) {
  if (explore_me < 0) return;
  ex.ready[explore_me] = ready;
  ex.waits_for[explore_me] = arg;
  explore_point(false);
  ex.ready[explore_me] = NULL;
}

struct explore_thread {
  int number;
  void (*run)(void);
};

static void *explore_thread(void *arg) {
  struct explore_thread *t = arg;
  explore_me = t->number;
  while (sem_wait(&ex.go[explore_me])) {}
  t->run();
  ex.done[explore_me] = true;
  int other = 1 - explore_me;
  if (!ex.done[other]) {
    if (!explore_runs(other)) {
      fprintf(stderr, "explore: one thread has ended, the other waits forever (schedule %lld)\n", ex.schedules);
      abort();
    }
    sem_post(&ex.go[other]);
  } else
    sem_post(&ex.over);
  return NULL;
}

/* The next schedule: the last free choice that was "go on" becomes "switch". */
static bool explore_next(void) {
  int i = ex.n - 1;
  while (i >= 0 && (ex.forced[i] || ex.choice[i])) i--;
  if (i < 0) return false;
  ex.choice[i] = 1;
  ex.replay = i + 1;
  return true;
}

/* before: makes a fresh state; a, b: the threads; after: checks what came of it.  The number of schedules. */
static long long explore(int preemptions, void (*before)(void), void (*a)(void), void (*b)(void), void (*after)(void)) {
  ex.preemptions = preemptions;
  ex.replay = 0;
  ex.schedules = 0;
  do {
    struct explore_thread threads[EXPLORE_THREADS] = {{0, a}, {1, b}};
    pthread_t handles[EXPLORE_THREADS];
    ex.n = ex.used = 0;
    sem_init(&ex.over, 0, 0);
    before();
    for (int i = 0; i < EXPLORE_THREADS; i++) {
      sem_init(&ex.go[i], 0, 0);
      ex.done[i] = false;
      ex.ready[i] = NULL;
      pthread_create(&handles[i], NULL, explore_thread, &threads[i]);
    }
    ex.current = 0;
    sem_post(&ex.go[0]);
    while (sem_wait(&ex.over)) {}
    for (int i = 0; i < EXPLORE_THREADS; i++) pthread_join(handles[i], NULL);
    ex.schedules++;
    after();
  } while (explore_next());
  return ex.schedules;
}

/* ---- redefinitions ---- */
struct explore_lock { /* the state of a mutex or a condition variable, found by its address */
  const void *of;
  int owner;      /* thread + 1; 0: free */
  long long rung; /* broadcasts so far */
};
static struct explore_lock explore_locks[64];
static struct explore_lock *explore_lock_of(const void *of) {
  struct explore_lock *l = explore_locks;
  while (l->of && l->of != of) l++;
  l->of = of;
  return l;
}
static bool explore_is_free(void *l) { return ((struct explore_lock *)l)->owner == 0; }
static int explore_mutex_lock(pthread_mutex_t *m) {
  struct explore_lock *l = explore_lock_of(m);
  if (explore_me < 0) return 0;
  explore_point(false);
  while (l->owner) explore_wait(explore_is_free, l);
  l->owner = explore_me + 1;
  return 0;
}
static int explore_mutex_unlock(pthread_mutex_t *m) {
  explore_lock_of(m)->owner = 0;
  explore_point(false);
  return 0;
}
struct explore_sleep {
  struct explore_lock *cond;
  long long since;
};
static bool explore_was_rung(void *arg) {
  struct explore_sleep *s = arg;
  return s->cond->rung > s->since;
}
static int explore_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  struct explore_sleep s = {explore_lock_of(c), explore_lock_of(c)->rung};
  explore_lock_of(m)->owner = 0;
  explore_wait(explore_was_rung, &s);
  explore_mutex_lock(m);
  return 0;
}
static int explore_cond_broadcast(pthread_cond_t *c) {
  explore_lock_of(c)->rung++;
  explore_point(false);
  return 0;
}

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_compare_exchange_weak
#undef atomic_thread_fence
#define EXPLORED(expression) (explore_point(false), (expression))
#define atomic_load_explicit(p, order)        \
  ({                                          \
    __auto_type p_ = (p);                     \
    __typeof__((void)0, *p_) v_;              \
    explore_point(false);                     \
    __atomic_load(p_, &v_, __ATOMIC_SEQ_CST); \
    v_;                                       \
  })
#define atomic_load(p) atomic_load_explicit(p, 5)
#define atomic_store_explicit(p, value, order) \
  ({                                           \
    __auto_type p_ = (p);                      \
    __typeof__((void)0, *p_) v_ = (value);     \
    explore_point(false);                      \
    __atomic_store(p_, &v_, __ATOMIC_SEQ_CST); \
  })
#define atomic_store(p, value) atomic_store_explicit(p, value, 5)
#define atomic_exchange(p, value)                        \
  ({                                                     \
    __auto_type p_ = (p);                                \
    __typeof__((void)0, *p_) v_ = (value), old_;         \
    explore_point(false);                                \
    __atomic_exchange(p_, &v_, &old_, __ATOMIC_SEQ_CST); \
    old_;                                                \
  })
#define atomic_fetch_add(p, v) EXPLORED(__atomic_fetch_add(p, v, __ATOMIC_SEQ_CST))
#define atomic_fetch_add_explicit(p, v, order) atomic_fetch_add(p, v)
#define atomic_fetch_sub(p, v) EXPLORED(__atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST))
#define atomic_fetch_sub_explicit(p, v, order) atomic_fetch_sub(p, v)
#define atomic_fetch_or(p, v) EXPLORED(__atomic_fetch_or(p, v, __ATOMIC_SEQ_CST))
#define atomic_compare_exchange_weak(p, expected, value)                                 \
  ({                                                                                     \
    __auto_type p_ = (p);                                                                \
    __typeof__((void)0, *p_) v_ = (value);                                               \
    explore_point(false);                                                                \
    __atomic_compare_exchange(p_, expected, &v_, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  })
#define atomic_thread_fence(order) explore_point(false)
#define pthread_mutex_lock(m) explore_mutex_lock(m)
#define pthread_mutex_unlock(m) explore_mutex_unlock(m)
#define pthread_cond_broadcast(c) explore_cond_broadcast(c)
#define cdv_cond_wait(c, m) explore_cond_wait(c, m)
#define cdv_cond_until(c, m, end) ((void)(end), explore_cond_wait(c, m))
#define sched_yield() explore_point(true)
#define cdv_cpu_relax() explore_point(true)

#endif
