/* selection.c - functions that choose rows, and those of rows of any number of bytes. */
#include "native/common.h"

/* compute_filter(array, mask as bool, emit_null, stream handle, its owner) */
static PyObject *m_compute_filter(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *handle, *owner;
  int emit_null;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOpOO", &x[0], &x[1], &emit_null, &handle, &owner) ||
      begin_work(&w, x, 2, handle, owner))
    return NULL;
  int r = cdv_select_filter(w.x[0], w.x[1], emit_null, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_chosen_rows(mask as bool, stream handle, its owner) */
static PyObject *m_compute_chosen_rows(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *mask, *handle, *owner;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &mask, &handle, &owner) || begin_work(&w, &mask, 1, handle, owner)) return NULL;
  int r = cdv_compute_chosen_rows(w.x[0], &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_take(array, indices as int64 or uint32, checked, stream handle, its owner) */
static PyObject *m_compute_take(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *handle, *owner;
  int checked;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOpOO", &x[0], &x[1], &checked, &handle, &owner) || begin_work(&w, x, 2, handle, owner))
    return NULL;
  int r = cdv_select_take(w.x[0], w.x[1], checked, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_runs(run-end encoded array, its ends, indices as int64, checked, stream handle, its owner) */
static PyObject *m_compute_runs(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[3], *handle, *owner;
  int checked;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOOpOO", &x[0], &x[1], &x[2], &checked, &handle, &owner) ||
      begin_work(&w, x, 3, handle, owner))
    return NULL;
  int r = cdv_compute_find_runs(w.x[0], w.x[1], w.x[2], checked, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_rows(an array of the device, first, how many, stream handle, its owner) */
static PyObject *m_compute_rows(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *near, *handle, *owner;
  long long first, n;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OO&O&OO", &near, to_int64, &first, to_int64, &n, &handle, &owner) ||
      begin_work(&w, &near, 1, handle, owner))
    return NULL;
  int r = cdv_compute_iota(w.x[0], first, n, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_interleave(an array of the device, rows, columns, is there one separator?, stream handle, its owner) */
static PyObject *m_compute_interleave(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *near, *handle, *owner;
  long long n, parts;
  int one;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OO&O&pOO", &near, to_int64, &n, to_int64, &parts, &one, &handle, &owner) ||
      begin_work(&w, &near, 1, handle, owner))
    return NULL;
  int r = cdv_compute_interleave(w.x[0], n, parts, one, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_scatter_rows(indices, how many targets, function, stream handle, its owner) */
static PyObject *m_compute_scatter_rows(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *handle, *owner;
  long long targets;
  const char *doing;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OO&sOO", &x, to_int64, &targets, &doing, &handle, &owner) ||
      begin_work(&w, &x, 1, handle, owner))
    return NULL;
  int r = cdv_compute_scatter_rows(w.x[0], targets, &w.stream_ref, doing, &out);
  return end_work(&w, r, out);
}

/* compute_view_offsets(views, stream handle, its owner) -> (offsets, the last one) */
static PyObject *m_compute_view_offsets(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *handle, *owner;
  int64_t total = 0;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &x, &handle, &owner) || begin_work(&w, &x, 1, handle, owner)) return NULL;
  int r = cdv_compute_view_offsets(w.x[0], &w.stream_ref, &total, &out);
  PyObject *o = end_work(&w, r, out);
  return o ? Py_BuildValue("NL", o, (long long)total) : NULL;
}

/* compute_view_bytes(views, offsets, the last one, stream handle, its owner) */
static PyObject *m_compute_view_bytes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *handle, *owner;
  long long total;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOO&OO", &x[0], &x[1], to_int64, &total, &handle, &owner) ||
      begin_work(&w, x, 2, handle, owner))
    return NULL;
  int r = cdv_compute_view_bytes(w.x[0], w.x[1], total, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_make_views(strings, schema of 16 bytes a row, stream handle, its owner), or NotImplemented: another layout */
static PyObject *m_compute_make_views(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *schema, *handle, *owner;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOOO", &x, &schema, &handle, &owner)) return NULL;
  struct cdv_schema *s = hold_schema(schema);
  if (!s) return NULL;
  if (begin_work(&w, &x, 1, handle, owner)) return cdv_schema_unref(s), NULL;
  int r = cdv_compute_make_views(w.x[0], s, &w.stream_ref, &out);
  cdv_schema_unref(s);
  return end_work(&w, r, out);
}

/* compute_compare(strings, strings, which of them are one row for all, results, bool, stream handle, its owner), or
 * NotImplemented: views of several buffers */
static PyObject *m_compute_compare(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *schema, *handle, *owner;
  int ones, outcomes;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOiiOOO", &x[0], &x[1], &ones, &outcomes, &schema, &handle, &owner)) return NULL;
  struct cdv_schema *s = hold_schema(schema);
  if (!s || begin_work(&w, x, 2, handle, owner)) {
    if (s) cdv_schema_unref(s);
    return NULL;
  }
  struct cdv_datum operands[2] = {{.array = w.x[0], .is_scalar = ones & 1},
                                  {.array = w.x[1], .is_scalar = ones >> 1 & 1}};
  int r = cdv_compute_compare(operands, outcomes, s, &w.stream_ref, &out);
  PyObject *o = end_work(&w, r, out);
  cdv_schema_unref(s);
  return o;
}
