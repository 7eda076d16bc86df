/* The plug-in table of version 1.0, as it was published: a plug-in that was built against it must go on working.  Never
 * edited; a later version gets a file of its own beside it. */
/* backend.h - how a device type enters cdevice: one table of functions.
 *
 * A hardware vendor reads this header and nothing else.  One cdevice_backend serves one ArrowDeviceType.  The
 * built-in devices come in by exactly this door.
 *
 * Conventions of every function in the table
 *   thread: any thread, several at once, never with Python's GIL held on cdevice's account.
 *   device: each call names its device; the thread's current device is left as it was found.
 *   errors: 0 or an errno-compatible code; `err` may be NULL and is filled by cdevice_backend_fail().  On any
 *           error nothing was allocated, enqueued or recorded, and `out` is not read.
 *   stream: the vendor's handle (CUstream, hipStream_t, cl_command_queue ...); NULL is the device's default.
 *   blocks: only functions whose comment says so may wait for the device.
 */
#ifndef CDEVICE_BACKEND_1_0_H
#define CDEVICE_BACKEND_1_0_H

#include "cdevice/arrow_abi.h"

/* cffi: skip */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* cffi: end */

#ifdef __cplusplus
extern "C" {
#endif

/* Major (high 16 bits): a member moved or changed its meaning.  Minor: members were appended. */
#define CDEVICE_BACKEND_ABI 0x00010000

/* Filled in by a failing call; memory of the caller, so nobody frees anybody's strings. */
typedef struct cdevice_error {
  uint32_t struct_size;
  int32_t vendor_code;  /* CUresult, hipError_t, cl_int; 0: none */
  char vendor_name[64]; /* "CUDA_ERROR_OUT_OF_MEMORY" */
  char message[952];    /* UTF-8, one sentence */
} cdevice_error;

/* One allocation. */
typedef struct cdevice_block {
  void *data; /* goes into ArrowArray.buffers: an address, or a handle such as cl_mem */
  int64_t nbytes;
  int64_t device_id;
  void *opaque[2]; /* the backend's own */
} cdevice_block;

/* A recorded event.  It lives in memory that the array's release frees; its address is stable until
 * event_destroy, so a vendor whose sync_event is "pointer to the handle" stores the handle in `slot` and sets
 * sync_event = &slot. */
typedef struct cdevice_event {
  void *sync_event; /* goes into ArrowDeviceArray.sync_event; NULL: the data is safe already */
  void *slot;
  void *opaque;
} cdevice_event;

/* A buffer and an offset on both sides: a handle is no address, so nothing can be added to it. */
typedef struct cdevice_copy {
  void *dst;
  int64_t dst_offset, dst_device;
  const void *src;
  int64_t src_offset, src_device;
  int64_t nbytes;
} cdevice_copy;

#define CDEVICE_COPY_H2D 1  /* src is host memory */
#define CDEVICE_COPY_D2H 2  /* dst is host memory */
#define CDEVICE_COPY_D2D 3  /* one device */
#define CDEVICE_COPY_PEER 4 /* two devices of one family */

/* Capabilities.  Unknown bits are ignored. */
#define CDEVICE_CAP_HOST_ACCESSIBLE 0x1 /* the CPU may read the memory once the event is done */
#define CDEVICE_CAP_ADDRESS 0x2         /* data + offset is an address */
#define CDEVICE_CAP_EVENTS 0x4
#define CDEVICE_CAP_STREAMS 0x8
#define CDEVICE_CAP_ASYNC_FREE 0x10   /* free is ordered after work that uses the block */
#define CDEVICE_CAP_BLOCKING_FREE 0x20  /* free may wait for the device: only the reclaimer calls it */
#define CDEVICE_CAP_PEER 0x40         /* copy takes CDEVICE_COPY_PEER */
#define CDEVICE_CAP_NEEDS_PYTHON 0x80 /* set by the Python bridge; frees go through the deferred list */
#define CDEVICE_CAP_FORK_SAFE 0x100   /* usable in a forked child */

typedef struct cdevice_device_info {
  uint32_t struct_size;
  uint32_t alignment;              /* bytes; of allocations and of views into them; a power of two */
  int64_t total_bytes, free_bytes; /* -1: unknown */
  char name[128], driver[64];
  uint8_t uuid[16];
} cdevice_device_info;

/* What the core offers to a backend; valid for the life of the process. */
typedef struct cdevice_host {
  uint32_t abi_version, struct_size;
  void (*log)(int level, const char *text); /* any thread; level as in Python's logging: 10, 20, 30, 40 */
} cdevice_host;

typedef struct cdevice_backend {
  /* head: never changes */
  uint32_t abi_version, struct_size;
  int32_t device_type;
  uint32_t flags; /* 0 */
  uint64_t capabilities;
  const char *name;    /* "acme": [a-z][a-z0-9_]*, the word before ":" in device strings */
  const char *version; /* free text, or NULL */
  const char *family;  /* tables with one family copy among themselves, share streams and events; NULL: name */
  void *self;          /* first argument of every function below */

  /* required */

  /* On first use, until it succeeds once.  ENODEV: nothing here to serve (err->message says what is missing and was tried); any
   * other code is a fault.  May block. */
  int (*start)(void *self, const cdevice_host *host, cdevice_error *err);
  int (*device_count)(void *self, int64_t *out, cdevice_error *err);
  /* owns: on success the caller owns *out until free.  nbytes > 0.  ENOMEM: out of memory.  May wait for the device
   * when memory is short. */
  int (*alloc)(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err);
  /* Never fails; after the vendor's runtime is gone it does nothing.  Blocks only with CAP_FREE_BLOCKS. */
  void (*free)(void *self, const cdevice_block *block);
  /* Enqueues n copies, all of one kind.  Host memory stays valid until the stream has passed them; without CAP_EVENTS
   * the copies are complete on return.  NULL: the default stream of the copies' device, for PEER of the target's.
   * ENOTSUP for D2D or PEER: the core goes through the host.  A failing call may wait for what it has sent. */
  int (*copy)(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err);

  /* required with CAP_EVENTS */

  /* Creates an event, records it after all work enqueued on stream, and flushes the stream. */
  int (*event_record)(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err);
  /* *done = 1 when the device has passed it.  A failed event is an error (EIO). */
  int (*event_done)(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err);
  /* Blocks until the device has passed it. */
  int (*event_wait_host)(void *self, int64_t device, void *sync_event, cdevice_error *err);
  /* Makes later work on a stream of `device` wait; the host does not.  The event may be of another device of the
   * family. */
  int (*event_wait_stream)(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err);
  /* Legal while pending; never blocks. */
  void (*event_destroy)(void *self, int64_t device, cdevice_event *event);

  /* optional: NULL where the device has none */

  int (*device_info)(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err);
  /* required without CAP_ADDRESS: a block that is nbytes of `whole` from offset (a multiple of the alignment).
   * The view keeps `whole` alive by the vendor's own count; it is freed with free().  Where whole->opaque is all NULL,
   * the memory is another allocator's and data alone tells; ENOTSUP: this device cannot cut such memory. */
  int (*view)(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
              cdevice_error *err);
  /* The stream work goes to when the caller names none: the vendor library's current stream. */
  int (*current_stream)(void *self, int64_t device, void **out, cdevice_error *err);
  int (*stream_create)(void *self, int64_t device, void **out, cdevice_error *err);
  void (*stream_destroy)(void *self, int64_t device, void *stream);
  /* Blocks until the stream is empty.  Required with CAP_STREAMS. */
  int (*stream_wait_host)(void *self, int64_t device, void *stream, cdevice_error *err);
  /* Calls fn(arg) once the device has passed the event or it has failed, on a foreign thread, or on this one before
   * returning; fn must not call the vendor's API. */
  int (*event_notify)(void *self, int64_t device, void *sync_event, void (*fn)(void *arg), void *arg,
                      cdevice_error *err);
  int (*fill)(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
              cdevice_error *err);
  /* Where a buffer lives and how large it is (*nbytes = -1: cannot be known).  *device is a hint on entry, where one
   * buffer belongs to several devices.  EINVAL: not a live buffer. */
  int (*locate)(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                cdevice_error *err);
  /* May work on `stream` of `device` use this buffer or event directly (either may be NULL)?  1 or 0.  Absent: 1. */
  int (*compatible)(void *self, int64_t device, const void *data, void *sync_event, void *stream);
  void (*stop)(void *self);                             /* at unregistration, when nothing of this backend lives */
  const void *(*extension)(void *self, const char *id); /* a struct named by a string, or NULL */
} cdevice_backend;

/* extension(self, "cdevice.pool/1"): for backends that keep freed memory to use it again. */
typedef struct cdevice_pool {
  uint32_t struct_size;
  uint32_t reserved;
  /* Bytes: in use; free to use again; free, but the device may still use them; the most that was ever in use. */
  void (*statistics)(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak);
  /* Gives what is free to use again back to the vendor.  May wait for the device. */
  void (*trim)(void *self, int64_t device);
} cdevice_pool;

/* extension(self, "cdevice.memory/1"): what else a backend knows of memory.  Each member may be NULL. */
typedef struct cdevice_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* Records behind all work that may use memory allocated for `stream`, in one event or two; one that is not needed is
   * left as it is, all zero.  Never blocks. */
  int (*record_last_use)(void *self, int64_t device, void *stream, cdevice_event *first, cdevice_event *second,
              cdevice_error *err);
  /* Makes the device the calling thread's current one for the vendor's API, and undoes it. */
  int (*enter)(void *self, int64_t device, void **saved, cdevice_error *err);
  void (*leave)(void *self, int64_t device, void *saved);
  /* Host memory that this device's copies are fastest with.  stage_free: the device is done with it. */
  int (*stage_alloc)(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
  void (*stage_free)(void *self, const cdevice_block *block);
} cdevice_memory;

/* Where the memory of a device type comes from instead of its backend (cdevice_set_allocator). */
typedef struct cdevice_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* As the backend's: work on `stream` may use the memory from now on. */
  int (*alloc)(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err);
  /* The device has passed all work that could use the block.  Any thread; must not wait for the device. */
  void (*free)(void *self, const cdevice_block *block);
  /* Called once, when it was replaced and its last block is back; NULL: not wanted. */
  void (*drop)(void *self);
} cdevice_allocator;
/* cffi: skip */
#define CDEVICE_POOL "cdevice.pool/1"
#define CDEVICE_MEMORY "cdevice.memory/1"
/* cffi: end */

/* A native plug-in exports `cdevice_backend_init`.  index counts its tables from 0; ENOENT ends the list;
 * ENOTSUP: core_abi is not one it can serve. */
typedef int (*cdevice_backend_init_fn)(uint32_t core_abi, int64_t index, const cdevice_backend **out,
                                       cdevice_error *err);

/* cffi: skip */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
/* Fills err (which may be NULL) and returns code. */
static inline int cdevice_backend_fail(cdevice_error *err, int code, int vendor_code, const char *vendor_name,
                                       const char *format, ...) {
  if (err) {
    va_list args;
    err->vendor_code = vendor_code;
    snprintf(err->vendor_name, sizeof err->vendor_name, "%s", vendor_name ? vendor_name : "");
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
  }
  return code;
}
/* cffi: end */

#ifdef __cplusplus
}
#endif
#endif
