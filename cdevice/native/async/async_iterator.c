/* async_iterator.c - `async for` over a consumer: what has come is taken here, and what has to wait is aio.py's.
 *
 * An awaitable takes when it is awaited, not when it is made: one that is dropped loses nothing. */
#include <sched.h>
#include <time.h>

#include "native/common.h"

/* Between two turns of the event loop: items that were there already, and ns of the loop's body. */
#define LOOK_UP 256
#define LOOK_UP_AFTER 4000000

typedef struct {
  PyObject_HEAD PyObject *owner; /* aio.Consumer: closed when the loop is left, however */
  PyObject *capsule;
  int n;
  struct timespec since; /* the last turn of the event loop */
  int left;
  int told; /* the owner may hold metadata of the item before */
} LoopObject;

typedef struct {
  PyObject_HEAD LoopObject *loop; /* NULL: it has been awaited */
  PyObject *inner;                /* the coroutine that waits, or NULL */
} NextObject;

static PyTypeObject *LoopType, *NextType;

/* ---- the loop ---- */
/* async_loop(consumer, its capsule) */
static PyObject *m_async_loop(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *owner, *capsule;
  if (!PyArg_ParseTuple(args, "OO", &owner, &capsule)) return NULL;
  LoopObject *l = (LoopObject *)PyType_GenericAlloc(LoopType, 0);
  if (!l) return NULL;
  Py_INCREF(owner);
  Py_INCREF(capsule);
  l->owner = owner;
  l->capsule = capsule;
  l->told = 1;
  return (PyObject *)l;
}

/* Once; before anything that it holds is taken apart. */
static void l_finalize(PyObject *self) {
  LoopObject *l = (LoopObject *)self;
  if (l->left) return;
  l->left = 1;
  struct pending pending = save_exception();
  PyObject *done = PyObject_CallMethod(l->owner, "close", NULL);
  if (!done) PyErr_WriteUnraisable(l->owner);
  Py_XDECREF(done);
  restore_exception(pending);
}

static int l_clear(PyObject *self) {
  Py_CLEAR(((LoopObject *)self)->owner);
  Py_CLEAR(((LoopObject *)self)->capsule);
  return 0;
}
static int l_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((LoopObject *)self)->owner);
  Py_VISIT(((LoopObject *)self)->capsule);
  return 0;
}
static void l_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  l_finalize(self);
  l_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject *l_anext(PyObject *self) {
  NextObject *n = (NextObject *)PyType_GenericAlloc(NextType, 0);
  if (!n) return NULL;
  Py_INCREF(self);
  n->loop = (LoopObject *)self;
  return (PyObject *)n;
}

static int must_look_up(LoopObject *l) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (!l->n++) {
    l->since = now;
    return 0;
  }
  return l->n > LOOK_UP || (now.tv_sec - l->since.tv_sec) * 1000000000 + now.tv_nsec - l->since.tv_nsec > LOOK_UP_AFTER;
}

/* ---- one item ---- */
/* A producer of cdevice that shares this processor may have the next ones at hand: to let it run once costs less
 * than to sleep. Has something come? */
static int yield_for(struct cdv_consumer *c) {
  if (!cdv_consumer_has_more(c)) return 0;
  PyThreadState *python = PyEval_SaveThread();
  sched_yield();
  PyEval_RestoreThread(python);
  return cdv_consumer_waiting(c) > 0;
}

/* An item that has arrived already; NULL without an exception: there is none. */
static PyObject *take_at_once(LoopObject *l) {
  run_deferred_releases();
  struct cdv_consumer *c = consumer_of(l->capsule);
  if (!c || (!cdv_consumer_waiting(c) && !yield_for(c))) return NULL;
  PyObject *item = take_item(c, 0);
  if (item == Py_None || item == Py_Ellipsis) { /* another thread was faster; the end stays the end */
    Py_DECREF(item);
    return NULL;
  }
  if (!item || (!l->told && !PyTuple_CheckExact(item))) return item;
  l->told = PyTuple_CheckExact(item);
  PyObject *array = PyObject_CallMethod(l->owner, "_taken", "(O)", item);
  Py_DECREF(item);
  return array;
}

/* A coroutine that goes on with it: waiting, or with the error that is set. */
static PyObject *go_on(LoopObject *l, int look_up) {
  l->told = 1;
  l->n = 0;
  if (!PyErr_Occurred()) return PyObject_CallMethod(l->owner, "_next", "i", look_up);
  PyObject *error = fetch_exception();
  PyObject *out = error ? PyObject_CallMethod(l->owner, "_failed", "O", error) : NULL;
  Py_XDECREF(error);
  return out;
}

static void n_over(NextObject *n) {
  Py_CLEAR(n->inner);
  Py_CLEAR(n->loop);
}

static PySendResult send_to(PyObject *self, PyObject *arg, PyObject **out) {
  NextObject *n = (NextObject *)self;
  LoopObject *l = n->loop;
  *out = NULL;
  if (!l) {
    PyErr_SetString(PyExc_RuntimeError, "an item can be awaited only once");
    return PYGEN_ERROR;
  }
  if (!n->inner) {
    int look_up = must_look_up(l);
    if (!look_up) *out = take_at_once(l);
    if (*out) {
      n_over(n);
      return PYGEN_RETURN;
    }
    n->inner = go_on(l, look_up);
    if (!n->inner) return PYGEN_ERROR;
  }
  PyObject *inner = n->inner;
  Py_INCREF(inner);
  PySendResult r = PyIter_Send(inner, arg, out);
  Py_DECREF(inner);
  if (r != PYGEN_NEXT) n_over(n);
  return r;
}

static PySendResult n_send(PyObject *self, PyObject *arg, PyObject **out) {
  PySendResult r;
  BEGIN_OBJECT_LOCK(self);
  r = send_to(self, arg, out);
  END_OBJECT_LOCK();
  return r;
}

/* As an iterator returns it: the item, or NULL and StopIteration with the value. */
static PyObject *as_iterator(PySendResult r, PyObject *out) {
  if (r == PYGEN_NEXT) return out;
  if (r == PYGEN_RETURN) {
    PyErr_SetObject(PyExc_StopIteration, out);
    Py_DECREF(out);
  }
  return NULL;
}
static PyObject *n_next(PyObject *self) {
  PyObject *out;
  PySendResult r = n_send(self, Py_None, &out);
  return as_iterator(r, out);
}
static PyObject *n_send_method(PyObject *self, PyObject *arg) {
  PyObject *out;
  PySendResult r = n_send(self, arg, &out);
  return as_iterator(r, out);
}

static PyObject *throw_at(PyObject *self, PyObject *args) {
  NextObject *n = (NextObject *)self;
  PyObject *type, *value = NULL, *traceback = NULL;
  if (!PyArg_ParseTuple(args, "O|OO", &type, &value, &traceback)) return NULL;
  if (!n->inner) { /* nothing was taken, so nothing is lost */
    n_over(n);
    if (PyExceptionInstance_Check(type))
      PyErr_SetObject((PyObject *)Py_TYPE(type), type);
    else
      PyErr_SetObject(type, value);
    return NULL;
  }
  PyObject *inner = n->inner, *method = PyObject_GetAttrString(inner, "throw");
  PyObject *out = method ? PyObject_CallObject(method, args) : NULL;
  Py_XDECREF(method);
  if (!out) n_over(n);
  return out;
}

static PyObject *n_throw(PyObject *self, PyObject *args) {
  PyObject *out;
  BEGIN_OBJECT_LOCK(self);
  out = throw_at(self, args);
  END_OBJECT_LOCK();
  return out;
}

static PyObject *n_close(PyObject *self, PyObject *unused) {
  (void)unused;
  NextObject *n = (NextObject *)self;
  PyObject *inner, *out = NULL;
  BEGIN_OBJECT_LOCK(self);
  inner = n->inner;
  n->inner = NULL;
  END_OBJECT_LOCK();
  if (inner) {
    out = PyObject_CallMethod(inner, "close", NULL);
    Py_DECREF(inner);
    if (!out) return NULL;
    Py_DECREF(out);
  }
  BEGIN_OBJECT_LOCK(self);
  n_over(n);
  END_OBJECT_LOCK();
  Py_RETURN_NONE;
}

static int n_clear(PyObject *self) {
  n_over((NextObject *)self);
  return 0;
}
static int n_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject *)((NextObject *)self)->loop);
  Py_VISIT(((NextObject *)self)->inner);
  return 0;
}
static void n_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  n_over((NextObject *)self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyMethodDef n_methods[] = {{"send", n_send_method, METH_O, NULL},
                                  {"throw", n_throw, METH_VARARGS, NULL},
                                  {"close", n_close, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static PyType_Slot n_slots[] = {{Py_tp_dealloc, n_dealloc},
                                {Py_tp_traverse, n_traverse},
                                {Py_tp_clear, n_clear},
                                {Py_am_await, PyObject_SelfIter},
                                {Py_tp_iter, PyObject_SelfIter},
                                {Py_tp_iternext, n_next},
                                {Py_am_send, n_send},
                                {Py_tp_methods, n_methods},
                                {0, NULL}};
static PyType_Spec n_spec = {"cdevice._native.AsyncNext", sizeof(NextObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, n_slots};
static PyType_Slot l_slots[] = {{Py_tp_dealloc, l_dealloc},
                                {Py_tp_traverse, l_traverse},
                                {Py_tp_clear, l_clear},
                                {Py_tp_finalize, l_finalize},
                                {Py_am_anext, l_anext},
                                {Py_am_aiter, PyObject_SelfIter},
                                {0, NULL}};
static PyType_Spec l_spec = {"cdevice._native.AsyncLoop", sizeof(LoopObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, l_slots};

static int make_loop_types(void) {
  LoopType = (PyTypeObject *)PyType_FromSpec(&l_spec);
  NextType = LoopType ? (PyTypeObject *)PyType_FromSpec(&n_spec) : NULL;
  return NextType ? 0 : -1;
}
