/* dlpack_exchange.c - DLPack's exchange table: the one of cdevice, and those of other libraries.  Tensors go from C to C, without
 * a capsule and without a look-up of methods.
 *
 * None of its functions waits for a device.  What they promise instead: current_work_stream names the stream that
 * our own work goes to; the data of a tensor that is handed out is safe to use there, for where the array's event
 * has not passed that stream is made to wait for it; and a tensor that comes in is taken to be safe there, so its
 * array carries an event recorded on that stream. */
#include "native/common.h"

static const char N_EXCHANGE[] = "dlpack_exchange_api";

/* The stream for work of cdevice on a device: what cdevice.set_default_stream() named, else the vendor library's; -1
 * with an exception. */
static int work_stream(int32_t type, int64_t device, void **out) {
  *out = NULL;
  if (type == ARROW_DEVICE_CPU) return 0;
  PyObject *handle =
      call_python("cdevice._devices.backends", "stream_handle", Py_BuildValue("(iO)", (int)type, Py_None));
  void *named = handle ? PyLong_AsVoidPtr(handle) : NULL;
  Py_XDECREF(handle);
  if (PyErr_Occurred()) return -1;
  PyThreadState *python = PyEval_SaveThread();
  int r = cdv_default_stream(type, device, named, out);
  PyEval_RestoreThread(python);
  if (r) raise_last();
  return r ? -1 : 0;
}

/* Makes the work stream wait for an array's event. */
static int order_work(struct cdv_array *a) {
  const struct ArrowDeviceArray *own = &a->root->own;
  int done = 1, r;
  void *stream;
  if (!own->sync_event) return 0;
  PyThreadState *python = PyEval_SaveThread();
  r = cdv_event_ready(a, &done);
  PyEval_RestoreThread(python);
  if (!r && done) return 0;
  if (!r && work_stream(own->device_type, own->device_id, &stream)) return -1;
  if (!r) {
    python = PyEval_SaveThread();
    r = cdv_event_wait_stream(a, own->device_type, own->device_id, stream);
    PyEval_RestoreThread(python);
  }
  if (r) raise_last();
  return r ? -1 : 0;
}

/* ---- the table of cdevice ---- */

static int table_current_stream(int32_t device_type, int32_t device_id, void **out) {
  return work_stream(device_type, device_id, out);
}

/* By way of __dlpack__, which knows shapes of extension types and has the words for what cannot be. */
static int export_in_python(PyObject *self, DLManagedTensorVersioned **out) {
  PyObject *capsule =
      call_python("cdevice.interop.dlpack", "export",
                  Py_BuildValue("(Oi(ii)OO)", self, -1, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, Py_None, Py_None));
  *out = capsule ? PyCapsule_GetPointer(capsule, N_TENSOR) : NULL;
  if (*out) PyCapsule_SetName(capsule, N_USED_TENSOR);
  Py_XDECREF(capsule);
  return *out ? 0 : -1;
}

static int table_export(void *object, DLManagedTensorVersioned **out) {
  struct cdv_array *a = array_incref(object);
  *out = NULL;
  if (!a) return -1;
  int ordered = order_work(a);
  bool plain = !(a->schema->node->n_children && a->schema->node->metadata);
  int r = ordered ? -1 : !plain || cdv_dlpack_export(a, DLPACK_FLAG_BITMASK_READ_ONLY, out);
  array_decref(a);
  return r > 0 ? export_in_python(object, out) : r;
}

/* The tensor's parts are the object's until it dies, release() or not. */
static int table_lend(void *object, DLTensor *out) {
  struct cdv_array *a = array_incref(object);
  ArrayObject *o = object;
  DLManagedTensorVersioned *tensor = NULL;
  if (!a) return -1;
  int ordered = order_work(a);
  int r = ordered ? -1 : cdv_dlpack_borrow(a, out) != 0;
  if (!r) return lend(object, a), 0;
  array_decref(a);
  if (r < 0 || table_export(object, &tensor)) return -1; /* a shape of several dimensions must be kept */
  BEGIN_OBJECT_LOCK(object);
  if (!o->tensor) {
    o->tensor = tensor;
    tensor = NULL;
  }
  END_OBJECT_LOCK();
  if (tensor) delete_tensor(tensor);
  *out = o->tensor->dl_tensor;
  return 0;
}

static int table_import(DLManagedTensorVersioned *tensor, void **out) {
  struct cdv_array *a;
  struct tensor t = {.versioned = tensor};
  *out = NULL;
  if (ensure_release_thread()) return -1;
  run_deferred_releases();
  if (tensor->version.major == DLPACK_MAJOR_VERSION) { /* else nothing of it may be read */
    const DLDevice *device = &tensor->dl_tensor.device;
    t.behind = device->device_type != ARROW_DEVICE_CPU;
    if (work_stream(device->device_type, device->device_id, &t.stream)) return -1;
  }
  if (import_tensor(&t, 1, &a)) {
    raise_last();
    return -1;
  }
  return (*out = wrap_array(a)) ? 0 : -1;
}

/* Any thread, with the GIL or without it. */
static int table_allocate(DLTensor *like, DLManagedTensorVersioned **out, void *context,
                          void (*set_error)(void *context, const char *kind, const char *message)) {
  int r = cdv_dlpack_allocate(like, out);
  if (!r) return 0;
  int kind = cdv_error_last()->kind;
  char message[sizeof cdv_error_last()->message];
  memcpy(message, cdv_error_last()->message, sizeof message);
  set_error(context,
            kind == CDV_MEMORY     ? "MemoryError"
            : kind == CDV_ARGUMENT ? "ValueError"
                                   : "RuntimeError",
            message);
  return -1;
}

static DLPackExchangeAPI exchange_table = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
    .managed_tensor_allocator = table_allocate,
    .managed_tensor_from_py_object_no_sync = table_export,
    .managed_tensor_to_py_object_no_sync = table_import,
    .dltensor_from_py_object_no_sync = table_lend,
    .current_work_stream = table_current_stream,
};

static int publish_exchange(PyTypeObject *type) {
  PyObject *capsule = PyCapsule_New(&exchange_table, N_EXCHANGE, NULL);
  int r = capsule ? PyObject_SetAttr((PyObject *)type, interned[W_EXCHANGE], capsule) : -1;
  Py_XDECREF(capsule);
  return r;
}

/* ---- theirs ---- */

/* The table that a type has, of a version that is understood; NULL: none. */
static const DLPackExchangeAPI *table_of(PyTypeObject *type) {
  PyObject *capsule = attribute((PyObject *)type, W_EXCHANGE);
  if (!capsule) return NULL;
  const DLPackExchangeAPIHeader *h =
      PyCapsule_IsValid(capsule, N_EXCHANGE) ? PyCapsule_GetPointer(capsule, N_EXCHANGE) : NULL;
  Py_DECREF(capsule); /* the table lives as long as the process */
  while (h && h->version.major != DLPACK_MAJOR_VERSION) h = h->prev_api;
  const DLPackExchangeAPI *table = (const DLPackExchangeAPI *)h;
  return table && table->managed_tensor_from_py_object_no_sync && table->current_work_stream ? table : NULL;
}

/* Devices whose streams are those of DLPack's table; for others the result of current_work_stream is unspecified. */
static bool has_known_streams(int32_t type) {
  return type == ARROW_DEVICE_CUDA || type == ARROW_DEVICE_CUDA_MANAGED || type == ARROW_DEVICE_ROCM;
}

/* Tensors that are part of a gradient's computation refuse to leave by __dlpack__, and their table does not ask. */
static bool keeps_to_itself(PyObject *object) {
  PyObject *flag = attribute(object, W_REQUIRES_GRAD);
  bool yes = flag == Py_True;
  Py_XDECREF(flag);
  return yes;
}

static PyObject *take_exchange(PyObject *object) {
  const DLPackExchangeAPI *table = table_of(Py_TYPE(object));
  struct tensor t = {NULL};
  struct cdv_array *a;
  if (!table || keeps_to_itself(object) || PyErr_Occurred() || ensure_release_thread()) return NULL;
  run_deferred_releases();
  if (table->managed_tensor_from_py_object_no_sync(object, &t.versioned)) {
    if (PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear(); /* __dlpack__ reports the reason */
    return NULL;
  }
  if (!t.versioned) return NULL;
  bool right = t.versioned->version.major == DLPACK_MAJOR_VERSION;
  if (right) {
    DLDevice device = t.versioned->dl_tensor.device;
    t.behind = device.device_type != ARROW_DEVICE_CPU;
    right = !t.behind || has_known_streams(device.device_type);
    if (right && t.behind && table->current_work_stream(device.device_type, device.device_id, &t.stream)) right = false;
  }
  if (right && !import_tensor(&t, 1, &a)) return wrap_array(a);
  forget_cause();
  struct pending p = save_exception();
  if (t.versioned->deleter) t.versioned->deleter(t.versioned);
  restore_exception(p);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return NULL;
}
