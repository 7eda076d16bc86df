/* backend.h - how a device type enters cdevice: one table of functions.
 *
 * A hardware vendor needs this header only. One cdevice_backend serves one ArrowDeviceType. The built-in backends use
 * the same table.
 *
 * Conventions of every function in the tables below
 *   thread: any thread, several at once. The core never holds Python's GIL during a call.
 *   device: each call names its device. The function restores the thread's current device before it returns.
 *   errors: 0 or an errno-compatible code. `err` may be NULL; cdevice_backend_fail() fills it. After an error
 *           nothing was allocated, enqueued or recorded, and the core does not read `out`.
 *   stream: the vendor's handle (CUstream, hipStream_t, cl_command_queue ...). NULL is the device's default stream.
 *   blocks: only functions whose comment permits it may wait for the device.
 *   sizes:  in bytes unless the comment names another unit.
 *   structs: a struct that begins with (or has) struct_size may grow at its end. Read a member only where struct_size
 *           covers it, and set struct_size to the size of the struct that you compiled.
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

/* Major (high 16 bits): a member moved or changed its meaning. Minor: members were appended. */
#define CDEVICE_BACKEND_ABI 0x00010000

/* Filled in by a function that fails. The memory belongs to the caller, so there is no string to free. */
typedef struct cdevice_error {
  uint32_t struct_size;
  int32_t vendor_code;  /* CUresult, hipError_t, cl_int; 0: none */
  char vendor_name[64]; /* "CUDA_ERROR_OUT_OF_MEMORY" */
  char message[952];    /* UTF-8: what was wrong and what to do */
} cdevice_error;

/* One allocation. */
typedef struct cdevice_block {
  void *data; /* goes into ArrowArray.buffers: an address, or a handle such as cl_mem */
  int64_t nbytes;
  int64_t device_id;
  void *opaque[2]; /* private to the backend */
} cdevice_block;

/* A recorded event. The core stores it in memory that the array's release frees; its address is stable until
 * event_destroy. A vendor whose sync_event is a pointer to the handle stores the handle in `slot` and sets
 * sync_event = &slot. */
typedef struct cdevice_event {
  void *sync_event; /* goes into ArrowDeviceArray.sync_event; NULL: the data is ready */
  void *slot;
  void *opaque;
} cdevice_event;

/* One copy. Both sides are a buffer and an offset, because an offset cannot be added to a handle. */
typedef struct cdevice_copy {
  void *dst;
  int64_t dst_offset, dst_device;
  const void *src;
  int64_t src_offset, src_device;
  int64_t nbytes;
} cdevice_copy;

#define CDEVICE_COPY_H2D 1  /* src is host memory */
#define CDEVICE_COPY_D2H 2  /* dst is host memory */
#define CDEVICE_COPY_D2D 3  /* within one device */
#define CDEVICE_COPY_PEER 4 /* between two devices of one family */

/* Capabilities. Unknown bits are ignored. */
#define CDEVICE_CAP_HOST_ACCESSIBLE 0x1 /* the CPU may read the memory once the event has completed */
#define CDEVICE_CAP_ADDRESS 0x2         /* data + offset is an address */
#define CDEVICE_CAP_EVENTS 0x4
#define CDEVICE_CAP_STREAMS 0x8
#define CDEVICE_CAP_ASYNC_FREE 0x10    /* free is ordered after work that uses the block */
#define CDEVICE_CAP_BLOCKING_FREE 0x20 /* free may wait for the device: only the reclaimer calls it */
#define CDEVICE_CAP_PEER 0x40          /* copy accepts CDEVICE_COPY_PEER */
#define CDEVICE_CAP_NEEDS_PYTHON 0x80  /* set by the Python bridge; frees go through the deferred list */
#define CDEVICE_CAP_FORK_SAFE 0x100    /* usable in a forked child */

typedef struct cdevice_device_info {
  uint32_t struct_size;
  uint32_t alignment;              /* bytes; of allocations and of views into them; a power of two */
  int64_t total_bytes, free_bytes; /* -1: unknown */
  char name[128], driver[64];
  uint8_t uuid[16];
} cdevice_device_info;

/* The services of the core for a backend. Valid for the life of the process; any thread. */
typedef void (*cdevice_range_fn)(void *arg, int64_t begin, int64_t end);
typedef struct cdevice_host {
  uint32_t abi_version, struct_size;
  /* Logs a message. level: as in Python's logging: 10, 20, 30, 40. */
  void (*log)(int level, const char *text);
  /* Calls part(arg, begin, end) for slices that cover [0, total), on this thread and on others of the process,
   * several at once. slice: the length of one. Blocks until all calls have returned. */
  void (*parallel_for)(cdevice_range_fn part, void *arg, int64_t total, int64_t slice);
  /* A cache on disk for findings that are expensive to repeat. key: a text that names the finding and the driver
   * version. cache_get copies at most nbytes into data and returns the number of bytes, 0 where there is no entry.
   * cache_put does nothing where the user has disabled the cache. Both block for a file. */
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
  const char *family;  /* tables of one family copy between each other and share streams and events; NULL: name */
  void *self;          /* first argument of every function below */

  /* required */

  /* Loads the vendor's runtime. Called on first use, and again until it succeeds once; never twice at once. ENODEV:
   * this machine has no such runtime or device; err->message names the missing part and what was tried. Any other
   * code is a fault. May block. */
  int (*start)(void *self, const cdevice_host *host, cdevice_error *err);
  /* Sets *out to the number of devices; they are numbered from 0. */
  int (*device_count)(void *self, int64_t *out, cdevice_error *err);
  /* Allocates nbytes (> 0) for work on `stream`. owns: the caller owns *out until free. ENOMEM: out of memory. May
   * block when memory is short. */
  int (*alloc)(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err);
  /* Frees a block of alloc or view. Never fails; does nothing once the vendor's runtime has shut down. Blocks only
   * with CAP_BLOCKING_FREE. */
  void (*free)(void *self, const cdevice_block *block);
  /* Enqueues n copies of one kind (CDEVICE_COPY_*) on `stream`. stream NULL: the default stream of the copies'
   * device, for PEER of the target's device. owns: the caller keeps all memory valid until the stream has passed the
   * copies. Without CAP_EVENTS the copies are complete on return. ENOTSUP for D2D or PEER: the core copies through
   * the host. A call that fails may have enqueued some copies: the core records an event behind them, or waits for
   * the stream, before it frees memory. Where both fail the core leaks the memory; see stream_wait_host. */
  int (*copy)(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err);

  /* required with CAP_EVENTS */

  /* Creates an event, records it after all work enqueued on `stream`, and flushes the stream. owns: the caller owns
   * *out until event_destroy. */
  int (*event_record)(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err);
  /* Sets *done to 1 when the device has passed the event, else to 0. EIO: the event has failed or the device is
   * dead. None of its work will run any more, so the core frees the memory. Any other error (EAGAIN where nothing is
   * wrong): the state is unknown now, and the core asks again later. */
  int (*event_done)(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err);
  /* Blocks until the device has passed the event. */
  int (*event_wait_host)(void *self, int64_t device, void *sync_event, cdevice_error *err);
  /* Makes later work on `stream` of `device` wait for the event, which may belong to another device of the family.
   * Does not block. */
  int (*event_wait_stream)(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err);
  /* Destroys an event of event_record, pending or not. Never blocks. */
  void (*event_destroy)(void *self, int64_t device, cdevice_event *event);

  /* optional: NULL where the device has none */

  /* Fills in *out, which the core has preset: the backend's name, an alignment of 64, unknown sizes. */
  int (*device_info)(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err);
  /* Makes a block of the nbytes of `whole` at `offset` (a multiple of the alignment). Required without CAP_ADDRESS.
   * owns: the caller owns *out until free; the view keeps `whole` alive by the vendor's own reference count. Where
   * whole->opaque is all NULL another allocator made the memory, and only `data` describes it. ENOTSUP: the device
   * has no views of such memory. */
  int (*view)(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
              cdevice_error *err);
  /* Sets *out to the stream that work uses when the caller names none: the vendor library's current stream.
   * Borrowed. */
  int (*current_stream)(void *self, int64_t device, void **out, cdevice_error *err);
  /* Creates a stream. owns: the caller owns *out until stream_destroy. */
  int (*stream_create)(void *self, int64_t device, void **out, cdevice_error *err);
  void (*stream_destroy)(void *self, int64_t device, void *stream);
  /* Blocks until the stream is empty. Required with CAP_STREAMS. EIO: the device is dead and nothing will run any
   * more. EINVAL: not a stream of this device. After any other code the state of enqueued work is unknown. */
  int (*stream_wait_host)(void *self, int64_t device, void *stream, cdevice_error *err);
  /* Calls fn(arg) once, when the device has passed the event or the event has failed: on any thread, or on this one
   * before it returns. fn must not call the vendor's API. */
  int (*event_notify)(void *self, int64_t device, void *sync_event, void (*fn)(void *arg), void *arg,
                      cdevice_error *err);
  /* Enqueues on `stream`: set nbytes of the block, from offset, to `byte`. */
  int (*fill)(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
              cdevice_error *err);
  /* Sets the device type, device and size of a buffer; *nbytes = -1: unknown. *device is a hint on entry, for a
   * buffer that belongs to several devices. EINVAL: not a live buffer. */
  int (*locate)(void *self, const void *data, int32_t *device_type, int64_t *device, int64_t *nbytes,
                cdevice_error *err);
  /* Returns 1 if work on `stream` of `device` may use this buffer and this event directly, else 0. Either may be
   * NULL. An absent function means 1. */
  int (*compatible)(void *self, int64_t device, const void *data, void *sync_event, void *stream);
  /* Called at unregistration, when no memory or event of this backend is left. */
  void (*stop)(void *self);
  /* Returns the struct with that name (CDEVICE_POOL and others below), which lives as long as the table, or NULL. */
  const void *(*extension)(void *self, const char *id);
} cdevice_backend;

/* extension(self, "cdevice.pool/1"): for backends that pool freed memory. */
typedef struct cdevice_pool {
  uint32_t struct_size;
  uint32_t reserved;
  /* Bytes. live: in use. pooled: free for use. pending: freed, but the device may still use them. peak: the maximum
   * of live so far. */
  void (*statistics)(void *self, int64_t device, int64_t *live, int64_t *pooled, int64_t *pending, int64_t *peak);
  /* Returns pooled memory to the vendor. May block. */
  void (*trim)(void *self, int64_t device);
} cdevice_pool;

/* extension(self, "cdevice.memory/1"): further functions for memory. Each member may be NULL. */
typedef struct cdevice_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* Records one or two events behind all work that may use memory allocated for `stream`. An unused event stays all
   * zero. owns: the caller owns both until event_destroy. Never blocks. */
  int (*record_last_use)(void *self, int64_t device, void *stream, cdevice_event *first, cdevice_event *second,
                         cdevice_error *err);
  /* enter makes the device current for the vendor's API on the calling thread; leave restores the one in *saved. */
  int (*enter)(void *self, int64_t device, void **saved, cdevice_error *err);
  void (*leave)(void *self, int64_t device, void *saved);
  /* Allocates host memory for fast copies with this device (pinned memory). owns: the caller owns *out until
   * stage_free, which it calls when the device no longer uses the memory. */
  int (*stage_alloc)(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
  void (*stage_free)(void *self, const cdevice_block *block);
  /* 0 if work may be enqueued on `stream` now. Called before an external allocator allocates for the stream and before
   * a copy reads over it (CUDA: an error while the stream is being captured). */
  int (*stream_accepts_work)(void *self, int64_t device, void *stream, cdevice_error *err);
  /* Called with change 1 before, and -1 after, an operation that an event recorded behind all streams would break,
   * and that the backend cannot detect (CUDA: the capture of a graph on a non-blocking stream). In between the
   * backend records no such event. */
  void (*capture_enter_exit)(void *self, int64_t device, int change);
  /* Non-zero while a capture guard is active. The core then does not query events for its own bookkeeping (ROCm: a
   * query may end a capture). */
  int (*capture_active)(void *self, int64_t device);
  /* For devices that use host memory: the host writes the first contents of a block in place. prepare sets out->data
   * to nbytes of host memory; ENOTSUP: not available, or not for this size. Then the caller calls one of the other
   * two. commit turns it into a block as alloc(.., stream, ..) returns, with these contents; owns: after an error
   * the memory has been freed. discard frees it. None of the three blocks. */
  int (*prepare)(void *self, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
  int (*commit)(void *self, void *stream, cdevice_block *block, cdevice_error *err);
  void (*discard)(void *self, cdevice_block *block);
  /* Non-zero while the end of the process must wait for work of the device (PoCL compiles a kernel when the kernel's
   * turn comes, and exit() unloads the compiler). Called repeatedly, for some seconds, when Python or a C program
   * ends. Never blocks. */
  int (*has_pending_work)(void *self);
} cdevice_memory;

/* extension(self, "cdevice.compute/1"): kernels. The core passes them as source text in the dialect of
 * cdevice/kernels/lang/dialect.h, which is C, OpenCL C, and CUDA or HIP C++ at once. A backend with a compiler for
 * one of these languages supports every function. A module is one program, built for one device and context. */
typedef struct cdevice_program {
  const char *family, *type;  /* "arith", "i64": the text and its type T; "cast", "i32 f64": its types S and T;
                               * "own_...": a user-defined kernel */
  const char *text;           /* the source, with the dialect in front */
  const char *const *defines; /* "T=i64"; n of them */
  int64_t n;
} cdevice_program;

#define CDEVICE_KERNEL_BUFFERS 8
#define CDEVICE_KERNEL_SCALARS 5
typedef struct cdevice_kernel_buffer {
  void *data;     /* as in ArrowArray.buffers, or NULL */
  int64_t offset; /* in elements; of a bitmap in bits */
} cdevice_kernel_buffer;

/* The parameters of a kernel, in this order: data and offset of each buffer, then the scalars. */
typedef struct cdevice_launch {
  int64_t n_work_items;    /* in total; the kernel itself bounds-checks the last work group */
  int32_t work_group_size; /* work items per work group */
  int32_t flags;           /* 0 */
  const cdevice_kernel_buffer *buffers;
  const int64_t *scalars;
} cdevice_launch;

#define CDEVICE_COMPUTE_COARSE 0x1      /* few work items that each do much, for CPUs: text with CDV_COARSE */
#define CDEVICE_COMPUTE_NO_FP64 0x2     /* float64 is not supported */
#define CDEVICE_COMPUTE_VARIANTS 0xFF00 /* private to the backend: each value needs programs of its own */
#define CDEVICE_COMPUTE_AOT 0x4         /* programs were compiled ahead of time: nothing is cached on disk */
typedef struct cdevice_compute {
  uint32_t struct_size;
  uint32_t reserved;
  /* *flags: CDEVICE_COMPUTE_*. text: `size` bytes for a text that identifies the compiler and the device, the key of
   * programs cached on disk. */
  int (*identity)(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err);
  /* Sets *out to the context that modules belong to besides their device: a handle that is not reused while one of its
   * modules lives. An absent function: one context per device. */
  int (*context)(void *self, int64_t device, void *stream, void **out, cdevice_error *err);
  /* Compiles a program. owns: the caller owns *module until unload. ENOTSUP: no compiler (err->message states what
   * to install and what was tried). EINVAL: the text does not compile (err->message begins with the log). ENOENT:
   * there is no such program compiled ahead of time. May take seconds; does not wait for the device. */
  int (*build)(void *self, int64_t device, void *stream, const cdevice_program *program, void **module,
               cdevice_error *err);
  /* Copies the binary of a module for load. *nbytes: the size of data on entry, the size of the binary on return;
   * data may be NULL. Where binary or load is absent nothing is cached on disk. owns: as build. */
  int (*binary)(void *self, int64_t device, void *module, void *data, int64_t *nbytes, cdevice_error *err);
  int (*load)(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **module,
              cdevice_error *err);
  /* Sets *out to the kernel with that name. Borrowed from the module. */
  int (*kernel)(void *self, int64_t device, void *module, const char *name, void **out, cdevice_error *err);
  /* Enqueues a kernel. Where the device has no streams it is complete on return. *launch is read before it returns. */
  int (*launch)(void *self, int64_t device, void *kernel, const cdevice_launch *launch, void *stream,
                cdevice_error *err);
  void (*unload)(void *self, int64_t device, void *module);
} cdevice_compute;

/* extension(self, "cdevice.profile/1"): points in the work of a stream, and the time between two. */
typedef struct cdevice_profile {
  uint32_t struct_size;
  uint32_t reserved;
  /* Sets *out to a point behind all work that `stream` was given. Does not wait. ENOTSUP: no times of this stream.
   * owns: the caller until drop. */
  int (*mark)(void *self, int64_t device, void *stream, void **out, cdevice_error *err);
  /* *nanoseconds from one mark of a device to another. Blocks until the device has passed both. */
  int (*elapsed)(void *self, int64_t device, void *from, void *to, int64_t *nanoseconds, cdevice_error *err);
  void (*drop)(void *self, int64_t device, void *mark);
  /* A stream whose marks have times, as the backend's stream_create; absent: all streams have. */
  int (*stream_create)(void *self, int64_t device, void **out, cdevice_error *err);
} cdevice_profile;

/* extension(self, "cdevice.ipc/1"): memory and events that other processes of the machine open. */
#define CDEVICE_IPC_BYTES 64
typedef struct cdevice_ipc_handle {
  uint8_t bytes[CDEVICE_IPC_BYTES]; /* the vendor's */
} cdevice_ipc_handle;

typedef struct cdevice_ipc {
  uint32_t struct_size;
  uint32_t reserved;
  /* Sets *handle to what memory_open takes, for the whole allocation of `data`; *offset: of `data` in it; *nbytes: its
   * size. ENOTSUP: this memory cannot be opened by others (of the vendor's pools, managed). owns: the caller keeps the
   * memory until no process has it open. Does not wait for the device. */
  int (*memory_export)(void *self, int64_t device, const void *data, cdevice_ipc_handle *handle, int64_t *offset,
                       int64_t *nbytes, cdevice_error *err);
  /* Opens the allocation in another process than its own. owns: the caller owns *out until memory_close, and calls that
   * when the device no longer uses the memory. */
  int (*memory_open)(void *self, int64_t device, const cdevice_ipc_handle *handle, void **out, cdevice_error *err);
  void (*memory_close)(void *self, int64_t device, void *data);
  /* Sets *out to an event behind `sync_event` that other processes open by *handle. ENOTSUP: the device has none. owns:
   * the caller owns *out until event_close, and keeps it until no process has it open. Does not wait for the device. */
  int (*event_export)(void *self, int64_t device, void *sync_event, cdevice_event *out, cdevice_ipc_handle *handle,
                      cdevice_error *err);
  int (*event_open)(void *self, int64_t device, const cdevice_ipc_handle *handle, cdevice_event *out,
                    cdevice_error *err);
  /* Of both kinds; instead of event_destroy. */
  void (*event_close)(void *self, int64_t device, cdevice_event *event);
} cdevice_ipc;

/* extension(self, "cdevice.notes/1"): known defects of a device's runtime and their workarounds, for people. */
typedef struct cdevice_notes {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writes one line for each into text (`size` bytes); "" where there is none. May test the runtime first, and so
   * block. */
  int (*notes)(void *self, int64_t device, char *text, int64_t size, cdevice_error *err);
} cdevice_notes;

/* Allocates the memory of a device type instead of its backend (cdevice_set_allocator). */
typedef struct cdevice_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* As the backend's alloc: work on `stream` may use the memory at once. */
  int (*alloc)(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err);
  /* Called when the device has passed all work that could use the block. Any thread; must not wait for the device. */
  void (*free)(void *self, const cdevice_block *block);
  /* Called once, when the allocator was replaced and its last block has been freed. May be NULL. */
  void (*drop)(void *self);
} cdevice_allocator;
/* cffi: skip */
#define CDEVICE_POOL "cdevice.pool/1"
#define CDEVICE_MEMORY "cdevice.memory/1"
#define CDEVICE_COMPUTE "cdevice.compute/1"
#define CDEVICE_NOTES "cdevice.notes/1"
#define CDEVICE_PROFILE "cdevice.profile/1"
#define CDEVICE_IPC "cdevice.ipc/1"
/* cffi: end */

/* A native plug-in exports `cdevice_backend_init`. index counts its tables from 0; ENOENT ends the list. ENOTSUP: the
 * plug-in does not support core_abi. owns: the table stays the plug-in's and must live as long as the process. */
typedef int (*cdevice_backend_init_fn)(uint32_t core_abi, int64_t index, const cdevice_backend **out,
                                       cdevice_error *err);

/* cffi: skip */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
/* Fills in err (which may be NULL) and returns code. */
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
