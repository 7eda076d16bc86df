/* Loaded before everything else (LD_PRELOAD): what the watched library asks of the system fails at the n-th time, once.
 *
 * Watched is who calls: memory that Python, numpy or a driver asks for never fails.  Live blocks of the watched library are
 * counted whoever frees them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define API __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static uintptr_t from, to; /* the watched library's code */
static atomic_llong seen, target = -1, fired, live, live_bytes;
static _Atomic(const char *) what;
static _Atomic uintptr_t where;

/* ---- blocks of the watched library, an open table that is never full: lookups end at an empty place ---- */
#define PLACES (1u << 20)
static struct {
  void *block;
  size_t size;
} table[PLACES];
static atomic_flag busy = ATOMIC_FLAG_INIT;
static void lock(void) { while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)); }
static void unlock(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }
static unsigned place_of(void *p) { return (unsigned)(((uintptr_t)p >> 4) * 2654435761u) % PLACES; }

static void *note(void *block, size_t size) {
  if (!block) return NULL;
  lock();
  unsigned i = place_of(block);
  while (table[i].block && table[i].block != block) i = (i + 1) % PLACES;
  table[i].block = block;
  table[i].size = size;
  unlock();
  live++;
  live_bytes += (long long)size;
  return block;
}

static void forget(void *block) {
  if (!block || !live) return;
  lock();
  unsigned i = place_of(block), k;
  while (table[i].block && table[i].block != block) i = (i + 1) % PLACES;
  if (!table[i].block) {
    unlock();
    return;
  }
  live--;
  live_bytes -= (long long)table[i].size;
  for (k = (i + 1) % PLACES; table[k].block; k = (k + 1) % PLACES) { /* close the hole */
    unsigned home = place_of(table[k].block);
    if ((k - home) % PLACES >= (k - i) % PLACES) table[i] = table[k], i = k;
  }
  table[i].block = NULL;
  unlock();
}

/* ---- who, and whether it fails ---- */
static int watched(uintptr_t caller) { return caller >= from && caller < to; }

static int fails(uintptr_t caller, const char *name) {
  long long n = seen++;
  if (n != target) return 0;
  what = name;
  where = caller - from;
  fired++;
  return 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *path) {
  (void)size;
  if (strcmp(info->dlpi_name, path)) return 0;
  from = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > to) to = end;
  }
  return 1;
}

/* Who shall be watched; 0: it is not loaded. */
API int faults_watch(char *path) { return dl_iterate_phdr(visit, path); }
API void faults_arm(long long n) { /* n < 0: count only */
  seen = 0;
  fired = 0;
  target = n;
}
API long long faults_seen(void) { return seen; }
API long long faults_fired(void) { return fired; }
API const char *faults_what(void) { return what; }
API uintptr_t faults_where(void) { return where; } /* as addr2line wants it */
API long long faults_live(void) { return live; }
API long long faults_live_bytes(void) { return live_bytes; }

/* ---- memory ---- */
API void *malloc(size_t n) {
  uintptr_t caller = CALLER;
  if (!watched(caller)) return __libc_malloc(n);
  if (fails(caller, "malloc")) return errno = ENOMEM, NULL;
  return note(__libc_malloc(n), n);
}
API void *calloc(size_t n, size_t m) {
  uintptr_t caller = CALLER;
  if (!watched(caller)) return __libc_calloc(n, m);
  if (fails(caller, "calloc")) return errno = ENOMEM, NULL;
  return note(__libc_calloc(n, m), n * m);
}
API void *realloc(void *old, size_t n) {
  uintptr_t caller = CALLER;
  if (!watched(caller)) return forget(old), __libc_realloc(old, n);
  if (fails(caller, "realloc")) return errno = ENOMEM, NULL;
  forget(old);
  return note(__libc_realloc(old, n), n);
}
API void *aligned_alloc(size_t alignment, size_t n) {
  uintptr_t caller = CALLER;
  if (!watched(caller)) return __libc_memalign(alignment, n);
  if (fails(caller, "aligned_alloc")) return errno = ENOMEM, NULL;
  return note(__libc_memalign(alignment, n), n);
}
API int posix_memalign(void **out, size_t alignment, size_t n) {
  uintptr_t caller = CALLER;
  if (watched(caller) && fails(caller, "posix_memalign")) return ENOMEM;
  void *p = __libc_memalign(alignment, n);
  if (!p) return ENOMEM;
  *out = watched(caller) ? note(p, n) : p;
  return 0;
}
API void free(void *p) {
  forget(p);
  __libc_free(p);
}

/* ---- what else may be refused ---- */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
API void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
  static __typeof__(&mmap) next;
  uintptr_t caller = CALLER;
  if (watched(caller) && fails(caller, "mmap")) return errno = ENOMEM, MAP_FAILED;
  if (!next) next = NEXT(mmap);
  return next(at, n, protection, flags, fd, offset);
}
API int pthread_create(pthread_t *out, const pthread_attr_t *a, void *(*run)(void *), void *context) {
  static __typeof__(&pthread_create) next;
  uintptr_t caller = CALLER;
  if (watched(caller) && fails(caller, "pthread_create")) return EAGAIN;
  if (!next) next = NEXT(pthread_create);
  return next(out, a, run, context);
}
API int eventfd(unsigned n, int flags) {
  static __typeof__(&eventfd) next;
  uintptr_t caller = CALLER;
  if (watched(caller) && fails(caller, "eventfd")) return errno = EMFILE, -1;
  if (!next) next = NEXT(eventfd);
  return next(n, flags);
}
