/* concat_plan.c - which pieces several arrays of one type become one array of.
 *
 * Buffers whose elements mean the same in the result (values, bytes, type ids; offsets that lose a number on the
 * way) are pieces of the sources, one behind the other, and what was cut from one memory is one piece again.  The
 * others (bits, views, list views, union offsets, run ends, indices of dictionaries that differ) are written to host
 * memory first.  Nothing is believed that is read from a source: what points outside of it is an error, or 0 where a
 * null is. */
#include "cdevice/arrow_abi.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/validate/checks.h"

#include <stdlib.h>
#include <string.h>

#define INVALID CDV_INVALID_ARRAY

struct node {
  struct cdv_plan *p;
  const struct ArrowSchema *s;
  struct cdv_layout l;
  const struct cdv_row_range *rows; /* none of them empty */
  int64_t n, length;
  const struct ArrowArray *like; /* the first source's: what a result without rows keeps of it */
  struct ArrowArray *to;
  uint8_t *bits; /* the new bitmap, or NULL */
  int depth;
};

/* Elements of a child, its own offset not counted. */
struct span {
  int64_t first, last;
};

static int concat_node(struct cdv_plan *p, const struct ArrowSchema *s, const struct ArrowArray *like,
                       const struct cdv_row_range *rows, int64_t n, struct ArrowArray *to, int depth);

/* ---- reading ---- */
static bool has_nulls(const struct ArrowArray *a) { return a->buffers[0] && a->null_count != 0; }
static bool is_null(const struct ArrowArray *a, int64_t i) { return has_nulls(a) && !cdv_bit(a->buffers[0], i); }

static int missing(int64_t buffer, int64_t nbytes) {
  return cdv_fail(INVALID, EINVAL, "buffer %lld is NULL, %lld bytes are required", (long long)buffer,
                  (long long)nbytes);
}

/* Host memory for so many elements, which lives as long as the sources do. */
static void *scratch(const struct node *d, int64_t n, int64_t width) {
  int64_t nbytes;
  if (__builtin_mul_overflow(n, width, &nbytes) || nbytes > INT64_MAX / 2) {
    cdv_fail_memory(INT64_MAX, "a joined array");
    return NULL;
  }
  return cdv_arena_raw(d->p->scratch, (size_t)nbytes);
}

/* Numbers of another width than 32 bits have room for all that memory can hold. */
static int too_many(const struct node *d, int64_t n, const char *what) {
  if (d->l.width == 8 || n <= INT32_MAX) return 0;
  return cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                  "%lld %s together are more than 32-bit offsets can count: use the large_ form", (long long)n, what);
}

/* ---- pieces ---- */
/* Buffer i of the result goes on with these bytes, of which each element loses `rebase`. */
static int add_rebased(const struct node *d, int64_t i, const void *src, int64_t from, int64_t nbytes, int64_t rebase) {
  struct cdv_plan *p = d->p;
  int64_t *meta = cdv_node_meta(d->to) + i, *size = meta + d->to->n_buffers;
  if (nbytes <= 0) return 0;
  if (!src) return missing(i, nbytes);
  struct cdv_copy_segment *last = *size ? &p->segments[p->n_segments - 1] : NULL;
  if (__builtin_add_overflow(*size, nbytes, size)) return cdv_fail_memory(nbytes, "a joined array");
  bool behind =
      last && (p->host_readable ? (const char *)last->src + last->src_offset + last->nbytes == (const char *)src + from
                                : last->src == src && last->src_offset + last->nbytes == from);
  if (behind && last->rebase == rebase) {
    last->nbytes += nbytes;
    return 0;
  }
  int r = cdv_grow((void **)&p->segments, &p->room, p->n_segments + 1, sizeof *p->segments);
  if (r) return r;
  p->segments[p->n_segments++] = (struct cdv_copy_segment){.src = src,
                                                           .src_offset = from,
                                                           .nbytes = nbytes,
                                                           .rebase = rebase,
                                                           .max_value = -1,
                                                           .width = d->l.width,
                                                           .on_host = p->host_readable,
                                                           .joined = last,
                                                           .where = &d->to->buffers[i],
                                                           .meta = meta,
                                                           .size = size};
  return 0;
}

static int add_part(const struct node *d, int64_t i, const void *src, int64_t from, int64_t nbytes) {
  return add_rebased(d, i, src, from, nbytes, 0);
}

/* Elements of so many bytes each, as they are. */
static int add_elements(const struct node *d, int64_t i, int64_t width) {
  int r = 0;
  for (int64_t k = 0; !r && k < d->n; k++)
    r = add_part(d, i, d->rows[k].a->buffers[i], d->rows[k].offset * width, d->rows[k].length * width);
  return r;
}

/* ---- children ---- */
/* Child k of these spans. */
static int concat_below(const struct node *d, int64_t k, const struct span *spans) {
  struct cdv_row_range *rows = malloc(((size_t)d->n + 1) * sizeof *rows);
  int64_t n = 0;
  int r = rows ? 0 : cdv_fail_memory(d->n * (int64_t)sizeof *rows, "a joined array");
  for (int64_t i = 0; !r && i < d->n; i++) {
    const struct ArrowArray *c = d->rows[i].a->children[k];
    struct span x = spans[i];
    if (x.last <= x.first) continue;
    if (x.first < 0 || x.last > c->length)
      r = cdv_fail(INVALID, EINVAL, "values %lld to %lld of a child of %lld are needed", (long long)x.first,
                   (long long)x.last, (long long)c->length);
    if (n && rows[n - 1].a == c && rows[n - 1].offset + rows[n - 1].length == c->offset + x.first)
      rows[n - 1].length += x.last - x.first;
    else
      rows[n++] = (struct cdv_row_range){c, c->offset + x.first, x.last - x.first};
  }
  if (!r) r = concat_node(d->p, d->s->children[k], d->like->children[k], rows, n, d->to->children[k], d->depth + 1);
  free(rows);
  return r;
}

/* Children that have the rows of this node, each `scale` times. */
static int concat_alike(const struct node *d, int64_t scale) {
  struct span *spans = malloc(((size_t)d->n + 1) * sizeof *spans);
  int r = spans ? 0 : cdv_fail_memory(d->n * (int64_t)sizeof *spans, "a joined array");
  for (int64_t i = 0; !r && i < d->n; i++)
    if (__builtin_mul_overflow(d->rows[i].offset, scale, &spans[i].first) ||
        __builtin_mul_overflow(d->rows[i].offset + d->rows[i].length, scale, &spans[i].last))
      r = cdv_fail(INVALID, EINVAL, "a child has more values than 64 bits can count");
  for (int64_t k = 0; !r && k < d->s->n_children; k++) r = concat_below(d, k, spans);
  free(spans);
  return r;
}

/* ---- offsets ---- */
/* The ranges between the first and the last offset of each. */
static int read_spans(const struct node *d, struct span *spans, const char *what) {
  int64_t total = 0;
  for (int64_t i = 0; i < d->n; i++) {
    const void *offsets = d->rows[i].a->buffers[1];
    if (!offsets) return missing(1, (d->rows[i].length + 1) * d->l.width);
    struct span x = {cdv_read_int(offsets, d->l.width, d->rows[i].offset),
                     cdv_read_int(offsets, d->l.width, d->rows[i].offset + d->rows[i].length)};
    if (x.first < 0 || x.last < x.first || __builtin_add_overflow(total, x.last - x.first, &total))
      return cdv_fail(INVALID, EINVAL, "the offsets run from %lld to %lld", (long long)x.first, (long long)x.last);
    spans[i] = x;
  }
  return too_many(d, total, what);
}

static int add_offsets(const struct node *d, const struct span *spans) {
  int64_t w = d->l.width, base = 0;
  int r = 0;
  if (!d->n) { /* one zero: some consumers refuse NULL */
    void *zero = scratch(d, 1, w);
    return zero ? add_part(d, 1, memset(zero, 0, (size_t)w), 0, w) : ENOMEM;
  }
  for (int64_t i = 0; !r && i < d->n; base += spans[i].last - spans[i].first, i++) {
    const struct cdv_row_range *x = &d->rows[i];
    r = add_rebased(d, 1, x->a->buffers[1], x->offset * w, (x->length + (i + 1 == d->n)) * w, spans[i].first - base);
  }
  return r;
}

static int concat_variable(const struct node *d) {
  bool lists = d->l.n_buffers == 2;
  struct span *spans = malloc(((size_t)d->n + 1) * sizeof *spans);
  int r = spans ? read_spans(d, spans, lists ? "values of lists" : "bytes")
                : cdv_fail_memory(d->n * (int64_t)sizeof *spans, "a joined array");
  if (!r) r = add_offsets(d, spans);
  for (int64_t i = 0; !r && !lists && i < d->n; i++)
    r = add_part(d, 2, d->rows[i].a->buffers[2], spans[i].first, spans[i].last - spans[i].first);
  if (!r && lists) r = concat_below(d, 0, spans);
  free(spans);
  return r;
}

/* ---- list views ---- */
static int read_list_views(const struct node *d, const struct cdv_row_range *x, struct span *span) {
  const void *offsets = x->a->buffers[1], *sizes = x->a->buffers[2];
  int64_t limit = x->a->children[0]->length;
  if (!offsets || !sizes) return missing(offsets ? 2 : 1, x->length * d->l.width);
  *span = (struct span){INT64_MAX, 0};
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int64_t size = cdv_read_int(sizes, d->l.width, i), at = cdv_read_int(offsets, d->l.width, i);
    if (size <= 0 || is_null(x->a, i)) continue;
    if (at < 0 || at > limit || size > limit - at)
      return cdv_fail(INVALID, EINVAL, "list views point outside their child");
    if (at < span->first) span->first = at;
    if (at + size > span->last) span->last = at + size;
  }
  if (span->last < span->first) *span = (struct span){0, 0};
  return 0;
}

static void put_number(void *p, int width, int64_t i, int64_t v) {
  int8_t v1 = (int8_t)v;
  int16_t v2 = (int16_t)v;
  int32_t v4 = (int32_t)v;
  const void *from = width == 1 ? (void *)&v1 : width == 2 ? (void *)&v2 : width == 4 ? (void *)&v4 : (void *)&v;
  memcpy((char *)p + i * width, from, (size_t)width);
}

static int concat_list_views(const struct node *d) {
  struct span *spans = malloc(((size_t)d->n + 1) * sizeof *spans);
  int w = d->l.width, r = spans ? 0 : cdv_fail_memory(d->n * (int64_t)sizeof *spans, "a joined array");
  int64_t base = 0, at = 0;
  for (int64_t i = 0; !r && i < d->n; i++) {
    r = read_list_views(d, &d->rows[i], &spans[i]);
    if (!r) base += spans[i].last - spans[i].first;
  }
  if (!r) r = too_many(d, base, "values of lists");
  void *offsets = r ? NULL : scratch(d, d->length, w), *sizes = r ? NULL : scratch(d, d->length, w);
  if (!r && !(offsets && sizes)) r = ENOMEM;
  base = 0;
  for (int64_t k = 0; !r && k < d->n; base += spans[k].last - spans[k].first, k++)
    for (int64_t i = d->rows[k].offset; i < d->rows[k].offset + d->rows[k].length; i++, at++) {
      const struct ArrowArray *a = d->rows[k].a;
      int64_t size = cdv_read_int(a->buffers[2], w, i);
      bool none = size <= 0 || is_null(a, i);
      put_number(offsets, w, at, none ? 0 : cdv_read_int(a->buffers[1], w, i) - spans[k].first + base);
      put_number(sizes, w, at, none ? 0 : size);
    }
  if (!r) r = add_part(d, 1, offsets, 0, d->length * w);
  if (!r) r = add_part(d, 2, sizes, 0, d->length * w);
  if (!r) r = concat_below(d, 0, spans);
  free(spans);
  return r;
}

/* ---- unions ---- */
/* The spans of child k's values are spans[k * n ...]; checks every row. */
static int read_union(const struct node *d, const signed char *child_of, struct span *spans) {
  for (int64_t i = 0; i < d->n; i++) {
    const struct cdv_row_range *x = &d->rows[i];
    const int8_t *ids = x->a->buffers[0];
    if (!ids || !x->a->buffers[1]) return missing(!!ids, x->length);
    for (int64_t j = x->offset; j < x->offset + x->length; j++) {
      int64_t k = ids[j] < 0 ? -1 : child_of[ids[j]], at = cdv_read_int(x->a->buffers[1], 4, j);
      if (k < 0 || at < 0 || at >= x->a->children[k]->length)
        return cdv_fail(INVALID, EINVAL, "value %lld of a union is out of bounds: index %lld of type id %d",
                        (long long)(j - x->offset), (long long)at, ids[j]);
      struct span *span = &spans[k * d->n + i];
      if (span->last <= span->first || at < span->first) span->first = at;
      if (at >= span->last) span->last = at + 1;
    }
  }
  return 0;
}

static int write_union(const struct node *d, const signed char *child_of, const struct span *spans) {
  int64_t base[128] = {0}, at = 0;
  int32_t *offsets = scratch(d, d->length, 4);
  if (!offsets) return ENOMEM;
  for (int64_t i = 0; i < d->n; i++) {
    const struct cdv_row_range *x = &d->rows[i];
    for (int64_t j = x->offset; j < x->offset + x->length; j++) {
      int k = child_of[((const int8_t *)x->a->buffers[0])[j]];
      offsets[at++] = (int32_t)(cdv_read_int(x->a->buffers[1], 4, j) - spans[k * d->n + i].first + base[k]);
    }
    for (int64_t k = 0; k < d->s->n_children; k++) {
      base[k] += spans[k * d->n + i].last - spans[k * d->n + i].first;
      if (base[k] > INT32_MAX)
        return cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                        "%lld values of one type of a union are more than its offsets can count", (long long)base[k]);
    }
  }
  return add_part(d, 1, offsets, 0, d->length * 4);
}

static int concat_dense_union(const struct node *d) {
  signed char child_of[128];
  memset(child_of, -1, sizeof child_of);
  for (int i = 0; i < d->l.n_type_ids; i++) child_of[d->l.type_ids[i]] = (signed char)i;
  size_t nc = (size_t)d->s->n_children;
  struct span *spans = calloc((size_t)d->n * nc + 1, sizeof *spans);
  int r = spans ? read_union(d, child_of, spans) : cdv_fail_memory((int64_t)(nc * sizeof *spans), "a joined array");
  if (!r) r = add_elements(d, 0, 1);
  if (!r) r = write_union(d, child_of, spans);
  for (size_t k = 0; !r && k < nc; k++) r = concat_below(d, (int64_t)k, spans + k * (size_t)d->n);
  free(spans);
  return r;
}

/* ---- runs ---- */
/* The new ends of the runs that cover the rows, cut to them. */
static int write_runs(const struct node *d, const struct span *spans, int64_t n_runs) {
  int w = cdv_run_width(d->s);
  struct node ends = *d;
  ends.to = d->to->children[0];
  ends.l.width = w;
  int r = cdv_node_room(&d->p->arena, ends.to, 2, 0, false);
  ends.to->length = n_runs;
  void *out = r ? NULL : scratch(d, n_runs, w);
  if (!out) return ENOMEM;
  for (int64_t i = 0, at = 0, base = 0; i < d->n; base += d->rows[i++].length) {
    const struct ArrowArray *e = d->rows[i].a->children[0];
    int64_t before = 0, length = d->rows[i].length;
    for (int64_t k = spans[i].first; k < spans[i].last; k++) {
      int64_t v = 0;
      if (__builtin_sub_overflow(cdv_read_int(e->buffers[1], w, e->offset + k), d->rows[i].offset, &v) || v < before)
        v = before;
      if (v > length || k + 1 == spans[i].last) v = length;
      before = v;
      put_number(out, w, at++, base + v);
    }
  }
  return add_part(&ends, 1, out, 0, n_runs * w);
}

static int concat_runs(const struct node *d) {
  int w = cdv_run_width(d->s), r = 0;
  int64_t most = w == 2 ? INT16_MAX : w == 4 ? INT32_MAX : INT64_MAX, n_runs = 0;
  if (d->length > most)
    return cdv_fail(CDV_ARGUMENT, EOVERFLOW, "%lld rows are more than run ends of %d bits can count: use wider ones",
                    (long long)d->length, 8 * w);
  struct span *spans = malloc(((size_t)d->n + 1) * sizeof *spans);
  if (!spans) return cdv_fail_memory(d->n * (int64_t)sizeof *spans, "a joined array");
  for (int64_t i = 0; !r && i < d->n; i++) {
    const struct cdv_row_range *x = &d->rows[i];
    const struct ArrowArray *ends = x->a->children[0];
    if (!ends->length || !ends->buffers[1]) {
      r = cdv_fail(INVALID, EINVAL, "%lld values without a run end", (long long)x->length);
      continue;
    }
    spans[i] =
        (struct span){cdv_find_run(d->s, x->a, x->offset), cdv_find_run(d->s, x->a, x->offset + x->length - 1) + 1};
    if (spans[i].last <= spans[i].first) r = cdv_fail(INVALID, EINVAL, "run ends decrease");
    n_runs += spans[i].last - spans[i].first;
  }
  if (!r) r = write_runs(d, spans, n_runs);
  if (!r) r = concat_below(d, 1, spans);
  free(spans);
  return r;
}

/* ---- views ---- */
/* Sources in a row with the same data buffers, and what of these their rows point to. */
struct data {
  const struct ArrowArray *a;
  int64_t n, *starts, *stops;
  int32_t *numbers; /* of each in the result */
};

static bool same_data(const struct ArrowArray *a, const struct ArrowArray *b) {
  size_t n = (size_t)a->n_buffers - 3;
  return a->n_buffers == b->n_buffers &&
         (!n || (!memcmp(a->buffers + 2, b->buffers + 2, n * sizeof(void *)) &&
                 !memcmp(a->buffers[a->n_buffers - 1], b->buffers[b->n_buffers - 1], n * sizeof(int64_t))));
}

static int read_views(const struct cdv_row_range *x, struct data *g) {
  const char *views = x->a->buffers[1];
  if (!views) return missing(1, x->length * 16);
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int32_t v[4];
    memcpy(v, views + 16 * i, 16);
    if ((v[0] >= 0 && v[0] <= 12) || is_null(x->a, i)) continue;
    int64_t stop = (int64_t)v[3] + v[0];
    if (v[0] < 0 || v[2] < 0 || v[2] >= g->n || v[3] < 0 || stop > cdv_data_size(x->a, v[2]))
      return cdv_fail(INVALID, EINVAL, "view %lld points outside its data", (long long)(i - x->offset));
    if (g->stops[v[2]] == 0 || v[3] < g->starts[v[2]]) g->starts[v[2]] = v[3];
    if (stop > g->stops[v[2]]) g->stops[v[2]] = stop;
  }
  return 0;
}

static void write_views(const struct cdv_row_range *x, const struct data *g, char *out) {
  const char *views = x->a->buffers[1];
  for (int64_t i = 0; i < x->length; i++) {
    int32_t v[4];
    memcpy(v, views + 16 * (x->offset + i), 16);
    if (is_null(x->a, x->offset + i)) {
      memset(v, 0, sizeof v);
    } else if (v[0] > 12) {
      v[3] -= (int32_t)g->starts[v[2]];
      v[2] = g->numbers[v[2]];
    }
    memcpy(out + 16 * i, v, 16);
  }
}

/* Makes one of two that overlap in the same memory; false: they stay two. */
static bool share(struct data *to, const struct data *x) {
  bool overlap = false;
  if (!same_data(to->a, x->a)) return false;
  for (int64_t k = 0; k < x->n && !overlap; k++)
    overlap = x->stops[k] && to->stops[k] && x->starts[k] <= to->stops[k] && to->starts[k] <= x->stops[k];
  for (int64_t k = 0; k < x->n && overlap; k++) {
    if (!x->stops[k]) continue;
    if (!to->stops[k] || x->starts[k] < to->starts[k]) to->starts[k] = x->starts[k];
    if (x->stops[k] > to->stops[k]) to->stops[k] = x->stops[k];
  }
  return overlap;
}

/* Fills groups[0 ... return), group[i] is of source i; *total: data buffers of the result.  -1: an error. */
static int64_t read_data(const struct node *d, struct data *groups, int64_t *group, int64_t *total) {
  int64_t n = 0;
  *total = 0;
  for (int64_t i = 0; i < d->n; i++) {
    struct data *g = &groups[n];
    g->a = d->rows[i].a;
    g->n = g->a->n_buffers - 3;
    g->starts = cdv_arena_get(d->p->scratch, ((size_t)g->n + 1) * 20);
    if (!g->starts) return -1;
    g->stops = g->starts + g->n;
    g->numbers = (int32_t *)(g->stops + g->n);
    if (read_views(&d->rows[i], g)) return -1;
    if (!n || !share(&groups[n - 1], g)) n++;
    group[i] = n - 1;
  }
  for (int64_t g = 0; g < n; g++)
    for (int64_t k = 0; k < groups[g].n; k++)
      if (groups[g].stops[k]) groups[g].numbers[k] = (int32_t)(*total)++;
  if (*total <= INT32_MAX - 3) return n;
  cdv_fail(CDV_ARGUMENT, EOVERFLOW, "%lld data buffers are more than views can count", (long long)*total);
  return -1;
}

static int make_room(struct node *d, int64_t n_buffers);
static int add_validity(const struct node *d);

static int concat_views(struct node *d) {
  struct data *groups = calloc((size_t)d->n + 1, sizeof *groups);
  int64_t *group = malloc(((size_t)d->n + 1) * sizeof *group), total = 0, n = -1, *sizes = NULL;
  int r = 0;
  if (!groups || !group)
    cdv_fail_memory(d->n * (int64_t)sizeof *groups, "a joined array");
  else
    n = read_data(d, groups, group, &total);
  if (n < 0) r = cdv_error_last()->code;
  if (!r) r = make_room(d, total + 3);
  if (!r) r = add_validity(d);
  char *views = r ? NULL : scratch(d, d->length, 16);
  if (!r && !views) r = ENOMEM;
  for (int64_t i = 0, at = 0; !r && i < d->n; at += d->rows[i++].length)
    write_views(&d->rows[i], &groups[group[i]], views + 16 * at);
  if (!r) r = add_part(d, 1, views, 0, d->length * 16);
  if (!r && !(sizes = cdv_arena_get(&d->p->arena, ((size_t)total + 1) * sizeof *sizes))) r = ENOMEM;
  if (!r) d->to->buffers[total + 2] = sizes; /* these stay on the CPU on every device */
  for (int64_t g = 0, i = 0; g < n; g++)
    for (int64_t k = 0; !r && k < groups[g].n; k++) {
      const struct data *x = &groups[g];
      if (!x->stops[k]) continue;
      sizes[i] = x->stops[k] - x->starts[k];
      r = add_part(d, 2 + i, x->a->buffers[2 + k], x->starts[k], sizes[i]);
      i++;
    }
  free(groups);
  free(group);
  return r;
}

/* ---- dictionaries ---- */
static int64_t most_of(char code) {
  switch (code) {
    case 'c': return INT8_MAX;
    case 'C': return UINT8_MAX;
    case 's': return INT16_MAX;
    case 'S': return UINT16_MAX;
    case 'i': return INT32_MAX;
    case 'I': return UINT32_MAX;
    default: return INT64_MAX;
  }
}

static int write_indices(const struct node *d, const struct cdv_unified_dictionary *u, char *out) {
  for (int64_t i = 0, at = 0; i < d->n; at += d->rows[i++].length) {
    const struct cdv_row_range *x = &d->rows[i];
    const int64_t *numbers = u->numbers[u->which[i]];
    const void *indices = x->a->buffers[1];
    if (!indices) return missing(1, x->length * d->l.width);
    for (int64_t j = 0; j < x->length; j++) {
      int64_t k = cdv_read_index(indices, d->l.code, x->offset + j);
      if (is_null(x->a, x->offset + j))
        k = 0;
      else if (k < 0 || k >= x->a->dictionary->length)
        return cdv_fail(INVALID, EINVAL, "index %lld is %lld, the dictionary has %lld values", (long long)j,
                        (long long)k, (long long)x->a->dictionary->length);
      else if (numbers)
        k = numbers[k];
      put_number(out, d->l.width, at + j, k);
    }
  }
  return 0;
}

static int concat_dictionaries(const struct node *d) {
  const struct ArrowArray *only = d->like->dictionary;
  struct cdv_row_range all = {only, only->offset, only->length};
  if (!d->n) return concat_node(d->p, d->s->dictionary, only, &all, only->length > 0, d->to->dictionary, d->depth + 1);
  struct cdv_unified_dictionary u;
  int r = cdv_dictionary_unify(d->s->dictionary, d->rows, d->n, &u);
  if (!r && u.n > 1 && u.length - 1 > most_of(d->l.code))
    r = cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                 "the dictionaries have %lld values together, more than indices of %d bits can count: use wider ones",
                 (long long)u.length, 8 * d->l.width);
  if (!r && u.n > 1) {
    char *indices = scratch(d, d->length, d->l.width);
    r = indices ? write_indices(d, &u, indices) : ENOMEM;
    if (!r) r = add_part(d, 1, indices, 0, d->length * d->l.width);
  } else if (!r) {
    r = add_elements(d, 1, d->l.width);
  }
  if (!r) r = concat_node(d->p, d->s->dictionary, only, u.rows, (int64_t)u.n_rows, d->to->dictionary, d->depth + 1);
  cdv_unified_free(&u);
  return r;
}

/* ---- one node ---- */
static int make_room(struct node *d, int64_t n_buffers) {
  d->to->length = d->length;
  return cdv_node_room(&d->p->arena, d->to, n_buffers, d->s->n_children, d->s->dictionary);
}

/* The bits of all, where they have any, shifted to where they belong; validity: those without have no nulls. */
static uint8_t *concat_bits(const struct node *d, int buffer, bool validity) {
  uint8_t *bits = cdv_arena_get(d->p->scratch, (size_t)(d->length / 8) + 1);
  for (int64_t i = 0, at = 0; bits && i < d->n; at += d->rows[i++].length) {
    const struct cdv_row_range *x = &d->rows[i];
    if (validity && !has_nulls(x->a)) {
      cdv_bits_set(bits, at, x->length);
    } else if (!x->a->buffers[buffer]) {
      missing(buffer, (x->length + 7) / 8);
      return NULL;
    } else {
      cdv_bits_copy(bits, at, x->a->buffers[buffer], x->offset, x->length);
    }
  }
  return bits;
}

static int find_nulls(struct node *d) {
  int64_t nulls = 0;
  bool some = false, known = true;
  d->to->null_count = d->l.type == CDV_NULL ? d->length : 0;
  for (int64_t i = 0; cdv_has_validity(&d->l) && i < d->n; i++) {
    const struct cdv_row_range *x = &d->rows[i];
    if (!has_nulls(x->a)) continue;
    some = true;
    known = known && x->a->null_count > 0 && x->offset == x->a->offset && x->length == x->a->length;
    nulls += x->a->null_count;
  }
  if (!some) return 0;
  if (!(d->bits = concat_bits(d, 0, true))) return cdv_error_last()->code;
  d->to->null_count = known ? nulls : d->length - cdv_bits_count(d->bits, 0, d->length);
  return 0;
}

static int add_validity(const struct node *d) {
  return d->bits && d->to->null_count ? add_part(d, 0, d->bits, 0, (d->length + 7) / 8) : 0;
}

static int concat_booleans(const struct node *d) {
  uint8_t *bits = d->n ? concat_bits(d, 1, false) : NULL;
  return !d->n ? 0 : bits ? add_part(d, 1, bits, 0, (d->length + 7) / 8) : cdv_error_last()->code;
}

static int concat_contents(const struct node *d) {
  switch (d->l.type) {
    case CDV_BOOL: return concat_booleans(d);
    case CDV_FIXED: return d->s->dictionary ? concat_dictionaries(d) : add_elements(d, 1, d->l.width);
    case CDV_BINARY:
    case CDV_LARGE_BINARY:
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: return concat_variable(d);
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW: return concat_list_views(d);
    case CDV_FIXED_LIST: return concat_alike(d, d->l.list_size);
    case CDV_STRUCT: return concat_alike(d, 1);
    case CDV_SPARSE_UNION: {
      int r = add_elements(d, 0, 1);
      return r ? r : concat_alike(d, 1);
    }
    case CDV_DENSE_UNION: return concat_dense_union(d);
    case CDV_RUN_END: return concat_runs(d);
    default: return 0;
  }
}

static int concat_node(struct cdv_plan *p, const struct ArrowSchema *s, const struct ArrowArray *like,
                       const struct cdv_row_range *rows, int64_t n, struct ArrowArray *to, int depth) {
  struct node d = {.p = p, .s = s, .rows = rows, .n = n, .like = like, .to = to, .depth = depth};
  const char *why;
  if (cdv_layout_parse(s->format, &d.l, &why)) return cdv_fail(INVALID, EINVAL, "%s", why);
  if (depth > CDV_MAX_DEPTH) return cdv_fail(INVALID, EINVAL, "nested deeper than %d levels", CDV_MAX_DEPTH);
  for (int64_t i = 0; i < n; i++)
    if (__builtin_add_overflow(d.length, rows[i].length, &d.length))
      return cdv_fail(CDV_ARGUMENT, EOVERFLOW, "more rows than 64 bits can count");
  for (int i = 0; i < d.l.n_buffers; i++)
    if (cdv_buffer_bytes(&d.l, cdv_layout_buffer_types(&d.l)[i], d.length) < 0)
      return cdv_fail(CDV_ARGUMENT, EOVERFLOW, "%lld values need more bytes than 64 bits can count",
                      (long long)d.length);
  int r = find_nulls(&d);
  if (r) return r;
  if (d.l.type == CDV_BINARY_VIEW) return concat_views(&d);
  r = make_room(&d, d.l.n_buffers);
  if (!r) r = add_validity(&d);
  return r ? r : concat_contents(&d);
}

int cdv_concat_plan_make(struct cdv_plan *p, const struct ArrowSchema *s, const struct cdv_row_range *rows, int64_t n,
                         struct ArrowArray *top) {
  struct cdv_row_range *some = malloc((size_t)n * sizeof *some);
  int64_t m = 0;
  if (!some) return cdv_fail_memory(n * (int64_t)sizeof *some, "a joined array");
  for (int64_t i = 0; i < n; i++)
    if (rows[i].length) some[m++] = rows[i];
  int r = concat_node(p, s, rows[0].a, some, m, top, 1);
  free(some);
  return r;
}

bool cdv_is_flat(const struct ArrowSchema *s, const struct ArrowArray *a) {
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(s->format, &l, &why) || s->dictionary) return false;
  if (l.type != CDV_NULL && l.type != CDV_FIXED && l.type != CDV_STRUCT && l.type != CDV_FIXED_LIST) return false;
  if (l.type != CDV_NULL && has_nulls(a)) return false;
  for (int64_t i = 0; i < a->n_children; i++)
    if (!cdv_is_flat(s->children[i], a->children[i])) return false;
  return true;
}
