/* dlpack.c - arrays of fixed width as DLPack tensors of one dimension, and back. */
#include "core.h"

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
  struct cdv_array *array;
  int64_t shape, stride;
};

static void drop(struct exported *e) {
  cdv_array_unref(e->array);
  free(e);
}
static void delete_versioned(DLManagedTensorVersioned *self) { drop(self->manager_ctx); }
static void delete_legacy(DLManagedTensor *self) { drop(self->manager_ctx); }

static int fill(struct cdv_array *a, DLTensor *t, struct exported *e) {
  const char *format = a->schema->node->format;
  size_t i = 0;
  while (i < sizeof types / sizeof *types && types[i].letter != format[0]) i++;
  if (i == sizeof types / sizeof *types || format[1] || a->schema->node->dictionary)
    return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP, "DLPack has no type for Arrow's \"%s\"%s", format,
                    a->schema->node->dictionary ? " with a dictionary" : "");
  int64_t nulls = cdv_array_null_count(a);
  if (nulls)
    return cdv_fail(CDV_CANNOT_EXPORT, ENOTSUP,
                    nulls < 0 ? "it cannot be known here whether the array has nulls, which DLPack cannot say"
                              : "DLPack cannot say which values are null");
  const struct ArrowDeviceArray *own = &a->root->own;
  struct cdv_slot *slot = cdv_slot_for(own->device_type);
  int64_t bytes = a->length ? a->offset * (types[i].bits / 8) : 0;
  bool address = slot && (slot->table.capabilities & CDEVICE_CAP_ADDRESS);
  t->data = (void *)a->node->buffers[1];
  if (address && t->data) t->data = (char *)t->data + bytes; /* some consumers do not look at byte_offset */
  t->byte_offset = address ? 0 : (uint64_t)bytes;
  t->device.device_type = own->device_type;
  t->device.device_id = cdv_host_accessible(own->device_type) ? 0 : (int32_t)own->device_id;
  t->ndim = 1;
  t->dtype = (DLDataType){types[i].code, types[i].bits, 1};
  e->shape = a->length;
  e->stride = 1;
  t->shape = &e->shape;
  t->strides = &e->stride;
  return 0;
}

static int export(struct cdv_array *a, bool versioned, uint64_t flags, struct exported **out) {
  struct exported *e = calloc(1, sizeof *e);
  if (!e) return cdv_fail_memory(sizeof *e, "a tensor");
  int r = fill(a, versioned ? &e->as.versioned.dl_tensor : &e->as.legacy.dl_tensor, e);
  if (r) {
    free(e);
    return r;
  }
  if (versioned) {
    e->as.versioned.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    e->as.versioned.flags = flags;
    e->as.versioned.manager_ctx = e;
    e->as.versioned.deleter = delete_versioned;
  } else {
    e->as.legacy.manager_ctx = e;
    e->as.legacy.deleter = delete_legacy;
  }
  e->array = cdv_array_ref(a);
  *out = e;
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

int cdv_dlpack_import(const DLTensor *t, void *sync_event, struct cdv_owner owner, int level, struct cdv_array **out) {
  size_t i = 0;
  while (i < sizeof types / sizeof *types && (types[i].code != t->dtype.code || types[i].bits != t->dtype.bits)) i++;
  if (i == sizeof types / sizeof *types || t->dtype.lanes != 1)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "Arrow has no type for DLPack's (code %d, %d bits, %d lanes) without a copy",
                    t->dtype.code, t->dtype.bits, t->dtype.lanes);
  if (t->ndim != 1) return cdv_fail(CDV_ARGUMENT, EINVAL, "one dimension is taken, not %d", t->ndim);
  if (!t->shape || t->shape[0] < 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor has no shape");
  if (t->strides && t->strides[0] != 1 && t->shape[0] > 1)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor is not contiguous: stride %lld", (long long)t->strides[0]);
  int32_t type = t->device.device_type;
  if (type <= 0) return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor is on device type %d", type);
  int64_t width = t->dtype.bits / 8, offset = 0;
  struct cdv_slot *slot = cdv_slot_for(type);
  char *data = t->data;
  if (slot && (slot->table.capabilities & CDEVICE_CAP_ADDRESS)) {
    if (data) data += t->byte_offset;
  } else if (t->byte_offset % (uint64_t)width) {
    return cdv_fail(CDV_ARGUMENT, EINVAL, "the tensor begins %llu bytes into its memory, no multiple of %lld",
                    (unsigned long long)t->byte_offset, (long long)width);
  } else {
    offset = (int64_t)(t->byte_offset / (uint64_t)width);
  }
  char format[2] = {types[i].letter, 0};
  struct ArrowSchema s = {.format = format, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = schema_release}, copy;
  struct cdv_schema *schema;
  int r = cdv_schema_copy(&s, &copy);
  if (!r && (r = cdv_schema_import(&copy, &schema))) copy.release(&copy);
  if (r) return r;
  const void *buffers[2] = {NULL, data};
  struct cdv_parts p = {.device_type = type,
                        .device_id = type == ARROW_DEVICE_CPU ? -1 : t->device.device_id,
                        .length = t->shape[0],
                        .offset = offset,
                        .n_buffers = 2,
                        .buffers = buffers,
                        .sync_event = sync_event};
  r = cdv_array_build(schema, &p, owner, level, out);
  cdv_schema_unref(schema);
  return r;
}
