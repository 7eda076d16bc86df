/* ipc.c - arrays that are shared with other processes. */
#include "native/common.h"

/* publish(array, how often it may be opened or 0, address of a ticket).  False: the memory must be copied first. */
static PyObject *m_publish(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *address;
  long long opens;
  if (!PyArg_ParseTuple(args, "OO&O", &array, to_int64, &opens, &address)) return NULL;
  struct cdv_ticket *ticket = PyLong_AsVoidPtr(address);
  struct cdv_array *a = ticket ? array_incref(array) : NULL;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_publish(a, opens, ticket);
  PyEval_RestoreThread(python);
  array_decref(a);
  if (r && cdv_error_last()->kind == CDV_CANNOT_EXPORT && r == ENOTSUP) Py_RETURN_FALSE;
  if (r) return raise_last();
  Py_RETURN_TRUE;
}

/* open_ticket(address of a ticket, validate): a DeviceArray. */
static PyObject *m_open_ticket(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *address, *validate;
  if (!PyArg_ParseTuple(args, "OO", &address, &validate)) return NULL;
  const struct cdv_ticket *ticket = PyLong_AsVoidPtr(address);
  int level = level_of(validate), r;
  struct cdv_array *out = NULL;
  if (!ticket || level < 0) return NULL;
  run_deferred_releases();
  python_call_depth++; /* Ctrl-C ends the wait for a process that does not answer */
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_open_ticket(ticket, level, &out);
  PyEval_RestoreThread(python);
  python_call_depth--;
  return r ? raise_last() : wrap_array(out);
}

static struct cdv_ring *ring_of(PyObject *address) { return PyLong_AsVoidPtr(address); }

/* ring_put(address of a ring, array) */
static PyObject *m_ring_put(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *address, *array;
  if (!PyArg_ParseTuple(args, "OO", &address, &array)) return NULL;
  struct cdv_ring *ring = ring_of(address);
  struct cdv_array *a = ring ? array_incref(array) : NULL;
  if (!a) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_ring_put(ring, a);
  PyEval_RestoreThread(python);
  array_decref(a);
  if (r) return raise_last();
  Py_RETURN_NONE;
}

/* ring_end(address of a ring, code, words of an error or None) */
static PyObject *m_ring_end(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *address;
  const char *words;
  int code;
  if (!PyArg_ParseTuple(args, "OO&z", &address, to_int, &code, &words)) return NULL;
  struct cdv_ring *ring = ring_of(address);
  if (!ring) return NULL;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_ring_end(ring, code, words);
  PyEval_RestoreThread(python);
  if (r) return raise_last();
  Py_RETURN_NONE;
}

/* ring_open(address of a ticket, schema, validate): a DeviceArrayStream. */
static PyObject *m_ring_open(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *address, *schema, *validate;
  if (!PyArg_ParseTuple(args, "OOO", &address, &schema, &validate)) return NULL;
  const struct cdv_ticket *ticket = PyLong_AsVoidPtr(address);
  int level = level_of(validate);
  struct cdv_schema *s = !ticket || level < 0 ? NULL : hold_schema(schema);
  struct cdv_stream *out = NULL;
  if (!s) return NULL;
  python_call_depth++;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_ring_open(ticket, s, level, &out);
  PyEval_RestoreThread(python);
  python_call_depth--;
  cdv_schema_unref(s);
  return r ? raise_last() : wrap_stream(out);
}
