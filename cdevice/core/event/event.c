/* event.c - the only reader of sync_event: every import, copy and export passes through here. */
#include "core/event/event.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/array/origin.h"
#include "core/backend/checked_calls.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/event/reclaim.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cdv_event_new(struct cdv_backend *backend, int64_t device, struct cdv_event **out) {
  struct cdv_event *e = *out = malloc(sizeof *e);
  if (!e) return cdv_fail_memory(sizeof *e, "an event");
  atomic_init(&e->refs, 1);
  e->backend = backend;
  e->device = device;
  memset(&e->event, 0, sizeof e->event);
  cdv_backend_addref(backend, 1);
  return 0;
}

int cdv_event_record(struct cdv_backend *backend, int64_t device, void *stream, struct cdv_event **out) {
  struct cdv_event *e;
  cdevice_error err = {.struct_size = sizeof err};
  *out = NULL;
  int r = cdv_event_new(backend, device, &e);
  if (r) return r;
  r = backend->table.event_record(backend->table.self, device, stream, &e->event, &err);
  if (r) memset(&e->event, 0, sizeof e->event);
  if (r || !e->event.sync_event)
    cdv_event_unref(e);
  else
    *out = e;
  return r ? cdv_fail_backend(r, &err, backend->table.device_type, device, "recording an event") : 0;
}

void cdv_event_unref(struct cdv_event *e) {
  if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
  if (e->event.sync_event && cdv_backend_usable_in_process(e->backend))
    e->backend->table.event_destroy(e->backend->table.self, e->device, &e->event);
  cdv_backend_addref(e->backend, -1);
  free(e);
}

int cdv_event_completed(const struct cdv_event *e, int *done) {
  int r = 0;
  for (int i = 0; i < 2; i++) {
    r = cdv_checked_event_done(e->backend, e->device, e->event.sync_event, done, NULL);
    if (!cdv_is_dead(r)) break;
  }
  return r;
}

static bool known_done(struct cdv_array *root) {
  return !root->own.sync_event || atomic_load_explicit(&root->event_done, memory_order_acquire);
}

int cdv_event_ready(struct cdv_array *a, int *done) {
  struct cdv_array *root = a->root;
  *done = 1;
  if (known_done(root)) return 0;
  struct cdv_backend *backend;
  int r = cdv_array_backend(root, &backend);
  if (r) return r;
  cdevice_error err = {.struct_size = sizeof err};
  r = cdv_checked_event_done(backend, root->own.device_id, root->own.sync_event, done, &err);
  if (r) return cdv_fail_backend(r, &err, root->own.device_type, root->own.device_id, "querying an event");
  if (*done) atomic_store_explicit(&root->event_done, 1, memory_order_release);
  return 0;
}

/* Asks again and again for up to so many nanoseconds; pauses grow with the time waited, so little is lost at the
 * end. */
int cdv_event_wait_for(struct cdv_array *a, int64_t nanoseconds, int *done) {
  struct timespec begin, now, pause = {0, 0};
  int r = cdv_event_ready(a, done);
  if (r || *done) return r;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int64_t waited = 0; !r && !*done && waited < nanoseconds;) {
    pause.tv_nsec = (long)(waited / 32 < 2000000 ? waited / 32 : 2000000);
    if (waited < 50000)
      sched_yield();
    else
      nanosleep(&pause, NULL);
    r = cdv_event_ready(a, done);
    clock_gettime(CLOCK_MONOTONIC, &now);
    waited = (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec;
  }
  return r;
}

int cdv_event_wait_host(struct cdv_array *a) {
  struct cdv_array *root = a->root;
  if (known_done(root)) return 0;
  struct cdv_backend *backend;
  int r = cdv_array_backend(root, &backend);
  if (r) return r;
  cdevice_error err = {.struct_size = sizeof err};
  r = backend->table.event_wait_host(backend->table.self, root->own.device_id, root->own.sync_event, &err);
  if (r) return cdv_fail_backend(r, &err, root->own.device_type, root->own.device_id, "waiting for an event");
  atomic_store_explicit(&root->event_done, 1, memory_order_release);
  return 0;
}

/* Another family's stream cannot wait for the event, so the host does. */
int cdv_event_wait_stream(struct cdv_array *a, int32_t device_type, int64_t device, void *stream) {
  struct cdv_array *root = a->root;
  if (known_done(root)) return 0;
  struct cdv_backend *backend, *other;
  int r = cdv_array_backend(root, &backend);
  if (!r) r = cdv_backend_get_started(device_type, &other);
  if (r) return r;
  if (!cdv_backend_same_family(backend, other)) return cdv_event_wait_host(a);
  cdevice_error err = {.struct_size = sizeof err};
  r = other->table.event_wait_stream(other->table.self, device, root->own.sync_event, stream, &err);
  if (r)
    return cdv_fail_backend(r, &err, root->own.device_type, root->own.device_id, "making a stream wait for an event");
  return 0;
}
