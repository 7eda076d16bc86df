/* dlpack.c - numbers as DLPack tensors and back; fixed-size lists are the dimensions behind the first. */
#include "core/array/dlpack.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "cdevice/dlpack_abi.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/array/info.h"
#include "core/array/origin.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/event/event.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INT, UINT, FLOAT }; /* DLPack's type codes */

static const struct {
  char letter;
  uint8_t code, bits;
} types[] = {{'c', INT, 8},  {'C', UINT, 8},  {'s', INT, 16},   {'S', UINT, 16},  {'i', INT, 32},  {'I', UINT, 32},
             {'l', INT, 64}, {'L', UINT, 64}, {'e', FLOAT, 16}, {'f', FLOAT, 32}, {'g', FLOAT, 64}};

/* One allocation: the struct, what it points to, and the array it keeps. */
struct exported {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
  } as;
  struct cdv_array *array; /* the numbers */
  int64_t dims[];          /* shape, then strides */
};

static void drop(struct exported *e) {
  cdv_array_unref(e->array);
  free(e);
}
static void delete_versioned(DLManagedTensorVersioned *self) { drop(self->manager_ctx); }
static void delete_legacy(DLManagedTensor *self) { drop(self->manager_ctx); }

static int no_nulls(struct cdv_array *a) {
  int64_t nulls = cdv_array_null_count(a);
  if (!nulls) return 0;
  return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP,
                  nulls < 0 ? "the null count is unknown on this device, and DLPack cannot represent nulls"
                            : "DLPack cannot represent nulls");
}

/* The numbers below fixed-size lists of fixed-size lists: *leaf is a new reference; shape[0..*ndim). */
static int tensor_of(struct cdv_array *a, struct cdv_array **leaf, int64_t *shape, int *ndim) {
  int r = 0;
  *ndim = 0;
  shape[(*ndim)++] = a->length;
  cdv_array_ref(a);
  for (;;) {
    struct cdv_layout l;
    struct cdv_array *child;
    const char *why;
    r = no_nulls(a);
    if (r || a->schema->node->format[0] != '+') break;
    if (cdv_layout_parse(a->schema->node->format, &l, &why) || l.type != CDV_FIXED_LIST) break;
    if ((r = cdv_array_child(a, 0, true, &child))) break;
    cdv_array_unref(a);
    a = child;
    shape[(*ndim)++] = l.list_size;
  }
  if (r) {
    cdv_array_unref(a);
    return r;
  }
  *leaf = a;
  return 0;
}

/* How many values follow one step of dimension i. */
static int64_t stride_of(const int64_t *shape, int ndim, int i) {
  int64_t n = 1;
  while (++i < ndim) n *= shape[i];
  return n;
}

/* Everything of a tensor but its shape. */
static int fill(struct cdv_array *a, DLTensor *t) {
  const char *format = a->schema->node->format;
  size_t i = 0;
  while (i < sizeof types / sizeof *types && types[i].letter != format[0]) i++;
  if (i == sizeof types / sizeof *types || format[1] || a->schema->node->dictionary)
    return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP, "DLPack has no type for Arrow's \"%s\"%s", format,
                    a->schema->node->dictionary ? " with a dictionary" : "");
  const struct ArrowDeviceArray *own = &a->root->own;
  struct cdv_backend *backend = a->root->backend ? a->root->backend : cdv_backend_lookup(own->device_type);
  int64_t bytes = a->length ? a->offset * (types[i].bits / 8) : 0;
  bool address = backend && (backend->table.capabilities & CDEVICE_CAP_ADDRESS);
  t->data = (void *)a->node->buffers[1];
  if (address && t->data) t->data = (char *)t->data + bytes; /* some consumers do not look at byte_offset */
  t->byte_offset = address ? 0 : (uint64_t)bytes;
  t->device.device_type = own->device_type;
  t->device.device_id = cdv_array_host_accessible(a) ? 0 : (int32_t)own->device_id;
  t->dtype = (DLDataType){types[i].code, types[i].bits, 1};
  return 0;
}

/* With room for the shape, which is copied in; the rest is the caller's to fill.  ENOMEM sets no error. */
static int new_tensor(const int64_t *shape, int ndim, struct exported **out) {
  struct exported *e = *out = malloc(sizeof *e + 2 * (size_t)ndim * sizeof(int64_t));
  if (!e) return ENOMEM;
  for (int k = 0; k < ndim; k++) {
    e->dims[k] = shape[k];
    e->dims[ndim + k] = stride_of(shape, ndim, k);
  }
  return 0;
}

static void set_shape(struct exported *e, DLTensor *t, int ndim) {
  t->ndim = ndim;
  t->shape = e->dims;
  t->strides = e->dims + ndim;
}

static void set_manager(struct exported *e, bool versioned, uint64_t flags) {
  if (versioned) {
    e->as.versioned.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    e->as.versioned.flags = flags;
    e->as.versioned.manager_ctx = e;
    e->as.versioned.deleter = delete_versioned;
  } else {
    e->as.legacy.manager_ctx = e;
    e->as.legacy.deleter = delete_legacy;
  }
}

static int export(struct cdv_array *a, bool versioned, uint64_t flags, struct exported **out) {
  int64_t shape[CDV_MAX_DEPTH + 1];
  struct cdv_array *leaf;
  struct exported *e = NULL;
  int ndim, r = tensor_of(a, &leaf, shape, &ndim);
  if (r) return r;
  if (new_tensor(shape, ndim, &e)) r = cdv_fail_memory(sizeof *e, "a tensor");
  DLTensor *t = !e ? NULL : versioned ? &e->as.versioned.dl_tensor : &e->as.legacy.dl_tensor;
  if (!r) r = fill(leaf, t);
  if (r) {
    cdv_array_unref(leaf);
    free(e);
    return r;
  }
  set_shape(e, t, ndim);
  set_manager(e, versioned, flags);
  e->array = leaf;
  *out = e;
  return 0;
}

int cdv_dlpack_borrow(struct cdv_array *a, DLTensor *out) {
  static int64_t one[1] = {1};
  int r = no_nulls(a);
  if (!r) r = fill(a, out);
  if (r) return r;
  out->ndim = 1;
  out->shape = &a->length;
  out->strides = one;
  return 0;
}

int cdv_dlpack_export(struct cdv_array *a, uint64_t flags, DLManagedTensorVersioned **out) {
  struct exported *e;
  int r = export(a, true, flags, &e);
  if (!r) *out = &e->as.versioned;
  return r;
}

int cdv_dlpack_export_legacy(struct cdv_array *a, DLManagedTensor **out) {
  struct exported *e;
  int r = export(a, false, 0, &e);
  if (!r) *out = &e->as.legacy;
  return r;
}

static void schema_release(struct ArrowSchema *s) { s->release = NULL; }

/* The schema of numbers in ndim - 1 fixed-size lists, one inside the other. */
static int schema_of(char letter, const int64_t *shape, int ndim, struct cdv_schema **out) {
  char formats[CDV_MAX_DEPTH][16];
  struct ArrowSchema nodes[CDV_MAX_DEPTH], *children[CDV_MAX_DEPTH], copy;
  for (int i = 0; i < ndim; i++) {
    bool leaf = i == ndim - 1;
    if (leaf)
      snprintf(formats[i], sizeof formats[i], "%c", letter);
    else
      snprintf(formats[i], sizeof formats[i], "+w:%lld", (long long)shape[i + 1]);
    nodes[i] = (struct ArrowSchema){.format = formats[i],
                                    .name = i ? "item" : "",
                                    .flags = ARROW_FLAG_NULLABLE,
                                    .n_children = !leaf,
                                    .children = leaf ? NULL : &children[i],
                                    .release = schema_release};
    if (i) children[i - 1] = &nodes[i];
  }
  int r = cdv_schema_copy(nodes, &copy);
  if (!r && (r = cdv_schema_import(&copy, out))) copy.release(&copy);
  return r;
}

/* Beyond this no memory ends: sums of such numbers stay within 64 bits. */
#define FARTHEST ((int64_t)1 << 57)

/* Does every value lie where memory can be?  A reader of the tensor multiplies these numbers, with gaps or without.
 * ERANGE: no. */
static int check_extent(const DLTensor *t, int64_t width) {
  int64_t low = 0, high = 0, values = 1;
  for (int i = 0; i < t->ndim; i++) {
    if (t->shape[i] == 0) return 0;
    if (__builtin_mul_overflow(values, t->shape[i], &values) || values > FARTHEST)
      return cdv_fail(CDV_ARGUMENT, ERANGE, "the tensor has more values than 64 bits can count");
    int64_t step = 0;
    bool far = t->strides && t->shape[i] > 1 &&
               (__builtin_mul_overflow(t->strides[i], t->shape[i] - 1, &step) ||
                __builtin_mul_overflow(step, width, &step) || step > FARTHEST || step < -FARTHEST);
    if (step < 0)
      low += step;
    else
      high += step;
    if (far || high > FARTHEST || low < -FARTHEST)
      return cdv_fail(CDV_ARGUMENT, ERANGE, "the tensor exceeds the address space: stride %lld of dimension %d",
                      (long long)t->strides[i], i);
  }
  if (t->byte_offset > (uint64_t)FARTHEST)
    return cdv_fail(CDV_ARGUMENT, ERANGE, "the byte offset %llu of the tensor exceeds the address space",
                    (unsigned long long)t->byte_offset);
  int64_t first = (int64_t)t->byte_offset + low;
  if (t->device.device_type == ARROW_DEVICE_CPU && first < 0 && (uint64_t)-first > (uintptr_t)t->data)
    return cdv_fail(CDV_ARGUMENT, ERANGE, "the tensor reaches %lld bytes before the start of its memory",
                    (long long)-first);
  return 0;
}

/* Checks for contiguous numbers of the device, or reports the reason; *n is how many there are. */
static int check_tensor(const DLTensor *t, int64_t width, int64_t *n) {
  if (t->ndim < 1 || t->ndim > CDV_MAX_DEPTH)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "expected 1 to %d dimensions, not %d", CDV_MAX_DEPTH, t->ndim);
  if (!t->shape) return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor has no shape");
  *n = 1;
  for (int i = 0; i < t->ndim; i++) {
    if (t->shape[i] < 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "dimension %d is negative", i);
    if (i && t->shape[i] > INT32_MAX)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "dimension %d: a fixed-size list has at most 2147483647 values", i);
    if (t->shape[i] == 0) *n = 0;
  }
  int r = check_extent(t, width);
  if (r) return r;
  for (int i = t->ndim; *n && i-- > 0;) {
    if (t->strides && t->strides[i] != *n && t->shape[i] > 1)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor is not contiguous: stride %lld of dimension %d",
                      (long long)t->strides[i], i);
    *n *= t->shape[i];
  }
  return 0;
}

static int no_type(DLDataType t) {
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const char *name = t.code < sizeof names / sizeof *names ? names[t.code] : "type of ";
  return cdv_fail(CDV_ARGUMENT, EINVAL, "Arrow has no type for DLPack's %s%d (code %d, %d bits, %d lanes)%s", name,
                  t.bits, t.code, t.bits, t.lanes,
                  t.code >= 4 && t.code != 6 ? ": a view of unsigned integers passes its bits" : " without a copy");
}

int cdv_dlpack_import(const DLTensor *t, void *sync_event, struct cdv_owner owner, int level, struct cdv_array **out) {
  size_t i = 0;
  while (i < sizeof types / sizeof *types && (types[i].code != t->dtype.code || types[i].bits != t->dtype.bits)) i++;
  if (i == sizeof types / sizeof *types || t->dtype.lanes != 1) return no_type(t->dtype);
  int64_t n = 0, width = t->dtype.bits / 8, offset = 0;
  int r = check_tensor(t, width, &n);
  if (r) return r;
  int32_t type = t->device.device_type;
  if (type <= 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor is on device type %d", type);
  struct cdv_backend *backend = cdv_backend_lookup(type);
  char *data = t->data;
  if (backend && (backend->table.capabilities & CDEVICE_CAP_ADDRESS)) {
    if (data) data += t->byte_offset;
  } else if (t->byte_offset % (uint64_t)width) {
    return cdv_fail(CDV_ARGUMENT, EINVAL, "the byte offset %llu of the tensor is not a multiple of %lld",
                    (unsigned long long)t->byte_offset, (long long)width);
  } else {
    offset = (int64_t)(t->byte_offset / (uint64_t)width);
  }
  struct cdv_schema *schema = t->ndim == 1 ? cdv_schema_of_number(types[i].letter) : NULL;
  if (!schema && (r = schema_of(types[i].letter, t->shape, t->ndim, &schema))) return r;
  const struct ArrowSchema *nodes[CDV_MAX_DEPTH];
  nodes[0] = schema->node;
  for (int k = 1; k < t->ndim; k++) nodes[k] = nodes[k - 1]->children[0];
  const void *buffers[2] = {NULL, data};
  struct cdv_parts p = {.device_type = type,
                        .device_id = type == ARROW_DEVICE_CPU ? -1 : t->device.device_id,
                        .length = n,
                        .offset = offset,
                        .n_buffers = 2,
                        .buffers = buffers,
                        .sync_event = sync_event};
  struct cdv_array *inner = NULL;
  for (int k = t->ndim; !r && k-- > 0;) { /* the numbers, then list by list around them */
    struct cdv_schema *at = k ? cdv_schema_at(schema, nodes[k]) : cdv_schema_ref(schema);
    struct cdv_array *made = NULL;
    r = at ? cdv_array_build(at, &p, (struct cdv_owner){NULL, NULL}, level, &made) : ENOMEM;
    if (at) cdv_schema_unref(at);
    if (inner) cdv_array_unref(inner);
    inner = made;
    if (r) break;
    p.offset = 0;
    p.n_buffers = 1;
    p.n_children = 1;
    p.children = &inner;
    p.length = t->shape[0];
    for (int d = 1; d < k; d++)
      if (__builtin_mul_overflow(p.length, t->shape[d], &p.length)) /* an empty one may say anything beside its 0 */
        r = cdv_fail(CDV_ARGUMENT, EINVAL, "the shape of the tensor is larger than 64 bits can count");
  }
  cdv_schema_unref(schema);
  if (r && inner) cdv_array_unref(inner);
  if (r) return r;
  inner->owner = owner;
  *out = inner;
  return 0;
}

int cdv_dlpack_import_behind(const DLTensor *t, void *stream, struct cdv_owner owner, int level,
                             struct cdv_array **out) {
  struct cdv_backend *backend;
  struct cdv_event *event = NULL;
  int64_t devices = 0;
  int r = cdv_backend_acquire(t->device.device_type, &backend);
  if (r) return r;
  r = cdv_device_count(t->device.device_type, &devices);
  if (!r && (t->device.device_id < 0 || t->device.device_id >= devices))
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor is on device %d, there are %lld", t->device.device_id,
                 (long long)devices);
  if (!r) r = cdv_event_record(backend, t->device.device_id, stream, &event);
  if (!r) r = cdv_dlpack_import(t, event ? event->event.sync_event : NULL, owner, level, out);
  if (!r)
    (*out)->event = event;
  else if (event)
    cdv_event_unref(event);
  cdv_backend_addref(backend, -1);
  return r;
}

int cdv_default_stream(int32_t type, int64_t device, void *named, void **out) {
  struct cdv_backend *backend;
  cdevice_error err = {.struct_size = sizeof err};
  *out = named;
  int r = cdv_backend_acquire(type, &backend);
  if (r) return r;
  if (!named) r = backend->table.current_stream(backend->table.self, device, out, &err);
  cdv_backend_addref(backend, -1);
  return r ? cdv_fail_backend(r, &err, type, device, "querying the current stream") : 0;
}

/* ---- new tensors ---- */

/* Bytes of a tensor's values; -1: beyond 64 bits, or no shape. */
static int64_t tensor_bytes(const DLTensor *t) {
  int64_t n = (int64_t)t->dtype.bits * t->dtype.lanes;
  if (t->ndim < 0 || t->ndim > CDV_MAX_DEPTH || (t->ndim && !t->shape) || !n) return -1;
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] < 0 || __builtin_mul_overflow(n, t->shape[i], &n)) return -1;
  return n / 8 + (n % 8 != 0);
}

int cdv_dlpack_allocate(const DLTensor *like, DLManagedTensorVersioned **out) {
  int64_t nbytes = tensor_bytes(like);
  struct exported *e = NULL;
  struct cdv_array *memory = NULL;
  if (nbytes < 0)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cannot make an Arrow type from the shape and type of the tensor");
  struct cdv_schema *bytes = cdv_schema_of_number('C');
  int r = cdv_array_empty(bytes, nbytes, false, like->device.device_type, like->device.device_id, NULL, &memory);
  cdv_schema_unref(bytes);
  if (!r && new_tensor(like->shape, like->ndim, &e)) r = cdv_fail_memory(sizeof *e, "a tensor");
  if (r) {
    if (memory) cdv_array_unref(memory);
    return r;
  }
  DLTensor *t = &e->as.versioned.dl_tensor;
  t->data = (void *)memory->node->buffers[1];
  t->byte_offset = 0;
  t->device = like->device;
  t->dtype = like->dtype;
  set_shape(e, t, like->ndim);
  set_manager(e, true, 0);
  e->array = memory;
  *out = &e->as.versioned;
  return 0;
}
