/* copies.c - work on buffers: a list of commands of one kind. */
#include "opencl/internal.h"

#define KIND_FILL 100

typedef struct ocl_work {
  int kind;
  const cdevice_copy *copies;
  int64_t n;
  unsigned char byte; /* KIND_FILL: into dst */
} ocl_work;

static int64_t device_of(const ocl_work *work, const cdevice_copy *copy) {
  return work->kind == CDEVICE_COPY_D2H ? copy->src_device : copy->dst_device;
}

static cl_mem buffer_of(const ocl_work *work, const cdevice_copy *copy) {
  return work->kind == CDEVICE_COPY_D2H ? (cl_mem)copy->src : (cl_mem)copy->dst;
}

static int check_side(cl_mem mem, int64_t offset, int64_t nbytes, const char *side, int64_t at, ocl_seen *seen,
                      cdevice_error *err) {
  cl_int code = ocl_look(mem, seen);
  if (code)
    return cdevice_backend_fail(err, ocl_code_errno(code), code, ocl_code_name(code),
                                "OpenCL: %s of copy %lld is not a buffer: %s (%d)", side, (long long)at,
                                ocl_code_name(code), code);
  if (offset < 0 || (uint64_t)offset > seen->size || (uint64_t)nbytes > seen->size - (uint64_t)offset)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, ocl_code_name(CL_INVALID_VALUE),
                                "OpenCL: %s of copy %lld: %lld bytes at offset %lld are outside a buffer of %zu bytes",
                                side, (long long)at, (long long)nbytes, (long long)offset, seen->size);
  return 0;
}

/* Looks at everything before anything is enqueued, so that bad input is refused as a whole.  *foreign: how many
 * commands have their buffers in another context than the stream's. */
static int check_work(const ocl_work *work, const ocl_queue_ref *lane, int64_t *foreign, cdevice_error *err) {
  ocl_seen src = {0}, dst = {0};
  *foreign = 0;
  for (int64_t i = 0; i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    int result = 0, from_buffer = work->kind != CDEVICE_COPY_H2D && work->kind != KIND_FILL;
    int to_buffer = work->kind != CDEVICE_COPY_D2H;
    if (copy->nbytes < 0)
      return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, ocl_code_name(CL_INVALID_VALUE),
                                  "OpenCL: copy %lld has %lld bytes", (long long)i, (long long)copy->nbytes);
    if (!copy->nbytes) continue;
    if ((work->kind == CDEVICE_COPY_H2D && !copy->src) || (work->kind == CDEVICE_COPY_D2H && !copy->dst))
      return ocl_fail(err, CL_INVALID_HOST_PTR, "copy from or to NULL");
    if (from_buffer) result = check_side((cl_mem)copy->src, copy->src_offset, copy->nbytes, "source", i, &src, err);
    if (!result && to_buffer)
      result = check_side(copy->dst, copy->dst_offset, copy->nbytes, "destination", i, &dst, err);
    if (result) return result;
    if (from_buffer && to_buffer && src.context != dst.context)
      return cdevice_backend_fail(err, ENOTSUP, CL_INVALID_CONTEXT, ocl_code_name(CL_INVALID_CONTEXT),
                                  "OpenCL: the buffers belong to different contexts: copy through the host");
    if ((to_buffer ? dst.context : src.context) != lane->context) ++*foreign;
  }
  return 0;
}

static cl_int enqueue_one(const ocl_work *work, const cdevice_copy *copy, cl_command_queue queue) {
  size_t nbytes = (size_t)copy->nbytes, from = (size_t)copy->src_offset, to = (size_t)copy->dst_offset;
  cl_mem src = (cl_mem)copy->src, dst = copy->dst;
  cl_event event, *out = ocl_held(&event);
  cl_int code;
  switch (work->kind) {
    case CDEVICE_COPY_H2D:
      code = ocl.EnqueueWriteBuffer(queue, dst, 0, to, nbytes, (const char *)copy->src + from, 0, NULL, out);
      break;
    case CDEVICE_COPY_D2H:
      code = ocl.EnqueueReadBuffer(queue, src, 0, from, nbytes, (char *)copy->dst + to, 0, NULL, out);
      break;
    case KIND_FILL: code = ocl.EnqueueFillBuffer(queue, dst, &work->byte, 1, to, nbytes, 0, NULL, out); break;
    default: code = ocl.EnqueueCopyBuffer(queue, src, dst, from, to, nbytes, 0, NULL, out);
  }
  ocl_defer_release(event);
  return code;
}

static const char *work_name(const ocl_work *work) {
  return work->kind == CDEVICE_COPY_H2D   ? "clEnqueueWriteBuffer"
         : work->kind == CDEVICE_COPY_D2H ? "clEnqueueReadBuffer"
         : work->kind == KIND_FILL        ? "clEnqueueFillBuffer"
                                          : "clEnqueueCopyBuffer";
}

/* Enqueues those commands whose buffers are of `context`.  On an error nothing of it is running any more. */
static int enqueue_all(const ocl_work *work, cl_command_queue queue, cl_context context, int check_context,
                       cdevice_error *err) {
  ocl_seen seen = {0};
  int sent = 0;
  for (int64_t i = 0; i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    cl_int code = 0;
    if (!copy->nbytes) continue;
    if (check_context) {
      code = ocl_look(buffer_of(work, copy), &seen);
      if (!code && seen.context != context) continue;
    }
    if (!code) code = enqueue_one(work, copy, queue);
    if (code) {
      if (sent) ocl_drain(queue);
      return ocl_fail(err, code, work_name(work));
    }
    sent = 1;
  }
  return 0;
}

/* The commands of one foreign context, on a queue that lives for this call: nothing of the user's is kept, and one
 * caller's closed gate does not stand in another's way.  The runtime ends the queue after its last command. */
static int enqueue_foreign(const ocl_work *work, const ocl_queue_ref *lane, cl_context context, int64_t device,
                           cdevice_error *err) {
  cl_device_id id = NULL;
  cl_event before = NULL, after = NULL;
  cl_command_queue queue = NULL;
  int64_t index;
  int result;
  cl_int code = ocl_pick_device(context, device, &id, &index);
  if (code) return ocl_fail(err, code, "the devices of the buffer's context");
  queue = ocl_make_queue(context, id, &code);
  if (!queue) return ocl_fail(err, code, "clCreateCommandQueue in the buffer's context");
  code = ocl.EnqueueMarkerWithWaitList(lane->queue, 0, NULL, &before);
  if (!code) code = ocl.Flush(lane->queue);
  result = code ? ocl_fail(err, code, "clEnqueueMarkerWithWaitList") : ocl_wait_for(queue, context, before, 1, err);
  if (!result) {
    result = enqueue_all(work, queue, context, 1, err);
    if (!result) {
      code = ocl.EnqueueMarkerWithWaitList(queue, 0, NULL, &after);
      if (!code) code = ocl.Flush(queue);
      result = code ? ocl_fail(err, code, "clEnqueueMarkerWithWaitList")
                    : ocl_wait_for(lane->queue, lane->context, after, 1, err);
      if (result) ocl_drain(queue);
    }
  }
  ocl_defer_release(before);
  ocl_defer_release(after);
  ocl.ReleaseCommandQueue(queue);
  return result;
}

static int do_work(const ocl_work *work, void *stream, cdevice_error *err) {
  ocl_queue_ref lane;
  ocl_seen seen = {0};
  cl_context *done;
  int64_t foreign, n_done = 0;
  int result;
  cl_int code;
  if (work->n <= 0) return 0;
  result = ocl_lane_of(device_of(work, &work->copies[0]), stream, &lane, err);
  if (!result) result = check_work(work, &lane, &foreign, err);
  if (result) return result;
  if (lane.unordered && (code = ocl_put_barrier(lane.queue, NULL)))
    return ocl_fail(err, code, "clEnqueueBarrierWithWaitList");
  if (!foreign) return enqueue_all(work, lane.queue, lane.context, 0, err);

  done = malloc((size_t)foreign * sizeof *done); /* contexts served; the lane's own comes first */
  if (!done) return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "copy");
  result = enqueue_all(work, lane.queue, lane.context, 1, err);
  for (int64_t i = 0; !result && i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    int known = 0;
    if (!copy->nbytes) continue;
    code = ocl_look(buffer_of(work, copy), &seen);
    if (code) result = ocl_fail(err, code, "clGetMemObjectInfo");
    if (code || seen.context == lane.context) continue;
    for (int64_t k = 0; k < n_done && !known; k++) known = done[k] == seen.context;
    if (known) continue;
    done[n_done++] = seen.context;
    result = enqueue_foreign(work, &lane, seen.context, device_of(work, copy), err);
  }
  free(done);
  /* What earlier contexts have in flight, the lane waits for; so this is an end to all of it. */
  if (result) ocl_drain(lane.queue);
  return result;
}

int opencl_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  ocl_work work = {.kind = kind, .copies = copies, .n = n};
  (void)self;
  if (kind < CDEVICE_COPY_H2D || kind > CDEVICE_COPY_PEER)
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "OpenCL: unknown copy kind %d", kind);
  return do_work(&work, stream, err);
}

int opencl_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                cdevice_error *err) {
  cdevice_copy target = {.dst = block->data, .dst_offset = offset, .dst_device = block->device_id, .nbytes = nbytes};
  ocl_work work = {.kind = KIND_FILL, .copies = &target, .n = 1, .byte = (unsigned char)byte};
  (void)self;
  return do_work(&work, stream, err);
}
