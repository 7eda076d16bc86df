/* running.c - running sums, products and extremes. */
#include "native/common.h"

/* compute_running(array, operation, bits of the start value, skip_nulls, function, stream handle, its owner), or
 * NotImplemented: a type that kernels do not have; operation: an enum cdv_running_operation */
static PyObject *m_compute_running(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *handle, *owner;
  int operation, skip_nulls;
  unsigned long long start;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OiKpsOO", &x, &operation, &start, &skip_nulls, &doing, &handle, &owner)) return NULL;
  if (operation < CDV_RUNNING_SUM || operation > CDV_RUNNING_MAX) {
    PyErr_SetString(PyExc_ValueError, "no such operation");
    return NULL;
  }
  if (begin_work(&w, &x, 1, handle, owner)) return NULL;
  int r = cdv_compute_running(w.x[0], (enum cdv_running_operation)operation, (int64_t)start, skip_nulls, &w.stream_ref,
                              doing, &out);
  return end_work(&w, r, out);
}
