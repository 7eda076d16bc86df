/* calls.c - calls of functions, as cdevice/compute makes them, which has decided on the kernel. */
#include "native/common.h"

static const char N_MAP[] = "cdevice.map", N_REDUCE[] = "cdevice.reduce", N_FOLD[] = "cdevice.fold";

/* A stream as Python has it: its handle, and what keeps it.  -1 with an exception. */
static int lane_of(PyObject *handle, PyObject *owner, struct cdv_stream_ref *out) {
  out->stream = PyLong_AsVoidPtr(handle);
  if (!out->stream && PyErr_Occurred()) return -1;
  return share(owner, &out->owner);
}

/* The result of a call, NotImplemented where this layout is not for it, or the exception; the lane's share goes. */
static PyObject *give(int r, struct cdv_array *out, struct cdv_stream_ref *stream_ref) {
  bool other = r == CDV_LAYOUT_NOT_HANDLED;
  if (other) Py_INCREF(Py_NotImplemented);
  PyObject *o = other ? Py_NotImplemented : r ? raise_last() : wrap_array(out);
  cdv_shared_unref(stream_ref->owner);
  return o;
}

/* A call on arrays, without the GIL. */
#define WORK_ARRAYS 5 /* at most, of a call */
struct work {
  struct cdv_stream_ref stream_ref;
  struct cdv_array *x[WORK_ARRAYS];
  int held;
  PyThreadState *python;
};

/* Holds the arrays and the lane and lets the GIL go, until end_work(); -1 with an exception: nothing is held. */
static int begin_work(struct work *w, PyObject *const *objects, int n, PyObject *handle, PyObject *owner) {
  *w = (struct work){.held = 0};
  if (n > WORK_ARRAYS) return PyErr_SetString(PyExc_SystemError, "too many arrays"), -1;
  if (lane_of(handle, owner, &w->stream_ref)) return -1;
  while (w->held < n && (w->x[w->held] = array_incref(objects[w->held]))) w->held++;
  if (w->held == n) {
    w->python = PyEval_SaveThread();
    return 0;
  }
  while (w->held) array_decref(w->x[--w->held]);
  cdv_shared_unref(w->stream_ref.owner);
  return -1;
}

static PyObject *end_work(struct work *w, int r, struct cdv_array *out) {
  PyEval_RestoreThread(w->python);
  PyObject *o = give(r, out, &w->stream_ref);
  while (w->held) array_decref(w->x[--w->held]);
  return o;
}

static void copy_word(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from); }

/* ---- a row for each row ---- */
static void free_map(PyObject *capsule) {
  struct cdv_elementwise *f = PyCapsule_GetPointer(capsule, N_MAP);
  struct pending p = save_exception();
  cdv_schema_unref(f->out);
  restore_exception(p);
  free(f);
}

/* The bytes of a number of a letter of Arrow's; 0: bits; -1: it is not held against the arguments. */
static int8_t width_of_letter(char letter) {
  static const char letters[] = "bcCsSeiIflLgwW";
  static const int8_t widths[] = {0, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 16, 32};
  const char *found = letter ? strchr(letters, letter) : NULL;
  return found ? widths[found - letters] : -1;
}

/* An argument of another width than the kernel's would be read past its end: 0, or -1 with an exception. */
static int require_width(const struct cdv_elementwise *f, const struct cdv_datum *x, int i) {
  const struct ArrowSchema *s = x->array->schema->node;
  if (f->widths[i] < 0 || s->format[0] == 'n' || cdv_value_width(s) == f->widths[i]) return 0;
  PyErr_Format(PyExc_TypeError, "%s: argument %d has type \"%.60s\", but kernel %s takes %s", f->function_name, i + 1,
               s->format, f->name, f->type);
  return -1;
}

/* compute_plan(family, type, kernel, the function in errors, unit, rule, checked, schema of the result, a letter for
 * each argument: the numbers that the kernel reads, "-" for any) */
static PyObject *m_compute_plan(PyObject *self, PyObject *args) {
  (void)self;
  const char *family, *type, *name, *said, *letters;
  int unit, rule, checked;
  PyObject *schema;
  if (!PyArg_ParseTuple(args, "ssssiipOs", &family, &type, &name, &said, &unit, &rule, &checked, &schema, &letters))
    return NULL;
  struct cdv_schema *out = hold_schema(schema);
  struct cdv_elementwise *f = out ? calloc(1, sizeof *f) : NULL;
  if (!f) {
    if (out) cdv_schema_unref(out), PyErr_NoMemory();
    return NULL;
  }
  *f = (struct cdv_elementwise){.granularity = unit, .null_handling = rule, .checked = checked, .out = out};
  size_t n_letters = strlen(letters);
  for (size_t i = 0; i < CDV_MAX_ARGS; i++) f->widths[i] = i < n_letters ? width_of_letter(letters[i]) : -1;
  copy_word(f->family, sizeof f->family, family);
  copy_word(f->type, sizeof f->type, type);
  copy_word(f->name, sizeof f->name, name);
  copy_word(f->function_name, sizeof f->function_name, said);
  PyObject *capsule = PyCapsule_New(f, N_MAP, free_map);
  if (capsule) return capsule;
  cdv_schema_unref(out);
  free(f);
  return NULL;
}

/* None: null; an int: the bits of a number; arrays come later. */
static int read_number(PyObject *o, struct cdv_datum *out) {
  *out = (struct cdv_datum){.null = o == Py_None};
  if (o == Py_None || PyObject_TypeCheck(o, ArrayBase)) return 0;
  out->bits = (int64_t)PyLong_AsUnsignedLongLongMask(o);
  return PyErr_Occurred() ? -1 : 0;
}

/* compute_map(plan, arguments, which of them are one row for all, stream handle, its owner) */
static PyObject *m_compute_map(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *tuple, *handle, *owner;
  int ones, r = 0;
  struct cdv_datum x[CDV_MAX_ARGS];
  struct cdv_stream_ref stream_ref;
  struct cdv_array *out = NULL;
  PyObject *result = NULL;
  if (!PyArg_ParseTuple(args, "OO!iOO", &capsule, &PyTuple_Type, &tuple, &ones, &handle, &owner)) return NULL;
  struct cdv_elementwise *f = PyCapsule_GetPointer(capsule, N_MAP);
  Py_ssize_t n = PyTuple_Size(tuple), held = 0;
  if (!f) return NULL;
  if (n > CDV_MAX_ARGS) return PyErr_Format(PyExc_TypeError, "%s: too many arguments", f->name), NULL;
  for (Py_ssize_t i = 0; i < n; i++)
    if (read_number(PyTuple_GetItem(tuple, i), &x[i])) return NULL;
  if (lane_of(handle, owner, &stream_ref)) return NULL;
  for (; held < n; held++) {
    PyObject *o = PyTuple_GetItem(tuple, held);
    if (!PyObject_TypeCheck(o, ArrayBase)) continue;
    x[held].is_scalar = ones >> held & 1;
    x[held].array = array_incref(o);
    if (!x[held].array) break;
    if (require_width(f, &x[held], (int)held)) {
      held++;
      break;
    }
  }
  if (held == n && !PyErr_Occurred()) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_compute_elementwise(f, x, (int)n, &stream_ref, &out);
    PyEval_RestoreThread(python);
    result = give(r, out, &stream_ref);
  } else {
    cdv_shared_unref(stream_ref.owner);
  }
  while (held--)
    if (x[held].array) array_decref(x[held].array);
  return result;
}

/* ---- one row ---- */
/* Holds all arrays of a tuple; NULL with an exception. */
static struct cdv_array **hold_all(PyObject *tuple, Py_ssize_t *n) {
  Py_ssize_t all = PyTuple_Size(tuple), held = 0;
  struct cdv_array **arrays = malloc(((size_t)all + 1) * sizeof *arrays);
  if (!arrays) PyErr_NoMemory();
  while (arrays && held < all && (arrays[held] = array_incref(PyTuple_GetItem(tuple, held)))) held++;
  *n = all;
  if (!arrays || held == all) return arrays;
  while (held) array_decref(arrays[--held]);
  free(arrays);
  return NULL;
}

static void free_reduce(PyObject *capsule) {
  struct cdv_aggregate *f = PyCapsule_GetPointer(capsule, N_REDUCE);
  struct pending p = save_exception();
  cdv_schema_unref(f->out);
  restore_exception(p);
  free(f);
}

/* compute_reduction((family, type, kernel, type of the states, family, type and kernel of the end, the function in
 * errors, are the rows read), (four options), schema) */
static PyObject *m_compute_reduction(PyObject *self, PyObject *args) {
  (void)self;
  const char *w[8];
  int values;
  long long option[4];
  PyObject *schema;
  if (!PyArg_ParseTuple(args, "(ssssssssp)(O&O&O&O&)O", &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6], &w[7], &values,
                        to_int64, &option[0], to_int64, &option[1], to_int64, &option[2], to_int64, &option[3],
                        &schema))
    return NULL;
  struct cdv_schema *out = hold_schema(schema);
  struct cdv_aggregate *f = out ? calloc(1, sizeof *f) : NULL;
  if (!f) {
    if (out) cdv_schema_unref(out), PyErr_NoMemory();
    return NULL;
  }
  char *to[8] = {f->family, f->type, f->tile, f->merge, f->end_family, f->end_type, f->end, f->function_name};
  const size_t sizes[8] = {sizeof f->family,     sizeof f->type,     sizeof f->tile, sizeof f->merge,
                           sizeof f->end_family, sizeof f->end_type, sizeof f->end,  sizeof f->function_name};
  for (int i = 0; i < 8; i++) copy_word(to[i], sizes[i], w[i]);
  for (int i = 0; i < 4; i++) f->option[i] = option[i];
  f->values = values;
  f->out = out;
  PyObject *capsule = PyCapsule_New(f, N_REDUCE, free_reduce);
  if (capsule) return capsule;
  cdv_schema_unref(out);
  free(f);
  return NULL;
}

/* compute_reduce(reduction, chunks, stream handle, its owner) */
static PyObject *m_compute_reduce(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *chunks, *handle, *owner, *result = NULL;
  struct cdv_stream_ref stream_ref;
  if (!PyArg_ParseTuple(args, "OO!OO", &capsule, &PyTuple_Type, &chunks, &handle, &owner)) return NULL;
  struct cdv_aggregate *f = PyCapsule_GetPointer(capsule, N_REDUCE);
  if (!f || lane_of(handle, owner, &stream_ref)) return NULL;
  Py_ssize_t n = 0;
  struct cdv_array **arrays = hold_all(chunks, &n), *out = NULL;
  if (arrays) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_aggregate(f, arrays, n, &stream_ref, &out);
    PyEval_RestoreThread(python);
    result = give(r, out, &stream_ref);
    while (n) array_decref(arrays[--n]);
    free(arrays);
  } else {
    cdv_shared_unref(stream_ref.owner);
  }
  return result;
}

/* ---- one row of chunks that come one after the other ---- */
struct fold {
  struct cdv_agg_state *fold;
  PyObject *reduction; /* kept for as long */
};

static void free_fold(PyObject *capsule) {
  struct fold *x = PyCapsule_GetPointer(capsule, N_FOLD);
  struct pending p = save_exception();
  cdv_agg_state_free(x->fold);
  Py_DECREF(x->reduction);
  restore_exception(p);
  free(x);
}

/* compute_fold(reduction, stream handle, its owner) */
static PyObject *m_compute_fold(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *reduction, *handle, *owner, *capsule = NULL;
  struct cdv_stream_ref stream_ref;
  struct cdv_agg_state *fold = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &reduction, &handle, &owner)) return NULL;
  const struct cdv_aggregate *f = PyCapsule_GetPointer(reduction, N_REDUCE);
  if (!f || lane_of(handle, owner, &stream_ref)) return NULL;
  struct fold *x = malloc(sizeof *x);
  if (!x)
    PyErr_NoMemory();
  else if (cdv_agg_state_new(f, &stream_ref, &fold))
    raise_last();
  else
    capsule = PyCapsule_New(x, N_FOLD, free_fold);
  cdv_shared_unref(stream_ref.owner);
  if (capsule) {
    Py_INCREF(reduction);
    *x = (struct fold){fold, reduction};
  } else {
    if (fold) cdv_agg_state_free(fold);
    free(x);
  }
  return capsule;
}

/* compute_fold_add(fold, chunk) */
static PyObject *m_compute_fold_add(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *chunk;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &chunk)) return NULL;
  struct fold *x = PyCapsule_GetPointer(capsule, N_FOLD);
  struct cdv_array *a = x ? array_incref(chunk) : NULL;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_agg_state_consume(x->fold, a);
  PyEval_RestoreThread(python);
  array_decref(a);
  if (r) return raise_last();
  Py_RETURN_NONE;
}

/* compute_fold_end(fold) */
static PyObject *m_compute_fold_end(PyObject *self, PyObject *capsule) {
  (void)self;
  struct fold *x = PyCapsule_GetPointer(capsule, N_FOLD);
  struct cdv_array *out = NULL;
  if (!x) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_agg_state_finalize(x->fold, &out);
  PyEval_RestoreThread(python);
  return r ? raise_last() : wrap_array(out);
}
