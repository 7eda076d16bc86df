/* embed.c - libcdevice.so: finds and starts Python, then forwards to the table of the one cdevice._native that Python
 * imported.  No second core lives here: two would split the registry.
 *
 * cffi's embedding is not used: its start takes the version tag of a type of Python's for its lock, and aborts where
 * that was changed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as Python's own headers define it */
#endif
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/embed/capi.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define PY_MINOR TEXT(PY_MAJOR_VERSION) "." TEXT(PY_MINOR_VERSION)

static _Atomic(const struct cdevice_api *) the_api;
static char error_text[2048];
/* Of the three below.  The start runs without it: others wait for that in start(). */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static int starting;
static pthread_t starter;   /* the thread that does */
static const char *no_more; /* why no start will ever succeed; NULL: it may be tried */
static char python_failed[1024];
/* Python was finalised: functions in C still work, [Python] ones fail, and nothing starts again. */
static atomic_int ended;
static const char ended_text[] = "Python has ended in this process; the package cannot be started again in it";

static void python_ended(void) { atomic_store(&ended, 1); }

/* Does this thread hold the GIL for a sub-interpreter?  To take it for the main one it would wait for itself.  Thread
 * states of others are looked at only where there are sub-interpreters. */
static int in_subinterpreter(void) {
  if (!Py_IsInitialized() || !PyInterpreterState_Next(PyInterpreterState_Head())) return 0;
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState *t = PyThreadState_GetUnchecked();
#else
  PyThreadState *t = _PyThreadState_UncheckedGet();
#endif
  return t && t->thread_id == PyThread_get_thread_ident() &&
         PyThreadState_GetInterpreter(t) != PyInterpreterState_Main();
}

/* What another thread had begun to start is never finished in a child: Python's locks are as that thread left them. */
static void in_child(void) {
  pthread_mutex_init(&start_lock, NULL);
  pthread_cond_init(&started, NULL);
  if (!starting || pthread_equal(starter, pthread_self())) return;
  starting = 0;
  no_more = "the process was forked while another thread was starting Python: start it before the fork";
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* The interpreter of the environment this library is installed in: <prefix>/lib/pythonX.Y/site-packages/cdevice/lib.
 * Only a folder that looks like that is trusted. */
static int beside_library(char *path, size_t size) {
  Dl_info info;
  char real[4096];
  static const char tail[] = "/lib/python" PY_MINOR "/site-packages/cdevice/lib/libcdevice.so";
  if (!dladdr((void *)in_child, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return 0;
  size_t n = strlen(real), k = sizeof tail - 1;
  if (n <= k || strcmp(real + n - k, tail)) return 0;
  snprintf(path, size, "%.*s/bin/python" PY_MINOR, (int)(n - k), real);
  if (access(path, X_OK) == 0) return 1;
  snprintf(path, size, "%.*s/bin/python3", (int)(n - k), real);
  return access(path, X_OK) == 0;
}

static int start_python(void) { /* with a PyConfig: Py_InitializeEx() ends the process when it fails */
  char found[4200];
  const char *p = getenv("CDEVICE_PYTHON");
  if (p && access(p, X_OK)) {
    snprintf(error_text, sizeof error_text, "CDEVICE_PYTHON: %.900s: %s", p, strerror(errno));
    return -1;
  }
  if (!p) p = beside_library(found, sizeof found) ? found : CDEVICE_BUILT_WITH;
  if (access(p, X_OK)) {
    snprintf(error_text, sizeof error_text, "no Python: %.900s: %s; CDEVICE_PYTHON names another", p, strerror(errno));
    return -1;
  }
  Dl_info python; /* modules look for its names, which a library loaded with RTLD_LOCAL would hide */
  if (dladdr((void *)Py_InitializeFromConfig, &python) && python.dli_fname)
    dlopen(python.dli_fname, RTLD_NOW | RTLD_GLOBAL);
  PyConfig c;
  PyConfig_InitPythonConfig(&c);
  c.install_signal_handlers = 0;
  c.parse_argv = 0;
  PyStatus s = PyConfig_SetBytesString(&c, &c.program_name, p);
  if (!PyStatus_Exception(s)) s = Py_InitializeFromConfig(&c);
  PyConfig_Clear(&c);
  if (PyStatus_Exception(s)) { /* it is half started now, and a second try would only hide the reason */
    snprintf(python_failed, sizeof python_failed, "Python (%.300s) does not start: %.600s", p,
             s.err_msg ? s.err_msg : "it wants to exit");
    no_more = python_failed;
    return -1;
  }
  PyEval_SaveThread();
  return 0;
}

/* The pending exception as this library's error; a Ctrl-C is raised in Python again, for a waiting caller. */
static void error_from_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *text = value ? PyObject_Str(value) : NULL, *bytes = NULL;
  if (text) bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  const char *said = bytes ? PyBytes_AsString(bytes) : "no text";
  const char *name = type ? ((PyTypeObject *)type)->tp_name : "no exception";
  snprintf(error_text, sizeof error_text, "%.200s: %.1800s", name, said);
  if (type && PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Clear();
}

/* Is cffi there?  The package's own message is longer than a C program needs. */
static int cffi_is_there(void) {
  PyObject *module = PyImport_ImportModule("_cffi_backend");
  if (!module && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
    PyErr_Clear();
    PyObject *prefix = PySys_GetObject("prefix"), *bytes = NULL;
    if (prefix) bytes = PyUnicode_AsEncodedString(prefix, "utf-8", "backslashreplace");
    snprintf(error_text, sizeof error_text, "cffi is not installed in %.1000s",
             bytes ? PyBytes_AsString(bytes) : "this Python");
    Py_XDECREF(bytes);
    PyErr_Clear();
  } else if (!module) {
    error_from_exception();
  }
  Py_XDECREF(module);
  return module != NULL;
}

/* A package of which only a part was imported: the next try begins anew. */
static void forget_modules(void) {
  PyObject *modules = PyImport_GetModuleDict(), *names = modules ? PyDict_Keys(modules) : NULL;
  for (Py_ssize_t i = 0, n = names ? PyList_Size(names) : 0; i < n; i++) {
    PyObject *name = PyList_GetItem(names, i);
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text && !strncmp(text, "cdevice", 7) && (!text[7] || text[7] == '.')) PyDict_DelItem(modules, name);
    PyErr_Clear();
  }
  Py_XDECREF(names);
}

/* Imports the package and gives its table; NULL with a text.  GIL held. */
static void *import_package(void) {
  PyObject *modules = PyImport_GetModuleDict();
  int here = modules && PyDict_GetItemString(modules, "cdevice"); /* a module of the caller's, perhaps in use */
  PyObject *caches = PyImport_ImportModule("importlib");
  PyObject *done = caches ? PyObject_CallMethod(caches, "invalidate_caches", NULL) : NULL;
  Py_XDECREF(caches);
  Py_XDECREF(done);
  PyErr_Clear();
  if (!cffi_is_there()) return NULL;
  void *api = NULL;
  PyObject *core = PyImport_ImportModule("cdevice._core");
  done = core ? PyObject_CallMethod(core, "ensure_release_thread", NULL)
              : NULL; /* threads of the host release what Python owns */
  if (done) api = PyCapsule_Import(CDEVICE_CAPSULE, 0);
  if (!api) {
    error_from_exception();
    if (!here) forget_modules();
  }
  Py_XDECREF(done);
  Py_XDECREF(core);
  return api;
}

static const struct cdevice_api *boot(void) {
  if (atomic_load(&ended) || no_more) {
    snprintf(error_text, sizeof error_text, "%s", no_more ? no_more : ended_text);
    return NULL;
  }
  /* under the lock: Py_GetVersion() fills a static buffer */
  if (strncmp(Py_GetVersion(), PY_MINOR ".", sizeof PY_MINOR)) {
    snprintf(error_text, sizeof error_text, "libcdevice.so was built for Python " PY_MINOR ", the process runs %.20s",
             Py_GetVersion());
    return NULL;
  }
  if (!Py_IsInitialized() && start_python()) {
    if (no_more) snprintf(error_text, sizeof error_text, "%s", no_more);
    return NULL;
  }
  static int noticed;
  if (!noticed)
    noticed = !Py_AtExit(python_ended); /* where there is no room for it, a second Python fails less clearly */
  PyGILState_STATE state = PyGILState_Ensure();
  const struct cdevice_api *api = import_package();
  PyGILState_Release(state);
  if (!api) return NULL;
  if (api->api != CDEVICE_API || api->struct_size < sizeof *api) {
    snprintf(error_text, sizeof error_text,
             "libcdevice.so (API %d) was built for another version of the package (API %u)", CDEVICE_API,
             (unsigned)api->api);
    return NULL;
  }
  return api;
}

static const struct cdevice_api *start(void) {
  if (in_subinterpreter()) {
    snprintf(error_text, sizeof error_text,
             "called with the GIL of a sub-interpreter: the package lives in the main one");
    return NULL;
  }
  /* a thread that holds the GIL must not wait for the lock: its owner may be waiting for the GIL */
  PyThreadState *saved = NULL;
  PyObject *type = NULL, *value = NULL, *traceback = NULL;
  if (Py_IsInitialized() && PyGILState_GetThisThreadState() && PyGILState_Check()) {
    PyErr_Fetch(&type, &value, &traceback); /* an exception of the host's */
    saved = PyEval_SaveThread();
  }
  pthread_mutex_lock(&start_lock);
  while (starting && !pthread_equal(starter, pthread_self())) pthread_cond_wait(&started, &start_lock);
  const struct cdevice_api *api = atomic_load(&the_api);
  bool inside = starting, mine = !api && !inside;
  if (mine) {
    starting = 1;
    starter = pthread_self();
    error_text[0] = 0;
  }
  pthread_mutex_unlock(&start_lock);
  if (!api && inside) snprintf(error_text, sizeof error_text, "called while it is being started");
  if (mine) {
    api = boot();
    pthread_mutex_lock(&start_lock);
    atomic_store_explicit(&the_api, api, memory_order_release);
    starting = 0;
    pthread_cond_broadcast(&started);
    pthread_mutex_unlock(&start_lock);
  }
  if (saved) {
    PyEval_RestoreThread(saved);
    PyErr_Restore(type, value, traceback);
  }
  return api;
}

static inline const struct cdevice_api *get(void) {
  const struct cdevice_api *a = atomic_load_explicit(&the_api, memory_order_acquire);
  return __builtin_expect(a != NULL, 1) ? a : start();
}

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int cdevice_start(void) {
  if (!atomic_load(&ended)) return get() ? 0 : -1;
  snprintf(error_text, sizeof error_text, "%s", ended_text);
  return -1;
}
EXPORTED const char *cdevice_start_error(void) { return error_text; }
EXPORTED uint32_t cdevice_version(void) {
  const struct cdevice_api *a = get();
  return a ? a->version : 0;
}
/* They start nothing: the reason of a failed start is what they are asked for. */
#define CDEVICE_START_TEXT error_text
#define F(result, failed, name, parameters, arguments, ...)                                \
  EXPORTED result cdevice_##name parameters {                                              \
    const struct cdevice_api *api_ = atomic_load_explicit(&the_api, memory_order_acquire); \
    return api_ ? api_->name arguments : (failed);                                         \
  }
CDEVICE_ASKING(F)
#undef F
#define CDEVICE_REFUSED_CODE ENOSYS
#define F(result, failed, name, parameters, arguments, ...) \
  EXPORTED result cdevice_##name parameters {               \
    const struct cdevice_api *api_ = get();                 \
    return api_ ? api_->name arguments : (failed);          \
  }
#define V(name, parameters, arguments, ...) \
  EXPORTED void cdevice_##name parameters { \
    const struct cdevice_api *api_ = get(); \
    if (api_) api_->name arguments;         \
  }
CDEVICE_FUNCTIONS(F, V)
