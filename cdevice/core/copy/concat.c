/* concat.c - several arrays become one: where it is made, what must come to the CPU for it, and who keeps the
 * sources until a device has read them. */
#include "core/copy/concat.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/array/origin.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/copy.h"
#include "core/copy/engine.h"
#include "core/event/event.h"
#include "core/format/schema.h"

#include <stdlib.h>
#include <string.h>

/* The sources and what was written for the result, behind an array without rows: that is what a transfer keeps. */
struct keeper {
  struct cdv_arena *scratch;
  int64_t n;
  struct cdv_array *arrays[];
};

static void keeper_release(struct ArrowArray *array) {
  struct keeper *k = array->private_data;
  array->release = NULL;
  for (int64_t i = 0; i < k->n; i++) cdv_array_unref(k->arrays[i]);
  cdv_arena_free(k->scratch);
  free(k);
}

static int make_keeper(struct cdv_array *const *arrays, int64_t n, struct cdv_array **out) {
  size_t size = sizeof(struct keeper) + (size_t)n * sizeof *arrays;
  struct keeper *k = malloc(size);
  if (!k) return cdv_fail_memory((int64_t)size, "a joined array");
  k->scratch = NULL;
  k->n = n;
  for (int64_t i = 0; i < n; i++) k->arrays[i] = cdv_array_ref(arrays[i]);
  struct ArrowDeviceArray d;
  memset(&d, 0, sizeof d);
  d.device_type = ARROW_DEVICE_CPU;
  d.device_id = -1;
  d.array.release = keeper_release;
  d.array.private_data = k;
  int r = cdv_array_import(&d, arrays[0]->schema, 0, out);
  if (r) keeper_release(&d.array);
  return r;
}

static struct keeper *keeper_of(const struct cdv_plan *p) { return p->src->own.array.private_data; }

static const struct ArrowDeviceArray *place_of(const struct cdv_array *a) { return &a->root->own; }

/* Has it nothing that lies anywhere? */
static bool is_nowhere(const struct cdv_array *a) {
  return cdv_has_no_device_memory(place_of(a)->device_type, a->node);
}

static bool same_place(const struct ArrowDeviceArray *a, const struct ArrowDeviceArray *b) {
  return a->device_type == b->device_type && (a->device_type == ARROW_DEVICE_CPU || a->device_id == b->device_id);
}

/* The first that lies somewhere. */
static const struct ArrowDeviceArray *first_place(struct cdv_array *const *arrays, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (!is_nowhere(arrays[i])) return place_of(arrays[i]);
  return place_of(arrays[0]);
}

static int common_place(struct cdv_array *const *arrays, int64_t n, int32_t *type, int64_t *device) {
  const struct ArrowDeviceArray *first = first_place(arrays, n);
  for (int64_t i = 0; i < n; i++) {
    const struct ArrowDeviceArray *own = place_of(arrays[i]);
    if (!is_nowhere(arrays[i]) && !same_place(own, first))
      return cdv_fail(CDV_ARGUMENT, EINVAL, "array %lld is on %s, an earlier one on %s: pass device=", (long long)i,
                      cdv_device_name(own->device_type, own->device_id),
                      cdv_device_name(first->device_type, first->device_id));
  }
  *type = first->device_type;
  *device = first->device_id;
  return 0;
}

/* The name of an extension type in a block of metadata, and how long it is; NULL: none. */
static const char *extension_of(const char *m, int32_t *length) {
  static const char name[] = "ARROW:extension:name";
  int32_t n = 0, size;
  *length = 0;
  if (m) memcpy(&n, m, 4), m += 4;
  for (int32_t i = 0; i < n; i++) {
    memcpy(&size, m, 4);
    bool found = size == sizeof name - 1 && !memcmp(m + 4, name, sizeof name - 1);
    m += 4 + size;
    memcpy(length, m, 4);
    if (found) return m + 4;
    m += 4 + *length;
  }
  *length = 0;
  return NULL;
}

static bool same_extension(const struct ArrowSchema *s, const struct ArrowSchema *t) {
  int32_t n, m;
  if (s->metadata == t->metadata) return true;
  const char *a = extension_of(s->metadata, &n), *b = extension_of(t->metadata, &m);
  return n == m && !a == !b && (!n || !memcmp(a, b, (size_t)n));
}

static int same_types(struct cdv_array *const *arrays, int64_t n) {
  const struct ArrowSchema *s = arrays[0]->schema->node;
  for (int64_t i = 1; i < n; i++) {
    const struct ArrowSchema *t = arrays[i]->schema->node;
    if (t != s && !(cdv_schema_same_type(arrays[0]->schema, arrays[i]->schema) && same_extension(s, t)))
      return cdv_fail(CDV_ARGUMENT, EINVAL, "array %lld has a different type than the first: \"%.100s\", \"%.100s\"",
                      (long long)i, t->format, s->format);
  }
  return 0;
}

/* Plans, and sends. */
static int join(struct cdv_plan *p, struct cdv_array **out) {
  struct keeper *k = keeper_of(p);
  struct ArrowDeviceArray made;
  memset(&made, 0, sizeof made);
  made.device_type = p->to->table.device_type;
  made.device_id = p->to_device;
  made.array.release = cdv_nodes_release;
  p->scratch = &k->scratch;
  struct cdv_row_range *rows = malloc((size_t)k->n * sizeof *rows);
  int r = rows ? 0 : cdv_fail_memory(k->n * (int64_t)sizeof *rows, "a joined array");
  for (int64_t i = 0; !r && i < k->n; i++)
    rows[i] = (struct cdv_row_range){k->arrays[i]->node, k->arrays[i]->offset, k->arrays[i]->length};
  if (!r) r = cdv_concat_plan_make(p, p->src->schema->node, rows, k->n, &made.array);
  free(rows);
  return cdv_plan_finish(p, r, &made, p->src->schema, out);
}

/* ---- from device to device ---- */
/* Does all of it lie on one device, and can it be joined there, or on one of its family, without a look at it? */
static bool stays_there(struct cdv_plan *p) {
  struct keeper *k = keeper_of(p);
  const struct ArrowDeviceArray *first = first_place(k->arrays, k->n);
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  if (first->device_type == ARROW_DEVICE_CPU) return false;
  for (int64_t i = 0; i < k->n; i++) {
    struct cdv_array *a = k->arrays[i];
    struct cdv_backend *backend;
    if (is_nowhere(a)) continue;
    if (!same_place(place_of(a), first) || !cdv_is_flat(a->schema->node, a->node)) return false;
    if (cdv_array_backend(a, &backend) || (p->from && backend != p->from)) return false;
    if (to_cpu ? cdv_array_host_accessible(a) : !cdv_backend_same_family(backend, p->to)) return false;
    p->from = backend;
  }
  p->from_device = first->device_id;
  return p->from;
}

static int join_there(struct cdv_plan *p, void *stream, struct cdv_array **out) {
  struct keeper *k = keeper_of(p);
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  int r = cdv_plan_streams(p, stream);
  for (int64_t i = 0; !r && i < k->n; i++) { /* the work that makes the data comes first */
    struct cdv_array *a = k->arrays[i];
    if (is_nowhere(a) || (i && a->root == k->arrays[i - 1]->root)) continue;
    r = to_cpu ? cdv_event_wait_stream(a, p->from->table.device_type, p->from_device, p->from_stream)
               : cdv_event_wait_stream(a, p->to->table.device_type, p->to_device, p->to_stream);
  }
  p->ordered = true;
  return r ? r : join(p, out);
}

/* ---- from host memory ---- */
/* Every source as the CPU can read it; stream: of the sources' device, for a target that is the CPU. */
static int bring(struct cdv_plan *p, void *stream) {
  struct keeper *k = keeper_of(p);
  int32_t type = first_place(k->arrays, k->n)->device_type;
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  int r = 0;
  for (int64_t i = 0; !r && i < k->n; i++) {
    struct cdv_array *a = k->arrays[i], *here;
    if (cdv_array_host_accessible(a)) {
      r = cdv_event_wait_host(a);
      continue;
    }
    r = cdv_array_copy(a, ARROW_DEVICE_CPU, -1, to_cpu && place_of(a)->device_type == type ? stream : NULL, false,
                       &here);
    if (r) continue;
    k->arrays[i] = here;
    cdv_array_unref(a);
  }
  return r;
}

static int join_here(struct cdv_plan *p, void *stream, struct cdv_array **out) {
  int r = bring(p, stream);
  p->from = NULL;
  p->from_device = -1;
  p->host_readable = true;
  if (!r) r = cdv_plan_streams(p, stream);
  return r ? r : join(p, out);
}

int cdv_array_concat(struct cdv_array *const *arrays, int64_t n, int32_t type, int64_t device, void *stream,
                     struct cdv_array **out) {
  if (n < 1) return cdv_fail(CDV_ARGUMENT, EINVAL, "without arrays the schema is unknown");
  int r = same_types(arrays, n);
  if (!r && !type) r = common_place(arrays, n, &type, &device);
  if (r) return r;
  struct cdv_plan p = {.from_device = -1, .to_device = type == ARROW_DEVICE_CPU ? -1 : device};
  r = cdv_backend_acquire(type, &p.to); /* not taken out while we copy; each source keeps its own */
  if (r) return r;
  r = cdv_plan_target(&p);
  if (!r) r = make_keeper(arrays, n, &p.src);
  if (!r) {
    struct cdv_plan there = p;
    bool stays = stays_there(&there);
    r = stays ? join_there(&there, stream, out) : ENOTSUP;
    if (r == ENOTSUP && (!stays || type != ARROW_DEVICE_CPU))
      r = join_here(&p, stream, out); /* no peers, or no device */
    cdv_array_unref(p.src);
  }
  cdv_backend_addref(p.to, -1);
  return r;
}
