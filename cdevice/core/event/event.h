/* event.h - the only reader of sync_event: every import, copy and export passes through here. */
#ifndef CDEVICE_CORE_EVENT_EVENT_H
#define CDEVICE_CORE_EVENT_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_backend;

/* A recorded event of our own, counted: its array and the reclaimer may both need it. */
struct cdv_event {
  atomic_int refs;
  struct cdv_backend *backend;
  int64_t device;
  cdevice_event event;
};
/* Not recorded yet: the caller records (*out)->event in place. */
int cdv_event_new(struct cdv_backend *backend, int64_t device, struct cdv_event **out);
/* Recorded behind all work of the stream so far.  *out is NULL where there is nothing to wait for. */
int cdv_event_record(struct cdv_backend *backend, int64_t device, void *stream, struct cdv_event **out);
void cdv_event_unref(struct cdv_event *event);
/* As event_done of the backend, for memory that goes back: a dead device must be reported twice, for
 * one question may fail alone. */
int cdv_event_completed(const struct cdv_event *event, int *done);
int cdv_event_ready(struct cdv_array *array, int *done);
int cdv_event_wait_host(struct cdv_array *array);
/* The same for a limited time; *done: whether the event completed. */
int cdv_event_wait_for(struct cdv_array *array, int64_t nanoseconds, int *done);
/* Makes a stream of this device wait. */
int cdv_event_wait_stream(struct cdv_array *array, int32_t device_type, int64_t device, void *stream);

#endif
