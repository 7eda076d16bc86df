/* test_core_stream_fuzz.c - chains of streams, productions, consumers and structs on several threads, which end, fail, are
 * cancelled, closed, interrupted and dropped at random: what arrives is a prefix, the end is honest, nothing stays. */
#include "check.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_object.h"
#include "core/async/producer_run.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/format/schema.h"
#include "core/stream/prefetch.h"
#include "core/stream/stream.h"

#ifndef _WIN32
#include <poll.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- data: the i-th array of a source has i + 1 rows ---- */
#define MOST 24
static struct cdv_schema *schema;
static struct cdv_array *arrays[MOST];
static int32_t values[MOST];

static void schema_release(struct ArrowSchema *s) { s->release = NULL; }
static void make_data(void) {
  struct ArrowSchema s = {.format = "i", .name = "", .release = schema_release};
  CHECK(cdv_schema_import(&s, &schema) == 0);
  const void *buffers[2] = {NULL, values};
  for (int i = 0; i < MOST; i++) {
    struct cdv_parts parts = {.device_type = 1, .device_id = -1, .length = i + 1, .n_buffers = 2, .buffers = buffers};
    CHECK(cdv_array_build(schema, &parts, (struct cdv_owner){NULL, NULL}, 1, &arrays[i]) == 0);
  }
}

/* n arrays, then the end, an error, or silence until it is interrupted. */
enum { END, FAIL, SILENT };
struct source {
  struct cdv_stream s;
  int at, n, ending;
  atomic_int interrupted;
};

static int source_next(struct cdv_stream *s, struct cdv_array **out) {
  struct source *x = (struct source *)s;
  if (x->at < x->n) {
    *out = cdv_array_ref(arrays[x->at++]);
    return 0;
  }
  while (x->ending == SILENT && !atomic_load(&x->interrupted)) sched_yield();
  return x->ending == END ? 0 : cdv_fail(CDV_STREAM, x->ending == FAIL ? EAGAIN : EINTR, "the well is dry");
}
static void source_interrupt(struct cdv_stream *s) { atomic_store(&((struct source *)s)->interrupted, 1); }
static void source_close(struct cdv_stream *s) { free(s); }

static struct cdv_stream *make_source(int n, int ending) {
  struct source *x = calloc(1, sizeof *x);
  cdv_stream_init(&x->s, schema, 1, source_next, source_close);
  x->s.interrupt = source_interrupt;
  x->n = n;
  x->ending = ending;
  return &x->s;
}

/* ---- chains ---- */
#define LINKS 5
struct chain {
  unsigned seed;
  int n, ending;
  struct cdv_producer *productions[LINKS];
  struct cdv_consumer *consumer; /* the last one, when it is not a stream yet */
  struct cdv_stream *stream;
  int n_productions;
  atomic_int taken, finished;
  int enough; /* then another thread disturbs */
};

static void to_consumer(struct chain *c) {
  CHECK(cdv_consumer_new((int64_t)rnd(&c->seed, 4) + 1, 1, &c->consumer) == 0);
  struct cdv_producer *p;
  struct ArrowAsyncDeviceStreamHandler *h = cdv_consumer_handler(c->consumer);
  CHECK(cdv_producer_new(c->stream, h, NULL, &p) == 0);
  c->productions[c->n_productions++] = p;
  c->stream = NULL;
  struct cdv_producer *second;
  CHECK(cdv_producer_open(h, &second) == EBUSY); /* each takes one */
  CHECK(cdv_producer_start(p) == 0);
}

/* 0; else the schema did not come */
static int to_stream(struct chain *c) {
  if (c->stream) return 0;
  int r = cdv_consumer_stream(c->consumer, &c->stream);
  if (r) cdv_consumer_unref(c->consumer);
  c->consumer = NULL;
  return r;
}

static void link_on(struct chain *c) {
  struct ArrowDeviceArrayStream d;
  struct ArrowArrayStream plain;
  struct cdv_stream *s;
  if (to_stream(c)) return;
  switch (rnd(&c->seed, 4)) {
    case 0: to_consumer(c); break;
    case 1:
      CHECK(cdv_stream_copy(c->stream, 1, -1, NULL, NULL, rnd(&c->seed, 4), false, &s) == 0);
      c->stream = s;
      break;
    case 2:
      CHECK(cdv_stream_export(c->stream, NULL, &d) == 0);
      CHECK(cdv_stream_import(&d, 1, &c->stream) == 0);
      break;
    default:
      CHECK(cdv_stream_export_plain(c->stream, NULL, &plain) == 0);
      CHECK(cdv_stream_import_plain(&plain, 1, &c->stream) == 0);
  }
}

static void *disturb(void *arg) {
  struct chain *c = arg;
  unsigned seed = c->seed ^ 0x5555;
  while (atomic_load(&c->taken) < c->enough && !atomic_load(&c->finished)) sched_yield();
  int k = (int)rnd(&seed, (unsigned)c->n_productions + 1);
  if (k < c->n_productions)
    cdv_producer_stop(c->productions[k]);
  else if (c->consumer)
    cdv_consumer_close(c->consumer);
  else
    cdv_stream_interrupt(c->stream);
  return NULL;
}

static int take(struct chain *c, struct cdv_array **a) {
  return c->stream ? cdv_stream_next(c->stream, a) : cdv_consumer_take(c->consumer, -1, a, NULL);
}

static void drop(struct chain *c) {
  if (c->stream) cdv_stream_close(c->stream);
  if (c->consumer) cdv_consumer_unref(c->consumer);
}

static void run_chain(unsigned seed) {
  struct chain c = {.seed = seed};
  c.n = rnd(&c.seed, 4) ? (int)rnd(&c.seed, MOST) : 0; /* then only the schema describes the stream */
  c.ending = (int)rnd(&c.seed, 3);
  c.stream = make_source(c.n, c.ending);
  for (unsigned k = rnd(&c.seed, LINKS); k; k--)
    if (c.stream || c.consumer) link_on(&c);
  int disturbed = c.ending == SILENT || rnd(&c.seed, 3) == 0, r = 0, got = 0;
  int leave = disturbed && rnd(&c.seed, 2);
  c.enough = (int)rnd(&c.seed, (unsigned)c.n + 1);
  pthread_t other;
  bool helper = disturbed && !leave;
  if (helper) CHECK(pthread_create(&other, NULL, disturb, &c) == 0);
  struct cdv_array *a = NULL;
  while ((c.stream || c.consumer) && !(leave && got >= c.enough)) {
    r = take(&c, &a);
    if (r || !a) break;
    CHECK(a->length == got + 1); /* in order, nothing twice, nothing missing */
    got++;
    atomic_fetch_add(&c.taken, 1);
    cdv_array_unref(a);
    a = NULL;
  }
  atomic_store(&c.finished, 1);
  if (helper) pthread_join(other, NULL);
  if (!leave && !r) CHECK(c.ending == END && got == c.n); /* an end is an end */
  if (!disturbed && r) CHECK(c.ending == FAIL && got == c.n);
  if (r && c.stream) { /* once, and always */
    CHECK(cdv_stream_next(c.stream, &a) && !a);
  }
  drop(&c);
  for (int k = 0; k < c.n_productions; k++) {
    int code;
    CHECK(cdv_producer_wait(c.productions[k], 20000000000) == 1); /* leaving reaches all of them */
    int ending = cdv_producer_outcome(c.productions[k], &code);
    CHECK(ending >= CDV_FINISHED && ending <= CDV_STOPPED);
    if (ending == CDV_FINISHED && !disturbed) CHECK(c.ending == END);
    cdv_producer_unref(c.productions[k]);
  }
}

/* ---- two threads on one thread's object: errors, no races ---- */
struct shared_stream {
  struct ArrowDeviceArrayStream s;
  atomic_int got, refused;
};
static void *read_shared(void *arg) {
  struct shared_stream *x = arg;
  for (;;) {
    struct ArrowDeviceArray a;
    int r = x->s.get_next(&x->s, &a);
    if (r) {
      CHECK(r == EBUSY && strstr(x->s.get_last_error(&x->s), "in use"));
      atomic_fetch_add(&x->refused, 1);
      sched_yield();
      continue;
    }
    if (!a.array.release) return NULL;
    a.array.release(&a.array);
    atomic_fetch_add(&x->got, 1);
  }
}
static void test_an_exported_stream_is_read_by_one_thread_at_a_time(void) {
  struct shared_stream x = {.got = 0};
  struct cdv_stream *s;
  CHECK(cdv_stream_of_arrays(schema, 1, arrays, MOST, &s) == 0);
  CHECK(cdv_stream_export(s, NULL, &x.s) == 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, read_shared, &x);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  CHECK(x.got == MOST);
  x.s.release(&x.s);
}

#ifndef _WIN32 /* no descriptor for event loops there */
struct waiters {
  struct cdv_consumer *c;
  atomic_int woken;
};
static void *wait_for_bell(void *arg) { /* as an event loop does, each with its own */
  struct waiters *w = arg;
  int bell = cdv_consumer_new_waiter(w->c);
  struct pollfd poller = {.fd = bell, .events = POLLIN};
  while (cdv_consumer_arm(w->c, bell, 1, 0) == 1) CHECK(poll(&poller, 1, 20000) == 1);
  atomic_fetch_add(&w->woken, 1);
  return NULL;
}
static void test_every_waiter_is_woken(unsigned seed) {
  struct waiters w = {.woken = 0};
  pthread_t threads[3];
  struct cdv_producer *p;
  CHECK(cdv_consumer_new(2, 1, &w.c) == 0);
  CHECK(cdv_producer_new(make_source(3, END), cdv_consumer_handler(w.c), NULL, &p) == 0);
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, wait_for_bell, &w);
  for (unsigned k = rnd(&seed, 2000); k; k--) sched_yield();
  CHECK(cdv_producer_start(p) == 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  CHECK(w.woken == 3);
  cdv_consumer_unref(w.c);
  CHECK(cdv_producer_wait(p, -1) == 1);
  cdv_producer_unref(p);
}
#else
static void test_every_waiter_is_woken(unsigned seed) { (void)seed; }
#endif

static double until;
static atomic_uint next_seed;
static void *fuzz(void *unused) {
  (void)unused;
  do run_chain(atomic_fetch_add(&next_seed, 1) * 2654435761u);
  while (now() < until && !failures);
  return NULL;
}

int main(int argc, char **argv) {
  make_data();
  const char *given = getenv("STREAM_FUZZ_SECONDS");
  unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  atomic_init(&next_seed, first);
  for (unsigned i = 0; i < 20; i++) {
    test_an_exported_stream_is_read_by_one_thread_at_a_time();
    test_every_waiter_is_woken(i);
  }
  until = now() + (given ? atof(given) : 3);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, fuzz, NULL);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  double end = now() + 20;
  while ((cdv_live_async() || cdv_live_streams()) && now() < end) sched_yield(); /* threads clear away */
  CHECK(cdv_live_async() == 0 && cdv_live_streams() == 0);
  for (int i = 0; i < MOST; i++) cdv_array_unref(arrays[i]);
  cdv_schema_unref(schema);
  CHECK(cdv_live_arrays() == 0);
  printf("%u chains\n", atomic_load(&next_seed) - first);
  if (failures) fprintf(stderr, "%d failures; seeds %u to %u\n", failures, first, atomic_load(&next_seed));
  return failures != 0;
}
