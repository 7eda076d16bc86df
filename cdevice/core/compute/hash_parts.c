/* hash_parts.c - numbers of the groups of equal rows, by threads of the CPU: each takes a part of the rows, writes the
 * words of some thousand of them, and looks these up while they are in its cache. The tables are merged in the order of
 * the parts, so that the numbers do not depend on how many threads there are. */
#include "core/compute/hash_parts.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/key_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_OF_CHUNK 16384    /* their words stay in the cache */
#define ROWS_OF_PART (1 << 16) /* at least */
#define MOST_PARTS 16
#define MOST_DIRECT_BITS 21
/* A table that is full has seen how often rows are of new groups; then buckets are faster where groups have so few rows. */
#define ESTIMATE_SIZE (1 << 15)
#define ESTIMATE_ROWS (1 << 17)
#define FEW_ROWS_OF_GROUP 6

_Static_assert(CDV_BUFFER_SLOTS(BUF_HASH_IDS, BUF_HASH_WORDS, BUF_HASH_SLOTS, BUF_HASH_KEYS, BUF_HASH_FIRST,
                                BUF_HASH_STATES, BUF_HASH_OLD_KEYS, BUF_HASH_OLD_FIRST) == 8,
               "buffers of a hash table are distinct");

uint64_t cdv_hash_seed(void) {
  static uint64_t known;
  uint64_t found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found) return found;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  found = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&known) | 1;
  uint64_t none = 0;
  bool ours = __atomic_compare_exchange_n(&known, &none, found, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return ours ? found : none;
}

bool cdv_hash_is_direct(const struct cdv_key_plan *plan) {
  return plan->exact && plan->bits <= MOST_DIRECT_BITS &&
         (INT64_C(1) << plan->bits) <= (plan->n > 4096 ? plan->n : 4096);
}

struct part {
  int64_t begin, n;
  void *slots; /* pairs of a word and an id; of direct tables ids */
  uint64_t *keys;
  uint32_t *first;
  uint32_t *remap; /* what its ids become in the first part */
  int64_t size, room;
  int64_t state[HASH_STATE];
  int failed;
  struct cdv_saved_error error;
};
struct numbering {
  struct cdv_exec *work;
  const struct cdv_key_plan *plan;
  uint32_t *ids; /* NULL: not wanted */
  bool direct;
  int64_t n_parts;
  struct part parts[MOST_PARTS];
};

static struct cdv_kernel_launch part_launch(struct part *p, const char *name, int64_t n) {
  struct cdv_kernel_launch k = {
      .family = "hash_table", .type = "bits", .name = name, .granularity = CDV_SINGLE_ITEM, .n = n};
  k.buffers[BUF_HASH_SLOTS].data = p->slots;
  k.buffers[BUF_HASH_KEYS].data = p->keys;
  k.buffers[BUF_HASH_FIRST].data = p->first;
  k.buffers[BUF_HASH_STATES].data = p->state;
  k.scalars[SCALAR_HASH_SIZE] = p->size;
  k.scalars[SCALAR_HASH_PART] = n;
  k.scalars[SCALAR_HASH_SEED] = (int64_t)cdv_hash_seed();
  return k;
}

/* ---- memory ---- */
static int no_memory(int64_t nbytes) { return cdv_fail_memory(nbytes, "a hash table"); }

static void free_table(struct part *p) {
  free(p->slots);
  free(p->keys);
  free(p->first);
  p->slots = p->keys = NULL;
  p->first = NULL;
}

/* How many groups so many rows have, if `seen` rows had `groups` and the values are equally frequent: of D values they
 * have D (1 - exp(-seen / D)). */
static double groups_of(double rows, double seen, double groups) {
  double less = 0, more = 64; /* seen / D; beyond 64 all values were seen */
  for (int i = 0; i < 40; i++) {
    double x = (less + more) / 2;
    if (-expm1(-x) * seen > groups * x)
      less = x;
    else
      more = x;
  }
  return -expm1(-rows / seen * more) * seen / more;
}

/* A larger table, with the groups of the one before, and room for those that the rest of the rows seems to have. */
static int grow(struct numbering *s, struct part *p, int64_t seen) {
  struct part old = *p;
  p->size = old.size ? old.size * CDV_HASH_GROWTH : CDV_HASH_FIRST_SIZE;
  if (old.size >= ESTIMATE_SIZE && p->n > seen) {
    double groups = groups_of((double)p->n, (double)seen, (double)p->state[0]);
    while (p->size < CDV_HASH_LARGEST_SIZE && (double)p->size < 2.1 * groups) p->size *= 2;
  }
  p->room = p->size / 2;
  p->slots = malloc(16 * (size_t)p->size);
  p->keys = malloc(8 * (size_t)p->room);
  p->first = malloc(4 * (size_t)p->room);
  struct cdv_kernel_launch k = part_launch(p, "hash_rehash", 1);
  k.buffers[BUF_HASH_OLD_KEYS].data = old.keys;
  k.buffers[BUF_HASH_OLD_FIRST].data = old.first;
  k.scalars[SCALAR_HASH_OLD_ROOM] = old.room;
  int r = p->slots && p->keys && p->first ? cdv_exec_launch(s->work, &k) : no_memory(22 * p->size);
  k.name = "hash_copy_lists";
  k.granularity = CDV_PER_ROW;
  k.n = old.room;
  if (!r && k.n) r = cdv_exec_launch(s->work, &k);
  free_table(&old);
  return r;
}

static int make_direct(struct part *p, int bits) {
  p->size = p->room = INT64_C(1) << bits;
  p->slots = calloc((size_t)p->size, 4);
  p->keys = malloc(8 * (size_t)p->room);
  p->first = malloc(4 * (size_t)p->room);
  return p->slots && p->keys && p->first ? 0 : no_memory(16 * p->size);
}

/* ---- a part ---- */
/* Of a full table: are there so many groups that buckets are faster? */
static bool are_many(int64_t n, const struct part *p, int64_t seen) {
  if (p->size >= CDV_HASH_LARGEST_SIZE && n >= CDV_HASH_BUCKETS_ROWS) return true;
  return p->size >= ESTIMATE_SIZE && n >= ESTIMATE_ROWS &&
         FEW_ROWS_OF_GROUP * groups_of((double)n, (double)seen, (double)p->state[0]) > (double)n;
}

static int look_up(struct numbering *s, struct part *p, int64_t begin, int64_t n, uint64_t *words) {
  uint64_t outside = 0;
  int r = cdv_key_plan_write(s->work, s->plan, begin, n, (cdevice_kernel_buffer){words, 0}, &outside);
  if (!r && outside) return CDV_KEYS_OUTSIDE;
  for (p->state[1] = 0; !r;) {
    struct cdv_kernel_launch k = part_launch(p, s->direct ? "hash_direct" : "hash_insert", n);
    k.buffers[BUF_HASH_IDS].data = s->ids ? s->ids + begin : (uint32_t *)(words + ROWS_OF_CHUNK);
    k.buffers[BUF_HASH_WORDS].data = words;
    k.scalars[SCALAR_HASH_FIRST_ROW] = begin;
    r = cdv_exec_launch(s->work, &k);
    if (r || s->direct || p->state[1] >= n) return r;
    int64_t seen = begin - p->begin + p->state[1];
    if (are_many(s->plan->n, p, seen)) return CDV_HASH_MANY_GROUPS;
    r = grow(s, p, seen);
  }
  return r;
}

static bool is_no_error(int r) { return r == CDV_KEYS_OUTSIDE || r == CDV_HASH_MANY_GROUPS; }

static void do_part(void *arg, int64_t first, int64_t last) {
  struct numbering *s = arg;
  for (int64_t i = first; i < last; i++) {
    struct part *p = &s->parts[i];
    uint64_t *words = malloc(12 * ROWS_OF_CHUNK); /* and ids, where they are not wanted */
    int r = words ? 0 : no_memory(12 * ROWS_OF_CHUNK);
    if (!r) r = s->direct ? make_direct(p, s->plan->bits) : grow(s, p, 0);
    for (int64_t k = 0; !r && k < p->n; k += ROWS_OF_CHUNK)
      r = look_up(s, p, p->begin + k, p->n - k < ROWS_OF_CHUNK ? p->n - k : ROWS_OF_CHUNK, words);
    free(words);
    p->failed = r;
    if (r && !is_no_error(r)) cdv_error_save(&p->error); /* it is the caller's thread that fails */
  }
}

/* ---- all parts ---- */
static int merge(struct numbering *s, struct part *p) {
  struct part *all = &s->parts[0];
  int64_t states[2][HASH_STATE];
  p->remap = malloc(4 * ((size_t)p->state[0] + 1));
  if (!p->remap) return no_memory(4 * p->state[0]);
  for (p->state[1] = 0;;) {
    struct cdv_kernel_launch k = part_launch(all, s->direct ? "hash_merge_direct" : "hash_merge", 1);
    memcpy(states[0], all->state, sizeof states[0]);
    memcpy(states[1], p->state, sizeof states[1]);
    k.buffers[BUF_HASH_STATES].data = states;
    k.buffers[BUF_HASH_REMAP].data = p->remap;
    k.buffers[BUF_HASH_OLD_KEYS].data = p->keys;
    k.buffers[BUF_HASH_OLD_FIRST].data = p->first;
    k.scalars[SCALAR_HASH_OLD_ROOM] = 0;             /* the lists of the part begin there */
    k.scalars[SCALAR_HASH_PART] = s->direct ? 1 : 0; /* whose state is the second one */
    int r = cdv_exec_launch(s->work, &k);
    memcpy(all->state, states[0], sizeof states[0]);
    memcpy(p->state, states[1], sizeof states[1]);
    if (!r && !s->direct && p->state[1] < p->state[0]) r = grow(s, all, all->n);
    if (r || s->direct || p->state[1] >= p->state[0]) return r;
  }
}

/* By all threads; numbers of the first part's groups stay. */
static int renumber(struct numbering *s) {
  int r = 0;
  for (int64_t i = 1; !r && s->ids && i < s->n_parts; i++) {
    struct part *p = &s->parts[i];
    struct cdv_kernel_launch k = {
        .family = "hash_table", .type = "bits", .name = "hash_renumber", .granularity = CDV_PER_ROW, .n = p->n};
    k.buffers[BUF_HASH_IDS].data = s->ids + p->begin;
    k.buffers[BUF_HASH_REMAP].data = p->remap;
    r = cdv_exec_launch(s->work, &k);
  }
  return r;
}

static int first_error(struct numbering *s) {
  int r = 0;
  for (int64_t i = 0; i < s->n_parts; i++) {
    struct part *p = &s->parts[i];
    if (!p->failed) continue;
    if (is_no_error(p->failed)) {
      if (!r || r == CDV_HASH_MANY_GROUPS) r = p->failed;
    } else {
      if (!r || is_no_error(r)) cdv_error_restore(&p->error), r = p->failed;
      cdv_error_clear(&p->error);
    }
    p->failed = 0;
  }
  return r;
}

static void divide(struct numbering *s, int64_t n) {
  int64_t most = cdv_threads(CDV_POOL_KERNELS, 0);
  s->n_parts = n / ROWS_OF_PART < most ? n / ROWS_OF_PART : most;
  if (s->n_parts > MOST_PARTS) s->n_parts = MOST_PARTS;
  if (s->n_parts < 1) s->n_parts = 1;
  for (int64_t i = 0; i < s->n_parts; i++) {
    s->parts[i].begin = n / s->n_parts * i;
    s->parts[i].n = (i == s->n_parts - 1 ? n : n / s->n_parts * (i + 1)) - s->parts[i].begin;
  }
}

int cdv_hash_number_by_threads(struct cdv_exec *w, const struct cdv_key_plan *plan, uint32_t *ids, int64_t *groups,
                               uint32_t **first) {
  struct numbering *s = calloc(1, sizeof *s);
  if (!s) return no_memory((int64_t)sizeof *s);
  *s = (struct numbering){.work = w, .plan = plan, .ids = ids, .direct = cdv_hash_is_direct(plan)};
  divide(s, plan->n);
  cdv_parallel_for(CDV_POOL_KERNELS, do_part, s, s->n_parts, 1);
  int r = first_error(s);
  for (int64_t i = 1; !r && i < s->n_parts; i++) r = merge(s, &s->parts[i]);
  if (!r) r = renumber(s);
  *groups = r ? 0 : s->parts[0].state[0];
  *first = r ? NULL : s->parts[0].first;
  if (!r) s->parts[0].first = NULL;
  for (int64_t i = 0; i < s->n_parts; i++) {
    free_table(&s->parts[i]);
    free(s->parts[i].remap);
  }
  free(s);
  return r;
}
