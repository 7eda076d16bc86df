/* pydlpack.c - DLPack capsules, both generations. */
#include "py.h"

static const char N_TENSOR[] = "dltensor_versioned", N_LEGACY[] = "dltensor";

static void free_tensor_capsule(PyObject *c) {
  if (!PyCapsule_IsValid(c, N_TENSOR)) return; /* consumed: it has another name */
  struct pending p = put_aside();
  DLManagedTensorVersioned *m = PyCapsule_GetPointer(c, N_TENSOR);
  if (m->deleter) m->deleter(m);
  bring_back(p);
}
static void free_legacy_capsule(PyObject *c) {
  if (!PyCapsule_IsValid(c, N_LEGACY)) return;
  struct pending p = put_aside();
  DLManagedTensor *m = PyCapsule_GetPointer(c, N_LEGACY);
  if (m->deleter) m->deleter(m);
  bring_back(p);
}

/* _dlpack(versioned, flags) */
static PyObject *a_dlpack(PyObject *self, PyObject *args) {
  int versioned;
  unsigned long long flags;
  DLManagedTensorVersioned *m;
  DLManagedTensor *l;
  if (!PyArg_ParseTuple(args, "pK", &versioned, &flags)) return NULL;
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  if (versioned ? cdv_dlpack_export(a, flags, &m) : cdv_dlpack_export_legacy(a, &l)) {
    raise_last();
    let_go(a);
    return NULL;
  }
  let_go(a); /* the tensor keeps it */
  PyObject *c =
      versioned ? PyCapsule_New(m, N_TENSOR, free_tensor_capsule) : PyCapsule_New(l, N_LEGACY, free_legacy_capsule);
  if (!c) versioned ? m->deleter(m) : l->deleter(l);
  return c;
}

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

/* import_dlpack(capsule, event address or None, object that keeps the event, validate); the capsule is consumed on
 * success only */
static PyObject *m_import_dlpack(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *event, *keep, *validate;
  struct cdv_array *a;
  if (!PyArg_ParseTuple(args, "OOOO", &capsule, &event, &keep, &validate)) return NULL;
  int level = level_of(validate);
  void *sync_event = event == Py_None ? NULL : PyLong_AsVoidPtr(event);
  if (level < 0 || PyErr_Occurred()) return NULL;
  int versioned = PyCapsule_IsValid(capsule, N_TENSOR);
  if (!versioned && !PyCapsule_IsValid(capsule, N_LEGACY)) {
    PyErr_SetString(PyExc_ValueError, "no DLPack capsule, or one that has already been consumed");
    return NULL;
  }
  struct tensor_owner *o = calloc(1, sizeof *o);
  if (!o) return PyErr_NoMemory();
  if (versioned)
    o->versioned = PyCapsule_GetPointer(capsule, N_TENSOR);
  else
    o->legacy = PyCapsule_GetPointer(capsule, N_LEGACY);
  o->deferred.run = run_tensor_owner;
  o->deferred.object = o;
  struct cdv_owner owner = {drop_python, &o->deferred};
  int r = 0;
  if (versioned && o->versioned->version.major > DLPACK_MAJOR_VERSION)
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "DLPack %u.%u; major version %d is understood", o->versioned->version.major,
                 o->versioned->version.minor, DLPACK_MAJOR_VERSION);
  if (!r)
    r = cdv_dlpack_import(versioned ? &o->versioned->dl_tensor : &o->legacy->dl_tensor, sync_event, owner, level, &a);
  if (r) {
    free(o);
    return raise_last();
  }
  o->keep = keep;
  Py_INCREF(keep);
  PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
  return wrap_array(a);
}
