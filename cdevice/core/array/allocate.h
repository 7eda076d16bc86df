/* allocate.h - allocates arrays of a known layout for the caller to fill, and finishes them. */
#ifndef CDEVICE_CORE_ARRAY_ALLOCATE_H
#define CDEVICE_CORE_ARRAY_ALLOCATE_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_schema;

/* Allocates uninitialised rows of types whose sizes follow from the length; for work on `stream` (as in
 * cdv_array_copy), an event tells others when they may begin. validity: every node has a bitmap, but a struct at the
 * top. Does not block. owns: *out is a new reference. */
int cdv_array_empty(struct cdv_schema *schema, int64_t length, bool validity, int32_t device_type, int64_t device_id,
                    void *stream, struct cdv_array **out);
/* Memory alone, in one allocation: buffer i of the node has nbytes[i] bytes (0: NULL), for any format.  n > 0.
 * Does not block.  owns: *out is a new reference. */
int cdv_buffers_empty(const int64_t *nbytes, int64_t n, int32_t device_type, int64_t device_id, void *stream,
                      struct cdv_array **out);
/* Makes the array of a filled allocation, on the same memory, its event behind the work enqueued on `stream` (NULL:
 * the current one).  null_count: of the top, -1 unknown.  Does not block.  owns: the first is untouched; *out is a new
 * reference. */
int cdv_array_freeze(struct cdv_array *written, void *stream, int64_t null_count, struct cdv_array **out);

#endif
