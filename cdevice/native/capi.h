/* capi.h - the functions of cdevice.h once more, as a list: the extension makes a table of it, the embedding library the
 * functions that forward to the table.  The compiler compares each with its declaration in cdevice.h.
 *
 * F(result, when the start failed, name, parameters, arguments, behind it); V: without a result. */
#ifndef CDEVICE_CAPI_H
#define CDEVICE_CAPI_H

#include "cdevice/cdevice.h"

#define CDEVICE_FUNCTIONS(F, V)                                                                                        \
  F(const char *, "", error_text, (void), (), capi_error_text)                                                         \
  F(int, 0, error_vendor_code, (void), (), capi_error_vendor_code)                                                     \
  F(int, ENOSYS, find_device, (const char *n, int32_t *t, int64_t *i), (n, t, i), capi_find_device)                    \
  F(int, ENOSYS, device_types, (int32_t * t, int64_t r, int64_t * n), (t, r, n), capi_device_types)                    \
  F(int, ENOSYS, device_count, (int32_t t, int64_t * n), (t, n), cdv_device_count)                                     \
  F(int, ENOSYS, get_device_info, (int32_t t, int64_t i, cdevice_device_info * o), (t, i, o), cdv_device_info)         \
  F(const cdevice_backend *, NULL, backend_for, (int32_t t), (t), cdv_backend_for)                                     \
  F(int, ENOSYS, register_backend, (const cdevice_backend *b, int r), (b, r), cdv_register)                            \
  F(int, ENOSYS, unregister_backend, (int32_t t), (t), cdv_unregister)                                                 \
  F(int, ENOSYS, set_allocator, (int32_t t, const cdevice_allocator *a), (t, a), cdv_set_allocator)                    \
  F(int, ENOSYS, load_plugin, (const char *p, int r), (p, r), cdv_load_plugin)                                         \
  F(int, ENOSYS, schema_import, (struct ArrowSchema * s, cdevice_schema * *o), (s, o), cdv_schema_import)              \
  F(int, ENOSYS, schema_new,                                                                                           \
    (const char *f, const char *n, int64_t g, int64_t k, cdevice_schema *const *c, cdevice_schema *d,                  \
     cdevice_schema **o),                                                                                              \
    (f, n, g, k, c, d, o), capi_schema_new)                                                                            \
  F(int, ENOSYS, schema_export, (cdevice_schema * s, struct ArrowSchema * o), (s, o), cdv_schema_export)               \
  V(schema_unref, (cdevice_schema * s), (s), cdv_schema_unref)                                                         \
  F(int, ENOSYS, array_import, (struct ArrowSchema * s, struct ArrowDeviceArray * a, int l, cdevice_array **o),        \
    (s, a, l, o), cdv_import_pair)                                                                                     \
  F(int, ENOSYS, array_build, (cdevice_schema * s, const cdevice_parts *p, int l, cdevice_array **o), (s, p, l, o),    \
    capi_array_build)                                                                                                  \
  F(int, ENOSYS, array_copy, (cdevice_array * a, int32_t t, int64_t i, void *s, int w, cdevice_array **o),             \
    (a, t, i, s, w, o), capi_array_copy)                                                                               \
  F(int, ENOSYS, array_export, (cdevice_array * a, struct ArrowDeviceArray * o), (a, o), cdv_array_export)             \
  F(int, ENOSYS, array_slice, (cdevice_array * a, int64_t f, int64_t n, cdevice_array * *o), (a, f, n, o),             \
    cdv_array_slice)                                                                                                   \
  F(int, ENOSYS, array_child, (cdevice_array * a, int64_t i, cdevice_array * *o), (a, i, o), capi_array_child)         \
  F(cdevice_array *, NULL, array_ref, (cdevice_array * a), (a), cdv_array_ref)                                         \
  V(array_unref, (cdevice_array * a), (a), cdv_array_unref)                                                            \
  F(int64_t, -1, array_length, (const cdevice_array *a), (a), capi_array_length)                                       \
  F(int64_t, -1, array_null_count, (cdevice_array * a), (a), cdv_array_null_count)                                     \
  F(int64_t, -1, array_nbytes, (cdevice_array * a), (a), cdv_array_nbytes)                                             \
  V(array_device, (const cdevice_array *a, int32_t *t, int64_t *i), (a, t, i), capi_array_device)                      \
  F(cdevice_schema *, NULL, array_schema, (const cdevice_array *a), (a), capi_array_schema)                            \
  F(int, ENOSYS, array_check, (cdevice_array * a, int l), (a, l), cdv_check_view)                                      \
  F(int, ENOSYS, array_equal, (cdevice_array * a, cdevice_array * b, int n, int *e), (a, b, n, e), capi_array_equal)   \
  F(int, ENOSYS, array_ready, (cdevice_array * a, int *d), (a, d), cdv_event_ready)                                    \
  F(int, ENOSYS, array_wait, (cdevice_array * a), (a), cdv_event_wait_host)                                            \
  F(int, ENOSYS, array_wait_stream, (cdevice_array * a, int32_t t, int64_t i, void *s), (a, t, i, s),                  \
    cdv_event_wait_stream)                                                                                             \
  F(int, ENOSYS, array_record_use, (cdevice_array * a, void *s), (a, s), cdv_record_use)                               \
  F(int, ENOSYS, dlpack_export, (cdevice_array * a, DLManagedTensorVersioned * *o), (a, o), capi_dlpack_export)        \
  F(int, ENOSYS, dlpack_import, (DLManagedTensorVersioned * t, void *e, int l, cdevice_array **o), (t, e, l, o),       \
    capi_dlpack_import)                                                                                                \
  F(int, ENOSYS, stream_new, (cdevice_schema * s, int32_t t, cdevice_array *const *a, int64_t n, cdevice_stream **o),  \
    (s, t, a, n, o), cdv_stream_of_arrays)                                                                             \
  F(int, ENOSYS, stream_import, (struct ArrowDeviceArrayStream * i, int l, cdevice_stream **o), (i, l, o),             \
    cdv_stream_import)                                                                                                 \
  F(int, ENOSYS, stream_import_cpu, (struct ArrowArrayStream * i, int l, cdevice_stream **o), (i, l, o),               \
    cdv_stream_import_plain)                                                                                           \
  F(int, ENOSYS, stream_export, (cdevice_stream * s, struct ArrowDeviceArrayStream * o), (s, o), capi_stream_export)   \
  F(int, ENOSYS, stream_export_cpu, (cdevice_stream * s, struct ArrowArrayStream * o), (s, o), capi_stream_export_cpu) \
  F(int, ENOSYS, stream_next, (cdevice_stream * s, cdevice_array * *o), (s, o), cdv_stream_next)                       \
  F(int, ENOSYS, stream_copy, (cdevice_stream * s, int32_t t, int64_t i, void *q, int64_t a, cdevice_stream **o),      \
    (s, t, i, q, a, o), capi_stream_copy)                                                                              \
  F(cdevice_schema *, NULL, stream_schema, (const cdevice_stream *s), (s), capi_stream_schema)                         \
  F(int32_t, -1, stream_device_type, (const cdevice_stream *s), (s), capi_stream_device_type)                          \
  V(stream_close, (cdevice_stream * s), (s), cdv_stream_close)                                                         \
  F(int, ENOSYS, produce,                                                                                              \
    (cdevice_stream * s, struct ArrowAsyncDeviceStreamHandler * h, const char *m, cdevice_production **o),             \
    (s, h, m, o), capi_produce)                                                                                        \
  F(int, 0, production_wait, (cdevice_production * p, int64_t n), (p, n), cdv_production_wait)                         \
  F(int, 0, production_ending, (cdevice_production * p, int *c), (p, c), cdv_production_ending)                        \
  V(production_stop, (cdevice_production * p), (p), cdv_production_stop)                                               \
  V(production_unref, (cdevice_production * p), (p), cdv_production_unref)                                             \
  F(int, ENOSYS, consumer_new, (int64_t q, int l, cdevice_consumer **o), (q, l, o), cdv_consumer_new)                  \
  F(struct ArrowAsyncDeviceStreamHandler *, NULL, consumer_handler, (cdevice_consumer * c), (c), cdv_consumer_handler) \
  F(int, ENOSYS, consumer_next, (cdevice_consumer * c, int64_t n, cdevice_array * *o), (c, n, o), capi_consumer_next)  \
  F(cdevice_schema *, NULL, consumer_schema, (cdevice_consumer * c), (c), cdv_consumer_schema)                         \
  V(consumer_close, (cdevice_consumer * c), (c), cdv_consumer_close)                                                   \
  V(consumer_unref, (cdevice_consumer * c), (c), cdv_consumer_unref)                                                   \
  F(int, ENOSYS, consumer_stream, (cdevice_consumer * c, cdevice_stream * *o), (c, o), cdv_consumer_stream)            \
  F(int, ENOSYS, call_python, (const char *m, const char *f, void *a, int64_t *r), (m, f, a, r), capi_call_python)

struct cdevice_api {
  uint32_t api, struct_size, version, reserved;
#define F(result, failed, name, parameters, arguments, behind) result(*name) parameters;
#define V(name, parameters, arguments, behind) void(*name) parameters;
  CDEVICE_FUNCTIONS(F, V)
#undef F
#undef V
};

#endif
