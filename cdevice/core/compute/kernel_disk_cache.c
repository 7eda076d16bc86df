/* kernel_disk_cache.c - programs on disk, in a folder of the user's own: what lies there is run.
 *
 * CDEVICE_CACHE_DIR names the folder ("0": none); else it is cdevice in XDG_CACHE_HOME or ~/.cache. */
#include "core/compute/kernel_disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t add(uint64_t h, const void *data, size_t n) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 0x100000001b3;
  return h;
}

void cdv_digest_add(struct cdv_digest *d, const char *text) {
  size_t n = strlen(text) + 1; /* with its end */
  if (!d->words[0]) *d = (struct cdv_digest){{0xcbf29ce484222325, 0x9e3779b97f4a7c15}};
  d->words[0] = add(d->words[0], text, n);
  d->words[1] = add(d->words[1] ^ d->words[0] >> 32, text, n);
}

#ifdef _WIN32
/* There the owner of a file and who may write to it are in lists that nothing here reads: nothing is kept. */
void *cdv_cache_read(const struct cdv_digest *d, int64_t *nbytes) {
  (void)d;
  *nbytes = 0;
  return NULL;
}
void cdv_cache_write(const struct cdv_digest *d, const void *data, int64_t nbytes) { (void)d, (void)data, (void)nbytes; }

#else
#define MAGIC 0x31304b5645444344 /* "DCDEVK01" */
#define MOST ((int64_t)256 << 20)

struct head {
  uint64_t magic, digest[2], sum;
  int64_t nbytes;
};

/* Of mode 0700 under every umask: a folder that this user may not open would stay. */
static void make_folder(const char *path) {
  if (!mkdir(path, 0700)) (void)chmod(path, 0700);
}

/* The folder as a descriptor, made where it is missing; -1: nothing is kept.  It is looked at once it is open, and
 * files are named from there: a folder that takes its place meanwhile is not used. */
static int folder(void) {
  char path[4000];
  const char *named = getenv("CDEVICE_CACHE_DIR"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  struct stat s;
  if (named && !strcmp(named, "0")) return -1;
  int n = named && *named        ? snprintf(path, sizeof path, "%s", named)
          : base && *base == '/' ? snprintf(path, sizeof path, "%s/cdevice", base)
          : home && *home == '/' ? snprintf(path, sizeof path, "%s/.cache", home)
                                 : -1;
  if (n < 0 || (size_t)n + 16 > sizeof path) return -1;
  if (!(named && *named) && !(base && *base == '/')) {
    make_folder(path);
    strcat(path, "/cdevice");
  }
  make_folder(path);
  int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir >= 0 && !fstat(dir, &s) && s.st_uid == geteuid() && !(s.st_mode & 022)) return dir;
  if (dir >= 0) close(dir);
  return -1; /* another's, or one that others may write to */
}

static void name_of(const struct cdv_digest *d, char out[40]) {
  snprintf(out, 40, "%016llx%016llx", (unsigned long long)d->words[0], (unsigned long long)d->words[1]);
}

static bool read_all(int fd, void *to, size_t n) {
  while (n) {
    ssize_t got = read(fd, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = (char *)to + got;
    n -= (size_t)got;
  }
  return true;
}
static bool write_all(int fd, const void *from, size_t n) {
  while (n) {
    ssize_t put = write(fd, from, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from = (const char *)from + put;
    n -= (size_t)put;
  }
  return true;
}

/* A regular file of the user's own, not writable by others: fifos, devices, links and folders are detected before they
 * are opened, and what came in between, without waiting, once it is open.  -1: there is none. */
static int open_file(int dir, const char *name, struct stat *s) {
  if (fstatat(dir, name, s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s->st_mode)) return -1;
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  if (!fstat(fd, s) && S_ISREG(s->st_mode) && s->st_uid == geteuid() && !(s->st_mode & 022)) return fd;
  close(fd);
  return -1;
}

/* What lies there, if it is whole and what it should be; else NULL. */
static void *contents(int fd, const struct stat *s, const struct cdv_digest *d, int64_t *nbytes) {
  struct head h;
  if (s->st_size <= (off_t)sizeof h || s->st_size > MOST || !read_all(fd, &h, sizeof h)) return NULL;
  if (h.magic != MAGIC || memcmp(h.digest, d->words, sizeof h.digest)) return NULL;
  if (h.nbytes != (int64_t)s->st_size - (int64_t)sizeof h) return NULL;
  void *data = malloc((size_t)h.nbytes);
  *nbytes = h.nbytes;
  if (data && read_all(fd, data, (size_t)h.nbytes) && add(0, data, (size_t)h.nbytes) == h.sum) return data;
  free(data); /* cut off, or written to meanwhile */
  return NULL;
}

void *cdv_cache_read(const struct cdv_digest *d, int64_t *nbytes) {
  char name[40];
  struct stat s;
  void *data = NULL;
  *nbytes = 0;
  int dir = folder();
  if (dir < 0) return NULL;
  name_of(d, name);
  int fd = open_file(dir, name, &s);
  if (fd >= 0) {
    data = contents(fd, &s, d, nbytes);
    close(fd);
    if (!data) unlinkat(dir, name, 0); /* it is built again */
  }
  close(dir);
  return data;
}

/* A new file under an unused name; -1: none can be made. */
static int new_file(int dir, const char *name, char *fresh, size_t size) {
  static atomic_uint turn;
  for (int i = 0; i < 100; i++) {
    snprintf(fresh, size, "%s.%lx.%x", name, (long)getpid(), atomic_fetch_add(&turn, 1));
    int fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

void cdv_cache_write(const struct cdv_digest *d, const void *data, int64_t nbytes) {
  char name[40], fresh[80];
  struct head h = {MAGIC, {d->words[0], d->words[1]}, add(0, data, (size_t)nbytes), nbytes};
  int dir = folder();
  if (dir < 0) return;
  name_of(d, name);
  int fd = new_file(dir, name, fresh, sizeof fresh); /* whole before it has its name */
  if (fd >= 0) {
    bool good = !fchmod(fd, 0600) && write_all(fd, &h, sizeof h) && write_all(fd, data, (size_t)nbytes);
    if (close(fd) || !good || renameat(dir, fresh, dir, name)) unlinkat(dir, fresh, 0);
  }
  close(dir);
}
#endif
