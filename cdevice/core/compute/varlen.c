/* varlen.c - sizes that become offsets, the runs that rows are in, and numbers of rows. */
#include "core/compute/varlen.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_SIZES, BUF_TILE_BEGINS) == 3, "buffers of sizes and offsets are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_VALUES_LENGTH, SCALAR_RUNS, SCALAR_RUNS_OFFSET) == 4,
               "scalars of a search for runs are distinct");

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_kernel_buffer){(void *)a->node->buffers[i], 0};
}

/* Tiles are summed, the sums are added up, the tiles begin where they say. */
int cdv_sizes_to_offsets(struct cdv_exec *w, const char *type, int64_t n, const cdevice_kernel_buffer *sizes,
                         struct cdv_array *out, int64_t *total) {
  int64_t tiles = n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0);
  cdevice_kernel_buffer sums;
  int r = cdv_exec_alloc_temp(w, 'l', tiles + 1, &sums);
  if (r) return r;
  struct cdv_kernel_launch tile = {
      "varlen", type, "tile_sizes", CDV_FILTER_TILE, n, {[BUF_OUT] = sums, [BUF_SIZES] = *sizes}, {0}};
  struct cdv_kernel_launch scan = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles, {[BUF_OUT] = sums}, {0}};
  struct cdv_kernel_launch spread = {
      "varlen",  type,
      "offsets", CDV_FILTER_TILE,
      n,         {[BUF_OUT] = buffer_of(out, 1), [BUF_SIZES] = *sizes, [BUF_TILE_BEGINS] = sums},
      {0}};
  cdevice_kernel_buffer last = {sums.data, tiles};
  r = cdv_exec_launch(w, &tile);
  if (!r) r = cdv_exec_launch(w, &scan);
  if (!r) r = cdv_exec_read_back(w, &last, 8, 8, total);
  if (!r && *total > INT32_MAX && !strcmp(type, "i32"))
    r = cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                 "the result has %lld bytes or items, more than 32-bit offsets can count; cast the argument to "
                 "large_string, large_binary or large_list",
                 (long long)*total);
  return r ? r : cdv_exec_launch(w, &spread);
}

static const char *end_type(const struct ArrowSchema *s) {
  switch (s->format[0]) {
    case 's': return "i16";
    case 'i': return "i32";
    default: return "i64";
  }
}

int cdv_compute_find_runs(struct cdv_array *array, struct cdv_array *ends, struct cdv_array *indices, bool checked,
                          const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *inputs[3] = {array, ends, indices}, *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, inputs, 3, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, schema, indices->length, cdv_may_be_null(indices), &made);
  cdv_schema_unref(schema);
  if (!r && cdv_may_be_null(indices)) {
    struct cdv_kernel_launch s = {
        "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, indices->length, {[BUF_OUT] = buffer_of(made, 0)}, {0}};
    s.buffers[BUF_ARG0] = cdv_kernel_nulls(indices);
    r = cdv_exec_launch(&w, &s);
  }
  struct cdv_kernel_launch s = {
      .family = "run_end", .type = end_type(ends->schema->node), .name = "run_of", .granularity = CDV_PER_ROW};
  s.n = indices->length;
  if (!r) r = cdv_exec_error_slot(&w, &s.buffers[BUF_ERROR]);
  if (!r) {
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.buffers[BUF_VALUES] = cdv_kernel_values(ends);
    s.buffers[BUF_INDICES] = cdv_kernel_values(indices);
    s.buffers[BUF_INDEX_VALIDITY] = cdv_kernel_nulls(indices);
    s.scalars[SCALAR_VALUES_LENGTH] = array->length;
    s.scalars[SCALAR_RUNS] = ends->length;
    s.scalars[SCALAR_RUNS_OFFSET] = array->offset;
    r = cdv_exec_launch(&w, &s);
  }
  if (!r && checked) r = cdv_exec_check_error(&w, "take", s.type);
  return cdv_exec_finish(&w, r, made, out);
}

/* So many numbers (int64) of rows, as a kernel writes them. */
static int row_numbers(struct cdv_array *near, struct cdv_kernel_launch *s, int64_t rows,
                       const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, &near, 1, stream_ref, doing);
  if (!r) r = cdv_exec_alloc_array(&w, schema, rows, false, &made);
  cdv_schema_unref(schema);
  if (!r) {
    s->buffers[BUF_OUT] = buffer_of(made, 1);
    r = cdv_exec_launch(&w, s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_iota(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_stream_ref *stream_ref,
                     struct cdv_array **out) {
  struct cdv_kernel_launch s = {"filter", "bits", "rows", CDV_PER_ROW, n, {{0}}, {[SCALAR_FIRST] = first}};
  return row_numbers(near, &s, n, stream_ref, "take", out);
}

int cdv_compute_interleave(struct cdv_array *near, int64_t n, int64_t parts, bool one_separator,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  static const char doing[] = "binary_join_element_wise";
  struct cdv_kernel_launch s = {"filter", "bits", "interleave", CDV_PER_ROW, n, {{0}}, {0}};
  int64_t rows;
  *out = NULL;
  if (__builtin_mul_overflow(n, 2 * parts - 1, &rows) || rows > INT64_MAX / 8)
    return cdv_fail(CDV_ARGUMENT, EFBIG, "%s: %lld rows of %lld columns", doing, (long long)n, (long long)parts);
  s.scalars[SCALAR_PARTS] = parts;
  s.scalars[SCALAR_SEPARATOR_STEP] = !one_separator;
  return row_numbers(near, &s, rows, stream_ref, doing, out);
}
