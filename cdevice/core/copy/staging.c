/* staging.c - chunks of host memory that a transfer packs into: pinned where the device's backend has such memory
 * and the chunk is large enough for that to matter, else ordinary memory, of which two chunks are kept. */
#include "core/copy/staging.h"
#include "cdevice/backend.h"
#include "core/backend/checked_calls.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/system.h"

#include <stdlib.h>
#include <string.h>

#define STAGE ((int64_t)8 << 20)
#define WORTH_PINNING ((int64_t)64 << 10)

static _Atomic(void *) kept[2]; /* touching fresh pages costs more than filling them */

bool cdv_has_pinned_staging(struct cdv_backend *backend) {
  const cdevice_memory *m = cdv_memory_of(backend);
  return m && m->stage_alloc && m->stage_free;
}

int cdv_staging_get(struct cdv_backend *backend, int64_t device, int64_t nbytes, struct cdv_staging_buffer *out) {
  *out = (struct cdv_staging_buffer){.size = nbytes > STAGE / 32 && nbytes <= STAGE ? STAGE
                                                                                    : nbytes}; /* one size to keep */
  if (nbytes >= WORTH_PINNING && backend && cdv_has_pinned_staging(backend) &&
      !cdv_checked_stage_alloc(backend, device, out->size, &out->block)) {
    out->memory = out->block.data;
    out->backend = backend;
    return 0;
  }
  for (int i = 0; out->size == STAGE && i < 2 && !out->memory; i++) out->memory = atomic_exchange(&kept[i], NULL);
  if (!out->memory) out->memory = cdv_aligned_alloc(64, (size_t)(out->size + 63) / 64 * 64);
  if (!out->memory) out->size = 0;
  return out->memory ? 0 : cdv_fail_memory(nbytes, "a staging chunk");
}

void cdv_staging_trim(void) {
  for (int i = 0; i < 2; i++) cdv_aligned_free(atomic_exchange(&kept[i], NULL));
}

void cdv_staging_put(struct cdv_staging_buffer *s) {
  void *memory = s->memory, *none = NULL;
  s->memory = NULL;
  if (memory && s->backend) {
    if (cdv_backend_usable_in_process(s->backend))
      cdv_memory_of(s->backend)->stage_free(s->backend->table.self, &s->block);
    return;
  }
  if (memory && s->size == STAGE)
    for (int i = 0; i < 2; i++, none = NULL)
      if (atomic_compare_exchange_strong(&kept[i], &none, memory)) return;
  cdv_aligned_free(memory);
}
