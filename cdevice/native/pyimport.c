/* pyimport.c - how arrays come in: from capsules and structs, or built from parts. */
#include "py.h"

/* ---- import ---- */
static PyObject *import_struct(struct ArrowSchema *q, struct ArrowDeviceArray *d, int level) {
  struct cdv_array *a;
  int r;
  drain();
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

/* import_capsules(schema, array, validate="structure"): moves out of both; on an error they are untouched.  The array
 * capsule may be an "arrow_device_array" or an "arrow_array". */
static PyObject *m_import_capsules(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)self;
  int level = import_arguments(args, n, names);
  if (level < 0) return NULL;
  __builtin_prefetch(args[1]); /* the producer's structs are scattered, and nothing else takes as long */
  struct ArrowSchema *q = PyCapsule_GetPointer(args[0], N_SCHEMA);
  if (!q) return NULL;
  cdv_fetch_ahead(q, sizeof *q);
  if (PyCapsule_IsValid(args[1], N_ARRAY)) {
    struct ArrowArray *plain = PyCapsule_GetPointer(args[1], N_ARRAY);
    if (not_consumed(q, plain)) return NULL;
    struct ArrowDeviceArray d = {.array = *plain, .device_id = -1, .device_type = ARROW_DEVICE_CPU};
    PyObject *o = import_struct(q, &d, level);
    if (o || !d.array.release) plain->release = NULL;
    return o;
  }
  struct ArrowDeviceArray *d = PyCapsule_GetPointer(args[1], N_DEVICE_ARRAY);
  if (!d) return NULL;
  cdv_fetch_ahead(d, sizeof *d);
  __builtin_prefetch(q->format);
  if (not_consumed(q, &d->array)) return NULL;
  __builtin_prefetch(d->array.buffers);
  return import_struct(q, d, level);
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
  struct cdv_array *a = hold_array(part);
  int r = 0;
  if (!a) return NULL;
  if (a->root->own.sync_event && !p->sync_event) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_event_wait_host(a);
    PyEval_RestoreThread(python);
  }
  if (!r) return a;
  raise_last();
  let_go(a);
  return NULL;
}

/* A buffer of a part: its address or handle (int), None, or (address, bytes that are there); 0, or -1 with an exception. */
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

/* build(schema, device_type, device_id, length, offset, null_count, buffers, children, dictionary, owner, sync_event,
 * level): buffers see read_buffer(), children and dictionary DeviceArrays. */
static PyObject *m_build(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  if (n != 12) {
    PyErr_SetString(PyExc_TypeError, "build() takes 12 arguments");
    return NULL;
  }
  struct cdv_parts p = {0};
  int device_type;
  long long numbers[4];
  if (!to_int(args[1], &device_type)) return NULL;
  for (int i = 0; i < 4; i++)
    if (!to_int64(args[2 + i], &numbers[i])) return NULL;
  p.device_type = device_type;
  p.device_id = numbers[0];
  p.length = numbers[1];
  p.offset = numbers[2];
  p.null_count = numbers[3];
  p.sync_event = args[10] == Py_None ? NULL : PyLong_AsVoidPtr(args[10]);
  int level = level_of(args[11]);
  if (PyErr_Occurred()) return NULL;
  if (!PyTuple_Check(args[6]) || !PyTuple_Check(args[7])) {
    PyErr_SetString(PyExc_TypeError, "buffers and children are tuples");
    return NULL;
  }
  p.n_buffers = PyTuple_Size(args[6]);
  p.n_children = PyTuple_Size(args[7]);
  size_t nb = (size_t)p.n_buffers, nc = (size_t)p.n_children;
  const void **buffers = calloc(nb + nc + 1, sizeof *buffers);
  int64_t *sizes = malloc((nb + 1) * sizeof *sizes);
  struct cdv_array **children = (struct cdv_array **)(buffers + nb), *out = NULL;
  struct cdv_schema *schema = NULL;
  struct cdv_owner owner = {NULL, NULL};
  PyObject *result = NULL;
  if (!buffers || !sizes) {
    PyErr_NoMemory();
    goto done;
  }
  p.buffers = buffers;
  p.sizes = sizes;
  p.children = children;
  for (size_t i = 0; i < nb; i++)
    if (read_buffer(PyTuple_GetItem(args[6], (Py_ssize_t)i), &buffers[i], &sizes[i])) goto done;
  for (size_t i = 0; i < nc; i++)
    if (!(children[i] = hold_part(PyTuple_GetItem(args[7], (Py_ssize_t)i), &p))) goto done;
  if (args[8] != Py_None && !(p.dictionary = hold_part(args[8], &p))) goto done;
  if (!(schema = hold_schema(args[0]))) goto done;
  if (args[9] != Py_None && make_owner(args[9], &owner)) goto done;
  if (cdv_array_build(schema, &p, owner, level, &out)) {
    raise_last();
    if (owner.drop) owner.drop(owner.owner);
  } else {
    result = wrap_array(out);
  }
done:
  for (size_t i = 0; buffers && i < nc; i++)
    if (children[i]) let_go(children[i]);
  if (p.dictionary) let_go(p.dictionary);
  if (schema) cdv_schema_unref(schema);
  free(buffers);
  free(sizes);
  return result;
}
