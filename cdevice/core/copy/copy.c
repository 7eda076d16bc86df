/* copy.c - an array of any layout to any device, the rows of the slice alone: the decisions for one copy, its
 * result, and what becomes of it when it fails. */
#include "core/copy/copy.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/array/origin.h"
#include "core/backend/checked_calls.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/engine.h"
#include "core/event/event.h"
#include "core/event/orphan.h"
#include "core/format/schema.h"

#include <string.h>

int cdv_plan_streams(struct cdv_plan *p, void *stream) {
  cdevice_error err = {.struct_size = sizeof err};
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  int r = 0;
  if (!to_cpu) {
    p->to_stream = stream;
    if (!stream) r = p->to->table.current_stream(p->to->table.self, p->to_device, &p->to_stream, &err);
    if (r) return cdv_plan_error(p, p->to, r, &err, "querying the current stream");
  }
  if (p->from && !p->via_host && !to_cpu && p->from_device == p->to_device) {
    p->from_stream = p->to_stream; /* one queue does all, nothing waits on the host */
    return 0;
  }
  if (p->from) {
    p->from_stream = to_cpu ? stream : NULL;
    if (!p->from_stream) r = p->from->table.current_stream(p->from->table.self, p->from_device, &p->from_stream, &err);
    if (r) return cdv_plan_error(p, p->from, r, &err, "querying the current stream");
    r = cdv_checked_stream(p->from, p->from_device, p->from_stream, &err); /* the target's is asked by its alloc */
    if (r) return cdv_plan_error(p, p->from, r, &err, "reading from the device");
  }
  return 0;
}

static bool same_family(const struct cdv_plan *p) { return p->from && cdv_backend_same_family(p->from, p->to); }

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

static void free_arena(void *arena) { cdv_arena_free(arena); }

/* After a failure: gives back what was made, once neither device can use it any more. */
static void give_up(struct cdv_plan *p, struct cdv_array *made) {
  struct cdv_saved_error kept;
  cdv_error_save(&kept); /* giving memory back must not hide it */
  struct cdv_orphans *x = &p->orphans;
  x->nbytes = p->total;
  x->target = made;
  x->memory_of_nodes = made ? NULL : p->arena;
  x->free_nodes = free_arena;
  if (p->pending) x->source = cdv_array_ref(p->src);
  struct cdv_stream_use users[2] = {{p->from, p->from_device, p->from_stream}, {p->to, p->to_device, p->to_stream}};
  if (!p->pending) users[0].backend = users[1].backend = NULL;
  cdv_retire_after_streams(x, users);
  cdv_error_restore(&kept);
  cdv_error_clear(&kept);
}

int cdv_plan_finish(struct cdv_plan *p, int r, struct ArrowDeviceArray *made, struct cdv_schema *schema,
                    struct cdv_array **out) {
  struct cdv_array *b = NULL;
  if (!r) r = cdv_plan_lay_out(p);
  made->array.private_data = p->arena;
  if (!r) r = cdv_array_import(made, schema, 0, &b); /* unfinished: buffers are set below */
  if (!r) {
    cdv_array_set_backend(b, p->to);
    r = cdv_plan_execute(p, b);
  }
  if (r)
    give_up(p, b);
  else
    *out = b;
  cdv_plan_free(p);
  return r;
}

/* One attempt; across: through the host even between devices of one family. */
static int attempt(struct cdv_plan *p, int32_t type, void *stream, struct cdv_array **out) {
  struct cdv_array *a = p->src;
  const struct ArrowDeviceArray *own = &a->root->own;
  int done = 0, r = 0;
  if (cdv_array_host_accessible(a)) r = cdv_event_ready(a, &done);
  p->host_readable = done;
  p->via_host = p->via_host || (!done && type != ARROW_DEVICE_CPU && !same_family(p));
  if (!r) r = cdv_plan_streams(p, stream);
  if (!r && !done) { /* the work that makes the data comes first */
    bool one_queue = !p->via_host && type != ARROW_DEVICE_CPU;
    r = one_queue ? cdv_event_wait_stream(a, type, p->to_device, p->to_stream)
                  : cdv_event_wait_stream(a, own->device_type, p->from_device, p->from_stream);
    p->ordered = !one_queue || p->from_device == p->to_device;
  }
  if (r) return r;
  struct ArrowDeviceArray made;
  memset(&made, 0, sizeof made);
  made.device_type = type;
  made.device_id = p->to_device;
  made.array.release = cdv_nodes_release;
  r = cdv_plan_make(p, &made.array);
  if (!r && !p->host_readable && type != ARROW_DEVICE_CPU && !p->via_host) r = cdv_plan_read_rebased(p);
  return cdv_plan_finish(p, r, &made, a->schema, out);
}

/* Of allocations on the target; a full device_info query can take longer than a small copy. */
static int learn_alignment(struct cdv_plan *p) {
  long long known = atomic_load_explicit(&p->to->aligned, memory_order_relaxed);
  if (known >> 32 != p->to_device + 2) {
    cdevice_error err = {.struct_size = sizeof err};
    cdevice_device_info info;
    int r = cdv_checked_device_info(p->to, p->to_device, &info, &err);
    if (r) return cdv_plan_error(p, p->to, r, &err, "querying a device");
    known = (long long)(p->to_device + 2) << 32 | info.alignment;
    atomic_store_explicit(&p->to->aligned, known, memory_order_relaxed);
  }
  int64_t alignment = known & 0xFFFFFFFF;
  p->alignment = alignment > 64 ? alignment : 64;
  return 0;
}

int cdv_plan_target(struct cdv_plan *p) {
  cdevice_error err = {.struct_size = sizeof err};
  int64_t count = 0;
  int r = cdv_checked_device_count(p->to, &count, &err);
  if (r) return cdv_plan_error(p, p->to, r, &err, "querying a device");
  if (p->to->table.device_type != ARROW_DEVICE_CPU && (p->to_device < 0 || p->to_device >= count))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "no device %s:%lld, there are %lld", p->to->table.name,
                    (long long)p->to_device, (long long)count);
  return learn_alignment(p);
}

static int copy_with(struct cdv_plan *p, int32_t type, void *stream, struct cdv_array **out) {
  int r = cdv_plan_target(p);
  if (r) return r;
  p->packed = p->src->root->packed != NULL;
  struct cdv_plan direct = *p;
  r = attempt(&direct, type, stream, out);
  if (r == ENOTSUP && !direct.via_host && p->from && same_family(p) && type != ARROW_DEVICE_CPU) {
    p->via_host = true; /* these two cannot copy among themselves: other contexts, no peer access */
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
  struct cdv_plan p = {.src = a, .from_device = own->device_id, .to_device = device};
  int r = cdv_backend_acquire(type, &p.to); /* neither is taken out while we copy; the source keeps its own */
  if (r) return r;
  if (own->device_type != ARROW_DEVICE_CPU) r = cdv_array_backend(a, &p.from);
  if (!r) r = copy_with(&p, type, stream, out);
  cdv_backend_addref(p.to, -1);
  return r;
}
