/* opencl_liar.c - an OpenCL loader that does not keep one of the standard's promises, the one that OPENCL_LIAR names.
 *
 * What it does not have itself is the real loader's, which it is linked with. */
#define _GNU_SOURCE
#include "opencl/api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REAL(name, result, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define PLACES 100000

static struct {
  cl_mem mem;
  cl_mem_callback fn;
  void *arg;
  int count;
} places[PLACES];
static int n_places;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int lies(const char *how) {
  const char *chosen = getenv("OPENCL_LIAR");
  return chosen && !strcmp(chosen, how);
}

static int place_of(cl_mem mem) {
  for (int i = 0; i < n_places; i++)
    if (places[i].mem == mem) return i;
  return -1;
}

/* early: the last release of a buffer calls back at once, whatever is queued; never: no callback. */
cl_int clSetMemObjectDestructorCallback(cl_mem mem, cl_mem_callback fn, void *arg) {
  if (lies("never")) return 0;
  if (!lies("early"))
    return REAL(clSetMemObjectDestructorCallback, cl_int, cl_mem, cl_mem_callback, void *)(mem, fn, arg);
  pthread_mutex_lock(&lock);
  int at = place_of(NULL);
  if (at < 0 && n_places < PLACES) at = n_places++;
  if (at >= 0) {
    places[at].mem = mem;
    places[at].fn = fn;
    places[at].arg = arg;
    places[at].count = 1;
  }
  pthread_mutex_unlock(&lock);
  return at < 0 ? CL_OUT_OF_HOST_MEMORY : 0;
}

cl_int clRetainMemObject(cl_mem mem) {
  pthread_mutex_lock(&lock);
  int at = place_of(mem);
  if (at >= 0) places[at].count++;
  pthread_mutex_unlock(&lock);
  return REAL(clRetainMemObject, cl_int, cl_mem)(mem);
}

cl_int clReleaseMemObject(cl_mem mem) {
  cl_mem_callback fn = NULL;
  void *arg = NULL;
  pthread_mutex_lock(&lock);
  int at = place_of(mem);
  if (at >= 0 && !--places[at].count) {
    fn = places[at].fn;
    arg = places[at].arg;
    places[at].mem = NULL;
  }
  pthread_mutex_unlock(&lock);
  if (fn) fn(mem, arg);
  return REAL(clReleaseMemObject, cl_int, cl_mem)(mem);
}

/* deaf: no callback for an event that is over already, by a runtime whose name is trusted. */
cl_int clGetPlatformInfo(cl_platform_id platform, cl_uint what, size_t size, void *out, size_t *needed) {
  cl_int code = REAL(clGetPlatformInfo, cl_int, cl_platform_id, cl_uint, size_t, void *, size_t *)(platform, what, size,
                                                                                                   out, needed);
  if (!code && out && what == CL_PLATFORM_NAME && lies("deaf")) strncpy(out, "Intel(R) OpenCL", size);
  return code;
}

cl_int clSetEventCallback(cl_event event, cl_int status, cl_event_callback fn, void *arg) {
  cl_int now = 1;
  REAL(clGetEventInfo, cl_int, cl_event, cl_uint, size_t, void *, size_t *)
  (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, NULL);
  if (lies("deaf") && now <= 0) return 0;
  return REAL(clSetEventCallback, cl_int, cl_event, cl_int, cl_event_callback, void *)(event, status, fn, arg);
}

/* context: queues do not count in their context. */
cl_int clGetContextInfo(cl_context context, cl_uint what, size_t size, void *out, size_t *needed) {
  cl_int code =
      REAL(clGetContextInfo, cl_int, cl_context, cl_uint, size_t, void *, size_t *)(context, what, size, out, needed);
  if (!code && what == CL_CONTEXT_REFERENCE_COUNT && out && lies("context")) *(cl_uint *)out = 1;
  return code;
}

/* compiler: nothing can be built, so not everything can be tried. */
cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids, const char *options, void *fn,
                      void *arg) {
  if (lies("compiler")) return CL_COMPILER_NOT_AVAILABLE;
  return REAL(clBuildProgram, cl_int, cl_program, cl_uint, const cl_device_id *, const char *, void *,
              void *)(program, n, ids, options, fn, arg);
}

/* small: there is no float64 and no shared virtual memory. */
cl_int clGetDeviceInfo(cl_device_id id, cl_uint what, size_t size, void *out, size_t *needed) {
  cl_int code =
      REAL(clGetDeviceInfo, cl_int, cl_device_id, cl_uint, size_t, void *, size_t *)(id, what, size, out, needed);
  if (!code && out && lies("small") && (what == CL_DEVICE_DOUBLE_FP_CONFIG || what == CL_DEVICE_SVM_CAPABILITIES))
    memset(out, 0, size < 8 ? size : 8);
  return code;
}

/* reversed: devices are listed from the last to the first, as another loader may list platforms. */
cl_int clGetDeviceIDs(cl_platform_id platform, cl_bits type, cl_uint n, cl_device_id *out, cl_uint *found) {
  cl_uint there = 0;
  cl_int code = REAL(clGetDeviceIDs, cl_int, cl_platform_id, cl_bits, cl_uint, cl_device_id *,
                     cl_uint *)(platform, type, n, out, &there);
  if (found) *found = there;
  if (there > n) there = n;
  for (cl_uint i = 0; !code && out && lies("reversed") && i < there / 2; i++) {
    cl_device_id id = out[i];
    out[i] = out[there - 1 - i];
    out[there - 1 - i] = id;
  }
  return code;
}

/* gone: the context of every queue is.  lazy: a buffer of any size is made, as NVIDIA's does. */
cl_mem clCreateBuffer(cl_context context, cl_bits flags, size_t size, void *host, cl_int *code) {
  if (lies("lazy") && size >> 40) size = 64;
  if (!lies("gone"))
    return REAL(clCreateBuffer, cl_mem, cl_context, cl_bits, size_t, void *, cl_int *)(context, flags, size, host,
                                                                                       code);
  if (code) *code = CL_INVALID_CONTEXT;
  return NULL;
}
