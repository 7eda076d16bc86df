/* launch_list.c - several kernels of one call, one after the other. */
#include "core/compute/launch_list.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <string.h>

struct list_call {
  const struct cdv_launch_list *l;
  struct cdv_exec work;
  int n_columns;
  struct cdv_array *columns[CDV_LAUNCH_LIST_COLUMNS]; /* aligned; references */
  struct cdv_array *outs[CDV_LAUNCH_LIST_OUTS];       /* borrowed of the work */
  cdevice_kernel_buffer temps[CDV_LAUNCH_LIST_TEMPS];
};

/* An operand that is not there is a mistake of the caller: refused, not read. */
static int buffer_of(const struct list_call *c, struct cdv_operand o, cdevice_kernel_buffer *out) {
  *out = (cdevice_kernel_buffer){NULL, 0};
  bool column = o.kind == CDV_OPERAND_VALUES || o.kind == CDV_OPERAND_VALIDITY;
  bool result = o.kind == CDV_OPERAND_OUT || o.kind == CDV_OPERAND_OUT_VALIDITY;
  int n = column ? c->n_columns : result ? c->l->n_outs : o.kind == CDV_OPERAND_TEMP ? c->l->n_temps : 1;
  if (o.kind < 0 || o.kind >= CDV_OPERAND_KINDS || o.index < 0 || o.index >= n)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: a kernel's operand %d of kind %d is not there", c->l->function_name,
                    o.index, o.kind);
  switch (o.kind) {
    case CDV_OPERAND_VALUES: *out = cdv_kernel_values(c->columns[o.index]); break;
    case CDV_OPERAND_VALIDITY: *out = cdv_kernel_nulls(c->columns[o.index]); break;
    case CDV_OPERAND_OUT: out->data = (void *)c->outs[o.index]->node->buffers[1]; break;
    case CDV_OPERAND_OUT_VALIDITY: out->data = (void *)c->outs[o.index]->node->buffers[0]; break;
    case CDV_OPERAND_TEMP: *out = c->temps[o.index]; break;
    default: break;
  }
  return 0;
}

static int allocate(struct list_call *c) {
  const struct cdv_launch_list *l = c->l;
  int r = 0;
  for (int i = 0; !r && i < l->n_outs; i++)
    r = cdv_exec_alloc_array(&c->work, l->outs[i].schema, l->outs[i].length, l->outs[i].validity, &c->outs[i]);
  for (int i = 0; !r && i < l->n_temps; i++)
    r = cdv_exec_alloc_temp(&c->work, l->temps[i].letter, l->temps[i].length, &c->temps[i]);
  return r;
}

static int launch(struct list_call *c) {
  int r = 0;
  for (int i = 0; !r && i < c->l->n_steps; i++) {
    struct cdv_kernel_launch s = {.family = c->l->steps[i].family,
                                  .type = c->l->steps[i].type,
                                  .name = c->l->steps[i].name,
                                  .granularity = c->l->steps[i].granularity,
                                  .n = c->l->steps[i].n,
                                  .with = c->l->steps[i].with};
    memcpy(s.scalars, c->l->steps[i].scalars, sizeof s.scalars);
    for (int k = 0; !r && k < KERNEL_BUFFERS; k++) r = buffer_of(c, c->l->steps[i].buffers[k], &s.buffers[k]);
    if (!r) r = cdv_exec_launch(&c->work, &s);
  }
  return r;
}

int cdv_compute_launch_list(const struct cdv_launch_list *l, struct cdv_array *const *columns, int n,
                            const struct cdv_stream_ref *stream_ref, struct cdv_array **outs) {
  struct list_call c = {.l = l};
  for (int i = 0; i < l->n_outs; i++) outs[i] = NULL;
  if (n < 1 || n > CDV_LAUNCH_LIST_COLUMNS)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: %d columns in one call", l->function_name, n);
  int r = 0;
  while (!r && c.n_columns < n) {
    r = cdv_array_aligned(columns[c.n_columns], &c.columns[c.n_columns]);
    if (!r) c.n_columns++;
  }
  if (!r) {
    r = cdv_exec_begin(&c.work, c.columns, n, stream_ref, l->function_name);
    if (!r) r = allocate(&c);
    if (!r) r = launch(&c);
    r = cdv_exec_finish_all(&c.work, r, c.outs, l->n_outs, outs);
  }
  while (c.n_columns) cdv_array_unref(c.columns[--c.n_columns]);
  return r;
}
