/* test_core_reclaim.c - what the reclaimer asks, believes and does not count on; the test sets the events. */
#ifdef _WIN32
#include <stdio.h>
int main(void) {
  puts("the test takes the place of sem_timedwait and sched_yield, which Windows has in a library of its own");
  return 77;
}
#else
#include "cdevice/backend.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/event/event.h"
#include "core/event/reclaim.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

/* What the library would count by the clock that people set. */
static atomic_int by_the_wall;
int sem_timedwait(sem_t *s, const struct timespec *t) {
  atomic_fetch_add(&by_the_wall, 1);
  (void)t;
  return sem_trywait(s);
}

/* ---- the guard of a capture ---- */
static _Thread_local bool enters_guard;
static atomic_int window, guard, tries, yields, inside, asked_inside;

/* The thread that enters a guard waits by yielding: counted, so that the reclaimer knows that it waits. */
int sched_yield(void) {
  if (enters_guard) atomic_fetch_add(&yields, 1);
  return (int)syscall(SYS_sched_yield);
}

static pthread_t main_thread;
/* The reclaimer's look at the guard.  It sees none; then, before its query, a thread has tried to enter one. */
static int is_captured(void *self, int64_t device) {
  (void)self, (void)device;
  int seen = atomic_load(&guard);
  if (seen || !atomic_load(&window) || pthread_equal(pthread_self(), main_thread)) return seen;
  atomic_fetch_add(&tries, 1);
  while (!atomic_load(&yields) && !atomic_load(&inside)) sched_yield();
  return 0;
}
static const cdevice_memory memory = {.struct_size = sizeof memory, .capture_active = is_captured};
static const void *more(void *self, const char *name) {
  return (void)self, strcmp(name, CDEVICE_MEMORY) ? NULL : &memory;
}

/* ---- a backend ---- */
static atomic_int
    answer; /* what is_done() returns: 2 * error + done, in one word, as the reclaimer reads while we write */
static atomic_int asked, destroyed, freed, notice = ENOTSUP;
static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  return (void)self, (void)host, (void)err, 0;
}
static int count(void *self, int64_t *out, cdevice_error *err) { return (void)self, (void)err, *out = 1, 0; }
static int get(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream, (void)err;
  *out = (cdevice_block){malloc((size_t)nbytes), nbytes, device, {NULL, NULL}};
  return 0;
}
static void give(void *self, const cdevice_block *block) {
  (void)self;
  atomic_fetch_add(&freed, 1);
  free(block->data);
}
static int copy(void *self, int kind, const cdevice_copy *c, int64_t n, void *stream, cdevice_error *err) {
  (void)self, (void)kind, (void)stream, (void)err;
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)c[i].dst + c[i].dst_offset, (const char *)c[i].src + c[i].src_offset, (size_t)c[i].nbytes);
  return 0;
}
static int record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self, (void)device, (void)stream, (void)err;
  out->sync_event = &out->slot;
  return 0;
}
static int is_done(void *self, int64_t device, void *event, int *out, cdevice_error *err) {
  (void)self, (void)device, (void)event, (void)err;
  atomic_fetch_add(&asked, 1);
  if (atomic_load(&inside)) atomic_fetch_add(&asked_inside, 1);
  int says = atomic_load(&answer);
  *out = says & 1;
  return says >> 1;
}
static int wait_host(void *self, int64_t device, void *event, cdevice_error *err) {
  return (void)self, (void)device, (void)event, (void)err, 0;
}
static int wait_stream(void *self, int64_t device, void *event, void *stream, cdevice_error *err) {
  return (void)stream, wait_host(self, device, event, err);
}
static void destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device, (void)event;
  atomic_fetch_add(&destroyed, 1);
}
static int notify(void *self, int64_t device, void *event, void (*fn)(void *), void *arg, cdevice_error *err) {
  (void)self, (void)device, (void)event, (void)fn, (void)arg, (void)err;
  return atomic_load(&notice);
}
static const cdevice_backend table = {
    .abi_version = CDEVICE_BACKEND_ABI,
    .struct_size = sizeof table,
    .device_type = 40,
    .capabilities = CDEVICE_CAP_ADDRESS | CDEVICE_CAP_EVENTS,
    .name = "mine",
    .start = start,
    .device_count = count,
    .alloc = get,
    .free = give,
    .copy = copy,
    .event_record = record,
    .event_done = is_done,
    .event_wait_host = wait_host,
    .event_wait_stream = wait_stream,
    .event_destroy = destroy,
    .event_notify = notify,
    .extension = more,
};

static atomic_int ran;
static void run(struct cdv_retired *k) { (void)k, atomic_fetch_add(&ran, 1); }

static struct cdv_backend *slot;
static struct cdv_event *new_event(void) {
  struct cdv_event *e;
  CHECK(!cdv_event_record(slot, 0, NULL, &e) && e);
  return e;
}
static void rounds(int n) { /* of questions, from now on */
  for (int before = atomic_load(&asked); atomic_load(&asked) < before + n;) sched_yield();
}
static void set(int r, int done) { atomic_store(&answer, 2 * r + done); }

/* Only a passed event and a dead one let memory go; after any other answer it is asked again. */
static void test_answers(void) {
  static const int others[] = {EAGAIN, ENOMEM, EINVAL, ENOTSUP, EPERM, EPROTO, ENODEV, ESHUTDOWN};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct cdv_event *e = new_event();
    struct cdv_retired kept;
    atomic_store(&ran, 0);
    set(others[i], 1); /* a value written beside an error is not read */
    CHECK(!cdv_on_event_complete(e, &kept, run));
    rounds(3);
    CHECK(!atomic_load(&ran) && cdv_retired_count() == 1);
    set(0, 0);
    rounds(2);
    CHECK(!atomic_load(&ran));
    set(i % 2 ? 0 : EIO, i % 2);
    while (cdv_retired_count()) sched_yield();
    CHECK(atomic_load(&ran) == 1);
    cdv_event_unref(e);
  }
}

/* A copy that has succeeded does not fail because event_notify does. */
static void test_notice(void) {
  static const int codes[] = {ENOMEM, EINVAL, EAGAIN, EPROTO, ENOTSUP};
  struct cdv_event *e = new_event();
  struct cdv_retired kept;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    set(0, 1);
    atomic_store(&notice, codes[i]);
    CHECK(!cdv_on_event_complete(e, &kept, run));
    while (cdv_retired_count()) sched_yield();
  }
  atomic_store(&notice, EIO);
  CHECK(cdv_on_event_complete(e, &kept, run) == EIO && !cdv_retired_count());
  atomic_store(&notice, ENOTSUP);
  cdv_event_unref(e);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Where nothing is answered, the pauses grow: twelve rounds of a millisecond each are 12 ms, doubled pauses 190 and more. */
static void test_pauses(void) {
  struct cdv_event *e = new_event();
  struct cdv_retired kept;
  set(EINVAL, 0);
  CHECK(!cdv_on_event_complete(e, &kept, run));
  rounds(1);
  int64_t begin = now();
  rounds(9);
  CHECK(now() - begin > 60000000);
  set(0, 1);
  while (cdv_retired_count()) sched_yield();
  cdv_event_unref(e);
}

static void *enter_guard(void *unused) { /* as Device.capturing() does */
  enters_guard = true;
  while (!atomic_load(&tries)) syscall(SYS_sched_yield);
  atomic_store(&guard, 1);
  cdv_wait_for_query();
  atomic_store(&inside, 1);
  return unused;
}

/* A guard that a thread enters between the reclaimer's look and its query begins after that query. */
static void test_guard(void) {
  struct cdv_event *e = new_event();
  struct cdv_retired kept;
  pthread_t thread;
  set(0, 0);
  atomic_store(&window, 1);
  CHECK(!pthread_create(&thread, NULL, enter_guard, NULL));
  CHECK(!cdv_on_event_complete(e, &kept, run));
  CHECK(!pthread_join(thread, NULL));
  CHECK(atomic_load(&tries) && atomic_load(&yields));
  atomic_store(&window, 0);
  set(0, 1);
  CHECK(cdv_retired_count() == 1 && !atomic_load(&asked_inside));
  atomic_store(&inside, 0);
  atomic_store(&guard, 0);
  while (cdv_retired_count()) sched_yield();
  cdv_event_unref(e);
}

/* The child of a fork calls nothing for what its parent had, and has none of the parent's waiting. */
static void test_fork(void) {
  struct cdv_event *waiting = new_event(), *other = new_event();
  struct cdv_retired kept;
  set(0, 0);
  CHECK(!cdv_on_event_complete(waiting, &kept, run) && cdv_backend_usable_in_process(slot));
  rounds(2);
  int gone = atomic_load(&destroyed);
  pid_t child = fork();
  if (!child) {
    int bad = cdv_backend_usable_in_process(slot) || cdv_retired_count();
    cdv_event_unref(other);
    _exit(bad ? 2 : atomic_load(&destroyed) != gone ? 3 : 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cdv_event_unref(other);
  CHECK(atomic_load(&destroyed) == gone + 1);
  set(0, 1);
  while (cdv_retired_count()) sched_yield();
  cdv_event_unref(waiting);
}

int main(void) {
  main_thread = pthread_self();
  alarm(300); /* every wait above is for another thread: one that never ends is a failure, not the end of CI's time */
  CHECK(!cdv_register(&table, 0) && !cdv_backend_get_started(40, &slot));
  test_answers();
  test_notice();
  test_pauses();
  test_guard();
  test_fork();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
  CHECK(!atomic_load(&by_the_wall));
#endif
  CHECK(!cdv_backend_live(40) && !cdv_unregister(40));
  puts("reclaim: passed");
  return 0;
}
#endif
