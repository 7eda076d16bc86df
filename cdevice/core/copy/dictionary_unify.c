/* dictionary_unify.c - the dictionaries of several arrays: the one that they share, or one of the values of all,
 * each value once, with the new number of every old one. */
#include "cdevice/arrow_abi.h"
#include "core/array/equal.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/validate/structure.h"

#include <stdlib.h>
#include <string.h>

/* ---- are two the same? ---- */
static bool same_memory(const struct ArrowArray *a, const struct ArrowArray *b) {
  if (a == b) return true;
  if (a->length != b->length || a->offset != b->offset || a->n_buffers != b->n_buffers ||
      a->n_children != b->n_children || !a->dictionary != !b->dictionary ||
      (a->null_count == 0) != (b->null_count == 0))
    return false;
  for (int64_t i = 0; i < a->n_buffers; i++)
    if (a->buffers[i] != b->buffers[i]) return false;
  for (int64_t i = 0; i < a->n_children; i++)
    if (!same_memory(a->children[i], b->children[i])) return false;
  return !a->dictionary || same_memory(a->dictionary, b->dictionary);
}

/* One value: its bytes; n < 0: a null. */
struct value {
  const char *bytes;
  int64_t n;
};

/* True where values of this type are equal exactly if their bytes are. */
static bool has_bytes(const struct ArrowSchema *s, const struct cdv_layout *l) {
  return !s->dictionary && (l->type == CDV_NULL || l->type == CDV_BOOL || l->type == CDV_FIXED ||
                            l->type == CDV_BINARY || l->type == CDV_LARGE_BINARY || l->type == CDV_BINARY_VIEW);
}

/* Value i of a dictionary that was checked. */
static struct value value_at(const struct cdv_layout *l, const struct ArrowArray *a, int64_t i) {
  static const char bits[2] = {0, 1};
  struct value v = {NULL, -1};
  i += a->offset;
  if (l->type == CDV_NULL || (a->buffers[0] && a->null_count != 0 && !cdv_bit(a->buffers[0], i))) return v;
  const char *values = a->buffers[1];
  if (l->type == CDV_BOOL) {
    v = (struct value){&bits[cdv_bit(a->buffers[1], i)], 1};
  } else if (l->type == CDV_FIXED) {
    v = (struct value){values + i * l->width, l->width};
  } else if (l->type == CDV_BINARY_VIEW) {
    int32_t view[4];
    memcpy(view, values + 16 * i, 16);
    v.n = view[0];
    v.bytes = v.n <= 12 ? values + 16 * i + 4 : (const char *)a->buffers[2 + view[2]] + view[3];
  } else {
    int64_t from = cdv_read_int(values, l->width, i);
    v.n = cdv_read_int(values, l->width, i + 1) - from;
    v.bytes = v.n ? (const char *)a->buffers[2] + from : NULL;
  }
  return v;
}

static bool same_value(struct value a, struct value b) {
  return a.n == b.n && (a.n <= 0 || !memcmp(a.bytes, b.bytes, (size_t)a.n));
}

static bool same_values(const struct ArrowSchema *s, const struct cdv_layout *l, const struct ArrowArray *a,
                        const struct ArrowArray *b) {
  if (a->length != b->length) return false;
  if (!has_bytes(s, l)) return cdv_nodes_equal(s, a, b);
  for (int64_t i = 0; i < a->length; i++)
    if (!same_value(value_at(l, a, i), value_at(l, b, i))) return false;
  return true;
}

/* ---- which differ ---- */
/* Numbers the dictionaries; *out: one array of each, n of them.  All but a lone one are checked. */
static int tell_apart(const struct ArrowSchema *s, const struct cdv_layout *l, const struct cdv_row_range *arrays,
                      int64_t n, struct cdv_unified_dictionary *u, const struct ArrowArray **out) {
  bool checked = false;
  for (int64_t i = 0; i < n; i++) {
    const struct ArrowArray *d = arrays[i].a->dictionary;
    u->which[i] = u->n - 1;
    if (u->n && same_memory(d, out[u->n - 1])) continue;
    u->which[i] = 0;
    if (u->n && same_memory(d, out[0])) continue;
    int r = u->n && !checked ? cdv_validate_values(s, out[0]) : 0;
    if (!r && u->n) r = cdv_validate_values(s, d);
    if (r) return r;
    checked = u->n > 0;
    if (u->n && same_values(s, l, d, out[0])) continue;
    u->which[i] = u->n - 1;
    if (u->n > 1 && same_values(s, l, d, out[u->n - 1])) continue;
    u->which[i] = u->n;
    out[u->n++] = d;
  }
  return 0;
}

/* ---- one of all ---- */
static uint64_t hash_of(struct value v) {
  uint64_t h = 0x9E3779B97F4A7C15u ^ (uint64_t)v.n, word;
  for (; v.n >= 8; v.n -= 8, v.bytes += 8) {
    memcpy(&word, v.bytes, 8);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
  }
  if (v.n > 0) {
    word = 0;
    memcpy(&word, v.bytes, (size_t)v.n);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
  }
  return (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u;
}

/* The next value of the joined dictionary. */
static int take_value(struct cdv_unified_dictionary *u, const struct ArrowArray *d, int64_t i) {
  struct cdv_row_range *last = u->n_rows ? &u->rows[u->n_rows - 1] : NULL;
  u->length++;
  if (last && last->a == d && last->offset + last->length == d->offset + i) {
    last->length++;
    return 0;
  }
  int r = cdv_grow((void **)&u->rows, &u->room, u->n_rows + 1, sizeof *u->rows);
  if (!r) u->rows[u->n_rows++] = (struct cdv_row_range){d, d->offset + i, 1};
  return r;
}

struct entry {
  int64_t number; /* + 1; 0: free */
  uint64_t hash;
  struct value value;
};

static int number_values(struct cdv_unified_dictionary *u, const struct cdv_layout *l, const struct ArrowArray *d,
                         int64_t *numbers, struct entry *table, uint64_t mask) {
  for (int64_t i = 0; i < d->length; i++) {
    struct value v = value_at(l, d, i);
    uint64_t h = hash_of(v), at = h & mask;
    while (table[at].number && !(table[at].hash == h && same_value(table[at].value, v))) at = (at + 1) & mask;
    if (!table[at].number) {
      table[at] = (struct entry){u->length + 1, h, v};
      int r = take_value(u, d, i);
      if (r) return r;
    }
    numbers[i] = table[at].number - 1;
  }
  return 0;
}

static int merge(struct cdv_unified_dictionary *u, const struct cdv_layout *l, bool bytes,
                 const struct ArrowArray *const *d) {
  int64_t total = 0;
  uint64_t size = 16;
  for (int64_t k = 0; k < u->n; k++)
    if (__builtin_add_overflow(total, d[k]->length, &total)) return cdv_fail_memory(INT64_MAX, "a dictionary");
  while (size < 2 * (uint64_t)total) size *= 2;
  struct entry *table = bytes ? calloc(size, sizeof *table) : NULL;
  int r = bytes && !table ? cdv_fail_memory((int64_t)(size * sizeof *table), "a dictionary") : 0;
  for (int64_t k = 0; !r && k < u->n; k++) {
    int64_t n = d[k]->length, *numbers = malloc(((size_t)n + 1) * sizeof *numbers);
    if (!(u->numbers[k] = numbers)) {
      r = cdv_fail_memory(n * 8, "a dictionary");
    } else if (bytes) {
      r = number_values(u, l, d[k], numbers, table, size - 1);
    } else { /* values of values: each dictionary behind the other */
      for (int64_t i = 0; !r && i < n; i++) {
        numbers[i] = u->length;
        r = take_value(u, d[k], i);
      }
    }
    bool as_it_was = true;
    for (int64_t i = 0; !r && as_it_was && i < n; i++) as_it_was = numbers[i] == i;
    if (as_it_was) {
      free(numbers);
      u->numbers[k] = NULL;
    }
  }
  free(table);
  return r;
}

int cdv_dictionary_unify(const struct ArrowSchema *s, const struct cdv_row_range *arrays, int64_t n,
                         struct cdv_unified_dictionary *u) {
  struct cdv_layout l;
  const char *why;
  memset(u, 0, sizeof *u);
  if (cdv_layout_parse(s->format, &l, &why)) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
  const struct ArrowArray **differ = malloc((size_t)n * sizeof *differ);
  u->which = malloc((size_t)n * sizeof *u->which);
  int r = differ && u->which ? tell_apart(s, &l, arrays, n, u, differ) : cdv_fail_memory(n * 16, "a dictionary");
  if (!r && !(u->numbers = calloc((size_t)u->n, sizeof *u->numbers))) r = cdv_fail_memory(u->n * 8, "a dictionary");
  if (!r && u->n > 1) {
    r = merge(u, &l, has_bytes(s, &l), differ);
  } else if (!r) {
    r = cdv_grow((void **)&u->rows, &u->room, 1, sizeof *u->rows);
    u->length = differ[0]->length;
    if (!r && u->length) u->rows[u->n_rows++] = (struct cdv_row_range){differ[0], differ[0]->offset, u->length};
  }
  free(differ);
  return r;
}

void cdv_unified_free(struct cdv_unified_dictionary *u) {
  for (int64_t k = 0; u->numbers && k < u->n; k++) free(u->numbers[k]);
  free(u->numbers);
  free(u->which);
  free(u->rows);
}
