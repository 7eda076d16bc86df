/* concat.h - several arrays become one: where it is made, what must come to the CPU for it, and who keeps the
 * sources until a device has read them. */
#ifndef CDEVICE_CORE_COPY_CONCAT_H
#define CDEVICE_CORE_COPY_CONCAT_H

#include <stdint.h>

struct cdv_array;

/* The rows of n > 0 arrays of one type, one after the other, in one allocation, with the names of the first.
 * device_type 0: on the device that all are on; else stream is as for cdv_array_copy.  An event as after a copy.
 * Does not wait for sources of fixed width without nulls on the target's device or one of its family; others that
 * lie on a device are waited for and pass through the CPU.  owns: the sources are untouched; *out is a new
 * reference. */
int cdv_array_concat(struct cdv_array *const *arrays, int64_t n, int32_t device_type, int64_t device_id, void *stream,
                     struct cdv_array **out);

#endif
