/* unavailable.c - shared memory where there is none: its memory has no name and its descriptors travel through Unix sockets, both
 * by Linux alone. Every call that would share or open something fails with ENOTSUP. */
#ifndef __linux__
#include "core/base/error.h"
#include "core/ipc/broker.h"
#include "core/ipc/directory.h"
#include "core/ipc/ring.h"
#include "core/ipc/segment.h"

#include <stddef.h>

static int refuse(const char *doing) {
  return cdv_fail(CDV_UNSUPPORTED, ENOTSUP,
                  "%s: this system has no memory without a name for several processes (memfd_create) and no sockets for its "
                  "descriptors; shared memory needs Linux",
                  doing);
}

/* ---- segment.h ---- */
int64_t cdv_live_segments(void) { return 0; }
int cdv_segment_create(int64_t nbytes, bool both_write, struct cdv_segment **out) {
  (void)nbytes, (void)both_write, (void)out;
  return refuse("shared memory");
}
int cdv_segment_of_descriptor(int fd, struct cdv_segment **out) {
  (void)fd, (void)out;
  return refuse("shared memory");
}
int cdv_segment_of_device(void *data, int64_t nbytes, struct cdv_owner owner, struct cdv_segment **out) {
  (void)data, (void)nbytes, (void)out;
  if (owner.drop) owner.drop(owner.owner);
  return refuse("shared memory of a device");
}
int cdv_segment_of_bytes(const void *bytes, int64_t nbytes, struct cdv_segment **out) {
  (void)bytes, (void)nbytes, (void)out;
  return refuse("shared memory");
}
int cdv_segment_map(int fd, int64_t nbytes, enum cdv_segment_kind kind, struct cdv_segment **out) {
  (void)fd, (void)nbytes, (void)kind, (void)out;
  return refuse("shared memory");
}
struct cdv_segment *cdv_segment_find(const void *address, int64_t nbytes, int64_t *offset) {
  (void)address, (void)nbytes, (void)offset;
  return NULL;
}
void cdv_segment_seal(const struct cdv_segment *s) { (void)s; }
struct cdv_segment *cdv_segment_ref(struct cdv_segment *s) { return s; }
void cdv_segment_unref(struct cdv_segment *s) { (void)s; }

static int allocate(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)device, (void)nbytes, (void)stream, (void)out;
  return cdevice_backend_fail(err, refuse("shared memory"), 0, NULL, "%s", cdv_error_last()->message);
}
static void give_back(void *self, const cdevice_block *block) { (void)self, (void)block; }
static const cdevice_allocator allocator = {.struct_size = sizeof allocator, .alloc = allocate, .free = give_back};
static _Thread_local const cdevice_allocator *overriding;

const cdevice_allocator *cdv_allocator_override(const cdevice_allocator *a) {
  const cdevice_allocator *before = overriding;
  overriding = a;
  return before;
}
const cdevice_allocator *cdv_overriding_allocator(void) { return overriding; }
int cdv_allocate_in_segments(int on) { return cdv_allocator_override(on ? &allocator : NULL) == &allocator; }

/* ---- broker.h, directory.h ---- */
void cdv_retract(uint64_t number) { (void)number; }
int64_t cdv_times_opened(uint64_t number) {
  (void)number;
  return -1;
}
void cdv_limit_opens(uint64_t number, int64_t more) { (void)number, (void)more; }
int64_t cdv_live_tickets(void) { return 0; }
int cdv_publish(struct cdv_array *array, int64_t opens, struct cdv_ticket *out) {
  (void)array, (void)opens, (void)out;
  return refuse("sharing an array");
}
int cdv_open_ticket(const struct cdv_ticket *ticket, int level, struct cdv_array **out) {
  (void)ticket, (void)level;
  *out = NULL;
  return refuse("opening a shared array");
}
int cdv_publish_segments(struct cdv_segment *const *segments, int64_t n, int64_t opens, struct cdv_ticket *out) {
  (void)segments, (void)n, (void)opens, (void)out;
  return refuse("sharing an array");
}
int cdv_ask_ticket(const struct cdv_ticket *ticket, int *fds, int64_t *n) {
  (void)ticket, (void)fds;
  *n = 0;
  return refuse("opening a shared array");
}
int cdv_directory_write(const uint8_t secret[16], struct cdv_segment *const *segments, int64_t n,
                        struct cdv_segment **out) {
  (void)secret, (void)segments, (void)n, (void)out;
  return refuse("sharing an array");
}
int cdv_directory_read(int64_t process, int64_t descriptor, const uint8_t secret[16], int *fds, int64_t *n) {
  (void)process, (void)descriptor, (void)secret, (void)fds;
  *n = 0;
  return refuse("opening a shared array");
}

/* ---- ring.h ---- */
int cdv_ring_new(int64_t nbytes, int64_t batches, struct cdv_ring **out, struct cdv_ticket *ticket) {
  (void)nbytes, (void)batches, (void)out, (void)ticket;
  return refuse("sharing a stream");
}
void cdv_ring_interrupt(struct cdv_ring *ring) { (void)ring; }
void cdv_ring_close(struct cdv_ring *ring) { (void)ring; }
int64_t cdv_live_rings(void) { return 0; }
int cdv_ring_put(struct cdv_ring *ring, struct cdv_array *array) {
  (void)ring, (void)array;
  return refuse("sharing a stream");
}
int cdv_ring_end(struct cdv_ring *ring, int code, const char *words) {
  (void)ring, (void)code, (void)words;
  return refuse("sharing a stream");
}
int cdv_ring_open(const struct cdv_ticket *ticket, struct cdv_schema *schema, int level, struct cdv_stream **out) {
  (void)ticket, (void)schema, (void)level, (void)out;
  return refuse("opening a shared stream");
}
#endif
