/* import.c - how arrays come in: from capsules and structs, or built from parts. */
#include "native/common.h"

/* ---- import ---- */
static PyObject *import_struct(struct ArrowSchema *q, struct ArrowDeviceArray *d, int level) {
  struct cdv_array *a;
  int r;
  run_deferred_releases();
  if (level >= 2) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_import_pair(q, d, level, &a);
    PyEval_RestoreThread(python);
  } else {
    r = cdv_import_pair(q, d, level, &a);
  }
  return r ? raise_last() : wrap_array(a);
}

/* (first, second, validate="structure"), the last also as a keyword. */
static int import_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names) {
  Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
  if (n < 2 || n + keywords > 3 ||
      (keywords && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "validate") != 0)) {
    PyErr_SetString(PyExc_TypeError, "expected (schema, array, validate=\"structure\")");
    return -1;
  }
  return level_of(n + keywords == 3 ? args[2] : NULL);
}

static int not_consumed(struct ArrowSchema *q, struct ArrowArray *a) {
  if (q->release && a->release) return 0;
  PyErr_SetString(PyExc_ValueError, q->release   ? "the array of this capsule has already been consumed"
                                    : a->release ? "the schema of this capsule has already been consumed"
                                                 : "the capsules have already been consumed");
  return -1;
}

static PyObject *move_out(PyObject *schema, PyObject *array, int level) {
  __builtin_prefetch(array); /* the producer's structs are scattered, and nothing else takes as long */
  struct ArrowSchema *q = PyCapsule_GetPointer(schema, N_SCHEMA);
  if (!q) return NULL;
  cdv_prefetch_lines(q, sizeof *q);
  if (PyCapsule_IsValid(array, N_ARRAY)) {
    struct ArrowArray *plain = PyCapsule_GetPointer(array, N_ARRAY);
    if (not_consumed(q, plain)) return NULL;
    struct ArrowDeviceArray d = {.array = *plain, .device_id = -1, .device_type = ARROW_DEVICE_CPU};
    PyObject *o = import_struct(q, &d, level);
    if (o || !d.array.release) plain->release = NULL;
    return o;
  }
  struct ArrowDeviceArray *d = PyCapsule_GetPointer(array, N_DEVICE_ARRAY);
  if (!d) return NULL;
  cdv_prefetch_lines(d, sizeof *d);
  __builtin_prefetch(q->format);
  if (not_consumed(q, &d->array)) return NULL;
  __builtin_prefetch(d->array.buffers);
  return import_struct(q, d, level);
}

static PyObject *take_capsules(PyObject *schema, PyObject *array, int level) {
  PyObject *out;
  if (!PyCapsule_CheckExact(schema) || !PyCapsule_CheckExact(array)) {
    PyErr_Format(
        PyExc_TypeError,
        "an \"arrow_schema\" capsule and an \"arrow_device_array\" or \"arrow_array\" capsule are expected, not %R "
        "and %R",
        (PyObject *)Py_TYPE(schema), (PyObject *)Py_TYPE(array));
    return NULL;
  }
  BEGIN_OBJECT_LOCKS(schema, array);
  out = move_out(schema, array, level);
  END_OBJECT_LOCKS();
  return out;
}

/* import_capsules(schema, array, validate="structure"): moves out of both; on an error they are untouched.  The array
 * capsule may be an "arrow_device_array" or an "arrow_array". */
static PyObject *m_import_capsules(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)self;
  int level = import_arguments(args, n, names);
  return level < 0 ? NULL : take_capsules(args[0], args[1], level);
}

/* import_structs(schema address, device array address, validate="structure") */
static PyObject *m_import_structs(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)self;
  int level = import_arguments(args, n, names);
  if (level < 0) return NULL;
  struct ArrowSchema *q = PyLong_AsVoidPtr(args[0]);
  struct ArrowDeviceArray *d = q ? PyLong_AsVoidPtr(args[1]) : NULL;
  if (!d) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the address of a struct is NULL");
    return NULL;
  }
  if (not_consumed(q, &d->array)) return NULL;
  return import_struct(q, d, level);
}

/* ---- building ---- */

/* A part of an array that is built, held; NULL with an exception.  The core waits for a part whose event the whole does
 * not have: done before, so that the GIL is not held. */
static struct cdv_array *hold_part(PyObject *part, const struct cdv_parts *p) {
  struct cdv_array *a = array_incref(part);
  int r = 0;
  if (!a) return NULL;
  if (a->root->own.sync_event && !p->sync_event) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_event_wait_host(a);
    PyEval_RestoreThread(python);
  }
  if (!r) return a;
  raise_last();
  array_decref(a);
  return NULL;
}

/* A buffer of a part: its address or handle (int), None, or (address, bytes that are there); 0, or -1 with an
 * exception. */
static int read_buffer(PyObject *b, const void **address, int64_t *size) {
  *address = NULL;
  *size = -1;
  if (b == Py_None) return 0;
  if (PyTuple_Check(b)) {
    long long n;
    PyObject *at;
    if (!PyArg_ParseTuple(b, "OO&", &at, to_int64, &n)) return -1;
    *size = n;
    b = at;
  }
  *address = PyLong_AsVoidPtr(b);
  return *address || !PyErr_Occurred() ? 0 : -1;
}

/* What build() is given, as the core wants it. */
struct given {
  struct cdv_parts parts;
  const void **buffers;        /* behind them the children, held */
  struct cdv_array **children; /* NULL: not yet */
  int64_t *sizes;
  int level;
};

/* The numbers of build(); 0, or -1 with an exception. */
static int read_numbers(PyObject *const *args, struct given *g) {
  int device_type;
  long long numbers[4];
  if (!to_int(args[1], &device_type)) return -1;
  for (int i = 0; i < 4; i++)
    if (!to_int64(args[2 + i], &numbers[i])) return -1;
  g->parts.device_type = device_type;
  g->parts.device_id = numbers[0];
  g->parts.length = numbers[1];
  g->parts.offset = numbers[2];
  g->parts.null_count = numbers[3];
  g->parts.sync_event = args[10] == Py_None ? NULL : PyLong_AsVoidPtr(args[10]);
  g->level = level_of(args[11]);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_buffers(PyObject *buffers, PyObject *children, struct given *g) {
  if (!PyTuple_Check(buffers) || !PyTuple_Check(children)) {
    PyErr_SetString(PyExc_TypeError, "buffers and children must be tuples");
    return -1;
  }
  Py_ssize_t nb = PyTuple_Size(buffers), nc = PyTuple_Size(children);
  g->buffers = calloc((size_t)(nb + nc) + 1, sizeof *g->buffers);
  g->sizes = malloc(((size_t)nb + 1) * sizeof *g->sizes);
  if (!g->buffers || !g->sizes) {
    PyErr_NoMemory();
    return -1;
  }
  g->children = (struct cdv_array **)(g->buffers + nb);
  g->parts.n_buffers = nb;
  g->parts.n_children = nc;
  g->parts.buffers = g->buffers;
  g->parts.sizes = g->sizes;
  g->parts.children = g->children;
  for (Py_ssize_t i = 0; i < nb; i++)
    if (read_buffer(PyTuple_GetItem(buffers, i), &g->buffers[i], &g->sizes[i])) return -1;
  return 0;
}

static int hold_parts(PyObject *children, PyObject *dictionary, struct given *g) {
  for (int64_t i = 0; i < g->parts.n_children; i++)
    if (!(g->children[i] = hold_part(PyTuple_GetItem(children, (Py_ssize_t)i), &g->parts))) return -1;
  return dictionary == Py_None || (g->parts.dictionary = hold_part(dictionary, &g->parts)) ? 0 : -1;
}

static void let_parts_go(struct given *g) {
  for (int64_t i = 0; i < g->parts.n_children; i++)
    if (g->children[i]) array_decref(g->children[i]);
  if (g->parts.dictionary) array_decref(g->parts.dictionary);
  free(g->buffers);
  free(g->sizes);
}

/* build(schema, device_type, device_id, length, offset, null_count, buffers, children, dictionary, owner, sync_event,
 * level): buffers see read_buffer(), children and dictionary DeviceArrays. */
enum {
  SCHEMA,
  DEVICE_TYPE,
  DEVICE_ID,
  LENGTH,
  OFFSET,
  NULL_COUNT,
  BUFFERS,
  CHILDREN,
  DICTIONARY,
  OWNER,
  SYNC_EVENT,
  LEVEL,
  N_PARTS
};

/* The arguments of build() by name, with defaults: borrowed, or of *zero and *none.  -1 with an exception. */
static int build_arguments(PyObject *positional, PyObject *named, PyObject *args[N_PARTS], PyObject *zero,
                           PyObject *none) {
  static char *names[] = {"schema",   "device_type", "device_id", "length",     "offset",   "null_count", "buffers",
                          "children", "dictionary",  "owner",     "sync_event", "validate", NULL};
  args[OFFSET] = args[NULL_COUNT] = zero;
  args[BUFFERS] = args[CHILDREN] = none;
  args[DICTIONARY] = args[OWNER] = args[SYNC_EVENT] = args[LEVEL] = Py_None;
  if (!PyArg_ParseTupleAndKeywords(positional, named, "O|$OOOOOOOOOOO:build", names, &args[0], &args[1], &args[2],
                                   &args[3], &args[4], &args[5], &args[6], &args[7], &args[8], &args[9], &args[10],
                                   &args[11]))
    return -1;
  for (int i = DEVICE_TYPE; i <= LENGTH; i++)
    if (!args[i]) {
      PyErr_Format(PyExc_TypeError, "build(): %s is missing", names[i]);
      return -1;
    }
  return 0;
}

static PyObject *build_array(PyObject *args[N_PARTS]) {
  struct given g = {0};
  struct cdv_array *out;
  struct cdv_schema *schema = NULL;
  struct cdv_owner owner = {NULL, NULL};
  PyObject *result = NULL;
  if (read_numbers(args, &g)) return NULL;
  int r = read_buffers(args[BUFFERS], args[CHILDREN], &g) || hold_parts(args[CHILDREN], args[DICTIONARY], &g);
  if (!r) r = !(schema = hold_schema(args[SCHEMA])) || (args[OWNER] != Py_None && make_owner(args[OWNER], &owner));
  if (!r && cdv_array_build(schema, &g.parts, owner, g.level, &out)) {
    raise_last();
    if (owner.drop) owner.drop(owner.owner);
  } else if (!r) {
    result = wrap_array(out);
  }
  let_parts_go(&g);
  if (schema) cdv_schema_unref(schema);
  return result;
}

static PyObject *m_build(PyObject *self, PyObject *positional, PyObject *named) {
  (void)self;
  PyObject *args[N_PARTS] = {0}, *result = NULL;
  PyObject *zero = PyLong_FromLong(0), *none = PyTuple_New(0);
  if (zero && none && !build_arguments(positional, named, args, zero, none)) result = build_array(args);
  Py_XDECREF(zero);
  Py_XDECREF(none);
  return result;
}
