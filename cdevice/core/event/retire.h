/* retire.h - arrays and staging chunks that live until a device has passed an event. */
#ifndef CDEVICE_CORE_EVENT_RETIRE_H
#define CDEVICE_CORE_EVENT_RETIRE_H

#include "core/copy/staging.h"

struct cdv_array;
struct cdv_event;

/* Keeps a source (or NULL) and two staging chunks until an event has passed.  owns: on success the chunks are taken
 * over and without memory afterwards. */
int cdv_retire_after_event(struct cdv_event *event, struct cdv_array *source, struct cdv_staging_buffer stages[2]);
/* Keeps the memory of an array until all work enqueued on `stream` (of its device) so far is done. */
int cdv_record_use(struct cdv_array *array, void *stream);

#endif
