/* profile.c - records when a device began and ended each kernel and copy.
 *
 * A mark is put before and behind each piece of work on its stream; the times are read at the end, when the device has
 * passed them. The list of profiles is guarded by one lock, each profile's events by its own. */
#include "core/backend/profile.h"
#include "cdevice/backend.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/system.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS ((int64_t)1 << 20)

int cdv_profiles;

struct event {
  struct cdv_profile_event told;
  void *begin, *end; /* marks; NULL: none */
};
struct cdv_profile {
  struct cdv_profile *next;
  struct cdv_backend *backend; /* counted: it is not taken out before */
  const cdevice_profile *calls;
  int64_t device;
  void *base; /* the mark of the beginning */
  pthread_mutex_t lock;
  int users; /* spans that are open; guarded by the list's lock */
  struct event *events;
  int64_t n, room;
  int64_t lost; /* events for which there was no memory, or no room */
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t idle;
  struct cdv_profile *first;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static const cdevice_profile *calls_of(const struct cdv_backend *backend) {
  const cdevice_backend *b = &backend->table;
  const cdevice_profile *c = b->extension ? b->extension(b->self, CDEVICE_PROFILE) : NULL;
  return c && c->struct_size >= offsetof(cdevice_profile, stream_create) && c->mark && c->elapsed && c->drop ? c : NULL;
}

static int acquire(int32_t device_type, struct cdv_backend **backend, const cdevice_profile **calls) {
  int r = cdv_backend_acquire(device_type, backend);
  if (r) return r;
  *calls = calls_of(*backend);
  if (*calls) return 0;
  cdv_backend_addref(*backend, -1);
  return cdv_fail(CDV_UNSUPPORTED, ENOTSUP, "the backend of %s has no times of its work (extension cdevice.profile/1)",
                  cdv_device_type_name(device_type));
}

int cdv_profile_begin(int32_t device_type, int64_t device, void *stream, struct cdv_profile **out) {
  struct cdv_backend *backend;
  const cdevice_profile *calls;
  cdevice_error err = {.struct_size = sizeof err};
  *out = NULL;
  int r = acquire(device_type, &backend, &calls);
  if (r) return r;
  struct cdv_profile *p = calloc(1, sizeof *p);
  if (!p) {
    cdv_backend_addref(backend, -1);
    return cdv_fail_memory((int64_t)sizeof *p, "a profile");
  }
  p->backend = backend, p->calls = calls, p->device = device;
  r = calls->mark(backend->table.self, device, stream, &p->base, &err);
  if (r) {
    cdv_fail_backend(r, &err, device_type, device, "profiling");
    cdv_backend_addref(backend, -1);
    free(p);
    return r;
  }
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_lock(&list.lock);
  p->next = list.first, list.first = p;
  __atomic_add_fetch(&cdv_profiles, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&list.lock);
  *out = p;
  return 0;
}

/* ---- while work is given to the device ---- */
void cdv_profile_enter_slowly(struct cdv_profile_span *span, struct cdv_backend *backend, int64_t device,
                              void *stream) {
  pthread_mutex_lock(&list.lock);
  struct cdv_profile *p = list.first;
  while (p && (p->backend != backend || p->device != device)) p = p->next;
  if (p) p->users++;
  pthread_mutex_unlock(&list.lock);
  span->profile = p;
  span->begin = NULL;
  if (p && p->calls->mark(backend->table.self, device, stream, &span->begin, NULL)) span->begin = NULL;
}

/* Takes the marks over. */
static void keep(struct cdv_profile *p, const struct cdv_profile_event *what, void *stream, void *begin, void *end) {
  pthread_mutex_lock(&p->lock);
  if (p->n == p->room && p->room < MOST_EVENTS) {
    int64_t room = p->room ? 2 * p->room : 256;
    struct event *more = realloc(p->events, (size_t)room * sizeof *more);
    if (more) p->events = more, p->room = room;
  }
  bool kept = p->n < p->room;
  if (kept)
    p->events[p->n] = (struct event){*what, begin, end}, p->events[p->n++].told.stream = (uintptr_t)stream;
  else
    p->lost++;
  pthread_mutex_unlock(&p->lock);
  void *self = p->backend->table.self;
  if (!kept && begin) p->calls->drop(self, p->device, begin);
  if (!kept && end) p->calls->drop(self, p->device, end);
}

void cdv_profile_leave_slowly(struct cdv_profile_span *span, void *stream, const struct cdv_profile_event *what) {
  struct cdv_profile *p = span->profile;
  void *end = NULL;
  if (span->begin && p->calls->mark(p->backend->table.self, p->device, stream, &end, NULL)) end = NULL;
  keep(p, what, stream, span->begin, end);
  pthread_mutex_lock(&list.lock);
  if (!--p->users) pthread_cond_broadcast(&list.idle);
  pthread_mutex_unlock(&list.lock);
}

int cdv_profiled_copy(struct cdv_backend *backend, int64_t device, int kind, const cdevice_copy *copies, int64_t n,
                      void *stream, cdevice_error *err) {
  struct cdv_profile_span span;
  cdv_profile_enter(&span, backend, device, stream);
  int r = backend->table.copy(backend->table.self, kind, copies, n, stream, err);
  if (span.profile) {
    struct cdv_profile_event what = {.kind = kind == CDEVICE_COPY_H2D ? 'h' : kind == CDEVICE_COPY_D2H ? 'd' : 'c'};
    const char *names[3] = {"copy to the device", "copy to the host", "copy on the device"};
    strcpy(what.name, names[what.kind == 'h' ? 0 : what.kind == 'd' ? 1 : 2]);
    for (int64_t i = 0; i < n; i++) what.nbytes += copies[i].nbytes;
    cdv_profile_leave(&span, stream, &what);
  }
  return r;
}

/* ---- the end ---- */
static int read_times(struct cdv_profile *p, struct event *e, cdevice_error *err) {
  void *self = p->backend->table.self;
  e->told.begin = 0, e->told.end = -1;
  if (!e->begin || !e->end) return 0;
  int r = p->calls->elapsed(self, p->device, p->base, e->begin, &e->told.begin, err);
  return r ? r : p->calls->elapsed(self, p->device, p->base, e->end, &e->told.end, err);
}

int cdv_profile_end(struct cdv_profile *p, int64_t *n) {
  cdevice_error err = {.struct_size = sizeof err};
  int r = 0;
  pthread_mutex_lock(&list.lock);
  struct cdv_profile **at = &list.first;
  while (*at && *at != p) at = &(*at)->next;
  if (*at) { /* else this is a child: what its parent began has no end here */
    *at = p->next;
    __atomic_sub_fetch(&cdv_profiles, 1, __ATOMIC_RELEASE);
  }
  while (p->users) pthread_cond_wait(&list.idle, &list.lock);
  pthread_mutex_unlock(&list.lock);
  if (!cdv_backend_usable_in_process(p->backend)) p->n = 0;
  for (int64_t i = 0; !r && i < p->n; i++) r = read_times(p, &p->events[i], &err);
  *n = r ? 0 : p->n;
  if (r) return cdv_fail_backend(r, &err, p->backend->table.device_type, p->device, "reading the times of a profile");
  if (p->lost)
    return cdv_fail(CDV_MEMORY, ENOMEM, "profile: no room for %lld of %lld kernels and copies", (long long)p->lost,
                    (long long)(p->n + p->lost));
  return 0;
}

void cdv_profile_get(const struct cdv_profile *p, int64_t i, struct cdv_profile_event *out) {
  *out = p->events[i].told;
}

void cdv_profile_free(struct cdv_profile *p) {
  void *self = p->backend->table.self;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->events[i].begin) p->calls->drop(self, p->device, p->events[i].begin);
    if (p->events[i].end) p->calls->drop(self, p->device, p->events[i].end);
  }
  if (cdv_backend_usable_in_process(p->backend)) p->calls->drop(self, p->device, p->base);
  cdv_backend_addref(p->backend, -1);
  pthread_mutex_destroy(&p->lock);
  free(p->events);
  free(p);
}

/* ---- streams with times ---- */
int cdv_profile_stream(int32_t device_type, int64_t device, void **out) {
  struct cdv_backend *backend;
  const cdevice_profile *calls;
  cdevice_error err = {.struct_size = sizeof err};
  *out = NULL;
  int r = acquire(device_type, &backend, &calls);
  if (r) return r;
  bool own = calls->struct_size >= sizeof *calls && calls->stream_create;
  r = own ? calls->stream_create(backend->table.self, device, out, &err) : 0;
  if (r) cdv_fail_backend(r, &err, device_type, device, "making a stream that has times");
  cdv_backend_addref(backend, -1);
  return r;
}

void cdv_profile_stream_free(int32_t device_type, int64_t device, void *stream) {
  struct cdv_backend *backend;
  if (cdv_backend_acquire(device_type, &backend)) return;
  if (backend->table.stream_destroy) backend->table.stream_destroy(backend->table.self, device, stream);
  cdv_backend_addref(backend, -1);
}

/* ---- forks ---- */
static void before_fork(void) { pthread_mutex_lock(&list.lock); }
static void after_fork(void) { pthread_mutex_unlock(&list.lock); }
static void in_child(void) {
  list.first = NULL;
  __atomic_store_n(&cdv_profiles, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&list.lock);
}
__attribute__((constructor)) static void init(void) { cdv_at_fork(before_fork, after_fork, in_child); }
