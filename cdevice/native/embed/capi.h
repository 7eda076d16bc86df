/* capi.h - the functions of cdevice.h once more, as a list: the extension makes a table of it, the embedding library
 * the functions that forward to the table.  The compiler compares each with its declaration in cdevice.h.
 *
 * F(result, when it cannot be called, name, parameters, arguments, behind it, what must not be NULL: {name, value}
 * ...); V: without a result.  CDEVICE_REFUSED_CODE is ENOSYS where the start failed, EINVAL where something is NULL. */
#ifndef CDEVICE_CAPI_H
#define CDEVICE_CAPI_H

#include "cdevice/cdevice.h"

#define CDEVICE_CAPSULE "cdevice._native._C_API" /* holds the table */

/* What needs no start: of a failed one they tell. */
#define CDEVICE_ASKING(F)                                                      \
  F(const char *, CDEVICE_START_TEXT, error_text, (void), (), capi_error_text) \
  F(int, 0, error_vendor_code, (void), (), capi_error_vendor_code)

#define CDEVICE_NOTHING {"", ""}
#define CDEVICE_FUNCTIONS(F, V)                                                                                        \
  F(int, CDEVICE_REFUSED_CODE, find_device, (const char *n, int32_t *t, int64_t *i), (n, t, i), capi_find_device,      \
    {"name", n}, {"type", t}, {"id", i})                                                                               \
  F(int, CDEVICE_REFUSED_CODE, device_types, (int32_t * t, int64_t r, int64_t * n), (t, r, n), capi_device_types,      \
    {"n", n})                                                                                                          \
  F(int, CDEVICE_REFUSED_CODE, device_count, (int32_t t, int64_t * n), (t, n), cdv_device_count, {"n", n})             \
  F(int, CDEVICE_REFUSED_CODE, get_device_info, (int32_t t, int64_t i, cdevice_device_info * o), (t, i, o),            \
    capi_get_device_info, {"out", o})                                                                                  \
  F(const cdevice_backend *, NULL, backend_for, (int32_t t), (t), cdv_backend_table, CDEVICE_NOTHING)                  \
  F(int, CDEVICE_REFUSED_CODE, register_backend, (const cdevice_backend *b, int r), (b, r), cdv_register,              \
    {"backend", b})                                                                                                    \
  F(int, CDEVICE_REFUSED_CODE, unregister_backend, (int32_t t), (t), cdv_unregister, CDEVICE_NOTHING)                  \
  F(int, CDEVICE_REFUSED_CODE, set_allocator, (int32_t t, const cdevice_allocator *a), (t, a), cdv_set_allocator,      \
    CDEVICE_NOTHING)                                                                                                   \
  F(int, CDEVICE_REFUSED_CODE, load_plugin, (const char *p, int r), (p, r), cdv_load_plugin, {"path", p})              \
  F(int, CDEVICE_REFUSED_CODE, schema_import, (struct ArrowSchema * s, cdevice_schema * *o), (s, o),                   \
    cdv_schema_import, {"schema", s}, {"out", o})                                                                      \
  F(int, CDEVICE_REFUSED_CODE, schema_new,                                                                             \
    (const char *f, const char *n, int64_t g, int64_t k, cdevice_schema *const *c, cdevice_schema *d,                  \
     cdevice_schema **o),                                                                                              \
    (f, n, g, k, c, d, o), capi_schema_new, {"format", f}, {"out", o})                                                 \
  F(int, CDEVICE_REFUSED_CODE, schema_export, (cdevice_schema * s, struct ArrowSchema * o), (s, o), cdv_schema_export, \
    {"schema", s}, {"out", o})                                                                                         \
  V(schema_unref, (cdevice_schema * s), (s), cdv_schema_unref, {"schema", s})                                          \
  F(int, CDEVICE_REFUSED_CODE, array_import,                                                                           \
    (struct ArrowSchema * s, struct ArrowDeviceArray * a, int l, cdevice_array **o), (s, a, l, o), capi_array_import,  \
    {"schema", s}, {"array", a}, {"out", o})                                                                           \
  F(int, CDEVICE_REFUSED_CODE, array_build,                                                                            \
    (cdevice_schema * s, const cdevice_array_parts *p, int l, cdevice_array **o), (s, p, l, o), capi_array_build,      \
    {"schema", s}, {"parts", p}, {"out", o})                                                                           \
  F(int, CDEVICE_REFUSED_CODE, array_copy,                                                                             \
    (cdevice_array * a, int32_t t, int64_t i, void *s, int w, cdevice_array **o), (a, t, i, s, w, o), capi_array_copy, \
    {"array", a}, {"out", o})                                                                                          \
  F(int, CDEVICE_REFUSED_CODE, array_export, (cdevice_array * a, struct ArrowDeviceArray * o), (a, o),                 \
    cdv_array_export, {"array", a}, {"out", o})                                                                        \
  F(int, CDEVICE_REFUSED_CODE, array_slice, (cdevice_array * a, int64_t f, int64_t n, cdevice_array * *o),             \
    (a, f, n, o), cdv_array_slice, {"array", a}, {"out", o})                                                           \
  F(int, CDEVICE_REFUSED_CODE, array_child, (cdevice_array * a, int64_t i, cdevice_array * *o), (a, i, o),             \
    capi_array_child, {"array", a}, {"out", o})                                                                        \
  F(cdevice_array *, NULL, array_ref, (cdevice_array * a), (a), cdv_array_ref, {"array", a})                           \
  V(array_unref, (cdevice_array * a), (a), cdv_array_unref, {"array", a})                                              \
  F(int64_t, -1, array_length, (const cdevice_array *a), (a), capi_array_length, {"array", a})                         \
  F(int64_t, -1, array_null_count, (cdevice_array * a), (a), cdv_array_null_count, {"array", a})                       \
  F(int64_t, -1, array_nbytes, (cdevice_array * a), (a), cdv_array_nbytes, {"array", a})                               \
  V(array_device, (const cdevice_array *a, int32_t *t, int64_t *i), (a, t, i), capi_array_device, {"array", a},        \
    {"type", t}, {"id", i})                                                                                            \
  F(cdevice_schema *, NULL, array_schema, (const cdevice_array *a), (a), capi_array_schema, {"array", a})              \
  F(int, CDEVICE_REFUSED_CODE, array_check, (cdevice_array * a, int l), (a, l), capi_array_check, {"array", a})        \
  F(int, CDEVICE_REFUSED_CODE, array_equal, (cdevice_array * a, cdevice_array * b, int n, int *e), (a, b, n, e),       \
    capi_array_equal, {"a", a}, {"b", b}, {"equal", e})                                                                \
  F(int, CDEVICE_REFUSED_CODE, array_ready, (cdevice_array * a, int *d), (a, d), cdv_event_ready, {"array", a},        \
    {"done", d})                                                                                                       \
  F(int, CDEVICE_REFUSED_CODE, array_wait, (cdevice_array * a), (a), cdv_event_wait_host, {"array", a})                \
  F(int, CDEVICE_REFUSED_CODE, array_wait_stream, (cdevice_array * a, int32_t t, int64_t i, void *s), (a, t, i, s),    \
    capi_array_wait_stream, {"array", a})                                                                              \
  F(int, CDEVICE_REFUSED_CODE, array_record_use, (cdevice_array * a, void *s), (a, s), cdv_record_use, {"array", a})   \
  F(int, CDEVICE_REFUSED_CODE, dlpack_export, (cdevice_array * a, DLManagedTensorVersioned * *o), (a, o),              \
    capi_dlpack_export, {"array", a}, {"out", o})                                                                      \
  F(int, CDEVICE_REFUSED_CODE, dlpack_import, (DLManagedTensorVersioned * t, void *e, int l, cdevice_array **o),       \
    (t, e, l, o), capi_dlpack_import, {"tensor", t}, {"out", o})                                                       \
  F(int, CDEVICE_REFUSED_CODE, stream_new,                                                                             \
    (cdevice_schema * s, int32_t t, cdevice_array *const *a, int64_t n, cdevice_stream **o), (s, t, a, n, o),          \
    capi_stream_new, {"schema", s}, {"out", o})                                                                        \
  F(int, CDEVICE_REFUSED_CODE, stream_import, (struct ArrowDeviceArrayStream * i, int l, cdevice_stream **o),          \
    (i, l, o), capi_stream_import, {"in", i}, {"out", o})                                                              \
  F(int, CDEVICE_REFUSED_CODE, stream_import_cpu, (struct ArrowArrayStream * i, int l, cdevice_stream **o), (i, l, o), \
    capi_stream_import_cpu, {"in", i}, {"out", o})                                                                     \
  F(int, CDEVICE_REFUSED_CODE, stream_export, (cdevice_stream * s, struct ArrowDeviceArrayStream * o), (s, o),         \
    capi_stream_export, {"stream", s}, {"out", o})                                                                     \
  F(int, CDEVICE_REFUSED_CODE, stream_export_cpu, (cdevice_stream * s, struct ArrowArrayStream * o), (s, o),           \
    capi_stream_export_cpu, {"stream", s}, {"out", o})                                                                 \
  F(int, CDEVICE_REFUSED_CODE, stream_next, (cdevice_stream * s, cdevice_array * *o), (s, o), cdv_stream_next,         \
    {"stream", s}, {"out", o})                                                                                         \
  F(int, CDEVICE_REFUSED_CODE, stream_copy,                                                                            \
    (cdevice_stream * s, int32_t t, int64_t i, void *q, int64_t a, cdevice_stream **o), (s, t, i, q, a, o),            \
    capi_stream_copy, {"stream", s}, {"out", o})                                                                       \
  F(cdevice_schema *, NULL, stream_schema, (const cdevice_stream *s), (s), capi_stream_schema, {"stream", s})          \
  F(int32_t, -1, stream_device_type, (const cdevice_stream *s), (s), capi_stream_device_type, {"stream", s})           \
  V(stream_close, (cdevice_stream * s), (s), cdv_stream_close, {"stream", s})                                          \
  F(int, CDEVICE_REFUSED_CODE, produce,                                                                                \
    (cdevice_stream * s, struct ArrowAsyncDeviceStreamHandler * h, const char *m, cdevice_producer **o), (s, h, m, o), \
    capi_produce, {"stream", s}, {"handler", h}, {"out", o})                                                           \
  F(int, 0, producer_wait, (cdevice_producer * p, int64_t n), (p, n), cdv_producer_wait, {"p", p})                     \
  F(int, 0, producer_outcome, (cdevice_producer * p, int *c), (p, c), cdv_producer_outcome, {"p", p}, {"code", c})     \
  V(producer_stop, (cdevice_producer * p), (p), cdv_producer_stop, {"p", p})                                           \
  V(producer_unref, (cdevice_producer * p), (p), cdv_producer_unref, {"p", p})                                         \
  F(int, CDEVICE_REFUSED_CODE, consumer_new, (int64_t q, int l, cdevice_consumer **o), (q, l, o), capi_consumer_new,   \
    {"out", o})                                                                                                        \
  F(struct ArrowAsyncDeviceStreamHandler *, NULL, consumer_handler, (cdevice_consumer * c), (c), cdv_consumer_handler, \
    {"c", c})                                                                                                          \
  F(int, CDEVICE_REFUSED_CODE, consumer_next, (cdevice_consumer * c, int64_t n, cdevice_array * *o), (c, n, o),        \
    capi_consumer_next, {"c", c}, {"out", o})                                                                          \
  F(cdevice_schema *, NULL, consumer_schema, (cdevice_consumer * c), (c), cdv_consumer_schema, {"c", c})               \
  V(consumer_close, (cdevice_consumer * c), (c), cdv_consumer_close, {"c", c})                                         \
  V(consumer_unref, (cdevice_consumer * c), (c), cdv_consumer_unref, {"c", c})                                         \
  F(int, CDEVICE_REFUSED_CODE, consumer_stream, (cdevice_consumer * c, cdevice_stream * *o), (c, o),                   \
    cdv_consumer_stream, {"c", c}, {"out", o})                                                                         \
  F(int, CDEVICE_REFUSED_CODE, call_python, (const char *m, const char *f, void *a, int64_t *r), (m, f, a, r),         \
    capi_call_python, {"module", m}, {"function", f})                                                                  \
  F(int, CDEVICE_REFUSED_CODE, call,                                                                                   \
    (const char *f, cdevice_array *const *a, int64_t n, const char *j, cdevice_array **o), (f, a, n, j, o),            \
    capi_compute_call, {"name", f}, {"out", o})                                                                        \
  F(int, CDEVICE_REFUSED_CODE, check_array,                                                                            \
    (const struct ArrowSchema *s, const struct ArrowDeviceArray *a, const char *f, int64_t *b, char **r),              \
    (s, a, f, b, r), capi_check_array, {"schema", s}, {"array", a}, {"broken", b}, {"report", r})                      \
  F(int, CDEVICE_REFUSED_CODE, check_stream,                                                                           \
    (const struct ArrowDeviceArrayStream *s, const char *f, int64_t *b, char **r), (s, f, b, r), capi_check_stream,    \
    {"stream", s}, {"broken", b}, {"report", r})                                                                       \
  F(int, CDEVICE_REFUSED_CODE, check_stream_cpu,                                                                       \
    (const struct ArrowArrayStream *s, const char *f, int64_t *b, char **r), (s, f, b, r), capi_check_stream_cpu,      \
    {"stream", s}, {"broken", b}, {"report", r})                                                                       \
  F(cdevice_schema *, NULL, schema_ref, (cdevice_schema * s), (s), cdv_schema_ref, {"schema", s})

struct cdevice_api {
  uint32_t api, struct_size, version, reserved;
#define F(result, failed, name, parameters, ...) result(*name) parameters;
#define V(name, parameters, ...) void(*name) parameters;
  CDEVICE_ASKING(F)
  CDEVICE_FUNCTIONS(F, V)
#undef F
#undef V
};

#endif
