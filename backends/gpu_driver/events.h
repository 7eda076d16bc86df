/* events.h - events and streams.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_EVENTS_H
#define CDEVICE_RUNTIME_EVENTS_H

#include "gpu_driver/call.h"

static int rt_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self;
  memset(out, 0, sizeof *out);
  rt_saved_context saved;
  int r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  int code = rt_event_get((int)device, &out->slot);
  if (!code) {
    code = rt_event_rec_kept((int)device, out->slot, stream);
    if (code) {
      rt_event_put((int)device, out->slot);
      out->slot = NULL;
    }
  }
  if (!code) out->sync_event = &out->slot;
  return rt_end(device, &saved, code, "recording an event", err);
}

static void rt_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self;
  rt_saved_context saved;
  if (!event->slot || device < 0 || device >= rt_devices) return;
  if (!rt_event_keep((int)device, event->slot) && !rt_enter((int)device, &saved)) {
    rt_event_del(event->slot);
    rt_leave(&saved);
  }
  event->slot = NULL;
}

static int rt_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_event_over(*(void **)sync_event);
  *done = code == RT_OK;
  if (code == RT_NOT_READY) code = 0;
  return rt_end(device, &saved, code, "querying an event", err);
}

static int rt_event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_event_sync(*(void **)sync_event);
  return rt_end(device, &saved, code, "waiting for an event", err);
}

static int rt_event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code,
      captured = rt_captured(stream); /* asked once: the capture may end meanwhile, and then no wait would happen */
  if (!captured) {
    code = rt_stream_wait(stream, *(void **)sync_event);
  } else { /* a graph cannot wait for an event outside of it, and need not for a passed one */
    code = rt_event_ask(*(void **)sync_event);
    if (code == RT_NOT_READY) {
      rt_leave(&saved);
      return rt_fail(err, captured, RT_DURING_CAPTURE);
    }
  }
  return rt_end(device, &saved, code, "making a stream wait for an event", err);
}

/* A vendor's thread: takes no lock of cdevice, calls no vendor function. */
static void rt_passed(void *arg) {
  rt_watch *w = arg;
  int armed = RT_ARMED;
  if (!atomic_compare_exchange_strong(&w->state, &armed, RT_TAKEN)) return; /* called already */
  void (*fn)(void *) = w->fn;
  void *x = w->arg;
  atomic_store(&w->state, RT_IDLE);
  fn(x);
}

static rt_watch *rt_idle_watch(int device) {
  for (int i = 0; i < RT_WATCHES; i++) {
    int idle = RT_IDLE;
    rt_watch *w = &rt_state[device].watches[i];
    if (atomic_compare_exchange_strong(&w->state, &idle, RT_TAKEN)) return w;
  }
  return NULL;
}

static int rt_watch_event(int64_t device, void *sync_event, void (*fn)(void *), void *arg, cdevice_error *err) {
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  rt_watch *w = rt_idle_watch((int)device);
  if (!w) {
    rt_leave(&saved);
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "all streams that could watch an event are busy");
  }
  int code = w->stream ? 0 : rt_stream_new(&w->stream);
  if (!code) code = rt_stream_wait(w->stream, *(void **)sync_event);
  if (code) {
    atomic_store(&w->state, RT_IDLE);
  } else {
    w->fn = fn;
    w->arg = arg;
    atomic_store(&w->state, RT_ARMED);
    code = rt_launch_host_func(w->stream, rt_passed, w);
    int armed = RT_ARMED;
    if (code && !atomic_compare_exchange_strong(&w->state, &armed, RT_IDLE))
      code = 0; /* another thread saw the device fail and called */
  }
  return rt_end(device, &saved, code, "watching an event", err);
}

static int rt_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *), void *arg,
                           cdevice_error *err) {
  (void)self;
  if (!rt_can_call()) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this runtime has no event callbacks");
  if (!rt_query_begin())
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "not available while a graph may be captured");
  int r = rt_watch_event(device, sync_event, fn, arg, err);
  rt_query_end();
  return r;
}

static int rt_stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin(device, &saved, err);
  if (r) return r;
  int code = rt_stream_new(out);
  return rt_end(device, &saved, code, "creating a stream", err);
}

static void rt_stream_destroy(void *self, int64_t device, void *stream) {
  (void)self;
  rt_saved_context saved;
  if (device < 0 || device >= rt_devices || rt_enter((int)device, &saved)) return;
  rt_stream_del(stream);
  rt_leave(&saved);
}

static int rt_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  (void)self;
  rt_saved_context saved;
  int r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  int code = rt_stream_sync(stream);
  return rt_end(device, &saved, code, "waiting for a stream", err);
}

#endif
