/* schema.c - the base class of cdevice.Schema, its capsules, and how one is made. */
#include "native/common.h"
#include "core/format/field_names.h"

static PyObject *first_schema(PyTypeObject *type, Py_ssize_t n);
static allocfunc schema_new = first_schema;
static freefunc schema_free;

static PyObject *first_schema(PyTypeObject *type, Py_ssize_t n) {
  return load_error_classes() ? NULL : schema_new(schema_class, n);
}

static void set_schema_class(PyObject *class) {
  Py_INCREF(class);
  schema_class = (PyTypeObject *)class;
  schema_new = (allocfunc)PyType_GetSlot(schema_class, Py_tp_alloc);
  schema_free = (freefunc)PyType_GetSlot(schema_class, Py_tp_free);
}

static PyObject *wrap_schema(struct cdv_schema *s) {
  PyObject *o = schema_new(schema_class, 0);
  if (o)
    ((SchemaObject *)o)->schema = s;
  else
    cdv_schema_unref(s);
  return o;
}

static struct cdv_schema *schema_of(PyObject *o) {
  if (!PyObject_TypeCheck(o, SchemaBase)) {
    PyErr_Format(PyExc_TypeError, "expected a Schema, not %R", (PyObject *)Py_TYPE(o));
    return NULL;
  }
  struct cdv_schema *s = ((SchemaObject *)o)->schema;
  if (!s) PyErr_SetString(PyExc_ValueError, "the Schema object is empty");
  return s;
}

static struct cdv_schema *hold_schema(PyObject *o) {
  run_deferred_releases();
  struct cdv_schema *s = schema_of(o);
  return s ? cdv_schema_ref(s) : NULL;
}

/* ---- capsules ---- */
static void free_schema_capsule(PyObject *c) {
  struct pending p = save_exception();
  struct ArrowSchema *s = PyCapsule_GetPointer(c, N_SCHEMA);
  if (s->release) s->release(s);
  free(s);
  restore_exception(p);
}

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

/* What a consumer asked for: the schema we have, or theirs where only labels differ.  a: the array it is for; NULL:
 * arrays to come.  A new reference, or NULL with an exception. */
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
      cdv_schema_relax_nullability(have, a, &copy);
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

/* ---- making one ---- */
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
    PyErr_SetString(PyExc_ValueError, "the name contains a zero byte, which the C data interface does not support");
    goto done;
  }
  if (!nodes) {
    PyErr_NoMemory();
    goto done;
  }
  run_deferred_releases();
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
  int64_t at = -1;
  if (!s) {
    Py_XDECREF(bytes);
    return NULL;
  }
  int64_t found = name ? cdv_schema_find(s, name, &at) : 0;
  Py_XDECREF(bytes);
  if (found == 1) return PyLong_FromLongLong(at);
  return PyErr_Format(PyExc_KeyError, "%lld fields are called %R", (long long)found, key);
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
  struct pending p = save_exception();
  if (s) cdv_schema_unref(s);
  restore_exception(p);
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
