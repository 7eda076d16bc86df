/* select.c - filter and take of arrays and batches of any layout, in one call.
 *
 * What the host must know of the device is read at once: how many rows a mask chooses, whether a number is that of
 * no row, and how many bytes each column has.  Before that the device alone counts. */
#include "core/compute/select.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/select_internal.h"
#include "core/compute/selection.h"

#include <string.h>

/* Words that are read together; what each column has lies behind them. */
enum { HEAD_ROWS, HEAD_ERROR, HEAD_IGNORED = 3, HEAD_TOTALS = 5 };

/* ---- what the host reads ---- */
/* Memory for `tiles` counts, the head and k totals. */
static int make_head(struct cdv_select_plan *s, int64_t tiles, int64_t k, cdevice_kernel_buffer *head) {
  int r = cdv_exec_alloc_temp(&s->work, 'l', tiles + HEAD_TOTALS + k, head);
  if (r) return r;
  s->tiles = *head;
  head->offset = tiles;
  s->ignored = (cdevice_kernel_buffer){head->data, tiles + HEAD_IGNORED};
  return 0;
}

static int clear_error(struct cdv_select_plan *s, cdevice_kernel_buffer head) {
  int64_t at = head.offset + HEAD_ERROR;
  if (cdv_exec_is_host(&s->work)) {
    memset((int64_t *)head.data + at, 0, 2 * sizeof(int64_t));
    return 0;
  }
  struct cdv_kernel_launch k = {"boolean",
                                "bits",
                                "valid_all",
                                CDV_PER_BIT_WORD,
                                128,
                                {[BUF_OUT] = {head.data, 2 * at}},
                                {[SCALAR_ARG_KINDS] = ARG_SCALAR}};
  return cdv_exec_launch(&s->work, &k);
}

/* The first level, whose number of rows the device knows; read: the head is needed even without columns. */
static int write_first(struct cdv_select_plan *s, cdevice_kernel_buffer head, int64_t columns, bool read) {
  cdevice_kernel_buffer totals = {head.data, head.offset + HEAD_TOTALS}, sums = {NULL, 0};
  int64_t stride = 0, *words = cdv_select_memory(s, (size_t)(HEAD_TOTALS + columns) * sizeof *words);
  size_t end = s->n_items;
  int r = words ? 0 : ENOMEM;
  if (!r && columns) r = cdv_select_measure(s, 0, columns, totals, &sums, &stride);
  if (!r && (columns || read)) {
    r = cdv_exec_read_back(&s->work, &head, 8, 8 * (HEAD_TOTALS + columns), words);
    if (!r && read && !s->mask) r = cdv_exec_report_error(words + HEAD_ERROR, s->work.function_name, "bits");
    if (!r && s->rows->count.data) s->rows->n = words[HEAD_ROWS];
    s->rows->count.data = NULL;
    if (!r) r = cdv_select_totals(s, 0, words + HEAD_TOTALS);
  }
  if (!r) r = cdv_select_write(s, 0, sums, stride);
  return r ? r : cdv_select_below(s, end);
}

static int wrong_type(const char *wanted, const struct cdv_array *a) {
  return cdv_fail(CDV_ARGUMENT, EINVAL, "%s, not \"%.60s\"", wanted, a->schema->node->format);
}

/* ---- filter ---- */
/* Values of one size: the mask is all that is needed. */
static bool is_plain(const struct ArrowSchema *s) {
  return !s->dictionary && cdv_value_width(s) > 0 && cdv_width_name(cdv_value_width(s));
}

static int filter_plain(struct cdv_array *array, struct cdv_array *mask, const struct cdv_stream_ref *stream_ref,
                        struct cdv_array **out) {
  struct cdv_selection c;
  int r = cdv_selection_from_mask(&c, mask, stream_ref);
  if (r) return r;
  r = cdv_compute_filter(&c, array, stream_ref, out);
  cdv_selection_free(&c);
  return r;
}

static struct cdv_kernel_launch mask_step(const char *name, struct cdv_array *mask, bool emit_null,
                                          cdevice_kernel_buffer to) {
  struct cdv_kernel_launch k = {
      "filter", "bits", name, CDV_FILTER_TILE, mask->length, {[BUF_OUT] = to}, {[SCALAR_EMIT_NULL] = emit_null}};
  k.buffers[BUF_MASK] = cdv_kernel_values(mask);
  k.buffers[BUF_MASK_VALIDITY] = cdv_kernel_nulls(mask);
  return k;
}

/* Which rows of each tile are chosen, and how many there are before it. */
static int count_rows(struct cdv_select_plan *s, struct cdv_array *mask, bool emit_null, int64_t tiles) {
  struct cdv_kernel_launch count = mask_step("filter_count", mask, emit_null, s->tiles);
  struct cdv_kernel_launch scan = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles, {[BUF_OUT] = s->tiles}, {0}};
  count.with = "scan filter_rows";
  int r = tiles ? cdv_exec_launch(&s->work, &count) : 0;
  return r ? r : cdv_exec_launch(&s->work, &scan);
}

/* The numbers of the rows: as many as there are, or room for as many as there may be. */
static int number_rows(struct cdv_select_plan *s, struct cdv_array *mask, bool emit_null) {
  struct cdv_kernel_launch k = mask_step("filter_rows", mask, emit_null, s->ignored);
  int r = cdv_exec_alloc_temp(&s->work, 'l', s->rows->n, &s->rows->index);
  if (r || !s->rows->n) return r;
  k.buffers[BUF_OUT] = s->rows->index;
  k.buffers[BUF_TILE_BEGINS] = s->tiles;
  return cdv_exec_launch(&s->work, &k);
}

/* Which of the numbers stand for a null of the mask. */
static int know_rows(struct cdv_select_plan *s, struct cdv_array *mask, cdevice_kernel_buffer *known) {
  struct cdv_kernel_launch k = {"filter",
                                "bits",
                                "take_valid",
                                CDV_PER_ROW_PACKED,
                                s->rows->n,
                                {[BUF_OUT] = *known},
                                {[SCALAR_VALUES_LENGTH] = mask->length}};
  k.buffers[BUF_VALUES] = cdv_kernel_nulls(mask);
  k.buffers[BUF_INDICES] = s->rows->index;
  return cdv_exec_launch(&s->work, &k);
}

/* A struct declared not nullable: its columns get the nulls. */
static bool is_batch(const struct cdv_array *a) {
  return !strcmp(a->schema->node->format, "+s") && !(a->schema->node->flags & ARROW_FLAG_NULLABLE);
}

static int filter(struct cdv_select_plan *s, struct cdv_array *array, struct cdv_array *mask, bool emit_null) {
  int64_t n = mask->length, tiles = n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0);
  cdevice_kernel_buffer head, known = {NULL, 0};
  s->rows = cdv_select_memory(s, sizeof *s->rows);
  if (!s->rows) return ENOMEM;
  s->rows->n = n;
  s->mask = emit_null ? NULL : mask;
  int r = emit_null ? cdv_exec_alloc_temp(&s->work, 'I', n / 32 + 1, &known) : 0;
  s->rows->known = known; /* before the nodes ask whether they may be null */
  if (!r) r = cdv_select_add_top(s, array);
  if (!r && emit_null && is_batch(array)) s->items[0].nulls = cdv_may_be_null(array);
  int64_t columns = r ? 0 : cdv_select_columns(s, 0);
  bool known_now = emit_null || !columns || cdv_exec_is_host(&s->work); /* else it is read together with the totals */
  if (!r) r = make_head(s, tiles, columns, &head);
  if (!r) r = count_rows(s, mask, emit_null, tiles);
  if (!r && known_now) r = cdv_exec_read_back(&s->work, &head, 8, 8, &s->rows->n);
  if (!r && !known_now) s->rows->count = head;
  if (!r && (emit_null || cdv_select_needs_numbers(s))) r = number_rows(s, mask, emit_null);
  if (!r && emit_null) r = know_rows(s, mask, &known);
  return r ? r : write_first(s, head, columns, !known_now);
}

int cdv_select_filter(struct cdv_array *array, struct cdv_array *mask, bool emit_null,
                      const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_select_plan s;
  struct cdv_array *inputs[2] = {array, mask};
  if (array->length != mask->length)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "filter: a mask of %lld rows for %lld", (long long)mask->length,
                    (long long)array->length);
  if (cdv_value_width(mask->schema->node)) return wrong_type("filter: a mask is bool", mask);
  emit_null = emit_null && cdv_may_be_null(mask);
  if (!emit_null && is_plain(array->schema->node)) return filter_plain(array, mask, stream_ref, out);
  int r = cdv_select_begin(&s, inputs, 2, stream_ref, "filter");
  if (!r) r = filter(&s, array, mask, emit_null);
  return cdv_select_end(&s, r, array->schema, out);
}

/* ---- take ---- */
static int check_rows(struct cdv_select_plan *s, struct cdv_array *array, cdevice_kernel_buffer head) {
  struct cdv_kernel_launch k = {
      "filter", "bits", "check_rows", CDV_PER_ROW, s->rows->n, {{0}}, {[SCALAR_VALUES_LENGTH] = array->length}};
  k.buffers[BUF_INDICES] = s->rows->index;
  k.buffers[BUF_INDEX_VALIDITY] = s->rows->known;
  k.buffers[BUF_ERROR] = (cdevice_kernel_buffer){head.data, head.offset + HEAD_ERROR};
  int r = clear_error(s, head);
  return r ? r : cdv_exec_launch(&s->work, &k);
}

/* The kernels of most layouts read int64. */
static int widen(struct cdv_select_plan *s, const struct cdv_array *indices) {
  struct cdv_kernel_launch k = {.family = "cast", .type = "u32 i64", .name = "cast_u32", .granularity = CDV_PER_ROW};
  if (cdv_value_width(indices->schema->node) == 8) return 0;
  k.n = indices->length;
  k.buffers[BUF_ARG0] = s->rows->index;
  int r = cdv_exec_alloc_temp(&s->work, 'l', indices->length, &s->rows->index);
  k.buffers[BUF_OUT] = s->rows->index;
  return r ? r : cdv_exec_launch(&s->work, &k);
}

static int take(struct cdv_select_plan *s, struct cdv_array *array, struct cdv_array *indices, bool checked) {
  cdevice_kernel_buffer head;
  s->rows = cdv_select_memory(s, sizeof *s->rows);
  if (!s->rows) return ENOMEM;
  *s->rows = (struct cdv_row_numbers){
      .index = cdv_kernel_values(indices), .known = cdv_kernel_nulls(indices), .n = indices->length};
  int r = widen(s, indices);
  if (!r) r = cdv_select_add_top(s, array);
  int64_t columns = r ? 0 : cdv_select_columns(s, 0);
  if (!r) r = make_head(s, 0, columns, &head);
  if (!r && checked) r = check_rows(s, array, head);
  return r ? r : write_first(s, head, columns, checked);
}

int cdv_select_take(struct cdv_array *array, struct cdv_array *indices, bool checked,
                    const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_select_plan s;
  struct cdv_array *inputs[2] = {array, indices}, *aligned;
  const struct ArrowSchema *schema = array->schema->node;
  if (cdv_value_width(indices->schema->node) != 8 && strcmp(indices->schema->node->format, "I"))
    return wrong_type("take: numbers of rows are int64 or uint32", indices);
  if (!schema->dictionary && cdv_value_width(schema) >= 0)
    return cdv_compute_take(array, indices, checked, stream_ref, out);
  int r = cdv_array_aligned(indices, &aligned);
  if (r) return r;
  inputs[1] = aligned;
  r = cdv_select_begin(&s, inputs, 2, stream_ref, "take");
  if (!r) r = take(&s, array, aligned, checked);
  r = cdv_select_end(&s, r, array->schema, out);
  cdv_array_unref(aligned);
  return r;
}
