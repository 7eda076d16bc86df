/* stream.c - device array streams as Python objects, and Python iterators as streams.
 *
 * A stream object is used by one thread at a time; a second one gets an exception instead of a race. */
#include "native/common.h"

static const char N_STREAM[] = "arrow_array_stream", N_DEVICE_STREAM[] = "arrow_device_array_stream";

static PyObject *wrap_stream(struct cdv_stream *s) { /* takes it over */
  PyObject *m = stream_class ? NULL : PyImport_ImportModule("cdevice.stream"), *o = NULL;
  Py_XDECREF(m);
  if (stream_class) o = ((allocfunc)PyType_GetSlot(stream_class, Py_tp_alloc))(stream_class, 0);
  if (o) {
    ((StreamObject *)o)->stream = s;
    atomic_init(&((StreamObject *)o)->user, NULL);
  } else {
    struct pending pending = save_exception();
    cdv_stream_close(s);
    restore_exception(pending);
  }
  return o;
}

static int enter_stream(StreamObject *o) {
  const void *user = NULL;
  if (atomic_compare_exchange_strong(&o->user, &user, &python_call_depth)) return 0;
  PyErr_SetString(PyExc_RuntimeError, user == &python_call_depth
                                          ? "the stream is already in use: this call comes from its own source"
                                          : "the stream is in use by another thread");
  return -1;
}

static struct cdv_stream *stream_lock(StreamObject *o) {
  if (enter_stream(o)) return NULL;
  if (!o->stream) {
    atomic_store(&o->user, NULL);
    cdv_fail(CDV_RELEASED, EINVAL, "the stream is closed or was passed to a consumer");
    raise_last();
  }
  return o->stream;
}
static void stream_unlock(StreamObject *o) { atomic_store(&o->user, NULL); }

/* ---- import ---- */
/* One of the two; the struct is moved out of first, so that another thread finds it consumed, and back on an error. */
static PyObject *import_stream(PyObject *lock, struct ArrowDeviceArrayStream *device, struct ArrowArrayStream *plain,
                               int level) {
  struct ArrowDeviceArrayStream d = {.release = NULL};
  struct ArrowArrayStream p = {.release = NULL};
  struct cdv_stream *s;
  int r;
  run_deferred_releases();
  BEGIN_OBJECT_LOCK(lock);
  if (device) {
    d = *device;
    device->release = NULL;
  } else {
    p = *plain;
    plain->release = NULL;
  }
  END_OBJECT_LOCK();
  if (!d.release && !p.release) {
    PyErr_SetString(PyExc_ValueError, "the stream has already been consumed");
    return NULL;
  }
  PyThreadState *python = PyEval_SaveThread();
  r = device ? cdv_stream_import(&d, level, &s) : cdv_stream_import_plain(&p, level, &s);
  PyEval_RestoreThread(python);
  if (!r) return wrap_stream(s);
  if (device)
    device->release = d.release;
  else
    plain->release = p.release;
  return raise_last();
}

/* import_stream(capsule, validate): "arrow_device_array_stream" or "arrow_array_stream" */
static PyObject *m_import_stream(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *validate;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &validate)) return NULL;
  int level = level_of(validate);
  if (level < 0) return NULL;
  if (PyCapsule_IsValid(capsule, N_STREAM)) return import_stream(capsule, NULL, PyCapsule_GetPointer(capsule, N_STREAM), level);
  struct ArrowDeviceArrayStream *d = PyCapsule_GetPointer(capsule, N_DEVICE_STREAM);
  return d ? import_stream(capsule, d, NULL, level) : NULL;
}

/* import_stream_struct(address, plain, validate) */
static PyObject *m_import_stream_struct(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *address, *validate;
  int plain;
  if (!PyArg_ParseTuple(args, "OpO", &address, &plain, &validate)) return NULL;
  int level = level_of(validate);
  void *p = level < 0 ? NULL : PyLong_AsVoidPtr(address);
  if (!p) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the address of a struct is NULL");
    return NULL;
  }
  return plain ? import_stream(address, NULL, p, level) : import_stream(address, p, NULL, level);
}

/* ---- use ---- */
static PyObject *t_next(PyObject *self) {
  StreamObject *o = (StreamObject *)self;
  run_deferred_releases();
  struct cdv_stream *s = stream_lock(o);
  struct cdv_array *a = NULL;
  int r;
  if (!s) return NULL;
  if (s->nonblocking && !s->has_wait_stream) {
    r = cdv_stream_next(s, &a);
  } else {
    python_call_depth++;
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_stream_next(s, &a);
    PyEval_RestoreThread(python);
    python_call_depth--;
    if (!r && !python_call_depth) forget_cause();
  }
  stream_unlock(o);
  if (!r) return a ? wrap_array(a) : NULL;
  return raise_original();
}

static void free_device_stream_capsule(PyObject *c) {
  struct ArrowDeviceArrayStream *s = PyCapsule_GetPointer(c, N_DEVICE_STREAM);
  if (s->release) {
    struct away away = release_gil();
    s->release(s);
    reacquire_gil(away);
  }
  free(s);
}
static void free_stream_capsule(PyObject *c) {
  struct ArrowArrayStream *s = PyCapsule_GetPointer(c, N_STREAM);
  if (s->release) {
    struct away away = release_gil();
    s->release(s);
    reacquire_gil(away);
  }
  free(s);
}

/* Moves the stream into *device or *plain. */
static int hand_over(StreamObject *o, PyObject *requested, struct ArrowDeviceArrayStream *device,
                     struct ArrowArrayStream *plain) {
  struct cdv_stream *s = stream_lock(o);
  if (!s) return -1;
  struct cdv_schema *schema = negotiate(s->schema, NULL, requested);
  int r = schema ? 0 : -1;
  if (schema) {
    struct cdv_schema *other = schema == s->schema ? NULL : schema;
    r = device ? cdv_stream_export(s, other, device) : cdv_stream_export_plain(s, other, plain);
    cdv_schema_unref(schema);
    if (r) raise_last();
  }
  if (!r) o->stream = NULL;
  stream_unlock(o);
  return r ? -1 : 0;
}

static PyObject *stream_capsule(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names, int plain) {
  PyObject *requested = NULL;
  if ((n || names) && protocol_arguments(args, n, names, &requested)) return NULL;
  size_t size = plain ? sizeof(struct ArrowArrayStream) : sizeof(struct ArrowDeviceArrayStream);
  run_deferred_releases();
  void *out = malloc(size);
  if (!out) return PyErr_NoMemory();
  if (hand_over((StreamObject *)self, requested, plain ? NULL : out, plain ? out : NULL)) {
    free(out);
    return NULL;
  }
  PyObject *c = plain ? PyCapsule_New(out, N_STREAM, free_stream_capsule)
                      : PyCapsule_New(out, N_DEVICE_STREAM, free_device_stream_capsule);
  if (!c) {
    if (plain)
      ((struct ArrowArrayStream *)out)->release(out);
    else
      ((struct ArrowDeviceArrayStream *)out)->release(out);
    free(out);
  }
  return c;
}
static PyObject *t_device_stream(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  return stream_capsule(self, args, n, names, 0);
}
static PyObject *t_plain_stream(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  return stream_capsule(self, args, n, names, 1);
}

/* _export_struct(address, plain): overwrites the struct */
static PyObject *t_export_struct(PyObject *self, PyObject *args) {
  PyObject *address;
  int plain;
  if (!PyArg_ParseTuple(args, "Op", &address, &plain)) return NULL;
  void *out = PyLong_AsVoidPtr(address);
  if (!out) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the address of the stream struct is NULL");
    return NULL;
  }
  if (hand_over((StreamObject *)self, NULL, plain ? NULL : out, plain ? out : NULL)) return NULL;
  Py_RETURN_NONE;
}

/* _copied(device type, device id, stream handle, its owner or None, ahead, may a thread of cdevice run Python's
 * iterators?) -> another stream; this one is used up */
static PyObject *t_copied(PyObject *self, PyObject *args) {
  StreamObject *o = (StreamObject *)self;
  int type;
  long long device, ahead;
  int any_thread;
  PyObject *handle, *object;
  if (!PyArg_ParseTuple(args, "O&O&OOO&p", to_int, &type, to_int64, &device, &handle, &object, to_int64, &ahead,
                        &any_thread))
    return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  struct cdv_shared *queue;
  if ((!stream && PyErr_Occurred()) || share(object, &queue)) return NULL;
  struct cdv_stream *s = stream_lock(o), *out = NULL;
  if (!s) {
    cdv_shared_unref(queue);
    return NULL;
  }
  int r =
      no_such_device(type, device) ? EINVAL : cdv_stream_copy(s, type, device, stream, queue, ahead, any_thread, &out);
  cdv_shared_unref(queue);
  if (!r) o->stream = NULL;
  stream_unlock(o);
  return r ? raise_last() : wrap_stream(out);
}

/* _moved(): the same source in a new object; this one is used up. Does not block, runs no code of Python's. */
static PyObject *t_moved(PyObject *self, PyObject *unused) {
  (void)unused;
  StreamObject *o = (StreamObject *)self;
  struct cdv_stream *s = stream_lock(o);
  if (!s) return NULL;
  o->stream = NULL;
  stream_unlock(o);
  return wrap_stream(s);
}

static PyObject *t_order(PyObject *self, PyObject *handle) { /* a stream handle, or None */
  StreamObject *o = (StreamObject *)self;
  void *stream = handle == Py_None ? NULL : PyLong_AsVoidPtr(handle);
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_stream *s = stream_lock(o);
  if (!s) return NULL;
  s->wait_stream = stream;
  s->has_wait_stream = handle != Py_None;
  stream_unlock(o);
  Py_RETURN_NONE;
}

static PyObject *t_close(PyObject *self, PyObject *unused) {
  (void)unused;
  StreamObject *o = (StreamObject *)self;
  if (enter_stream(o)) return NULL;
  struct cdv_stream *s = o->stream;
  o->stream = NULL;
  stream_unlock(o);
  if (s) {
    PyThreadState *python = PyEval_SaveThread();
    cdv_stream_close(s);
    PyEval_RestoreThread(python);
    run_deferred_releases();
  }
  Py_RETURN_NONE;
}

/* ---- its part in garbage collection: a stream over a generator of its own holder is the usual way to write a
 * reader. A Python iterator is reached through what it is the only source of. ---- */
static PyObject *iterator_of(StreamObject *o) { return iterator_below(o->stream); }

static int t_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(iterator_of((StreamObject *)self));
  return 0;
}

static int t_clear(PyObject *self) {
  StreamObject *o = (StreamObject *)self;
  struct cdv_stream *s = o->stream;
  if (!iterator_of(o) || atomic_load(&o->user)) return 0;
  o->stream = NULL;
  cdv_stream_close(s);
  return 0;
}

static void t_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  struct cdv_stream *s = ((StreamObject *)self)->stream;
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  PyObject_GC_UnTrack(self);
  if (s) {
    struct away away = release_gil();
    cdv_stream_close(s);
    reacquire_gil(away);
  } /* a thread of cdevice, or a third-party producer, may need the GIL to end */
  release(self);
  Py_DECREF(type);
}

#define STREAM_GETTER(name, expression)                         \
  static PyObject *t_get_##name(PyObject *self, void *unused) { \
    (void)unused;                                               \
    StreamObject *o = (StreamObject *)self;                     \
    struct cdv_stream *s = stream_lock(o);                      \
    PyObject *result = s ? (expression) : NULL;                 \
    if (s) stream_unlock(o);                                    \
    return result;                                              \
  }
STREAM_GETTER(device_type_id, PyLong_FromLong(s->device_type))
STREAM_GETTER(schema, wrap_schema(cdv_schema_ref(s->schema)))

static PyObject *t_get_closed(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(!((StreamObject *)self)->stream);
}

static PyObject *t_schema_capsule(PyObject *self, PyObject *unused) {
  (void)unused;
  StreamObject *o = (StreamObject *)self;
  struct cdv_stream *s = stream_lock(o);
  PyObject *c = s ? schema_capsule(s->schema) : NULL;
  if (s) stream_unlock(o);
  return c;
}

static PyObject *t_no_constructor(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  PyErr_Format(PyExc_TypeError, "%R objects come from cdevice.asstream()", (PyObject *)type);
  return NULL;
}

/* set_stream_class(DeviceArrayStream) */
static PyObject *m_set_stream_class(PyObject *self, PyObject *type) {
  (void)self;
  Py_INCREF(type);
  stream_class = (PyTypeObject *)type;
  Py_RETURN_NONE;
}

static PyMethodDef t_methods[] = {
    {"__arrow_c_device_stream__", FAST(t_device_stream), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_device_stream__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol.  Uses this "
     "stream "
     "up: the consumer gets it.\n\nCopies nothing and does not wait; events travel with the arrays."},
    {"__arrow_c_stream__", FAST(t_plain_stream), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_stream__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol, for CPU memory.  Uses "
     "this stream up: the consumer gets it.\n\nEach array's event is waited for.  Raises CannotExport for memory that "
     "the CPU cannot read: use .to(\"cpu\")."},
    {"__arrow_c_schema__", t_schema_capsule, METH_NOARGS,
     "__arrow_c_schema__()\n--\n\nThe Arrow PyCapsule protocol: the schema of every array."},
    {"close", t_close, METH_NOARGS,
     "close()\n--\n\nReleases the source.  Idempotent; arrays already taken stay valid.\n\nBlocks while the source "
     "ends.  "
     "Raises RuntimeError where another thread uses the stream."},
    {"_export_struct", t_export_struct, METH_VARARGS, NULL},
    {"_copied", t_copied, METH_VARARGS, NULL},
    {"_moved", t_moved, METH_NOARGS, NULL},
    {"_order", t_order, METH_O, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef t_getset[] = {{"device_type_id", t_get_device_type_id, NULL, "The ArrowDeviceType as int.", NULL},
                                 {"_schema", t_get_schema, NULL, NULL, NULL},
                                 {"closed", t_get_closed, NULL, "True after close() and after handing on.", NULL},
                                 {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot t_slots[] = {
    {Py_tp_new, t_no_constructor}, {Py_tp_dealloc, t_dealloc},      {Py_tp_traverse, t_traverse},
    {Py_tp_clear, t_clear},        {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, t_next},
    {Py_tp_methods, t_methods},    {Py_tp_getset, t_getset},        {0, NULL}};
static PyType_Spec t_spec = {"cdevice._native.Stream", sizeof(StreamObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, t_slots};
