/* sort.c - the order of rows by several columns: a radix sort of row numbers by words made of the columns, from the
 * last word of the last key to the first word of the first.
 *
 * The host reads the range of each word, and only bits in which the words of the range differ are sorted by: from the
 * lowest digit up, or, where a work item sorts alone, first by the highest digit and then within each, in its cache.
 * Integers of few values are counted, and two keys become one word where they have room, or nearly.
 * Beside the arguments a row takes, with its result of 8 bytes, 20 bytes where words of one key differ in up to 43 bits, 28
 * where in more, and 4 more with several keys. */
#include "core/compute/sort.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/selection.h"
#include "core/compute/varlen.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <stdlib.h>
#include <string.h>

#define SORT_KEY_BITS 32        /* of an element of radix_pack */
#define SORT_LONGEST_BYTES 8192 /* of a string: a word of eight takes several kernels */

_Static_assert(BUF_RADIX_COUNTS < KERNEL_BUFFERS && BUF_KEY_BYTES < KERNEL_BUFFERS, "sort kernels have room");
_Static_assert(CDV_BUFFER_SLOTS(BUF_FEW_ROWS_OUT, BUF_KEY_VALUES, BUF_RADIX_COUNTS) == 3,
               "buffers of few values are distinct");
_Static_assert(CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_FEW_VALUES, SCALAR_KEY_FLAGS, SCALAR_RADIX_BIAS,
                                SCALAR_RADIX_TILES) == 5,
               "scalars of few values are distinct");
_Static_assert(SCALAR_RADIX_TILES < KERNEL_SCALARS && SCALAR_KEY_INFINITY < KERNEL_SCALARS, "sort kernels have room");
_Static_assert(SORT_GROUP_ROWS <= UINT16_MAX, "a group counts in 16 bits");

struct sort {
  struct cdv_exec work;
  int64_t n, tiles;
  int digit_bits;
  cdevice_kernel_buffer words[3], rows[2], counts, ranges;
  uint64_t *read;                /* the ranges on the host */
  int current;                   /* of rows */
  cdevice_kernel_buffer changes; /* data set: nothing is sorted, and these are written for words in their order */
  bool changes_known;            /* by a word before */
  bool by_item;                  /* a work item sorts a tile alone */
  bool ordered;                  /* else each row is at its own place */
  cdevice_kernel_buffer more;    /* data set: what equal words are sorted by */
};

/* ---- keys ---- */
struct column {
  struct cdv_array *array;
  struct cdv_layout layout;
  int64_t flags, infinity;
  bool nan;
};

/* What the kernels need to know of a type; false: it has no order here. */
static bool look_at(struct column *c) {
  const char *f = c->array->schema->node->format, *why;
  if (c->array->schema->node->dictionary || cdv_layout_parse(f, &c->layout, &why)) return false;
  switch (c->layout.type) {
    case CDV_BOOL:
    case CDV_BINARY:
    case CDV_LARGE_BINARY: return true;
    case CDV_FIXED: break;
    default: return false;
  }
  if (f[0] == 'w') return c->layout.width > 0;
  if (!cdv_width_name(c->layout.width) && c->layout.width != 32) return false;
  if (f[0] == 't' && f[1] == 'i' && f[2] != 'M') return false; /* intervals of several parts have no order */
  if (strchr("csildt", f[0])) c->flags |= SORT_KEY_SIGNED;
  c->nan = strchr("efg", f[0]) != NULL;
  if (c->nan) c->flags |= SORT_KEY_FLOAT;
  c->infinity = f[0] == 'e' ? 0x7c00 : f[0] == 'f' ? 0x7f800000 : (int64_t)0x7ff0000000000000;
  return true;
}

static bool is_bytes(const struct column *c) {
  return c->layout.type == CDV_BINARY || c->layout.type == CDV_LARGE_BINARY || c->array->schema->node->format[0] == 'w';
}

static cdevice_kernel_buffer rows_now(const struct sort *s) {
  return s->ordered ? s->rows[s->current] : (cdevice_kernel_buffer){NULL, 0};
}

static struct cdv_kernel_launch key_launch(const struct sort *s, const struct column *c, const char *name) {
  struct cdv_kernel_launch k = {.family = "radix", .type = "bits", .name = name, .granularity = CDV_PER_ROW, .n = s->n};
  k.buffers[BUF_KEY_OUT] = s->words[0];
  k.buffers[BUF_KEY_VALIDITY] = cdv_kernel_nulls(c->array);
  k.buffers[BUF_KEY_ROWS] = rows_now(s);
  k.scalars[SCALAR_KEY_FLAGS] = c->flags;
  return k;
}

static int words_of(const struct column *c) {
  return c->layout.type != CDV_BOOL && c->layout.width > 8 ? c->layout.width / 8 : 1;
}

/* The values as a kernel reads them; word: of values of several, 0 the least. */
static void pass_values(struct cdv_kernel_launch *k, const struct column *c, int word) {
  int words = words_of(c);
  k->buffers[BUF_KEY_VALUES] = cdv_kernel_values(c->array);
  if (words > 1) k->buffers[BUF_KEY_VALUES].offset = k->buffers[BUF_KEY_VALUES].offset * words + word;
  k->scalars[SCALAR_KEY_STRIDE] = words;
  k->scalars[SCALAR_KEY_INFINITY] = c->infinity;
  if (word < words - 1) k->scalars[SCALAR_KEY_FLAGS] &= ~SORT_KEY_SIGNED;
  if (c->layout.type != CDV_BOOL) k->family = "sort_key", k->type = words > 1 ? "u64" : cdv_width_name(c->layout.width);
}

static int write_words(struct sort *s, const struct column *c, int word) {
  struct cdv_kernel_launch k = key_launch(s, c, "sort_key");
  pass_values(&k, c, word);
  return cdv_exec_launch(&s->work, &k);
}

static int write_bytes(struct sort *s, const struct column *c, int64_t part) {
  struct cdv_kernel_launch k = key_launch(s, c, "sort_bytes");
  const struct cdv_array *a = c->array;
  bool fixed = c->layout.type == CDV_FIXED;
  k.family = "sort_binary";
  k.type = c->layout.type == CDV_LARGE_BINARY ? "i64" : "i32";
  cdevice_kernel_buffer values = {(void *)a->node->buffers[1], a->offset * (fixed ? c->layout.width : 1)};
  k.buffers[fixed ? BUF_KEY_BYTES : BUF_KEY_VALUES] = values;
  if (!fixed) k.buffers[BUF_KEY_BYTES] = (cdevice_kernel_buffer){(void *)a->node->buffers[2], 0};
  k.scalars[SCALAR_KEY_PART] = part;
  k.scalars[SCALAR_KEY_INFINITY] = fixed ? c->layout.width : 0;
  return cdv_exec_launch(&s->work, &k);
}

/* ---- passes ---- */
static struct cdv_kernel_launch pass_launch(const struct sort *s, const char *name, int word) {
  struct cdv_kernel_launch k = {
      .family = "radix", .type = "bits", .name = name, .granularity = CDV_SORT_TILE, .n = s->n};
  k.buffers[BUF_RADIX_WORDS] = s->words[word];
  k.scalars[SCALAR_RADIX_TILES] = s->tiles;
  return k;
}

/* What the words are, together. */
struct range {
  uint64_t least, greatest, differ; /* bits in which not all are equal */
};

/* Blocks. */
static int read_range(struct sort *s, struct range *out) {
  struct cdv_kernel_launch k = pass_launch(s, "radix_ranges", 0);
  uint64_t any = 0, all = ~UINT64_C(0);
  *out = (struct range){~UINT64_C(0), 0, 0};
  k.buffers[BUF_RADIX_RANGES] = s->ranges;
  int r = cdv_exec_launch(&s->work, &k);
  if (!r) r = cdv_exec_read_back(&s->work, &s->ranges, 8, 32 * s->tiles, s->read);
  for (int64_t t = 0; !r && t < s->tiles; t++) {
    const uint64_t *x = s->read + 4 * t;
    if (x[0] < out->least) out->least = x[0];
    if (x[1] > out->greatest) out->greatest = x[1];
    any |= x[2];
    all &= x[3];
  }
  out->differ = any & ~all;
  return r;
}

/* Room that only some sorts need. */
static int room_for_words(struct sort *s, int i) {
  return s->words[i].data ? 0 : cdv_exec_alloc_temp(&s->work, 'L', s->n, &s->words[i]);
}
static int room_for_rows(struct sort *s) {
  cdevice_kernel_buffer *rows = &s->rows[!s->current];
  return rows->data ? 0 : cdv_exec_alloc_temp(&s->work, 'I', s->n, rows);
}

static int sort_digit(struct sort *s, int word, int shift, uint64_t bias, bool last) {
  struct cdv_kernel_launch count = pass_launch(s, "radix_count", word), move = pass_launch(s, "radix_scatter", word);
  struct cdv_kernel_launch scan = {.family = "filter", .type = "bits", .name = "scan", .granularity = CDV_SINGLE_BLOCK};
  scan.n = s->tiles << s->digit_bits;
  scan.buffers[BUF_OUT] = s->counts;
  count.scalars[SCALAR_RADIX_SHIFT] = move.scalars[SCALAR_RADIX_SHIFT] = shift;
  count.scalars[SCALAR_RADIX_BIAS] = move.scalars[SCALAR_RADIX_BIAS] = (int64_t)bias;
  count.buffers[BUF_RADIX_COUNTS] = move.buffers[BUF_RADIX_COUNTS] = s->counts;
  int r = room_for_rows(s);
  if (!r && !last) r = room_for_words(s, !word);
  move.buffers[BUF_RADIX_ROWS] = rows_now(s);
  move.buffers[BUF_RADIX_ROWS_OUT] = s->rows[!s->current];
  if (!last) move.buffers[BUF_RADIX_WORDS_OUT] = s->words[!word];
  if (!r) r = cdv_exec_launch(&s->work, &count);
  if (!r) r = cdv_exec_launch(&s->work, &scan);
  if (!r) r = cdv_exec_launch(&s->work, &move);
  s->current = !s->current;
  s->ordered = true;
  return r;
}

/* By the highest digit, and what has one highest digit by the bits below it. */
static int sort_buckets(struct sort *s, int low, int top, uint64_t bias) {
  struct cdv_kernel_launch count = pass_launch(s, "radix_count", 0), pack = pass_launch(s, "radix_pack", 0);
  struct cdv_kernel_launch scan = {.family = "filter", .type = "bits", .name = "scan", .granularity = CDV_SINGLE_BLOCK};
  struct cdv_kernel_launch buckets = pass_launch(s, "radix_buckets", 0);
  bool ties = top - low > SORT_KEY_BITS;
  int r = room_for_words(s, 1);
  if (!r && ties) r = room_for_words(s, 2);
  if (!r) r = room_for_rows(s);
  scan.n = s->tiles << s->digit_bits;
  scan.buffers[BUF_OUT] = s->counts;
  buckets.granularity = CDV_SORT_BUCKETS;
  count.scalars[SCALAR_RADIX_SHIFT] = pack.scalars[SCALAR_RADIX_SHIFT] = buckets.scalars[SCALAR_RADIX_SHIFT] = top;
  count.scalars[SCALAR_RADIX_BIAS] = pack.scalars[SCALAR_RADIX_BIAS] = buckets.scalars[SCALAR_RADIX_BIAS] =
      (int64_t)bias;
  pack.scalars[SCALAR_RADIX_LOW] = ties ? top - SORT_KEY_BITS : low;
  buckets.scalars[SCALAR_RADIX_LOW] = low;
  count.buffers[BUF_RADIX_COUNTS] = pack.buffers[BUF_RADIX_COUNTS] = buckets.buffers[BUF_RADIX_COUNTS] = s->counts;
  pack.buffers[BUF_RADIX_WORDS_OUT] = buckets.buffers[BUF_RADIX_WORDS] = s->words[1];
  buckets.buffers[BUF_RADIX_WORDS_OUT] =
      s->words[ties ? 2 : 0]; /* words that elements hold whole are not needed any more */
  if (ties) buckets.buffers[BUF_RADIX_TIES] = s->words[0];
  buckets.buffers[BUF_RADIX_MORE] = s->more;
  buckets.buffers[BUF_RADIX_ROWS] = rows_now(s);
  buckets.buffers[BUF_RADIX_ROWS_OUT] = s->rows[!s->current];
  if (!r) r = cdv_exec_launch(&s->work, &count);
  if (!r) r = cdv_exec_launch(&s->work, &scan);
  if (!r) r = cdv_exec_launch(&s->work, &pack);
  if (!r) r = cdv_exec_launch(&s->work, &buckets);
  s->current = !s->current;
  s->ordered = true;
  return r;
}

/* By the words that were written. */
static int sort_range(struct sort *s, const struct range *x) {
  if (!x->differ) return 0;
  int low = __builtin_ctzll(x->differ), top = 64 - __builtin_clzll(x->greatest - x->least), r = 0, word = 0;
  if (s->by_item && s->tiles > 1 && top - low > s->digit_bits)
    return sort_buckets(s, low, top - s->digit_bits, x->least);
  for (int shift = low; !r && shift < top; shift += s->digit_bits, word = !word)
    r = sort_digit(s, word, shift, x->least, shift + s->digit_bits >= top);
  return r;
}

static int write_changes(struct sort *s) {
  struct cdv_kernel_launch k = {
      .family = "radix", .type = "bits", .name = "sort_changes", .granularity = CDV_PER_ROW, .n = s->n};
  k.buffers[BUF_CHANGES_OUT] = s->changes;
  k.buffers[BUF_CHANGES_WORDS] = s->words[0];
  k.scalars[SCALAR_CHANGES_FIRST] = !s->changes_known;
  s->changes_known = true;
  return cdv_exec_launch(&s->work, &k);
}

static int sort_words(struct sort *s) {
  struct range x;
  if (s->changes.data) return write_changes(s);
  int r = read_range(s, &x);
  return r ? r : sort_range(s, &x);
}

/* ---- keys, from their last word to the first ---- */
static int sort_by_bytes(struct sort *s, const struct column *c) {
  struct range lengths = {0, (uint64_t)c->layout.width, 0};
  int r = 0;
  if (c->layout.type != CDV_FIXED) {
    r = write_bytes(s, c, SORT_KEY_LENGTH);
    if (!r) r = read_range(s, &lengths);
    if (!r) r = s->changes.data ? write_changes(s) : sort_range(s, &lengths);
  }
  int64_t longest = (int64_t)(c->flags & SORT_KEY_DESCENDING ? ~lengths.least : lengths.greatest);
  if (c->layout.type == CDV_FIXED) longest = c->layout.width;
  if (!r && longest > SORT_LONGEST_BYTES)
    return cdv_fail(CDV_UNSUPPORTED, EFBIG, "%s: strings of more than %d bytes have no sort kernel",
                    s->work.function_name, SORT_LONGEST_BYTES);
  for (int64_t part = (longest + 7) / 8 - 1; !r && part >= 0; part--) {
    r = write_bytes(s, c, part);
    if (!r) r = sort_words(s);
  }
  return r;
}

static int sort_by_values(struct sort *s, const struct column *c) {
  int r = 0;
  for (int word = 0; !r && word < words_of(c); word++) {
    r = write_words(s, c, word);
    if (!r) r = sort_words(s);
  }
  return r;
}

/* Nulls, where a word has no room for them beside the value. */
static int sort_by_class(struct sort *s, const struct column *c) {
  bool bytes = is_bytes(c), fused = !bytes && (c->layout.type == CDV_BOOL || c->layout.width < 8 || c->nan);
  if (fused || !cdv_may_be_null(c->array)) return 0;
  struct cdv_kernel_launch k = key_launch(s, c, "sort_validity");
  int r = cdv_exec_launch(&s->work, &k);
  return r ? r : sort_words(s);
}

static int sort_by(struct sort *s, const struct column *c) {
  int r = is_bytes(c) ? sort_by_bytes(s, c) : sort_by_values(s, c);
  return r ? r : sort_by_class(s, c);
}

/* ---- keys that need one sort ---- */
static int bits_of(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* Is a key one word, with its nulls? */
static bool is_one_word(const struct column *c) {
  if (is_bytes(c)) return false;
  if (c->layout.type == CDV_BOOL || c->layout.width < 8) return true;
  return c->layout.width == 8 && (c->nan || !cdv_may_be_null(c->array));
}

/* Two keys by one word of both, and what has no room there; *done: nothing else needs to be sorted. */
static int sort_pair(struct sort *s, const struct column *c, bool *done) {
  struct range x, y;
  if (!s->by_item || s->tiles < 2 || !is_one_word(&c[0]) || !is_one_word(&c[1])) return 0;
  int r = write_words(s, &c[0], 0);
  if (!r) r = read_range(s, &x);
  int first_bits = r ? 0 : bits_of(x.greatest - x.least);
  if (r || first_bits > 32) return r;
  cdevice_kernel_buffer first = s->words[0];
  r = room_for_words(s, 1);
  s->words[0] = s->words[1]; /* the second key's words go there */
  if (!r) r = write_words(s, &c[1], 0);
  if (!r) r = read_range(s, &y);
  s->words[0] = first;
  if (r) return r;
  int second_bits = bits_of(y.greatest - y.least), over = first_bits + second_bits - 64;
  struct cdv_kernel_launch k = {
      .family = "radix", .type = "bits", .name = "sort_pair", .granularity = CDV_PER_ROW, .n = s->n};
  if (over > 0) r = cdv_exec_alloc_temp(&s->work, 'I', s->n, &s->more);
  k.buffers[BUF_PAIR_WORDS] = s->words[0];
  k.buffers[BUF_PAIR_MORE] = s->more;
  k.buffers[BUF_PAIR_SECOND] = s->words[1];
  k.scalars[SCALAR_PAIR_LOW] = over > 0 ? over : 0;
  k.scalars[SCALAR_PAIR_SHIFT] = over > 0 ? 64 - first_bits : second_bits & 63; /* of no bits of the first: any */
  k.scalars[SCALAR_PAIR_LEAST] = (int64_t)x.least;
  k.scalars[SCALAR_PAIR_SECOND_LEAST] = (int64_t)y.least;
  if (!r) r = cdv_exec_launch(&s->work, &k);
  *done = !r;
  if (r) return r;
  if (over > 0) return sort_buckets(s, 0, 64 - s->digit_bits, 0);
  uint64_t all = over == 0 ? ~UINT64_C(0) : (UINT64_C(1) << (over + 64)) - 1;
  struct range both = {0, all, all};
  return sort_range(s, &both);
}

/* The range of integers without nulls; rows: of the first ones. */
static int read_integers(struct sort *s, const struct column *c, int64_t rows, struct range *out) {
  struct cdv_kernel_launch k = {.family = "key_words", .name = "word_range", .granularity = CDV_SORT_TILE, .n = rows};
  int64_t tiles = rows / SORT_TILE_ROWS + (rows % SORT_TILE_ROWS != 0);
  k.type = cdv_width_name(c->layout.width);
  k.buffers[BUF_KEY_VALUES] = cdv_kernel_values(c->array);
  k.buffers[BUF_WORD_RANGES] = s->ranges;
  k.scalars[SCALAR_KEY_FLAGS] = c->flags & SORT_KEY_SIGNED;
  *out = (struct range){~UINT64_C(0), 0, 0};
  int r = cdv_exec_launch(&s->work, &k);
  if (!r) r = cdv_exec_read_back(&s->work, &s->ranges, 8, 32 * tiles, s->read);
  for (int64_t t = 0; !r && t < tiles; t++) {
    if (s->read[4 * t] < out->least) out->least = s->read[4 * t];
    if (s->read[4 * t + 1] > out->greatest) out->greatest = s->read[4 * t + 1];
  }
  return r;
}

/* Integers of few values, by the number of rows of each; *done: the result is written. */
static int sort_few(struct sort *s, const struct column *c, bool *done) {
  struct range x;
  bool integer = c->layout.type == CDV_FIXED && c->layout.width <= 8 && !c->nan && !is_bytes(c);
  if (!s->by_item || s->tiles < 2 || !integer || cdv_may_be_null(c->array)) return 0;
  int r = read_integers(s, c, SORT_TILE_ROWS, &x); /* mostly that tells */
  if (!r && x.greatest - x.least < 1 << SORT_TILE_BITS) r = read_integers(s, c, s->n, &x);
  if (r || x.greatest - x.least >= 1 << SORT_TILE_BITS) return r;
  struct cdv_kernel_launch count = {.family = "sort_key", .name = "sort_few_count", .granularity = CDV_SORT_TILE};
  struct cdv_kernel_launch scan = {.family = "filter", .type = "bits", .name = "scan", .granularity = CDV_SINGLE_BLOCK};
  count.type = cdv_width_name(c->layout.width);
  count.n = s->n;
  count.buffers[BUF_KEY_VALUES] = cdv_kernel_values(c->array);
  count.buffers[BUF_RADIX_COUNTS] = scan.buffers[BUF_OUT] = s->counts;
  count.scalars[SCALAR_FEW_VALUES] = (int64_t)(x.greatest - x.least) + 1;
  count.scalars[SCALAR_KEY_FLAGS] = c->flags;
  count.scalars[SCALAR_RADIX_BIAS] = (int64_t)x.least;
  count.scalars[SCALAR_RADIX_TILES] = s->tiles;
  scan.n = s->tiles * count.scalars[SCALAR_FEW_VALUES];
  struct cdv_kernel_launch move = count;
  move.name = "sort_few_scatter";
  move.buffers[BUF_FEW_ROWS_OUT] = s->words[0];
  r = cdv_exec_launch(&s->work, &count);
  if (!r) r = cdv_exec_launch(&s->work, &scan);
  if (!r) r = cdv_exec_launch(&s->work, &move);
  *done = true;
  return r;
}

/* ---- the call ---- */
static int prepare(struct sort *s, struct cdv_array **out) {
  s->by_item = s->work.flags & CDEVICE_COMPUTE_COARSE;
  int64_t tile = s->by_item ? SORT_TILE_ROWS : SORT_GROUP_ROWS;
  struct cdv_schema *schema = cdv_schema_of_number('L');
  s->digit_bits = s->by_item ? SORT_TILE_BITS : SORT_GROUP_BITS;
  s->tiles = s->n / tile + (s->n % tile != 0);
  int r = cdv_exec_alloc_array(&s->work, schema, s->n, false, out);
  cdv_schema_unref(schema);
  if (r || !s->n) return r;
  s->words[0] = (cdevice_kernel_buffer){(void *)(*out)->node->buffers[1], 0};
  r = cdv_exec_alloc_temp(&s->work, 'l', (s->tiles << s->digit_bits) + 1, &s->counts);
  if (!r) r = cdv_exec_alloc_temp(&s->work, 'L', 4 * s->tiles, &s->ranges);
  s->read = r ? NULL : malloc((size_t)(32 * s->tiles));
  return r || s->read ? r : cdv_fail_memory(32 * s->tiles, "a sort");
}

static int write_rows(struct sort *s) {
  struct cdv_kernel_launch k = {
      .family = "radix", .type = "bits", .name = "sort_rows", .granularity = CDV_PER_ROW, .n = s->n};
  k.buffers[BUF_KEY_OUT] = s->words[0];
  k.buffers[BUF_KEY_ROWS] = rows_now(s);
  return cdv_exec_launch(&s->work, &k);
}

static int make_columns(const struct cdv_sort_key *keys, int64_t n, struct column *columns, struct cdv_array **arrays,
                        int64_t *made) {
  int r = 0;
  for (*made = 0; !r && *made < n; ++*made) {
    struct column *c = &columns[*made];
    if (keys[*made].descending) c->flags |= SORT_KEY_DESCENDING;
    if (keys[*made].nulls_first) c->flags |= SORT_KEY_NULLS_FIRST;
    if (keys[*made].distinct) c->flags |= SORT_KEY_DISTINCT;
    c->array = keys[*made].column;
    if (!look_at(c)) return CDV_LAYOUT_NOT_HANDLED;
    r = cdv_array_aligned(keys[*made].column, &c->array);
    if (r) return r;
    arrays[*made] = c->array;
  }
  return r;
}

/* The keys as columns, which are held; end_keys() follows, also after an error. */
struct keys {
  struct column *columns;
  struct cdv_array **arrays;
  int64_t n;
};

static int begin_keys(struct keys *x, const struct cdv_sort_key *keys, int64_t n, const char *doing) {
  int64_t rows = keys[0].column->length;
  CDV_ASSERT(n > 0);
  *x = (struct keys){calloc((size_t)n, sizeof *x->columns), calloc((size_t)n + 1, sizeof *x->arrays), 0};
  if (!x->columns || !x->arrays) return cdv_fail_memory(n * (int64_t)sizeof *x->columns, doing);
  if (rows > UINT32_MAX)
    return cdv_fail(CDV_UNSUPPORTED, EFBIG, "%s: %lld rows; a sort takes up to 4294967295", doing, (long long)rows);
  for (int64_t i = 1; i < n; i++)
    if (keys[i].column->length != rows)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: keys of %lld and %lld rows", doing, (long long)rows,
                      (long long)keys[i].column->length);
  return make_columns(keys, n, x->columns, x->arrays, &x->n);
}

static void end_keys(struct keys *x) {
  for (int64_t i = 0; i < x->n; i++) cdv_array_unref(x->arrays[i]);
  free(x->columns);
  free(x->arrays);
}

int cdv_compute_sort_indices(const struct cdv_sort_key *keys, int64_t n_keys, const struct cdv_stream_ref *stream_ref,
                             const char *doing, struct cdv_array **out) {
  struct sort s = {.n = keys[0].column->length};
  struct cdv_array *made = NULL;
  struct keys x;
  int r = begin_keys(&x, keys, n_keys, doing);
  if (!r) {
    r = cdv_exec_begin(&s.work, x.arrays, n_keys, stream_ref, doing);
    if (!r) r = prepare(&s, &made);
    bool done = !s.n, sorted = false;
    if (!r && !done && n_keys == 1) r = sort_few(&s, x.columns, &done);
    if (!r && !done && n_keys == 2) r = sort_pair(&s, x.columns, &sorted);
    for (int64_t i = n_keys - 1; !r && !done && !sorted && i >= 0; i--) r = sort_by(&s, &x.columns[i]);
    if (!r && !done) r = write_rows(&s);
    r = cdv_exec_finish(&s.work, r, made, out);
  }
  end_keys(&x);
  free(s.read);
  return r;
}

/* ---- the least of each tile ---- */
int cdv_compute_sort_least(const struct cdv_sort_key *key, const struct cdv_stream_ref *stream_ref, const char *doing,
                           struct cdv_array **out) {
  struct sort s = {.n = key->column->length};
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('L');
  struct keys x;
  int64_t tiles = s.n / REDUCE_TILE_ROWS + (s.n % REDUCE_TILE_ROWS != 0);
  int r = begin_keys(&x, key, 1, doing);
  if (!r && (is_bytes(x.columns) || x.columns->layout.type == CDV_BOOL)) r = CDV_LAYOUT_NOT_HANDLED;
  if (!r) {
    r = cdv_exec_begin(&s.work, x.arrays, 1, stream_ref, doing);
    if (!r) r = cdv_exec_alloc_array(&s.work, schema, tiles, false, &made);
    if (!r && tiles) {
      struct cdv_kernel_launch k = key_launch(&s, x.columns, "sort_least");
      k.granularity = CDV_REDUCE_TILE;
      k.buffers[BUF_KEY_OUT] = (cdevice_kernel_buffer){(void *)made->node->buffers[1], 0};
      pass_values(&k, x.columns, 0);
      k.scalars[SCALAR_KEY_FLAGS] = x.columns->flags;
      r = cdv_exec_launch(&s.work, &k);
    }
    r = cdv_exec_finish(&s.work, r, made, out);
  }
  cdv_schema_unref(schema);
  end_keys(&x);
  return r;
}

/* ---- runs of equal rows ---- */
static int prepare_groups(struct sort *s, struct cdv_array *indices) {
  struct cdv_kernel_launch k = {
      .family = "radix", .type = "bits", .name = "sort_rows_of", .granularity = CDV_PER_ROW, .n = s->n};
  int64_t tile = s->work.flags & CDEVICE_COMPUTE_COARSE ? SORT_TILE_ROWS : SORT_GROUP_ROWS;
  s->tiles = s->n / tile + (s->n % tile != 0);
  s->ordered = true;
  int r = cdv_exec_alloc_temp(&s->work, 'L', s->n, &s->words[0]);
  if (!r) r = cdv_exec_alloc_temp(&s->work, 'I', s->n, &s->rows[0]);
  if (!r) r = cdv_exec_alloc_temp(&s->work, 'l', s->n, &s->changes);
  if (!r) r = cdv_exec_alloc_temp(&s->work, 'L', 4 * s->tiles, &s->ranges);
  s->read = r ? NULL : malloc((size_t)(32 * s->tiles));
  if (!r && !s->read) r = cdv_fail_memory(32 * s->tiles, "groups of rows");
  if (r) return r;
  k.buffers[BUF_KEY_OUT] = s->rows[0];
  k.buffers[BUF_KEY_ROWS] = cdv_kernel_values(indices);
  return cdv_exec_launch(&s->work, &k);
}

int cdv_compute_sorted_groups(const struct cdv_sort_key *keys, int64_t n_keys, struct cdv_array *indices,
                              const struct cdv_stream_ref *stream_ref, const char *doing, struct cdv_array **out) {
  struct sort s = {.n = keys[0].column->length};
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct keys x;
  int64_t n_groups = 0;
  int r = begin_keys(&x, keys, n_keys, doing);
  if (!r && (indices->length != s.n || !s.n || strcmp(indices->schema->node->format, "L")))
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "%s: %lld indices, of type \"%.40s\", for %lld rows", doing,
                 (long long)indices->length, indices->schema->node->format, (long long)s.n);
  if (!r) {
    x.arrays[n_keys] = indices;
    r = cdv_exec_begin(&s.work, x.arrays, n_keys + 1, stream_ref, doing);
    if (!r) r = cdv_exec_alloc_array(&s.work, schema, s.n + 1, false, &made);
    if (!r) r = prepare_groups(&s, indices);
    for (int64_t i = 0; !r && i < n_keys; i++) r = sort_by(&s, &x.columns[i]);
    if (!r) r = cdv_sizes_to_offsets(&s.work, "i64", s.n, &s.changes, made, &n_groups);
    r = cdv_exec_finish(&s.work, r, made, out);
  }
  cdv_schema_unref(schema);
  end_keys(&x);
  free(s.read);
  return r;
}
