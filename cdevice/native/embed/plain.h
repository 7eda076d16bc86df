/* plain.h - the functions of cdevice.h that need no Python, over the core: for the table of the extension (capi.c) and for
 * the library that is the core alone (alone.c). */
#ifndef CDEVICE_NATIVE_EMBED_PLAIN_H
#define CDEVICE_NATIVE_EMBED_PLAIN_H

#include <stdbool.h>
#include <stdlib.h>

#include "cdevice/cdevice.h"
#include "core/array/array.h"
#include "core/array/dlpack.h"
#include "core/array/equal.h"
#include "core/array/info.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_run.h"
#include "core/backend/external_allocator.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/copy.h"
#include "core/event/event.h"
#include "core/event/retire.h"
#include "core/format/schema.h"
#include "core/stream/prefetch.h"
#include "core/stream/stream.h"
#include "core/validate/structure.h"
#include "native/support/no_such_device.h"

static const char *capi_error_text(void) { return cdv_error_last()->message; }
static int capi_error_vendor_code(void) { return cdv_error_last()->vendor_code; }
static int64_t capi_array_length(const struct cdv_array *a) { return a->length; }
static struct cdv_schema *capi_array_schema(const struct cdv_array *a) { return a->schema; }
static struct cdv_schema *capi_stream_schema(const struct cdv_stream *s) { return s->schema; }
static int32_t capi_stream_device_type(const struct cdv_stream *s) { return s->device_type; }

static void capi_array_device(const struct cdv_array *a, int32_t *type, int64_t *id) {
  *type = a->root->own.device_type;
  *id = a->root->own.device_id;
}

/* What cannot be meant, before anything is made of it. */
static int capi_level(const char *function, int level) {
  if (level >= CDEVICE_CHECK_NONE && level <= CDEVICE_CHECK_FULL) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): check is %d, expected CDEVICE_CHECK_NONE, _STRUCTURE or _FULL",
                  function, level);
}
static int capi_type(const char *function, int32_t type) {
  if (type > 0) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): device type %d is not positive", function, (int)type);
}

/* A list of n pointers as it came from C. */
static int capi_all_there(const char *function, const char *what, int64_t n, void *const *list) {
  if (n < 0 || n > INT32_MAX)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %lld %s", function, (long long)n, what);
  if (n && !list)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s is NULL, and there are %lld of them", function, what,
                    (long long)n);
  for (int64_t i = 0; i < n; i++)
    if (!list[i]) return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s[%lld] is NULL", function, what, (long long)i);
  return 0;
}

static int capi_schema_new(const char *format, const char *name, int64_t flags, int64_t n,
                           struct cdv_schema *const *children, struct cdv_schema *dictionary, struct cdv_schema **out) {
  int bad = capi_all_there("schema_new", "children", n, (void *const *)children);
  if (bad) return bad;
  struct ArrowSchema top = {.format = format, .name = name ? name : "", .flags = flags, .n_children = n}, copy;
  struct ArrowSchema **nodes = calloc((size_t)n + 1, sizeof *nodes);
  if (!nodes) return cdv_fail_memory(n, "a schema");
  for (int64_t i = 0; i < n; i++) nodes[i] = (struct ArrowSchema *)children[i]->node;
  top.children = nodes;
  if (dictionary) top.dictionary = (struct ArrowSchema *)dictionary->node;
  int r = cdv_schema_copy(&top, &copy);
  if (!r && (r = cdv_schema_import(&copy, out))) copy.release(&copy);
  free(nodes);
  return r;
}

static int capi_array_build(struct cdv_schema *schema, const cdevice_array_parts *p, int level,
                            struct cdv_array **out) {
  int bad = capi_level("array_build", level);
  if (!bad) bad = capi_all_there("array_build", "parts.children", p->n_children, (void *const *)p->children);
  if (bad) return bad;
  if (p->n_buffers < 0 || p->n_buffers > INT32_MAX)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_array_build(): %lld parts.buffers", (long long)p->n_buffers);
  if (p->n_buffers && !p->buffers)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_array_build(): parts.buffers is NULL, and there are %lld of them",
                    (long long)p->n_buffers);
  struct cdv_parts parts = {p->device_type, p->device_id,  p->length,   p->offset,     p->null_count, p->n_buffers,
                            p->buffers,     p->n_children, p->children, p->dictionary, p->sync_event};
  struct cdv_owner owner = {p->release, p->owner};
  return cdv_array_build(schema, &parts, owner, level, out);
}

static int capi_array_copy(struct cdv_array *a, int32_t type, int64_t id, void *stream, int always,
                           struct cdv_array **out) {
  int r = capi_type("array_copy", type);
  if (!r) r = cdv_array_copy(a, type, id, stream, always != 0, out);
  return r == EINVAL && no_such_device(type, id) ? cdv_error_last()->code : r;
}
static int capi_array_child(struct cdv_array *a, int64_t i, struct cdv_array **out) {
  return cdv_array_child(a, i, true, out);
}
static int capi_array_equal(struct cdv_array *a, struct cdv_array *b, int nans_equal, int *equal) {
  int r = cdv_array_readable(a, "comparing");
  if (!r) r = cdv_array_readable(b, "comparing");
  return r ? r : cdv_array_equal(a, b, nans_equal != 0, equal);
}
static int capi_stream_copy(struct cdv_stream *s, int32_t type, int64_t id, void *queue, int64_t prefetch,
                            struct cdv_stream **out) {
  int r = capi_type("stream_copy", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_stream_copy(s, type, id, queue, NULL, prefetch, false, out);
}
static int capi_stream_export(struct cdv_stream *s, struct ArrowDeviceArrayStream *out) {
  return cdv_stream_export(s, NULL, out);
}
static int capi_stream_export_cpu(struct cdv_stream *s, struct ArrowArrayStream *out) {
  return cdv_stream_export_plain(s, NULL, out);
}
static int capi_stream_new(struct cdv_schema *schema, int32_t type, struct cdv_array *const *arrays, int64_t n,
                           struct cdv_stream **out) {
  int r = capi_type("stream_new", type);
  if (!r) r = capi_all_there("stream_new", "arrays", n, (void *const *)arrays);
  return r ? r : cdv_stream_of_arrays(schema, type, arrays, n, out);
}
static int capi_array_import(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int level,
                             struct cdv_array **out) {
  int r = capi_level("array_import", level);
  return r ? r : cdv_import_pair(schema, array, level, out);
}
static int capi_array_check(struct cdv_array *a, int level) {
  int r = capi_level("array_check", level);
  return r ? r : cdv_validate_view(a, level);
}
static int capi_array_wait_stream(struct cdv_array *a, int32_t type, int64_t id, void *stream) {
  int r = capi_type("array_wait_stream", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_event_wait_stream(a, type, id, stream);
}
static int capi_get_device_info(int32_t type, int64_t id, cdevice_device_info *out) {
  int r = capi_type("get_device_info", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_device_info(type, id, out);
}
/* As the core's, a stream that is refused is released. */
static int capi_stream_import(struct ArrowDeviceArrayStream *in, int level, struct cdv_stream **out) {
  int r = capi_level("stream_import", level);
  if (r && in->release) in->release(in);
  return r ? r : cdv_stream_import(in, level, out);
}
static int capi_stream_import_cpu(struct ArrowArrayStream *in, int level, struct cdv_stream **out) {
  int r = capi_level("stream_import_cpu", level);
  if (r && in->release) in->release(in);
  return r ? r : cdv_stream_import_plain(in, level, out);
}
static int capi_consumer_new(int64_t queue_size, int level, struct cdv_consumer **out) {
  int r = capi_level("consumer_new", level);
  return r ? r : cdv_consumer_new(queue_size, level, out);
}
static int capi_consumer_next(struct cdv_consumer *c, int64_t nanoseconds, struct cdv_array **out) {
  return cdv_consumer_take(c, nanoseconds, out, NULL);
}
static int capi_produce(struct cdv_stream *s, struct ArrowAsyncDeviceStreamHandler *h, const char *metadata,
                        struct cdv_producer **out) {
  int r = cdv_producer_new(s, h, metadata, out);
  if (!r && (r = cdv_producer_start(*out))) cdv_producer_cancel_unstarted(*out);
  return r;
}

static int capi_dlpack_export(struct cdv_array *a, DLManagedTensorVersioned **out) {
  return cdv_dlpack_export(a, DLPACK_FLAG_BITMASK_READ_ONLY, out);
}
static void capi_delete(void *tensor) {
  DLManagedTensorVersioned *t = tensor;
  if (t->deleter) t->deleter(t);
}
static int capi_dlpack_import(DLManagedTensorVersioned *t, void *sync_event, int level, struct cdv_array **out) {
  struct cdv_owner owner = {capi_delete, t};
  int r = capi_level("dlpack_import", level);
  if (r) return r;
  if (t->version.major > DLPACK_MAJOR_VERSION)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "DLPack %u.%u is not supported: expected major version %d", t->version.major,
                    t->version.minor, DLPACK_MAJOR_VERSION);
  return cdv_dlpack_import(&t->dl_tensor, sync_event, owner, level, out);
}

/* ---- what must not be NULL ---- */
struct needed {
  const char *name;
  const void *value;
};

static int capi_null(const char *function, const char *name) {
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s is NULL", function, name);
}

static inline bool all_given(const char *function, const struct needed *arguments, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (__builtin_expect(!arguments[i].value, 0)) {
      capi_null(function, arguments[i].name);
      return false;
    }
  return true;
}
#define ALL_GIVEN(name, ...)                             \
  all_given(#name, (const struct needed[]){__VA_ARGS__}, \
            sizeof((const struct needed[]){__VA_ARGS__}) / sizeof(struct needed))

#endif
