/* profile.h - records when a device began and ended each kernel and copy. */
#ifndef CDEVICE_CORE_BACKEND_PROFILE_H
#define CDEVICE_CORE_BACKEND_PROFILE_H

#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_backend;

/* cffi: begin */
struct cdv_profile;
struct cdv_profile_event {
  int64_t begin, end; /* nanoseconds since the profile began, on the device; end -1: its stream has no times */
  int64_t rows, nbytes;
  uintptr_t stream; /* the handle it was given to; 0: the default one */
  char kind; /* 'k': a kernel; copies: 'h' to the device, 'd' to the host, 'c' on the device */
  char name[63];
};
/* Records the work of a device from now on. `stream`: where the time begins, NULL: the default one. ENOTSUP without
 * cdevice.profile/1. Does not wait. Any thread. owns: *out until cdv_profile_free. */
int cdv_profile_begin(int32_t device_type, int64_t device, void *stream, struct cdv_profile **out);
/* No more is recorded; waits for the device, and reads the times. *n: how many events there are, also where some were
 * lost for want of memory, or beyond a million (ENOMEM). Once. */
int cdv_profile_end(struct cdv_profile *profile, int64_t *n);
void cdv_profile_get(const struct cdv_profile *profile, int64_t i, struct cdv_profile_event *out);
void cdv_profile_free(struct cdv_profile *profile);
/* A stream that has times; NULL: every stream of the device has. owns: the caller, until cdv_profile_stream_free. */
int cdv_profile_stream(int32_t device_type, int64_t device, void **out);
void cdv_profile_stream_free(int32_t device_type, int64_t device, void *stream);
/* cffi: end */

/* Around a call of the backend that enqueues work. `span` lives on the caller's stack; without a profile of the device
 * both return at once. */
struct cdv_profile_span {
  struct cdv_profile *profile; /* NULL: nothing is recorded */
  void *begin;
};
extern int cdv_profiles; /* how many there are; atomic */
void cdv_profile_enter_slowly(struct cdv_profile_span *span, struct cdv_backend *backend, int64_t device, void *stream);
void cdv_profile_leave_slowly(struct cdv_profile_span *span, void *stream, const struct cdv_profile_event *what);

static inline void cdv_profile_enter(struct cdv_profile_span *span, struct cdv_backend *backend, int64_t device,
                                     void *stream) {
  span->profile = 0;
  if (__builtin_expect(__atomic_load_n(&cdv_profiles, __ATOMIC_RELAXED) != 0, 0))
    cdv_profile_enter_slowly(span, backend, device, stream);
}
static inline void cdv_profile_leave(struct cdv_profile_span *span, void *stream,
                                     const struct cdv_profile_event *what) {
  if (__builtin_expect(span->profile != 0, 0)) cdv_profile_leave_slowly(span, stream, what);
}
/* The backend's copy, recorded. */
int cdv_profiled_copy(struct cdv_backend *backend, int64_t device, int kind, const cdevice_copy *copies, int64_t n,
                      void *stream, cdevice_error *err);

#endif
