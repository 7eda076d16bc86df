/* plan.c - which pieces a copy is made of, how large they are, and where they lie on the target.
 *
 * A plan lists the pieces (one per buffer of the result) and lays them out in one allocation.  To learn sizes on a
 * device, the two offsets of every variable-size column are gathered level by level, one read for all. */
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/copy/staging.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"

#include <stdlib.h>
#include <string.h>

#define JOINED ((int64_t)256 << 10)      /* calls for pieces of one buffer cost more than filling chunks with them */
#define MEDIUM ((int64_t)1 << 20)        /* from here on it is asked where a piece is */
#define CHEAP_BLOCK ((int64_t)256 << 10) /* padding up to here costs less than a second copy */

struct cdv_pending_node { /* a node of the source and the rows of it that are wanted */
  const struct ArrowSchema *s;
  const struct ArrowArray *a;
  struct ArrowArray *to;
  int64_t offset, length, nulls;
  int64_t rebase; /* of a run-end child */
};

/* ---- memory of the result's nodes ---- */
void *cdv_arena_raw(struct cdv_arena **head, size_t n) {
  n = (n + 15) & ~(size_t)15;
  if (!*head || (*head)->size - (*head)->used < n) {
    size_t size = n > 4000 ? n : *head ? 65000 : 4000;
    struct cdv_arena *a = malloc(sizeof *a + size);
    if (!a) {
      cdv_fail_memory((int64_t)size, "the nodes of a copy");
      return NULL;
    }
    a->next = *head;
    a->used = 0;
    a->size = size;
    *head = a;
  }
  void *out = (*head)->bytes + (*head)->used;
  (*head)->used += n;
  return out;
}

void *cdv_arena_get(struct cdv_arena **head, size_t n) {
  void *out = cdv_arena_raw(head, n);
  return out ? memset(out, 0, n) : NULL;
}

void cdv_arena_free(struct cdv_arena *a) {
  for (struct cdv_arena *next; a; a = next) {
    next = a->next;
    free(a);
  }
}

void cdv_nodes_release(struct ArrowArray *array) {
  cdv_arena_free(array->private_data);
  array->release = NULL;
}

int cdv_node_room(struct cdv_arena **head, struct ArrowArray *to, int64_t n_buffers, int64_t n_children,
                  bool dictionary) {
  to->n_buffers = n_buffers;
  to->n_children = n_children;
  to->release = cdv_nodes_release;
  size_t nb = (size_t)n_buffers, nc = (size_t)n_children, nd = dictionary ? 1 : 0;
  if (nb && !(to->buffers = cdv_arena_get(head, nb * (sizeof(void *) + 2 * sizeof(int64_t))))) return ENOMEM;
  if (!(nc + nd)) return 0;
  struct ArrowArray *below = cdv_arena_get(head, (nc + nd) * sizeof *below + nc * sizeof(void *));
  if (!below) return ENOMEM;
  to->children = nc ? (struct ArrowArray **)(below + nc + nd) : NULL;
  for (size_t i = 0; i < nc; i++) to->children[i] = &below[i];
  to->dictionary = nd ? &below[nc] : NULL;
  return 0;
}

/* ---- pieces ---- */
int cdv_plan_add(struct cdv_plan *p, struct ArrowArray *node, int64_t i, const struct cdv_copy_segment *segment) {
  if (segment->nbytes <= 0) return 0;
  int r = cdv_grow((void **)&p->segments, &p->room, p->n_segments + 1, sizeof *p->segments);
  if (r) return r;
  struct cdv_copy_segment *x = &p->segments[p->n_segments++];
  *x = *segment;
  x->where = &node->buffers[i];
  x->meta = cdv_node_meta(node) + i;
  x->size = x->meta + node->n_buffers;
  *x->size = x->nbytes;
  return 0;
}

static int add_piece(struct cdv_plan *p, const struct cdv_pending_node *node, int64_t i, struct cdv_copy_segment *x) {
  if (p->packed) x->packed_offset = cdv_node_meta(node->a)[i];
  return cdv_plan_add(p, node->to, i, x);
}

static int add_item(struct cdv_plan *p, const struct cdv_pending_node *x) {
  int r = cdv_grow((void **)&p->items, &p->items_room, p->n_items + 1, sizeof *p->items);
  if (!r) p->items[p->n_items++] = *x;
  return r;
}

/* ---- the two offsets of a variable-size node ---- */
struct ends {
  int64_t first, last;
};

static bool has_offsets(const struct cdv_layout *l) {
  return l->n_buffers > 1 && cdv_layout_buffer_types(l)[1] == CDV_OFFSETS;
}

static int parse(const struct cdv_pending_node *x, struct cdv_layout *l) {
  const char *why;
  return cdv_layout_parse(x->s->format, l, &why) ? cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why) : 0;
}

static int look_at_ends(struct cdv_plan *p, size_t begin, size_t n, struct ends *out) {
  for (size_t i = 0; i < n; i++) {
    const struct cdv_pending_node *x = &p->items[begin + i];
    struct cdv_layout l;
    int r = parse(x, &l);
    if (r) return r;
    if (!has_offsets(&l) || !x->length) continue;
    out[i].first = cdv_read_int(x->a->buffers[1], l.width, x->offset);
    out[i].last = cdv_read_int(x->a->buffers[1], l.width, x->offset + x->length);
  }
  return 0;
}

/* All of a node that we wrote: known without asking. */
static bool ends_known(const struct cdv_plan *p, const struct cdv_pending_node *x, const struct cdv_layout *l,
                       struct ends *out) {
  if (!p->packed || x->offset != x->a->offset || x->length != x->a->length) return false;
  out->first = 0;
  out->last = l->n_buffers == 3 ? cdv_node_meta(x->a)[x->a->n_buffers + 2] : x->a->children[0]->length;
  return true;
}

/* What must be read from the device, in pairs: value 2 * i and the one behind it are item i's. */
static int list_ends(struct cdv_plan *p, size_t begin, size_t n, struct ends *out, cdevice_copy *copies,
                     int64_t *values, size_t *wanted) {
  for (size_t i = 0; i < n; i++) {
    const struct cdv_pending_node *x = &p->items[begin + i];
    struct cdv_layout l;
    int r = parse(x, &l);
    if (r) return r;
    if (!has_offsets(&l) || !x->length || ends_known(p, x, &l, &out[i])) continue;
    for (int k = 0; k < 2; k++)
      copies[(*wanted)++] = (cdevice_copy){
          &values[2 * i + k], 0, -1, x->a->buffers[1], (x->offset + k * x->length) * l.width, p->from_device, l.width};
  }
  return 0;
}

static int ask_for_ends(struct cdv_plan *p, size_t begin, size_t n, struct ends *out) {
  size_t wanted = 0;
  cdevice_copy *copies = malloc(2 * n * sizeof *copies);
  int64_t *values = calloc(2 * n, sizeof *values);
  int r = copies && values ? list_ends(p, begin, n, out, copies, values, &wanted)
                           : cdv_fail_memory((int64_t)(2 * n * sizeof *copies), "sizes");
  if (!r && wanted) r = cdv_follow_source(p);
  if (!r && wanted) r = cdv_read_back(p, copies, (int64_t)wanted);
  for (size_t k = 0; !r && k < wanted; k += 2) {
    size_t i = (size_t)((int64_t *)copies[k].dst - values) / 2;
    int width = (int)copies[k].nbytes;
    out[i].first = cdv_read_int(&values[2 * i], width, 0);
    out[i].last = cdv_read_int(&values[2 * i + 1], width, 0);
  }
  free(copies);
  if (p->pending)
    p->orphans.memory = values;
  else
    free(values);
  return r;
}

static int learn_ends(struct cdv_plan *p, size_t begin, size_t end, struct ends *out) {
  return p->host_readable ? look_at_ends(p, begin, end - begin, out) : ask_for_ends(p, begin, end - begin, out);
}

/* ---- one node ---- */
static int64_t cut_nulls(const struct ArrowArray *a, int64_t length) {
  return a->null_count == 0 || length == 0 ? 0 : length == a->length ? a->null_count : -1;
}

static int child_item(struct cdv_plan *p, const struct cdv_pending_node *x, int64_t k, int64_t offset, int64_t length,
                      int64_t rebase) {
  const struct ArrowArray *c = k < 0 ? x->a->dictionary : x->a->children[k];
  struct ArrowArray *to = k < 0 ? x->to->dictionary : x->to->children[k];
  struct cdv_pending_node y = {
      k < 0 ? x->s->dictionary : x->s->children[k], c, to, c->offset + offset, length, cut_nulls(c, length), rebase};
  return add_item(p, &y);
}

/* Elements that list views point to, in readable memory. */
static struct ends view_range(const struct cdv_pending_node *x, const struct cdv_layout *l) {
  struct ends e = {INT64_MAX, 0};
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int64_t size = cdv_read_int(x->a->buffers[2], l->width, i), at = cdv_read_int(x->a->buffers[1], l->width, i), end;
    if (size <= 0) continue;
    if (at < e.first) e.first = at;
    if (__builtin_add_overflow(at, size, &end)) end = INT64_MAX;
    if (end > e.last) e.last = end;
  }
  if (e.first > e.last) e.first = e.last = 0;
  return e;
}

/* Runs that cover the rows; where nothing can be read, all of them. */
static struct ends run_range(struct cdv_plan *p, const struct cdv_pending_node *x) {
  if (!p->host_readable || !x->length) return (struct ends){0, x->a->children[0]->length};
  return (struct ends){cdv_find_run(x->s, x->a, x->offset), cdv_find_run(x->s, x->a, x->offset + x->length - 1) + 1};
}

/* The part of each data buffer that the rows' views point to: [starts[k], stops[k]). */
static int view_parts(const struct cdv_pending_node *x, int64_t n_data, int64_t *starts, int64_t *stops) {
  const uint8_t *validity = x->a->buffers[0];
  for (int64_t k = 0; k < n_data; k++) starts[k] = INT32_MAX, stops[k] = 0;
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int32_t view[4];
    memcpy(view, (const char *)x->a->buffers[1] + 16 * i, 16);
    if (view[0] <= 12 || (validity && x->nulls && !cdv_bit(validity, i))) continue;
    int64_t stop = (int64_t)view[3] + view[0];
    if (view[2] < 0 || view[2] >= n_data || view[3] < 0 || stop > cdv_data_size(x->a, view[2]))
      return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "view %lld points outside its data", (long long)(i - x->offset));
    if (view[3] < starts[view[2]]) starts[view[2]] = view[3];
    if (stop > stops[view[2]]) stops[view[2]] = stop;
  }
  for (int64_t k = 0; k < n_data; k++)
    if (starts[k] > stops[k]) starts[k] = stops[k];
  return 0;
}

/* One node while it is planned. */
struct node {
  struct cdv_pending_node x; /* a copy: the list of items may move */
  struct cdv_layout l;
  struct ends ends, views; /* what the offsets, the list views span; of run-end encoded ones the runs */
  bool validity;           /* it takes its bitmap along */
  int64_t base, n;         /* the copied rows: where they begin, and how many there are from there */
  int64_t n_data;          /* data buffers of views */
  int64_t *starts;         /* of these what the rows point to: from here on, and up to starts[n_data + k]; NULL: all */
};

static bool is_list_view(const struct cdv_layout *l) {
  return l->type == CDV_LIST_VIEW || l->type == CDV_LARGE_LIST_VIEW;
}

/* The copied rows begin at a byte of the bitmap, so that no bit is shifted. */
static void choose_rows(const struct cdv_plan *p, struct node *d) {
  const struct cdv_pending_node *x = &d->x;
  d->validity = cdv_has_validity(&d->l) && x->a->buffers[0] && x->nulls != 0;
  d->base = d->validity || d->l.type == CDV_BOOL ? x->offset & ~(int64_t)7 : x->offset;
  d->n = x->length ? x->offset + x->length - d->base : 0;
  if (d->l.type != CDV_RUN_END)
    x->to->offset = d->n ? x->offset - d->base : 0;
  else if (!p->host_readable && d->n)
    x->to->offset = x->offset; /* the runs stay as they are, and the offset with them */
}

/* What the rows refer to below and beside them. */
static int find_ranges(struct cdv_plan *p, struct node *d) {
  const struct ArrowArray *a = d->x.a;
  if (d->l.type == CDV_RUN_END) d->ends = run_range(p, &d->x);
  if (d->n && has_offsets(&d->l)) {
    int64_t most = d->l.n_buffers == 2 ? a->children[0]->length : INT64_MAX;
    if (d->ends.first < 0 || d->ends.last < d->ends.first || d->ends.last > most)
      return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "the offsets run from %lld to %lld", (long long)d->ends.first,
                      (long long)d->ends.last);
  }
  if (!is_list_view(&d->l)) return 0;
  d->views = (struct ends){0, a->children[0]->length};
  if (!p->host_readable || !d->n) return 0;
  d->views = view_range(&d->x, &d->l);
  if (d->views.first < 0 || d->views.last > a->children[0]->length)
    return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "list views point outside their child");
  return 0;
}

/* The node of the result, with room for its buffers and the nodes below. */
static int make_node(struct cdv_plan *p, const struct node *d) {
  const struct cdv_pending_node *x = &d->x;
  const struct ArrowArray *a = x->a;
  struct ArrowArray *to = x->to;
  to->length = x->length;
  to->null_count = d->l.type == CDV_NULL ? x->length : d->validity ? x->nulls : 0;
  if (d->validity && x->nulls < 0 && p->host_readable)
    to->null_count = x->length - cdv_bits_count(a->buffers[0], x->offset, x->length);
  return cdv_node_room(&p->arena, to, a->n_buffers, a->n_children, a->dictionary);
}

/* Of a slice of views: only the data that they point to. */
static int cut_data(struct cdv_plan *p, struct node *d) {
  d->n_data = d->l.type == CDV_BINARY_VIEW ? d->x.a->n_buffers - 3 : 0;
  d->starts = NULL;
  if (!d->n_data || !d->n || !p->host_readable || d->x.length >= d->x.a->length) return 0;
  d->starts = cdv_arena_get(&p->arena, (size_t)d->n_data * 2 * sizeof *d->starts);
  return d->starts ? view_parts(&d->x, d->n_data, d->starts, d->starts + d->n_data) : ENOMEM;
}

/* The range of a buffer that the rows need, and what its elements need when they are copied. */
static void range_of(const struct cdv_plan *p, const struct node *d, int role, struct cdv_copy_segment *c) {
  int64_t stop;
  cdv_buffer_range(&d->l, role, d->base, d->n, &c->src_offset, &stop);
  c->nbytes = d->n ? stop - c->src_offset : 0;
  if (role == CDV_OFFSETS) c->rebase = d->ends.first;
  if (role == CDV_VALUES) c->rebase = d->x.rebase + d->views.first;
  if (role == CDV_VIEWS) c->starts = d->starts, c->n_starts = d->n_data;
  bool list_view = is_list_view(&d->l);
  if (list_view && role == CDV_VALUES && p->host_readable) c->max_value = d->views.last - d->views.first;
  bool refers = role == CDV_OFFSETS || role == CDV_VIEWS || (list_view && role != CDV_VALIDITY);
  if (refers && (p->host_readable || c->rebase || p->to->table.device_type == ARROW_DEVICE_CPU))
    c->n_leading = d->x.offset - d->base;
}

static int add_buffer(struct cdv_plan *p, const struct node *d, int i) {
  int role = cdv_layout_buffer_types(&d->l)[i];
  struct cdv_copy_segment c = {
      .src = d->x.a->buffers[i], .on_host = p->host_readable, .max_value = -1, .width = d->l.width};
  if (role == CDV_VALIDITY && !d->validity) return 0;
  if (role == CDV_OFFSETS && !d->n) { /* one zero offset: some consumers refuse NULL */
    c.src = NULL;
    c.on_host = true;
    c.nbytes = d->l.width;
    return add_piece(p, &d->x, i, &c);
  }
  if (role == CDV_BYTES) {
    c.src_offset = d->ends.first;
    c.nbytes = d->n ? d->ends.last - d->ends.first : 0;
  } else {
    range_of(p, d, role, &c);
  }
  if (c.nbytes > 0 && !c.src)
    return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "buffer %d is NULL, %lld bytes are required", i, (long long)c.nbytes);
  return add_piece(p, &d->x, i, &c);
}

/* The data buffers of views, and their sizes, which stay on the CPU on every device. */
static int add_data(struct cdv_plan *p, const struct node *d) {
  const struct ArrowArray *a = d->x.a;
  int64_t *copy = cdv_arena_get(&p->arena, (size_t)(d->n_data ? d->n_data : 1) * sizeof *copy);
  int r = copy ? 0 : ENOMEM;
  d->x.to->buffers[a->n_buffers - 1] = copy;
  for (int64_t i = 0; !r && i < d->n_data; i++) {
    copy[i] = d->starts ? d->starts[d->n_data + i] - d->starts[i] : d->n ? cdv_data_size(a, i) : 0;
    struct cdv_copy_segment c = {
        .src = a->buffers[2 + i], .nbytes = copy[i], .on_host = p->host_readable, .max_value = -1, .width = 1};
    if (d->starts) c.src_offset = d->starts[i];
    r = add_piece(p, &d->x, 2 + i, &c);
  }
  return r;
}

static int add_children(struct cdv_plan *p, const struct node *d) {
  const struct cdv_pending_node *x = &d->x;
  const struct cdv_layout *l = &d->l;
  int64_t n = d->n, spanned = n ? d->ends.last - d->ends.first : 0, first = n ? d->ends.first : 0;
  int r = 0;
  for (int64_t k = 0; !r && k < x->a->n_children; k++) {
    switch (l->type) {
      case CDV_STRUCT:
      case CDV_SPARSE_UNION: r = child_item(p, x, k, d->base, n, 0); break;
      case CDV_FIXED_LIST: r = child_item(p, x, k, d->base * l->list_size, n * l->list_size, 0); break;
      case CDV_LIST:
      case CDV_LARGE_LIST:
      case CDV_MAP: r = child_item(p, x, k, first, spanned, 0); break;
      case CDV_LIST_VIEW:
      case CDV_LARGE_LIST_VIEW:
        r = child_item(p, x, k, d->views.first, n ? d->views.last - d->views.first : 0, 0);
        break;
      case CDV_RUN_END: r = child_item(p, x, k, first, spanned, k == 0 && p->host_readable ? x->offset : 0); break;
      default: r = child_item(p, x, k, 0, n ? x->a->children[k]->length : 0, 0); break; /* dense union: shared */
    }
  }
  if (!r && x->a->dictionary) r = child_item(p, x, -1, 0, x->a->dictionary->length, 0);
  return r;
}

static int plan_node(struct cdv_plan *p, const struct cdv_pending_node *x, const struct ends *known) {
  struct node d;
  int r = parse(x, &d.l);
  if (r) return r;
  d.x = *x;
  d.ends = *known;
  d.views = (struct ends){0, 0};
  choose_rows(p, &d);
  r = find_ranges(p, &d);
  if (!r) r = make_node(p, &d);
  if (!r) r = cut_data(p, &d);
  for (int i = 0; !r && i < d.l.n_buffers; i++) r = add_buffer(p, &d, i);
  if (!r && d.l.type == CDV_BINARY_VIEW) r = add_data(p, &d);
  return r ? r : add_children(p, &d);
}

int cdv_plan_make(struct cdv_plan *p, struct ArrowArray *top) {
  struct cdv_array *a = p->src;
  struct cdv_pending_node first = {a->schema->node, a->node, top, a->offset, a->length, cdv_array_null_count(a), 0};
  int r = add_item(p, &first);
  for (size_t begin = 0; !r && begin < p->n_items;) { /* level by level */
    size_t end = p->n_items;
    struct ends *ends = calloc(end - begin, sizeof *ends);
    if (!ends) return cdv_fail_memory((int64_t)((end - begin) * sizeof *ends), "sizes");
    r = learn_ends(p, begin, end, ends);
    for (size_t i = begin; !r && i < end; i++) r = plan_node(p, &p->items[i], &ends[i - begin]);
    free(ends);
    begin = end;
  }
  return r;
}

void cdv_plan_free(struct cdv_plan *p) {
  free(p->segments);
  free(p->items);
}

/* ---- layout on the target ---- */
/* Is it host memory that the target's copies would be slow or not asynchronous from? */
static bool is_pageable(const struct cdv_plan *p, const struct cdv_copy_segment *x) {
  const cdevice_backend *b = &p->to->table;
  int32_t type;
  int64_t device = p->to_device, nbytes;
  return b->locate(b->self, (const char *)x->src + x->src_offset, &type, &device, &nbytes, NULL) != 0;
}

/* Small pieces are packed; large ones go by themselves, except from pageable memory to a device that has pinned.
 * Pieces of medium size behind one that is pageable are taken to be so: asking the driver for each of a thousand
 * columns would cost as much as copying some of them. */
static void choose_staged(struct cdv_plan *p) {
  bool pageable = false;
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU,
       pins = !to_cpu && !p->via_host && cdv_has_pinned_staging(p->to);
  for (size_t i = 0, end; i < p->n_segments; i = end) { /* one buffer after the other */
    struct cdv_copy_segment *x = &p->segments[i];
    bool adjusted = false, staged = p->via_host;
    int64_t nbytes = 0;
    for (end = i; end < p->n_segments && (end == i || p->segments[end].joined); end++) {
      nbytes += p->segments[end].nbytes;
      adjusted = adjusted || cdv_is_adjusted(&p->segments[end]) || !p->segments[end].src;
    }
    if (!staged && x->on_host && !to_cpu)
      staged = nbytes / (int64_t)(end - i) < (end - i > 1 ? JOINED : CDV_SMALL) || adjusted ||
               (pins && ((pageable && nbytes < MEDIUM) || (pageable = is_pageable(p, x))));
    for (size_t k = i; k < end; k++) p->segments[k].staged = staged;
  }
}

static int64_t padded(const struct cdv_plan *p, int64_t n) {
  return (n + p->alignment - 1) / p->alignment * p->alignment;
}

/* The source's one block as it is, when the rows are all of it: one copy for everything. */
static bool takes_whole(const struct cdv_plan *p) {
  if (!p->packed || p->host_readable || p->via_host || !p->n_segments) return false;
  int64_t used = 0;
  for (size_t i = 0; i < p->n_segments; i++) {
    if (p->segments[i].src_offset || p->segments[i].on_host) return false;
    used += padded(p, p->segments[i].nbytes); /* a copy of the parts has gaps too */
  }
  int64_t block = p->src->root->packed->nbytes;
  return used >= block / 2 || block <= CHEAP_BLOCK;
}

int cdv_plan_lay_out(struct cdv_plan *p) {
  choose_staged(p);
  p->copy_whole_block = takes_whole(p);
  if (p->copy_whole_block) {
    p->total = p->src->root->packed->nbytes;
    for (size_t i = 0; i < p->n_segments; i++) p->segments[i].dst_offset = p->segments[i].packed_offset;
  }
  for (int pass = 0; pass < 2 && !p->copy_whole_block; pass++) /* segments packed together lie together */
    for (size_t i = 0; i < p->n_segments; i++) {
      struct cdv_copy_segment *x = &p->segments[i];
      if (x->staged != (pass == 0)) continue;
      x->dst_offset = p->total;
      if (x->nbytes > INT64_MAX / 2 - p->total) return cdv_fail_memory(x->nbytes, "a copy");
      p->total += x->nbytes;
      if (i + 1 == p->n_segments || !x[1].joined) p->total = padded(p, p->total);
    }
  for (size_t i = 0; i < p->n_segments; i++)
    CDV_ASSERT(p->segments[i].dst_offset >= 0 && p->segments[i].nbytes <= p->total - p->segments[i].dst_offset);
  return 0;
}
