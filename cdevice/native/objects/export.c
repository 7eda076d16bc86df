/* export.c - how arrays leave: the PyCapsule protocol, structs by address. */
#include "native/common.h"

static const char N_ARRAY[] = "arrow_array", N_DEVICE_ARRAY[] = "arrow_device_array";

static void free_array(PyObject *c, const char *name) {
  struct pending p = save_exception();
  struct ArrowDeviceArray *d = PyCapsule_GetPointer(c, name);
  if (d->array.release) d->array.release(&d->array);
  free(d);
  restore_exception(p);
}
static void free_device_array_capsule(PyObject *c) { free_array(c, N_DEVICE_ARRAY); }
static void free_array_capsule(PyObject *c) { free_array(c, N_ARRAY); } /* the same memory under the plain name */

static PyObject *array_capsule(struct cdv_array *a, int plain) {
  struct ArrowDeviceArray *out = malloc(sizeof *out);
  if (!out) return PyErr_NoMemory();
  if (cdv_array_export(a, out)) {
    free(out);
    return raise_last();
  }
  PyObject *c = plain ? PyCapsule_New(out, N_ARRAY, free_array_capsule)
                      : PyCapsule_New(out, N_DEVICE_ARRAY, free_device_array_capsule);
  if (!c) {
    out->array.release(&out->array);
    free(out);
  }
  return c;
}

/* The array first: the export keeps the array, and with it the schema, in any code that runs from there on. */
static PyObject *export_pair(PyObject *self, PyObject *requested, int plain) {
  run_deferred_releases();
  struct cdv_array *a = ((ArrayObject *)self)->array; /* a method: its class is known */
  PyObject *d = a ? array_capsule(a, plain) : (array_of(self), NULL), *s = NULL;
  if (!d) return NULL;
  if (!requested || requested == Py_None) {
    s = schema_capsule(a->schema);
  } else {
    struct cdv_schema *schema = negotiate(a->schema, a, requested);
    s = schema ? schema_capsule(schema) : NULL;
    if (schema) cdv_schema_unref(schema);
  }
  PyObject *t = s ? PyTuple_New(2) : NULL;
  if (!t) {
    Py_DECREF(d);
    Py_XDECREF(s);
    return NULL;
  }
  PyTuple_SetItem(t, 0, s);
  PyTuple_SetItem(t, 1, d);
  return t;
}

static PyObject *a_device_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *requested = NULL;
  if ((n || names) && protocol_arguments(args, n, names, &requested)) return NULL;
  return export_pair(self, requested, 0);
}

static PyObject *a_plain_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *requested = NULL;
  if (protocol_arguments(args, n, names, &requested)) return NULL;
  struct cdv_array *a = array_incref(self);
  int r = 0;
  if (!a) return NULL;
  if (a->root->own.device_type != ARROW_DEVICE_CPU) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_array_readable(a, "__arrow_c_array__");
    PyEval_RestoreThread(python);
  }
  array_decref(a);
  return r ? raise_last() : export_pair(self, requested, 1);
}

static PyObject *a_schema_capsule(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  PyObject *out = schema_capsule(a->schema);
  array_decref(a);
  return out;
}

/* export_structs(device array address, schema address or 0): overwrites both */
static PyObject *a_export_structs(PyObject *self, PyObject *args) {
  PyObject *array_address, *schema_address;
  if (!PyArg_ParseTuple(args, "OO", &array_address, &schema_address)) return NULL;
  struct ArrowDeviceArray *d = PyLong_AsVoidPtr(array_address);
  struct ArrowSchema *q = PyErr_Occurred() ? NULL : PyLong_AsVoidPtr(schema_address);
  if (PyErr_Occurred()) return NULL;
  if (!d) {
    PyErr_SetString(PyExc_ValueError, "the address of the array struct is NULL");
    return NULL;
  }
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  int r = q ? cdv_schema_export(a->schema, q) : 0;
  if (!r && (r = cdv_array_export(a, d)) && q) q->release(q);
  return done(a, r);
}
