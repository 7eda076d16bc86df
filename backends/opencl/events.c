/* events.c - events: asking, waiting, following across contexts; flushing for those who did not. */
#include "opencl/internal.h"

/* Calls fn(event, status, arg) once the event is over.  fn releases nothing of it. */
typedef struct ocl_watch {
  cl_event event;
  cl_event_callback fn;
  void *arg;
} ocl_watch;

static void *watch(void *arg) {
  ocl_watch job = *(ocl_watch *)arg;
  cl_int status = CL_COMPLETE, code;
  free(arg);
  code = ocl.WaitForEvents(1, &job.event);
  if (code &&
      (ocl.GetEventInfo(job.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) || status >= 0))
    status = code;
  job.fn(job.event, status, job.arg);
  ocl_defer_release(job.event);
  return NULL;
}

/* Are callbacks of events not to be relied on?  Nor before every device was tried. */
static int is_deaf(void) {
  /* first: a trial sets deaf, then its findings, so that who sees these sees that */
  for (int64_t i = 0; i < ocl_state.n; i++)
    if (atomic_load(&ocl_state.slots[i].findings) < 0) return 1;
  return ocl_state.deaf;
}

static cl_int when_over(cl_event event, cl_event_callback fn, void *arg) {
  ocl_watch *job;
  pthread_attr_t attributes;
  pthread_t thread;
  int failed;
  if (!is_deaf()) return ocl.SetEventCallback(event, CL_COMPLETE, fn, arg);
  job = malloc(sizeof *job);
  if (!job) return CL_OUT_OF_HOST_MEMORY;
  *job = (ocl_watch){event, fn, arg};
  ocl.RetainEvent(event);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  failed = pthread_create(&thread, &attributes, watch, job);
  pthread_attr_destroy(&attributes);
  if (failed) {
    ocl.ReleaseEvent(event);
    free(job);
  }
  return failed ? CL_OUT_OF_HOST_MEMORY : 0;
}

/* What an event came to: 0 and *done, or EIO.  Status -1 is what runtimes give to a command when one before it has
 * failed; as a code it would read "device not found", so it is reported as -14. */
static int event_failed(cdevice_error *err, cl_int status) {
  if (status == -1 || status >= 0) {
    cl_int code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return cdevice_backend_fail(err, EIO, code, ocl_code_name(code),
                                "OpenCL: the event failed because of a command before it (status %d)", status);
  }
  return cdevice_backend_fail(err, EIO, status, ocl_code_name(status), "OpenCL: the event failed: %s (%d)",
                              ocl_code_name(status), status);
}

static int status_of(cl_event event, cl_int *status, cdevice_error *err) {
  cl_int code = ocl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
  return code ? ocl_fail(err, code, "clGetEventInfo") : 0;
}

/* A producer should have flushed: no other wait is required to, and without it the command may stay queued forever.
 * While a command is only queued, its queue lives, and we can. */
static void push_queue(cl_event event) {
  cl_command_queue queue = NULL;
  if (!ocl.GetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) && queue) ocl.Flush(queue);
}

static void push_event(cl_event event) {
  cl_int status = 0;
  if (!ocl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) && status == CL_QUEUED)
    push_queue(event);
}

static int wait_event(cl_event event, cdevice_error *err) {
  cl_int status = 0, code;
  push_event(event);
  code = ocl.WaitForEvents(1, &event);
  ocl_release_completed();
  if (!code) return 0;
  if (ocl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL)) status = 0;
  if (status < 0 || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return event_failed(err, status);
  return ocl_fail(err, code, "clWaitForEvents");
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
  ocl.SetUserEventStatus(arg, status < 0 ? status : CL_COMPLETE);
  ocl_defer_release(arg);
}

/* Makes later work of `queue`, of `context`, come after `event`, which `foreign` marks as of another context.
 * An event that is over is looked at and not enqueued: that is cheaper, and behind one that has
 * failed already some runtimes wait forever. */
int ocl_wait_for(cl_command_queue queue, cl_context context, cl_event event, int foreign, cdevice_error *err) {
  cl_event twin;
  cl_int code;
  int done = 0, result = ask_event(event, &done, err);
  if (result || done) return result; /* asking has flushed its queue */
  if (ocl_state.fragile && !ocl.RetainEvent(event))
    ocl_defer_release(event); /* its owner may let it go while we are behind it */
  if (!foreign) {
    code = ocl_put_barrier(queue, event);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return event_failed(err, 0);
    return code ? ocl_fail(err, code, "clEnqueueBarrierWithWaitList") : 0;
  }
  /* A twin of the event in this context.  The barrier is there before the twin can end. */
  twin = ocl.CreateUserEvent(context, &code);
  if (!twin) return wait_event(event, err);
  code = ocl_put_barrier(queue, twin);
  if (code) {
    ocl.SetUserEventStatus(twin, CL_COMPLETE);
    ocl_defer_release(twin);
    return ocl_fail(err, code, "clEnqueueBarrierWithWaitList");
  }
  if (!when_over(event, on_bridge, twin)) return 0; /* the twin is now on_bridge's */
  result = wait_event(event, err);
  on_bridge(event, result ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE, twin);
  return result;
}

int opencl_event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_event event = NULL;
  cl_int code;
  int result = ocl_lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  code = ocl.EnqueueMarkerWithWaitList(lane.queue, 0, NULL, &event);
  if (code) return ocl_fail(err, code, "clEnqueueMarkerWithWaitList");
  code = ocl.Flush(lane.queue); /* another queue may only wait for what was flushed */
  if (code) {
    ocl_defer_release(event);
    return ocl_fail(err, code, "clFlush");
  }
  out->slot = event;
  out->opaque = NULL;
  out->sync_event = &out->slot;
  return 0;
}

int opencl_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  cl_event event;
  int result;
  (void)self, (void)device;
  if (!sync_event) {
    *done = 1;
    return 0;
  }
  result = ocl_event_of(sync_event, &event, err);
  return result ? result : ask_event(event, done, err);
}

int opencl_event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err) {
  cl_event event;
  int result;
  (void)self, (void)device;
  if (!sync_event) return 0;
  result = ocl_event_of(sync_event, &event, err);
  return result ? result : wait_event(event, err);
}

int opencl_event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err) {
  ocl_queue_ref lane;
  cl_event event;
  cl_context context = NULL;
  cl_int code;
  int result;
  (void)self;
  if (!sync_event) return 0;
  result = ocl_event_of(sync_event, &event, err);
  if (!result) result = ocl_lane_of(device, stream, &lane, err);
  if (result) return result;
  code = ocl.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
  if (code) return ocl_fail(err, code, "sync_event does not point to a cl_event");
  return ocl_wait_for(lane.queue, lane.context, event, context != lane.context, err);
}

void opencl_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device;
  if (!event || !event->slot) return;
  if (ocl.ReleaseEvent) ocl_defer_release(event->slot);
  event->slot = NULL;
  event->sync_event = NULL;
}

typedef struct ocl_notice {
  void (*fn)(void *arg);
  void *arg;
} ocl_notice;

static void CL_CALL on_notice(cl_event event, cl_int status, void *arg) {
  ocl_notice notice = *(ocl_notice *)arg;
  (void)event, (void)status;
  free(arg);
  notice.fn(notice.arg);
}

/* An event that is over already may be notified on the calling thread, before this returns. */
int opencl_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *arg), void *arg,
                        cdevice_error *err) {
  ocl_notice *notice;
  cl_event event;
  cl_int code;
  int result;
  (void)self, (void)device;
  if (!sync_event) {
    fn(arg);
    return 0;
  }
  result = ocl_event_of(sync_event, &event, err);
  if (result) return result;
  if (is_deaf()) /* a thread for each event would be the only way, and the core can ask for many at once */
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime does not call back for every event");
  notice = malloc(sizeof *notice);
  if (!notice) return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "notification");
  notice->fn = fn;
  notice->arg = arg;
  code = when_over(event, on_notice, notice);
  if (code) {
    free(notice);
    return ocl_fail(err, code, "clSetEventCallback");
  }
  push_event(event);
  return 0;
}
