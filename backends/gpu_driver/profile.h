/* profile.h - when the device passed points of a stream's work: events with times.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_PROFILE_H
#define CDEVICE_RUNTIME_PROFILE_H

#include "gpu_driver/call.h"

static int rt_mark(void *self, int64_t device, void *stream, void **out, cdevice_error *err) {
  rt_saved_context saved;
  void *event = NULL;
  (void)self;
  if (device < 0 || device >= rt_devices) return rt_bad_device(err, device);
  int code = rt_enter((int)device, &saved);
  if (code) return rt_not_entered(err, code);
  code = rt_event_new_timed(&event);
  if (!code) code = rt_event_rec(event, stream);
  if (code && event) rt_event_del(event);
  rt_leave(&saved);
  if (code) return rt_fail(err, code, "recording an event with a time");
  *out = event;
  return 0;
}

static int rt_mark_elapsed(void *self, int64_t device, void *from, void *to, int64_t *nanoseconds, cdevice_error *err) {
  rt_saved_context saved;
  float ms = 0;
  (void)self;
  int code = rt_enter((int)device, &saved);
  if (code) return rt_not_entered(err, code);
  code = rt_event_sync(from);
  if (!code) code = rt_event_sync(to);
  if (!code) code = rt_event_elapsed(&ms, from, to);
  rt_leave(&saved);
  if (code) return rt_fail(err, code, "reading the time between two events");
  *nanoseconds = (int64_t)((double)ms * 1e6);
  return 0;
}

static void rt_mark_drop(void *self, int64_t device, void *event) {
  rt_saved_context saved;
  (void)self;
  if (rt_enter((int)device, &saved)) return;
  rt_event_del(event);
  rt_leave(&saved);
}

static const cdevice_profile rt_profile = {
    .struct_size = sizeof rt_profile, .mark = rt_mark, .elapsed = rt_mark_elapsed, .drop = rt_mark_drop};

#endif
