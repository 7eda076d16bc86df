/* ring.c - a stream of batches from one process to another, through shared memory that is used again.
 *
 * Two segments: the batches, which the writer alone can write; and the control, which both write: a queue of slots with
 * one writer and one reader, and two words that they sleep on. A batch is a part of the memory, which is used again once the
 * reader has released it. A reader that holds on to half of the memory gets copies; where it holds what the writer needs,
 * a batch travels in a segment of its own. So neither waits for what will not come. A socket between the two tells each that
 * the other has gone. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "core/ipc/ring.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/base/wait.h"
#include "core/copy/copy.h"
#include "core/ipc/image.h"
#include "core/ipc/segment.h"
#include "core/stream/stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* as linux/futex.h, which musl does not bring */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#define MAGIC "cdvring"
#define SLOTS 256
#define PARTS 1024 /* batches that lie in the memory, at most */
#define ALIGNMENT 64
#define WORDS 256
/* A writer without room whose reader has taken all there is waits for what the reader releases: less each time in vain, more
 * each time there is room.  What has no room then goes apart. */
#define PATIENCE_NS 20000000
#define PATIENCE_STEP_NS 1000

enum kind { ARRAY, TICKET, END, FAILED };

struct slot {
  int64_t kind, code;
  uint64_t part;               /* its number */
  uint64_t nbytes;             /* in the memory */
  uint64_t image, image_bytes; /* where the image is there */
  char words[WORDS];           /* of an error; or a ticket */
};

struct control {
  char magic[8];
  int64_t nbytes;
  _Atomic uint64_t written, taken;               /* slots, counted on and on */
  _Atomic uint32_t writer_sleeps, reader_sleeps; /* is that end asleep, or about to be? */
  _Atomic uint32_t for_writer, for_reader;       /* what they sleep on */
  _Atomic uint32_t released[PARTS];
  struct slot slots[SLOTS];
};

struct piece { /* of the memory, in use */
  uint64_t begin, end;
  uint32_t part;
};

struct cdv_ring {
  atomic_long refs; /* the end itself, and each array that lies in the ring */
  struct cdv_segment *memory, *control_segment;
  struct control *control;
  int link; /* the socket */
  bool writes;
  atomic_int interrupted;
  int fork_generation;
  /* the writer's */
  uint64_t number;       /* of the ticket */
  uint64_t apart[SLOTS]; /* those of batches that lie elsewhere, until they were taken; 0: none */
  int64_t batches;
  struct piece pieces[2 * PARTS]; /* in the order of their places */
  size_t n_pieces;
  bool used[PARTS];
  uint32_t part;         /* of the batch that is written */
  uint64_t want, at;     /* the item that is looked for, and where it was found */
  size_t before;         /* the piece behind it */
  int64_t crowded_since; /* 0: not crowded */
  int64_t patience_ns;
  bool too_large, crowded, ended;
  struct cdv_saved_error why; /* of the wait for room that ended */
  cdevice_allocator allocator;
  /* the reader's */
  uint64_t next;
  atomic_llong held, n_held;
};

static atomic_llong live;
int64_t cdv_live_rings(void) { return atomic_load(&live); }

static void ring_unref(struct cdv_ring *g) {
  if (atomic_fetch_sub(&g->refs, 1) != 1) return;
  cdv_segment_unref(g->memory);
  cdv_segment_unref(g->control_segment);
  free(g);
  atomic_fetch_sub(&live, 1);
}

/* ---- sleeping ---- */
static bool other_has_gone(const struct cdv_ring *g) {
  char byte;
  ssize_t n = recv(g->link, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR); /* nothing is ever sent */
}

/* Behind a store that the other end waits for.  That end sets `sleeps`, then looks once more: all four are sequentially
 * consistent, so one of the two sees the other.  What lies in slots and parts is written before its `written` or `released`
 * is, and read behind it. */
static void wake(_Atomic uint32_t *sleeps, _Atomic uint32_t *word) {
  if (!atomic_load(sleeps)) return;
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How long this end may sleep before it looks again. */
static struct timespec nap(const struct cdv_ring *g) {
  int64_t ns = CDV_SIGNAL_POLL_NS;
  if (g->crowded_since) ns = g->crowded_since + g->patience_ns - now_ns() + 1;
  return (struct timespec){.tv_nsec = ns < 1 ? 1 : ns < CDV_SIGNAL_POLL_NS ? (long)ns : CDV_SIGNAL_POLL_NS};
}

/* Blocks until ready(g) is true. */
static int wait_until(struct cdv_ring *g, bool (*ready)(struct cdv_ring *)) {
  struct control *c = g->control;
  _Atomic uint32_t *sleeps = g->writes ? &c->writer_sleeps : &c->reader_sleeps;
  _Atomic uint32_t *word = g->writes ? &c->for_writer : &c->for_reader;
  if (g->fork_generation != cdv_fork_generation())
    return cdv_fail(CDV_STREAM, EBUSY, "a shared stream belongs to the process that opened it, not to its children");
  for (int i = 0; i < CDV_SPINS && !atomic_load(&g->interrupted); i++) {
    if (ready(g)) return 0;
    cdv_cpu_relax();
  }
  int r = 0;
  for (bool gone = false; !r;) {
    uint32_t now = atomic_load(word);
    atomic_store(sleeps, 1);
    if (atomic_load(&g->interrupted)) r = cdv_fail(CDV_STREAM, ECANCELED, "the shared stream was closed");
    if (r || ready(g)) break;
    if (gone)
      r = cdv_fail(CDV_STREAM, ESHUTDOWN, "the %s of the shared stream has gone", g->writes ? "reader" : "writer");
    if (!r) {
      const struct timespec pause = nap(g);
      syscall(SYS_futex, word, FUTEX_WAIT, now, &pause, NULL, 0);
      r = cdv_check_signals();
      gone = other_has_gone(g); /* its last item is looked for once more */
    }
  }
  atomic_store(sleeps, 0);
  return r;
}

/* ---- the writer's memory ---- */
/* What was released is free again. */
static void reclaim(struct cdv_ring *g) {
  size_t kept = 0;
  for (size_t i = 0; i < g->n_pieces; i++) {
    uint32_t part = g->pieces[i].part;
    if (atomic_load(&g->control->released[part]))
      g->used[part] = false;
    else
      g->pieces[kept++] = g->pieces[i];
  }
  g->n_pieces = kept;
}

/* The lowest gap that is large enough, which the caches know. */
static bool find_gap(struct cdv_ring *g) {
  uint64_t begin = 0;
  for (size_t i = 0; i <= g->n_pieces; i++) {
    uint64_t end = i < g->n_pieces ? g->pieces[i].begin : (uint64_t)g->memory->nbytes;
    if (end - begin >= g->want) {
      g->at = begin;
      g->before = i;
      return true;
    }
    if (i < g->n_pieces) begin = g->pieces[i].end;
  }
  return false;
}

/* There is room, or the reader has all that there is and holds on to it. */
static bool has_room(struct cdv_ring *g) {
  struct control *c = g->control;
  reclaim(g);
  if (g->n_pieces < 2 * PARTS && find_gap(g)) return true;
  bool all_taken = atomic_load(&c->taken) == atomic_load(&c->written);
  if (!all_taken) g->crowded_since = 0;
  if (all_taken && !g->crowded_since) g->crowded_since = now_ns();
  g->crowded = all_taken && now_ns() - g->crowded_since > g->patience_ns;
  return g->crowded;
}

/* Blocks until there is room; ENOBUFS, without an error: the reader holds on to it. */
static int claim(struct cdv_ring *g, int64_t nbytes, uint64_t *offset) {
  g->want = ((uint64_t)nbytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  g->crowded = false;
  g->crowded_since = 0;
  int r = wait_until(g, has_room);
  g->crowded_since = 0;
  if (r) return r;
  if (g->crowded) {
    g->patience_ns /= 2;
    return ENOBUFS;
  }
  g->patience_ns += PATIENCE_STEP_NS;
  if (g->patience_ns > PATIENCE_NS) g->patience_ns = PATIENCE_NS;
  memmove(&g->pieces[g->before + 1], &g->pieces[g->before], (g->n_pieces - g->before) * sizeof *g->pieces);
  g->pieces[g->before] = (struct piece){g->at, g->at + g->want, g->part};
  g->n_pieces++;
  *offset = g->at;
  return 0;
}

static int allocate(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)device, (void)stream;
  struct cdv_ring *g = self;
  uint64_t offset;
  g->too_large = nbytes > g->memory->nbytes / 2;
  int r = g->too_large ? ENOBUFS : claim(g, nbytes, &offset);
  if (r == ENOBUFS) return cdevice_backend_fail(err, ENOBUFS, 0, NULL, "the batch has no room in the ring");
  if (r) {
    g->ended = true;
    cdv_error_save(&g->why);
    return cdevice_backend_fail(err, r, 0, NULL, "waiting for room in the ring ended");
  }
  *out = (cdevice_block){.data = g->memory->base + offset, .nbytes = nbytes, .device_id = -1};
  return 0;
}

static void give_back(void *self, const cdevice_block *block) { (void)self, (void)block; } /* with its part */

static bool slot_is_free(struct cdv_ring *g) {
  struct control *c = g->control;
  return (int64_t)(atomic_load(&c->written) - atomic_load(&c->taken)) < g->batches;
}

/* The part of a batch that is written now; false: there are too many. */
static bool begin_part(struct cdv_ring *g) {
  reclaim(g);
  for (uint32_t i = 0; i < PARTS; i++) {
    if (g->used[i]) continue;
    g->used[i] = true;
    atomic_store(&g->control->released[i], 0);
    g->part = i;
    return true;
  }
  return false;
}

/* number: of the ticket that the item has, or 0. */
static void commit(struct cdv_ring *g, const struct slot *item, uint64_t number) {
  struct control *c = g->control;
  uint64_t written = atomic_load(&c->written);
  c->slots[written % SLOTS] = *item;
  if (g->apart[written % SLOTS]) cdv_retract(g->apart[written % SLOTS]); /* of a reader that failed to open it */
  g->apart[written % SLOTS] = number;
  atomic_store(&c->written, written + 1);
  wake(&c->reader_sleeps, &c->for_reader);
}

/* An array that has no room in the ring goes in a segment of its own, by a ticket. */
static int put_apart(struct cdv_ring *g, struct cdv_array *array) {
  struct cdv_array *copy = NULL;
  struct cdv_ticket ticket;
  struct slot item = {.kind = TICKET};
  int r = array->root->own.device_type == ARROW_DEVICE_CPU ? cdv_publish(array, 1, &ticket) : ENOTSUP;
  if (r == ENOTSUP) { /* a stream is of the CPU, also one of a device */
    cdv_allocate_in_segments(1);
    r = cdv_array_copy(array, ARROW_DEVICE_CPU, -1, NULL, true, &copy);
    cdv_allocate_in_segments(0);
    if (!r) r = cdv_publish(copy, 1, &ticket);
    if (copy) cdv_array_unref(copy);
  }
  if (r) return r;
  memcpy(item.words, &ticket, sizeof ticket);
  commit(g, &item, ticket.number);
  return 0;
}

/* ENOBUFS: it has no room. */
static int put_inside(struct cdv_ring *g, struct cdv_array *array) {
  struct cdv_array *copy = NULL;
  struct cdv_image image;
  uint64_t offset;
  cdv_allocator_override(&g->allocator);
  int r = cdv_array_copy(array, ARROW_DEVICE_CPU, -1, NULL, true, &copy);
  cdv_allocator_override(NULL);
  if (r && g->ended) {
    cdv_error_restore(&g->why);
    cdv_error_clear(&g->why);
  }
  if (r) return g->too_large || g->crowded ? ENOBUFS : r;
  r = cdv_image_write(copy, false, &image);
  cdv_array_unref(copy);
  if (r) return r;
  r = image.nbytes > g->memory->nbytes / 8 ? ENOBUFS : claim(g, image.nbytes, &offset);
  if (!r) {
    memcpy(g->memory->base + offset, image.bytes, (size_t)image.nbytes);
    struct slot item = {.kind = ARRAY, .part = g->part, .image = offset, .image_bytes = (uint64_t)image.nbytes};
    for (size_t i = 0; i < g->n_pieces; i++)
      if (g->pieces[i].part == g->part) item.nbytes += g->pieces[i].end - g->pieces[i].begin;
    commit(g, &item, 0);
  }
  cdv_image_free(&image);
  return r;
}

int cdv_ring_put(struct cdv_ring *g, struct cdv_array *array) {
  int r = wait_until(g, slot_is_free);
  if (r) return r;
  g->too_large = g->crowded = g->ended = false;
  r = begin_part(g) ? put_inside(g, array) : ENOBUFS;
  if (!r) return 0;
  atomic_store(&g->control->released[g->part], 1);
  return r == ENOBUFS ? put_apart(g, array) : r;
}

static bool is_read(struct cdv_ring *g) { return atomic_load(&g->control->taken) == atomic_load(&g->control->written); }

int cdv_ring_end(struct cdv_ring *g, int code, const char *words) {
  struct slot item = {.kind = words ? FAILED : END, .code = code};
  if (words) memcpy(item.words, words, strnlen(words, WORDS - 1));
  cdv_make_utf8(item.words);
  int r = wait_until(g, slot_is_free);
  if (r) return r;
  commit(g, &item, 0);
  return wait_until(g, is_read);
}

/* ---- both ---- */
static struct cdv_ring *new_ring(bool writes, struct cdv_segment *memory, struct cdv_segment *control, int link) {
  struct cdv_ring *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  atomic_init(&g->refs, 1);
  g->memory = memory;
  g->control_segment = control;
  g->control = (struct control *)(void *)control->base;
  g->link = link;
  g->writes = writes;
  g->patience_ns = PATIENCE_NS;
  g->fork_generation = cdv_fork_generation();
  g->allocator =
      (cdevice_allocator){.struct_size = sizeof g->allocator, .self = g, .alloc = allocate, .free = give_back};
  atomic_fetch_add(&live, 1);
  return g;
}

int cdv_ring_new(int64_t nbytes, int64_t batches, struct cdv_ring **out, struct cdv_ticket *ticket) {
  int link[2] = {-1, -1};
  struct cdv_segment *parts[3] = {NULL};
  struct cdv_ring *g = NULL;
  if (nbytes < 64 << 10 || nbytes >= (int64_t)1 << 48 || batches < 1)
    return cdv_fail(CDV_ARGUMENT, EINVAL,
                    "a ring of %lld bytes and %lld batches: expected 65,536 bytes to 2**48 - 1, and 1 batch or more",
                    (long long)nbytes, (long long)batches);
  int r = cdv_segment_create((nbytes + 4095) & ~(int64_t)4095, false, &parts[0]);
  if (!r) r = cdv_segment_create(sizeof(struct control), true, &parts[1]);
  if (!r && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
    r = cdv_fail(CDV_DEVICE, errno, "sharing a stream: socketpair: %s%s", strerror(errno),
                 errno == EMFILE ? "; raise the limit of open files, ulimit -n" : "");
  if (!r) r = cdv_segment_of_descriptor(link[1], &parts[2]);
  if (!r && !(g = new_ring(true, parts[0], parts[1], link[0]))) r = cdv_fail_memory(sizeof *g, "a ring");
  if (!r) {
    memcpy(g->control->magic, MAGIC, sizeof g->control->magic);
    g->control->nbytes = parts[0]->nbytes;
    g->batches = batches < SLOTS ? batches : SLOTS;
    r = cdv_publish_segments(parts, 3, 1, ticket);
  }
  cdv_segment_unref(parts[2]); /* the published one has it, until it is handed out */
  if (!r) {
    g->number = ticket->number;
    *out = g;
    return 0;
  }
  if (link[0] >= 0) close(link[0]);
  if (g) {
    ring_unref(g);
  } else {
    cdv_segment_unref(parts[0]);
    cdv_segment_unref(parts[1]);
  }
  return r;
}

void cdv_ring_interrupt(struct cdv_ring *g) {
  struct control *c = g->control;
  atomic_store(&g->interrupted, 1);
  if (g->writes)
    wake(&c->writer_sleeps, &c->for_writer);
  else
    wake(&c->reader_sleeps, &c->for_reader);
}

void cdv_ring_close(struct cdv_ring *g) {
  struct control *c = g->control;
  if (g->writes) cdv_retract(g->number); /* it may not have been opened */
  for (int i = 0; i < SLOTS; i++)
    if (g->apart[i]) cdv_retract(g->apart[i]);
  close(g->link);
  if (g->writes)
    wake(&c->reader_sleeps, &c->for_reader);
  else
    wake(&c->writer_sleeps, &c->for_writer);
  ring_unref(g);
}

/* ---- the reader ---- */
static int open_ring(const struct cdv_ticket *ticket, struct cdv_ring **out) {
  int fds[CDV_IMAGE_SEGMENTS];
  int64_t n, used = 0;
  struct cdv_segment *memory = NULL, *control = NULL;
  int r = cdv_ask_ticket(ticket, fds, &n);
  if (!r && n != 3) r = cdv_fail(CDV_ARGUMENT, EINVAL, "the ticket is not of a stream");
  if (!r) used = 1, r = cdv_segment_map(fds[0], lseek(fds[0], 0, SEEK_END), CDV_SEGMENT_READ, &memory);
  if (!r) used = 2, r = cdv_segment_map(fds[1], sizeof(struct control), CDV_SEGMENT_WRITE, &control);
  const struct control *c = r ? NULL : (const struct control *)(const void *)control->base;
  if (!r && (memcmp(c->magic, MAGIC, sizeof c->magic) != 0 || c->nbytes != memory->nbytes))
    r = cdv_fail(CDV_ARGUMENT, EINVAL, "the shared stream was made by another version of cdevice");
  struct cdv_ring *g = r ? NULL : new_ring(false, memory, control, fds[2]);
  if (!r && !g) r = cdv_fail_memory(sizeof *g, "a ring");
  if (!r) {
    *out = g;
    return 0;
  }
  for (int64_t i = used; i < n; i++) close(fds[i]);
  cdv_segment_unref(memory);
  cdv_segment_unref(control);
  return r;
}

static bool is_written(struct cdv_ring *g) { return atomic_load(&g->control->written) != g->next; }

/* An array in the ring: what gives its part back. */
struct lent {
  struct cdv_ring *ring;
  uint64_t part;
  int64_t nbytes;
  char image[];
};

static void release_part(struct cdv_ring *g, uint64_t part) {
  atomic_store(&g->control->released[part], 1);
  wake(&g->control->writer_sleeps, &g->control->for_writer);
}

static void drop_lent(void *owner) {
  struct lent *l = owner;
  atomic_fetch_sub(&l->ring->held, l->nbytes);
  atomic_fetch_sub(&l->ring->n_held, 1);
  release_part(l->ring, l->part);
  ring_unref(l->ring);
  free(l);
}

/* owns: the part is given back with the array, also after an error. */
static int lend(struct cdv_ring *g, const struct slot *s, struct cdv_schema *schema, int level,
                struct cdv_array **out) {
  struct lent *l = malloc(sizeof *l + s->image_bytes);
  struct cdv_shared *owner = NULL;
  if (!l || cdv_share((struct cdv_owner){drop_lent, l}, &owner)) {
    free(l);
    release_part(g, s->part);
    return cdv_fail_memory((int64_t)s->image_bytes, "an array");
  }
  *l = (struct lent){g, s->part, (int64_t)s->nbytes};
  memcpy(l->image, g->memory->base + s->image, s->image_bytes); /* the writer could change it while it is read */
  atomic_fetch_add(&g->refs, 1);
  atomic_fetch_add(&g->held, l->nbytes);
  atomic_fetch_add(&g->n_held, 1);
  struct cdv_segment *const memory[] = {g->memory};
  const struct cdv_image_segment *lines;
  int64_t n;
  int r = cdv_image_segments(l->image, (int64_t)s->image_bytes, &lines, &n);
  if (!r && n > 1)
    r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "a batch of the shared stream is in %lld segments", (long long)n);
  if (!r) r = cdv_image_parse(l->image, (int64_t)s->image_bytes, memory, n, schema, owner, level, out);
  cdv_shared_unref(owner);
  return r;
}

static int take_array(struct cdv_ring *g, const struct slot *s, struct cdv_schema *schema, int level,
                      struct cdv_array **out) {
  uint64_t all = (uint64_t)g->memory->nbytes;
  if (s->part >= PARTS || s->nbytes > all || s->image > all || s->image_bytes > all - s->image)
    return cdv_fail(CDV_INVALID_ARRAY, EINVAL, "a batch of the shared stream ends behind the memory");
  bool crowded = atomic_load(&g->held) + (int64_t)s->nbytes > (int64_t)all / 2 || atomic_load(&g->n_held) >= PARTS / 4;
  struct cdv_array *lying;
  int r = lend(g, s, schema, level, &lying);
  if (r || !crowded) {
    *out = r ? NULL : lying;
    return r;
  }
  r = cdv_array_copy(lying, ARROW_DEVICE_CPU, -1, NULL, true, out);
  cdv_array_unref(lying);
  return r;
}

static int take_ticket(const struct slot *s, int level, struct cdv_array **out) {
  struct cdv_ticket ticket;
  memcpy(&ticket, s->words, sizeof ticket);
  int r = cdv_open_ticket(&ticket, level, out);
  if (r && cdv_error_last()->kind == CDV_RELEASED)
    r = cdv_fail(CDV_STREAM, EPIPE, "the shared stream was closed by the process that wrote it");
  return r;
}

static int take(struct cdv_ring *g, struct cdv_schema *schema, int level, struct cdv_array **out) {
  struct control *c = g->control;
  struct slot s;
  *out = NULL;
  int r = wait_until(g, is_written);
  if (r) return r;
  memcpy(&s, &c->slots[g->next % SLOTS], sizeof s);
  s.words[WORDS - 1] = 0;
  if (s.kind == ARRAY)
    r = take_array(g, &s, schema, level, out);
  else if (s.kind == TICKET)
    r = take_ticket(&s, level, out);
  else if (s.kind == FAILED)
    r = cdv_fail(CDV_STREAM, s.code > 0 ? (int)s.code : EIO, "%s", s.words);
  else if (s.kind != END)
    r = cdv_fail(CDV_INVALID_ARRAY, EINVAL, "the shared stream has an item of an unknown kind");
  atomic_store(&c->taken, ++g->next);
  wake(&c->writer_sleeps, &c->for_writer);
  return r;
}

/* ---- as a stream ---- */
struct ring_stream {
  struct cdv_stream s; /* first */
  struct cdv_ring *ring;
  int level;
};

static int ring_next(struct cdv_stream *s, struct cdv_array **out) {
  struct ring_stream *r = (struct ring_stream *)s;
  return take(r->ring, s->schema, r->level, out);
}

static void ring_stream_interrupt(struct cdv_stream *s) { cdv_ring_interrupt(((struct ring_stream *)s)->ring); }

static void ring_stream_close(struct cdv_stream *s) {
  cdv_ring_close(((struct ring_stream *)s)->ring);
  free(s);
}

int cdv_ring_open(const struct cdv_ticket *ticket, struct cdv_schema *schema, int level, struct cdv_stream **out) {
  struct ring_stream *s = calloc(1, sizeof *s);
  if (!s) return cdv_fail_memory(sizeof *s, "a stream");
  int r = open_ring(ticket, &s->ring);
  if (r) {
    free(s);
    return r;
  }
  s->level = level;
  cdv_stream_init(&s->s, schema, ARROW_DEVICE_CPU, ring_next, ring_stream_close);
  s->s.interrupt = ring_stream_interrupt;
  *out = &s->s;
  return 0;
}
#endif
