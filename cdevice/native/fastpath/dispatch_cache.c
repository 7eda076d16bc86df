/* dispatch_cache.c - the way in to functions: calls whose types were met before, with arrays on the CPU and nothing
 * else, are made without a line of Python. */
#include "native/common.h"

#define KNOWN 32 /* of a function; the types that were met first are forgotten first */

/* What a call with arguments of these types is. */
struct known {
  int n;     /* arguments; 0: nothing is here */
  bool swap; /* the first two change places */
  char formats[CDV_MAX_ARGS][16];
  PyObject *plan, *wrap; /* the callable, and the one that its result is passed to, or NULL */
};
/* The state of a module of its own, which is what the function in C has for its self: so help() shows a function. */
struct front {
  PyObject *function;   /* in Python: it knows everything */
  long long generation; /* of its kernels: what was learned of others is refused */
  int n, next;
  struct known known[KNOWN]; /* read and written under the lock of the module */
};

static PyModuleDef front_module = {
    PyModuleDef_HEAD_INIT, "cdevice.compute", NULL, sizeof(struct front), NULL, NULL, NULL, NULL, NULL};

static void forget(struct known *k) {
  PyObject *plan = k->plan, *wrap = k->wrap;
  *k = (struct known){0};
  Py_XDECREF(plan);
  Py_XDECREF(wrap);
}

static const struct known *find(const struct front *f, struct cdv_array *const *arrays, int n) {
  for (int backend = 0; backend < f->n; backend++) {
    const struct known *k = &f->known[backend];
    int i = k->n == n ? 0 : n + 1;
    while (i < n && !strcmp(arrays[i]->schema->node->format, k->formats[i]) && !arrays[i]->schema->node->dictionary &&
           arrays[i]->root->own.device_type == ARROW_DEVICE_CPU)
      i++;
    if (i == n) return k;
  }
  return NULL;
}

/* What a call is made with: held, since another thread may forget it meanwhile. */
struct recalled {
  bool swap;
  PyObject *plan, *wrap;
};

static bool recall(PyObject *module, struct cdv_array *const *arrays, int n, struct recalled *out) {
  const struct known *k;
  BEGIN_OBJECT_LOCK(module);
  k = find(PyModule_GetState(module), arrays, n);
  if (k) {
    *out = (struct recalled){k->swap, k->plan, k->wrap};
    Py_INCREF(k->plan);
    Py_XINCREF(k->wrap);
  }
  END_OBJECT_LOCK();
  return k != NULL;
}

/* Takes over what k holds. */
static PyObject *call_known(const struct recalled *k, struct cdv_array *const *arrays, int n) {
  struct cdv_datum x[CDV_MAX_ARGS] = {{0}};
  struct cdv_array *out = NULL;
  PyObject *plan = k->plan, *wrap = k->wrap;
  bool is_map = PyCapsule_IsValid(plan, N_MAP);
  const void *what = PyCapsule_GetPointer(plan, is_map ? N_MAP : N_REDUCE);
  for (int i = 0; i < n; i++) x[k->swap && i < 2 ? 1 - i : i].array = arrays[i];
  PyThreadState *python = PyEval_SaveThread();
  int r = is_map ? cdv_compute_elementwise(what, x, n, NULL, &out) : cdv_compute_aggregate(what, arrays, n, NULL, &out);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : wrap_array(out);
  if (o && wrap) {
    PyObject *wrapped = pass_on(wrap, &o, 1, NULL);
    Py_DECREF(o);
    o = wrapped;
  }
  Py_DECREF(plan);
  Py_XDECREF(wrap);
  return o;
}

/* The arguments, those that could be made arrays in their place; Python does the rest. */
static PyObject *front(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  struct front *f = PyModule_GetState(self);
  PyObject *made[CDV_MAX_ARGS] = {NULL}, *out = NULL;
  struct cdv_array *arrays[CDV_MAX_ARGS];
  Py_ssize_t taken = 0, held = 0;
  if (!f) return NULL;
  if (names || n > CDV_MAX_ARGS || !f->n) return pass_on(f->function, args, n, names);
  while (taken < n && (made[taken] = take(args[taken]))) taken++;
  bool failed = PyErr_Occurred() != NULL;
  while (!failed && taken == n && held < n && (arrays[held] = array_incref(made[held]))) held++;
  if (taken == n && held < n) failed = true;
  struct recalled k;
  bool known = !failed && taken == n && recall(self, arrays, (int)n, &k);
  if (known) out = call_known(&k, arrays, (int)n);
  while (held) array_decref(arrays[--held]);
  if (!known && !failed) {
    PyObject *all[CDV_MAX_ARGS];
    for (Py_ssize_t i = 0; i < n; i++) all[i] = i < taken ? made[i] : args[i];
    out = pass_on(f->function, all, n, NULL);
  }
  while (taken) Py_DECREF(made[--taken]);
  return out;
}

/* compute_front(function, "name(x, y, /, *, stream=None)", its docstring): the function, tried in C first.  The new
 * function and what it knows stay until the process ends. */
static PyObject *m_compute_front(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *function, *out = NULL;
  const char *head, *doc;
  if (!PyArg_ParseTuple(args, "Oss", &function, &head, &doc)) return NULL;
  size_t name = strcspn(head, "("), n = strlen(head) + strlen(doc) + 16;
  PyMethodDef *def = calloc(1, sizeof *def + n + name + 1);
  PyObject *word = def ? PyObject_GetAttrString(function, "__module__") : NULL;
  PyObject *module = word ? PyModule_Create(&front_module) : NULL;
  struct front *f = module ? PyModule_GetState(module) : NULL;
  if (f) {
    char *text = (char *)(def + 1), *to = text + n;
    snprintf(text, n, "%s\n--\n\n%s", head, doc);
    memcpy(to, head, name);
    *def = (PyMethodDef){to, FAST(front), METH_FASTCALL | METH_KEYWORDS, text};
    Py_INCREF(function);
    f->function = function;
    out = PyCFunction_NewEx(def, module, word);
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  Py_XDECREF(word);
  Py_XDECREF(module);
  if (!out) free(def);
  return out;
}

/* What a front knows of types, for those of `formats` if there is such a place, else the next one. */
static struct known *place_for(struct front *f, const struct known *like) {
  for (int i = 0; i < f->n; i++)
    if (f->known[i].n == like->n && !memcmp(f->known[i].formats, like->formats, sizeof like->formats))
      return &f->known[i];
  if (f->n < KNOWN) return &f->known[f->n++];
  f->next = (f->next + 1) % KNOWN;
  return &f->known[f->next];
}

static void learn(struct front *f, const struct known *k) {
  struct known *to = place_for(f, k), old = *to;
  Py_INCREF(k->plan);
  Py_XINCREF(k->wrap);
  *to = *k;
  Py_XDECREF(old.plan);
  Py_XDECREF(old.wrap);
}

static void forget_all(struct front *f, long long generation) {
  int n = f->n;
  f->generation = generation;
  f->n = f->next = 0;
  for (int i = 0; i < n; i++) forget(&f->known[i]);
}

/* compute_learn(what compute_front gave, generation, formats or None: forget all, plan or reduction, swap, what the
 * result is handed to or None).  What was found before the kernels changed is not learned. */
static PyObject *m_dispatch_cache_insert(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *made, *formats, *plan, *wrap;
  int swap;
  long long generation;
  if (!PyArg_ParseTuple(args, "OO&OOpO", &made, to_int64, &generation, &formats, &plan, &swap, &wrap)) return NULL;
  PyObject *module = PyObject_GetAttrString(made, "__self__");
  struct front *f = module ? PyModule_GetState(module) : NULL;
  Py_XDECREF(module); /* the function has it */
  if (!f) return NULL;
  if (formats == Py_None) {
    BEGIN_OBJECT_LOCK(module);
    forget_all(f, generation);
    END_OBJECT_LOCK();
    Py_RETURN_NONE;
  }
  Py_ssize_t n = PyTuple_Size(formats);
  if (n < 0) return NULL;
  if (n < 1 || n > CDV_MAX_ARGS) Py_RETURN_NONE;
  struct known k = {.n = (int)n, .swap = swap, .plan = plan, .wrap = wrap == Py_None ? NULL : wrap};
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *text = PyUnicode_AsUTF8String(PyTuple_GetItem(formats, i));
    if (!text) return NULL;
    bool fits = PyBytes_Size(text) < (Py_ssize_t)sizeof k.formats[0];
    if (fits) memcpy(k.formats[i], PyBytes_AsString(text), (size_t)PyBytes_Size(text));
    Py_DECREF(text);
    if (!fits) Py_RETURN_NONE;
  }
  BEGIN_OBJECT_LOCK(module);
  if (generation == f->generation) learn(f, &k);
  END_OBJECT_LOCK();
  Py_RETURN_NONE;
}
