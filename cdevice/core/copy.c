/* copy.c - the transfer engine: an array to any device, whatever its layout, the rows of the slice alone.
 *
 * A plan lists the pieces (one per buffer of the result) and lays them out in one allocation on the target.  To learn
 * sizes on a device, the two offsets of every variable-size column are gathered level by level, one read for all.
 * Small pieces and those whose offsets must be rebased are packed into staging chunks and sent together; large ones go
 * straight from their memory.  Between two vendors everything passes through two chunks, both sides busy. */
#include "core.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((int64_t)8 << 20)         /* staging memory of one transfer: two of these */
#define SMALL ((int64_t)64 << 10)        /* from here on a piece goes by itself */
#define MEDIUM ((int64_t)1 << 20)        /* from here on it is asked where a piece is */
#define CHEAP_BLOCK ((int64_t)256 << 10) /* padding up to here costs less than a second copy */

static _Atomic int64_t chunk_bytes = CHUNK;
int64_t cdv_copy_chunk(int64_t bytes) { /* for tests; 0: only ask */
  return bytes > 0 ? atomic_exchange(&chunk_bytes, bytes) : atomic_load(&chunk_bytes);
}

/* ---- memory of the result's nodes ---- */
struct arena {
  struct arena *next;
  size_t used, size;
  _Alignas(16) char bytes[];
};

static void *arena_get(struct arena **head, size_t n) {
  n = (n + 15) & ~(size_t)15;
  if (!*head || (*head)->size - (*head)->used < n) {
    size_t size = n > 4000 ? n : *head ? 65000 : 4000;
    struct arena *a = malloc(sizeof *a + size);
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
  return memset(out, 0, n);
}

static void arena_free(struct arena *a) {
  for (struct arena *next; a; a = next) {
    next = a->next;
    free(a);
  }
}

static void copied_release(struct ArrowArray *array) {
  arena_free(array->private_data);
  array->release = NULL;
}

/* ---- the plan ---- */
struct piece {
  const void *src; /* host address, or the source device's buffer; NULL: zeros */
  int64_t from, nbytes, at;
  int64_t place;         /* of src in the source's packed block */
  int64_t rebase;        /* to subtract from each element */
  int64_t lead;          /* elements before the first row: nobody promised anything of them, they become 0 */
  int64_t most;          /* what no element may be above, -1: anything; empty list views point anywhere */
  int width;             /* of an element, with these three */
  const int64_t *starts; /* views: what is cut off the front of each data buffer */
  int64_t n_starts;
  bool on_host; /* src is host memory */
  bool staged;  /* it goes through a staging chunk */
  const void **where;
  int64_t *meta; /* `at`, kept beside the buffers of the result */
};

struct item { /* a node of the source and the rows of it that are wanted */
  const struct ArrowSchema *s;
  const struct ArrowArray *a;
  struct ArrowArray *to;
  int64_t offset, length, nulls;
  int64_t rebase; /* of a run-end child */
};

struct plan {
  struct cdv_array *src;
  struct cdv_slot *from, *to; /* from: NULL for host memory that needs no backend */
  int64_t from_device, to_device;
  void *from_stream, *to_stream;
  bool readable; /* the source's memory may be read here and now */
  bool packed;   /* the source lies in one allocation of ours */
  struct arena *arena;
  struct piece *pieces;
  size_t n_pieces, room;
  struct item *items;
  size_t n_items, items_room;
  int64_t total, alignment;
  bool whole;               /* the source's packed block is taken as it is */
  bool across;              /* two vendors: everything through staging chunks */
  bool ordered;             /* from_stream follows the source's event */
  bool sent;                /* the target's stream was given something */
  bool pending;             /* after a failure: a device may still write to our memory or read it */
  struct cdv_leftover left; /* host memory that goes back with it */
};

static int backend_error(struct plan *p, struct cdv_slot *slot, int code, const cdevice_error *err, const char *doing) {
  int64_t id = slot == p->to ? p->to_device : p->from_device;
  return cdv_fail_backend(code, err, slot->table.device_type, id, doing);
}

static int grow(void **list, size_t *room, size_t need, size_t size) {
  if (need <= *room) return 0;
  size_t n = need * 2 + 16;
  void *more = realloc(*list, n * size);
  if (!more) return cdv_fail_memory((int64_t)(n * size), "the plan of a copy");
  *list = more;
  *room = n;
  return 0;
}

/* The result's nodes carry, behind their buffers, where each lies in the allocation and its size. */
static int64_t *node_meta(const struct ArrowArray *a) { return (int64_t *)(a->buffers + a->n_buffers); }

/* Buffer i of a result's node; its size is noted beside the buffers. */
static int add_piece(struct plan *p, const struct item *node, int64_t i, struct piece *x) {
  if (x->nbytes <= 0) return 0;
  x->where = &node->to->buffers[i];
  x->meta = node_meta(node->to) + i;
  x->meta[node->to->n_buffers] = x->nbytes;
  if (p->packed) x->place = node_meta(node->a)[i];
  int r = grow((void **)&p->pieces, &p->room, p->n_pieces + 1, sizeof *p->pieces);
  if (!r) p->pieces[p->n_pieces++] = *x;
  return r;
}

static int add_item(struct plan *p, const struct item *x) {
  int r = grow((void **)&p->items, &p->items_room, p->n_items + 1, sizeof *p->items);
  if (!r) p->items[p->n_items++] = *x;
  return r;
}

static bool is_adjusted(const struct piece *x) { return x->rebase || x->lead || x->most >= 0 || x->starts; }

static void put_value(void *p, int width, int64_t i, int64_t v) {
  int16_t v2 = (int16_t)v;
  int32_t v4 = (int32_t)v;
  memcpy((char *)p + i * width, width == 2 ? (void *)&v2 : width == 4 ? (void *)&v4 : (void *)&v, (size_t)width);
}

/* Views of elements [at, ...) of a piece: those before the rows become empty ones, the others lose what was cut off the
 * front of their data. */
static void adjust_views(const struct piece *x, char *memory, int64_t at, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int32_t view[4];
    memcpy(view, memory + 16 * i, 16);
    if (at + i < x->lead) {
      memset(view, 0, 16);
    } else {
      /* inline, or the garbage of a null */
      if (!x->starts || view[0] <= 12 || view[2] < 0 || view[2] >= x->n_starts) continue;
      view[3] = (int32_t)((uint32_t)view[3] - (uint32_t)x->starts[view[2]]);
    }
    memcpy(memory + 16 * i, view, 16);
  }
}

/* What a piece's bytes [from, from + nbytes) need after they were copied to `memory`; whole elements. */
static void adjust(const struct piece *x, char *memory, int64_t from, int64_t nbytes) {
  if (!is_adjusted(x)) return;
  int64_t n = nbytes / x->width, at = from / x->width;
  if (x->width == 16) {
    adjust_views(x, memory, at, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t v = at + i < x->lead ? 0 : (int64_t)((uint64_t)cdv_value(memory, x->width, i) - (uint64_t)x->rebase);
    if (x->most >= 0) v = v < 0 ? 0 : v > x->most ? x->most : v;
    put_value(memory, x->width, i, v);
  }
}

/* Copies from the source device into host memory and waits. */
static int read_back(struct plan *p, const cdevice_copy *copies, int64_t n) {
  const cdevice_backend *b = &p->from->table;
  cdevice_error err = {.struct_size = sizeof err};
  cdevice_event event = {0};
  int r = b->copy(b->self, CDEVICE_COPY_D2H, copies, n, p->from_stream, &err);
  if (!r) {
    r = b->event_record(b->self, p->from_device, p->from_stream, &event, &err);
    if (!r && event.sync_event) r = b->event_wait_host(b->self, p->from_device, event.sync_event, &err);
    if (event.sync_event) b->event_destroy(b->self, p->from_device, &event);
  }
  if (!r) return 0;
  p->pending = true;
  return backend_error(p, p->from, r, &err, "reading from the device");
}

/* One chunk of a large read: what the device writes there, and where it belongs. */
struct drain {
  struct cdv_stage stage;
  cdevice_copy *parts;
  struct cdv_move *moves;
  int64_t n;
  cdevice_event event;
  bool pending;
};

static int drain_out(struct plan *p, struct drain *d) {
  const cdevice_backend *b = &p->from->table;
  cdevice_error err = {.struct_size = sizeof err};
  if (!d->pending) return 0;
  d->pending = false;
  int r = d->event.sync_event ? b->event_wait_host(b->self, p->from_device, d->event.sync_event, &err) : 0;
  b->event_destroy(b->self, p->from_device, &d->event);
  if (r) return backend_error(p, p->from, r, &err, "reading from the device");
  for (int64_t i = 0, at = 0; i < d->n; at += d->parts[i++].nbytes)
    d->moves[i] = (struct cdv_move){.dst = (char *)d->parts[i].dst + d->parts[i].dst_offset,
                                    .src = d->stage.memory + at,
                                    .nbytes = d->parts[i].nbytes};
  cdv_move(d->moves, (size_t)d->n);
  return 0;
}

/* Fills a chunk from (*i, *skip) on; each part is remembered with its place in host memory and sent to the chunk. */
static int drain_in(struct plan *p, struct drain *d, const cdevice_copy *copies, int64_t n, int64_t *i, int64_t *skip) {
  const cdevice_backend *b = &p->from->table;
  cdevice_error err = {.struct_size = sizeof err};
  cdevice_copy *there = d->parts + n; /* the second half: the same parts as the device sees them */
  int64_t used = 0;
  for (d->n = 0; *i < n && used < d->stage.size; d->n++) {
    cdevice_copy part = copies[*i];
    part.dst_offset += *skip;
    part.src_offset += *skip;
    part.nbytes -= *skip;
    if (part.nbytes > d->stage.size - used) part.nbytes = d->stage.size - used;
    d->parts[d->n] = there[d->n] = part;
    there[d->n].dst = d->stage.memory;
    there[d->n].dst_offset = used;
    used += part.nbytes;
    *skip += part.nbytes;
    if (*skip == copies[*i].nbytes) ++*i, *skip = 0;
  }
  int r = b->copy(b->self, CDEVICE_COPY_D2H, there, d->n, p->from_stream, &err);
  if (!r) r = b->event_record(b->self, p->from_device, p->from_stream, &d->event, &err);
  d->pending = !r;
  return r ? backend_error(p, p->from, r, &err, "reading from the device") : 0;
}

static void put_or_leave(struct plan *p, struct cdv_stage *stage) {
  if (p->pending)
    p->left.stages[p->left.n_stages++] = *stage;
  else
    cdv_stage_put(stage);
}

/* As read_back, through two pinned chunks: while the device fills one the other is emptied. */
static int read_back_pinned(struct plan *p, const cdevice_copy *copies, int64_t n, int64_t total) {
  const cdevice_backend *b = &p->from->table;
  int64_t size = atomic_load(&chunk_bytes), i = 0, skip = 0;
  struct drain drains[2];
  int r = 0;
  memset(drains, 0, sizeof drains);
  if (size > total) size = total;
  for (int k = 0; !r && k < (size < total ? 2 : 1); k++) {
    r = cdv_stage_get(p->from, p->from_device, size, &drains[k].stage);
    drains[k].parts = malloc((size_t)n * 2 * sizeof *drains[k].parts);
    drains[k].moves = malloc((size_t)n * sizeof *drains[k].moves);
    if (!r && !(drains[k].parts && drains[k].moves)) r = cdv_fail_memory(n, "a copy");
  }
  for (int turn = 0; !r && i < n; turn ^= size < total) {
    r = drain_out(p, &drains[turn]);
    if (!r) r = drain_in(p, &drains[turn], copies, n, &i, &skip);
  }
  for (int k = 0; !r && k < 2; k++) r = drain_out(p, &drains[k]);
  p->pending = p->pending || r;
  for (int k = 0; k < 2; k++) {
    if (drains[k].pending) b->event_destroy(b->self, p->from_device, &drains[k].event);
    put_or_leave(p, &drains[k].stage);
    free(drains[k].parts);
    free(drains[k].moves);
  }
  return r;
}

/* Between two devices of a family the copy follows the event on the target's stream.  What must be read before that goes
 * over a stream of the source's own device, which has to follow the event too. */
static int follow_source(struct plan *p) {
  if (p->ordered) return 0;
  p->ordered = true;
  return cdv_event_wait_stream(p->src, p->src->root->own.device_type, p->from_device, p->from_stream);
}

/* ---- the two offsets of a variable-size node ---- */
struct ends {
  int64_t first, last;
};

static bool has_offsets(const struct cdv_layout *l) {
  return l->n_buffers > 1 && cdv_layout_roles(l)[1] == CDV_OFFSETS;
}

static bool with_bits(const struct item *x, const struct cdv_layout *l) {
  bool validity = l->n_buffers && cdv_layout_roles(l)[0] == CDV_VALIDITY && x->a->buffers[0] && x->nulls != 0;
  return validity || l->type == CDV_BOOL;
}

/* Where the copied rows begin: at a byte of the bitmap, so that no bit is shifted. */
static int64_t base_of(const struct item *x, const struct cdv_layout *l) {
  return with_bits(x, l) ? x->offset & ~(int64_t)7 : x->offset;
}

static int learn_ends(struct plan *p, size_t begin, size_t end, struct ends *out) {
  size_t n = end - begin, wanted = 0;
  if (p->readable) {
    for (size_t i = 0; i < n; i++) {
      const struct item *x = &p->items[begin + i];
      struct cdv_layout l;
      const char *why;
      if (cdv_layout_parse(x->s->format, &l, &why)) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
      if (!has_offsets(&l) || !x->length) continue;
      out[i].first = cdv_value(x->a->buffers[1], l.width, x->offset);
      out[i].last = cdv_value(x->a->buffers[1], l.width, x->offset + x->length);
    }
    return 0;
  }
  cdevice_copy *copies = malloc(2 * n * sizeof *copies);
  int64_t *values = calloc(2 * n, sizeof *values);
  int r = copies && values ? 0 : cdv_fail_memory((int64_t)(2 * n * sizeof *copies), "sizes");
  for (size_t i = 0; !r && i < n; i++) {
    const struct item *x = &p->items[begin + i];
    struct cdv_layout l;
    const char *why;
    if (cdv_layout_parse(x->s->format, &l, &why)) {
      r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
      break;
    }
    if (!has_offsets(&l) || !x->length) continue;
    int64_t begin = x->offset, stop = x->offset + x->length;
    if (p->packed && begin == x->a->offset &&
        stop == x->a->offset + x->a->length) { /* we wrote it: known without asking */
      out[i].first = 0;
      out[i].last = l.n_buffers == 3 ? node_meta(x->a)[x->a->n_buffers + 2] : x->a->children[0]->length;
      continue;
    }
    copies[wanted++] =
        (cdevice_copy){&values[2 * i], 0, -1, x->a->buffers[1], begin * l.width, p->from_device, l.width};
    copies[wanted++] =
        (cdevice_copy){&values[2 * i + 1], 0, -1, x->a->buffers[1], stop * l.width, p->from_device, l.width};
  }
  if (!r && wanted) r = follow_source(p);
  if (!r && wanted) r = read_back(p, copies, (int64_t)wanted);
  for (size_t k = 0; !r && k < wanted; k += 2) {
    size_t i = (size_t)((int64_t *)copies[k].dst - values) / 2;
    int width = (int)copies[k].nbytes;
    out[i].first = cdv_value(&values[2 * i], width, 0);
    out[i].last = cdv_value(&values[2 * i + 1], width, 0);
  }
  free(copies);
  if (p->pending)
    p->left.memory = values;
  else
    free(values);
  return r;
}

/* ---- one node ---- */
static int64_t cut_nulls(const struct ArrowArray *a, int64_t length) {
  return a->null_count == 0 || length == 0 ? 0 : length == a->length ? a->null_count : -1;
}

static int child_item(struct plan *p, const struct item *x, int64_t k, int64_t offset, int64_t length, int64_t rebase) {
  const struct ArrowArray *c = k < 0 ? x->a->dictionary : x->a->children[k];
  struct ArrowArray *to = k < 0 ? x->to->dictionary : x->to->children[k];
  struct item y = {
      k < 0 ? x->s->dictionary : x->s->children[k], c, to, c->offset + offset, length, cut_nulls(c, length), rebase};
  return add_item(p, &y);
}

/* Elements that list views point to, in readable memory. */
static struct ends view_range(const struct item *x, const struct cdv_layout *l) {
  struct ends e = {INT64_MAX, 0};
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int64_t size = cdv_value(x->a->buffers[2], l->width, i), at = cdv_value(x->a->buffers[1], l->width, i), end;
    if (size <= 0) continue;
    if (at < e.first) e.first = at;
    if (__builtin_add_overflow(at, size, &end)) end = INT64_MAX;
    if (end > e.last) e.last = end;
  }
  if (e.first > e.last) e.first = e.last = 0;
  return e;
}

static int children_of(struct plan *p, const struct item *x, const struct cdv_layout *l, int64_t base, int64_t n,
                       const struct ends *ends, const struct ends *views) {
  int r = 0;
  for (int64_t k = 0; !r && k < x->a->n_children; k++) {
    const struct ArrowArray *c = x->a->children[k];
    switch (l->type) {
      case CDV_STRUCT:
      case CDV_SPARSE_UNION: r = child_item(p, x, k, base, n, 0); break;
      case CDV_FIXED_LIST: r = child_item(p, x, k, base * l->list_size, n * l->list_size, 0); break;
      case CDV_LIST:
      case CDV_LARGE_LIST:
      case CDV_MAP: r = child_item(p, x, k, n ? ends->first : 0, n ? ends->last - ends->first : 0, 0); break;
      case CDV_LIST_VIEW:
      case CDV_LARGE_LIST_VIEW: r = child_item(p, x, k, views->first, n ? views->last - views->first : 0, 0); break;
      case CDV_RUN_END:
        r = child_item(p, x, k, n ? ends->first : 0, n ? ends->last - ends->first : 0,
                       k == 0 && p->readable ? x->offset : 0);
        break;
      default: r = child_item(p, x, k, 0, n ? c->length : 0, 0); break; /* dense union: the children are shared */
    }
  }
  if (!r && x->a->dictionary) r = child_item(p, x, -1, 0, x->a->dictionary->length, 0);
  return r;
}

/* Runs that cover the rows; where nothing can be read, all of them. */
static struct ends run_range(struct plan *p, const struct item *x) {
  if (!p->readable || !x->length) return (struct ends){0, x->a->children[0]->length};
  return (struct ends){cdv_run_of(x->s, x->a, x->offset), cdv_run_of(x->s, x->a, x->offset + x->length - 1) + 1};
}

/* The part of each data buffer that the rows' views point to: [starts[k], stops[k]). */
static int view_parts(const struct item *x, int64_t n_data, int64_t *starts, int64_t *stops) {
  const int64_t *sizes = x->a->buffers[x->a->n_buffers - 1];
  const uint8_t *validity = x->a->buffers[0];
  for (int64_t k = 0; k < n_data; k++) starts[k] = INT32_MAX, stops[k] = 0;
  for (int64_t i = x->offset; i < x->offset + x->length; i++) {
    int32_t view[4];
    memcpy(view, (const char *)x->a->buffers[1] + 16 * i, 16);
    if (view[0] <= 12 || (validity && x->nulls && !cdv_bit(validity, i))) continue;
    int64_t stop = (int64_t)view[3] + view[0];
    if (view[2] < 0 || view[2] >= n_data || view[3] < 0 || stop > sizes[view[2]])
      return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "view %lld points outside its data", (long long)(i - x->offset));
    if (view[3] < starts[view[2]]) starts[view[2]] = view[3];
    if (stop > stops[view[2]]) stops[view[2]] = stop;
  }
  for (int64_t k = 0; k < n_data; k++)
    if (starts[k] > stops[k]) starts[k] = stops[k];
  return 0;
}

static int plan_node(struct plan *p, const struct item *given, const struct ends *known) {
  struct item here = *given, *x = &here; /* the list of items may move */
  struct cdv_layout l;
  const char *why;
  if (cdv_layout_parse(x->s->format, &l, &why)) return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%s", why);
  const unsigned char *roles = cdv_layout_roles(&l);
  const struct ArrowArray *a = x->a;
  struct ArrowArray *to = x->to;
  struct ends ends = *known, views = {0, 0};
  bool validity = l.n_buffers && roles[0] == CDV_VALIDITY && a->buffers[0] && x->nulls != 0;
  int64_t base = base_of(x, &l), n = x->length ? x->offset + x->length - base : 0;
  bool runs = l.type == CDV_RUN_END;
  if (runs) {
    ends = run_range(p, x);
    if (!p->readable && n) { /* the runs stay as they are, and the offset with them */
      to->offset = x->offset;
    }
  } else {
    to->offset = n ? x->offset - base : 0;
  }
  if (n && has_offsets(&l)) {
    int64_t most = l.n_buffers == 2 ? a->children[0]->length : INT64_MAX;
    if (ends.first < 0 || ends.last < ends.first || ends.last > most)
      return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "the offsets run from %lld to %lld", (long long)ends.first,
                      (long long)ends.last);
  }
  if (l.type == CDV_LIST_VIEW || l.type == CDV_LARGE_LIST_VIEW) {
    views = (struct ends){0, a->children[0]->length};
    if (p->readable && n) {
      views = view_range(x, &l);
      if (views.first < 0 || views.last > a->children[0]->length)
        return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "list views point outside their child");
    }
  }
  to->length = x->length;
  to->null_count = l.type == CDV_NULL ? x->length : validity ? x->nulls : 0;
  if (validity && x->nulls < 0 && p->readable)
    to->null_count = x->length - cdv_bits_count(a->buffers[0], x->offset, x->length);
  to->n_buffers = a->n_buffers;
  to->n_children = a->n_children;
  to->release = copied_release;
  size_t nb = (size_t)a->n_buffers, nc = (size_t)a->n_children, nd = a->dictionary ? 1 : 0;
  if (nb && !(to->buffers = arena_get(&p->arena, nb * (sizeof(void *) + 2 * sizeof(int64_t))))) return ENOMEM;
  if (nc + nd) {
    struct ArrowArray *below = arena_get(&p->arena, (nc + nd) * sizeof *below + nc * sizeof(void *));
    if (!below) return ENOMEM;
    to->children = nc ? (struct ArrowArray **)(below + nc + nd) : NULL;
    for (size_t i = 0; i < nc; i++) to->children[i] = &below[i];
    to->dictionary = nd ? &below[nc] : NULL;
  }
  int r = 0;
  int64_t n_data = l.type == CDV_BINARY_VIEW ? a->n_buffers - 3 : 0, *starts = NULL;
  if (n_data && n && p->readable && x->length < a->length) { /* a slice: only what its views point to */
    starts = arena_get(&p->arena, (size_t)n_data * 2 * sizeof *starts);
    r = starts ? view_parts(x, n_data, starts, starts + n_data) : ENOMEM;
  }
  for (int i = 0; !r && i < l.n_buffers; i++) {
    int role = roles[i];
    struct piece c = {.src = a->buffers[i], .on_host = p->readable, .most = -1, .width = l.width};
    if (role == CDV_OFFSETS && !n) { /* one zero offset: some consumers refuse NULL */
      c.src = NULL;
      c.on_host = true;
      c.nbytes = l.width;
    } else if (role == CDV_VALIDITY && !validity) {
      continue;
    } else if (role == CDV_BYTES) {
      c.from = ends.first;
      c.nbytes = n ? ends.last - ends.first : 0;
    } else {
      int64_t stop;
      cdv_buffer_range(&l, role, base, n, &c.from, &stop);
      c.nbytes = n ? stop - c.from : 0;
      if (role == CDV_OFFSETS) c.rebase = ends.first;
      if (role == CDV_VALUES) c.rebase = x->rebase + views.first;
      if (role == CDV_VIEWS) c.starts = starts, c.n_starts = n_data;
      bool list_view = l.type == CDV_LIST_VIEW || l.type == CDV_LARGE_LIST_VIEW;
      if (list_view && role == CDV_VALUES && p->readable) c.most = views.last - views.first;
      bool refers = role == CDV_OFFSETS || role == CDV_VIEWS || (list_view && role != CDV_VALIDITY);
      if (refers && (p->readable || c.rebase || p->to->table.device_type == ARROW_DEVICE_CPU))
        c.lead = x->offset - base;
    }
    if (c.nbytes > 0 && !c.src && !(role == CDV_OFFSETS && !n))
      return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "buffer %d is NULL, %lld bytes of it are needed", i,
                      (long long)c.nbytes);
    r = add_piece(p, x, i, &c);
  }
  if (!r && l.type == CDV_BINARY_VIEW) {
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    int64_t *copy = arena_get(&p->arena, (size_t)(n_data ? n_data : 1) * sizeof *copy);
    if (!copy) return ENOMEM;
    to->buffers[a->n_buffers - 1] = copy; /* the sizes stay on the CPU on every device */
    for (int64_t i = 0; !r && i < n_data; i++) {
      copy[i] = starts ? starts[n_data + i] - starts[i] : n ? sizes[i] : 0;
      struct piece c = {.src = a->buffers[2 + i], .nbytes = copy[i], .on_host = p->readable, .most = -1, .width = 1};
      if (starts) c.from = starts[i];
      r = add_piece(p, x, 2 + i, &c);
    }
  }
  return r ? r : children_of(p, x, &l, base, n, &ends, &views);
}

static int make_plan(struct plan *p, struct ArrowArray *top) {
  struct cdv_array *a = p->src;
  struct item first = {a->schema->node, a->node, top, a->offset, a->length, cdv_array_null_count(a), 0};
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

/* ---- layout on the target ---- */
/* Is it host memory that the target's copies would be slow or not asynchronous from? */
static bool is_pageable(const struct plan *p, const struct piece *x) {
  const cdevice_backend *b = &p->to->table;
  int32_t type;
  int64_t device = p->to_device, nbytes;
  return b->locate(b->self, (const char *)x->src + x->from, &type, &device, &nbytes, NULL) != 0;
}

/* Small pieces are packed; large ones go by themselves, except from pageable memory to a device that has pinned.  Pieces
 * of medium size behind one that is pageable are taken to be so: asking the driver for each of a thousand columns would
 * cost as much as copying some of them. */
static void choose_staged(struct plan *p) {
  bool pageable = false;
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU, pins = !to_cpu && !p->across && cdv_stage_pins(p->to);
  for (size_t i = 0; i < p->n_pieces; i++) {
    struct piece *x = &p->pieces[i];
    if (p->across)
      x->staged = true;
    else if (x->on_host && !to_cpu)
      x->staged = x->nbytes < SMALL || is_adjusted(x) || !x->src ||
                  (pins && ((pageable && x->nbytes < MEDIUM) || (pageable = is_pageable(p, x))));
  }
}

static int64_t padded(const struct plan *p, int64_t n) { return (n + p->alignment - 1) / p->alignment * p->alignment; }

/* The source's one block as it is, when the rows are all of it: one copy for everything. */
static bool takes_whole(const struct plan *p) {
  if (!p->packed || p->readable || p->across || !p->n_pieces) return false;
  int64_t used = 0;
  for (size_t i = 0; i < p->n_pieces; i++) {
    if (p->pieces[i].from || p->pieces[i].on_host) return false;
    used += p->pieces[i].nbytes;
  }
  int64_t block = p->src->root->blocks[0].nbytes;
  return used >= block / 2 || block <= CHEAP_BLOCK;
}

static int lay_out(struct plan *p) {
  choose_staged(p);
  p->whole = takes_whole(p);
  if (p->whole) {
    p->total = p->src->root->blocks[0].nbytes;
    for (size_t i = 0; i < p->n_pieces; i++) p->pieces[i].at = p->pieces[i].place;
  }
  for (int pass = 0; pass < 2 && !p->whole; pass++) /* what is packed together lies together */
    for (size_t i = 0; i < p->n_pieces; i++) {
      struct piece *x = &p->pieces[i];
      if (x->staged != (pass == 0)) continue;
      x->at = p->total;
      if (x->nbytes > INT64_MAX / 2 - p->total) return cdv_fail_memory(x->nbytes, "a copy");
      p->total += padded(p, x->nbytes);
    }
  return 0;
}

/* ---- moving bytes ---- */
struct chunk {
  struct cdv_stage *stage;
  cdevice_event event;
  bool pending;
};

static int record(struct plan *p, cdevice_event *out) {
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  memset(out, 0, sizeof *out);
  int r = b->event_record(b->self, p->to_device, p->to_stream, out, &err);
  return r ? backend_error(p, p->to, r, &err, "recording an event") : 0;
}

static int chunk_free_again(struct plan *p, struct chunk *s) {
  if (!s->pending) return 0;
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  int r = s->event.sync_event ? b->event_wait_host(b->self, p->to_device, s->event.sync_event, &err) : 0;
  b->event_destroy(b->self, p->to_device, &s->event);
  s->pending = false;
  return r ? backend_error(p, p->to, r, &err, "waiting for a staging chunk") : 0;
}

static int send(struct plan *p, const cdevice_copy *copies, int64_t n, int kind) {
  if (!n) return 0;
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  p->sent = true;
  int r = b->copy(b->self, kind, copies, n, p->to_stream, &err);
  return r ? backend_error(p, p->to, r, &err, "copying to the device") : 0;
}

/* Fills stage bytes [0, n) with the target's bytes [at, at + n); pieces [i, end) overlap it in order. */
static int fill_stage(struct plan *p, struct cdv_stage *s, int64_t at, int64_t n, size_t *from_piece) {
  cdevice_copy *reads = NULL;
  struct cdv_move *moves = NULL;
  size_t n_reads = 0, n_moves = 0, room = 0, room_for_moves = 0, first = *from_piece;
  int r = 0;
  size_t i = *from_piece;
  for (; !r && i < p->n_pieces; i++) {
    struct piece *x = &p->pieces[i];
    if (!x->staged) continue;
    if (x->at >= at + n) break;
    int64_t skip = at > x->at ? at - x->at : 0, put = x->at + skip - at;
    int64_t m = x->nbytes - skip;
    if (m <= 0) continue;
    if (m > n - put) m = n - put;
    if (!x->src) {
      memset(s->memory + put, 0, (size_t)m);
    } else if (x->on_host) {
      r = grow((void **)&moves, &room_for_moves, n_moves + 1, sizeof *moves);
      if (!r) moves[n_moves++] = (struct cdv_move){s->memory + put, (const char *)x->src + x->from + skip, m, 0};
    } else {
      r = grow((void **)&reads, &room, n_reads + 1, sizeof *reads);
      if (!r) reads[n_reads++] = (cdevice_copy){s->memory + put, 0, -1, x->src, x->from + skip, p->from_device, m};
    }
    if (x->at + x->nbytes > at + n) break; /* continued in the next chunk */
  }
  *from_piece = i;
  if (!r) cdv_move(moves, n_moves);
  if (!r && n_reads) r = read_back(p, reads, (int64_t)n_reads);
  free(reads);
  free(moves);
  for (size_t k = first; !r && k < p->n_pieces && k <= i; k++) {
    struct piece *x = &p->pieces[k];
    if (!x->staged || !x->src || x->at >= at + n || x->at + x->nbytes <= at) continue;
    int64_t skip = at > x->at ? at - x->at : 0, put = x->at + skip - at, m = x->nbytes - skip;
    if (m > n - put) m = n - put;
    adjust(x, s->memory + put, skip, m);
  }
  return r;
}

/* Sends the target's bytes [0, end) through two chunks. */
static int send_staged(struct plan *p, const cdevice_block *block, int64_t end, struct cdv_stage stages[2]) {
  int64_t size = atomic_load(&chunk_bytes);
  size = size < 64 ? 64 : size / 64 * 64; /* elements are never cut: pieces begin at multiples of 64 */
  struct chunk chunks[2] = {{.stage = &stages[0]}, {.stage = &stages[1]}};
  size_t piece = 0;
  int r = 0;
  for (int64_t at = 0, turn = 0; !r && at < end; turn++) {
    struct chunk *c = &chunks[turn & 1];
    int64_t n = end - at < size ? end - at : size;
    r = chunk_free_again(p, c);
    if (!r && !c->stage->memory) r = cdv_stage_get(p->to, p->to_device, n, c->stage);
    if (!r) r = fill_stage(p, c->stage, at, n, &piece);
    cdevice_copy copy = {block->data, at, p->to_device, c->stage->memory, 0, -1, n};
    if (!r) r = send(p, &copy, 1, CDEVICE_COPY_H2D);
    at += n;
    if (!r && at < end) {
      r = record(p, &c->event);
      c->pending = !r;
    }
  }
  for (int i = 0; i < 2; i++)
    if (chunks[i].pending) p->to->table.event_destroy(p->to->table.self, p->to_device, &chunks[i].event);
  return r;
}

/* Pieces that need no staging, in one list. */
static int send_direct(struct plan *p, const cdevice_block *block, bool *host_memory_used) {
  cdevice_copy *copies = malloc((p->n_pieces + 1) * sizeof *copies);
  if (!copies) return cdv_fail_memory((int64_t)(p->n_pieces * sizeof *copies), "a copy");
  int64_t n_host = 0, n = 0, total = 0;
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  for (size_t i = 0; i < p->n_pieces; i++) { /* from host memory first */
    struct piece *x = &p->pieces[i];
    if (!x->on_host || x->staged) continue;
    if (!x->src) {
      memset((char *)block->data + x->at, 0, (size_t)x->nbytes); /* only the CPU gets here */
      continue;
    }
    copies[n_host++] = (cdevice_copy){block->data, x->at, p->to_device, x->src, x->from, -1, x->nbytes};
  }
  int r = send(p, copies, n_host, CDEVICE_COPY_H2D);
  *host_memory_used = n_host > 0;
  if (!r && p->whole) {
    const cdevice_block *from = &p->src->root->blocks[0];
    copies[n++] = (cdevice_copy){block->data, 0, p->to_device, from->data, 0, p->from_device, from->nbytes};
  } else if (!r) {
    for (size_t i = 0; i < p->n_pieces; i++) {
      struct piece *x = &p->pieces[i];
      if (!x->on_host)
        copies[n++] = (cdevice_copy){block->data, x->at, p->to_device, x->src, x->from, p->from_device, x->nbytes};
    }
  }
  if (!r && n) {
    if (to_cpu) {
      for (int64_t i = 0; i < n; i++) {
        copies[i].dst = (char *)block->data + copies[i].dst_offset;
        copies[i].dst_offset = 0;
        total += copies[i].nbytes;
      }
      r = total >= SMALL && cdv_stage_pins(p->from) ? read_back_pinned(p, copies, n, total) : read_back(p, copies, n);
    } else {
      bool peer = p->from->table.device_type != p->to->table.device_type || p->from_device != p->to_device;
      r = send(p, copies, n, peer ? CDEVICE_COPY_PEER : CDEVICE_COPY_D2D);
    }
  }
  free(copies);
  if (!r && to_cpu)
    for (size_t i = 0; i < p->n_pieces; i++) {
      struct piece *x = &p->pieces[i];
      adjust(x, (char *)block->data + x->at, 0, x->nbytes);
    }
  return r;
}

/* Offsets that must be rebased but lie on a device and go to one: they travel through the host. */
static int fetch_rebased(struct plan *p) {
  int r = 0;
  for (size_t i = 0; !r && i < p->n_pieces; i++) {
    struct piece *x = &p->pieces[i];
    if (x->on_host || !x->rebase) continue;
    char *memory = arena_get(&p->arena, (size_t)x->nbytes);
    if (!memory) return ENOMEM;
    cdevice_copy copy = {memory, 0, -1, x->src, x->from, p->from_device, x->nbytes};
    r = follow_source(p);
    if (!r) r = read_back(p, &copy, 1);
    x->src = memory;
    x->from = 0;
    x->on_host = true;
  }
  return r;
}

static bool same_family(const struct plan *p) { return p->from && cdv_slot_related(p->from, p->to); }

/* ---- the result ---- */
static int place_buffers(struct plan *p, struct cdv_array *out) {
  const cdevice_backend *b = &p->to->table;
  const cdevice_block whole = out->blocks[0];
  bool address = b->capabilities & CDEVICE_CAP_ADDRESS;
  for (size_t i = 0; i < p->n_pieces; i++) {
    struct piece *x = &p->pieces[i];
    *x->meta = x->at;
    if (address) {
      *x->where = (char *)whole.data + x->at;
      continue;
    }
    cdevice_error err = {.struct_size = sizeof err};
    cdevice_block *v = &out->blocks[out->n_blocks];
    int r = b->view(b->self, &whole, x->at, x->nbytes, v, &err);
    if (r) return backend_error(p, p->to, r, &err, "cutting a buffer out of an allocation");
    out->n_blocks++;
    *x->where = v->data;
  }
  return 0;
}

static int transfer(struct plan *p, struct cdv_array *out) {
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  int r = 0;
  if (!p->total) return 0;
  out->blocks = calloc(1 + (b->capabilities & CDEVICE_CAP_ADDRESS ? 0 : p->n_pieces), sizeof *out->blocks);
  if (!out->blocks) return cdv_fail_memory((int64_t)(p->n_pieces * sizeof *out->blocks), "a copy");
  r = cdv_lend(p->to, p->to_device, p->total, p->to_stream, &out->blocks[0], &out->loan, &err);
  if (r) {
    free(out->blocks);
    out->blocks = NULL;
    char doing[64];
    snprintf(doing, sizeof doing, "allocating %lld bytes", (long long)p->total);
    return backend_error(p, p->to, r, &err, doing);
  }
  out->n_blocks = 1;
  r = place_buffers(p, out);
  if (r) return r;
  struct cdv_stage stages[2] = {{0}, {0}};
  bool to_cpu = b->device_type == ARROW_DEVICE_CPU, host_memory = false;
  int64_t staged = 0;
  for (size_t i = 0; i < p->n_pieces; i++) {
    struct piece *x = &p->pieces[i];
    if (x->staged && x->at + x->nbytes > staged) staged = x->at + x->nbytes;
  }
  if (staged) r = send_staged(p, &out->blocks[0], staged, stages);
  if (!r && !p->across) r = send_direct(p, &out->blocks[0], &host_memory);
  if (!r && !to_cpu) {
    r = cdv_event_record(p->to, p->to_device, p->to_stream, &out->event);
    if (!r && out->event) out->own.sync_event = out->event->event.sync_event;
  }
  bool keep_source = host_memory || (p->from && !to_cpu && !(p->from->table.capabilities & CDEVICE_CAP_ASYNC_FREE));
  if (!r && out->own.sync_event) { /* what the device still reads stays until it has passed the event */
    r = cdv_keep_until(out->event, keep_source ? p->src : NULL, stages);
  }
  if (r && !to_cpu && p->sent) p->pending = true;
  for (int i = 0; i < 2; i++) put_or_leave(p, &stages[i]);
  return r;
}

static int choose_streams(struct plan *p, void *stream) {
  cdevice_error err = {.struct_size = sizeof err};
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  int r = 0;
  if (!to_cpu) {
    p->to_stream = stream;
    if (!stream) r = p->to->table.current_stream(p->to->table.self, p->to_device, &p->to_stream, &err);
    if (r) return backend_error(p, p->to, r, &err, "asking for the current stream");
  }
  if (p->from && !p->across && !to_cpu && p->from_device == p->to_device) {
    p->from_stream = p->to_stream; /* one queue does all, nothing waits on the host */
    return 0;
  }
  if (p->from) {
    p->from_stream = to_cpu ? stream : NULL;
    if (!p->from_stream) r = p->from->table.current_stream(p->from->table.self, p->from_device, &p->from_stream, &err);
    if (r) return backend_error(p, p->from, r, &err, "asking for the current stream");
  }
  return 0;
}

/* Memory that the CPU can read becomes a CPU array as it is. */
static int relabel(struct cdv_array *a, struct cdv_array **out) {
  struct ArrowDeviceArray moved;
  int r = cdv_event_wait_host(a);
  if (!r) r = cdv_array_export(a, &moved);
  if (r) return r;
  moved.device_type = ARROW_DEVICE_CPU;
  moved.device_id = -1;
  moved.sync_event = NULL;
  r = cdv_array_import(&moved, a->schema, 0, out);
  if (r) moved.array.release(&moved.array);
  return r;
}

static void free_arena(void *arena) { arena_free(arena); }

/* After a failure: gives back what was made, once neither device can use it any more. */
static void give_up(struct plan *p, struct cdv_array *made) {
  struct cdv_kept_error kept;
  cdv_error_keep(&kept); /* giving memory back must not hide it */
  struct cdv_leftover *x = &p->left;
  x->nbytes = p->total;
  x->target = made;
  x->memory_of_nodes = made ? NULL : p->arena;
  x->free_nodes = free_arena;
  if (p->pending) x->source = cdv_array_ref(p->src);
  struct cdv_user users[2] = {{p->from, p->from_device, p->from_stream}, {p->to, p->to_device, p->to_stream}};
  if (!p->pending) users[0].slot = users[1].slot = NULL;
  cdv_give_back_behind(x, users);
  cdv_error_back(&kept);
  cdv_error_drop(&kept);
}

/* One attempt; across: through the host even between devices of one family. */
static int attempt(struct plan *p, int32_t type, void *stream, struct cdv_array **out) {
  struct cdv_array *a = p->src;
  const struct ArrowDeviceArray *own = &a->root->own;
  int done = 0, r = 0;
  if (cdv_array_host_accessible(a)) r = cdv_event_ready(a, &done);
  p->readable = done;
  p->across = p->across || (!done && type != ARROW_DEVICE_CPU && !same_family(p));
  if (!r) r = choose_streams(p, stream);
  if (!r && !done) { /* the work that makes the data comes first */
    bool one_queue = !p->across && type != ARROW_DEVICE_CPU;
    r = one_queue ? cdv_event_wait_stream(a, type, p->to_device, p->to_stream)
                  : cdv_event_wait_stream(a, own->device_type, p->from_device, p->from_stream);
    p->ordered = !one_queue || p->from_device == p->to_device;
  }
  if (r) return r;
  struct ArrowDeviceArray made;
  memset(&made, 0, sizeof made);
  made.device_type = type;
  made.device_id = p->to_device;
  made.array.release = copied_release;
  r = make_plan(p, &made.array);
  if (!r && !p->readable && type != ARROW_DEVICE_CPU && !p->across) r = fetch_rebased(p);
  if (!r) r = lay_out(p);
  made.array.private_data = p->arena;
  struct cdv_array *b = NULL;
  if (!r) r = cdv_array_import(&made, a->schema, 0, &b); /* unfinished: buffers are set below */
  if (!r) {
    cdv_slot_use(b->slot, -1); /* whose memory it is, whoever serves the type by now */
    b->slot = p->to;
    cdv_slot_use(b->slot, 1);
    b->packed = 1;
    r = transfer(p, b);
  }
  if (r)
    give_up(p, b);
  else
    *out = b;
  free(p->pieces);
  free(p->items);
  return r;
}

/* Of allocations on the target; asking the device for all it says of itself can take longer than a small copy. */
static int learn_alignment(struct plan *p) {
  long long known = atomic_load_explicit(&p->to->aligned, memory_order_relaxed);
  if (known >> 32 != p->to_device + 2) {
    cdevice_error err = {.struct_size = sizeof err};
    cdevice_device_info info = {.struct_size = sizeof info};
    int r = p->to->table.device_info(p->to->table.self, p->to_device, &info, &err);
    if (r) return backend_error(p, p->to, r, &err, "asking about a device");
    known = (long long)(p->to_device + 2) << 32 | info.alignment;
    atomic_store_explicit(&p->to->aligned, known, memory_order_relaxed);
  }
  int64_t alignment = known & 0xFFFFFFFF;
  p->alignment = alignment > 64 ? alignment : 64;
  return 0;
}

static int copy_with(struct plan *p, int32_t type, void *stream, struct cdv_array **out) {
  cdevice_error err = {.struct_size = sizeof err};
  int64_t count = 0;
  int r = p->to->table.device_count(p->to->table.self, &count, &err);
  if (!r && type != ARROW_DEVICE_CPU && (p->to_device < 0 || p->to_device >= count))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "no device %s:%lld, there are %lld", p->to->table.name,
                    (long long)p->to_device, (long long)count);
  if (r) return backend_error(p, p->to, r, &err, "asking about a device");
  if ((r = learn_alignment(p))) return r;
  p->packed = p->src->root->packed;
  struct plan direct = *p;
  r = attempt(&direct, type, stream, out);
  if (r == ENOTSUP && !direct.across && p->from && same_family(p) && type != ARROW_DEVICE_CPU) {
    p->across = true; /* these two cannot copy among themselves: other contexts, no peer access */
    r = attempt(p, type, stream, out);
  }
  return r;
}

int cdv_array_copy(struct cdv_array *a, int32_t type, int64_t device, void *stream, bool always,
                   struct cdv_array **out) {
  const struct ArrowDeviceArray *own = &a->root->own;
  if (type == ARROW_DEVICE_CPU) device = -1;
  if (!always && own->device_type == type && (own->device_id == device || type == ARROW_DEVICE_CPU))
    return cdv_array_slice(a, 0, a->length, out);
  if (!always && type == ARROW_DEVICE_CPU && cdv_array_host_accessible(a)) return relabel(a, out);
  struct plan p = {.src = a, .from_device = own->device_id, .to_device = device};
  int r = cdv_slot_hold(type, &p.to); /* neither is taken out while we copy; the source keeps its own */
  if (r) return r;
  if (own->device_type != ARROW_DEVICE_CPU) r = cdv_array_slot(a, &p.from);
  if (!r) r = copy_with(&p, type, stream, out);
  cdv_slot_use(p.to, -1);
  return r;
}
