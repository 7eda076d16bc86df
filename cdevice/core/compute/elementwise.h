/* elementwise.h - functions that give a row for each row of their arguments. */
#ifndef CDEVICE_CORE_COMPUTE_ELEMENTWISE_H
#define CDEVICE_CORE_COMPUTE_ELEMENTWISE_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_stream_ref;
struct cdv_schema;

enum cdv_null_handling {                           /* when a row is null */
                         CDV_NULL_INTERSECTION,    /* where an argument is */
                         CDV_NULL_OUTPUT_NOT_NULL, /* the null handling of an output */
                         CDV_NULL_IF_ELSE,         /* if_else: where the chosen value is, or the condition */
                         CDV_NULL_COALESCE,        /* fill_null: where both are */
                         CDV_NULL_KLEENE,          /* where the values that are known do not decide */
                         CDV_NULL_SKIP             /* where both are, and the kernel knows which are */
};
#define CDV_MAX_ARGS 3
struct cdv_elementwise {
  char family[24], type[24], name[32];
  char function_name[160]; /* the function, in errors */
  int granularity, null_handling;
  bool checked;                /* its kernel complains: the call waits for the device */
  int8_t widths[CDV_MAX_ARGS]; /* bytes of a value of each argument, 0: bits, -1: any; for who checks */
  struct cdv_schema *out;
};
struct cdv_datum {
  struct cdv_array *array; /* or NULL: a number */
  bool is_scalar;          /* its only row stands for all */
  bool null;               /* of a number */
  int64_t bits;            /* of a number, as its type has them */
};
/* Does not wait for the device unless f->checked.  owns: *out is a new reference. */
int cdv_compute_elementwise(const struct cdv_elementwise *f, const struct cdv_datum *args, int n,
                            const struct cdv_stream_ref *stream_ref, struct cdv_array **out);

#endif
