/* fused.c - the kernels of whole expressions. */
#include "native/common.h"

static const char N_FUSED[] = "cdevice.fused";

static void free_fused(PyObject *capsule) {
  struct cdv_fused *f = PyCapsule_GetPointer(capsule, N_FUSED);
  struct pending p = save_exception();
  cdv_schema_unref(f->out);
  restore_exception(p);
  free(f);
}

/* (column, what of it is read, slot, letter of the numbers) for each: 0, or -1 with an exception. */
static int read_fused_arguments(struct cdv_fused *f, PyObject *arguments, PyObject *nulls) {
  Py_ssize_t n = PyTuple_Size(arguments), m = PyTuple_Size(nulls);
  if (n < 0 || m < 0) return -1;
  if (n > CDV_FUSED_BUFFERS || m > CDV_FUSED_BUFFERS)
    return PyErr_SetString(PyExc_SystemError, "too many arguments of a fused kernel"), -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    int column, what, slot;
    const char *letter;
    if (!PyArg_ParseTuple(PyTuple_GetItem(arguments, i), "iiis", &column, &what, &slot, &letter)) return -1;
    if (column < 0 || column >= CDV_FUSED_BUFFERS || slot <= 0 || slot >= CDEVICE_KERNEL_BUFFERS)
      return PyErr_SetString(PyExc_SystemError, "a fused kernel reads a buffer that it has not"), -1;
    f->arguments[i].column = (int8_t)column;
    f->arguments[i].what = (int8_t)what;
    f->arguments[i].slot = (int8_t)slot;
    f->arguments[i].width = width_of_letter(letter[0]);
  }
  for (Py_ssize_t i = 0; i < m; i++) {
    long column = PyLong_AsLong(PyTuple_GetItem(nulls, i));
    if (PyErr_Occurred()) return -1;
    if (column < 0 || column >= CDV_FUSED_BUFFERS)
      return PyErr_SetString(PyExc_SystemError, "a fused kernel has no such column"), -1;
    f->nulls[i] = (int8_t)column;
  }
  f->n_arguments = (int)n, f->n_nulls = (int)m;
  return 0;
}

/* compute_fused_plan((family, type, unit, does it write validity, does it check), schema of the result, arguments,
 * columns whose nulls are the result's, number of constants, and of those in a table) */
static PyObject *m_compute_fused_plan(PyObject *self, PyObject *args) {
  (void)self;
  const char *family, *type;
  int unit, validity, checked, constants, table;
  PyObject *schema, *arguments, *nulls;
  if (!PyArg_ParseTuple(args, "(ssipp)OO!O!ii", &family, &type, &unit, &validity, &checked, &schema, &PyTuple_Type,
                        &arguments, &PyTuple_Type, &nulls, &constants, &table))
    return NULL;
  if (constants < 0 || constants > CDV_FUSED_CONSTANTS)
    return PyErr_SetString(PyExc_SystemError, "too many constants of a fused kernel"), NULL;
  struct cdv_schema *out = hold_schema(schema);
  struct cdv_fused *f = out ? calloc(1, sizeof *f) : NULL;
  if (!f) {
    if (out) cdv_schema_unref(out), PyErr_NoMemory();
    return NULL;
  }
  *f = (struct cdv_fused){.granularity = unit,
                          .validity = validity,
                          .checked = checked,
                          .out = out,
                          .n_constants = constants,
                          .table_rows = table};
  copy_word(f->family, sizeof f->family, family);
  copy_word(f->type, sizeof f->type, type);
  PyObject *capsule = read_fused_arguments(f, arguments, nulls) ? NULL : PyCapsule_New(f, N_FUSED, free_fused);
  if (capsule) return capsule;
  cdv_schema_unref(out);
  free(f);
  return NULL;
}

/* compute_fused(plan, columns, bits of constants, stream handle, its owner): the result, or None where a row is
 * wrong */
static PyObject *m_compute_fused(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *columns, *numbers, *handle, *owner;
  if (!PyArg_ParseTuple(args, "OO!O!OO", &capsule, &PyTuple_Type, &columns, &PyTuple_Type, &numbers, &handle, &owner))
    return NULL;
  struct cdv_fused *f = PyCapsule_GetPointer(capsule, N_FUSED);
  if (!f) return NULL;
  int64_t constants[CDV_FUSED_CONSTANTS] = {0};
  Py_ssize_t n_constants = PyTuple_Size(numbers), n = PyTuple_Size(columns), held = 0;
  if (n_constants != f->n_constants || n < 1 || n > CDV_FUSED_BUFFERS)
    return PyErr_SetString(PyExc_SystemError, "a fused kernel has another number of arguments"), NULL;
  for (Py_ssize_t i = 0; i < n_constants; i++) {
    constants[i] = (int64_t)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(numbers, i));
    if (PyErr_Occurred()) return NULL;
  }
  struct cdv_stream_ref stream_ref;
  struct cdv_array *x[CDV_FUSED_BUFFERS], *out = NULL;
  bool wrong = false;
  PyObject *result = NULL;
  if (lane_of(handle, owner, &stream_ref)) return NULL;
  while (held < n && (x[held] = array_incref(PyTuple_GetItem(columns, held)))) held++;
  if (held == n) {
    PyThreadState *python = PyEval_SaveThread();
    int r = cdv_compute_fused(f, x, (int)n, constants, &stream_ref, &out, &wrong);
    PyEval_RestoreThread(python);
    if (!r && wrong) {
      cdv_shared_unref(stream_ref.owner);
      Py_INCREF(Py_None);
      result = Py_None;
    } else {
      result = give(r, out, &stream_ref);
    }
  } else {
    cdv_shared_unref(stream_ref.owner);
  }
  while (held--) array_decref(x[held]);
  return result;
}
