/* The cache of kernels: for any file contents a read ends, and returns what was written or nothing. */
#ifdef _WIN32
#include <stdio.h>
int main(void) {
  puts("no kernel is kept on disk here");
  return 77;
}
#else
#define _GNU_SOURCE
#include "core/compute/kernel_disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

#define N 100000
static char data[N], folder[256], path[400], other[400], aside[400];
static struct cdv_digest digest;

static void put(const char *where, const void *bytes, size_t n, mode_t mode) {
  int fd = open(where, O_WRONLY | O_CREAT | O_TRUNC, mode);
  CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !fchmod(fd, mode));
  close(fd);
}

/* 1: it gives the data; 0: nothing; -1: something else */
static int reads(void) {
  int64_t n = 77;
  char *got = cdv_cache_read(&digest, &n);
  int r = !got ? 0 : n == N && !memcmp(got, data, N) ? 1 : -1;
  free(got);
  return r;
}

static void fresh(void) { /* as a write leaves it */
  rmdir(path);
  unlink(path);
  cdv_cache_write(&digest, data, N);
  CHECK(reads() == 1);
}

static char *whole(size_t *n) {
  struct stat s;
  int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && !fstat(fd, &s));
  char *bytes = malloc((size_t)s.st_size + 64);
  CHECK(read(fd, bytes, (size_t)s.st_size) == s.st_size);
  close(fd);
  *n = (size_t)s.st_size;
  return bytes;
}

static void is_nothing_and_is_replaced(void) {
  CHECK(reads() == 0);
  cdv_cache_write(&digest, data, N);
  CHECK(reads() == 1);
}

static void what_is_no_file(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  fresh();
  unlink(path);
  CHECK(!mkfifo(path, 0600));
  is_nothing_and_is_replaced();
  unlink(path);
  CHECK(!symlink("/dev/zero", path));
  is_nothing_and_is_replaced();
  CHECK(!rename(path, other) && !symlink(other, path)); /* a link to a good one */
  is_nothing_and_is_replaced();
  unlink(other);
  unlink(path);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(name.sun_path, sizeof name.sun_path, "%.100s", path);
  CHECK(!bind(s, (struct sockaddr *)&name, sizeof name));
  is_nothing_and_is_replaced();
  close(s);
  unlink(path);
  CHECK(!mkdir(path, 0700));
  CHECK(reads() == 0);
  cdv_cache_write(&digest, data, N);
  CHECK(reads() == 0 && !rmdir(path));
}

static void what_is_not_whole(void) {
  size_t n;
  fresh();
  char *bytes = whole(&n);
  size_t sizes[] = {0, 1, 8, 39, 40, 41, n / 2, n - 1, n + 1, n + 64};
  memset(bytes + n, 'x', 64);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    put(path, bytes, sizes[i], 0600);
    is_nothing_and_is_replaced();
  }
  int64_t lengths[] = {-1, 0, 1, N + 1, INT64_MAX, INT64_MIN, (int64_t)1 << 40};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    char *lie = malloc(n);
    memcpy(lie, bytes, n);
    memcpy(lie + 32, &lengths[i], 8);
    put(path, lie, n, 0600);
    is_nothing_and_is_replaced();
    free(lie);
  }
  for (size_t i = 0; i < n; i += i < 40 ? 1 : 9973) {
    bytes[i] ^= 4;
    put(path, bytes, n, 0600);
    is_nothing_and_is_replaced();
    bytes[i] ^= 4;
  }
  free(bytes);
}

static void what_is_somebody_elses(void) {
  fresh();
  CHECK(!chmod(path, 0622));
  is_nothing_and_is_replaced();
  if (!geteuid()) {
    CHECK(!chown(path, 12345, 12345));
    is_nothing_and_is_replaced();
    CHECK(!chown(folder, 12345, 12345) && reads() == 0 && !chown(folder, 0, 0));
  }
  CHECK(!chmod(folder, 0770) && reads() == 0 && !chmod(folder, 0700) && reads() == 1);
  CHECK(!rename(folder, aside) && !symlink(aside, folder) && reads() == 0); /* the folder is a link */
  CHECK(!unlink(folder) && !rename(aside, folder) && reads() == 1);
}

static atomic_int stop;
static void *swap(void *arg) { /* between a look and an open */
  size_t n;
  char *bytes = whole(&n);
  (void)arg;
  for (unsigned i = 0; !atomic_load(&stop); i++) {
    unlink(other);
    switch (i % 5) {
      case 0: mkfifo(other, 0600); break;
      case 1: put(other, bytes, n, 0600); break;
      case 2:
        if (symlink("/dev/zero", other)) {}
        break;
      case 3: put(other, bytes, n / 2, 0600); break;
      default: put(other, bytes, n, 0600); break;
    }
    rename(other, path);
    if (i % 5 == 4)
      CHECK(!truncate(path, (off_t)(i % n)) || errno == ENOENT || errno == EINVAL); /* cut while it is read */
  }
  free(bytes);
  return NULL;
}

static void what_is_swapped_meanwhile(void) {
  pthread_t thread;
  fresh();
  pthread_create(&thread, NULL, swap, NULL);
  for (int i = 0; i < 3000; i++) CHECK(reads() >= 0);
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  fresh();
}

int main(void) {
  char name[] = "/tmp/cdevice-cache-XXXXXX";
  for (size_t i = 0; i < N; i++) data[i] = (char)(i * 7);
  if (!mkdtemp(name)) return 1;
  snprintf(folder, sizeof folder, "%s/kept", name);
  snprintf(aside, sizeof aside, "%s/aside", name);
  setenv("CDEVICE_CACHE_DIR", folder, 1);
  cdv_digest_add(&digest, "what");
  snprintf(path, sizeof path, "%s/%016llx%016llx", folder, (unsigned long long)digest.words[0],
           (unsigned long long)digest.words[1]);
  snprintf(other, sizeof other, "%s/other", name);
  alarm(120); /* a read that never returns ends this */
  what_is_no_file();
  what_is_not_whole();
  what_is_somebody_elses();
  what_is_swapped_meanwhile();
  unlink(path);
  CHECK(!rmdir(folder)); /* nothing else was left there */
  unlink(other);
  rmdir(name);
  return failures != 0;
}
#endif
