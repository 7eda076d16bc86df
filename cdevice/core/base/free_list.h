/* free_list.h - memory for exports, with a small cache. */
#ifndef CDEVICE_CORE_BASE_FREE_LIST_H
#define CDEVICE_CORE_BASE_FREE_LIST_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */
void cdv_block_trim(void); /* gives small memory back that is kept for the next exports and imports */
/* cffi: end */

#define CDV_CACHE_LINE 64 /* of a cache */
/* Tells threads apart, mostly: by where their stacks are. */
static inline uintptr_t cdv_thread_hint(void) {
  char here;
  return (uintptr_t)&here >> 20;
}
/* by: the hint of the thread that made it. */
void *cdv_block_alloc(size_t size);
void cdv_block_free(void *block, size_t size, uintptr_t by);
void *cdv_small_alloc(size_t size); /* below 2 KiB, the same */
void cdv_small_free(void *block, uintptr_t by);
#define CDV_NODE_ROOT 0 /* kinds of nodes, each of one size */
#define CDV_NODE_VIEW 1
#define CDV_NODE_SCHEMA 2
#define CDV_NODE_KINDS 3
/* Has the lines of a struct fetched that will soon be needed; any address is legal. */
static inline void cdv_prefetch_lines(const void *p, size_t size) {
  for (size_t i = 0; i < size; i += 64) __builtin_prefetch((const void *)((uintptr_t)p + i));
}
void *cdv_node_alloc(int kind, size_t size);
void cdv_node_free(int kind, void *node);

#endif
