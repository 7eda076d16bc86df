/* free_list.c - memory for exports, with a small cache.
 *
 * glibc joins freed neighbours and, past 64 KiB, trims the heap on every free: a wide export then costs ten times
 * as much, depending on what lies at the top of the heap.  About 5 MB of blocks therefore stay here. */
#include "core/base/free_list.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CLASSES 9 /* 4 KiB ... 1 MiB */
#define PER_CLASS 128
#define SMALLEST 2048

static struct {
  atomic_flag busy;
  int n;
  void *block[PER_CLASS];
} cache[CLASSES];
static const unsigned char limit[CLASSES] = {16, 16, 16, PER_CLASS, 4, 4, 4, 2, 1};

static int class_of(size_t size) { return size <= 4096 ? 0 : 64 - __builtin_clzll(size - 1) - 12; }

/* Small blocks that other threads gave back than had made them.  glibc has each thread allocate from a heap of its own,
 * with a lock: a consumer's thread that frees what a producer's makes would make it wait, again and again. */
#define GIVEN_BACK 256
struct given {
  struct given *next;
};
static struct {
  char apart[CDV_CACHE_LINE];
  _Atomic(struct given *) first;
  atomic_int n; /* about */
  char also_apart[CDV_CACHE_LINE];
} given_back;

static void take_back(void) {
  struct given *g = atomic_exchange_explicit(&given_back.first, NULL, memory_order_acquire);
  atomic_store_explicit(&given_back.n, 0, memory_order_relaxed);
  for (struct given *next; g; g = next) {
    next = g->next;
    free(g);
  }
}

void *cdv_small_alloc(size_t size) {
  if (atomic_load_explicit(&given_back.first, memory_order_relaxed)) take_back();
  return malloc(size < sizeof(struct given) ? sizeof(struct given) : size);
}

void cdv_small_free(void *block, uintptr_t by) {
#ifndef __SANITIZE_ADDRESS__ /* which wants to see every free */
  if (by != cdv_thread_hint() && atomic_fetch_add_explicit(&given_back.n, 1, memory_order_relaxed) < GIVEN_BACK) {
    struct given *g = block;
    g->next = atomic_load_explicit(&given_back.first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&given_back.first, &g->next, g, memory_order_release,
                                                  memory_order_relaxed)) {}
    return;
  }
#else
  (void)by;
#endif
  free(block);
}

void *cdv_block_alloc(size_t size) {
  if (size < SMALLEST) return cdv_small_alloc(size);
  if (class_of(size) >= CLASSES) return malloc(size);
  int c = class_of(size);
  void *block = NULL;
  if (!atomic_flag_test_and_set_explicit(&cache[c].busy, memory_order_acquire)) { /* never waited for */
    if (cache[c].n) block = cache[c].block[--cache[c].n];
    atomic_flag_clear_explicit(&cache[c].busy, memory_order_release);
  }
  return block ? block : malloc((size_t)4096 << c);
}

void cdv_block_free(void *block, size_t size, uintptr_t by) {
  if (size < SMALLEST) {
    cdv_small_free(block, by);
    return;
  }
  if (class_of(size) < CLASSES) {
    int c = class_of(size);
    if (!atomic_flag_test_and_set_explicit(&cache[c].busy, memory_order_acquire)) {
      if (cache[c].n < limit[c]) {
        cache[c].block[cache[c].n++] = block;
        block = NULL;
      }
      atomic_flag_clear_explicit(&cache[c].busy, memory_order_release);
    }
  }
  free(block);
}

/* ---- the structs of arrays and schemas ---- */

/* Thousands of imports at once would otherwise fetch fresh pages each time, because glibc gives them back between. */
#define NODES 4096
struct unused {
  struct unused *next;
};
static struct {
  atomic_flag busy;
  int n;
  struct unused *first;
} nodes[CDV_NODE_KINDS];

void *cdv_node_alloc(int kind, size_t size) {
  struct unused *u = NULL;
  if (!atomic_flag_test_and_set_explicit(&nodes[kind].busy, memory_order_acquire)) {
    if ((u = nodes[kind].first)) {
      nodes[kind].first = u->next;
      nodes[kind].n--;
      cdv_prefetch_lines(u->next, size);
    }
    atomic_flag_clear_explicit(&nodes[kind].busy, memory_order_release);
  }
  return u ? (void *)u : malloc(size);
}

void cdv_node_free(int kind, void *node) {
#ifndef __SANITIZE_ADDRESS__ /* which wants to see every free */
  if (!atomic_flag_test_and_set_explicit(&nodes[kind].busy, memory_order_acquire)) {
    if (nodes[kind].n < NODES) {
      struct unused *u = node;
      u->next = nodes[kind].first;
      nodes[kind].first = u;
      nodes[kind].n++;
      node = NULL;
    }
    atomic_flag_clear_explicit(&nodes[kind].busy, memory_order_release);
  }
#else
  (void)kind;
#endif
  free(node);
}

void cdv_block_trim(void) {
  take_back();
  for (int c = 0; c < CLASSES; c++) {
    if (atomic_flag_test_and_set_explicit(&cache[c].busy, memory_order_acquire)) continue;
    while (cache[c].n) free(cache[c].block[--cache[c].n]);
    atomic_flag_clear_explicit(&cache[c].busy, memory_order_release);
  }
  for (int kind = 0; kind < CDV_NODE_KINDS; kind++) {
    if (atomic_flag_test_and_set_explicit(&nodes[kind].busy, memory_order_acquire)) continue;
    struct unused *u = nodes[kind].first;
    nodes[kind].first = NULL;
    nodes[kind].n = 0;
    atomic_flag_clear_explicit(&nodes[kind].busy, memory_order_release);
    for (struct unused *next; u; u = next) {
      next = u->next;
      free(u);
    }
  }
}
