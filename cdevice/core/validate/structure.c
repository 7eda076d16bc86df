/* structure.c - checks before an imported struct is used.
 *
 * Level 1 (structure): node structs, and one offset per variable-size buffer where the CPU may read it now.
 * Level 2 (full): also offsets, type ids, run ends, views, dictionary indices, UTF-8 and null counts. */
#include "core/validate/structure.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/array/origin.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/event/event.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/format/schema.h"
#include "core/validate/checks.h"

#include <stdlib.h>
#include <string.h>

struct context {
  int level;
  bool readable;               /* contents may be read now */
  struct cdv_backend *backend; /* level 2 on a device: who knows how large its buffers are */
  int64_t device;
  bool *extra;          /* set where a null array has a buffer */
  const int64_t *sizes; /* bytes that the buffers of the root have, -1: not known; or NULL */
  bool contents;        /* at level 1 too */
};

/* A word for messages: "int32", "utf8", else the format itself. */
static const char *type_word(const char *f) {
  static const struct {
    const char *format, *word;
  } words[] = {{"n", "null"},
               {"b", "bool"},
               {"c", "int8"},
               {"C", "uint8"},
               {"s", "int16"},
               {"S", "uint16"},
               {"i", "int32"},
               {"I", "uint32"},
               {"l", "int64"},
               {"L", "uint64"},
               {"e", "float16"},
               {"f", "float32"},
               {"g", "float64"},
               {"z", "binary"},
               {"u", "string"},
               {"Z", "large_binary"},
               {"U", "large_string"},
               {"vz", "binary_view"},
               {"vu", "string_view"},
               {"+l", "list"},
               {"+L", "large_list"},
               {"+vl", "list_view"},
               {"+vL", "large_list_view"},
               {"+s", "struct"},
               {"+m", "map"},
               {"+r", "run_end_encoded"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i].format, f)) return words[i].word;
  return f;
}

/* ---- schema ---- */
static bool is_integer(const char *f) { return f[0] && !f[1] && strchr("cCsSiIlL", f[0]); }

/* The node itself: counts and pointers against its layout. */
static int schema_node(const struct cdv_frame *f, const struct ArrowSchema *s, struct cdv_layout *l) {
  if (!s->release) return cdv_invalid(f, -1, CDV_RELEASED, "the schema has been released");
  int r = cdv_validate_format(f, s, l);
  if (r) return r;
  if (s->format[0] == 't' && !cdv_is_utf8(s->format)) return cdv_invalid(f, -1, INVALID, "the time zone is not UTF-8");
  if (f->depth > CDV_MAX_DEPTH) return cdv_invalid(f, -1, INVALID, "nested deeper than %d levels", CDV_MAX_DEPTH);
  int64_t want = l->n_children;
  if (l->type == CDV_DENSE_UNION || l->type == CDV_SPARSE_UNION) want = l->n_type_ids;
  if (s->n_children < 0 || (want >= 0 && s->n_children != want))
    return cdv_invalid(f, -1, INVALID, "%s has %lld children, expected %lld", type_word(s->format),
                       (long long)s->n_children, (long long)(want < 0 ? 0 : want));
  if (s->n_children && !s->children)
    return cdv_invalid(f, -1, INVALID, "%lld children, but the pointer to them is NULL", (long long)s->n_children);
  for (int64_t i = 0; i < s->n_children; i++)
    if (!s->children[i]) return cdv_invalid(f, -1, INVALID, "schema child %lld is NULL", (long long)i);
  if (l->type == CDV_MAP) {
    const struct ArrowSchema *e = s->children[0];
    if (!e->format || strcmp(e->format, "+s") || e->n_children != 2)
      return cdv_invalid(f, -1, INVALID, "the child of a map is a struct of two fields");
  }
  if (l->type == CDV_RUN_END) {
    const char *ends = s->children[0]->format;
    if (!ends || !ends[0] || ends[1] || !strchr("sil", ends[0]) || s->children[0]->dictionary)
      return cdv_invalid(f, -1, INVALID, "run ends are int16, int32 or int64, not \"%.20s\"", ends ? ends : "NULL");
  }
  if (s->dictionary && !is_integer(s->format))
    return cdv_invalid(f, -1, INVALID, "dictionary indices are integers, not %s", type_word(s->format));
  if (s->metadata) {
    int32_t n;
    memcpy(&n, s->metadata, 4);
    if (n < 0) return cdv_invalid(f, -1, INVALID, "metadata with %d entries", (int)n);
    int64_t at = 4;
    for (int64_t i = 0; i < 2 * (int64_t)n; i++) {
      int32_t length;
      memcpy(&length, s->metadata + at, 4);
      if (length < 0) return cdv_invalid(f, -1, INVALID, "metadata entry of %d bytes", (int)length);
      at += 4 + (int64_t)length;
    }
  }
  return 0;
}

static int schema_tree(const struct cdv_frame *f, const struct ArrowSchema *s) {
  struct cdv_layout l;
  int r = schema_node(f, s, &l);
  struct cdv_frame below = {f, 0, !f->up && l.type == CDV_STRUCT, f->depth + 1};
  for (int64_t i = 0; !r && i < s->n_children; i++) {
    below.index = i;
    r = schema_tree(&below, s->children[i]);
  }
  below.index = -1;
  if (!r && s->dictionary) r = schema_tree(&below, s->dictionary);
  return r;
}

int cdv_schema_check(const struct ArrowSchema *schema) {
  struct cdv_frame top = {NULL, 0, false, 1};
  return schema_tree(&top, schema);
}

/* ---- arrays ---- */

/* Is a device's buffer alive and large enough, as far as its backend can tell? */
static int device_buffer(const struct cdv_frame *f, const struct context *c, int64_t i, const void *data,
                         int64_t need) {
  const cdevice_backend *b = &c->backend->table;
  cdevice_error err = {.struct_size = sizeof err};
  int32_t type = 0;
  int64_t device = c->device, nbytes = -1;
  int r = b->locate(b->self, data, &type, &device, &nbytes, &err);
  if (r == ENOTSUP) return 0;
  if (r)
    return cdv_invalid(f, i, INVALID, "buffer %lld is no live buffer of %s: %s", (long long)i, b->name, err.message);
  if (type == b->device_type && device != c->device && !(b->capabilities & CDEVICE_CAP_HOST_ACCESSIBLE))
    return cdv_invalid(f, i, INVALID, "buffer %lld lies on %s:%lld, its array is on %s:%lld", (long long)i, b->name,
                       (long long)device, b->name, (long long)c->device);
  if (nbytes >= 0 && nbytes < need)
    return cdv_invalid(f, i, INVALID, "buffer %lld has %lld bytes on %s, %lld are needed", (long long)i,
                       (long long)nbytes, b->name, (long long)need);
  return 0;
}

/* Checks a buffer's known size against the required one; only the root's sizes are known. */
static int known_size(const struct cdv_frame *f, const struct context *c, int64_t i, int64_t need) {
  if (f->up || !c->sizes || c->sizes[i] < 0 || c->sizes[i] >= need) return 0;
  return cdv_invalid(f, i, INVALID, "buffer %lld has %lld bytes, %lld are needed", (long long)i, (long long)c->sizes[i],
                     (long long)need);
}

static int fixed_buffers(const struct cdv_frame *f, const struct context *c, const struct cdv_layout *l,
                         const struct ArrowSchema *s, const struct ArrowArray *a) {
  const unsigned char *roles = cdv_layout_buffer_types(l);
  int64_t end = a->offset + a->length;
  for (int i = 0; i < l->n_buffers; i++) {
    int role = roles[i];
    int64_t need = cdv_buffer_bytes(l, role, end);
    if (need < 0)
      return cdv_invalid(f, i, INVALID, "%lld values need more bytes than 64 bits can count", (long long)end);
    if (a->buffers[i] && c->backend && a->length > 0) {
      int r = device_buffer(f, c, i, a->buffers[i], need);
      if (r) return r;
    }
    if (a->buffers[i] && a->length > 0) {
      int r = known_size(f, c, i, need);
      if (r) return r;
    }
    if (a->buffers[i] || role == CDV_BYTES) continue;
    if (role == CDV_VALIDITY) {
      if (a->null_count > 0)
        return cdv_invalid(f, i, INVALID, "buffer %d is NULL, but null_count is %lld", i, (long long)a->null_count);
    } else if (need > 0 && a->length > 0) {
      return cdv_invalid(f, i, INVALID, "buffer %d is NULL, %s %s of length %lld need %lld bytes", i,
                         type_word(s->format), s->dictionary ? "indices" : cdv_buffer_type_name(role),
                         (long long)a->length, (long long)need);
    }
  }
  if (c->readable && l->n_buffers == 3 && roles[2] == CDV_BYTES && a->length > 0) {
    int64_t from = cdv_read_int(a->buffers[1], l->width, a->offset), to = cdv_read_int(a->buffers[1], l->width, end);
    if (from < 0 || to < from)
      return cdv_invalid(f, 1, INVALID, "the offsets run from %lld to %lld", (long long)from, (long long)to);
    if (to > from && !a->buffers[2])
      return cdv_invalid(f, 2, INVALID, "buffer 2 is NULL, %s of %lld bytes", type_word(s->format), (long long)to);
    return to > from ? known_size(f, c, 2, to) : 0;
  }
  return 0;
}

static int view_buffers(const struct cdv_frame *f, const struct context *c, const struct cdv_layout *l,
                        const struct ArrowArray *a) {
  int64_t n_data = a->n_buffers - l->n_buffers - 1;
  int r = n_data ? known_size(f, c, a->n_buffers - 1, 8 * n_data) : 0;
  if (r) return r;
  if (n_data && !a->buffers[a->n_buffers - 1])
    return cdv_invalid(f, a->n_buffers - 1, INVALID, "the sizes of %lld data buffers are NULL", (long long)n_data);
  for (int64_t i = 0; i < n_data; i++) {
    int64_t size = cdv_data_size(a, i);
    if (size < 0)
      return cdv_invalid(f, l->n_buffers + i, INVALID, "data buffer %lld has the size %lld", (long long)i,
                         (long long)size);
    if (size && !a->buffers[l->n_buffers + i])
      return cdv_invalid(f, l->n_buffers + i, INVALID, "data buffer %lld is NULL, its size is %lld", (long long)i,
                         (long long)size);
    if ((r = known_size(f, c, l->n_buffers + i, size))) return r;
  }
  return 0;
}

/* Lengths that follow from this node; children's own counts were checked before. */
static int child_lengths(const struct cdv_frame *f, const struct context *c, const struct cdv_layout *l,
                         const struct ArrowArray *a) {
  int64_t end = a->offset + a->length;
  for (int64_t i = 0; i < a->n_children; i++) {
    int64_t have = a->children[i]->length, want = -1;
    if (l->type == CDV_STRUCT || l->type == CDV_SPARSE_UNION) want = end;
    if (l->type == CDV_FIXED_LIST && __builtin_mul_overflow(end, l->list_size, &want))
      return cdv_invalid(f, -1, INVALID, "%lld lists of %lld values are more than 64 bits can count", (long long)end,
                         (long long)l->list_size);
    if (want > have)
      return cdv_invalid(f, -1, INVALID, "child %lld has %lld values, %lld are needed", (long long)i, (long long)have,
                         (long long)want);
  }
  if (l->type == CDV_RUN_END) {
    const struct ArrowArray *ends = a->children[0], *values = a->children[1];
    if (ends->length > values->length)
      return cdv_invalid(f, -1, INVALID, "%lld run ends for %lld values", (long long)ends->length,
                         (long long)values->length);
    if (ends->null_count > 0) return cdv_invalid(f, -1, INVALID, "run ends have nulls");
    if (a->length && !ends->length)
      return cdv_invalid(f, -1, INVALID, "%lld values without a run end", (long long)a->length);
  }
  bool lists = l->type == CDV_LIST || l->type == CDV_LARGE_LIST || l->type == CDV_MAP;
  if (c->readable && lists && a->length) {
    int64_t from = cdv_read_int(a->buffers[1], l->width, a->offset), to = cdv_read_int(a->buffers[1], l->width, end);
    if (from < 0 || to < from || to > a->children[0]->length)
      return cdv_invalid(f, 1, INVALID, "the offsets run from %lld to %lld, the child has %lld values", (long long)from,
                         (long long)to, (long long)a->children[0]->length);
  }
  return 0;
}

/* A plain array of numbers with nothing to complain about: most columns, and most arrays. false: look
 * closer. */
static bool plainly_good(const struct ArrowSchema *s, const struct ArrowArray *a) {
  unsigned char c = (unsigned char)s->format[0];
  return cdv_format_width(c) > 0 && !s->format[1] && s->release && !s->n_children && !s->dictionary && !s->metadata &&
         a->release && !a->n_children && !a->dictionary && a->n_buffers == 2 && a->buffers && a->buffers[1] &&
         (a->buffers[0] || a->null_count <= 0) && a->length >= 0 && a->length <= INT64_MAX / 32 && a->offset >= 0 &&
         a->offset <= INT64_MAX / 32 && a->null_count >= -1 && a->null_count <= a->length;
}

static int array_tree(const struct cdv_frame *f, const struct context *c, const struct ArrowSchema *s,
                      const struct ArrowArray *a) {
  struct cdv_layout l;
  int r = schema_node(f, s, &l);
  if (r) return r;
  if (!a->release) return cdv_invalid(f, -1, CDV_RELEASED, "the array has been released");
  if (a->length < 0) return cdv_invalid(f, -1, INVALID, "the length is negative: %lld", (long long)a->length);
  if (a->offset < 0) return cdv_invalid(f, -1, INVALID, "the offset is negative: %lld", (long long)a->offset);
  if (a->length > INT64_MAX - a->offset)
    return cdv_invalid(f, -1, INVALID, "offset %lld and length %lld overflow", (long long)a->offset,
                       (long long)a->length);
  if (a->null_count < -1 || a->null_count > a->length)
    return cdv_invalid(f, -1, INVALID, "null_count is %lld of %lld values", (long long)a->null_count,
                       (long long)a->length);
  bool views = l.type == CDV_BINARY_VIEW;
  if (l.type == CDV_NULL && a->n_buffers == 1) /* polars */
    *c->extra = true;
  else if (views ? a->n_buffers < 3 || a->n_buffers > INT32_MAX : a->n_buffers != l.n_buffers)
    return cdv_invalid(f, -1, INVALID, "%s has %lld buffers, expected %d%s", type_word(s->format),
                       (long long)a->n_buffers, l.n_buffers + (views ? 1 : 0), views ? " or more" : "");
  if (a->n_buffers && !a->buffers) return cdv_invalid(f, -1, INVALID, "the list of buffers is NULL");
  if (a->n_children != s->n_children)
    return cdv_invalid(f, -1, INVALID, "%lld children, the schema has %lld", (long long)a->n_children,
                       (long long)s->n_children);
  if (a->n_children && !a->children) return cdv_invalid(f, -1, INVALID, "the list of children is NULL");
  if (!a->dictionary != !s->dictionary)
    return cdv_invalid(f, -1, INVALID, a->dictionary ? "an unexpected dictionary" : "the dictionary is missing");
  if ((l.type == CDV_DENSE_UNION || l.type == CDV_SPARSE_UNION || l.type == CDV_RUN_END) && a->null_count > 0)
    return cdv_invalid(f, -1, INVALID, "%s cannot have nulls of its own, null_count is %lld", type_word(s->format),
                       (long long)a->null_count);
  r = fixed_buffers(f, c, &l, s, a);
  if (!r && views) r = view_buffers(f, c, &l, a);
  struct cdv_frame below = {f, 0, !f->up && l.type == CDV_STRUCT, f->depth + 1};
  for (int64_t i = 0; !r && i < a->n_children; i++) {
    below.index = i;
    if (!a->children[i]) return cdv_invalid(&below, -1, INVALID, "the child is NULL");
    const struct ArrowSchema *t = s->children[i];
    if (c->level == 1 && t->format && below.depth <= CDV_MAX_DEPTH && plainly_good(t, a->children[i])) continue;
    r = array_tree(&below, c, s->children[i], a->children[i]);
  }
  if (!r && a->dictionary) {
    below.index = -1;
    r = array_tree(&below, c, s->dictionary, a->dictionary);
  }
  if (!r && a->n_children) r = child_lengths(f, c, &l, a);
  /* What a program builds from parts is read by it as well: the contents of the new node stay in their bounds. */
  bool built = (c->sizes && !f->up) || c->contents;
  if (!r && c->readable && (c->level >= 2 || built)) r = cdv_validate_contents(f, &l, s, a, c->level >= 2);
  return r;
}

int cdv_validate(const struct ArrowSchema *schema, const struct ArrowDeviceArray *d, int level, bool *extra) {
  return cdv_validate_sized(schema, d, NULL, level, extra);
}

int cdv_validate_sized(const struct ArrowSchema *schema, const struct ArrowDeviceArray *d, const int64_t *sizes,
                       int level, bool *extra) {
  struct cdv_frame top = {NULL, 0, false, 1};
  *extra = false;
  if (!d->array.release) return cdv_invalid(&top, -1, CDV_RELEASED, "the array has been released");
  if (level <= 0) return 0;
  if (d->device_type <= 0) return cdv_invalid(&top, -1, INVALID, "device type %d", (int)d->device_type);
  if (d->device_type == ARROW_DEVICE_CPU && d->sync_event)
    return cdv_invalid(&top, -1, INVALID, "a CPU array with a sync_event, which only devices have");
  if (level == 1 && !sizes && schema->format && plainly_good(schema, &d->array)) return 0;
  /* with an event pending nothing may be read yet */
  struct context c = {level, !d->sync_event && cdv_host_accessible(d->device_type), NULL, d->device_id, extra, sizes};
  if (level >= 2 && !cdv_host_accessible(d->device_type)) {
    int r = cdv_backend_get_started(d->device_type, &c.backend);
    if (r) return r;
  }
  return array_tree(&top, &c, schema, &d->array);
}

int cdv_validate_values(const struct ArrowSchema *schema, const struct ArrowArray *array) {
  struct cdv_frame top = {NULL, 0, false, 1};
  bool extra;
  struct context c = {.level = 1, .readable = true, .device = -1, .extra = &extra, .contents = true};
  return array_tree(&top, &c, schema, array);
}

int cdv_validate_view(struct cdv_array *a, int level) {
  struct cdv_frame top = {NULL, 0, false, 1};
  struct ArrowArray node = *a->node;
  node.offset = a->offset;
  node.length = a->length;
  node.null_count = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  int done = 0;
  bool extra;
  struct context c = {level, cdv_array_host_accessible(a), NULL, a->root->own.device_id, &extra, NULL};
  if (c.readable) {
    int r = level >= 2 ? cdv_event_wait_host(a) : cdv_event_ready(a, &done);
    if (r) return r;
    c.readable = level >= 2 || done;
  } else if (level >= 2) {
    int r = cdv_array_backend(a, &c.backend);
    if (r) return r;
  }
  return array_tree(&top, &c, a->schema->node, &node);
}
