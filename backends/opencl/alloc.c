/* alloc.c - buffers made, counted, given back.
 *
 * A processor's buffers are put on memory of the host's pool.  The runtime tells when nothing refers to such a
 * buffer any more, no command, no part of it and no other owner: only then may the memory be used again.  Where a
 * runtime was found to tell it at another time (trials.c), its buffers are on memory of its own.  Other
 * devices' memory is the runtime's own: what others have made of a buffer cannot be seen from outside, so none is
 * used again here. */
#include "opencl/internal.h"

#include <stdbool.h>

typedef struct pooled_buffer { /* a buffer on memory of the pool */
  void *data;
  size_t size;
  ocl_usage *use;
} pooled_buffer;

/* On a thread of the runtime's, or within the last release. */
static void CL_CALL on_end(cl_mem mem, void *arg) {
  pooled_buffer *l = arg;
  (void)mem;
  host_pool_put(l->data, l->size);
  atomic_fetch_sub(&l->use->pending, (long long)l->size);
  ocl_use_drop(l->use);
  free(l);
}

/* A buffer on memory of the pool, which it takes; NULL: not to be had, which the runtime shall say itself. */
static cl_mem make_pooled_buffer(cl_context context, int64_t nbytes, ocl_usage *use, void *data, size_t size) {
  pooled_buffer *l = malloc(sizeof *l);
  cl_mem mem = NULL;
  cl_int code = 0;
  if (l) {
    *l = (pooled_buffer){data, size, use};
    atomic_fetch_add(&use->refs, 1);
    mem = ocl.CreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)nbytes, data, &code);
    if (mem && !ocl.SetMemObjectDestructorCallback(mem, on_end, l)) return mem;
    ocl_use_drop(use);
    if (mem) ocl.ReleaseMemObject(mem); /* nothing has used it */
  }
  host_pool_put(data, size);
  free(l);
  return NULL;
}

/* Does the user's queue work for the device that was asked for? */
static int right_device(int64_t device, void *stream, cdevice_error *err) {
  cl_device_id id = NULL;
  cl_int code = ocl.GetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
  if (code) return ocl_fail(err, code, "the device of the stream");
  int64_t index = ocl_index_of(id);
  if (index == device) return 0;
  return cdevice_backend_fail(err, EINVAL, CL_INVALID_DEVICE, ocl_code_name(CL_INVALID_DEVICE),
                              "the stream belongs to OpenCL device %lld, not %lld", (long long)index,
                              (long long)device);
}

static int lane_for(int64_t device, void *stream, ocl_queue_ref *lane, cdevice_error *err) {
  int r = ocl_lane_of(device, stream, lane, err);
  return r || !stream ? r : right_device(device, stream, err);
}

static void made(ocl_device *slot, int64_t device, int64_t nbytes, cl_mem mem, size_t pooled, cdevice_block *out) {
  *out = (cdevice_block){.data = mem, .nbytes = nbytes, .device_id = device, .opaque = {slot->use, (void *)pooled}};
  if (!slot->use) return;
  atomic_fetch_add(&slot->use->refs, 1);
  host_pool_count(&slot->use->bytes, pooled ? (int64_t)pooled : nbytes);
}

static bool uses_pool(ocl_device *slot, int64_t nbytes) {
  return slot->is_host && slot->use && host_pool_keeps(nbytes) && ocl_tells_end(slot);
}

/* The size is not zero, so an invalid one is too large for the device. */
static int too_large(const ocl_device *slot, cdevice_error *err) {
  uint64_t most = 0;
  if (ocl.GetDeviceInfo(slot->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL) || !most)
    return ocl_fail_as(err, ENOMEM, CL_INVALID_BUFFER_SIZE, "clCreateBuffer");
  return cdevice_backend_fail(err, ENOMEM, CL_INVALID_BUFFER_SIZE, ocl_code_name(CL_INVALID_BUFFER_SIZE),
                              "OpenCL: a buffer of this device has at most %llu bytes (CL_DEVICE_MAX_MEM_ALLOC_SIZE)",
                              (unsigned long long)most);
}

int opencl_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  ocl_queue_ref lane;
  ocl_device *slot;
  cl_mem mem = NULL;
  cl_int code = 0;
  int result = ocl_slot_of(device, &slot, err);
  size_t pooled = 0;
  (void)self;
  if (!result && nbytes <= 0) result = ocl_fail(err, CL_INVALID_BUFFER_SIZE, "allocation of 0 bytes");
  if (!result) result = lane_for(device, stream, &lane, err);
  if (result) return result;
  /* NVIDIA's makes such a buffer, and fails when it is used */
  if (slot->total_bytes > 0 && nbytes > slot->total_bytes) return too_large(slot, err);
  void *data = uses_pool(slot, nbytes) ? host_pool_get(nbytes, &pooled) : NULL;
  if (data) mem = make_pooled_buffer(lane.context, nbytes, slot->use, data, pooled);
  if (!mem) {
    pooled = 0;
    mem = ocl.CreateBuffer(lane.context, CL_MEM_READ_WRITE, (size_t)nbytes, NULL, &code);
  }
  if (!mem) return code == CL_INVALID_BUFFER_SIZE ? too_large(slot, err) : ocl_fail(err, code, "clCreateBuffer");
  made(slot, device, nbytes, mem, pooled, out);
  return 0;
}

/* What a buffer is made on holds its first contents (clCreateBuffer). */
static int prepare(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err) {
  ocl_device *slot;
  size_t size;
  int r = ocl_slot_of(device, &slot, err);
  (void)self;
  if (r) return r;
  if (nbytes <= 0 || !uses_pool(slot, nbytes)) return ENOTSUP;
  void *data = host_pool_get(nbytes, &size);
  if (!data) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory: %lld bytes", (long long)nbytes);
  *out = (cdevice_block){.data = data, .nbytes = nbytes, .device_id = device, .opaque = {NULL, (void *)size}};
  return 0;
}

static int commit(void *self, void *stream, cdevice_block *block, cdevice_error *err) {
  ocl_queue_ref lane;
  ocl_device *slot;
  size_t size = (size_t)block->opaque[1];
  int r = ocl_slot_of(block->device_id, &slot, err);
  (void)self;
  if (!r) r = lane_for(block->device_id, stream, &lane, err);
  if (r) {
    host_pool_put(block->data, size);
    return r;
  }
  cl_mem mem = make_pooled_buffer(lane.context, block->nbytes, slot->use, block->data, size);
  if (!mem) return ocl_fail_as(err, ENOMEM, 0, "a buffer over host memory");
  made(slot, block->device_id, block->nbytes, mem, size, block);
  return 0;
}

static void discard(void *self, cdevice_block *block) {
  (void)self;
  host_pool_put(block->data, (size_t)block->opaque[1]);
}

static int unfinished(void *self) {
  (void)self;
  return ocl_kernels_wait();
}

const void *opencl_memory(void) {
  static const cdevice_memory memory = {.struct_size = sizeof memory,
                                        .prepare = prepare,
                                        .commit = commit,
                                        .discard = discard,
                                        .has_pending_work = unfinished};
  return &memory;
}

/* The runtime lets the memory go after the last command that uses it. */
void opencl_free(void *self, const cdevice_block *block) {
  (void)self;
  if (!block || !block->data || !ocl.ReleaseMemObject) return;
  ocl_usage *use = block->opaque[0]; /* NULL for a view */
  size_t pooled = (size_t)block->opaque[1];
  if (use) {
    host_pool_count(&use->bytes, -(pooled ? (int64_t)pooled : block->nbytes));
    atomic_fetch_add(&use->pending, (long long)pooled);
  }
  ocl.ReleaseMemObject(block->data);
  ocl_use_drop(use);
}

static void statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  ocl_device *slot;
  (void)self;
  *live = *pooled = *pending = *peak = 0;
  if (ocl_slot_of(device, &slot, NULL) || !slot->use) return;
  *live = atomic_load(&slot->use->bytes.live);
  *peak = atomic_load(&slot->use->bytes.peak);
  *pending = atomic_load(&slot->use->pending);
  if (slot->is_host) *pooled = host_pool_kept();
}

static void trim(void *self, int64_t device) {
  ocl_device *slot;
  (void)self;
  if (!ocl_slot_of(device, &slot, NULL) && slot->is_host) host_pool_trim();
}

const void *opencl_pool(void) {
  static const cdevice_pool pool = {.struct_size = sizeof pool, .statistics = statistics, .trim = trim};
  return &pool;
}
