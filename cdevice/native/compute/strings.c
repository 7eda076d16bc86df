/* strings.c - functions of strings and bytes. */
#include "native/common.h"

/* (family, kernel, the function in errors, is it bits, does the call wait for complaints, four numbers, then maybe the
 * program's type) */
static int read_text_step(PyObject *o, struct cdv_text_step *f) {
  const char *family, *name, *said, *type = "";
  int packed, checked;
  long long x[4];
  *f = (struct cdv_text_step){.packed = false};
  if (!PyArg_ParseTuple(o, "sssppO&O&O&O&|s", &family, &name, &said, &packed, &checked, to_int64, &x[0], to_int64,
                        &x[1], to_int64, &x[2], to_int64, &x[3], &type))
    return -1;
  copy_word(f->family, sizeof f->family, family);
  copy_word(f->name, sizeof f->name, name);
  copy_word(f->type, sizeof f->type, type);
  copy_word(f->function_name, sizeof f->function_name, said);
  f->packed = packed;
  f->checked = checked;
  for (int i = 0; i < 4; i++) f->numbers[i] = x[i];
  return 0;
}

/* compute_text_numbers(step, strings with offsets, pattern or None, schema of the result, stream handle, its owner) */
static PyObject *m_compute_text_numbers(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *schema, *step, *handle, *owner;
  struct cdv_text_step f;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOOOOO", &step, &x[0], &x[1], &schema, &handle, &owner) || read_text_step(step, &f))
    return NULL;
  int n = x[1] == Py_None ? 1 : 2;
  struct cdv_schema *s = hold_schema(schema);
  if (!s || begin_work(&w, x, n, handle, owner)) {
    if (s) cdv_schema_unref(s);
    return NULL;
  }
  int r = cdv_compute_text_numbers(&f, w.x[0], n == 2 ? w.x[1] : NULL, s, &w.stream_ref, &out);
  PyObject *o = end_work(&w, r, out);
  cdv_schema_unref(s);
  return o;
}

static int end_sizes(struct work *w, int r, struct cdv_text_sizes *x, struct cdv_array *offsets, PyObject **out) {
  struct cdv_array *made[4] = {x->offsets, x->tiles, x->begins, offsets};
  PyEval_RestoreThread(w->python);
  cdv_shared_unref(w->stream_ref.owner);
  while (w->held) array_decref(w->x[--w->held]);
  if (r) return raise_last(), -1;
  for (int i = 0; i < 4; i++) {
    out[i] = made[i] ? wrap_array(made[i]) : Py_None;
    if (!made[i]) Py_INCREF(Py_None);
  }
  return 0;
}

/* (sizes, tiles, begins or None, offsets or None, total), of which some may be NULL with an exception */
static PyObject *pack_sizes(PyObject *const *x, int64_t total) {
  bool whole = x[0] && x[1] && x[2] && x[3];
  PyObject *o = whole ? Py_BuildValue("OOOOL", x[0], x[1], x[2], x[3], (long long)total) : NULL;
  for (int i = 0; i < 4; i++) Py_XDECREF(x[i]);
  return o;
}

/* compute_text_sizes(step, strings with offsets, pattern or None, are they pieces, stream handle, its owner) */
static PyObject *m_compute_text_sizes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[2], *step, *handle, *owner, *made[4];
  int pieces;
  struct cdv_text_step f;
  struct cdv_text_sizes sizes;
  struct work w;
  if (!PyArg_ParseTuple(args, "OOOpOO", &step, &x[0], &x[1], &pieces, &handle, &owner) || read_text_step(step, &f))
    return NULL;
  int n = x[1] == Py_None ? 1 : 2;
  if (begin_work(&w, x, n, handle, owner)) return NULL;
  int r = cdv_compute_text_sizes(&f, w.x[0], n == 2 ? w.x[1] : NULL, pieces, &w.stream_ref, &sizes);
  return end_sizes(&w, r, &sizes, NULL, made) ? NULL : pack_sizes(made, sizes.total);
}

/* compute_text_parts(step, strings with offsets, pattern, counts, stream handle, its owner) */
static PyObject *m_compute_text_parts(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[3], *step, *handle, *owner, *made[4];
  struct cdv_text_step f;
  struct cdv_text_sizes sizes;
  struct cdv_array *offsets;
  struct work w;
  if (!PyArg_ParseTuple(args, "OOOOOO", &step, &x[0], &x[1], &x[2], &handle, &owner) || read_text_step(step, &f) ||
      begin_work(&w, x, 3, handle, owner))
    return NULL;
  int r = cdv_compute_text_parts(&f, w.x[0], w.x[1], w.x[2], &w.stream_ref, &offsets, &sizes);
  return end_sizes(&w, r, &sizes, offsets, made) ? NULL : pack_sizes(made, sizes.total);
}

/* compute_text_bytes(step, strings with offsets, pattern or None, sizes, tiles, begins or None, total, rows, stream
 * handle, its owner) */
static PyObject *m_compute_text_bytes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x[5], *step, *pattern, *begins, *handle, *owner;
  long long total, rows;
  struct cdv_text_step f;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOOOOOO&O&OO", &step, &x[0], &pattern, &x[1], &x[2], &begins, to_int64, &total, to_int64,
                        &rows, &handle, &owner) ||
      read_text_step(step, &f))
    return NULL;
  int n = 3;
  if (pattern != Py_None) x[n++] = pattern;
  if (begins != Py_None) x[n++] = begins;
  if (begin_work(&w, x, n, handle, owner)) return NULL;
  struct cdv_text_sizes sizes = {w.x[1], w.x[2], begins == Py_None ? NULL : w.x[n - 1], total};
  int r = cdv_compute_text_bytes(&f, w.x[0], pattern == Py_None ? NULL : w.x[3], &sizes, rows, &w.stream_ref, &out);
  return end_work(&w, r, out);
}

/* compute_text_map(step, strings with offsets, by rows, first byte, how many, stream handle, its owner) */
static PyObject *m_compute_text_map(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *step, *handle, *owner;
  int rows;
  long long first, total;
  struct cdv_text_step f;
  struct work w;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOpO&O&OO", &step, &x, &rows, to_int64, &first, to_int64, &total, &handle, &owner) ||
      read_text_step(step, &f) || begin_work(&w, &x, 1, handle, owner))
    return NULL;
  int r = cdv_compute_text_map(&f, w.x[0], rows, first, total, &w.stream_ref, &out);
  return end_work(&w, r, out);
}
