/* hash_table.c - numbers of the groups of equal rows.
 *
 * On the CPU threads do it (hash_parts.c, hash_buckets.c). Where work items do many rows, each of a few fills a table for
 * its part of the rows, a small one first, and if that is half full, one for as many groups as there are rows; the
 * groups of all parts are then put into one table, in the order of the parts, so that the numbers do not depend on how
 * many parts there were. Else one table of row numbers takes all rows, and the first rows of the groups are counted. */
#include "core/compute/hash_table.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/hash_buckets.h"
#include "core/compute/hash_parts.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_HASH_REMAP, BUF_HASH_SLOTS, BUF_HASH_KEYS, BUF_HASH_FIRST, BUF_HASH_STATES,
                                BUF_HASH_OLD_KEYS, BUF_HASH_OLD_FIRST) == 7,
               "buffers of a merge are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_HASH_SIZE, SCALAR_HASH_OLD_ROOM, SCALAR_HASH_PART,
                                SCALAR_HASH_SEED) == 5,
               "scalars of a hash table are distinct");

#define PARTS 4                /* of a device whose items do many rows */
#define ROWS_OF_PART (1 << 16) /* at least */
#define GROWTH 16              /* of a table that begins again: few rows were done when it was full */

struct lists {
  cdevice_kernel_buffer slots, keys, first;
  int64_t size, room; /* slots of a table, groups of a list */
};
struct table {
  struct cdv_exec work;
  int64_t n, parts, part; /* rows; parts, and their rows */
  struct cdv_key_plan plan;
  cdevice_kernel_buffer words;
  cdevice_kernel_buffer ids, states;
  struct lists lists;
  int64_t state[PARTS + 1][HASH_STATE]; /* as it was read last */
  int64_t groups;
};

static struct cdv_kernel_launch table_launch(const struct table *t, const char *name, int granularity, int64_t n) {
  struct cdv_kernel_launch k = {
      .family = "hash_table", .type = "bits", .name = name, .granularity = granularity, .n = n, .n_items = t->parts};
  k.buffers[BUF_HASH_SLOTS] = t->lists.slots;
  k.scalars[SCALAR_HASH_SIZE] = t->lists.size;
  k.scalars[SCALAR_HASH_SEED] = (int64_t)cdv_hash_seed();
  k.scalars[SCALAR_HASH_PART] = t->part;
  return k;
}

static struct cdv_kernel_launch list_launch(const struct table *t, const char *name, int granularity, int64_t n) {
  struct cdv_kernel_launch k = table_launch(t, name, granularity, n);
  k.buffers[BUF_HASH_KEYS] = t->lists.keys;
  k.buffers[BUF_HASH_FIRST] = t->lists.first;
  k.buffers[BUF_HASH_STATES] = (cdevice_kernel_buffer){t->states.data, HASH_STATE}; /* behind that of all */
  return k;
}

/* Blocks. */
static int read_states(struct table *t) {
  return cdv_exec_read_back(&t->work, &t->states, 8, (t->parts + 1) * HASH_STATE * 8, t->state);
}

/* ---- tables of parts ---- */
static int zero(struct table *t, cdevice_kernel_buffer memory, int64_t nbytes) {
  struct cdv_kernel_launch k = table_launch(t, "hash_zero", CDV_PER_ROW, nbytes / 4);
  k.buffers[BUF_HASH_SLOTS] = memory;
  return cdv_exec_launch(&t->work, &k);
}

static int make_lists(struct table *t, int64_t parts, int64_t size, int64_t room, bool direct, struct lists *out) {
  *out = (struct lists){.size = size, .room = room};
  int64_t nbytes = parts * size * (direct ? 4 : 16);
  int r = cdv_exec_alloc_temp(&t->work, 'I', nbytes / 4, &out->slots);
  if (!r) r = cdv_exec_alloc_temp(&t->work, 'L', parts * room, &out->keys);
  if (!r) r = cdv_exec_alloc_temp(&t->work, 'I', parts * room, &out->first);
  return r ? r : zero(t, out->slots, nbytes);
}

/* Slots of a table that has room for so many groups. */
static int64_t size_for(int64_t groups) {
  int64_t size = CDV_HASH_FIRST_SIZE;
  while (size / 2 < groups + HASH_BATCH_ROWS) size *= 2;
  return size;
}

/* No group is known, of all parts and of the table that they are merged into. */
static int start(struct table *t) { return zero(t, t->states, (t->parts + 1) * HASH_STATE * 8); }

static int64_t rows_of_part(const struct table *t, int64_t p) {
  int64_t rest = t->n - p * t->part;
  return rest < t->part ? rest : t->part;
}

/* With a small table for each part; where one is too small, again with larger ones, up to as many groups as there are
 * rows. Blocks. */
static int fill(struct table *t) {
  int64_t most = size_for(t->part);
  for (int64_t size = CDV_HASH_FIRST_SIZE;; size = size * GROWTH < most ? size * GROWTH : most) {
    int r = start(t);
    if (!r) r = make_lists(t, t->parts, size, size / 2, false, &t->lists);
    struct cdv_kernel_launch k = list_launch(t, "hash_insert", CDV_ITEMS, t->n);
    k.buffers[BUF_HASH_IDS] = t->ids;
    k.buffers[BUF_HASH_WORDS] = t->words;
    if (!r) r = cdv_exec_launch(&t->work, &k);
    if (!r) r = read_states(t);
    bool done = true;
    for (int64_t p = 0; !r && p < t->parts; p++) done &= t->state[p + 1][1] >= rows_of_part(t, p);
    if (r || done) return r;
    CDV_ASSERT(size < most);
  }
}

/* All parts into one more table. */
static int merge(struct table *t, cdevice_kernel_buffer remap) {
  struct lists parts = t->lists;
  int64_t groups = 0;
  for (int64_t p = 0; p < t->parts; p++) groups += t->state[p + 1][0];
  int64_t size = size_for(groups);
  int r = make_lists(t, 1, size, size / 2, false, &t->lists);
  struct cdv_kernel_launch progress = list_launch(t, "hash_unmerged", CDV_PER_ROW, t->parts);
  if (!r) r = cdv_exec_launch(&t->work, &progress);
  for (int64_t p = 0; !r && p < t->parts; p++) {
    struct cdv_kernel_launch k = list_launch(t, "hash_merge", CDV_SINGLE_ITEM, t->n);
    k.buffers[BUF_HASH_STATES].offset = 0;
    k.buffers[BUF_HASH_REMAP] = remap;
    k.buffers[BUF_HASH_OLD_KEYS] = parts.keys;
    k.buffers[BUF_HASH_OLD_FIRST] = parts.first;
    k.scalars[SCALAR_HASH_OLD_ROOM] = parts.room;
    k.scalars[SCALAR_HASH_PART] = p;
    r = cdv_exec_launch(&t->work, &k);
  }
  return r;
}

static int merge_direct(struct table *t, cdevice_kernel_buffer remap) {
  int r = 0;
  for (int64_t p = 1; !r && p < t->parts; p++) {
    struct cdv_kernel_launch k = list_launch(t, "hash_merge_direct", CDV_SINGLE_ITEM, t->n);
    k.buffers[BUF_HASH_REMAP] = remap;
    k.buffers[BUF_HASH_OLD_KEYS] = t->lists.keys;
    k.buffers[BUF_HASH_OLD_FIRST] = t->lists.first;
    k.scalars[SCALAR_HASH_OLD_ROOM] = t->lists.room;
    k.scalars[SCALAR_HASH_PART] = p;
    r = cdv_exec_launch(&t->work, &k);
  }
  return r;
}

/* Numbers of the first part's groups stay. */
static int renumber(struct table *t, cdevice_kernel_buffer remap, int64_t room) {
  int r = 0;
  for (int64_t p = 1; !r && p < t->parts; p++) {
    struct cdv_kernel_launch k = table_launch(t, "hash_renumber", CDV_PER_ROW, rows_of_part(t, p));
    k.buffers[BUF_HASH_IDS] = (cdevice_kernel_buffer){t->ids.data, t->ids.offset + p * t->part};
    k.buffers[BUF_HASH_REMAP] = (cdevice_kernel_buffer){remap.data, remap.offset + p * room};
    r = cdv_exec_launch(&t->work, &k);
  }
  return r;
}

/* Words that have a place each. */
static int fill_direct(struct table *t) {
  int64_t size = INT64_C(1) << t->plan.bits;
  int r = start(t);
  if (!r) r = make_lists(t, t->parts, size, size, true, &t->lists);
  struct cdv_kernel_launch k = list_launch(t, "hash_direct", CDV_ITEMS, t->n);
  k.buffers[BUF_HASH_IDS] = t->ids;
  k.buffers[BUF_HASH_WORDS] = t->words;
  return r ? r : cdv_exec_launch(&t->work, &k);
}

static int number_by_parts(struct table *t) {
  bool direct = cdv_hash_is_direct(&t->plan);
  t->parts = t->n / ROWS_OF_PART < PARTS ? t->n / ROWS_OF_PART : PARTS;
  if (t->parts < 1) t->parts = 1;
  t->part = (t->n / t->parts + HASH_BATCH_ROWS) / HASH_BATCH_ROWS * HASH_BATCH_ROWS;
  t->parts = t->n / t->part + (t->n % t->part != 0);
  cdevice_kernel_buffer remap = {NULL, 0};
  int r = cdv_exec_alloc_temp(&t->work, 'l', HASH_STATE * (t->parts + 1), &t->states);
  if (!r) r = direct ? fill_direct(t) : fill(t);
  int64_t room = t->lists.room;
  bool merged = t->parts > 1 && !direct;
  if (!r && t->parts > 1) {
    r = cdv_exec_alloc_temp(&t->work, 'I', t->parts * room, &remap);
    if (!r) r = direct ? merge_direct(t, remap) : merge(t, remap);
    if (!r) r = renumber(t, remap, room);
  }
  if (!r) r = read_states(t);
  t->groups = r ? 0 : t->state[merged ? 0 : 1][0]; /* direct tables are merged into the first part's */
  return r;
}

static int first_of_lists(struct table *t, cdevice_kernel_buffer out) {
  struct cdv_kernel_launch k = list_launch(t, "hash_first", CDV_PER_ROW, t->groups);
  k.buffers[BUF_OUT] = out;
  return cdv_exec_launch(&t->work, &k);
}

/* ---- one table ---- */
/* How many rows are first, and where each tile's begin. Blocks. */
static int count_firsts(struct table *t, cdevice_kernel_buffer bits, cdevice_kernel_buffer *begins) {
  int64_t tiles = t->n / FILTER_TILE_ROWS + (t->n % FILTER_TILE_ROWS != 0);
  struct cdv_kernel_launch count = {
      .family = "filter", .type = "bits", .name = "filter_count", .granularity = CDV_FILTER_TILE, .n = t->n};
  struct cdv_kernel_launch scan = {
      .family = "filter", .type = "bits", .name = "scan", .granularity = CDV_SINGLE_BLOCK, .n = tiles};
  int r = cdv_exec_alloc_temp(&t->work, 'l', tiles + 1, begins);
  if (r) return r;
  count.buffers[BUF_OUT] = scan.buffers[BUF_OUT] = *begins;
  count.buffers[BUF_MASK] = bits;
  r = cdv_exec_launch(&t->work, &count);
  if (!r) r = cdv_exec_launch(&t->work, &scan);
  cdevice_kernel_buffer total = {begins->data, tiles};
  return r ? r : cdv_exec_read_back(&t->work, &total, 8, 8, &t->groups);
}

static int number_by_rows(struct table *t, cdevice_kernel_buffer *bits, cdevice_kernel_buffer *begins) {
  for (t->lists.size = 64; t->lists.size < 2 * t->n;) t->lists.size *= 2;
  int r = cdv_exec_alloc_temp(&t->work, 'I', t->lists.size, &t->lists.slots);
  if (!r) r = cdv_exec_alloc_temp(&t->work, 'I', (t->n + 31) / 32, bits);
  struct cdv_kernel_launch clear = table_launch(t, "hash_clear", CDV_PER_ROW, t->lists.size);
  struct cdv_kernel_launch insert = table_launch(t, "hash_insert", CDV_PER_ROW, t->n);
  struct cdv_kernel_launch firsts = table_launch(t, "hash_firsts", CDV_PER_ROW_PACKED, t->n);
  insert.buffers[BUF_HASH_WORDS] = t->words;
  insert.buffers[BUF_HASH_IDS] = firsts.buffers[BUF_HASH_WORDS] = t->ids; /* slots, until they have numbers */
  firsts.buffers[BUF_HASH_BITS] = *bits;
  if (!r) r = cdv_exec_launch(&t->work, &clear);
  if (!r) r = cdv_exec_launch(&t->work, &insert);
  if (!r) r = cdv_exec_launch(&t->work, &firsts);
  return r ? r : count_firsts(t, *bits, begins);
}

static int first_of_bits(struct table *t, cdevice_kernel_buffer bits, cdevice_kernel_buffer begins,
                         cdevice_kernel_buffer out) {
  struct cdv_kernel_launch rows = {
      .family = "filter", .type = "bits", .name = "filter_rows", .granularity = CDV_FILTER_TILE, .n = t->n};
  struct cdv_kernel_launch number = table_launch(t, "hash_number", CDV_PER_ROW, t->groups);
  struct cdv_kernel_launch ids = table_launch(t, "hash_ids", CDV_PER_ROW, t->n);
  rows.buffers[BUF_OUT] = number.buffers[BUF_HASH_GROUPS] = out;
  rows.buffers[BUF_MASK] = bits;
  rows.buffers[BUF_TILE_BEGINS] = begins;
  number.buffers[BUF_HASH_IDS] = ids.buffers[BUF_HASH_IDS] = t->ids;
  int r = cdv_exec_launch(&t->work, &rows);
  if (!r) r = cdv_exec_launch(&t->work, &number);
  return r ? r : cdv_exec_launch(&t->work, &ids);
}

/* ---- the call ---- */
/* On the CPU threads do parts of the rows. */
static int number_by_threads(struct table *t, struct cdv_schema *row, struct cdv_array **first) {
  uint32_t *found = NULL;
  int r = cdv_hash_number_by_threads(&t->work, &t->plan, t->ids.data, &t->groups, &found);
  if (r == CDV_HASH_MANY_GROUPS) r = cdv_hash_number_by_buckets(&t->work, &t->plan, t->ids.data, &t->groups, &found);
  if (!r) r = cdv_exec_alloc_array(&t->work, row, t->groups, false, first);
  int64_t *out = r ? NULL : (int64_t *)(*first)->node->buffers[1];
  for (int64_t g = 0; !r && g < t->groups; g++) out[g] = found[g];
  free(found);
  return r;
}

static int number_on_device(struct table *t, struct cdv_schema *row, struct cdv_array **first) {
  cdevice_kernel_buffer bits, begins;
  bool coarse = t->work.flags & CDEVICE_COMPUTE_COARSE;
  int r = cdv_exec_alloc_temp(&t->work, 'L', t->n, &t->words);
  if (!r) r = cdv_key_plan_write(&t->work, &t->plan, 0, t->n, t->words, NULL);
  if (!r) r = coarse ? number_by_parts(t) : number_by_rows(t, &bits, &begins);
  if (!r) r = cdv_exec_alloc_array(&t->work, row, t->groups, false, first);
  if (r) return r;
  cdevice_kernel_buffer out = {(void *)(*first)->node->buffers[1], 0};
  return coarse ? first_of_lists(t, out) : first_of_bits(t, bits, begins, out);
}

/* By a plan from some of the rows, or from all where that does not fit. */
static int number_with_plan(struct table *t, struct cdv_array *const *columns, int64_t n, enum cdv_key_float floats,
                            struct cdv_schema *row, struct cdv_array **first) {
  int r = CDV_KEYS_OUTSIDE;
  for (int again = 0; r == CDV_KEYS_OUTSIDE; again++) {
    CDV_ASSERT(again < 2);
    if (again) cdv_key_plan_free(&t->plan);
    r = cdv_key_plan_make(&t->work, columns, n, floats, !again, &t->plan);
    bool kept = t->ids.data || (cdv_exec_is_host(&t->work) && cdv_hash_is_direct(&t->plan));
    if (!r && !kept) r = cdv_exec_alloc_temp(&t->work, 'I', t->n, &t->ids);
    if (!r) r = cdv_exec_is_host(&t->work) ? number_by_threads(t, row, first) : number_on_device(t, row, first);
  }
  return r;
}

/* ids: or NULL. */
static int number(struct table *t, struct cdv_array *const *columns, int64_t n, enum cdv_key_float floats,
                  struct cdv_array **ids, struct cdv_array **first) {
  struct cdv_schema *number = cdv_schema_of_number('I'), *row = cdv_schema_of_number('l');
  bool collided = false;
  int r = ids ? cdv_exec_alloc_array(&t->work, number, t->n, false, ids) : 0;
  if (!r && ids) t->ids = (cdevice_kernel_buffer){(void *)(*ids)->node->buffers[1], 0};
  if (!r && !t->n) {
    r = cdv_exec_alloc_array(&t->work, row, 0, false, first);
  } else if (!r) {
    r = number_with_plan(t, columns, n, floats, row, first);
    cdevice_kernel_buffer rows = {r ? NULL : (void *)(*first)->node->buffers[1], 0};
    if (!r && !t->plan.exact) r = cdv_key_plan_mismatch(&t->work, &t->plan, &t->ids, &rows, &collided);
    cdv_key_plan_free(&t->plan);
  }
  cdv_schema_unref(number);
  cdv_schema_unref(row);
  return r ? r : collided ? CDV_HASH_COLLISION : 0;
}

int cdv_compute_group_ids(struct cdv_array *const *columns, int64_t n, enum cdv_key_float floats,
                          const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **ids,
                          struct cdv_array **first) {
  struct table t = {.n = columns[0]->length};
  struct cdv_array **aligned = calloc((size_t)n, sizeof(struct cdv_array *)), *made[2] = {NULL, NULL};
  int r = aligned ? 0 : cdv_fail_memory(n * (int64_t)sizeof(struct cdv_array *), doing);
  if (!r && t.n >= UINT32_MAX)
    r = cdv_fail(CDV_UNSUPPORTED, EFBIG, "%s: %lld rows; groups take up to 4294967294", doing, (long long)t.n);
  for (int64_t i = 0; !r && i < n; i++) {
    if (columns[i]->length != t.n)
      r = cdv_fail(CDV_ARGUMENT, EINVAL, "%s: keys of %lld and %lld rows", doing, (long long)t.n,
                   (long long)columns[i]->length);
    else
      r = cdv_is_group_key(columns[i]) ? cdv_array_aligned(columns[i], &aligned[i]) : CDV_LAYOUT_NOT_HANDLED;
  }
  *first = NULL;
  if (ids) *ids = NULL;
  if (!r) {
    r = cdv_exec_begin(&t.work, aligned, n, stream_ref, doing);
    if (!r) r = number(&t, aligned, n, floats, ids ? &made[0] : NULL, &made[1]);
    if (!r && ids) r = cdv_array_freeze(made[1], t.work.stream, 0, first);
    r = cdv_exec_finish(&t.work, r, made[ids ? 0 : 1], ids ? ids : first);
    if (r && ids && *first) cdv_array_unref(*first);
  }
  for (int64_t i = 0; aligned && i < n; i++)
    if (aligned[i]) cdv_array_unref(aligned[i]);
  free(aligned);
  return r;
}
