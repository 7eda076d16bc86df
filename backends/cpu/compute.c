/* compute.c - programs that were compiled with the extension, in one build or two, selected by the processor;
 * others by this machine's C compiler. */
#include "cpu/compute.h"

#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_OF_SLICE (64 << 10) /* that a thread takes at once: waking one costs as much as some thousands of rows */
#define VERSION_3 0x100          /* among the flags */

/* CDEVICE_CPU_KERNELS=base: not the better one (tests). */
static const cpu_kernel *table(void) {
#ifdef CPU_KERNELS_V3
  const char *wanted = getenv("CDEVICE_CPU_KERNELS");
  __builtin_cpu_init();
  bool better = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  if (better && !(wanted && !strcmp(wanted, "base"))) return cpu_kernels_v3;
#endif
  return cpu_kernels_base;
}

/* Also a part of the name under which a user's own programs are kept, in a folder that other machines may share. */
#if defined(__x86_64__)
#define PROCESSOR "base"
#elif defined(__aarch64__)
#define PROCESSOR "arm64"
#else
#define PROCESSOR "this processor"
#endif

static int identity(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  bool base = table() == cpu_kernels_base;
  *flags = CDEVICE_COMPUTE_COARSE | CDEVICE_COMPUTE_AOT | (base ? 0 : VERSION_3);
  snprintf(text, (size_t)size, "compiled, %s", base ? PROCESSOR : "x86-64-v3");
  return 0;
}

#define KERNELS_OF_OWN 8
typedef struct module {
  char prefix[48];
  cpu_library own; /* of a text that was not compiled with the extension */
  cpu_kernel kernels[KERNELS_OF_OWN];
  int n_kernels;
} module;

/* The first kernel of the module, or the one of that name; the better build leaves out what it does no better. */
static const cpu_kernel *find(const module *m, const char *name) {
  size_t n = strlen(m->prefix);
  const cpu_kernel *tables[4] = {table(), cpu_kernels_base, cpu_text_casts_base, cpu_text_casts_base};
#ifdef CPU_KERNELS_V3
  if (tables[0] == cpu_kernels_v3) tables[2] = cpu_text_casts_v3;
#endif
  for (int i = 0; i < 4; i++)
    for (const cpu_kernel *k = tables[i]; k->name; k++)
      if (!strncmp(k->name, m->prefix, n) && (!name || !strcmp(k->name + n, name))) return k;
  return NULL;
}

static int build(void *self, int64_t device, void *stream, const cdevice_program *program, void **out,
                 cdevice_error *err) {
  (void)self, (void)device, (void)stream;
  module *m = calloc(1, sizeof *m);
  if (!m) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory");
  snprintf(m->prefix, sizeof m->prefix, "%s/%s/", program->family, program->type);
  *out = m;
  int r = find(m, NULL) ? 0 : ENOENT;
  if (r && !strncmp(program->family, "own_", 4))
    r = cpu_compile(program, table() != cpu_kernels_base, &m->own, err);
  else if (r)
    cdevice_backend_fail(err, r, 0, NULL, "no kernels \"%s\" for %s in this build", program->family, program->type);
  if (r) free(m);
  return r;
}

/* What was compiled with the extension is not kept. */
static int binary(void *self, int64_t device, void *module_, void *data, int64_t *nbytes, cdevice_error *err) {
  const module *m = module_;
  (void)self, (void)device, (void)err;
  if (data && m->own.code && *nbytes >= m->own.nbytes) memcpy(data, m->own.code, (size_t)m->own.nbytes);
  *nbytes = m->own.nbytes;
  return 0;
}

static int load(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **out,
                cdevice_error *err) {
  (void)self, (void)device, (void)stream;
  module *m = calloc(1, sizeof *m);
  if (!m) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory");
  *out = m;
  int r = cpu_library_load(data, nbytes, &m->own, err);
  if (r) free(m);
  return r;
}

static int kernel(void *self, int64_t device, void *module_, const char *name, void **out, cdevice_error *err) {
  (void)self, (void)device;
  module *m = module_;
  const cpu_kernel *k = m->own.handle ? NULL : find(m, name);
  if (m->own.handle && m->n_kernels < KERNELS_OF_OWN) {
    cpu_kernel *own = &m->kernels[m->n_kernels];
    own->run = cpu_library_find(&m->own, name);
    if (own->run) k = own, m->n_kernels++;
  }
  *out = (void *)k;
  if (k) return 0;
  return cdevice_backend_fail(err, ENOENT, 0, NULL, "no kernel %s%s in this build", m->prefix, name);
}

static const cdevice_host *host;

void cpu_compute_start(const cdevice_host *h) {
  if (h->struct_size >= offsetof(cdevice_host, parallel_for) + sizeof h->parallel_for) host = h;
}

struct shared {
  const cpu_kernel *kernel;
  const cdevice_launch *launch;
};

static void do_items(void *arg, int64_t begin, int64_t end) {
  const struct shared *s = arg;
  cpu_launch part = {begin, end, s->launch->buffers, s->launch->scalars};
  s->kernel->run(&part);
}

static int launch(void *self, int64_t device, void *kernel_, const cdevice_launch *l, void *stream,
                  cdevice_error *err) {
  struct shared s = {kernel_, l};
  int64_t rows = l->scalars[0],
          slice = rows > ROWS_OF_SLICE ? (int64_t)((double)l->n_work_items / (double)rows * ROWS_OF_SLICE) : 0;
  (void)self, (void)device, (void)stream, (void)err;
  if (l->work_group_size == 1) { /* each item does many rows */
    if (rows > ROWS_OF_SLICE && slice < 1) slice = 1;
  } else {
    slice = (slice + 15) / 16 * 16; /* whole cache lines of bitmaps */
  }
  if (host && slice > 0)
    host->parallel_for(do_items, &s, l->n_work_items, slice);
  else
    do_items(&s, 0, l->n_work_items);
  return 0;
}

static void unload(void *self, int64_t device, void *module_) {
  module *m = module_;
  (void)self, (void)device;
  cpu_library_drop(&m->own);
  free(m);
}

const cdevice_compute cpu_compute = {.struct_size = sizeof cpu_compute,
                                     .identity = identity,
                                     .build = build,
                                     .binary = binary,
                                     .load = load,
                                     .kernel = kernel,
                                     .launch = launch,
                                     .unload = unload};
