/* compute_trampolines.c - cdevice.compute/1 of a backend in Python: its functions are methods of a Python object
 * (cdevice.backend.Compute), called as those of pybackend.c are.
 *
 * Each takes the GIL, on any thread; none of them blocks but for what its method does.  A module owns what
 * build() or load() returned and the kernels that were asked for, which the core borrows.  unload goes through the
 * deferred list, where the GIL is not held. */
#include "native/common.h"

struct py_module {
  struct cdv_deferred deferred; /* made with it, as for blocks */
  PyObject *compute;
  PyObject *object;  /* handed back to unload() */
  PyObject *kernels; /* a list */
  PyObject *binary;  /* what binary() gave when it was asked how much, until it is read; or NULL */
};

/* Errors in a text have a code of their own; all others are as for any method. */
static int end_kernels(struct call *c, const char *method, PyObject *result) {
  int code = 0;
  if (PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_SyntaxError) || PyErr_ExceptionMatches(PyExc_ValueError))
      code = EINVAL;
    else if (PyErr_ExceptionMatches(PyExc_LookupError))
      code = ENOENT;
  }
  int r = end_call(c, method, result);
  return r == EREMOTEIO && code ? code : r;
}

static int py_identity(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(c.backend->compute, "_identity", "L", (long long)device), *words = NULL;
  if (result) {
    *flags = (uint32_t)PyLong_AsUnsignedLongMask(PyTuple_GetItem(result, 0));
    if (!PyErr_Occurred()) words = PyUnicode_AsUTF8String(PyTuple_GetItem(result, 1));
    if (words) snprintf(text, (size_t)size, "%s", PyBytes_AsString(words));
    Py_XDECREF(words);
  }
  return end_call(&c, "_identity", result);
}

static int py_context(void *self, int64_t device, void *stream, void **out, cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result =
      PyObject_CallMethod(c.backend->compute, "_context", "LN", (long long)device, PyLong_FromVoidPtr(stream));
  if (result) *out = PyLong_AsVoidPtr(result);
  return end_call(&c, "_context", result);
}

/* ---- modules ---- */
static void run_module(void *p) { /* GIL held */
  struct py_module *m = p;
  Py_DECREF(m->kernels); /* a kernel may need its module, never the other way round */
  call_last(m->compute, "unload", m->object);
  Py_XDECREF(m->binary);
  Py_DECREF(m->object);
  Py_DECREF(m->compute);
  free(m);
}

static void py_unload(void *self, int64_t device, void *module) {
  (void)self, (void)device;
  release_now_or_defer(&((struct py_module *)module)->deferred);
}

/* owns: *out keeps object; NULL with an exception. */
static void take_module(struct py_backend *b, PyObject *object, void **out) {
  PyObject *kernels = PyList_New(0);
  struct py_module *m = kernels ? malloc(sizeof *m) : NULL;
  if (!m) {
    Py_XDECREF(kernels);
    PyErr_NoMemory();
    return;
  }
  Py_INCREF(object);
  Py_INCREF(b->compute);
  *m = (struct py_module){{NULL, run_module, m}, b->compute, object, kernels, NULL};
  *out = m;
}

static PyObject *tuple_of_words(const char *const *words, int64_t n) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (int64_t i = 0; tuple && i < n; i++) {
    PyObject *word = PyUnicode_FromString(words[i]);
    if (!word || PyTuple_SetItem(tuple, (Py_ssize_t)i, word)) Py_CLEAR(tuple);
  }
  return tuple;
}

static int py_build(void *self, int64_t device, void *stream, const cdevice_program *p, void **module,
                    cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = NULL, *defines = tuple_of_words(p->defines, p->n);
  if (defines)
    result = PyObject_CallMethod(c.backend->compute, "_build", "sssNLN", p->family, p->type, p->text, defines,
                                 (long long)device, PyLong_FromVoidPtr(stream));
  if (result) take_module(c.backend, result, module);
  return end_kernels(&c, "_build", result);
}

static int py_load(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **module,
                   cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)nbytes), *result = NULL;
  if (bytes)
    result =
        PyObject_CallMethod(c.backend->compute, "_load", "NLN", bytes, (long long)device, PyLong_FromVoidPtr(stream));
  if (result) take_module(c.backend, result, module);
  return end_kernels(&c, "_load", result);
}

/* Two questions, one call of the method. */
static int py_binary(void *self, int64_t device, void *module, void *data, int64_t *nbytes, cdevice_error *err) {
  struct py_module *m = module;
  struct call c;
  (void)device;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *bytes = data ? m->binary : NULL;
  if (bytes) m->binary = NULL;
  if (!bytes) bytes = PyObject_CallMethod(m->compute, "_binary", "(O)", m->object);
  if (bytes) {
    int64_t room = *nbytes;
    *nbytes = (int64_t)PyBytes_Size(bytes);
    if (data && room < *nbytes)
      PyErr_Format(PyExc_ValueError, "%lld bytes are larger than the buffer of %lld", (long long)*nbytes,
                   (long long)room);
    else if (data)
      memcpy(data, PyBytes_AsString(bytes), (size_t)*nbytes);
  }
  if (!data && bytes) {
    PyObject *before = m->binary;
    m->binary = bytes;
    bytes = before;
  }
  return end_kernels(&c, "_binary", bytes);
}

/* ---- kernels ---- */
static int py_kernel(void *self, int64_t device, void *module, const char *name, void **out, cdevice_error *err) {
  struct py_module *m = module;
  struct call c;
  (void)device;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *result = PyObject_CallMethod(m->compute, "_kernel", "Os", m->object, name);
  if (result && !PyList_Append(m->kernels, result)) *out = result; /* the list has it */
  return end_kernels(&c, "_kernel", result);
}

static PyObject *tuple_of_buffers(const cdevice_kernel_buffer *places) {
  PyObject *tuple = PyTuple_New(CDEVICE_KERNEL_BUFFERS);
  for (int i = 0; tuple && i < CDEVICE_KERNEL_BUFFERS; i++) {
    PyObject *one = Py_BuildValue("(NL)", PyLong_FromVoidPtr(places[i].data), (long long)places[i].offset);
    if (!one || PyTuple_SetItem(tuple, i, one)) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject *tuple_of_numbers(const int64_t *numbers) {
  PyObject *tuple = PyTuple_New(CDEVICE_KERNEL_SCALARS);
  for (int i = 0; tuple && i < CDEVICE_KERNEL_SCALARS; i++) {
    PyObject *one = PyLong_FromLongLong(numbers[i]);
    if (!one || PyTuple_SetItem(tuple, i, one)) Py_CLEAR(tuple);
  }
  return tuple;
}

static int py_launch(void *self, int64_t device, void *kernel, const cdevice_launch *l, void *stream,
                     cdevice_error *err) {
  struct call c;
  int r = begin_call(&c, self, err);
  if (r) return r;
  PyObject *buffers = tuple_of_buffers(l->buffers), *numbers = buffers ? tuple_of_numbers(l->scalars) : NULL;
  PyObject *result = NULL;
  if (numbers)
    result = PyObject_CallMethod(c.backend->compute, "_launch", "OLiiOOLN", (PyObject *)kernel,
                                 (long long)l->n_work_items, l->work_group_size, l->flags, buffers, numbers,
                                 (long long)device, PyLong_FromVoidPtr(stream));
  Py_XDECREF(buffers);
  Py_XDECREF(numbers);
  return end_call(&c, "_launch", result);
}

/* ---- the table ---- */
static const void *py_extension(void *self, const char *id) {
  return strcmp(id, CDEVICE_COMPUTE) ? NULL : &((struct py_backend *)self)->kernels;
}

static void offer_kernels(struct py_backend *b, PyObject *compute, int scoped, int keeps) {
  b->kernels = (cdevice_compute){.struct_size = sizeof b->kernels,
                                 .identity = py_identity,
                                 .context = scoped ? py_context : NULL,
                                 .build = py_build,
                                 .binary = keeps ? py_binary : NULL,
                                 .load = keeps ? py_load : NULL,
                                 .kernel = py_kernel,
                                 .launch = py_launch,
                                 .unload = py_unload};
  Py_INCREF(compute);
  b->compute = compute;
  b->table.extension = py_extension;
}
