/* retire.c - arrays and staging chunks that live until a device has passed an event. */
#include "core/event/retire.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/array/origin.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/reclaim.h"

#include <stdlib.h>
#include <string.h>

struct reading {
  struct cdv_retired kept; /* first */
  struct cdv_array *source;
  struct cdv_staging_buffer stages[2];
};

static void read_all(struct cdv_retired *k) {
  struct reading *x = (struct reading *)k;
  if (x->source) cdv_array_unref(x->source);
  for (int i = 0; i < 2; i++) cdv_staging_put(&x->stages[i]);
  free(x);
}

int cdv_retire_after_event(struct cdv_event *event, struct cdv_array *source, struct cdv_staging_buffer stages[2]) {
  if (!source && !stages[0].memory && !stages[1].memory) return 0;
  struct reading *x = malloc(sizeof *x);
  if (!x) return cdv_fail_memory(sizeof *x, "a transfer");
  x->source = source ? cdv_array_ref(source) : NULL;
  memcpy(x->stages, stages, sizeof x->stages);
  int r = cdv_on_event_complete(event, &x->kept, read_all);
  if (!r) {
    stages[0].memory = stages[1].memory = NULL;
    return 0;
  }
  if (source) cdv_array_unref(source); /* the caller waits for the stream and puts the chunks back itself */
  free(x);
  return r;
}

int cdv_record_use(struct cdv_array *array, void *stream) {
  const struct ArrowDeviceArray *own = &array->root->own;
  struct cdv_backend *backend;
  struct cdv_event *event;
  int r = cdv_array_backend(array, &backend);
  if (!r) r = cdv_event_record(backend, own->device_id, stream, &event);
  if (r || !event) return r; /* no event: nothing runs behind the caller's back there */
  struct cdv_staging_buffer none[2] = {{0}, {0}};
  r = cdv_retire_after_event(event, array->root, none);
  cdv_event_unref(event);
  return r;
}
