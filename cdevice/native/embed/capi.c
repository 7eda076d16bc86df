/* capi.c - the table behind the embedding library, and what of it is more than a function of the core. */
#include "native/embed/capi.h"
#include "native/common.h"
#include "native/embed/plain.h"

/* ---- what needs Python ---- */

/* CUresult, hipError_t or cl_int, which may be negative; 0: none. */
static int vendor_code_of(PyObject *value) {
  PyObject *number = PyObject_GetAttrString(value, "vendor_code");
  long n = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;
  Py_XDECREF(number);
  PyErr_Clear();
  return n >= INT32_MIN && n <= INT32_MAX ? (int)n : 0;
}

/* The pending exception is this thread's error; its code. */
static int capi_raised(void) {
  char text[1024];
  PyObject *value = take_exception(text, sizeof text);
  int code = value ? code_of(value) : EIO;
  if (value && is_urgent(value)) PyErr_SetInterrupt(); /* no C program hears of it otherwise */
  cdv_fail(CDV_ARGUMENT, code, "%s", text);
  if (value && device_error_class && PyErr_GivenExceptionMatches(value, device_error_class))
    cdv_error_last()->vendor_code = vendor_code_of(value);
  Py_XDECREF(value);
  return code;
}

/* module.function(argument), without one where it is NULL; a new reference, or NULL with the error in the slot,
 * whose code is the exception's errno. */
static PyObject *capi_call(const char *module, const char *function, PyObject *argument) { /* takes argument over */
  PyObject *m = PyErr_Occurred() ? NULL : PyImport_ImportModule(module);
  PyObject *f = m ? PyObject_GetAttrString(m, function) : NULL;
  PyObject *result = f ? PyObject_CallFunctionObjArgs(f, argument, NULL) : NULL;
  if (!result) {
    capi_raised();
  }
  Py_XDECREF(argument);
  Py_XDECREF(m);
  Py_XDECREF(f);
  return result;
}

static int capi_enter(struct visit *v) {
  cdevice_error err = {.struct_size = sizeof err};
  int r = enter_python_saving(v, &err); /* the host's exception may be pending */
  return r ? cdv_fail(CDV_ARGUMENT, r, "%s", err.message) : 0;
}

static int capi_find_device(const char *name, int32_t *type, int64_t *id) {
  struct visit host;
  int r = capi_enter(&host);
  if (r) return r;
  PyObject *d = capi_call("cdevice", "device", PyUnicode_FromString(name));
  PyObject *t = d ? PyObject_GetAttrString(d, "type_id") : NULL, *i = d ? PyObject_GetAttrString(d, "id") : NULL;
  long long found[2] = {t ? PyLong_AsLongLong(t) : 0, i ? PyLong_AsLongLong(i) : 0};
  if (PyErr_Occurred())
    r = capi_raised();
  else if (!d)
    r = cdv_error_last()->code;
  if (!r) {
    *type = (int32_t)found[0];
    *id = found[1];
  }
  Py_XDECREF(t);
  Py_XDECREF(i);
  Py_XDECREF(d);
  leave_python(&host);
  return r;
}

static int capi_device_types(int32_t *types, int64_t room, int64_t *n) {
  struct visit host;
  if (room > 0 && !types)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_device_types(): types is NULL, and has room for %lld",
                    (long long)room);
  int r = capi_enter(&host);
  if (r) return r;
  PyObject *list = capi_call("cdevice._devices.backends", "all_types", NULL);
  if (list && PyList_Check(list)) {
    *n = PyList_Size(list);
    for (int64_t k = 0; k < *n && k < room; k++) types[k] = (int32_t)PyLong_AsLong(PyList_GetItem(list, k));
  } else {
    r = list ? cdv_fail(CDV_ARGUMENT, EIO, "cdevice_device_types(): the package returned no list")
             : cdv_error_last()->code;
  }
  Py_XDECREF(list);
  leave_python(&host);
  return r;
}

static int capi_call_python(const char *module, const char *function, void *address, int64_t *result) {
  struct visit host;
  int r = capi_enter(&host);
  if (r) return r;
  PyObject *x = capi_call(module, function, PyLong_FromVoidPtr(address));
  if (!x) {
    r = EIO;
  } else if (result) {
    *result = x == Py_None ? 0 : PyLong_AsLongLong(x);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      r = cdv_fail(CDV_ARGUMENT, EINVAL, "%s.%s() did not return an int", module, function);
    }
  }
  Py_XDECREF(x);
  leave_python(&host);
  return r;
}

/* (name, (array or None, ...), text or None); NULL with an exception. */
static PyObject *capi_call_parts(const char *name, struct cdv_array *const *arguments, int64_t n, const char *options) {
  PyObject *arrays = PyTuple_New((Py_ssize_t)n);
  for (int64_t i = 0; arrays && i < n; i++) {
    PyObject *one = arguments[i] ? wrap_array(cdv_array_ref(arguments[i])) : Py_None;
    if (one == Py_None) Py_INCREF(one);
    if (!one || PyTuple_SetItem(arrays, (Py_ssize_t)i, one)) Py_CLEAR(arrays);
  }
  PyObject *parts = arrays ? Py_BuildValue("(sOz)", name, arrays, options) : NULL;
  Py_XDECREF(arrays);
  return parts;
}

/* This thread's error, "Type: text", becomes "cdevice_call(): name: text"; its codes stay. */
static int capi_call_failed(const char *name) {
  struct cdv_error *last = cdv_error_last();
  const char *after = strstr(last->message, ": ");
  char text[sizeof last->message];
  size_t n = strlen(name);
  int code = last->code, vendor_code = last->vendor_code;
  snprintf(text, sizeof text, "%s", after ? after + 2 : last->message);
  bool named = !strncmp(text, name, n) && (text[n] == ':' || text[n] == ' ' || text[n] == '(');
  cdv_fail(CDV_ARGUMENT, code, "cdevice_call(): %.200s%s%s", named ? "" : name, named ? "" : ": ", text);
  cdv_error_last()->vendor_code = vendor_code;
  return code;
}

static int capi_compute_call(const char *name, struct cdv_array *const *arguments, int64_t n, const char *options,
                             struct cdv_array **out) {
  struct visit host;
  if (n < 0 || n > INT16_MAX) return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_call(): n is %lld", (long long)n);
  if (n && !arguments)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_call(): arguments is NULL, and there are %lld of them",
                    (long long)n);
  int r = capi_enter(&host);
  if (r) return r;
  PyObject *made = capi_call("cdevice.compute.from_c", "call", capi_call_parts(name, arguments, n, options));
  struct cdv_array *array = made ? array_incref(made) : NULL;
  if (array)
    *out = array;
  else if (!made || capi_raised())
    r = capi_call_failed(name);
  Py_XDECREF(made);
  leave_python(&host);
  return r;
}

/* ---- rules of the interfaces ---- */

/* function(schema or 0, struct, format) of the suites: (number of rules, text). */
static int capi_check(const char *function, const void *schema, const void *at, const char *format, int64_t *broken,
                      char **report) {
  struct visit host;
  int r = capi_enter(&host);
  if (r) return r;
  PyObject *parts = Py_BuildValue("(NNz)", PyLong_FromVoidPtr((void *)schema), PyLong_FromVoidPtr((void *)at), format);
  PyObject *found = capi_call("cdevice.testing.conformance.from_c", function, parts);
  PyObject *text = found ? PyUnicode_AsUTF8String(PyTuple_GetItem(found, 1)) : NULL;
  char *copy = text ? strdup(PyBytes_AsString(text)) : NULL;
  if (copy) {
    *broken = PyLong_AsLongLong(PyTuple_GetItem(found, 0));
    *report = copy;
  } else {
    r = found ? capi_raised() : cdv_error_last()->code;
  }
  Py_XDECREF(text);
  Py_XDECREF(found);
  leave_python(&host);
  return r;
}

static int capi_check_array(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, const char *format,
                            int64_t *broken, char **report) {
  return capi_check("check_array", schema, array, format, broken, report);
}

static int capi_check_stream(const struct ArrowDeviceArrayStream *stream, const char *format, int64_t *broken,
                             char **report) {
  return capi_check("check_device_stream", NULL, stream, format, broken, report);
}

static int capi_check_stream_cpu(const struct ArrowArrayStream *stream, const char *format, int64_t *broken,
                                 char **report) {
  return capi_check("check_stream", NULL, stream, format, broken, report);
}

/* ---- the table ---- */
#define CDEVICE_REFUSED_CODE EINVAL
#define CDEVICE_START_TEXT ""
#define F(result, failed, name, parameters, arguments, behind, ...) \
  static result needing_##name parameters { return ALL_GIVEN(name, __VA_ARGS__) ? behind arguments : (failed); }
#define V(name, parameters, arguments, behind, ...)     \
  static void needing_##name parameters {               \
    if (ALL_GIVEN(name, __VA_ARGS__)) behind arguments; \
  }
CDEVICE_FUNCTIONS(F, V)
#undef F
#undef V

static const struct cdevice_api capi_table = {
    CDEVICE_API, sizeof(struct cdevice_api),
    CDEVICE_VERSION_MAJOR << 16 | CDEVICE_VERSION_MINOR << 8 | CDEVICE_VERSION_PATCH, 0,
#define F(result, failed, name, parameters, arguments, behind) behind,
    CDEVICE_ASKING(F)
#undef F
#define F(result, failed, name, ...) needing_##name,
#define V(name, ...) needing_##name,
        CDEVICE_FUNCTIONS(F, V)
#undef F
#undef V
};

/* For the embedding library.  0, or -1 with an exception. */
static int publish_table(PyObject *module) {
  PyObject *capsule = PyCapsule_New((void *)&capi_table, CDEVICE_CAPSULE, NULL);
  int r = capsule ? PyObject_SetAttrString(module, strrchr(CDEVICE_CAPSULE, '.') + 1, capsule) : -1;
  Py_XDECREF(capsule);
  return r;
}
