/* python.c - the one place where C meets Python objects: capsules, the base classes, deferred release.
 *
 * Included by the text that cffi compiles, so that ffi, lib and these functions are one module.  Limited API 3.10.
 * Functions that may take long or wait hold a reference and let the GIL go. */
#include <dlfcn.h>
#include <stdlib.h>

/* ---- does this thread hold the GIL?  PyGILState_Check is not in the limited API and always says yes once there was
 * a sub-interpreter.  Unknown means no: the release is deferred, which is always correct. ---- */
static PyThreadState *(*current_tstate)(void);
static int tstate_is_thread_local; /* 3.12 and later */

static int gil_held(void) {
  PyThreadState *t = current_tstate ? current_tstate() : NULL;
  return t && (tstate_is_thread_local || t == PyGILState_GetThisThreadState());
}

/* ---- Python owners ---- */
static void run_deferred(struct cdv_deferred *d) { /* GIL held */
  if (d->run) {
    d->run(d->object); /* frees d with its object */
  } else {
    PyObject *o = d->object;
    free(d);
    Py_DECREF(o);
  }
}

/* What runs while something dies, or inside somebody's release, must leave the exception that is on its way alone: code
 * of others stands between these two, ours or not. */
struct pending {
  PyObject *type, *value, *traceback;
};
static struct pending put_aside(void) {
  struct pending p = {NULL, NULL, NULL};
  if (PyErr_Occurred()) PyErr_Fetch(&p.type, &p.value, &p.traceback);
  return p;
}
static void bring_back(struct pending p) {
  if (p.type || PyErr_Occurred()) PyErr_Restore(p.type, p.value, p.traceback);
}

/* Any thread: at once where the GIL is held, so that `del` is visible; else by the thread that drains. */
static void drop_or_defer(struct cdv_deferred *d) {
  if (gil_held()) {
    struct pending p = put_aside();
    run_deferred(d);
    bring_back(p);
  } else {
    cdv_defer_push(d);
  }
}

static void drain(void) { /* GIL held; destructors may push again */
  struct cdv_deferred *d, *next;
  if (!cdv_defer_pending()) return;
  struct pending p = put_aside();
  while ((d = cdv_defer_take()))
    for (; d; d = next) {
      next = d->next;
      run_deferred(d);
    }
  bring_back(p);
}

static void drop_python(void *owner) { drop_or_defer(owner); }

/* The list node is made here, because release must not allocate. */
static int make_owner(PyObject *object, struct cdv_owner *out) {
  struct cdv_deferred *d = malloc(sizeof *d);
  if (!d) {
    PyErr_NoMemory();
    return -1;
  }
  Py_INCREF(object);
  d->next = NULL;
  d->run = NULL;
  d->object = object;
  out->drop = drop_python;
  out->owner = d;
  return 0;
}

/* Keeps a stream object for what is allocated for it; None: *out is NULL. */
static int share(PyObject *object, struct cdv_shared **out) {
  struct cdv_owner owner;
  *out = NULL;
  if (object == Py_None) return 0;
  if (make_owner(object, &owner)) return -1;
  if (!cdv_share(owner, out)) return 0;
  owner.drop(owner.owner);
  PyErr_NoMemory();
  return -1;
}

/* ---- errors ---- */
static PyObject *make_error;         /* of what the core reported: cdevice._core */
static PyObject *unavailable_class;  /* cdevice.BackendUnavailable */
static PyObject *device_error_class; /* cdevice.DeviceError */
static PyObject *take_cause(void);

/* The classes that stand above this module, whichever module of the package was imported first.  -1 with an exception. */
static int join_classes(void) {
  if (make_error) return 0;
  PyObject *m = PyImport_ImportModule("cdevice._core");
  Py_XDECREF(m);
  if (m && !make_error) PyErr_SetString(PyExc_ImportError, "cdevice is only partly imported");
  return m && make_error ? 0 : -1;
}

/* The text of an exception's str() or of its type's name in UTF-8, whatever it is made of; or `otherwise`. */
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

/* Takes the pending exception: "Name: message" in `text`; the instance, a new reference or NULL. */
static PyObject *take_exception(char *text, size_t size) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback && value) PyException_SetTraceback(value, traceback);
  exception_text(value, text, size);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

static PyObject *raise_last(void) {
  if (PyErr_Occurred()) return NULL;      /* a backend in Python raised: that is the better message */
  struct cdv_error e = *cdv_error_last(); /* what runs from here on may leave another one */
  PyObject *cause = take_cause(), *x = NULL;
  if (join_classes()) {
    Py_XDECREF(cause);
    return NULL;
  }
  if (cause && e.urgent) { /* KeyboardInterrupt and SystemExit: nobody may take them for something else */
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

/* ---- numbers: what does not fit is a ValueError, as any other bad argument ---- */
static int to_int64(PyObject *o, void *out) { /* a converter of PyArg_ParseTuple */
  long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%R is beyond 64 bits", o);
    return 0;
  }
  *(long long *)out = v;
  return 1;
}

static int to_int(PyObject *o, void *out) {
  long long v;
  if (!to_int64(o, &v)) return 0;
  if (v == (int)v) {
    *(int *)out = (int)v;
    return 1;
  }
  PyErr_Format(PyExc_ValueError, "%lld is beyond 32 bits", v);
  return 0;
}

/* ---- the two base classes ---- */
typedef struct {
  PyObject_HEAD struct cdv_array *array;
  struct cdv_array *lent; /* shown by address to holders of this object: theirs until it dies, release() or not */
} ArrayObject;
typedef struct {
  PyObject_HEAD struct cdv_schema *schema;
} SchemaObject;

static PyTypeObject *ArrayBase, *SchemaBase;     /* here */
static PyTypeObject *array_class, *schema_class; /* cdevice.DeviceArray, cdevice.Schema */
static PyObject *first_array(PyTypeObject *type, Py_ssize_t n);
static PyObject *first_schema(PyTypeObject *type, Py_ssize_t n);
static allocfunc array_new = first_array, schema_new = first_schema;
static freefunc array_free, schema_free;

static PyObject *first_array(PyTypeObject *type, Py_ssize_t n) {
  return join_classes() ? NULL : array_new(array_class, n);
}
static PyObject *first_schema(PyTypeObject *type, Py_ssize_t n) {
  return join_classes() ? NULL : schema_new(schema_class, n);
}

static PyObject *wrap_array(struct cdv_array *a) { /* takes the reference over */
  PyObject *o = array_new(array_class, 0);         /* all zero */
  if (o)
    ((ArrayObject *)o)->array = a;
  else
    cdv_array_unref(a);
  return o;
}

static PyObject *wrap_schema(struct cdv_schema *s) {
  PyObject *o = schema_new(schema_class, 0);
  if (o)
    ((SchemaObject *)o)->schema = s;
  else
    cdv_schema_unref(s);
  return o;
}

static struct cdv_array *array_of(PyObject *o) {
  if (!PyObject_TypeCheck(o, ArrayBase)) {
    PyErr_Format(PyExc_TypeError, "expected a DeviceArray, not %R", (PyObject *)Py_TYPE(o));
    return NULL;
  }
  struct cdv_array *a = ((ArrayObject *)o)->array;
  if (!a) {
    cdv_fail(CDV_RELEASED, EINVAL, "the array has been released");
    raise_last();
  }
  return a;
}

/* How a function comes to core pointers, in this order (a test reads the sources for it):
 *   - arguments are converted, which may run anybody's code;
 *   - hold_array(), hold_schema(): deferred drops are run, anybody's code as well, then the pointer is taken, counted;
 *   - the core is called, and the reference given back.
 * The borrowed pointer of array_of() and schema_of() is for getters that do nothing else. */
static struct cdv_array *hold_array(PyObject *o) {
  drain();
  struct cdv_array *a = array_of(o);
  return a ? cdv_array_ref(a) : NULL;
}
/* Once the result is made and what went wrong is raised: the last reference may run anybody's release. */
static void let_go(struct cdv_array *a) {
  struct pending p = put_aside();
  cdv_array_unref(a);
  bring_back(p);
}

static struct cdv_schema *schema_of(PyObject *o) {
  if (!PyObject_TypeCheck(o, SchemaBase)) {
    PyErr_Format(PyExc_TypeError, "expected a Schema, not %R", (PyObject *)Py_TYPE(o));
    return NULL;
  }
  struct cdv_schema *s = ((SchemaObject *)o)->schema;
  if (!s) PyErr_SetString(PyExc_ValueError, "an empty Schema object");
  return s;
}

static struct cdv_schema *hold_schema(PyObject *o) {
  drain();
  struct cdv_schema *s = schema_of(o);
  return s ? cdv_schema_ref(s) : NULL;
}

/* ---- capsules ---- */
static const char N_SCHEMA[] = "arrow_schema", N_ARRAY[] = "arrow_array", N_DEVICE_ARRAY[] = "arrow_device_array";

static void free_schema_capsule(PyObject *c) {
  struct pending p = put_aside();
  struct ArrowSchema *s = PyCapsule_GetPointer(c, N_SCHEMA);
  if (s->release) s->release(s);
  free(s);
  bring_back(p);
}
static void free_array(PyObject *c, const char *name) {
  struct pending p = put_aside();
  struct ArrowDeviceArray *d = PyCapsule_GetPointer(c, name);
  if (d->array.release) d->array.release(&d->array);
  free(d);
  bring_back(p);
}
static void free_device_array_capsule(PyObject *c) { free_array(c, N_DEVICE_ARRAY); }
static void free_array_capsule(PyObject *c) { free_array(c, N_ARRAY); } /* the same memory under the plain name */

static PyObject *schema_capsule(struct cdv_schema *s) {
  struct ArrowSchema *out = malloc(sizeof *out);
  if (!out) return PyErr_NoMemory();
  if (cdv_schema_export(s, out)) {
    free(out);
    return raise_last();
  }
  PyObject *c = PyCapsule_New(out, N_SCHEMA, free_schema_capsule);
  if (!c) {
    out->release(out);
    free(out);
  }
  return c;
}

static PyObject *array_capsule(struct cdv_array *a, int plain) {
  struct ArrowDeviceArray *out = malloc(sizeof *out);
  if (!out) return PyErr_NoMemory();
  if (cdv_array_export(a, out)) {
    free(out);
    return raise_last();
  }
  PyObject *c = plain ? PyCapsule_New(out, N_ARRAY, free_array_capsule)
                      : PyCapsule_New(out, N_DEVICE_ARRAY, free_device_array_capsule);
  if (!c) {
    out->array.release(&out->array);
    free(out);
  }
  return c;
}

/* What a consumer asked for: the schema we have, or theirs where only labels differ.  a: the array it is for; NULL: arrays
 * to come.  A new reference, or NULL with an exception. */
static struct cdv_schema *negotiate(struct cdv_schema *own, struct cdv_array *a, PyObject *requested) {
  if (!requested || requested == Py_None) return cdv_schema_ref(own);
  struct ArrowSchema *want = PyCapsule_GetPointer(requested, N_SCHEMA), copy;
  struct cdv_schema *out;
  if (!want) return NULL;
  if (cdv_schema_check(want)) return (void)raise_last(), NULL;
  const struct ArrowSchema *have = own->node;
  if (cdv_schema_castable(have, want) && !cdv_schema_equal(have, want, true, true)) {
    int r = cdv_schema_copy(want, &copy);
    if (!r) {
      cdv_keep_nullable(have, a, &copy);
      if ((r = cdv_schema_import(&copy, &out))) copy.release(&copy);
    }
    return r ? (void)raise_last(), NULL : out;
  }
  if (have->n_children != want->n_children && !strcmp(have->format, "+s") && !strcmp(want->format, "+s")) {
    PyErr_Format(PyExc_ValueError, "requested_schema has %lld fields, the data %lld", (long long)want->n_children,
                 (long long)have->n_children);
    return NULL;
  }
  return cdv_schema_ref(own); /* best effort: the data as it is */
}

/* (requested_schema=None, **unknown): unknown keywords must be None.  Returns 0 and *requested (borrowed). */
static int protocol_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **requested) {
  *requested = n > 0 ? args[0] : NULL;
  if (n > 1) {
    PyErr_SetString(PyExc_TypeError, "at most 1 positional argument (requested_schema) is taken");
    return -1;
  }
  Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "requested_schema") == 0) {
      if (n) {
        PyErr_SetString(PyExc_TypeError, "requested_schema given twice");
        return -1;
      }
      *requested = args[n + i];
    } else if (args[n + i] != Py_None) {
      PyErr_Format(PyExc_NotImplementedError, "the keyword %R is not supported", name);
      return -1;
    }
  }
  return 0;
}

/* The array first: what is exported keeps the array, and with it the schema, whatever runs from there on. */
static PyObject *export_pair(PyObject *self, PyObject *requested, int plain) {
  drain();
  struct cdv_array *a = ((ArrayObject *)self)->array; /* a method: its class is known */
  PyObject *d = a ? array_capsule(a, plain) : (array_of(self), NULL), *s = NULL;
  if (!d) return NULL;
  if (!requested || requested == Py_None) {
    s = schema_capsule(a->schema);
  } else {
    struct cdv_schema *schema = negotiate(a->schema, a, requested);
    s = schema ? schema_capsule(schema) : NULL;
    if (schema) cdv_schema_unref(schema);
  }
  PyObject *t = s ? PyTuple_New(2) : NULL;
  if (!t) {
    Py_DECREF(d);
    Py_XDECREF(s);
    return NULL;
  }
  PyTuple_SetItem(t, 0, s);
  PyTuple_SetItem(t, 1, d);
  return t;
}

static PyObject *a_device_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *requested = NULL;
  if ((n || names) && protocol_arguments(args, n, names, &requested)) return NULL;
  return export_pair(self, requested, 0);
}

static PyObject *a_plain_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *requested = NULL;
  if (protocol_arguments(args, n, names, &requested)) return NULL;
  struct cdv_array *a = hold_array(self);
  int r = 0;
  if (!a) return NULL;
  if (a->root->own.device_type != ARROW_DEVICE_CPU) {
    Py_BEGIN_ALLOW_THREADS r = cdv_array_readable(a, "__arrow_c_array__");
    Py_END_ALLOW_THREADS
  }
  let_go(a);
  return r ? raise_last() : export_pair(self, requested, 1);
}

static PyObject *a_schema_capsule(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  PyObject *out = schema_capsule(a->schema);
  let_go(a);
  return out;
}

/* ---- import ---- */
static PyObject *import_struct(struct ArrowSchema *q, struct ArrowDeviceArray *d, int level) {
  struct cdv_array *a;
  int r;
  drain();
  if (level >= 2) {
    Py_BEGIN_ALLOW_THREADS r = cdv_import_pair(q, d, level, &a);
    Py_END_ALLOW_THREADS
  } else {
    r = cdv_import_pair(q, d, level, &a);
  }
  return r ? raise_last() : wrap_array(a);
}

/* "structure", "full" or None; -1 with an exception for anything else. */
static int level_of(PyObject *validate) {
  if (!validate) return 1;
  if (validate == Py_None) return 0;
  if (PyUnicode_Check(validate)) {
    if (PyUnicode_CompareWithASCIIString(validate, "structure") == 0) return 1;
    if (PyUnicode_CompareWithASCIIString(validate, "full") == 0) return 2;
  }
  PyErr_Format(PyExc_ValueError, "validate is \"structure\", \"full\" or None, not %R", validate);
  return -1;
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

static PyObject *m_import_schema(PyObject *self, PyObject *capsule) {
  (void)self;
  struct ArrowSchema *q = PyCapsule_GetPointer(capsule, N_SCHEMA);
  struct cdv_schema *s;
  if (!q) return NULL;
  if (!q->release) {
    PyErr_SetString(PyExc_ValueError, "the schema of this capsule has already been consumed");
    return NULL;
  }
  if (cdv_schema_import(q, &s)) return raise_last();
  return wrap_schema(s);
}

/* ---- building ---- */
/* Of an array that is held. */
#define WITHOUT_GIL(r, expression)         \
  Py_BEGIN_ALLOW_THREADS r = (expression); \
  Py_END_ALLOW_THREADS

/* A part of an array that is built, held; NULL with an exception.  The core waits for a part whose event the whole does
 * not have: done before, so that the GIL is not held. */
static struct cdv_array *hold_part(PyObject *part, const struct cdv_parts *p) {
  struct cdv_array *a = hold_array(part);
  int r = 0;
  if (!a) return NULL;
  if (a->root->own.sync_event && !p->sync_event) WITHOUT_GIL(r, cdv_event_wait_host(a))
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

/* An encoded metadata block in a bytes object, which must hold all of it; NULL with an exception. */
static const char *metadata_of(PyObject *bytes) {
  const char *m = PyBytes_AsString(bytes);
  if (!m || cdv_metadata_fits(m, PyBytes_Size(bytes))) return m;
  PyErr_SetString(PyExc_ValueError, "no block of metadata: as ArrowSchema.metadata is encoded, or a mapping");
  return NULL;
}

/* make_schema(format, name, metadata bytes or None, flags, children, dictionary) */
static PyObject *m_make_schema(PyObject *self, PyObject *args) {
  (void)self;
  const char *format, *metadata = NULL;
  long long flags;
  PyObject *children, *dictionary, *meta, *name, *result = NULL;
  if (!PyArg_ParseTuple(args, "sUOO&O!O", &format, &name, &meta, to_int64, &flags, &PyTuple_Type, &children,
                        &dictionary))
    return NULL;
  if (meta != Py_None && !(metadata = metadata_of(meta))) return NULL;
  PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
  if (!bytes) return NULL;
  Py_ssize_t n = PyTuple_Size(children);
  struct ArrowSchema top = {0}, **nodes = calloc((size_t)n + 1, sizeof *nodes), copy;
  struct cdv_schema *s = NULL;
  if (strlen(PyBytes_AsString(bytes)) != (size_t)PyBytes_Size(bytes)) {
    PyErr_SetString(PyExc_ValueError, "a name with a zero byte, which the C data interface cannot say");
    goto done;
  }
  if (!nodes) {
    PyErr_NoMemory();
    goto done;
  }
  drain();
  top.format = format;
  top.name = PyBytes_AsString(bytes);
  top.metadata = metadata;
  top.flags = flags;
  top.n_children = n;
  top.children = nodes;
  for (Py_ssize_t i = 0; i < n; i++) {
    struct cdv_schema *c = schema_of(PyTuple_GetItem(children, i)); /* kept by the tuple */
    if (!c) goto done;
    nodes[i] = (struct ArrowSchema *)c->node;
  }
  if (dictionary != Py_None) {
    struct cdv_schema *d = schema_of(dictionary);
    if (!d) goto done;
    top.dictionary = (struct ArrowSchema *)d->node;
  }
  int r = cdv_schema_copy(&top, &copy);
  if (!r && (r = cdv_schema_import(&copy, &s))) copy.release(&copy);
  result = r ? raise_last() : wrap_schema(s);
done:
  Py_DECREF(bytes);
  free(nodes);
  return result;
}

/* ---- array: what Python asks ---- */
static PyObject *a_release(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = ((ArrayObject *)self)->array;
  ((ArrayObject *)self)->array = NULL;
  if (a) let_go(a);
  Py_RETURN_NONE;
}

static PyObject *a_slice(PyObject *self, PyObject *args) {
  long long offset, length;
  if (!PyArg_ParseTuple(args, "O&O&", to_int64, &offset, to_int64, &length)) return NULL;
  struct cdv_array *a = hold_array(self), *out;
  if (!a) return NULL;
  PyObject *o = cdv_array_slice(a, offset, length, &out) ? raise_last() : wrap_array(out);
  let_go(a);
  return o;
}

static PyObject *child(PyObject *self, PyObject *index, bool cut) {
  long long i;
  if (!to_int64(index, &i)) return NULL;
  struct cdv_array *a = hold_array(self), *out;
  if (!a) return NULL;
  PyObject *o = cdv_array_child(a, i, cut, &out) ? raise_last() : wrap_array(out);
  let_go(a);
  return o;
}
static PyObject *a_child(PyObject *self, PyObject *index) { return child(self, index, true); }
static PyObject *a_raw_child(PyObject *self, PyObject *index) { return child(self, index, false); }

static PyObject *a_buffer(PyObject *self, PyObject *index) { /* (address or None, bytes or -1) */
  long long i;
  if (!to_int64(index, &i)) return NULL;
  struct cdv_array *a = hold_array(self);
  PyObject *o = NULL;
  if (!a) return NULL;
  if (i < 0 || i >= a->node->n_buffers) {
    PyErr_SetString(PyExc_IndexError, "no such buffer");
  } else {
    const void *p = a->node->buffers[i];
    long long size = p ? cdv_array_buffer_size(a, i) : 0;
    o = p ? Py_BuildValue("NL", PyLong_FromVoidPtr((void *)p), size) : Py_BuildValue("OL", Py_None, size);
  }
  let_go(a);
  return o;
}

/* _lend(): whoever got an address and holds this object may use it for as long as it does. */
static PyObject *a_lend(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  ArrayObject *o = (ArrayObject *)self;
  if (!a) return NULL;
  if (o->lent)
    let_go(a);
  else
    o->lent = a;
  Py_RETURN_NONE;
}

/* None, or what the core reported. */
static PyObject *done(struct cdv_array *a, int r) {
  PyObject *o = r ? raise_last() : (Py_INCREF(Py_None), Py_None);
  let_go(a);
  return o;
}

static PyObject *a_validate(PyObject *self, PyObject *level) {
  int l = level_of(level), r;
  struct cdv_array *a = l < 0 ? NULL : hold_array(self);
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_check_view(a, l))
  return done(a, r);
}

static PyObject *a_equal(PyObject *self, PyObject *args) {
  PyObject *other;
  int nans, r, equal = 0;
  if (!PyArg_ParseTuple(args, "Op", &other, &nans)) return NULL;
  struct cdv_array *a = hold_array(self), *b = a ? hold_array(other) : NULL;
  PyObject *o = NULL;
  if (b) {
    WITHOUT_GIL(r, cdv_array_equal(a, b, nans, &equal))
    o = r ? raise_last() : PyBool_FromLong(equal);
    let_go(b);
  }
  if (a) let_go(a);
  return o;
}

/* _copy(device type, device id, stream handle, its owner or None, always) */
static PyObject *a_copy(PyObject *self, PyObject *args) {
  int type, always, r;
  long long device;
  PyObject *handle, *object;
  struct cdv_shared *queue;
  if (!PyArg_ParseTuple(args, "O&O&OOp", to_int, &type, to_int64, &device, &handle, &object, &always)) return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if ((!stream && PyErr_Occurred()) || share(object, &queue)) return NULL;
  struct cdv_array *a = hold_array(self), *out = NULL;
  PyObject *o = NULL;
  if (a) {
    WITHOUT_GIL(r, cdv_array_copy(a, type, device, stream, always, &out))
    if (!r && out->root != a->root) cdv_array_keep(out, queue);
    o = r ? raise_last() : wrap_array(out);
    let_go(a);
  }
  cdv_shared_unref(queue);
  return o;
}

static PyObject *a_wait_host(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  int r;
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_event_wait_host(a))
  return done(a, r);
}

static PyObject *a_wait_for(PyObject *self, PyObject *seconds) { /* -> has it passed? */
  double s = PyFloat_AsDouble(seconds);
  int r, passed = 0;
  if (s == -1 && PyErr_Occurred()) return NULL;
  int64_t ns = s > 1e6 ? (int64_t)1000000000000000 : s > 0 ? (int64_t)(s * 1e9) : 0; /* not a number: 0 */
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_event_wait_for(a, ns, &passed))
  PyObject *o = r ? raise_last() : PyBool_FromLong(passed);
  let_go(a);
  return o;
}

static PyObject *a_wait_stream(PyObject *self, PyObject *args) { /* (device type, stream handle) */
  int type, r;
  PyObject *handle;
  if (!PyArg_ParseTuple(args, "O&O", to_int, &type, &handle)) return NULL;
  void *stream = PyLong_AsVoidPtr(handle);
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_event_wait_stream(a, type, a->root->own.device_id, stream))
  return done(a, r);
}

static PyObject *a_record_use(PyObject *self, PyObject *handle) {
  void *stream = PyLong_AsVoidPtr(handle);
  int r;
  if (!stream && PyErr_Occurred()) return NULL;
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_record_use(a, stream))
  return done(a, r);
}

static PyObject *a_readable(PyObject *self, PyObject *doing) { /* waits; raises where the CPU cannot read */
  PyObject *text = PyUnicode_AsUTF8String(doing);
  struct cdv_array *a = text ? hold_array(self) : NULL;
  PyObject *o = NULL;
  if (a) {
    const char *what = PyBytes_AsString(text);
    int r;
    WITHOUT_GIL(r, cdv_array_readable(a, what))
    o = done(a, r);
  }
  Py_XDECREF(text);
  return o;
}

/* export_structs(device array address, schema address or 0): writes over what is there */
static PyObject *a_export_structs(PyObject *self, PyObject *args) {
  PyObject *array_address, *schema_address;
  if (!PyArg_ParseTuple(args, "OO", &array_address, &schema_address)) return NULL;
  struct ArrowDeviceArray *d = PyLong_AsVoidPtr(array_address);
  struct ArrowSchema *q = PyErr_Occurred() ? NULL : PyLong_AsVoidPtr(schema_address);
  if (PyErr_Occurred()) return NULL;
  if (!d) {
    PyErr_SetString(PyExc_ValueError, "the address of the array struct is NULL");
    return NULL;
  }
  struct cdv_array *a = hold_array(self);
  if (!a) return NULL;
  int r = q ? cdv_schema_export(a->schema, q) : 0;
  if (!r && (r = cdv_array_export(a, d)) && q) q->release(q);
  return done(a, r);
}

#define ARRAY_GETTER(name, expression)                          \
  static PyObject *a_get_##name(PyObject *self, void *unused) { \
    (void)unused;                                               \
    struct cdv_array *a = array_of(self);                       \
    return a ? (expression) : NULL;                             \
  }
ARRAY_GETTER(schema, wrap_schema(cdv_schema_ref(a->schema)))
ARRAY_GETTER(length, PyLong_FromLongLong(a->length))
ARRAY_GETTER(offset, PyLong_FromLongLong(a->offset))
ARRAY_GETTER(device_type_id, PyLong_FromLong(a->root->own.device_type))
ARRAY_GETTER(device_id, PyLong_FromLongLong(a->root->own.device_id))
ARRAY_GETTER(n_children, PyLong_FromLongLong(a->schema->node->n_children))
ARRAY_GETTER(n_buffers, PyLong_FromLongLong(a->node->n_buffers))
ARRAY_GETTER(format, PyUnicode_FromString(a->schema->node->format))
ARRAY_GETTER(sync_event, PyLong_FromVoidPtr(a->root->own.sync_event))

static PyObject *a_get_null_count(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  long long n;
  if (!a) return NULL;
  n = atomic_load_explicit(&a->null_count, memory_order_relaxed);
  if (n < 0) WITHOUT_GIL(n, cdv_array_null_count(a))
  let_go(a);
  return PyLong_FromLongLong(n);
}

static PyObject *a_get_nbytes(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  long long n;
  if (!a) return NULL;
  WITHOUT_GIL(n, cdv_array_nbytes(a))
  let_go(a);
  return PyLong_FromLongLong(n);
}

static PyObject *a_get_ready(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_array *a = hold_array(self);
  int r, passed = 0;
  if (!a) return NULL;
  WITHOUT_GIL(r, cdv_event_ready(a, &passed))
  PyObject *o = r ? raise_last() : PyBool_FromLong(passed);
  let_go(a);
  return o;
}

static PyObject *a_get_released(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(!((ArrayObject *)self)->array);
}

#include "pydlpack.c"

static PyObject *no_constructor(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  PyErr_Format(PyExc_TypeError, "%R objects come from cdevice.asarray() and cdevice.schema()", (PyObject *)type);
  return NULL;
}

static void a_dealloc(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  struct cdv_array *a = ((ArrayObject *)o)->array, *lent = ((ArrayObject *)o)->lent;
  if (a) let_go(a);
  if (lent) let_go(lent);
  array_free(o);
  Py_DECREF(type);
}

#define FAST(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef a_methods[] = {
    {"__arrow_c_device_array__", FAST(a_device_array), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_device_array__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol: (schema, device "
     "array).\n\n"
     "Copies nothing and does not wait; the event travels along.  Any number of times."},
    {"__arrow_c_array__", FAST(a_plain_array), METH_FASTCALL | METH_KEYWORDS,
     "__arrow_c_array__(requested_schema=None, **kwargs)\n--\n\nThe Arrow PyCapsule protocol: (schema, array) in CPU "
     "memory.\n\n"
     "Waits for the event.  Raises CannotExport for memory that the CPU cannot read: use .to(\"cpu\")."},
    {"__arrow_c_schema__", a_schema_capsule, METH_NOARGS,
     "__arrow_c_schema__()\n--\n\nThe Arrow PyCapsule protocol: the schema."},
    {"release", a_release, METH_NOARGS,
     "release()\n--\n\nGives this object's share of the data back.  Idempotent; later use raises Released."},
    {"_slice", a_slice, METH_VARARGS, NULL},
    {"_child", a_child, METH_O, NULL},
    {"_raw_child", a_raw_child, METH_O, NULL},
    {"_buffer", a_buffer, METH_O, NULL},
    {"_lend", a_lend, METH_NOARGS, NULL},
    {"_validate", a_validate, METH_O, NULL},
    {"_equal", a_equal, METH_VARARGS, NULL},
    {"_copy", a_copy, METH_VARARGS, NULL},
    {"_wait_host", a_wait_host, METH_NOARGS, NULL},
    {"_wait_for", a_wait_for, METH_O, NULL},
    {"_wait_stream", a_wait_stream, METH_VARARGS, NULL},
    {"_record_use", a_record_use, METH_O, NULL},
    {"_readable", a_readable, METH_O, NULL},
    {"_export_structs", a_export_structs, METH_VARARGS, NULL},
    {"_dlpack", a_dlpack, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef a_getset[] = {
    {"length", a_get_length, NULL, "Rows.", NULL},
    {"offset", a_get_offset, NULL, "Rows before the first one in the buffers.", NULL},
    {"null_count", a_get_null_count, NULL,
     "Nulls; counted when needed.  -1: unknown, on a device that the CPU cannot read.", NULL},
    {"nbytes", a_get_nbytes, NULL,
     "Bytes of the buffers that these rows cover, children included; -1: unknown without waiting.", NULL},
    {"device_type_id", a_get_device_type_id, NULL, "The ArrowDeviceType as int.", NULL},
    {"device_id", a_get_device_id, NULL, "Which device of that type; -1 for the CPU.", NULL},
    {"sync_event", a_get_sync_event, NULL, "Address of the event, 0 when the data is safe to use.", NULL},
    {"ready", a_get_ready, NULL, "True once the device has passed the event.  Does not wait.", NULL},
    {"released", a_get_released, NULL, "True after release().", NULL},
    {"_schema", a_get_schema, NULL, NULL, NULL},
    {"_n_children", a_get_n_children, NULL, NULL, NULL},
    {"_n_buffers", a_get_n_buffers, NULL, NULL, NULL},
    {"_format", a_get_format, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot a_slots[] = {{Py_tp_new, no_constructor},
                                {Py_tp_dealloc, a_dealloc},
                                {Py_tp_methods, a_methods},
                                {Py_tp_getset, a_getset},
                                {0, NULL}};
static PyType_Spec a_spec = {"cdevice._native.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             a_slots};

/* ---- schema: what Python asks ---- */
#define SCHEMA_GETTER(name, expression)                         \
  static PyObject *s_get_##name(PyObject *self, void *unused) { \
    (void)unused;                                               \
    struct cdv_schema *s = schema_of(self);                     \
    return s ? (expression) : NULL;                             \
  }
static PyObject *name_of(const struct ArrowSchema *node) {
  const char *name = node->name ? node->name : "";
  return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "surrogateescape"); /* so that it goes back as it came */
}

SCHEMA_GETTER(format, PyUnicode_FromString(s->node->format))
SCHEMA_GETTER(name, name_of(s->node))
SCHEMA_GETTER(flags, PyLong_FromLongLong(s->node->flags))
SCHEMA_GETTER(n_children, PyLong_FromLongLong(s->node->n_children))
SCHEMA_GETTER(metadata, s->node->metadata ? PyBytes_FromStringAndSize(s->node->metadata,
                                                                      (Py_ssize_t)cdv_metadata_size(s->node->metadata))
                                          : (Py_INCREF(Py_None), Py_None))

static PyObject *s_child(PyObject *self, PyObject *index) { /* -1: the dictionary */
  long long i;
  if (!to_int64(index, &i)) return NULL;
  struct cdv_schema *s = schema_of(self);
  if (!s) return NULL;
  const struct ArrowSchema *node = i == -1                             ? s->node->dictionary
                                   : i >= 0 && i < s->node->n_children ? s->node->children[i]
                                                                       : NULL;
  if (!node) {
    if (i == -1) Py_RETURN_NONE;
    PyErr_SetString(PyExc_IndexError, "no such field");
    return NULL;
  }
  struct cdv_schema *c = cdv_schema_at(s, node);
  return c ? wrap_schema(c) : raise_last();
}

static PyObject *s_get_names(PyObject *self, void *unused) {
  (void)unused;
  struct cdv_schema *s = schema_of(self);
  PyObject *out = s ? PyList_New((Py_ssize_t)s->node->n_children) : NULL;
  for (int64_t i = 0; out && i < s->node->n_children; i++) {
    PyObject *name = name_of(s->node->children[i]);
    if (!name || PyList_SetItem(out, (Py_ssize_t)i, name)) { /* takes the name in any case */
      Py_DECREF(out);
      return NULL;
    }
  }
  return out;
}

/* The number of the one field of that name. */
static PyObject *s_index(PyObject *self, PyObject *key) {
  PyObject *bytes = PyUnicode_AsEncodedString(key, "utf-8", "surrogateescape");
  if (!bytes) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
    PyErr_Clear(); /* no field's */
  }
  const char *name = bytes ? PyBytes_AsString(bytes) : NULL;
  if (name && strlen(name) != (size_t)PyBytes_Size(bytes)) name = NULL; /* nor is one with a zero in it */
  struct cdv_schema *s = schema_of(self);
  long long found = 0, at = -1;
  if (!s) {
    Py_XDECREF(bytes);
    return NULL;
  }
  for (int64_t i = 0; name && i < s->node->n_children; i++) {
    const char *field = s->node->children[i]->name;
    if (strcmp(field ? field : "", name)) continue;
    found++;
    at = i;
  }
  Py_XDECREF(bytes);
  if (found == 1) return PyLong_FromLongLong(at);
  return PyErr_Format(PyExc_KeyError, "%lld fields are called %R", found, key);
}

static PyObject *s_equal(PyObject *self, PyObject *args) {
  PyObject *other;
  int metadata, top_name;
  if (!PyArg_ParseTuple(args, "Opp", &other, &metadata, &top_name)) return NULL;
  struct cdv_schema *a = schema_of(self), *b = a ? schema_of(other) : NULL;
  return b ? PyBool_FromLong(cdv_schema_equal(a->node, b->node, metadata, top_name)) : NULL;
}

static PyObject *s_capsule(PyObject *self, PyObject *unused) {
  (void)unused;
  struct cdv_schema *s = schema_of(self);
  return s ? schema_capsule(s) : NULL;
}

static void s_dealloc(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  struct cdv_schema *s = ((SchemaObject *)o)->schema;
  struct pending p = put_aside();
  if (s) cdv_schema_unref(s);
  bring_back(p);
  schema_free(o);
  Py_DECREF(type);
}

static PyMethodDef s_methods[] = {
    {"__arrow_c_schema__", s_capsule, METH_NOARGS, "__arrow_c_schema__()\n--\n\nThe Arrow PyCapsule protocol."},
    {"_child", s_child, METH_O, NULL},
    {"_index", s_index, METH_O, NULL},
    {"_equal", s_equal, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef s_getset[] = {
    {"format", s_get_format, NULL, "Format string of the Arrow C data interface.", NULL},
    {"name", s_get_name, NULL, "Name of the field; empty at the top of most arrays.", NULL},
    {"flags", s_get_flags, NULL, "ARROW_FLAG_* bits.", NULL},
    {"names", s_get_names, NULL, "Names of the fields below.", NULL},
    {"_n_children", s_get_n_children, NULL, NULL, NULL},
    {"_metadata", s_get_metadata, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot s_slots[] = {{Py_tp_new, no_constructor},
                                {Py_tp_dealloc, s_dealloc},
                                {Py_tp_methods, s_methods},
                                {Py_tp_getset, s_getset},
                                {0, NULL}};
static PyType_Spec s_spec = {"cdevice._native.SchemaBase", sizeof(SchemaObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, s_slots};

#include "pybackend.c"
#include "pystream.c"
#include "pyasync.c"
#include "capi.c"

/* ---- module ---- */
static PyObject *m_drain(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  drain();
  Py_RETURN_NONE;
}

/* raise_last(): the error that a lib.cdv_* call of this thread left behind */
static PyObject *m_raise_last(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return raise_last();
}

/* set_classes(DeviceArray, Schema, error factory, BackendUnavailable, loader of backends, DeviceError) */
static PyObject *m_set_classes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *a, *s, *e, *u, *l, *d;
  if (!PyArg_ParseTuple(args, "OOOOOO", &a, &s, &e, &u, &l, &d)) return NULL;
  Py_INCREF(d);
  device_error_class = d;
  Py_INCREF(l);
  load_backend = l;
  Py_INCREF(u);
  unavailable_class = u;
  Py_INCREF(a);
  Py_INCREF(s);
  Py_INCREF(e);
  array_class = (PyTypeObject *)a;
  schema_class = (PyTypeObject *)s;
  array_new = (allocfunc)PyType_GetSlot(array_class, Py_tp_alloc);
  schema_new = (allocfunc)PyType_GetSlot(schema_class, Py_tp_alloc);
  array_free = (freefunc)PyType_GetSlot(array_class, Py_tp_free);
  schema_free = (freefunc)PyType_GetSlot(schema_class, Py_tp_free);
  make_error = e;
  Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {{"import_capsules", FAST(m_import_capsules), METH_FASTCALL | METH_KEYWORDS,
                                        "import_capsules(schema, array, validate=\"structure\")\n--\n\nA DeviceArray "
                                        "from the two capsules of the Arrow PyCapsule protocol.\n\n"
                                        "array: an \"arrow_device_array\" or an \"arrow_array\" capsule.  Moves out of "
                                        "both; on an error both keep what they\n"
                                        "had.  Does not wait for the event.  Raises ValueError for a consumed capsule, "
                                        "InvalidArray for a struct that breaks\n"
                                        "the format."},
                                       {"import_structs", FAST(m_import_structs), METH_FASTCALL | METH_KEYWORDS, NULL},
                                       {"import_schema", m_import_schema, METH_O, NULL},
                                       {"import_stream", m_import_stream, METH_VARARGS, NULL},
                                       {"import_stream_struct", m_import_stream_struct, METH_VARARGS, NULL},
                                       {"import_dlpack", m_import_dlpack, METH_VARARGS, NULL},
                                       {"consumer_new", m_consumer_new, METH_VARARGS, NULL},
                                       {"consumer_take", FAST(m_consumer_take), METH_FASTCALL, NULL},
                                       {"consumer_schema", m_consumer_schema, METH_O, NULL},
                                       {"consumer_metadata", m_consumer_metadata, METH_O, NULL},
                                       {"consumer_stream", m_consumer_stream, METH_O, NULL},
                                       {"production_open", m_production_open, METH_O, NULL},
                                       {"production_feed", m_production_feed, METH_VARARGS, NULL},
                                       {"production_run", m_production_run, METH_O, NULL},
                                       {"production_fail", m_production_fail, METH_VARARGS, NULL},
                                       {"set_stream_class", m_set_stream_class, METH_VARARGS, NULL},
                                       {"stream_of_arrays", m_stream_of_arrays, METH_VARARGS, NULL},
                                       {"stream_of_iterator", m_stream_of_iterator, METH_VARARGS, NULL},
                                       {"build", FAST(m_build), METH_FASTCALL, NULL},
                                       {"make_schema", m_make_schema, METH_VARARGS, NULL},
                                       {"drain", m_drain, METH_NOARGS, NULL},
                                       {"raise_last", m_raise_last, METH_NOARGS, NULL},
                                       {"make_backend", m_make_backend, METH_O, NULL},
                                       {"set_allocator", m_set_allocator, METH_VARARGS, NULL},
                                       {"python_ends", m_python_ends, METH_NOARGS, NULL},
                                       {"set_classes", m_set_classes, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

/* One interpreter owns the module: classes, registry and threads of this process are its.  A sub-interpreter that imports
 * the module gets a copy of its namespace, so each that imports the package comes through here first. */
static PyObject *m_check_interpreter(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) Py_RETURN_NONE;
  PyErr_SetString(PyExc_ImportError,
                  "cdevice works in the main interpreter only, not in a sub-interpreter: its devices, "
                  "arrays and threads belong to one");
  return NULL;
}
static PyMethodDef interpreter_method = {"check_interpreter", m_check_interpreter, METH_NOARGS, NULL};

/* What cffi makes is wrapped, for nothing may be set up in the wrong interpreter. */
PyMODINIT_FUNC cdevice_cffi_init(void);
PyMODINIT_FUNC PyInit__native(void) {
  PyObject *m = m_check_interpreter(NULL, NULL), *f;
  if (!m) return NULL;
  Py_DECREF(m);
  m = cdevice_cffi_init();
  if (m && (!(f = PyCFunction_NewEx(&interpreter_method, NULL, NULL)) || PyModule_AddObject(m, "check_interpreter", f)))
    Py_CLEAR(m);
  return m;
}
#define PyInit__native cdevice_cffi_init /* below: cffi's */

/* Called once through cffi, which has let the GIL go.  module: id() of the extension module. */
static int cdv_install(uintptr_t module, int hexversion) {
  PyGILState_STATE state = PyGILState_Ensure();
  *(void **)&current_tstate = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
  if (!current_tstate) *(void **)&current_tstate = dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
  tstate_is_thread_local = hexversion >= 0x030C0000;
  PyObject *m = (PyObject *)module;
  int r = PyModule_AddFunctions(m, module_methods);
  if (!r) {
    ArrayBase = (PyTypeObject *)PyType_FromSpec(&a_spec);
    SchemaBase = (PyTypeObject *)PyType_FromSpec(&s_spec);
    StreamBase = (PyTypeObject *)PyType_FromSpec(&t_spec);
    r = !ArrayBase || !SchemaBase || !StreamBase || PyObject_SetAttrString(m, "Array", (PyObject *)ArrayBase) ||
        PyObject_SetAttrString(m, "SchemaBase", (PyObject *)SchemaBase) ||
        PyObject_SetAttrString(m, "Stream", (PyObject *)StreamBase);
  }
  cdv_set_loader(load_for_core);
  PyGILState_Release(state);
  return r ? -1 : 0;
}
