/* registry.c - which table of functions serves a device type: put in, taken out, started, asked. */
#include "core/backend/registry.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/backend/checked_calls.h"
#include "core/backend/host_cache.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/single_flight.h"
#include "core/base/system.h"
#include "core/base/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* writers; nothing is called under it */
static struct cdv_backend *retired; /* removed or replaced: other threads may still be looking at them */
static atomic_int forks;            /* counted in children: a runtime started before is not usable there */

/* What the parent had started, or was starting, is lost in a child: the runtime's threads are not there, and its
 * locks are as some thread left them. Tables that share a runtime share start(); those of Python backends share only
 * the way in. */
static int (*lost[16])(void *, const cdevice_host *, cdevice_error *);

static bool is_lost(const struct cdv_backend *backend) {
  for (int i = 0; i < (int)(sizeof lost / sizeof *lost) && lost[i]; i++)
    if (lost[i] == backend->table.start) return true;
  return false;
}

static void lose(struct cdv_backend *backend) {
  if (!backend || backend->table.capabilities & CDEVICE_CAP_FORK_SAFE) return;
  if (atomic_load(&backend->state) == CDV_BACKEND_STARTING) {
    if (backend->starter == (uintptr_t)pthread_self()) return; /* it goes on in the child */
    backend->generation = atomic_load(&forks);
    atomic_store(&backend->state, CDV_BACKEND_STARTED);
  }
  if (atomic_load(&backend->state) != CDV_BACKEND_STARTED || backend->table.capabilities & CDEVICE_CAP_NEEDS_PYTHON)
    return;
  for (int i = 0; i < (int)(sizeof lost / sizeof *lost) && !is_lost(backend); i++)
    if (!lost[i]) lost[i] = backend->table.start;
}

static void in_child(void) {
  int64_t n = cdv_backend_count();
  for (int64_t i = 0; i < n; i++) {
    const cdevice_backend *b = cdv_backend_table_at(i);
    if (b) lose(cdv_backend_lookup(b->device_type));
  }
  for (struct cdv_backend *backend = retired; backend; backend = backend->next) lose(backend);
  atomic_fetch_add(&forks, 1);
  pthread_mutex_init(&lock, NULL);
}
__attribute__((constructor)) static void watch_forks(void) { cdv_at_fork(NULL, NULL, in_child); }

/* ---- holes in a table ---- */
static int not_offered(cdevice_error *err, const char *what) {
  return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this backend has no %s", what);
}
static int no_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  uint32_t size = out->struct_size;
  memset(out, 0, sizeof *out);
  out->struct_size = size;
  out->alignment = 64;
  out->total_bytes = out->free_bytes = -1;
  return 0;
}
static int no_current_stream(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  *out = NULL;
  return 0;
}
static int no_stream_create(void *self, int64_t device, void **out, cdevice_error *err) {
  (void)self, (void)device, (void)out;
  return not_offered(err, "streams");
}
static void no_stream_destroy(void *self, int64_t device, void *stream) { (void)self, (void)device, (void)stream; }
static int no_stream_wait(void *self, int64_t device, void *stream, cdevice_error *err) {
  (void)self, (void)device, (void)stream, (void)err;
  return 0; /* without streams everything is complete on return */
}
static int no_event_record(void *self, int64_t device, void *stream, cdevice_event *out, cdevice_error *err) {
  (void)self, (void)device, (void)stream, (void)err;
  memset(out, 0, sizeof *out); /* NULL: safe now */
  return 0;
}
static int no_event_done(void *self, int64_t device, void *event, int *done, cdevice_error *err) {
  (void)self, (void)device, (void)event, (void)done;
  return not_offered(err, "events, but the array has one");
}
static int no_event_wait_host(void *self, int64_t device, void *event, cdevice_error *err) {
  (void)self, (void)device, (void)event;
  return not_offered(err, "events, but the array has one");
}
static int no_event_wait_stream(void *self, int64_t device, void *event, void *stream, cdevice_error *err) {
  (void)self, (void)device, (void)event, (void)stream;
  return not_offered(err, "events, but the array has one");
}
static void no_event_destroy(void *self, int64_t device, cdevice_event *event) {
  (void)self, (void)device, (void)event;
}
static int no_event_notify(void *self, int64_t device, void *event, void (*fn)(void *), void *arg, cdevice_error *err) {
  (void)self, (void)device, (void)event, (void)fn, (void)arg;
  return not_offered(err, "notification of events");
}
static int no_fill(void *self, const cdevice_block *block, int64_t offset, int64_t nbytes, int byte, void *stream,
                   cdevice_error *err) {
  (void)self, (void)block, (void)offset, (void)nbytes, (void)byte, (void)stream;
  return not_offered(err, "fill");
}
static int no_locate(void *self, const void *data, int32_t *type, int64_t *device, int64_t *nbytes,
                     cdevice_error *err) {
  (void)self, (void)data, (void)type, (void)device, (void)nbytes;
  return not_offered(err, "look-up of buffers");
}
static int no_compatible(void *self, int64_t device, const void *data, void *event, void *stream) {
  (void)self, (void)device, (void)data, (void)event, (void)stream;
  return 1;
}
static int address_view(void *self, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                        cdevice_error *err) {
  (void)self, (void)err;
  *out = (cdevice_block){(char *)whole->data + offset, nbytes, whole->device_id, {NULL, NULL}};
  return 0;
}
static void no_stop(void *self) { (void)self; }
static const void *no_extension(void *self, const char *id) {
  (void)self, (void)id;
  return NULL;
}

static void fill_holes(cdevice_backend *b) {
  b->device_info = b->device_info ? b->device_info : no_device_info;
  b->current_stream = b->current_stream ? b->current_stream : no_current_stream;
  b->stream_create = b->stream_create ? b->stream_create : no_stream_create;
  b->stream_destroy = b->stream_destroy ? b->stream_destroy : no_stream_destroy;
  b->stream_wait_host = b->stream_wait_host ? b->stream_wait_host : no_stream_wait;
  b->event_record = b->event_record ? b->event_record : no_event_record;
  b->event_done = b->event_done ? b->event_done : no_event_done;
  b->event_wait_host = b->event_wait_host ? b->event_wait_host : no_event_wait_host;
  b->event_wait_stream = b->event_wait_stream ? b->event_wait_stream : no_event_wait_stream;
  b->event_destroy = b->event_destroy ? b->event_destroy : no_event_destroy;
  b->event_notify = b->event_notify ? b->event_notify : no_event_notify;
  b->fill = b->fill ? b->fill : no_fill;
  b->locate = b->locate ? b->locate : no_locate;
  b->compatible = b->compatible ? b->compatible : no_compatible;
  b->view = b->view ? b->view : address_view;
  b->stop = b->stop ? b->stop : no_stop;
  b->extension = b->extension ? b->extension : no_extension;
}

/* ---- what a table must be ---- */
static bool name_ok(const char *name) {
  if (!name || name[0] < 'a' || name[0] > 'z') return false;
  size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return !name[n] && n < 64;
}

static int check_table(const cdevice_backend *b) {
  const uint32_t mine = CDEVICE_BACKEND_ABI;
  if (!b) return cdv_fail(CDV_ARGUMENT, EINVAL, "no backend table: its address is NULL");
  const char *name = b->name ? b->name : "(no name)";
  if (b->abi_version >> 16 != mine >> 16)
    return cdv_fail(
        CDV_ARGUMENT, ENOTSUP,
        "backend table of version %u.%u, this cdevice supports %u.x: rebuild the plug-in against its backend.h",
        b->abi_version >> 16, b->abi_version & 0xFFFF, mine >> 16);
  /* the head and the required members must be there for every minor version */
  size_t required = offsetof(cdevice_backend, copy) + sizeof b->copy;
  if (b->struct_size < required)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "backend table of %u bytes, at least %zu are required", b->struct_size,
                    required);
  if (!name_ok(b->name))
    return cdv_fail(CDV_ARGUMENT, EINVAL, "backend name \"%.64s\": expected [a-z][a-z0-9_]*", name);
  if (b->device_type <= 0)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "backend %s: device type %d is not positive", name, (int)b->device_type);
  return 0;
}

static int check_members(const cdevice_backend *b) {
  const char *missing = !b->start          ? "start"
                        : !b->device_count ? "device_count"
                        : !b->alloc        ? "alloc"
                        : !b->free         ? "free"
                        : !b->copy         ? "copy"
                                           : NULL;
  if (!missing && (b->capabilities & CDEVICE_CAP_EVENTS))
    missing = !b->event_record        ? "event_record"
              : !b->event_done        ? "event_done"
              : !b->event_wait_host   ? "event_wait_host"
              : !b->event_wait_stream ? "event_wait_stream"
              : !b->event_destroy     ? "event_destroy"
                                      : NULL;
  if (!missing && !(b->capabilities & CDEVICE_CAP_ADDRESS) && !b->view) missing = "view";
  if (!missing && (b->capabilities & CDEVICE_CAP_STREAMS) && !b->stream_wait_host) missing = "stream_wait_host";
  if (missing)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "backend %s (device type %d): the function %s is missing", b->name,
                    (int)b->device_type, missing);
  return 0;
}

static void retire(struct cdv_backend *backend) { /* under the lock */
  if (!backend) return;
  backend->next = retired;
  retired = backend;
}

static _Atomic(void (*)(struct cdv_backend *)) forget;
void cdv_set_forget(void (*f)(struct cdv_backend *backend)) { atomic_store(&forget, f); }

/* A table that was replaced while arrays needed it is looked at again at the next change. */
static void forget_unused(void) {
  void (*f)(struct cdv_backend *) = atomic_load(&forget);
  pthread_mutex_lock(&lock);
  struct cdv_backend *backend = retired; /* the list grows at its head alone */
  pthread_mutex_unlock(&lock);
  for (; f && backend; backend = backend->next)
    if (!atomic_load(&backend->live) && cdv_backend_usable_in_process(backend)) f(backend);
}

/* owns: the table is copied; what its pointers point to must live as long as the process. */
int cdv_register(const cdevice_backend *b, int replace) {
  int r = check_table(b);
  if (r) return r;
  struct cdv_backend *backend = calloc(1, sizeof *backend);
  if (!backend) return cdv_fail_memory(sizeof *backend, "a backend");
  size_t size = b->struct_size / sizeof(void *) * sizeof(void *); /* whole members: a cut one would be called */
  memcpy(&backend->table, b, size < sizeof *b ? size : sizeof *b);
  r = check_members(&backend->table);
  if (r) {
    free(backend);
    return r;
  }
  if (!backend->table.family) backend->table.family = backend->table.name;
  fill_holes(&backend->table);
  pthread_mutex_lock(&lock);
  _Atomic(struct cdv_backend *) *at = cdv_backend_cell(b->device_type);
  struct cdv_backend *old = at ? atomic_load(at) : NULL;
  struct cdv_backend *namesake = NULL;
  int64_t n = cdv_backend_count();
  for (int64_t i = 0; i < n; i++) {
    const cdevice_backend *other = cdv_backend_table_at(i);
    if (other && other->device_type != b->device_type && !strcmp(other->name, b->name))
      namesake = cdv_backend_lookup(other->device_type);
  }
  if (!at)
    r = cdv_fail_memory(64, "a backend");
  else if (namesake)
    r = cdv_fail(CDV_BUSY, EEXIST, "the name \"%s\" is already used by the backend of device type %d", b->name,
                 (int)namesake->table.device_type);
  else if (old && !replace)
    r = cdv_fail(CDV_BUSY, EEXIST, "device type %d is already served by \"%s\"; pass replace=True to register \"%s\"",
                 (int)b->device_type, old->table.name, b->name);
  else {
    atomic_store(at, backend); /* the old table stays for arrays made with it; see cdv_backend_still_serves */
    retire(old);
  }
  pthread_mutex_unlock(&lock);
  if (r) free(backend);
  if (!r) forget_unused();
  return r;
}

int cdv_unregister(int32_t t) {
  struct cdv_backend *backend = NULL;
  int r = 0;
  long long used = 0;
  pthread_mutex_lock(&lock);
  _Atomic(struct cdv_backend *) *at = t > 0 ? cdv_backend_cell(t) : NULL;
  if (at) backend = atomic_load(at);
  if (backend) {
    atomic_store(at, NULL); /* hidden first: no new user counts itself in */
    used = atomic_load(&backend->live);
    if (used)
      atomic_store(at, backend);
    else
      retire(backend);
  }
  pthread_mutex_unlock(&lock);
  if (!backend)
    r = cdv_fail(CDV_ARGUMENT, ENOENT, "no backend is registered for device type %d", (int)t);
  else if (used)
    r = cdv_fail(CDV_BUSY, EBUSY, "backend \"%s\" is in use by %lld arrays", backend->table.name, used);
  if (!r) forget_unused();
  if (!r && atomic_load(&backend->state) == CDV_BACKEND_STARTED && cdv_backend_usable_in_process(backend))
    backend->table.stop(backend->table.self);
  return r;
}

/* Loads a backend on first use; the plug-in loader sets it. */
static _Atomic(int (*)(int32_t)) loader;
void cdv_set_loader(int (*load)(int32_t device_type)) { atomic_store(&loader, load); }

static int slot_or_load(int32_t t, struct cdv_backend **out) {
  int (*load)(int32_t) = NULL;
  int r = 0;
  *out = cdv_backend_lookup(t);
  if (!*out && (load = atomic_load(&loader))) {
    r = load(t);
    *out = cdv_backend_lookup(t);
  }
  return *out ? 0 : r;
}

bool cdv_host_accessible(int32_t t) {
  if (t == ARROW_DEVICE_CPU) return true;
  struct cdv_backend *backend;
  slot_or_load(t, &backend);
  return backend && (backend->table.capabilities & CDEVICE_CAP_HOST_ACCESSIBLE);
}

int cdv_load_tables(cdevice_backend_init_fn init, const char *who, int replace) {
  int taken = 0, made = 0;
  for (int64_t i = 0;; i++) {
    const cdevice_backend *table = NULL;
    cdevice_error err = {.struct_size = sizeof err};
    int r = init(CDEVICE_BACKEND_ABI, i, &table, &err);
    if (r == ENOENT && i > 0) return made ? 0 : taken;
    if (!r && !table) r = cdevice_backend_fail(&err, EINVAL, 0, NULL, "cdevice_backend_init() returned no table");
    if (r)
      return cdv_fail(CDV_ARGUMENT, r, "plug-in %s (core version %u.%u): %s", who, CDEVICE_BACKEND_ABI >> 16,
                      CDEVICE_BACKEND_ABI & 0xFFFF, err.message[0] ? err.message : strerror(r));
    r = cdv_register(table, replace);
    if (r == EEXIST)
      taken = r; /* this type has a backend already; the others may be free */
    else if (r)
      return r;
    else
      made++;
  }
}

/* Libraries are never closed: tables and code of theirs may be in use. */
int cdv_load_plugin(const char *path, int replace) {
  const char *why;
  void *handle = cdv_library_open(path, &why);
  if (!handle) return cdv_fail(CDV_ARGUMENT, ENOENT, "%s", why);
  cdevice_backend_init_fn init;
  *(void **)&init = cdv_library_symbol(handle, "cdevice_backend_init");
  if (!init) return cdv_fail(CDV_ARGUMENT, EINVAL, "%s has no function cdevice_backend_init", path);
  return cdv_load_tables(init, path, replace);
}

/* ---- first use ---- */
static void log_to_stderr(int level, const char *text) {
  if (level >= 30) fprintf(stderr, "cdevice: %s\n", text);
}
static void share(cdevice_range_fn part, void *arg, int64_t total, int64_t slice) {
  cdv_parallel_for(CDV_POOL_KERNELS, part, arg, total, slice);
}
static const cdevice_host host = {CDEVICE_BACKEND_ABI, sizeof host,       log_to_stderr, share,
                                  cdv_host_cache_get,  cdv_host_cache_put};
void cdv_log(int level, const char *text) { host.log(level, text); }

int cdv_backend_find(int32_t t, struct cdv_backend **out) {
  int r = slot_or_load(t, out);
  if (r || *out) return r;
  const char *name = cdv_device_type_name(t);
  if (!strncmp(name, "device type", 11)) return cdv_fail(CDV_UNAVAILABLE, ENODEV, "no backend serves %s", name);
  return cdv_fail(CDV_UNAVAILABLE, ENODEV, "no backend serves %s (device type %d)", name, (int)t);
}

bool cdv_backend_usable_in_process(const struct cdv_backend *backend) {
  if (!backend || backend->table.capabilities & CDEVICE_CAP_FORK_SAFE) return true;
  if (atomic_load_explicit(&backend->state, memory_order_acquire) != CDV_BACKEND_STARTED) return true;
  return backend->generation == atomic_load_explicit(&forks, memory_order_relaxed);
}

int cdv_backend_get_started(int32_t t, struct cdv_backend **out) {
  int r = cdv_backend_find(t, out);
  return r ? r : cdv_backend_start(*out);
}

int cdv_backend_acquire(int32_t t, struct cdv_backend **out) {
  for (;;) {
    int r = cdv_backend_get_started(t, out);
    if (r) return r;
    cdv_backend_addref(*out, 1);
    if (cdv_backend_still_serves(t, *out)) return 0; /* an unregistration from now on sees that it is in use */
    cdv_backend_addref(*out, -1);
  }
}

bool cdv_backend_same_family(const struct cdv_backend *a, const struct cdv_backend *b) {
  if (a == b) return true;
  return !strcmp(a->table.family, b->table.family) && cdv_backend_lookup(a->table.device_type) == a &&
         cdv_backend_lookup(b->table.device_type) == b;
}

/* start() may ask about any device: it runs without a lock, by one thread. */
static int start(struct cdv_backend *backend) {
  cdevice_error err = {.struct_size = sizeof err};
  struct cdv_single_flight turn;
  int r = 0;
  if (cdv_single_flight_begin(&turn, (uintptr_t)backend))
    return cdv_fail(CDV_DEVICE, EDEADLK,
                    "%s: its start() waits for itself: it uses %s, or a backend whose start() does; use it once "
                    "start() has returned",
                    backend->table.name, backend->table.name);
  if (atomic_load(&backend->state) != CDV_BACKEND_STARTED) {
    backend->starter = (uintptr_t)pthread_self();
    atomic_store(&backend->state, CDV_BACKEND_STARTING);
    r = backend->table.start(backend->table.self, &host, &err);
    backend->generation = atomic_load(&forks);
    atomic_store_explicit(&backend->state, r ? CDV_BACKEND_NEW : CDV_BACKEND_STARTED, memory_order_release);
  }
  cdv_single_flight_end(&turn);
  /* a failure is not remembered: the next use tries again, the driver may be there by then */
  return r ? cdv_fail_backend(r, &err, backend->table.device_type, -1, "cannot be used here") : 0;
}

int cdv_backend_start(struct cdv_backend *backend) {
  int state = atomic_load_explicit(&backend->state, memory_order_acquire);
  if (state == CDV_BACKEND_STARTED && cdv_backend_usable_in_process(backend)) return 0;
  if (state == CDV_BACKEND_STARTED || is_lost(backend))
    return cdv_fail(
        CDV_DEVICE, EPERM,
        "%s was started before this process was forked and cannot be used in the child; start processes with \"spawn\"",
        backend->table.name);
  return start(backend);
}

int cdv_device_count(int32_t t, int64_t *out) {
  struct cdv_backend *backend;
  int r = cdv_backend_get_started(t, &backend);
  if (r) return r;
  cdevice_error err = {.struct_size = sizeof err};
  r = cdv_checked_device_count(backend, out, &err);
  return r ? cdv_fail_backend(r, &err, t, -1, "counting devices") : 0;
}

int cdv_device_info(int32_t t, int64_t id, cdevice_device_info *out) {
  struct cdv_backend *backend;
  int r = cdv_backend_get_started(t, &backend);
  if (r) return r;
  cdevice_error err = {.struct_size = sizeof err};
  r = cdv_checked_device_info(backend, id, out, &err);
  return r ? cdv_fail_backend(r, &err, t, id, "querying a device") : 0;
}

int cdv_is_host_accessible(int32_t t) { return cdv_host_accessible(t); }
