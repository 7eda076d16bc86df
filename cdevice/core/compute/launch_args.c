/* launch_args.c - the values and nulls of an array as arguments of a kernel. */
#include "core/compute/launch_args.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/table.h"
#include "core/copy/copy.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <string.h>

const char *cdv_width_name(int width) {
  switch (width) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "u64";
    case 16: return "w128";
    default: return NULL;
  }
}

int cdv_value_width(const struct ArrowSchema *s) {
  struct cdv_layout l;
  const char *why;
  if (s->dictionary || cdv_layout_parse(s->format, &l, &why)) return -1;
  return l.type == CDV_BOOL ? 0 : l.type == CDV_FIXED && l.width ? l.width : -1;
}

/* Kernels read bitmaps by words. */
static cdevice_kernel_buffer place_bits(const void *bits, int64_t offset, const struct cdv_array *a) {
  cdevice_kernel_buffer p = {(void *)bits, bits ? offset : 0};
  const struct cdv_backend *backend = a->root->backend;
  bool address = !backend || backend->table.capabilities & CDEVICE_CAP_ADDRESS;
  int64_t odd = bits && address ? (int64_t)((uintptr_t)bits & 3) : 0;
  p.data = (char *)p.data - odd;
  p.offset += 8 * odd;
  return p;
}

cdevice_kernel_buffer cdv_kernel_values(const struct cdv_array *a) {
  const void *data = a->node->n_buffers > 1 ? a->node->buffers[1] : NULL;
  if (cdv_value_width(a->schema->node) == 0) return place_bits(data, a->offset, a);
  return (cdevice_kernel_buffer){(void *)data, data ? a->offset : 0};
}

bool cdv_may_be_null(const struct cdv_array *a) {
  return a->schema->node->format[0] == 'n' || (a->node->n_buffers > 0 && a->node->buffers[0] && a->length &&
                                               atomic_load_explicit(&a->null_count, memory_order_relaxed) != 0);
}

cdevice_kernel_buffer cdv_kernel_nulls(const struct cdv_array *a) {
  if (!cdv_may_be_null(a) || !a->node->n_buffers) return (cdevice_kernel_buffer){NULL, 0};
  return place_bits(a->node->buffers[0], a->offset, a);
}

int cdv_array_aligned(struct cdv_array *a, struct cdv_array **out) {
  int width = cdv_value_width(a->schema->node);
  const struct cdv_backend *backend = a->root->backend;
  bool address = !backend || backend->table.capabilities & CDEVICE_CAP_ADDRESS;
  uintptr_t data = width > 1 && a->node->n_buffers > 1 ? (uintptr_t)a->node->buffers[1] : 0;
  if (!address || !data || width & (width - 1) || data % (uintptr_t)(width > 8 ? 8 : width) == 0) {
    *out = cdv_array_ref(a);
    return 0;
  }
  return cdv_array_copy(a, a->root->own.device_type, a->root->own.device_id, NULL, true, out);
}
