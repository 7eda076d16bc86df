/* selection.c - rows that a mask chooses, and rows by number. */
#include "core/compute/selection.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <errno.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_MASK, BUF_MASK_VALIDITY, BUF_VALUES_VALIDITY, BUF_TILE_BEGINS,
                                BUF_OUT_VALIDITY) == 7,
               "buffers of a filter are distinct");
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_INDICES, BUF_INDEX_VALIDITY, BUF_ERROR) == 5,
               "buffers of a take are distinct");

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_kernel_buffer){(void *)a->node->buffers[i], 0};
}

/* ---- masks ---- */
int cdv_selection_from_mask(struct cdv_selection *c, struct cdv_array *mask, const struct cdv_stream_ref *stream_ref) {
  struct cdv_exec w;
  struct cdv_array *counts = NULL;
  struct cdv_schema *numbers = cdv_schema_of_number('l');
  int64_t tiles = mask->length / FILTER_TILE_ROWS + (mask->length % FILTER_TILE_ROWS != 0);
  int r = cdv_exec_begin(&w, &mask, 1, stream_ref, "filter");
  if (!r) r = cdv_exec_alloc_array(&w, numbers, tiles + 1, false, &counts);
  cdv_schema_unref(numbers);
  cdevice_kernel_buffer at = r ? (cdevice_kernel_buffer){NULL, 0} : buffer_of(counts, 1), total = {at.data, tiles};
  if (!r && tiles) {
    struct cdv_kernel_launch s = {"filter",     "bits",           "filter_count", CDV_FILTER_TILE,
                                  mask->length, {[BUF_OUT] = at}, .with = "scan"};
    s.buffers[BUF_MASK] = cdv_kernel_values(mask);
    s.buffers[BUF_MASK_VALIDITY] = cdv_kernel_nulls(mask);
    r = cdv_exec_launch(&w, &s);
  }
  if (!r) {
    struct cdv_kernel_launch s = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles, {[BUF_OUT] = at}, {0}};
    r = cdv_exec_launch(&w, &s);
  }
  if (!r) r = cdv_exec_read_back(&w, &total, 8, 8, &c->n_selected);
  r = cdv_exec_finish(&w, r, counts, &c->counts);
  if (!r) c->mask = cdv_array_ref(mask);
  return r;
}

void cdv_selection_free(struct cdv_selection *c) {
  cdv_array_unref(c->mask);
  cdv_array_unref(c->counts);
}

/* Bitmaps are written by words where several items share one: there is room for whole ones. */
static int64_t whole_words(int64_t rows) { return (rows + 31) / 32 * 32; }

static int clear_nulls(struct cdv_exec *w, struct cdv_array *a) {
  struct cdv_kernel_launch s = {"boolean",
                                "bits",
                                "valid_all",
                                CDV_PER_BIT_WORD,
                                a->length,
                                {[BUF_OUT] = buffer_of(a, 0)},
                                {[SCALAR_ARG_KINDS] = ARG_SCALAR}};
  return cdv_exec_launch(w, &s);
}

int cdv_compute_filter(const struct cdv_selection *c, struct cdv_array *array, const struct cdv_stream_ref *stream_ref,
                       struct cdv_array **out) {
  int width = cdv_value_width(array->schema->node);
  if (width < 1 || !cdv_width_name(width)) return CDV_LAYOUT_NOT_HANDLED;
  if (array->length != c->mask->length)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "filter: a mask of %lld rows for %lld", (long long)c->mask->length,
                    (long long)array->length);
  struct cdv_array *inputs[3] = {c->mask, c->counts, NULL}, *made = NULL;
  bool nulls = cdv_may_be_null(array);
  struct cdv_exec w;
  struct cdv_kernel_launch s = {"select", cdv_width_name(width), "filter", CDV_FILTER_TILE, c->mask->length, {{0}},
                                {0}};
  int r = cdv_array_aligned(array, &inputs[2]);
  if (r) return r;
  r = cdv_exec_begin(&w, inputs, 3, stream_ref, "filter");
  if (!r) r = cdv_exec_alloc_array(&w, array->schema, nulls ? whole_words(c->n_selected) : c->n_selected, nulls, &made);
  if (!r && nulls) r = clear_nulls(&w, made);
  if (!r && c->n_selected) {
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.buffers[BUF_VALUES] = cdv_kernel_values(inputs[2]);
    s.buffers[BUF_MASK] = cdv_kernel_values(c->mask);
    s.buffers[BUF_MASK_VALIDITY] = cdv_kernel_nulls(c->mask);
    s.buffers[BUF_VALUES_VALIDITY] = cdv_kernel_nulls(inputs[2]);
    s.buffers[BUF_TILE_BEGINS] = buffer_of(c->counts, 1);
    if (nulls) s.buffers[BUF_OUT_VALIDITY] = buffer_of(made, 0);
    r = cdv_exec_launch(&w, &s);
  }
  struct cdv_array *whole = NULL;
  r = cdv_exec_finish(&w, r, made, &whole);
  cdv_array_unref(inputs[2]);
  if (r || whole->length == c->n_selected) {
    if (!r) *out = whole;
    return r;
  }
  r = cdv_array_slice(whole, 0, c->n_selected, out);
  cdv_array_unref(whole);
  return r;
}

int cdv_compute_chosen_rows(struct cdv_array *mask, const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_selection c;
  struct cdv_exec w;
  struct cdv_array *made = NULL;
  if (cdv_value_width(mask->schema->node))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "filter: a mask is bool, not \"%.60s\"", mask->schema->node->format);
  int r = cdv_selection_from_mask(&c, mask, stream_ref);
  if (r) return r;
  struct cdv_array *inputs[2] = {mask, c.counts};
  struct cdv_schema *numbers = cdv_schema_of_number('l');
  r = cdv_exec_begin(&w, inputs, 2, stream_ref, "filter");
  if (!r) r = cdv_exec_alloc_array(&w, numbers, c.n_selected, false, &made);
  cdv_schema_unref(numbers);
  if (!r && c.n_selected) {
    struct cdv_kernel_launch s = {"filter", "bits", "filter_rows", CDV_FILTER_TILE, mask->length, {{0}}, {0}};
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.buffers[BUF_MASK] = cdv_kernel_values(mask);
    s.buffers[BUF_MASK_VALIDITY] = cdv_kernel_nulls(mask);
    s.buffers[BUF_TILE_BEGINS] = buffer_of(c.counts, 1);
    r = cdv_exec_launch(&w, &s);
  }
  r = cdv_exec_finish(&w, r, made, out);
  cdv_selection_free(&c);
  return r;
}

/* ---- by number ---- */
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_SHORT_INDICES, SCALAR_VALUES_LENGTH, SCALAR_VALUE_WIDTH) == 4,
               "scalars of a take are distinct");

int cdv_put_taken_nulls(struct cdv_exec *w, const struct cdv_array *from, cdevice_kernel_buffer indices,
                        cdevice_kernel_buffer known, bool is_short, int64_t n, cdevice_kernel_buffer to) {
  struct cdv_kernel_launch k = {"filter", "bits", "take_valid", CDV_PER_ROW_PACKED, n, {[BUF_OUT] = to}, {0}};
  if (cdv_may_be_null(from)) {
    k.buffers[BUF_VALUES] = cdv_kernel_nulls(from);
    k.buffers[BUF_INDICES] = indices;
    k.buffers[BUF_INDEX_VALIDITY] = known;
    k.scalars[SCALAR_SHORT_INDICES] = is_short;
    k.scalars[SCALAR_VALUES_LENGTH] = from->length;
  } else {
    k.family = "boolean", k.name = "valid_all", k.granularity = CDV_PER_BIT_WORD;
    k.buffers[BUF_ARG0] = known;
  }
  return cdv_exec_launch(w, &k);
}

int cdv_compute_take(struct cdv_array *array, struct cdv_array *indices, bool checked,
                     const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  int width = cdv_value_width(array->schema->node);
  bool bytes = width > 0 && !cdv_width_name(width);
  if (width < 0) return CDV_LAYOUT_NOT_HANDLED;
  struct cdv_array *inputs[2] = {NULL, indices}, *made = NULL;
  struct cdv_exec w;
  int r = cdv_array_aligned(array, &inputs[0]);
  if (r) return r;
  bool nulls = cdv_may_be_null(array) || cdv_may_be_null(indices);
  r = cdv_exec_begin(&w, inputs, 2, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, array->schema, indices->length, nulls, &made);
  struct cdv_kernel_launch s = {.family = width && !bytes ? "select" : "filter",
                                .type = width && !bytes ? cdv_width_name(width) : "bits",
                                .name = bytes ? "take_bytes" : "take",
                                .granularity = width ? CDV_PER_ROW : CDV_PER_ROW_PACKED,
                                .n = indices->length * (bytes ? width : 1)};
  s.scalars[SCALAR_SHORT_INDICES] = cdv_value_width(indices->schema->node) == 4;
  s.scalars[SCALAR_VALUES_LENGTH] = array->length;
  s.scalars[SCALAR_VALUE_WIDTH] = width;
  s.buffers[BUF_INDICES] = cdv_kernel_values(indices);
  s.buffers[BUF_INDEX_VALIDITY] = cdv_kernel_nulls(indices);
  if (!r && nulls)
    r = cdv_put_taken_nulls(&w, inputs[0], s.buffers[BUF_INDICES], s.buffers[BUF_INDEX_VALIDITY],
                            s.scalars[SCALAR_SHORT_INDICES], indices->length, buffer_of(made, 0));
  if (!r) r = cdv_exec_error_slot(&w, &s.buffers[BUF_ERROR]);
  if (!r) {
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.buffers[BUF_VALUES] = cdv_kernel_values(inputs[0]);
    if (bytes) s.buffers[BUF_VALUES].offset *= width;
    r = cdv_exec_launch(&w, &s);
  }
  if (!r && checked) r = cdv_exec_check_error(&w, "take", s.type);
  r = cdv_exec_finish(&w, r, made, out);
  cdv_array_unref(inputs[0]);
  return r;
}
