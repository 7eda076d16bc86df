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
#ifndef CDEVICE_BACKEND_H
#define CDEVICE_BACKEND_H

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
#define CDEVICE_CAP_ASYNC_FREE 0x10    /* free is ordered after work that uses the block */
#define CDEVICE_CAP_BLOCKING_FREE 0x20 /* free may wait for the device: only the reclaimer calls it */
#define CDEVICE_CAP_PEER 0x40          /* copy takes CDEVICE_COPY_PEER */
#define CDEVICE_CAP_NEEDS_PYTHON 0x80  /* set by the Python bridge; frees go through the deferred list */
#define CDEVICE_CAP_FORK_SAFE 0x100    /* usable in a forked child */

typedef struct cdevice_device_info {
  uint32_t struct_size;
  uint32_t alignment;              /* bytes; of allocations and of views into them; a power of two */
  int64_t total_bytes, free_bytes; /* -1: unknown */
  char name[128], driver[64];
  uint8_t uuid[16];
} cdevice_device_info;

/* What the core offers to a backend; valid for the life of the process. */
typedef void (*cdevice_range_fn)(void *arg, int64_t begin, int64_t end);
typedef struct cdevice_host {
  uint32_t abi_version, struct_size;
  void (*log)(int level, const char *text); /* any thread; level as in Python's logging: 10, 20, 30, 40 */
  /* Calls part for all of [0, total), in slices, on this thread and on others of the process, several at once; returns when
   * all is done.  Added later: read it only where struct_size covers it. */
  void (*parallel_for)(cdevice_range_fn part, void *arg, int64_t total, int64_t slice);
  /* What a backend has found out and what costs time to find out again, on disk under a key (a text: of what, of which
   * driver version), where the user lets anything be kept.  recall: the bytes that were kept, at most nbytes of them; 0: nothing.
   * Any thread; they read and write a file.  Added later. */
  int64_t (*cache_get)(const char *key, void *data, int64_t nbytes);
  void (*cache_put)(const char *key, const void *data, int64_t nbytes);
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
   * ENOTSUP for D2D or PEER: the core goes through the host.  A failing call need not have
   * waited for what it has sent: the core records an event behind it (or waits for the stream, where that fails) before it
   * gives memory back, and leaves the memory where that fails too, see stream_wait_host. */
  int (*copy)(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err);

  /* required with CAP_EVENTS */

  /* Creates an event, records it after all work enqueued on stream, and flushes the stream. */
  int (*event_record)(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err);
  /* *done = 1 when the device has passed it.  EIO: the event has failed or the device is dead, nothing of it will run any
   * more, so memory goes back.  Any other error says that it could not be asked now (EAGAIN where that is all): it is
   * asked again later. */
  int (*event_done)(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err);
  /* Blocks until the device has passed it. */
  int (*event_wait_host)(void *self, int64_t device, void *sync_event, cdevice_error *err);
  /* Makes later work on a stream of `device` wait; the host does not.  The event may be of another device of the
   * family. */
  int (*event_wait_stream)(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err);
  /* Legal while pending; never blocks. */
  void (*event_destroy)(void *self, int64_t device, cdevice_event *event);

  /* optional: NULL where the device has none */

  /* What it leaves out: the backend's name, an alignment of 64, sizes that are not known. */
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
  /* Blocks until the stream is empty.  Required with CAP_STREAMS.  EIO: the device is dead, nothing will run any more;
   * EINVAL: no stream of this device; any other code says nothing of what is under way. */
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
  /* May work be put on `stream` now?  Asked before another allocator gives memory for it (CUDA: not while the stream is
   * being captured).  This and what follows were added later: read them only where struct_size covers them. */
  int (*stream_accepts_work)(void *self, int64_t device, void *stream, cdevice_error *err);
  /* 1 before and -1 after something that a record behind all streams would break and that the backend cannot see (CUDA:
   * the capture of a graph on a non-blocking stream).  Until then nothing is recorded so. */
  void (*capture_enter_exit)(void *self, int64_t device, int change);
  /* 1 while anybody holds: then no event is asked that nobody but the core's own housekeeping wants to know of (ROCm: the
   * question may end a capture). */
  int (*capture_active)(void *self, int64_t device);
  /* A block whose first contents the host writes where they will lie (a device that is a processor).  prepare: out->data is
   * host memory of nbytes, not the device's yet; ENOTSUP: there is none such, or not of that size.  Then either commit: the
   * block becomes one as alloc(.., stream, ..) makes, with what is in it (owns: after an error the memory has gone back), or
   * discard.  Never block. */
  int (*prepare)(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
  int (*commit)(void *self, void *stream, cdevice_block *block, cdevice_error *err);
  void (*discard)(void *self, cdevice_block *block);
  /* 1 while work is under way that the end of the process must not cut off (PoCL compiles a kernel when its turn comes, and
   * exit() takes the compiler away under it).  Asked at the end of Python or of a C program, again and again for some seconds.
   * Never blocks. */
  int (*has_pending_work)(void *self);
} cdevice_memory;

/* extension(self, "cdevice.compute/1"): how kernels get to a device.  The core brings them as text in the dialect of
 * cdevice/kernels/dialect.h, which is C, OpenCL C and CUDA or HIP C++ at once; a backend that has a compiler for one of these
 * has every function.  A module is one program for the device and scope that it was built for. */
typedef struct cdevice_program {
  const char *family, *type;  /* "arith", "i64": which text, and what its T is; "cast", "i32 f64": its S and its T;
                               * "own_...": a user's, which was not there before */
  const char *text;           /* with the dialect in front */
  const char *const *defines; /* "T=i64"; n of them */
  int64_t n;
} cdevice_program;

#define CDEVICE_KERNEL_BUFFERS 8
#define CDEVICE_KERNEL_SCALARS 5
typedef struct cdevice_kernel_buffer {
  void *data;     /* as in ArrowArray.buffers, or NULL */
  int64_t offset; /* in elements, of a bitmap in bits */
} cdevice_kernel_buffer;

/* The parameters of a kernel are, in this order: data and offset of each buffer, then the numbers. */
typedef struct cdevice_launch {
  int64_t n_work_items;    /* in all; the last block may have fewer to do, which the kernel looks after */
  int32_t work_group_size; /* items of a block */
  int32_t flags;           /* 0 */
  const cdevice_kernel_buffer *buffers;
  const int64_t *scalars;
} cdevice_launch;

#define CDEVICE_COMPUTE_COARSE 0x1      /* an item does much, as processors like it: text with CDV_COARSE */
#define CDEVICE_COMPUTE_NO_FP64 0x2     /* there is no float64 */
#define CDEVICE_COMPUTE_VARIANTS 0xFF00 /* the backend's own: a program for one value of these is not for another */
#define CDEVICE_COMPUTE_AOT 0x4         /* programs were compiled before: nothing is kept on disk */
typedef struct cdevice_compute {
  uint32_t struct_size;
  uint32_t reserved;
  /* *flags: CDEVICE_COMPUTE_*; text: what compiles and what runs, in words, as the key of what is kept on disk. */
  int (*identity)(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err);
  /* What modules belong to besides their device: a handle that is not used again while a module of it lives.  NULL: nothing
   * (a runtime with one context for each device). */
  int (*context)(void *self, int64_t device, void *stream, void **out, cdevice_error *err);
  /* owns: *module is the caller's until unload.  ENOTSUP: no compiler (err->message says what to install and what was tried);
   * EINVAL: the text does not compile (err->message begins the log); ENOENT: this program was not compiled before.  May take
   * long; does not wait for the device. */
  int (*build)(void *self, int64_t device, void *stream, const cdevice_program *program, void **module,
               cdevice_error *err);
  /* What load takes: *nbytes is how much data has room for, and becomes how much there is; data may be NULL.  Either may be
   * absent: not kept on disk. */
  int (*binary)(void *self, int64_t device, void *module, void *data, int64_t *nbytes, cdevice_error *err);
  int (*load)(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **module,
              cdevice_error *err);
  /* Borrowed from the module. */
  int (*kernel)(void *self, int64_t device, void *module, const char *name, void **out, cdevice_error *err);
  /* Enqueues it; where the device has no streams it is done on return. */
  int (*launch)(void *self, int64_t device, void *kernel, const cdevice_launch *launch, void *stream,
                cdevice_error *err);
  void (*unload)(void *self, int64_t device, void *module);
} cdevice_compute;

/* extension(self, "cdevice.notes/1"): what people should know of a device's runtime: what it was found not to keep, and what is
 * done about it. */
typedef struct cdevice_notes {
  uint32_t struct_size;
  uint32_t reserved;
  /* A line for each, in text of `size` bytes; none: "".  May try things first, which takes time. */
  int (*notes)(void *self, int64_t device, char *text, int64_t size, cdevice_error *err);
} cdevice_notes;

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
#define CDEVICE_COMPUTE "cdevice.compute/1"
#define CDEVICE_NOTES "cdevice.notes/1"
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
static inline int
cdevice_backend_fail(cdevice_error *err, int code, int vendor_code, const char *vendor_name, const char *format, ...) {
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
