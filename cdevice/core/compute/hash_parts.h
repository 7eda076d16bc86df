/* hash_parts.h - numbers of the groups of equal rows, by threads of the CPU. */
#ifndef CDEVICE_CORE_COMPUTE_HASH_PARTS_H
#define CDEVICE_CORE_COMPUTE_HASH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_exec;
struct cdv_key_plan;

#define CDV_HASH_MANY_GROUPS (-5) /* no error is set */
/* How many slots a first table has, and how much larger the next one is. */
#define CDV_HASH_FIRST_SIZE 8192
#define CDV_HASH_GROWTH 4
/* How many slots a thread's table has at most where there are so many rows: with more groups, buckets are faster. */
#define CDV_HASH_LARGEST_SIZE (1 << 19)
#define CDV_HASH_BUCKETS_ROWS (1 << 20)
/* Another seed in each process: words that have one place cannot be prepared. */
uint64_t cdv_hash_seed(void);
/* Have words so few bits that a table has a place for each? */
bool cdv_hash_is_direct(const struct cdv_key_plan *plan);

/* On the CPU: the group of each row (u32), how many groups there are, and their first rows, which the caller frees.
 * CDV_KEYS_OUTSIDE: a sampled plan does not fit. CDV_HASH_MANY_GROUPS: buckets are faster. Blocks. */
int cdv_hash_number_by_threads(struct cdv_exec *w, const struct cdv_key_plan *plan, uint32_t *ids, int64_t *groups,
                               uint32_t **first);

#endif
