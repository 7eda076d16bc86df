/* broker.c - hands the descriptors of shared arrays to other processes that know their tickets.
 *
 * One thread listens on a socket without a file. It answers processes of the same user alone, and needs neither the
 * GIL nor a lock that is held for long. Memory of a CPU is counted by the kernel; memory of a device is kept here for each
 * reader, until the other end of a pipe is closed. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4, struct ucred */
#endif
#include "core/ipc/broker.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/system.h"
#include "core/base/thread.h"
#include "core/base/wait.h"
#include "core/ipc/device_memory.h"
#include "core/ipc/directory.h"
#include "core/ipc/image.h"
#include "core/ipc/segment.h"
#include "core/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(10000000000) /* for the answer of a process that may be stopped */

struct request {
  char magic[8];
  uint64_t number;
  uint8_t secret[16];
};
struct answer {
  char magic[8];
  int64_t status, n_segments;
};
#define MAGIC "cdvipc1"

struct shared_array {
  struct shared_array *next;
  uint64_t number;
  uint8_t secret[16];
  int64_t opened, opens;
  struct cdv_array *array;       /* of a device, for this process, which cannot open its own memory; or NULL */
  struct cdv_shared *device;     /* keeps the array and its event, which each reader does too; or NULL */
  struct cdv_segment *directory; /* where there is no socket; or NULL */
  int64_t n_segments;            /* the image is the first */
  struct cdv_segment *segments[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct shared_array *published;
static int listener = -1, events = -1;
static int spare = -1; /* given up to answer where there is no other descriptor; the thread's */
static uint8_t socket_id[16];
static atomic_llong live;

static void free_shared(struct shared_array *s) {
  for (int64_t i = 0; i < s->n_segments; i++) cdv_segment_unref(s->segments[i]);
  cdv_segment_unref(s->directory);
  cdv_shared_unref(s->device);
  free(s);
  atomic_fetch_sub(&live, 1);
}

/* What the parent shares stays the parent's: its thread did not come along. */
static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  if (listener >= 0) close(listener), close(events);
  if (spare >= 0) close(spare);
  listener = events = spare = -1;
  published = NULL; /* its memory is mapped here as well, by the parent's arrays */
  atomic_store(&live, 0);
}
__attribute__((constructor)) static void watch_forks(void) { cdv_at_fork(NULL, NULL, in_child); }

int64_t cdv_live_tickets(void) { return atomic_load(&live); }

/* ---- who speaks ---- */
static int boot_of_machine(uint8_t out[16]) {
  static const char path[] = "/proc/sys/kernel/random/boot_id";
  FILE *f = fopen(path, "re");
  char text[40] = "";
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  memset(out, 0, 16);
  for (size_t i = 0, digits = 0; i < n && digits < 32; i++) {
    int c = text[i], value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) continue;
    out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | value);
    digits++;
  }
  return 0;
}

static int random_bytes(void *out, size_t n) {
  if (getrandom(out, n, 0) == (ssize_t)n) return 0;
  return cdv_fail(CDV_DEVICE, errno, "getrandom: %s", strerror(errno));
}

/* The address of a broker: a name in the kernel, no file. */
static socklen_t address_of(const uint8_t id[16], int64_t process, struct sockaddr_un *out) {
  memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  char *at = out->sun_path + 1;
  int n = snprintf(at, sizeof out->sun_path - 1, "cdevice-%lld-", (long long)process);
  for (int i = 0; i < 16; i++) n += snprintf(at + n, sizeof out->sun_path - 1 - (size_t)n, "%02x", id[i]);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool is_of(int fd, int64_t user, int64_t process) {
  struct ucred who;
  socklen_t n = sizeof who;
  return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) && who.uid == user && (process < 0 || who.pid == process);
}

static void set_patience(int fd, int64_t nanoseconds) {
  struct timeval t = {.tv_sec = nanoseconds / 1000000000, .tv_usec = nanoseconds % 1000000000 / 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* ---- messages with descriptors ---- */
union ancillary {
  char bytes[CMSG_SPACE(CDV_IMAGE_SEGMENTS * sizeof(int))];
  struct cmsghdr align;
};

static int send_answer(int fd, struct answer *a, const int *fds) {
  union ancillary room;
  struct iovec iov = {a, sizeof *a};
  struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
  if (a->n_segments) {
    memset(&room, 0, sizeof room);
    m.msg_control = room.bytes;
    m.msg_controllen = (socklen_t)CMSG_SPACE((size_t)a->n_segments * sizeof(int)); /* musl has another type */
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = (socklen_t)CMSG_LEN((size_t)a->n_segments * sizeof(int));
    memcpy(CMSG_DATA(c), fds, (size_t)a->n_segments * sizeof(int));
  }
  return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *a ? 0 : -1;
}

/* *n: descriptors that came, which are the caller's in every case; -1: no whole answer. */
static int receive_answer(int fd, struct answer *a, int *fds, int64_t *n) {
  union ancillary room;
  struct iovec iov = {a, sizeof *a};
  struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room};
  *n = 0;
  ssize_t got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
  if (got < 0) return -1;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    *n = (int64_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(c), (size_t)*n * sizeof(int));
  }
  errno = m.msg_flags & MSG_CTRUNC ? EMFILE : EPROTO; /* the kernel drops what this process has no room for */
  return got == (ssize_t)sizeof *a && !memcmp(a->magic, MAGIC, sizeof a->magic) && !(m.msg_flags & MSG_CTRUNC) ? 0 : -1;
}

/* ---- the thread ---- */
static bool same_secret(const uint8_t *a, const uint8_t *b) {
  unsigned differ = 0;
  for (int i = 0; i < 16; i++) differ |= a[i] ^ b[i]; /* in the same time for all of them */
  return !differ;
}

static struct shared_array **find(uint64_t number) {
  struct shared_array **place = &published;
  while (*place && (*place)->number != number) place = &(*place)->next;
  return place;
}

/* The segments of a shared array, each held; the number of them, 0: there is no such array.  here: only an array of a
 * device, for a reader in this process.  *array and *device: references, or NULL. */
static int64_t take_up(const struct request *q, bool here, struct cdv_segment **out, struct cdv_array **array,
                       struct cdv_shared **device) {
  struct shared_array *over = NULL;
  *array = NULL;
  *device = NULL;
  pthread_mutex_lock(&lock);
  struct shared_array **place = find(q->number), *s = *place;
  int64_t n = s && same_secret(s->secret, q->secret) && (!here || s->array) ? s->n_segments : 0;
  for (int64_t i = 0; i < n && !here; i++) out[i] = cdv_segment_ref(s->segments[i]);
  if (n && here) *array = cdv_array_ref(s->array);
  if (n) *device = cdv_shared_ref(s->device);
  if (n && ++s->opened == s->opens) {
    *place = s->next;
    over = s;
  }
  pthread_mutex_unlock(&lock);
  if (over) free_shared(over);
  return n;
}

/* A reader of device memory, until its end of the pipe is closed. */
struct reader {
  struct cdv_shared *device;
  int pipe;
};

/* The descriptor for the reader; -1.  owns: takes the reference over. */
static int new_lifeline(struct cdv_shared *device) {
  struct reader *r = malloc(sizeof *r);
  int ends[2] = {-1, -1};
  struct epoll_event what = {.events = EPOLLERR, .data.ptr = r};
  if (r && !pipe2(ends, O_CLOEXEC)) {
    *r = (struct reader){device, ends[1]};
    if (!epoll_ctl(events, EPOLL_CTL_ADD, ends[1], &what)) return ends[0];
    close(ends[0]);
    close(ends[1]);
  }
  free(r);
  cdv_shared_unref(device);
  return -1;
}

static void end_lifeline(struct reader *r) {
  close(r->pipe);
  cdv_shared_unref(r->device);
  free(r);
}

/* full: there are no descriptors, which the answer states. */
static void serve(int fd, bool full) {
  struct request q;
  struct answer a = {.magic = MAGIC};
  struct cdv_segment *segments[CDV_IMAGE_SEGMENTS];
  int fds[CDV_IMAGE_SEGMENTS];
  set_patience(fd, PATIENCE_NS / 2); /* a reader on a busy machine may connect and ask seconds later */
  if (!is_of(fd, geteuid(), -1) || recv(fd, &q, sizeof q, 0) != (ssize_t)sizeof q ||
      memcmp(q.magic, MAGIC, sizeof q.magic) != 0)
    return;
  if (full) {
    a.status = EMFILE;
    send_answer(fd, &a, NULL);
    return;
  }
  struct cdv_array *none;
  struct cdv_shared *device;
  int64_t n = a.n_segments = take_up(&q, false, segments, &none, &device);
  a.status = n ? 0 : ENOENT;
  for (int64_t i = 0; i < n; i++) fds[i] = segments[i]->fd;
  int lifeline = device ? new_lifeline(device) : -1;
  if (lifeline >= 0) fds[a.n_segments++] = lifeline;
  if (device && lifeline < 0) a = (struct answer){.magic = MAGIC, .status = EMFILE};
  send_answer(fd, &a, fds);
  if (lifeline >= 0) close(lifeline);
  for (int64_t i = 0; i < n; i++) cdv_segment_unref(segments[i]);
}

/* False: it is over. */
static bool accept_one(int here) {
  int fd = accept4(here, NULL, NULL, SOCK_CLOEXEC);
  bool full = fd < 0 && (errno == EMFILE || errno == ENFILE) && spare >= 0;
  if (full) {
    close(spare);
    fd = accept4(here, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) spare = fcntl(here, F_DUPFD_CLOEXEC, 0);
  }
  if (fd >= 0) {
    serve(fd, full);
    close(fd);
    if (full) spare = fcntl(here, F_DUPFD_CLOEXEC, 0);
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
    usleep(1000); /* the caller waits until there is room */
  } else {
    return errno == EINTR || errno == ECONNABORTED || errno == EAGAIN;
  }
  return true;
}

static void *listen_on(void *arg) {
  int here = (int)(intptr_t)arg;
  struct epoll_event what = {.events = 0};
  for (;;) {
    int n = epoll_wait(events, &what, 1, -1);
    if (n < 0 && errno != EINTR) return NULL;
    if (n > 0 && what.data.ptr) end_lifeline(what.data.ptr);
    if (n > 0 && !what.data.ptr && !accept_one(here)) return NULL;
  }
}

static const char *hint(int code) { return code == EMFILE ? "; raise the limit of open files, ulimit -n" : ""; }

static int new_listener(uint8_t id[16], int *out) {
  struct sockaddr_un address;
  int r = random_bytes(id, 16);
  if (r) return r;
  socklen_t n = address_of(id, getpid(), &address);
  int fd = *out = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, n) && !listen(fd, 128)) return 0;
  r = cdv_fail(CDV_DEVICE, errno, "sharing an array: a Unix socket: %s%s", strerror(errno), hint(errno));
  if (fd >= 0) close(fd);
  return r;
}

static int new_events(int fd, int *out, int *more) {
  struct epoll_event what = {.events = EPOLLIN};
  int e = *out = epoll_create1(EPOLL_CLOEXEC);
  *more = e < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (*more >= 0 && !epoll_ctl(e, EPOLL_CTL_ADD, fd, &what)) return 0;
  int r = cdv_fail(CDV_DEVICE, errno, "sharing an array: epoll: %s%s", strerror(errno), hint(errno));
  if (e >= 0) close(e);
  if (*more >= 0) close(*more);
  return r;
}

static int new_thread(int fd) {
  int r = cdv_start_thread(listen_on, (void *)(intptr_t)fd);
  return r ? cdv_fail_thread(r, "sharing an array") : 0;
}

/* The process has a listener: *id.  Of several threads that begin, one's stays. */
static int start(uint8_t id[16]) {
  int fd, e, more, r;
  pthread_mutex_lock(&lock);
  bool there = listener >= 0;
  memcpy(id, socket_id, 16);
  pthread_mutex_unlock(&lock);
  if (there) return 0;
  r = new_listener(id, &fd);
  if (r) return r;
  r = new_events(fd, &e, &more);
  if (r) {
    close(fd);
    return r;
  }
  pthread_mutex_lock(&lock);
  bool first = listener < 0;
  if (first) {
    listener = fd;
    events = e;
    spare = more;
    memcpy(socket_id, id, 16);
  }
  memcpy(id, socket_id, 16);
  pthread_mutex_unlock(&lock);
  if (first && !(r = new_thread(fd))) return 0;
  if (first) {
    pthread_mutex_lock(&lock);
    listener = events = spare = -1;
    pthread_mutex_unlock(&lock);
  }
  close(fd);
  close(e);
  close(more);
  return r;
}

/* ---- sharing ---- */
/* A sandbox without sockets: the ticket has the descriptor of a directory in place of a socket's name. */
static bool no_socket_is_possible(int code) {
  return code == EPERM || code == EACCES || code == EAFNOSUPPORT || code == EPROTONOSUPPORT || code == ENOSYS;
}

static int use_directory(struct shared_array *s, struct cdv_ticket *out) {
  int r = cdv_directory_write(s->secret, s->segments, s->n_segments, &s->directory);
  if (r) return r;
  int64_t descriptor = s->directory->fd;
  memset(out->socket, 0, sizeof out->socket);
  memcpy(out->socket + 8, &descriptor, sizeof descriptor);
  return 0;
}

/* by_proc: may others open the descriptors themselves, uncounted, where no socket is possible? */
static int publish(struct cdv_segment *const *segments, int64_t n, struct cdv_array *array, struct cdv_shared *device,
                   int64_t opens, bool by_proc, struct cdv_ticket *out) {
  struct shared_array *s = calloc(1, sizeof *s + (size_t)n * sizeof *s->segments);
  memset(out, 0, sizeof *out);
  if (!s) return cdv_fail_memory(n * (int64_t)sizeof *s->segments, "a shared array");
  atomic_fetch_add(&live, 1);
  for (int64_t i = 0; i < n; i++) {
    s->segments[i] = cdv_segment_ref(segments[i]);
    cdv_segment_seal(segments[i]);
  }
  s->n_segments = n;
  s->array = array;
  s->device = cdv_shared_ref(device);
  s->opens = opens;
  int r = random_bytes(s->secret, sizeof s->secret);
  if (!r) r = random_bytes(&s->number, sizeof s->number);
  if (!r) {
    r = start(out->socket);
    if (r && by_proc && no_socket_is_possible(r)) r = use_directory(s, out);
  }
  if (r) {
    free_shared(s);
    return r;
  }
  out->number = s->number;
  memcpy(out->secret, s->secret, sizeof out->secret);
  pthread_mutex_lock(&lock);
  s->next = published;
  published = s;
  pthread_mutex_unlock(&lock);
  out->process = getpid();
  out->user = geteuid();
  return boot_of_machine(out->boot);
}

int cdv_publish_segments(struct cdv_segment *const *segments, int64_t n, int64_t opens, struct cdv_ticket *out) {
  return publish(segments, n, NULL, NULL, opens, false, out);
}

/* An array of a device, and the event that its readers wait for. */
struct kept {
  struct cdv_array *array;
  struct cdv_shared *event;
};

static void drop_kept(void *kept) {
  struct kept *k = kept;
  cdv_shared_unref(k->event);
  cdv_array_unref(k->array);
  free(k);
}

static int keep(struct cdv_array *array, struct cdv_shared *event, struct cdv_shared **out) {
  struct kept *k = malloc(sizeof *k);
  if (!k) return cdv_fail_memory(sizeof *k, "a shared array");
  *k = (struct kept){cdv_array_ref(array), cdv_shared_ref(event)};
  if (!cdv_share((struct cdv_owner){drop_kept, k}, out)) return 0;
  drop_kept(k);
  return cdv_fail_memory(64, "an owner");
}

int cdv_publish(struct cdv_array *array, int64_t opens, struct cdv_ticket *out) {
  struct cdv_image image;
  struct cdv_segment *segments[CDV_IMAGE_SEGMENTS];
  struct cdv_shared *device = NULL;
  int r = cdv_image_write(array, true, &image);
  if (r) return r;
  r = cdv_segment_of_bytes(image.bytes, image.nbytes, &segments[0]);
  if (!r) {
    for (int64_t i = 0; i < image.n_segments; i++) segments[i + 1] = image.segments[i];
    if (image.on_device) r = keep(array, image.event, &device);
    if (!r) r = publish(segments, image.n_segments + 1, device ? array : NULL, device, opens, !device && !opens, out);
    cdv_shared_unref(device);
    cdv_segment_unref(segments[0]);
  }
  cdv_image_free(&image);
  return r;
}

void cdv_retract(uint64_t number) {
  pthread_mutex_lock(&lock);
  struct shared_array **place = find(number), *s = *place;
  if (s) *place = s->next;
  pthread_mutex_unlock(&lock);
  if (s) free_shared(s);
}

int64_t cdv_times_opened(uint64_t number) {
  pthread_mutex_lock(&lock);
  struct shared_array *s = *find(number);
  int64_t n = s ? s->opened : -1;
  pthread_mutex_unlock(&lock);
  return n;
}

void cdv_limit_opens(uint64_t number, int64_t more) {
  pthread_mutex_lock(&lock);
  struct shared_array *s = *find(number);
  if (s) s->opens = s->opened + more;
  pthread_mutex_unlock(&lock);
}

/* ---- opening ---- */
static int refuse(const struct cdv_ticket *t) {
  uint8_t here[16];
  boot_of_machine(here);
  if (memcmp(here, t->boot, sizeof here) != 0)
    return cdv_fail(CDV_ARGUMENT, EREMOTE,
                    "the array is shared on another machine, or this one was started anew since");
  if (t->user != geteuid())
    return cdv_fail(CDV_ARGUMENT, EPERM, "the array is shared by user %lld, this is user %lld", (long long)t->user,
                    (long long)geteuid());
  return 0;
}

static int gone(const struct cdv_ticket *t, const char *why) {
  return cdv_fail(CDV_RELEASED, ENOENT, "process %lld %s", (long long)t->process, why);
}

static int silent(const struct cdv_ticket *t) { return gone(t, "does not answer: it is stopped, or very busy"); }

static bool has_directory(const struct cdv_ticket *t, int64_t *descriptor) {
  static const uint8_t none[8];
  memcpy(descriptor, t->socket + 8, sizeof *descriptor);
  return !memcmp(t->socket, none, sizeof none);
}

/* After a call that a signal or the short limit of the socket ended: is it made again?  *r: a signal's error. */
static bool once_more(const struct timespec *end, int *r) {
  struct timespec now;
  if (*r || (errno != EINTR && errno != EAGAIN)) return false;
  *r = cdv_check_signals();
  clock_gettime(CLOCK_MONOTONIC, &now);
  errno = EAGAIN;
  return !*r && (now.tv_sec < end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec < end->tv_nsec));
}

static bool ask(int fd, const struct request *q, const struct timespec *end, int *r) {
  bool failed;
  do failed = send(fd, q, sizeof *q, MSG_NOSIGNAL) != (ssize_t)sizeof *q;
  while (failed && once_more(end, r));
  return failed;
}

static bool hear(int fd, struct answer *a, int *fds, int64_t *n, const struct timespec *end, int *r) {
  bool failed;
  do failed = receive_answer(fd, a, fds, n);
  while (failed && !*n && once_more(end, r));
  return failed;
}

/* Asks the process that shares it, or /proc.  Descriptors that come are the caller's, also after an error. */
int cdv_ask_ticket(const struct cdv_ticket *t, int *fds, int64_t *n) {
  struct sockaddr_un address;
  struct request q = {.magic = MAGIC, .number = t->number};
  struct answer a;
  socklen_t size = address_of(t->socket, t->process, &address);
  int64_t directory;
  int r = refuse(t), fd;
  *n = 0;
  if (r) return r;
  if (has_directory(t, &directory)) {
    r = cdv_directory_read(t->process, directory, t->secret, fds, n);
    return r == ENOENT ? gone(t, "does not share this array any more, or has ended") : r;
  }
  fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return cdv_fail(CDV_DEVICE, errno, "opening a shared array: a Unix socket: %s%s", strerror(errno), hint(errno));
  memcpy(q.secret, t->secret, sizeof q.secret);
  set_patience(fd, CDV_SIGNAL_POLL_NS);
  const struct timespec end = cdv_deadline(PATIENCE_NS);
  int failed;
  do failed = connect(fd, (struct sockaddr *)&address, size);
  while (failed && once_more(&end, &r));
  if (failed)
    r = r                 ? r
        : errno == EAGAIN ? silent(t)
        : errno == ECONNREFUSED
            ? gone(t, "shares nothing here: it has ended, or has another network namespace")
            : cdv_fail(CDV_DEVICE, errno, "asking process %lld: %s", (long long)t->process, strerror(errno));
  else if (!is_of(fd, geteuid(), -1))
    r = cdv_fail(CDV_ARGUMENT, EPERM, "the socket of process %lld belongs to another user", (long long)t->process);
  else if (ask(fd, &q, &end, &r) || hear(fd, &a, fds, n, &end, &r))
    r = r                 ? r
        : errno == EAGAIN ? silent(t)
        : errno == EMFILE ? cdv_fail(CDV_DEVICE, EMFILE, "opening a shared array: too many open files; ulimit -n")
                          : gone(t, "ended while it was asked, or this process was slow to ask");
  else if (a.status == EMFILE)
    r = cdv_fail(CDV_DEVICE, EMFILE,
                 "process %lld, which shares the array, has no free file descriptor; raise its limit, ulimit -n",
                 (long long)t->process);
  else if (a.status || a.n_segments != *n || *n < 1)
    r = gone(t, "does not share this array any more, or never did");
  close(fd);
  return r;
}

/* The image must not change while it is read. */
static int map_image(int fd, struct cdv_segment **out) {
  off_t nbytes = lseek(fd, 0, SEEK_END);
  int seals = fcntl(fd, F_GET_SEALS);
  if (nbytes > 0 && (seals < 0 || seals & F_SEAL_WRITE)) return cdv_segment_map(fd, nbytes, CDV_SEGMENT_READ, out);
  close(fd);
  return cdv_fail(CDV_ARGUMENT, EPERM, "the description of the shared array can be changed by its owner");
}

/* A process cannot open its own device memory: it has the array itself. */
static struct cdv_array *own_array(const struct cdv_ticket *t) {
  struct request q = {.magic = MAGIC, .number = t->number};
  struct cdv_array *array = NULL;
  struct cdv_shared *device = NULL;
  memcpy(q.secret, t->secret, sizeof q.secret);
  if (t->process == getpid()) take_up(&q, true, NULL, &array, &device);
  cdv_shared_unref(device);
  return array;
}

/* owns: takes the descriptor over, also on an error. */
static int open_segment(int fd, const struct cdv_image_segment *line, int32_t device_type, int64_t device,
                        struct cdv_segment **out) {
  struct cdv_segment *handle;
  if (line->kind == CDV_IMAGE_FILE) return cdv_segment_map(fd, line->nbytes, CDV_SEGMENT_FILE, out);
  if (line->kind != CDV_IMAGE_DEVICE) return cdv_segment_map(fd, line->nbytes, CDV_SEGMENT_READ, out);
  int r = map_image(fd, &handle);
  if (r) return r;
  r = cdv_device_memory_open(handle, device_type, device, out);
  if (!r && (*out)->nbytes < line->nbytes) {
    r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "shared memory has %lld bytes, %lld were announced",
                 (long long)(*out)->nbytes, (long long)line->nbytes);
    cdv_segment_unref(*out);
  }
  cdv_segment_unref(handle);
  return r;
}

int cdv_open_ticket(const struct cdv_ticket *t, int level, struct cdv_array **out) {
  int fds[CDV_IMAGE_SEGMENTS];
  struct cdv_segment *segments[CDV_IMAGE_SEGMENTS];
  const struct cdv_image_segment *lines = NULL;
  struct cdv_segment *lifeline = NULL;
  int32_t device_type = ARROW_DEVICE_CPU;
  int64_t device = -1;
  int64_t n = 0, m = 0, done = 0, taken = 0;
  *out = own_array(t);
  if (*out) return 0;
  int r = cdv_ask_ticket(t, fds, &n);
  if (!r) {
    taken = 1;
    r = map_image(fds[0], &segments[0]);
    if (!r) done = 1;
  }
  if (!r) r = cdv_image_segments(segments[0]->base, segments[0]->nbytes, &lines, &m);
  if (!r) r = cdv_image_device(segments[0]->base, segments[0]->nbytes, &device_type, &device);
  if (!r && device_type != ARROW_DEVICE_CPU && n == m + 2) r = cdv_segment_of_descriptor(fds[--n], &lifeline);
  if (!r && m != n - 1)
    r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "%lld segments came, the description has %lld", (long long)n - 1,
                 (long long)m);
  for (; !r && taken < n; taken++) {
    r = open_segment(fds[taken], &lines[taken - 1], device_type, device, &segments[taken]);
    if (!r) done++;
  }
  for (int64_t i = taken; i < n; i++) close(fds[i]);
  if (!r) r = cdv_image_read(segments, n, lifeline, level, out);
  for (int64_t i = 0; i < done; i++) cdv_segment_unref(segments[i]);
  cdv_segment_unref(lifeline);
  return r;
}
#endif
