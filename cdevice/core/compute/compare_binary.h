/* compare_binary.h - strings and bytes of any layout, row by row. */
#ifndef CDEVICE_CORE_COMPUTE_COMPARE_BINARY_H
#define CDEVICE_CORE_COMPUTE_COMPARE_BINARY_H

#include <stdint.h>

#include "core/compute/elementwise.h"

struct cdv_array;
struct cdv_stream_ref;
struct cdv_schema;

/* Of any two layouts, row by row, bool, without nulls; `outcomes`: bits for less, equal, greater.
 * CDV_LAYOUT_NOT_HANDLED: other types, or views of more than one buffer. Does not wait. */
int cdv_compute_compare(const struct cdv_datum args[2], int outcomes, struct cdv_schema *schema,
                        const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* The offsets (int64) that rows of views, one or more, have as strings one behind the other; *total: the last one.
 * Blocks: it reads that. */
int cdv_compute_view_offsets(struct cdv_array *views, const struct cdv_stream_ref *stream_ref, int64_t *total,
                             struct cdv_array **out);
/* Their bytes (as uint8).  Does not wait. */
int cdv_compute_view_bytes(struct cdv_array *views, struct cdv_array *offsets, int64_t total,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* Views (as `schema`, of 16 bytes a row) of rows that have offsets or one size, which look at the rows' bytes as buffer 0;
 * those must be less than 2^31. CDV_LAYOUT_NOT_HANDLED: other types. Does not wait. */
int cdv_compute_make_views(struct cdv_array *rows, struct cdv_schema *schema, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **out);

#endif
