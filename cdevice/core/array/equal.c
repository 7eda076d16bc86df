/* equal.c - equality of values, for any offsets, encoding of nulls and place of the bytes. */
#include "core/array/equal.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

struct pair {
  const struct ArrowSchema *s, *t;
  const struct ArrowArray *a, *b;
  bool nans_equal;
};

/* i is a row of the node, its own offset not counted.  An index to a null is a null. */
static bool valid(const struct ArrowSchema *s, const struct ArrowArray *x, int64_t i) {
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(s->format, &l, &why)) return false;
  if (!cdv_has_validity(&l)) return l.type != CDV_NULL;
  if (x->buffers[0] && x->null_count != 0 && !cdv_bit(x->buffers[0], x->offset + i)) return false;
  return !s->dictionary || valid(s->dictionary, x->dictionary, cdv_read_index(x->buffers[1], l.code, x->offset + i));
}
static bool may_have_nulls(const struct ArrowSchema *s, const struct ArrowArray *x) {
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(s->format, &l, &why)) return false;
  if (s->dictionary && (l.type == CDV_NULL || may_have_nulls(s->dictionary, x->dictionary))) return true;
  if (!cdv_has_validity(&l)) return l.type == CDV_NULL;
  return x->buffers[0] && x->null_count != 0;
}

static bool same_range(const struct pair *p, int64_t i, int64_t j, int64_t n);

static bool same_child(const struct pair *p, int64_t k, int64_t i, int64_t j, int64_t n) {
  struct pair c = {p->s->children[k], p->t->children[k], p->a->children[k], p->b->children[k], p->nans_equal};
  return n == 0 || same_range(&c, i, j, n);
}

static bool same_float(const char *x, const char *y, char code, bool nans_equal) {
  double a, b;
  float f, g;
  uint16_t h, k;
  if (code == 'g') {
    memcpy(&a, x, 8);
    memcpy(&b, y, 8);
  } else if (code == 'f') {
    memcpy(&f, x, 4);
    memcpy(&g, y, 4);
    a = f;
    b = g;
  } else {
    memcpy(&h, x, 2);
    memcpy(&k, y, 2);
    bool nan_h = (h & 0x7FFF) > 0x7C00, nan_k = (k & 0x7FFF) > 0x7C00;
    if (nan_h || nan_k) return nan_h && nan_k && nans_equal;
    return h == k || !((h | k) & 0x7FFF);
  }
  if (a != a || b != b) return a != a && b != b && nans_equal;
  return a == b;
}

static const char *view_bytes(const struct ArrowArray *x, int64_t i, int32_t *n) {
  const char *view = (const char *)x->buffers[1] + (x->offset + i) * 16;
  int32_t v[4];
  memcpy(v, view, 16);
  *n = v[0];
  return v[0] <= 12 ? view + 4 : (const char *)x->buffers[2 + v[2]] + v[3];
}

static int child_of(const struct cdv_layout *l, int id) {
  for (int k = 0; k < l->n_type_ids; k++)
    if (l->type_ids[k] == id) return k;
  return -1;
}

/* One valid row on both sides. */
static bool same_value(const struct pair *p, const struct cdv_layout *l, int64_t i, int64_t j) {
  const struct ArrowArray *a = p->a, *b = p->b;
  int64_t w = l->width, ai = a->offset + i, bj = b->offset + j;
  if (p->s->dictionary) {
    struct pair d = {p->s->dictionary, p->t->dictionary, a->dictionary, b->dictionary, p->nans_equal};
    return same_range(&d, cdv_read_index(a->buffers[1], l->code, ai), cdv_read_index(b->buffers[1], l->code, bj), 1);
  }
  switch (l->type) {
    case CDV_NULL: return true;
    case CDV_BOOL: return cdv_bit(a->buffers[1], ai) == cdv_bit(b->buffers[1], bj);
    case CDV_FIXED: {
      const char *x = (const char *)a->buffers[1] + ai * w, *y = (const char *)b->buffers[1] + bj * w;
      if (l->code == 'e' || l->code == 'f' || l->code == 'g') return same_float(x, y, l->code, p->nans_equal);
      return !w || !memcmp(x, y, (size_t)w);
    }
    case CDV_BINARY:
    case CDV_LARGE_BINARY: {
      int64_t x = cdv_read_int(a->buffers[1], l->width, ai), n = cdv_read_int(a->buffers[1], l->width, ai + 1) - x;
      int64_t y = cdv_read_int(b->buffers[1], l->width, bj), m = cdv_read_int(b->buffers[1], l->width, bj + 1) - y;
      return n == m && (!n || !memcmp((const char *)a->buffers[2] + x, (const char *)b->buffers[2] + y, (size_t)n));
    }
    case CDV_BINARY_VIEW: {
      int32_t n, m;
      const char *x = view_bytes(a, i, &n), *y = view_bytes(b, j, &m);
      return n == m && !memcmp(x, y, (size_t)n);
    }
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: {
      int64_t x = cdv_read_int(a->buffers[1], l->width, ai), n = cdv_read_int(a->buffers[1], l->width, ai + 1) - x;
      int64_t y = cdv_read_int(b->buffers[1], l->width, bj), m = cdv_read_int(b->buffers[1], l->width, bj + 1) - y;
      return n == m && same_child(p, 0, x, y, n);
    }
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW: {
      int64_t n = cdv_read_int(a->buffers[2], l->width, ai), m = cdv_read_int(b->buffers[2], l->width, bj);
      return n == m &&
             same_child(p, 0, cdv_read_int(a->buffers[1], l->width, ai), cdv_read_int(b->buffers[1], l->width, bj), n);
    }
    case CDV_FIXED_LIST: return same_child(p, 0, ai * l->list_size, bj * l->list_size, l->list_size);
    case CDV_STRUCT:
      for (int64_t k = 0; k < p->s->n_children; k++)
        if (!same_child(p, k, ai, bj, 1)) return false;
      return true;
    case CDV_DENSE_UNION:
    case CDV_SPARSE_UNION: {
      int id = ((const int8_t *)a->buffers[0])[ai];
      if (id != ((const int8_t *)b->buffers[0])[bj]) return false;
      bool dense = l->type == CDV_DENSE_UNION;
      return same_child(p, child_of(l, id), dense ? cdv_read_int(a->buffers[1], 4, ai) : ai,
                        dense ? cdv_read_int(b->buffers[1], 4, bj) : bj, 1);
    }
    case CDV_RUN_END: return same_child(p, 1, cdv_find_run(p->s, a, ai), cdv_find_run(p->t, b, bj), 1);
  }
  return false;
}

static bool same_range(const struct pair *p, int64_t i, int64_t j, int64_t n) {
  struct cdv_layout l;
  const char *why;
  cdv_layout_parse(p->s->format, &l, &why);
  const struct ArrowArray *a = p->a, *b = p->b;
  bool nulls = l.type != CDV_NULL && (may_have_nulls(p->s, a) || may_have_nulls(p->t, b));
  if (!nulls) { /* whole ranges at once where the layout allows */
    if (l.type == CDV_FIXED && !p->s->dictionary && l.code != 'e' && l.code != 'f' && l.code != 'g')
      return !n || !l.width ||
             !memcmp((const char *)a->buffers[1] + (a->offset + i) * l.width,
                     (const char *)b->buffers[1] + (b->offset + j) * l.width, (size_t)(n * l.width));
    if (l.type == CDV_STRUCT) {
      for (int64_t k = 0; k < p->s->n_children; k++)
        if (!same_child(p, k, a->offset + i, b->offset + j, n)) return false;
      return true;
    }
    if (l.type == CDV_FIXED_LIST)
      return same_child(p, 0, (a->offset + i) * l.list_size, (b->offset + j) * l.list_size, n * l.list_size);
    if (l.type == CDV_NULL) return true;
  }
  for (int64_t k = 0; k < n; k++) {
    if (nulls) {
      bool va = valid(p->s, a, i + k);
      if (va != valid(p->t, b, j + k)) return false;
      if (!va) continue;
    }
    if (!same_value(p, &l, i + k, j + k)) return false;
  }
  return true;
}

bool cdv_nodes_equal(const struct ArrowSchema *s, const struct ArrowArray *a, const struct ArrowArray *b) {
  struct pair p = {s, s, a, b, false};
  return a->length == b->length && (!a->length || same_range(&p, 0, 0, a->length));
}

int cdv_array_equal(struct cdv_array *a, struct cdv_array *b, bool nans_equal, int *equal) {
  int r = cdv_array_readable(a, "comparing");
  if (!r) r = cdv_array_readable(b, "comparing");
  if (r) return r;
  *equal = 0;
  if (a->length != b->length || !cdv_schema_same_type(a->schema, b->schema)) return 0;
  struct ArrowArray x = *a->node, y = *b->node;
  x.offset = a->offset;
  y.offset = b->offset;
  x.null_count = y.null_count = -1; /* of the whole node, not of the slice */
  struct pair p = {a->schema->node, b->schema->node, &x, &y, nans_equal};
  *equal = !a->length || same_range(&p, 0, 0, a->length);
  return 0;
}
