/* handles.c - asynchronous consumers and producers as capsules; the rest of their life is in aio.py. */
#include "native/common.h"

static const char N_CONSUMER[] = "cdevice.consumer", N_PRODUCTION[] = "cdevice.production";

static void free_consumer_capsule(PyObject *capsule) {
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  struct away away = release_gil();
  cdv_consumer_unref(c);
  reacquire_gil(away); /* tasks that are dropped may need the GIL */
}

/* Of a consumer that has become a stream, which is its owner now: for threads that still wait. */
static void let_consumer_go(PyObject *capsule) {
  struct cdv_consumer *c = PyCapsule_GetPointer(capsule, N_CONSUMER);
  struct away away = release_gil();
  cdv_consumer_weak_unref(c);
  reacquire_gil(away);
}

/* One that was never run, as where its maker was interrupted, ends here: its consumer waits for that. */
static void free_production_capsule(PyObject *capsule) {
  struct cdv_producer *p = PyCapsule_GetPointer(capsule, N_PRODUCTION);
  struct away away = release_gil();
  if (cdv_producer_claim(p)) {
    cdv_fail(CDV_STREAM, ECANCELED, "the producer was never started");
    cdv_producer_fail(p, 0);
  }
  cdv_producer_unref(p);
  reacquire_gil(away);
}

/* consumer_new(queue size, validate) -> (capsule, address of the consumer) */
static PyObject *m_consumer_new(PyObject *self, PyObject *args) {
  (void)self;
  long long queue_size;
  PyObject *validate;
  struct cdv_consumer *c;
  if (!PyArg_ParseTuple(args, "O&O", to_int64, &queue_size, &validate)) return NULL;
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

/* NULL: it has become a stream. */
static struct cdv_consumer *consumer_of(PyObject *capsule) {
  if (PyCapsule_GetDestructor(capsule) != free_consumer_capsule) return NULL;
  return PyCapsule_GetPointer(capsule, N_CONSUMER);
}

/* A DeviceArray, (DeviceArray, metadata), None: nothing yet, Ellipsis: the end. */
static PyObject *take_item(struct cdv_consumer *c, int64_t nanoseconds) {
  struct cdv_array *a;
  char *metadata;
  python_call_depth++;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_consumer_take(c, nanoseconds, &a, &metadata);
  PyEval_RestoreThread(python);
  python_call_depth--;
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

/* consumer_take(capsule, seconds) -> as take_item */
static PyObject *m_consumer_take(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  double seconds = n == 2 ? PyFloat_AsDouble(args[1]) : 0;
  if (seconds < 0 && PyErr_Occurred()) return NULL;
  run_deferred_releases();
  if (n == 2 && args[0] == Py_None) {
    cdv_fail(CDV_RELEASED, EINVAL, "the consumer has become a stream");
    return raise_last();
  }
  struct cdv_consumer *c = n == 2 ? PyCapsule_GetPointer(args[0], N_CONSUMER) : NULL;
  if (!c) return NULL;
  if (seconds == 0 && !cdv_consumer_wait(c, 0, 0)) Py_RETURN_NONE;
  return take_item(c, (int64_t)(seconds * 1e9));
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
  cdv_consumer_weak_ref(c); /* one share becomes the stream's, the other stays the capsule's */
  python_call_depth++;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_consumer_stream(c, &s);
  PyEval_RestoreThread(python);
  python_call_depth--;
  if (r) {
    cdv_consumer_weak_unref(c);
    return raise_original();
  }
  if (PyCapsule_SetDestructor(capsule, let_consumer_go)) return NULL;
  return wrap_stream(s);
}

/* ---- productions: opened, then run or failed ---- */
static struct cdv_producer *production_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, N_PRODUCTION); }

/* production_open(handler address or our consumer) -> (capsule, address) */
static PyObject *m_production_open(PyObject *self, PyObject *to) {
  (void)self;
  struct cdv_producer *p;
  struct cdv_consumer *c = PyCapsule_CheckExact(to) ? consumer_of(to) : NULL;
  void *handler = c ? cdv_consumer_borrow_handler(c) : PyCapsule_CheckExact(to) ? NULL : PyLong_AsVoidPtr(to);
  if (!handler && PyErr_Occurred()) return NULL;
  if (cdv_producer_open(handler, &p)) return raise_last();
  PyObject *capsule = PyCapsule_New(p, N_PRODUCTION, free_production_capsule);
  if (!capsule) {
    cdv_producer_cancel_unstarted(p);
    return NULL;
  }
  if (c) cdv_consumer_handler(c); /* now that a producer has it: else it would not be released */
  return Py_BuildValue("NN", capsule, PyLong_FromVoidPtr(p));
}

/* production_feed(capsule, stream, metadata bytes or None): the stream is used up */
static PyObject *m_production_feed(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *stream, *metadata;
  if (!PyArg_ParseTuple(args, "OOO", &capsule, &stream, &metadata)) return NULL;
  const char *encoded = metadata == Py_None ? NULL : metadata_of(metadata);
  if (!encoded && metadata != Py_None) return NULL;
  if (!PyObject_TypeCheck(stream, StreamBase)) {
    PyErr_SetString(PyExc_TypeError, "expected a DeviceArrayStream");
    return NULL;
  }
  run_deferred_releases();
  struct cdv_producer *p = production_of(capsule);
  struct cdv_stream *s = p ? stream_lock((StreamObject *)stream) : NULL;
  if (!s) return NULL;
  int r = cdv_producer_set_source(p, s, encoded);
  if (!r) ((StreamObject *)stream)->stream = NULL;
  stream_unlock((StreamObject *)stream);
  if (r) return raise_last();
  Py_RETURN_NONE;
}

/* (CDV_*, code, the exception that a holder is to get or None) */
static PyObject *ending_of(struct cdv_producer *p) {
  int code, ending = cdv_producer_outcome(p, &code);
  PyObject *value = NULL;
  if (ending == CDV_FAILED || ending == CDV_REFUSED) {
    raise_original();
    value = fetch_exception();
  }
  if (!value) {
    Py_INCREF(Py_None);
    value = Py_None;
  }
  return Py_BuildValue("iiN", ending, code, value);
}

/* production_run(capsule) -> as ending_of; blocks */
static PyObject *m_production_run(PyObject *self, PyObject *capsule) {
  (void)self;
  run_deferred_releases();
  struct cdv_producer *p = production_of(capsule);
  if (!p) return NULL;
  python_call_depth++;
  PyThreadState *python = PyEval_SaveThread();
  cdv_producer_run(p);
  PyEval_RestoreThread(python);
  python_call_depth--;
  return ending_of(p);
}

/* production_fail(capsule, exception, cancelled) -> as ending_of: tells the consumer what kept it from running */
static PyObject *m_production_fail(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *exception;
  int cancelled;
  char text[1024];
  if (!PyArg_ParseTuple(args, "OOp", &capsule, &exception, &cancelled)) return NULL;
  exception_text(exception, text, sizeof text);
  run_deferred_releases();
  struct cdv_producer *p = production_of(capsule);
  if (!p) return NULL;
  error_from_exception(exception, text, 1);
  PyThreadState *python = PyEval_SaveThread();
  cdv_producer_fail(p, cancelled);
  PyEval_RestoreThread(python);
  return ending_of(p);
}
