/* test_core_explore.c - the queue between an asynchronous producer and its consumer, in every order of two threads. */
#if defined(_WIN32) || defined(__clang__)
#include <stdio.h>
int main(void) {
#ifdef _WIN32
  puts("no descriptor for event loops here");
#else
  puts("explore.h takes the place of atomic operations by functions that are gcc's: CC=gcc");
#endif
  return 77;
}
#else
#define CDV_SPINS 1 /* threads sleep soon */
#include "core/array/array.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_run.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/wait.h"
#include "core/format/schema.h"
#include "core/stream/stream.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "explore.h"

#include "core/async/consumer.c"
#define wake producer_wake
#define extract task_extract
#include "core/async/producer.c"
#undef wake
#include "core/async/producer_run.c"
#undef extract
#include "check.h"

#define ARRAYS 2

static struct cdv_schema *schema;
static struct cdv_array *array;
static struct cdv_consumer *consumer;
static struct cdv_producer *sender;
static int64_t got, result, queue_size;

static void schema_release(struct ArrowSchema *s) { s->release = NULL; }

static void make_array(void) {
  static int32_t value = 7;
  struct ArrowSchema s = {.format = "i", .name = "", .release = schema_release};
  const void *buffers[2] = {NULL, &value};
  struct cdv_parts parts = {.device_type = 1, .device_id = -1, .length = 1, .n_buffers = 2, .buffers = buffers};
  CHECK(cdv_schema_import(&s, &schema) == 0);
  CHECK(cdv_array_build(schema, &parts, (struct cdv_owner){NULL, NULL}, 1, &array) == 0);
}

static void before(void) {
  struct cdv_array *arrays[ARRAYS];
  struct cdv_stream *s;
  memset(explore_locks, 0, sizeof explore_locks);
  for (int i = 0; i < ARRAYS; i++) arrays[i] = array;
  got = 0, result = -1;
  CHECK(cdv_stream_of_arrays(schema, 1, arrays, ARRAYS, &s) == 0);
  CHECK(cdv_consumer_new(queue_size, 1, &consumer) == 0);
  CHECK(cdv_producer_new(s, cdv_consumer_handler(consumer), NULL, &sender) == 0);
}

static void produce(void) { cdv_producer_run(sender); }

/* Takes everything; sleeps where nothing is there. */
static void take_all(void) {
  for (struct cdv_array *a;; got++) {
    result = cdv_consumer_take(consumer, -1, &a, NULL);
    if (result || !a) return;
    cdv_array_unref(a);
  }
}

/* The same by an event loop: the descriptor becomes readable, or there was something already. */
static bool is_readable(void *arg) {
  struct pollfd p = {*(int *)arg, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}
static void take_all_in_a_loop(void) {
  int descriptor = cdv_consumer_new_waiter(consumer);
  CHECK(descriptor >= 0);
  for (struct cdv_array *a;;) {
    result = cdv_consumer_take(consumer, 0, &a, NULL);
    if (result == EAGAIN) {
      uint64_t n;
      if (cdv_consumer_arm(consumer, descriptor, 0, 0) != 1) continue;
      explore_wait(is_readable, &descriptor);
      CHECK(read(descriptor, &n, sizeof n) == sizeof n);
    } else if (result || !a)
      return;
    else {
      cdv_array_unref(a);
      got++;
    }
  }
}

static void close_consumer(void) { cdv_consumer_close(consumer); }

static void nothing_is_left(void) {
  cdv_consumer_unref(consumer);
  cdv_producer_unref(sender);
  CHECK(cdv_live_async() == 0 && cdv_live_streams() == 0 && cdv_live_arrays() == 1);
}

static void after_taking(void) {
  int code;
  CHECK(result == 0 && got == ARRAYS);
  CHECK(cdv_producer_outcome(sender, &code) == CDV_FINISHED);
  nothing_is_left();
}

static void after_closing(void) {
  int code, outcome = cdv_producer_outcome(sender, &code);
  CHECK(outcome == CDV_CANCELLED || outcome == CDV_FINISHED);
  nothing_is_left();
}

/* The producer has run before: its arrays wait. */
static void before_with_all_sent(void) {
  before();
  cdv_producer_run(sender);
}
static void after_take_and_close(void) { /* a stream that was cut is not one that has ended */
  CHECK(got == ARRAYS ? result == 0 || result == EINVAL : result != 0);
  nothing_is_left();
}

static void report(const char *what, long long n) { printf("%s: %lld schedules\n", what, n); }

int main(void) {
  const char *given = getenv("EXPLORE_PREEMPTIONS"); /* 1 under the checkers, which are slow */
  int preemptions = given ? atoi(given) : 2;
  make_array();
  for (queue_size = 1; queue_size <= ARRAYS; queue_size++) {
    report("take", explore(preemptions, before, produce, take_all, after_taking));
    report("take in a loop", explore(preemptions, before, produce, take_all_in_a_loop, after_taking));
    report("close", explore(preemptions, before, produce, close_consumer, after_closing));
  }
  queue_size = ARRAYS;
  report("take and close", explore(preemptions, before_with_all_sent, take_all, close_consumer, after_take_and_close));
  cdv_array_unref(array);
  cdv_schema_unref(schema);
  CHECK(cdv_live_schemas() == 0);
  return failures != 0;
}
#endif
