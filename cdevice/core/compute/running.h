/* running.h - running sums, products and extremes. */
#ifndef CDEVICE_CORE_COMPUTE_RUNNING_H
#define CDEVICE_CORE_COMPUTE_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

enum cdv_running_operation { CDV_RUNNING_SUM, CDV_RUNNING_PROD, CDV_RUNNING_MIN, CDV_RUNNING_MAX };
/* Each row joined with all before it and with `start`, the bits of a value of the array's type: integers of 8 to 64
 * bits, float32, float64. skip_nulls: null rows count as nothing; else all rows from the first null on are null. Does
 * not block. CDV_LAYOUT_NOT_HANDLED for other types. owns: *out is a new reference. */
int cdv_compute_running(struct cdv_array *values, enum cdv_running_operation operation, int64_t start, bool skip_nulls,
                        const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out);

#endif
