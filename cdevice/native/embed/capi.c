/* capi.c - the table behind the embedding library, and what of it is more than a function of the core. */
#include "native/embed/capi.h"
#include "native/common.h"

static const char *capi_error_text(void) { return cdv_error_last()->message; }
static int capi_error_vendor_code(void) { return cdv_error_last()->vendor_code; }
static int64_t capi_array_length(const struct cdv_array *a) { return a->length; }
static struct cdv_schema *capi_array_schema(const struct cdv_array *a) { return a->schema; }
static struct cdv_schema *capi_stream_schema(const struct cdv_stream *s) { return s->schema; }
static int32_t capi_stream_device_type(const struct cdv_stream *s) { return s->device_type; }

static void capi_array_device(const struct cdv_array *a, int32_t *type, int64_t *id) {
  *type = a->root->own.device_type;
  *id = a->root->own.device_id;
}

/* What cannot be meant, before anything is made of it. */
static int capi_level(const char *function, int level) {
  if (level >= CDEVICE_CHECK_NONE && level <= CDEVICE_CHECK_FULL) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): check is %d, expected CDEVICE_CHECK_NONE, _STRUCTURE or _FULL",
                  function, level);
}
static int capi_type(const char *function, int32_t type) {
  if (type > 0) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): device type %d is not positive", function, (int)type);
}

/* A list of n pointers as it came from C. */
static int capi_all_there(const char *function, const char *what, int64_t n, void *const *list) {
  if (n < 0 || n > INT32_MAX)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %lld %s", function, (long long)n, what);
  if (n && !list)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s is NULL, and there are %lld of them", function, what,
                    (long long)n);
  for (int64_t i = 0; i < n; i++)
    if (!list[i]) return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s[%lld] is NULL", function, what, (long long)i);
  return 0;
}

static int capi_schema_new(const char *format, const char *name, int64_t flags, int64_t n,
                           struct cdv_schema *const *children, struct cdv_schema *dictionary, struct cdv_schema **out) {
  int bad = capi_all_there("schema_new", "children", n, (void *const *)children);
  if (bad) return bad;
  struct ArrowSchema top = {.format = format, .name = name ? name : "", .flags = flags, .n_children = n}, copy;
  struct ArrowSchema **nodes = calloc((size_t)n + 1, sizeof *nodes);
  if (!nodes) return cdv_fail_memory(n, "a schema");
  for (int64_t i = 0; i < n; i++) nodes[i] = (struct ArrowSchema *)children[i]->node;
  top.children = nodes;
  if (dictionary) top.dictionary = (struct ArrowSchema *)dictionary->node;
  int r = cdv_schema_copy(&top, &copy);
  if (!r && (r = cdv_schema_import(&copy, out))) copy.release(&copy);
  free(nodes);
  return r;
}

static int capi_array_build(struct cdv_schema *schema, const cdevice_array_parts *p, int level,
                            struct cdv_array **out) {
  int bad = capi_level("array_build", level);
  if (!bad) bad = capi_all_there("array_build", "parts.children", p->n_children, (void *const *)p->children);
  if (bad) return bad;
  if (p->n_buffers < 0 || p->n_buffers > INT32_MAX)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_array_build(): %lld parts.buffers", (long long)p->n_buffers);
  if (p->n_buffers && !p->buffers)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_array_build(): parts.buffers is NULL, and there are %lld of them",
                    (long long)p->n_buffers);
  struct cdv_parts parts = {p->device_type, p->device_id,  p->length,   p->offset,     p->null_count, p->n_buffers,
                            p->buffers,     p->n_children, p->children, p->dictionary, p->sync_event};
  struct cdv_owner owner = {p->release, p->owner};
  return cdv_array_build(schema, &parts, owner, level, out);
}

static int capi_array_copy(struct cdv_array *a, int32_t type, int64_t id, void *stream, int always,
                           struct cdv_array **out) {
  int r = capi_type("array_copy", type);
  if (!r) r = cdv_array_copy(a, type, id, stream, always != 0, out);
  return r == EINVAL && no_such_device(type, id) ? cdv_error_last()->code : r;
}
static int capi_array_child(struct cdv_array *a, int64_t i, struct cdv_array **out) {
  return cdv_array_child(a, i, true, out);
}
static int capi_array_equal(struct cdv_array *a, struct cdv_array *b, int nans_equal, int *equal) {
  int r = cdv_array_readable(a, "comparing");
  if (!r) r = cdv_array_readable(b, "comparing");
  return r ? r : cdv_array_equal(a, b, nans_equal != 0, equal);
}
static int capi_stream_copy(struct cdv_stream *s, int32_t type, int64_t id, void *queue, int64_t prefetch,
                            struct cdv_stream **out) {
  int r = capi_type("stream_copy", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_stream_copy(s, type, id, queue, NULL, prefetch, false, out);
}
static int capi_stream_export(struct cdv_stream *s, struct ArrowDeviceArrayStream *out) {
  return cdv_stream_export(s, NULL, out);
}
static int capi_stream_export_cpu(struct cdv_stream *s, struct ArrowArrayStream *out) {
  return cdv_stream_export_plain(s, NULL, out);
}
static int capi_stream_new(struct cdv_schema *schema, int32_t type, struct cdv_array *const *arrays, int64_t n,
                           struct cdv_stream **out) {
  int r = capi_type("stream_new", type);
  if (!r) r = capi_all_there("stream_new", "arrays", n, (void *const *)arrays);
  return r ? r : cdv_stream_of_arrays(schema, type, arrays, n, out);
}
static int capi_array_import(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int level,
                             struct cdv_array **out) {
  int r = capi_level("array_import", level);
  return r ? r : cdv_import_pair(schema, array, level, out);
}
static int capi_array_check(struct cdv_array *a, int level) {
  int r = capi_level("array_check", level);
  return r ? r : cdv_validate_view(a, level);
}
static int capi_array_wait_stream(struct cdv_array *a, int32_t type, int64_t id, void *stream) {
  int r = capi_type("array_wait_stream", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_event_wait_stream(a, type, id, stream);
}
static int capi_get_device_info(int32_t type, int64_t id, cdevice_device_info *out) {
  int r = capi_type("get_device_info", type);
  if (r) return r;
  if (no_such_device(type, id)) return cdv_error_last()->code;
  return cdv_device_info(type, id, out);
}
/* As the core's, a stream that is refused is released. */
static int capi_stream_import(struct ArrowDeviceArrayStream *in, int level, struct cdv_stream **out) {
  int r = capi_level("stream_import", level);
  if (r && in->release) in->release(in);
  return r ? r : cdv_stream_import(in, level, out);
}
static int capi_stream_import_cpu(struct ArrowArrayStream *in, int level, struct cdv_stream **out) {
  int r = capi_level("stream_import_cpu", level);
  if (r && in->release) in->release(in);
  return r ? r : cdv_stream_import_plain(in, level, out);
}
static int capi_consumer_new(int64_t queue_size, int level, struct cdv_consumer **out) {
  int r = capi_level("consumer_new", level);
  return r ? r : cdv_consumer_new(queue_size, level, out);
}
static int capi_consumer_next(struct cdv_consumer *c, int64_t nanoseconds, struct cdv_array **out) {
  return cdv_consumer_take(c, nanoseconds, out, NULL);
}
static int capi_produce(struct cdv_stream *s, struct ArrowAsyncDeviceStreamHandler *h, const char *metadata,
                        struct cdv_producer **out) {
  int r = cdv_producer_new(s, h, metadata, out);
  if (!r && (r = cdv_producer_start(*out))) cdv_producer_cancel_unstarted(*out);
  return r;
}

static int capi_dlpack_export(struct cdv_array *a, DLManagedTensorVersioned **out) {
  return cdv_dlpack_export(a, DLPACK_FLAG_BITMASK_READ_ONLY, out);
}
static void capi_delete(void *tensor) {
  DLManagedTensorVersioned *t = tensor;
  if (t->deleter) t->deleter(t);
}
static int capi_dlpack_import(DLManagedTensorVersioned *t, void *sync_event, int level, struct cdv_array **out) {
  struct cdv_owner owner = {capi_delete, t};
  int r = capi_level("dlpack_import", level);
  if (r) return r;
  if (t->version.major > DLPACK_MAJOR_VERSION)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "DLPack %u.%u is not supported: expected major version %d", t->version.major,
                    t->version.minor, DLPACK_MAJOR_VERSION);
  return cdv_dlpack_import(&t->dl_tensor, sync_event, owner, level, out);
}

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
struct needed {
  const char *name;
  const void *value;
};

static int capi_null(const char *function, const char *name) {
  return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_%s(): %s is NULL", function, name);
}

static inline bool all_given(const char *function, const struct needed *arguments, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (__builtin_expect(!arguments[i].value, 0)) {
      capi_null(function, arguments[i].name);
      return false;
    }
  return true;
}
#define CDEVICE_REFUSED_CODE EINVAL
#define CDEVICE_START_TEXT ""
#define ALL_GIVEN(name, ...)                             \
  all_given(#name, (const struct needed[]){__VA_ARGS__}, \
            sizeof((const struct needed[]){__VA_ARGS__}) / sizeof(struct needed))
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
