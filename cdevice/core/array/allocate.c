/* allocate.c - allocates arrays of a known layout for the caller to fill, and finishes them. */
#include "core/array/allocate.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/retire.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

/* A node while its tree is made. */
struct blank {
  const struct ArrowSchema *s;
  struct ArrowArray *to;
  int64_t length;
  bool validity;
};

static int add_buffer(struct cdv_plan *p, const struct blank *x, const struct cdv_layout *l, int i) {
  int role = cdv_layout_buffer_types(l)[i];
  int64_t nbytes = role == CDV_VALIDITY && !x->validity ? 0 : cdv_buffer_bytes(l, role, x->length);
  if (nbytes < 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "%lld rows are too many", (long long)x->length);
  struct cdv_copy_segment segment = {.nbytes = nbytes, .max_value = -1, .width = 1};
  return cdv_plan_add(p, x->to, i, &segment);
}

static int make_node(struct cdv_plan *p, const struct blank *x, int depth) {
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(x->s->format, &l, &why)) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
  bool known = l.type == CDV_NULL || l.type == CDV_BOOL || l.type == CDV_FIXED || l.type == CDV_FIXED_LIST ||
               l.type == CDV_STRUCT;
  if (!known || x->s->dictionary)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "the sizes of \"%.100s\"%s follow from its values", x->s->format,
                    x->s->dictionary ? " with a dictionary" : "");
  x->to->length = x->length;
  x->to->null_count = l.type == CDV_NULL ? x->length : x->validity && x->length ? -1 : 0;
  int r = cdv_node_room(&p->arena, x->to, l.n_buffers, x->s->n_children, false);
  for (int i = 0; !r && i < l.n_buffers; i++) r = add_buffer(p, x, &l, i);
  int64_t rows = x->length;
  if (!r && l.type == CDV_FIXED_LIST && __builtin_mul_overflow(rows, l.list_size, &rows))
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "%lld lists of %lld are too many", (long long)x->length, (long long)l.list_size);
  bool below = x->validity || (depth == 0 && p->validity);
  for (int64_t k = 0; !r && k < x->s->n_children; k++) {
    struct blank child = {x->s->children[k], x->to->children[k], rows, below};
    r = make_node(p, &child, depth + 1);
  }
  return r;
}

static int make(struct cdv_plan *p, struct cdv_schema *schema, int64_t length, void *stream, struct cdv_array **out) {
  struct ArrowDeviceArray made;
  memset(&made, 0, sizeof made);
  made.device_type = p->to->table.device_type;
  made.device_id = p->to_device;
  made.array.release = cdv_nodes_release;
  int r = cdv_plan_target(p);
  if (!r) r = cdv_plan_streams(p, stream);
  if (r) return r;
  bool batch = !strcmp(schema->node->format, "+s"); /* has no nulls of its own */
  struct blank top = {schema->node, &made.array, length, p->validity && !batch};
  r = make_node(p, &top, 0);
  return cdv_plan_finish(p, r, &made, schema, out);
}

int cdv_array_empty(struct cdv_schema *schema, int64_t length, bool validity, int32_t type, int64_t device,
                    void *stream, struct cdv_array **out) {
  if (length < 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "%lld rows", (long long)length);
  struct cdv_plan p = {.from_device = -1,
                       .to_device = type == ARROW_DEVICE_CPU ? -1 : device,
                       .allocate_only = true,
                       .validity = validity};
  int r = cdv_backend_acquire(type, &p.to);
  if (r) return r;
  r = make(&p, schema, length, stream, out);
  cdv_backend_addref(p.to, -1);
  return r;
}

int cdv_buffers_empty(const int64_t *nbytes, int64_t n, int32_t type, int64_t device, void *stream,
                      struct cdv_array **out) {
  struct cdv_plan p = {.from_device = -1, .to_device = type == ARROW_DEVICE_CPU ? -1 : device, .allocate_only = true};
  struct ArrowDeviceArray made;
  memset(&made, 0, sizeof made);
  struct cdv_schema *bytes = cdv_schema_of_number('C');
  int r = cdv_backend_acquire(type, &p.to);
  if (r) {
    cdv_schema_unref(bytes);
    return r;
  }
  made.device_type = type;
  made.device_id = p.to_device;
  made.array.release = cdv_nodes_release;
  r = cdv_plan_target(&p);
  if (!r) r = cdv_plan_streams(&p, stream);
  if (!r) {
    r = cdv_node_room(&p.arena, &made.array, n, 0, false);
    for (int64_t i = 0; !r && i < n; i++)
      r = cdv_plan_add(&p, &made.array, i,
                       &(struct cdv_copy_segment){.nbytes = nbytes[i], .max_value = -1, .width = 1});
    r = cdv_plan_finish(&p, r, &made, bytes, out);
  }
  cdv_schema_unref(bytes);
  cdv_backend_addref(p.to, -1);
  return r;
}

/* ---- written ---- */
static void written_release(struct ArrowArray *array) {
  cdv_array_unref(array->private_data);
  array->release = NULL;
}

/* Behind what was enqueued on `stream`, or on the current one. */
static int record(struct cdv_array *a, void *stream, struct cdv_event **out) {
  const cdevice_backend *b = &a->backend->table;
  cdevice_error err = {.struct_size = sizeof err};
  int64_t device = a->own.device_id;
  *out = NULL;
  if (b->device_type == ARROW_DEVICE_CPU) return 0;
  int r = stream ? 0 : b->current_stream(b->self, device, &stream, &err);
  if (r) return cdv_fail_backend(r, &err, b->device_type, device, "querying the current stream");
  return cdv_event_record(a->backend, device, stream, out);
}

int cdv_array_freeze(struct cdv_array *a, void *stream, int64_t null_count, struct cdv_array **out) {
  struct cdv_event *event;
  struct cdv_staging_buffer none[2] = {{0}, {0}};
  bool bitmap = a->node->null_count < 0, all = a->schema->node->format[0] == 'n';
  if (null_count < -1 || null_count > (bitmap || all ? a->length : 0))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%lld nulls in %lld rows%s", (long long)null_count, (long long)a->length,
                    bitmap || all ? "" : " without a bitmap");
  int r = record(a, stream, &event);
  /* The memory may go back only behind what was enqueued, on whichever stream that was. */
  if (!r && event && !(a->backend->table.capabilities & CDEVICE_CAP_ASYNC_FREE))
    r = cdv_retire_after_event(event, a, none);
  struct ArrowDeviceArray d = a->own;
  d.array.release = written_release;
  d.array.private_data = a;
  if (bitmap) d.array.null_count = null_count;
  d.sync_event = event ? event->event.sync_event : NULL;
  if (!r) r = cdv_array_import(&d, a->schema, 0, out);
  if (r) {
    if (event) cdv_event_unref(event);
    return r;
  }
  cdv_array_ref(a);
  cdv_array_set_backend(*out, a->backend);
  (*out)->event = event;
  (*out)->packed = a->packed; /* its nodes are a's */
  return 0;
}
