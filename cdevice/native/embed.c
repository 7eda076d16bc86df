/* embed.c - libcdevice.so: finds and starts Python, then forwards to the table of the one cdevice._native that Python
 * imported.  No second core lives here: two would split the registry.
 *
 * Included by the text of set_source(), after cffi's embedding support. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "native/capi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define PY_MINOR TEXT(PY_MAJOR_VERSION) "." TEXT(PY_MINOR_VERSION)

static int cdevice_boot(void **api, char *error, int error_size); /* extern "Python" */

static _Atomic(const struct cdevice_api *) the_api;
static char error_text[2048];
static pthread_mutex_t start_lock;
static int starting;
static atomic_int ended; /* Python was finalised: what is in C goes on, [Python] fails, and nothing starts again */
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

__attribute__((constructor)) static void init_lock(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&start_lock, &a);
  pthread_mutexattr_destroy(&a);
}

/* The interpreter of the environment this library is installed in: <prefix>/lib/pythonX.Y/site-packages/cdevice/lib.
 * Only a folder that looks like that is trusted. */
static int beside_library(char *path, size_t size) {
  Dl_info info;
  char real[4096];
  static const char tail[] = "/lib/python" PY_MINOR "/site-packages/cdevice/lib/libcdevice.so";
  if (!dladdr((void *)init_lock, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return 0;
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
  if (PyStatus_Exception(s)) {
    snprintf(error_text, sizeof error_text, "Python (%.900s) does not start: %.900s", p,
             s.err_msg ? s.err_msg : "it wants to exit");
    return -1;
  }
  PyEval_SaveThread(); /* cffi expects it initialised and without the GIL */
  return 0;
}

/* cffi remembers a failure for ever, so what it needs is tried before: that can be repaired and tried again. */
static int cffi_is_there(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *caches = PyImport_ImportModule("importlib"), *done, *module;
  done = caches ? PyObject_CallMethod(caches, "invalidate_caches", NULL) : NULL;
  module = PyImport_ImportModule("_cffi_backend");
  if (!module) {
    PyErr_Clear();
    PyObject *prefix = PySys_GetObject("prefix"), *bytes = prefix ? PyUnicode_AsUTF8String(prefix) : NULL;
    snprintf(error_text, sizeof error_text, "cffi is not installed in %s",
             bytes ? PyBytes_AsString(bytes) : "this Python");
    Py_XDECREF(bytes);
  }
  PyErr_Clear();
  int found = module != NULL;
  Py_XDECREF(module);
  Py_XDECREF(done);
  Py_XDECREF(caches);
  PyGILState_Release(state);
  return found;
}

static const struct cdevice_api *boot(void) {
  void *p = NULL;
  if (atomic_load(&ended)) {
    snprintf(error_text, sizeof error_text, "%s", ended_text);
    return NULL;
  }
  /* under the lock: Py_GetVersion() fills a static buffer */
  if (strncmp(Py_GetVersion(), PY_MINOR ".", sizeof PY_MINOR)) {
    snprintf(error_text, sizeof error_text, "libcdevice.so was built for Python " PY_MINOR ", the process runs %.20s",
             Py_GetVersion());
    return NULL;
  }
  if (!Py_IsInitialized() && start_python()) return NULL;
  static int noticed;
  if (!noticed)
    noticed = !Py_AtExit(python_ended); /* where there is no room for it, a second Python fails less clearly */
  if (!cffi_is_there()) return NULL;
  if (cffi_start_python()) {
    snprintf(error_text, sizeof error_text, "cffi does not start its embedding, see stderr");
    return NULL;
  }
  if (cdevice_boot(&p, error_text, sizeof error_text) || !p) return NULL;
  const struct cdevice_api *api = p;
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
  const struct cdevice_api *api = atomic_load(&the_api);
  if (!api && starting) {
    snprintf(error_text, sizeof error_text, "called while it is being started");
  } else if (!api) {
    starting = 1;
    error_text[0] = 0;
    api = boot();
    atomic_store_explicit(&the_api, api, memory_order_release);
    starting = 0;
  }
  pthread_mutex_unlock(&start_lock);
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
