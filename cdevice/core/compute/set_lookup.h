/* set_lookup.h - which rows have a value of a set. */
#ifndef CDEVICE_CORE_COMPUTE_SET_LOOKUP_H
#define CDEVICE_CORE_COMPUTE_SET_LOOKUP_H

#include <stdint.h>

#include "core/compute/key_words.h"

struct cdv_array;
struct cdv_schema;
struct cdv_stream_ref;

struct cdv_set_step {
  const char *function_name;
  struct cdv_schema *schema; /* of the result: int32, the first row of the set that has a row's value, null where none
                              * has; or bool, whether there is one */
  int64_t null_row;          /* what null rows are found at; -1: they are not */
  enum cdv_key_float floats;
};

/* Looks the values up in a set, which has rows, none of them null; both are of one type. of_set, or NULL: the same of
 * the rows of the set. CDV_LAYOUT_NOT_HANDLED: a type whose rows are not one word, or a large set
 * that needs another way. EFBIG: a set of more rows than int32
 * counts. Blocks. Any thread. owns: *out and *of_set (NULL before) are new references. */
int cdv_compute_set_lookup(const struct cdv_set_step *f, struct cdv_array *set, struct cdv_array *values,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out, struct cdv_array **of_set);

#endif
