/* host_pool.c - a pool of freed host memory, by size, with a limit.
 *
 * Small ones are malloc's business.  A pooled block is chained through its own first bytes, in a list for its size (the
 * youngest is taken, its pages are in the caches) and in one by age (the oldest goes first). */
#include "common/host_pool.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif

#define KEPT ((int64_t)1 << 30)
#define HELD ((int64_t)256 << 20) /* of these; the system may take the others back */
#define ALIGNMENT ((size_t)64)
#define PAGE ((size_t)4096) /* pooled blocks begin at one */
#define SMALLEST ((size_t)HOST_POOL_SMALLEST)
#define HUGE ((size_t)2 << 20)  /* a huge page */
#define LARGE ((size_t)4 << 20) /* from here on memory is taken in huge pages */
#define STEPS 4                 /* size classes between two powers of two */
#define CLASSES (44 * STEPS)

typedef struct block {
  struct block *newer, *older; /* by age */
  struct block *next, **link;  /* of its class; what points to it */
  size_t size;
} block;

static struct {
  pthread_mutex_t lock;
  block *newest, *oldest, *classes[CLASSES];
  int64_t kept;
  atomic_llong limit;
  atomic_int started;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
#ifndef _WIN32 /* no process forks there */
static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { pthread_mutex_unlock(&pool.lock); }
__attribute__((constructor)) static void init(void) { pthread_atfork(before_fork, after_fork, after_fork); }
#endif

/* The class of n bytes, n >= SMALLEST, and the bytes of its blocks; -1: too large for any. */
static int class_of(size_t n, size_t *size) {
  int c = 0;
  size_t base = SMALLEST;
  while (n / 2 >= base && c < CLASSES - STEPS) base *= 2, c += STEPS;
  size_t step = base / STEPS;
  int classes = 1;
  while (base >= LARGE && step < HUGE) step *= 2, classes *= 2; /* whole huge pages: some classes stay empty */
  for (*size = base; *size < n; *size += step) c += classes;
  return c < CLASSES ? c : -1;
}

static void take_out(block *b) {
  *(b->newer ? &b->newer->older : &pool.newest) = b->older;
  *(b->older ? &b->older->newer : &pool.oldest) = b->newer;
  *b->link = b->next;
  if (b->next) b->next->link = b->link;
  pool.kept -= (int64_t)b->size;
}

static void put_in(block *b, size_t size, block **class) {
  *b = (block){.older = pool.newest, .next = *class, .link = class, .size = size};
  *(b->older ? &b->older->newer : &pool.oldest) = b;
  if (b->next) b->next->link = &b->next;
  pool.newest = *class = b;
  pool.kept += (int64_t)size;
}

/* Takes the oldest out until at most `most` bytes are pooled; they are the caller's, chained by next. */
static block *shrink(int64_t most) {
  block *out = NULL;
  while (pool.kept > most) {
    block *b = pool.oldest;
    take_out(b);
    b->next = out;
    out = b;
  }
  return out;
}

#ifdef _WIN32
static void *fresh(size_t size) { return _aligned_malloc(size, size >= SMALLEST ? PAGE : ALIGNMENT); }
static void give_back(void *data, size_t size) {
  (void)size;
  _aligned_free(data);
}
#else
/* Large blocks are the system's: what malloc is given back it may keep, tens of MiB for each thread. */
#ifdef __SANITIZE_ADDRESS__ /* sees malloc's alone */
static bool is_mapped(size_t size) { return size > PTRDIFF_MAX; }
#else
static bool is_mapped(size_t size) { return size >= LARGE; }
#endif

static void *map(size_t size) {
  char *memory = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  size_t head = -(uintptr_t)memory & (HUGE - 1);
  if (head) munmap(memory, head);
  munmap(memory + head + size, HUGE - head);
  return memory + head;
}

static void *fresh(size_t size) {
  void *data = is_mapped(size) ? map(size) : aligned_alloc(size >= SMALLEST ? PAGE : ALIGNMENT, size);
#ifdef MADV_HUGEPAGE
  if (data && is_mapped(size)) madvise(data, size, MADV_HUGEPAGE); /* first touch costs a tenth */
#endif
  return data;
}

static void give_back(void *data, size_t size) {
  if (is_mapped(size))
    munmap(data, size);
  else
    free(data);
}
#endif

/* Beyond HELD the system may take the pages of a block when it lacks memory; else they cost nothing to use again.  The
 * first one has the links.  The block is the caller's: its content may be lost. */
static void offer(void *data, size_t size) {
#ifdef MADV_FREE
  size_t first = is_mapped(size) ? HUGE : PAGE; /* with larger pages than PAGE the call fails, and the block is kept */
  madvise((char *)data + first, size - first, MADV_FREE);
#else
  (void)data, (void)size;
#endif
}

static void free_all(block *b) {
  for (block *next; b; b = next) {
    next = b->next;
    give_back(b, b->size);
  }
}

void host_pool_count(host_pool_use *use, int64_t bytes) {
  long long now = atomic_fetch_add_explicit(&use->live, bytes, memory_order_relaxed) + bytes;
  long long most = atomic_load_explicit(&use->peak, memory_order_relaxed);
  while (now > most &&
         !atomic_compare_exchange_weak_explicit(&use->peak, &most, now, memory_order_relaxed, memory_order_relaxed)) {}
}

/* CDEVICE_CPU_POOL: bytes, or with K, M or G behind them; -1: neither. */
static int64_t bytes_of(const char *text) {
  char *end;
  long long n = strtoll(text, &end, 10);
  const char *units = "KMG", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (end == text || n < 0 || (*end && (!unit || end[1])) || n > INT64_MAX >> shift) return -1;
  return n << shift;
}

void host_pool_start(const cdevice_host *host) {
  if (atomic_exchange(&pool.started, 1)) return;
  const char *text = getenv("CDEVICE_CPU_POOL");
  int64_t limit = text && *text ? bytes_of(text) : KEPT;
  if (limit < 0) {
    limit = KEPT;
    if (host)
      host->log(30,
                "CDEVICE_CPU_POOL: expected a number of bytes with an optional suffix K, M or G; using the default");
  }
#ifdef __SANITIZE_ADDRESS__
  limit = 0; /* a use after free must be detected */
#endif
  pool.limit = limit;
}

int host_pool_keeps(int64_t nbytes) { return nbytes >= (int64_t)SMALLEST && nbytes <= pool.limit; }

void *host_pool_get(int64_t nbytes, size_t *size) {
  size_t n = (size_t)nbytes;
  void *data = NULL;
  int c = -1;
  if (nbytes < 0 || n > PTRDIFF_MAX - 2 * HUGE) return NULL;
  *size = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (n >= SMALLEST) *size = (n + PAGE - 1) / PAGE * PAGE;
  if (n >= LARGE) *size = (n + HUGE - 1) / HUGE * HUGE;
  if (host_pool_keeps(nbytes)) c = class_of(n, size);
  if (c >= 0) {
    pthread_mutex_lock(&pool.lock);
    data = pool.classes[c];
    if (data) take_out(data);
    pthread_mutex_unlock(&pool.lock);
  }
  if (!data) data = fresh(*size);
  if (!data) { /* pooled memory may be what the system lacks */
    host_pool_trim();
    data = fresh(*size);
  }
  return data;
}

void host_pool_put(void *data, size_t size) {
  size_t of_class;
  block *out = data;
  if (host_pool_keeps((int64_t)size)) {
    int c = class_of(size, &of_class);
    if (c >= 0 && of_class == size) {
      if (host_pool_kept() + (int64_t)size > HELD) offer(data, size);
      pthread_mutex_lock(&pool.lock);
      put_in(data, size, &pool.classes[c]);
      out = shrink(pool.limit);
      pthread_mutex_unlock(&pool.lock);
      free_all(out);
      return;
    }
  }
  give_back(data, size);
}

int64_t host_pool_kept(void) {
  pthread_mutex_lock(&pool.lock);
  int64_t kept = pool.kept;
  pthread_mutex_unlock(&pool.lock);
  return kept;
}

void host_pool_trim(void) {
  pthread_mutex_lock(&pool.lock);
  block *out = shrink(0);
  pthread_mutex_unlock(&pool.lock);
  free_all(out);
}
