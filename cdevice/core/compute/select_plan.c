/* select_plan.c - the nodes of the result of a filter or take, level by level.
 *
 * A level is what has the same rows without a list between: its sizes are added up together, read together, and its
 * memory is one allocation.  Lists and what else makes numbers of rows begin the next one. */
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/table.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/select_internal.h"
#include "core/copy/copy.h"
#include "core/copy/engine.h"
#include "core/format/layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_TOTALS) == 2 && CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_STRIDE) == 2,
               "buffers and scalars of a scan of columns are distinct");

static bool is_counted(const struct cdv_layout *l) {
  switch (l->type) {
    case CDV_BINARY:
    case CDV_LARGE_BINARY:
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: return true;
    default: return false;
  }
}

/* ---- nodes ---- */
/* Does each buffer of a node lie as its elements need it? */
static bool is_aligned(const struct cdv_array *a, const struct cdv_layout *l) {
  const struct cdv_backend *backend = a->root->backend;
  if (backend && !(backend->table.capabilities & CDEVICE_CAP_ADDRESS)) return true;
  int width = l->type == CDV_FIXED && !cdv_width_name(l->width) ? 1 : l->width > 8 ? 8 : l->width;
  for (int i = 0; i < l->n_buffers; i++) {
    switch (cdv_layout_buffer_types(l)[i]) {
      case CDV_VALUES:
      case CDV_OFFSETS:
      case CDV_SIZES:
      case CDV_VIEWS:
      case CDV_UNION_OFFSETS:
        if (width > 1 && (uintptr_t)a->node->buffers[i] % (uintptr_t)width) return false;
        break;
      default: break;
    }
  }
  return true;
}

static int align(struct cdv_select_plan *s, struct cdv_array **a, const struct cdv_layout *l) {
  struct cdv_array *copy;
  if (is_aligned(*a, l)) return 0;
  const struct ArrowDeviceArray *own = &(*a)->root->own;
  int r = cdv_array_copy(*a, own->device_type, own->device_id, NULL, true, &copy);
  if (r) return r;
  cdv_array_unref(*a);
  *a = copy;
  return cdv_exec_use(&s->work, copy);
}

/* owns: takes the reference on `from` over, also on an error. */
static int add(struct cdv_select_plan *s, struct cdv_array *from, struct ArrowArray *to,
               const struct cdv_row_numbers *rows, bool masked) {
  const struct ArrowSchema *schema = from->schema->node;
  struct cdv_selected x = {.to = to, .rows = rows, .masked = masked, .column = -1};
  const char *why;
  int r = 0;
  if (cdv_layout_parse(schema->format, &x.layout, &why)) r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
  if (!r) r = align(s, &from, &x.layout);
  if (!r) r = cdv_grow((void **)&s->items, &s->room, s->n_items + 1, sizeof *s->items);
  if (!r) {
    int64_t n = x.layout.type == CDV_BINARY_VIEW ? from->node->n_buffers : x.layout.n_buffers;
    r = cdv_node_room(cdv_select_arena(s), to, n, schema->n_children, schema->dictionary != NULL);
  }
  if (r) {
    cdv_array_unref(from);
    return r;
  }
  x.from = from;
  x.nulls = cdv_has_validity(&x.layout) && (cdv_may_be_null(from) || rows->known.data);
  x.masked = masked && x.layout.type == CDV_FIXED && cdv_width_name(x.layout.width);
  CDV_ASSERT(s->n_items < s->room);
  s->items[s->n_items++] = x;
  return 0;
}

/* Those below `begin` and on that have the same rows as the node above them. */
static int add_same_rows(struct cdv_select_plan *s, size_t begin) {
  int r = 0;
  for (size_t i = begin; !r && i < s->n_items; i++) {
    struct cdv_selected x = s->items[i];
    if (x.layout.type != CDV_STRUCT && x.layout.type != CDV_SPARSE_UNION) continue;
    for (int64_t k = 0; !r && k < x.to->n_children; k++) {
      struct cdv_array *child;
      r = cdv_array_child(x.from, k, true, &child);
      if (!r) r = add(s, child, x.to->children[k], x.rows, s->mask && x.rows == s->rows);
    }
  }
  return r;
}

int cdv_select_add_top(struct cdv_select_plan *s, struct cdv_array *array) {
  int r = add(s, cdv_array_ref(array), &s->top, s->rows, s->mask != NULL);
  return r ? r : add_same_rows(s, 0);
}

bool cdv_select_needs_numbers(const struct cdv_select_plan *s) {
  for (size_t i = 0; i < s->n_items; i++) {
    const struct cdv_selected *x = &s->items[i];
    bool none = x->layout.type == CDV_NULL || (x->layout.type == CDV_STRUCT && !x->nulls);
    if (!x->masked && !none) return true;
  }
  return false;
}

/* ---- sizes that the device adds up ---- */
int64_t cdv_select_columns(struct cdv_select_plan *s, size_t begin) {
  int64_t k = 0;
  for (size_t i = begin; i < s->n_items; i++)
    if (is_counted(&s->items[i].layout)) s->items[i].column = k++;
  return k;
}

int cdv_select_measure(struct cdv_select_plan *s, size_t begin, int64_t k, cdevice_kernel_buffer totals,
                       cdevice_kernel_buffer *sums, int64_t *stride) {
  int64_t n = 0, words;
  for (size_t i = begin; i < s->n_items; i++)
    if (s->items[i].column >= 0 && s->items[i].rows->n > n) n = s->items[i].rows->n;
  *stride = n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0 || !n);
  if (__builtin_mul_overflow(*stride, k, &words))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%lld rows are too many", (long long)n);
  int r = cdv_exec_alloc_temp(&s->work, 'l', words, sums);
  for (size_t i = begin; !r && i < s->n_items; i++) {
    const struct cdv_selected *x = &s->items[i];
    cdevice_kernel_buffer own = {sums->data, *stride * x->column};
    if (x->column >= 0) r = cdv_select_tiles(s, x, n, own);
  }
  struct cdv_kernel_launch scan = {"filter",
                                   "bits",
                                   "scan_columns",
                                   CDV_FILTER_TILE,
                                   k * FILTER_TILE_ROWS,
                                   {[BUF_OUT] = *sums, [BUF_TOTALS] = totals},
                                   {0}};
  scan.scalars[SCALAR_STRIDE] = *stride;
  return r ? r : cdv_exec_launch(&s->work, &scan);
}

int cdv_select_totals(struct cdv_select_plan *s, size_t begin, const int64_t *totals) {
  for (size_t i = begin; i < s->n_items; i++) {
    struct cdv_selected *x = &s->items[i];
    if (x->column < 0) continue;
    x->total = totals[x->column];
    if (x->layout.width == 4 && x->total > INT32_MAX)
      return cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                      "the result has %" PRId64 " bytes or items, more than 32-bit offsets can count; cast the "
                      "argument to large_string, large_binary or large_list",
                      x->total);
  }
  return 0;
}

/* ---- memory ---- */
struct sizes {
  int64_t *nbytes;
  size_t n, room;
};

/* A buffer more, of n elements and some more. */
static int push(struct sizes *to, int64_t n, int64_t more, int64_t width) {
  int64_t nbytes;
  if (__builtin_add_overflow(n, more, &n) || __builtin_mul_overflow(n, width, &nbytes) || nbytes > INT64_MAX / 4)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%lld rows are too many", (long long)n);
  int r = cdv_grow((void **)&to->nbytes, &to->room, to->n + 1, sizeof *to->nbytes);
  if (!r) to->nbytes[to->n++] = nbytes;
  return r;
}

/* Whole words, as several items may write one. */
static int64_t bitmap_words(int64_t n) { return n / 32 + (n % 32 != 0); }

static int too_many(int64_t n, const char *what) {
  return cdv_fail(CDV_ARGUMENT, EFBIG, "%lld rows are more than %s can count", (long long)n, what);
}

static int push_union(const struct cdv_selected *x, struct sizes *block, struct sizes *scratch) {
  int64_t n = x->rows->n;
  int r = push(block, n, 0, 1);
  if (r || x->layout.type == CDV_SPARSE_UNION) return r;
  if (n > INT32_MAX) return too_many(n, "offsets of a dense union");
  r = push(block, n, 0, 4);
  for (int64_t i = 0; !r && i < x->layout.n_type_ids; i++) {
    bool empty = x->from->node->children[i]->length == 0; /* its rows are nulls then */
    r = push(scratch, n, 0, 8);
    if (!r) r = push(scratch, empty ? bitmap_words(n) : 0, 0, 4);
  }
  return r;
}

static int push_runs(const struct cdv_selected *x, struct sizes *block, struct sizes *scratch) {
  int64_t n = x->rows->n;
  int width = cdv_format_width((unsigned char)x->from->schema->node->children[0]->format[0]);
  if (width == 2 && n > INT16_MAX) return too_many(n, "ends of 16 bits");
  if (width == 4 && n > INT32_MAX) return too_many(n, "ends of 32 bits");
  int r = push(block, n, 0, width);
  return r ? r : push(scratch, n, 0, 8);
}

static int push_sizes(struct cdv_selected *x, struct sizes *block, struct sizes *scratch) {
  const struct cdv_layout *l = &x->layout;
  int64_t n = x->rows->n;
  int r = 0;
  x->buffer = (int64_t)block->n;
  x->scratch = (int64_t)scratch->n;
  if (cdv_has_validity(l)) r = push(block, x->nulls ? bitmap_words(n) : 0, 0, 4);
  if (r) return r;
  switch (l->type) {
    case CDV_BOOL: return push(block, bitmap_words(n), 0, 4);
    case CDV_FIXED:
    case CDV_BINARY_VIEW: return push(block, n, 0, l->width);
    case CDV_BINARY:
    case CDV_LARGE_BINARY: r = push(block, n, 1, l->width); return r ? r : push(block, x->total, 0, 1);
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP:
      r = push(block, n, 1, l->width);
      return r ? r : push(scratch, cdv_select_numbers_items(x) ? x->total : 0, 0, 8);
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW: r = push(block, n, 0, l->width); return r ? r : push(block, n, 0, l->width);
    case CDV_FIXED_LIST: return push(scratch, cdv_select_numbers_items(x) ? n : 0, 0, 8 * l->list_size);
    case CDV_RUN_END: return push_runs(x, block, scratch);
    case CDV_DENSE_UNION:
    case CDV_SPARSE_UNION: return push_union(x, block, scratch);
    default: return 0;
  }
}

/* ---- the next level ---- */
static int add_below(struct cdv_select_plan *s, const struct cdv_selected *x, int64_t k, cdevice_kernel_buffer index,
                     cdevice_kernel_buffer known, int64_t n) {
  struct cdv_array *child;
  struct cdv_row_numbers *rows = cdv_select_memory(s, sizeof *rows);
  if (!rows) return ENOMEM;
  *rows = (struct cdv_row_numbers){.index = index, .known = known, .n = n};
  int r = cdv_array_child(x->from, k, false, &child);
  return r ? r : add(s, child, x->to->children[k], rows, false);
}

/* Data of views, children of list views and dictionaries stay what they are. */
static int share_below(struct cdv_select_plan *s, const struct cdv_selected *x, int64_t k, struct ArrowArray *to) {
  struct cdv_array *child;
  int r = cdv_array_child(x->from, k, false, &child);
  return r ? r : cdv_select_share(s, child, to);
}

static int share_data(struct cdv_select_plan *s, const struct cdv_selected *x) {
  struct cdv_array *a = cdv_array_ref(x->from), *here = NULL;
  int r = 0;
  if (cdv_exec_is_host(&s->work)) r = cdv_array_copy(a, ARROW_DEVICE_CPU, -1, NULL, false, &here);
  if (here) cdv_array_unref(a), a = here;
  for (int64_t i = 2; !r && i < x->to->n_buffers; i++) x->to->buffers[i] = a->node->buffers[i];
  if (!r) r = cdv_select_keep(s, a);
  s->work.has_work = true; /* the result's event is behind that of the data */
  cdv_array_unref(a);
  return r;
}

static int add_ends(struct cdv_select_plan *s, const struct cdv_selected *x, const struct cdv_array *block) {
  struct ArrowArray *ends = x->to->children[0];
  int r = cdv_node_room(cdv_select_arena(s), ends, 2, 0, false);
  if (r) return r;
  ends->length = x->rows->n;
  ends->buffers[1] = block->node->buffers[x->buffer];
  return 0;
}

/* What has other rows than the node above it, or those that it had. */
static int list_below(struct cdv_select_plan *s, const struct cdv_selected *x, const struct cdv_array *block,
                      const struct cdv_array *scratch) {
  cdevice_kernel_buffer none = {NULL, 0}, index = none;
  int64_t n = x->rows->n;
  bool own = scratch && x->scratch < scratch->node->n_buffers; /* or it is the next one's */
  if (own) index.data = (void *)scratch->node->buffers[x->scratch];
  int r = x->to->dictionary ? share_below(s, x, -1, x->to->dictionary) : 0;
  if (r) return r;
  switch (x->layout.type) {
    case CDV_BINARY_VIEW: return share_data(s, x);
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: return add_below(s, x, 0, index, none, x->total);
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW: return share_below(s, x, 0, x->to->children[0]);
    case CDV_FIXED_LIST: return add_below(s, x, 0, index, none, n * x->layout.list_size);
    case CDV_RUN_END: r = add_ends(s, x, block); return r ? r : add_below(s, x, 1, index, x->rows->known, n);
    case CDV_DENSE_UNION:
      for (int64_t i = 0; !r && i < x->layout.n_type_ids; i++) {
        index.data = (void *)scratch->node->buffers[x->scratch + 2 * i];
        cdevice_kernel_buffer nulls = {(void *)scratch->node->buffers[x->scratch + 2 * i + 1], 0};
        r = add_below(s, x, i, index, nulls.data || i ? nulls : x->rows->known, n);
      }
      return r;
    default: return 0;
  }
}

static void finish_node(const struct cdv_selected *x, const struct cdv_array *block) {
  struct ArrowArray *to = x->to;
  to->length = x->rows->n;
  to->null_count = x->layout.type == CDV_NULL ? to->length : x->nulls && to->length ? -1 : 0;
  for (int i = 0; i < x->layout.n_buffers; i++)
    if (x->layout.type != CDV_RUN_END) to->buffers[i] = block->node->buffers[x->buffer + i];
}

/* ---- a level ---- */
static int allocate(struct cdv_select_plan *s, size_t begin, struct cdv_array **block, struct cdv_array **scratch) {
  struct sizes of_block = {0}, of_scratch = {0};
  int r = 0;
  *block = *scratch = NULL;
  for (size_t i = begin; !r && i < s->n_items; i++) r = push_sizes(&s->items[i], &of_block, &of_scratch);
  if (!r && of_block.n) r = cdv_exec_alloc_buffers(&s->work, of_block.nbytes, (int64_t)of_block.n, block);
  if (!r && of_scratch.n) r = cdv_exec_alloc_buffers(&s->work, of_scratch.nbytes, (int64_t)of_scratch.n, scratch);
  if (!r && *block) r = cdv_select_keep(s, *block);
  free(of_block.nbytes);
  free(of_scratch.nbytes);
  return r;
}

int cdv_select_write(struct cdv_select_plan *s, size_t begin, cdevice_kernel_buffer sums, int64_t stride) {
  struct cdv_array *block, *scratch;
  size_t end = s->n_items;
  int r = allocate(s, begin, &block, &scratch);
  for (size_t i = begin; !r && i < end; i++) {
    struct cdv_selected x = s->items[i];
    cdevice_kernel_buffer own = {sums.data, x.column * stride};
    finish_node(&x, block);
    r = cdv_select_fill(s, &x, block, scratch, own);
    if (!r) r = list_below(s, &x, block, scratch);
  }
  return r;
}

int cdv_select_below(struct cdv_select_plan *s, size_t begin) {
  int r = 0;
  while (!r && begin < s->n_items) {
    cdevice_kernel_buffer totals, sums = {NULL, 0};
    int64_t stride = 0;
    r = add_same_rows(s, begin);
    size_t end = s->n_items;
    int64_t k = r ? 0 : cdv_select_columns(s, begin);
    int64_t *read = k ? cdv_select_memory(s, (size_t)k * sizeof *read) : NULL;
    if (k && !read) r = ENOMEM;
    if (!r && k) r = cdv_exec_alloc_temp(&s->work, 'l', k, &totals);
    if (!r && k) r = cdv_select_measure(s, begin, k, totals, &sums, &stride);
    if (!r && k) r = cdv_exec_read_back(&s->work, &totals, 8, 8 * k, read);
    if (!r && k) r = cdv_select_totals(s, begin, read);
    if (!r) r = cdv_select_write(s, begin, sums, stride);
    begin = end;
  }
  return r;
}
