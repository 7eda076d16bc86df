/* origin.c - where an array lies, and which backend made it. */
#include "core.h"

int cdv_array_slot(struct cdv_array *a, struct cdv_slot **out) {
  struct cdv_slot *slot = *out = a->root->slot;
  return slot ? cdv_slot_start(slot) : cdv_slot_ready(a->root->own.device_type, out);
}

bool cdv_array_host_accessible(const struct cdv_array *a) {
  const struct cdv_slot *slot = a->root->slot;
  int32_t type = a->root->own.device_type;
  if (type == ARROW_DEVICE_CPU || !slot) return cdv_host_accessible(type);
  return slot->table.capabilities & CDEVICE_CAP_HOST_ACCESSIBLE;
}
