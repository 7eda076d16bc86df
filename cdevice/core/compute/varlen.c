/* varlen.c - strings and lists, whose rows have several sizes. */
#include "core/compute/varlen.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

static const char *offset_type(const struct ArrowSchema *s) {
  struct cdv_layout l;
  const char *why;
  if (s->dictionary || cdv_layout_parse(s->format, &l, &why)) return NULL;
  switch (l.type) {
    case CDV_BINARY:
    case CDV_LIST:
    case CDV_MAP: return "i32";
    case CDV_LARGE_BINARY:
    case CDV_LARGE_LIST: return "i64";
    default: return NULL;
  }
}

bool cdv_has_offsets(const struct ArrowSchema *s) { return offset_type(s) != NULL; }

static bool is_list(const struct ArrowSchema *s) { return s->format[0] == '+'; }
static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_kernel_buffer){(void *)a->node->buffers[i], 0};
}
static cdevice_kernel_buffer offsets_of(const struct cdv_array *a) {
  return a->length ? (cdevice_kernel_buffer){(void *)a->node->buffers[1], a->offset} : (cdevice_kernel_buffer){NULL, 0};
}

/* What all these kernels are told. */
static struct cdv_kernel_launch step_of(const char *name, int unit, const struct cdv_array *a,
                                        const struct cdv_array *indices) {
  struct cdv_kernel_launch s = {
      .family = "varlen", .type = offset_type(a->schema->node), .name = name, .granularity = unit};
  s.n = indices->length;
  s.scalars[2] = a->length;
  s.buffers[1] = offsets_of(a);
  s.buffers[2] = cdv_kernel_values(indices);
  s.buffers[3] = cdv_kernel_nulls(indices);
  s.buffers[4] = cdv_kernel_nulls(a);
  return s;
}

/* Tiles are summed, the sums are added up, the tiles begin where they say. */
int cdv_sizes_to_offsets(struct cdv_exec *w, const char *type, int64_t n, const cdevice_kernel_buffer *sizes,
                         struct cdv_array *out, int64_t *total) {
  int64_t tiles = n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0);
  cdevice_kernel_buffer sums;
  int r = cdv_exec_alloc_temp(w, 'l', tiles + 1, &sums);
  if (r) return r;
  struct cdv_kernel_launch tile = {"varlen", type, "tile_sizes", CDV_FILTER_TILE, n, {sums, *sizes}, {0}};
  struct cdv_kernel_launch scan = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles, {sums}, {0}};
  struct cdv_kernel_launch spread = {"varlen", type, "offsets", CDV_FILTER_TILE, n, {buffer_of(out, 1), *sizes, sums},
                                     {0}};
  cdevice_kernel_buffer last = {sums.data, tiles};
  r = cdv_exec_launch(w, &tile);
  if (!r) r = cdv_exec_launch(w, &scan);
  if (!r) r = cdv_exec_read_back(w, &last, 8, 8, total);
  if (!r && *total > INT32_MAX && !strcmp(type, "i32"))
    r = cdv_fail(CDV_ARGUMENT, EOVERFLOW, "the result has %lld bytes or items, more than 32-bit offsets can count",
                 (long long)*total);
  return r ? r : cdv_exec_launch(w, &spread);
}

int cdv_compute_take_offsets(struct cdv_array *array, struct cdv_array *indices, bool checked,
                             const struct cdv_stream_ref *stream_ref, int64_t *total, struct cdv_array **out) {
  struct cdv_array *inputs[2] = {array, indices}, *made = NULL;
  bool wide = !strcmp(offset_type(array->schema->node), "i64");
  struct cdv_schema *schema = cdv_schema_of_number(wide ? 'l' : 'i');
  struct cdv_exec w;
  cdevice_kernel_buffer sizes;
  int64_t n = indices->length;
  int r = cdv_exec_begin(&w, inputs, 2, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, schema, n + 1, false, &made);
  if (!r) r = cdv_exec_alloc_temp(&w, 'l', n + 1, &sizes);
  cdv_schema_unref(schema);
  struct cdv_kernel_launch s = step_of("sizes", CDV_PER_ROW, array, indices);
  *total = 0;
  if (!r) r = cdv_exec_error_slot(&w, &s.buffers[5]);
  if (!r && n) {
    s.buffers[0] = sizes;
    r = cdv_exec_launch(&w, &s);
    if (!r && checked) r = cdv_exec_check_error(&w, "take", s.type);
    if (!r) r = cdv_sizes_to_offsets(&w, s.type, n, &sizes, made, total);
  } else if (!r) { /* its one offset */
    struct cdv_kernel_launch zero = {
        "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, wide ? 64 : 32, {buffer_of(made, 1)}, {0, 2}};
    r = cdv_exec_launch(&w, &zero);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_gather_varlen(struct cdv_array *array, struct cdv_array *indices, struct cdv_array *offsets,
                              int64_t total, const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *inputs[3] = {array, indices, offsets}, *made = NULL;
  bool list = is_list(array->schema->node);
  struct cdv_schema *schema = cdv_schema_of_number(list ? 'l' : 'C');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, inputs, 3, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, schema, total, false, &made);
  cdv_schema_unref(schema);
  if (!r && total) {
    struct cdv_kernel_launch s = step_of(list ? "expand" : "gather", CDV_PER_ROW, array, indices);
    s.buffers[0] = buffer_of(made, 1);
    if (!list) s.buffers[6] = buffer_of(array, 2);
    s.buffers[7] = cdv_kernel_values(offsets);
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

static const char *end_type(const struct ArrowSchema *s) {
  switch (s->children[0]->format[0]) {
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
        "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, indices->length, {buffer_of(made, 0)}, {0}};
    s.buffers[1] = cdv_kernel_nulls(indices);
    r = cdv_exec_launch(&w, &s);
  }
  struct cdv_kernel_launch s = {
      .family = "run_end", .type = end_type(array->schema->node), .name = "run_of", .granularity = CDV_PER_ROW};
  s.n = indices->length;
  if (!r) r = cdv_exec_error_slot(&w, &s.buffers[5]);
  if (!r) {
    s.buffers[0] = buffer_of(made, 1);
    s.buffers[1] = cdv_kernel_values(ends);
    s.buffers[2] = cdv_kernel_values(indices);
    s.buffers[3] = cdv_kernel_nulls(indices);
    s.scalars[2] = array->length;
    s.scalars[3] = ends->length;
    s.scalars[4] = array->offset;
    r = cdv_exec_launch(&w, &s);
  }
  if (!r && checked) r = cdv_exec_check_error(&w, "take", s.type);
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_iota(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_stream_ref *stream_ref,
                     struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, &near, 1, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, schema, n, false, &made);
  cdv_schema_unref(schema);
  if (!r) {
    struct cdv_kernel_launch s = {"filter", "bits", "rows", CDV_PER_ROW, n, {buffer_of(made, 1)}, {0, 0, first}};
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_expand_fixed_list(struct cdv_array *array, struct cdv_array *indices, int64_t size, bool checked,
                                  const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *inputs[2] = {array, indices}, *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, inputs, 2, stream_ref, "take");
  if (!r) r = cdv_exec_alloc_array(&w, schema, indices->length * size, false, &made);
  cdv_schema_unref(schema);
  struct cdv_kernel_launch s = {.family = "filter", .type = "bits", .name = "spread", .granularity = CDV_PER_ROW};
  s.n = indices->length * size;
  if (!r) r = cdv_exec_error_slot(&w, &s.buffers[5]);
  if (!r) {
    s.buffers[0] = buffer_of(made, 1);
    s.buffers[2] = cdv_kernel_values(indices);
    s.buffers[3] = cdv_kernel_nulls(indices);
    s.scalars[2] = array->length;
    s.scalars[3] = array->offset;
    s.scalars[4] = size;
    r = cdv_exec_launch(&w, &s);
  }
  if (!r && checked) r = cdv_exec_check_error(&w, "take", s.type);
  return cdv_exec_finish(&w, r, made, out);
}
