/* stream.c - streams of arrays: over ready arrays, imported, exported. */
#include "core/stream/stream.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/system.h"
#include "core/event/event.h"
#include "core/format/schema.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN, ENDED, FAILED };

static atomic_llong live;
int64_t cdv_live_streams(void) { return atomic_load(&live); }

/* ---- waiting ---- */
static int (*look_up)(void);
void cdv_set_signal_check(int (*f)(void)) { look_up = f; }
int cdv_check_signals(void) { return look_up ? look_up() : 0; }

static atomic_int forks;
int cdv_fork_generation(void) { return atomic_load_explicit(&forks, memory_order_relaxed); }
static void forked(void) { atomic_fetch_add(&forks, 1); }
__attribute__((constructor)) static void init(void) { cdv_at_fork(NULL, NULL, forked); }

/* ---- what all kinds share ---- */
void cdv_stream_init(struct cdv_stream *s, struct cdv_schema *schema, int32_t device_type,
                     int (*next)(struct cdv_stream *, struct cdv_array **), void (*close)(struct cdv_stream *)) {
  memset(s, 0, sizeof *s);
  s->device_type = device_type;
  s->device_id = device_type == ARROW_DEVICE_CPU ? -1 : 0;
  s->schema = cdv_schema_ref(schema);
  s->next = next;
  s->close = close;
  atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
}

static int fits(struct cdv_stream *s, struct cdv_array *a) {
  const struct ArrowDeviceArray *own = &a->root->own;
  if (own->device_type == s->device_type)
    s->device_id = own->device_id;
  else if (!cdv_has_no_device_memory(own->device_type, a->node))
    return cdv_fail(CDV_STREAM, EINVAL, "an array on %s in a stream on %s", cdv_device_type_name(own->device_type),
                    cdv_device_type_name(s->device_type));
  if (cdv_schema_same_type(a->schema, s->schema)) return 0;
  char how[320];
  cdv_schema_difference(a->schema->node, s->schema->node, how, sizeof how);
  return cdv_fail(CDV_STREAM, EINVAL, "an array has a different schema than its stream: %s", how);
}

int cdv_stream_next(struct cdv_stream *s, struct cdv_array **out) {
  *out = NULL;
  if (s->state == ENDED) return 0;
  if (s->state == FAILED) return cdv_fail(CDV_STREAM, EIO, "the stream has failed before: %s", s->why);
  if (s->metadata) {
    free(s->metadata);
    s->metadata = NULL;
  }
  int r = s->next(s, out);
  if (!r && !*out) s->state = ENDED;
  if (!r && *out) {
    r = fits(s, *out);
    if (!r && s->has_wait_stream)
      r = cdv_event_wait_stream(*out, s->device_type, (*out)->root->own.device_id, s->wait_stream);
    if (r) {
      cdv_array_unref(*out);
      *out = NULL;
    }
  }
  if (r && !cdv_error_last()->retryable) {
    s->state = FAILED;
    snprintf(s->why, sizeof s->why, "%.255s", cdv_error_last()->message);
  }
  return r;
}

int cdv_stream_accept(struct ArrowDeviceArray *d, struct cdv_schema *schema, int level, int32_t device_type,
                      int64_t device_id, struct cdv_array **out) {
  int r = 0;
  if (d->device_type != device_type && cdv_has_no_device_memory(d->device_type, &d->array)) {
    d->device_type = device_type;
    d->device_id = device_id;
  }
  if (d->device_type != device_type)
    r = cdv_fail(CDV_STREAM, EINVAL, "the producer sent an array on %s in a stream on %s",
                 cdv_device_type_name(d->device_type), cdv_device_type_name(device_type));
  if (!r) r = cdv_array_import(d, schema, level, out);
  if (r) d->array.release(&d->array);
  return r;
}

int cdv_stream_export_array(const struct cdv_stream *s, struct cdv_array *a, struct ArrowDeviceArray *out) {
  int r = cdv_array_export_move(a, out);
  if (r || out->device_type == s->device_type) return r;
  out->device_type = s->device_type; /* one without buffers, see cdv_has_no_device_memory() */
  out->device_id = s->device_id;
  return 0;
}

void cdv_stream_interrupt(struct cdv_stream *s) {
  if (s->interrupt) s->interrupt(s);
}

struct cdv_stream *cdv_stream_upstream(struct cdv_stream *s) { return s->upstream ? s->upstream(s) : NULL; }

void cdv_stream_close(struct cdv_stream *s) {
  struct cdv_schema *schema = s->schema;
  free(s->metadata);
  s->close(s);
  cdv_schema_unref(schema);
  atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
}

/* ---- ready arrays ---- */
struct ready {
  struct cdv_stream s;
  int64_t n, at;
  struct cdv_array *arrays[];
};

static int ready_next(struct cdv_stream *s, struct cdv_array **out) {
  struct ready *r = (struct ready *)s;
  if (r->at < r->n) *out = r->arrays[r->at++];
  for (int64_t i = r->at, step = 2; step >= 0 && i < r->n; i++, step--) /* they lie scattered, and in no cache */
    if (r->arrays[i] != *out) cdv_array_prefetch_cache(r->arrays[i], (int)step);
  return 0;
}

static void ready_close(struct cdv_stream *s) {
  struct ready *r = (struct ready *)s;
  while (r->at < r->n) cdv_array_unref(r->arrays[r->at++]);
  free(r);
}

int cdv_stream_of_arrays(struct cdv_schema *schema, int32_t device_type, struct cdv_array *const *arrays, int64_t n,
                         struct cdv_stream **out) {
  size_t size = sizeof(struct ready) + (size_t)n * sizeof *arrays;
  struct ready *r = malloc(size);
  if (!r) return cdv_fail_memory((int64_t)size, "a stream");
  cdv_stream_init(&r->s, schema, device_type, ready_next, ready_close);
  r->s.nonblocking = true;
  r->n = n;
  r->at = 0;
  for (int64_t i = 0; i < n; i++) r->arrays[i] = cdv_array_ref(arrays[i]);
  *out = &r->s;
  return 0;
}

/* ---- exported ---- */
struct exported {
  struct cdv_stream *stream;
  struct cdv_schema *schema; /* announced instead of the stream's own, or NULL */
  atomic_int use;            /* IDLE, BUSY: a thread is inside, GONE: released meanwhile, and that thread clears away */
  char message[1536];        /* of the last call, or empty */
};
enum { IDLE, BUSY, GONE };

static _Thread_local struct exported *refused; /* the stream that this thread did not get into */
static const char in_use[] = "the stream is in use by another thread; one at a time may read it";

static void drop(struct exported *e) {
  cdv_stream_close(e->stream);
  if (e->schema) cdv_schema_unref(e->schema);
  free(e);
}

/* The interface leaves it to the caller that one thread reads at a time; one that does not gets an error, no crash. */
static bool enter(struct exported *e) {
  int idle = IDLE;
  bool mine = atomic_compare_exchange_strong(&e->use, &idle, BUSY);
  refused = mine ? NULL : e;
  return mine;
}

static int leave(struct exported *e, int r) {
  e->message[0] = 0;
  if (r) snprintf(e->message, sizeof e->message, "%s", cdv_error_last()->message);
  int busy = BUSY;
  if (!atomic_compare_exchange_strong(&e->use, &busy, IDLE)) drop(e);
  return r;
}

static void release(struct exported *e) {
  if (atomic_exchange(&e->use, GONE) != BUSY) drop(e);
}

static const char *last_error(struct exported *e) { return refused == e ? in_use : e->message[0] ? e->message : NULL; }

static int get_schema(struct exported *e, struct ArrowSchema *out) {
  out->release = NULL;
  if (!enter(e)) return EBUSY;
  return leave(e, cdv_schema_export(e->schema ? e->schema : e->stream->schema, out));
}

static int get_next(struct exported *e, struct ArrowDeviceArray *out, bool wait) {
  struct cdv_array *a = NULL;
  out->array.release = NULL;
  if (!enter(e)) return EBUSY;
  int r = cdv_stream_next(e->stream, &a);
  if (a) {
    if (wait) r = cdv_array_readable(a, "__arrow_c_stream__");
    if (!r) r = cdv_stream_export_array(e->stream, a, out);
    if (r) cdv_array_unref(a);
  }
  return leave(e, r);
}

static int device_get_schema(struct ArrowDeviceArrayStream *self, struct ArrowSchema *out) {
  return get_schema(self->private_data, out);
}
static int device_get_next(struct ArrowDeviceArrayStream *self, struct ArrowDeviceArray *out) {
  return get_next(self->private_data, out, false);
}
static const char *device_get_last_error(struct ArrowDeviceArrayStream *self) { return last_error(self->private_data); }
static void device_release(struct ArrowDeviceArrayStream *self) {
  self->release = NULL;
  release(self->private_data);
}

static int plain_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
  return get_schema(self->private_data, out);
}
static int plain_get_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
  struct ArrowDeviceArray d;
  int r = get_next(self->private_data, &d, true);
  if (!r && d.array.release)
    *out = d.array;
  else
    out->release = NULL;
  return r;
}
static const char *plain_get_last_error(struct ArrowArrayStream *self) { return last_error(self->private_data); }
static void plain_release(struct ArrowArrayStream *self) {
  self->release = NULL;
  release(self->private_data);
}

static struct exported *new_exported(struct cdv_stream *s, struct cdv_schema *schema) {
  struct exported *e = malloc(sizeof *e);
  if (!e) {
    cdv_fail_memory(sizeof *e, "a stream");
    return NULL;
  }
  e->stream = s;
  e->schema = schema ? cdv_schema_ref(schema) : NULL;
  atomic_init(&e->use, IDLE);
  e->message[0] = 0;
  return e;
}

int cdv_stream_export(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowDeviceArrayStream *out) {
  struct exported *e = new_exported(s, schema);
  if (!e) return ENOMEM;
  out->device_type = s->device_type;
  out->get_schema = device_get_schema;
  out->get_next = device_get_next;
  out->get_last_error = device_get_last_error;
  out->release = device_release;
  out->private_data = e;
  return 0;
}

int cdv_stream_export_plain(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowArrayStream *out) {
  if (!cdv_host_accessible(s->device_type))
    return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP,
                    "__arrow_c_stream__: the data is on %s, which the CPU cannot read; copy it with .to(\"cpu\")",
                    cdv_device_type_name(s->device_type));
  struct exported *e = new_exported(s, schema);
  if (!e) return ENOMEM;
  out->get_schema = plain_get_schema;
  out->get_next = plain_get_next;
  out->get_last_error = plain_get_last_error;
  out->release = plain_release;
  out->private_data = e;
  return 0;
}

/* ---- imported ---- */
struct imported {
  struct cdv_stream s;
  int level;
  bool plain;
  union {
    struct ArrowDeviceArrayStream device;
    struct ArrowArrayStream plain;
  } in;
};

/* What was raised on this thread inside the producer's call is the cause. */
static int producer_failed(struct imported *i, int code, const char *doing) {
  const char *text = NULL; /* a producer that has nothing to say may leave the function out */
  if (i->plain && i->in.plain.get_last_error) text = i->in.plain.get_last_error(&i->in.plain);
  if (!i->plain && i->in.device.get_last_error) text = i->in.device.get_last_error(&i->in.device);
  int urgent = cdv_error_last()->is_interrupt;
  struct cdv_shared *cause = cdv_error_take_cause();
  int r = cdv_fail(code == ENOMEM ? CDV_MEMORY : CDV_STREAM, code < 0 ? EIO : code,
                   "the producer of the stream failed in %s: %s (errno %d: %s)", doing, text ? text : "no reason given",
                   code, strerror(code));
  if (cause) cdv_error_set_cause(cause, urgent);
  return r;
}

/* A stream of cdevice that was exported and came back; or NULL. */
static struct cdv_stream *own_source(struct cdv_stream *s) {
  struct imported *i = (struct imported *)s;
  struct exported *e = NULL;
  if (!i->plain && i->in.device.get_next == device_get_next) e = i->in.device.private_data;
  if (i->plain && i->in.plain.get_next == plain_get_next) e = i->in.plain.private_data;
  return e ? e->stream : NULL;
}

static void imported_interrupt(struct cdv_stream *s) { cdv_stream_interrupt(own_source(s)); }

static int imported_next(struct cdv_stream *s, struct cdv_array **out) {
  struct imported *i = (struct imported *)s;
  struct ArrowDeviceArray d;
  memset(&d, 0, sizeof d);
  int code;
  cdv_shared_unref(cdv_error_take_cause()); /* a later cause was raised inside */
  if (i->plain) {
    d.device_type = ARROW_DEVICE_CPU;
    d.device_id = -1;
    code = i->in.plain.get_next(&i->in.plain, &d.array);
  } else {
    code = i->in.device.get_next(&i->in.device, &d);
  }
  if (code) return producer_failed(i, code, "get_next");
  if (!d.array.release) return 0;
  return cdv_stream_accept(&d, s->schema, i->level, s->device_type, s->device_id, out);
}

static void imported_close(struct cdv_stream *s) {
  struct imported *i = (struct imported *)s;
  if (i->plain) {
    if (i->in.plain.release) i->in.plain.release(&i->in.plain);
  } else if (i->in.device.release) {
    i->in.device.release(&i->in.device);
  }
  free(i);
}

static int lacks(const struct imported *i) {
  bool schema = i->plain ? !i->in.plain.get_schema : !i->in.device.get_schema;
  bool next = i->plain ? !i->in.plain.get_next : !i->in.device.get_next;
  if (!schema && !next) return 0;
  return cdv_fail(CDV_STREAM, EINVAL, "the stream has no function %s: its producer left the pointer NULL",
                  schema ? "get_schema" : "get_next");
}

/* i->in is filled; asks for the schema. */
static int finish_import(struct imported *i, int32_t device_type, struct cdv_stream **out) {
  struct ArrowSchema schema;
  struct cdv_schema *s = NULL;
  memset(&schema, 0, sizeof schema);
  int r = lacks(i);
  if (r) {
    imported_close(&i->s);
    return r;
  }
  r = i->plain ? i->in.plain.get_schema(&i->in.plain, &schema) : i->in.device.get_schema(&i->in.device, &schema);
  if (r) {
    r = producer_failed(i, r, "get_schema");
  } else if (!schema.release) {
    r = cdv_fail(CDV_STREAM, EINVAL, "the producer of the stream returned a released schema");
  } else {
    r = cdv_schema_import(&schema, &s);
    if (r) schema.release(&schema);
  }
  if (r) {
    imported_close(&i->s);
    return r;
  }
  cdv_stream_init(&i->s, s, device_type, imported_next, imported_close);
  cdv_schema_unref(s);
  i->s.upstream = own_source;
  struct cdv_stream *own = own_source(&i->s);
  if (own && own->interrupt) i->s.interrupt = imported_interrupt;
  if (own && !i->plain) i->s.nonblocking = own->nonblocking;
  *out = &i->s;
  return 0;
}

static struct imported *new_imported(bool plain, int level) {
  struct imported *i = malloc(sizeof *i);
  if (i) {
    i->plain = plain;
    i->level = level;
  }
  return i;
}

static int no_memory(void) { return cdv_fail_memory(sizeof(struct imported), "a stream"); }

static int was_released(void) { return cdv_fail(CDV_RELEASED, EINVAL, "the stream has been released"); }

int cdv_stream_import(struct ArrowDeviceArrayStream *in, int level, struct cdv_stream **out) {
  if (!in->release) return was_released();
  struct imported *i = new_imported(false, level);
  if (!i) {
    in->release(in);
    return no_memory();
  }
  i->in.device = *in;
  in->release = NULL;
  if (i->in.device.device_type > 0) return finish_import(i, i->in.device.device_type, out);
  int32_t type = i->in.device.device_type;
  imported_close(&i->s);
  return cdv_fail(CDV_STREAM, EINVAL, "stream: device type %d is not positive", type);
}

int cdv_stream_import_plain(struct ArrowArrayStream *in, int level, struct cdv_stream **out) {
  if (!in->release) return was_released();
  struct imported *i = new_imported(true, level);
  if (!i) {
    in->release(in);
    return no_memory();
  }
  i->in.plain = *in;
  in->release = NULL;
  return finish_import(i, ARROW_DEVICE_CPU, out);
}

/* ---- for tests ---- */
static void *drain_thread(void *p) {
  struct ArrowDeviceArrayStream *s = p;
  int64_t n = 0;
  struct ArrowDeviceArray a;
  for (;;) {
    if (s->get_next(s, &a)) return (void *)-1;
    if (!a.array.release) break;
    a.array.release(&a.array);
    n++;
  }
  s->release(s);
  return (void *)(intptr_t)n;
}

int64_t cdv_drain_in_thread(struct ArrowDeviceArrayStream *stream) {
  pthread_t thread;
  void *n = NULL;
  if (pthread_create(&thread, NULL, drain_thread, stream)) return -1;
  pthread_join(thread, &n);
  return (int64_t)(intptr_t)n;
}
