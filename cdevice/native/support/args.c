/* args.c - arguments from Python as C has them. */
#include "native/common.h"

/* ---- numbers: what does not fit is a ValueError, as any other bad argument ---- */
static int to_int64(PyObject *o, void *out) { /* a converter of PyArg_ParseTuple */
  long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%R is beyond 64 bits", o);
    return 0;
  }
  *(long long *)out = v;
  return 1;
}

static int to_int(PyObject *o, void *out) {
  long long v;
  if (!to_int64(o, &v)) return 0;
  if (v == (int)v) {
    *(int *)out = (int)v;
    return 1;
  }
  PyErr_Format(PyExc_ValueError, "%lld is beyond 32 bits", v);
  return 0;
}

/* "structure", "full" or None; -1 with an exception for anything else. */
static int level_of(PyObject *validate) {
  if (!validate) return 1;
  if (validate == Py_None) return 0;
  if (PyUnicode_Check(validate)) {
    if (PyUnicode_CompareWithASCIIString(validate, "structure") == 0) return 1;
    if (PyUnicode_CompareWithASCIIString(validate, "full") == 0) return 2;
  }
  PyErr_Format(PyExc_ValueError, "validate is \"structure\", \"full\" or None, not %R", validate);
  return -1;
}

/* An encoded metadata block in a bytes object, which must hold all of it; NULL with an exception. */
static const char *metadata_of(PyObject *bytes) {
  const char *m = PyBytes_AsString(bytes);
  if (!m || cdv_metadata_fits(m, PyBytes_Size(bytes))) return m;
  PyErr_SetString(PyExc_ValueError, "metadata: expected a mapping, or bytes encoded as ArrowSchema.metadata");
  return NULL;
}

/* (requested_schema=None, **unknown): unknown keywords must be None.  Returns 0 and *requested (borrowed). */
static int protocol_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **requested) {
  *requested = n > 0 ? args[0] : NULL;
  if (n > 1) {
    PyErr_SetString(PyExc_TypeError, "expected at most 1 positional argument (requested_schema)");
    return -1;
  }
  Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "requested_schema") == 0) {
      if (n) {
        PyErr_SetString(PyExc_TypeError, "requested_schema given twice");
        return -1;
      }
      *requested = args[n + i];
    } else if (args[n + i] != Py_None) {
      PyErr_Format(PyExc_NotImplementedError, "the keyword %R is not supported", name);
      return -1;
    }
  }
  return 0;
}
