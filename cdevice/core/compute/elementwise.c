/* elementwise.c - functions that give a row for each row of their arguments. */
#include "core/compute/elementwise.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <string.h>

_Static_assert(BUF_ARG1 == BUF_ARG0 + 1 && BUF_ARG2 == BUF_ARG0 + 2 && CDV_MAX_ARGS == 3,
               "pass() counts the arguments on from the first one");
_Static_assert(SCALAR_ARG1 == SCALAR_ARG0 + 1 && SCALAR_ARG2 == SCALAR_ARG0 + 2 && SCALAR_ARG2 < KERNEL_SCALARS,
               "pass() counts the values of scalar arguments on from the first one");
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_ARG0, BUF_ARG1, BUF_ARG2, BUF_COUNTED, BUF_ERROR, BUF_OUT_VALIDITY) == 7,
               "buffers of an elementwise kernel are distinct");
_Static_assert(BUF_KLEENE_VALIDITY1 == BUF_KLEENE_VALIDITY0 + 1 &&
                   CDV_BUFFER_SLOTS(BUF_OUT, BUF_ARG0, BUF_ARG1, BUF_KLEENE_VALIDITY0, BUF_KLEENE_VALIDITY1, BUF_ERROR,
                                    BUF_OUT_VALIDITY) == 7,
               "buffers of and_kleene and or_kleene are distinct");

struct call {
  const struct cdv_elementwise *f;
  const struct cdv_datum *args;
  int n_args;
  int64_t rows;
  struct cdv_exec work;
  struct cdv_array *out;
};

static int kind_of(const struct cdv_datum *x) {
  return !x->array ? ARG_SCALAR : x->is_scalar ? ARG_BROADCAST : ARG_ARRAY;
}
static bool may_be_null(const struct cdv_datum *x) { return x->array ? cdv_may_be_null(x->array) : x->null; }
static int64_t all_bits(bool set) { return set ? UINT32_MAX : 0; }
static cdevice_kernel_buffer nulls_of(const struct cdv_datum *x) {
  return x->array ? cdv_kernel_nulls(x->array) : (cdevice_kernel_buffer){NULL, 0};
}
static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_kernel_buffer){a->node->buffers[i] ? (void *)a->node->buffers[i] : NULL, 0};
}

/* The argument of a function becomes argument `as` of a kernel. */
static void pass(struct cdv_kernel_launch *s, const struct cdv_datum *x, int as, cdevice_kernel_buffer what) {
  s->buffers[BUF_ARG0 + as] = what;
  s->scalars[SCALAR_ARG_KINDS] |= (int64_t)kind_of(x) << (2 * as);
}
static void pass_values(struct cdv_kernel_launch *s, const struct cdv_datum *x, int as) {
  bool word =
      !strcmp(s->family, "boolean") || (as == 0 && s->granularity == CDV_PER_ROW_PACKED && !strcmp(s->name, "if_else"));
  pass(s, x, as, x->array ? cdv_kernel_values(x->array) : (cdevice_kernel_buffer){NULL, 0});
  if (!x->array) s->scalars[SCALAR_ARG0 + as] = word ? all_bits(x->bits & 1) : x->bits;
}
static void pass_nulls(struct cdv_kernel_launch *s, const struct cdv_datum *x, int as) {
  pass(s, x, as, nulls_of(x));
  if (!x->array) s->scalars[SCALAR_ARG0 + as] = all_bits(!x->null);
}

static int find_rows(struct call *c) {
  c->rows = -1;
  for (int i = 0; i < c->n_args; i++) {
    const struct cdv_datum *x = &c->args[i];
    if (!x->array) continue;
    int64_t n = x->array->length;
    if (x->is_scalar && n != 1)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: a scalar of %lld rows", c->f->function_name, (long long)n);
    if (x->is_scalar || c->rows == n) continue;
    if (c->rows >= 0)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: arguments of %lld and %lld rows; arrays must have the same length",
                      c->f->function_name, (long long)c->rows, (long long)n);
    c->rows = n;
  }
  if (c->rows < 0) c->rows = 1;
  return 0;
}

/* ---- nulls ---- */
static bool needs_nulls(const struct call *c) {
  bool may = false;
  if (c->f->null_handling == CDV_NULL_COALESCE || c->f->null_handling == CDV_NULL_SKIP)
    return may_be_null(&c->args[0]) && may_be_null(&c->args[1]);
  for (int i = 0; i < c->n_args; i++) may |= may_be_null(&c->args[i]);
  return may && c->f->null_handling != CDV_NULL_OUTPUT_NOT_NULL;
}

static int all_null(struct call *c) {
  struct cdv_kernel_launch s = {"boolean",
                                "bits",
                                "valid_all",
                                CDV_PER_BIT_WORD,
                                c->rows,
                                {[BUF_OUT] = buffer_of(c->out, 0)},
                                {[SCALAR_ARG_KINDS] = ARG_SCALAR}};
  return cdv_exec_launch(&c->work, &s);
}

static int put_nulls(struct call *c) {
  const struct cdv_datum *x = c->args;
  struct cdv_kernel_launch s = {
      "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, c->rows, {[BUF_OUT] = buffer_of(c->out, 0)}, {0}};
  switch (c->f->null_handling) {
    case CDV_NULL_INTERSECTION:
      for (int i = 0; i < c->n_args; i++) pass_nulls(&s, &x[i], i);
      break;
    case CDV_NULL_IF_ELSE:
      if (!x[0].array && x[0].null) return all_null(c);
      s.name = "valid_select";
      pass_values(&s, &x[0], 0);
      pass_nulls(&s, &x[1], 1);
      pass_nulls(&s, &x[2], 2);
      s.buffers[BUF_COUNTED] = nulls_of(&x[0]);
      break;
    case CDV_NULL_COALESCE:
    case CDV_NULL_SKIP:
      s.name = "valid_select";
      pass_nulls(&s, &x[0], 0);
      pass_nulls(&s, &x[0], 1);
      pass_nulls(&s, &x[1], 2);
      break;
    default: return 0;
  }
  return cdv_exec_launch(&c->work, &s);
}

/* ---- values ---- */
static int put_values(struct call *c) {
  const struct cdv_elementwise *f = c->f;
  const struct cdv_datum *x = c->args;
  bool nulls = c->out->node->null_count < 0;
  struct cdv_kernel_launch s = {
      f->family, f->type, f->name, f->granularity, c->rows, {[BUF_OUT] = buffer_of(c->out, 1)}, {0}};
  if (f->null_handling == CDV_NULL_OUTPUT_NOT_NULL) {
    pass_nulls(&s, &x[0], 0);
  } else if (f->null_handling == CDV_NULL_COALESCE) {
    pass_nulls(&s, &x[0], 0);
    pass_values(&s, &x[0], 1);
    pass_values(&s, &x[1], 2);
  } else {
    for (int i = 0; i < c->n_args; i++) pass_values(&s, &x[i], i);
  }
  if (f->null_handling == CDV_NULL_KLEENE || f->null_handling == CDV_NULL_SKIP)
    for (int i = 0; i < c->n_args; i++) {
      s.buffers[BUF_KLEENE_VALIDITY0 + i] = nulls_of(&x[i]);
      s.scalars[SCALAR_KLEENE_KNOWN] |= (int64_t)!(!x[i].array && x[i].null) << i;
    }
  if (f->null_handling == CDV_NULL_KLEENE && nulls) s.buffers[BUF_OUT_VALIDITY] = buffer_of(c->out, 0);
  int r = 0;
  if (f->checked) {
    if (nulls) s.buffers[BUF_COUNTED] = buffer_of(c->out, 0);
    r = cdv_exec_error_slot(&c->work, &s.buffers[BUF_ERROR]);
  }
  if (!r) r = cdv_exec_launch(&c->work, &s);
  return !r && f->checked ? cdv_exec_check_error(&c->work, f->function_name, f->type) : r;
}

int cdv_compute_elementwise(const struct cdv_elementwise *f, const struct cdv_datum *args, int n,
                            const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *arrays[CDV_MAX_ARGS];
  struct cdv_datum own[CDV_MAX_ARGS];
  struct call c = {.f = f, .args = own, .n_args = n};
  int m = 0, r = 0;
  for (int i = 0; !r && i < n; i++) {
    own[i] = args[i];
    if (!args[i].array) continue;
    r = cdv_array_aligned(args[i].array, &arrays[m]);
    if (!r) own[i].array = arrays[m++];
  }
  if (!r) r = find_rows(&c);
  for (int i = 0; !r && i < n; i++) /* of type null: rows without values */
    if (own[i].array && own[i].array->schema->node->format[0] == 'n') own[i] = (struct cdv_datum){.null = true};
  if (!r) {
    r = cdv_exec_begin(&c.work, arrays, m, stream_ref, f->function_name);
    if (!r) r = cdv_exec_alloc_array(&c.work, f->out, c.rows, needs_nulls(&c), &c.out);
    if (!r && c.out->node->null_count < 0) r = put_nulls(&c);
    if (!r && c.rows) r = put_values(&c);
    r = cdv_exec_finish(&c.work, r, c.out, out);
  }
  while (m) cdv_array_unref(arrays[--m]);
  return r;
}
