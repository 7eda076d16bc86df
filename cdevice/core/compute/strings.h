/* strings.h - functions of strings and bytes that have offsets. */
#ifndef CDEVICE_CORE_COMPUTE_STRINGS_H
#define CDEVICE_CORE_COMPUTE_STRINGS_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;
struct cdv_schema;

/* A kernel of strings, and what it is asked for. */
struct cdv_text_step {
  char family[24], name[32];
  char type[24];          /* the program's: of a cast a number's and an offset's; "": that of the rows' offsets */
  char function_name[64]; /* the function, in errors */
  bool packed, checked;   /* it gives bits; it complains of rows, the first one is named: the call waits */
  int64_t numbers[4];     /* the scalars behind SCALAR_ROWS */
};
/* `text` are rows with offsets; of kernels print_* they are numbers, which become text.
 * A number or a bit for each row, null where that is.  pattern: what the kernel reads beside the rows, or NULL.  Does
 * not wait for the device unless f->checked.  owns: *out is a new reference. */
int cdv_compute_text_numbers(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                             struct cdv_schema *schema, const struct cdv_stream_ref *stream_ref,
                             struct cdv_array **out);

/* A result of strings on its way; all are references. */
struct cdv_text_sizes {
  struct cdv_array
      *offsets; /* of the type of the rows', one more than rows; the sizes of rows, until the bytes are there */
  struct cdv_array *tiles;  /* int64 */
  struct cdv_array *begins; /* where the rows begin in `text`, of the type of offsets; of print_* what the first kernel
                               found (int64); or NULL */
  int64_t total;            /* bytes */
};
/* The sizes of the rows that f makes of those of `text`, one or more; with_begins: they are pieces of these.  Blocks:
 * it reads their sum.  EOVERFLOW: more than the offsets can count.  owns: out's arrays are new references. */
int cdv_compute_text_sizes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           bool with_begins, const struct cdv_stream_ref *stream_ref, struct cdv_text_sizes *out);
/* Parts of rows: counts: how many each has (int64, without nulls). *offsets (int64): the parts before each row, one
 * more than rows; out: the parts.  Blocks, and owns as the other. */
int cdv_compute_text_parts(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           struct cdv_array *counts, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **offsets, struct cdv_text_sizes *out);
/* The bytes (as uint8) of the rows that `sizes` has, whose sizes become offsets; n: how many rows.  Does not wait. */
int cdv_compute_text_bytes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           const struct cdv_text_sizes *sizes, int64_t n, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **out);
/* Bytes that take the places of those from `first` on, `total` of them; rows: f goes through the rows, not through the
 * bytes.  Does not wait. */
int cdv_compute_text_map(const struct cdv_text_step *f, struct cdv_array *text, bool rows, int64_t first, int64_t total,
                         const struct cdv_stream_ref *stream_ref, struct cdv_array **out);

#endif
