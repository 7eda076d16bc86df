/* segments.c - one value for the rows of each segment. */
#include "native/common.h"

/* compute_segments(values, rows or None, begins, ends, operation, function, stream handle, its owner), or
 * NotImplemented: a type that kernels do not have; operation: an enum cdv_segment_operation */
static PyObject *m_compute_segments(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[4], *handle, *owner;
  int operation;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOOOisOO", &x[0], &x[3], &x[1], &x[2], &operation, &doing, &handle, &owner)) return NULL;
  if (operation < CDV_SEGMENT_SUM || operation > CDV_SEGMENT_MAX) {
    PyErr_SetString(PyExc_ValueError, "no such operation");
    return NULL;
  }
  bool rows = x[3] != Py_None;
  if (begin_work(&w, x, rows ? 4 : 3, handle, owner)) return NULL;
  int r = cdv_compute_segments(w.x[0], rows ? w.x[3] : NULL, w.x[1], w.x[2], (enum cdv_segment_operation)operation,
                               &w.stream_ref, doing, &out);
  return end_work(&w, r, out);
}
