/* device_memory.h - memory and events of a device for other processes, by the handles of its vendor. */
#ifndef CDEVICE_CORE_IPC_DEVICE_MEMORY_H
#define CDEVICE_CORE_IPC_DEVICE_MEMORY_H

#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_segment;
struct cdv_shared;

/* cffi: begin */
/* Can other processes open memory of this type? */
int cdv_has_handles(int32_t device_type);
/* cffi: end */

/* What an image keeps of an event. */
struct cdv_event_record {
  int64_t is_set;
  cdevice_ipc_handle handle;
};

/* A segment that stands for the allocation that `data` lies in, its bytes the handle; *base, *nbytes: the allocation.
 * ENOTSUP (CDV_CANNOT_EXPORT): others cannot open this memory.  owns: *out is a new reference.  Any thread; does not
 * block. */
int cdv_device_memory_export(int32_t device_type, int64_t device, const void *data, struct cdv_segment **out,
                             const char **base, int64_t *nbytes);
/* Opens the allocation of such a segment of another process, which must be of this device: it is closed when the last
 * reference goes.  owns: `record` stays the caller's, *out is a new reference.  Any thread; may block for the device's
 * first use. */
int cdv_device_memory_open(const struct cdv_segment *record, int32_t device_type, int64_t device,
                           struct cdv_segment **out);

/* Records what others must wait for before they read the array: *record, and *kept for as long as one of them reads.
 * Where the device has no such events it waits on the host.  owns: *kept is a reference, or NULL. */
int cdv_event_export(struct cdv_array *array, struct cdv_event_record *record, struct cdv_shared **kept);
/* The other side.  owns: *kept is a reference, and *sync_event is good for as long. */
int cdv_event_open(int32_t device_type, int64_t device, const struct cdv_event_record *record, void **sync_event,
                   struct cdv_shared **kept);

#endif
