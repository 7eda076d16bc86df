/* launch_args.h - the values and nulls of an array as arguments of a kernel. */
#ifndef CDEVICE_CORE_COMPUTE_LAUNCH_ARGS_H
#define CDEVICE_CORE_COMPUTE_LAUNCH_ARGS_H

#include <stdbool.h>

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"

struct cdv_array;

/* The kernels' name of a width: 1, 2, 4, 8 or 16 bytes.  NULL: there is none. */
const char *cdv_width_name(int width);
/* Bytes of a value; 0: bits; -1: no type of one value for each row. */
int cdv_value_width(const struct ArrowSchema *schema);
cdevice_kernel_buffer cdv_kernel_values(const struct cdv_array *a);
/* data NULL: none are null. */
cdevice_kernel_buffer cdv_kernel_nulls(const struct cdv_array *a);
bool cdv_may_be_null(const struct cdv_array *a);
/* The array, or a copy of it where its values do not lie as the type wants it.  owns: *out is a new reference. */
int cdv_array_aligned(struct cdv_array *a, struct cdv_array **out);

#endif
