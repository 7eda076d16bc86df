/* gil.c - the GIL, and releases on any thread, also while an exception is pending. */
#include "native/common.h"

#include <pthread.h>

/* ---- does this thread hold the GIL?  PyGILState_Check is not in the limited API and always returns 1 once there was
 * a sub-interpreter.  Unknown means no: the release is deferred, which is always correct. ---- */
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

static struct pending save_exception(void) {
  struct pending p = {NULL, NULL, NULL};
  if (PyErr_Occurred()) PyErr_Fetch(&p.type, &p.value, &p.traceback);
  return p;
}
static void restore_exception(struct pending p) {
  if (p.type || PyErr_Occurred()) PyErr_Restore(p.type, p.value, p.traceback);
}

static void run_deferred_releases(void) {
  struct cdv_deferred *d, *next;
  if (!cdv_defer_pending()) return;
  struct pending p = save_exception();
  while ((d = cdv_defer_take()))
    for (; d; d = next) {
      next = d->next;
      run_deferred(d);
    }
  restore_exception(p);
}

static void release_now_or_defer(struct cdv_deferred *d) {
  if (gil_held()) {
    run_deferred_releases(); /* what was dropped before goes before: blocks that still ask their stream */
    struct pending p = save_exception();
    run_deferred(d);
    restore_exception(p);
  } else {
    cdv_defer_push(d);
  }
}

static void drop_python(void *owner) { release_now_or_defer(owner); }

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

/* Keeps a stream object for memory allocated for it; None: *out is NULL. */
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

static struct away release_gil(void) {
  struct away a = {save_exception(), NULL};
  a.thread = PyEval_SaveThread();
  return a;
}
static void reacquire_gil(struct away a) {
  PyEval_RestoreThread(a.thread);
  run_deferred_releases();
  restore_exception(a.pending);
}

/* ---- into Python ---- Python keeps a list of its threads' states behind a lock. A fork in the middle of a change
 * leaves the child that lock taken, and CPython (3.11, for one) takes it there before it makes it anew: the child
 * blocks forever. With the GIL held there is no change under way but by a thread that Python does not know yet, so
 * these make their states one at a time, and not during a fork. The holder of `making` never blocks. */
static pthread_mutex_t making;
static PyInterpreterState *interpreter; /* the main one */
/* After a fork that Python does not know of: the owner of the GIL, or of a lock of Python's, may be in another
 * process. */
static atomic_int python_lost;
static const char lost_text[] =
    "this process was forked outside Python: its Python may have been in use by a thread that is in the other process. "
    "Call what needs Python before the fork, or exec() a new program";

static void in_child_of_c(void) {
  if (interpreter && !gil_held()) atomic_store(&python_lost, 1);
}
__attribute__((constructor)) static void watch_forks_of_c(void) { pthread_atfork(NULL, NULL, in_child_of_c); }

static void new_making(void) {
  pthread_mutexattr_t again; /* a handler of signals may fork inside a fork */
  pthread_mutexattr_init(&again);
  pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&making, &again);
  pthread_mutexattr_destroy(&again);
}

/* fork_begins(), fork_ended(in the child?): Python's handlers and not pthread_atfork's, which run once Python has
 * its lock */
static PyObject *m_fork_begins(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  pthread_mutex_lock(&making);
  Py_RETURN_NONE;
}
static PyObject *m_fork_ended(PyObject *self, PyObject *child) {
  (void)self;
  if (PyObject_IsTrue(child) == 1) {
    atomic_store(&python_lost, 0); /* Python has put itself in order */
    new_making();
  } else {
    pthread_mutex_unlock(&making);
  }
  Py_RETURN_NONE;
}

/* python_ends(): no thread enters any more */
static PyObject *m_python_ends(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  pthread_mutex_lock(&making);
  atomic_store(&python_gone, 1);
  pthread_mutex_unlock(&making);
  Py_RETURN_NONE;
}

/* For a thread that Python does not know; 0: *state lets the GIL go and forgets the thread again. */
static int enter_as_new(PyGILState_STATE *state, cdevice_error *err) {
  pthread_mutex_lock(&making);
  PyThreadState *t = atomic_load(&python_gone) ? NULL : PyThreadState_New(interpreter);
  pthread_mutex_unlock(&making);
  if (!t && atomic_load(&python_gone)) return cdevice_backend_fail(err, ESHUTDOWN, 0, NULL, "Python has ended");
  if (!t) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory to enter Python from a third-party thread");
  PyEval_RestoreThread(t);
  *state = PyGILState_UNLOCKED;
  return 0;
}

static int enter_python(PyGILState_STATE *state, cdevice_error *err) {
  if (atomic_load(&python_gone)) return cdevice_backend_fail(err, ESHUTDOWN, 0, NULL, "Python has ended");
  if (atomic_load(&python_lost)) return cdevice_backend_fail(err, EPERM, 0, NULL, "%s", lost_text);
  PyThreadState *t = tstate_is_thread_local && current_tstate ? current_tstate() : NULL;
  PyThreadState *own = PyGILState_GetThisThreadState();
  if (t && t != own) /* it would wait for itself */
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "called with the GIL of a sub-interpreter");
  if (!own) return enter_as_new(state, err);
  *state = PyGILState_Ensure();
  return 0;
}

static int enter_python_saving(struct visit *v, cdevice_error *err) {
  v->state = PyGILState_UNLOCKED;
  int r = enter_python(&v->state, err);
  if (!r) v->pending = save_exception(); /* of the code on this thread */
  return r;
}
static void leave_python(struct visit *v) {
  restore_exception(v->pending);
  PyGILState_Release(v->state);
}
