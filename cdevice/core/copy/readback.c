/* readback.c - reading from the source's device into host memory, a large read through two pinned chunks. */
#include "core/copy/readback.h"
#include "cdevice/backend.h"
#include "core/backend/profile.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/parallel_memcpy.h"
#include "core/copy/engine.h"
#include "core/copy/staging.h"
#include "core/event/event.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((int64_t)8 << 20) /* staging memory of one transfer: two of these */

static _Atomic int64_t chunk_bytes = CHUNK;
int64_t cdv_staging_chunk(int64_t bytes) { /* for tests; 0: only ask */
  return bytes > 0 ? atomic_exchange(&chunk_bytes, bytes) : atomic_load(&chunk_bytes);
}

int64_t cdv_chunk_bytes(void) { return atomic_load(&chunk_bytes); }

int cdv_plan_error(struct cdv_plan *p, struct cdv_backend *backend, int code, const cdevice_error *err,
                   const char *doing) {
  int64_t id = backend == p->to ? p->to_device : p->from_device;
  return cdv_fail_backend(code, err, backend->table.device_type, id, doing);
}

int cdv_grow(void **list, size_t *room, size_t need, size_t size) {
  if (need <= *room) return 0;
  size_t n = need * 2 + 16;
  void *more = realloc(*list, n * size);
  if (!more) return cdv_fail_memory((int64_t)(n * size), "the plan of a copy");
  *list = more;
  *room = n;
  return 0;
}

int cdv_read_back(struct cdv_plan *p, const cdevice_copy *copies, int64_t n) {
  const cdevice_backend *b = &p->from->table;
  cdevice_error err = {.struct_size = sizeof err};
  cdevice_event event = {0};
  int r = cdv_profiled_copy(p->from, p->from_device, CDEVICE_COPY_D2H, copies, n, p->from_stream, &err);
  if (!r) {
    r = b->event_record(b->self, p->from_device, p->from_stream, &event, &err);
    if (!r && event.sync_event) r = b->event_wait_host(b->self, p->from_device, event.sync_event, &err);
    if (event.sync_event) b->event_destroy(b->self, p->from_device, &event);
  }
  if (!r) return 0;
  p->pending = true;
  return cdv_plan_error(p, p->from, r, &err, "reading from the device");
}

/* One chunk of a large read: what the device writes there, and where it belongs. */
struct drain {
  struct cdv_staging_buffer stage;
  cdevice_copy *parts;
  struct cdv_memcpy_range *moves;
  int64_t n;
  cdevice_event event;
  bool pending;
};

static int drain_out(struct cdv_plan *p, struct drain *d) {
  const cdevice_backend *b = &p->from->table;
  cdevice_error err = {.struct_size = sizeof err};
  if (!d->pending) return 0;
  d->pending = false;
  int r = d->event.sync_event ? b->event_wait_host(b->self, p->from_device, d->event.sync_event, &err) : 0;
  b->event_destroy(b->self, p->from_device, &d->event);
  if (r) return cdv_plan_error(p, p->from, r, &err, "reading from the device");
  for (int64_t i = 0, at = 0; i < d->n; at += d->parts[i++].nbytes)
    d->moves[i] = (struct cdv_memcpy_range){.dst = (char *)d->parts[i].dst + d->parts[i].dst_offset,
                                            .src = d->stage.memory + at,
                                            .nbytes = d->parts[i].nbytes};
  cdv_parallel_memcpy(d->moves, (size_t)d->n);
  return 0;
}

/* Fills a chunk from (*i, *skip) on; each part is remembered with its place in host memory and sent to the chunk. */
static int drain_in(struct cdv_plan *p, struct drain *d, const cdevice_copy *copies, int64_t n, int64_t *i,
                    int64_t *skip) {
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
  int r = cdv_profiled_copy(p->from, p->from_device, CDEVICE_COPY_D2H, there, d->n, p->from_stream, &err);
  if (!r) r = b->event_record(b->self, p->from_device, p->from_stream, &d->event, &err);
  d->pending = !r;
  return r ? cdv_plan_error(p, p->from, r, &err, "reading from the device") : 0;
}

void cdv_staging_put_or_orphan(struct cdv_plan *p, struct cdv_staging_buffer *stage) {
  if (p->pending)
    p->orphans.stages[p->orphans.n_stages++] = *stage;
  else
    cdv_staging_put(stage);
}

int cdv_read_back_pinned(struct cdv_plan *p, const cdevice_copy *copies, int64_t n, int64_t total) {
  const cdevice_backend *b = &p->from->table;
  int64_t size = cdv_chunk_bytes(), i = 0, skip = 0;
  struct drain drains[2];
  int r = 0;
  memset(drains, 0, sizeof drains);
  if (size > total) size = total;
  for (int k = 0; !r && k < (size < total ? 2 : 1); k++) {
    r = cdv_staging_get(p->from, p->from_device, size, &drains[k].stage);
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
    cdv_staging_put_or_orphan(p, &drains[k].stage);
    free(drains[k].parts);
    free(drains[k].moves);
  }
  return r;
}

int cdv_follow_source(struct cdv_plan *p) {
  if (p->ordered) return 0;
  p->ordered = true;
  return cdv_event_wait_stream(p->src, p->src->root->own.device_type, p->from_device, p->from_stream);
}
