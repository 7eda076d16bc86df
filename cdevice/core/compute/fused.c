/* fused.c - launches the kernel of a whole expression. */
#include "core/compute/fused.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <string.h>

_Static_assert(CDV_FUSED_CONSTANTS == KERNEL_SCALARS - SCALAR_CONSTANT0, "the first scalar is the number of rows");
_Static_assert(CDV_FUSED_BUFFERS == KERNEL_BUFFERS - 1, "one buffer is the result");
_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_FUSED_VALIDITY, BUF_FUSED_ERROR) == 3, "buffers of a fused kernel differ");

struct fused_call {
  const struct cdv_fused *f;
  struct cdv_array *columns[CDV_FUSED_BUFFERS]; /* aligned; references */
  int n;
  struct cdv_exec work;
  struct cdv_array *out;
};

/* A width, or a type that is no plain column, that does not fit is a mistake of the caller. */
static int require(const struct cdv_fused *f, struct cdv_array *const *columns, int n) {
  for (int i = 0; i < f->n_arguments; i++) {
    int column = f->arguments[i].column;
    if (column < 0 || column >= n) return cdv_fail(CDV_ARGUMENT, EINVAL, "a fused kernel lacks column %d", column);
    const struct cdv_array *a = columns[column];
    if (f->arguments[i].what == CDV_FUSED_TABLE) {
      if (cdv_value_width(a->schema->node) != 8 || a->length < f->table_rows)
        return cdv_fail(CDV_ARGUMENT, EINVAL, "a fused kernel lacks its constants");
      continue;
    }
    if (a->length != columns[0]->length)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "columns of %lld and %lld rows", (long long)columns[0]->length,
                      (long long)a->length);
    if (f->arguments[i].what == CDV_FUSED_VALUES && cdv_value_width(a->schema->node) != f->arguments[i].width)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "column %d has type \"%s\", which the fused kernel does not read", column,
                      a->schema->node->format);
  }
  return 0;
}

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_kernel_buffer){a->node->buffers[i] ? (void *)a->node->buffers[i] : NULL, 0};
}

/* The validity of the result: the bits that are set in those of all arrays of `nulls`. */
static int intersect(struct fused_call *c) {
  const struct cdv_fused *f = c->f;
  cdevice_kernel_buffer out = buffer_of(c->out, 0);
  bool begun = false;
  for (int i = 0; i < f->n_nulls;) {
    struct cdv_kernel_launch s = {"boolean",         "bits", "valid_all", CDV_PER_BIT_WORD, c->out->length,
                                  {[BUF_OUT] = out}, {0}};
    int k = 0;
    if (begun) s.buffers[BUF_ARG0 + k++] = out;
    while (k < 3 && i < f->n_nulls) {
      cdevice_kernel_buffer b = cdv_kernel_nulls(c->columns[f->nulls[i++]]);
      if (b.data) s.buffers[BUF_ARG0 + k++] = b;
    }
    int r = cdv_exec_launch(&c->work, &s); /* without a bitmap an argument is all ones */
    if (r) return r;
    begun = true;
  }
  return 0;
}

static int launch(struct fused_call *c, const int64_t *constants, bool *wrong) {
  const struct cdv_fused *f = c->f;
  struct cdv_kernel_launch s = {
      f->family, f->type, "apply", f->granularity, c->out->length, {[BUF_OUT] = buffer_of(c->out, 1)}, {0}};
  for (int i = 0; i < f->n_constants; i++) s.scalars[SCALAR_CONSTANT0 + i] = constants[i];
  for (int i = 0; i < f->n_arguments; i++) {
    const struct cdv_array *a = c->columns[f->arguments[i].column];
    s.buffers[f->arguments[i].slot] =
        f->arguments[i].what == CDV_FUSED_VALIDITY ? cdv_kernel_nulls(a) : cdv_kernel_values(a);
  }
  if (f->validity) s.buffers[BUF_FUSED_VALIDITY] = buffer_of(c->out, 0);
  int r = f->checked ? cdv_exec_error_slot(&c->work, &s.buffers[BUF_FUSED_ERROR]) : 0;
  cdevice_kernel_buffer error = s.buffers[BUF_FUSED_ERROR];
  int64_t said[2] = {0, 0};
  if (!r) r = cdv_exec_launch(&c->work, &s);
  if (!r && f->checked) r = cdv_exec_read_back(&c->work, &error, 8, sizeof said, said);
  *wrong = said[0] != 0;
  return r;
}

static bool may_be_null(const struct fused_call *c) {
  for (int i = 0; i < c->f->n_nulls; i++)
    if (cdv_may_be_null(c->columns[c->f->nulls[i]])) return true;
  return c->f->validity;
}

int cdv_compute_fused(const struct cdv_fused *f, struct cdv_array *const *columns, int n, const int64_t *constants,
                      const struct cdv_stream_ref *stream_ref, struct cdv_array **out, bool *wrong) {
  struct fused_call c = {.f = f};
  *out = NULL, *wrong = false;
  if (n < 1 || n > CDV_FUSED_BUFFERS || f->n_constants > CDV_FUSED_CONSTANTS)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "a fused kernel of %d columns and %d constants", n, f->n_constants);
  int r = require(f, columns, n);
  for (int i = 0; !r && i < n; i++) {
    r = cdv_array_aligned(columns[i], &c.columns[i]);
    if (!r) c.n++;
  }
  if (!r) {
    r = cdv_exec_begin(&c.work, c.columns, n, stream_ref, "expression");
    if (!r) r = cdv_exec_alloc_array(&c.work, f->out, columns[0]->length, may_be_null(&c), &c.out);
    if (!r && !f->validity && c.out->node->null_count < 0) r = intersect(&c);
    if (!r && c.out->length) r = launch(&c, constants, wrong);
    r = cdv_exec_finish(&c.work, r, c.out, out);
    if (!r && *wrong) cdv_array_unref(*out), *out = NULL;
  }
  while (c.n) cdv_array_unref(c.columns[--c.n]);
  return r;
}
