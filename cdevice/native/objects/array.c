/* array.c - the base class of cdevice.DeviceArray. */
#include "native/common.h"

static PyObject *first_array(PyTypeObject *type, Py_ssize_t n);
static allocfunc array_new = first_array;
static freefunc array_free;

static PyObject *first_array(PyTypeObject *type, Py_ssize_t n) {
  return load_error_classes() ? NULL : array_new(array_class, n);
}

static void set_array_class(PyObject *class) {
  Py_INCREF(class);
  array_class = (PyTypeObject *)class;
  array_new = (allocfunc)PyType_GetSlot(array_class, Py_tp_alloc);
  array_free = (freefunc)PyType_GetSlot(array_class, Py_tp_free);
}

static PyObject *wrap_array(struct cdv_array *a) { /* takes the reference over */
  PyObject *o = array_new(array_class, 0);         /* all zero */
  if (o)
    ((ArrayObject *)o)->array = a;
  else
    cdv_array_unref(a);
  return o;
}

static struct cdv_array *array_of(PyObject *o) {
  if (!PyObject_TypeCheck(o, ArrayBase)) {
    PyErr_Format(PyExc_TypeError, "expected a DeviceArray, not %R", (PyObject *)Py_TYPE(o));
    return NULL;
  }
  struct cdv_array *a = ((ArrayObject *)o)->array;
  if (!a) {
    cdv_fail(CDV_RELEASED, EINVAL, "the array has been released");
    raise_last();
  }
  return a;
}

/* How a function comes to core pointers, in this order (a test reads the sources for it):
 *   - arguments are converted, which may run arbitrary code;
 *   - array_incref(), hold_schema(): deferred drops are run, arbitrary code as well, then the pointer is taken,
 *     counted;
 *   - the core is called, and the reference given back.
 * The borrowed pointer of array_of() and schema_of() is for getters that do nothing else: read before anything is
 * made. */
static struct cdv_array *array_incref(PyObject *o) {
  struct cdv_array *a;
  run_deferred_releases();
  BEGIN_OBJECT_LOCK(o);
  a = array_of(o);
  if (a) cdv_array_ref(a);
  END_OBJECT_LOCK();
  return a;
}
/* Once the result is made and what went wrong is raised: the last reference may run a foreign release. */
static void array_decref(struct cdv_array *a) {
  struct pending p = save_exception();
  cdv_array_unref(a);
  restore_exception(p);
}

/* ---- array: what Python asks ---- */
static PyObject *a_release(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a;
  BEGIN_OBJECT_LOCK(self);
  a = ((ArrayObject *)self)->array;
  ((ArrayObject *)self)->array = NULL;
  END_OBJECT_LOCK();
  if (a) array_decref(a);
  Py_RETURN_NONE;
}

static PyObject *a_slice(PyObject *self, PyObject *args) {
  long long offset, length;
  if (!PyArg_ParseTuple(args, "O&O&", to_int64, &offset, to_int64, &length)) return NULL;
  struct cdv_array *a = array_incref(self), *out;
  if (!a) return NULL;
  PyObject *o = cdv_array_slice(a, offset, length, &out) ? raise_last() : wrap_array(out);
  array_decref(a);
  return o;
}

static PyObject *child(PyObject *self, PyObject *index, bool cut) {
  long long i;
  if (!to_int64(index, &i)) return NULL;
  struct cdv_array *a = array_incref(self), *out;
  if (!a) return NULL;
  PyObject *o = cdv_array_child(a, i, cut, &out) ? raise_last() : wrap_array(out);
  array_decref(a);
  return o;
}
static PyObject *a_child(PyObject *self, PyObject *index) { return child(self, index, true); }
static PyObject *a_raw_child(PyObject *self, PyObject *index) { return child(self, index, false); }

static PyObject *a_buffer(PyObject *self, PyObject *index) { /* (address or None, bytes or -1) */
  long long i;
  if (!to_int64(index, &i)) return NULL;
  struct cdv_array *a = array_incref(self);
  PyObject *o = NULL;
  if (!a) return NULL;
  if (i < 0 || i >= a->node->n_buffers) {
    PyErr_SetString(PyExc_IndexError, "no such buffer");
  } else {
    const void *p = a->node->buffers[i];
    long long size = p ? cdv_array_buffer_size(a, i) : 0;
    o = p ? Py_BuildValue("NL", PyLong_FromVoidPtr((void *)p), size) : Py_BuildValue("OL", Py_None, size);
  }
  array_decref(a);
  return o;
}

/* The reference becomes the object's, so that holders of it may use the address. */
static void lend(PyObject *self, struct cdv_array *a) {
  ArrayObject *o = (ArrayObject *)self;
  BEGIN_OBJECT_LOCK(self);
  if (!o->borrowed) {
    o->borrowed = a;
    a = NULL;
  }
  END_OBJECT_LOCK();
  if (a) array_decref(a);
}

/* _lend(): the holder of this object may use the address as long as it holds it. */
static PyObject *a_lend(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  lend(self, a);
  Py_RETURN_NONE;
}

/* None, or what the core reported. */
static PyObject *done(struct cdv_array *a, int r) {
  PyObject *o = r ? raise_last() : (Py_INCREF(Py_None), Py_None);
  array_decref(a);
  return o;
}

static PyObject *a_validate(PyObject *self, PyObject *level) {
  int l = level_of(level), r;
  struct cdv_array *a = l < 0 ? NULL : array_incref(self);
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_validate_view(a, l);
  PyEval_RestoreThread(python);
  return done(a, r);
}

static PyObject *a_equal(PyObject *self, PyObject *args) {
  PyObject *other;
  int nans, r, equal = 0;
  if (!PyArg_ParseTuple(args, "Op", &other, &nans)) return NULL;
  struct cdv_array *a = array_incref(self), *b = a ? array_incref(other) : NULL;
  PyObject *o = NULL;
  if (b) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_equal(a, b, nans, &equal);
    PyEval_RestoreThread(python);
    o = r ? raise_last() : PyBool_FromLong(equal);
    array_decref(b);
  }
  if (a) array_decref(a);
  return o;
}

/* _copy(device type, device id, stream handle, its owner or None, always) */
static PyObject *a_copy(PyObject *self, PyObject *args) {
  int type, always, r;
  long long device;
  PyObject *handle, *object;
  struct cdv_shared *queue;
  if (!PyArg_ParseTuple(args, "O&O&OOp", to_int, &type, to_int64, &device, &handle, &object, &always)) return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if ((!stream && PyErr_Occurred()) || share(object, &queue)) return NULL;
  struct cdv_array *a = array_incref(self), *out = NULL;
  PyObject *o = NULL;
  if (a) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_copy(a, type, device, stream, always, &out);
    if (r == EINVAL) no_such_device(type, device);
    PyEval_RestoreThread(python);
    if (!r && out->root != a->root) cdv_array_set_stream_owner(out, queue);
    o = r ? raise_last() : wrap_array(out);
    array_decref(a);
  }
  cdv_shared_unref(queue);
  return o;
}

static PyObject *a_wait_host(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  int r;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_event_wait_host(a);
  PyEval_RestoreThread(python);
  return done(a, r);
}

/* The value of an array of one row, a number, a bool or None, that the CPU may read now; NotImplemented for any other array. */
static PyObject *a_lone_number(PyObject *self, PyObject *unused) {
  (void)unused;
  union {
    int8_t c;
    uint8_t C;
    int16_t s;
    uint16_t S;
    int32_t i;
    uint32_t I;
    int64_t l;
    uint64_t L;
    float f;
    double g;
  } x;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  PyObject *o = NULL;
  const struct ArrowSchema *s = a->schema->node;
  char format = s->format[0];
  bool plain = a->length == 1 && a->root->own.device_type == ARROW_DEVICE_CPU && !a->root->own.sync_event && format &&
               !s->format[1] && !s->dictionary && !s->metadata && strchr("bcCsSiIlLfg", format);
  const uint8_t *values = plain ? a->node->buffers[1] : NULL;
  size_t width = plain ? (size_t)cdv_value_width(s) : 0;
  if (values && width) memcpy(&x, values + (size_t)a->offset * width, width);
  if (!values)
    o = Py_NewRef(Py_NotImplemented);
  else if (cdv_may_be_null(a) && !cdv_bit(a->node->buffers[0], a->offset))
    o = Py_NewRef(Py_None);
  else
    switch (format) {
      case 'b': o = PyBool_FromLong(cdv_bit(values, a->offset)); break;
      case 'c': o = PyLong_FromLong(x.c); break;
      case 'C': o = PyLong_FromLong(x.C); break;
      case 's': o = PyLong_FromLong(x.s); break;
      case 'S': o = PyLong_FromLong(x.S); break;
      case 'i': o = PyLong_FromLong(x.i); break;
      case 'I': o = PyLong_FromUnsignedLong(x.I); break;
      case 'l': o = PyLong_FromLongLong(x.l); break;
      case 'L': o = PyLong_FromUnsignedLongLong(x.L); break;
      case 'f': o = PyFloat_FromDouble((double)x.f); break;
      default: o = PyFloat_FromDouble(x.g);
    }
  array_decref(a);
  return o;
}

static PyObject *a_wait_for(PyObject *self, PyObject *seconds) { /* -> has it passed? */
  double s = PyFloat_AsDouble(seconds);
  int r, passed = 0;
  if (s == -1 && PyErr_Occurred()) return NULL;
  int64_t ns = s > 1e6 ? (int64_t)1000000000000000 : s > 0 ? (int64_t)(s * 1e9) : 0; /* NaN: 0 */
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_event_wait_for(a, ns, &passed);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : PyBool_FromLong(passed);
  array_decref(a);
  return o;
}

static PyObject *a_wait_stream(PyObject *self, PyObject *args) { /* (device type, stream handle) */
  int type, r;
  PyObject *handle;
  if (!PyArg_ParseTuple(args, "O&O", to_int, &type, &handle)) return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_event_wait_stream(a, type, a->root->own.device_id, stream);
  PyEval_RestoreThread(python);
  return done(a, r);
}

static PyObject *a_record_use(PyObject *self, PyObject *handle) {
  void *stream = PyLong_AsVoidPtr(handle);
  int r;
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_record_use(a, stream);
  PyEval_RestoreThread(python);
  return done(a, r);
}

static PyObject *a_readable(PyObject *self, PyObject *doing) { /* waits; raises where the CPU cannot read */
  PyObject *text = PyUnicode_AsUTF8String(doing);
  struct cdv_array *a = text ? array_incref(self) : NULL;
  PyObject *o = NULL;
  if (a) {
    const char *what = PyBytes_AsString(text);
    int r;
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_readable(a, what);
    PyEval_RestoreThread(python);
    o = done(a, r);
  }
  Py_XDECREF(text);
  return o;
}

#define ARRAY_GETTER(name, expression)                          \
  static PyObject *a_get_##name(PyObject *self, void *unused) { \
    (void)unused;                                               \
    PyObject *result;                                           \
    BEGIN_OBJECT_LOCK(self);                                    \
    struct cdv_array *a = array_of(self);                       \
    result = a ? (expression) : NULL;                           \
    END_OBJECT_LOCK();                                          \
    return result;                                              \
  }
ARRAY_GETTER(schema, wrap_schema(cdv_schema_ref(a->schema)))
ARRAY_GETTER(length, PyLong_FromLongLong(a->length))
ARRAY_GETTER(offset, PyLong_FromLongLong(a->offset))
ARRAY_GETTER(device_type_id, PyLong_FromLong(a->root->own.device_type))
ARRAY_GETTER(device_id, PyLong_FromLongLong(a->root->own.device_id))
ARRAY_GETTER(n_children, PyLong_FromLongLong(a->schema->node->n_children))
ARRAY_GETTER(n_buffers, PyLong_FromLongLong(a->node->n_buffers))
ARRAY_GETTER(format, PyUnicode_FromString(a->schema->node->format))
ARRAY_GETTER(sync_event, PyLong_FromVoidPtr(a->root->own.sync_event))

static PyObject *a_get_null_count(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  long long n;
  if (!a) return NULL;
  n = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  if (n < 0) {
    PyThreadState *python = PyEval_SaveThread();
    n = cdv_array_null_count(a);
    PyEval_RestoreThread(python);
  }
  array_decref(a);
  return PyLong_FromLongLong(n);
}

static PyObject *a_get_nbytes(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  long long n;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  n = cdv_array_nbytes(a);
  PyEval_RestoreThread(python);
  array_decref(a);
  return PyLong_FromLongLong(n);
}

static PyObject *a_get_ready(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  int r, passed = 0;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_event_ready(a, &passed);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : PyBool_FromLong(passed);
  array_decref(a);
  return o;
}

static PyObject *a_get_released(PyObject *self, void *unused) {
  (void)unused;
  int released;
  BEGIN_OBJECT_LOCK(self);
  released = !((ArrayObject *)self)->array;
  END_OBJECT_LOCK();
  return PyBool_FromLong(released);
}

static PyObject *no_constructor(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  PyErr_Format(PyExc_TypeError, "%R objects come from cdevice.asarray() and cdevice.schema()", (PyObject *)type);
  return NULL;
}

static void delete_tensor(DLManagedTensorVersioned *t) {
  struct pending p = save_exception();
  t->deleter(t);
  restore_exception(p);
}

static void a_dealloc(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  struct cdv_array *a = ((ArrayObject *)o)->array, *borrowed = ((ArrayObject *)o)->borrowed;
  DLManagedTensorVersioned *tensor = ((ArrayObject *)o)->tensor;
  if (a) array_decref(a);
  if (borrowed) array_decref(borrowed);
  if (tensor) delete_tensor(tensor);
  array_free(o);
  Py_DECREF(type);
}

static PyMethodDef a_methods[] = {
    {"__arrow_c_device_array__", FAST(a_device_array), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_device_array__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol: (schema, device "
     "array).\n\n"
     "Copies nothing and does not wait; the event travels along.  Any number of times."},
    {"__arrow_c_array__", FAST(a_plain_array), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_array__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol: (schema, array) in CPU "
     "memory.\n\n"
     "Waits for the event.  Raises CannotExport for memory that the CPU cannot read: use .to(\"cpu\")."},
    {"__arrow_c_schema__", a_schema_capsule, METH_NOARGS,
     "__arrow_c_schema__()\n--\n\nThe Arrow PyCapsule protocol: the schema."},
    {"__dlpack_device__", a_dlpack_device, METH_NOARGS,
     "__dlpack_device__()\n--\n\n(DLPack device type, number): the ArrowDeviceType; number 0 for memory that the CPU "
     "can "
     "read."},
    {"__dlpack__", FAST(a_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe DLPack protocol, for "
     "fixed-width "
     "numbers without nulls, fixed-size lists of them having more dimensions;\nwithout a copy unless asked for one.\n\n"
     "``stream``: waits for the data, as DLPack numbers streams (-1: nothing waits; None: the default stream, or the\n"
     "host where the device has none).  ``max_version``: None gives the capsule of before 1.0.  ``dl_device``: (1, 0)\n"
     "copies to the CPU.  Read-only, as Arrow's data is.  Raises CannotExport (a BufferError)."},
    {"release", a_release, METH_NOARGS,
     "release()\n--\n\nDrops this object's reference to the data.  Idempotent; later use raises Released.\n\nDoes not "
     "block: memory that the device still uses is freed later."},
    {"_slice", a_slice, METH_VARARGS, NULL},
    {"_child", a_child, METH_O, NULL},
    {"_raw_child", a_raw_child, METH_O, NULL},
    {"_buffer", a_buffer, METH_O, NULL},
    {"_lend", a_lend, METH_NOARGS, NULL},
    {"_validate", a_validate, METH_O, NULL},
    {"_equal", a_equal, METH_VARARGS, NULL},
    {"_copy", a_copy, METH_VARARGS, NULL},
    {"_lone_number", a_lone_number, METH_NOARGS, NULL},
    {"_wait_host", a_wait_host, METH_NOARGS, NULL},
    {"_wait_for", a_wait_for, METH_O, NULL},
    {"_wait_stream", a_wait_stream, METH_VARARGS, NULL},
    {"_record_use", a_record_use, METH_O, NULL},
    {"_readable", a_readable, METH_O, NULL},
    {"_export_structs", a_export_structs, METH_VARARGS, NULL},
    {"_dlpack", a_dlpack_capsule, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef a_getset[] = {
    {"length", a_get_length, NULL, "Rows.", NULL},
    {"offset", a_get_offset, NULL, "Rows before the first one in the buffers.", NULL},
    {"null_count", a_get_null_count, NULL,
     "Nulls; counted when needed.  -1: unknown, on a device that the CPU cannot read.", NULL},
    {"nbytes", a_get_nbytes, NULL,
     "Bytes of the buffers that these rows cover, children included; -1: unknown without waiting.", NULL},
    {"device_type_id", a_get_device_type_id, NULL, "The ArrowDeviceType as int.", NULL},
    {"device_id", a_get_device_id, NULL, "Which device of that type; -1 for the CPU.", NULL},
    {"sync_event", a_get_sync_event, NULL, "Address of the event, 0 when the data is safe to use.", NULL},
    {"ready", a_get_ready, NULL, "True once the device has passed the event.  Does not wait.", NULL},
    {"released", a_get_released, NULL, "True after release().", NULL},
    {"_schema", a_get_schema, NULL, NULL, NULL},
    {"_n_children", a_get_n_children, NULL, NULL, NULL},
    {"_n_buffers", a_get_n_buffers, NULL, NULL, NULL},
    {"_format", a_get_format, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot a_slots[] = {{Py_tp_new, no_constructor},
                                {Py_tp_dealloc, a_dealloc},
                                {Py_tp_methods, a_methods},
                                {Py_tp_getset, a_getset},
                                {0, NULL}};
static PyType_Spec a_spec = {"cdevice._native.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             a_slots};
