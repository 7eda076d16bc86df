/* selection.h - rows that a mask chooses, and rows by number. */
#ifndef CDEVICE_CORE_COMPUTE_SELECTION_H
#define CDEVICE_CORE_COMPUTE_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_exec;
struct cdv_stream_ref;

struct cdv_selection {
  struct cdv_array *mask, *counts;
  int64_t n_selected; /* rows */
};
/* Blocks: it reads how many rows a mask of bits chooses; a null bit chooses nothing. owns: the caller gives it
 * back. */
int cdv_selection_from_mask(struct cdv_selection *c, struct cdv_array *mask, const struct cdv_stream_ref *stream_ref);
void cdv_selection_free(struct cdv_selection *c);
#define CDV_LAYOUT_NOT_HANDLED (-1) /* no error is set */
/* The rows that were chosen of an array whose values have 1, 2, 4, 8 or 16 bytes; CDV_LAYOUT_NOT_HANDLED for others.
 * Does not wait. */
int cdv_compute_filter(const struct cdv_selection *c, struct cdv_array *array, const struct cdv_stream_ref *stream_ref,
                       struct cdv_array **out);
/* The numbers (int64) of the rows that a mask of bits chooses, with memory for these alone. */
int cdv_compute_chosen_rows(struct cdv_array *mask, const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* Rows by number (int64, uint32); values of any number of bytes, and bits.  checked: a number that is none of a row is an
 * error, for which the call waits; else there are no such numbers. */
int cdv_compute_take(struct cdv_array *array, struct cdv_array *indices, bool checked,
                     const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
/* Which of n rows taken by number are valid: a bitmap.  known: of the numbers; is_short: they are uint32. */
int cdv_put_taken_nulls(struct cdv_exec *w, const struct cdv_array *from, cdevice_kernel_buffer indices,
                        cdevice_kernel_buffer known, bool is_short, int64_t n, cdevice_kernel_buffer to);

#endif
