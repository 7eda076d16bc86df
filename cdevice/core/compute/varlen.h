/* varlen.h - sizes that become offsets, the runs that rows are in, and numbers of rows. */
#ifndef CDEVICE_CORE_COMPUTE_VARLEN_H
#define CDEVICE_CORE_COMPUTE_VARLEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_stream_ref;
struct cdv_exec;

/* The runs (int64) that the rows taken by number are in, of an array of the length and offset of `array` whose runs end
 * at `ends`: int16, int32 or int64. */
int cdv_compute_find_runs(struct cdv_array *array, struct cdv_array *ends, struct cdv_array *indices, bool checked,
                          const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* The numbers (int64) first ... first + n - 1, on the device that has `near`.  Does not wait. */
int cdv_compute_iota(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_stream_ref *stream_ref,
                     struct cdv_array **out);
/* For each of n rows the numbers (int64) of its parts, of so many columns of n rows that stand one behind the other, with
 * that of a separator between them; these stand behind the columns, one for all rows or one for each.  Does not wait. */
int cdv_compute_interleave(struct cdv_array *near, int64_t n, int64_t parts, bool one_separator,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* Sizes (int64) become the offsets, of "i32" or "i64", that `out` has memory for, one more than n > 0; *total: the
 * last one. Blocks: it reads that.  EOVERFLOW: more than the offsets can count. */
int cdv_sizes_to_offsets(struct cdv_exec *w, const char *type, int64_t n, const cdevice_kernel_buffer *sizes,
                         struct cdv_array *out, int64_t *total);

#endif
