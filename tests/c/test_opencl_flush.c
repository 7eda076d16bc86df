/* test_opencl_flush.c - an event on an unflushed queue is flushed by a wait or a query.
 *
 * The runtime's own calls are put behind the test's, which report one event as only queued until its queue is flushed:
 * PoCL flushes by itself and would not show it.  Exit code 77: no OpenCL platform here. */
#include "opencl/internal.h"

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: failed: %s: %s\n", __FILE__, __LINE__, #condition, err.message); \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

static cdevice_error err = {.struct_size = sizeof err};
static cl_event lazy; /* it is not sent before its queue is flushed */
static cl_command_queue its;
static int flushed, waited;

static cl_int (*real_flush)(cl_command_queue);
static cl_int (*real_wait)(cl_uint, const cl_event *);
static cl_int (*real_info)(cl_event, cl_uint, size_t, void *, size_t *);

static cl_int flush(cl_command_queue queue) {
  flushed |= queue == its;
  return real_flush(queue);
}
static cl_int wait_for(cl_uint n, const cl_event *events) {
  for (cl_uint i = 0; i < n; i++)
    if (events[i] == lazy && !flushed) return CL_INVALID_OPERATION; /* it would be forever */
  waited = 1;
  return real_wait(n, events);
}
static cl_int info(cl_event event, cl_uint what, size_t size, void *value, size_t *needed) {
  if (event == lazy && what == CL_EVENT_COMMAND_EXECUTION_STATUS && !flushed) {
    *(cl_int *)value = CL_QUEUED;
    return 0;
  }
  return real_info(event, what, size, value, needed);
}

int main(void) {
  const cdevice_backend *be = NULL;
  void *other = NULL;
  int done = 0;
  CHECK(cdevice_opencl_init(CDEVICE_BACKEND_ABI, 0, &be, &err) == 0);
  if (be->start(be->self, NULL, &err) == ENODEV) {
    puts(err.message);
    return 77;
  }
  real_flush = ocl.Flush, real_wait = ocl.WaitForEvents, real_info = ocl.GetEventInfo;
  ocl.Flush = flush, ocl.WaitForEvents = wait_for, ocl.GetEventInfo = info;
  CHECK(be->stream_create(be->self, 0, (void **)&its, &err) == 0 && be->stream_create(be->self, 0, &other, &err) == 0);
  for (int way = 0; way < 3; way++) {
    CHECK(ocl.EnqueueMarkerWithWaitList(its, 0, NULL, &lazy) == 0);
    flushed = waited = 0;
    if (way == 0) CHECK(be->event_done(be->self, 0, &lazy, &done, &err) == 0);
    if (way == 1) CHECK(be->event_wait_host(be->self, 0, &lazy, &err) == 0 && waited);
    if (way == 2) CHECK(be->event_wait_stream(be->self, 0, &lazy, other, &err) == 0);
    CHECK(flushed);
    CHECK(be->stream_wait_host(be->self, 0, its, &err) == 0 && be->stream_wait_host(be->self, 0, other, &err) == 0);
    ocl_defer_release(lazy);
    lazy = NULL;
  }
  be->stream_destroy(be->self, 0, its);
  be->stream_destroy(be->self, 0, other);
  puts("flush: passed");
  return 0;
}
