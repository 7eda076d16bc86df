/* checked_calls.c - what a backend answers, checked before it is used: it is third-party C. The core calls these
 * functions of a table nowhere else. */
#include "core/backend/checked_calls.h"
#include "cdevice/backend.h"
#include "core/backend/table.h"
#include "core/base/error.h"

#include <string.h>

/* Is it memory, and as much as was asked for?  owns: on an error the block has gone back through `give_back`. */
static int look_at(const cdevice_block *block, int64_t nbytes, const char *who, cdevice_error *err) {
  if (!block->data)
    return cdevice_backend_fail(err, EPROTO, 0, NULL, "%s reported success but returned no memory", who);
  return cdevice_backend_fail(err, EPROTO, 0, NULL, "%s returned %lld bytes, %lld were requested", who,
                              (long long)block->nbytes, (long long)nbytes);
}

static bool is_good(const cdevice_block *block, int64_t nbytes) { return block->data && block->nbytes >= nbytes; }

int cdv_checked_alloc(struct cdv_backend *backend, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                      cdevice_error *err) {
  const cdevice_backend *b = &backend->table;
  *out = (cdevice_block){NULL, 0, device, {NULL, NULL}};
  int r = b->alloc(b->self, device, nbytes, stream, out, err);
  if (r || is_good(out, nbytes)) return r;
  if (out->data) b->free(b->self, out);
  return look_at(out, nbytes, "alloc()", err);
}

int cdv_checked_external_alloc(const cdevice_allocator *from, int64_t device, int64_t nbytes, void *stream,
                               cdevice_block *out, cdevice_error *err) {
  *out = (cdevice_block){NULL, 0, device, {NULL, NULL}};
  int r = from->alloc(from->self, device, nbytes, stream, out, err);
  if (r || is_good(out, nbytes)) return r;
  if (out->data) from->free(from->self, out);
  return look_at(out, nbytes, "alloc() of the allocator", err);
}

int cdv_checked_view(struct cdv_backend *backend, const cdevice_block *whole, int64_t offset, int64_t nbytes,
                     cdevice_block *out, cdevice_error *err) {
  const cdevice_backend *b = &backend->table;
  *out = (cdevice_block){NULL, 0, whole->device_id, {NULL, NULL}};
  int r = b->view(b->self, whole, offset, nbytes, out, err);
  if (r || is_good(out, nbytes)) return r;
  if (out->data) b->free(b->self, out);
  return look_at(out, nbytes, "view()", err);
}

int cdv_checked_stage_alloc(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out) {
  const cdevice_memory *m = cdv_memory_of(backend);
  *out = (cdevice_block){NULL, 0, device, {NULL, NULL}};
  int r = m->stage_alloc(backend->table.self, device, nbytes, out, NULL);
  if (r || is_good(out, nbytes)) return r;
  if (out->data) m->stage_free(backend->table.self, out);
  return ENOMEM;
}

int cdv_checked_prepare(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out,
                        cdevice_error *err) {
  const cdevice_memory *m = cdv_memory_of(backend);
  *out = (cdevice_block){NULL, 0, device, {NULL, NULL}};
  int r = m->prepare(backend->table.self, device, nbytes, out, err);
  if (r || is_good(out, nbytes)) return r;
  if (out->data) m->discard(backend->table.self, out);
  return look_at(out, nbytes, "prepare()", err);
}

int cdv_checked_stream(struct cdv_backend *backend, int64_t device, void *stream, cdevice_error *err) {
  const cdevice_memory *m = cdv_memory_of(backend);
  return CDV_HAS(m, stream_accepts_work) ? m->stream_accepts_work(backend->table.self, device, stream, err) : 0;
}

int cdv_checked_device_count(struct cdv_backend *backend, int64_t *out, cdevice_error *err) {
  *out = 0;
  int r = backend->table.device_count(backend->table.self, out, err);
  if (r || *out >= 0) return r;
  r = cdevice_backend_fail(err, EPROTO, 0, NULL, "device_count() returned %lld", (long long)*out);
  *out = 0;
  return r;
}

int cdv_checked_device_info(struct cdv_backend *backend, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->total_bytes = out->free_bytes = -1;
  int r = backend->table.device_info(backend->table.self, device, out, err);
  out->name[sizeof out->name - 1] = out->driver[sizeof out->driver - 1] = 0;
  if (!out->name[0]) snprintf(out->name, sizeof out->name, "%s", backend->table.name); /* it need not say so */
  cdv_make_utf8(out->name);
  cdv_make_utf8(out->driver);
  if (!out->alignment) out->alignment = 64; /* not set */
  if (r || !(out->alignment & (out->alignment - 1))) return r;
  return cdevice_backend_fail(err, EPROTO, 0, NULL, "device_info() returned alignment %u, which is not a power of two",
                              (unsigned)out->alignment);
}

int cdv_checked_event_done(struct cdv_backend *backend, int64_t device, void *event, int *done, cdevice_error *err) {
  *done = 0;
  int r = backend->table.event_done(backend->table.self, device, event, done, err);
  if (!r && (*done == 0 || *done == 1)) return 0;
  if (!r) r = cdevice_backend_fail(err, EPROTO, 0, NULL, "event_done() returned %d: expected 0 or 1", *done);
  *done = 0; /* its meaning is unspecified: "not passed" is the safe answer */
  return r;
}
