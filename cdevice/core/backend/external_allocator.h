/* external_allocator.h - memory from an external allocator instead of a backend's own pool. */
#ifndef CDEVICE_CORE_BACKEND_EXTERNAL_ALLOCATOR_H
#define CDEVICE_CORE_BACKEND_EXTERNAL_ALLOCATOR_H

#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_external_block;
struct cdv_shared;
struct cdv_backend;

/* cffi: begin */
/* Arrays of this type are allocated by `allocator` from now on, NULL: by the backend again.  The table is copied. */
int cdv_set_allocator(int32_t device_type, const cdevice_allocator *allocator);
void cdv_external_blocks_retry(void); /* gives back other allocators' memory behind which nothing could be recorded */
/* cffi: end */

/* As the backend's alloc, or from the allocator that was set for it; *loan is then what cdv_external_block_free
 * gives back instead of the backend's free, else NULL. */
int cdv_block_alloc_for(struct cdv_backend *backend, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                        struct cdv_external_block **external_block, cdevice_error *err);
/* Host memory that cdevice_memory.commit or discard takes; ENOTSUP (no error is set): the device has none, or an
 * allocator was set for it. */
int cdv_block_prepare(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out,
                      cdevice_error *err);
/* Any thread; never blocks. owns: the reference on what keeps the stream it was allocated for (or NULL), dropped
 * when the memory is the allocator's again. */
void cdv_external_block_free(struct cdv_external_block *external_block, struct cdv_shared *queue);

#endif
