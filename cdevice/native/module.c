/* module.c - the one place where C meets Python objects: the module.
 *
 * Included by the text that cffi compiles, so that ffi, lib and these functions are one module, and the files below
 * one translation unit: a getter costs no call between them.  Limited API 3.10.  Functions that may take long or
 * wait hold a reference and let the GIL go. */
#include <dlfcn.h>

#include "native/common.h"
#include "native/support/gil.c"
#include "native/support/errors.c"
#include "native/support/calls.c"
#include "native/support/args.c"
#include "native/support/standin.c"
#include "native/objects/schema.c"
#include "native/objects/array.c"
#include "native/objects/export.c"
#include "native/objects/import.c"
#include "native/objects/ipc.c"
#include "native/objects/dlpack.c"
#include "native/objects/dlpack_exchange.c"
#include "native/fastpath/asarray.c"
#include "native/backend/trampolines.c"
#include "native/backend/compute_trampolines.c"
#include "native/async/iterator_source.c"
#include "native/objects/stream.c"
#include "native/async/handles.c"
#include "native/async/async_iterator.c"
#include "native/compute/calls.c"
#include "native/compute/fused.c"
#include "native/compute/launch_list.c"
#include "native/compute/groups.c"
#include "native/compute/running.c"
#include "native/compute/selection.c"
#include "native/compute/sort.c"
#include "native/compute/strings.c"
#include "native/fastpath/dispatch_cache.c"
#include "native/embed/capi.c"

static PyObject *m_drain(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  run_deferred_releases();
  Py_RETURN_NONE;
}

/* raise_last(): the error that a lib.cdv_* call of this thread left behind */
static PyObject *m_raise_last(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return raise_last();
}

/* set_classes(DeviceArray, Schema, error factory, BackendUnavailable, loader of backends, DeviceError, Error) */
static PyObject *m_set_classes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *schema;
  if (!PyArg_ParseTuple(args, "OOOOOOO", &array, &schema, &make_error, &unavailable_class, &load_backend,
                        &device_error_class, &error_class))
    return NULL;
  Py_INCREF(make_error);
  Py_INCREF(unavailable_class);
  Py_INCREF(load_backend);
  Py_INCREF(device_error_class);
  Py_INCREF(error_class);
  set_array_class(array);
  set_schema_class(schema);
  Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {{"import_capsules", FAST(m_import_capsules), METH_FASTCALL | METH_KEYWORDS,
                                        "import_capsules(schema, array, validate=\"structure\")\n--\n\nA DeviceArray "
                                        "from the two capsules of the Arrow PyCapsule protocol.\n\n"
                                        "``schema``: an \"arrow_schema\" capsule.  ``array``: an "
                                        "\"arrow_device_array\" or an \"arrow_array\" capsule.\n"
                                        "``validate``: see :func:`asarray`.  Moves out of both; on an error both keep "
                                        "their contents.\n\n"
                                        "Does not block for the event; \"full\" blocks until the data is ready.  Any "
                                        "thread.\nRaises ValueError for a consumed capsule, InvalidArray for a struct "
                                        "that breaks the format."},
                                       {"import_structs", FAST(m_import_structs), METH_FASTCALL | METH_KEYWORDS, NULL},
                                       {"import_schema", m_import_schema, METH_O, NULL},
                                       {"import_stream", m_import_stream, METH_VARARGS, NULL},
                                       {"import_stream_struct", m_import_stream_struct, METH_VARARGS, NULL},
                                       {"import_dlpack", m_import_dlpack, METH_VARARGS, NULL},
                                       {"take_dlpack", FAST(m_take_dlpack), METH_FASTCALL, NULL},
                                       {"set_ndarray", m_set_ndarray, METH_O, NULL},
                                       {"asarray_fast", m_way_in, METH_O, NULL},
                                       {"consumer_new", m_consumer_new, METH_VARARGS, NULL},
                                       {"consumer_take", FAST(m_consumer_take), METH_FASTCALL, NULL},
                                       {"async_loop", m_async_loop, METH_VARARGS, NULL},
                                       {"consumer_schema", m_consumer_schema, METH_O, NULL},
                                       {"consumer_metadata", m_consumer_metadata, METH_O, NULL},
                                       {"consumer_stream", m_consumer_stream, METH_O, NULL},
                                       {"production_open", m_production_open, METH_O, NULL},
                                       {"production_feed", m_production_feed, METH_VARARGS, NULL},
                                       {"production_run", m_production_run, METH_O, NULL},
                                       {"production_fail", m_production_fail, METH_VARARGS, NULL},
                                       {"set_stream_class", m_set_stream_class, METH_O, NULL},
                                       {"all_arrays", m_all_arrays, METH_O, NULL},
                                       {"stream_of_arrays", m_stream_of_arrays, METH_VARARGS, NULL},
                                       {"stream_of_iterator", m_stream_of_iterator, METH_VARARGS, NULL},
                                       {"concat", m_concat, METH_VARARGS, NULL},
                                       {"empty", m_empty, METH_VARARGS, NULL},
                                       {"freeze", m_freeze, METH_VARARGS, NULL},
                                       {"publish", m_publish, METH_VARARGS, NULL},
                                       {"open_ticket", m_open_ticket, METH_VARARGS, NULL},
                                       {"ring_put", m_ring_put, METH_VARARGS, NULL},
                                       {"ring_end", m_ring_end, METH_VARARGS, NULL},
                                       {"ring_open", m_ring_open, METH_VARARGS, NULL},
                                       {"build", FAST(m_build), METH_VARARGS | METH_KEYWORDS, NULL},
                                       {"make_schema", m_make_schema, METH_VARARGS, NULL},
                                       {"compute_plan", m_compute_plan, METH_VARARGS, NULL},
                                       {"compute_front", m_compute_front, METH_VARARGS, NULL},
                                       {"compute_learn", m_dispatch_cache_insert, METH_VARARGS, NULL},
                                       {"compute_map", m_compute_map, METH_VARARGS, NULL},
                                       {"compute_fused_plan", m_compute_fused_plan, METH_VARARGS, NULL},
                                       {"compute_fused", m_compute_fused, METH_VARARGS, NULL},
                                       {"compute_launch_list", m_compute_launch_list, METH_VARARGS, NULL},
                                       {"compute_reduction", m_compute_reduction, METH_VARARGS, NULL},
                                       {"compute_reduce", m_compute_reduce, METH_VARARGS, NULL},
                                       {"compute_fold", m_compute_fold, METH_VARARGS, NULL},
                                       {"compute_fold_add", m_compute_fold_add, METH_VARARGS, NULL},
                                       {"compute_fold_end", m_compute_fold_end, METH_O, NULL},
                                       {"compute_filter", m_compute_filter, METH_VARARGS, NULL},
                                       {"compute_chosen_rows", m_compute_chosen_rows, METH_VARARGS, NULL},
                                       {"compute_take", m_compute_take, METH_VARARGS, NULL},
                                       {"compute_runs", m_compute_runs, METH_VARARGS, NULL},
                                       {"compute_running", m_compute_running, METH_VARARGS, NULL},
                                       {"compute_accumulate", m_compute_accumulate, METH_VARARGS, NULL},
                                       {"compute_make_views", m_compute_make_views, METH_VARARGS, NULL},
                                       {"compute_list_reduce", m_compute_list_reduce, METH_VARARGS, NULL},
                                       {"compute_group_ids", m_compute_group_ids, METH_VARARGS, NULL},
                                       {"compute_scatter_rows", m_compute_scatter_rows, METH_VARARGS, NULL},
                                       {"compute_set_lookup", m_compute_set_lookup, METH_VARARGS, NULL},
                                       {"compute_match_rows", m_compute_match_rows, METH_VARARGS, NULL},
                                       {"compute_sorted_groups", m_compute_sorted_groups, METH_VARARGS, NULL},
                                       {"compute_sort_indices", m_compute_sort_indices, METH_VARARGS, NULL},
                                       {"compute_sort_least", m_compute_sort_least, METH_VARARGS, NULL},
                                       {"compute_rows", m_compute_rows, METH_VARARGS, NULL},
                                       {"compute_interleave", m_compute_interleave, METH_VARARGS, NULL},
                                       {"compute_text_numbers", m_compute_text_numbers, METH_VARARGS, NULL},
                                       {"compute_text_sizes", m_compute_text_sizes, METH_VARARGS, NULL},
                                       {"compute_text_parts", m_compute_text_parts, METH_VARARGS, NULL},
                                       {"compute_text_bytes", m_compute_text_bytes, METH_VARARGS, NULL},
                                       {"compute_text_map", m_compute_text_map, METH_VARARGS, NULL},
                                       {"compute_compare", m_compute_compare, METH_VARARGS, NULL},
                                       {"compute_view_offsets", m_compute_view_offsets, METH_VARARGS, NULL},
                                       {"compute_view_bytes", m_compute_view_bytes, METH_VARARGS, NULL},
                                       {"drain", m_drain, METH_NOARGS, NULL},
                                       {"raise_last", m_raise_last, METH_NOARGS, NULL},
                                       {"make_backend", m_make_backend, METH_VARARGS, NULL},
                                       {"set_allocator", m_set_allocator, METH_VARARGS, NULL},
                                       {"python_ends", m_python_ends, METH_NOARGS, NULL},
                                       {"fork_begins", m_fork_begins, METH_NOARGS, NULL},
                                       {"fork_ended", m_fork_ended, METH_O, NULL},
                                       {"standin_releases", m_standin_releases, METH_NOARGS, NULL},
                                       {"set_classes", m_set_classes, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

/* One interpreter owns the module: classes, registry and threads of this process are its.  A sub-interpreter that
 * imports the module gets a copy of its namespace, so each that imports the package comes through here first. */
static PyObject *m_check_interpreter(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) Py_RETURN_NONE;
  PyErr_SetString(PyExc_ImportError,
                  "cdevice works in the main interpreter only, not in a sub-interpreter: its devices, "
                  "arrays and threads belong to one interpreter");
  return NULL;
}
static PyMethodDef interpreter_method = {"check_interpreter", m_check_interpreter, METH_NOARGS, NULL};

/* What cffi makes is wrapped, for nothing may be set up in the wrong interpreter. */
PyMODINIT_FUNC cdevice_cffi_init(void);
PyMODINIT_FUNC PyInit__native(void) {
  PyObject *m = m_check_interpreter(NULL, NULL), *f;
  if (!m) return NULL;
  Py_DECREF(m);
  m = cdevice_cffi_init();
#ifdef Py_GIL_DISABLED
  if (m && PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED)) Py_CLEAR(m); /* see support/free_threading.h */
#endif
  if (m && (!(f = PyCFunction_NewEx(&interpreter_method, NULL, NULL)) || PyModule_AddObject(m, "check_interpreter", f)))
    Py_CLEAR(m);
  return m;
}
#define PyInit__native cdevice_cffi_init /* below: cffi's */

/* Called once through cffi, which has let the GIL go.  module: id() of the extension module. */
static int cdv_install(uintptr_t module, int hexversion) {
  PyGILState_STATE state = PyGILState_Ensure();
  *(void **)&current_tstate = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
  if (!current_tstate) *(void **)&current_tstate = dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
  tstate_is_thread_local = hexversion >= 0x030C0000;
  interpreter = PyInterpreterState_Get();
  new_making();
  PyObject *m = (PyObject *)module;
  int r = PyModule_AddFunctions(m, module_methods) || find_calls();
  if (!r) {
    ArrayBase = (PyTypeObject *)PyType_FromSpec(&a_spec);
    SchemaBase = (PyTypeObject *)PyType_FromSpec(&s_spec);
    StreamBase = (PyTypeObject *)PyType_FromSpec(&t_spec);
    r = !ArrayBase || !SchemaBase || !StreamBase || make_loop_types() || publish_exchange(ArrayBase) ||
        publish_table(m) || PyObject_SetAttrString(m, "Array", (PyObject *)ArrayBase) ||
        PyObject_SetAttrString(m, "SchemaBase", (PyObject *)SchemaBase) ||
        PyObject_SetAttrString(m, "Stream", (PyObject *)StreamBase);
  }
  cdv_set_loader(load_for_core);
  cdv_set_signal_check(check_python_signals);
  PyGILState_Release(state);
  return r ? -1 : 0;
}
