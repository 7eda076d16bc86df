/* copy.h - an array of any layout to any device, the rows of the slice alone: the decisions for one copy,
 * its result, and what becomes of it when it fails. */
#ifndef CDEVICE_CORE_COPY_COPY_H
#define CDEVICE_CORE_COPY_COPY_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;

/* To a device, on `stream` of the target (of the source, when the target is the CPU; NULL: its current stream).
 * always: copy even if the data is there.  The result carries an event where the target has events; a CPU result is
 * complete.  owns: the source is untouched; *out is a new reference.  blocks: only where sizes must be read from a
 * device first, where a staging chunk is used again, and for a CPU target. */
int cdv_array_copy(struct cdv_array *array, int32_t device_type, int64_t device_id, void *stream, bool always,
                   struct cdv_array **out);

#endif
