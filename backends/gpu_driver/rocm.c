/* rocm.c - ROCM and ROCM_HOST through AMD's HIP runtime.
 *
 * Only calls whose C signature is the same from HIP 5 to HIP 7 are used, and hipPointerGetAttributes from HIP 6 on,
 * where its struct has taken CUDA's shape.  Tested on a stand-in, and against AMD's HIP 5.2 library without a device;
 * never on AMD hardware. */
#define RT_FAMILY "rocm"
#define RT_N_KINDS 2
#define RT_SAVED long /* the thread's last error << 16 | the device << 2 | its capture mode, 3: as it was */
#define RT_COMPILER "hiprtc"
#define RT_COMPILER_NAME "HIPRTC"
#define RT_COMPILER_HINT "ROCm brings it, Debian in libamdhip64-5 and libhiprtc-builtins5"
#define RT_COMPILER_OPTIONS "-ffp-contract=off", "-O3",
#define RT_COMPILER_FUNCTIONS(X)                                  \
  X(1, int, GetCodeSize, "hiprtcGetCodeSize", (void *, size_t *)) \
  X(1, int, GetCode, "hiprtcGetCode", (void *, char *))
#define RT_MOST_ITEMS UINT32_MAX /* of one direction */
#define RT_GONE 709              /* what HIP calls a context that is destroyed is a stream that is no more */
#define RT_EVENTS_ALONE 0        /* ROCm 6.4 asks the stream behind the event */
#include "gpu_driver/template.h"

#define HIP_FUNCTIONS(X)                                                                      \
  X(1, int, GetDeviceCount, "hipGetDeviceCount", (int *))                                     \
  X(1, int, GetDevice, "hipGetDevice", (int *))                                               \
  X(1, int, SetDevice, "hipSetDevice", (int))                                                 \
  X(1, int, Malloc, "hipMalloc", (void **, size_t))                                           \
  X(1, int, Free, "hipFree", (void *))                                                        \
  X(1, int, HostMalloc, "hipHostMalloc", (void **, size_t, unsigned))                         \
  X(1, int, HostFree, "hipHostFree", (void *))                                                \
  X(1, int, MemcpyAsync, "hipMemcpyAsync", (void *, const void *, size_t, int, void *))       \
  X(1, int, MemsetAsync, "hipMemsetAsync", (void *, int, size_t, void *))                     \
  X(1, int, EventCreate, "hipEventCreateWithFlags", (void **, unsigned))                      \
  X(1, int, EventDestroy, "hipEventDestroy", (void *))                                        \
  X(1, int, EventRecord, "hipEventRecord", (void *, void *))                                  \
  X(1, int, EventQuery, "hipEventQuery", (void *))                                            \
  X(1, int, EventSynchronize, "hipEventSynchronize", (void *))                                \
  X(0, int, EventElapsed, "hipEventElapsedTime", (float *, void *, void *))                   \
  X(1, int, StreamWaitEvent, "hipStreamWaitEvent", (void *, void *, unsigned))                \
  X(1, int, StreamCreate, "hipStreamCreateWithFlags", (void **, unsigned))                    \
  X(1, int, StreamDestroy, "hipStreamDestroy", (void *))                                      \
  X(1, int, StreamSynchronize, "hipStreamSynchronize", (void *))                              \
  X(1, int, DeviceSynchronize, "hipDeviceSynchronize", (void))                                \
  X(0, int, StreamQuery, "hipStreamQuery", (void *))                                          \
  X(0, int, StreamIsCapturing, "hipStreamIsCapturing", (void *, int *))                       \
  X(0, int, ExchangeCaptureMode, "hipThreadExchangeStreamCaptureMode", (int *))               \
  X(0, int, DeviceCanAccessPeer, "hipDeviceCanAccessPeer", (int *, int, int))                 \
  X(0, int, DeviceEnablePeerAccess, "hipDeviceEnablePeerAccess", (int, unsigned))             \
  X(0, int, LaunchHostFunc, "hipLaunchHostFunc", (void *, void (*)(void *), void *))          \
  X(0, int, PointerGetAttributes, "hipPointerGetAttributes", (void *, const void *))          \
  X(0, int, MemGetAddressRange, "hipMemGetAddressRange", (void **, size_t *, void *))         \
  X(0, int, IpcGetMemHandle, "hipIpcGetMemHandle", (cdevice_ipc_handle *, void *))            \
  X(0, int, IpcOpenMemHandle, "hipIpcOpenMemHandle", (void **, cdevice_ipc_handle, unsigned)) \
  X(0, int, IpcCloseMemHandle, "hipIpcCloseMemHandle", (void *))                              \
  X(0, int, IpcGetEventHandle, "hipIpcGetEventHandle", (cdevice_ipc_handle *, void *))        \
  X(0, int, IpcOpenEventHandle, "hipIpcOpenEventHandle", (void **, cdevice_ipc_handle))       \
  X(0, int, RuntimeGetVersion, "hipRuntimeGetVersion", (int *))                               \
  X(0, int, DeviceGetName, "hipDeviceGetName", (char *, int, int))                            \
  X(0, int, MemGetInfo, "hipMemGetInfo", (size_t *, size_t *))                                \
  X(0, int, GetProperties, "hipGetDevicePropertiesR0600", (void *, int))                      \
  X(0, int, GetOldProperties, "hipGetDeviceProperties", (void *, int))                        \
  X(0, int, ModuleLoadData, "hipModuleLoadData", (void **, const void *))                     \
  X(0, int, ModuleUnload, "hipModuleUnload", (void *))                                        \
  X(0, int, ModuleGetFunction, "hipModuleGetFunction", (void **, void *, const char *))       \
  X(0, int, LaunchKernel, "hipModuleLaunchKernel", RT_LAUNCH_ARGUMENTS)                       \
  X(0, int, GetLastError, "hipGetLastError", (void))                                          \
  X(0, int, PeekAtLastError, "hipPeekAtLastError", (void))                                    \
  X(0, const char *, GetErrorName, "hipGetErrorName", (int))                                  \
  X(0, const char *, GetErrorString, "hipGetErrorString", (int))

static struct {
  HIP_FUNCTIONS(CDEVICE_DL_MEMBER)
} hip;
#define HIP_ROW(needed, result, name, symbol, args) {symbol, (size_t)((char *)&hip.name - (char *)&hip), needed},
static int version;

enum { HIP_EVENT_DISABLE_TIMING = 2, HIP_STREAM_NON_BLOCKING = 1, HIP_MEMCPY_DEFAULT = 4, HIP_CAPTURE_RELAXED = 2 };
enum { HIP_EVENT_INTERPROCESS = 4, HIP_IPC_LAZY_PEER_ACCESS = 1, HIP_5_IPC_LAZY_PEER_ACCESS = 0, HIP_INVALID_VALUE = 1 };
enum { AS_IT_WAS = 3 };

/* hipPointerAttribute_t from HIP 6 on. */
typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
  char room[64]; /* for members that a later version appends */
} hip_attributes;

static const rt_kind rt_kinds[RT_N_KINDS] = {
    {RT_DEVICE, ARROW_DEVICE_ROCM, "rocm", 0},
    {RT_PINNED, ARROW_DEVICE_ROCM_HOST, "rocm_host", CDEVICE_CAP_HOST_ACCESSIBLE},
};

static const char *rt_error_name(int code) {
  const char *s = hip.GetErrorName ? hip.GetErrorName(code) : NULL;
  return s ? s : "hipError";
}
static const char *rt_error_text(int code) {
  const char *s = hip.GetErrorString ? hip.GetErrorString(code) : NULL;
  return s ? s : "an error of the HIP runtime";
}

static int rt_load(cdevice_error *err) {
  /* a copy that is mapped already (hip-python's, torch's) comes first: handles must be of one runtime */
  static const char *const names[] = {"libamdhip64.so.7",
                                      "libamdhip64.so.6",
                                      "libamdhip64.so.5",
                                      "libamdhip64.so",
                                      "/opt/rocm/lib/libamdhip64.so",
                                      NULL};
  const cdevice_dl_row rows[] = {HIP_FUNCTIONS(HIP_ROW)};
  cdevice_dl dl = {0};
  if (cdevice_dl_open(&dl, "libamdhip64", "CDEVICE_HIP_LIBRARY", names, "hipGetDeviceCount") ||
      cdevice_dl_load(&dl, rows, sizeof rows / sizeof *rows, &hip))
    return cdevice_backend_fail(err, ENODEV, 0, NULL, "no HIP runtime library; tried: %s", dl.tried);
  snprintf(rt_library, sizeof rt_library, "%s", dl.path);
  if (hip.RuntimeGetVersion) hip.RuntimeGetVersion(&version);
  return 0;
}

/* A thread's last error is the application's: what failed in here would be reported by its check of a kernel launch,
 * long after it was dealt with; and up to HIP 6 what goes well in here forgets an error of its own that it has not
 * asked for yet. So it is put back: by a call that fails in the same way, where there is a harmless one, else in
 * another, for an error must not become none. */
static int last_error(void) { return hip.PeekAtLastError && hip.GetLastError ? hip.PeekAtLastError() : 0; }
static void restore_error(int before) {
  int now = last_error();
  if (now == before) return;
  if (now) hip.GetLastError();
  if (!before || before == RT_NOT_READY) return;
  if (before == RT_BAD_DEVICE) hip.SetDevice(-1);
  if (before == RT_BAD_HANDLE) hip.EventDestroy(NULL);
  if (last_error() != before) hip.GetDevice(NULL);
}

static int rt_count(int *n) {
  int before = last_error(), code = hip.GetDeviceCount(n);
  restore_error(before);
  return code;
}

static int rt_describe(int device, cdevice_device_info *out) {
  size_t available, total;
  if (hip.DeviceGetName && hip.DeviceGetName(out->name, sizeof out->name, device)) out->name[0] = 0;
  if (hip.MemGetInfo && !hip.MemGetInfo(&available, &total)) {
    out->free_bytes = (int64_t)available;
    out->total_bytes = (int64_t)total;
  }
  snprintf(out->driver, sizeof out->driver, "HIP %d.%d", version / 10000000, version / 100000 % 100);
  return 0;
}

static int rt_enter(int device, rt_saved_context *saved) {
  int error = last_error(), before = 0, mode = HIP_CAPTURE_RELAXED, code = hip.GetDevice(&before);
  if (!code && before != device) code = hip.SetDevice(device);
  /* else asking an event ends the captures of other threads */
  if (code || !hip.ExchangeCaptureMode || hip.ExchangeCaptureMode(&mode)) mode = AS_IT_WAS;
  *saved = (long)error << 16 | before << 2 | mode;
  if (code) restore_error(error);
  return code;
}
static void rt_leave(rt_saved_context *saved) {
  int now, before = *saved >> 2 & 0x3FFF, mode = *saved & 3;
  if (mode != AS_IT_WAS && hip.ExchangeCaptureMode(&mode)) { /* once more: the thread is the caller's */
    mode = *saved & 3;
    hip.ExchangeCaptureMode(&mode);
  }
  if ((hip.GetDevice(&now) || now != before) && hip.SetDevice(before)) hip.SetDevice(before);
  restore_error((int)(*saved >> 16));
}

static int rt_malloc(int kind, size_t n, void **out) {
  return kind == RT_PINNED ? hip.HostMalloc(out, n, 0) : hip.Malloc(out, n);
}
static int rt_mfree(int kind, void *p) { return kind == RT_PINNED ? hip.HostFree(p) : hip.Free(p); }

static int rt_memcpy(int kind, int direction, void *dst, const void *src, size_t n, void *stream) {
  int how = kind == RT_DEVICE && direction == CDEVICE_COPY_H2D   ? 1
            : kind == RT_DEVICE && direction == CDEVICE_COPY_D2H ? 2
                                                                 : HIP_MEMCPY_DEFAULT;
  return hip.MemcpyAsync(dst, src, n, how, stream);
}
static int rt_memset(void *p, int byte, size_t n, void *stream) { return hip.MemsetAsync(p, byte, n, stream); }

static int rt_event_new(void **out) { return hip.EventCreate(out, HIP_EVENT_DISABLE_TIMING); }
static int rt_event_new_timed(void **out) { return hip.EventCreate(out, 0); }
static int rt_event_elapsed(float *ms, void *from, void *to) {
  return hip.EventElapsed ? hip.EventElapsed(ms, from, to) : RT_NOT_SUPPORTED;
}
static int rt_event_del(void *event) { return hip.EventDestroy(event); }
static int rt_event_rec(void *event, void *stream) { return hip.EventRecord(event, stream); }
static int rt_can_record_context(void) { return 0; }
static int rt_event_rec_all(int device, void *event) {
  (void)device, (void)event;
  return RT_NOT_SUPPORTED;
}
static int rt_capture(void *stream, int *status) {
  return hip.StreamIsCapturing ? hip.StreamIsCapturing(stream, status) : RT_NOT_SUPPORTED;
}
static int rt_event_ask(void *event) { return hip.EventQuery(event); }
static int rt_event_sync(void *event) { return hip.EventSynchronize(event); }
static int rt_stream_wait(void *stream, void *event) { return hip.StreamWaitEvent(stream, event, 0); }
static int rt_stream_new(void **out) { return hip.StreamCreate(out, HIP_STREAM_NON_BLOCKING); }
static int rt_stream_del(void *stream) { return hip.StreamDestroy(stream); }
static int rt_stream_sync(void *stream) { return hip.StreamSynchronize(stream); }
static int rt_stream_ask(void *stream) { return hip.StreamQuery ? hip.StreamQuery(stream) : RT_NOT_SUPPORTED; }
static int rt_device_sync(void) { return hip.DeviceSynchronize(); }
static void rt_enable_peer(int device, int other) {
  int can = 0;
  if (!hip.DeviceCanAccessPeer || !hip.DeviceEnablePeerAccess || hip.DeviceCanAccessPeer(&can, device, other) || !can)
    return;
  hip.DeviceEnablePeerAccess(other, 0); /* an error: already enabled */
}
static int rt_can_call(void) { return hip.LaunchHostFunc != NULL; }
static int rt_launch_host_func(void *stream, void (*fn)(void *), void *arg) {
  return hip.LaunchHostFunc(stream, fn, arg);
}

static int rt_pointer_attributes(const void *p, int *kind, int *device, int64_t *behind) {
  hip_attributes a;
  if (!hip.PointerGetAttributes || version < 60000000) return RT_NOT_SUPPORTED;
  memset(&a, 0, sizeof a);
  int code = hip.PointerGetAttributes(&a, p);
  if (code) return code;
  if (!a.type) return RT_INVALID; /* memory the runtime does not know */
  *kind = a.type == 1 ? RT_PINNED : RT_DEVICE;
  *device = a.device;
  *behind = -1;
  return 0;
}

/* ---- other processes ---- */
static int rt_memory_range(const void *p, void **begin, size_t *size) {
  return hip.MemGetAddressRange ? hip.MemGetAddressRange(begin, size, (void *)(uintptr_t)p) : RT_NOT_SUPPORTED;
}
static int rt_memory_handle(void *begin, cdevice_ipc_handle *out) {
  return hip.IpcGetMemHandle ? hip.IpcGetMemHandle(out, begin) : RT_NOT_SUPPORTED;
}
static int rt_memory_open(const cdevice_ipc_handle *handle, void **out) {
  if (!hip.IpcOpenMemHandle) return RT_NOT_SUPPORTED;
  int code = hip.IpcOpenMemHandle(out, *handle, HIP_IPC_LAZY_PEER_ACCESS);
  /* HIP 5.2 has another number for the flag, and refuses every other one */
  return code == HIP_INVALID_VALUE ? hip.IpcOpenMemHandle(out, *handle, HIP_5_IPC_LAZY_PEER_ACCESS) : code;
}
static int rt_memory_close(void *p) { return hip.IpcCloseMemHandle ? hip.IpcCloseMemHandle(p) : RT_NOT_SUPPORTED; }
static int rt_event_new_shared(void **out) {
  return hip.EventCreate(out, HIP_EVENT_DISABLE_TIMING | HIP_EVENT_INTERPROCESS);
}
static int rt_event_handle(void *event, cdevice_ipc_handle *out) {
  return hip.IpcGetEventHandle ? hip.IpcGetEventHandle(out, event) : RT_NOT_SUPPORTED;
}
static int rt_event_open(const cdevice_ipc_handle *handle, void **out) {
  return hip.IpcOpenEventHandle ? hip.IpcOpenEventHandle(out, *handle) : RT_NOT_SUPPORTED;
}

/* ---- kernels ---- */

/* A copy that is in the process; the runtime itself, which has it up to HIP 6; the one beside the runtime; the
 * system's of the same version. */
static int rt_compiler_open(cdevice_dl *dl) {
  char beside[600], own[32];
  const char *slash = strrchr(rt_library, '/');
  int n = slash ? (int)(slash + 1 - rt_library) : 0;
  snprintf(own, sizeof own, "libhiprtc.so.%d", version / 10000000);
  snprintf(beside, sizeof beside, "%.*s%s", n, rt_library, own);
  const char *names[] = {rt_library, beside, own, "libhiprtc.so", "/opt/rocm/lib/libhiprtc.so", NULL};
  return cdevice_dl_open(dl, "libhiprtc", "CDEVICE_HIPRTC_LIBRARY", names, "hiprtcCreateProgram");
}

/* Its own version number is no help: HIP 5.2's is 9.0. */
static void rt_compiler_name(char *out, size_t size, int major, int minor) {
  snprintf(out, size, "HIPRTC %d.%d of HIP %d.%d.%d", major, minor, version / 10000000, version / 100000 % 100,
           version % 100000);
}

/* The name behind the device's own in the properties, whose struct has changed its shape: "gfx90a:sramecc+:xnack-". */
static const char *architecture(const char *properties, size_t n) {
  for (size_t i = 256; i + 4 < n; i++)
    if (!properties[i - 1] && !memcmp(properties + i, "gfx", 3) && properties[i + 3] >= '1' && properties[i + 3] <= '9')
      return properties + i;
  return NULL;
}

static int rt_target(int device, rt_target_info *out, cdevice_error *err) {
  char room[8192] = {0}; /* of HIP 7 it has 1472 bytes */
  int code = hip.GetProperties ? hip.GetProperties(room, device) : hip.GetOldProperties(room, device);
  if (code) return rt_fail(err, code, "querying the device's architecture");
  const char *found = architecture(room, sizeof room - sizeof out->name);
  if (!found)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "the device properties do not contain an architecture");
  snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, found);
  snprintf(out->option, sizeof out->option, "--offload-arch=%s", out->name);
  out->portable = 0;
  return 0;
}

static int rt_code(void *program, const rt_target_info *t, char *data, size_t *n) {
  (void)t;
  return data ? rtc.GetCode(program, data) : rtc.GetCodeSize(program, n);
}

static int rt_can_launch(void) {
  return hip.ModuleLoadData && hip.ModuleUnload && hip.ModuleGetFunction && hip.LaunchKernel &&
         (hip.GetProperties || hip.GetOldProperties);
}
static int rt_module_new(void **out, const void *image) { return hip.ModuleLoadData(out, image); }
static int rt_module_del(void *module) { return hip.ModuleUnload(module); }
static int rt_module_find(void **out, void *module, const char *name) {
  return hip.ModuleGetFunction(out, module, name);
}
static int rt_launch(void *function, unsigned blocks, unsigned lanes, void *stream, void **arguments) {
  return hip.LaunchKernel(function, blocks, 1, 1, lanes, 1, 1, 0, stream, arguments, NULL);
}

int cdevice_rocm_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err) {
  (void)core_abi, (void)err;
  return rt_table(index, out);
}
