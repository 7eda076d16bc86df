/* select_result.c - what becomes the result of a filter or take: its nodes, the memory that they use, its event. */
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/compute/exec.h"
#include "core/compute/select_internal.h"
#include "core/copy/copy.h"
#include "core/copy/engine.h"
#include "core/event/event.h"
#include "core/format/schema.h"

#include <stdlib.h>
#include <string.h>

struct cdv_select_result {
  struct cdv_arena *arena;
  struct cdv_array **arrays;
  size_t n_arrays, arrays_room;
  struct ArrowArray **shared; /* exports below the nodes */
  size_t n_shared, shared_room;
};

static void drop(void *owner) {
  struct cdv_select_result *x = owner;
  if (!x) return;
  while (x->n_shared) {
    struct ArrowArray *a = x->shared[--x->n_shared];
    if (a->release) a->release(a);
  }
  while (x->n_arrays) cdv_array_unref(x->arrays[--x->n_arrays]);
  free(x->shared);
  free(x->arrays);
  cdv_arena_free(x->arena);
  free(x);
}

static void keep_all(struct ArrowArray *array) { array->release = NULL; } /* drop() does it */

int cdv_select_begin(struct cdv_select_plan *s, struct cdv_array *const *arrays, int64_t n,
                     const struct cdv_stream_ref *stream_ref, const char *doing) {
  memset(s, 0, sizeof *s);
  int r = cdv_exec_begin(&s->work, arrays, n, stream_ref, doing);
  if (r) return r;
  s->result = calloc(1, sizeof *s->result);
  return s->result ? 0 : cdv_fail_memory(sizeof *s->result, "a result");
}

struct cdv_arena **cdv_select_arena(struct cdv_select_plan *s) { return &s->result->arena; }

void *cdv_select_memory(struct cdv_select_plan *s, size_t nbytes) { return cdv_arena_get(&s->result->arena, nbytes); }

int cdv_select_keep(struct cdv_select_plan *s, struct cdv_array *a) {
  struct cdv_select_result *x = s->result;
  int r = cdv_grow((void **)&x->arrays, &x->arrays_room, x->n_arrays + 1, sizeof *x->arrays);
  if (!r) x->arrays[x->n_arrays++] = cdv_array_ref(a);
  return r;
}

/* The CPU computes on memory that it reads of devices without kernels: what the result shares is the CPU's then. */
static int bring(const struct cdv_select_plan *s, struct cdv_array **a) {
  struct cdv_array *here;
  if (!cdv_exec_is_host(&s->work) || (*a)->root->own.device_type == ARROW_DEVICE_CPU) return 0;
  int r = cdv_array_copy(*a, ARROW_DEVICE_CPU, -1, NULL, false, &here);
  if (r) return r;
  cdv_array_unref(*a);
  *a = here;
  return 0;
}

int cdv_select_share(struct cdv_select_plan *s, struct cdv_array *a, struct ArrowArray *to) {
  struct cdv_select_result *x = s->result;
  struct ArrowDeviceArray moved;
  int r = cdv_grow((void **)&x->shared, &x->shared_room, x->n_shared + 1, sizeof *x->shared);
  if (!r) r = bring(s, &a);
  if (!r) r = cdv_array_export(a, &moved);
  if (!r) {
    *to = moved.array;
    x->shared[x->n_shared++] = to;
    s->work.has_work = true; /* the result's event is behind that of what it shares */
  }
  cdv_array_unref(a);
  return r;
}

static int hand_out(struct cdv_select_plan *s, struct cdv_backend *backend, int64_t device, struct cdv_event *event,
                    struct cdv_schema *schema, struct cdv_array **out) {
  struct ArrowDeviceArray d;
  memset(&d, 0, sizeof d);
  d.array = s->top;
  d.array.release = keep_all;
  d.array.private_data = NULL;
  d.device_type = backend->table.device_type;
  d.device_id = d.device_type == ARROW_DEVICE_CPU ? -1 : device;
  d.sync_event = event ? event->event.sync_event : NULL;
  int r = cdv_array_import(&d, schema, 0, out);
  if (r) return r;
  cdv_array_set_backend(*out, backend);
  (*out)->event = event;
  (*out)->owner = (struct cdv_owner){drop, s->result};
  return 0;
}

int cdv_select_end(struct cdv_select_plan *s, int r, struct cdv_schema *schema, struct cdv_array **out) {
  struct cdv_backend *backend = s->work.backend;
  struct cdv_event *event;
  struct cdv_saved_error kept;
  int64_t device = s->work.device;
  cdv_backend_addref(backend, 1);
  r = cdv_exec_finish_void(&s->work, r, &event);
  if (!r) r = hand_out(s, backend, device, event, schema, out);
  if (r) cdv_error_save(&kept);
  while (s->n_items) cdv_array_unref(s->items[--s->n_items].from);
  free(s->items);
  if (r) {
    if (event) cdv_event_unref(event);
    drop(s->result);
    cdv_error_restore(&kept);
    cdv_error_clear(&kept);
  }
  cdv_backend_addref(backend, -1);
  return r;
}
