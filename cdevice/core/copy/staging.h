/* staging.h - chunks of host memory that a transfer packs into: pinned where the device's backend has such memory
 * and the chunk is large enough for that to matter, else ordinary memory, of which two chunks are kept. */
#ifndef CDEVICE_CORE_COPY_STAGING_H
#define CDEVICE_CORE_COPY_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_backend;

/* cffi: begin */
void cdv_staging_trim(void); /* the same of host memory that copies pack into */
/* cffi: end */

struct cdv_staging_buffer {
  char *memory; /* 64-byte aligned */
  int64_t size;
  struct cdv_backend *backend; /* whose pinned memory it is, or NULL */
  cdevice_block block;
};
bool cdv_has_pinned_staging(struct cdv_backend *backend); /* has it host memory that its copies are faster with? */
/* For copies to or from that device; slot may be NULL. */
int cdv_staging_get(struct cdv_backend *backend, int64_t device, int64_t nbytes, struct cdv_staging_buffer *out);
/* The device is done with it.  A chunk without memory is legal. */
void cdv_staging_put(struct cdv_staging_buffer *stage);

#endif
