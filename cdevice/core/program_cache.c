/* program_cache.c - programs on disk, in a folder of the user's own: what lies there is run.
 *
 * CDEVICE_CACHE_DIR names the folder ("0": none); else it is cdevice in XDG_CACHE_HOME or ~/.cache. */
#include "compute.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x31304b5645444344 /* "DCDEVK01" */
#define MOST ((int64_t)256 << 20)

struct head {
  uint64_t magic, digest[2], sum;
  int64_t nbytes;
};

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

/* The folder, made where it is missing and nobody else's; false: nothing is kept. */
static bool folder(char *out, size_t size) {
  const char *named = getenv("CDEVICE_CACHE_DIR"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  struct stat s;
  if (named && !strcmp(named, "0")) return false;
  int n = named && *named        ? snprintf(out, size, "%s", named)
          : base && *base == '/' ? snprintf(out, size, "%s/cdevice", base)
          : home && *home == '/' ? snprintf(out, size, "%s/.cache", home)
                                 : -1;
  if (n < 0 || (size_t)n + 16 > size) return false;
  if (!(named && *named) && !(base && *base == '/')) {
    mkdir(out, 0700);
    strcat(out, "/cdevice");
  }
  mkdir(out, 0700);
  return !lstat(out, &s) && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 077);
}

static bool file_of(const struct cdv_digest *d, char *out, size_t size) {
  char where[3900];
  if (!folder(where, sizeof where)) return false;
  int n =
      snprintf(out, size, "%s/%016llx%016llx", where, (unsigned long long)d->words[0], (unsigned long long)d->words[1]);
  return n > 0 && (size_t)n < size;
}

static bool read_all(int fd, void *to, size_t n) {
  for (ssize_t got; n; to = (char *)to + got, n -= (size_t)got)
    if ((got = read(fd, to, n)) <= 0) return false;
  return true;
}
static bool write_all(int fd, const void *from, size_t n) {
  for (ssize_t put; n; from = (const char *)from + put, n -= (size_t)put)
    if ((put = write(fd, from, n)) <= 0) return false;
  return true;
}

void *cdv_cache_read(const struct cdv_digest *d, int64_t *nbytes) {
  char path[4000];
  struct head h;
  struct stat s;
  void *data = NULL;
  int fd = file_of(d, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (fd < 0) return NULL;
  bool good = !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_uid == geteuid() && read_all(fd, &h, sizeof h) &&
              h.magic == MAGIC && !memcmp(h.digest, d->words, sizeof h.digest) && h.nbytes > 0 && h.nbytes < MOST;
  if (good) data = malloc((size_t)h.nbytes);
  if (data && (!read_all(fd, data, (size_t)h.nbytes) || add(0, data, (size_t)h.nbytes) != h.sum)) {
    free(data);
    data = NULL;
  }
  close(fd);
  if (!data) unlink(path); /* cut off, or of another time: it is built again */
  *nbytes = h.nbytes;
  return data;
}

void cdv_cache_write(const struct cdv_digest *d, const void *data, int64_t nbytes) {
  char path[4000], fresh[4016];
  struct head h = {MAGIC, {d->words[0], d->words[1]}, add(0, data, (size_t)nbytes), nbytes};
  if (!file_of(d, path, sizeof path)) return;
  snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);
  int fd = mkstemp(fresh); /* 0600; whole before it has its name */
  if (fd < 0) return;
  bool good = write_all(fd, &h, sizeof h) && write_all(fd, data, (size_t)nbytes);
  if (close(fd) || !good || rename(fresh, path)) unlink(fresh);
}
