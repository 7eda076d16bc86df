/* trampolines.c - a backend whose functions are methods of a Python object (cdevice.Backend).
 *
 * Each trampoline takes the GIL; free and event_destroy, which run inside release callbacks, go through the deferred
 * list instead.  An exception becomes an errno-compatible code and a message, and stays the cause of what the caller
 * raises. */
#include "native/common.h"

struct py_backend {
  struct py_backend *next;
  cdevice_backend table;
  cdevice_compute kernels; /* pykernels.c */
  PyObject *object, *compute;
  const char *role; /* in messages */
  struct cdv_deferred dropped;
  char name[64], version[64], family[64];
};

/* What a block or an event of such a backend keeps. */
struct py_held {
  struct cdv_deferred deferred; /* made with it, because release must not allocate */
  PyObject *backend;            /* its object */
  PyObject *object;             /* Block or event reference, handed back to free() or event_destroy() */
  const char *method;
};

/* The pending exception as code and message; it becomes the cause of what raise_last raises for them. DeviceError
 * alone means that the event has failed or the device is dead: other errors do not concern the device. */
static int caught(struct py_backend *b, const char *method, cdevice_error *err) {
  char text[900];
  PyObject *value = take_exception(text, sizeof text);
  int code = EREMOTEIO; /* does not concern the device */
  if (PyErr_GivenExceptionMatches(value, PyExc_MemoryError))
    code = ENOMEM;
  else if (PyErr_GivenExceptionMatches(value, PyExc_NotImplementedError))
    code = ENOTSUP;
  else if (unavailable_class && PyErr_GivenExceptionMatches(value, unavailable_class))
    code = ENODEV;
  else if (device_error_class && PyErr_GivenExceptionMatches(value, device_error_class))
    code = EIO;
  cdevice_backend_fail(err, code, 0, NULL, "%s() of the %s \"%s\" raised %s", method + (*method == '_'), b->role,
                       b->name, text);
  if (!err && PyErr_GivenExceptionMatches(value, PyExc_KeyboardInterrupt))
    PyErr_SetInterrupt(); /* it is not reported otherwise */
  struct cdv_shared *shared = err ? share_exception(value) : NULL;
  if (shared) cdv_error_attach_cause(err, shared, is_urgent(value));
  Py_XDECREF(value);
  return code;
}

/* A method call around which the GIL is taken: begin_call(), PyObject_CallMethod(), end_call(). */
struct call {
  struct visit visit; /* a release runs while an exception is pending */
  struct py_backend *backend;
  cdevice_error *err;
};

static int begin_call(struct call *c, void *self, cdevice_error *err) {
  c->backend = self;
  c->err = err;
  return enter_python_saving(&c->visit, err);
}

/* The code of an exception of the call, or of what looked at its result; 0: all went well. */
static int end_call(struct call *c, const char *method, PyObject *result) {
  Py_XDECREF(result);
  int r = PyErr_Occurred() ? caught(c->backend, method, c->err) : 0;
  leave_python(&c->visit);
  return r;
}

static int py_start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)host;
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "start", NULL);
  return end_call(&c, "start", result);
}

static int py_device_count(void *self, int64_t *out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "device_count", NULL);
  if (result) *out = PyLong_AsLongLong(result);
  return end_call(&c, "device_count", result);
}

static void read_info(PyObject *info, cdevice_device_info *out) {
  PyObject *name = PyObject_GetAttrString(info, "name"), *driver = PyObject_GetAttrString(info, "driver");
  PyObject *alignment = PyObject_GetAttrString(info, "alignment"), *total = PyObject_GetAttrString(info, "total_bytes");
  PyObject *available = PyObject_GetAttrString(info, "free_bytes");
  if (name && driver && alignment && total && available) {
    PyObject *n = PyUnicode_AsUTF8String(name), *d = PyUnicode_AsUTF8String(driver);
    if (n && d) {
      snprintf(out->name, sizeof out->name, "%s", PyBytes_AsString(n));
      snprintf(out->driver, sizeof out->driver, "%s", PyBytes_AsString(d));
      out->alignment = (uint32_t)PyLong_AsUnsignedLong(alignment);
      out->total_bytes = PyLong_AsLongLong(total);
      out->free_bytes = PyLong_AsLongLong(available);
      if (!PyErr_Occurred() && (out->alignment == 0 || (out->alignment & (out->alignment - 1))))
        PyErr_Format(PyExc_ValueError, "the alignment %u is not a power of two", out->alignment);
    }
    Py_XDECREF(n);
    Py_XDECREF(d);
  }
  Py_XDECREF(name);
  Py_XDECREF(driver);
  Py_XDECREF(alignment);
  Py_XDECREF(total);
  Py_XDECREF(available);
}

static int py_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "_device_info", "L", (long long)device);
  if (result) read_info(result, out);
  return end_call(&c, "device_info", result);
}

/* method(object), which gives back; GIL held. */
static void call_last(PyObject *backend, const char *method, PyObject *object) {
  if (atomic_load(&python_gone)) return; /* the modules behind the method may be gone; it goes with the process */
  PyObject *result = PyObject_CallMethod(backend, method, "(O)", object); /* it may be a tuple */
  if (!result && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    PyErr_SetInterrupt(); /* Ctrl-C was meant for the program, not for this */
  } else if (!result) {
    PyErr_WriteUnraisable(backend); /* there is no caller to raise it to */
  }
  Py_XDECREF(result);
}

static void run_held(void *p) { /* GIL held */
  struct py_held *h = p;
  call_last(h->backend, h->method, h->object);
  Py_DECREF(h->object);
  Py_DECREF(h->backend);
  free(h);
}

/* Room for what a method is about to give: afterwards it could not be given back. */
static struct py_held *new_held(void) {
  struct py_held *h = malloc(sizeof *h);
  if (!h) PyErr_NoMemory();
  return h;
}

/* Keeps `object` until method(object) is called for it. */
static void hold(struct py_held *h, struct py_backend *b, PyObject *object, const char *method) {
  Py_INCREF(object);
  Py_INCREF(b->object);
  *h = (struct py_held){{NULL, run_held, h}, b->object, object, method};
}

/* An address or handle that a backend gives; NULL with an exception for any other value. */
static void *address_from(PyObject *o) {
  unsigned long long n = PyLong_AsUnsignedLongLong(o);
  return n == (unsigned long long)-1 && PyErr_Occurred() ? NULL : (void *)(uintptr_t)n;
}

/* alloc returns an address or handle (int), or a Block with `data`; NULL: it raised.  owns: h, and result is the
 * caller's. */
static void take_block(struct py_backend *b, PyObject *result, int64_t device, int64_t nbytes, struct py_held *h,
                       cdevice_block *out) {
  PyObject *data = NULL;
  if (result) data = PyLong_Check(result) ? (Py_INCREF(result), result) : PyObject_GetAttrString(result, "data");
  void *p = data ? address_from(data) : NULL;
  Py_XDECREF(data);
  if (p) {
    hold(h, b, result, "free");
    *out = (cdevice_block){p, nbytes, device, {h, NULL}};
    return;
  }
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "alloc() returned address 0");
  free(h);
}

static int py_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  struct py_held *room = new_held();
  PyObject *result = NULL;
  if (room) {
    result = PyObject_CallMethod(c.backend->object, "_alloc", "LLN", (long long)nbytes, (long long)device,
                                 PyLong_FromVoidPtr(stream));
    take_block(c.backend, result, device, nbytes, room, out);
  }
  return end_call(&c, "_alloc", result);
}

static int py_view(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                   cdevice_error *err) {
  struct py_held *h = whole->opaque[0];
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  struct py_held *room = new_held();
  PyObject *result = NULL;
  if (room) {
    PyObject *block = h ? (Py_INCREF(h->object), h->object) : PyLong_FromVoidPtr(whole->data);
    result = PyObject_CallMethod(c.backend->object, "_view", "NLL", block, (long long)offset, (long long)nbytes);
    take_block(c.backend, result, whole->device_id, nbytes, room, out);
  }
  return end_call(&c, "_view", result);
}

static void py_free(void *self, const cdevice_block *block) {
  (void)self;
  struct py_held *h = block->opaque[0];
  if (h) release_now_or_defer(&h->deferred);
}

static PyObject *list_of_copies(const cdevice_copy *copies, int64_t n) {
  PyObject *list = PyList_New(0);
  for (int64_t i = 0; list && i < n; i++) {
    const cdevice_copy *c = &copies[i];
    PyObject *one = Py_BuildValue("(NLLNLLL)", PyLong_FromVoidPtr(c->dst), (long long)c->dst_offset,
                                  (long long)c->dst_device, PyLong_FromVoidPtr((void *)c->src),
                                  (long long)c->src_offset, (long long)c->src_device, (long long)c->nbytes);
    if (!one || PyList_Append(list, one)) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

static int py_copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *list = list_of_copies(copies, n), *result = NULL;
  if (list) result = PyObject_CallMethod(c.backend->object, "_copy", "iON", kind, list, PyLong_FromVoidPtr(stream));
  Py_XDECREF(list);
  return end_call(&c, "copy", result);
}

/* event_record returns None (the data is safe), the address of an event (int), or an object with `sync_event`. */
static void take_event(struct py_backend *b, PyObject *result, struct py_held *h, cdevice_event *out) {
  PyObject *address = NULL;
  memset(out, 0, sizeof *out);
  if (result && result != Py_None)
    address = PyLong_Check(result) ? (Py_INCREF(result), result) : PyObject_GetAttrString(result, "sync_event");
  void *p = address ? address_from(address) : NULL;
  Py_XDECREF(address);
  if (!address || PyErr_Occurred()) {
    free(h);
    return;
  }
  hold(h, b, result, "event_destroy");
  out->sync_event = p;
  out->opaque = h;
}

static int py_event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  struct py_held *room = new_held();
  PyObject *result = NULL;
  if (room) {
    result =
        PyObject_CallMethod(c.backend->object, "_event_record", "LN", (long long)device, PyLong_FromVoidPtr(stream));
    take_event(c.backend, result, room, out);
  }
  return end_call(&c, "_event_record", result);
}

static int py_event_done(void *self, int64_t device, void *event, int *done, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result =
      PyObject_CallMethod(c.backend->object, "_event_done", "NL", PyLong_FromVoidPtr(event), (long long)device);
  if (result) *done = PyObject_IsTrue(result) > 0;
  return end_call(&c, "_event_done", result);
}

static int py_event_wait_host(void *self, int64_t device, void *event, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "_event_wait", "NLO", PyLong_FromVoidPtr(event),
                                         (long long)device, Py_None);
  return end_call(&c, "_event_wait", result);
}

static int py_event_wait_stream(void *self, int64_t device, void *event, void *stream, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "_event_wait", "NLN", PyLong_FromVoidPtr(event),
                                         (long long)device, PyLong_FromVoidPtr(stream));
  return end_call(&c, "_event_wait", result);
}

static void py_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device;
  struct py_held *h = event->opaque;
  if (h) release_now_or_defer(&h->deferred);
}

static int py_current_stream(void *self, int64_t device, void **out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->object, "_current_stream", "L", (long long)device);
  if (result) *out = address_from(result);
  return end_call(&c, "_current_stream", result);
}

static int py_stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result =
      PyObject_CallMethod(c.backend->object, "_stream_wait", "LN", (long long)device, PyLong_FromVoidPtr(stream));
  return end_call(&c, "_stream_wait", result);
}

static int text_attribute(PyObject *object, const char *name, char *out, size_t room) {
  PyObject *value = PyObject_GetAttrString(object, name), *bytes = NULL;
  if (value && value != Py_None) bytes = PyUnicode_AsUTF8String(value);
  if (bytes) snprintf(out, room, "%s", PyBytes_AsString(bytes));
  Py_XDECREF(bytes);
  Py_XDECREF(value);
  return PyErr_Occurred() ? -1 : 0;
}

static _Atomic(struct py_backend *) py_backends; /* all of them, so that they can be reached */

/* pykernels.c: the table hands out cdevice.compute/1, whose functions call methods of `compute`. */
static void offer_kernels(struct py_backend *b, PyObject *compute, int scoped, int keeps);

/* make_backend(object, its compute or None, do modules belong to scopes, are they kept on disk) -> address of a
 * table that calls its methods. It lives as long as the process: another thread may be looking at it. */
static PyObject *m_make_backend(PyObject *self, PyObject *args) {
  PyObject *object, *compute;
  int scoped, keeps;
  (void)self;
  if (!PyArg_ParseTuple(args, "OOpp", &object, &compute, &scoped, &keeps)) return NULL;
  struct py_backend *b = calloc(1, sizeof *b);
  if (!b) return PyErr_NoMemory();
  cdevice_backend *t = &b->table;
  PyObject *type = PyObject_GetAttrString(object, "device_type"),
           *caps = PyObject_GetAttrString(object, "capabilities");
  if (!type || !caps || text_attribute(object, "name", b->name, sizeof b->name) ||
      text_attribute(object, "version", b->version, sizeof b->version) ||
      text_attribute(object, "family", b->family, sizeof b->family))
    goto failed;
  b->role = "Python backend";
  t->abi_version = CDEVICE_BACKEND_ABI;
  t->struct_size = sizeof *t;
  t->device_type = (int32_t)PyLong_AsLong(type);
  t->capabilities = PyLong_AsUnsignedLongLong(caps) | CDEVICE_CAP_NEEDS_PYTHON;
  if (PyErr_Occurred()) goto failed;
  t->name = b->name;
  t->version = b->version;
  t->family = b->family[0] ? b->family : NULL;
  t->self = b;
  t->start = py_start;
  t->device_count = py_device_count;
  t->alloc = py_alloc;
  t->free = py_free;
  t->copy = py_copy;
  t->device_info = py_device_info;
  t->view = py_view;
  t->current_stream = py_current_stream;
  t->stream_wait_host = py_stream_wait_host;
  if (t->capabilities & CDEVICE_CAP_EVENTS) {
    t->event_record = py_event_record;
    t->event_done = py_event_done;
    t->event_wait_host = py_event_wait_host;
    t->event_wait_stream = py_event_wait_stream;
    t->event_destroy = py_event_destroy;
  }
  if (compute != Py_None) offer_kernels(b, compute, scoped, keeps);
  Py_INCREF(object);
  b->object = object;
  b->next = atomic_load(&py_backends);
  while (!atomic_compare_exchange_weak(&py_backends, &b->next, b)) {}
  Py_DECREF(type);
  Py_DECREF(caps);
  return PyLong_FromVoidPtr(t);
failed:
  Py_XDECREF(type);
  Py_XDECREF(caps);
  free(b);
  return NULL;
}

/* ---- allocators: an object with `_alloc` and `free` as a backend has them ---- */
static void run_dropped(void *p) { /* GIL held; its blocks have references of their own */
  struct py_backend *b = p;
  Py_DECREF(b->object);
  free(b);
}

static void py_drop(void *self) {
  struct py_backend *b = self;
  release_now_or_defer(&b->dropped);
}

/* set_allocator(device type, object or None) */
static PyObject *m_set_allocator(PyObject *self, PyObject *args) {
  PyObject *object;
  int type;
  (void)self;
  if (!PyArg_ParseTuple(args, "O&O", to_int, &type, &object)) return NULL;
  struct py_backend *b = NULL;
  if (object != Py_None) {
    b = calloc(1, sizeof *b);
    if (!b) return PyErr_NoMemory();
    if (text_attribute(object, "name", b->name, sizeof b->name)) {
      free(b);
      return NULL;
    }
    b->role = "allocator";
    b->dropped = (struct cdv_deferred){NULL, run_dropped, b};
    Py_INCREF(object);
    b->object = object;
  }
  cdevice_allocator a = {sizeof a, 0, b, py_alloc, py_free, py_drop};
  int r;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_set_allocator(type, b ? &a : NULL);
  PyEval_RestoreThread(python);
  if (r && b) run_dropped(b);
  if (r) return raise_last();
  Py_RETURN_NONE;
}

/* ---- backends that are loaded on first use ---- */
static PyObject *load_backend; /* ensure_backend of cdevice._devices.backends, behind a late import */

static int load_for_core(int32_t device_type) {
  struct visit visit;
  cdevice_error err = {.struct_size = sizeof err};
  int lost = enter_python_saving(&visit, &err);
  if (lost) return lost == EPERM ? cdv_fail(CDV_DEVICE, EPERM, "%s", err.message) : 0; /* at exit nothing is loaded */
  PyObject *done = load_error_classes() ? NULL : PyObject_CallFunction(load_backend, "i", (int)device_type);
  int r = 0;
  if (!done) {
    char text[1024];
    PyObject *raised = take_exception(text, sizeof text);
    const char *words = strstr(text, ": "); /* behind the name, unless there are none */
    r = cdv_fail(CDV_UNAVAILABLE, ENODEV, "%s", words && words[2] ? words + 2 : text);
    if (is_urgent(raised)) cdv_error_set_cause(share_exception(raised), 1);
    Py_XDECREF(raised);
  }
  Py_XDECREF(done);
  leave_python(&visit);
  return r;
}
