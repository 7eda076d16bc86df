/* cuda.c - CUDA, CUDA_HOST and CUDA_MANAGED through the driver API, which is there exactly when a driver is.
 *
 * The primary context of a device is retained once, on first use, and pushed around every entry: it is the one that all
 * users of the runtime API work in, and handles of both APIs are the same.  With drivers before 12.5, a stream given to
 * cdevice must live until what was allocated for it has been released. */
#define RT_FAMILY "cuda"
#define RT_N_KINDS 3
#define RT_SAVED int /* the thread's capture mode, -1: as it was */
#define RT_COMPILER "nvrtc"
#define RT_COMPILER_NAME "NVRTC"
#define RT_COMPILER_HINT                                                                                            \
  "pip install \"cdevice[cuda13]\" (or \"cdevice[cuda12]\" for a driver before CUDA 13) brings it, so does CUDA's " \
  "toolkit"
#define RT_COMPILER_OPTIONS "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
#define RT_COMPILER_FUNCTIONS(X)                                        \
  X(1, int, GetCUBINSize, "nvrtcGetCUBINSize", (void *, size_t *))      \
  X(1, int, GetCUBIN, "nvrtcGetCUBIN", (void *, char *))                \
  X(1, int, GetPTXSize, "nvrtcGetPTXSize", (void *, size_t *))          \
  X(1, int, GetPTX, "nvrtcGetPTX", (void *, char *))                    \
  X(1, int, GetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *)) \
  X(1, int, GetSupportedArchs, "nvrtcGetSupportedArchs", (int *))
#define RT_MOST_ITEMS INT64_MAX
#define RT_GONE 0 /* 709 is the context's */
#define RT_EVENTS_ALONE 1
#include "gpu_driver/template.h"

typedef uintptr_t cu_ptr; /* CUdeviceptr */

#define CUDA_FUNCTIONS(X)                                                                        \
  X(1, int, Init, "cuInit", (unsigned))                                                          \
  X(1, int, DeviceGetCount, "cuDeviceGetCount", (int *))                                         \
  X(1, int, DeviceGet, "cuDeviceGet", (int *, int))                                              \
  X(1, int, PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **, int))                        \
  X(1, int, CtxPush, "cuCtxPushCurrent_v2", (void *))                                            \
  X(1, int, CtxPop, "cuCtxPopCurrent_v2", (void **))                                             \
  X(1, int, MemAlloc, "cuMemAlloc_v2", (cu_ptr *, size_t))                                       \
  X(1, int, MemFree, "cuMemFree_v2", (cu_ptr))                                                   \
  X(1, int, MemAllocHost, "cuMemAllocHost_v2", (void **, size_t))                                \
  X(1, int, MemFreeHost, "cuMemFreeHost", (void *))                                              \
  X(1, int, MemAllocManaged, "cuMemAllocManaged", (cu_ptr *, size_t, unsigned))                  \
  X(1, int, MemcpyAsync, "cuMemcpyAsync", (cu_ptr, cu_ptr, size_t, void *))                      \
  X(1, int, MemcpyHtoD, "cuMemcpyHtoDAsync_v2", (cu_ptr, const void *, size_t, void *))          \
  X(1, int, MemcpyDtoH, "cuMemcpyDtoHAsync_v2", (void *, cu_ptr, size_t, void *))                \
  X(1, int, MemsetD8, "cuMemsetD8Async", (cu_ptr, unsigned char, size_t, void *))                \
  X(1, int, EventCreate, "cuEventCreate", (void **, unsigned))                                   \
  X(1, int, EventDestroy, "cuEventDestroy_v2", (void *))                                         \
  X(1, int, EventRecord, "cuEventRecord", (void *, void *))                                      \
  X(1, int, EventQuery, "cuEventQuery", (void *))                                                \
  X(1, int, EventSynchronize, "cuEventSynchronize", (void *))                                    \
  X(0, int, EventElapsed, "cuEventElapsedTime", (float *, void *, void *))                       \
  X(1, int, StreamWaitEvent, "cuStreamWaitEvent", (void *, void *, unsigned))                    \
  X(1, int, StreamCreate, "cuStreamCreate", (void **, unsigned))                                 \
  X(1, int, StreamDestroy, "cuStreamDestroy_v2", (void *))                                       \
  X(1, int, StreamSynchronize, "cuStreamSynchronize", (void *))                                  \
  X(1, int, CtxSynchronize, "cuCtxSynchronize", (void))                                          \
  X(0, int, StreamIsCapturing, "cuStreamIsCapturing", (void *, int *))                           \
  X(0, int, ExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *))                   \
  X(0, int, DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *, int, int))                     \
  X(0, int, CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (void *, unsigned))                    \
  X(0, int, CtxRecordEvent, "cuCtxRecordEvent", (void *, void *))                                \
  X(0, int, LaunchHostFunc, "cuLaunchHostFunc", (void *, void (*)(void *), void *))              \
  X(0, int, PointerGetAttribute, "cuPointerGetAttribute", (void *, int, cu_ptr))                 \
  X(0, int, IpcGetMemHandle, "cuIpcGetMemHandle", (cdevice_ipc_handle *, cu_ptr))                \
  X(0, int, IpcOpenMemHandle, "cuIpcOpenMemHandle_v2", (cu_ptr *, cdevice_ipc_handle, unsigned)) \
  X(0, int, IpcCloseMemHandle, "cuIpcCloseMemHandle", (cu_ptr))                                  \
  X(0, int, IpcGetEventHandle, "cuIpcGetEventHandle", (cdevice_ipc_handle *, void *))            \
  X(0, int, IpcOpenEventHandle, "cuIpcOpenEventHandle", (void **, cdevice_ipc_handle))           \
  X(0, int, DeviceGetName, "cuDeviceGetName", (char *, int, int))                                \
  X(0, int, DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                       \
  X(0, int, ModuleLoadData, "cuModuleLoadData", (void **, const void *))                         \
  X(0, int, ModuleUnload, "cuModuleUnload", (void *))                                            \
  X(0, int, ModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))           \
  X(0, int, LaunchKernel, "cuLaunchKernel", RT_LAUNCH_ARGUMENTS)                                 \
  X(0, int, MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                 \
  X(0, int, DriverGetVersion, "cuDriverGetVersion", (int *))                                     \
  X(0, int, GetErrorName, "cuGetErrorName", (int, const char **))                                \
  X(0, int, GetErrorString, "cuGetErrorString", (int, const char **))

static struct {
  CUDA_FUNCTIONS(CDEVICE_DL_MEMBER)
} cu;
#define CUDA_ROW(needed, result, name, symbol, args) {symbol, (size_t)((char *)&cu.name - (char *)&cu), needed},
static _Atomic(void *) contexts[RT_DEVICES];

enum { CU_EVENT_INTERPROCESS = 4, CU_IPC_LAZY_PEER_ACCESS = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2, CU_STREAM_NON_BLOCKING = 1, CU_MEM_ATTACH_GLOBAL = 1, CU_CAPTURE_RELAXED = 2 };
enum { CU_CAPABILITY_MAJOR = 75, CU_CAPABILITY_MINOR = 76 };
enum { CU_MEMORY_TYPE = 2, CU_IS_MANAGED = 8, CU_DEVICE_ORDINAL = 9, CU_RANGE_START = 11, CU_RANGE_SIZE = 12 };

static const rt_kind rt_kinds[RT_N_KINDS] = {
    {RT_DEVICE, ARROW_DEVICE_CUDA, "cuda", 0},
    {RT_PINNED, ARROW_DEVICE_CUDA_HOST, "cuda_host", CDEVICE_CAP_HOST_ACCESSIBLE},
    {RT_MANAGED, ARROW_DEVICE_CUDA_MANAGED, "cuda_managed", CDEVICE_CAP_HOST_ACCESSIBLE},
};

static const char *rt_error_name(int code) {
  const char *s = NULL;
  return cu.GetErrorName && !cu.GetErrorName(code, &s) && s ? s : "CUDA_ERROR";
}
static const char *rt_error_text(int code) {
  const char *s = NULL;
  return cu.GetErrorString && !cu.GetErrorString(code, &s) && s ? s : "an error of the CUDA driver";
}

static int rt_load(cdevice_error *err) {
  static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
  const cdevice_dl_row rows[] = {CUDA_FUNCTIONS(CUDA_ROW)};
  cdevice_dl dl = {0};
  if (cdevice_dl_open(&dl, NULL, "CDEVICE_CUDA_LIBRARY", names, "cuInit") ||
      cdevice_dl_load(&dl, rows, sizeof rows / sizeof *rows, &cu))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "no NVIDIA driver library; tried: %s", dl.tried);
  snprintf(rt_library, sizeof rt_library, "%s", dl.path);
  int version = 0, code = cu.Init(0);
  if (code)
    return cdevice_backend_fail(err, rt_errno(code), code, rt_error_name(code), "the driver (%s) does not start: %s",
                                rt_library, rt_error_text(code));
  if (cu.DriverGetVersion) cu.DriverGetVersion(&version);
  if (version < 12050) cu.CtxRecordEvent = NULL; /* a library may have a symbol that its driver does not serve */
  return 0;
}

static int rt_count(int *n) { return cu.DeviceGetCount(n); }

static int rt_describe(int device, cdevice_device_info *out) {
  size_t available, total;
  int version = 0;
  if (cu.DeviceGetName && cu.DeviceGetName(out->name, sizeof out->name, device)) out->name[0] = 0;
  if (cu.MemGetInfo && !cu.MemGetInfo(&available, &total)) {
    out->free_bytes = (int64_t)available;
    out->total_bytes = (int64_t)total;
  }
  if (cu.DriverGetVersion && !cu.DriverGetVersion(&version))
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  return 0;
}

/* On a device's first use, not before: a context takes memory and time.  Never released: the last release would destroy
 * what others have in it. */
static int context_of(int device, void **out) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int handle, code = 0;
  *out = atomic_load_explicit(&contexts[device], memory_order_acquire);
  if (*out) return 0;
  pthread_mutex_lock(&lock);
  *out = atomic_load(&contexts[device]);
  if (!*out) {
    code = cu.DeviceGet(&handle, device);
    if (!code) code = cu.PrimaryCtxRetain(out, handle);
    if (!code) atomic_store_explicit(&contexts[device], *out, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int rt_enter(int device, rt_saved_context *saved) {
  void *context;
  int code = context_of(device, &context), mode = CU_CAPTURE_RELAXED;
  *saved = -1;
  if (!code) code = cu.CtxPush(context);
  /* else asking an event ends the captures of other threads */
  if (!code && cu.ExchangeCaptureMode && !cu.ExchangeCaptureMode(&mode)) *saved = mode;
  return code;
}
static void rt_leave(rt_saved_context *saved) {
  void *context;
  int mode = *saved;
  if (mode >= 0 && cu.ExchangeCaptureMode(&mode)) { /* once more: the thread is the caller's */
    mode = *saved;
    cu.ExchangeCaptureMode(&mode);
  }
  cu.CtxPop(&context);
}

static int rt_malloc(int kind, size_t n, void **out) {
  if (kind == RT_PINNED) return cu.MemAllocHost(out, n);
  cu_ptr p = 0;
  int code = kind == RT_MANAGED ? cu.MemAllocManaged(&p, n, CU_MEM_ATTACH_GLOBAL) : cu.MemAlloc(&p, n);
  *out = (void *)p;
  return code;
}
static int rt_mfree(int kind, void *p) { return kind == RT_PINNED ? cu.MemFreeHost(p) : cu.MemFree((cu_ptr)p); }

static int rt_memcpy(int kind, int direction, void *dst, const void *src, size_t n, void *stream) {
  if (kind == RT_DEVICE && direction == CDEVICE_COPY_H2D) return cu.MemcpyHtoD((cu_ptr)dst, src, n, stream);
  if (kind == RT_DEVICE && direction == CDEVICE_COPY_D2H) return cu.MemcpyDtoH(dst, (cu_ptr)src, n, stream);
  return cu.MemcpyAsync((cu_ptr)dst, (cu_ptr)src, n, stream); /* unified addresses tell host from device */
}
static int rt_memset(void *p, int byte, size_t n, void *stream) {
  return cu.MemsetD8((cu_ptr)p, (unsigned char)byte, n, stream);
}

static int rt_event_new(void **out) { return cu.EventCreate(out, CU_EVENT_DISABLE_TIMING); }
static int rt_event_new_timed(void **out) { return cu.EventCreate(out, 0); }
static int rt_event_elapsed(float *ms, void *from, void *to) {
  return cu.EventElapsed ? cu.EventElapsed(ms, from, to) : RT_NOT_SUPPORTED;
}
static int rt_event_del(void *event) { return cu.EventDestroy(event); }
static int rt_event_rec(void *event, void *stream) { return cu.EventRecord(event, stream); }
/* Of CUDA 12.5 and later; it takes in non-blocking streams too, and needs no handle, which its owner may have
 * destroyed. */
static int rt_can_record_context(void) { return cu.CtxRecordEvent != NULL; }
static int rt_event_rec_all(int device, void *event) {
  return cu.CtxRecordEvent(atomic_load(&contexts[device]), event);
}
static int rt_capture(void *stream, int *status) {
  return cu.StreamIsCapturing ? cu.StreamIsCapturing(stream, status) : RT_NOT_SUPPORTED;
}
static int rt_event_ask(void *event) { return cu.EventQuery(event); }
static int rt_event_sync(void *event) { return cu.EventSynchronize(event); }
static int rt_stream_wait(void *stream, void *event) { return cu.StreamWaitEvent(stream, event, 0); }
static int rt_stream_new(void **out) { return cu.StreamCreate(out, CU_STREAM_NON_BLOCKING); }
static int rt_stream_del(void *stream) { return cu.StreamDestroy(stream); }
static int rt_stream_sync(void *stream) { return cu.StreamSynchronize(stream); }
static int rt_stream_ask(void *stream) { /* events stand alone: cdevice has no streams of its own behind others */
  (void)stream;
  return RT_NOT_SUPPORTED;
}
static int rt_device_sync(void) { return cu.CtxSynchronize(); }
static void rt_enable_peer(int device, int other) {
  int here, there, can = 0;
  void *context;
  if (cu.DeviceCanAccessPeer && cu.CtxEnablePeerAccess && !cu.DeviceGet(&here, device) &&
      !cu.DeviceGet(&there, other) && !cu.DeviceCanAccessPeer(&can, here, there) && can && !context_of(other, &context))
    cu.CtxEnablePeerAccess(context, 0);
}
static int rt_can_call(void) { return cu.LaunchHostFunc != NULL; }
static int rt_launch_host_func(void *stream, void (*fn)(void *), void *arg) {
  return cu.LaunchHostFunc(stream, fn, arg);
}

static int rt_pointer_attributes(const void *p, int *kind, int *device, int64_t *behind) {
  unsigned type = 0, managed = 0;
  cu_ptr start = 0;
  size_t size = 0;
  if (!cu.PointerGetAttribute) return RT_NOT_SUPPORTED;
  int code = cu.PointerGetAttribute(&type, CU_MEMORY_TYPE, (cu_ptr)p);
  if (!code) code = cu.PointerGetAttribute(device, CU_DEVICE_ORDINAL, (cu_ptr)p);
  if (code) return code;
  cu.PointerGetAttribute(&managed, CU_IS_MANAGED, (cu_ptr)p);
  *kind = managed ? RT_MANAGED : type == 1 ? RT_PINNED : RT_DEVICE;
  *behind = -1;
  if (!cu.PointerGetAttribute(&start, CU_RANGE_START, (cu_ptr)p) &&
      !cu.PointerGetAttribute(&size, CU_RANGE_SIZE, (cu_ptr)p))
    *behind = (int64_t)(start + size - (cu_ptr)p);
  return 0;
}

/* ---- other processes ---- */
static int rt_memory_range(const void *p, void **begin, size_t *size) {
  if (!cu.PointerGetAttribute) return RT_NOT_SUPPORTED;
  cu_ptr start = 0;
  int code = cu.PointerGetAttribute(&start, CU_RANGE_START, (cu_ptr)p);
  *begin = (void *)start;
  return code ? code : cu.PointerGetAttribute(size, CU_RANGE_SIZE, (cu_ptr)p);
}
static int rt_memory_handle(void *begin, cdevice_ipc_handle *out) {
  return cu.IpcGetMemHandle ? cu.IpcGetMemHandle(out, (cu_ptr)begin) : RT_NOT_SUPPORTED;
}
static int rt_memory_open(const cdevice_ipc_handle *handle, void **out) {
  cu_ptr p = 0;
  int code = cu.IpcOpenMemHandle ? cu.IpcOpenMemHandle(&p, *handle, CU_IPC_LAZY_PEER_ACCESS) : RT_NOT_SUPPORTED;
  *out = (void *)p;
  return code;
}
static int rt_memory_close(void *p) {
  return cu.IpcCloseMemHandle ? cu.IpcCloseMemHandle((cu_ptr)p) : RT_NOT_SUPPORTED;
}
static int rt_event_new_shared(void **out) {
  return cu.EventCreate(out, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
}
static int rt_event_handle(void *event, cdevice_ipc_handle *out) {
  return cu.IpcGetEventHandle ? cu.IpcGetEventHandle(out, event) : RT_NOT_SUPPORTED;
}
static int rt_event_open(const cdevice_ipc_handle *handle, void **out) {
  return cu.IpcOpenEventHandle ? cu.IpcOpenEventHandle(out, *handle) : RT_NOT_SUPPORTED;
}

/* ---- kernels ---- */

/* A copy that is in the process; a wheel's, which lies beside this package or where Python looks; the system's. A
 * driver takes what compilers of its major version and older ones make. */
#define FOLDERS 6
static int rt_compiler_open(cdevice_dl *dl) {
  static const char *const wheels[] = {"nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"};
  static const char *const systems[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  char paths[2 * FOLDERS][512];
  const char *names[2 * FOLDERS + 4] = {NULL};
  int version = 0, n = 0, used = 0;
  if (cu.DriverGetVersion) cu.DriverGetVersion(&version);
  for (int i = version < 13000; i < 2; i++) {
    const char *line = rt_compiler.folders;
    if (cdevice_dl_beside(paths[used], sizeof paths[0], wheels[i])) names[n++] = paths[used++];
    for (int k = 1; k < FOLDERS && *line; k++) {
      int length = (int)strcspn(line, "\n");
      if ((size_t)snprintf(paths[used], sizeof paths[0], "%.*s/%s", length, line, wheels[i]) < sizeof paths[0] &&
          !(n && !strcmp(paths[used], names[n - 1])))
        names[n++] = paths[used++];
      line += length + (line[length] == '\n');
    }
    names[n++] = systems[i];
  }
  if (version >= 13000) names[n++] = "/usr/local/cuda/lib64/libnvrtc.so";
  return cdevice_dl_open(dl, "libnvrtc", "CDEVICE_NVRTC_LIBRARY", names, "nvrtcGetCUBIN");
}

static void rt_compiler_name(char *out, size_t size, int major, int minor) {
  snprintf(out, size, "NVRTC %d.%d", major, minor);
}

/* Code of the device's own (a cubin, which older drivers of the same major version take too) where the compiler
 * knows it, else PTX of the newest before it, which the driver compiles. */
static int rt_target(int device, rt_target_info *out, cdevice_error *err) {
  int known[256], n = 0, handle, major = 0, minor = 0, best = 0, least = INT32_MAX;
  int code = cu.DeviceGet(&handle, device);
  if (!code) code = cu.DeviceGetAttribute(&major, CU_CAPABILITY_MAJOR, handle);
  if (!code) code = cu.DeviceGetAttribute(&minor, CU_CAPABILITY_MINOR, handle);
  if (code) return rt_fail(err, code, "querying the device's architecture");
  int own = major * 10 + minor, asked = rtc.GetNumSupportedArchs(&n);
  if (!asked && n <= 256) asked = rtc.GetSupportedArchs(known);
  if (asked || n > 256) return rt_compiler_fail(err, asked, "querying its supported architectures", "no output");
  for (int i = 0; i < n; i++) {
    if (known[i] <= own && known[i] > best) best = known[i];
    if (known[i] < least) least = known[i];
  }
  if (!best)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL,
                                "%s compiles for sm_%d and newer, the device is sm_%d: an older version compiles for that",
                                rt_compiler.name, least, own);
  out->portable = best != own;
  snprintf(out->name, sizeof out->name, "%s_%d", best == own ? "sm" : "compute", best);
  snprintf(out->option, sizeof out->option, "--gpu-architecture=%s", out->name);
  return 0;
}

static int rt_code(void *program, const rt_target_info *t, char *data, size_t *n) {
  if (!data) return t->portable ? rtc.GetPTXSize(program, n) : rtc.GetCUBINSize(program, n);
  return t->portable ? rtc.GetPTX(program, data) : rtc.GetCUBIN(program, data);
}

static int rt_can_launch(void) {
  return cu.ModuleLoadData && cu.ModuleUnload && cu.ModuleGetFunction && cu.LaunchKernel && cu.DeviceGetAttribute;
}
static int rt_module_new(void **out, const void *image) { return cu.ModuleLoadData(out, image); }
static int rt_module_del(void *module) { return cu.ModuleUnload(module); }
static int rt_module_find(void **out, void *module, const char *name) {
  return cu.ModuleGetFunction(out, module, name);
}
static int rt_launch(void *function, unsigned blocks, unsigned lanes, void *stream, void **arguments) {
  return cu.LaunchKernel(function, blocks, 1, 1, lanes, 1, 1, 0, stream, arguments, NULL);
}

int cdevice_cuda_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  (void)core_abi, (void)err;
  return rt_table(index, out);
}
