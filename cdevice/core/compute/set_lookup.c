/* set_lookup.c - which rows have a value of a set.
 *
 * The words of the set's rows are put into a table of row numbers: one with a place for each word where they are close
 * to each other, else a hash table. Then each row looks for its word. */
#include "core/compute/set_lookup.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/hash_parts.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/key_words.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"

#include <errno.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_KEY_VALUES, BUF_KEY_VALIDITY, BUF_SET_WORDS, BUF_SET_SLOTS, BUF_SET_FOUND,
                                BUF_SET_HASHES) == 7,
               "buffers of a lookup are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_HASH_SIZE, SCALAR_KEY_FLAGS, SCALAR_SET_LEAST, SCALAR_HASH_SEED) ==
                   5,
               "scalars of a lookup are distinct");

#define SMALL_TABLE (1 << 15) /* places that may be without a row */
#define MOST_HASHED (1 << 20) /* rows that one work item puts into a table: of more, groups are faster */

struct set {
  struct cdv_exec work;
  struct cdv_array *rows;
  const char *type;
  cdevice_kernel_buffer words, slots, hashes; /* hashes: where work items do many rows */
  int64_t flags, size;
  uint64_t least;
};

static struct cdv_kernel_launch set_launch(const struct set *s, const char *family, const char *name, int granularity,
                                           int64_t n) {
  struct cdv_kernel_launch k = {
      .family = family, .type = s->type, .name = name, .granularity = granularity, .n = n, .n_items = 1};
  k.buffers[BUF_SET_WORDS] = s->words;
  k.buffers[BUF_SET_SLOTS] = s->slots;
  k.buffers[BUF_SET_HASHES] = s->hashes;
  k.scalars[SCALAR_HASH_SIZE] = s->size;
  k.scalars[SCALAR_KEY_FLAGS] = s->flags;
  k.scalars[SCALAR_SET_LEAST] = (int64_t)s->least;
  k.scalars[SCALAR_HASH_SEED] = (int64_t)cdv_hash_seed();
  return k;
}

static bool is_coarse(const struct set *s) { return s->work.flags & CDEVICE_COMPUTE_COARSE; }

static int fill(struct set *s, cdevice_kernel_buffer memory, const char *name, int64_t numbers) {
  struct cdv_kernel_launch k = {
      .family = "hash_table", .type = "bits", .name = name, .granularity = CDV_PER_ROW, .n = numbers};
  k.buffers[BUF_HASH_SLOTS] = memory;
  return cdv_exec_launch(&s->work, &k);
}

/* The table of a device whose items do a row each, by hashes. */
static int insert_hashes(struct set *s) {
  struct cdv_kernel_launch k = {
      .family = "hash_table", .type = "bits", .name = "hash_insert", .granularity = CDV_PER_ROW, .n = s->rows->length};
  k.buffers[BUF_HASH_WORDS] = s->words;
  k.buffers[BUF_HASH_SLOTS] = s->slots;
  k.scalars[SCALAR_HASH_SIZE] = s->size;
  k.scalars[SCALAR_HASH_SEED] = (int64_t)cdv_hash_seed();
  int r = cdv_exec_alloc_temp(&s->work, 'I', s->rows->length, &k.buffers[BUF_HASH_IDS]);
  return r ? r : cdv_exec_launch(&s->work, &k);
}

static int make_table(struct set *s, enum cdv_key_float floats) {
  uint64_t greatest;
  int64_t n = s->rows->length;
  int r = cdv_key_words_of(&s->work, s->rows, floats, &s->words, &s->least, &greatest);
  if (r) return r;
  uint64_t range = greatest - s->least;
  bool direct = range < SMALL_TABLE || range < 8 * (uint64_t)n;
  if (direct) {
    s->size = (int64_t)range + 1;
    s->flags |= SET_DIRECT;
  } else if (is_coarse(s) && n > MOST_HASHED) {
    return CDV_LAYOUT_NOT_HANDLED;
  } else {
    for (s->size = 64; s->size < (n < SMALL_TABLE ? 4 : 2) * n;) s->size *= 2;
  }
  r = cdv_exec_alloc_temp(&s->work, 'I', s->size, &s->slots);
  if (!r) r = fill(s, s->slots, "hash_clear", s->size);
  if (r || (!is_coarse(s) && !direct)) return r ? r : insert_hashes(s);
  if (!direct) {
    int64_t numbers = s->size / 4 < 1 << 27 ? s->size / 4 : 1 << 27;
    r = cdv_exec_alloc_temp(&s->work, 'I', numbers, &s->hashes);
    if (!r) r = fill(s, s->hashes, "hash_zero", numbers);
  }
  struct cdv_kernel_launch k =
      set_launch(s, "hash_table", "set_insert", is_coarse(s) ? CDV_SINGLE_ITEM : CDV_PER_ROW, n);
  k.type = "bits";
  return r ? r : cdv_exec_launch(&s->work, &k);
}

static int look_up(struct set *s, struct cdv_array *values, struct cdv_schema *schema, struct cdv_array **made) {
  bool bits = schema->node->format[0] == 'b';
  struct cdv_kernel_launch k = set_launch(s, "key_words", bits ? "set_has" : "set_rows",
                                          is_coarse(s) ? CDV_REDUCE_TILE : CDV_PER_ROW_PACKED, values->length);
  int r = cdv_exec_alloc_array(&s->work, schema, values->length, !bits, made);
  if (r) return r;
  k.buffers[BUF_OUT] = (cdevice_kernel_buffer){(void *)(*made)->node->buffers[1], 0};
  k.buffers[BUF_SET_FOUND] = (cdevice_kernel_buffer){bits ? NULL : (void *)(*made)->node->buffers[0], 0};
  k.buffers[BUF_KEY_VALUES] = cdv_kernel_values(values);
  k.buffers[BUF_KEY_VALIDITY] = cdv_kernel_nulls(values);
  return cdv_exec_launch(&s->work, &k);
}

int cdv_compute_set_lookup(const struct cdv_set_step *f, struct cdv_array *set, struct cdv_array *values,
                           const struct cdv_stream_ref *stream_ref, struct cdv_array **out, struct cdv_array **of_set) {
  struct set s = {.rows = NULL};
  struct cdv_array *inputs[2] = {NULL, NULL}, *made[2] = {NULL, NULL};
  s.type = cdv_key_of_one_word(values, f->floats, &s.flags);
  if (!s.type || !set->length || cdv_may_be_null(set)) return CDV_LAYOUT_NOT_HANDLED;
  s.flags |= (f->null_row + 1) << 16;
  if (set->length > INT32_MAX)
    return cdv_fail(CDV_UNSUPPORTED, EFBIG, "%s: a set of %lld rows; sets have up to 2147483647", f->function_name,
                    (long long)set->length);
  int r = cdv_array_aligned(set, &inputs[0]);
  if (!r) r = cdv_array_aligned(values, &inputs[1]);
  if (!r) {
    s.rows = inputs[0];
    r = cdv_exec_begin(&s.work, inputs, 2, stream_ref, f->function_name);
    if (!r) r = make_table(&s, f->floats);
    if (!r) r = look_up(&s, inputs[1], f->schema, &made[0]);
    if (!r && of_set) r = look_up(&s, inputs[0], f->schema, &made[1]);
    if (!r && of_set) r = cdv_array_freeze(made[1], s.work.stream, 0, of_set);
    r = cdv_exec_finish(&s.work, r, made[0], out);
    if (r && of_set && *of_set) cdv_array_unref(*of_set);
  }
  for (int i = 0; i < 2; i++)
    if (inputs[i]) cdv_array_unref(inputs[i]);
  return r;
}
