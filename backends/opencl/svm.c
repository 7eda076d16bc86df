/* svm.c - shared virtual memory, the extension of opencl.h. */
#include "opencl/internal.h"

static int svm_capabilities(void *self, int64_t device, uint64_t *out, cdevice_error *err) {
  ocl_device *slot;
  int result = ocl_slot_of(device, &slot, err);
  (void)self;
  if (!result) *out = ocl.SVMAlloc && ocl.EnqueueSVMFree && ocl.EnqueueSVMMemcpy ? slot->svm : 0;
  return result;
}

static int svm_lane(int64_t device, void *stream, ocl_queue_ref *lane, cdevice_error *err) {
  uint64_t capabilities = 0;
  int result = svm_capabilities(NULL, device, &capabilities, err);
  if (!result && !capabilities)
    result = cdevice_backend_fail(err, ENOTSUP, 0, NULL, "OpenCL device %lld has no shared virtual memory",
                                  (long long)device);
  return result ? result : ocl_lane_of(device, stream, lane, err);
}

static int svm_alloc(void *self, int64_t device, int64_t nbytes, uint32_t alignment, uint32_t flags, void *stream,
                     void **out, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_bits bits = CL_MEM_READ_WRITE;
  void *pointer;
  int result;
  (void)self;
  /* The runtime answers NULL to everything, so the reasons are checked here. */
  if (nbytes <= 0 || alignment > 128 || (alignment & (alignment - 1)))
    return ocl_fail(err, CL_INVALID_VALUE, "shared virtual memory of this size and alignment");
  result = svm_lane(device, stream, &lane, err);
  if (result) return result;
  if (flags & CDEVICE_OPENCL_SVM_FINE_GRAIN) bits |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
  pointer = ocl.SVMAlloc(lane.context, bits, (size_t)nbytes, alignment);
  if (!pointer) return ocl_fail(err, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
  *out = pointer;
  return 0;
}

static int svm_free(void *self, int64_t device, void *pointer, void *sync_event, void *stream, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_event event;
  cl_int code;
  int result;
  if (!pointer) return 0;
  result = svm_lane(device, stream, &lane, err);
  if (!result) result = opencl_event_wait_stream(self, device, sync_event, stream, err);
  if (result) return result;
  if (lane.unordered && (code = ocl_put_barrier(lane.queue, NULL)))
    return ocl_fail(err, code, "clEnqueueBarrierWithWaitList");
  code = ocl.EnqueueSVMFree(lane.queue, 1, &pointer, NULL, NULL, 0, NULL, ocl_held(&event));
  ocl_defer_release(event);
  if (!code) code = ocl.Flush(lane.queue);
  return code ? ocl_fail(err, code, "clEnqueueSVMFree") : 0;
}

static int svm_copy(void *self, int64_t device, void *dst, const void *src, int64_t nbytes, void *stream,
                    cdevice_error *err) {
  ocl_queue_ref lane;
  cl_event event;
  cl_int code;
  int result;
  (void)self;
  if (!nbytes) return 0;
  if (nbytes < 0 || !dst || !src) return ocl_fail(err, CL_INVALID_VALUE, "copy of shared virtual memory");
  result = svm_lane(device, stream, &lane, err);
  if (result) return result;
  if (lane.unordered && (code = ocl_put_barrier(lane.queue, NULL)))
    return ocl_fail(err, code, "clEnqueueBarrierWithWaitList");
  code = ocl.EnqueueSVMMemcpy(lane.queue, 0, dst, src, (size_t)nbytes, 0, NULL, ocl_held(&event));
  ocl_defer_release(event);
  return code ? ocl_fail(err, code, "clEnqueueSVMMemcpy") : 0;
}

const void *opencl_svm(void) {
  static const cdevice_opencl_svm svm = {sizeof svm, 0, svm_capabilities, svm_alloc, svm_free, svm_copy};
  return &svm;
}
