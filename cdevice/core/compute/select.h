/* select.h - filter and take of arrays and batches of any layout, in one call. */
#ifndef CDEVICE_CORE_COMPUTE_SELECT_H
#define CDEVICE_CORE_COMPUTE_SELECT_H

#include <stdbool.h>

struct cdv_array;
struct cdv_stream_ref;

/* The rows that a mask chooses of an array, a struct's children with it.  emit_null: and a null for each null of the
 * mask. Blocks where a layout has sizes: once for each level of lists, however many columns there are, and once
 * where none has. EOVERFLOW: more than offsets can count; EFBIG: than run ends or offsets of a union can count.
 * owns: *out is a new reference. */
int cdv_select_filter(struct cdv_array *array, struct cdv_array *mask, bool emit_null,
                      const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* Rows by number (int64, uint32), null where the number is.  checked: a number of no row is an error (ERANGE), for which the
 * call waits; else such a row has any value.  Blocks, fails and owns as the one above. */
int cdv_select_take(struct cdv_array *array, struct cdv_array *indices, bool checked,
                    const struct cdv_stream_ref *stream_ref, struct cdv_array **out);

#endif
