/* ring.h - a stream of batches from one process to another, through shared memory that is used again. */
#ifndef CDEVICE_CORE_IPC_RING_H
#define CDEVICE_CORE_IPC_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ipc/broker.h"

struct cdv_array;
struct cdv_schema;
struct cdv_stream;

/* cffi: begin */
struct cdv_ring;
/* A ring of nbytes that batches of a stream go through, at most `batches` of them unread.  Any thread.  owns: *out until
 * cdv_ring_close; *ticket may be opened once. */
int cdv_ring_new(int64_t nbytes, int64_t batches, struct cdv_ring **out, struct cdv_ticket *ticket);
/* What this end waits for ends in an error, now and later; any thread, at the same time as anything but close. */
void cdv_ring_interrupt(struct cdv_ring *ring);
void cdv_ring_close(struct cdv_ring *ring); /* the other end learns of it; arrays that were taken stay */
int64_t cdv_live_rings(void);
/* cffi: end */

/* The writer's end, one thread at a time.  Each blocks while the ring is full; ESHUTDOWN: the reader has gone. */
int cdv_ring_put(struct cdv_ring *ring, struct cdv_array *array);
/* The last item: no more batches (NULL), or the words of an error and its code.  Blocks until it was read. */
int cdv_ring_end(struct cdv_ring *ring, int code, const char *words);
/* The reader's end: arrays of `schema`.  Taking one blocks until there is one; it lies in the ring, unless much of the ring is
 * held already: it is then a copy.  level: as for cdv_image_read.  Blocks as cdv_open_ticket.  owns: *out is the caller's;
 * takes a reference on schema. */
int cdv_ring_open(const struct cdv_ticket *ticket, struct cdv_schema *schema, int level, struct cdv_stream **out);

#endif
