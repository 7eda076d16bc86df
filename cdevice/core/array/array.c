/* array.c - arrays: imported, built, viewed, exported, released. */
#include "core/array/array.h"
#include "cdevice/arrow_abi.h"
#include "core/array/info.h"
#include "core/backend/external_allocator.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/owner.h"
#include "core/event/event.h"
#include "core/format/layout.h"
#include "core/format/schema.h"
#include "core/validate/structure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct array_line { /* begins as an ArrowArray does: that part is copied as it is */
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  int64_t first, dictionary;
};
_Static_assert(offsetof(struct array_line, first) == offsetof(struct ArrowArray, children), "the copied part");
struct cdv_export_prototype {
  size_t n;
  bool dictionaries, pushed; /* pushed: the children carry the root's rows */
  struct array_line lines[];
};

static atomic_llong live;
int64_t cdv_live_arrays(void) { return atomic_load(&live); }

/* Several counters, so that threads do not share one cache line at every export; the address of a thread's stack
 * selects one. */
#define PLACES 16
static struct {
  atomic_llong n;
  char rest[56];
} live_exports[PLACES];

static inline void count_export(int by) {
  atomic_fetch_add_explicit(&live_exports[(cdv_thread_hint() >> 3) % PLACES].n, by, memory_order_relaxed);
}

int64_t cdv_live_exports(void) {
  int64_t n = 0;
  for (int i = 0; i < PLACES; i++) n += atomic_load(&live_exports[i].n);
  return n;
}

static void export_unref(struct cdv_array *a) {
  count_export(-1);
  cdv_array_unref(a);
}

static int64_t cut_null_count(int64_t known, int64_t old_length, int64_t length) {
  return known == 0 || length == 0 ? 0 : length == old_length ? known : -1;
}

/* Rows of a struct without nulls move into its children: consumers of record batches want offset 0 at the top.
 * Unknown nulls are counted here, once, where the CPU may read the bitmap. */
static bool pushes_down(struct cdv_array *a) {
  const struct ArrowArray *n = a->node;
  const char *format = a->schema->node->format;
  return format[0] == '+' && format[1] == 's' && !format[2] && (!n->buffers[0] || cdv_array_null_count(a) == 0);
}

static void finish_template(struct cdv_array *a, struct cdv_export_prototype *t) {
  t->pushed = pushes_down(a);
  for (int64_t i = 0; t->pushed && i < a->node->n_children; i++) {
    struct array_line *line = &t->lines[i];
    line->null_count = cut_null_count(line->null_count, line->length, a->length);
    line->offset = a->length ? line->offset + a->offset : 0;
    line->length = a->length;
  }
}

#define X(name) array##name
#define NODE ArrowArray
#define LINE array_line
#define OWNER cdv_array
#define OWNER_UNREF export_unref
#define FINISH finish_template
#include "core/array/export.h"

/* ---- life ---- */
static struct cdv_array *new_array(struct cdv_array *root, struct cdv_schema *schema, const struct ArrowArray *node) {
  struct cdv_array *a = root ? cdv_node_alloc(CDV_NODE_VIEW, offsetof(struct cdv_array, backend))
                             : cdv_node_alloc(CDV_NODE_ROOT, sizeof *a);
  if (!a) {
    cdv_fail_memory(sizeof *a, "an array");
    return NULL;
  }
  atomic_init(&a->refs, 1);
  atomic_init(&a->template, NULL);
  a->root = root ? root : a;
  a->schema = schema;
  a->node = node;
  if (!root) {
    a->backend = NULL;
    a->owner.drop = NULL;
    a->event = NULL;
    a->packed = NULL;
    atomic_init(&a->event_done, 0);
    a->n_blocks = 0;
    a->blocks = NULL;
    a->external_block = NULL;
    a->stream_owner = NULL;
  }
  atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  return a;
}

static void set_rows(struct cdv_array *a, int64_t offset, int64_t length, int64_t null_count) {
  a->offset = offset;
  a->length = length;
  atomic_init(&a->null_count, length ? null_count : 0);
}

struct cdv_array *cdv_array_ref(struct cdv_array *a) {
  long before = atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
  CDV_ASSERT(before > 0 && a->root->root == a->root);
  (void)before;
  return a;
}

void cdv_array_set_stream_owner(struct cdv_array *a, struct cdv_shared *queue) {
  if (a->root->n_blocks && !a->root->stream_owner) a->root->stream_owner = cdv_shared_ref(queue);
}

void cdv_array_set_backend(struct cdv_array *a, struct cdv_backend *backend) {
  cdv_backend_addref(backend, 1);
  cdv_backend_addref(a->backend, -1);
  a->backend = backend;
}

static void free_root(struct cdv_array *a) {
  if (a->own.array.release) a->own.array.release(&a->own.array);
  if (a->event) cdv_event_unref(a->event);
  bool ours = cdv_backend_usable_in_process(a->backend); /* else the memory and the stream are the parent's */
  for (int64_t i = a->n_blocks - 1; ours && i >= (a->external_block != NULL); i--)
    a->backend->table.free(a->backend->table.self, &a->blocks[i]);
  if (a->external_block)
    cdv_external_block_free(a->external_block, a->stream_owner);
  else if (ours && a->stream_owner)
    cdv_shared_unref(a->stream_owner);
  free(a->blocks);
  if (a->owner.drop) a->owner.drop(a->owner.owner);
  cdv_backend_addref(a->backend, -1);
}

void cdv_array_unref(struct cdv_array *a) {
  CDV_ASSERT(atomic_load(&a->refs) > 0 && a->root->root == a->root);
  if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
  free(atomic_load_explicit(&a->template, memory_order_relaxed));
  struct cdv_array *root = a->root;
  if (root == a) free_root(a);
  cdv_schema_unref(a->schema);
  atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  cdv_node_free(root == a ? CDV_NODE_ROOT : CDV_NODE_VIEW, a);
  if (root != a) cdv_array_unref(root);
}

/* Moves what was checked; takes over the reference on schema. */
static int adopt(struct ArrowDeviceArray *array, struct cdv_schema *schema, struct cdv_array **out) {
  struct cdv_array *a = new_array(NULL, schema, NULL);
  if (!a) return ENOMEM;
  a->own = *array;
  a->node = &a->own.array;
  set_rows(a, array->array.offset, array->array.length, array->array.null_count);
  a->backend = cdv_backend_lookup(array->device_type);
  cdv_backend_addref(a->backend, 1);
  if (a->backend && !cdv_backend_still_serves(array->device_type, a->backend)) {
    /* it is being taken out, and may not have seen us */
    cdv_backend_addref(a->backend, -1);
    a->backend = NULL;
  }
  array->array.release = NULL;
  *out = a;
  return 0;
}

static void drop_null_buffers(const struct ArrowSchema *s, struct ArrowArray *a) {
  if (s->format[0] == 'n') a->n_buffers = 0;
  for (int64_t i = 0; i < a->n_children; i++) drop_null_buffers(s->children[i], a->children[i]);
  if (a->dictionary) drop_null_buffers(s->dictionary, a->dictionary);
}

/* The producer's structs must not be changed, an export of them may.  Without memory it stays as it came. */
static void mend(struct cdv_array **array) {
  struct cdv_array *a = *array, *mended;
  struct ArrowDeviceArray d;
  if (cdv_array_export(a, &d)) return;
  drop_null_buffers(a->schema->node, &d.array);
  if (adopt(&d, cdv_schema_ref(a->schema), &mended)) {
    cdv_schema_unref(a->schema);
    d.array.release(&d.array);
    return;
  }
  cdv_array_unref(a);
  *array = mended;
}

static int import_sized(struct ArrowDeviceArray *array, struct cdv_schema *schema, const int64_t *sizes, int level,
                        struct cdv_array **out) {
  bool extra;
  int r = cdv_validate_sized(schema->node, array, sizes, level, &extra);
  if (r) return r;
  r = adopt(array, cdv_schema_ref(schema), out);
  if (r)
    cdv_schema_unref(schema);
  else if (extra)
    mend(out);
  return r;
}

int cdv_array_import(struct ArrowDeviceArray *array, struct cdv_schema *schema, int level, struct cdv_array **out) {
  return import_sized(array, schema, NULL, level, out);
}

int cdv_import_pair(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int level, struct cdv_array **out) {
  struct cdv_schema *s;
  bool extra;
  int r = cdv_validate(schema, array, level, &extra);
  if (!r && !schema->release) r = cdv_fail(CDV_RELEASED, EINVAL, "the schema has been released");
  if (!r) r = cdv_schema_adopt(schema, &s);
  if (r) return r;
  r = adopt(array, s, out);
  if (r) { /* the caller keeps what it had */
    *schema = s->own;
    s->own.release = NULL;
    cdv_schema_unref(s);
  } else if (extra) {
    mend(out);
  }
  return r;
}

/* ---- building ---- */
static void built_release(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    struct ArrowArray *x = array->children[i];
    if (x->release) x->release(x);
  }
  if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
  free(array->private_data);
  array->release = NULL;
}

/* A part must be what the schema declares: its buffers are read as that. */
static int part_fits(struct cdv_array *part, const struct ArrowSchema *declared, int64_t i) {
  if (declared && cdv_schema_castable(part->schema->node, declared)) return 0;
  char what[40];
  snprintf(what, sizeof what, i < 0 ? "the dictionary" : "child %lld", (long long)i);
  if (!declared) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s is not declared by the schema", what);
  const char *have = part->schema->node->format,
             *below = cdv_format_equal(have, declared->format) ? "; the types below differ" : "";
  return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s has the format \"%.60s\", the schema declares \"%.60s\"%s", what, have,
                  declared->format, below);
}

/* Moves one part's export below a built node. */
static int adopt_part(struct cdv_array *part, const struct cdv_parts *p, struct ArrowArray *to) {
  const struct ArrowDeviceArray *own = &part->root->own;
  bool has_memory = part->node->n_buffers || part->node->n_children || part->node->dictionary;
  if (has_memory && (own->device_type != p->device_type || own->device_id != p->device_id))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "the parts of one array are on two devices: %s and %s",
                    cdv_device_name(p->device_type, p->device_id), cdv_device_name(own->device_type, own->device_id));
  /* the whole array has one event; what a part waits for is waited for here unless the caller covers it */
  if (own->sync_event && !p->sync_event) {
    int r = cdv_event_wait_host(part);
    if (r) return r;
  }
  struct ArrowDeviceArray moved;
  int r = cdv_array_export(part, &moved);
  if (!r) *to = moved.array;
  return r;
}

/* -1 means "count them", which needs a bitmap: consumers refuse it without one. */
static int64_t known_nulls(const struct ArrowSchema *s, const struct cdv_parts *p) {
  struct cdv_layout l;
  const char *why;
  if (p->null_count != -1 || cdv_layout_parse(s->format, &l, &why)) return p->null_count;
  if (l.type == CDV_NULL) return p->length;
  return cdv_has_validity(&l) && p->n_buffers > 0 && p->buffers[0] ? -1 : 0;
}

int cdv_array_build(struct cdv_schema *schema, const struct cdv_parts *p, struct cdv_owner owner, int level,
                    struct cdv_array **out) {
  const struct ArrowSchema *s = schema->node;
  if (p->n_buffers < 0 || p->n_buffers > INT32_MAX || p->n_children < 0 || p->n_children > INT32_MAX)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "an array of %lld buffers and %lld children", (long long)p->n_buffers,
                    (long long)p->n_children);
  size_t nb = (size_t)p->n_buffers, nc = (size_t)p->n_children, nd = p->dictionary ? 1 : 0;
  size_t size = nb * sizeof(void *) + nc * sizeof(void *) + (nc + nd) * sizeof(struct ArrowArray);
  char *memory = malloc(size ? size : 1);
  if (!memory) return cdv_fail_memory((int64_t)size, "an array");
  memset(memory, 0, size);
  struct ArrowDeviceArray d;
  memset(&d, 0, sizeof d);
  struct ArrowArray *nodes = (struct ArrowArray *)memory;
  struct ArrowArray **children = (struct ArrowArray **)(nodes + nc + nd);
  const void **buffers = (const void **)(children + nc);
  if (nb) memcpy(buffers, p->buffers, nb * sizeof(void *));
  d.device_type = p->device_type;
  d.device_id = p->device_id;
  d.sync_event = p->sync_event;
  d.array.length = p->length;
  d.array.offset = p->offset;
  d.array.null_count = known_nulls(s, p);
  d.array.n_buffers = p->n_buffers;
  d.array.buffers = buffers;
  d.array.release = built_release;
  d.array.private_data = memory;
  int r = 0;
  for (size_t i = 0; !r && i < nc; i++) {
    if (level > 0) r = part_fits(p->children[i], (int64_t)i < s->n_children ? s->children[i] : NULL, (int64_t)i);
    if (!r) r = adopt_part(p->children[i], p, &nodes[i]);
    if (r) break;
    children[i] = &nodes[i];
    d.array.children = children;
    d.array.n_children = (int64_t)i + 1;
  }
  if (!r && nd) {
    if (level > 0) r = part_fits(p->dictionary, s->dictionary, -1);
    if (!r) r = adopt_part(p->dictionary, p, &nodes[nc]);
    if (!r) d.array.dictionary = &nodes[nc];
  }
  if (!r) r = import_sized(&d, schema, p->sizes, level, out);
  if (r)
    built_release(&d.array);
  else
    (*out)->owner = owner;
  return r;
}

/* ---- views ---- */
static int view(struct cdv_array *a, struct cdv_schema *schema, const struct ArrowArray *node, int64_t offset,
                int64_t length, int64_t null_count, struct cdv_array **out) {
  struct cdv_array *v = new_array(a->root, schema, node);
  if (!v) {
    cdv_schema_unref(schema);
    return ENOMEM;
  }
  set_rows(v, offset, length, null_count);
  cdv_array_ref(a->root);
  *out = v;
  return 0;
}

int cdv_array_slice(struct cdv_array *a, int64_t offset, int64_t length, struct cdv_array **out) {
  if (offset < 0 || length < 0 || offset > a->length || length > a->length - offset)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "slice of %lld rows at offset %lld is out of bounds of an array of %lld rows",
                    (long long)length, (long long)offset, (long long)a->length);
  int64_t nulls = cut_null_count(atomic_load_explicit(&a->null_count, memory_order_relaxed), a->length, length);
  return view(a, cdv_schema_ref(a->schema), a->node, a->offset + offset, length, nulls, out);
}

int cdv_array_child(struct cdv_array *a, int64_t i, bool cut, struct cdv_array **out) {
  const struct ArrowSchema *s = a->schema->node;
  bool dictionary = i == -1;
  if (dictionary ? !s->dictionary : i < 0 || i >= s->n_children)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "no child %lld", (long long)i);
  const struct ArrowArray *node = dictionary ? a->node->dictionary : a->node->children[i];
  int64_t offset = node->offset, length = node->length;
  if (cut && !dictionary) {
    struct cdv_layout layout;
    const char *why;
    if (cdv_layout_parse(s->format, &layout, &why)) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
    int64_t scale = layout.type == CDV_STRUCT || layout.type == CDV_SPARSE_UNION ? 1
                    : layout.type == CDV_FIXED_LIST                              ? layout.list_size
                                                                                 : -1;
    if (scale >= 0) { /* the child has the parent's rows */
      int64_t skip;
      if (__builtin_mul_overflow(a->offset, scale, &skip) || __builtin_add_overflow(offset, skip, &offset) ||
          __builtin_mul_overflow(a->length, scale, &length)) /* of an array that was not validated */
        return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "child %lld has more values than 64 bits can count", (long long)i);
    }
  }
  struct cdv_schema *schema = cdv_schema_at(a->schema, dictionary ? s->dictionary : s->children[i]);
  if (!schema) return ENOMEM;
  return view(a, schema, node, offset, length, cut_null_count(node->null_count, node->length, length), out);
}

/* ---- export ---- */

static void leaf_release(struct ArrowArray *array) {
  struct cdv_array *a = array->private_data;
  array->release = NULL;
  export_unref(a);
}

/* As cdv_array_export, but takes the reference over. */
static int export_whole(struct cdv_array *a, struct ArrowDeviceArray *out) {
  static const void *no_validity[1];
  const struct ArrowArray *node = a->node;
  const struct ArrowDeviceArray *own = &a->root->own;
  struct ArrowArray *o = &out->array;
  bool leaf = !node->n_children && !node->dictionary;
  struct cdv_export_prototype *t = NULL;
  if (!leaf && !(t = array_get_template(a))) return ENOMEM;
  o->length = a->length;
  o->offset = a->length ? a->offset : 0; /* some consumers want buffers behind the offset of nothing */
  o->null_count = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  o->n_buffers = node->n_buffers;
  o->n_children = node->n_children;
  o->buffers = node->buffers;
  o->children = NULL;
  o->dictionary = node->dictionary;
  if (leaf) {
    o->release = leaf_release;
    o->private_data = a;
    if (o->n_buffers == 1 && pushes_down(a)) { /* a record batch without columns */
      o->offset = 0;
      o->null_count = 0;
      o->buffers = no_validity;
    }
  } else {
    if (array_export_tree(a, t->lines, t->n, t->dictionaries, o)) {
      o->release = NULL;
      return ENOMEM;
    }
    if (t->pushed) {
      o->offset = 0;
      o->null_count = 0;
      o->buffers = no_validity;
    }
  }
  count_export(1);
  out->device_id = own->device_id;
  out->device_type = own->device_type;
  out->sync_event = own->sync_event;
  out->reserved[0] = out->reserved[1] = out->reserved[2] = 0;
  return 0;
}

int cdv_array_export(struct cdv_array *a, struct ArrowDeviceArray *out) {
  int r = export_whole(a, out);
  if (!r) cdv_array_ref(a);
  return r;
}

void cdv_array_prefetch_cache(struct cdv_array *a, int step) {
  const struct cdv_export_prototype *t = step ? atomic_load_explicit(&a->template, memory_order_acquire) : NULL;
  size_t lines = t && step > 1 ? (t->n < 8 ? t->n : 8) : 0;
  if (!step) cdv_prefetch_lines(a, offsetof(struct cdv_array, owner));
  if (t && step == 1) cdv_prefetch_lines(t, sizeof *t + 4 * sizeof *t->lines);
  for (size_t i = 0; i < lines; i++) __builtin_prefetch(t->lines[i].buffers);
}

int cdv_array_export_move(struct cdv_array *a, struct ArrowDeviceArray *out) {
  const struct ArrowArray *n = a->node;
  bool whole = a->root == a && a->own.array.release && !a->event && !a->owner.drop && !a->n_blocks &&
               a->length == n->length && a->offset == n->offset;
  if (!whole || atomic_load_explicit(&a->refs, memory_order_acquire) != 1 || (n->n_children && n->offset))
    return export_whole(a, out);
  *out = a->own;
  out->array.null_count = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  out->reserved[0] = out->reserved[1] = out->reserved[2] = 0;
  a->own.array.release = NULL;
  cdv_array_unref(a);
  return 0;
}

/* ---- for tests ---- */
static void *release_thread(void *p) {
  struct ArrowDeviceArray *a = p;
  if (a->array.release) a->array.release(&a->array);
  free(a);
  return NULL;
}

int cdv_release_in_thread(struct ArrowDeviceArray *array, int join) {
  pthread_t thread;
  struct ArrowDeviceArray *copy = malloc(sizeof *copy);
  if (!copy) return ENOMEM;
  *copy = *array;
  array->array.release = NULL;
  int r = pthread_create(&thread, NULL, release_thread, copy);
  if (r) {
    *array = *copy;
    free(copy);
    return r;
  }
  return join ? pthread_join(thread, NULL) : pthread_detach(thread);
}
