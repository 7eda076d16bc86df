/* list_reduce.c - what the values of each list come to: an item for each list, on every device. */
#include "core/compute/list_reduce.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"

#include <errno.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_LIST_VALUES, BUF_LIST_VALIDITY, BUF_LIST_OTHER, BUF_LIST_OTHER_VALIDITY,
                                BUF_LIST_BEGINS, BUF_LIST_OTHER_BEGINS, BUF_LIST_LENGTHS) == 8,
               "buffers of lists are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_REDUCED_SIZE) == 2, "scalars of lists are distinct");

enum { VALUES, OTHER, BEGINS, OTHER_BEGINS, LENGTHS, INPUTS };

/* The kernels' name of a type; NULL: they have none. */
static const char *type_of(const struct ArrowSchema *schema) {
  static const char letters[] = "csilCSILfg";
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
  const char *f = schema->format, *found = f[0] && !f[1] ? strchr(letters, f[0]) : NULL;
  if (schema->dictionary) return NULL;
  if (found) return names[found - letters];
  if (f[0] != 't' || f[1] == 'i') return NULL;
  return cdv_value_width(schema) == 4 ? "i32" : "i64";
}

static struct cdv_schema *schema_of_result(enum cdv_list_reduction operation, const char *type, struct cdv_schema *s) {
  if (operation == CDV_LIST_COUNT) return cdv_schema_of_number('l');
  if (operation == CDV_LIST_MIN || operation == CDV_LIST_MAX) return cdv_schema_ref(s);
  return cdv_schema_of_number(type[0] == 'i' ? 'l' : type[0] == 'u' ? 'L' : 'g');
}

static int launch(struct cdv_exec *work, const struct cdv_lists *lists, struct cdv_array *const *x, const char *type,
                  enum cdv_list_reduction operation, struct cdv_array *out) {
  static const char *const names[] = {[CDV_LIST_COUNT] = "list_count",
                                      [CDV_LIST_SUM] = "list_sum",
                                      [CDV_LIST_MIN] = "list_min",
                                      [CDV_LIST_MAX] = "list_max",
                                      [CDV_LIST_DOT] = "list_dot"};
  struct cdv_kernel_launch k = {
      .family = "list_reduce", .type = type, .name = names[operation], .granularity = CDV_PER_ROW, .n = lists->rows};
  k.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)out->node->buffers[1], 0};
  k.buffers[BUF_LIST_VALUES] = cdv_kernel_values(x[VALUES]);
  k.buffers[BUF_LIST_VALIDITY] = cdv_kernel_nulls(x[VALUES]);
  if (x[OTHER]) {
    k.buffers[BUF_LIST_OTHER] = cdv_kernel_values(x[OTHER]);
    k.buffers[BUF_LIST_OTHER_VALIDITY] = cdv_kernel_nulls(x[OTHER]);
  }
  if (x[BEGINS]) k.buffers[BUF_LIST_BEGINS] = cdv_kernel_values(x[BEGINS]);
  if (x[OTHER_BEGINS]) k.buffers[BUF_LIST_OTHER_BEGINS] = cdv_kernel_values(x[OTHER_BEGINS]);
  if (x[LENGTHS]) k.buffers[BUF_LIST_LENGTHS] = cdv_kernel_values(x[LENGTHS]);
  k.scalars[SCALAR_REDUCED_SIZE] = lists->size;
  return cdv_exec_launch(work, &k);
}

static int check(const struct cdv_lists *l, const char *type, const char *doing) {
  bool sized = !l->lengths;
  const char *other = l->other ? type_of(l->other->schema->node) : type;
  bool whole = sized ? !l->begins && l->values->length >= l->rows * l->size : l->begins && l->begins->length == l->rows;
  if (l->other && whole)
    whole = sized ? l->other->length >= l->rows * l->size : l->other_begins && l->other_begins->length == l->rows;
  if (whole && l->lengths) whole = l->lengths->length == l->rows;
  if (whole && other && !strcmp(type, other)) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: the lists of %lld rows do not fit their values", doing,
                  (long long)l->rows);
}

int cdv_compute_list_reduce(const struct cdv_lists *lists, enum cdv_list_reduction operation,
                            const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  struct cdv_array *given[INPUTS] = {lists->values, lists->other, lists->begins, lists->other_begins, lists->lengths};
  struct cdv_array *x[INPUTS] = {0}, *used[INPUTS], *made = NULL;
  struct cdv_exec work = {0};
  const char *type = type_of(lists->values->schema->node);
  int64_t n = 0;
  if (!type) return CDV_LAYOUT_NOT_HANDLED;
  int r = check(lists, type, doing);
  for (int i = 0; !r && i < INPUTS; i++)
    if (given[i] && !(r = cdv_array_aligned(given[i], &x[i]))) used[n++] = x[i];
  if (!r) {
    struct cdv_schema *schema = schema_of_result(operation, type, lists->values->schema);
    r = cdv_exec_begin(&work, used, n, stream_ref, doing);
    if (!r) r = cdv_exec_alloc_array(&work, schema, lists->rows, false, &made);
    cdv_schema_unref(schema);
    if (!r && lists->rows) r = launch(&work, lists, x, type, operation, made);
    r = cdv_exec_finish(&work, r, made, out);
  }
  for (int i = 0; i < INPUTS; i++)
    if (x[i]) cdv_array_unref(x[i]);
  return r;
}
