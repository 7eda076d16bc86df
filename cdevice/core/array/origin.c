/* origin.c - where an array lies, and which backend made it. */
#include "core/array/origin.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"

int cdv_array_backend(struct cdv_array *a, struct cdv_backend **out) {
  struct cdv_backend *backend = *out = a->root->backend;
  return backend ? cdv_backend_start(backend) : cdv_backend_get_started(a->root->own.device_type, out);
}

bool cdv_array_host_accessible(const struct cdv_array *a) {
  const struct cdv_backend *backend = a->root->backend;
  int32_t type = a->root->own.device_type;
  if (type == ARROW_DEVICE_CPU || !backend) return cdv_host_accessible(type);
  return backend->table.capabilities & CDEVICE_CAP_HOST_ACCESSIBLE;
}
