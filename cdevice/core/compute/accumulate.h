/* accumulate.h - what the rows of each group come to. */
#ifndef CDEVICE_CORE_COMPUTE_ACCUMULATE_H
#define CDEVICE_CORE_COMPUTE_ACCUMULATE_H

#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

enum cdv_accumulation {
  CDV_ACCUMULATE_COUNT,
  CDV_ACCUMULATE_SUM,
  CDV_ACCUMULATE_PRODUCT,
  CDV_ACCUMULATE_MIN,
  CDV_ACCUMULATE_MAX
};
#define CDV_ORDER_NEEDED (-3) /* no error is set */

/* The rows of each group, one group after the other: numbers of rows (uint64), and where the groups begin and end in
 * them (int64). */
struct cdv_group_order {
  struct cdv_array *rows, *begins, *ends;
};
/* How many valid rows each of `groups` groups has (int64), or their sum, product, minimum or maximum; of none 0, 1, or the type's
 * greatest or least value, NaN of floats. ids (uint32): the group of each row. Values: integers, floats, decimals of
 * 128 and 256 bits; extremes also of types that are stored as such. Sums and products are int64, uint64, float64 or of
 * the decimals' type, and have the same bits on every device; each step of a product of decimals is rounded to their scale. CDV_LAYOUT_NOT_HANDLED: another type. CDV_ORDER_NEEDED: the device goes through
 * groups, and `order` was NULL. Does not block. Any thread. owns: *out is a new reference. */
int cdv_compute_accumulate(struct cdv_array *values, struct cdv_array *ids, int64_t groups,
                           const struct cdv_group_order *order, enum cdv_accumulation operation,
                           const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out);

#endif
