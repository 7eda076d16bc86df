/* match_rows.h - the pairs of rows of a join. */
#ifndef CDEVICE_CORE_COMPUTE_MATCH_ROWS_H
#define CDEVICE_CORE_COMPUTE_MATCH_ROWS_H

#include <stdbool.h>

struct cdv_array;
struct cdv_stream_ref;

/* Rows of two sides by groups of equal keys. */
struct cdv_match_groups {
  struct cdv_array *ids;    /* of the left rows (32 bits): their groups; null: none */
  struct cdv_array *counts; /* int64 of each group, at least one: how many right rows match */
  struct cdv_array *begins; /* int64: where those begin in the order */
  struct cdv_array *order;  /* uint32: the right rows group by group */
};

/* Each left row with each right row that it matches, in the order of the left side, then of `order`. keep_left: a left
 * row that matches none is there once. Blocks: it reads how many pairs there are. Any thread. EFBIG: more left rows than
 * 32 bits count. owns: *left and *right (uint32; null where there is no right row) are new references. */
int cdv_compute_match_rows(const struct cdv_match_groups *g, bool keep_left, const struct cdv_stream_ref *stream_ref,
                           const char *doing, struct cdv_array **left, struct cdv_array **right);

#endif
