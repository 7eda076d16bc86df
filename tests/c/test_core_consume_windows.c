/* test_core_consume_windows.c - a consumer is closed by another thread at the moments in which that was lost once. */
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_object.h"
#include "core/async/producer_run.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/format/schema.h"
#include "core/stream/stream.h"

#include <pthread.h>

/* What the consumer calls in such a moment closes it first, once. */
static struct cdv_consumer *closed_at_import, *closed_at_look;
static void close_now(struct cdv_consumer **which) {
  struct cdv_consumer *c = *which;
  *which = NULL;
  if (c) cdv_consumer_close(c);
}
static int import_later(struct ArrowSchema *in, struct cdv_schema **out) {
  close_now(&closed_at_import);
  return cdv_schema_import(in, out);
}
static int lock_later(pthread_mutex_t *lock) {
  close_now(&closed_at_look);
  return pthread_mutex_lock(lock);
}
#define cdv_schema_import import_later
#define pthread_mutex_lock lock_later
#include "core/async/consumer.c"
#include "check.h"
#undef cdv_schema_import
#undef pthread_mutex_lock

static void schema_release(struct ArrowSchema *s) { s->release = NULL; }
static struct cdv_schema *make_schema(void) {
  struct ArrowSchema s = {.format = "i", .name = "", .release = schema_release};
  struct cdv_schema *schema = NULL;
  CHECK(cdv_schema_import(&s, &schema) == 0);
  return schema;
}

/* ---- a source that would wait forever once it is called ---- */
static int times_asked, times_interrupted;
static int silent_next(struct cdv_stream *s, struct cdv_array **out) {
  times_asked += !times_interrupted;
  return cdv_fail(CDV_STREAM, EINTR, "no thread would have come");
}
static void silent_interrupt(struct cdv_stream *s) { times_interrupted++; }
static void silent_close(struct cdv_stream *s) { free(s); }

static void test_closed_while_the_schema_comes(void) {
  struct cdv_consumer *c;
  struct cdv_producer *p;
  struct cdv_schema *schema = make_schema();
  struct cdv_stream *s = malloc(sizeof *s);
  int code;
  cdv_stream_init(s, schema, 1, silent_next, silent_close);
  s->interrupt = silent_interrupt;
  CHECK(cdv_consumer_new(2, 1, &c) == 0);
  CHECK(cdv_producer_new(s, cdv_consumer_handler(c), NULL, &p) == 0);
  closed_at_import = c;
  cdv_producer_run(p);
  CHECK(!closed_at_import && times_asked == 0);
  CHECK(cdv_producer_outcome(p, &code) == CDV_CANCELLED && code == 0);
  cdv_producer_unref(p);
  cdv_consumer_unref(c);
  cdv_schema_unref(schema);
}

static void test_closed_while_the_rest_is_taken(void) {
  struct cdv_consumer *c;
  struct cdv_producer *p;
  struct cdv_stream *s;
  struct cdv_array *a, *taken = NULL;
  struct cdv_schema *schema = make_schema();
  int32_t value = 7;
  int code;
  const void *buffers[2] = {NULL, &value};
  struct cdv_parts parts = {.device_type = 1, .device_id = -1, .length = 1, .n_buffers = 2, .buffers = buffers};
  CHECK(cdv_array_build(schema, &parts, (struct cdv_owner){NULL, NULL}, 1, &a) == 0);
  CHECK(cdv_stream_of_arrays(schema, 1, &a, 1, &s) == 0);
  CHECK(cdv_consumer_new(2, 1, &c) == 0);
  CHECK(cdv_producer_new(s, cdv_consumer_handler(c), NULL, &p) == 0);
  cdv_producer_run(p); /* its array waits, its end is known */
  CHECK(cdv_producer_outcome(p, &code) == CDV_FINISHED && cdv_consumer_waiting(c) == 1);
  closed_at_look = c;
  CHECK(cdv_consumer_take(c, 0, &taken, NULL) == EINVAL &&
        !taken); /* the array is gone: not the end of a whole stream */
  CHECK(!closed_at_look && cdv_consumer_waiting(c) == 0);
  cdv_producer_unref(p);
  cdv_consumer_unref(c);
  cdv_array_unref(a);
  cdv_schema_unref(schema);
}

static int dropped;
static void drop(void *owner) {
  (void)owner;
  dropped++;
}
static void nothing(struct ArrowAsyncProducer *p) { (void)p; }
static void request_nothing(struct ArrowAsyncProducer *p, int64_t n) {
  (void)p;
  (void)n;
}

/* What a source raised may own the consumer: one that is closed keeps no exception. */
static void test_closed_while_the_error_comes(void) {
  struct cdv_consumer *c;
  struct cdv_shared *exception;
  struct ArrowSchema schema = {.format = "i", .name = "", .release = schema_release};
  struct ArrowAsyncProducer producer = {.device_type = 1, .request = request_nothing, .cancel = nothing};
  CHECK(cdv_consumer_new(2, 1, &c) == 0);
  struct ArrowAsyncDeviceStreamHandler *h = cdv_consumer_handler(c);
  h->producer = &producer;
  CHECK(cdv_handler_claim(h, 1) == 0 && h->on_schema(h, &schema) == 0);
  CHECK(cdv_share((struct cdv_owner){drop, NULL}, &exception) == 0);
  cdv_fail(CDV_STREAM, EIO, "what the source raised");
  cdv_error_set_cause(exception, 0);
  closed_at_look = c;
  h->on_error(h, EIO, "what the source raised", NULL);
  CHECK(!closed_at_look && dropped == 1); /* the consumer is still there, its exception is not */
  h->release(h);
  cdv_consumer_unref(c);
}

int main(void) {
  test_closed_while_the_error_comes();
  test_closed_while_the_schema_comes();
  test_closed_while_the_rest_is_taken();
  CHECK(cdv_live_async() == 0 && cdv_live_streams() == 0 && cdv_live_arrays() == 0);
  return failures != 0;
}
