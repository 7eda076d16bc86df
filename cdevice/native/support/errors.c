/* errors.c - exceptions become errors of the core, and errors become exceptions. */
#include "native/common.h"
#include "native/support/no_such_device.h"

/* The text of an exception's str() or of its type's name in UTF-8, also where it has surrogates; or `otherwise`. */
static void put_text(PyObject *words, const char *otherwise, char *out, size_t size) {
  PyObject *bytes = words ? PyUnicode_AsEncodedString(words, "utf-8", "backslashreplace") : NULL;
  const char *text = bytes ? PyBytes_AsString(bytes) : otherwise;
  size_t n = bytes ? (size_t)PyBytes_Size(bytes) : strlen(otherwise), i = 0;
  if (n >= size) n = size - 1;
  while (n && bytes && n < (size_t)PyBytes_Size(bytes) && (text[n] & 0xC0) == 0x80) n--; /* no half letter */
  for (; i < n; i++) out[i] = text[i] ? text[i] : ' ';
  out[i] = 0;
  Py_XDECREF(bytes);
  PyErr_Clear();
}

/* "Name: message" of an exception.  No exception is pending, then or afterwards. */
static void exception_text(PyObject *value, char *text, size_t size) {
  PyObject *name = value ? PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__") : NULL;
  put_text(name, "an exception", text, size);
  Py_XDECREF(name);
  size_t n = strlen(text);
  if (n + 3 > size) return;
  memcpy(text + n, ": ", 3);
  PyObject *words = value ? PyObject_Str(value) : NULL;
  PyErr_Clear();
  put_text(words, "without text", text + n + 2, size - n - 2);
  Py_XDECREF(words);
}

/* Takes the pending exception, a new reference or NULL. */
static PyObject *fetch_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback && value) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

/* The same, and "Name: message" in `text`. */
static PyObject *take_exception(char *text, size_t size) {
  PyObject *value = fetch_exception();
  exception_text(value, text, size);
  return value;
}

/* ---- the exception behind an error ---- */
static void drop_later(void *owner) { cdv_defer_push(owner); } /* where the core forgets an error, nothing may run */

/* NULL: it goes without. */
static struct cdv_shared *share_exception(PyObject *value) {
  struct cdv_owner owner;
  struct cdv_shared *out;
  if (!value || make_owner(value, &owner)) {
    PyErr_Clear();
    return NULL;
  }
  owner.drop = drop_later;
  if (!cdv_share(owner, &out)) return out;
  drop_later(owner.owner);
  return NULL;
}

/* What must come out as itself, and at once. */
static int is_urgent(PyObject *value) {
  return value && (PyErr_GivenExceptionMatches(value, PyExc_KeyboardInterrupt) ||
                   PyErr_GivenExceptionMatches(value, PyExc_SystemExit));
}

static int load_error_classes(void) {
  if (make_error) return 0;
  PyObject *m = PyImport_ImportModule("cdevice._core");
  Py_XDECREF(m);
  if (m && !make_error) PyErr_SetString(PyExc_ImportError, "cdevice is only partly imported");
  return m && make_error ? 0 : -1;
}

/* The exception behind this thread's last error, a new reference or NULL; once. */
static PyObject *take_cause(void) {
  struct cdv_shared *shared = cdv_error_take_cause();
  if (!shared) return NULL;
  PyObject *cause = ((struct cdv_deferred *)cdv_shared_owner(shared))->object;
  Py_INCREF(cause);
  cdv_shared_unref(shared);
  run_deferred_releases(); /* now: nothing else may keep it alive */
  return cause;
}

/* ---- errors become exceptions ---- */
static PyObject *raise_last(void) {
  if (PyErr_Occurred()) return NULL;      /* a backend in Python raised: that is the better message */
  struct cdv_error e = *cdv_error_last(); /* what runs from here on may leave another one */
  PyObject *cause = take_cause(), *x = NULL;
  if (load_error_classes()) {
    Py_XDECREF(cause);
    return NULL;
  }
  if (cause && e.is_interrupt) { /* KeyboardInterrupt and SystemExit: never converted to another exception */
    PyErr_SetObject((PyObject *)Py_TYPE(cause), cause);
    Py_DECREF(cause);
    return NULL;
  }
  PyObject *message = PyUnicode_DecodeUTF8(e.message, (Py_ssize_t)strlen(e.message), "replace");
  if (message)
    x = PyObject_CallFunction(make_error, "iiOsLiLis", e.kind, e.code, message, e.node, (long long)e.buffer,
                              (int)e.device_type, (long long)e.device_id, e.vendor_code, e.vendor_name);
  Py_XDECREF(message);
  if (x && cause) {
    PyException_SetCause(x, cause); /* takes the reference */
    cause = NULL;
  }
  Py_XDECREF(cause);
  if (x) PyErr_SetObject((PyObject *)Py_TYPE(x), x);
  Py_XDECREF(x);
  return NULL;
}
/* What a Python source raised, as it was; anything else as this package's. */
static PyObject *raise_original(void) {
  PyObject *cause = cdv_error_last()->raised ? take_cause() : NULL;
  if (!cause) return raise_last();
  PyErr_SetObject((PyObject *)Py_TYPE(cause), cause);
  Py_DECREF(cause);
  return NULL;
}

/* ---- exceptions become errors ---- */
/* A number that fits an int, or 0. */
static int small_number(PyObject *value, const char *attribute) {
  PyObject *number = PyObject_GetAttrString(value, attribute);
  long long n = number && PyLong_Check(number) && !PyBool_Check(number) ? PyLong_AsLongLong(number) : 0;
  Py_XDECREF(number);
  PyErr_Clear();
  return n > 0 && n <= INT32_MAX ? (int)n : 0;
}

/* The errno of an exception for a consumer that knows nothing else: never 0. */
static int code_of(PyObject *value) {
  int code = 0;
  if (PyErr_GivenExceptionMatches(value, PyExc_MemoryError)) return ENOMEM;
  if (PyErr_GivenExceptionMatches(value, PyExc_NotImplementedError)) return ENOTSUP;
  if (PyErr_GivenExceptionMatches(value, PyExc_KeyboardInterrupt)) return EINTR;
  if (error_class && PyErr_GivenExceptionMatches(value, error_class)) code = small_number(value, "code");
  if (PyErr_GivenExceptionMatches(value, PyExc_OSError)) code = small_number(value, "errno");
  if (code) return code;
  if (PyErr_GivenExceptionMatches(value, PyExc_ValueError) || PyErr_GivenExceptionMatches(value, PyExc_TypeError))
    return EINVAL;
  return EIO;
}

/* The one place where an exception becomes an error of the core: text and code for callers in C; where Python
 * code waits for the answer, the exception itself. */
static int error_from_exception(PyObject *value, const char *text, int keep) {
  int code = cdv_fail(CDV_STREAM, value ? code_of(value) : EIO, "%s", text);
  struct cdv_shared *shared = keep ? share_exception(value) : NULL;
  if (shared) cdv_error_set_cause(shared, is_urgent(value));
  cdv_error_last()->raised = shared != NULL;
  return code;
}

static int error_from_source(void) {
  char text[1024];
  PyObject *value = take_exception(text, sizeof text);
  int code = error_from_exception(value, text, python_call_depth);
  Py_XDECREF(value);
  return code;
}

/* Called by long waits: Ctrl-C ends them. */
static int check_python_signals(void) {
  PyGILState_STATE state = PyGILState_UNLOCKED;
  cdevice_error err = {.struct_size = sizeof err};
  if (!python_call_depth || enter_python(&state, &err)) return 0;
  int r = PyErr_CheckSignals() ? error_from_source() : 0;
  if (r) cdv_error_last()->retryable = 1;
  PyGILState_Release(state);
  return r;
}

/* An exception that was handled below is dropped. */
static void forget_cause(void) {
  struct cdv_shared *shared = cdv_error_last()->cause ? cdv_error_take_cause() : NULL;
  if (!shared) return;
  cdv_shared_unref(shared);
  run_deferred_releases();
}
