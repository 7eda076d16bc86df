/* list_reduce.h - what the values of each list come to. */
#ifndef CDEVICE_CORE_COMPUTE_LIST_REDUCE_H
#define CDEVICE_CORE_COMPUTE_LIST_REDUCE_H

#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

enum cdv_list_reduction { CDV_LIST_COUNT, CDV_LIST_SUM, CDV_LIST_MIN, CDV_LIST_MAX, CDV_LIST_DOT };

/* Lists by their values and, of each, where it begins in them and how many it has (int64). Without begins and lengths each
 * list has `size` values, one list behind the other. other: values of a second list of each row, as long as the first, of the
 * same type; else NULL, as its begins. */
struct cdv_lists {
  struct cdv_array *values, *other, *begins, *other_begins, *lengths;
  int64_t rows, size;
};
/* How many valid values each list has (int64), or their sum, minimum or maximum, or the sum of the products of two lists; of
 * none 0, or the type's greatest or least value, NaN of floats. Of types that are stored as integers and floats of 8 to 64
 * bits; sums are int64, uint64 or float64, and have the same bits on every device. CDV_LAYOUT_NOT_HANDLED: another type. The
 * caller promises that lists lie in their values. Does not block. Any thread. owns: *out is a new reference. */
int cdv_compute_list_reduce(const struct cdv_lists *lists, enum cdv_list_reduction operation,
                            const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out);

#endif
