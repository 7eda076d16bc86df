/* hash_buckets.h - numbers of many groups of equal rows, by threads of the CPU. */
#ifndef CDEVICE_CORE_COMPUTE_HASH_BUCKETS_H
#define CDEVICE_CORE_COMPUTE_HASH_BUCKETS_H

#include <stdint.h>

struct cdv_exec;
struct cdv_key_plan;

/* What cdv_hash_number_by_threads gives where there are many groups. CDV_KEYS_OUTSIDE: a sampled plan does not fit.
 * Blocks. owns: *first is the caller's to free. */
int cdv_hash_number_by_buckets(struct cdv_exec *w, const struct cdv_key_plan *plan, uint32_t *ids, int64_t *groups,
                               uint32_t **first);

#endif
