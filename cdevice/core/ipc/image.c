/* image.c - an array written down for another process: its schema, the shape of its tree, and where its buffers lie. */
#include "core/ipc/image.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/event/event.h"
#include "core/format/schema.h"
#include "core/ipc/device_memory.h"
#include "core/ipc/segment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "cdvimg1"
#define DEEPEST 64

/* Head, segments, nodes (from the top, each before those below it), places of buffers, text. */
struct head {
  char magic[8];
  int64_t nbytes, n_segments, n_nodes, n_places, n_text;
  int64_t device_type, device;
  struct cdv_event_record event;
};
struct node {
  int64_t length, offset, null_count, flags;
  int64_t n_buffers, n_children, has_dictionary;
  int64_t format, name, metadata, metadata_bytes; /* where in the text; -1: none */
};
enum { NONE = -1, EMPTY = -2, IN_TEXT = -3 };
struct place {
  int64_t segment, offset, nbytes; /* segment: or one of the above */
};

/* ---- writing ---- */
struct list {
  char *bytes;
  size_t used, room;
};

static int append(struct list *l, const void *bytes, size_t n) {
  if (l->used + n > l->room) {
    size_t room = 2 * (l->used + n) + 256;
    char *more = realloc(l->bytes, room);
    if (!more) return cdv_fail_memory((int64_t)room, "an image");
    l->bytes = more;
    l->room = room;
  }
  if (n) memcpy(l->bytes + l->used, bytes, n);
  l->used += n;
  return 0;
}

struct writer {
  struct list nodes, places, text, segments;
  struct cdv_segment *held[CDV_IMAGE_SEGMENTS];
  const char *bases[CDV_IMAGE_SEGMENTS]; /* where each begins in this process, NULL: that is not known; and its size */
  int64_t sizes[CDV_IMAGE_SEGMENTS];
  const struct ArrowDeviceArray *array;
  struct cdv_event_record event;
  struct cdv_shared *event_kept;
  int64_t n_held, n_nodes, n_places;
  bool with_schema;
};

static int not_shared(const char *why) {
  return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP, "the array cannot be shared as it lies: %s", why);
}

static int text_of(struct writer *w, const char *text, size_t n, int64_t *at) {
  *at = -1;
  if (!text) return 0;
  while (w->text.used & 7) /* metadata and sizes of views are numbers */
    if (append(&w->text, "", 1)) return ENOMEM;
  *at = (int64_t)w->text.used;
  return append(&w->text, text, n);
}

static bool on_device(const struct writer *w) { return w->array->device_type != ARROW_DEVICE_CPU; }

/* owns: takes the reference over. */
static int hold_segment(struct writer *w, struct cdv_segment *s, const char *base, int64_t nbytes, int kind) {
  if (w->n_held >= CDV_IMAGE_SEGMENTS - 2) { /* the image goes along, and what tells the end of readers */
    cdv_segment_unref(s);
    return not_shared("its memory is in too many pieces");
  }
  w->bases[w->n_held] = base;
  w->sizes[w->n_held] = nbytes;
  w->held[w->n_held++] = s;
  struct cdv_image_segment line = {nbytes, kind};
  return append(&w->segments, &line, sizeof line);
}

static int device_place_of(struct writer *w, const char *address, int64_t nbytes, struct place *p) {
  struct cdv_segment *s;
  const char *base;
  int64_t size;
  int r = cdv_device_memory_export((int32_t)w->array->device_type, w->array->device_id, address, &s, &base, &size);
  if (r) return r;
  if (address - base > size || nbytes > size - (address - base)) {
    cdv_segment_unref(s);
    return not_shared("a buffer is larger than its memory");
  }
  *p = (struct place){w->n_held, address - base, nbytes};
  return hold_segment(w, s, base, size, CDV_IMAGE_DEVICE);
}

/* The segment that the buffer lies in, by its number in the image. */
static int place_of(struct writer *w, const void *address, int64_t nbytes, struct place *p) {
  uintptr_t at = (uintptr_t)address;
  for (int64_t i = 0; i < w->n_held; i++) {
    uintptr_t base = (uintptr_t)w->bases[i];
    if (!base || at < base || at - base > (uintptr_t)w->sizes[i] ||
        (uint64_t)nbytes > (uint64_t)w->sizes[i] - (at - base))
      continue;
    *p = (struct place){i, (int64_t)(at - base), nbytes};
    return 0;
  }
  if (on_device(w)) return device_place_of(w, address, nbytes, p);
  struct cdv_segment *s = cdv_segment_find(address, nbytes, &p->offset);
  if (!s) return not_shared("its memory is not shared memory or a file");
  p->nbytes = nbytes;
  for (p->segment = 0; p->segment < w->n_held; p->segment++) {
    struct cdv_segment *h = w->held[p->segment];
    if (h->inode != s->inode || h->device != s->device) continue;
    cdv_segment_unref(s);
    return 0;
  }
  return hold_segment(w, s, s->base, s->nbytes, s->is_file ? CDV_IMAGE_FILE : CDV_IMAGE_MEMORY);
}

static int add_buffer(struct writer *w, struct cdv_array *a, int64_t i) {
  const void *address = a->node->buffers[i];
  struct place p = {NONE, 0, 0};
  if (address) {
    int64_t nbytes = cdv_array_buffer_size(a, i);
    if (nbytes < 0) return not_shared("the size of a buffer is not known");
    bool sizes = a->schema->node->format[0] == 'v' && i == a->node->n_buffers - 1; /* of views: anywhere in memory */
    int r = 0;
    if (!nbytes)
      p.segment = EMPTY;
    else if (sizes)
      p = (struct place){IN_TEXT, 0, nbytes}, r = text_of(w, address, (size_t)nbytes, &p.offset);
    else
      r = place_of(w, address, nbytes, &p);
    if (r) return r;
  }
  w->n_places++;
  return append(&w->places, &p, sizeof p);
}

static int add_schema(struct writer *w, const struct ArrowSchema *s, struct node *n) {
  n->flags = s->flags;
  n->n_children = s->n_children;
  n->has_dictionary = s->dictionary != NULL;
  n->format = n->name = n->metadata = -1;
  if (!w->with_schema) return 0;
  n->metadata_bytes = cdv_metadata_size(s->metadata);
  int r = text_of(w, s->format, strlen(s->format) + 1, &n->format);
  if (!r) r = text_of(w, s->name, s->name ? strlen(s->name) + 1 : 0, &n->name);
  if (!r) r = text_of(w, s->metadata, (size_t)n->metadata_bytes, &n->metadata);
  return r;
}

static int add_array(struct writer *w, struct cdv_array *a, int depth) {
  const struct ArrowSchema *s = a->schema->node;
  struct node n = {.length = a->length,
                   .offset = a->offset,
                   .null_count = atomic_load(&a->null_count),
                   .n_buffers = a->node->n_buffers};
  if (depth > DEEPEST) return not_shared("it is nested too deeply");
  int r = add_schema(w, s, &n);
  if (!r) r = append(&w->nodes, &n, sizeof n);
  w->n_nodes++;
  for (int64_t i = 0; !r && i < n.n_buffers; i++) r = add_buffer(w, a, i);
  for (int64_t i = 0; !r && i < n.n_children + n.has_dictionary; i++) {
    struct cdv_array *child;
    r = cdv_array_child(a, i < n.n_children ? i : -1, false, &child);
    if (r) break;
    r = add_array(w, child, depth + 1);
    cdv_array_unref(child);
  }
  return r;
}

static int join(struct writer *w, struct cdv_image *out) {
  struct head h = {.magic = MAGIC,
                   .n_segments = w->n_held,
                   .n_nodes = w->n_nodes,
                   .n_places = w->n_places,
                   .n_text = (int64_t)w->text.used,
                   .device_type = w->array->device_type,
                   .device = w->array->device_id,
                   .event = w->event};
  const struct list *parts[] = {&w->segments, &w->nodes, &w->places, &w->text};
  size_t total = sizeof h;
  for (int i = 0; i < 4; i++) total += parts[i]->used;
  h.nbytes = (int64_t)total;
  size_t held = (size_t)w->n_held * sizeof *w->held;
  out->bytes = malloc(total);
  out->segments = malloc(held ? held : 1);
  if (!out->bytes || !out->segments) return cdv_fail_memory((int64_t)total, "an image");
  memcpy(out->bytes, &h, sizeof h);
  size_t at = sizeof h;
  for (int i = 0; i < 4; at += parts[i++]->used)
    if (parts[i]->used) memcpy(out->bytes + at, parts[i]->bytes, parts[i]->used);
  memcpy(out->segments, w->held, held);
  out->nbytes = h.nbytes;
  out->n_segments = w->n_held;
  out->on_device = on_device(w);
  out->event = w->event_kept;
  return 0;
}

int cdv_image_write(struct cdv_array *array, bool with_schema, struct cdv_image *out) {
  struct writer *w = calloc(1, sizeof *w);
  memset(out, 0, sizeof *out);
  if (!w) return cdv_fail_memory(sizeof *w, "an image");
  w->with_schema = with_schema;
  w->array = &array->root->own;
  int r = 0;
  if (!on_device(w) || !with_schema) r = cdv_array_readable(array, "sharing an array");
  if (!r && on_device(w) && !with_schema) r = not_shared("its memory is not shared memory or a file");
  if (!r) r = add_array(w, array, 0);
  if (!r && on_device(w)) r = cdv_event_export(array, &w->event, &w->event_kept);
  if (!r) r = join(w, out);
  if (r) {
    for (int64_t i = 0; i < w->n_held; i++) cdv_segment_unref(w->held[i]);
    free(out->bytes);
    free(out->segments);
    cdv_shared_unref(w->event_kept);
    memset(out, 0, sizeof *out);
  }
  free(w->nodes.bytes);
  free(w->places.bytes);
  free(w->text.bytes);
  free(w->segments.bytes);
  free(w);
  return r;
}

void cdv_image_free(struct cdv_image *image) {
  for (int64_t i = 0; i < image->n_segments; i++) cdv_segment_unref(image->segments[i]);
  free(image->segments);
  free(image->bytes);
  cdv_shared_unref(image->event);
  memset(image, 0, sizeof *image);
}

/* ---- reading ---- */
struct reader {
  const struct node *nodes;
  const struct place *places;
  const char *text;
  int64_t n_nodes, n_places, n_text, next_node, next_place;
  struct cdv_segment *const *segments; /* behind the image */
  int64_t n_segments;
  int level;
  struct cdv_shared *owner; /* of all segments */
  int32_t device_type;
  int64_t device;
  void *sync_event;
};

static int broken(const char *what) {
  return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "the description of the shared array is broken: %s", what);
}

static bool fits(int64_t n, int64_t size, int64_t *left) {
  int64_t need;
  if (n < 0 || __builtin_mul_overflow(n, size, &need) || need > *left) return false;
  *left -= need;
  return true;
}

static int open_head(const char *bytes, int64_t nbytes, struct head *h) {
  int64_t left = nbytes - (int64_t)sizeof *h;
  if (left < 0) return broken("it is too short");
  memcpy(h, bytes, sizeof *h);
  if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0) return broken("it was written by another version of cdevice");
  bool whole = h->nbytes <= nbytes && fits(h->n_segments, sizeof(struct cdv_image_segment), &left) &&
               fits(h->n_nodes, sizeof(struct node), &left) && fits(h->n_places, sizeof(struct place), &left) &&
               fits(h->n_text, 1, &left);
  if (!whole || h->n_segments >= CDV_IMAGE_SEGMENTS) return broken("its parts are larger than it is");
  return h->device_type == (int32_t)h->device_type ? 0 : broken("its device");
}

int cdv_image_device(const char *bytes, int64_t nbytes, int32_t *device_type, int64_t *device) {
  struct head h;
  int r = open_head(bytes, nbytes, &h);
  if (r) return r;
  *device_type = (int32_t)h.device_type;
  *device = h.device;
  return 0;
}

int cdv_image_segments(const char *bytes, int64_t nbytes, const struct cdv_image_segment **out, int64_t *n) {
  struct head h;
  int r = open_head(bytes, nbytes, &h);
  if (r) return r;
  *out = (const struct cdv_image_segment *)(const void *)(bytes + sizeof h);
  *n = h.n_segments;
  return 0;
}

static const char *string_at(const struct reader *r, int64_t at) {
  if (at < 0 || at >= r->n_text) return NULL;
  return memchr(r->text + at, 0, (size_t)(r->n_text - at)) ? r->text + at : NULL;
}

/* The schema's nodes, which point into the image. */
static int read_schema(struct reader *r, struct ArrowSchema *to, struct ArrowSchema **room, int depth) {
  if (r->next_node >= r->n_nodes) return broken("nodes are missing");
  const struct node *n = &r->nodes[r->next_node++];
  to->format = string_at(r, n->format);
  to->name = n->name < 0 ? NULL : string_at(r, n->name);
  to->flags = n->flags;
  if (!to->format || (n->name >= 0 && !to->name)) return broken("a name or a format is not there");
  if (n->metadata >= 0) {
    if (n->metadata >= r->n_text || n->metadata_bytes < 0 || n->metadata_bytes > r->n_text - n->metadata ||
        !cdv_metadata_fits(r->text + n->metadata, n->metadata_bytes))
      return broken("metadata is not there");
    to->metadata = r->text + n->metadata;
  }
  if (n->n_children < 0 || n->n_children > r->n_nodes - r->next_node || depth > DEEPEST || n->n_buffers < 0)
    return broken("a node has more below it than there is");
  to->n_children = n->n_children;
  if (n->n_children) to->children = calloc((size_t)n->n_children, sizeof *to->children);
  if (n->n_children && !to->children) return cdv_fail_memory(n->n_children * 8, "a schema");
  int e = 0;
  for (int64_t i = 0; !e && i < n->n_children; i++) {
    to->children[i] = (*room)++;
    e = read_schema(r, to->children[i], room, depth + 1);
  }
  if (e || !n->has_dictionary) return e;
  if (r->next_node >= r->n_nodes) return broken("nodes are missing");
  to->dictionary = (*room)++;
  return read_schema(r, to->dictionary, room, depth + 1);
}

static void no_release(struct ArrowSchema *s) { s->release = NULL; }

static int schema_of(struct reader *r, struct cdv_schema **out) {
  struct ArrowSchema *nodes = calloc((size_t)r->n_nodes + 1, sizeof *nodes), *room = nodes + 1, copy;
  if (!nodes) return cdv_fail_memory(r->n_nodes * (int64_t)sizeof *nodes, "a schema");
  int e = read_schema(r, nodes, &room, 0);
  if (!e && r->next_node != r->n_nodes) e = broken("it has nodes of no array");
  for (int64_t i = 0; i < r->n_nodes; i++) nodes[i].release = no_release;
  if (!e) e = cdv_schema_copy(nodes, &copy);
  for (int64_t i = 0; i <= r->n_nodes; i++) free(nodes[i].children);
  free(nodes);
  if (e) return e;
  e = cdv_schema_import(&copy, out);
  if (e) copy.release(&copy);
  return e;
}

static char nothing[64];

static int buffer_at(const struct reader *r, const struct place *p, const void **out) {
  *out = NULL;
  if (p->segment == NONE) return 0;
  if (p->offset < 0 || p->nbytes < 0) return broken("a buffer has a negative size");
  if (p->segment == EMPTY) {
    *out = r->device_type == ARROW_DEVICE_CPU ? nothing : NULL;
    return p->nbytes ? broken("an empty buffer has bytes") : 0;
  }
  bool text = p->segment == IN_TEXT;
  if (!text && (p->segment < 0 || p->segment >= r->n_segments))
    return broken("a buffer is in a segment that is not there");
  int64_t have = text ? r->n_text : r->segments[p->segment]->nbytes;
  if (p->offset > have || p->nbytes > have - p->offset) return broken("a buffer ends behind the memory");
  *out = (text ? r->text : r->segments[p->segment]->base) + p->offset;
  return 0;
}

static void drop_owner(void *shared) { cdv_shared_unref(shared); }

static int read_array(struct reader *r, struct cdv_schema *schema, struct cdv_array **out);

/* The arrays below a node; those made so far are in parts->children and parts->dictionary, also after an error. */
static int read_below(struct reader *r, struct cdv_schema *schema, struct cdv_array **children, struct cdv_parts *parts,
                      bool dictionary) {
  int e = 0;
  for (int64_t i = 0, n = parts->n_children; !e && i < n + dictionary; i++) {
    const struct ArrowSchema *s = i < n ? schema->node->children[i] : schema->node->dictionary;
    struct cdv_schema *below = cdv_schema_at(schema, s);
    if (!below) return ENOMEM;
    e = read_array(r, below, i < n ? &children[i] : &parts->dictionary);
    cdv_schema_unref(below);
  }
  return e;
}

static int read_array(struct reader *r, struct cdv_schema *schema, struct cdv_array **out) {
  if (r->next_node >= r->n_nodes) return broken("nodes are missing");
  const struct node *n = &r->nodes[r->next_node++];
  const struct ArrowSchema *s = schema->node;
  if (n->n_children != s->n_children || !n->has_dictionary != !s->dictionary) return broken("it has another shape");
  if (n->n_buffers < 0 || n->n_buffers > r->n_places - r->next_place) return broken("places of buffers are missing");
  size_t nb = (size_t)n->n_buffers, nc = (size_t)n->n_children;
  const void **buffers = calloc(nb * 2 + nc + 1, sizeof *buffers);
  if (!buffers) return cdv_fail_memory(n->n_buffers * 16, "an array");
  int64_t *sizes = (int64_t *)(buffers + nb);
  struct cdv_array **children = (struct cdv_array **)(buffers + 2 * nb);
  struct cdv_parts parts = {.device_type = r->device_type,
                            .device_id = r->device,
                            .length = n->length,
                            .offset = n->offset,
                            .null_count = n->null_count,
                            .n_buffers = n->n_buffers,
                            .buffers = buffers,
                            .n_children = n->n_children,
                            .children = children,
                            .sync_event = r->sync_event,
                            .sizes = sizes};
  int e = 0;
  for (size_t i = 0; !e && i < nb; i++) {
    const struct place *p = &r->places[r->next_place++];
    sizes[i] = p->nbytes;
    e = buffer_at(r, p, &buffers[i]);
  }
  if (!e) e = read_below(r, schema, children, &parts, n->has_dictionary);
  if (!e) {
    struct cdv_owner owner = {drop_owner, cdv_shared_ref(r->owner)};
    e = cdv_array_build(schema, &parts, owner, r->level, out);
    if (e) cdv_shared_unref(r->owner);
  }
  for (size_t i = 0; i < nc; i++)
    if (children[i]) cdv_array_unref(children[i]);
  if (parts.dictionary) cdv_array_unref(parts.dictionary);
  free(buffers);
  return e;
}

struct held {
  struct cdv_shared *event; /* or NULL */
  struct cdv_segment *lifeline;
  int64_t n;
  struct cdv_segment *segments[];
};

static void drop_held(void *owner) {
  struct held *h = owner;
  cdv_shared_unref(h->event);
  for (int64_t i = 0; i < h->n; i++) cdv_segment_unref(h->segments[i]);
  cdv_segment_unref(h->lifeline);
  free(h);
}

/* owns: takes `event` over, also on an error. */
static int hold(struct cdv_segment *const *segments, int64_t n, struct cdv_segment *lifeline, struct cdv_shared *event,
                struct cdv_shared **out) {
  struct held *h = malloc(sizeof *h + (size_t)n * sizeof *segments);
  if (!h) {
    cdv_shared_unref(event);
    return cdv_fail_memory(n * 8, "an array");
  }
  h->event = event;
  h->lifeline = lifeline ? cdv_segment_ref(lifeline) : NULL;
  h->n = n;
  for (int64_t i = 0; i < n; i++) h->segments[i] = cdv_segment_ref(segments[i]);
  if (!cdv_share((struct cdv_owner){drop_held, h}, out)) return 0;
  drop_held(h);
  return cdv_fail_memory(64, "an owner");
}

/* Memory of a device is not taken for memory of the CPU, nor the other way round. */
static int fitting(const struct head *h, struct cdv_segment *const *segments) {
  bool of_device = h->device_type != ARROW_DEVICE_CPU;
  for (int64_t i = 0; i < h->n_segments; i++)
    if ((segments[i]->device_memory.drop != NULL) != of_device) return broken("its memory is of another device");
  return 0;
}

static int parse(const char *bytes, int64_t nbytes, struct cdv_segment *const *segments, int64_t n_segments,
                 struct cdv_schema *known, struct cdv_shared *owner, void *sync_event, int level,
                 struct cdv_array **out) {
  struct head h;
  int e = open_head(bytes, nbytes, &h);
  if (!e && h.n_segments != n_segments) e = broken("segments are missing");
  if (!e && h.n_nodes < 1) e = broken("it has no array");
  if (!e) e = fitting(&h, segments);
  if (e) return e;
  const char *nodes = bytes + sizeof h + (size_t)h.n_segments * sizeof(struct cdv_image_segment);
  const char *places = nodes + (size_t)h.n_nodes * sizeof(struct node);
  struct reader r = {.nodes = (const struct node *)(const void *)nodes,
                     .places = (const struct place *)(const void *)places,
                     .text = places + (size_t)h.n_places * sizeof(struct place),
                     .n_nodes = h.n_nodes,
                     .n_places = h.n_places,
                     .n_text = h.n_text,
                     .segments = segments,
                     .n_segments = n_segments,
                     .level = level,
                     .owner = owner,
                     .device_type = (int32_t)h.device_type,
                     .device = h.device,
                     .sync_event = sync_event};
  struct cdv_schema *schema = known ? cdv_schema_ref(known) : NULL;
  if (!schema) e = schema_of(&r, &schema);
  if (e) return e;
  r.next_node = 0;
  e = read_array(&r, schema, out);
  cdv_schema_unref(schema);
  return e;
}

int cdv_image_parse(const char *bytes, int64_t nbytes, struct cdv_segment *const *segments, int64_t n_segments,
                    struct cdv_schema *schema, struct cdv_shared *owner, int level, struct cdv_array **out) {
  return parse(bytes, nbytes, segments, n_segments, schema, owner, NULL, level, out);
}

int cdv_image_read(struct cdv_segment *const *segments, int64_t n, struct cdv_segment *lifeline, int level,
                   struct cdv_array **out) {
  const char *bytes = segments[0]->base;
  int64_t nbytes = segments[0]->nbytes;
  struct head h;
  struct cdv_shared *owner, *event = NULL;
  void *sync_event = NULL;
  int e = open_head(bytes, nbytes, &h);
  if (!e) e = cdv_event_open((int32_t)h.device_type, h.device, &h.event, &sync_event, &event);
  if (!e) e = hold(segments, n, lifeline, event, &owner);
  if (e) return e;
  e = parse(bytes, nbytes, segments + 1, n - 1, NULL, owner, sync_event, level, out);
  cdv_shared_unref(owner);
  return e;
}
