/* directory.c - the descriptors of a shared array by /proc, where a process may not have a socket.
 *
 * Nothing has a name that could be left behind. The kernel lets processes of the same user alone open them. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_GET_SEALS */
#endif
#include "core/ipc/directory.h"
#include "core/base/error.h"
#include "core/ipc/image.h"
#include "core/ipc/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "cdvdir1"

struct entry {
  int64_t fd;
  uint64_t device, inode; /* another file may have its number by then */
};
struct directory {
  char magic[8];
  uint8_t secret[16];
  int64_t n;
  struct entry entries[CDV_IMAGE_SEGMENTS];
};

int cdv_directory_write(const uint8_t secret[16], struct cdv_segment *const *segments, int64_t n,
                        struct cdv_segment **out) {
  struct directory d = {.magic = MAGIC, .n = n};
  struct stat st;
  memcpy(d.secret, secret, sizeof d.secret);
  for (int64_t i = 0; i < n; i++) {
    if (fstat(segments[i]->fd, &st)) return cdv_fail(CDV_DEVICE, errno, "sharing an array: fstat: %s", strerror(errno));
    d.entries[i] = (struct entry){segments[i]->fd, (uint64_t)st.st_dev, (uint64_t)st.st_ino};
  }
  return cdv_segment_of_bytes(&d, sizeof d, out);
}

static int open_one(int64_t process, int64_t descriptor, int *out) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)process, (long long)descriptor);
  *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be anything by now */
  if (*out >= 0) return 0;
  if (errno == ENOENT || errno == ESRCH || errno == ENXIO) return ENOENT;
  return cdv_fail(CDV_DEVICE, errno, "opening a shared array: %s: %s%s", path, strerror(errno),
                  errno == EMFILE ? "; raise the limit of open files, ulimit -n" : "");
}

static bool is_entry(int fd, const struct entry *e) {
  struct stat st;
  return !fstat(fd, &st) && (uint64_t)st.st_dev == e->device && (uint64_t)st.st_ino == e->inode;
}

static int read_directory(int fd, const uint8_t secret[16], struct directory *d) {
  struct stat st;
  int seals = fcntl(fd, F_GET_SEALS);
  bool ours = !fstat(fd, &st) && st.st_uid == geteuid() && S_ISREG(st.st_mode) && seals >= 0 &&
              (seals & F_SEAL_WRITE) && pread(fd, d, sizeof *d, 0) == (ssize_t)sizeof *d &&
              !memcmp(d->magic, MAGIC, sizeof d->magic) && !memcmp(d->secret, secret, sizeof d->secret) && d->n > 0 &&
              d->n <= CDV_IMAGE_SEGMENTS;
  return ours ? 0 : ENOENT;
}

int cdv_directory_read(int64_t process, int64_t descriptor, const uint8_t secret[16], int *fds, int64_t *n) {
  struct directory d;
  int fd, r = open_one(process, descriptor, &fd);
  *n = 0;
  if (r) return r;
  r = read_directory(fd, secret, &d);
  close(fd);
  for (int64_t i = 0; !r && i < d.n; i++) {
    r = open_one(process, d.entries[i].fd, &fds[i]);
    if (r) break;
    *n = i + 1;
    if (!is_entry(fds[i], &d.entries[i])) r = ENOENT;
  }
  return r;
}
#endif
