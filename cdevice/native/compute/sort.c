/* sort.c - the order of rows. */
#include "native/common.h"

static void free_sort_keys(struct cdv_sort_key *keys, Py_ssize_t n) {
  while (n) array_decref(keys[--n].column);
  free(keys);
}

/* Keys from a list of (array, descending, nulls first, distinct), each array held; NULL with an exception. */
static struct cdv_sort_key *hold_sort_keys(PyObject *list, Py_ssize_t n) {
  struct cdv_sort_key *keys = calloc((size_t)n + 1, sizeof *keys);
  if (!keys) return (void *)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *array;
    int descending, nulls_first, distinct;
    bool ok = PyArg_ParseTuple(PyList_GetItem(list, i), "Oppp", &array, &descending, &nulls_first, &distinct);
    if (ok) keys[i] = (struct cdv_sort_key){array_incref(array), descending, nulls_first, distinct};
    if (!ok || !keys[i].column) {
      free_sort_keys(keys, i);
      return NULL;
    }
  }
  return keys;
}

/* By all keys, or of the first one the least of each tile. */
static PyObject *sort_rows(PyObject *args, bool least) {
  PyObject *list, *handle, *owner;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "O!sOO", &PyList_Type, &list, &doing, &handle, &owner)) return NULL;
  Py_ssize_t n = PyList_Size(list);
  struct cdv_sort_key *keys = hold_sort_keys(list, n);
  if (!keys) return NULL;
  if (!n || begin_work(&w, NULL, 0, handle, owner)) {
    if (!n) PyErr_SetString(PyExc_ValueError, "a sort needs a key");
    free_sort_keys(keys, n);
    return NULL;
  }
  int r = least ? cdv_compute_sort_least(keys, &w.stream_ref, doing, &out)
                : cdv_compute_sort_indices(keys, n, &w.stream_ref, doing, &out);
  PyObject *o = end_work(&w, r, out);
  free_sort_keys(keys, n);
  return o;
}

/* compute_sort_indices(list of (array, descending, nulls first, distinct), function, stream handle, its owner), or
 * NotImplemented: a type without an order here */
static PyObject *m_compute_sort_indices(PyObject *self, PyObject *args) {
  (void)self;
  return sort_rows(args, false);
}

/* compute_sort_least(the same): of the first key */
static PyObject *m_compute_sort_least(PyObject *self, PyObject *args) {
  (void)self;
  return sort_rows(args, true);
}

/* compute_sorted_groups(the same list, their indices, function, stream handle, its owner) */
static PyObject *m_compute_sorted_groups(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *list, *indices, *handle, *owner;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "O!OsOO", &PyList_Type, &list, &indices, &doing, &handle, &owner)) return NULL;
  Py_ssize_t n = PyList_Size(list);
  struct cdv_sort_key *keys = hold_sort_keys(list, n);
  if (!keys) return NULL;
  if (!n || begin_work(&w, &indices, 1, handle, owner)) {
    if (!n) PyErr_SetString(PyExc_ValueError, "groups need a key");
    free_sort_keys(keys, n);
    return NULL;
  }
  int r = cdv_compute_sorted_groups(keys, n, w.x[0], &w.stream_ref, doing, &out);
  PyObject *o = end_work(&w, r, out);
  free_sort_keys(keys, n);
  return o;
}
