/* prefetch.h - a stream copied to a device ahead of its consumer, by a thread where the source does not enter
 * Python. */
#ifndef CDEVICE_CORE_STREAM_PREFETCH_H
#define CDEVICE_CORE_STREAM_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_shared;
struct cdv_stream;

/* Each array copied to a device (as cdv_array_copy), `ahead` of them before they are asked for; queue: see
 * cdv_array_set_stream_owner, or NULL.  A thread does it, except where the source enters Python; any_thread: there
 * too.  owns: takes s over; on an error it stays the caller's. */
int cdv_stream_copy(struct cdv_stream *s, int32_t device_type, int64_t device_id, void *stream,
                    struct cdv_shared *queue, int64_t ahead, bool any_thread, struct cdv_stream **out);

#endif
