/* key_words.h - a word of 64 bits for each row, from the columns of a key. */
#ifndef CDEVICE_CORE_COMPUTE_KEY_WORDS_H
#define CDEVICE_CORE_COMPUTE_KEY_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_exec;

enum cdv_key_float { /* which floats are one value */
  CDV_KEY_BITS,      /* those of the same bits */
  CDV_KEY_ONE_NAN,   /* all NaN, too */
  CDV_KEY_NORMALIZED /* all NaN, too, and both zeros */
};
struct cdv_key_words {
  cdevice_kernel_buffer words; /* u64 */
  int bits;                    /* that words may have: every word is below 1 << bits */
  bool exact;                  /* words are equal only where keys are; else they are hashes */
};

/* Can rows be grouped by a column of this type? */
bool cdv_is_group_key(const struct cdv_array *column);
/* The words of n > 0 rows, in memory of the call: the bits in which rows of a column differ, side by side, or a hash of
 * all columns where these need more than 64. Rows are equal in all columns, null to null, only where words are. Blocks:
 * it reads which bits differ. Any thread. */
int cdv_key_words(struct cdv_exec *w, struct cdv_array *const *columns, int64_t n_columns, enum cdv_key_float floats,
                  struct cdv_key_words *out);
/* *found: has a row not the key of its group's first row? ids: u32 for each row; first: i64 for each group.  Blocks. */
int cdv_key_mismatch(struct cdv_exec *w, struct cdv_array *const *columns, int64_t n_columns,
                     enum cdv_key_float floats, const cdevice_kernel_buffer *ids, const cdevice_kernel_buffer *first,
                     bool *found);

/* cffi: begin */
/* How many bits of hashes are used, 64 unless a test asks for collisions; returns what it was. */
int cdv_hash_bits(int bits);
/* cffi: end */

#endif
