/* table.h - the places of backends: one per device type, found by one atomic load. */
#ifndef CDEVICE_CORE_BACKEND_TABLE_H
#define CDEVICE_CORE_BACKEND_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_external_allocator;

/* cffi: begin */
int64_t cdv_backend_count(void);
const cdevice_backend *cdv_backend_table_at(int64_t i);
const cdevice_backend *cdv_backend_table(int32_t device_type);
int64_t cdv_backend_live(int32_t device_type);
/* cffi: end */

struct cdv_backend {
  cdevice_backend table;                           /* full-size copy, holes filled with stubs */
  atomic_llong live;                               /* arrays, blocks and events that need it */
  atomic_int state;                                /* CDV_SLOT_* */
  struct cdv_backend *next;                        /* of those removed */
  int generation;                                  /* forks counted when it was started */
  uintptr_t starter;                               /* see CDV_BACKEND_STARTING */
  _Atomic(struct cdv_external_allocator *) supply; /* an allocator that was set, or NULL */
  atomic_llong aligned; /* of the device asked last: its number + 2, above 32 bits of alignment */
};
#define CDV_BACKEND_NEW 0
#define CDV_BACKEND_STARTED 1
#define CDV_BACKEND_STARTING 2 /* by the thread `starter` */
extern _Atomic(struct cdv_backend *) cdv_backends[64];
struct cdv_backend *cdv_backend_lookup_slow(int32_t device_type);
/* NULL: no backend serves that type.  A few nanoseconds; does not start the backend. */
static inline struct cdv_backend *cdv_backend_lookup(int32_t device_type) {
  if (device_type > 0 && device_type < 64)
    return atomic_load_explicit(&cdv_backends[device_type], memory_order_acquire);
  return cdv_backend_lookup_slow(device_type);
}
static inline void cdv_backend_addref(struct cdv_backend *backend, long long n) {
  if (backend) atomic_fetch_add(&backend->live, n); /* against cdv_unregister, which hides the slot and then looks */
}
/* Does it still serve its type?  For one who has counted itself in.  Both sides are sequentially consistent: cdv_unregister
 * hides the table, then looks at the count.  An acquire load may be done before the count is seen (ldapr of ARMv8.3, POWER);
 * then neither would see the other. */
static inline bool cdv_backend_still_serves(int32_t device_type, const struct cdv_backend *backend) {
  struct cdv_backend *now = device_type > 0 && device_type < 64 ? atomic_load(&cdv_backends[device_type])
                                                                : cdv_backend_lookup_slow(device_type);
  return now == backend;
}
/* The place of a type's slot, made when missing; NULL: no memory for it.  Under the registry's lock. */
_Atomic(struct cdv_backend *) *cdv_backend_cell(int32_t device_type);
const cdevice_memory *cdv_memory_of(struct cdv_backend *backend); /* or NULL */
const char *cdv_device_type_name(int32_t device_type);
/* "name:0", or the name alone without a number; good until this thread has asked twice more. */
const char *cdv_device_name(int32_t device_type, int64_t device_id);
/* Is the struct of a backend, which may be older, long enough to have this member, and is it set? */
#define CDV_HAS(m, member) \
  ((m) && (m)->struct_size >= offsetof(cdevice_memory, member) + sizeof(m)->member && (m)->member)

#endif
