/* varlen.h - strings and lists, whose rows have several sizes. */
#ifndef CDEVICE_CORE_COMPUTE_VARLEN_H
#define CDEVICE_CORE_COMPUTE_VARLEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"

struct cdv_array;
struct cdv_stream_ref;
struct cdv_exec;

/* Is it one, with offsets? */
bool cdv_has_offsets(const struct ArrowSchema *schema);
/* The offsets that the rows taken by number have, one more than indices; *total: the last one.  Blocks: it reads that.
 * EOVERFLOW: more than the offsets can count. */
int cdv_compute_take_offsets(struct cdv_array *array, struct cdv_array *indices, bool checked,
                             const struct cdv_stream_ref *stream_ref, int64_t *total, struct cdv_array **out);
/* What lies behind these offsets: the bytes of strings (as uint8), the numbers of the items of lists (as int64).  Does not
 * wait. */
int cdv_compute_gather_varlen(struct cdv_array *array, struct cdv_array *indices, struct cdv_array *offsets,
                              int64_t total, const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* The numbers of the items (int64) that the rows taken by number have, of fixed-size lists of `size`.  Does not wait unless it
 * is checked. */
int cdv_compute_expand_fixed_list(struct cdv_array *array, struct cdv_array *indices, int64_t size, bool checked,
                                  const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* The runs (int64) that the rows taken by number are in, of a run-end encoded array with these ends. */
int cdv_compute_find_runs(struct cdv_array *array, struct cdv_array *ends, struct cdv_array *indices, bool checked,
                          const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* The numbers (int64) first ... first + n - 1, on the device that has `near`.  Does not wait. */
int cdv_compute_iota(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_stream_ref *stream_ref,
                     struct cdv_array **out);
/* Sizes (int64) become the offsets, of "i32" or "i64", that `out` has memory for, one more than n > 0; *total: the last one.
 * Blocks: it reads that.  EOVERFLOW: more than the offsets can count. */
int cdv_sizes_to_offsets(struct cdv_exec *w, const char *type, int64_t n, const cdevice_kernel_buffer *sizes,
                         struct cdv_array *out, int64_t *total);

#endif
