/* internal.h - shared by the files of the OpenCL backend.  Names: cl_ and CL_ are the standard's, ocl_ are cdevice's,
 * opencl_ are the functions of the table. */
#ifndef CDEVICE_BACKENDS_OPENCL_PARTS_H
#define CDEVICE_BACKENDS_OPENCL_PARTS_H

#include "common/dl.h"
#include "common/host_pool.h"

#include "opencl/opencl.h"
#include "opencl/api.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* The runtime's functions; NULL: not there. */
extern struct ocl_calls {
  OPENCL_FUNCTIONS(CDEVICE_DL_MEMBER)
} ocl;

/* What was enumerated. */

/* Counters of a device's memory, alive while a buffer may still update them. */
typedef struct ocl_usage {
  atomic_int refs;
  host_pool_use bytes;
  atomic_llong pending; /* of the host's pool: given back, and the runtime is not done with it */
} ocl_usage;

static inline void ocl_use_drop(ocl_usage *use) {
  if (use && atomic_fetch_sub(&use->refs, 1) == 1) free(use);
}

typedef struct ocl_device {
  cl_device_id id;
  cl_platform_id platform;
  cl_context context;     /* default; of the whole platform where that can be made */
  cl_command_queue queue; /* default, in order; read without the lock */
  ocl_usage *use;
  int is_host;             /* a processor: its memory is the host's */
  int has_doubles, rounds; /* float64; divisions and roots of float32 that are rounded as IEEE 754 requires */
  int old;                 /* before OpenCL 1.2: listed, so that ids agree with other libraries, but of no use */
  uint32_t alignment;
  uint64_t svm;
  int64_t total_bytes;
  char name[128], driver[64], version[64];
  uint8_t uuid[16];
  atomic_int findings; /* OCL_...; -1: not tried yet */
  int attempts;
} ocl_device;

/* What trials have found; see trials.c. */
#define OCL_FREED_EARLY 1   /* the destructor callback comes while a command that uses the buffer is queued */
#define OCL_FREED_LATE 2    /* it does not come when the last one is over */
#define OCL_NO_CALLBACK 4   /* none for an event that is over */
#define OCL_LOSES_CONTEXT 8 /* a queue does not keep its context */
#define OCL_UNTRIED 16      /* something failed */
#define OCL_FINDINGS 31

extern struct ocl_state {
  pthread_mutex_t lock; /* guards start, stop and the making of defaults */
  int started;
  int64_t n;
  ocl_device *slots;
  /* Of any platform here; asked on the runtime's threads too. */
  atomic_int fragile; /* a failed event that was released may end the process */
  atomic_int deaf;    /* events are not notified by callback alone */
  const cdevice_host *host;
  cdevice_dl dl;
} ocl_state;

/* A stream, resolved. */
typedef struct ocl_queue_ref {
  cl_command_queue queue;
  cl_context context;
  int unordered;
} ocl_queue_ref;

/* Context and size of the last buffer looked at: batches mostly go to and from one. */
typedef struct ocl_seen {
  cl_mem mem;
  cl_context context;
  size_t size;
} ocl_seen;

/* ---- errors.c ---- */
const char *ocl_code_name(cl_int code);
int ocl_code_errno(cl_int code);
int ocl_fail_as(cdevice_error *err, int result, cl_int code, const char *what);
int ocl_fail(cdevice_error *err, cl_int code, const char *what);

/* ---- platforms.c ---- */
static inline int ocl_started(cdevice_error *err) {
  if (__atomic_load_n(&ocl_state.started, __ATOMIC_ACQUIRE)) return 1;
  cdevice_backend_fail(err, ENODEV, 0, NULL, "OpenCL has not been started");
  return 0;
}

int ocl_slot_of(int64_t device, ocl_device **out, cdevice_error *err);
int64_t ocl_index_of(cl_device_id id);
cl_int ocl_pick_device(cl_context context, int64_t wanted, cl_device_id *out, int64_t *index);
int opencl_start(void *self, const cdevice_host *host, cdevice_error *err);
void opencl_stop(void *self);
int opencl_device_count(void *self, int64_t *out, cdevice_error *err);
const void *opencl_devices(void);
int opencl_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err);

/* ---- icds.c ---- */
/* Notes in ocl_state.dl which installed runtimes cannot be loaded; how many. */
int ocl_note_broken(void);

/* ---- trials.c ---- */
/* Tries what the standard promises, the first time; may take as long as a small kernel takes to compile. */
int ocl_try(ocl_device *slot);
const void *opencl_notes(void);

/* ---- profile.c ---- */
const void *opencl_profile(void);

/* May a destructor callback be believed? */
static inline int ocl_tells_end(ocl_device *slot) {
  int found = atomic_load_explicit(&slot->findings, memory_order_relaxed);
  if (found < 0) found = ocl_try(slot);
  return !(found & (OCL_FREED_EARLY | OCL_FREED_LATE | OCL_UNTRIED));
}

/* ---- queues.c ---- */
cl_command_queue ocl_make_queue(cl_context context, cl_device_id device, cl_int *code);
int ocl_defaults(int64_t device, ocl_device **out, cdevice_error *err);
int ocl_lane_of(int64_t device, void *stream, ocl_queue_ref *out, cdevice_error *err);
cl_int ocl_put_barrier(cl_command_queue queue, cl_event event);
void ocl_drain(cl_command_queue queue);
int opencl_current_stream(void *self, int64_t device, void **out, cdevice_error *err);
int opencl_stream_create(void *self, int64_t device, void **out, cdevice_error *err);
void opencl_stream_destroy(void *self, int64_t device, void *stream);
int opencl_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err);

/* ---- events.c ---- */
/* ---- deferred_event_release.c: events that must not be released yet ---- */
/* Takes a reference over; any thread, does not wait. */
void ocl_defer_release(cl_event event);
/* After a wait much may be over. */
void ocl_release_completed(void);
/* Is a kernel that has not completed among the held events? */
int ocl_kernels_wait(void);

/* The last argument of an enqueueing call, then its release: ocl_defer_release(). */
static inline cl_event *ocl_held(cl_event *event) {
  *event = NULL;
  return ocl_state.fragile ? event : NULL;
}

static inline int ocl_event_of(void *sync_event, cl_event *out, cdevice_error *err) {
  if (!ocl_started(err)) return ENODEV;
  memcpy(out, sync_event, sizeof *out); /* a foreign producer's cl_event may lie anywhere */
  return *out ? 0 : ocl_fail(err, CL_INVALID_EVENT, "sync_event points to a NULL cl_event");
}

int ocl_wait_for(cl_command_queue queue, cl_context context, cl_event event, int foreign, cdevice_error *err);
int opencl_event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err);
int opencl_event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err);
int opencl_event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err);
int opencl_event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err);
void opencl_event_destroy(void *self, int64_t device, cdevice_event *event);
int opencl_event_notify(void *self, int64_t device, void *sync_event, void (*fn)(void *arg), void *arg,
                        cdevice_error *err);

/* ---- copies.c ---- */
int opencl_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err);
int opencl_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                cdevice_error *err);

/* ---- alloc.c ---- */
int opencl_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err);
void opencl_free(void *self, const cdevice_block *block);
const void *opencl_pool(void);
const void *opencl_memory(void);

/* ---- buffers.c ---- */
cl_int ocl_look(cl_mem mem, ocl_seen *seen);
int opencl_view(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                cdevice_error *err);
int opencl_locate(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                  cdevice_error *err);
int opencl_compatible(void *self, int64_t device, const void *data, void *sync_event, void *stream);

/* ---- compute.c ---- */
extern const cdevice_compute opencl_compute;
int ocl_has_programs(void);

/* ---- svm.c ---- */
const void *opencl_svm(void);

#endif
