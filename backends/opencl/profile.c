/* profile.c - when the device passed points of a queue's work: markers of queues with profiling. */
#include "opencl/internal.h"

static int make_queue(ocl_device *slot, cl_command_queue *out, cl_int *code) {
  const cl_ulong properties[3] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  *out = NULL;
  if (ocl.CreateCommandQueue)
    *out = ocl.CreateCommandQueue(slot->context, slot->id, CL_QUEUE_PROFILING_ENABLE, code);
  else if (ocl.CreateCommandQueueWithProperties)
    *out = ocl.CreateCommandQueueWithProperties(slot->context, slot->id, properties, code);
  return *out != NULL;
}

static int stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  ocl_device *slot;
  cl_command_queue queue;
  cl_int code = CL_INVALID_OPERATION;
  int result = ocl_defaults(device, &slot, err);
  (void)self;
  if (result) return result;
  if (!make_queue(slot, &queue, &code)) return ocl_fail(err, code, "clCreateCommandQueue with profiling");
  *out = queue;
  return 0;
}

static int mark(void *self, int64_t device, void *stream, void **out, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_bits properties = 0;
  cl_event event = NULL;
  int result = ocl_lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  cl_int code = ocl.GetCommandQueueInfo(lane.queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (code) return ocl_fail(err, code, "clGetCommandQueueInfo");
  if (!(properties & CL_QUEUE_PROFILING_ENABLE) || !ocl.GetEventProfilingInfo)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "the queue has no times: it was made without profiling");
  code = ocl.EnqueueMarkerWithWaitList(lane.queue, 0, NULL, &event);
  if (code) return ocl_fail(err, code, "clEnqueueMarkerWithWaitList");
  *out = event;
  return 0;
}

static int passed_at(cl_event event, cl_ulong *out, cdevice_error *err) {
  cl_int code = ocl.WaitForEvents(1, &event);
  if (code) return ocl_fail(err, code, "clWaitForEvents");
  code = ocl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof *out, out, NULL);
  return code ? ocl_fail(err, code, "clGetEventProfilingInfo") : 0;
}

static int elapsed(void *self, int64_t device, void *from, void *to, int64_t *nanoseconds, cdevice_error *err) {
  cl_ulong a, b;
  (void)self, (void)device;
  int result = passed_at(from, &a, err);
  if (!result) result = passed_at(to, &b, err);
  if (!result) *nanoseconds = (int64_t)(b - a);
  return result;
}

static void drop(void *self, int64_t device, void *event) {
  (void)self, (void)device;
  ocl_defer_release(event);
}

const void *opencl_profile(void) {
  static const cdevice_profile profile = {
      .struct_size = sizeof profile, .mark = mark, .elapsed = elapsed, .drop = drop, .stream_create = stream_create};
  return &profile;
}
