/* info.h - properties of an array: can the CPU read it, how many nulls, how many bytes. */
#ifndef CDEVICE_CORE_ARRAY_INFO_H
#define CDEVICE_CORE_ARRAY_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_array;

/* Counts on the CPU when unknown; -1 when the memory cannot be read here. */
int64_t cdv_array_null_count(struct cdv_array *array);
/* Bytes of the buffers that the slice covers, children included; -1 parts unknown. */
int64_t cdv_array_nbytes(struct cdv_array *array);
/* Size in bytes of buffer i of this node for its own slice's end, as far as it can be known without waiting; -1. */
int64_t cdv_array_buffer_size(struct cdv_array *array, int64_t i);
/* Can the CPU read it now?  0 yes; else an error with advice. */
int cdv_array_readable(struct cdv_array *array, const char *doing);
/* A requested schema keeps "not null" only where the data or its own schema guarantees it.  array: the data;
 * NULL: data to come. */
void cdv_schema_relax_nullability(const struct ArrowSchema *have, struct cdv_array *array, struct ArrowSchema *want);
/* True for a CPU array without buffers.  It may stand among arrays of another device type: libarrow's do in
 * every stream. */
bool cdv_has_no_device_memory(int32_t device_type, const struct ArrowArray *node);

#endif
