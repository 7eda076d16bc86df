/* key_words.h - a word of 64 bits for each row, from the columns of a key. */
#ifndef CDEVICE_CORE_COMPUTE_KEY_WORDS_H
#define CDEVICE_CORE_COMPUTE_KEY_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_exec;

enum cdv_key_float {                    /* which floats are one value */
                     CDV_KEY_BITS,      /* those of the same bits */
                     CDV_KEY_ONE_NAN,   /* all NaN, too */
                     CDV_KEY_NORMALIZED /* all NaN, too, and both zeros */
};
/* How the columns of a key become words: the bits in which rows of a column differ, side by side, or a hash of all
 * columns where these need more than 64. */
struct cdv_key_plan {
  struct cdv_key_column *columns;
  int64_t n_columns, n;
  int bits;     /* that words may have: every word is below 1 << bits */
  bool exact;   /* words are equal only where keys are; else they are hashes */
  bool sampled; /* the plan was made from some of the rows: rows may be outside */
};
#define CDV_KEYS_OUTSIDE (-4) /* no error is set */

/* Can rows be grouped by a column of this type? */
bool cdv_is_group_key(const struct cdv_array *column);
/* Is each row of a column one word as it is?  Then the type and the flags (SCALAR_KEY_FLAGS) of the kernels that read it;
 * else NULL. */
const char *cdv_key_of_one_word(struct cdv_array *column, enum cdv_key_float floats, int64_t *flags);
/* The words (u64) of a column of them, which has rows and no null: temporary memory of the call, least and greatest.
 * Blocks.  Any thread. */
int cdv_key_words_of(struct cdv_exec *w, struct cdv_array *column, enum cdv_key_float floats,
                     cdevice_kernel_buffer *words, uint64_t *least, uint64_t *greatest);
/* Of columns of n > 0 rows, which stay borrowed. Blocks: it reads which bits differ. sample: on the CPU some rows
 * may do. Any thread. cdv_key_plan_free must
 * follow, also after an error. */
int cdv_key_plan_make(struct cdv_exec *w, struct cdv_array *const *columns, int64_t n_columns,
                      enum cdv_key_float floats, bool sample, struct cdv_key_plan *plan);
void cdv_key_plan_free(struct cdv_key_plan *plan);
/* The words (u64) of n rows from `begin` on. Rows that are equal in all columns, null to null, have equal words. *outside
 * becomes 1 where a row does not fit the plan, if that is sampled; else NULL. Does not block. Any thread, several at
 * once on the CPU. */
int cdv_key_plan_write(struct cdv_exec *w, const struct cdv_key_plan *plan, int64_t begin, int64_t n,
                       cdevice_kernel_buffer words, uint64_t *outside);
/* *found: has a row not the key of its group's first row? ids: u32 for each row; first: i64 for each group.  Blocks. */
int cdv_key_plan_mismatch(struct cdv_exec *w, const struct cdv_key_plan *plan, const cdevice_kernel_buffer *ids,
                          const cdevice_kernel_buffer *first, bool *found);

/* cffi: begin */
/* How many bits of hashes are used, 64 unless a test asks for collisions; returns what it was. */
int cdv_hash_bits(int bits);
/* cffi: end */

#endif
