/* kernel_cache.c - kernels, found by name: built from text where they are needed first, and kept. */
#include "core/compute/kernel_cache.h"
#include "cdevice/backend.h"
#include "core/backend/process_exit.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/single_flight.h"
#include "core/base/system.h"
#include "core/compute/kernel_disk_cache.h"
#include "core/compute/kernel_source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A kernel.  Its program has it and those that a call launches next, no more: compilers take much longer for all that a
 * family can do with a type. */
struct kernel {
  struct kernel *next;
  struct cdv_backend *backend; /* never the same again: one that was replaced may still have some here */
  int64_t device;
  void *scope;
  uint32_t flags; /* a device that changes its mind gets other programs */
  char family[24], type[24], name[32];
  void *module; /* NULL: another kernel of the program has it */
  void *handle;
};

#define PLACES 256
#define PROGRAM_KERNELS 4
static struct {
  pthread_mutex_t lock;
  struct kernel *kernels[PLACES];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void) { pthread_mutex_lock(&cache.lock); }
static void after_fork(void) { pthread_mutex_unlock(&cache.lock); }

#define HAS(compute, member) \
  ((compute)->struct_size >= offsetof(cdevice_compute, member) + sizeof(compute)->member && (compute)->member)

const cdevice_compute *cdv_compute_of(struct cdv_backend *backend) {
  const cdevice_backend *b = &backend->table;
  const cdevice_compute *c = b->extension ? b->extension(b->self, CDEVICE_COMPUTE) : NULL;
  return c && HAS(c, unload) && c->identity && c->build && c->kernel && c->launch ? c : NULL;
}

int cdv_has_kernels(int32_t device_type) {
  struct cdv_backend *backend;
  return !cdv_backend_get_started(device_type, &backend) && cdv_compute_of(backend);
}

/* ---- building ---- */
struct making {
  struct cdv_backend *backend;
  const cdevice_compute *compute;
  int64_t device;
  void *stream;
  const struct kernel *kernels; /* of the program, the one that is wanted first */
  char *text;
  char lines[5 + PROGRAM_KERNELS][64]; /* S=..., T=..., the kernels, the shape, missing features */
  const char *defines[5 + PROGRAM_KERNELS];
  int64_t n;
  uint32_t flags;
  bool own; /* the text was added at run time: it was not compiled ahead of time */
  struct cdv_digest digest;
};

static void define(struct making *m, const char *name, const char *more, const char *value, size_t n) {
  char *line = m->lines[m->n];
  snprintf(line, sizeof m->lines[0], "%s%s=%.*s", name, more, (int)n, value);
  m->defines[m->n++] = line;
}

/* The text, what it is read with, and the name under which its binary is kept. */
static int prepare(struct making *m) {
  cdevice_error err = {.struct_size = sizeof err};
  char identity[512] = "";
  const cdevice_backend *b = &m->backend->table;
  int r = m->compute->identity(b->self, m->device, &m->flags, identity, sizeof identity, &err);
  if (r) return cdv_fail_backend(r, &err, b->device_type, m->device, "querying the kernel compiler");
  const char *first = cdv_kernel_source(""), *family = m->kernels->family, *type = m->kernels->type;
  const char *text = cdv_kernel_source(family), *space = strchr(type, ' ');
  if (!text) text = cdv_kernel_user_source(family), m->own = true;
  if (!text) return cdv_fail(CDV_ARGUMENT, ENOENT, "unknown kernel family \"%s\"", family);
  size_t n = strlen(first), more = strlen(text) + 1;
  m->text = malloc(n + more);
  if (!m->text) return cdv_fail_memory((int64_t)(n + more), "the text of kernels");
  memcpy(m->text, first, n);
  memcpy(m->text + n, text, more);
  if (space) define(m, "S", "", type, (size_t)(space - type));
  const char *t = space ? space + 1 : type;
  define(m, "T", "", t, strlen(t));
  define(m, "CDV_ONLY", "", "1", 1);
  for (const struct kernel *k = m->kernels; k; k = k->next) define(m, "KERNEL_ENABLED_", k->name, "1", 1);
  if (m->flags & CDEVICE_COMPUTE_COARSE) define(m, "CDV_COARSE", "", "1", 1);
  if (m->flags & CDEVICE_COMPUTE_NO_FP64) define(m, "CDV_NO_F64", "", "1", 1);
  cdv_digest_add(&m->digest, identity);
  cdv_digest_add(&m->digest, m->text);
  for (int64_t i = 0; i < m->n; i++) cdv_digest_add(&m->digest, m->defines[i]);
  return 0;
}

static bool keeps(const struct making *m) {
  return (m->own || !(m->flags & CDEVICE_COMPUTE_AOT)) && m->compute->binary && m->compute->load;
}

static void *read_back(const struct making *m) {
  int64_t n;
  void *module = NULL, *data = cdv_cache_read(&m->digest, &n);
  if (data && m->compute->load(m->backend->table.self, m->device, m->stream, data, n, &module, NULL)) module = NULL;
  free(data);
  return module;
}

static void keep(const struct making *m, void *module) {
  int64_t n = 0;
  void *self = m->backend->table.self, *data = NULL;
  if (!m->compute->binary(self, m->device, module, NULL, &n, NULL) && n > 0) data = malloc((size_t)n);
  if (data && !m->compute->binary(self, m->device, module, data, &n, NULL)) cdv_cache_write(&m->digest, data, n);
  free(data);
}

static int build(struct making *m, void **out) {
  const struct kernel *first = m->kernels;
  cdevice_error err = {.struct_size = sizeof err};
  *out = NULL;
  int r = prepare(m);
  if (!r && keeps(m)) *out = read_back(m);
  if (!r && !*out) {
    cdevice_program p = {first->family, first->type, m->text, m->defines, m->n};
    r = m->compute->build(m->backend->table.self, m->device, m->stream, &p, out, &err);
    char doing[128];
    snprintf(doing, sizeof doing, "building the kernel \"%s\" of \"%s\" for %s", first->name, first->family,
             first->type);
    if (r) cdv_fail_backend(r, &err, m->backend->table.device_type, m->device, doing);
    if (r == EINVAL && m->own) { /* it keeps its cause */
      struct cdv_error *e = cdv_error_last();
      e->kind = CDV_ARGUMENT;
      snprintf(e->message, sizeof e->message, "an expression does not compile for %s: %s", m->backend->table.name,
               err.message);
    }
    if (!r && keeps(m)) keep(m, *out);
  }
  if (r) *out = NULL; /* a backend may have written something there */
  free(m->text);
  return r;
}

/* ---- by name ---- */
static uint64_t hash_of(const struct kernel *k) {
  uint64_t h = (uintptr_t)k->backend ^ (uint64_t)k->device * 31 ^ (uintptr_t)k->scope ^ k->flags;
  const char *words[3] = {k->family, k->type, k->name};
  for (int i = 0; i < 3; i++)
    for (const char *c = words[i]; *c; c++) h = (h ^ (unsigned char)*c) * 0x100000001b3;
  return h;
}

static unsigned place_of(uint64_t hash) { return (unsigned)(hash >> 24) % PLACES; }

static void *known(const struct kernel *want, unsigned place) {
  pthread_mutex_lock(&cache.lock);
  struct kernel *k = cache.kernels[place];
  while (k && (k->backend != want->backend || k->device != want->device || k->scope != want->scope ||
               k->flags != want->flags || strcmp(k->name, want->name) || strcmp(k->type, want->type) ||
               strcmp(k->family, want->family)))
    k = k->next;
  pthread_mutex_unlock(&cache.lock);
  return k ? k->handle : NULL; /* its slot is in use, so it stays */
}

static void free_kernels(struct kernel *k) {
  for (struct kernel *next; k; k = next) {
    next = k->next;
    free(k);
  }
}

/* The wanted kernel and those of `with`, chained. */
static int kernels_of(const struct kernel *want, const char *with, struct kernel **out) {
  struct kernel **end = out;
  *out = NULL;
  for (int i = 0; i < PROGRAM_KERNELS && (!i || (with && *with)); i++) {
    struct kernel *k = *end = malloc(sizeof *k);
    if (!k) {
      free_kernels(*out);
      return cdv_fail_memory(sizeof *k, "a kernel");
    }
    *k = *want;
    end = &k->next;
    if (!i) continue;
    size_t n = strcspn(with, " ");
    snprintf(k->name, sizeof k->name, "%.*s", (int)n, with);
    with += n + (with[n] == ' ');
  }
  return 0;
}

static int handle_of(const cdevice_compute *compute, struct kernel *k, void *module) {
  cdevice_error err = {.struct_size = sizeof err};
  char full[64];
  const char *space = strchr(k->type, ' ');
  snprintf(full, sizeof full, "%s_%s", k->name, space ? space + 1 : k->type);
  int r = compute->kernel(k->backend->table.self, k->device, module, full, &k->handle, &err);
  return r ? cdv_fail_backend(r, &err, k->backend->table.device_type, k->device, "finding a kernel") : 0;
}

static void publish(struct kernel *k) {
  unsigned place = place_of(hash_of(k));
  pthread_mutex_lock(&cache.lock);
  k->next = cache.kernels[place];
  cache.kernels[place] = k;
  pthread_mutex_unlock(&cache.lock);
}

static int find(const struct kernel *want, const cdevice_compute *compute, void *stream, const char *with, void **out) {
  struct kernel *kernels;
  int r = kernels_of(want, with, &kernels);
  if (r) return r;
  struct making making = {
      .backend = want->backend, .compute = compute, .device = want->device, .stream = stream, .kernels = kernels};
  void *module = NULL;
  r = build(&making, &module);
  for (struct kernel *k = kernels; !r && k; k = k->next) r = handle_of(compute, k, module);
  if (r) {
    if (module) compute->unload(want->backend->table.self, want->device, module);
    free_kernels(kernels);
    return r;
  }
  kernels->module = module;
  *out = kernels->handle;
  cdv_register_exit_drain();
  for (struct kernel *k = kernels->next, *next; k; k = next) {
    next = k->next;
    publish(k);
  }
  publish(kernels); /* the last one: a thread that finds it finds the others, too */
  return 0;
}

int cdv_kernel_get(struct cdv_backend *backend, const cdevice_compute *compute, int64_t device, void *stream,
                   uint32_t flags, const char *family, const char *type, const char *name, const char *with,
                   void **out) {
  struct kernel want = {.backend = backend, .device = device, .flags = flags};
  cdevice_error err = {.struct_size = sizeof err};
  int r = compute->context ? compute->context(backend->table.self, device, stream, &want.scope, &err) : 0;
  if (r) return cdv_fail_backend(r, &err, backend->table.device_type, device, "querying the context of a stream");
  memccpy(want.family, family, 0, sizeof want.family - 1); /* no printf: every call comes by here */
  memccpy(want.type, type, 0, sizeof want.type - 1);
  memccpy(want.name, name, 0, sizeof want.name - 1);
  uint64_t hash = hash_of(&want);
  unsigned place = place_of(hash);
  *out = known(&want, place);
  if (*out) return 0;
  /* a build may run Python code, wait for other threads, give back arrays, compute or fork */
  struct cdv_single_flight turn;
  for (const char *c = with; c && *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001b3; /* a program is one */
  if (cdv_single_flight_begin(&turn, hash | 1)) /* odd: no address of a slot */
    return cdv_fail(CDV_DEVICE, EDEADLK,
                    "%s: the build of the kernel \"%s\" for %s waits for itself: it requests the same kernel",
                    backend->table.name, name, type);
  *out = known(&want, place); /* by now? */
  if (!*out) r = find(&want, compute, stream, with, out);
  cdv_single_flight_end(&turn);
  return r;
}

/* ---- of tables that were taken out ---- */
/* Nothing runs there any more. */
static void forget(struct cdv_backend *backend) {
  struct kernel *gone = NULL;
  pthread_mutex_lock(&cache.lock);
  for (int i = 0; i < PLACES; i++)
    for (struct kernel **at = &cache.kernels[i], *k; (k = *at);) {
      if (k->backend != backend) {
        at = &k->next;
        continue;
      }
      *at = k->next;
      k->next = gone;
      gone = k;
    }
  pthread_mutex_unlock(&cache.lock);
  const cdevice_compute *compute = gone ? cdv_compute_of(backend) : NULL;
  for (struct kernel *k; (k = gone);) { /* outside the lock: the backend may wait for others */
    gone = k->next;
    if (compute && k->module) compute->unload(backend->table.self, k->device, k->module);
    free(k);
  }
}

__attribute__((constructor)) static void init(void) {
  cdv_at_fork(before_fork, after_fork, after_fork);
  cdv_set_forget(forget);
}
