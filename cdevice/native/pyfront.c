/* pyfront.c - the way in to functions: calls whose types were met before, with arrays on the CPU and nothing else, are made
 * without a line of Python. */
#include "py.h"

#include "compute.h"

struct known {
  struct known *next;
  int n;
  bool swap; /* the first two arguments change places */
  char formats[CDV_OPERANDS][16];
  const struct cdv_map *plan; /* one of the two */
  const struct cdv_reduce *reduction;
  PyObject *wrap; /* what the result is handed to, or NULL */
};
struct front {
  PyObject *function; /* in Python: it knows everything */
  _Atomic(struct known *) known;
};
static const char N_FRONT[] = "cdevice.front";

static const struct known *recall(const struct front *f, struct cdv_array *const *arrays, int n) {
  for (const struct known *k = atomic_load(&f->known); k; k = k->next) {
    int i = k->n == n ? 0 : n + 1;
    while (i < n && !strcmp(arrays[i]->schema->node->format, k->formats[i]) && !arrays[i]->schema->node->dictionary &&
           arrays[i]->root->own.device_type == ARROW_DEVICE_CPU)
      i++;
    if (i == n) return k;
  }
  return NULL;
}

static PyObject *call_known(const struct known *k, struct cdv_array *const *arrays) {
  struct cdv_operand x[CDV_OPERANDS] = {{0}};
  struct cdv_array *out = NULL;
  for (int i = 0; i < k->n; i++) x[k->swap && i < 2 ? 1 - i : i].array = arrays[i];
  PyThreadState *python = PyEval_SaveThread();
  int r = k->plan ? cdv_compute_map(k->plan, x, k->n, NULL, &out)
                  : cdv_compute_reduce(k->reduction, arrays, k->n, NULL, &out);
  PyEval_RestoreThread(python);
  PyObject *o = r ? raise_last() : wrap_array(out), *wrapped;
  if (!o || !k->wrap) return o;
  wrapped = pass_on(k->wrap, &o, 1, NULL);
  Py_DECREF(o);
  return wrapped;
}

/* The arguments, those that could be made arrays in their place; what is left to do is Python's. */
static PyObject *front(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  struct front *f = PyCapsule_GetPointer(self, N_FRONT);
  PyObject *made[CDV_OPERANDS] = {NULL}, *out = NULL;
  struct cdv_array *arrays[CDV_OPERANDS];
  Py_ssize_t taken = 0, held = 0;
  if (!f) return NULL;
  if (names || n > CDV_OPERANDS || !atomic_load(&f->known)) return pass_on(f->function, args, n, names);
  while (taken < n && (made[taken] = take(args[taken]))) taken++;
  bool failed = PyErr_Occurred() != NULL;
  while (!failed && taken == n && held < n && (arrays[held] = hold_array(made[held]))) held++;
  if (taken == n && held < n) failed = true;
  const struct known *k = !failed && taken == n ? recall(f, arrays, (int)n) : NULL;
  if (k) out = call_known(k, arrays);
  while (held) let_go(arrays[--held]);
  if (!k && !failed) {
    PyObject *all[CDV_OPERANDS];
    for (Py_ssize_t i = 0; i < n; i++) all[i] = i < taken ? made[i] : args[i];
    out = pass_on(f->function, all, n, NULL);
  }
  while (taken) Py_DECREF(made[--taken]);
  return out;
}

static void free_front(PyObject *capsule) { (void)capsule; /* a function of a module stays */ }

/* compute_front(function, "name(x, y, /, *, stream=None)", what it says of itself): the function, tried in C first. */
static PyObject *m_compute_front(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *function;
  const char *head, *doc;
  if (!PyArg_ParseTuple(args, "Oss", &function, &head, &doc)) return NULL;
  size_t name = strcspn(head, "("), n = strlen(head) + strlen(doc) + 16;
  PyMethodDef *def = calloc(1, sizeof *def + n + name + 1);
  struct front *f = calloc(1, sizeof *f);
  PyObject *module = def && f ? PyObject_GetAttrString(function, "__module__") : NULL;
  PyObject *capsule = module ? PyCapsule_New(f, N_FRONT, free_front) : NULL, *out = NULL;
  if (capsule) {
    char *text = (char *)(def + 1), *word = text + n;
    snprintf(text, n, "%s\n--\n\n%s", head, doc);
    memcpy(word, head, name);
    *def = (PyMethodDef){word, FAST(front), METH_FASTCALL | METH_KEYWORDS, text};
    Py_INCREF(function);
    f->function = function;
    out = PyCFunction_NewEx(def, capsule, module);
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  Py_XDECREF(module);
  Py_XDECREF(capsule);
  if (!out) free(def), free(f);
  return out;
}

/* compute_learn(what compute_front gave, formats or None: forget all, plan or reduction, swap, what the result is handed to
 * or None) */
static PyObject *m_compute_learn(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *made, *formats, *plan, *wrap;
  int swap;
  if (!PyArg_ParseTuple(args, "OOOpO", &made, &formats, &plan, &swap, &wrap)) return NULL;
  PyObject *capsule = PyObject_GetAttrString(made, "__self__");
  struct front *f = capsule ? PyCapsule_GetPointer(capsule, N_FRONT) : NULL;
  Py_XDECREF(capsule); /* the function has it */
  if (!f) return NULL;
  if (formats == Py_None) {
    atomic_store(&f->known, NULL); /* others may be reading: what was known stays where it is */
    Py_RETURN_NONE;
  }
  struct known *k = calloc(1, sizeof *k);
  if (!k) return PyErr_NoMemory();
  bool is_map = PyCapsule_IsValid(plan, N_MAP), fits = true;
  k->plan = is_map ? PyCapsule_GetPointer(plan, N_MAP) : NULL;
  k->reduction = is_map ? NULL : PyCapsule_GetPointer(plan, N_REDUCE);
  k->swap = swap;
  for (; fits && (k->plan || k->reduction) && k->n < CDV_OPERANDS && k->n < PyTuple_Size(formats); k->n++) {
    PyObject *text = PyUnicode_AsUTF8String(PyTuple_GetItem(formats, k->n));
    if (text) snprintf(k->formats[k->n], sizeof k->formats[0], "%s", PyBytes_AsString(text));
    fits = text && PyBytes_Size(text) < (Py_ssize_t)sizeof k->formats[0];
    Py_XDECREF(text);
  }
  if (!fits || !(k->plan || k->reduction)) {
    free(k);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
  }
  Py_INCREF(plan);
  if (wrap != Py_None) {
    Py_INCREF(wrap);
    k->wrap = wrap;
  }
  k->next = atomic_load(&f->known);
  atomic_store(&f->known, k);
  Py_RETURN_NONE;
}
