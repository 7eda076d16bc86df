/* iterator_source.c - Python iterators, and lists of arrays, as sources of streams; several arrays joined. */
#include "native/common.h"

struct iterator {
  struct cdv_stream s;
  PyObject *iterator;
  struct cdv_deferred *deferred; /* its drop, made beforehand */
};

static int iterator_next(struct cdv_stream *s, struct cdv_array **out) {
  struct iterator *i = (struct iterator *)s;
  PyGILState_STATE state = PyGILState_UNLOCKED;
  cdevice_error err = {.struct_size = sizeof err};
  int r = enter_python(&state, &err);
  if (r) return cdv_fail(CDV_STREAM, r, "%s", err.message);
  PyObject *item = PyIter_Next(i->iterator), *array = item;
  if (item && PyTuple_Check(item)) { /* (array, encoded metadata) */
    const char *text = PyTuple_Size(item) == 2 ? metadata_of(PyTuple_GetItem(item, 1)) : NULL;
    int64_t size = cdv_metadata_size(text);
    if (size && !(s->metadata = malloc((size_t)size)))
      PyErr_NoMemory();
    else if (size)
      memcpy(s->metadata, text, (size_t)size);
    array = PyTuple_GetItem(item, 0);
  }
  if (item) {
    if (!PyErr_Occurred()) *out = array_incref(array);
    Py_DECREF(item);
  }
  if (PyErr_Occurred()) {
    python_call_depth += s->keeps_exception;
    r = error_from_source();
    python_call_depth -= s->keeps_exception;
  }
  PyGILState_Release(state);
  return r;
}

static void iterator_close(struct cdv_stream *s) {
  struct iterator *i = (struct iterator *)s;
  release_now_or_defer(i->deferred);
  free(i);
}

/* stream_of_iterator(schema, device type, iterator of DeviceArrays) */
static PyObject *m_stream_of_iterator(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *schema, *iterator;
  int device_type;
  struct cdv_owner owner;
  if (!PyArg_ParseTuple(args, "OO&O", &schema, to_int, &device_type, &iterator)) return NULL;
  if (make_owner(iterator, &owner)) return NULL;
  struct iterator *i = malloc(sizeof *i);
  struct cdv_schema *s = i ? hold_schema(schema) : NULL;
  if (!s) {
    if (!i) PyErr_NoMemory();
    free(i);
    owner.drop(owner.owner);
    return NULL;
  }
  cdv_stream_init(&i->s, s, device_type, iterator_next, iterator_close);
  cdv_schema_unref(s);
  i->s.enters_python = true;
  i->iterator = iterator;
  i->deferred = owner.owner;
  return wrap_stream(&i->s);
}

/* Arrays of a long list lie scattered: item i's object is asked for here, the struct of one before it as well. */
#define AHEAD 8
static void expect_item(PyObject *list, Py_ssize_t i) {
  Py_ssize_t n = PyList_Size(list);
  if (i + 2 * AHEAD < n) __builtin_prefetch(PyList_GetItem(list, i + 2 * AHEAD));
  PyObject *o = i + AHEAD < n ? PyList_GetItem(list, i + AHEAD) : NULL;
  if (o && Py_TYPE(o) == array_class) __builtin_prefetch(((ArrayObject *)o)->array);
}

/* all_arrays(list): is each of its items a DeviceArray? */
static PyObject *m_all_arrays(PyObject *self, PyObject *list) {
  (void)self;
  bool all = PyList_Check(list);
  for (Py_ssize_t i = 0, n = all ? PyList_Size(list) : 0; all && i < n; i++) {
    expect_item(list, i);
    all = PyObject_TypeCheck(PyList_GetItem(list, i), ArrayBase);
  }
  return PyBool_FromLong(all);
}

/* stream_of_arrays(schema, device type, list of DeviceArrays) */
static PyObject *m_stream_of_arrays(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *schema, *list;
  int device_type;
  if (!PyArg_ParseTuple(args, "OO&O!", &schema, to_int, &device_type, &PyList_Type, &list)) return NULL;
  struct cdv_schema *s = hold_schema(schema);
  if (!s) return NULL;
  Py_ssize_t n = PyList_Size(list), held = 0;
  struct cdv_array **arrays = malloc(((size_t)n + 1) * sizeof *arrays);
  struct cdv_stream *out = NULL;
  PyObject *result = NULL;
  if (!arrays) PyErr_NoMemory();
  while (arrays && held < n && held < PyList_Size(list) && (arrays[held] = array_incref(PyList_GetItem(list, held))))
    held++;
  if (arrays && held == n)
    result = cdv_stream_of_arrays(s, device_type, arrays, n, &out) ? raise_last() : wrap_stream(out);
  else if (!PyErr_Occurred())
    PyErr_SetString(PyExc_ValueError, "the list became shorter during iteration");
  struct pending pending = save_exception();
  while (held) cdv_array_unref(arrays[--held]);
  restore_exception(pending);
  free(arrays);
  cdv_schema_unref(s);
  return result;
}

/* concat(tuple of DeviceArrays, device type or 0, device id, stream handle, its owner or None) */
static PyObject *m_concat(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *tuple, *handle, *object, *result = NULL;
  int type, r;
  long long device;
  struct cdv_shared *queue;
  if (!PyArg_ParseTuple(args, "O!O&O&OO", &PyTuple_Type, &tuple, to_int, &type, to_int64, &device, &handle, &object))
    return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if ((!stream && PyErr_Occurred()) || share(object, &queue)) return NULL;
  Py_ssize_t n = PyTuple_Size(tuple), held = 0;
  struct cdv_array **arrays = malloc(((size_t)n + 1) * sizeof *arrays), *out = NULL;
  if (!arrays) PyErr_NoMemory();
  while (arrays && held < n && (arrays[held] = array_incref(PyTuple_GetItem(tuple, held)))) held++;
  if (arrays && held == n) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_concat(arrays, n, type, device, stream, &out);
    PyEval_RestoreThread(python);
    if (!r) cdv_array_set_stream_owner(out, queue);
    result = r ? raise_last() : wrap_array(out);
  }
  while (held) array_decref(arrays[--held]);
  free(arrays);
  cdv_shared_unref(queue);
  return result;
}

/* empty(schema, rows, bitmaps?, device type, device id, stream handle, its owner or None) */
static PyObject *m_empty(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *schema, *handle, *object;
  int validity, type, r;
  long long length, device;
  struct cdv_shared *queue;
  if (!PyArg_ParseTuple(args, "OO&pO&O&OO", &schema, to_int64, &length, &validity, to_int, &type, to_int64, &device,
                        &handle, &object))
    return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if ((!stream && PyErr_Occurred()) || share(object, &queue)) return NULL;
  struct cdv_schema *s = hold_schema(schema);
  struct cdv_array *out = NULL;
  PyObject *o = NULL;
  if (s) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_empty(s, length, validity, type, device, stream, &out);
    if (r == EINVAL) no_such_device(type, device);
    PyEval_RestoreThread(python);
    if (!r) cdv_array_set_stream_owner(out, queue);
    o = r ? raise_last() : wrap_array(out);
    cdv_schema_unref(s);
  }
  cdv_shared_unref(queue);
  return o;
}

/* freeze(DeviceArray of empty(), stream handle, nulls or -1) */
static PyObject *m_freeze(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *handle;
  long long nulls;
  if (!PyArg_ParseTuple(args, "OOO&", &array, &handle, to_int64, &nulls)) return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_array *a = array_incref(array), *out = NULL;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_array_freeze(a, stream, nulls, &out);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : wrap_array(out);
  array_decref(a);
  return o;
}

/* The iterator behind a stream, through streams of cdevice; NULL: no iterator. */
static PyObject *iterator_below(struct cdv_stream *s) {
  while (s && s->next != iterator_next) s = cdv_stream_upstream(s);
  return s ? ((struct iterator *)s)->iterator : NULL;
}
