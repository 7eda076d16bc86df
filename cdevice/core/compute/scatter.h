/* scatter.h - rows by the targets that indices name. */
#ifndef CDEVICE_CORE_COMPUTE_SCATTER_H
#define CDEVICE_CORE_COMPUTE_SCATTER_H

#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

/* For each number below `targets` the last row of `indices` (int64) that has it; -1 where none has. Of int32, for as
 * many rows as that counts. Blocks: an index out of bounds is an error. owns: *out is a new reference. */
int cdv_compute_scatter_rows(struct cdv_array *indices, int64_t targets, const struct cdv_stream_ref *stream_ref,
                             const char *doing, struct cdv_array **out);

#endif
