/* info.c - properties of an array: can the CPU read it, how many nulls, how many bytes. Contents are looked at
 * where that needs no waiting. */
#include "core/array/info.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/origin.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/event/event.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"

static bool has_no_buffers(const struct ArrowArray *n) {
  for (int64_t i = 0; i < n->n_buffers; i++)
    if (n->buffers[i]) return false;
  for (int64_t i = 0; i < n->n_children; i++)
    if (!has_no_buffers(n->children[i])) return false;
  return !n->dictionary || has_no_buffers(n->dictionary);
}

bool cdv_has_no_device_memory(int32_t device_type, const struct ArrowArray *node) {
  return device_type == ARROW_DEVICE_CPU && has_no_buffers(node);
}

int cdv_array_readable(struct cdv_array *a, const char *doing) {
  const struct ArrowDeviceArray *own = &a->root->own;
  if (!cdv_array_host_accessible(a))
    return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP,
                    "%s: the data is on %s:%lld, which the CPU cannot read; copy it with .to(\"cpu\")", doing,
                    cdv_device_type_name(own->device_type), (long long)own->device_id);
  return cdv_event_wait_host(a);
}

int64_t cdv_array_null_count(struct cdv_array *a) {
  int64_t known = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  if (known >= 0) return known;
  struct cdv_layout layout;
  const char *why;
  if (cdv_layout_parse(a->schema->node->format, &layout, &why)) return -1;
  if (layout.type == CDV_NULL) {
    known = a->length;
  } else if (!cdv_has_validity(&layout) || !a->node->buffers[0]) {
    known = 0;
  } else {
    int done = 0;
    if (!cdv_array_host_accessible(a) || cdv_event_ready(a, &done) || !done) return -1;
    known = a->length - cdv_bits_count(a->node->buffers[0], a->offset, a->length);
  }
  atomic_store_explicit(&a->null_count, known, memory_order_relaxed);
  return known;
}

/* How the sizes of variable parts are known. */
enum look {
  BLIND,
  NOTED,   /* beside the buffers, as the transfer engine leaves them: of all rows of a node */
  READABLE /* the contents may be looked at */
};

/* The bytes of one buffer that rows [offset, offset + length) need. */
static int64_t buffer_need(const struct cdv_layout *l, const struct ArrowArray *node, int64_t i, int64_t offset,
                           int64_t length, enum look look, bool whole) {
  if (i >= l->n_buffers) { /* variadic buffers, then their sizes, which are always on the CPU */
    int64_t n = node->n_buffers - l->n_buffers - 1;
    if (i == node->n_buffers - 1) return n > 0 ? n * 8 : 0;
    return node->buffers[node->n_buffers - 1] ? cdv_data_size(node, i - l->n_buffers) : 0;
  }
  int role = cdv_layout_buffer_types(l)[i];
  if (!node->buffers[i] || (whole && !length)) return 0; /* no row, no byte: the bytes before are not validated */
  if (role != CDV_BYTES) {
    if (whole) return cdv_buffer_bytes(l, role, offset + length);
    int64_t from, to;
    cdv_buffer_range(l, role, offset, length, &from, &to);
    return to - from;
  }
  if (!length) return 0;
  if (look == NOTED && offset == node->offset && length == node->length)
    return cdv_node_meta(node)[node->n_buffers + i];
  if (look != READABLE || !node->buffers[1]) return -1;
  int64_t end = cdv_read_int(node->buffers[1], l->width, offset + length);
  return whole ? end : end - cdv_read_int(node->buffers[1], l->width, offset);
}

static bool may_look(struct cdv_array *a) {
  int done = 0;
  return cdv_array_host_accessible(a) && !cdv_event_ready(a, &done) && done;
}

static enum look look_at(struct cdv_array *a) { return may_look(a) ? READABLE : a->root->packed ? NOTED : BLIND; }

int64_t cdv_array_buffer_size(struct cdv_array *a, int64_t i) {
  struct cdv_layout layout;
  const char *why;
  if (i < 0 || i >= a->node->n_buffers || cdv_layout_parse(a->schema->node->format, &layout, &why)) return -1;
  return buffer_need(&layout, a->node, i, a->offset, a->length, look_at(a), true);
}

/* -1 once anything below cannot be known. */
static int64_t tree_bytes(const struct ArrowSchema *s, const struct ArrowArray *n, int64_t offset, int64_t length,
                          enum look look) {
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(s->format, &l, &why)) return -1;
  int64_t sum = 0;
  for (int64_t i = 0; i < n->n_buffers; i++) {
    int64_t b = buffer_need(&l, n, i, offset, length, look, false);
    if (b < 0 || __builtin_add_overflow(sum, b, &sum)) return -1;
  }
  for (int64_t i = 0; i < n->n_children; i++) {
    const struct ArrowArray *c = n->children[i];
    int64_t co = c->offset, cl = c->length;
    if (l.type == CDV_STRUCT || l.type == CDV_SPARSE_UNION) {
      co += offset;
      cl = length;
    } else if (l.type == CDV_FIXED_LIST) {
      co += offset * l.list_size;
      cl = length * l.list_size;
    } else if (look == READABLE && n->n_buffers > 1 && n->buffers[1] && length &&
               (l.type == CDV_LIST || l.type == CDV_LARGE_LIST || l.type == CDV_MAP)) {
      int64_t from = cdv_read_int(n->buffers[1], l.width, offset);
      cl = cdv_read_int(n->buffers[1], l.width, offset + length) - from;
      co += from;
    }
    int64_t b = tree_bytes(s->children[i], c, co, cl, look);
    if (b < 0 || __builtin_add_overflow(sum, b, &sum)) return -1;
  }
  if (n->dictionary) {
    int64_t b = tree_bytes(s->dictionary, n->dictionary, n->dictionary->offset, n->dictionary->length, look);
    if (b < 0 || __builtin_add_overflow(sum, b, &sum)) return -1;
  }
  return sum;
}

int64_t cdv_array_nbytes(struct cdv_array *a) {
  return tree_bytes(a->schema->node, a->node, a->offset, a->length, look_at(a));
}

/* ---- schemas for consumers ---- */
/* Has this node no null that its own bitmap could show?  Reads it where that is allowed and needed. */
static bool without_nulls(const struct ArrowSchema *s, const struct ArrowArray *n, bool readable) {
  struct cdv_layout l;
  const char *why;
  if (n->null_count == 0 || !n->length) return true;
  if (cdv_layout_parse(s->format, &l, &why) || !cdv_has_validity(&l)) return false;
  if (!n->buffers[0]) return n->null_count < 0;
  return n->null_count < 0 && readable && cdv_bits_count(n->buffers[0], n->offset, n->length) == n->length;
}

static void keep_nullable(const struct ArrowSchema *have, const struct ArrowArray *n, bool readable,
                          struct ArrowSchema *want) {
  if ((have->flags & ~want->flags & ARROW_FLAG_NULLABLE) && !(n && without_nulls(have, n, readable)))
    want->flags |= ARROW_FLAG_NULLABLE;
  for (int64_t i = 0; i < want->n_children; i++)
    keep_nullable(have->children[i], n ? n->children[i] : NULL, readable, want->children[i]);
}

void cdv_schema_relax_nullability(const struct ArrowSchema *have, struct cdv_array *a, struct ArrowSchema *want) {
  keep_nullable(have, a ? a->node : NULL, a && may_look(a), want);
}
