/* test_core_async.c - the asynchronous device stream: a strict handler watches our producer, a strict producer watches our
 * consumer, bad peers of many kinds are met, and thousands of runs end at random points on several threads. */
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
#include "core/stream/stream.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void nothing_lives(void) { /* a run's own thread drops its share last */
  for (time_t end = time(NULL) + 60; cdv_live_async() && time(NULL) < end;) sched_yield();
  CHECK(cdv_live_async() == 0 && cdv_live_streams() == 0);
}

/* ---- data ---- */
static struct cdv_schema *schema;
static struct cdv_array *array;
static const int32_t values[4] = {1, 2, 3, 4};

static void schema_release(struct ArrowSchema *s) { s->release = NULL; }
static void make_data(void) {
  struct ArrowSchema s = {.format = "i", .name = "", .release = schema_release};
  CHECK(cdv_schema_import(&s, &schema) == 0);
  const void *buffers[2] = {NULL, values};
  struct cdv_parts parts = {.device_type = 1, .device_id = -1, .length = 4, .n_buffers = 2, .buffers = buffers};
  struct cdv_owner none = {NULL, NULL};
  CHECK(cdv_array_build(schema, &parts, none, 1, &array) == 0);
}

/* n arrays, then the end or an error */
struct source {
  struct cdv_stream s;
  int n, fails;
};
static int source_next(struct cdv_stream *s, struct cdv_array **out) {
  struct source *x = (struct source *)s;
  if (x->n-- > 0) {
    *out = cdv_array_ref(array);
    return 0;
  }
  return x->fails ? cdv_fail(CDV_STREAM, EIO, "the well is dry") : 0;
}
static void source_close(struct cdv_stream *s) { free(s); }
static struct cdv_stream *make_source(int n, int fails) {
  struct source *x = calloc(1, sizeof *x);
  cdv_stream_init(&x->s, schema, 1, source_next, source_close);
  x->n = n;
  x->fails = fails;
  return &x->s;
}

/* ---- a strict handler: is our producer well-behaved? ---- */
struct strict {
  struct ArrowAsyncDeviceStreamHandler face;
  struct ArrowAsyncProducer *producer;
  atomic_int inside, schemas, ends, errors, releases, tasks, cancelled;
  atomic_llong asked, extracted;
  int code;
  char message[200];
  /* behaviour */
  unsigned seed;
  int first_request, refuse_schema, refuse_at, cancel_at, extract_inside, hold;
  int64_t again; /* -2: nothing */
  /* tasks kept */
  pthread_mutex_t lock;
  int n;
  struct ArrowAsyncTask kept[64];
};

static void strict_enter(struct strict *h) {
  CHECK(atomic_fetch_add(&h->inside, 1) == 0); /* serialised */
  CHECK(!h->releases);
}
static int strict_leave(struct strict *h, int r) {
  atomic_fetch_sub(&h->inside, 1);
  return r;
}
static void ask(struct strict *h, int64_t n) {
  if (n > 0) atomic_fetch_add(&h->asked, n);
  h->producer->request(h->producer, n);
}
static void strict_extract(struct strict *h, struct ArrowAsyncTask *t, int want) {
  struct ArrowDeviceArray a;
  memset(&a, 0x55, sizeof a);
  CHECK(t->extract_data(t, want ? &a : NULL) == 0);
  if (want) {
    CHECK(a.array.length == 4 && a.device_type == 1 && a.reserved[0] == 0);
    a.array.release(&a.array);
  }
  atomic_fetch_add(&h->extracted, 1);
}
static int strict_schema(struct ArrowAsyncDeviceStreamHandler *self, struct ArrowSchema *s) {
  struct strict *h = (struct strict *)self;
  strict_enter(h);
  CHECK(h->schemas == 0 && !h->tasks && !h->ends && !h->errors);
  CHECK(self->producer && self->producer->device_type == 1);
  h->producer = self->producer;
  CHECK(!strcmp(s->format, "i"));
  s->release(s);
  h->schemas++; /* now the producer may be seen */
  if (h->refuse_schema) return strict_leave(h, ENOMEM);
  if (h->first_request) ask(h, h->first_request);
  return strict_leave(h, 0);
}
static int strict_task(struct ArrowAsyncDeviceStreamHandler *self, struct ArrowAsyncTask *t, const char *metadata) {
  struct strict *h = (struct strict *)self;
  (void)metadata;
  strict_enter(h);
  CHECK(h->schemas == 1 && !h->ends && !h->errors);
  if (!t) {
    h->ends++;
    return strict_leave(h, 0);
  }
  int n = ++h->tasks;
  CHECK(n <= atomic_load(&h->asked)); /* never more than asked for */
  if (n == h->refuse_at) return strict_leave(h, EPERM);
  if (h->hold) {
    pthread_mutex_lock(&h->lock);
    h->kept[h->n++] = *t;
    pthread_mutex_unlock(&h->lock);
  } else {
    strict_extract(h, t, (int)rnd(&h->seed, 2));
  }
  if (n == h->cancel_at) {
    atomic_store(&h->cancelled, 1);
    h->producer->cancel(h->producer);
    h->producer->cancel(h->producer);
  }
  if (h->again != -2) ask(h, h->again);
  return strict_leave(h, 0);
}
static void strict_error(struct ArrowAsyncDeviceStreamHandler *self, int code, const char *message, const char *m) {
  struct strict *h = (struct strict *)self;
  (void)m;
  strict_enter(h);
  CHECK(h->errors++ == 0 && !h->ends);
  CHECK(!h->cancelled || h->hold); /* a cancel from elsewhere may cross an error on its way */
  h->code = code;
  snprintf(h->message, sizeof h->message, "%s", message ? message : "");
  strict_leave(h, 0);
}
static void strict_release(struct ArrowAsyncDeviceStreamHandler *self) {
  struct strict *h = (struct strict *)self;
  strict_enter(h);
  strict_leave(h, 0);
  CHECK(h->releases++ == 0);
}
static void strict_init(struct strict *h) {
  memset(h, 0, sizeof *h);
  pthread_mutex_init(&h->lock, NULL);
  h->again = -2;
  h->face.on_schema = strict_schema;
  h->face.on_next_task = strict_task;
  h->face.on_error = strict_error;
  h->face.release = strict_release;
}

/* Runs our producer against h to the end; the ending. */
static int feed(struct strict *h, int n, int fails, int *code) {
  struct cdv_producer *p;
  CHECK(cdv_producer_new(make_source(n, fails), &h->face, NULL, &p) == 0);
  CHECK(cdv_producer_start(p) == 0);
  CHECK(cdv_producer_wait(p, -1) == 1);
  int ending = cdv_producer_outcome(p, code);
  CHECK(h->releases == 1);
  cdv_producer_unref(p);
  return ending;
}

static void test_producer_rules(void) {
  struct strict h;
  int code;
  for (int n = 0; n < 4; n++) { /* to the end; the last one asked for exactly, the end without demand */
    strict_init(&h);
    h.first_request = n ? n : 1;
    CHECK(feed(&h, n, 0, &code) == CDV_FINISHED && h.ends == 1 && h.tasks == n && h.errors == 0);
    strict_init(&h);
    h.first_request = 1;
    h.again = 1; /* from inside on_next_task */
    CHECK(feed(&h, n, 0, &code) == CDV_FINISHED && h.tasks == n);
    strict_init(&h);
    h.first_request = 100;
    CHECK(feed(&h, n, 1, &code) == CDV_FAILED && code == EIO && h.errors == 1 && h.code == EIO && h.tasks == n);
    CHECK(strstr(h.message, "well is dry") && !h.ends);
  }
  strict_init(&h);
  h.refuse_schema = 1;
  CHECK(feed(&h, 3, 0, &code) == CDV_REFUSED && code == ENOMEM && !h.tasks && !h.ends && !h.errors);
  strict_init(&h);
  h.first_request = 10;
  h.refuse_at = 2;
  CHECK(feed(&h, 5, 0, &code) == CDV_REFUSED && code == EPERM && h.tasks == 2 && !h.ends && !h.errors);
  strict_init(&h);
  h.first_request = 10;
  h.cancel_at = 2;
  CHECK(feed(&h, 500, 0, &code) == CDV_CANCELLED && h.tasks == 2 && h.ends == 1 && !h.errors);
  static const int64_t bad[] = {0, -1, INT64_MIN};
  for (int i = 0; i < 3; i++) { /* nonsense: on_error, never on the caller's stack */
    strict_init(&h);
    h.first_request = 1;
    h.again = bad[i];
    CHECK(feed(&h, 50, 0, &code) == CDV_FAILED && code == EINVAL && h.errors == 1 && h.code == EINVAL);
  }
  struct cdv_producer *p; /* "as much as you like", and then more */
  strict_init(&h);
  CHECK(cdv_producer_new(make_source(9, 0), &h.face, NULL, &p) == 0);
  CHECK(cdv_producer_start(p) == 0);
  while (!h.schemas) sched_yield();
  atomic_store(&h.asked, INT64_MAX);
  h.producer->request(h.producer, INT64_MAX);
  h.producer->request(h.producer, INT64_MAX);
  CHECK(cdv_producer_wait(p, -1) == 1 && cdv_producer_outcome(p, &code) == CDV_FINISHED);
  cdv_producer_unref(p);
  /* a maker's stop, while nothing is asked for */
  strict_init(&h);
  CHECK(cdv_producer_new(make_source(9, 0), &h.face, NULL, &p) == 0);
  CHECK(cdv_producer_start(p) == 0);
  while (!h.schemas) sched_yield();
  CHECK(cdv_producer_wait(p, 1000) == 0);
  cdv_producer_stop(p);
  CHECK(cdv_producer_wait(p, -1) == 1 && cdv_producer_outcome(p, &code) == CDV_STOPPED);
  CHECK(h.errors == 1 && h.code == ECANCELED && h.releases == 1 && !h.ends);
  cdv_producer_unref(p);
  /* an invalid handler is refused before anything is called */
  struct cdv_stream *s = make_source(1, 0);
  CHECK(cdv_producer_new(s, NULL, NULL, &p) == EINVAL);
  strict_init(&h);
  h.face.on_error = NULL;
  CHECK(cdv_producer_new(s, &h.face, NULL, &p) == EINVAL);
  cdv_stream_close(s);
  /* metadata of the producer, and the words a reader of the other listing looks at */
  strict_init(&h);
  h.first_request = 1;
  char meta[] = "\0\0\0\0";
  CHECK(cdv_producer_new(make_source(0, 0), &h.face, meta, &p) == 0);
  cdv_producer_run(p);
  CHECK(h.producer->additional_metadata && h.producer->additional_metadata != meta && !h.producer->private_data);
  cdv_producer_unref(p);
}

static void test_producer_outlives_its_tasks(void) {
  struct strict h;
  struct cdv_producer *p;
  strict_init(&h);
  h.first_request = 10;
  h.hold = 1;
  CHECK(cdv_producer_new(make_source(5, 0), &h.face, NULL, &p) == 0);
  cdv_producer_run(p);
  CHECK(h.releases == 1 && h.n == 5);
  int64_t left;
  CHECK(cdv_producer_sent(p, &left) == 5 && left == 5);
  struct ArrowAsyncProducer *face = h.producer;
  cdv_producer_unref(p);
  for (int i = 0; i < 5; i++) { /* libarrow's consumer asks on while it empties its queue */
    face->request(face, 1);
    if (i == 2) face->cancel(face);
    strict_extract(&h, &h.kept[i], i & 1);
  }
}

/* Consumers at random: extraction and requests on other threads, cancels and refusals anywhere. */
struct helper {
  struct strict *h;
  unsigned seed;
  atomic_int stop;
};
static void *extract_elsewhere(void *arg) {
  struct helper *x = arg;
  struct strict *h = x->h;
  for (;;) {
    int last = atomic_load(&x->stop);
    struct ArrowAsyncTask t;
    pthread_mutex_lock(&h->lock);
    int got = h->n > 0;
    if (got) {
      t = h->kept[0];
      memmove(h->kept, h->kept + 1, (size_t)--h->n * sizeof t);
    }
    pthread_mutex_unlock(&h->lock);
    if (got) {
      int before = rnd(&x->seed, 4) > 0; /* asking while a task is held is always allowed */
      if (before) ask(h, 1);
      if (rnd(&x->seed, 20) == 0) {
        atomic_store(&h->cancelled, 1);
        h->producer->cancel(h->producer);
      }
      if (!before) ask(h, 1);
      strict_extract(h, &t, (int)rnd(&x->seed, 2));
    } else if (last) {
      return NULL;
    } else {
      sched_yield();
    }
  }
}

static void test_producer_at_random(int runs) {
  for (int i = 0; i < runs; i++) {
    unsigned seed = (unsigned)i * 7919 + 1;
    struct strict h;
    strict_init(&h);
    h.seed = seed;
    h.hold = 1;
    h.first_request = (int)rnd(&seed, 6) + 1;
    if (rnd(&seed, 5) == 0) h.refuse_at = (int)rnd(&seed, 8) + 1;
    int n = (int)rnd(&seed, 40), fails = rnd(&seed, 4) == 0, code;
    struct helper x = {&h, seed, 0};
    struct cdv_producer *p;
    pthread_t helper;
    CHECK(cdv_producer_new(make_source(n, fails), &h.face, NULL, &p) == 0);
    CHECK(cdv_producer_start(p) == 0);
    pthread_create(&helper, NULL, extract_elsewhere, &x);
    if (rnd(&seed, 6) == 0) cdv_producer_stop(p);
    CHECK(cdv_producer_wait(p, -1) == 1);
    int ending = cdv_producer_outcome(p, &code);
    CHECK(h.releases == 1 && h.schemas == 1);
    CHECK((ending == CDV_FINISHED || ending == CDV_CANCELLED) == (h.ends == 1));
    CHECK((ending == CDV_FAILED || ending == CDV_STOPPED) == (h.errors == 1));
    atomic_store(&x.stop, 1);
    pthread_join(helper, NULL);
    CHECK(h.tasks - (ending == CDV_REFUSED) == h.extracted);
    if (ending == CDV_FINISHED) CHECK(h.tasks == n);
    cdv_producer_unref(p);
    nothing_lives();
  }
}

/* ---- a strict producer: is our consumer well-behaved? ---- */
enum {
  GOOD,
  NO_PRODUCER,
  BAD_TYPE,
  TWO_SCHEMAS,
  BAD_SCHEMAS,
  TASK_FIRST,
  END_FIRST,
  TOO_MANY,
  NO_EXTRACT,
  EXTRACT_FAILS,
  EXTRACT_EMPTY,
  WRONG_DEVICE,
  BAD_ARRAY,
  ERROR,
  ERROR_FIRST,
  RELEASE_EARLY,
  AFTER_END,
  AFTER_ERROR,
  RELEASE_TWICE,
  CONCURRENT,
  KINDS
};
struct producer {
  struct ArrowAsyncProducer *face; /* freed as early as libarrow frees its own */
  struct ArrowAsyncDeviceStreamHandler *handler;
  int kind, n;
  atomic_int cancels, dead, callback;
  atomic_llong asked, sent, extracted;
  int64_t queue_size;
  int echo_error, only_release; /* what follows a cancel */
};
static void may_be_called(struct producer *p) {
  CHECK(!p->dead);
  long long extracted = p->extracted; /* first: the producer may send and lose another task between the two loads */
  CHECK(p->callback || p->sent > extracted); /* where libarrow's producer is known to live */
}
static void strict_request(struct ArrowAsyncProducer *self, int64_t n) {
  struct producer *p = self->private_data;
  may_be_called(p);
  CHECK(n > 0);
  atomic_fetch_add(&p->asked, n);
}
static void strict_cancel(struct ArrowAsyncProducer *self) {
  struct producer *p = self->private_data;
  may_be_called(p);
  CHECK(p->cancels++ == 0);
}
static int produce_array(struct ArrowAsyncTask *t, struct ArrowDeviceArray *out) {
  struct producer *p = t->private_data;
  atomic_fetch_add(&p->extracted, 1);
  if (!out) return 0;
  CHECK(!out->array.release); /* zeroed before the call */
  if (p->kind == EXTRACT_FAILS) return ENODATA;
  if (p->kind == EXTRACT_EMPTY) return 0;
  CHECK(cdv_array_export(array, out) == 0);
  if (p->kind == WRONG_DEVICE) out->device_type = 7;
  if (p->kind == BAD_ARRAY) out->array.length = -5;
  return 0;
}
static int give_schema(struct producer *p) {
  struct ArrowSchema s;
  CHECK(cdv_schema_export(schema, &s) == 0);
  p->callback = 1;
  int r = p->handler->on_schema(p->handler, &s);
  p->callback = 0;
  CHECK(!s.release); /* moved or released, also where it was refused */
  if (s.release) s.release(&s);
  return r;
}
static const char metadata[] = "\1\0\0\0\1\0\0\0k\1\0\0\0v"; /* k: v */
static int give_bad_schema(struct producer *p) {
  struct ArrowSchema s = {.format = "?", .name = "", .release = schema_release};
  p->callback = 1;
  int r = p->handler->on_schema(p->handler, &s);
  p->callback = 0;
  CHECK(!s.release);
  return r;
}
static int give_task(struct producer *p) {
  struct ArrowAsyncTask t = {p->kind == NO_EXTRACT ? NULL : produce_array, p};
  atomic_fetch_add(&p->sent, 1);
  p->callback = 1;
  int r = p->handler->on_next_task(p->handler, &t, NULL);
  p->callback = 0;
  memset(&t, 0x55, sizeof t); /* it was valid during the call only */
  if (r) atomic_fetch_add(&p->extracted, 1);
  CHECK(p->sent - p->extracted <= p->queue_size + 1);
  return r;
}
static void *end_elsewhere(void *arg) {
  struct producer *p = arg;
  CHECK(p->handler->on_next_task(p->handler, NULL, NULL) != 0); /* while on_schema runs */
  return NULL;
}
static void concurrent_request(struct ArrowAsyncProducer *self, int64_t n) {
  pthread_t other;
  (void)n;
  pthread_create(&other, NULL, end_elsewhere, self->private_data);
  pthread_join(other, NULL);
}

static void *strict_produce(void *arg) {
  struct producer *p = arg;
  struct ArrowAsyncDeviceStreamHandler *h = p->handler;
  struct ArrowAsyncProducer *face = calloc(1, sizeof *face);
  face->device_type = p->kind == BAD_TYPE ? 0 : 1;
  face->request = p->kind == CONCURRENT ? concurrent_request : strict_request;
  face->cancel = strict_cancel;
  face->private_data = p;
  if (p->kind == BAD_SCHEMAS) face->additional_metadata = metadata;
  p->face = face;
  h->producer = p->kind == NO_PRODUCER ? NULL : face;
  int r = 0, end = 1;
  if (p->kind == ERROR_FIRST) {
    h->on_error(h, EACCES, "no entry", NULL);
    goto released;
  }
  if (p->kind == TASK_FIRST) {
    r = give_task(p);
    CHECK(r);
    goto released;
  }
  if (p->kind == END_FIRST) {
    h->on_next_task(h, NULL, NULL);
    goto released;
  }
  if (p->kind == BAD_SCHEMAS) { /* what the first one left is not lost: the leak checker sees it */
    CHECK(give_bad_schema(p) != 0);
    CHECK(give_bad_schema(p) != 0);
    goto released;
  }
  r = give_schema(p);
  if (r || p->kind == NO_PRODUCER || p->kind == BAD_TYPE) {
    CHECK(r != 0);
    goto released;
  }
  if (p->kind == TWO_SCHEMAS) {
    CHECK(give_schema(p) != 0);
    goto released;
  }
  for (int i = 0; i < p->n && !p->cancels && !r; i++) {
    if (p->kind != TOO_MANY)
      while (p->sent >= p->asked && !p->cancels) sched_yield();
    if (p->kind == TOO_MANY || !p->cancels) r = give_task(p);
    if (p->kind == TOO_MANY && r) break;
    if (p->kind == EXTRACT_FAILS && i == 0) {
      while (!p->extracted) sched_yield();
      h->on_error(h, ENODATA, "the task lost its data", NULL);
      end = 0;
      goto released;
    }
  }
  if (p->kind == TOO_MANY || p->kind == NO_EXTRACT) CHECK(r != 0);
  if (r) end = 0;
  if (p->kind == RELEASE_EARLY) end = 0;
  if (p->cancels && p->only_release) end = 0;
  if (p->cancels && p->echo_error) {
    h->on_error(h, EINVAL, "cancelled", NULL);
    end = 0;
  }
  if (end && (p->kind == ERROR || p->kind == AFTER_ERROR)) {
    h->on_error(h, EPIPE, "the pipe burst", NULL);
  } else if (end) {
    h->on_next_task(h, NULL, NULL);
  }
  if (p->kind == AFTER_END) {
    struct ArrowAsyncTask t = {produce_array, p};
    CHECK(h->on_next_task(h, &t, NULL) != 0);
    h->on_error(h, 5, "and another thing", NULL);
  }
released:
  if (p->kind == RELEASE_EARLY) { /* nothing came before it to report it: it may be called until then */
    h->release(h);
    p->dead = 1;
    free(face);
    return NULL;
  }
  p->dead = 1;
  free(face); /* libarrow does so even before the end */
  h->release(h);
  if (p->kind == RELEASE_TWICE) h->release(h);
  return NULL;
}

static void *read_all(struct cdv_consumer *c, int *n, int *code) {
  struct cdv_array *a;
  *n = 0;
  for (;;) {
    *code = cdv_consumer_take(c, -1, &a, NULL);
    if (*code || !a) return NULL;
    CHECK(a->length == 4);
    cdv_array_unref(a);
    ++*n;
  }
}

static void test_consumer_meets(int kind, int n, int queue_size, int want_n, int want_code, const char *text) {
  struct cdv_consumer *c;
  CHECK(cdv_consumer_new(queue_size, 1, &c) == 0);
  struct producer p = {.kind = kind, .n = n, .queue_size = queue_size, .handler = cdv_consumer_handler(c)};
  pthread_t thread;
  pthread_create(&thread, NULL, strict_produce, &p);
  int got, code;
  if (kind == TOO_MANY || kind == AFTER_END || kind == RELEASE_TWICE || kind == AFTER_ERROR)
    pthread_join(thread, NULL); /* all its faults are there before anything is taken */
  read_all(c, &got, &code);
  if (got != want_n || code != want_code || (text && !strstr(cdv_error_last()->message, text))) {
    fprintf(stderr, "kind %d: %d arrays, code %d (%s)\n", kind, got, code, code ? cdv_error_last()->message : "");
    CHECK(!"as expected");
  }
  struct cdv_array *a;
  CHECK(cdv_consumer_take(c, 0, &a, NULL) == 0 && !a); /* after an error, the end */
  if (kind != TOO_MANY && kind != AFTER_END && kind != RELEASE_TWICE && kind != AFTER_ERROR) pthread_join(thread, NULL);
  CHECK(cdv_consumer_state(c) & CDV_HANDLER_RELEASED);
  cdv_consumer_unref(c);
  CHECK(p.sent == p.extracted);
  CHECK(cdv_live_async() == 0);
}

static void test_consumer_rules(void) {
  for (int q = 1; q < 8; q++)
    for (int n = 0; n < 12; n++) test_consumer_meets(GOOD, n, q, n, 0, NULL);
  test_consumer_meets(NO_PRODUCER, 1, 2, 0, EPROTO, "handler->producer");
  test_consumer_meets(BAD_TYPE, 1, 2, 0, EPROTO, "device type");
  test_consumer_meets(TWO_SCHEMAS, 1, 2, 0, EPROTO, "twice");
  test_consumer_meets(BAD_SCHEMAS, 1, 2, 0, EINVAL, "format");
  test_consumer_meets(TASK_FIRST, 1, 2, 0, EPROTO, "before on_schema");
  test_consumer_meets(END_FIRST, 1, 2, 0, EPROTO, "before a schema");
  test_consumer_meets(TOO_MANY, 9, 4, 4, EPROTO, "more than was requested");
  test_consumer_meets(NO_EXTRACT, 1, 2, 0, EPROTO, "extract_data");
  test_consumer_meets(EXTRACT_FAILS, 3, 1, 0, ENODATA, "lost its data");
  test_consumer_meets(EXTRACT_EMPTY, 1, 1, 0, EPROTO, "returned no array");
  test_consumer_meets(WRONG_DEVICE, 1, 1, 0, EINVAL, "in a stream on");
  test_consumer_meets(BAD_ARRAY, 1, 1, 0, EINVAL, "length");
  test_consumer_meets(ERROR, 3, 2, 3, EPIPE, "pipe burst");
  test_consumer_meets(ERROR_FIRST, 3, 2, 0, EACCES, "no entry");
  test_consumer_meets(RELEASE_EARLY, 3, 2, 3, EPROTO, "release was called before the end");
  test_consumer_meets(AFTER_END, 3, 4, 3, EPROTO, "after the end");
  test_consumer_meets(AFTER_ERROR, 3, 4, 3, EPIPE, "pipe burst");
  test_consumer_meets(RELEASE_TWICE, 2, 4, 2, 0, NULL);
  test_consumer_meets(CONCURRENT, 0, 2, 0, EPROTO, "during another callback");
  struct cdv_consumer *c;
  CHECK(cdv_consumer_new(0, 1, &c) == EINVAL && cdv_consumer_new(-3, 1, &c) == EINVAL);
  CHECK(cdv_consumer_new(4, 1, &c) == 0); /* never passed to a producer */
  struct cdv_array *a;
  CHECK(cdv_consumer_take(c, 1000, &a, NULL) == EAGAIN);
  cdv_consumer_close(c);
  CHECK(cdv_consumer_take(c, 1000, &a, NULL) == EINVAL && strstr(cdv_error_last()->message, "closed"));
  cdv_consumer_unref(c);
  CHECK(cdv_live_async() == 0);
}

static void test_leaving_early(int runs) {
  for (int i = 0; i < runs; i++) {
    unsigned seed = (unsigned)i * 104729 + 3;
    int q = (int)rnd(&seed, 6) + 1, leave = (int)rnd(&seed, 10);
    struct cdv_consumer *c;
    CHECK(cdv_consumer_new(q, 1, &c) == 0);
    struct producer p = {.kind = GOOD, .n = 1000000, .queue_size = q, .handler = cdv_consumer_handler(c)};
    p.only_release = rnd(&seed, 3) == 0;
    p.echo_error = rnd(&seed, 3) == 0;
    pthread_t thread;
    pthread_create(&thread, NULL, strict_produce, &p);
    struct cdv_array *a;
    for (int k = 0; k < leave; k++) {
      CHECK(cdv_consumer_take(c, -1, &a, NULL) == 0 && a);
      if (a) cdv_array_unref(a);
    }
    if (rnd(&seed, 2)) cdv_consumer_close(c);
    cdv_consumer_unref(c); /* before the producer has ended */
    pthread_join(thread, NULL);
    CHECK(p.sent == p.extracted);
    CHECK(cdv_live_async() == 0);
  }
}

/* ---- both of cdevice, at random, closed from a third thread ---- */
struct closer {
  struct cdv_consumer *c;
  struct cdv_producer *p;
  unsigned seed;
};
static void *interfere(void *arg) {
  struct closer *x = arg;
  unsigned spin = rnd(&x->seed, 3000), what = rnd(&x->seed, 4);
  for (volatile unsigned k = 0; k < spin; k++) {}
  if (what == 0) cdv_producer_stop(x->p);
  if (what == 1) cdv_consumer_close(x->c);
  if (what == 2) {
    cdv_consumer_close(x->c);
    cdv_producer_stop(x->p);
  }
  return NULL;
}

static void test_ours_to_ours(int runs) {
  int endings[8] = {0};
  for (int i = 0; i < runs; i++) {
    unsigned seed = (unsigned)i * 31337 + 11;
    int q = (int)rnd(&seed, 9) + 1, n = (int)rnd(&seed, 60), fails = rnd(&seed, 3) == 0, got, code, ending;
    struct cdv_consumer *c;
    struct cdv_producer *p;
    CHECK(cdv_consumer_new(q, 1, &c) == 0);
    CHECK(cdv_producer_new(make_source(n, fails), cdv_consumer_handler(c), NULL, &p) == 0);
    CHECK(cdv_producer_start(p) == 0);
    struct closer x = {c, p, seed};
    pthread_t third;
    pthread_create(&third, NULL, interfere, &x);
    read_all(c, &got, &code);
    CHECK(got <= n);
    pthread_join(third, NULL);
    cdv_consumer_close(c);
    CHECK(cdv_producer_wait(p, -1) == 1); /* it always ends */
    ending = cdv_producer_outcome(p, &code);
    endings[ending]++;
    if (ending == CDV_FINISHED && !(cdv_consumer_state(c) & CDV_CLOSED)) CHECK(got == n);
    int64_t left;
    cdv_producer_sent(p, &left);
    CHECK(left == 0);
    cdv_producer_unref(p);
    cdv_consumer_unref(c);
    nothing_lives();
  }
  CHECK(endings[CDV_FINISHED] && endings[CDV_CANCELLED] && endings[CDV_FAILED]);
}

/* ---- bridges ---- */
static void test_an_asynchronous_stream_as_a_stream(void) {
  for (int fails = 0; fails < 2; fails++) {
    struct cdv_consumer *c;
    struct cdv_producer *p;
    struct cdv_stream *s;
    struct cdv_array *a;
    CHECK(cdv_consumer_new(3, 1, &c) == 0);
    CHECK(cdv_producer_new(make_source(20, fails), cdv_consumer_handler(c), NULL, &p) == 0);
    CHECK(cdv_producer_start(p) == 0);
    CHECK(cdv_consumer_stream(c, &s) == 0 && s->device_type == 1);
    struct ArrowDeviceArrayStream out;
    CHECK(cdv_stream_export(s, NULL, &out) == 0);
    int n = 0, r;
    struct ArrowDeviceArray d;
    while (!(r = out.get_next(&out, &d)) && d.array.release) {
      d.array.release(&d.array);
      n++;
    }
    CHECK(n == 20 && r == (fails ? EIO : 0));
    if (fails) CHECK(strstr(out.get_last_error(&out), "well is dry"));
    out.release(&out);
    cdv_producer_wait(p, -1);
    cdv_producer_unref(p);
    (void)a;
  }
  nothing_lives();
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? atoi(argv[1]) : 400;
  make_data();
  test_producer_rules();
  test_producer_outlives_its_tasks();
  test_producer_at_random(runs);
  test_consumer_rules();
  test_leaving_early(runs);
  test_ours_to_ours(runs * 2);
  test_an_asynchronous_stream_as_a_stream();
  cdv_array_unref(array);
  cdv_schema_unref(schema);
  nothing_lives();
  CHECK(cdv_live_arrays() == 0 && cdv_live_exports() == 0);
  if (failures) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
