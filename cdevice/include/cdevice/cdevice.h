/* cdevice.h - columnar data on any device, for C and C++ programs.
 *
 * Link libcdevice (python -m cdevice config --cflags --libs, or pkg-config, or CMake's find_package(cdevice)).  The first
 * call of any function starts Python inside the process, unless it runs already, and imports the package it was
 * installed with; later calls are plain C.  There is one registry in a process: what Python registers is seen here.
 *
 * Conventions
 *   results: 0 or an errno-compatible code; cdevice_error_text() then tells why, for the calling thread.  ENOSYS: the
 *            start failed, cdevice_start_error() tells why, as cdevice_error_text() does then; the next call tries
 *            again, but where Python itself has failed: then the first reason stays.
 *   NULL: where a string, a struct or a place for a result is needed it is EINVAL, or the answer for "unknown" (-1, NULL,
 *         0), and cdevice_error_text() names it; _unref, _close and _stop do nothing with it.
 *   owns: on success the caller owns what `out` names until the matching _unref, _close or release; on an error nothing
 *         was consumed and *out is not set, unless the comment says otherwise.
 *   threads: any, several at once; a stream, and the taking end of a consumer, by one thread at a time.
 *   Python: functions marked [Python] take the GIL; the others do not, unless the backend in use is written in Python.
 *   fork:   a child keeps what is in C.  Functions marked [Python], and backends written in Python, give EPERM there: Python
 *           may have been in use by another thread.  So does every runtime that was started before.  Forks of Python's
 *           own (os.fork) leave a child in which Python works.
 *   blocks: only functions whose comment says so wait for a device or a producer.
 */
#ifndef CDEVICE_H
#define CDEVICE_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "cdevice/dlpack_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CDEVICE_VERSION_MAJOR 0
#define CDEVICE_VERSION_MINOR 1
#define CDEVICE_VERSION_PATCH 0
#define CDEVICE_API 1 /* of this header; functions are only added */

typedef struct cdv_schema cdevice_schema;     /* counted, immutable */
typedef struct cdv_array cdevice_array;       /* counted, immutable: an array or a record batch (a struct array) */
typedef struct cdv_stream cdevice_stream;     /* one owner */
typedef struct cdv_producer cdevice_producer; /* counted */
typedef struct cdv_consumer cdevice_consumer; /* counted */

/* ---- start and errors ---- */

/* Starts Python where it does not run.  0, or -1.  Best called early in main: the thread that starts Python becomes its
 * main thread.  May block (milliseconds).  CDEVICE_PYTHON names another interpreter's executable of the same version. */
int cdevice_start(void);
/* Why the last start failed; valid until the next. */
const char *cdevice_start_error(void);
/* Version of the package behind the library, as (major << 16 | minor << 8 | patch).  Starts Python, as any call does; 0:
 * the start failed. */
uint32_t cdevice_version(void);
/* This thread's last error: its text, one sentence; the vendor's code (0: none).  These two start nothing: before the
 * first start and after a failed one the text is that of cdevice_start_error(). */
const char *cdevice_error_text(void);
int cdevice_error_vendor_code(void);

/* ---- devices and backends ---- */

/* "cuda:1", "opencl", "12:3" as numbers.  It reads the name and starts no backend: whether there is such a device here
 * cdevice_device_count tells.  EINVAL: nothing is called so.  [Python] */
int cdevice_find_device(const char *name, int32_t *type, int64_t *id);
/* Up to `room` device types that some backend serves here or could serve; *n: how many there are.  [Python] */
int cdevice_device_types(int32_t *types, int64_t room, int64_t *n);
/* Starts the backend.  ENODEV: nothing serves that type here, or its runtime is missing; *n may be 0. */
int cdevice_device_count(int32_t type, int64_t *n);
/* Fills in all of *out, its struct_size too, which need not be set.  The struct is in backend.h. */
int cdevice_get_device_info(int32_t type, int64_t id, cdevice_device_info *out);
/* The table that serves a type, or NULL; starts nothing. */
const cdevice_backend *cdevice_backend_for(int32_t type);
/* Makes a table serve its device type; it must stay.  EEXIST: the type is taken, unless replace != 0. */
int cdevice_register_backend(const cdevice_backend *backend, int replace);
int cdevice_unregister_backend(int32_t type);
/* Copies to devices of this type take their memory from `allocator` from now on; NULL: from the backend again.  The
 * struct is copied; what it points to must live until drop is called.  Its alloc is called by whoever copies, on any
 * thread. */
int cdevice_set_allocator(int32_t type, const cdevice_allocator *allocator);
/* A shared library that exports cdevice_backend_init. */
int cdevice_load_plugin(const char *path, int replace);

/* ---- schemas ---- */

/* owns: moves *schema in. */
int cdevice_schema_import(struct ArrowSchema *schema, cdevice_schema **out);
/* A field from its parts, copied.  flags: ARROW_FLAG_*; children: n_children of them; dictionary may be NULL. */
int cdevice_schema_new(const char *format, const char *name, int64_t flags, int64_t n_children,
                       cdevice_schema *const *children, cdevice_schema *dictionary, cdevice_schema **out);
/* owns: out->release is the caller's to call. */
int cdevice_schema_export(cdevice_schema *schema, struct ArrowSchema *out);
void cdevice_schema_unref(cdevice_schema *schema);

/* ---- arrays ---- */

#define CDEVICE_CHECK_NONE 0
#define CDEVICE_CHECK_STRUCTURE 1 /* the structs; and of CPU memory one offset per variable-size buffer */
#define CDEVICE_CHECK_FULL 2      /* contents too; waits for the event */

/* owns: both structs are moved in; on an error both are untouched.  Does not wait for the event. */
int cdevice_array_import(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int check, cdevice_array **out);

/* An array over memory that exists.  buffers: in the order of the Arrow layout, copied; children are shared. */
typedef struct cdevice_array_parts {
  int32_t device_type;
  int64_t device_id, length, offset, null_count; /* null_count -1: unknown */
  int64_t n_buffers;
  const void *const *buffers;
  int64_t n_children;
  cdevice_array *const *children;
  cdevice_array *dictionary;
  void *sync_event; /* of a recorded event in memory that the owner keeps; NULL: safe now */
  /* Called once when nothing uses the memory any more, on any thread; may be NULL. */
  void (*release)(void *owner);
  void *owner;
} cdevice_array_parts;
/* owns: on success release(owner) will be called; on an error it stays the caller's. */
int cdevice_array_build(cdevice_schema *schema, const cdevice_array_parts *parts, int check, cdevice_array **out);
/* ENODEV: there is no device of that type; EINVAL: none of that number.
 * To a device, on `stream` of the target (of the source, when the target is the CPU; NULL: its default).  always != 0:
 * also where the data is there already, else that is shared.  The result carries an event; a CPU result is complete.
 * blocks: for a CPU target, and where sizes must be read from a device first. */
int cdevice_array_copy(cdevice_array *array, int32_t type, int64_t id, void *stream, int always, cdevice_array **out);
/* owns: out->array.release must be called; any number of times from one array. */
int cdevice_array_export(cdevice_array *array, struct ArrowDeviceArray *out);
int cdevice_array_slice(cdevice_array *array, int64_t offset, int64_t length, cdevice_array **out);
/* -1: the dictionary. */
int cdevice_array_child(cdevice_array *array, int64_t i, cdevice_array **out);
cdevice_array *cdevice_array_ref(cdevice_array *array);
void cdevice_array_unref(cdevice_array *array);
int64_t cdevice_array_length(const cdevice_array *array);
/* Counts on the CPU when unknown; -1: it cannot be known here. */
int64_t cdevice_array_null_count(cdevice_array *array);
int64_t cdevice_array_nbytes(cdevice_array *array); /* -1: unknown without waiting */
void cdevice_array_device(const cdevice_array *array, int32_t *type, int64_t *id);
cdevice_schema *cdevice_array_schema(const cdevice_array *array); /* borrowed */
int cdevice_array_check(cdevice_array *array, int check);
/* Same type and same values; both readable by the CPU.  blocks: for the events. */
int cdevice_array_equal(cdevice_array *a, cdevice_array *b, int nans_equal, int *equal);

/* ---- events ---- */

int cdevice_array_ready(cdevice_array *array, int *done);
int cdevice_array_wait(cdevice_array *array); /* blocks */
/* Later work on a stream of that device waits; the host does so only where the device cannot. */
int cdevice_array_wait_stream(cdevice_array *array, int32_t type, int64_t id, void *stream);
/* Keeps the memory until all work enqueued on a stream of its device so far is done. */
int cdevice_array_record_use(cdevice_array *array, void *stream);

/* ---- DLPack ---- */

/* Fixed-width numbers without nulls as a tensor, read-only, fixed-size lists of them as one of more dimensions; does not
 * wait for the event.  owns:
 * (*out)->deleter is the caller's to call; it keeps the array.  ENOTSUP: DLPack cannot say it. */
int cdevice_dlpack_export(cdevice_array *array, DLManagedTensorVersioned **out);
/* owns: on success the tensor's deleter is called when nothing uses its memory any more, on any thread; on an error it
 * stays the caller's.  sync_event: of a recorded event in memory that the tensor keeps; NULL: safe now. */
int cdevice_dlpack_import(DLManagedTensorVersioned *tensor, void *sync_event, int check, cdevice_array **out);

/* ---- streams ---- */

/* owns: takes a reference on each array. */
int cdevice_stream_new(cdevice_schema *schema, int32_t type, cdevice_array *const *arrays, int64_t n,
                       cdevice_stream **out);
/* owns: moves *in; on an error it is released.  Calls get_schema, so it may block. */
int cdevice_stream_import(struct ArrowDeviceArrayStream *in, int check, cdevice_stream **out);
int cdevice_stream_import_cpu(struct ArrowArrayStream *in, int check, cdevice_stream **out);
/* owns: the stream moves into *out; on an error it stays the caller's. */
int cdevice_stream_export(cdevice_stream *stream, struct ArrowDeviceArrayStream *out);
int cdevice_stream_export_cpu(cdevice_stream *stream, struct ArrowArrayStream *out);
/* *out: a new reference, or NULL at the end.  After an error every call fails.  blocks: as its source. */
int cdevice_stream_next(cdevice_stream *stream, cdevice_array **out);
/* Each array copied to a device, `prefetch` of them before they are asked for, by a thread.  owns: takes the stream over;
 * on an error it stays the caller's. */
int cdevice_stream_copy(cdevice_stream *stream, int32_t type, int64_t id, void *queue, int64_t prefetch,
                        cdevice_stream **out);
cdevice_schema *cdevice_stream_schema(const cdevice_stream *stream); /* borrowed */
int32_t cdevice_stream_device_type(const cdevice_stream *stream);
void cdevice_stream_close(cdevice_stream *stream);

/* ---- asynchronous streams ---- */

/* Sends a stream to a handler on a thread of its own.  owns: takes the stream over; on an error it stays the caller's.
 * The handler must live until its release is called.  metadata: encoded as ArrowSchema.metadata, or NULL. */
int cdevice_produce(cdevice_stream *stream, struct ArrowAsyncDeviceStreamHandler *handler, const char *metadata,
                    cdevice_producer **out);
#define CDEVICE_RUNNING 0
#define CDEVICE_FINISHED 1
#define CDEVICE_CANCELLED 2 /* by the consumer */
#define CDEVICE_REFUSED 3   /* by the consumer, with *code */
#define CDEVICE_FAILED 4    /* the source, or a consumer that asked for nonsense */
#define CDEVICE_STOPPED 5   /* by cdevice_producer_stop */
/* Blocks up to so many nanoseconds (< 0: without limit) until the handler was released: 1, or 0. */
int cdevice_producer_wait(cdevice_producer *p, int64_t nanoseconds);
int cdevice_producer_outcome(cdevice_producer *p, int *code);
void cdevice_producer_stop(cdevice_producer *p);
void cdevice_producer_unref(cdevice_producer *p);

/* queue_size: arrays that may be requested and not yet taken. */
int cdevice_consumer_new(int64_t queue_size, int check, cdevice_consumer **out);
/* For one producer; valid until that producer releases it. */
struct ArrowAsyncDeviceStreamHandler *cdevice_consumer_handler(cdevice_consumer *c);
/* The next array, extracted on this thread; NULL at the end.  Blocks up to so many nanoseconds (< 0: without limit):
 * EAGAIN when there was nothing. */
int cdevice_consumer_next(cdevice_consumer *c, int64_t nanoseconds, cdevice_array **out);
cdevice_schema *cdevice_consumer_schema(cdevice_consumer *c); /* borrowed; NULL before it came */
/* Cancels the producer and drops what waits; does not wait for the producer. */
void cdevice_consumer_close(cdevice_consumer *c);
void cdevice_consumer_unref(cdevice_consumer *c);
/* As a stream.  owns: takes the consumer over; on an error it stays the caller's.  Blocks until the schema is there. */
int cdevice_consumer_stream(cdevice_consumer *c, cdevice_stream **out);

/* ---- Python ---- */

/* Calls module.function(address), an int, and gives back what it returns as *result (None: 0; NULL: ignored).  An
 * exception is EIO with its text.  A struct is exchanged by its address: Python fills it
 * (array.export_to_c, stream.export_to_c) or moves out of it (import_from_c, import_stream_from_c).  [Python] */
int cdevice_call_python(const char *module, const char *function, void *address, int64_t *result);

#ifdef __cplusplus
}
#endif
#endif
