/* Release callbacks of structs whose real callback is Python: for the stand-ins of cdevice/testing/conformance.
 *
 * A library may release while an exception is on its way to Python.  A callback of ctypes would lose it, and the library
 * would be blamed; these keep it.  The first word of the struct's private data is the address of the callback. */

static void call_under_exception(void *self, void *private_data) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *where;
  PyErr_Fetch(&type, &value, &where);
  (*(void (**)(void *))private_data)(self);
  PyErr_Restore(type, value, where);
  PyGILState_Release(state);
}

static void standin_array(struct ArrowArray *self) { call_under_exception(self, self->private_data); }
static void standin_schema(struct ArrowSchema *self) { call_under_exception(self, self->private_data); }
static void standin_stream(struct ArrowArrayStream *self) { call_under_exception(self, self->private_data); }
static void standin_device_stream(struct ArrowDeviceArrayStream *self) {
  call_under_exception(self, self->private_data);
}
static void standin_tensor(DLManagedTensor *self) { call_under_exception(self, self->manager_ctx); }
static void standin_versioned_tensor(DLManagedTensorVersioned *self) { call_under_exception(self, self->manager_ctx); }

/* standin_releases(): {name of a struct: address of its callback} */
static PyObject *m_standin_releases(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return Py_BuildValue("{sKsKsKsKsKsK}", "ArrowArray", (unsigned long long)(uintptr_t)standin_array, "ArrowSchema",
                       (unsigned long long)(uintptr_t)standin_schema, "ArrowArrayStream",
                       (unsigned long long)(uintptr_t)standin_stream, "ArrowDeviceArrayStream",
                       (unsigned long long)(uintptr_t)standin_device_stream, "DLManagedTensor",
                       (unsigned long long)(uintptr_t)standin_tensor, "DLManagedTensorVersioned",
                       (unsigned long long)(uintptr_t)standin_versioned_tensor);
}
