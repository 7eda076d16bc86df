/* segments.h - one value for the rows of each segment. */
#ifndef CDEVICE_CORE_COMPUTE_SEGMENTS_H
#define CDEVICE_CORE_COMPUTE_SEGMENTS_H

#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

enum cdv_segment_operation { CDV_SEGMENT_SUM, CDV_SEGMENT_PRODUCT, CDV_SEGMENT_MIN, CDV_SEGMENT_MAX };

/* What the values (int64, uint64, float64, decimal128) of each segment come to; nulls count as nothing, and of no value the sum is
 * 0, the product 1, the minimum the greatest number. Segment s is begins[s] to ends[s] (int64) of `rows` (int64), or of
 * the values where that is NULL; the places and rows must exist. The result has no nulls.
 * CDV_LAYOUT_NOT_HANDLED: another type. Does not block. Any thread. owns: *out is a new reference. */
int cdv_compute_segments(struct cdv_array *values, struct cdv_array *rows, struct cdv_array *begins,
                         struct cdv_array *ends, enum cdv_segment_operation operation,
                         const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out);

#endif
