/* fused.h - one kernel for a whole expression, made by cdevice/compute/expressions/fuse.py. */
#ifndef CDEVICE_CORE_COMPUTE_FUSED_H
#define CDEVICE_CORE_COMPUTE_FUSED_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_schema;
struct cdv_stream_ref;

#define CDV_FUSED_BUFFERS 7 /* of arguments, at most; fewer where the kernel writes validity, or checks */
#define CDV_FUSED_CONSTANTS 4
enum cdv_fused_what { CDV_FUSED_VALUES, CDV_FUSED_VALIDITY, CDV_FUSED_TABLE /* constants: of any length */ };
struct cdv_fused {
  char family[24], type[24];
  int granularity;
  bool validity; /* the kernel writes the validity; else a row is null where one of the arrays of `nulls` is */
  bool checked;  /* the kernel tells whether a row is wrong: the call waits for the device */
  struct cdv_schema *out;
  int n_arguments, n_constants, n_nulls;
  int64_t table_rows; /* constants in a table, where there are more than scalars */
  struct {
    int8_t column; /* of the arrays of a call */
    int8_t what;   /* enum cdv_fused_what */
    int8_t slot;   /* of the kernel */
    int8_t width;  /* bytes of a value, 0: bits */
  } arguments[CDV_FUSED_BUFFERS];
  int8_t nulls[CDV_FUSED_BUFFERS]; /* columns */
};

/* Computes the expression; `columns`: arrays of one length on one device.  Blocks where f->checked.  Any thread.
 * 0 with *out, a new reference, or 0 with *wrong: a row is wrong, and which one is found by computing the functions one
 * by one; there is no *out then. */
int cdv_compute_fused(const struct cdv_fused *f, struct cdv_array *const *columns, int n_columns,
                      const int64_t *constants, const struct cdv_stream_ref *stream_ref, struct cdv_array **out,
                      bool *wrong);

#endif
