/* compare_binary.c - strings and bytes of any layout, row by row. */
#include "core/compute/compare_binary.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/elementwise.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/compute/varlen.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

#define NOT_BINARY (-5)
_Static_assert(NOT_BINARY < BY_TABLE && BY_TABLE < BY_VIEWS && BY_VIEWS < BY_LONG_OFFSETS &&
                   BY_LONG_OFFSETS < BY_OFFSETS && BY_OFFSETS < 0,
               "a layout that is no width is below 0");

/* Where the two sides of a comparison go. */
static const struct {
  int rows, bytes, validity, layout;
} side_slots[2] = {{BUF_LEFT_ROWS, BUF_LEFT_BYTES, BUF_LEFT_VALIDITY, SCALAR_LEFT_LAYOUT},
                   {BUF_RIGHT_ROWS, BUF_RIGHT_BYTES, BUF_RIGHT_VALIDITY, SCALAR_RIGHT_LAYOUT}};
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_LEFT_ROWS, BUF_LEFT_BYTES, BUF_LEFT_VALIDITY, BUF_RIGHT_ROWS,
                                BUF_RIGHT_BYTES, BUF_RIGHT_VALIDITY) == 7 &&
                   CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_ARG_KINDS, SCALAR_ORDERINGS, SCALAR_LEFT_LAYOUT,
                                    SCALAR_RIGHT_LAYOUT) == 5,
               "buffers and scalars of a comparison are distinct");
/* Where buffers of views' bytes go. */
static const int data_slots[] = {BUF_DATA0, BUF_DATA1, BUF_DATA2, BUF_DATA3};
#define DATA_SLOTS ((int64_t)(sizeof data_slots / sizeof *data_slots))
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_DATA0, BUF_DATA1, BUF_DATA2, BUF_DATA3, BUF_OUT_OFFSETS) ==
                       7 &&
                   CDV_BUFFER_SLOTS(BUF_OUT, BUF_VALUES, BUF_DATA0, BUF_DATA_BEGINS, BUF_OUT_OFFSETS) == 5,
               "buffers of views that become bytes are distinct");

static int64_t layout_of(const struct ArrowSchema *s) {
  struct cdv_layout l;
  const char *why;
  if (s->dictionary || cdv_layout_parse(s->format, &l, &why)) return NOT_BINARY;
  switch (l.type) {
    case CDV_BINARY: return BY_OFFSETS;
    case CDV_LARGE_BINARY: return BY_LONG_OFFSETS;
    case CDV_BINARY_VIEW: return BY_VIEWS;
    case CDV_FIXED: return s->format[0] == 'w' ? l.width : NOT_BINARY;
    default: return NOT_BINARY;
  }
}

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int64_t i) {
  return (cdevice_kernel_buffer){(void *)a->node->buffers[i], 0};
}
static cdevice_kernel_buffer rows_of(const struct cdv_array *a) {
  return a->length ? (cdevice_kernel_buffer){(void *)a->node->buffers[1], a->offset} : (cdevice_kernel_buffer){NULL, 0};
}
static int64_t looked_at(const struct cdv_array *a) { return a->node->n_buffers - 3; } /* buffers of bytes of views */

/* Their addresses, one after the other. */
static cdevice_kernel_buffer table_of(const struct cdv_array *a) {
  return (cdevice_kernel_buffer){(void *)(a->node->buffers + 2), 0};
}

/* One side of a comparison. */
static int pass_rows(const struct cdv_exec *w, struct cdv_kernel_launch *s, const struct cdv_datum *x, int side) {
  const struct cdv_array *a = x->array;
  int64_t layout = layout_of(a->schema->node);
  bool views = layout == BY_VIEWS;
  if (views && cdv_exec_is_host(w)) layout = BY_TABLE;
  if (layout == NOT_BINARY || (layout == BY_VIEWS && looked_at(a) > 1)) return CDV_LAYOUT_NOT_HANDLED;
  s->buffers[side_slots[side].rows] = rows_of(a);
  if (layout == BY_TABLE)
    s->buffers[side_slots[side].bytes] = table_of(a);
  else if (layout < 0 && a->node->n_buffers > (views ? 3 : 2))
    s->buffers[side_slots[side].bytes] = buffer_of(a, 2);
  if (views) s->buffers[side_slots[side].validity] = cdv_kernel_nulls(a);
  s->scalars[SCALAR_ARG_KINDS] |= (int64_t)x->is_scalar << (2 * side);
  s->scalars[side_slots[side].layout] = layout;
  return 0;
}

/* The function, in errors, by its bits for less, equal, greater. */
static const char *name_of(int outcomes) {
  static const char *const names[8] = {"", "less", "equal", "less_equal", "greater", "not_equal", "greater_equal", ""};
  return names[outcomes & 7];
}

int cdv_compute_compare(const struct cdv_datum args[2], int outcomes, struct cdv_schema *schema,
                        const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  if (args[0].is_scalar && !args[1].is_scalar) { /* kernels want the one row second */
    struct cdv_datum turned[2] = {args[1], args[0]};
    return cdv_compute_compare(turned, (outcomes & 2) | (outcomes & 1) << 2 | (outcomes >> 2 & 1), schema, stream_ref,
                               out);
  }
  struct cdv_array *inputs[2] = {args[0].array, args[1].array}, *made = NULL;
  struct cdv_exec w;
  int64_t n = inputs[0]->length;
  if (!args[1].is_scalar && inputs[0]->length != inputs[1]->length)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: arguments of %lld and %lld rows; arrays must have the same length",
                    name_of(outcomes), (long long)inputs[0]->length, (long long)inputs[1]->length);
  struct cdv_kernel_launch s = {
      .family = "binary", .type = "bits", .name = "compare", .granularity = CDV_PER_ROW_PACKED, .n = n};
  int r = cdv_exec_begin(&w, inputs, 2, stream_ref, name_of(outcomes));
  for (int i = 0; !r && i < 2; i++) r = pass_rows(&w, &s, &args[i], i);
  if (!r) r = cdv_exec_alloc_array(&w, schema, n, false, &made);
  if (!r && n) {
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.scalars[SCALAR_ORDERINGS] = outcomes;
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_view_offsets(struct cdv_array *views, const struct cdv_stream_ref *stream_ref, int64_t *total,
                             struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_exec w;
  cdevice_kernel_buffer sizes;
  int64_t n = views->length;
  *total = 0;
  int r = cdv_exec_begin(&w, &views, 1, stream_ref, "cast");
  if (!r) r = cdv_exec_alloc_array(&w, schema, n + 1, false, &made);
  if (!r) r = cdv_exec_alloc_temp(&w, 'l', n + 1, &sizes);
  cdv_schema_unref(schema);
  if (!r) {
    struct cdv_kernel_launch s = {
        "binary", "bits", "view_sizes", CDV_PER_ROW, n, {[BUF_OUT] = sizes, [BUF_VALUES] = rows_of(views)}, {0}};
    s.buffers[BUF_VALUES_VALIDITY] = cdv_kernel_nulls(views);
    r = cdv_exec_launch(&w, &s);
  }
  if (!r) r = cdv_sizes_to_offsets(&w, "i64", n, &sizes, made, total);
  return cdv_exec_finish(&w, r, made, out);
}

/* What views look at, in one buffer, and where each begins. */
static int join(struct cdv_exec *w, const struct cdv_array *views, int64_t nbytes, cdevice_kernel_buffer *bytes,
                cdevice_kernel_buffer *begins) {
  int64_t n = looked_at(views);
  int r = cdv_exec_alloc_temp(w, 'C', nbytes, bytes);
  if (!r) r = cdv_exec_alloc_temp(w, 'l', n, begins);
  cdevice_kernel_buffer to = *bytes;
  for (int64_t k = 0; !r && k < n; to.offset += cdv_data_size(views->node, k++)) {
    struct cdv_kernel_launch s = {"binary",
                                  "bits",
                                  "join",
                                  CDV_PER_ROW,
                                  cdv_data_size(views->node, k),
                                  {[BUF_OUT] = to, [BUF_VALUES] = buffer_of(views, 2 + k)},
                                  {0}};
    s.buffers[BUF_DATA_BEGINS] = *begins;
    s.scalars[SCALAR_DATA_INDEX] = k;
    if (s.n) r = cdv_exec_launch(w, &s);
  }
  return r;
}

/* Four buffers at a time, or joined where that is less work. */
static int put_bytes(struct cdv_exec *w, const struct cdv_array *views, struct cdv_kernel_launch *s) {
  int64_t n = looked_at(views), nbytes = 0;
  for (int64_t k = 0; k < n; k++) nbytes += cdv_data_size(views->node, k);
  s->scalars[SCALAR_DATA_KIND] = cdv_exec_is_host(w)                                     ? BY_TABLE
                                 : n > DATA_SLOTS && n / DATA_SLOTS > nbytes / 16 / s->n ? BY_JOINED
                                                                                         : BY_NAME;
  s->buffers[BUF_DATA0] = table_of(views);
  if (s->scalars[SCALAR_DATA_KIND] == BY_JOINED) {
    int r = join(w, views, nbytes, &s->buffers[BUF_DATA0], &s->buffers[BUF_DATA_BEGINS]);
    if (r) return r;
  }
  if (s->scalars[SCALAR_DATA_KIND] != BY_NAME) return cdv_exec_launch(w, s);
  for (int64_t first = 0; first == 0 || first < n; first += DATA_SLOTS) {
    for (int64_t k = 0; k < DATA_SLOTS; k++)
      s->buffers[data_slots[k]] = first + k < n ? buffer_of(views, 2 + first + k) : (cdevice_kernel_buffer){NULL, 0};
    s->scalars[SCALAR_DATA_INDEX] = first;
    int r = cdv_exec_launch(w, s);
    if (r) return r;
  }
  return 0;
}

int cdv_compute_view_bytes(struct cdv_array *views, struct cdv_array *offsets, int64_t total,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *inputs[2] = {views, offsets}, *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('C');
  struct cdv_exec w;
  int r = cdv_exec_begin(&w, inputs, 2, stream_ref, "cast");
  if (!r) r = cdv_exec_alloc_array(&w, schema, total, false, &made);
  cdv_schema_unref(schema);
  if (!r && total) {
    struct cdv_kernel_launch s = {
        "binary", "bits", "view_bytes", CDV_PER_ROW, views->length, {[BUF_OUT] = buffer_of(made, 1)}, {0}};
    s.buffers[BUF_VALUES] = rows_of(views);
    s.buffers[BUF_OUT_OFFSETS] = cdv_kernel_values(offsets);
    r = put_bytes(&w, views, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_make_views(struct cdv_array *rows, struct cdv_schema *schema, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_exec w;
  struct cdv_kernel_launch s = {
      .family = "binary", .type = "bits", .name = "make_views", .granularity = CDV_PER_ROW, .n = rows->length};
  int64_t layout = layout_of(rows->schema->node);
  if (layout == NOT_BINARY || layout == BY_VIEWS || cdv_value_width(schema->node) != 16) return CDV_LAYOUT_NOT_HANDLED;
  int r = cdv_exec_begin(&w, &rows, 1, stream_ref, "cast");
  if (!r) r = pass_rows(&w, &s, &(struct cdv_datum){.array = rows}, 0);
  if (!r) r = cdv_exec_alloc_array(&w, schema, rows->length, false, &made);
  if (!r && rows->length) {
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    s.buffers[BUF_LEFT_VALIDITY] = cdv_kernel_nulls(rows);
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}
