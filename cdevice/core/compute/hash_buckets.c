/* hash_buckets.c - numbers of many groups of equal rows, by threads of the CPU: a table of them all would lie outside of
 * the caches. The rows are put in buckets by the highest bits of their words, each bucket finds the first row of each of
 * its groups in a small table, and first rows are counted in the order of the rows. */
#include "core/compute/hash_buckets.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/compute/exec.h"
#include "core/compute/hash_parts.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/key_words.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS (1 << SORT_TILE_BITS)
#define ROWS_OF_STEP (1 << 16) /* whose words a thread writes at once */

_Static_assert(CDV_BUFFER_SLOTS(BUF_HASH_LEADERS, BUF_HASH_WORDS, BUF_HASH_SLOTS, BUF_HASH_BUCKET_ROWS) == 4 &&
                   CDV_BUFFER_SLOTS(BUF_HASH_LEADERS, BUF_HASH_RANKS, BUF_HASH_FIRST, BUF_HASH_COUNTS) == 4,
               "buffers of buckets are distinct");

struct buckets {
  struct cdv_exec *work;
  const struct cdv_key_plan *plan;
  int64_t n, tiles;
  uint64_t *words[2];
  uint32_t *rows, *ids, *ranks;
  int64_t *counts;
  uint64_t outside;
  int failed; /* of any thread */
};

static struct cdv_kernel_launch launch_of(const struct buckets *s, const char *family, const char *name,
                                          int granularity) {
  struct cdv_kernel_launch k = {.family = family, .type = "bits", .name = name, .granularity = granularity, .n = s->n};
  return k;
}

/* ---- words ---- */
static int write_step(struct buckets *s, int64_t begin, int64_t n) {
  uint64_t outside = 0;
  cdevice_kernel_buffer words = {s->words[0], begin};
  int r = cdv_key_plan_write(s->work, s->plan, begin, n, words, &outside);
  if (outside) __atomic_store_n(&s->outside, 1, __ATOMIC_RELAXED);
  struct cdv_kernel_launch mix = launch_of(s, "hash_table", "hash_mix_words", CDV_PER_ROW);
  mix.n = n;
  mix.buffers[BUF_HASH_WORDS] = words;
  mix.scalars[SCALAR_HASH_SEED] = (int64_t)cdv_hash_seed();
  return r ? r : cdv_exec_launch(s->work, &mix);
}

static void write_words(void *arg, int64_t begin, int64_t end) {
  struct buckets *s = arg;
  int r = 0;
  for (int64_t i = begin; !r && i < end; i += ROWS_OF_STEP)
    r = write_step(s, i, end - i < ROWS_OF_STEP ? end - i : ROWS_OF_STEP);
  if (r) __atomic_store_n(&s->failed, r, __ATOMIC_RELAXED);
}

/* The words, and their rows, bucket by bucket in the order of the rows. */
static int scatter(struct buckets *s) {
  struct cdv_kernel_launch count = launch_of(s, "radix", "radix_count", CDV_SORT_TILE);
  struct cdv_kernel_launch scan = launch_of(s, "filter", "scan", CDV_SINGLE_BLOCK);
  struct cdv_kernel_launch move = launch_of(s, "radix", "radix_scatter", CDV_SORT_TILE);
  scan.n = s->tiles * BUCKETS;
  count.buffers[BUF_RADIX_WORDS].data = move.buffers[BUF_RADIX_WORDS].data = s->words[0];
  count.buffers[BUF_RADIX_COUNTS].data = move.buffers[BUF_RADIX_COUNTS].data = scan.buffers[BUF_OUT].data = s->counts;
  count.scalars[SCALAR_RADIX_TILES] = move.scalars[SCALAR_RADIX_TILES] = s->tiles;
  count.scalars[SCALAR_RADIX_SHIFT] = move.scalars[SCALAR_RADIX_SHIFT] = HASH_BUCKET_SHIFT;
  move.buffers[BUF_RADIX_WORDS_OUT].data = s->words[1];
  move.buffers[BUF_RADIX_ROWS_OUT].data = s->rows;
  int r = cdv_exec_launch(s->work, &count);
  if (!r) r = cdv_exec_launch(s->work, &scan);
  return r ? r : cdv_exec_launch(s->work, &move);
}

/* ---- leaders ---- */
static void do_buckets(void *arg, int64_t first, int64_t last) {
  struct buckets *s = arg;
  uint32_t *slots = NULL;
  int64_t room = 0;
  int r = 0;
  for (int64_t b = first; !r && b < last; b++) {
    int64_t begin = s->counts[b * s->tiles], n = s->counts[(b + 1) * s->tiles] - begin, size = 16;
    while (size < 2 * n) size *= 2;
    if (size > room) {
      free(slots);
      slots = malloc(4 * (size_t)size);
      room = size;
      if (!slots) r = cdv_fail_memory(4 * size, "a hash table");
    }
    struct cdv_kernel_launch k = launch_of(s, "hash_table", "hash_bucket", CDV_SINGLE_ITEM);
    k.n = n;
    k.buffers[BUF_HASH_SLOTS].data = slots;
    k.buffers[BUF_HASH_WORDS].data = s->words[1] + begin;
    k.buffers[BUF_HASH_BUCKET_ROWS].data = s->rows + begin;
    k.buffers[BUF_HASH_LEADERS].data = s->ids;
    k.scalars[SCALAR_HASH_SIZE] = size;
    if (!r && n) r = cdv_exec_launch(s->work, &k);
  }
  free(slots);
  if (r) __atomic_store_n(&s->failed, r, __ATOMIC_RELAXED);
}

/* Leaders become numbers. */
static int number(struct buckets *s, int64_t *groups, uint32_t **first) {
  struct cdv_kernel_launch count = launch_of(s, "hash_table", "hash_count_leaders", CDV_SORT_TILE);
  struct cdv_kernel_launch rank = launch_of(s, "hash_table", "hash_rank_leaders", CDV_SORT_TILE);
  struct cdv_kernel_launch ids = launch_of(s, "hash_table", "hash_leader_ids", CDV_PER_ROW);
  count.buffers[BUF_HASH_LEADERS].data = rank.buffers[BUF_HASH_LEADERS].data = s->ids;
  ids.buffers[BUF_HASH_LEADERS].data = s->ids;
  count.buffers[BUF_HASH_COUNTS].data = rank.buffers[BUF_HASH_COUNTS].data = s->counts;
  rank.buffers[BUF_HASH_RANKS].data = ids.buffers[BUF_HASH_RANKS].data = s->ranks;
  int r = cdv_exec_launch(s->work, &count);
  if (r) return r;
  *groups = 0;
  for (int64_t t = 0; t < s->tiles; t++) {
    int64_t here = s->counts[t];
    s->counts[t] = *groups;
    *groups += here;
  }
  *first = malloc(4 * ((size_t)*groups + 1));
  if (!*first) return cdv_fail_memory(4 * *groups, "a hash table");
  rank.buffers[BUF_HASH_FIRST].data = *first;
  r = cdv_exec_launch(s->work, &rank);
  return r ? r : cdv_exec_launch(s->work, &ids);
}

static int thread_error(const struct buckets *s, int64_t nbytes) {
  int r = __atomic_load_n(&s->failed, __ATOMIC_RELAXED);
  /* the message is another thread's: what can fail there is memory */
  return r ? cdv_fail_memory(nbytes, "a hash table") : 0;
}

int cdv_hash_number_by_buckets(struct cdv_exec *w, const struct cdv_key_plan *plan, uint32_t *ids, int64_t *groups,
                               uint32_t **first) {
  struct buckets s = {.work = w, .plan = plan, .n = plan->n, .ids = ids};
  size_t n = (size_t)plan->n;
  s.tiles = s.n / SORT_TILE_ROWS + (s.n % SORT_TILE_ROWS != 0);
  *first = NULL;
  for (int i = 0; i < 2; i++) s.words[i] = malloc(8 * n);
  s.rows = malloc(4 * n);
  s.counts = malloc(8 * ((size_t)s.tiles * BUCKETS + 1));
  int r = s.words[0] && s.words[1] && s.rows && s.counts ? 0 : cdv_fail_memory(20 * s.n, "a hash table");
  if (!r) {
    cdv_parallel_for(CDV_POOL_KERNELS, write_words, &s, s.n, ROWS_OF_STEP);
    r = s.outside ? CDV_KEYS_OUTSIDE : thread_error(&s, s.n);
  }
  if (!r) r = scatter(&s);
  s.ranks = (uint32_t *)s.words[0]; /* these are not needed any more */
  if (!r) {
    cdv_parallel_for(CDV_POOL_KERNELS, do_buckets, &s, BUCKETS, 16);
    r = thread_error(&s, s.n);
  }
  if (!r) r = number(&s, groups, first);
  for (int i = 0; i < 2; i++) free(s.words[i]);
  free(s.rows);
  free(s.counts);
  if (r) free(*first), *first = NULL;
  return r;
}
