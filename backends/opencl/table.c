/* table.c - device type 4 by OpenCL 1.2 or later, found at run time.
 *
 * Buffers are cl_mem handles (DLPack's convention), sync_event is a cl_event*, streams are cl_command_queue.  Device
 * ids count platforms x devices in the order in which the loader lists them.
 *
 * Contexts.  OpenCL ties buffers, events and queues to a context and refuses to mix them (-34).  A buffer of another
 * context than the stream's is copied on a short-lived queue of its own context; events cross over by a user event of
 * the other context that is completed when the first one is.  So the order is kept without a wait on the host.
 * Only where that cannot be set up does the host wait, and only between two buffers of two contexts is there
 * no way: ENOTSUP, go through the host.
 *
 * Streams may be out of order: each batch is then put behind a barrier, so that a stream is a stream.
 *
 * Runtimes.  What the standard promises is tried where it can be (trials.c).  PoCL (seen with 3.1) has two
 * faults that cannot: when a user event fails it walks over the events of the commands behind it and aborts the
 * process if one was released, so events are held until they are over (ocl_state.fragile); and it does not call
 * callbacks of events that fail, so a thread waits instead (ocl_state.deaf).  Of unknown runtimes both are expected. */
#include "opencl/internal.h"

static const void *extension(void *self, const char *id) {
  (void)self;
  if (id && !strcmp(id, CDEVICE_OPENCL_SVM)) return opencl_svm();
  if (id && !strcmp(id, CDEVICE_COMPUTE)) return &opencl_compute;
  if (id && !strcmp(id, CDEVICE_MEMORY)) return opencl_memory();
  if (id && !strcmp(id, CDEVICE_OPENCL_DEVICES)) return opencl_devices();
  if (id && !strcmp(id, CDEVICE_NOTES)) return opencl_notes();
  if (id && !strcmp(id, CDEVICE_PROFILE)) return opencl_profile();
  return id && !strcmp(id, CDEVICE_POOL) ? opencl_pool() : NULL;
}

int cdevice_opencl_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  static const cdevice_backend table = {
      .abi_version = CDEVICE_BACKEND_ABI,
      .struct_size = sizeof table,
      .device_type = ARROW_DEVICE_OPENCL,
      .capabilities = CDEVICE_CAP_EVENTS | CDEVICE_CAP_STREAMS | CDEVICE_CAP_ASYNC_FREE | CDEVICE_CAP_PEER,
      .name = "opencl",
      .family = "opencl",
      .self = &ocl_state,
      .start = opencl_start,
      .device_count = opencl_device_count,
      .alloc = opencl_alloc,
      .free = opencl_free,
      .copy = opencl_copy,
      .event_record = opencl_event_record,
      .event_done = opencl_event_done,
      .event_wait_host = opencl_event_wait_host,
      .event_wait_stream = opencl_event_wait_stream,
      .event_destroy = opencl_event_destroy,
      .device_info = opencl_device_info,
      .view = opencl_view,
      .current_stream = opencl_current_stream,
      .stream_create = opencl_stream_create,
      .stream_destroy = opencl_stream_destroy,
      .stream_wait_host = opencl_stream_wait_host,
      .event_notify = opencl_event_notify,
      .fill = opencl_fill,
      .locate = opencl_locate,
      .compatible = opencl_compatible,
      .stop = opencl_stop,
      .extension = extension,
  };
  if (core_abi >> 16 != CDEVICE_BACKEND_ABI >> 16)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "the OpenCL backend requires plug-in ABI %d",
                                CDEVICE_BACKEND_ABI >> 16);
  if (index) return ENOENT;
  *out = &table;
  return 0;
}
