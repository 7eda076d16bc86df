/* pycompute.c - calls of functions, as cdevice/compute makes them: what is to be done was decided there. */
#include "py.h"

#include "compute.h"

static const char N_MAP[] = "cdevice.map", N_CHOICE[] = "cdevice.choice", N_REDUCE[] = "cdevice.reduce",
                  N_FOLD[] = "cdevice.fold";

/* A stream as Python has it: its handle, and what keeps it.  -1 with an exception. */
static int lane_of(PyObject *handle, PyObject *owner, struct cdv_lane *out) {
  out->stream = PyLong_AsVoidPtr(handle);
  if (!out->stream && PyErr_Occurred()) return -1;
  return share(owner, &out->queue);
}

/* The result of a call, or the exception; the lane's share goes. */
static PyObject *give(int r, struct cdv_array *out, struct cdv_lane *lane) {
  PyObject *o = r ? raise_last() : wrap_array(out);
  cdv_shared_unref(lane->queue);
  return o;
}

static void copy_word(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from); }

/* ---- a row for each row ---- */
static void free_map(PyObject *capsule) {
  struct cdv_map *f = PyCapsule_GetPointer(capsule, N_MAP);
  struct pending p = put_aside();
  cdv_schema_unref(f->out);
  bring_back(p);
  free(f);
}

/* compute_plan(family, type, kernel, the function in errors, unit, rule, checked, schema of the result) */
static PyObject *m_compute_plan(PyObject *self, PyObject *args) {
  (void)self;
  const char *family, *type, *name, *said;
  int unit, rule, checked;
  PyObject *schema;
  if (!PyArg_ParseTuple(args, "ssssiipO", &family, &type, &name, &said, &unit, &rule, &checked, &schema)) return NULL;
  struct cdv_schema *out = hold_schema(schema);
  struct cdv_map *f = out ? calloc(1, sizeof *f) : NULL;
  if (!f) {
    if (out) cdv_schema_unref(out), PyErr_NoMemory();
    return NULL;
  }
  *f = (struct cdv_map){.unit = unit, .rule = rule, .checked = checked, .out = out};
  copy_word(f->family, sizeof f->family, family);
  copy_word(f->type, sizeof f->type, type);
  copy_word(f->name, sizeof f->name, name);
  copy_word(f->said, sizeof f->said, said);
  PyObject *capsule = PyCapsule_New(f, N_MAP, free_map);
  if (capsule) return capsule;
  cdv_schema_unref(out);
  free(f);
  return NULL;
}

/* None: null; an int: the bits of a number; arrays come later. */
static int read_number(PyObject *o, struct cdv_operand *out) {
  *out = (struct cdv_operand){.null = o == Py_None};
  if (o == Py_None || PyObject_TypeCheck(o, ArrayBase)) return 0;
  out->bits = (int64_t)PyLong_AsUnsignedLongLongMask(o);
  return PyErr_Occurred() ? -1 : 0;
}

/* compute_map(plan, arguments, which of them are one row for all, stream handle, its owner) */
static PyObject *m_compute_map(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *tuple, *handle, *owner;
  int ones, r = 0;
  struct cdv_operand x[CDV_OPERANDS];
  struct cdv_lane lane;
  struct cdv_array *out = NULL;
  PyObject *result = NULL;
  if (!PyArg_ParseTuple(args, "OO!iOO", &capsule, &PyTuple_Type, &tuple, &ones, &handle, &owner)) return NULL;
  struct cdv_map *f = PyCapsule_GetPointer(capsule, N_MAP);
  Py_ssize_t n = PyTuple_Size(tuple), held = 0;
  if (!f) return NULL;
  if (n > CDV_OPERANDS) return PyErr_Format(PyExc_TypeError, "%s: too many arguments", f->name), NULL;
  for (Py_ssize_t i = 0; i < n; i++)
    if (read_number(PyTuple_GetItem(tuple, i), &x[i])) return NULL;
  if (lane_of(handle, owner, &lane)) return NULL;
  for (; held < n; held++) {
    PyObject *o = PyTuple_GetItem(tuple, held);
    if (!PyObject_TypeCheck(o, ArrayBase)) continue;
    x[held].one = ones >> held & 1;
    x[held].array = hold_array(o);
    if (!x[held].array) break;
  }
  if (held == n) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_compute_map(f, x, (int)n, &lane, &out);
    PyEval_RestoreThread(python);
    result = give(r, out, &lane);
  } else {
    cdv_shared_unref(lane.queue);
  }
  while (held--)
    if (x[held].array) let_go(x[held].array);
  return result;
}

/* ---- one row ---- */
/* Holds all arrays of a tuple; NULL with an exception. */
static struct cdv_array **hold_all(PyObject *tuple, Py_ssize_t *n) {
  Py_ssize_t all = PyTuple_Size(tuple), held = 0;
  struct cdv_array **arrays = malloc(((size_t)all + 1) * sizeof *arrays);
  if (!arrays) PyErr_NoMemory();
  while (arrays && held < all && (arrays[held] = hold_array(PyTuple_GetItem(tuple, held)))) held++;
  *n = all;
  if (!arrays || held == all) return arrays;
  while (held) let_go(arrays[--held]);
  free(arrays);
  return NULL;
}

static void free_reduce(PyObject *capsule) {
  struct cdv_reduce *f = PyCapsule_GetPointer(capsule, N_REDUCE);
  struct pending p = put_aside();
  cdv_schema_unref(f->out);
  bring_back(p);
  free(f);
}

/* compute_reduction((family, type, kernel, type of the states, family, type and kernel of the end, are the rows read),
 * (three options), schema) */
static PyObject *m_compute_reduction(PyObject *self, PyObject *args) {
  (void)self;
  const char *w[7];
  int values;
  long long option[3];
  PyObject *schema;
  if (!PyArg_ParseTuple(args, "(sssssssp)(O&O&O&)O", &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6], &values, to_int64,
                        &option[0], to_int64, &option[1], to_int64, &option[2], &schema))
    return NULL;
  struct cdv_schema *out = hold_schema(schema);
  struct cdv_reduce *f = out ? calloc(1, sizeof *f) : NULL;
  if (!f) {
    if (out) cdv_schema_unref(out), PyErr_NoMemory();
    return NULL;
  }
  char *to[7] = {f->family, f->type, f->tile, f->join, f->end_family, f->end_type, f->end};
  const size_t sizes[7] = {sizeof f->family,     sizeof f->type,     sizeof f->tile, sizeof f->join,
                           sizeof f->end_family, sizeof f->end_type, sizeof f->end};
  for (int i = 0; i < 7; i++) copy_word(to[i], sizes[i], w[i]);
  for (int i = 0; i < 3; i++) f->option[i] = option[i];
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
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OO!OO", &capsule, &PyTuple_Type, &chunks, &handle, &owner)) return NULL;
  struct cdv_reduce *f = PyCapsule_GetPointer(capsule, N_REDUCE);
  if (!f || lane_of(handle, owner, &lane)) return NULL;
  Py_ssize_t n = 0;
  struct cdv_array **arrays = hold_all(chunks, &n), *out = NULL;
  if (arrays) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_reduce(f, arrays, n, &lane, &out);
    PyEval_RestoreThread(python);
    result = give(r, out, &lane);
    while (n) let_go(arrays[--n]);
    free(arrays);
  } else {
    cdv_shared_unref(lane.queue);
  }
  return result;
}

/* ---- one row of chunks that come one after the other ---- */
struct fold {
  struct cdv_fold *fold;
  PyObject *reduction; /* kept for as long */
};

static void free_fold(PyObject *capsule) {
  struct fold *x = PyCapsule_GetPointer(capsule, N_FOLD);
  struct pending p = put_aside();
  cdv_fold_drop(x->fold);
  Py_DECREF(x->reduction);
  bring_back(p);
  free(x);
}

/* compute_fold(reduction, stream handle, its owner) */
static PyObject *m_compute_fold(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *reduction, *handle, *owner, *capsule = NULL;
  struct cdv_lane lane;
  struct cdv_fold *fold = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &reduction, &handle, &owner)) return NULL;
  const struct cdv_reduce *f = PyCapsule_GetPointer(reduction, N_REDUCE);
  if (!f || lane_of(handle, owner, &lane)) return NULL;
  struct fold *x = malloc(sizeof *x);
  if (!x)
    PyErr_NoMemory();
  else if (cdv_fold_new(f, &lane, &fold))
    raise_last();
  else
    capsule = PyCapsule_New(x, N_FOLD, free_fold);
  cdv_shared_unref(lane.queue);
  if (capsule) {
    Py_INCREF(reduction);
    *x = (struct fold){fold, reduction};
  } else {
    if (fold) cdv_fold_drop(fold);
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
  struct cdv_array *a = x ? hold_array(chunk) : NULL;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_fold_add(x->fold, a);
  PyEval_RestoreThread(python);
  let_go(a);
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
  int r = cdv_fold_end(x->fold, &out);
  PyEval_RestoreThread(python);
  return r ? raise_last() : wrap_array(out);
}

/* ---- rows that are chosen ---- */
static void free_choice(PyObject *capsule) {
  struct cdv_choice *c = PyCapsule_GetPointer(capsule, N_CHOICE);
  struct pending p = put_aside();
  cdv_choice_drop(c);
  bring_back(p);
  free(c);
}

/* compute_choice(mask, stream handle, its owner) -> (choice, how many rows) */
static PyObject *m_compute_choice(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *mask, *handle, *owner, *capsule = NULL;
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OOO", &mask, &handle, &owner) || lane_of(handle, owner, &lane)) return NULL;
  struct cdv_array *a = hold_array(mask);
  struct cdv_choice *c = a ? calloc(1, sizeof *c) : NULL;
  if (a && !c) PyErr_NoMemory();
  if (c) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_choice_make(c, a, &lane);
    PyEval_RestoreThread(python);
    if (r) {
      free(c);
      raise_last();
    } else {
      capsule = PyCapsule_New(c, N_CHOICE, free_choice);
      if (!capsule) cdv_choice_drop(c), free(c);
    }
  }
  if (a) let_go(a);
  cdv_shared_unref(lane.queue);
  return capsule ? Py_BuildValue("NL", capsule, (long long)c->chosen) : NULL;
}

/* The result of a call that may say that this layout is not for it: NotImplemented. */
static PyObject *give_or_not(int r, struct cdv_array *out, struct cdv_lane *lane) {
  if (r != CDV_OTHER_LAYOUT) return give(r, out, lane);
  cdv_shared_unref(lane->queue);
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

/* compute_filter(choice, array or None: the numbers of the rows, stream handle, its owner) */
static PyObject *m_compute_filter(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *array, *handle, *owner;
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OOOO", &capsule, &array, &handle, &owner)) return NULL;
  struct cdv_choice *c = PyCapsule_GetPointer(capsule, N_CHOICE);
  if (!c || lane_of(handle, owner, &lane)) return NULL;
  struct cdv_array *a = array == Py_None ? NULL : hold_array(array), *out = NULL;
  if (!a && array != Py_None) {
    cdv_shared_unref(lane.queue);
    return NULL;
  }
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_compute_filter(c, a, &lane, &out);
  PyEval_RestoreThread(python);
  PyObject *o = give_or_not(r, out, &lane);
  if (a) let_go(a);
  return o;
}

/* compute_take(array, indices as int64, checked, stream handle, its owner) */
static PyObject *m_compute_take(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *indices, *handle, *owner, *o = NULL;
  int checked;
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OOpOO", &array, &indices, &checked, &handle, &owner) || lane_of(handle, owner, &lane))
    return NULL;
  struct cdv_array *a = hold_array(array), *i = a ? hold_array(indices) : NULL, *out = NULL;
  if (i) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_take(a, i, checked, &lane, &out);
    PyEval_RestoreThread(python);
    o = give_or_not(r, out, &lane);
    let_go(i);
  } else {
    cdv_shared_unref(lane.queue);
  }
  if (a) let_go(a);
  return o;
}

/* ---- strings and lists ---- */
/* compute_offsets(array, indices as int64, checked, stream handle, its owner) -> (offsets, the last one), or
 * NotImplemented: it has none */
static PyObject *m_compute_offsets(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *indices, *handle, *owner, *o = NULL;
  int checked;
  int64_t total = 0;
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OOpOO", &array, &indices, &checked, &handle, &owner) || lane_of(handle, owner, &lane))
    return NULL;
  struct cdv_array *a = hold_array(array), *i = a ? hold_array(indices) : NULL, *out = NULL;
  if (i) {
    PyThreadState *python = PyEval_SaveThread();
    int r =
        cdv_has_offsets(a->schema->node) ? cdv_compute_offsets(a, i, checked, &lane, &total, &out) : CDV_OTHER_LAYOUT;
    PyEval_RestoreThread(python);
    o = give_or_not(r, out, &lane);
    let_go(i);
  } else {
    cdv_shared_unref(lane.queue);
  }
  if (a) let_go(a);
  return o && o != Py_NotImplemented ? Py_BuildValue("NL", o, (long long)total) : o;
}

/* compute_items(array, indices as int64, offsets, the last one, stream handle, its owner) */
static PyObject *m_compute_items(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *objects[3], *handle, *owner, *o = NULL;
  long long total;
  struct cdv_lane lane;
  struct cdv_array *x[3] = {NULL}, *out = NULL;
  int held = 0;
  if (!PyArg_ParseTuple(args, "OOOO&OO", &objects[0], &objects[1], &objects[2], to_int64, &total, &handle, &owner) ||
      lane_of(handle, owner, &lane))
    return NULL;
  while (held < 3 && (x[held] = hold_array(objects[held]))) held++;
  if (held == 3) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_items(x[0], x[1], x[2], total, &lane, &out);
    PyEval_RestoreThread(python);
    o = give(r, out, &lane);
  } else {
    cdv_shared_unref(lane.queue);
  }
  while (held) let_go(x[--held]);
  return o;
}

/* compute_spread(fixed-size lists, indices as int64, their size, checked, stream handle, its owner) */
static PyObject *m_compute_spread(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *indices, *handle, *owner, *o = NULL;
  long long size;
  int checked;
  struct cdv_lane lane;
  if (!PyArg_ParseTuple(args, "OOO&pOO", &array, &indices, to_int64, &size, &checked, &handle, &owner) ||
      lane_of(handle, owner, &lane))
    return NULL;
  struct cdv_array *a = hold_array(array), *i = a ? hold_array(indices) : NULL, *out = NULL;
  if (i) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_spread(a, i, size, checked, &lane, &out);
    PyEval_RestoreThread(python);
    o = give(r, out, &lane);
    let_go(i);
  } else {
    cdv_shared_unref(lane.queue);
  }
  if (a) let_go(a);
  return o;
}

/* compute_runs(run-end encoded array, its ends, indices as int64, checked, stream handle, its owner) */
static PyObject *m_compute_runs(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *objects[3], *handle, *owner, *o = NULL;
  struct cdv_lane lane;
  struct cdv_array *x[3] = {NULL}, *out = NULL;
  int checked, held = 0;
  if (!PyArg_ParseTuple(args, "OOOpOO", &objects[0], &objects[1], &objects[2], &checked, &handle, &owner) ||
      lane_of(handle, owner, &lane))
    return NULL;
  while (held < 3 && (x[held] = hold_array(objects[held]))) held++;
  if (held == 3) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_runs(x[0], x[1], x[2], checked, &lane, &out);
    PyEval_RestoreThread(python);
    o = give(r, out, &lane);
  } else {
    cdv_shared_unref(lane.queue);
  }
  while (held) let_go(x[--held]);
  return o;
}

/* compute_rows(an array of the device, first, how many, stream handle, its owner) */
static PyObject *m_compute_rows(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *near, *handle, *owner, *o = NULL;
  long long first, n;
  struct cdv_lane lane;
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OO&O&OO", &near, to_int64, &first, to_int64, &n, &handle, &owner) ||
      lane_of(handle, owner, &lane))
    return NULL;
  struct cdv_array *a = hold_array(near);
  if (a) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_rows(a, first, n, &lane, &out);
    PyEval_RestoreThread(python);
    o = give(r, out, &lane);
    let_go(a);
  } else {
    cdv_shared_unref(lane.queue);
  }
  return o;
}

/* compute_compare(strings, strings, which of them are one row for all, what is said, bool, stream handle, its owner) */
static PyObject *m_compute_compare(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *objects[2], *schema, *handle, *owner, *o = NULL;
  int ones, says, held = 0;
  struct cdv_lane lane;
  struct cdv_operand x[2] = {{0}};
  struct cdv_array *out = NULL;
  if (!PyArg_ParseTuple(args, "OOiiOOO", &objects[0], &objects[1], &ones, &says, &schema, &handle, &owner) ||
      lane_of(handle, owner, &lane))
    return NULL;
  struct cdv_schema *s = hold_schema(schema);
  for (; s && held < 2; held++) {
    x[held].one = ones >> held & 1;
    x[held].array = hold_array(objects[held]);
    if (!x[held].array) break;
  }
  if (held == 2) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_compare(x, says, s, &lane, &out);
    PyEval_RestoreThread(python);
    o = give(r, out, &lane);
  } else {
    cdv_shared_unref(lane.queue);
  }
  while (held) let_go(x[--held].array);
  if (s) cdv_schema_unref(s);
  return o;
}

/* ---- the way in: calls whose types were met before, with arrays on the CPU and nothing else ---- */
struct known {
  struct known *next;
  int n;
  bool swap; /* the first two arguments change places */
  char formats[CDV_OPERANDS][16];
  const struct cdv_map *plan; /* one of the two */
  const struct cdv_reduce *reduction;
  PyObject *wrap; /* what the result is handed to, or NULL */
};
struct front {
  PyObject *function; /* in Python: it knows everything */
  _Atomic(struct known *) known;
};
static const char N_FRONT[] = "cdevice.front";

static const struct known *recall(const struct front *f, struct cdv_array *const *arrays, int n) {
  for (const struct known *k = atomic_load(&f->known); k; k = k->next) {
    int i = k->n == n ? 0 : n + 1;
    while (i < n && !strcmp(arrays[i]->schema->node->format, k->formats[i]) && !arrays[i]->schema->node->dictionary &&
           arrays[i]->root->own.device_type == ARROW_DEVICE_CPU)
      i++;
    if (i == n) return k;
  }
  return NULL;
}

static PyObject *call_known(const struct known *k, struct cdv_array *const *arrays) {
  struct cdv_operand x[CDV_OPERANDS] = {{0}};
  struct cdv_array *out = NULL;
  for (int i = 0; i < k->n; i++) x[k->swap && i < 2 ? 1 - i : i].array = arrays[i];
  PyThreadState *python = PyEval_SaveThread();
  int r = k->plan ? cdv_compute_map(k->plan, x, k->n, NULL, &out)
                  : cdv_compute_reduce(k->reduction, arrays, k->n, NULL, &out);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : wrap_array(out), *wrapped;
  if (!o || !k->wrap) return o;
  wrapped = pass_on(k->wrap, &o, 1, NULL);
  Py_DECREF(o);
  return wrapped;
}

/* The arguments, those that could be made arrays in their place; what is left to do is Python's. */
static PyObject *front(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  struct front *f = PyCapsule_GetPointer(self, N_FRONT);
  PyObject *made[CDV_OPERANDS] = {NULL}, *out = NULL;
  struct cdv_array *arrays[CDV_OPERANDS];
  Py_ssize_t taken = 0, held = 0;
  if (!f) return NULL;
  if (names || n > CDV_OPERANDS || !atomic_load(&f->known)) return pass_on(f->function, args, n, names);
  while (taken < n && (made[taken] = take(args[taken]))) taken++;
  bool failed = PyErr_Occurred() != NULL;
  while (!failed && taken == n && held < n && (arrays[held] = hold_array(made[held]))) held++;
  if (taken == n && held < n) failed = true;
  const struct known *k = !failed && taken == n ? recall(f, arrays, (int)n) : NULL;
  if (k) out = call_known(k, arrays);
  while (held) let_go(arrays[--held]);
  if (!k && !failed) {
    PyObject *all[CDV_OPERANDS];
    for (Py_ssize_t i = 0; i < n; i++) all[i] = i < taken ? made[i] : args[i];
    out = pass_on(f->function, all, n, NULL);
  }
  while (taken) Py_DECREF(made[--taken]);
  return out;
}

static void free_front(PyObject *capsule) { (void)capsule; /* a function of a module stays */ }

/* compute_front(function, "name(x, y, /, *, stream=None)", what it says of itself): the function, tried in C first. */
static PyObject *m_compute_front(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *function;
  const char *head, *doc;
  if (!PyArg_ParseTuple(args, "Oss", &function, &head, &doc)) return NULL;
  size_t name = strcspn(head, "("), n = strlen(head) + strlen(doc) + 16;
  PyMethodDef *def = calloc(1, sizeof *def + n + name + 1);
  struct front *f = calloc(1, sizeof *f);
  PyObject *module = def && f ? PyObject_GetAttrString(function, "__module__") : NULL;
  PyObject *capsule = module ? PyCapsule_New(f, N_FRONT, free_front) : NULL, *out = NULL;
  if (capsule) {
    char *text = (char *)(def + 1), *word = text + n;
    snprintf(text, n, "%s\n--\n\n%s", head, doc);
    memcpy(word, head, name);
    *def = (PyMethodDef){word, FAST(front), METH_FASTCALL | METH_KEYWORDS, text};
    Py_INCREF(function);
    f->function = function;
    out = PyCFunction_NewEx(def, capsule, module);
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  Py_XDECREF(module);
  Py_XDECREF(capsule);
  if (!out) free(def), free(f);
  return out;
}

/* compute_learn(what compute_front gave, formats or None: forget all, plan or reduction, swap, what the result is handed to
 * or None) */
static PyObject *m_compute_learn(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *made, *formats, *plan, *wrap;
  int swap;
  if (!PyArg_ParseTuple(args, "OOOpO", &made, &formats, &plan, &swap, &wrap)) return NULL;
  PyObject *capsule = PyObject_GetAttrString(made, "__self__");
  struct front *f = capsule ? PyCapsule_GetPointer(capsule, N_FRONT) : NULL;
  Py_XDECREF(capsule); /* the function has it */
  if (!f) return NULL;
  if (formats == Py_None) {
    atomic_store(&f->known, NULL); /* others may be reading: what was known stays where it is */
    Py_RETURN_NONE;
  }
  struct known *k = calloc(1, sizeof *k);
  if (!k) return PyErr_NoMemory();
  bool is_map = PyCapsule_IsValid(plan, N_MAP), fits = true;
  k->plan = is_map ? PyCapsule_GetPointer(plan, N_MAP) : NULL;
  k->reduction = is_map ? NULL : PyCapsule_GetPointer(plan, N_REDUCE);
  k->swap = swap;
  for (; fits && (k->plan || k->reduction) && k->n < CDV_OPERANDS && k->n < PyTuple_Size(formats); k->n++) {
    PyObject *text = PyUnicode_AsUTF8String(PyTuple_GetItem(formats, k->n));
    if (text) snprintf(k->formats[k->n], sizeof k->formats[0], "%s", PyBytes_AsString(text));
    fits = text && PyBytes_Size(text) < (Py_ssize_t)sizeof k->formats[0];
    Py_XDECREF(text);
  }
  if (!fits || !(k->plan || k->reduction)) {
    free(k);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
  }
  Py_INCREF(plan);
  if (wrap != Py_None) {
    Py_INCREF(wrap);
    k->wrap = wrap;
  }
  k->next = atomic_load(&f->known);
  atomic_store(&f->known, k);
  Py_RETURN_NONE;
}
