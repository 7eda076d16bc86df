/* common.h - what the files of cdevice._native share. They are one translation unit, see python.c: nothing here is
 * seen from outside, and small ones are inlined. */
#ifndef CDEVICE_NATIVE_PY_H
#define CDEVICE_NATIVE_PY_H

#include <Python.h>
#include <stdlib.h>

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "cdevice/dlpack_abi.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/array/dlpack.h"
#include "core/array/equal.h"
#include "core/array/info.h"
#include "core/array/origin.h"
#include "core/async/consumer.h"
#include "core/async/producer.h"
#include "core/async/producer_run.h"
#include "core/backend/checked_calls.h"
#include "core/backend/external_allocator.h"
#include "core/backend/host_cache.h"
#include "core/backend/process_exit.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/deferred_release.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/owner.h"
#include "core/base/parallel_memcpy.h"
#include "core/base/single_flight.h"
#include "core/base/thread_pool.h"
#include "core/base/wait.h"
#include "core/compute/accumulate.h"
#include "core/compute/aggregate.h"
#include "core/compute/compare_binary.h"
#include "core/compute/elementwise.h"
#include "core/compute/fused.h"
#include "core/compute/exec.h"
#include "core/compute/hash_table.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/kernel_disk_cache.h"
#include "core/compute/kernel_source.h"
#include "core/compute/key_words.h"
#include "core/compute/launch_args.h"
#include "core/compute/launch_list.h"
#include "core/compute/list_reduce.h"
#include "core/compute/match_rows.h"
#include "core/compute/running.h"
#include "core/compute/scatter.h"
#include "core/compute/select.h"
#include "core/compute/selection.h"
#include "core/compute/set_lookup.h"
#include "core/compute/sort.h"
#include "core/compute/strings.h"
#include "core/compute/varlen.h"
#include "core/copy/concat.h"
#include "core/copy/copy.h"
#include "core/copy/readback.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/orphan.h"
#include "core/event/reclaim.h"
#include "core/event/retire.h"
#include "core/format/bitmap.h"
#include "core/format/layout.h"
#include "core/format/schema.h"
#include "core/ipc/broker.h"
#include "core/ipc/ring.h"
#include "core/ipc/segment.h"
#include "core/stream/prefetch.h"
#include "core/stream/stream.h"
#include "core/validate/structure.h"
#include "native/support/free_threading.h"

/* A function with another signature in a method table. */
#define FAST(f) ((PyCFunction)(void (*)(void))(f))

/* ---- pylife.c: the GIL, and deferred releases ---- */
static PyThreadState *(*current_tstate)(void);
static int tstate_is_thread_local; /* 3.12 and later */
static atomic_int python_gone;     /* set at exit: no thread enters Python any more */
/* What runs while something dies, or inside a foreign release, must leave the exception that is on its way alone: code
 * of others stands between these two, of cdevice or not. */
struct pending {
  PyObject *type, *value, *traceback;
};
static struct pending save_exception(void);
static void restore_exception(struct pending p);
/* The same without the GIL between them: what a source gives back may wait for threads that need it, and may run Python
 * code. */
struct away {
  struct pending pending;
  PyThreadState *thread;
};
static struct away release_gil(void);
static void reacquire_gil(struct away a);
/* On any thread: takes the GIL, or fails with an errno and a message. */
static int enter_python(PyGILState_STATE *state, cdevice_error *err);
/* The same, with an exception that may be on its way there put aside. */
struct visit {
  PyGILState_STATE state;
  struct pending pending;
};
static int enter_python_saving(struct visit *v, cdevice_error *err);
static void leave_python(struct visit *v);
/* Any thread: at once where the GIL is held, so that `del` is visible; else by the thread that drains. */
static void release_now_or_defer(struct cdv_deferred *d);
static void drop_python(void *owner);
static void run_deferred_releases(void); /* GIL held; destructors may push again */
/* 0, or -1 with an exception. */
static int make_owner(PyObject *object, struct cdv_owner *out);
static int share(PyObject *object, struct cdv_shared **out);

/* ---- pyerror.c: exceptions and the core's errors ---- */
/* Calls of Python code on this thread that wait for an answer: only there is an exception kept to be raised again, and
 * only there is it asked whether a signal came. */
static _Thread_local int python_call_depth;
static PyObject *make_error;         /* of what the core reported: cdevice._core */
static PyObject *error_class;        /* cdevice.Error */
static PyObject *unavailable_class;  /* cdevice.BackendUnavailable */
static PyObject *device_error_class; /* cdevice.DeviceError */
/* The classes that stand above this module, whichever module of the package was imported first. -1 with an
 * exception. */
static int load_error_classes(void);
static PyObject *raise_last(void); /* this thread's last error; always NULL */
static PyObject *raise_original(void);
static PyObject *fetch_exception(void);
static PyObject *take_exception(char *text, size_t size);
static void exception_text(PyObject *value, char *text, size_t size);
static struct cdv_shared *share_exception(PyObject *value);
static int is_urgent(PyObject *value);
static int error_from_exception(PyObject *value, const char *text, int keep);
static int error_from_source(void);
static int check_python_signals(void);
static void forget_cause(void);

/* ---- pycall.c: calls of Python from C ---- */
enum { /* names that are interned */
       W_DEVICE_ARRAY,
       W_ARRAY,
       W_DLPACK,
       W_DLPACK_DEVICE,
       W_EXCHANGE,
       W_REQUIRES_GRAD,
       W_MAX_VERSION,
       W_SCHEMA, /* this one and the next three: keywords of asarray() whose default is None */
       W_DEVICE,
       W_STREAM,
       W_COPY,
       N_WORDS
};
/* Each gives a new reference, or NULL with an exception. */
static PyObject *call_method(PyObject *self, int name); /* without arguments */
/* Calls with the arguments of a function of cdevice. */
static PyObject *pass_on(PyObject *callable, PyObject *const *args, Py_ssize_t n, PyObject *names);
static PyObject *call_python(const char *module, const char *function, PyObject *args); /* takes args over */
/* Py_buffer as every version has it. */
struct buffer_view {
  void *data;
  PyObject *object;
  Py_ssize_t nbytes, itemsize;
  int readonly, ndim;
  const char *format;
  const Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
};
#define WITH_FORMAT 0x4
#define WITH_STRIDES 0x18
/* An attribute; NULL without an exception where there is none or it is None. */
static PyObject *attribute(PyObject *o, int name);
/* The thread that drops Python owners runs: to be asked for before one is made.  -1 with an exception. */
static int ensure_release_thread(void);

/* ---- pyargs.c: what Python gave, as C has it ---- */
static int to_int64(PyObject *o, void *out);
static int to_int(PyObject *o, void *out);
static int level_of(PyObject *validate);
static const char *metadata_of(PyObject *bytes);
static int protocol_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **requested);

/* ---- pyschema.c ---- */
typedef struct {
  PyObject_HEAD struct cdv_schema *schema;
} SchemaObject;
static PyTypeObject *SchemaBase;   /* here */
static PyTypeObject *schema_class; /* cdevice.Schema */
static const char N_SCHEMA[] = "arrow_schema";
static PyObject *wrap_schema(struct cdv_schema *s); /* takes the reference over */
static struct cdv_schema *schema_of(PyObject *o);
static struct cdv_schema *hold_schema(PyObject *o);
static PyObject *schema_capsule(struct cdv_schema *s);
static struct cdv_schema *negotiate(struct cdv_schema *own, struct cdv_array *a, PyObject *requested);

/* ---- objects/array.c ---- */
typedef struct {
  PyObject_HEAD struct cdv_array *array;
  struct cdv_array *borrowed; /* shown by address to holders of this object: theirs until it dies, release() or not */
  DLManagedTensorVersioned *tensor; /* the same of a tensor */
} ArrayObject;
static PyTypeObject *ArrayBase;                   /* here */
static PyTypeObject *array_class;                 /* cdevice.DeviceArray */
static PyObject *wrap_array(struct cdv_array *a); /* takes the reference over */
static struct cdv_array *array_of(PyObject *o);
static struct cdv_array *array_incref(PyObject *o);
static void array_decref(struct cdv_array *a);
/* tp_new of arrays and schemas. */
static PyObject *no_constructor(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* ---- pyexport.c, pydlpack.c: methods of arrays ---- */
static PyObject *a_device_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
static PyObject *a_plain_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
static PyObject *a_schema_capsule(PyObject *self, PyObject *unused);
static PyObject *a_export_structs(PyObject *self, PyObject *args);
static PyObject *a_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
static PyObject *a_dlpack_capsule(PyObject *self, PyObject *args);
static PyObject *a_dlpack_device(PyObject *self, PyObject *unused);

/* ---- pyimport.c, pydlpack.c, pyexchange.c: arrays of others' ---- */
/* From the two capsules of the Arrow PyCapsule protocol, which are moved out of; on an error they are untouched. */
static PyObject *take_capsules(PyObject *schema, PyObject *array, int level);
struct tensor { /* one of the first two */
  DLManagedTensorVersioned *versioned;
  DLManagedTensor *legacy;
  void *sync_event; /* or NULL */
  bool behind;      /* instead of sync_event: an event is recorded on the stream */
  void *stream;
  PyObject *keep; /* a reference is taken, or NULL */
};
/* GIL held; let go while a device is asked. ensure_release_thread() comes first. 0, or an error in the slot. owns:
 * the array has the tensor; on an error it is the caller's. */
static int import_tensor(const struct tensor *t, int level, struct cdv_array **out);
/* A numpy array as it is; NULL without an exception: it is none, or needs a second look. */
static PyObject *take_ndarray(PyObject *object);
/* By the exchange table of an object's type; NULL without an exception: not this way, ask __dlpack__. */
static PyObject *take_exchange(PyObject *object);

/* ---- pystream.c ---- */
typedef struct {
  PyObject_HEAD struct cdv_stream *stream; /* NULL: closed or handed on */
  _Atomic(const void *) user; /* the thread that is inside, as the address of its python_call_depth; NULL: none */
} StreamObject;
static PyTypeObject *StreamBase;
static _Atomic(PyTypeObject *) stream_class; /* once cdevice.stream is imported */
static PyObject *wrap_stream(struct cdv_stream *s); /* takes it over */
/* Takes the stream for one call; give_back() ends it. */
static struct cdv_stream *stream_lock(StreamObject *o);
static void stream_unlock(StreamObject *o);

/* ---- pysource.c ---- */
static PyObject *iterator_below(struct cdv_stream *s);

#endif
