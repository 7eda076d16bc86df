/* pool.c - a device of threads for cdevice: EXT_DEV (12), two devices, a queue and a thread for each stream.
 *
 * All a vendor needs is backend.h; kernels.c adds the functions of cdevice.compute.  Work is done in the order of its stream by the stream's thread; an event is a
 * counted flag that such a thread sets.  Memory is the host's, but reads before the event return unspecified values. */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { DEVICES = 2, ALIGNMENT = 64 };

/* ---- events: set once, counted, because a stream may still be about to set one that was given back ---- */
struct event {
  pthread_mutex_t lock;
  pthread_cond_t passed;
  int done, refs;
};

static struct event *event_new(void) {
  struct event *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->passed, NULL);
  e->refs = 1;
  return e;
}

static void event_ref(struct event *e) {
  pthread_mutex_lock(&e->lock);
  e->refs++;
  pthread_mutex_unlock(&e->lock);
}

static void event_unref(struct event *e) {
  pthread_mutex_lock(&e->lock);
  int left = --e->refs;
  pthread_mutex_unlock(&e->lock);
  if (left) return;
  pthread_mutex_destroy(&e->lock);
  pthread_cond_destroy(&e->passed);
  free(e);
}

static void event_set(struct event *e) {
  pthread_mutex_lock(&e->lock);
  e->done = 1;
  pthread_cond_broadcast(&e->passed);
  pthread_mutex_unlock(&e->lock);
}

static void event_wait(struct event *e) {
  pthread_mutex_lock(&e->lock);
  while (!e->done) pthread_cond_wait(&e->passed, &e->lock);
  pthread_mutex_unlock(&e->lock);
}

/* ---- streams ---- */
struct dying { /* memory that goes when every stream has passed the point at which it was given back */
  void *data;
  atomic_int streams;
};
enum kind { COPIES, SET, WAIT, FREE, LEAVE, KERNEL };
struct job {
  struct job *next;
  enum kind kind;
  struct event *event;
  struct dying *dying;
  void (*kernel)(const pool_launch *launch);
  pool_launch launch;
  cdevice_kernel_buffer buffers[CDEVICE_KERNEL_BUFFERS];
  int64_t numbers[CDEVICE_KERNEL_SCALARS];
  int64_t n;
  cdevice_copy copies[];
};
struct stream {
  struct stream *next; /* of all */
  pthread_mutex_t lock;
  pthread_cond_t more;
  struct job *first, **last;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *all;

static void one_less(struct dying *d) {
  if (atomic_fetch_sub(&d->streams, 1) != 1) return;
  free(d->data);
  free(d);
}

static void run(struct job *j) {
  if (j->kind == COPIES)
    for (int64_t i = 0; i < j->n; i++)
      memmove((char *)j->copies[i].dst + j->copies[i].dst_offset,
              (const char *)j->copies[i].src + j->copies[i].src_offset, (size_t)j->copies[i].nbytes);
  if (j->kind == KERNEL) j->kernel(&j->launch);
  if (j->kind == FREE) one_less(j->dying);
  if (j->kind == SET) event_set(j->event);
  if (j->kind == WAIT) event_wait(j->event);
  if (j->event) event_unref(j->event);
}

static void *work(void *arg) {
  struct stream *s = arg;
  for (;;) {
    pthread_mutex_lock(&s->lock);
    while (!s->first) pthread_cond_wait(&s->more, &s->lock);
    struct job *j = s->first;
    s->first = j->next;
    if (!s->first) s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    int leave = j->kind == LEAVE;
    run(j);
    free(j);
    if (leave) break;
  }
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->more);
  free(s);
  return NULL;
}

static struct stream *stream_new(void) {
  struct stream *s = calloc(1, sizeof *s);
  pthread_t thread;
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->more, NULL);
  s->last = &s->first;
  if (pthread_create(&thread, NULL, work, s)) {
    free(s);
    return NULL;
  }
  pthread_detach(thread);
  pthread_mutex_lock(&all_lock);
  s->next = all;
  all = s;
  pthread_mutex_unlock(&all_lock);
  return s;
}

static struct stream *defaults[DEVICES];

static struct stream *stream_of(int64_t device, void *stream) { return stream ? stream : defaults[device]; }

static void append(struct stream *s, struct job *j) {
  pthread_mutex_lock(&s->lock);
  *s->last = j;
  s->last = &j->next;
  pthread_cond_signal(&s->more);
  pthread_mutex_unlock(&s->lock);
}

static int enqueue(struct stream *s, enum kind kind, struct event *e, const cdevice_copy *copies, int64_t n,
                   cdevice_error *err) {
  struct job *j = malloc(sizeof *j + (size_t)n * sizeof *copies);
  if (!j) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for a job");
  *j = (struct job){.kind = kind, .event = e, .n = n};
  if (n) memcpy(j->copies, copies, (size_t)n * sizeof *copies);
  if (e) event_ref(e);
  append(s, j);
  return 0;
}

int pool_start(int64_t device, void *kernel, const cdevice_launch *l, void *stream, cdevice_error *err) {
  struct job *j = calloc(1, sizeof *j);
  if (!j) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for a job");
  j->kind = KERNEL;
  *(void **)&j->kernel = kernel;
  memcpy(j->buffers, l->buffers, sizeof j->buffers);
  memcpy(j->numbers, l->scalars, sizeof j->numbers);
  j->launch = (pool_launch){0, l->n_work_items, j->buffers, j->numbers};
  append(stream_of(device, stream), j);
  return 0;
}

/* ---- the table ---- */
static int known(int64_t device, cdevice_error *err) {
  if (device >= 0 && device < DEVICES) return 0;
  return cdevice_backend_fail(err, ENODEV, 0, NULL, "no device pool:%lld: there are %d", (long long)device, DEVICES);
}

static int start(void *self, const cdevice_host *host, cdevice_error *err) {
  (void)self, (void)host;
  for (int i = 0; i < DEVICES; i++)
    if (!defaults[i] && !(defaults[i] = stream_new())) return cdevice_backend_fail(err, EAGAIN, 0, NULL, "no thread");
  return 0;
}

static int device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self, (void)err;
  *out = DEVICES;
  return 0;
}

static int device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  (void)self;
  int r = known(device, err);
  if (r) return r;
  out->alignment = ALIGNMENT;
  out->total_bytes = out->free_bytes = -1;
  snprintf(out->name, sizeof out->name, "threads %lld", (long long)device);
  snprintf(out->driver, sizeof out->driver, "pool 1.0");
  return 0;
}

static int alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)self, (void)stream;
  int r = known(device, err);
  if (r) return r;
  size_t size = ((size_t)nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *data = nbytes > INT64_MAX / 4 ? NULL : aligned_alloc(ALIGNMENT, size);
  if (!data) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "cannot allocate %lld bytes", (long long)nbytes);
  out->data = data;
  out->nbytes = nbytes;
  out->device_id = device;
  return 0;
}

/* Never waits: the memory goes once every stream has passed this point, for any of them may still use it. */
static void free_block(void *self, const cdevice_block *block) {
  (void)self;
  struct dying *d = malloc(sizeof *d);
  if (!d) return; /* rather lost than given away too early */
  d->data = block->data;
  atomic_init(&d->streams, 1);
  pthread_mutex_lock(&all_lock);
  for (struct stream *s = all; s; s = s->next) {
    struct job *j = calloc(1, sizeof *j);
    atomic_fetch_add(&d->streams, 1);
    if (!j) continue; /* never reaches zero: lost */
    j->kind = FREE;
    j->dying = d;
    append(s, j);
  }
  pthread_mutex_unlock(&all_lock);
  one_less(d);
}

static int copy(void *self, int kind, const cdevice_copy *copies, int64_t n, void *stream, cdevice_error *err) {
  (void)self;
  if (!n) return 0;
  int64_t device = kind == CDEVICE_COPY_D2H ? copies[0].src_device : copies[0].dst_device;
  int r = known(device, err);
  return r ? r : enqueue(stream_of(device, stream), COPIES, NULL, copies, n, err);
}

static int event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self;
  int r = known(device, err);
  if (r) return r;
  struct event *e = event_new();
  if (!e) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory for an event");
  r = enqueue(stream_of(device, stream), SET, e, NULL, 0, err);
  if (r) {
    event_unref(e);
    return r;
  }
  out->slot = e; /* like a vendor's handle: sync_event points to where it is kept */
  out->sync_event = &out->slot;
  return 0;
}

static struct event *event_at(void *sync_event) { return *(struct event **)sync_event; }

static int event_done(void *self, int64_t device, void *sync_event, int *done, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  struct event *e = event_at(sync_event);
  pthread_mutex_lock(&e->lock);
  *done = e->done;
  pthread_mutex_unlock(&e->lock);
  return 0;
}

static int event_wait_host(void *self, int64_t device, void *sync_event, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  event_wait(event_at(sync_event));
  return 0;
}

static int event_wait_stream(void *self, int64_t device, void *sync_event, void *stream, cdevice_error *err) {
  (void)self;
  int r = known(device, err);
  return r ? r : enqueue(stream_of(device, stream), WAIT, event_at(sync_event), NULL, 0, err);
}

static void event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device;
  event_unref(event->slot);
}

static int current_stream(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  int r = known(device, err);
  if (!r) *out = defaults[device];
  return r;
}

static int stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self;
  int r = known(device, err);
  if (r) return r;
  *out = stream_new();
  return *out ? 0 : cdevice_backend_fail(err, EAGAIN, 0, NULL, "cannot start a thread for a stream");
}

static void stream_destroy(void *self, int64_t device, void *stream) {
  (void)self, (void)device;
  pthread_mutex_lock(&all_lock);
  struct stream **at = &all;
  while (*at && *at != stream) at = &(*at)->next;
  if (*at) *at = (*at)->next;
  pthread_mutex_unlock(&all_lock);
  enqueue(stream, LEAVE, NULL, NULL, 0, NULL);
}

static int stream_wait_host(void *self, int64_t device, void *stream, cdevice_error *err) {
  cdevice_event event;
  int r = event_record(self, device, stream, &event, err);
  if (r) return r;
  event_wait(event.slot);
  event_destroy(self, device, &event);
  return 0;
}

static const void *extension(void *self, const char *id) {
  (void)self;
  return strcmp(id, CDEVICE_COMPUTE) ? NULL : &pool_compute;
}

static const cdevice_backend table = {
    .abi_version = CDEVICE_BACKEND_ABI,
    .struct_size = sizeof table,
    .device_type = ARROW_DEVICE_EXT_DEV,
    .capabilities = CDEVICE_CAP_ADDRESS | CDEVICE_CAP_EVENTS | CDEVICE_CAP_STREAMS | CDEVICE_CAP_PEER,
    .name = "pool",
    .version = "1.0",
    .start = start,
    .device_count = device_count,
    .device_info = device_info,
    .alloc = alloc,
    .free = free_block,
    .copy = copy,
    .event_record = event_record,
    .event_done = event_done,
    .event_wait_host = event_wait_host,
    .event_wait_stream = event_wait_stream,
    .event_destroy = event_destroy,
    .current_stream = current_stream,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait_host = stream_wait_host,
    .extension = extension,
};

__attribute__((visibility("default"))) int cdevice_backend_init(uint32_t core_abi, int64_t index,
                                                                const cdevice_backend **out, cdevice_error *err) {
  if (core_abi >> 16 != CDEVICE_BACKEND_ABI >> 16)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "built for ABI %x, not %x", CDEVICE_BACKEND_ABI, core_abi);
  if (index) return ENOENT;
  *out = &table;
  return 0;
}

/* For the tests: holds a stream until the gate is opened. */
__attribute__((visibility("default"))) void *pool_gate_close(int64_t device, void *stream) {
  struct event *gate = event_new();
  if (gate && enqueue(stream_of(device, stream), WAIT, gate, NULL, 0, NULL)) {
    event_unref(gate);
    gate = NULL;
  }
  return gate;
}
__attribute__((visibility("default"))) void pool_gate_open(void *gate) {
  event_set(gate);
  event_unref(gate);
}
