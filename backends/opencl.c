/* opencl.c - device type 4 by OpenCL 1.2 or later, found at run time.
 *
 * Buffers are cl_mem handles (DLPack's convention), sync_event is a cl_event*, streams are cl_command_queue.  Device
 * ids count platforms x devices in the order in which the loader lists them.
 *
 * Contexts.  OpenCL ties buffers, events and queues to a context and refuses to mix them (-34).  A buffer of another
 * context than the stream's is copied on a short-lived queue of its own context; events cross over by a user event of
 * the other context that is completed when the first one is.  So the order is kept and nobody waits on the host.
 * Only where that cannot be set up does the host wait, and only between two buffers of two contexts is there
 * no way: ENOTSUP, go through the host.
 *
 * Streams may be out of order: each batch is then put behind a barrier, so that a stream is a stream.
 *
 * PoCL (seen with 3.1) has two faults, met here by state.fragile: when a user event fails it walks over the events of
 * the commands behind it and aborts the process if one was released, so events are held until they are over; and it
 * does not call callbacks of events that fail, so a thread waits instead. */
#include "dl.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "opencl.h"

/* The part of OpenCL's C interface that is used here.  The names are the standard's. */

#if defined(_WIN32)
#define CL_CALL __stdcall
#else
#define CL_CALL
#endif

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bits;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_event *cl_event;
typedef struct cl_buffer_region {
  size_t origin, size;
} cl_buffer_region;

enum {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_DEVICE_NOT_AVAILABLE = -2,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_MEM_COPY_OVERLAP = -8,
  CL_MISALIGNED_SUB_BUFFER_OFFSET = -13,
  CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14,
  CL_INVALID_VALUE = -30,
  CL_INVALID_DEVICE = -33,
  CL_INVALID_CONTEXT = -34,
  CL_INVALID_COMMAND_QUEUE = -36,
  CL_INVALID_HOST_PTR = -37,
  CL_INVALID_MEM_OBJECT = -38,
  CL_INVALID_EVENT = -58,
  CL_INVALID_OPERATION = -59,
  CL_INVALID_BUFFER_SIZE = -61,
  CL_MAX_SIZE_RESTRICTION_EXCEEDED = -72,
  CL_PLATFORM_NOT_FOUND_KHR = -1001
};

#define CL_COMPLETE 0
#define CL_QUEUED 3

#define CL_PLATFORM_NAME 0x0902
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define CL_DEVICE_MEM_BASE_ADDR_ALIGN 0x1019
#define CL_DEVICE_GLOBAL_MEM_SIZE 0x101F
#define CL_DEVICE_NAME 0x102B
#define CL_DRIVER_VERSION 0x102D
#define CL_DEVICE_VERSION 0x102F
#define CL_DEVICE_PARENT_DEVICE 0x1042
#define CL_DEVICE_SVM_CAPABILITIES 0x1053
#define CL_DEVICE_UUID_KHR 0x106A
#define CL_CONTEXT_DEVICES 0x1081
#define CL_CONTEXT_PLATFORM 0x1084
#define CL_QUEUE_CONTEXT 0x1090
#define CL_QUEUE_DEVICE 0x1091
#define CL_QUEUE_PROPERTIES 0x1093
#define CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE 0x1
#define CL_MEM_READ_WRITE 0x1
#define CL_MEM_SVM_FINE_GRAIN_BUFFER 0x400
#define CL_MEM_OBJECT_BUFFER 0x10F0
#define CL_MEM_TYPE 0x1100
#define CL_MEM_SIZE 0x1102
#define CL_MEM_CONTEXT 0x1106
#define CL_MEM_ASSOCIATED_MEMOBJECT 0x1107
#define CL_MEM_OFFSET 0x1108
#define CL_EVENT_COMMAND_QUEUE 0x11D0
#define CL_EVENT_COMMAND_EXECUTION_STATUS 0x11D3
#define CL_EVENT_CONTEXT 0x11D4
#define CL_BUFFER_CREATE_TYPE_REGION 0x1220

typedef void(CL_CALL *cl_event_callback)(cl_event, cl_int, void *);

/* needed, result, member, symbol, arguments */
#define OPENCL_FUNCTIONS(X)                                                                                         \
  X(1, cl_int, GetPlatformIDs, "clGetPlatformIDs", (cl_uint, cl_platform_id *, cl_uint *))                          \
  X(1, cl_int, GetPlatformInfo, "clGetPlatformInfo", (cl_platform_id, cl_uint, size_t, void *, size_t *))           \
  X(1, cl_int, GetDeviceIDs, "clGetDeviceIDs", (cl_platform_id, cl_bits, cl_uint, cl_device_id *, cl_uint *))       \
  X(1, cl_int, GetDeviceInfo, "clGetDeviceInfo", (cl_device_id, cl_uint, size_t, void *, size_t *))                 \
  X(1, cl_context, CreateContext, "clCreateContext",                                                                \
    (const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *))                                    \
  X(1, cl_int, ReleaseContext, "clReleaseContext", (cl_context))                                                    \
  X(1, cl_int, GetContextInfo, "clGetContextInfo", (cl_context, cl_uint, size_t, void *, size_t *))                 \
  X(0, cl_command_queue, CreateCommandQueue, "clCreateCommandQueue", (cl_context, cl_device_id, cl_bits, cl_int *)) \
  X(0, cl_command_queue, CreateCommandQueueWithProperties, "clCreateCommandQueueWithProperties",                    \
    (cl_context, cl_device_id, const cl_ulong *, cl_int *))                                                         \
  X(1, cl_int, ReleaseCommandQueue, "clReleaseCommandQueue", (cl_command_queue))                                    \
  X(1, cl_int, GetCommandQueueInfo, "clGetCommandQueueInfo", (cl_command_queue, cl_uint, size_t, void *, size_t *)) \
  X(1, cl_mem, CreateBuffer, "clCreateBuffer", (cl_context, cl_bits, size_t, void *, cl_int *))                     \
  X(1, cl_mem, CreateSubBuffer, "clCreateSubBuffer", (cl_mem, cl_bits, cl_uint, const void *, cl_int *))            \
  X(1, cl_int, RetainMemObject, "clRetainMemObject", (cl_mem))                                                      \
  X(1, cl_int, ReleaseMemObject, "clReleaseMemObject", (cl_mem))                                                    \
  X(1, cl_int, GetMemObjectInfo, "clGetMemObjectInfo", (cl_mem, cl_uint, size_t, void *, size_t *))                 \
  X(1, cl_int, EnqueueReadBuffer, "clEnqueueReadBuffer",                                                            \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))             \
  X(1, cl_int, EnqueueWriteBuffer, "clEnqueueWriteBuffer",                                                          \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))       \
  X(1, cl_int, EnqueueCopyBuffer, "clEnqueueCopyBuffer",                                                            \
    (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))              \
  X(1, cl_int, EnqueueFillBuffer, "clEnqueueFillBuffer",                                                            \
    (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))        \
  X(1, cl_int, EnqueueMarkerWithWaitList, "clEnqueueMarkerWithWaitList",                                            \
    (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                                      \
  X(1, cl_int, EnqueueBarrierWithWaitList, "clEnqueueBarrierWithWaitList",                                          \
    (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                                      \
  X(1, cl_int, Flush, "clFlush", (cl_command_queue))                                                                \
  X(1, cl_int, Finish, "clFinish", (cl_command_queue))                                                              \
  X(1, cl_int, WaitForEvents, "clWaitForEvents", (cl_uint, const cl_event *))                                       \
  X(1, cl_int, GetEventInfo, "clGetEventInfo", (cl_event, cl_uint, size_t, void *, size_t *))                       \
  X(1, cl_event, CreateUserEvent, "clCreateUserEvent", (cl_context, cl_int *))                                      \
  X(1, cl_int, SetUserEventStatus, "clSetUserEventStatus", (cl_event, cl_int))                                      \
  X(1, cl_int, RetainEvent, "clRetainEvent", (cl_event))                                                            \
  X(1, cl_int, ReleaseEvent, "clReleaseEvent", (cl_event))                                                          \
  X(1, cl_int, SetEventCallback, "clSetEventCallback", (cl_event, cl_int, cl_event_callback, void *))               \
  X(0, void *, SVMAlloc, "clSVMAlloc", (cl_context, cl_bits, size_t, cl_uint))                                      \
  X(0, cl_int, EnqueueSVMMemcpy, "clEnqueueSVMMemcpy",                                                              \
    (cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *, cl_event *))               \
  X(0, cl_int, EnqueueSVMFree, "clEnqueueSVMFree",                                                                  \
    (cl_command_queue, cl_uint, void **, void *, void *, cl_uint, const cl_event *, cl_event *))

static struct {
  OPENCL_FUNCTIONS(CDEVICE_DL_MEMBER)
} cl;

#define OPENCL_ROW(needed, result, name, symbol, args) {symbol, (size_t)((char *)&cl.name - (char *)&cl), needed},

/* What was enumerated. */

typedef struct cl_slot {
  cl_device_id id;
  cl_platform_id platform;
  cl_context context;     /* default; of the whole platform where that can be made */
  cl_command_queue queue; /* default, in order; read without the lock */
  int old;                /* before OpenCL 1.2: listed, so that ids agree with other libraries, but of no use */
  uint32_t alignment;
  uint64_t svm;
  int64_t total_bytes;
  char name[128], driver[64];
  uint8_t uuid[16];
} cl_slot;

typedef struct cl_state {
  pthread_mutex_t lock; /* guards start, stop and the making of defaults */
  int started;
  int64_t n;
  cl_slot *slots;
  int fragile; /* PoCL is among the platforms */
  const cdevice_host *host;
  cdevice_dl dl;
} cl_state;

static cl_state state = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define INSTALL                                                                                                 \
  "install an OpenCL runtime, for instance `apt-get install pocl-opencl-icd` (CPU) or the GPU vendor's, and a " \
  "loader (`apt-get install ocl-icd-libopencl1` or `pip install pyopencl`)"

/* Errors. */

static const char *code_name(cl_int code) {
  switch (code) {
#define NAME(value, name) \
  case value: return "CL_" name;
    NAME(0, "SUCCESS")
    NAME(-1, "DEVICE_NOT_FOUND")
    NAME(-2, "DEVICE_NOT_AVAILABLE")
    NAME(-3, "COMPILER_NOT_AVAILABLE")
    NAME(-4, "MEM_OBJECT_ALLOCATION_FAILURE")
    NAME(-5, "OUT_OF_RESOURCES")
    NAME(-6, "OUT_OF_HOST_MEMORY")
    NAME(-7, "PROFILING_INFO_NOT_AVAILABLE")
    NAME(-8, "MEM_COPY_OVERLAP")
    NAME(-9, "IMAGE_FORMAT_MISMATCH")
    NAME(-10, "IMAGE_FORMAT_NOT_SUPPORTED")
    NAME(-11, "BUILD_PROGRAM_FAILURE")
    NAME(-12, "MAP_FAILURE")
    NAME(-13, "MISALIGNED_SUB_BUFFER_OFFSET")
    NAME(-14, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")
    NAME(-15, "COMPILE_PROGRAM_FAILURE")
    NAME(-16, "LINKER_NOT_AVAILABLE")
    NAME(-17, "LINK_PROGRAM_FAILURE")
    NAME(-18, "DEVICE_PARTITION_FAILED")
    NAME(-19, "KERNEL_ARG_INFO_NOT_AVAILABLE")
    NAME(-30, "INVALID_VALUE")
    NAME(-31, "INVALID_DEVICE_TYPE")
    NAME(-32, "INVALID_PLATFORM")
    NAME(-33, "INVALID_DEVICE")
    NAME(-34, "INVALID_CONTEXT")
    NAME(-35, "INVALID_QUEUE_PROPERTIES")
    NAME(-36, "INVALID_COMMAND_QUEUE")
    NAME(-37, "INVALID_HOST_PTR")
    NAME(-38, "INVALID_MEM_OBJECT")
    NAME(-39, "INVALID_IMAGE_FORMAT_DESCRIPTOR")
    NAME(-40, "INVALID_IMAGE_SIZE")
    NAME(-41, "INVALID_SAMPLER")
    NAME(-42, "INVALID_BINARY")
    NAME(-43, "INVALID_BUILD_OPTIONS")
    NAME(-44, "INVALID_PROGRAM")
    NAME(-45, "INVALID_PROGRAM_EXECUTABLE")
    NAME(-46, "INVALID_KERNEL_NAME")
    NAME(-47, "INVALID_KERNEL_DEFINITION")
    NAME(-48, "INVALID_KERNEL")
    NAME(-49, "INVALID_ARG_INDEX")
    NAME(-50, "INVALID_ARG_VALUE")
    NAME(-51, "INVALID_ARG_SIZE")
    NAME(-52, "INVALID_KERNEL_ARGS")
    NAME(-53, "INVALID_WORK_DIMENSION")
    NAME(-54, "INVALID_WORK_GROUP_SIZE")
    NAME(-55, "INVALID_WORK_ITEM_SIZE")
    NAME(-56, "INVALID_GLOBAL_OFFSET")
    NAME(-57, "INVALID_EVENT_WAIT_LIST")
    NAME(-58, "INVALID_EVENT")
    NAME(-59, "INVALID_OPERATION")
    NAME(-60, "INVALID_GL_OBJECT")
    NAME(-61, "INVALID_BUFFER_SIZE")
    NAME(-62, "INVALID_MIP_LEVEL")
    NAME(-63, "INVALID_GLOBAL_WORK_SIZE")
    NAME(-64, "INVALID_PROPERTY")
    NAME(-65, "INVALID_IMAGE_DESCRIPTOR")
    NAME(-66, "INVALID_COMPILER_OPTIONS")
    NAME(-67, "INVALID_LINKER_OPTIONS")
    NAME(-68, "INVALID_DEVICE_PARTITION_COUNT")
    NAME(-69, "INVALID_PIPE_SIZE")
    NAME(-70, "INVALID_DEVICE_QUEUE")
    NAME(-71, "INVALID_SPEC_ID")
    NAME(-72, "MAX_SIZE_RESTRICTION_EXCEEDED")
    NAME(-1001, "PLATFORM_NOT_FOUND_KHR")
#undef NAME
    default: return "unknown OpenCL code";
  }
}

static int code_errno(cl_int code) {
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY)
    return ENOMEM;
  if (code == CL_MEM_COPY_OVERLAP || code == CL_MISALIGNED_SUB_BUFFER_OFFSET) return EINVAL;
  if (code <= CL_INVALID_VALUE && code >= CL_MAX_SIZE_RESTRICTION_EXCEEDED) return EINVAL;
  /* EIO is for what has failed for good alone: memory goes back on it.  The others say nothing of the device. */
  return code == CL_DEVICE_NOT_AVAILABLE || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? EIO : EPROTO;
}

static int fail_as(cdevice_error *err, int result, cl_int code, const char *what) {
  return cdevice_backend_fail(err, result, code, code_name(code), "OpenCL: %s: %s (%d)", what, code_name(code), code);
}

static int fail(cdevice_error *err, cl_int code, const char *what) {
  return fail_as(err, code_errno(code), code, what);
}

static void say(int level, const char *text) {
  if (state.host && state.host->log) state.host->log(level, text);
}

/* Devices, default contexts and queues. */

static int slot_of(int64_t device, cl_slot **out, cdevice_error *err) {
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  if (device < 0 || device >= state.n)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_DEVICE, code_name(CL_INVALID_DEVICE),
                                "OpenCL device %lld does not exist, there %s %lld", (long long)device,
                                state.n == 1 ? "is" : "are", (long long)state.n);
  *out = &state.slots[device];
  return 0;
}

/* The runtime's older call first: it is the one that every device from 1.2 on has. */
static cl_command_queue make_queue(cl_context context, cl_device_id device, cl_int *code) {
  if (cl.CreateCommandQueue) return cl.CreateCommandQueue(context, device, 0, code);
  if (cl.CreateCommandQueueWithProperties) return cl.CreateCommandQueueWithProperties(context, device, NULL, code);
  *code = CL_INVALID_OPERATION;
  return NULL;
}

/* Makes the default context and queue; with the lock held. */
static int make_defaults(cl_slot *slot, cdevice_error *err) {
  intptr_t properties[3] = {CL_CONTEXT_PLATFORM, (intptr_t)slot->platform, 0};
  cl_int code = 0;
  cl_command_queue queue;
  if (slot->old) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "%s is older than OpenCL 1.2", slot->name);
  if (!slot->context) {
    cl_device_id *ids = calloc((size_t)state.n, sizeof *ids);
    cl_uint n = 0;
    cl_context context;
    if (!ids) return fail(err, CL_OUT_OF_HOST_MEMORY, "default context");
    for (int64_t i = 0; i < state.n; i++)
      if (state.slots[i].platform == slot->platform && !state.slots[i].old) ids[n++] = state.slots[i].id;
    context = cl.CreateContext(properties, n, ids, NULL, NULL, &code);
    if (context) {
      for (int64_t i = 0; i < state.n; i++)
        if (state.slots[i].platform == slot->platform && !state.slots[i].old && !state.slots[i].context)
          state.slots[i].context = context;
    } else if (n > 1) { /* one device of the platform may be out of order; the others are not */
      slot->context = cl.CreateContext(properties, 1, &slot->id, NULL, NULL, &code);
    }
    free(ids);
    if (!slot->context) return fail(err, code, "clCreateContext");
  }
  queue = make_queue(slot->context, slot->id, &code);
  if (!queue) return fail(err, code, "clCreateCommandQueue");
  __atomic_store_n(&slot->queue, queue, __ATOMIC_RELEASE);
  return 0;
}

static int defaults(int64_t device, cl_slot **out, cdevice_error *err) {
  int result = slot_of(device, out, err);
  if (result) return result;
  if (__atomic_load_n(&(*out)->queue, __ATOMIC_ACQUIRE)) return 0;
  pthread_mutex_lock(&state.lock);
  if (!(*out)->queue) result = make_defaults(*out, err);
  pthread_mutex_unlock(&state.lock);
  return result;
}

/* A stream, resolved. */
typedef struct cl_lane {
  cl_command_queue queue;
  cl_context context;
  int unordered;
} cl_lane;

static int lane_of(int64_t device, void *stream, cl_lane *out, cdevice_error *err) {
  cl_bits properties = 0;
  cl_int code;
  if (!stream) {
    cl_slot *slot;
    int result = defaults(device, &slot, err);
    if (result) return result;
    *out = (cl_lane){slot->queue, slot->context, 0};
    return 0;
  }
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  out->queue = stream;
  code = cl.GetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof out->context, &out->context, NULL);
  if (code) return fail(err, code, "stream is not a cl_command_queue");
  code = cl.GetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  out->unordered = !code && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  return 0;
}

/* The enumerated device that is `id` or that `id` is a part of; -1. */
static int64_t index_of(cl_device_id id) {
  for (int depth = 0; id && depth < 8; depth++) {
    cl_device_id parent = NULL;
    for (int64_t i = 0; i < state.n; i++)
      if (state.slots[i].id == id) return i;
    if (cl.GetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL)) break;
    id = parent;
  }
  return -1;
}

/* The device of a context on which to work for `wanted`: that one, else the context's first. */
static cl_int pick_device(cl_context context, int64_t wanted, cl_device_id *out, int64_t *index) {
  cl_device_id few[16], *ids = few;
  size_t bytes = 0;
  cl_int code = cl.GetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
  size_t n = bytes / sizeof *ids;
  if (code) return code;
  if (!n) return CL_DEVICE_NOT_FOUND;
  if (n > 16 && !(ids = malloc(bytes))) return CL_OUT_OF_HOST_MEMORY;
  code = cl.GetContextInfo(context, CL_CONTEXT_DEVICES, bytes, ids, NULL);
  *out = NULL;
  *index = -1;
  for (size_t i = 0; !code && i < n; i++) {
    int64_t at = index_of(ids[i]);
    if (!*out || (at >= 0 && (*index < 0 || at == wanted))) *out = ids[i], *index = at;
    if (at >= 0 && at == wanted) break;
  }
  if (ids != few) free(ids);
  return code;
}

/* Events that nobody must release yet; used when state.fragile only. */

#define LIMBO_FAILED 64

static struct {
  pthread_mutex_t lock;
  cl_event *pending; /* a ring in use from `at`, `n` long */
  size_t at, n, capacity;
  cl_event failed[LIMBO_FAILED]; /* the last ones: whoever fails them may still be walking over them */
  size_t n_failed;
} limbo = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Looks at `most` events, oldest first; what is over is released, what is not goes to the back, and `patience` of
 * those end it: behind a closed gate there may be very many. */
static void limbo_look(size_t most, int patience) {
  if (most > limbo.n) most = limbo.n;
  while (most-- && patience) {
    cl_event event = limbo.pending[limbo.at];
    cl_int status = 0;
    limbo.at = (limbo.at + 1) % limbo.capacity;
    limbo.n--;
    if (cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL)) status = -1;
    if (status > 0) {
      patience--;
      limbo.pending[(limbo.at + limbo.n++) % limbo.capacity] = event;
    } else if (!status) {
      cl.ReleaseEvent(event);
    } else {
      cl_event *place = &limbo.failed[limbo.n_failed++ % LIMBO_FAILED];
      if (*place) cl.ReleaseEvent(*place);
      *place = event;
    }
  }
}

/* Takes a reference over.  Each newcomer pays for four looks, so the ring is no longer than what is pending. */
static void hold(cl_event event) {
  if (!event) return;
  if (!state.fragile) {
    cl.ReleaseEvent(event);
    return;
  }
  pthread_mutex_lock(&limbo.lock);
  limbo_look(4, 4);
  if (limbo.n == limbo.capacity) {
    size_t capacity = limbo.capacity ? 2 * limbo.capacity : 64;
    cl_event *pending = malloc(capacity * sizeof *pending);
    if (pending) {
      for (size_t i = 0; i < limbo.n; i++) pending[i] = limbo.pending[(limbo.at + i) % limbo.capacity];
      free(limbo.pending);
      limbo.pending = pending;
      limbo.capacity = capacity;
      limbo.at = 0;
    }
  }
  /* Out of memory: kept for ever is better than too short. */
  if (limbo.n < limbo.capacity) limbo.pending[(limbo.at + limbo.n++) % limbo.capacity] = event;
  pthread_mutex_unlock(&limbo.lock);
}

/* After a wait much may be over. */
static void sweep(void) {
  if (!state.fragile) return;
  pthread_mutex_lock(&limbo.lock);
  limbo_look(limbo.n, 32);
  pthread_mutex_unlock(&limbo.lock);
}

/* The last argument of an enqueueing call, then what is done with it. */
static cl_event *held(cl_event *event) {
  *event = NULL;
  return state.fragile ? event : NULL;
}

/* Events. */

static cl_int put_barrier(cl_command_queue queue, cl_event event) {
  cl_event own;
  cl_int code = cl.EnqueueBarrierWithWaitList(queue, event ? 1 : 0, event ? &event : NULL, held(&own));
  hold(own);
  return code;
}

/* Calls fn(event, status, arg) once the event is over.  fn releases nothing of it. */
typedef struct cl_watch {
  cl_event event;
  cl_event_callback fn;
  void *arg;
} cl_watch;

static void *watch(void *arg) {
  cl_watch job = *(cl_watch *)arg;
  cl_int status = CL_COMPLETE, code;
  free(arg);
  code = cl.WaitForEvents(1, &job.event);
  if (code &&
      (cl.GetEventInfo(job.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) || status >= 0))
    status = code;
  job.fn(job.event, status, job.arg);
  hold(job.event);
  return NULL;
}

static cl_int when_over(cl_event event, cl_event_callback fn, void *arg) {
  cl_watch *job;
  pthread_attr_t attributes;
  pthread_t thread;
  int failed;
  if (!state.fragile) return cl.SetEventCallback(event, CL_COMPLETE, fn, arg);
  job = malloc(sizeof *job);
  if (!job) return CL_OUT_OF_HOST_MEMORY;
  *job = (cl_watch){event, fn, arg};
  cl.RetainEvent(event);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  failed = pthread_create(&thread, &attributes, watch, job);
  pthread_attr_destroy(&attributes);
  if (failed) {
    cl.ReleaseEvent(event);
    free(job);
  }
  return failed ? CL_OUT_OF_HOST_MEMORY : 0;
}

/* What an event came to: 0 and *done, or EIO.  Status -1 is what runtimes give to a command when one before it has
 * failed; as a code it would read "device not found", so it is told as -14. */
static int event_failed(cdevice_error *err, cl_int status) {
  if (status == -1 || status >= 0) {
    cl_int code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return cdevice_backend_fail(err, EIO, code, code_name(code),
                                "OpenCL: the event failed because of a command before it (status %d)", status);
  }
  return cdevice_backend_fail(err, EIO, status, code_name(status), "OpenCL: the event failed: %s (%d)",
                              code_name(status), status);
}

static int event_of(void *sync_event, cl_event *out, cdevice_error *err) {
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  memcpy(out, sync_event, sizeof *out); /* a foreign producer's cl_event may lie anywhere */
  return *out ? 0 : fail(err, CL_INVALID_EVENT, "sync_event points to a NULL cl_event");
}

static int status_of(cl_event event, cl_int *status, cdevice_error *err) {
  cl_int code = cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
  return code ? fail(err, code, "clGetEventInfo") : 0;
}

/* A producer should have flushed: nobody else's wait need do it, and without it the command may stay queued for ever.
 * While a command is only queued, its queue lives, and we can. */
static void push_queue(cl_event event) {
  cl_command_queue queue = NULL;
  if (!cl.GetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) && queue) cl.Flush(queue);
}

static void push_event(cl_event event) {
  cl_int status = 0;
  if (!cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) && status == CL_QUEUED)
    push_queue(event);
}

static int wait_event(cl_event event, cdevice_error *err) {
  cl_int status = 0, code;
  push_event(event);
  code = cl.WaitForEvents(1, &event);
  sweep();
  if (!code) return 0;
  if (cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL)) status = 0;
  if (status < 0 || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return event_failed(err, status);
  return fail(err, code, "clWaitForEvents");
}

/* *done, or EIO.  Some runtimes call a command complete whose predecessor failed; only a wait, which
 * does not wait any more here, tells. */
static int ask_event(cl_event event, int *done, cdevice_error *err) {
  cl_int status = 0;
  int result = status_of(event, &status, err);
  if (result) return result;
  if (status < 0) return event_failed(err, status);
  if (status != CL_COMPLETE) {
    if (status == CL_QUEUED) push_queue(event);
    *done = 0;
    return 0;
  }
  result = wait_event(event, err);
  if (!result) *done = 1;
  return result;
}

static void CL_CALL on_bridge(cl_event event, cl_int status, void *arg) {
  (void)event;
  cl.SetUserEventStatus(arg, status < 0 ? status : CL_COMPLETE);
  hold(arg);
}

/* Makes later work of `queue`, of `context`, come after `event`, which `foreign` says is of another context.
 * An event that is over is looked at and not enqueued: that is cheaper, and behind one that has
 * failed already some runtimes wait for ever. */
static int follow(cl_command_queue queue, cl_context context, cl_event event, int foreign, cdevice_error *err) {
  cl_event twin;
  cl_int code;
  int done = 0, result = ask_event(event, &done, err);
  if (result || done) return result; /* asking has flushed its queue */
  if (!foreign) {
    code = put_barrier(queue, event);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return event_failed(err, 0);
    return code ? fail(err, code, "clEnqueueBarrierWithWaitList") : 0;
  }
  /* A twin of the event in this context.  The barrier is there before the twin can end. */
  twin = cl.CreateUserEvent(context, &code);
  if (!twin) return wait_event(event, err);
  code = put_barrier(queue, twin);
  if (code) {
    cl.SetUserEventStatus(twin, CL_COMPLETE);
    hold(twin);
    return fail(err, code, "clEnqueueBarrierWithWaitList");
  }
  if (!when_over(event, on_bridge, twin)) return 0; /* the twin is now on_bridge's */
  result = wait_event(event, err);
  on_bridge(event, result ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE, twin);
  return result;
}

/* Waits for all that is on `queue`: after a failure, when host memory must not be touched any more. */
static void drain(cl_command_queue queue) {
  cl_event marker = NULL;
  if (!cl.EnqueueMarkerWithWaitList(queue, 0, NULL, &marker)) {
    cl.WaitForEvents(1, &marker);
    hold(marker);
  } else {
    cl.Finish(queue);
  }
}

/* Work on buffers: a list of commands of one kind. */

#define KIND_FILL 100

typedef struct cl_work {
  int kind;
  const cdevice_copy *copies;
  int64_t n;
  unsigned char byte; /* KIND_FILL: into dst */
} cl_work;

static int64_t device_of(const cl_work *work, const cdevice_copy *copy) {
  return work->kind == CDEVICE_COPY_D2H ? copy->src_device : copy->dst_device;
}

static cl_mem buffer_of(const cl_work *work, const cdevice_copy *copy) {
  return work->kind == CDEVICE_COPY_D2H ? (cl_mem)copy->src : (cl_mem)copy->dst;
}

/* Context and size of the last buffer looked at: batches mostly go to and from one. */
typedef struct cl_seen {
  cl_mem mem;
  cl_context context;
  size_t size;
} cl_seen;

static cl_int look(cl_mem mem, cl_seen *seen) {
  cl_int code;
  if (!mem) return CL_INVALID_MEM_OBJECT;
  if (seen->mem == mem) return 0;
  seen->mem = NULL;
  code = cl.GetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof seen->context, &seen->context, NULL);
  if (!code) code = cl.GetMemObjectInfo(mem, CL_MEM_SIZE, sizeof seen->size, &seen->size, NULL);
  if (!code) seen->mem = mem;
  return code;
}

static int check_side(cl_mem mem, int64_t offset, int64_t nbytes, const char *side, int64_t at, cl_seen *seen,
                      cdevice_error *err) {
  cl_int code = look(mem, seen);
  if (code)
    return cdevice_backend_fail(err, code_errno(code), code, code_name(code),
                                "OpenCL: %s of copy %lld is not a buffer: %s (%d)", side, (long long)at,
                                code_name(code), code);
  if (offset < 0 || (uint64_t)offset > seen->size || (uint64_t)nbytes > seen->size - (uint64_t)offset)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, code_name(CL_INVALID_VALUE),
                                "OpenCL: %s of copy %lld: %lld bytes from offset %lld do not lie in a buffer of %zu",
                                side, (long long)at, (long long)nbytes, (long long)offset, seen->size);
  return 0;
}

/* Looks at everything before anything is enqueued, so that bad input is refused as a whole.  *foreign: how many
 * commands have their buffers in another context than the stream's. */
static int check_work(const cl_work *work, const cl_lane *lane, int64_t *foreign, cdevice_error *err) {
  cl_seen src = {0}, dst = {0};
  *foreign = 0;
  for (int64_t i = 0; i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    int result = 0, from_buffer = work->kind != CDEVICE_COPY_H2D && work->kind != KIND_FILL;
    int to_buffer = work->kind != CDEVICE_COPY_D2H;
    if (copy->nbytes < 0)
      return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, code_name(CL_INVALID_VALUE),
                                  "OpenCL: copy %lld has %lld bytes", (long long)i, (long long)copy->nbytes);
    if (!copy->nbytes) continue;
    if ((work->kind == CDEVICE_COPY_H2D && !copy->src) || (work->kind == CDEVICE_COPY_D2H && !copy->dst))
      return fail(err, CL_INVALID_HOST_PTR, "copy from or to NULL");
    if (from_buffer) result = check_side((cl_mem)copy->src, copy->src_offset, copy->nbytes, "source", i, &src, err);
    if (!result && to_buffer)
      result = check_side(copy->dst, copy->dst_offset, copy->nbytes, "destination", i, &dst, err);
    if (result) return result;
    if (from_buffer && to_buffer && src.context != dst.context)
      return cdevice_backend_fail(err, ENOTSUP, CL_INVALID_CONTEXT, code_name(CL_INVALID_CONTEXT),
                                  "OpenCL: buffers of two contexts: copy through the host");
    if ((to_buffer ? dst.context : src.context) != lane->context) ++*foreign;
  }
  return 0;
}

static cl_int enqueue_one(const cl_work *work, const cdevice_copy *copy, cl_command_queue queue) {
  size_t nbytes = (size_t)copy->nbytes, from = (size_t)copy->src_offset, to = (size_t)copy->dst_offset;
  cl_mem src = (cl_mem)copy->src, dst = copy->dst;
  cl_event event, *out = held(&event);
  cl_int code;
  switch (work->kind) {
    case CDEVICE_COPY_H2D:
      code = cl.EnqueueWriteBuffer(queue, dst, 0, to, nbytes, (const char *)copy->src + from, 0, NULL, out);
      break;
    case CDEVICE_COPY_D2H:
      code = cl.EnqueueReadBuffer(queue, src, 0, from, nbytes, (char *)copy->dst + to, 0, NULL, out);
      break;
    case KIND_FILL: code = cl.EnqueueFillBuffer(queue, dst, &work->byte, 1, to, nbytes, 0, NULL, out); break;
    default: code = cl.EnqueueCopyBuffer(queue, src, dst, from, to, nbytes, 0, NULL, out);
  }
  hold(event);
  return code;
}

static const char *work_name(const cl_work *work) {
  return work->kind == CDEVICE_COPY_H2D   ? "clEnqueueWriteBuffer"
         : work->kind == CDEVICE_COPY_D2H ? "clEnqueueReadBuffer"
         : work->kind == KIND_FILL        ? "clEnqueueFillBuffer"
                                          : "clEnqueueCopyBuffer";
}

/* Enqueues those commands whose buffers are of `context`.  On an error nothing of it is running any more. */
static int enqueue_all(const cl_work *work, cl_command_queue queue, cl_context context, int check_context,
                       cdevice_error *err) {
  cl_seen seen = {0};
  int sent = 0;
  for (int64_t i = 0; i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    cl_int code = 0;
    if (!copy->nbytes) continue;
    if (check_context) {
      code = look(buffer_of(work, copy), &seen);
      if (!code && seen.context != context) continue;
    }
    if (!code) code = enqueue_one(work, copy, queue);
    if (code) {
      if (sent) drain(queue);
      return fail(err, code, work_name(work));
    }
    sent = 1;
  }
  return 0;
}

/* The commands of one foreign context, on a queue that lives for this call: nothing of the user's is kept, and one
 * caller's closed gate does not stand in another's way.  The runtime ends the queue after its last command. */
static int enqueue_foreign(const cl_work *work, const cl_lane *lane, cl_context context, int64_t device,
                           cdevice_error *err) {
  cl_device_id id = NULL;
  cl_event before = NULL, after = NULL;
  cl_command_queue queue = NULL;
  int64_t index;
  int result;
  cl_int code = pick_device(context, device, &id, &index);
  if (code) return fail(err, code, "the devices of the buffer's context");
  queue = make_queue(context, id, &code);
  if (!queue) return fail(err, code, "clCreateCommandQueue in the buffer's context");
  code = cl.EnqueueMarkerWithWaitList(lane->queue, 0, NULL, &before);
  if (!code) code = cl.Flush(lane->queue);
  result = code ? fail(err, code, "clEnqueueMarkerWithWaitList") : follow(queue, context, before, 1, err);
  if (!result) {
    result = enqueue_all(work, queue, context, 1, err);
    if (!result) {
      code = cl.EnqueueMarkerWithWaitList(queue, 0, NULL, &after);
      if (!code) code = cl.Flush(queue);
      result =
          code ? fail(err, code, "clEnqueueMarkerWithWaitList") : follow(lane->queue, lane->context, after, 1, err);
      if (result) drain(queue);
    }
  }
  hold(before);
  hold(after);
  cl.ReleaseCommandQueue(queue);
  return result;
}

static int do_work(const cl_work *work, void *stream, cdevice_error *err) {
  cl_lane lane;
  cl_seen seen = {0};
  cl_context *done;
  int64_t foreign, n_done = 0;
  int result;
  cl_int code;
  if (work->n <= 0) return 0;
  result = lane_of(device_of(work, &work->copies[0]), stream, &lane, err);
  if (!result) result = check_work(work, &lane, &foreign, err);
  if (result) return result;
  if (lane.unordered && (code = put_barrier(lane.queue, NULL))) return fail(err, code, "clEnqueueBarrierWithWaitList");
  if (!foreign) return enqueue_all(work, lane.queue, lane.context, 0, err);

  done = malloc((size_t)foreign * sizeof *done); /* contexts served; the lane's own comes first */
  if (!done) return fail(err, CL_OUT_OF_HOST_MEMORY, "copy");
  result = enqueue_all(work, lane.queue, lane.context, 1, err);
  for (int64_t i = 0; !result && i < work->n; i++) {
    const cdevice_copy *copy = &work->copies[i];
    int known = 0;
    if (!copy->nbytes) continue;
    code = look(buffer_of(work, copy), &seen);
    if (code) result = fail(err, code, "clGetMemObjectInfo");
    if (code || seen.context == lane.context) continue;
    for (int64_t k = 0; k < n_done && !known; k++) known = done[k] == seen.context;
    if (known) continue;
    done[n_done++] = seen.context;
    result = enqueue_foreign(work, &lane, seen.context, device_of(work, copy), err);
  }
  free(done);
  /* What earlier contexts have in flight, the lane waits for; so this is an end to all of it. */
  if (result) drain(lane.queue);
  return result;
}

/* The table. */

static int text_info(cl_slot *slot, cl_uint what, char *out, size_t capacity) {
  char text[1024] = "";
  if (cl.GetDeviceInfo(slot->id, what, sizeof text - 1, text, NULL)) text[0] = 0;
  snprintf(out, capacity, "%s", text);
  return text[0] != 0;
}

static void describe(cl_slot *slot, const char *platform) {
  char name[128], version[128];
  cl_uint bits = 0;
  cl_ulong total = 0, svm = 0;
  int major = 0, minor = 0;
  text_info(slot, CL_DEVICE_NAME, name, sizeof name);
  snprintf(slot->name, sizeof slot->name, "%.80s (%.40s)", name[0] ? name : "unnamed device", platform);
  text_info(slot, CL_DRIVER_VERSION, slot->driver, sizeof slot->driver);
  text_info(slot, CL_DEVICE_VERSION, version, sizeof version);
  slot->old = sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && major * 10 + minor < 12;
  cl.GetDeviceInfo(slot->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
  slot->alignment = 64;
  while (slot->alignment < bits / 8 && slot->alignment < 1u << 30) slot->alignment *= 2;
  if (cl.GetDeviceInfo(slot->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, NULL)) total = 0;
  slot->total_bytes = total && total <= INT64_MAX ? (int64_t)total : -1;
  if (major >= 2 && !cl.GetDeviceInfo(slot->id, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL)) slot->svm = svm;
  if (cl.GetDeviceInfo(slot->id, CL_DEVICE_UUID_KHR, sizeof slot->uuid, slot->uuid, NULL))
    memset(slot->uuid, 0, sizeof slot->uuid);
}

/* Appends the devices of one platform; a platform without any is none. */
static int enumerate(cl_platform_id platform, cdevice_error *err) {
  char name[256] = "";
  cl_uint n = 0;
  cl_device_id *ids;
  cl_slot *slots;
  if (cl.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL)) name[0] = 0;
  if (strstr(name, "Portable Computing Language")) state.fragile = 1;
  if (cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) || !n) {
    cdevice_dl_note(&state.dl, "platform \"%.60s\": no device", name);
    return 0;
  }
  ids = calloc(n, sizeof *ids);
  slots = realloc(state.slots, ((size_t)state.n + n) * sizeof *slots);
  if (slots) state.slots = slots;
  if (!ids || !slots) {
    free(ids);
    return fail(err, CL_OUT_OF_HOST_MEMORY, "list of devices");
  }
  if (cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL)) n = 0;
  for (cl_uint i = 0; i < n; i++) {
    cl_slot *slot = &state.slots[state.n++];
    memset(slot, 0, sizeof *slot);
    slot->id = ids[i];
    slot->platform = platform;
    describe(slot, name[0] ? name : "unnamed platform");
    if (slot->old) say(30, "an OpenCL device older than 1.2 is listed but cannot be used");
  }
  free(ids);
  return 0;
}

/* Does the file name the variable? */
static int mentions(const char *path, const char *word) {
  char text[4096 + 32];
  size_t length = strlen(word), kept = 0, n;
  int found = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  while (!found && (n = fread(text + kept, 1, 4096, file)) > 0) {
    for (size_t i = 0; !found && i + length <= kept + n; i++) found = !memcmp(text + i, word, length);
    n += kept;
    kept = n < length ? n : length - 1;
    memmove(text, text + n - kept, kept);
  }
  fclose(file);
  return found;
}

/* The loader in pyopencl's wheel looks for runtimes beside the package, in a variable that `import pyopencl` sets, and
 * dies where it is not set.  So it is set here, however the loader was found: the folder of the package, or that of a
 * copy of the loader somewhere else, where there is nothing to find. */
static void tell_home(void) {
  static const char variable[] = "PYOPENCL_HOME";
  Dl_info where;
  char *path = NULL, *slash;
  if (getenv(variable) || !dladdr(*(void **)&cl.GetPlatformIDs, &where) || !where.dli_fname) return;
  path = realpath(where.dli_fname, NULL);
  slash = path && mentions(path, variable) ? strrchr(path, '/') : NULL;
  if (slash) {
    *slash = 0;
    slash = strrchr(path, '/');
    if (slash && !strcmp(slash, "/.libs")) *slash = 0;           /* pyopencl/.libs */
    if (slash && !strcmp(slash, "/pyopencl.libs")) slash[9] = 0; /* beside pyopencl */
    setenv(variable, path, 0);
  }
  free(path);
}

static int start_locked(cdevice_error *err) {
#if defined(__APPLE__)
  static const char *const names[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL", NULL};
#else
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
#endif
  static const cdevice_dl_row rows[] = {OPENCL_FUNCTIONS(OPENCL_ROW)};
  cl_platform_id *platforms;
  cl_uint n = 0;
  cl_int code;
  int result = 0;
  state.dl.tried[0] = 0;
  if (!state.dl.handle) {
    if (cdevice_dl_open(&state.dl, "libOpenCL", "CDEVICE_OPENCL_LIBRARY", names, "clGetPlatformIDs"))
      return cdevice_backend_fail(err, ENODEV, 0, NULL, "no OpenCL loader (%s); " INSTALL, state.dl.tried);
    if (cdevice_dl_load(&state.dl, rows, sizeof rows / sizeof *rows, &cl)) {
      cdevice_dl_close(&state.dl);
      return cdevice_backend_fail(err, ENODEV, 0, NULL, "the OpenCL loader is older than 1.2 (%s); " INSTALL,
                                  state.dl.tried);
    }
  }
  tell_home();
  code = cl.GetPlatformIDs(0, NULL, &n);
  if (code && code != CL_PLATFORM_NOT_FOUND_KHR) return fail_as(err, EIO, code, "clGetPlatformIDs");
  if (code || !n)
    return cdevice_backend_fail(err, ENODEV, CL_PLATFORM_NOT_FOUND_KHR, code_name(CL_PLATFORM_NOT_FOUND_KHR),
                                "%s knows no OpenCL platform; " INSTALL
                                "; a runtime is found by its .icd file in /etc/OpenCL/vendors or $OCL_ICD_VENDORS",
                                state.dl.path);
  platforms = calloc(n, sizeof *platforms);
  if (!platforms) return fail(err, CL_OUT_OF_HOST_MEMORY, "list of platforms");
  code = cl.GetPlatformIDs(n, platforms, NULL);
  if (code) result = fail_as(err, EIO, code, "clGetPlatformIDs");
  for (cl_uint i = 0; !result && i < n; i++) result = enumerate(platforms[i], err);
  free(platforms);
  if (!result && !state.n)
    result = cdevice_backend_fail(err, ENODEV, CL_DEVICE_NOT_FOUND, code_name(CL_DEVICE_NOT_FOUND),
                                  "OpenCL through %s has no device (%s); " INSTALL, state.dl.path, state.dl.tried);
  return result;
}

/* May be tried again after ENODEV: the missing part can have been loaded by then. */
static int opencl_start(void *self, const cdevice_host *host, cdevice_error *err) {
  int result = 0;
  (void)self;
  pthread_mutex_lock(&state.lock);
  if (!state.started) {
    state.host = host;
    result = start_locked(err);
    if (result) {
      free(state.slots);
      state.slots = NULL;
      state.n = 0;
    } else {
      __atomic_store_n(&state.started, 1, __ATOMIC_RELEASE);
    }
  }
  pthread_mutex_unlock(&state.lock);
  return result;
}

static void opencl_stop(void *self) {
  (void)self;
  pthread_mutex_lock(&state.lock);
  if (state.started) {
    __atomic_store_n(&state.started, 0, __ATOMIC_RELEASE);
    for (int64_t i = 0; i < state.n; i++) {
      cl_slot *slot = &state.slots[i];
      if (slot->queue) cl.ReleaseCommandQueue(slot->queue);
      if (!slot->context) continue;
      for (int64_t k = i + 1; k < state.n; k++) /* shared by the platform's devices, released once */
        if (state.slots[k].context == slot->context) state.slots[k].context = NULL;
      cl.ReleaseContext(slot->context);
    }
    free(state.slots);
    state.slots = NULL;
    state.n = 0;
    state.host = NULL;
    /* The loader stays mapped: runtimes have threads. */
  }
  pthread_mutex_unlock(&state.lock);
}

static int opencl_device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self;
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  *out = state.n;
  return 0;
}

static int opencl_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  cdevice_device_info info = {0};
  cl_slot *slot;
  int result = slot_of(device, &slot, err);
  size_t size = out->struct_size;
  (void)self;
  if (result) return result;
  info.alignment = slot->alignment;
  info.total_bytes = slot->total_bytes;
  info.free_bytes = -1;
  memcpy(info.name, slot->name, sizeof info.name);
  memcpy(info.driver, slot->driver, sizeof info.driver);
  memcpy(info.uuid, slot->uuid, sizeof info.uuid);
  if (!size || size > sizeof info) size = sizeof info; /* a caller that knows fewer members gets those */
  info.struct_size = (uint32_t)size;
  memcpy(out, &info, size);
  return 0;
}

static void note_block(cdevice_block *out, cl_mem mem, int64_t nbytes, int64_t device) {
  *out = (cdevice_block){.data = mem, .nbytes = nbytes, .device_id = device};
}

static int opencl_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                        cdevice_error *err) {
  cl_lane lane;
  cl_slot *slot;
  cl_mem mem;
  cl_int code = 0;
  int result = slot_of(device, &slot, err);
  (void)self;
  if (!result && nbytes <= 0) result = fail(err, CL_INVALID_BUFFER_SIZE, "allocation of no bytes");
  if (!result) result = lane_of(device, stream, &lane, err);
  if (result) return result;
  if (stream) { /* the user's queue: of the device that was asked for? */
    cl_device_id id = NULL;
    code = cl.GetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    if (code) return fail(err, code, "the device of the stream");
    int64_t index = index_of(id);
    if (index != device)
      return cdevice_backend_fail(err, EINVAL, CL_INVALID_DEVICE, code_name(CL_INVALID_DEVICE),
                                  "the stream belongs to OpenCL device %lld, not %lld", (long long)index,
                                  (long long)device);
  }
  mem = cl.CreateBuffer(lane.context, CL_MEM_READ_WRITE, (size_t)nbytes, NULL, &code);
  if (!mem) /* the size is not zero, so an invalid one is too large for the device */
    return fail_as(err, code == CL_INVALID_BUFFER_SIZE ? ENOMEM : code_errno(code), code, "clCreateBuffer");
  note_block(out, mem, nbytes, device);
  return 0;
}

/* The runtime lets the memory go after the last command that uses it. */
static void opencl_free(void *self, const cdevice_block *block) {
  (void)self;
  if (block && block->data && cl.ReleaseMemObject) cl.ReleaseMemObject(block->data);
}

static int opencl_view(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                       cdevice_error *err) {
  cl_mem mem = whole->data, parent = NULL;
  size_t size = 0, base = 0;
  cl_buffer_region region;
  cl_int code;
  (void)self;
  if (!mem) return fail(err, CL_INVALID_MEM_OBJECT, "view of NULL");
  code = cl.GetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL);
  if (code) return fail(err, code, "view");
  if (offset < 0 || nbytes <= 0 || (uint64_t)offset > size || (uint64_t)nbytes > size - (uint64_t)offset)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_VALUE, code_name(CL_INVALID_VALUE),
                                "OpenCL: a view of %lld bytes from offset %lld does not lie in a buffer of %zu",
                                (long long)nbytes, (long long)offset, size);
  if (!offset && (size_t)nbytes == size) {
    code = cl.RetainMemObject(mem);
    if (code) return fail(err, code, "clRetainMemObject");
    note_block(out, mem, nbytes, whole->device_id);
    return 0;
  }
  /* There are no sub-buffers of sub-buffers. */
  code = cl.GetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
  if (!code && parent) code = cl.GetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof base, &base, NULL);
  if (code) return fail(err, code, "view");
  region.origin = base + (size_t)offset;
  region.size = (size_t)nbytes;
  mem = cl.CreateSubBuffer(parent ? parent : mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (!mem) return fail(err, code, "clCreateSubBuffer");
  note_block(out, mem, nbytes, whole->device_id);
  return 0;
}

static int opencl_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  cl_work work = {.kind = kind, .copies = copies, .n = n};
  (void)self;
  if (kind < CDEVICE_COPY_H2D || kind > CDEVICE_COPY_PEER)
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "OpenCL: there is no copy kind %d", kind);
  return do_work(&work, stream, err);
}

static int opencl_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                       cdevice_error *err) {
  cdevice_copy target = {.dst = block->data, .dst_offset = offset, .dst_device = block->device_id, .nbytes = nbytes};
  cl_work work = {.kind = KIND_FILL, .copies = &target, .n = 1, .byte = (unsigned char)byte};
  (void)self;
  return do_work(&work, stream, err);
}

static int opencl_event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  cl_lane lane;
  cl_event event = NULL;
  cl_int code;
  int result = lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  code = cl.EnqueueMarkerWithWaitList(lane.queue, 0, NULL, &event);
  if (code) return fail(err, code, "clEnqueueMarkerWithWaitList");
  code = cl.Flush(lane.queue); /* another queue may only wait for what was flushed */
  if (code) {
    hold(event);
    return fail(err, code, "clFlush");
  }
  out->slot = event;
  out->opaque = NULL;
  out->sync_event = &out->slot;
  return 0;
}

static int opencl_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  cl_event event;
  int result;
  (void)self, (void)device;
  if (!sync_event) {
    *done = 1;
    return 0;
  }
  result = event_of(sync_event, &event, err);
  return result ? result : ask_event(event, done, err);
}

static int opencl_event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err) {
  cl_event event;
  int result;
  (void)self, (void)device;
  if (!sync_event) return 0;
  result = event_of(sync_event, &event, err);
  return result ? result : wait_event(event, err);
}

static int opencl_event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err) {
  cl_lane lane;
  cl_event event;
  cl_context context = NULL;
  cl_int code;
  int result;
  (void)self;
  if (!sync_event) return 0;
  result = event_of(sync_event, &event, err);
  if (!result) result = lane_of(device, stream, &lane, err);
  if (result) return result;
  code = cl.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
  if (code) return fail(err, code, "sync_event does not point to a cl_event");
  return follow(lane.queue, lane.context, event, context != lane.context, err);
}

static void opencl_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device;
  if (!event || !event->slot) return;
  if (cl.ReleaseEvent) hold(event->slot);
  event->slot = NULL;
  event->sync_event = NULL;
}

typedef struct cl_notice {
  void (*fn)(void *arg);
  void *arg;
} cl_notice;

static void CL_CALL on_notice(cl_event event, cl_int status, void *arg) {
  cl_notice notice = *(cl_notice *)arg;
  (void)event, (void)status;
  free(arg);
  notice.fn(notice.arg);
}

/* An event that is over already may be told on the calling thread, before this returns. */
static int opencl_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *arg), void *arg,
                               cdevice_error *err) {
  cl_notice *notice;
  cl_event event;
  cl_int code;
  int result;
  (void)self, (void)device;
  if (!sync_event) {
    fn(arg);
    return 0;
  }
  result = event_of(sync_event, &event, err);
  if (result) return result;
  if (state.fragile) /* a thread for each event would be the only way, and the core can ask for many at once */
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime does not tell of failed events");
  notice = malloc(sizeof *notice);
  if (!notice) return fail(err, CL_OUT_OF_HOST_MEMORY, "notification");
  notice->fn = fn;
  notice->arg = arg;
  code = when_over(event, on_notice, notice);
  if (code) {
    free(notice);
    return fail(err, code, "clSetEventCallback");
  }
  push_event(event);
  return 0;
}

static int opencl_current_stream(void *self, int64_t device, void **out, cdevice_error *err) {
  cl_slot *slot;
  int result = defaults(device, &slot, err);
  (void)self;
  if (!result) *out = slot->queue;
  return result;
}

static int opencl_stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  cl_slot *slot;
  cl_command_queue queue;
  cl_int code = 0;
  int result = defaults(device, &slot, err);
  (void)self;
  if (result) return result;
  queue = make_queue(slot->context, slot->id, &code);
  if (!queue) return fail(err, code, "clCreateCommandQueue");
  *out = queue;
  return 0;
}

static void opencl_stream_destroy(void *self, int64_t device, void *stream) {
  (void)self, (void)device;
  if (stream && cl.ReleaseCommandQueue) cl.ReleaseCommandQueue(stream);
}

static int opencl_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  cl_lane lane;
  cl_int code;
  int result = lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  code = cl.Finish(lane.queue);
  sweep();
  return code ? fail(err, code, "clFinish") : 0;
}

/* A cl_mem is all there is to go by: of a context of several devices, the one that is hinted at if it is among them, else
 * the first that was enumerated. */
static int opencl_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                         cdevice_error *err) {
  cl_mem mem = (cl_mem)data;
  cl_uint type = 0;
  cl_seen seen = {0};
  cl_device_id id = NULL;
  int64_t index = -1;
  cl_int code;
  (void)self;
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  if (!mem) return fail_as(err, EINVAL, CL_INVALID_MEM_OBJECT, "NULL is no buffer");
  code = cl.GetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
  if (!code && type != CL_MEM_OBJECT_BUFFER) code = CL_INVALID_MEM_OBJECT;
  if (!code) code = look(mem, &seen);
  if (code) return fail_as(err, EINVAL, code, "not a buffer");
  code = pick_device(seen.context, *device, &id, &index);
  if (code) return fail(err, code, "the devices of the buffer's context");
  if (index < 0)
    return fail_as(err, EINVAL, CL_INVALID_DEVICE, "the buffer's context has no device that this loader lists");
  *device_type = ARROW_DEVICE_OPENCL;
  *device = index;
  *nbytes = seen.size > INT64_MAX ? INT64_MAX : (int64_t)seen.size;
  return 0;
}

/* Without a stream the question is about the device's default queue, whether or not it has been needed yet. */
static int opencl_compatible(void *self, int64_t device, const void *data, void *sync_event, void *stream) {
  cl_context mem_context = NULL, event_context = NULL, context = NULL;
  cl_event event = NULL;
  (void)self;
  if (!__atomic_load_n(&state.started, __ATOMIC_ACQUIRE)) return 0;
  if (data && cl.GetMemObjectInfo((cl_mem)data, CL_MEM_CONTEXT, sizeof mem_context, &mem_context, NULL)) return 0;
  if (sync_event) {
    if (event_of(sync_event, &event, NULL)) return 0;
    if (cl.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof event_context, &event_context, NULL)) return 0;
  }
  if (data && sync_event && mem_context != event_context) return 0;
  context = data ? mem_context : event_context;
  if (!context) return 1;
  if (stream) {
    cl_lane lane;
    return !lane_of(0, stream, &lane, NULL) && lane.context == context;
  }
  cl_lane lane;
  return !lane_of(device, NULL, &lane, NULL) && lane.context == context;
}

/* Shared virtual memory. */

static int svm_capabilities(void *self, int64_t device, uint64_t *out, cdevice_error *err) {
  cl_slot *slot;
  int result = slot_of(device, &slot, err);
  (void)self;
  if (!result) *out = cl.SVMAlloc && cl.EnqueueSVMFree && cl.EnqueueSVMMemcpy ? slot->svm : 0;
  return result;
}

static int svm_lane(int64_t device, void *stream, cl_lane *lane, cdevice_error *err) {
  uint64_t capabilities = 0;
  int result = svm_capabilities(NULL, device, &capabilities, err);
  if (!result && !capabilities)
    result = cdevice_backend_fail(err, ENOTSUP, 0, NULL, "OpenCL device %lld has no shared virtual memory",
                                  (long long)device);
  return result ? result : lane_of(device, stream, lane, err);
}

static int svm_alloc(void *self, int64_t device, int64_t nbytes, uint32_t alignment, uint32_t flags, void *stream,
                     void **out, cdevice_error *err) {
  cl_lane lane;
  cl_bits bits = CL_MEM_READ_WRITE;
  void *pointer;
  int result;
  (void)self;
  /* The runtime answers NULL to everything, so what can be told apart is told here. */
  if (nbytes <= 0 || alignment > 128 || (alignment & (alignment - 1)))
    return fail(err, CL_INVALID_VALUE, "shared virtual memory of this size and alignment");
  result = svm_lane(device, stream, &lane, err);
  if (result) return result;
  if (flags & CDEVICE_OPENCL_SVM_FINE_GRAIN) bits |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
  pointer = cl.SVMAlloc(lane.context, bits, (size_t)nbytes, alignment);
  if (!pointer) return fail(err, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
  *out = pointer;
  return 0;
}

static int svm_free(void *self, int64_t device, void *pointer, void *sync_event, void *stream, cdevice_error *err) {
  cl_lane lane;
  cl_event event;
  cl_int code;
  int result;
  if (!pointer) return 0;
  result = svm_lane(device, stream, &lane, err);
  if (!result) result = opencl_event_wait_stream(self, device, sync_event, stream, err);
  if (result) return result;
  if (lane.unordered && (code = put_barrier(lane.queue, NULL))) return fail(err, code, "clEnqueueBarrierWithWaitList");
  code = cl.EnqueueSVMFree(lane.queue, 1, &pointer, NULL, NULL, 0, NULL, held(&event));
  hold(event);
  if (!code) code = cl.Flush(lane.queue);
  return code ? fail(err, code, "clEnqueueSVMFree") : 0;
}

static int svm_copy(void *self, int64_t device, void *dst, const void *src, int64_t nbytes, void *stream,
                    cdevice_error *err) {
  cl_lane lane;
  cl_event event;
  cl_int code;
  int result;
  (void)self;
  if (!nbytes) return 0;
  if (nbytes < 0 || !dst || !src) return fail(err, CL_INVALID_VALUE, "copy of shared virtual memory");
  result = svm_lane(device, stream, &lane, err);
  if (result) return result;
  if (lane.unordered && (code = put_barrier(lane.queue, NULL))) return fail(err, code, "clEnqueueBarrierWithWaitList");
  code = cl.EnqueueSVMMemcpy(lane.queue, 0, dst, src, (size_t)nbytes, 0, NULL, held(&event));
  hold(event);
  return code ? fail(err, code, "clEnqueueSVMMemcpy") : 0;
}

static const void *opencl_extension(void *self, const char *id) {
  static const cdevice_opencl_svm svm = {sizeof svm, 0, svm_capabilities, svm_alloc, svm_free, svm_copy};
  (void)self;
  return id && !strcmp(id, CDEVICE_OPENCL_SVM) ? &svm : NULL;
}

int cdevice_opencl_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  static const cdevice_backend table = {
      .abi_version = CDEVICE_BACKEND_ABI,
      .struct_size = sizeof table,
      .device_type = ARROW_DEVICE_OPENCL,
      .capabilities = CDEVICE_CAP_EVENTS | CDEVICE_CAP_STREAMS | CDEVICE_CAP_ASYNC_FREE | CDEVICE_CAP_PEER,
      .name = "opencl",
      .family = "opencl",
      .self = &state,
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
      .extension = opencl_extension,
  };
  if (core_abi >> 16 != CDEVICE_BACKEND_ABI >> 16)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "the OpenCL backend serves plug-in ABI %d",
                                CDEVICE_BACKEND_ABI >> 16);
  if (index) return ENOENT;
  *out = &table;
  return 0;
}
