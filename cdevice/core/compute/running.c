/* running.c - running sums, products and extremes: what each tile comes to, what lies before each, and then the rows.
 * Beside the arguments and the result this needs a value for each tile. Few threads of the CPU make all in one pass, in
 * the same order. */
#include "core/compute/running.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/thread_pool.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_RUNNING_VALUES, BUF_RUNNING_VALIDITY, BUF_RUNNING_TILES,
                                BUF_RUNNING_FIRST_NULL) == 5,
               "buffers of running totals are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_RUNNING_START, SCALAR_RUNNING_SKIP_NULLS) == 3,
               "scalars of running totals are distinct");

struct running {
  struct cdv_exec work;
  struct cdv_array *values;
  const char *type; /* the kernels' name */
  bool skip_nulls;
  cdevice_kernel_buffer tiles;
};

/* The kernels' name of a type; NULL: they have none. */
static const char *type_of(const struct cdv_array *a) {
  static const char letters[] = "csilCSILfg";
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
  const char *f = a->schema->node->format, *found = f[0] && !f[1] ? strchr(letters, f[0]) : NULL;
  return found && !a->schema->node->dictionary ? names[found - letters] : NULL;
}

static struct cdv_kernel_launch launch_of(const struct running *s, const char *name, int granularity) {
  struct cdv_kernel_launch k = {
      .family = "running", .type = s->type, .name = name, .granularity = granularity, .n = s->values->length};
  k.buffers[BUF_RUNNING_VALUES] = cdv_kernel_values(s->values);
  k.buffers[BUF_RUNNING_VALIDITY] = cdv_kernel_nulls(s->values);
  k.buffers[BUF_RUNNING_TILES] = s->tiles;
  k.scalars[SCALAR_RUNNING_SKIP_NULLS] = s->skip_nulls;
  return k;
}

/* Where the rows are read twice to be shared by threads, two threads gain nothing. */
static bool few_threads(const struct running *s) {
  return cdv_exec_is_host(&s->work) && cdv_threads(CDV_POOL_KERNELS, 0) <= 2;
}

static int write_values(struct running *s, enum cdv_running_operation operation, int64_t start,
                        cdevice_kernel_buffer out) {
  static const char *const names[][4] = {
      [CDV_RUNNING_SUM] = {"sum_tiles", "sum_begins", "sum_rows", "sum_in_one_pass"},
      [CDV_RUNNING_PROD] = {"prod_tiles", "prod_begins", "prod_rows", "prod_in_one_pass"},
      [CDV_RUNNING_MIN] = {"min_tiles", "min_begins", "min_rows", "min_in_one_pass"},
      [CDV_RUNNING_MAX] = {"max_tiles", "max_begins", "max_rows", "max_in_one_pass"}};
  if (few_threads(s)) {
    struct cdv_kernel_launch all = launch_of(s, names[operation][3], CDV_SINGLE_BLOCK);
    all.scalars[SCALAR_RUNNING_START] = start;
    all.buffers[BUF_OUT] = out;
    return cdv_exec_launch(&s->work, &all);
  }
  int64_t n = s->values->length, tiles = n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0);
  int r = cdv_exec_alloc_temp(&s->work, s->values->schema->node->format[0], tiles, &s->tiles);
  if (r) return r;
  struct cdv_kernel_launch fold = launch_of(s, names[operation][0], CDV_FILTER_TILE);
  struct cdv_kernel_launch scan = launch_of(s, names[operation][1], CDV_SINGLE_BLOCK);
  struct cdv_kernel_launch rows = launch_of(s, names[operation][2], CDV_FILTER_TILE);
  scan.n = tiles;
  scan.scalars[SCALAR_RUNNING_START] = start;
  rows.buffers[BUF_OUT] = out;
  r = cdv_exec_launch(&s->work, &fold);
  if (!r) r = cdv_exec_launch(&s->work, &scan);
  return r ? r : cdv_exec_launch(&s->work, &rows);
}

static int write_nulls(struct running *s, cdevice_kernel_buffer out) {
  cdevice_kernel_buffer first = {NULL, 0};
  int r = s->skip_nulls ? 0 : cdv_exec_alloc_temp(&s->work, 'l', 1, &first);
  struct cdv_kernel_launch find = launch_of(s, "first_null", CDV_SINGLE_BLOCK);
  struct cdv_kernel_launch put = launch_of(s, "running_validity", CDV_PER_ROW_PACKED);
  find.buffers[BUF_RUNNING_FIRST_NULL] = put.buffers[BUF_RUNNING_FIRST_NULL] = first;
  put.buffers[BUF_OUT] = out;
  if (!r && !s->skip_nulls) r = cdv_exec_launch(&s->work, &find);
  return r ? r : cdv_exec_launch(&s->work, &put);
}

int cdv_compute_running(struct cdv_array *values, enum cdv_running_operation operation, int64_t start, bool skip_nulls,
                        const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  struct running s = {.type = type_of(values), .skip_nulls = skip_nulls};
  struct cdv_array *made = NULL;
  if (!s.type) return CDV_LAYOUT_NOT_HANDLED;
  int r = cdv_array_aligned(values, &s.values);
  if (r) return r;
  struct cdv_schema *schema = cdv_schema_of_number(s.values->schema->node->format[0]);
  bool nulls = cdv_may_be_null(s.values);
  r = cdv_exec_begin(&s.work, &s.values, 1, stream_ref, doing);
  if (!r) r = cdv_exec_alloc_array(&s.work, schema, s.values->length, nulls, &made);
  cdv_schema_unref(schema);
  if (!r && s.values->length) {
    r = write_values(&s, operation, start, (cdevice_kernel_buffer){(void *)made->node->buffers[1], 0});
    if (!r && nulls) r = write_nulls(&s, (cdevice_kernel_buffer){(void *)made->node->buffers[0], 0});
  }
  r = cdv_exec_finish(&s.work, r, made, out);
  cdv_array_unref(s.values);
  return r;
}
