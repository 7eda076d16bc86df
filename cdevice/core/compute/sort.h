/* sort.h - the order of rows by several columns. */
#ifndef CDEVICE_CORE_COMPUTE_SORT_H
#define CDEVICE_CORE_COMPUTE_SORT_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;

struct cdv_sort_key {
  struct cdv_array *column; /* borrowed */
  bool descending, nulls_first;
  bool distinct; /* the two zeros of a float are two values */
};
/* The numbers (uint64) of the rows in the order of the keys, the first of them first; rows that are equal in all stay
 * in their order. Columns: values of one size, bits, strings and bytes with offsets or of one size; NaN lies between
 * the numbers and the nulls. CDV_LAYOUT_NOT_HANDLED for other types. EFBIG: more rows than uint32 counts, or strings
 * longer than SORT_LONGEST_BYTES. Blocks: it reads which bits of the keys differ. owns: *out is a new reference. */
int cdv_compute_sort_indices(const struct cdv_sort_key *keys, int64_t n_keys, const struct cdv_stream_ref *stream_ref,
                             const char *doing, struct cdv_array **out);
/* The least word (uint64) of each REDUCE_TILE_ROWS rows of a key, whose order is that of the key or, above 64 bits,
 * coarser; all bits set: none is neither null nor NaN, or it is the last there is. CDV_LAYOUT_NOT_HANDLED for bits,
 * strings and bytes too. Does not wait for the device. owns: *out is a new reference. */
int cdv_compute_sort_least(const struct cdv_sort_key *key, const struct cdv_stream_ref *stream_ref, const char *doing,
                           struct cdv_array **out);
/* The groups of equal rows: offsets (int64, one more than the n > 0 rows) of 0 or 1 for each row of `indices`, which
 * sort_indices gave for the same keys: the groups that begin before it. Blocks, fails and owns as the one above. */
int cdv_compute_sorted_groups(const struct cdv_sort_key *keys, int64_t n_keys, struct cdv_array *indices,
                              const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out);

#endif
