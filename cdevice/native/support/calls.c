/* calls.c - calls without tuples, and buffers, which the limited API of 3.10 has not: CPython's own functions,
 * found at run time. */
#include "native/common.h"

static PyObject *(*vectorcall_method)(PyObject *, PyObject *const *, size_t, PyObject *);
static int (*get_buffer)(PyObject *, struct buffer_view *, int);
static void (*release_buffer)(struct buffer_view *);
static int (*optional_attribute)(PyObject *, PyObject *, PyObject **);

static const char *const interned_names[N_WORDS] = {
    [W_DEVICE_ARRAY] = "__arrow_c_device_array__",
    [W_ARRAY] = "__arrow_c_array__",
    [W_DLPACK] = "__dlpack__",
    [W_DLPACK_DEVICE] = "__dlpack_device__",
    [W_EXCHANGE] = "__dlpack_c_exchange_api__",
    [W_REQUIRES_GRAD] = "requires_grad",
    [W_MAX_VERSION] = "max_version",
    [W_SCHEMA] = "schema",
    [W_DEVICE] = "device",
    [W_STREAM] = "stream",
    [W_COPY] = "copy",
};
static PyObject *interned[N_WORDS];
static PyObject *dlpack_keywords, *dlpack_version; /* of __dlpack__(max_version=...) */

/* Each is there from 3.10 on; the last has two names. */
static int find_calls(void) {
  *(void **)&vectorcall_method = dlsym(RTLD_DEFAULT, "PyObject_VectorcallMethod");
  *(void **)&get_buffer = dlsym(RTLD_DEFAULT, "PyObject_GetBuffer");
  *(void **)&release_buffer = dlsym(RTLD_DEFAULT, "PyBuffer_Release");
  *(void **)&optional_attribute = dlsym(RTLD_DEFAULT, "PyObject_GetOptionalAttr"); /* 3.13 and later */
  if (!optional_attribute) *(void **)&optional_attribute = dlsym(RTLD_DEFAULT, "_PyObject_LookupAttr");
  for (int i = 0; i < N_WORDS; i++)
    if (!interned[i] && !(interned[i] = PyUnicode_InternFromString(interned_names[i]))) return -1;
  if (!dlpack_keywords) dlpack_keywords = PyTuple_Pack(1, interned[W_MAX_VERSION]);
  if (!dlpack_version) dlpack_version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  if (!dlpack_keywords || !dlpack_version) return -1;
  if (vectorcall_method && get_buffer && release_buffer && optional_attribute) return 0;
  PyErr_SetString(PyExc_ImportError, "this Python lacks a function of CPython 3.10");
  return -1;
}

static PyObject *pass_on(PyObject *callable, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *tuple = PyTuple_New(n), *keywords = names ? PyDict_New() : NULL, *out = NULL;
  int r = !tuple || (names && !keywords);
  for (Py_ssize_t i = 0; !r && i < n; i++) {
    Py_INCREF(args[i]);
    r = PyTuple_SetItem(tuple, i, args[i]);
  }
  for (Py_ssize_t i = 0; !r && names && i < PyTuple_Size(names); i++)
    r = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[n + i]);
  if (!r) out = PyObject_Call(callable, tuple, keywords);
  Py_XDECREF(tuple);
  Py_XDECREF(keywords);
  return out;
}

static PyObject *call_method(PyObject *self, int name) { return vectorcall_method(interned[name], &self, 1, NULL); }

static PyObject *attribute(PyObject *o, int name) {
  PyObject *value = NULL;
  optional_attribute(o, interned[name], &value);
  if (value != Py_None) return value;
  Py_DECREF(value);
  return NULL;
}

static PyObject *call_python(const char *module, const char *function, PyObject *args) {
  PyObject *m = args ? PyImport_ImportModule(module) : NULL;
  PyObject *f = m ? PyObject_GetAttrString(m, function) : NULL;
  PyObject *result = f ? PyObject_CallObject(f, args) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(m);
  Py_XDECREF(f);
  return result;
}

static int ensure_release_thread(void) {
  static atomic_int runs = -1; /* in the process after so many forks */
  if (atomic_load_explicit(&runs, memory_order_relaxed) == cdv_fork_generation()) return 0;
  PyObject *done = call_python("cdevice._runtime.release_thread", "ensure_release_thread", PyTuple_New(0));
  if (!done) return -1;
  Py_DECREF(done);
  atomic_store(&runs, cdv_fork_generation());
  return 0;
}
