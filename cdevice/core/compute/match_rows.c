/* match_rows.c - the pairs of rows of a join: where those of each tile of left rows begin, and then the pairs in one
 * pass. Where a work item does a pair, it finds its left row by an offset for each of these. */
#include "core/compute/match_rows.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/schema.h"

#include <errno.h>
#include <stdint.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_MATCH_RIGHT, BUF_MATCH_IDS, BUF_MATCH_KNOWN, BUF_MATCH_COUNTS,
                                BUF_MATCH_ORDER, BUF_MATCH_BEGINS, BUF_OUT_OFFSETS) == 8 &&
                   BUF_MATCH_TILES == BUF_OUT_OFFSETS &&
                   CDV_BUFFER_SLOTS(BUF_OUT, BUF_MATCH_IDS, BUF_MATCH_KNOWN, BUF_MATCH_COUNTS, BUF_TILE_BEGINS) == 5,
               "buffers of matches are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_MATCH_LEAST, SCALAR_MATCH_LEFT_ROWS) == 3,
               "scalars of matches are distinct");

enum { IDS, COUNTS, BEGINS, ORDER, INPUTS };

struct matches {
  struct cdv_exec work;
  struct cdv_array *inputs[INPUTS];
  bool keep_left;
  const char *type;            /* of the offsets */
  cdevice_kernel_buffer tiles; /* where their pairs begin */
  int64_t n;                   /* pairs */
};

static struct cdv_kernel_launch launch_of(const struct matches *s, const char *name, int granularity, int64_t n) {
  struct cdv_kernel_launch k = {.family = "varlen", .type = s->type, .name = name, .granularity = granularity, .n = n};
  k.buffers[BUF_MATCH_IDS] = cdv_kernel_values(s->inputs[IDS]);
  k.buffers[BUF_MATCH_KNOWN] = cdv_kernel_nulls(s->inputs[IDS]);
  k.buffers[BUF_MATCH_COUNTS] = cdv_kernel_values(s->inputs[COUNTS]);
  k.scalars[SCALAR_MATCH_LEAST] = s->keep_left;
  k.scalars[SCALAR_MATCH_LEFT_ROWS] = s->inputs[IDS]->length;
  return k;
}

static int count_pairs(struct matches *s) {
  int64_t rows = s->inputs[IDS]->length, tiles = rows / FILTER_TILE_ROWS + (rows % FILTER_TILE_ROWS != 0);
  int r = cdv_exec_alloc_temp(&s->work, 'l', tiles + 1, &s->tiles);
  if (r) return r;
  struct cdv_kernel_launch fold = launch_of(s, "match_tiles", CDV_FILTER_TILE, rows);
  struct cdv_kernel_launch scan = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles, {[BUF_OUT] = s->tiles}, {0}};
  cdevice_kernel_buffer last = {s->tiles.data, tiles};
  fold.buffers[BUF_OUT] = s->tiles;
  r = cdv_exec_launch(&s->work, &fold);
  if (!r) r = cdv_exec_launch(&s->work, &scan);
  return r ? r : cdv_exec_read_back(&s->work, &last, 8, 8, &s->n);
}

/* Where the pairs of each left row begin. */
static int make_offsets(struct matches *s, cdevice_kernel_buffer *out) {
  int64_t rows = s->inputs[IDS]->length;
  bool few = s->n <= INT32_MAX;
  int r = cdv_exec_alloc_temp(&s->work, few ? 'i' : 'l', rows + 1, out);
  s->type = few ? "i32" : "i64";
  struct cdv_kernel_launch k = launch_of(s, "match_offsets", CDV_FILTER_TILE, rows);
  k.buffers[BUF_OUT] = *out;
  k.buffers[BUF_TILE_BEGINS] = s->tiles;
  return r ? r : cdv_exec_launch(&s->work, &k);
}

static int write_pairs(struct matches *s, struct cdv_array *const made[2]) {
  bool coarse = s->work.flags & CDEVICE_COMPUTE_COARSE;
  cdevice_kernel_buffer right = {(void *)made[1]->node->buffers[1], 0}, begins = s->tiles;
  int r = coarse ? 0 : make_offsets(s, &begins);
  struct cdv_kernel_launch pairs = launch_of(s, "match_rows", CDV_PER_ROW, s->n);
  struct cdv_kernel_launch known = {
      .family = "varlen", .type = s->type, .name = "match_valid", .granularity = CDV_PER_ROW_PACKED, .n = s->n};
  if (coarse) {
    pairs.granularity = CDV_FILTER_TILE;
    pairs.n = s->inputs[IDS]->length;
    pairs.scalars[SCALAR_MATCH_RIGHT_ROWS] = s->inputs[ORDER]->length;
  }
  pairs.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)made[0]->node->buffers[1], 0};
  pairs.buffers[BUF_MATCH_RIGHT] = known.buffers[BUF_MATCH_RIGHT] = right;
  pairs.buffers[BUF_MATCH_ORDER] = cdv_kernel_values(s->inputs[ORDER]);
  pairs.buffers[BUF_MATCH_BEGINS] = cdv_kernel_values(s->inputs[BEGINS]);
  pairs.buffers[BUF_OUT_OFFSETS] = begins;
  known.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)made[1]->node->buffers[0], 0};
  if (!r && s->n) r = cdv_exec_launch(&s->work, &pairs);
  return r || !s->keep_left ? r : cdv_exec_launch(&s->work, &known);
}

int cdv_compute_match_rows(const struct cdv_match_groups *g, bool keep_left, const struct cdv_stream_ref *stream_ref,
                           const char *doing, struct cdv_array **left, struct cdv_array **right) {
  struct matches s = {.keep_left = keep_left, .type = "i32"};
  struct cdv_array *given[INPUTS] = {g->ids, g->counts, g->begins, g->order}, *made[2] = {NULL, NULL}, *out[2];
  if (g->ids->length > UINT32_MAX)
    return cdv_fail(CDV_UNSUPPORTED, EFBIG, "%s: %lld left rows; joins take up to 4294967295", doing,
                    (long long)g->ids->length);
  if (!g->counts->length || g->counts->length != g->begins->length)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: %lld counts and %lld begins of groups", doing,
                    (long long)g->counts->length, (long long)g->begins->length);
  int r = 0;
  for (int i = 0; !r && i < INPUTS; i++) {
    r = cdv_array_aligned(given[i], &s.inputs[i]);
    if (!r && cdv_value_width(given[i]->schema->node) != (i == IDS || i == ORDER ? 4 : 8))
      r = cdv_fail(CDV_ARGUMENT, EINVAL, "%s: numbers of type \"%.40s\"", doing, given[i]->schema->node->format);
  }
  if (!r) {
    struct cdv_schema *schema = cdv_schema_of_number('I');
    r = cdv_exec_begin(&s.work, s.inputs, INPUTS, stream_ref, doing);
    if (!r) r = count_pairs(&s);
    if (!r) r = cdv_exec_alloc_array(&s.work, schema, s.n, false, &made[0]);
    if (!r) r = cdv_exec_alloc_array(&s.work, schema, s.n, keep_left, &made[1]);
    cdv_schema_unref(schema);
    if (!r) r = write_pairs(&s, made);
    r = cdv_exec_finish_all(&s.work, r, made, 2, out);
  }
  for (int i = 0; i < INPUTS; i++)
    if (s.inputs[i]) cdv_array_unref(s.inputs[i]);
  if (!r) *left = out[0], *right = out[1];
  return r;
}
