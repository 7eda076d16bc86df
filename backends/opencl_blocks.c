/* opencl_blocks.c - buffers made, counted, given back.
 *
 * A processor's buffers are put on memory of the host's pool.  The runtime tells when nothing refers to such a buffer
 * any more, no command, no part of it and nobody else: only then is the memory anybody else's.  Other devices' memory
 * is the runtime's own: what others have made of a buffer cannot be seen from outside, so none is used again here. */
#include "opencl_parts.h"

typedef struct lent { /* a buffer on memory of the pool */
  void *data;
  size_t size;
  ocl_use *use;
} lent;

/* On a thread of the runtime's, or within the last release. */
static void CL_CALL on_end(cl_mem mem, void *arg) {
  lent *l = arg;
  (void)mem;
  host_pool_put(l->data, l->size);
  atomic_fetch_sub(&l->use->pending, (long long)l->size);
  ocl_use_drop(l->use);
  free(l);
}

/* A buffer on memory of the pool; NULL: not to be had, which the runtime shall say itself. */
static cl_mem make_lent(cl_context context, int64_t nbytes, ocl_use *use, size_t *size) {
  lent *l = malloc(sizeof *l);
  cl_mem mem = NULL;
  cl_int code = 0;
  if (!l) return NULL;
  l->use = use;
  l->data = host_pool_get(nbytes, &l->size);
  *size = l->data ? l->size : 0;
  if (l->data) mem = ocl.CreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)nbytes, l->data, &code);
  atomic_fetch_add(&use->refs, 1);
  if (mem && !ocl.SetMemObjectDestructorCallback(mem, on_end, l)) return mem;
  ocl_use_drop(use);
  if (mem) ocl.ReleaseMemObject(mem); /* nothing has used it */
  if (l->data) host_pool_put(l->data, l->size);
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

int opencl_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  ocl_lane lane;
  ocl_slot *slot;
  cl_mem mem = NULL;
  cl_int code = 0;
  int result = ocl_slot_of(device, &slot, err);
  size_t pooled = 0;
  (void)self;
  if (!result && nbytes <= 0) result = ocl_fail(err, CL_INVALID_BUFFER_SIZE, "allocation of no bytes");
  if (!result) result = ocl_lane_of(device, stream, &lane, err);
  if (!result && stream) result = right_device(device, stream, err);
  if (result) return result;
  if (slot->is_host && slot->use && host_pool_keeps(nbytes)) mem = make_lent(lane.context, nbytes, slot->use, &pooled);
  if (!mem) {
    pooled = 0;
    mem = ocl.CreateBuffer(lane.context, CL_MEM_READ_WRITE, (size_t)nbytes, NULL, &code);
  }
  if (!mem) /* the size is not zero, so an invalid one is too large for the device */
    return ocl_fail_as(err, code == CL_INVALID_BUFFER_SIZE ? ENOMEM : ocl_code_errno(code), code, "clCreateBuffer");
  *out = (cdevice_block){.data = mem, .nbytes = nbytes, .device_id = device, .opaque = {slot->use, (void *)pooled}};
  if (slot->use) {
    atomic_fetch_add(&slot->use->refs, 1);
    host_pool_count(&slot->use->bytes, pooled ? (int64_t)pooled : nbytes);
  }
  return 0;
}

/* The runtime lets the memory go after the last command that uses it. */
void opencl_free(void *self, const cdevice_block *block) {
  (void)self;
  if (!block || !block->data || !ocl.ReleaseMemObject) return;
  ocl_use *use = block->opaque[0]; /* NULL for a view */
  size_t pooled = (size_t)block->opaque[1];
  if (use) {
    host_pool_count(&use->bytes, -(pooled ? (int64_t)pooled : block->nbytes));
    atomic_fetch_add(&use->pending, (long long)pooled);
  }
  ocl.ReleaseMemObject(block->data);
  ocl_use_drop(use);
}

static void statistics(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak) {
  ocl_slot *slot;
  (void)self;
  *live = *pooled = *pending = *peak = 0;
  if (ocl_slot_of(device, &slot, NULL) || !slot->use) return;
  *live = atomic_load(&slot->use->bytes.live);
  *peak = atomic_load(&slot->use->bytes.peak);
  *pending = atomic_load(&slot->use->pending);
  if (slot->is_host) *pooled = host_pool_kept();
}

static void trim(void *self, int64_t device) {
  ocl_slot *slot;
  (void)self;
  if (!ocl_slot_of(device, &slot, NULL) && slot->is_host) host_pool_trim();
}

const void *opencl_pool(void) {
  static const cdevice_pool pool = {.struct_size = sizeof pool, .statistics = statistics, .trim = trim};
  return &pool;
}
