/* scatter.c - rows by the targets that indices name. */
#include "core/compute/scatter.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"

int cdv_compute_scatter_rows(struct cdv_array *indices, int64_t targets, const struct cdv_stream_ref *stream_ref,
                             const char *doing, struct cdv_array **out) {
  struct cdv_array *made = NULL, *input = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('i');
  struct cdv_exec w;
  struct cdv_kernel_launch clear = {
      .family = "scatter", .type = "bits", .name = "scatter_clear", .granularity = CDV_PER_ROW, .n = targets};
  struct cdv_kernel_launch put = {
      .family = "scatter", .type = "bits", .name = "scatter_rows", .granularity = CDV_PER_ROW, .n = indices->length};
  int r = cdv_array_aligned(indices, &input);
  if (r) {
    cdv_schema_unref(schema);
    return r;
  }
  r = cdv_exec_begin(&w, &input, 1, stream_ref, doing);
  if (!r) r = cdv_exec_alloc_array(&w, schema, targets, false, &made);
  cdv_schema_unref(schema);
  if (!r) r = cdv_exec_error_slot(&w, &put.buffers[BUF_ERROR]);
  if (!r) {
    clear.buffers[BUF_OUT] = put.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)made->node->buffers[1], 0};
    put.buffers[BUF_INDICES] = cdv_kernel_values(input);
    put.buffers[BUF_INDEX_VALIDITY] = cdv_kernel_nulls(input);
    put.scalars[SCALAR_VALUES_LENGTH] = targets;
    r = cdv_exec_launch(&w, &clear);
    if (!r) r = cdv_exec_launch(&w, &put);
    if (!r) r = cdv_exec_check_error(&w, doing, "int64");
  }
  r = cdv_exec_finish(&w, r, made, out);
  cdv_array_unref(input);
  return r;
}
