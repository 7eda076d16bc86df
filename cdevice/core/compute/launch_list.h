/* launch_list.h - several kernels of one call, one after the other, with memory between them: what functions that
 * users define in Python are made of (cdevice/compute/udf). */
#ifndef CDEVICE_CORE_COMPUTE_LAUNCH_LIST_H
#define CDEVICE_CORE_COMPUTE_LAUNCH_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/lang/protocol.h"

struct cdv_array;
struct cdv_schema;
struct cdv_stream_ref;

#define CDV_LAUNCH_LIST_COLUMNS 64 /* of a call */
#define CDV_LAUNCH_LIST_OUTS 16
#define CDV_LAUNCH_LIST_TEMPS 16
#define CDV_LAUNCH_LIST_STEPS 32

/* What a buffer of a kernel is; `index`: of which column, result or temporary array. */
enum cdv_operand_kind {
  CDV_OPERAND_NONE,
  CDV_OPERAND_VALUES,       /* of a column */
  CDV_OPERAND_VALIDITY,     /* of a column; NULL where it has no nulls */
  CDV_OPERAND_OUT,          /* values of a result */
  CDV_OPERAND_OUT_VALIDITY, /* of a result that has a bitmap */
  CDV_OPERAND_TEMP,
  CDV_OPERAND_KINDS
};
struct cdv_operand {
  int8_t kind, index;
};
struct cdv_launch_list {
  const char *function_name; /* in errors; borrowed */
  int n_outs, n_temps, n_steps;
  struct {
    struct cdv_schema *schema;
    int64_t length;
    bool validity; /* a bitmap, which a step writes */
  } outs[CDV_LAUNCH_LIST_OUTS];
  struct {
    char letter; /* a format of one letter */
    int64_t length;
  } temps[CDV_LAUNCH_LIST_TEMPS];
  struct {
    char family[24], type[24], name[32];
    char with[64];   /* kernels of later steps, built together with it: see cdv_kernel_get */
    int granularity; /* enum cdv_granularity */
    int64_t n;
    struct cdv_operand buffers[KERNEL_BUFFERS];
    int64_t scalars[KERNEL_SCALARS]; /* the first is n */
  } steps[CDV_LAUNCH_LIST_STEPS];
};

/* Runs the steps; `columns`: arrays on one device.  Does not wait for the device.  Any thread.
 * owns: outs[0 ... n_outs) are new references where it returns 0; else they are NULL. */
int cdv_compute_launch_list(const struct cdv_launch_list *l, struct cdv_array *const *columns, int n_columns,
                            const struct cdv_stream_ref *stream_ref, struct cdv_array **outs);

#endif
