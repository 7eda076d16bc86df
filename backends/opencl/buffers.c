/* buffers.c - buffers: cut and found. */
#include "opencl/internal.h"

cl_int ocl_look(cl_mem mem, ocl_seen *seen) {
  cl_int code;
  if (!mem) return CL_INVALID_MEM_OBJECT;
  if (seen->mem == mem) return 0;
  seen->mem = NULL;
  code = ocl.GetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof seen->context, &seen->context, NULL);
  if (!code) code = ocl.GetMemObjectInfo(mem, CL_MEM_SIZE, sizeof seen->size, &seen->size, NULL);
  if (!code) seen->mem = mem;
  return code;
}

int opencl_view(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                cdevice_error *err) {
  cl_mem mem = whole->data, parent = NULL;
  size_t size = 0, base = 0;
  cl_buffer_region region;
  cl_int code;
  (void)self;
  if (!mem) return ocl_fail(err, CL_INVALID_MEM_OBJECT, "view of NULL");
  code = ocl.GetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL);
  if (code) return ocl_fail(err, code, "view");
  if (offset < 0 || nbytes <= 0 || (uint64_t)offset > size || (uint64_t)nbytes > size - (uint64_t)offset)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, ocl_code_name(CL_INVALID_VALUE),
                                "OpenCL: a view of %lld bytes at offset %lld is outside a buffer of %zu bytes",
                                (long long)nbytes, (long long)offset, size);
  if (!offset && (size_t)nbytes == size) {
    code = ocl.RetainMemObject(mem);
    if (code) return ocl_fail(err, code, "clRetainMemObject");
    *out = (cdevice_block){.data = mem, .nbytes = nbytes, .device_id = whole->device_id};
    return 0;
  }
  /* There are no sub-buffers of sub-buffers. */
  code = ocl.GetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
  if (!code && parent) code = ocl.GetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof base, &base, NULL);
  if (code) return ocl_fail(err, code, "view");
  region.origin = base + (size_t)offset;
  region.size = (size_t)nbytes;
  mem = ocl.CreateSubBuffer(parent ? parent : mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (!mem) return ocl_fail(err, code, "clCreateSubBuffer");
  *out = (cdevice_block){.data = mem, .nbytes = nbytes, .device_id = whole->device_id};
  return 0;
}

/* A cl_mem is all there is to go by: of a context of several devices, the one that is hinted at if it is among them,
 * else the first that was enumerated. */
int opencl_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                  cdevice_error *err) {
  cl_mem mem = (cl_mem)data;
  cl_uint type = 0;
  ocl_seen seen = {0};
  cl_device_id id = NULL;
  int64_t index = -1;
  cl_int code;
  (void)self;
  if (!ocl_started(err)) return ENODEV;
  if (!mem) return ocl_fail_as(err, EINVAL, CL_INVALID_MEM_OBJECT, "NULL is not a buffer");
  code = ocl.GetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
  if (!code && type != CL_MEM_OBJECT_BUFFER) code = CL_INVALID_MEM_OBJECT;
  if (!code) code = ocl_look(mem, &seen);
  if (code) return ocl_fail_as(err, EINVAL, code, "not a buffer");
  code = ocl_pick_device(seen.context, *device, &id, &index);
  if (code) return ocl_fail(err, code, "the devices of the buffer's context");
  if (index < 0)
    return ocl_fail_as(err, EINVAL, CL_INVALID_DEVICE,
                       "the context of the buffer has no device that this loader lists");
  *device_type = ARROW_DEVICE_OPENCL;
  *device = index;
  *nbytes = seen.size > INT64_MAX ? INT64_MAX : (int64_t)seen.size;
  return 0;
}

/* Without a stream the question is about the device's default queue, whether or not it has been needed yet. */
int opencl_compatible(void *self, int64_t device, const void *data, void *sync_event, void *stream) {
  cl_context mem_context = NULL, event_context = NULL, context = NULL;
  cl_event event = NULL;
  (void)self;
  if (!ocl_started(NULL)) return 0;
  if (data && ocl.GetMemObjectInfo((cl_mem)data, CL_MEM_CONTEXT, sizeof mem_context, &mem_context, NULL)) return 0;
  if (sync_event) {
    if (ocl_event_of(sync_event, &event, NULL)) return 0;
    if (ocl.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof event_context, &event_context, NULL)) return 0;
  }
  if (data && sync_event && mem_context != event_context) return 0;
  context = data ? mem_context : event_context;
  if (!context) return 1;
  if (stream) {
    ocl_queue_ref lane;
    return !ocl_lane_of(0, stream, &lane, NULL) && lane.context == context;
  }
  ocl_queue_ref lane;
  return !ocl_lane_of(device, NULL, &lane, NULL) && lane.context == context;
}
