/* pyasync.c - asynchronous consumers and producers as capsules; the rest of their life is in aio.py. */

static const char N_CONSUMER[] = "cdevice.consumer", N_PRODUCTION[] = "cdevice.production";

static void free_consumer_capsule(PyObject *capsule) {
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  PyObject *t, *v, *b;
  PyErr_Fetch(&t, &v, &b);
  Py_BEGIN_ALLOW_THREADS cdv_consumer_unref(c); /* tasks that are dropped may need the GIL */
  Py_END_ALLOW_THREADS PyErr_Restore(t, v, b);
}

static void free_production_capsule(PyObject *capsule) {
  cdv_production_unref(PyCapsule_GetPointer(capsule, N_PRODUCTION));
}

/* consumer_new(queue size, validate) -> (capsule, address of the consumer) */
static PyObject *m_consumer_new(PyObject *self, PyObject *args) {
  (void)self;
  long long queue_size;
  PyObject *validate;
  struct cdv_consumer *c;
  if (!PyArg_ParseTuple(args, "LO", &queue_size, &validate)) return NULL;
  int level = level_of(validate);
  if (level < 0) return NULL;
  if (cdv_consumer_new(queue_size, level, &c)) return raise_last();
  PyObject *capsule = PyCapsule_New(c, N_CONSUMER, free_consumer_capsule);
  if (!capsule) {
    cdv_consumer_unref(c);
    return NULL;
  }
  return Py_BuildValue("NN", capsule, PyLong_FromVoidPtr(c));
}

/* consumer_take(capsule, seconds): a DeviceArray, (DeviceArray, metadata), None: nothing yet, Ellipsis: the end */
static PyObject *m_consumer_take(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  struct cdv_consumer *c = n == 2 ? PyCapsule_GetPointer(args[0], N_CONSUMER) : NULL;
  if (!c) return NULL;
  double seconds = PyFloat_AsDouble(args[1]);
  if (seconds < 0 && PyErr_Occurred()) return NULL;
  struct cdv_array *a;
  char *metadata;
  int r;
  drain();
  if (seconds == 0 && !cdv_consumer_wait(c, 0, 0)) Py_RETURN_NONE;
  asking++;
  Py_BEGIN_ALLOW_THREADS r = cdv_consumer_take(c, (int64_t)(seconds * 1e9), &a, &metadata);
  Py_END_ALLOW_THREADS asking--;
  if (r == EAGAIN) Py_RETURN_NONE;
  if (r) return raise_last();
  if (!a) {
    Py_INCREF(Py_Ellipsis);
    return Py_Ellipsis;
  }
  PyObject *o = wrap_array(a);
  if (!o || !metadata) {
    free(metadata);
    return o;
  }
  PyObject *bytes = PyBytes_FromStringAndSize(metadata, (Py_ssize_t)cdv_metadata_size(metadata));
  free(metadata);
  return Py_BuildValue("NN", o, bytes);
}

/* consumer_schema(capsule) -> Schema or None */
static PyObject *m_consumer_schema(PyObject *self, PyObject *capsule) {
  (void)self;
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  struct cdv_schema *s = c ? cdv_consumer_schema(c) : NULL;
  if (!c) return NULL;
  if (s) return wrap_schema(cdv_schema_ref(s));
  Py_RETURN_NONE;
}

/* consumer_metadata(capsule) -> bytes or None */
static PyObject *m_consumer_metadata(PyObject *self, PyObject *capsule) {
  (void)self;
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  const char *m = c ? cdv_consumer_metadata(c) : NULL;
  if (!c) return NULL;
  if (m) return PyBytes_FromStringAndSize(m, (Py_ssize_t)cdv_metadata_size(m));
  Py_RETURN_NONE;
}

/* consumer_stream(capsule) -> DeviceArrayStream; the capsule stays a holder of the consumer's memory only */
static PyObject *m_consumer_stream(PyObject *self, PyObject *capsule) {
  (void)self;
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  struct cdv_stream *s = NULL;
  int r;
  if (!c) return NULL;
  Py_BEGIN_ALLOW_THREADS r = cdv_consumer_stream(c, &s);
  Py_END_ALLOW_THREADS if (r) return raise_last();
  PyCapsule_SetDestructor(capsule, NULL); /* the stream owns it now */
  return wrap_stream(s);
}

/* production_new(stream, handler address, metadata bytes or None) -> (capsule, address); the stream is used up */
static PyObject *m_production_new(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *stream, *address, *metadata;
  struct cdv_production *p;
  if (!PyArg_ParseTuple(args, "OOO", &stream, &address, &metadata)) return NULL;
  void *handler = PyLong_AsVoidPtr(address);
  if (!handler && PyErr_Occurred()) return NULL;
  const char *encoded = metadata == Py_None ? NULL : metadata_of(metadata);
  if (!encoded && metadata != Py_None) return NULL;
  if (!PyObject_TypeCheck(stream, StreamBase)) {
    PyErr_SetString(PyExc_TypeError, "a DeviceArrayStream is expected");
    return NULL;
  }
  struct cdv_stream *s = borrow((StreamObject *)stream);
  if (!s) return NULL;
  int r = cdv_production_new(s, handler, encoded, &p);
  if (!r) ((StreamObject *)stream)->stream = NULL;
  give_back((StreamObject *)stream);
  if (r) return raise_last();
  PyObject *capsule = PyCapsule_New(p, N_PRODUCTION, free_production_capsule);
  if (!capsule) {
    cdv_production_unref(p);
    return NULL;
  }
  return Py_BuildValue("NN", capsule, PyLong_FromVoidPtr(p));
}
