/* launch_list.c - several kernels of one call. */
#include "native/common.h"

static void clear_launch_list(struct cdv_launch_list *l) {
  struct pending p = save_exception();
  for (int i = 0; i < l->n_outs; i++) cdv_schema_unref(l->outs[i].schema);
  restore_exception(p);
}

/* How many, or -1 with an exception. */
static int count_of(PyObject *tuple, int most, const char *what) {
  Py_ssize_t n = PyTuple_Size(tuple);
  if (n > most) return PyErr_Format(PyExc_SystemError, "a call of %zd %s", n, what), -1;
  return (int)n;
}

static int read_memory(struct cdv_launch_list *l, PyObject *outs, PyObject *temps) {
  PyObject *schemas[CDV_LAUNCH_LIST_OUTS];
  int n = count_of(outs, CDV_LAUNCH_LIST_OUTS, "results"), m = count_of(temps, CDV_LAUNCH_LIST_TEMPS, "arrays");
  if (n < 0 || m < 0) return -1;
  for (int i = 0; i < n; i++) {
    long long length;
    int validity;
    if (!PyArg_ParseTuple(PyTuple_GetItem(outs, i), "OLp", &schemas[i], &length, &validity)) return -1;
    l->outs[i].length = length;
    l->outs[i].validity = validity;
  }
  for (int i = 0; i < m; i++) {
    const char *letter;
    long long length;
    if (!PyArg_ParseTuple(PyTuple_GetItem(temps, i), "sL", &letter, &length)) return -1;
    l->temps[i].letter = letter[0];
    l->temps[i].length = length;
  }
  l->n_temps = m;
  while (l->n_outs < n) {
    l->outs[l->n_outs].schema = hold_schema(schemas[l->n_outs]);
    if (!l->outs[l->n_outs++].schema) return l->n_outs--, -1;
  }
  return 0;
}

static int read_steps(struct cdv_launch_list *l, PyObject *steps) {
  int n = count_of(steps, CDV_LAUNCH_LIST_STEPS, "kernels");
  if (n < 0) return -1;
  for (int i = 0; i < n; i++) {
    const char *family, *type, *name, *with;
    PyObject *operands, *scalars;
    long long rows;
    if (!PyArg_ParseTuple(PyTuple_GetItem(steps, i), "ssssiLO!O!", &family, &type, &name, &with,
                          &l->steps[i].granularity, &rows, &PyTuple_Type, &operands, &PyTuple_Type, &scalars))
      return -1;
    copy_word(l->steps[i].family, sizeof l->steps[i].family, family);
    copy_word(l->steps[i].type, sizeof l->steps[i].type, type);
    copy_word(l->steps[i].name, sizeof l->steps[i].name, name);
    copy_word(l->steps[i].with, sizeof l->steps[i].with, with);
    l->steps[i].n = rows;
    int m = count_of(operands, KERNEL_BUFFERS, "operands"), k = count_of(scalars, KERNEL_SCALARS - 1, "numbers");
    if (m < 0 || k < 0) return -1;
    for (int j = 0; j < m; j++) {
      int slot, kind, index;
      if (!PyArg_ParseTuple(PyTuple_GetItem(operands, j), "iii", &slot, &kind, &index)) return -1;
      if (slot < 0 || slot >= KERNEL_BUFFERS)
        return PyErr_SetString(PyExc_SystemError, "a kernel has no such buffer"), -1;
      l->steps[i].buffers[slot] = (struct cdv_operand){(int8_t)kind, (int8_t)index};
    }
    for (int j = 0; j < k; j++) {
      l->steps[i].scalars[j + 1] = (int64_t)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(scalars, j));
      if (PyErr_Occurred()) return -1;
    }
  }
  l->n_steps = n;
  return 0;
}

/* The results as a tuple; the references are taken over. */
static PyObject *give_all(int r, struct cdv_array **outs, int n) {
  if (r) return raise_last();
  PyObject *result = PyTuple_New(n);
  for (int i = 0; i < n; i++) {
    if (!result) {
      array_decref(outs[i]);
      continue;
    }
    PyObject *o = wrap_array(outs[i]); /* takes it over, also where it fails */
    if (!o || PyTuple_SetItem(result, i, o)) {
      Py_DECREF(result);
      result = NULL;
    }
  }
  return result;
}

/* compute_launch_list(function, columns, ((schema, length, has it a bitmap), ...) of results, ((letter, length), ...) of
 * memory between, ((family, type, kernel, kernels built with it, granularity, rows, ((buffer, kind, index), ...), numbers), ...), stream
 * handle, its owner): the results */
static PyObject *m_compute_launch_list(PyObject *self, PyObject *args) {
  (void)self;
  const char *name;
  PyObject *columns, *outs, *temps, *steps, *handle, *owner;
  if (!PyArg_ParseTuple(args, "sO!O!O!O!OO", &name, &PyTuple_Type, &columns, &PyTuple_Type, &outs, &PyTuple_Type,
                        &temps, &PyTuple_Type, &steps, &handle, &owner))
    return NULL;
  int n = count_of(columns, CDV_LAUNCH_LIST_COLUMNS, "columns"), held = 0;
  if (n < 0) return NULL;
  struct cdv_launch_list *l = calloc(1, sizeof *l); /* some kilobytes */
  struct cdv_stream_ref stream_ref;
  struct cdv_array *x[CDV_LAUNCH_LIST_COLUMNS], *made[CDV_LAUNCH_LIST_OUTS];
  PyObject *result = NULL;
  if (!l) return PyErr_NoMemory();
  l->function_name = name;
  if (!read_memory(l, outs, temps) && !read_steps(l, steps) && !lane_of(handle, owner, &stream_ref)) {
    while (held < n && (x[held] = array_incref(PyTuple_GetItem(columns, held)))) held++;
    if (held == n) {
      PyThreadState *python = PyEval_SaveThread();
      int r = cdv_compute_launch_list(l, x, n, &stream_ref, made);
      PyEval_RestoreThread(python);
      result = give_all(r, made, l->n_outs);
    }
    cdv_shared_unref(stream_ref.owner);
  }
  while (held--) array_decref(x[held]);
  clear_launch_list(l);
  free(l);
  return result;
}
