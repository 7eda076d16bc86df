/* groups.c - numbers of groups of equal rows, and what these come to. */
#include "native/common.h"

static void free_columns(struct cdv_array **columns, Py_ssize_t n) {
  while (n) array_decref(columns[--n]);
  free(columns);
}

/* The end of a call that has made two arrays; owns: takes both over. */
static PyObject *two_of(struct work *w, int r, struct cdv_array *first, struct cdv_array *second) {
  PyObject *a = end_work(w, r, first);
  if (r) return a;
  PyObject *b = wrap_array(second), *o = a && b ? PyTuple_Pack(2, a, b) : NULL;
  Py_XDECREF(a);
  Py_XDECREF(b);
  return o;
}

/* compute_group_ids(list of arrays, which floats are equal, first rows alone?, function, stream handle, its owner):
 * (ids, first rows), or the first rows. None: two keys have one hash; NotImplemented: a type that is no key. floats: an
 * enum cdv_key_float */
static PyObject *m_compute_group_ids(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *list, *handle, *owner;
  const char *doing;
  int floats, first_only;
  struct work w;
  struct cdv_array *ids = NULL, *first = NULL;
  if (!PyArg_ParseTuple(args, "O!ipsOO", &PyList_Type, &list, &floats, &first_only, &doing, &handle, &owner))
    return NULL;
  Py_ssize_t n = PyList_Size(list), held = 0;
  struct cdv_array **columns = calloc((size_t)n + 1, sizeof(struct cdv_array *));
  if (!columns) return PyErr_NoMemory();
  while (held < n && (columns[held] = array_incref(PyList_GetItem(list, held)))) held++;
  bool bad = !n || floats < CDV_KEY_BITS || floats > CDV_KEY_NORMALIZED;
  if (bad) PyErr_SetString(PyExc_ValueError, "groups need a key");
  if (held < n || bad || begin_work(&w, NULL, 0, handle, owner)) {
    free_columns(columns, held);
    return NULL;
  }
  int r = cdv_compute_group_ids(columns, n, (enum cdv_key_float)floats, &w.stream_ref, doing, first_only ? NULL : &ids,
                                &first);
  bool collision = r == CDV_HASH_COLLISION;
  PyObject *a = end_work(&w, collision ? CDV_LAYOUT_NOT_HANDLED : r, first_only ? first : ids), *o = a;
  free_columns(columns, n);
  if (collision) {
    Py_XDECREF(a);
    Py_RETURN_NONE;
  }
  if (!r && !first_only) {
    PyObject *b = wrap_array(first);
    o = a && b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
  }
  return o;
}

/* compute_accumulate(values, ids, groups, (rows, begins, ends) or None, operation, function, stream handle, its owner);
 * None: the order is needed; NotImplemented: a type that kernels do not have; operation: an enum cdv_accumulation */
static PyObject *m_compute_accumulate(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[WORK_ARRAYS], *order, *handle, *owner;
  long long groups;
  int operation;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOLOisOO", &x[0], &x[1], &groups, &order, &operation, &doing, &handle, &owner))
    return NULL;
  bool ordered = order != Py_None;
  if (ordered && !PyArg_ParseTuple(order, "OOO", &x[2], &x[3], &x[4])) return NULL;
  if (operation < CDV_ACCUMULATE_COUNT || operation > CDV_ACCUMULATE_MAX || groups < 0) {
    PyErr_SetString(PyExc_ValueError, "no such operation");
    return NULL;
  }
  if (begin_work(&w, x, ordered ? 5 : 2, handle, owner)) return NULL;
  struct cdv_group_order o = {ordered ? w.x[2] : NULL, ordered ? w.x[3] : NULL, ordered ? w.x[4] : NULL};
  int r = cdv_compute_accumulate(w.x[0], w.x[1], groups, ordered ? &o : NULL, (enum cdv_accumulation)operation,
                                 &w.stream_ref, doing, &out);
  if (r != CDV_ORDER_NEEDED) return end_work(&w, r, out);
  Py_XDECREF(end_work(&w, CDV_LAYOUT_NOT_HANDLED, NULL));
  Py_RETURN_NONE;
}

/* compute_list_reduce(values, other or None, begins or None, begins in other or None, lengths or None, lists, size,
 * operation, function, stream handle, its owner); NotImplemented: a type that kernels do not have; operation: an enum
 * cdv_list_reduction */
static PyObject *m_compute_list_reduce(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given[5], *x[5], *handle, *owner;
  struct cdv_lists lists = {0};
  struct cdv_array **to[5] = {&lists.values, &lists.other, &lists.begins, &lists.other_begins, &lists.lengths};
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  int operation, n = 0;
  if (!PyArg_ParseTuple(args, "OOOOOO&O&isOO", &given[0], &given[1], &given[2], &given[3], &given[4], to_int64,
                        &lists.rows, to_int64, &lists.size, &operation, &doing, &handle, &owner))
    return NULL;
  if (operation < CDV_LIST_COUNT || operation > CDV_LIST_DOT || lists.rows < 0 || lists.size < 0) {
    PyErr_SetString(PyExc_ValueError, "no such operation");
    return NULL;
  }
  for (int i = 0; i < 5; i++)
    if (given[i] != Py_None) x[n++] = given[i];
  if (begin_work(&w, x, n, handle, owner)) return NULL;
  for (int i = 0, j = 0; i < 5; i++)
    if (given[i] != Py_None) *to[i] = w.x[j++];
  if (!lists.values) return end_work(&w, CDV_LAYOUT_NOT_HANDLED, NULL);
  int r = cdv_compute_list_reduce(&lists, (enum cdv_list_reduction)operation, &w.stream_ref, doing, &out);
  return end_work(&w, r, out);
}

/* compute_set_lookup((function, schema of the result, row of nulls or -1, which floats are equal), set, values, of the
 * set too, stream handle, its owner): the result, or it and that of the set; NotImplemented: a type whose rows are not one
 * word, or a set that may have nulls */
static PyObject *m_compute_set_lookup(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *schema, *handle, *owner;
  struct cdv_set_step f;
  int floats, own;
  struct work w;
  struct cdv_array *out = NULL, *of_set = NULL;
  if (!PyArg_ParseTuple(args, "(sOO&i)OOpOO", &f.function_name, &schema, to_int64, &f.null_row, &floats, &x[0], &x[1],
                        &own, &handle, &owner))
    return NULL;
  f.floats = (enum cdv_key_float)floats;
  if (!(f.schema = hold_schema(schema))) return NULL;
  if (begin_work(&w, x, 2, handle, owner)) {
    cdv_schema_unref(f.schema);
    return NULL;
  }
  int r = cdv_compute_set_lookup(&f, w.x[0], w.x[1], &w.stream_ref, &out, own ? &of_set : NULL);
  cdv_schema_unref(f.schema);
  return r || !own ? end_work(&w, r, out) : two_of(&w, r, out, of_set);
}

/* compute_match_rows(groups of the left rows, matches of each group, where these begin, right rows group by group, also
 * left rows without a match?, function, stream handle, its owner): the left and the right row of each pair */
static PyObject *m_compute_match_rows(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[4], *handle, *owner;
  int keep_left;
  const char *doing;
  struct work w;
  struct cdv_array *left = NULL, *right = NULL;
  if (!PyArg_ParseTuple(args, "OOOOpsOO", &x[0], &x[1], &x[2], &x[3], &keep_left, &doing, &handle, &owner) ||
      begin_work(&w, x, 4, handle, owner))
    return NULL;
  struct cdv_match_groups g = {w.x[0], w.x[1], w.x[2], w.x[3]};
  int r = cdv_compute_match_rows(&g, keep_left, &w.stream_ref, doing, &left, &right);
  return two_of(&w, r, left, right);
}
