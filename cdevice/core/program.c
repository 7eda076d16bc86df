/* program.c - kernels, found by name: built from text where they are needed first, and kept. */
#include "compute.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cdv_module {
  struct cdv_module *next;
  struct cdv_slot *slot; /* never the same again: one that was replaced may still have some here */
  int64_t device;
  void *scope;
  uint32_t flags; /* a device that changes its mind gets other programs */
  char family[24], type[24];
  void *module;
};
struct kernel {
  struct kernel *next;
  const struct cdv_module *module;
  char name[32];
  void *handle;
};

#define PLACES 256
static struct {
  pthread_mutex_t lock;
  struct kernel *kernels[PLACES];
  struct cdv_module *modules;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void) { pthread_mutex_lock(&cache.lock); }
static void after_fork(void) { pthread_mutex_unlock(&cache.lock); }

#define HAS(compute, member) \
  ((compute)->struct_size >= offsetof(cdevice_compute, member) + sizeof(compute)->member && (compute)->member)

const cdevice_compute *cdv_compute_of(struct cdv_slot *slot) {
  const cdevice_backend *b = &slot->table;
  const cdevice_compute *c = b->extension ? b->extension(b->self, CDEVICE_COMPUTE) : NULL;
  return c && HAS(c, unload) && c->identity && c->build && c->kernel && c->launch ? c : NULL;
}

/* ---- building ---- */
struct making {
  struct cdv_slot *slot;
  const cdevice_compute *compute;
  int64_t device;
  void *stream;
  const char *family, *type;
  char *text;
  char lines[4][40]; /* S=..., T=..., the shape, what is missing */
  const char *defines[4];
  int64_t n;
  uint32_t flags;
  bool own; /* the text was added at run time: nobody compiled it before */
  struct cdv_digest digest;
};

static void define(struct making *m, const char *name, const char *value, size_t n) {
  char *line = m->lines[m->n];
  snprintf(line, sizeof m->lines[0], "%s=%.*s", name, (int)n, value);
  m->defines[m->n++] = line;
}

/* The text, what it is read with, and the name under which its binary is kept. */
static int prepare(struct making *m) {
  cdevice_error err = {.struct_size = sizeof err};
  char identity[512] = "";
  const cdevice_backend *b = &m->slot->table;
  int r = m->compute->identity(b->self, m->device, &m->flags, identity, sizeof identity, &err);
  if (r) return cdv_fail_backend(r, &err, b->device_type, m->device, "asking what compiles kernels");
  const char *first = cdv_kernel_text(""), *text = cdv_kernel_text(m->family), *space = strchr(m->type, ' ');
  if (!text) text = cdv_kernel_own_text(m->family), m->own = true;
  if (!text) return cdv_fail(CDV_ARGUMENT, ENOENT, "no kernels are named \"%s\"", m->family);
  size_t n = strlen(first), more = strlen(text) + 1;
  m->text = malloc(n + more);
  if (!m->text) return cdv_fail_memory((int64_t)(n + more), "the text of kernels");
  memcpy(m->text, first, n);
  memcpy(m->text + n, text, more);
  if (space) define(m, "S", m->type, (size_t)(space - m->type));
  const char *t = space ? space + 1 : m->type;
  define(m, "T", t, strlen(t));
  if (m->flags & CDEVICE_COMPUTE_ITEMS) define(m, "CDV_ITEMS", "1", 1);
  if (m->flags & CDEVICE_COMPUTE_NO_FP64) define(m, "CDV_NO_F64", "1", 1);
  cdv_digest_add(&m->digest, identity);
  cdv_digest_add(&m->digest, m->text);
  for (int64_t i = 0; i < m->n; i++) cdv_digest_add(&m->digest, m->defines[i]);
  return 0;
}

static bool keeps(const struct making *m) {
  return (m->own || !(m->flags & CDEVICE_COMPUTE_AHEAD)) && m->compute->binary && m->compute->load;
}

static void *read_back(const struct making *m) {
  int64_t n;
  void *module = NULL, *data = cdv_cache_read(&m->digest, &n);
  if (data && m->compute->load(m->slot->table.self, m->device, m->stream, data, n, &module, NULL)) module = NULL;
  free(data);
  return module;
}

static void keep(const struct making *m, void *module) {
  int64_t n = 0;
  void *self = m->slot->table.self, *data = NULL;
  if (!m->compute->binary(self, m->device, module, NULL, &n, NULL) && n > 0) data = malloc((size_t)n);
  if (data && !m->compute->binary(self, m->device, module, data, &n, NULL)) cdv_cache_write(&m->digest, data, n);
  free(data);
}

static int build(struct making *m, void **out) {
  cdevice_error err = {.struct_size = sizeof err};
  *out = NULL;
  int r = prepare(m);
  if (!r && keeps(m)) *out = read_back(m);
  if (!r && !*out) {
    cdevice_program p = {m->family, m->type, m->text, m->defines, m->n};
    r = m->compute->build(m->slot->table.self, m->device, m->stream, &p, out, &err);
    char doing[96];
    snprintf(doing, sizeof doing, "building the kernels \"%s\" for %s", m->family, m->type);
    if (r == EINVAL && m->own)
      cdv_fail(CDV_ARGUMENT, r, "an expression does not compile for %s: %s", m->slot->table.name, err.message);
    else if (r)
      cdv_fail_backend(r, &err, m->slot->table.device_type, m->device, doing);
    if (!r && keeps(m)) keep(m, *out);
  }
  free(m->text);
  return r;
}

static int module_of(const struct cdv_module *want, const cdevice_compute *compute, void *stream,
                     struct cdv_module **out) {
  for (struct cdv_module *m = cache.modules; m; m = m->next)
    if (m->slot == want->slot && m->device == want->device && m->scope == want->scope && m->flags == want->flags &&
        !strcmp(m->family, want->family) && !strcmp(m->type, want->type)) {
      *out = m;
      return 0;
    }
  struct cdv_module *m = malloc(sizeof *m);
  if (!m) return cdv_fail_memory(sizeof *m, "a program");
  *m = *want;
  struct making making = {
      .slot = m->slot, .compute = compute, .device = m->device, .stream = stream, .family = m->family, .type = m->type};
  int r = build(&making, &m->module);
  if (r) {
    free(m);
    return r;
  }
  m->next = cache.modules;
  cache.modules = *out = m;
  return 0;
}

/* ---- by name ---- */
static unsigned place_of(const struct cdv_module *m, const char *name) {
  uint64_t h = (uintptr_t)m->slot ^ (uint64_t)m->device * 31 ^ (uintptr_t)m->scope ^ m->flags;
  const char *words[3] = {m->family, m->type, name};
  for (int i = 0; i < 3; i++)
    for (const char *c = words[i]; *c; c++) h = (h ^ (unsigned char)*c) * 0x100000001b3;
  return (unsigned)(h >> 24) % PLACES;
}

static void *known(const struct cdv_module *want, const char *name, unsigned place) {
  for (struct kernel *k = cache.kernels[place]; k; k = k->next)
    if (k->module->slot == want->slot && k->module->device == want->device && k->module->scope == want->scope &&
        k->module->flags == want->flags && !strcmp(k->name, name) && !strcmp(k->module->type, want->type) &&
        !strcmp(k->module->family, want->family))
      return k->handle;
  return NULL;
}

static int find(const struct cdv_module *want, const cdevice_compute *compute, void *stream, const char *name,
                unsigned place, void **out) {
  struct cdv_module *m = NULL;
  cdevice_error err = {.struct_size = sizeof err};
  int r = module_of(want, compute, stream, &m);
  if (r) return r;
  struct kernel *k = malloc(sizeof *k);
  if (!k) return cdv_fail_memory(sizeof *k, "a kernel");
  char full[64];
  const char *space = strchr(m->type, ' ');
  snprintf(full, sizeof full, "%s_%s", name, space ? space + 1 : m->type);
  r = compute->kernel(m->slot->table.self, m->device, m->module, full, &k->handle, &err);
  if (r) {
    free(k);
    return cdv_fail_backend(r, &err, m->slot->table.device_type, m->device, "finding a kernel");
  }
  k->module = m;
  snprintf(k->name, sizeof k->name, "%s", name);
  k->next = cache.kernels[place];
  cache.kernels[place] = k;
  *out = k->handle;
  return 0;
}

int cdv_kernel_get(struct cdv_slot *slot, const cdevice_compute *compute, int64_t device, void *stream, uint32_t flags,
                   const char *family, const char *type, const char *name, void **out) {
  struct cdv_module want = {.slot = slot, .device = device, .flags = flags};
  cdevice_error err = {.struct_size = sizeof err};
  int r = compute->scope ? compute->scope(slot->table.self, device, stream, &want.scope, &err) : 0;
  if (r) return cdv_fail_backend(r, &err, slot->table.device_type, device, "asking for the context of a stream");
  snprintf(want.family, sizeof want.family, "%s", family);
  snprintf(want.type, sizeof want.type, "%s", type);
  unsigned place = place_of(&want, name);
  pthread_mutex_lock(&cache.lock);
  *out = known(&want, name, place);
  if (!*out) r = find(&want, compute, stream, name, place, out);
  pthread_mutex_unlock(&cache.lock);
  return r;
}

/* ---- of tables that were taken out ---- */
/* Nothing runs there any more. */
static void forget(struct cdv_slot *slot) {
  struct cdv_module *gone = NULL;
  pthread_mutex_lock(&cache.lock);
  for (int i = 0; i < PLACES; i++)
    for (struct kernel **at = &cache.kernels[i], *k; (k = *at);) {
      if (k->module->slot != slot) {
        at = &k->next;
        continue;
      }
      *at = k->next;
      free(k);
    }
  for (struct cdv_module **at = &cache.modules, *m; (m = *at);) {
    if (m->slot != slot) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    m->next = gone;
    gone = m;
  }
  pthread_mutex_unlock(&cache.lock);
  const cdevice_compute *compute = gone ? cdv_compute_of(slot) : NULL;
  for (struct cdv_module *m; (m = gone);) { /* outside the lock: the backend may wait for others */
    gone = m->next;
    if (compute) compute->unload(slot->table.self, m->device, m->module);
    free(m);
  }
}

__attribute__((constructor)) static void init(void) {
  pthread_atfork(before_fork, after_fork, after_fork);
  cdv_set_forget(forget);
}
