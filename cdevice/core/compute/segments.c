/* segments.c - one value for the rows of each segment. */
#include "core/compute/segments.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_SEGMENT_VALUES, BUF_SEGMENT_VALIDITY, BUF_SEGMENT_ROWS, BUF_SEGMENT_BEGINS,
                                BUF_SEGMENT_ENDS) == 6,
               "buffers of segments are distinct");

enum { VALUES, BEGINS, ENDS, ROW_NUMBERS, INPUTS };

/* The kernels' name of a type; NULL: they have none. */
static const char *type_of(const struct ArrowSchema *schema) {
  const char *f = schema->format;
  if (schema->dictionary) return NULL;
  if (f[0] == 'd') return cdv_value_width(schema) == 16 ? "w128" : NULL;
  return f[1] ? NULL : f[0] == 'l' ? "i64" : f[0] == 'L' ? "u64" : f[0] == 'g' ? "f64" : NULL;
}

int cdv_compute_segments(struct cdv_array *values, struct cdv_array *rows, struct cdv_array *begins,
                         struct cdv_array *ends, enum cdv_segment_operation operation,
                         const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  static const char *const names[] = {[CDV_SEGMENT_SUM] = "segment_sum",
                                      [CDV_SEGMENT_PRODUCT] = "segment_product",
                                      [CDV_SEGMENT_MIN] = "segment_min",
                                      [CDV_SEGMENT_MAX] = "segment_max"};
  struct cdv_array *given[INPUTS] = {values, begins, ends, rows}, *inputs[INPUTS] = {NULL}, *made = NULL;
  const char *type = type_of(values->schema->node);
  int64_t n_inputs = rows ? INPUTS : INPUTS - 1;
  int r = 0;
  if (!type) return CDV_LAYOUT_NOT_HANDLED;
  for (int64_t i = 0; !r && i < n_inputs; i++) r = cdv_array_aligned(given[i], &inputs[i]);
  if (!r) {
    struct cdv_exec w;
    struct cdv_kernel_launch k = {
        .family = "segments", .type = type, .name = names[operation], .granularity = CDV_PER_ROW, .n = begins->length};
    r = cdv_exec_begin(&w, inputs, n_inputs, stream_ref, doing);
    if (!r) r = cdv_exec_alloc_array(&w, values->schema, begins->length, false, &made);
    if (!r) {
      k.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)made->node->buffers[1], 0};
      k.buffers[BUF_SEGMENT_VALUES] = cdv_kernel_values(inputs[VALUES]);
      k.buffers[BUF_SEGMENT_VALIDITY] = cdv_kernel_nulls(inputs[VALUES]);
      k.buffers[BUF_SEGMENT_BEGINS] = cdv_kernel_values(inputs[BEGINS]);
      k.buffers[BUF_SEGMENT_ENDS] = cdv_kernel_values(inputs[ENDS]);
      if (rows) k.buffers[BUF_SEGMENT_ROWS] = cdv_kernel_values(inputs[ROW_NUMBERS]);
      r = cdv_exec_launch(&w, &k);
    }
    r = cdv_exec_finish(&w, r, made, out);
  }
  for (int64_t i = 0; i < n_inputs; i++)
    if (inputs[i]) cdv_array_unref(inputs[i]);
  return r;
}
