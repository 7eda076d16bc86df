/* dlpack.c - DLPack capsules, both generations. */
#include "native/common.h"

static const char N_TENSOR[] = "dltensor_versioned", N_LEGACY[] = "dltensor";
static const char N_USED_TENSOR[] = "used_dltensor_versioned", N_USED_LEGACY[] = "used_dltensor";

static void free_tensor_capsule(PyObject *c) {
  if (!PyCapsule_IsValid(c, N_TENSOR)) return; /* consumed: it has another name */
  struct pending p = save_exception();
  DLManagedTensorVersioned *m = PyCapsule_GetPointer(c, N_TENSOR);
  if (m->deleter) m->deleter(m);
  restore_exception(p);
}
static void free_legacy_capsule(PyObject *c) {
  if (!PyCapsule_IsValid(c, N_LEGACY)) return;
  struct pending p = save_exception();
  DLManagedTensor *m = PyCapsule_GetPointer(c, N_LEGACY);
  if (m->deleter) m->deleter(m);
  restore_exception(p);
}

/* ---- out ---- */

static PyObject *tensor_capsule(DLManagedTensorVersioned *m) {
  PyObject *c = PyCapsule_New(m, N_TENSOR, free_tensor_capsule);
  if (!c) m->deleter(m);
  return c;
}
static PyObject *legacy_capsule(DLManagedTensor *l) {
  PyObject *c = PyCapsule_New(l, N_LEGACY, free_legacy_capsule);
  if (!c) l->deleter(l);
  return c;
}

/* _dlpack(versioned, flags) */
static PyObject *a_dlpack_capsule(PyObject *self, PyObject *args) {
  int versioned;
  unsigned long long flags;
  DLManagedTensorVersioned *m;
  DLManagedTensor *l;
  if (!PyArg_ParseTuple(args, "pK", &versioned, &flags)) return NULL;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  if (versioned ? cdv_dlpack_export(a, flags, &m) : cdv_dlpack_export_legacy(a, &l)) {
    raise_last();
    array_decref(a);
    return NULL;
  }
  array_decref(a); /* the tensor keeps it */
  return versioned ? tensor_capsule(m) : legacy_capsule(l);
}

/* The keywords of __dlpack__; 0, or -1 with an exception.  values: borrowed, None where not given. */
static int dlpack_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject *values[4]) {
  static const char *const known[4] = {"stream", "max_version", "dl_device", "copy"};
  for (int k = 0; k < 4; k++) values[k] = Py_None;
  if (n) {
    PyErr_Format(PyExc_TypeError, "__dlpack__() takes no positional arguments (%zd given)", n);
    return -1;
  }
  Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    int k = 0;
    while (k < 4 && PyUnicode_CompareWithASCIIString(name, known[k]) != 0) k++;
    if (k == 4) {
      PyErr_Format(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument '%U'", name);
      return -1;
    }
    values[k] = args[i];
  }
  return 0;
}

/* Which generation of capsules max_version asks for; -1: unknown here. */
static int generation(PyObject *max_version) {
  if (max_version == Py_None) return 0;
  PyObject *major =
      PyTuple_Check(max_version) && PyTuple_Size(max_version) == 2 ? PyTuple_GetItem(max_version, 0) : NULL;
  if (!major || !PyLong_CheckExact(major)) return -1;
  int overflow;
  return PyLong_AsLongAndOverflow(major, &overflow) >= 1 || overflow > 0;
}

/* Is an array handed out as it lies, and was it safe from the beginning? */
static bool is_plain(const struct cdv_array *a) {
  return !a->root->own.sync_event && !(a->schema->node->n_children && a->schema->node->metadata);
}

/* What waits, is copied, has a shape of its own or is refused goes through interop/dlpack.py. */
static PyObject *a_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *v[4], *c = NULL;
  if (dlpack_arguments(args, n, names, v)) return NULL;
  int versioned = generation(v[1]);
  if (versioned >= 0 && v[0] == Py_None && v[2] == Py_None && (v[3] == Py_None || v[3] == Py_False)) {
    DLManagedTensorVersioned *m = NULL;
    DLManagedTensor *l = NULL;
    struct cdv_array *a = array_incref(self);
    if (!a) return NULL;
    if (!is_plain(a)) {
    } else if (versioned) {
      if (!cdv_dlpack_export(a, DLPACK_FLAG_BITMASK_READ_ONLY, &m)) c = tensor_capsule(m);
    } else if (!cdv_dlpack_export_legacy(a, &l)) {
      c = legacy_capsule(l);
    }
    array_decref(a);
    if (m || l) return c;
  }
  return call_python("cdevice.interop.dlpack", "export", Py_BuildValue("(OOOOO)", self, v[0], v[1], v[2], v[3]));
}

static PyObject *a_dlpack_device(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = array_incref(self);
  if (!a) return NULL;
  const struct ArrowDeviceArray *own = &a->root->own;
  PyObject *type = PyLong_FromLong(own->device_type);
  PyObject *number = PyLong_FromLongLong(cdv_array_host_accessible(a) ? 0 : own->device_id);
  PyObject *pair = type && number ? PyTuple_New(2) : NULL;
  array_decref(a);
  if (!pair) {
    Py_XDECREF(type);
    Py_XDECREF(number);
    return NULL;
  }
  PyTuple_SetItem(pair, 0, type);
  PyTuple_SetItem(pair, 1, number);
  return pair;
}

/* ---- in ---- */

/* What an imported tensor keeps.  Foreign deleters may want the GIL, so they run where Python may run. */
struct tensor_owner {
  struct cdv_deferred deferred;
  DLManagedTensorVersioned *versioned;
  DLManagedTensor *legacy;
  PyObject *keep;
};
static void run_tensor_owner(void *p) { /* GIL held */
  struct tensor_owner *o = p;
  if (o->versioned && o->versioned->deleter) o->versioned->deleter(o->versioned);
  if (o->legacy && o->legacy->deleter) o->legacy->deleter(o->legacy);
  Py_XDECREF(o->keep);
  free(o);
}

static int import_tensor(const struct tensor *t, int level, struct cdv_array **out) {
  struct tensor_owner *o = malloc(sizeof *o);
  struct cdv_owner owner = {drop_python, o};
  int r = 0;
  if (!o) return cdv_fail_memory(sizeof *o, "a tensor");
  *o = (struct tensor_owner){.deferred = {.run = run_tensor_owner, .object = o},
                             .versioned = t->versioned,
                             .legacy = t->legacy,
                             .keep = t->keep};
  const DLTensor *dl = t->versioned ? &t->versioned->dl_tensor : &t->legacy->dl_tensor;
  if (t->versioned && t->versioned->version.major > DLPACK_MAJOR_VERSION)
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "DLPack %u.%u is not supported: expected major version %d",
                 t->versioned->version.major, t->versioned->version.minor, DLPACK_MAJOR_VERSION);
  if (r) {
  } else if (t->behind) {
    PyThreadState *python = PyEval_SaveThread();
    r = cdv_dlpack_import_behind(dl, t->stream, owner, level, out);
    PyEval_RestoreThread(python);
  } else {
    r = cdv_dlpack_import(dl, t->sync_event, owner, level, out);
  }
  if (r)
    free(o);
  else
    Py_XINCREF(t->keep);
  return r;
}

static PyObject *move_out_tensor(PyObject *capsule, void *sync_event, PyObject *keep, int level) {
  struct cdv_array *a;
  struct tensor t = {.sync_event = sync_event, .keep = keep};
  bool versioned = PyCapsule_IsValid(capsule, N_TENSOR);
  if (!versioned && !PyCapsule_IsValid(capsule, N_LEGACY)) {
    PyErr_SetString(PyExc_ValueError,
                    "expected a DLPack capsule: this one is of another kind, or has already been consumed");
    return NULL;
  }
  if (versioned)
    t.versioned = PyCapsule_GetPointer(capsule, N_TENSOR);
  else
    t.legacy = PyCapsule_GetPointer(capsule, N_LEGACY);
  if (import_tensor(&t, level, &a)) return raise_last();
  PyCapsule_SetName(capsule, versioned ? N_USED_TENSOR : N_USED_LEGACY);
  return wrap_array(a);
}

/* Consumes a capsule on success only. */
static PyObject *import_capsule(PyObject *capsule, void *sync_event, PyObject *keep, int level) {
  PyObject *out;
  run_deferred_releases();
  BEGIN_OBJECT_LOCK(capsule);
  out = move_out_tensor(capsule, sync_event, keep, level);
  END_OBJECT_LOCK();
  return out;
}

/* import_dlpack(capsule, event address or None, object that keeps the event, validate) */
static PyObject *m_import_dlpack(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *event, *keep, *validate;
  if (!PyArg_ParseTuple(args, "OOOO", &capsule, &event, &keep, &validate)) return NULL;
  int level = level_of(validate);
  void *sync_event = event == Py_None ? NULL : PyLong_AsVoidPtr(event);
  if (level < 0 || PyErr_Occurred()) return NULL;
  return import_capsule(capsule, sync_event, keep, level);
}

/* Is a tensor one of the CPU, given its (type, number)?  -1 with an exception. */
static int is_of_the_cpu(PyObject *where) {
  if (!where) return -1;
  PyObject *type = PyTuple_Check(where) && PyTuple_Size(where) == 2 ? PyTuple_GetItem(where, 0) : NULL;
  int overflow, cpu = type && PyLong_Check(type) && PyLong_AsLongAndOverflow(type, &overflow) == ARROW_DEVICE_CPU;
  Py_DECREF(where);
  return cpu;
}

/* object.__dlpack__(max_version=cdevice's), or without it where that is not known. */
static PyObject *ask_for_capsule(PyObject *object) {
  PyObject *args[] = {object, dlpack_version};
  PyObject *capsule = vectorcall_method(interned[W_DLPACK], args, 1, dlpack_keywords);
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear(); /* from before 1.0 */
  return call_method(object, W_DLPACK);
}

/* take_dlpack(object, validate): the array of a tensor of the CPU; None: it is elsewhere, and there are streams.  Of a
 * numpy array C knows a shorter way to the same memory. */
static PyObject *m_take_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  if (n != 2) {
    PyErr_SetString(PyExc_TypeError, "take_dlpack() takes 2 arguments");
    return NULL;
  }
  PyObject *known = take_ndarray(args[0]);
  if (known || PyErr_Occurred()) return known;
  int level = level_of(args[1]), cpu = level < 0 ? -1 : is_of_the_cpu(call_method(args[0], W_DLPACK_DEVICE));
  if (cpu < 0 || ensure_release_thread()) return NULL;
  if (!cpu) Py_RETURN_NONE;
  PyObject *capsule = ask_for_capsule(args[0]), *out = NULL;
  if (capsule) out = import_capsule(capsule, NULL, NULL, level);
  Py_XDECREF(capsule);
  return out;
}
