/* accumulate.c - what the rows of each group come to: an accumulator for each group and part of the rows, then a fold of
 * the parts. How many parts there are follows from the rows and groups alone, so that sums of floats are equal on every
 * device. */
#include "core/compute/accumulate.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_ACCUMULATE_VALUES, BUF_ACCUMULATE_VALIDITY, BUF_ACCUMULATE_IDS,
                                BUF_ACCUMULATE_ORDER, BUF_ACCUMULATE_BEGINS, BUF_ACCUMULATE_ENDS) == 7,
               "buffers of accumulations are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_ACCUMULATE_GROUPS, SCALAR_ACCUMULATE_PART, SCALAR_ACCUMULATE_RANGES,
                                SCALAR_ACCUMULATE_SCALE) == 5,
               "scalars of accumulations are distinct");

#define ROWS_OF_PART 8192 /* at least */
#define MOST_PARTS 256
#define MOST_ACCUMULATORS (1 << 20) /* of all parts, unless there are more groups */

enum { VALUES, IDS, ROW_NUMBERS, BEGINS, ENDS, INPUTS };

struct accumulation {
  struct cdv_exec work;
  struct cdv_array *inputs[INPUTS];
  const char *type; /* the kernels' name */
  enum cdv_accumulation operation;
  int64_t n, groups, parts, part;
};

/* The kernels' name of a type; NULL: they have none. */
static const char *type_of(const struct ArrowSchema *schema) {
  static const char letters[] = "csilCSILfg";
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
  const char *f = schema->format, *found = f[0] && !f[1] ? strchr(letters, f[0]) : NULL;
  if (schema->dictionary) return NULL;
  if (found) return names[found - letters];
  if (f[0] == 'd') switch (cdv_value_width(schema)) {
      case 4: return "i32";
      case 8: return "i64";
      case 16: return "w128";
      default: return "w256";
    }
  if (f[0] != 't' || (f[1] == 'i' && f[2] != 'M')) return NULL;
  return cdv_value_width(schema) == 4 ? "i32" : "i64";
}

/* Of a decimal "d:38,2"; 0 of all else. */
static int64_t scale_of(const struct ArrowSchema *schema) {
  const char *comma = schema->format[0] == 'd' ? strchr(schema->format, ',') : NULL;
  return comma ? strtoll(comma + 1, NULL, 10) : 0;
}

/* Of sums and products; the same reference count as the values' for decimals. */
static struct cdv_schema *schema_of_result(const struct accumulation *s, struct cdv_schema *values) {
  bool extreme = s->operation >= CDV_ACCUMULATE_MIN;
  if (s->operation == CDV_ACCUMULATE_COUNT) return cdv_schema_of_number('l');
  if (extreme || s->type[0] == 'w') return cdv_schema_ref(values);
  return cdv_schema_of_number(s->type[0] == 'i' ? 'l' : s->type[0] == 'u' ? 'L' : 'g');
}

static void choose_parts(struct accumulation *s) {
  int64_t by_rows = s->n / ROWS_OF_PART, by_groups = MOST_ACCUMULATORS / s->groups;
  s->parts = by_rows < by_groups ? by_rows : by_groups;
  if (s->operation == CDV_ACCUMULATE_PRODUCT && s->type[0] == 'w')
    s->parts = 1; /* each step is rounded, in the order of rows */
  if (s->parts > MOST_PARTS) s->parts = MOST_PARTS;
  if (s->parts < 1) s->parts = 1;
  s->part = s->n / s->parts + (s->n % s->parts != 0 || !s->n);
}

/* Where an item does a row, an atomic count. */
static int count(struct accumulation *s, cdevice_kernel_buffer out) {
  cdevice_kernel_buffer counts;
  struct cdv_kernel_launch clear = {
      .family = "accumulate", .type = "u32", .name = "count_clear", .granularity = CDV_PER_ROW, .n = s->groups};
  struct cdv_kernel_launch add = clear, finish = clear;
  add.name = "count_rows", add.n = s->n;
  finish.name = "count_as_i64";
  int r = cdv_exec_alloc_temp(&s->work, 'I', s->groups, &counts);
  clear.buffers[BUF_OUT] = add.buffers[BUF_OUT] = finish.buffers[BUF_ACCUMULATE_PARTS] = counts;
  add.buffers[BUF_ACCUMULATE_VALIDITY] = cdv_kernel_nulls(s->inputs[VALUES]);
  add.buffers[BUF_ACCUMULATE_IDS] = cdv_kernel_values(s->inputs[IDS]);
  finish.buffers[BUF_OUT] = out;
  if (!r) r = cdv_exec_launch(&s->work, &clear);
  if (!r) r = cdv_exec_launch(&s->work, &add);
  return r ? r : cdv_exec_launch(&s->work, &finish);
}

static int accumulate(struct accumulation *s, cdevice_kernel_buffer out) {
  static const char *const names[][2] = {[CDV_ACCUMULATE_COUNT] = {"accumulate_count", "fold_count"},
                                         [CDV_ACCUMULATE_SUM] = {"accumulate_sum", "fold_sum"},
                                         [CDV_ACCUMULATE_PRODUCT] = {"accumulate_product", "fold_product"},
                                         [CDV_ACCUMULATE_MIN] = {"accumulate_min", "fold_min"},
                                         [CDV_ACCUMULATE_MAX] = {"accumulate_max", "fold_max"}};
  bool coarse = s->work.flags & CDEVICE_COMPUTE_COARSE;
  int64_t threads = cdv_exec_is_host(&s->work) ? cdv_threads(CDV_POOL_KERNELS, 0) : 4;
  int64_t ranges = coarse && s->parts < threads && s->n > (1 << 16) ? threads / s->parts : 1;
  struct cdv_kernel_launch k = {.family = "accumulate", .type = s->type, .name = names[s->operation][0]};
  struct cdv_kernel_launch fold = {.family = "accumulate", .type = s->type, .name = names[s->operation][1]};
  k.granularity = coarse ? CDV_ITEMS : CDV_PER_ROW;
  k.n = coarse ? s->n : s->parts * s->groups;
  k.n_items = s->parts * ranges;
  k.buffers[BUF_OUT] = out;
  if (s->parts > 1) {
    struct cdv_array *parts;
    int64_t nbytes = 32 * s->parts * (s->groups + 63); /* of decimal256, and with room between parts */
    int r = cdv_exec_alloc_buffers(&s->work, &nbytes, 1, &parts);
    if (r) return r;
    k.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)parts->node->buffers[0], 0};
  }
  k.buffers[BUF_ACCUMULATE_VALUES] = cdv_kernel_values(s->inputs[VALUES]);
  k.buffers[BUF_ACCUMULATE_VALIDITY] = cdv_kernel_nulls(s->inputs[VALUES]);
  k.buffers[BUF_ACCUMULATE_IDS] = cdv_kernel_values(s->inputs[IDS]);
  if (!coarse) {
    k.buffers[BUF_ACCUMULATE_ORDER] = cdv_kernel_values(s->inputs[ROW_NUMBERS]);
    k.buffers[BUF_ACCUMULATE_BEGINS] = cdv_kernel_values(s->inputs[BEGINS]);
    k.buffers[BUF_ACCUMULATE_ENDS] = cdv_kernel_values(s->inputs[ENDS]);
  }
  k.scalars[SCALAR_ACCUMULATE_GROUPS] = s->groups;
  k.scalars[SCALAR_ACCUMULATE_PART] = s->part;
  k.scalars[SCALAR_ACCUMULATE_RANGES] = ranges;
  k.scalars[SCALAR_ACCUMULATE_SCALE] = scale_of(s->inputs[VALUES]->schema->node);
  int r = cdv_exec_launch(&s->work, &k);
  if (r || s->parts == 1) return r;
  fold.granularity = CDV_PER_ROW;
  fold.n = s->groups;
  fold.buffers[BUF_OUT] = out;
  fold.buffers[BUF_ACCUMULATE_PARTS] = k.buffers[BUF_OUT];
  fold.scalars[SCALAR_ACCUMULATE_PART] = s->parts;
  return cdv_exec_launch(&s->work, &fold);
}

int cdv_compute_accumulate(struct cdv_array *values, struct cdv_array *ids, int64_t groups,
                           const struct cdv_group_order *order, enum cdv_accumulation operation,
                           const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  struct accumulation s = {
      .type = type_of(values->schema->node), .operation = operation, .n = values->length, .groups = groups};
  struct cdv_array *given[INPUTS] = {values, ids, order ? order->rows : NULL, order ? order->begins : NULL,
                                     order ? order->ends : NULL};
  struct cdv_array *made = NULL;
  int64_t n_inputs = order ? INPUTS : IDS + 1;
  if (!s.type) return CDV_LAYOUT_NOT_HANDLED;
  if (ids->length != values->length || strcmp(ids->schema->node->format, "I"))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: %lld values and %lld group ids of type \"%.40s\"", doing,
                    (long long)values->length, (long long)ids->length, ids->schema->node->format);
  int r = 0;
  for (int64_t i = 0; !r && i < n_inputs; i++) r = cdv_array_aligned(given[i], &s.inputs[i]);
  if (!r) {
    struct cdv_schema *schema = schema_of_result(&s, values->schema);
    r = cdv_exec_begin(&s.work, s.inputs, n_inputs, stream_ref, doing);
    bool by_group = !(s.work.flags & CDEVICE_COMPUTE_COARSE), counts = operation == CDV_ACCUMULATE_COUNT;
    if (!r && !order && by_group && !counts) r = CDV_ORDER_NEEDED;
    if (!r) r = cdv_exec_alloc_array(&s.work, schema, groups, false, &made);
    cdv_schema_unref(schema);
    if (!r && groups) {
      cdevice_kernel_buffer to = {(void *)made->node->buffers[1], 0};
      choose_parts(&s);
      r = by_group && counts ? count(&s, to) : accumulate(&s, to);
    }
    r = cdv_exec_finish(&s.work, r, made, out);
  }
  for (int64_t i = 0; i < n_inputs; i++)
    if (s.inputs[i]) cdv_array_unref(s.inputs[i]);
  return r;
}
