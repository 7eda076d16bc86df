/* deferred_event_release.c - events that must not be released yet; used when ocl_state.fragile only.  The commands
 * that are not over are among them, so they tell as well whether kernels still wait. */
#include "opencl/internal.h"

#define LIMBO_FAILED 4096 /* more commands than that are hardly queued behind one event */

static struct {
  pthread_mutex_t lock;
  cl_event *pending; /* a ring in use from `at`, `n` long */
  size_t at, n, capacity;
  cl_event failed[LIMBO_FAILED]; /* the last ones: the thread that fails them may still read them */
  size_t n_failed;
} limbo = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One question may fail alone. */
static cl_int status_of(cl_event event) {
  cl_int status = 0;
  for (int i = 0; i < 2; i++)
    if (!ocl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL)) return status;
  return -1;
}

/* Looks at `most` events, oldest first; a completed one is released, another goes to the back, and `patience` of
 * those end it: behind a closed gate there may be very many. */
static void limbo_look(size_t most, int patience) {
  if (most > limbo.n) most = limbo.n;
  while (most-- && patience) {
    cl_event event = limbo.pending[limbo.at];
    cl_int status = status_of(event);
    limbo.at = (limbo.at + 1) % limbo.capacity;
    limbo.n--;
    if (status > 0) {
      patience--;
      limbo.pending[(limbo.at + limbo.n++) % limbo.capacity] = event;
    } else if (!status) {
      ocl.ReleaseEvent(event);
    } else {
      cl_event *place = &limbo.failed[limbo.n_failed++ % LIMBO_FAILED];
      if (*place) ocl.ReleaseEvent(*place);
      *place = event;
    }
  }
}

/* Takes a reference over.  Each newcomer pays for four looks, so the ring is not longer than the pending events. */
void ocl_defer_release(cl_event event) {
  if (!event) return;
  if (!ocl_state.fragile) {
    ocl.ReleaseEvent(event);
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
  /* Out of memory: a leak is better than a use after free. */
  if (limbo.n < limbo.capacity) limbo.pending[(limbo.at + limbo.n++) % limbo.capacity] = event;
  pthread_mutex_unlock(&limbo.lock);
}

/* After a wait much may be over. */
void ocl_release_completed(void) {
  if (!ocl_state.fragile) return;
  pthread_mutex_lock(&limbo.lock);
  limbo_look(limbo.n, 32);
  pthread_mutex_unlock(&limbo.lock);
}

int ocl_kernels_wait(void) {
  int found = 0;
  pthread_mutex_lock(&limbo.lock);
  for (size_t i = 0; i < limbo.n && !found; i++) {
    cl_event event = limbo.pending[(limbo.at + i) % limbo.capacity];
    cl_uint type = 0;
    found = status_of(event) > 0 && !ocl.GetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL) &&
            type == CL_COMMAND_NDRANGE_KERNEL;
  }
  pthread_mutex_unlock(&limbo.lock);
  return found;
}
