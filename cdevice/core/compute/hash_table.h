/* hash_table.h - numbers of the groups of equal rows. */
#ifndef CDEVICE_CORE_COMPUTE_HASH_TABLE_H
#define CDEVICE_CORE_COMPUTE_HASH_TABLE_H

#include <stdint.h>

#include "core/compute/key_words.h"

struct cdv_array;
struct cdv_stream_ref;

#define CDV_HASH_COLLISION (-2) /* no error is set */

/* For each row the number of its group (uint32), and the first row of each group (int64): groups are numbered in the
 * order of these. Rows are of one group where all n > 0 columns are equal, null to null. CDV_LAYOUT_NOT_HANDLED: a
 * column of another type. CDV_HASH_COLLISION: two keys have one hash; sort the rows instead. EFBIG: more rows than
 * uint32 counts. Blocks. Any thread. ids NULL: they are not wanted. owns: *ids and *first are new references. */
int cdv_compute_group_ids(struct cdv_array *const *columns, int64_t n, enum cdv_key_float floats,
                          const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **ids,
                          struct cdv_array **first);

#endif
