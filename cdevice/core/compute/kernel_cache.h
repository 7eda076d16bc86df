/* kernel_cache.h - kernels, found by name: built from text where they are needed first, and kept. */
#ifndef CDEVICE_CORE_COMPUTE_KERNEL_CACHE_H
#define CDEVICE_CORE_COMPUTE_KERNEL_CACHE_H

#include <stdint.h>

#include "cdevice/backend.h"
#include "kernels/lang/protocol.h"

_Static_assert(KERNEL_BUFFERS == CDEVICE_KERNEL_BUFFERS && KERNEL_SCALARS == CDEVICE_KERNEL_SCALARS,
               "backend.h and the kernels have the same parameters");

/* How many buffers, or scalars, these names are, at most eight: what a kernel uses together is distinct. */
#define CDV_BUFFER_SLOTS(...) \
  __builtin_popcount(CDV_SLOT_BITS_(KERNEL_BUFFERS, __VA_ARGS__, -1, -1, -1, -1, -1, -1, -1, -1))
#define CDV_SCALAR_SLOTS(...) \
  __builtin_popcount(CDV_SLOT_BITS_(KERNEL_SCALARS, __VA_ARGS__, -1, -1, -1, -1, -1, -1, -1, -1))
#define CDV_SLOT_BIT_(n, k) ((k) < 0 || (k) >= (n) ? 0u : 1u << ((k) & 31))
#define CDV_SLOT_BITS_(n, a, b, c, d, e, f, g, h, ...)                                                           \
  (CDV_SLOT_BIT_(n, a) | CDV_SLOT_BIT_(n, b) | CDV_SLOT_BIT_(n, c) | CDV_SLOT_BIT_(n, d) | CDV_SLOT_BIT_(n, e) | \
   CDV_SLOT_BIT_(n, f) | CDV_SLOT_BIT_(n, g) | CDV_SLOT_BIT_(n, h))

struct cdv_backend;

/* What a kernel's items are; see kernels/lang/dialect.h. */
enum cdv_granularity {
  CDV_PER_ROW,
  CDV_PER_BIT_WORD,   /* 32 rows */
  CDV_PER_ROW_PACKED, /* 32 rows, or a row where blocks pack them */
  CDV_REDUCE_TILE,    /* REDUCE_TILE_ROWS, or a block does them */
  CDV_FILTER_TILE,    /* FILTER_TILE_ROWS, or a block does them */
  CDV_SINGLE_BLOCK,   /* one item, or one block */
  CDV_SINGLE_ITEM,
  CDV_SORT_TILE,    /* SORT_TILE_ROWS, or a block does SORT_GROUP_ROWS */
  CDV_SORT_BUCKETS, /* rows with one highest digit */
  CDV_ITEMS         /* n_items of the launch, each of which does many rows */
};
/* A kernel of a program for a device, built or read from the disk where it is needed first.  flags: what
 * the backend reported last.  with: up to three more names, with a space between them, of kernels of the same family and
 * type that come into the same program: a call that launches them next waits for one build; or NULL.  Borrowed: it
 * stays.  May take long the first time; never waits for the device. */
int cdv_kernel_get(struct cdv_backend *backend, const cdevice_compute *compute, int64_t device, void *stream,
                   uint32_t flags, const char *family, const char *type, const char *name, const char *with,
                   void **out);
/* A backend's cdevice_compute, or NULL: it has none. */
const cdevice_compute *cdv_compute_of(struct cdv_backend *backend);

/* cffi: begin */
/* Does the backend of this device type compute? Starts it where that was not done. */
int cdv_has_kernels(int32_t device_type);
/* cffi: end */

#endif
