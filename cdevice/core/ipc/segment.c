/* segment.c - shared memory: a file without a name that other processes of the machine map.
 *
 * The kernel counts its holders: descriptors and mappings. So nothing is left behind, however a process ends. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "core/ipc/segment.h"
#include "core/base/error.h"
#include "core/base/parallel_memcpy.h"
#include "core/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define LARGE ((int64_t)64 << 20)  /* from here on the free memory is looked at first */
#define PIECE ((int64_t)256 << 10) /* is reserved in less time than lies between two signals of a profiler */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cdv_segment *mapped; /* all that this process has mapped */
static atomic_llong live;
static _Thread_local const cdevice_allocator *overriding;

static void in_child(void) { pthread_mutex_init(&lock, NULL); }
__attribute__((constructor)) static void watch_forks(void) { cdv_at_fork(NULL, NULL, in_child); }

int64_t cdv_live_segments(void) { return atomic_load(&live); }

static int failed(const char *doing, int64_t nbytes) {
  int code = errno;
  bool memory = code == ENOMEM || code == ENOSPC;
  const char *hint = code == EMFILE ? "; raise the limit of open files, ulimit -n" : "";
  if (!strcmp(doing, "memfd_create") && (code == ENOSYS || code == EPERM || code == EACCES))
    hint = "; where a sandbox refuses this call, nothing can be shared";
  return cdv_fail(memory ? CDV_MEMORY : CDV_DEVICE, code, "%lld bytes of shared memory: %s: %s%s", (long long)nbytes,
                  doing, strerror(code), hint);
}

/* A file without a name whose size is sealed: a reader of one that shrinks gets a SIGBUS.  Files of shm_open have no
 * seals. */
static int anonymous_file(void) { return memfd_create("cdevice", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

static struct cdv_segment *new_segment(int fd, char *base, int64_t nbytes, const struct stat *st) {
  struct cdv_segment *s = malloc(sizeof *s);
  if (!s) return NULL;
  atomic_init(&s->refs, 1);
  s->base = base;
  s->nbytes = nbytes;
  s->fd = fd;
  s->device = st->st_dev;
  s->inode = st->st_ino;
  s->is_file = false;
  s->sealed_when_shared = false;
  s->device_memory = (struct cdv_owner){NULL, NULL};
  s->next = NULL;
  atomic_fetch_add(&live, 1);
  if (!base) return s;
  pthread_mutex_lock(&lock);
  s->next = mapped;
  mapped = s;
  pthread_mutex_unlock(&lock);
  return s;
}

/* Reserving more memory than there is would have the kernel end a process, this one or another. */
static bool there_is_memory(int64_t nbytes) {
  FILE *f = nbytes < LARGE ? NULL : fopen("/proc/meminfo", "re");
  char line[128];
  long long kib, available = -1, swap = 0;
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "MemAvailable: %lld", &kib) == 1) available = kib;
    if (sscanf(line, "SwapFree: %lld", &kib) == 1) swap = kib;
  }
  if (f) fclose(f);
  return available < 0 || nbytes >> 10 < available + swap;
}

/* A write into memory that is not there would be a SIGBUS.  In pieces, for a signal undoes a whole call. */
static int reserve(int fd, int64_t size) {
  int code = 0;
  for (int64_t at = 0; !code && at < size; at += PIECE) do
      code = posix_fallocate(fd, at, size - at < PIECE ? size - at : PIECE);
    while (code == EINTR);
  return code;
}

int cdv_segment_create(int64_t nbytes, bool both_write, struct cdv_segment **out) {
  struct stat st;
  int64_t size = nbytes > 0 ? nbytes : 1;
  if (!there_is_memory(size))
    return cdv_fail(CDV_MEMORY, ENOMEM, "%lld bytes of shared memory: the machine has less memory left",
                    (long long)nbytes);
  int fd = anonymous_file();
  if (fd < 0) return failed("memfd_create", nbytes);
  int code = reserve(fd, size);
  errno = code;
  char *base =
      code || fstat(fd, &st) ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    int r = failed(code ? "posix_fallocate" : "mmap", nbytes);
    close(fd);
    return r;
  }
  (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  *out = new_segment(fd, base, size, &st);
  if (*out) {
    (*out)->sealed_when_shared = !both_write;
    return 0;
  }
  munmap(base, (size_t)size);
  close(fd);
  return cdv_fail_memory(sizeof **out, "a segment");
}

void cdv_segment_seal(const struct cdv_segment *s) {
  if (s->sealed_when_shared) (void)fcntl(s->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE); /* not known before Linux 5.1 */
}

static int write_all(int fd, int64_t at, const char *bytes, int64_t nbytes) {
  while (nbytes > 0) {
    ssize_t n = pwrite(fd, bytes, (size_t)nbytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    bytes += n;
    nbytes -= n;
    at += n;
  }
  return 0;
}

int cdv_segment_of_bytes(const void *bytes, int64_t nbytes, struct cdv_segment **out) {
  int fd = anonymous_file();
  if (fd < 0) return failed("memfd_create", nbytes);
  if (write_all(fd, 0, bytes, nbytes)) {
    int r = failed("write", nbytes);
    close(fd);
    return r;
  }
  (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return cdv_segment_map(fd, nbytes, CDV_SEGMENT_READ, out);
}

int cdv_segment_of_descriptor(int fd, struct cdv_segment **out) {
  const struct stat none = {0};
  *out = new_segment(fd, NULL, 0, &none);
  if (*out) return 0;
  close(fd);
  return cdv_fail_memory(sizeof **out, "a segment");
}

int cdv_segment_of_device(void *data, int64_t nbytes, struct cdv_owner owner, struct cdv_segment **out) {
  const struct stat none = {0};
  *out = new_segment(-1, NULL, nbytes, &none); /* no memory of the CPU: it is not looked for */
  if (!*out) {
    owner.drop(owner.owner);
    return cdv_fail_memory(sizeof **out, "a segment");
  }
  (*out)->base = data;
  (*out)->device_memory = owner;
  return 0;
}

static bool try_ref(struct cdv_segment *s) {
  long n = atomic_load(&s->refs);
  while (n > 0)
    if (atomic_compare_exchange_weak(&s->refs, &n, n + 1)) return true;
  return false; /* it is on its way out */
}

static struct cdv_segment *already_mapped(const struct stat *st, int64_t nbytes) {
  struct cdv_segment *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct cdv_segment *s = mapped; s && !found; s = s->next)
    if (s->inode == st->st_ino && s->device == st->st_dev && s->nbytes >= nbytes && try_ref(s)) found = s;
  pthread_mutex_unlock(&lock);
  return found;
}

int cdv_segment_map(int fd, int64_t nbytes, enum cdv_segment_kind kind, struct cdv_segment **out) {
  struct stat st;
  bool is_file = kind == CDV_SEGMENT_FILE, writes = kind == CDV_SEGMENT_WRITE;
  int r = 0, seals = fcntl(fd, F_GET_SEALS);
  if (fstat(fd, &st))
    r = failed("fstat", nbytes);
  else if (nbytes < 0 || st.st_size < nbytes)
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "shared memory has %lld bytes, %lld were announced", (long long)st.st_size,
                 (long long)nbytes);
  else if (!is_file && (st.st_uid != geteuid() || (seals >= 0 && !(seals & F_SEAL_SHRINK))))
    r = cdv_fail(CDV_ARGUMENT, EPERM, "shared memory that %s",
                 st.st_uid != geteuid() ? "belongs to another user" : "its owner may cut");
  struct cdv_segment *known = r || writes ? NULL : already_mapped(&st, nbytes);
  if (r || known) {
    close(fd);
    *out = known;
    return r;
  }
  char *base =
      mmap(NULL, nbytes > 0 ? (size_t)nbytes : 1, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    r = failed("mmap", nbytes);
    close(fd);
    return r;
  }
  *out = new_segment(fd, base, nbytes > 0 ? nbytes : 1, &st);
  if (*out) {
    (*out)->is_file = is_file;
    return 0;
  }
  munmap(base, nbytes > 0 ? (size_t)nbytes : 1);
  close(fd);
  return cdv_fail_memory(sizeof **out, "a segment");
}

/* The file that the bytes are mapped from, if reading it gives the same bytes. */
static struct cdv_segment *file_of(uintptr_t at, int64_t nbytes, int64_t *offset) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[4096 + 128], mode[8], path[4096];
  struct cdv_segment *found = NULL;
  while (maps && fgets(line, sizeof line, maps)) {
    uintptr_t begin, end;
    uint64_t in_file, inode;
    unsigned major, minor;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]", &begin, &end, mode,
               &in_file, &major, &minor, &inode, path) != 8)
      continue;
    if (at < begin || at >= end) continue;
    bool as_written = mode[0] == 'r' && (mode[3] == 's' || mode[1] != 'w');
    if (!as_written || (uint64_t)nbytes > end - at || path[0] != '/') break;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) break;
    if (fstat(fd, &st) || st.st_ino != inode || !S_ISREG(st.st_mode) ||
        !(found = new_segment(fd, NULL, st.st_size, &st))) {
      close(fd);
      break;
    }
    found->is_file = true;
    *offset = (int64_t)(in_file + (at - begin));
    break;
  }
  if (maps) fclose(maps);
  return found;
}

static struct cdv_segment *find_mapped(const void *address, int64_t nbytes, int64_t *offset) {
  uintptr_t at = (uintptr_t)address;
  struct cdv_segment *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct cdv_segment *s = mapped; s && !found; s = s->next) {
    uintptr_t base = (uintptr_t)s->base;
    if (at < base || at - base > (uintptr_t)s->nbytes || (uint64_t)nbytes > (uint64_t)s->nbytes - (at - base)) continue;
    *offset = (int64_t)(at - base);
    if (try_ref(s)) found = s;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

struct cdv_segment *cdv_segment_find(const void *address, int64_t nbytes, int64_t *offset) {
  struct cdv_segment *found = find_mapped(address, nbytes, offset);
  return found ? found : file_of((uintptr_t)address, nbytes, offset);
}

struct cdv_segment *cdv_segment_ref(struct cdv_segment *s) {
  atomic_fetch_add(&s->refs, 1);
  return s;
}

void cdv_segment_unref(struct cdv_segment *s) {
  if (!s || atomic_fetch_sub(&s->refs, 1) != 1) return;
  pthread_mutex_lock(&lock);
  for (struct cdv_segment **place = &mapped; *place; place = &(*place)->next)
    if (*place == s) {
      *place = s->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  if (s->device_memory.drop)
    s->device_memory.drop(s->device_memory.owner);
  else if (s->base)
    munmap(s->base, (size_t)s->nbytes);
  if (s->fd >= 0) close(s->fd);
  free(s);
  atomic_fetch_sub(&live, 1);
}

/* ---- as an allocator ---- */
static int allocate(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)device, (void)stream;
  struct cdv_segment *s;
  int r = cdv_segment_create(nbytes, false, &s);
  if (r) return cdevice_backend_fail(err, r, 0, NULL, "%s", cdv_error_last()->message);
  *out = (cdevice_block){.data = s->base, .nbytes = nbytes, .device_id = -1, .opaque = {s, NULL}};
  return 0;
}

static void give_back(void *self, const cdevice_block *block) {
  (void)self;
  cdv_segment_unref(block->opaque[0]);
}

static const cdevice_allocator allocator = {.struct_size = sizeof allocator, .alloc = allocate, .free = give_back};

const cdevice_allocator *cdv_allocator_override(const cdevice_allocator *a) {
  const cdevice_allocator *before = overriding;
  overriding = a;
  return before;
}

const cdevice_allocator *cdv_overriding_allocator(void) { return overriding; }

/* A page that is written by its file is neither cleared nor mapped before. */
static bool write_by_file(char *dst, const char *src, int64_t nbytes) {
  int64_t at;
  struct cdv_segment *s = find_mapped(dst, nbytes, &at);
  bool written = s && s->sealed_when_shared && !write_all(s->fd, at, src, nbytes);
  cdv_segment_unref(s);
  return written;
}

int cdv_allocate_in_segments(int on) {
  cdv_memcpy_through(on ? write_by_file : NULL);
  return cdv_allocator_override(on ? &allocator : NULL) == &allocator;
}
#endif
