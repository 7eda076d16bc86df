/* asarray.c - the way in: common objects become arrays here, others in interop/asarray.py. */
#include "native/common.h"

/* ---- numpy ---- */

static _Atomic(PyTypeObject *) ndarray_class; /* numpy.ndarray, once a numpy array was met; never freed */

/* set_ndarray(numpy.ndarray) */
static PyObject *m_set_ndarray(PyObject *self, PyObject *class) {
  (void)self;
  if ((PyObject *)atomic_load(&ndarray_class) == class) Py_RETURN_NONE;
  Py_INCREF(class);
  atomic_store(&ndarray_class, (PyTypeObject *)class); /* the one before may be in use */
  Py_RETURN_NONE;
}

/* The format of what a buffer holds; 0: it needs a second look.  A letter of struct's gives the kind, not the size. */
static char letter_of(const struct buffer_view *v) {
  static const char signed_letters[] = " cs i   l", unsigned_letters[] = " CS I   L", float_letters[] = "  e f   g";
  const char *code = v->format;
  if (!code || !code[0] || code[1] || v->itemsize < 1 || v->itemsize > 8) return 0;
  const char *letters = strchr("bhilq", code[0])   ? signed_letters
                        : strchr("BHILQ", code[0]) ? unsigned_letters
                        : strchr("efd", code[0])   ? float_letters
                                                   : "         ";
  return letters[v->itemsize] == ' ' ? 0 : letters[v->itemsize];
}

static PyObject *build_numbers(PyObject *object, const struct buffer_view *v, char letter) {
  const void *buffers[2] = {NULL, v->data};
  struct cdv_parts p = {
      .device_type = ARROW_DEVICE_CPU, .device_id = -1, .length = v->shape[0], .n_buffers = 2, .buffers = buffers};
  struct cdv_owner owner;
  struct cdv_array *a;
  if (make_owner(object, &owner)) return NULL;
  struct cdv_schema *schema = cdv_schema_of_number(letter);
  int r = cdv_array_build(schema, &p, owner, 0, &a);
  cdv_schema_unref(schema);
  if (!r) return wrap_array(a);
  raise_last();
  owner.drop(owner.owner);
  return NULL;
}

/* The array keeps the object, which keeps its memory: the view is given back at once. */
static PyObject *take_ndarray(PyObject *object) {
  struct buffer_view v;
  PyObject *out = NULL;
  if (Py_TYPE(object) != ndarray_class || ensure_release_thread()) return NULL;
  run_deferred_releases();
  if (get_buffer(object, &v, WITH_STRIDES | WITH_FORMAT)) {
    if (PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear(); /* dates and the like have none */
    return NULL;
  }
  char letter = v.ndim == 1 ? letter_of(&v) : 0;
  bool contiguous = letter && (v.shape[0] < 2 || v.strides[0] == v.itemsize);
  if (contiguous && v.data && (uintptr_t)v.data % (size_t)v.itemsize == 0) out = build_numbers(object, &v, letter);
  release_buffer(&v);
  return out;
}

/* ---- Arrow ---- */

static PyObject *take_pair(PyObject *method) {
  PyObject *made = PyObject_CallNoArgs(method), *out = NULL;
  if (!made) return NULL;
  PyObject *pair = PyTuple_Check(made) ? made : PySequence_Tuple(made);
  if (pair != made) Py_DECREF(made);
  if (!pair) return NULL;
  if (PyTuple_Size(pair) == 2)
    out = take_capsules(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), 1);
  else
    PyErr_Format(PyExc_ValueError, "the Arrow PyCapsule protocol returns 2 capsules, not %zd", PyTuple_Size(pair));
  Py_DECREF(pair);
  return out;
}

/* A new reference; NULL without an exception: that is for Python. */
static PyObject *take(PyObject *object) {
  if (PyObject_TypeCheck(object, ArrayBase)) {
    Py_INCREF(object);
    return object;
  }
  if (Py_TYPE(object) == ndarray_class) return take_ndarray(object);
  for (int name = W_DEVICE_ARRAY; name <= W_ARRAY; name++) {
    PyObject *method = attribute(object, name), *out;
    if (method) {
      out = take_pair(method);
      Py_DECREF(method);
      return out;
    }
    if (PyErr_Occurred()) return NULL;
  }
  return take_exchange(object);
}

/* Do the keywords say nothing?  Names in a program's text are interned. */
static bool all_default(PyObject *const *values, PyObject *names) {
  for (Py_ssize_t i = PyTuple_Size(names); i-- > 0;) {
    PyObject *name = PyTuple_GetItem(names, i);
    int k = W_SCHEMA;
    while (k <= W_COPY && name != interned[k]) k++;
    if (values[i] != Py_None || k > W_COPY) return false;
  }
  return true;
}

/* asarray(obj) is tried here; self: the function in Python. */
static PyObject *asarray_fast(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  if (n == 1 && (!names || all_default(args + 1, names))) {
    PyObject *out = take(args[0]);
    if (out || PyErr_Occurred()) return out;
  }
  return pass_on(self, args, n, names);
}

/* What a built-in function is made from; it stays, as the function does.  NULL with an exception. */
static PyMethodDef *way_in_def(PyObject *doc) {
  static PyMethodDef def = {"asarray", FAST(asarray_fast), METH_FASTCALL | METH_KEYWORDS, NULL};
  static const char head[] =
      "asarray(obj, schema=None, *, device=None, stream=None, copy=None, validate='structure')\n--\n\n";
  if (def.ml_doc) return &def; /* the package is imported once more */
  PyObject *bytes = PyUnicode_Check(doc) ? PyUnicode_AsUTF8String(doc) : PyBytes_FromString(""); /* -OO: None */
  char *text = bytes ? malloc(sizeof head + (size_t)PyBytes_Size(bytes)) : NULL;
  if (text) def.ml_doc = strcat(strcpy(text, head), PyBytes_AsString(bytes));
  if (!text && !PyErr_Occurred()) PyErr_NoMemory();
  Py_XDECREF(bytes);
  return text ? &def : NULL;
}

/* asarray_fast(function): the same function, tried in C first. */
static PyObject *m_way_in(PyObject *self, PyObject *function) {
  (void)self;
  PyObject *doc = PyObject_GetAttrString(function, "__doc__");
  PyObject *module = doc ? PyObject_GetAttrString(function, "__module__") : NULL;
  PyMethodDef *def = module ? way_in_def(doc) : NULL;
  PyObject *out = def ? PyCFunction_NewEx(def, function, module) : NULL;
  Py_XDECREF(doc);
  Py_XDECREF(module);
  return out;
}
