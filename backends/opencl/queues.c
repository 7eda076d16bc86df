/* queues.c - streams: default contexts and queues, and the user's. */
#include "opencl/internal.h"

/* The runtime's older call first: it is the one that every device from 1.2 on has. */
cl_command_queue ocl_make_queue(cl_context context, cl_device_id device, cl_int *code) {
  if (ocl.CreateCommandQueue) return ocl.CreateCommandQueue(context, device, 0, code);
  if (ocl.CreateCommandQueueWithProperties) return ocl.CreateCommandQueueWithProperties(context, device, NULL, code);
  *code = CL_INVALID_OPERATION;
  return NULL;
}

/* Makes the default context and queue; with the lock held. */
static int make_defaults(ocl_device *slot, cdevice_error *err) {
  intptr_t properties[3] = {CL_CONTEXT_PLATFORM, (intptr_t)slot->platform, 0};
  cl_int code = 0;
  cl_command_queue queue;
  if (slot->old) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "%s is older than OpenCL 1.2", slot->name);
  if (!slot->context) {
    cl_device_id *ids = calloc((size_t)ocl_state.n, sizeof *ids);
    cl_uint n = 0;
    cl_context context;
    if (!ids) return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "default context");
    for (int64_t i = 0; i < ocl_state.n; i++)
      if (ocl_state.slots[i].platform == slot->platform && !ocl_state.slots[i].old) ids[n++] = ocl_state.slots[i].id;
    context = ocl.CreateContext(properties, n, ids, NULL, NULL, &code);
    if (context) {
      for (int64_t i = 0; i < ocl_state.n; i++)
        if (ocl_state.slots[i].platform == slot->platform && !ocl_state.slots[i].old && !ocl_state.slots[i].context)
          ocl_state.slots[i].context = context;
    } else if (n > 1) { /* one device of the platform may be out of order; the others are not */
      slot->context = ocl.CreateContext(properties, 1, &slot->id, NULL, NULL, &code);
    }
    free(ids);
    if (!slot->context) return ocl_fail(err, code, "clCreateContext");
  }
  queue = ocl_make_queue(slot->context, slot->id, &code);
  if (!queue) return ocl_fail(err, code, "clCreateCommandQueue");
  __atomic_store_n(&slot->queue, queue, __ATOMIC_RELEASE);
  return 0;
}

int ocl_defaults(int64_t device, ocl_device **out, cdevice_error *err) {
  int result = ocl_slot_of(device, out, err);
  if (result) return result;
  if (__atomic_load_n(&(*out)->queue, __ATOMIC_ACQUIRE)) return 0;
  pthread_mutex_lock(&ocl_state.lock);
  if (!(*out)->queue) result = make_defaults(*out, err);
  pthread_mutex_unlock(&ocl_state.lock);
  return result;
}

int ocl_lane_of(int64_t device, void *stream, ocl_queue_ref *out, cdevice_error *err) {
  cl_bits properties = 0;
  cl_int code;
  if (!stream) {
    ocl_device *slot;
    int result = ocl_defaults(device, &slot, err);
    if (result) return result;
    *out = (ocl_queue_ref){slot->queue, slot->context, 0};
    return 0;
  }
  if (!ocl_started(err)) return ENODEV;
  out->queue = stream;
  code = ocl.GetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof out->context, &out->context, NULL);
  if (code) return ocl_fail(err, code, "stream is not a cl_command_queue");
  code = ocl.GetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  out->unordered = !code && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  return 0;
}

cl_int ocl_put_barrier(cl_command_queue queue, cl_event event) {
  cl_event own;
  cl_int code = ocl.EnqueueBarrierWithWaitList(queue, event ? 1 : 0, event ? &event : NULL, ocl_held(&own));
  ocl_defer_release(own);
  return code;
}

/* Waits for all that is on `queue`: after a failure, when host memory must not be touched any more. */
void ocl_drain(cl_command_queue queue) {
  cl_event marker = NULL;
  if (!ocl.EnqueueMarkerWithWaitList(queue, 0, NULL, &marker)) {
    ocl.WaitForEvents(1, &marker);
    ocl_defer_release(marker);
  } else {
    ocl.Finish(queue);
  }
}

int opencl_current_stream(void *self, int64_t device, void **out, cdevice_error *err) {
  ocl_device *slot;
  int result = ocl_defaults(device, &slot, err);
  (void)self;
  if (!result) *out = slot->queue;
  return result;
}

int opencl_stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  ocl_device *slot;
  cl_command_queue queue;
  cl_int code = 0;
  int result = ocl_defaults(device, &slot, err);
  (void)self;
  if (result) return result;
  queue = ocl_make_queue(slot->context, slot->id, &code);
  if (!queue) return ocl_fail(err, code, "clCreateCommandQueue");
  *out = queue;
  return 0;
}

void opencl_stream_destroy(void *self, int64_t device, void *stream) {
  (void)self, (void)device;
  if (stream && ocl.ReleaseCommandQueue) ocl.ReleaseCommandQueue(stream);
}

int opencl_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_int code;
  int result = ocl_lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  code = ocl.Finish(lane.queue);
  ocl_release_completed();
  return code ? ocl_fail(err, code, "clFinish") : 0;
}
