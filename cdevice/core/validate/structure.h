/* structure.h - checks before an imported struct is used. */
#ifndef CDEVICE_CORE_VALIDATE_STRUCTURE_H
#define CDEVICE_CORE_VALIDATE_STRUCTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_array;

int cdv_schema_check(const struct ArrowSchema *schema);
/* Checks a struct against its schema before anything is used.  Reads the node structs, and on memory that the
 * CPU may read one offset per variable-size buffer.  level 2 also reads contents. */
/* *extra: somewhere in it a null array has a buffer, which it should not and polars' have. */
int cdv_validate(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, int level, bool *extra);
/* The same; sizes: bytes that the buffers of the root have, -1: not known. */
int cdv_validate_sized(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, const int64_t *sizes,
                       int level, bool *extra);
int cdv_validate_view(struct cdv_array *array, int level);
/* Contents of a node and of those below, which the CPU may read: what they point to is there. Not whether text is
 * text. */
int cdv_validate_values(const struct ArrowSchema *schema, const struct ArrowArray *array);

#endif
