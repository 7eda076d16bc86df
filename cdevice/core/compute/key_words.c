/* key_words.c - a word of 64 bits for each row, from the columns of a key.
 *
 * A column has parts: a number is one, of 128 bits two; strings of up to 16 bytes have two of eight bytes and their
 * length. Of each part the bits that differ among the rows are packed, by a range or by runs of bits. */
#include "core/compute/key_words.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_WORDS_OUT, BUF_KEY_VALUES, BUF_KEY_VALIDITY, BUF_WORDS_IN, BUF_KEY_BYTES,
                                BUF_MISMATCH_IDS, BUF_MISMATCH_FIRST) == 7 &&
                   CDV_BUFFER_SLOTS(BUF_WORDS_OUT, BUF_KEY_VALUES, BUF_KEY_VALIDITY, BUF_WORDS_IN, BUF_KEY_BYTES,
                                    BUF_WORDS_OUTSIDE) == 6,
               "buffers of keys are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_KEY_FLAGS, SCALAR_WORD_LEAST, SCALAR_WORD_PLACE,
                                SCALAR_WORD_MASK) == 5,
               "scalars of keys are distinct");

#define MOST_PARTS 3
#define MOST_RUNS 4 /* that runs_of() of the kernels knows */

static int hash_bits = 64;
int cdv_hash_bits(int bits) { return __atomic_exchange_n(&hash_bits, bits, __ATOMIC_RELAXED); }

struct part {
  uint64_t least, mask; /* least: of bytes the bits that all rows have */
  int bits;
};
struct cdv_key_column {
  struct cdv_array *array;
  const char *family, *type;
  int64_t flags, fixed_size; /* of bytes */
  bool bytes, nullable, sampled;
  int n_parts;
  struct part parts[MOST_PARTS];
};

/* What the kernels need to know of a type; false: it is no key. */
static bool look_at(struct cdv_array *array, enum cdv_key_float floats, struct cdv_key_column *c) {
  const char *f = array->schema->node->format, *why;
  struct cdv_layout layout;
  *c = (struct cdv_key_column){.array = array, .n_parts = 1};
  if (array->schema->node->dictionary || cdv_layout_parse(f, &layout, &why)) return false;
  c->nullable = cdv_may_be_null(array);
  bool wide = layout.type == CDV_FIXED && layout.width == 32; /* decimal256: as bytes of one size */
  c->bytes = layout.type == CDV_BINARY || layout.type == CDV_LARGE_BINARY || f[0] == 'w' || wide;
  c->family = c->bytes ? "key_bytes" : "key_words";
  if (c->bytes) {
    c->fixed_size = f[0] == 'w' || wide ? layout.width : 0;
    c->type = layout.type == CDV_LARGE_BINARY ? "i64" : "i32";
    c->n_parts = 3;
    return true;
  }
  if (layout.type != CDV_FIXED) return false;
  c->type = cdv_width_name(layout.width);
  if (!c->type) return false;
  if (layout.width == 16) c->n_parts = 2;
  if (strchr("csildt", f[0]) && layout.width < 16) c->flags |= SORT_KEY_SIGNED;
  if (strchr("efg", f[0])) c->flags |= floats == CDV_KEY_BITS ? 0 : WORD_NORMALIZE_NAN;
  if (strchr("efg", f[0])) c->flags |= floats == CDV_KEY_NORMALIZED ? WORD_NORMALIZE_ZERO : 0;
  return true;
}

bool cdv_is_group_key(const struct cdv_array *column) {
  struct cdv_key_column c;
  return look_at((struct cdv_array *)column, CDV_KEY_BITS, &c);
}

const char *cdv_key_of_one_word(struct cdv_array *column, enum cdv_key_float floats, int64_t *flags) {
  struct cdv_key_column c;
  if (!look_at(column, floats, &c) || c.bytes || c.n_parts > 1) return NULL;
  *flags = c.flags;
  return c.type;
}

/* Of a kernel with PREPARED_ROWS. */
static int granularity_of_pack(const struct cdv_exec *w) {
  return w->flags & CDEVICE_COMPUTE_COARSE ? CDV_REDUCE_TILE : CDV_PER_ROW;
}

/* A kernel over n rows of a column from `begin` on. */
static struct cdv_kernel_launch key_launch(const struct cdv_key_column *c, const char *name, int64_t begin, int64_t n) {
  struct cdv_kernel_launch k = {.family = c->family, .type = c->type, .name = name, .granularity = CDV_PER_ROW, .n = n};
  const struct cdv_array *a = c->array;
  if (!c->bytes) {
    k.buffers[BUF_KEY_VALUES] = cdv_kernel_values(a);
    k.buffers[BUF_KEY_VALUES].offset += begin;
  } else if (c->fixed_size) {
    k.buffers[BUF_KEY_BYTES] =
        (cdevice_kernel_buffer){(void *)a->node->buffers[1], (a->offset + begin) * c->fixed_size};
  } else {
    k.buffers[BUF_KEY_VALUES] = (cdevice_kernel_buffer){(void *)a->node->buffers[1], a->offset + begin};
    k.buffers[BUF_KEY_BYTES] = (cdevice_kernel_buffer){(void *)a->node->buffers[2], 0};
  }
  k.buffers[BUF_KEY_VALIDITY] = cdv_kernel_nulls(a);
  k.buffers[BUF_KEY_VALIDITY].offset += begin;
  k.scalars[SCALAR_KEY_FLAGS] = c->flags;
  k.scalars[SCALAR_WORD_PLACE] = c->fixed_size << 16;
  return k;
}

/* ---- which bits differ ---- */
static int bits_of(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* A mask of MOST_RUNS runs at most: the smallest gaps become part of it. */
static uint64_t few_runs(uint64_t mask) {
  for (;;) {
    int runs = 0, least = 65, from = 0;
    for (uint64_t rest = mask; rest; runs++) {
      int begin = __builtin_ctzll(rest);
      uint64_t above = rest >> begin;
      int length = above == ~UINT64_C(0) ? 64 : __builtin_ctzll(~above);
      int end = begin + length;
      rest = end >= 64 ? 0 : rest >> end << end;
      if (rest && __builtin_ctzll(rest) - end < least) least = __builtin_ctzll(rest) - end, from = end;
    }
    if (runs <= MOST_RUNS) return mask;
    mask |= ((UINT64_C(1) << least) - 1) << from;
  }
}

static struct part part_of(const uint64_t *tiles, int64_t n_tiles, int64_t stride, bool of_bytes) {
  uint64_t least = ~UINT64_C(0), greatest = 0, any = 0, all = ~UINT64_C(0);
  for (int64_t t = 0; t < n_tiles; t++) {
    const uint64_t *x = tiles + stride * t;
    if (x[0] < least) least = x[0];
    if (x[1] > greatest) greatest = x[1];
    any |= x[2];
    all &= x[3];
  }
  if (least > greatest) return (struct part){0, 0, 0}; /* no row is valid */
  uint64_t differ = few_runs(any & ~all);
  int range = bits_of(greatest - least), gathered = __builtin_popcountll(differ);
  if (of_bytes) return (struct part){all & ~differ, differ, gathered};
  if (gathered <= range) return (struct part){0, differ, gathered};
  return (struct part){least, range == 64 ? ~UINT64_C(0) : (UINT64_C(1) << range) - 1, range};
}

struct measuring {
  struct cdv_exec *work;
  int64_t n, tiles;
  cdevice_kernel_buffer words, ranges; /* words: where blocks do tiles, and of parts that have no kernel of their own */
  uint64_t *read;
  bool coarse;
};

/* Blocks. */
static int read_ranges(struct measuring *s, int64_t words) {
  return cdv_exec_read_back(s->work, &s->ranges, 8, 8 * words * s->tiles, s->read);
}

/* The words are written and their ranges taken from there; nulls count as a word. */
static int measure_part(struct measuring *s, struct cdv_key_column *c, int part) {
  struct cdv_kernel_launch k = key_launch(c, c->bytes ? "bytes_pack" : "word_pack", 0, s->n);
  struct cdv_kernel_launch ranges = {
      .family = "radix", .type = "bits", .name = "radix_ranges", .granularity = CDV_SORT_TILE, .n = s->n};
  int r = s->words.data ? 0 : cdv_exec_alloc_temp(s->work, 'L', s->n, &s->words);
  k.granularity = granularity_of_pack(s->work);
  k.scalars[SCALAR_WORD_PLACE] |= part;
  k.scalars[SCALAR_WORD_MASK] = -1;
  k.buffers[BUF_WORDS_OUT] = ranges.buffers[BUF_RADIX_WORDS] = s->words;
  ranges.buffers[BUF_RADIX_RANGES] = s->ranges;
  if (!r) r = cdv_exec_launch(s->work, &k);
  if (!r) r = cdv_exec_launch(s->work, &ranges);
  if (!r) r = read_ranges(s, 4);
  if (!r) c->parts[part] = part_of(s->read, s->tiles, 4, c->bytes);
  return r;
}

#define SAMPLES 16
#define ROWS_OF_SAMPLE 4096
#define MOST_SAMPLED_BITS 21 /* of numbers */

/* Of strings of one length, as ids mostly are, some rows tell which bits differ; the others are looked at when their
 * words are written. */
static int measure_samples(struct measuring *s, struct cdv_key_column *c) {
  int r = 0;
  int64_t step = s->n / SAMPLES;
  for (int64_t i = 0; !r && i < SAMPLES; i++) {
    struct cdv_kernel_launch k = key_launch(c, "bytes_range", i * step, ROWS_OF_SAMPLE);
    k.granularity = CDV_SORT_TILE;
    k.buffers[BUF_WORD_RANGES] = s->ranges;
    k.buffers[BUF_WORD_RANGES].offset += 12 * i;
    r = cdv_exec_launch(s->work, &k);
  }
  if (!r) r = cdv_exec_read_back(s->work, &s->ranges, 8, 8 * 12 * SAMPLES, s->read);
  if (r) return r;
  for (int p = 0; p < 3; p++) c->parts[(p + 2) % 3] = part_of(s->read + 4 * p, SAMPLES, 12, true);
  int64_t length = (int64_t)c->parts[WORD_LENGTH].least;
  c->sampled = !c->parts[WORD_LENGTH].bits && length > 0 && length <= 16;
  if (c->sampled) c->flags |= (length + 1) << 16;
  if (c->sampled) c->n_parts = length > 8 ? 2 : 1;
  return 0;
}

/* Of numbers that differ in few of their lowest bits the same. */
static int measure_number_samples(struct measuring *s, struct cdv_key_column *c) {
  int r = 0;
  uint64_t any = 0, all = ~UINT64_C(0);
  for (int64_t i = 0; !r && i < SAMPLES; i++) {
    struct cdv_kernel_launch k = key_launch(c, "word_range", i * (s->n / SAMPLES), ROWS_OF_SAMPLE);
    k.granularity = CDV_SORT_TILE;
    k.buffers[BUF_WORD_RANGES] = s->ranges;
    k.buffers[BUF_WORD_RANGES].offset += 4 * i;
    r = cdv_exec_launch(s->work, &k);
  }
  if (!r) r = cdv_exec_read_back(s->work, &s->ranges, 8, 8 * 4 * SAMPLES, s->read);
  for (int64_t i = 0; !r && i < SAMPLES; i++) any |= s->read[4 * i + 2], all &= s->read[4 * i + 3];
  int bits = bits_of(any & ~all);
  uint64_t mask = (UINT64_C(1) << (bits & 63)) - 1;
  c->sampled = !r && bits <= MOST_SAMPLED_BITS;
  if (c->sampled) c->parts[0] = (struct part){all & ~mask, mask, bits};
  return r;
}

static bool can_be_sampled(const struct measuring *s, const struct cdv_key_column *c) {
  if (s->n < 4 * SAMPLES * ROWS_OF_SAMPLE || !cdv_exec_is_host(s->work)) return false;
  if (c->bytes) return !c->fixed_size;
  return c->n_parts == 1 && !c->nullable && !(c->flags & (WORD_NORMALIZE_NAN | WORD_NORMALIZE_ZERO));
}

/* The parts of a column; *fits: words that are exact may have them. */
static int measure(struct measuring *s, struct cdv_key_column *c, bool *fits) {
  int r = 0;
  uint64_t longest = 0;
  if (!s->coarse || c->n_parts == 2) {
    for (int p = c->n_parts - 1; !r && p >= 0; p--) {
      r = measure_part(s, c, p);
      for (int64_t t = 0; !r && c->bytes && p == WORD_LENGTH && t < s->tiles; t++)
        if (s->read[4 * t + 1] > longest) longest = s->read[4 * t + 1];
      if (longest > 16) break;
    }
  } else {
    struct cdv_kernel_launch k = key_launch(c, c->bytes ? "bytes_range" : "word_range", 0, s->n);
    k.granularity = CDV_SORT_TILE;
    k.buffers[BUF_WORD_RANGES] = s->ranges;
    r = cdv_exec_launch(s->work, &k);
    if (!r) r = read_ranges(s, c->bytes ? 12 : 4);
    if (!r && !c->bytes) c->parts[0] = part_of(s->read, s->tiles, 4, false);
    for (int p = 0; !r && c->bytes && p < 3; p++) /* lengths come first there */
      c->parts[(p + 2) % 3] = part_of(s->read + 4 * p, s->tiles, 12, true);
    for (int64_t t = 0; !r && c->bytes && t < s->tiles; t++)
      if (s->read[12 * t] <= s->read[12 * t + 1] && s->read[12 * t + 1] > longest) longest = s->read[12 * t + 1];
  }
  if (longest > 16) *fits = false;
  return r;
}

/* For n rows; words and ranges of tiles are temporary memory of the call.  s->read must be freed, also after an error. */
static int begin_measuring(struct measuring *s, struct cdv_exec *w, int64_t n) {
  bool coarse = w->flags & CDEVICE_COMPUTE_COARSE;
  int64_t tile = coarse ? SORT_TILE_ROWS : SORT_GROUP_ROWS;
  *s = (struct measuring){.work = w, .n = n, .coarse = coarse, .tiles = n / tile + (n % tile != 0)};
  s->read = malloc((size_t)(12 * 8 * (s->tiles + SAMPLES)));
  if (!s->read) return cdv_fail_memory(12 * 8 * (s->tiles + SAMPLES), "keys");
  return cdv_exec_alloc_temp(w, 'L', 12 * (s->tiles + SAMPLES), &s->ranges);
}

int cdv_key_words_of(struct cdv_exec *w, struct cdv_array *column, enum cdv_key_float floats,
                     cdevice_kernel_buffer *words, uint64_t *least, uint64_t *greatest) {
  struct cdv_key_column c;
  struct measuring s;
  if (!look_at(column, floats, &c) || c.bytes || c.n_parts > 1) return cdv_fail(CDV_ARGUMENT, EINVAL, "no key");
  int r = begin_measuring(&s, w, column->length);
  if (!r) r = measure_part(&s, &c, 0);
  *words = s.words;
  *least = ~UINT64_C(0), *greatest = 0;
  for (int64_t t = 0; !r && t < s.tiles; t++) {
    if (s.read[4 * t] < *least) *least = s.read[4 * t];
    if (s.read[4 * t + 1] > *greatest) *greatest = s.read[4 * t + 1];
  }
  free(s.read);
  return r;
}

int cdv_key_plan_make(struct cdv_exec *w, struct cdv_array *const *columns, int64_t n_columns,
                      enum cdv_key_float floats, bool sample, struct cdv_key_plan *plan) {
  CDV_ASSERT(n_columns > 0 && columns[0]->length > 0);
  struct measuring s;
  *plan = (struct cdv_key_plan){.n_columns = n_columns, .n = columns[0]->length, .exact = true};
  plan->columns = calloc((size_t)n_columns, sizeof *plan->columns);
  int r = begin_measuring(&s, w, plan->n);
  if (!r && !plan->columns) r = cdv_fail_memory(n_columns * (int64_t)sizeof *plan->columns, "keys");
  for (int64_t i = 0; !r && i < n_columns; i++)
    if (!look_at(columns[i], floats, &plan->columns[i])) r = cdv_fail(CDV_ARGUMENT, EINVAL, "no key");
  for (int64_t i = 0; !r && plan->exact && i < n_columns; i++) {
    struct cdv_key_column *c = &plan->columns[i];
    if (sample && can_be_sampled(&s, c)) r = c->bytes ? measure_samples(&s, c) : measure_number_samples(&s, c);
    if (!r && !c->sampled) r = measure(&s, c, &plan->exact);
    plan->sampled |= c->sampled;
    plan->bits += c->nullable;
    for (int p = 0; !r && p < c->n_parts; p++) plan->bits += c->parts[p].bits;
    if (plan->bits > 64) plan->exact = false;
  }
  if (!plan->exact) plan->bits = 64, plan->sampled = false;
  free(s.read);
  return r;
}

void cdv_key_plan_free(struct cdv_key_plan *plan) { free(plan->columns); }

/* ---- words ---- */
struct writing {
  struct cdv_exec *work;
  int64_t begin, n;
  cdevice_kernel_buffer out;
  uint64_t *outside;
  bool started; /* columns were added to `out` */
};

static int pack_part(struct writing *s, const struct cdv_key_column *c, int part, int to, bool known) {
  struct cdv_kernel_launch k = key_launch(c, c->bytes ? "bytes_pack" : "word_pack", s->begin, s->n);
  k.granularity = granularity_of_pack(s->work);
  k.buffers[BUF_WORDS_OUT] = s->out;
  if (s->started) k.buffers[BUF_WORDS_IN] = s->out;
  if (c->sampled) k.buffers[BUF_WORDS_OUTSIDE].data = s->outside;
  if (known) k.scalars[SCALAR_KEY_FLAGS] |= WORD_NULLABLE;
  k.scalars[SCALAR_WORD_PLACE] |= (int64_t)to << 8 | part;
  k.scalars[SCALAR_WORD_LEAST] = (int64_t)c->parts[part].least;
  k.scalars[SCALAR_WORD_MASK] = (int64_t)c->parts[part].mask;
  s->started = true;
  return cdv_exec_launch(s->work, &k);
}

/* The first part of a column that can be null has the bit of that. */
static int pack(struct writing *s, const struct cdv_key_plan *plan) {
  int r = 0, to = 0;
  for (int64_t i = 0; !r && i < plan->n_columns; i++) {
    const struct cdv_key_column *c = &plan->columns[i];
    for (int p = 0; !r && p < c->n_parts; p++) {
      bool known = c->nullable && !p;
      if (!c->parts[p].bits && !known && !c->sampled) continue;
      r = pack_part(s, c, p, to, known);
      to += c->parts[p].bits + known;
    }
  }
  if (!r && !s->started) r = pack_part(s, &plan->columns[0], 0, 0, false); /* all rows are equal */
  return r;
}

static int hash(struct writing *s, const struct cdv_key_plan *plan) {
  int r = 0, used = __atomic_load_n(&hash_bits, __ATOMIC_RELAXED);
  for (int64_t i = 0; !r && i < plan->n_columns; i++) {
    const struct cdv_key_column *c = &plan->columns[i];
    for (int p = 0; !r && p < (c->bytes ? 1 : c->n_parts); p++) {
      struct cdv_kernel_launch k = key_launch(c, c->bytes ? "bytes_hash" : "word_hash", s->begin, s->n);
      k.buffers[BUF_WORDS_OUT] = s->out;
      if (s->started) k.buffers[BUF_WORDS_IN] = s->out;
      k.scalars[SCALAR_WORD_PLACE] |= p;
      k.scalars[SCALAR_WORD_MASK] = used >= 64 ? -1 : (int64_t)(UINT64_C(1) << used) - 1;
      s->started = true;
      r = cdv_exec_launch(s->work, &k);
    }
  }
  return r;
}

int cdv_key_plan_write(struct cdv_exec *w, const struct cdv_key_plan *plan, int64_t begin, int64_t n,
                       cdevice_kernel_buffer words, uint64_t *outside) {
  struct writing s = {w, begin, n, words, outside, false};
  return plan->exact ? pack(&s, plan) : hash(&s, plan);
}

int cdv_key_plan_mismatch(struct cdv_exec *w, const struct cdv_key_plan *plan, const cdevice_kernel_buffer *ids,
                          const cdevice_kernel_buffer *first, bool *found) {
  cdevice_kernel_buffer slot;
  int64_t said[2] = {0, 0};
  int r = cdv_exec_error_slot(w, &slot);
  for (int64_t i = 0; !r && i < plan->n_columns; i++) {
    const struct cdv_key_column *c = &plan->columns[i];
    for (int p = 0; !r && p < (c->bytes ? 1 : c->n_parts); p++) {
      struct cdv_kernel_launch k = key_launch(c, c->bytes ? "bytes_mismatch" : "word_mismatch", 0, plan->n);
      k.scalars[SCALAR_WORD_PLACE] |= p;
      k.buffers[BUF_MISMATCH] = slot;
      k.buffers[BUF_MISMATCH_IDS] = *ids;
      k.buffers[BUF_MISMATCH_FIRST] = *first;
      r = cdv_exec_launch(w, &k);
    }
  }
  if (!r) r = cdv_exec_read_back(w, &slot, 8, sizeof said, said);
  *found = said[0] != 0;
  w->error = NULL; /* it was no error */
  return r;
}
