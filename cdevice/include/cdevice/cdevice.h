/* cdevice.h - columnar data on any device, for C and C++ programs.
 *
 * Link libcdevice (python -m cdevice config --cflags --libs, or pkg-config, or CMake's find_package(cdevice)). The
 * first call of any function starts Python inside the process, unless it already runs, and imports the package that
 * the library was installed with. Later calls are plain C. A process has one registry: backends registered from
 * Python and from C are visible to both.
 *
 * Conventions
 *   results: 0 or an errno-compatible code; cdevice_error_text() then returns the reason, for the calling thread.
 *            ENOSYS: the start failed, and cdevice_start_error() returns the same reason. The next call tries again,
 *            unless Python itself failed to start: then every call fails with the first reason.
 *   NULL:    where a string, a struct or a result is required, NULL is EINVAL, or the result for "unknown" (-1, NULL,
 *            0), and cdevice_error_text() names the argument. _unref, _close and _stop ignore it.
 *   owns:    on success the caller owns *out until the matching _unref, _close or release. After an error nothing was
 *            consumed and *out is not set, unless the comment states otherwise.
 *   threads: any, several at once. A stream, and the receiving end of a consumer, is used by one thread at a time.
 *   Python:  functions marked [Python] take the GIL. The others do not, unless the backend in use is written in Python.
 *   fork:    a child keeps objects that are in C. In the child, functions marked [Python] and backends written in
 *            Python return EPERM, because another thread may have been using Python. So does every runtime that the
 *            parent had started. After a fork by Python itself (os.fork) Python works in the child.
 *   blocks:  only functions whose comment states it wait for a device or a producer.
 *   sizes:   lengths and offsets of arrays are in rows, nbytes in bytes, times in nanoseconds.
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
#define CDEVICE_VERSION_MINOR 2
#define CDEVICE_VERSION_PATCH 0
#define CDEVICE_API 1 /* of this header; functions are only added */

typedef struct cdv_schema cdevice_schema;     /* reference-counted, immutable */
typedef struct cdv_array cdevice_array;       /* the same: an array or a record batch (a struct array) */
typedef struct cdv_stream cdevice_stream;     /* one owner, not thread-safe */
typedef struct cdv_producer cdevice_producer; /* reference-counted */
typedef struct cdv_consumer cdevice_consumer; /* reference-counted */

/* ---- start and errors ---- */

/* Starts Python where it does not run. Returns 0, or -1. Call it early in main: the thread that starts Python
 * becomes its main thread. Blocks for some milliseconds. CDEVICE_PYTHON: the executable of another interpreter of
 * the same version. */
int cdevice_start(void);
/* Returns why the last start failed; borrowed until the next start. */
const char *cdevice_start_error(void);
/* Returns the version of the package, as (major << 16 | minor << 8 | patch); 0: the start failed. */
uint32_t cdevice_version(void);
/* Return the message and the vendor's code (0: none) of this thread's last error. Borrowed until the thread's next
 * error. They do not start Python: before the first start and after a failed one the message is that of
 * cdevice_start_error(). */
const char *cdevice_error_text(void);
int cdevice_error_vendor_code(void);

/* ---- devices and backends ---- */

/* Parses "cuda:1", "opencl" or "12:3". It reads the name and starts no backend: call cdevice_device_count to find out
 * whether the device exists. EINVAL: unknown name. [Python] */
int cdevice_find_device(const char *name, int32_t *type, int64_t *id);
/* Fills in up to `room` device types that have a backend, usable on this machine or not. *n: their total number.
 * [Python] */
int cdevice_device_types(int32_t *types, int64_t room, int64_t *n);
/* Starts the backend and counts its devices; *n may be 0. ENODEV: no backend serves that type, or its runtime is
 * missing. May block while the runtime starts. */
int cdevice_device_count(int32_t type, int64_t *n);
/* Fills in all of *out, its struct_size too, which need not be set. The struct is in backend.h. */
int cdevice_get_device_info(int32_t type, int64_t id, cdevice_device_info *out);
/* Returns the table that serves a type, or NULL; starts no backend. Borrowed. */
const cdevice_backend *cdevice_backend_for(int32_t type);
/* Registers a table for its device type. The struct is borrowed: it must live as long as the process. EEXIST: the
 * type has a backend, and replace is 0. */
int cdevice_register_backend(const cdevice_backend *backend, int replace);
/* EBUSY: the backend is in use by arrays. */
int cdevice_unregister_backend(int32_t type);
/* Makes copies to devices of this type allocate from `allocator`; NULL: from the backend again. owns: the struct is
 * copied; its self must live until drop is called. alloc is called on the thread that copies. */
int cdevice_set_allocator(int32_t type, const cdevice_allocator *allocator);
/* Loads a shared library that exports cdevice_backend_init, and registers its tables. replace: as above. */
int cdevice_load_plugin(const char *path, int replace);

/* ---- schemas ---- */

/* owns: *schema is moved into *out. */
int cdevice_schema_import(struct ArrowSchema *schema, cdevice_schema **out);
/* Makes a schema. The strings are copied. flags: ARROW_FLAG_*. children: n_children schemas, shared. dictionary: may be
 * NULL. */
int cdevice_schema_new(const char *format, const char *name, int64_t flags, int64_t n_children,
                       cdevice_schema *const *children, cdevice_schema *dictionary, cdevice_schema **out);
/* owns: the caller calls out->release. */
int cdevice_schema_export(cdevice_schema *schema, struct ArrowSchema *out);
/* Takes a reference, and returns the schema. owns: the caller calls cdevice_schema_unref once more. Never blocks. */
cdevice_schema *cdevice_schema_ref(cdevice_schema *schema);
/* Gives a reference back. Any thread; never blocks. */
void cdevice_schema_unref(cdevice_schema *schema);

/* ---- arrays ---- */

#define CDEVICE_CHECK_NONE 0
#define CDEVICE_CHECK_STRUCTURE 1 /* the structs, and of CPU memory one offset per variable-size buffer */
#define CDEVICE_CHECK_FULL 2      /* the contents too; blocks for the event */

/* owns: both structs are moved into *out; after an error both are untouched. Does not wait for the event, unless
 * check is CDEVICE_CHECK_FULL. */
int cdevice_array_import(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int check, cdevice_array **out);

/* An array over existing memory. buffers: n_buffers pointers in the order of the Arrow layout; the pointers are
 * copied, the memory is not. children and dictionary are shared. */
typedef struct cdevice_array_parts {
  int32_t device_type;
  int64_t device_id, length, offset, null_count; /* null_count -1: unknown */
  int64_t n_buffers;
  const void *const *buffers;
  int64_t n_children;
  cdevice_array *const *children;
  cdevice_array *dictionary;
  void *sync_event; /* a recorded event in memory that the owner keeps; NULL: the data is ready */
  /* Called once, on any thread, when the memory is no longer used; must not block. May be NULL. */
  void (*release)(void *owner);
  void *owner;
} cdevice_array_parts;
/* owns: on success the array calls release(owner); after an error the caller still owns it. Blocks with
 * CDEVICE_CHECK_FULL, for the event. */
int cdevice_array_build(cdevice_schema *schema, const cdevice_array_parts *parts, int check, cdevice_array **out);
/* Copies an array to a device, on `stream` of the target (of the source, when the target is the CPU; NULL: its
 * default). always 0: data that is already on the device is shared, not copied. The result has an event; a CPU
 * result is complete. ENODEV: there is no device of that type. EINVAL: there is no device with that number. Blocks
 * for a CPU target, and where sizes must be read from a device first. */
int cdevice_array_copy(cdevice_array *array, int32_t type, int64_t id, void *stream, int always, cdevice_array **out);
/* owns: the caller calls out->array.release. An array can be exported any number of times. */
int cdevice_array_export(cdevice_array *array, struct ArrowDeviceArray *out);
/* Zero-copy: rows [offset, offset + length). */
int cdevice_array_slice(cdevice_array *array, int64_t offset, int64_t length, cdevice_array **out);
/* A child, limited to the rows of the array; i = -1: the dictionary. Zero-copy. */
int cdevice_array_child(cdevice_array *array, int64_t i, cdevice_array **out);
/* Takes a reference, and returns the array. */
cdevice_array *cdevice_array_ref(cdevice_array *array);
void cdevice_array_unref(cdevice_array *array);
/* In rows. */
int64_t cdevice_array_length(const cdevice_array *array);
/* Counts on the CPU where the count is unknown; -1: the data is on a device, or not ready. Never blocks. */
int64_t cdevice_array_null_count(cdevice_array *array);
int64_t cdevice_array_nbytes(cdevice_array *array); /* -1: unknown without blocking */
void cdevice_array_device(const cdevice_array *array, int32_t *type, int64_t *id);
cdevice_schema *cdevice_array_schema(const cdevice_array *array); /* borrowed */
/* Validates the array. check: CDEVICE_CHECK_*; FULL blocks for the event. */
int cdevice_array_check(cdevice_array *array, int check);
/* *equal = 1: same type and same values. The CPU must be able to read both. Blocks for the events. */
int cdevice_array_equal(cdevice_array *a, cdevice_array *b, int nans_equal, int *equal);

/* ---- events ---- */

/* *done = 1: the event has completed, or there is none. */
int cdevice_array_ready(cdevice_array *array, int *done);
/* Blocks until the event has completed. */
int cdevice_array_wait(cdevice_array *array);
/* Makes later work on a stream of that device wait for the event. Blocks only where the device cannot wait. */
int cdevice_array_wait_stream(cdevice_array *array, int32_t type, int64_t id, void *stream);
/* Keeps the memory alive until all work enqueued so far on `stream`, of the array's device, is done. */
int cdevice_array_record_use(cdevice_array *array, void *stream);

/* ---- DLPack ---- */

/* Exports fixed-width numbers without nulls as a read-only tensor; fixed-size lists add dimensions. Does not wait
 * for the event. owns: the caller calls (*out)->deleter; the tensor keeps the array. ENOTSUP: DLPack cannot
 * represent the array. */
int cdevice_dlpack_export(cdevice_array *array, DLManagedTensorVersioned **out);
/* owns: on success the array calls the tensor's deleter, on any thread, when the memory is no longer used; after an
 * error the caller still owns the tensor. sync_event: a recorded event in memory that the tensor keeps; NULL: the
 * data is ready. */
int cdevice_dlpack_import(DLManagedTensorVersioned *tensor, void *sync_event, int check, cdevice_array **out);

/* ---- streams ---- */

/* A stream of n arrays. owns: it takes a reference to the schema and to each array. */
int cdevice_stream_new(cdevice_schema *schema, int32_t type, cdevice_array *const *arrays, int64_t n,
                       cdevice_stream **out);
/* owns: *in is moved into *out; after an error it has been released. Calls get_schema, which may block. */
int cdevice_stream_import(struct ArrowDeviceArrayStream *in, int check, cdevice_stream **out);
int cdevice_stream_import_cpu(struct ArrowArrayStream *in, int check, cdevice_stream **out);
/* owns: the stream is moved into *out; after an error the caller still owns it. */
int cdevice_stream_export(cdevice_stream *stream, struct ArrowDeviceArrayStream *out);
int cdevice_stream_export_cpu(cdevice_stream *stream, struct ArrowArrayStream *out);
/* *out: a new reference, or NULL at the end. After an error every later call fails. Blocks as long as its source. */
int cdevice_stream_next(cdevice_stream *stream, cdevice_array **out);
/* A stream that copies each array to a device. prefetch: arrays that a thread copies ahead; 0: no thread. queue: the
 * stream of the target device, or NULL. owns: `stream` is moved into *out; after an error the caller still owns it. */
int cdevice_stream_copy(cdevice_stream *stream, int32_t type, int64_t id, void *queue, int64_t prefetch,
                        cdevice_stream **out);
cdevice_schema *cdevice_stream_schema(const cdevice_stream *stream); /* borrowed */
int32_t cdevice_stream_device_type(const cdevice_stream *stream);
void cdevice_stream_close(cdevice_stream *stream);

/* ---- asynchronous streams ---- */

/* Sends a stream to a handler, from a new thread. owns: the stream is moved in; after an error the caller still owns
 * it. The handler must live until its release is called. metadata: encoded as ArrowSchema.metadata, or NULL. */
int cdevice_produce(cdevice_stream *stream, struct ArrowAsyncDeviceStreamHandler *handler, const char *metadata,
                    cdevice_producer **out);
#define CDEVICE_RUNNING 0
#define CDEVICE_FINISHED 1
#define CDEVICE_CANCELLED 2 /* by the consumer */
#define CDEVICE_REFUSED 3   /* by the consumer, with *code */
#define CDEVICE_FAILED 4    /* the source failed, or the consumer requested n <= 0 */
#define CDEVICE_STOPPED 5   /* by cdevice_producer_stop */
/* Blocks until the handler is released, at most `nanoseconds` (< 0: without limit). Returns 1 if it was released, else
 * 0. */
int cdevice_producer_wait(cdevice_producer *p, int64_t nanoseconds);
/* Returns CDEVICE_RUNNING or the outcome above. *code: the errno-compatible code of the error, 0 without one. */
int cdevice_producer_outcome(cdevice_producer *p, int *code);
/* Ends the producer from this side. Does not wait for it. */
void cdevice_producer_stop(cdevice_producer *p);
void cdevice_producer_unref(cdevice_producer *p);

/* queue_size: the maximum number of arrays that were requested and not yet received. */
int cdevice_consumer_new(int64_t queue_size, int check, cdevice_consumer **out);
/* Returns the handler for one producer. Borrowed until that producer releases it. */
struct ArrowAsyncDeviceStreamHandler *cdevice_consumer_handler(cdevice_consumer *c);
/* Receives the next array, extracted on this thread; *out = NULL: the end. Blocks at most `nanoseconds` (< 0: without
 * limit). EAGAIN: none arrived in that time. */
int cdevice_consumer_next(cdevice_consumer *c, int64_t nanoseconds, cdevice_array **out);
cdevice_schema *cdevice_consumer_schema(cdevice_consumer *c); /* borrowed; NULL before it arrived */
/* Cancels the producer and drops the arrays in the queue. Does not wait for the producer. */
void cdevice_consumer_close(cdevice_consumer *c);
void cdevice_consumer_unref(cdevice_consumer *c);
/* Makes a stream of a consumer. owns: the consumer is moved into *out; after an error the caller still owns it.
 * Blocks until the schema arrives. */
int cdevice_consumer_stream(cdevice_consumer *c, cdevice_stream **out);

/* ---- Python ---- */

/* Calls module.function(address), with the address as an int. *result: the int that it returns, 0 for None; result
 * may be NULL. EIO: it raised an exception, whose text cdevice_error_text() returns. EINVAL: it did not return an
 * int. Pass structs by address: Python fills them in (array.export_to_c, stream.export_to_c) or moves them
 * (import_from_c, import_stream_from_c). Blocks as long as the function. [Python] */
int cdevice_call_python(const char *module, const char *function, void *address, int64_t *result);

/* ---- functions ---- */

/* Calls a function of the registry by its name ("add", "sum", "sort_by"), or one of batches: "group_by", "join",
 * "join_indices", "project", "with_columns". arguments: n arrays or batches on one device; borrowed. options: a JSON
 * object of the options by their names in Python, or NULL:
 *   sort_by       {"sort_keys": [["price", "descending"]]}
 *   filter        {"where": "price > 5 and city != 'Oslo'"}, of one batch; or NULL, of an array or batch and a mask
 *   group_by      {"keys": ["city"], "aggregations": [["price", "sum"], [[], "count_all"]], "where": "price > 5"}
 *   join          {"keys": ["city"], "join_type": "inner"}
 *   with_columns  {"columns": {"speed": "km / h"}}
 *   cast          {"target_type": "timestamp[s]"}
 * An argument that is NULL is the next value of the option "scalars": greater(x, NULL) with {"scalars": [5]}. A value of
 * a type that JSON has not is {"value": "2024-01-31", "type": "date32"}. Every function takes the options "stream", the
 * handle as a number, and "fallback": "copy", which computes on the CPU where the device has no kernel.
 * owns: *out is a new reference: an array or a batch on the arguments' device, of one row where Python returns a
 * scalar. It may have an event (cdevice_array_wait). Any thread. Blocks as the function does in Python: group_by and
 * join do. EINVAL: no such function, or options or arguments that do not fit; EDOM: a value that the result cannot hold;
 * ENOTSUP: no kernel for these types or this device; other codes as the device reports them. cdevice_error_text() begins with "cdevice_call(): " and the name.
 * [Python] */
int cdevice_call(const char *name, cdevice_array *const *arguments, int64_t n, const char *options,
                 cdevice_array **out);

/* ---- rules of the interfaces ---- */

/* Holds structs against the rules of Arrow's C interfaces, for the tests of other libraries: the suites of
 * cdevice.testing. The structs are borrowed: each rule is checked on a copy of this process (fork), which may read, move
 * and release them, die or hang. Buffers on a device that the CPU does not read are not touched. format: "text", a table
 * (NULL: the same), or "json". *broken: the number of rules that are a MUST and were broken. owns: *report is for
 * free(). Blocks for as long as the rules take, at most a minute. EINVAL: an unknown format, or a released struct.
 * ENOTSUP: a system without fork. [Python] */
int cdevice_check_array(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, const char *format,
                        int64_t *broken, char **report);
int cdevice_check_stream(const struct ArrowDeviceArrayStream *stream, const char *format, int64_t *broken,
                         char **report);
int cdevice_check_stream_cpu(const struct ArrowArrayStream *stream, const char *format, int64_t *broken, char **report);

#ifdef __cplusplus
}
#endif
#endif
