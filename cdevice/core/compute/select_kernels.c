/* select_kernels.c - the kernels that write one node of the result of a filter or take, by its layout. */
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/select_internal.h"
#include "core/compute/selection.h"
#include "core/format/layout.h"

#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_INDICES, BUF_INDEX_VALIDITY, BUF_VALUES_VALIDITY,
                                BUF_ROW_COUNT) == 6 &&
                   CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_INDICES, BUF_INDEX_VALIDITY, BUF_VALUES_VALIDITY,
                                    BUF_TILE_BEGINS, BUF_BYTES, BUF_OUT_OFFSETS) == 8,
               "buffers of values of variable length are distinct");
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_INDICES, BUF_INDEX_VALIDITY, BUF_OUT_TYPE_IDS) == 5,
               "buffers of a union are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_VALUES_LENGTH, SCALAR_VALUES_OFFSET, SCALAR_LIST_SIZE) == 4 &&
                   CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_VALUES_LENGTH, SCALAR_VALUE_WIDTH) == 3 &&
                   CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_VALUES_LENGTH, SCALAR_ROW_COUNT) == 3 &&
                   CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_VALUES_LENGTH, SCALAR_TYPE_ID) == 3,
               "scalars of kernels that take rows are distinct");

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int64_t i) {
  return (cdevice_kernel_buffer){a ? (void *)a->node->buffers[i] : NULL, 0};
}

/* Buffer i of the source, whose elements are the rows. */
static cdevice_kernel_buffer source_of(const struct cdv_selected *x, int i) {
  const struct cdv_array *a = x->from;
  return a->length ? (cdevice_kernel_buffer){(void *)a->node->buffers[i], a->offset} : (cdevice_kernel_buffer){NULL, 0};
}

static const char *number_type(int width) { return width == 8 ? "i64" : width == 4 ? "i32" : "i16"; }

/* Arguments of kernels that take rows by index. */
static struct cdv_kernel_launch step_of(const struct cdv_selected *x, const char *family, const char *type,
                                        const char *name, int unit) {
  struct cdv_kernel_launch s = {.family = family, .type = type, .name = name, .granularity = unit, .n = x->rows->n};
  s.buffers[BUF_INDICES] = x->rows->index;
  s.buffers[BUF_INDEX_VALIDITY] = x->rows->known;
  s.scalars[SCALAR_VALUES_LENGTH] = x->from->length;
  return s;
}

static struct cdv_kernel_launch sizes_of(const struct cdv_selected *x, const char *name) {
  struct cdv_kernel_launch s = step_of(x, "varlen", number_type(x->layout.width), name, CDV_FILTER_TILE);
  s.buffers[BUF_VALUES] = source_of(x, 1);
  s.buffers[BUF_VALUES_VALIDITY] = cdv_kernel_nulls(x->from);
  return s;
}

int cdv_select_tiles(struct cdv_select_plan *s, const struct cdv_selected *x, int64_t n, cdevice_kernel_buffer sums) {
  struct cdv_kernel_launch k = sizes_of(x, "row_tiles");
  k.n = n;
  k.buffers[BUF_OUT] = sums;
  k.buffers[BUF_ROW_COUNT] = x->rows->count;
  k.scalars[SCALAR_ROW_COUNT] = x->rows->n;
  return cdv_exec_launch(&s->work, &k);
}

/* ---- nulls and values ---- */
static int clear_bits(struct cdv_select_plan *s, cdevice_kernel_buffer bits, int64_t n) {
  struct cdv_kernel_launch k = {
      "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, n, {[BUF_OUT] = bits}, {[SCALAR_ARG_KINDS] = ARG_SCALAR}};
  return cdv_exec_launch(&s->work, &k);
}

static int put_nulls(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer to) {
  return cdv_put_taken_nulls(&s->work, x->from, x->rows->index, x->rows->known, false, x->rows->n, to);
}

/* Values of so many bytes, 0: bits. */
static int put_values(struct cdv_select_plan *s, const struct cdv_selected *x, int width, cdevice_kernel_buffer to,
                      cdevice_kernel_buffer from) {
  const char *named = width ? cdv_width_name(width) : "bits";
  struct cdv_kernel_launch k = step_of(x, width && named ? "select" : "filter", named ? named : "bits",
                                       named ? "take" : "take_bytes", width ? CDV_PER_ROW : CDV_PER_ROW_PACKED);
  k.buffers[BUF_OUT] = to;
  k.buffers[BUF_VALUES] = from;
  k.buffers[BUF_ERROR] = s->ignored;
  if (!named) {
    k.n *= width;
    k.buffers[BUF_VALUES].offset *= width;
    k.scalars[SCALAR_VALUE_WIDTH] = width;
  }
  return cdv_exec_launch(&s->work, &k);
}

/* As the mask chooses them, with their nulls. */
static int put_masked(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer to,
                      cdevice_kernel_buffer nulls) {
  struct cdv_kernel_launch k = {
      "select", cdv_width_name(x->layout.width), "filter", CDV_FILTER_TILE, s->mask->length, {[BUF_OUT] = to}, {0}};
  int r = nulls.data ? clear_bits(s, nulls, x->rows->n) : 0;
  k.buffers[BUF_VALUES] = source_of(x, 1);
  k.buffers[BUF_MASK] = cdv_kernel_values(s->mask);
  k.buffers[BUF_MASK_VALIDITY] = cdv_kernel_nulls(s->mask);
  k.buffers[BUF_VALUES_VALIDITY] = cdv_kernel_nulls(x->from);
  k.buffers[BUF_TILE_BEGINS] = s->tiles;
  k.buffers[BUF_OUT_VALIDITY] = nulls;
  return r || !x->rows->n ? r : cdv_exec_launch(&s->work, &k);
}

/* ---- offsets, and what lies behind them ---- */
static int put_offsets(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer to,
                       cdevice_kernel_buffer sums) {
  struct cdv_kernel_launch k = sizes_of(x, "row_offsets");
  k.buffers[BUF_OUT] = to;
  k.buffers[BUF_TILE_BEGINS] = sums;
  return cdv_exec_launch(&s->work, &k);
}

bool cdv_select_numbers_items(const struct cdv_selected *x) {
  return strcmp(x->from->schema->node->children[0]->format, "n") != 0;
}

static int put_items(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer to,
                     cdevice_kernel_buffer offsets) {
  bool list = x->from->schema->node->format[0] == '+';
  struct cdv_kernel_launch k = sizes_of(x, list ? "expand" : "gather");
  if (!x->total || (list && !cdv_select_numbers_items(x))) return 0;
  if (list) k.granularity = CDV_PER_ROW;
  k.buffers[BUF_OUT] = to;
  if (!list) k.buffers[BUF_BYTES] = (cdevice_kernel_buffer){(void *)x->from->node->buffers[2], 0};
  k.buffers[BUF_OUT_OFFSETS] = offsets;
  return cdv_exec_launch(&s->work, &k);
}

/* ---- nested ones ---- */
static int put_spread(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer to) {
  if (!cdv_select_numbers_items(x)) return 0;
  struct cdv_kernel_launch k = step_of(x, "filter", "bits", "spread", CDV_PER_ROW);
  k.n *= x->layout.list_size;
  k.buffers[BUF_OUT] = to;
  k.buffers[BUF_ERROR] = s->ignored;
  k.scalars[SCALAR_VALUES_OFFSET] = x->from->offset;
  k.scalars[SCALAR_LIST_SIZE] = x->layout.list_size;
  return cdv_exec_launch(&s->work, &k);
}

static int put_counted(struct cdv_select_plan *s, const char *type, int64_t first, int64_t n,
                       cdevice_kernel_buffer to) {
  struct cdv_kernel_launch k = {"run_end", type, "ends", CDV_PER_ROW, n, {[BUF_OUT] = to}, {[SCALAR_FIRST] = first}};
  return cdv_exec_launch(&s->work, &k);
}

static int put_runs(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer ends,
                    cdevice_kernel_buffer rows) {
  const struct ArrowArray *old = x->from->node->children[0];
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(x->from->schema->node->children[0]->format, &l, &why))
    return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
  struct cdv_kernel_launch k = step_of(x, "run_end", number_type(l.width), "run_of", CDV_PER_ROW);
  k.buffers[BUF_OUT] = rows;
  k.buffers[BUF_VALUES] =
      old->length ? (cdevice_kernel_buffer){(void *)old->buffers[1], old->offset} : (cdevice_kernel_buffer){NULL, 0};
  k.buffers[BUF_ERROR] = s->ignored;
  k.scalars[SCALAR_RUNS] = old->length;
  k.scalars[SCALAR_RUNS_OFFSET] = x->from->offset;
  int r = cdv_exec_launch(&s->work, &k);
  return r ? r : put_counted(s, number_type(l.width), 1, x->rows->n, ends);
}

static int put_union_rows(struct cdv_select_plan *s, const struct cdv_selected *x, cdevice_kernel_buffer types,
                          const struct cdv_array *scratch) {
  int64_t n = x->layout.n_type_ids;
  int r = 0;
  for (int64_t i = 0; !r && i < n; i++) {
    struct cdv_kernel_launch k = step_of(x, "filter", "bits", "union_rows", CDV_PER_ROW);
    k.buffers[BUF_OUT] = buffer_of(scratch, x->scratch + 2 * i);
    k.buffers[BUF_VALUES] = source_of(x, 1);
    k.buffers[BUF_OUT_TYPE_IDS] = types;
    k.scalars[SCALAR_TYPE_ID] = x->layout.type_ids[i];
    r = cdv_exec_launch(&s->work, &k);
    cdevice_kernel_buffer none = buffer_of(scratch, x->scratch + 2 * i + 1);
    if (!r && none.data) r = clear_bits(s, none, x->rows->n);
  }
  return r;
}

static int put_union(struct cdv_select_plan *s, const struct cdv_selected *x, const struct cdv_array *block,
                     const struct cdv_array *scratch) {
  struct cdv_kernel_launch k = step_of(x, "filter", "bits", "union_types", CDV_PER_ROW);
  cdevice_kernel_buffer types = buffer_of(block, x->buffer);
  k.buffers[BUF_OUT] = types;
  k.buffers[BUF_VALUES] = source_of(x, 0);
  k.scalars[SCALAR_TYPE_ID] = x->layout.n_type_ids ? x->layout.type_ids[0] : 0;
  int r = cdv_exec_launch(&s->work, &k);
  if (r || x->layout.type == CDV_SPARSE_UNION) return r;
  r = put_counted(s, "i32", 0, x->rows->n, buffer_of(block, x->buffer + 1));
  return r ? r : put_union_rows(s, x, types, scratch);
}

int cdv_select_fill(struct cdv_select_plan *s, const struct cdv_selected *x, const struct cdv_array *block,
                    const struct cdv_array *scratch, cdevice_kernel_buffer sums) {
  const struct cdv_layout *l = &x->layout;
  bool valid = cdv_has_validity(l);
  cdevice_kernel_buffer nulls = valid ? buffer_of(block, x->buffer) : (cdevice_kernel_buffer){NULL, 0};
  cdevice_kernel_buffer one =
      valid && l->n_buffers > 1 ? buffer_of(block, x->buffer + 1) : (cdevice_kernel_buffer){NULL, 0};
  if (x->masked && l->type == CDV_FIXED) return put_masked(s, x, one, nulls);
  int r = nulls.data ? put_nulls(s, x, nulls) : 0;
  if (r) return r;
  switch (l->type) {
    case CDV_BOOL: return put_values(s, x, 0, one, cdv_kernel_values(x->from));
    case CDV_FIXED: return l->width ? put_values(s, x, l->width, one, source_of(x, 1)) : 0;
    case CDV_BINARY_VIEW: return put_values(s, x, 16, one, source_of(x, 1));
    case CDV_BINARY:
    case CDV_LARGE_BINARY:
      r = put_offsets(s, x, one, sums);
      return r ? r : put_items(s, x, buffer_of(block, x->buffer + 2), one);
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: r = put_offsets(s, x, one, sums); return r ? r : put_items(s, x, buffer_of(scratch, x->scratch), one);
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW:
      r = put_values(s, x, l->width, one, source_of(x, 1));
      return r ? r : put_values(s, x, l->width, buffer_of(block, x->buffer + 2), source_of(x, 2));
    case CDV_FIXED_LIST: return put_spread(s, x, buffer_of(scratch, x->scratch));
    case CDV_RUN_END: return put_runs(s, x, buffer_of(block, x->buffer), buffer_of(scratch, x->scratch));
    case CDV_DENSE_UNION:
    case CDV_SPARSE_UNION: return put_union(s, x, block, scratch);
    default: return 0;
  }
}
