/* kernels.c - cdevice.compute/1 for the pool: with a compiler for the text of kernels the device has every function.
 *
 * The text is C where CDV_HOST is defined; cc makes a shared library of it.  A vendor has a compiler of his own here, and
 * its binaries. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What the text calls cpu_launch is our pool_launch; kernels are found by their names. */
static const char prelude[] =
    "#define CDV_HOST 1\n"
    "#define CDV_LINKAGE __attribute__((visibility(\"default\")))\n"
    "typedef struct { void *data; __INT64_TYPE__ offset; } cdevice_kernel_buffer;\n"
    "typedef struct { __INT64_TYPE__ begin, end; const cdevice_kernel_buffer *buffers; const __INT64_TYPE__ *scalars; }"
    " cpu_launch;\n";

typedef struct module {
  void *library;
  char *code; /* of the library's file */
  int64_t nbytes;
} module;

/* ---- files: in a new folder, which is taken away again ---- */
enum { IN, OUT, LOG, FILES };
static const char *const names[FILES] = {"in.c", "out.so", "log"};
struct folder {
  char path[64], files[FILES][80];
};

static int folder_make(struct folder *f, cdevice_error *err) {
  strcpy(f->path, "/tmp/cdevice-pool-XXXXXX");
  if (!mkdtemp(f->path)) return cdevice_backend_fail(err, errno, 0, NULL, "no folder for a program: %s", f->path);
  for (int i = 0; i < FILES; i++) snprintf(f->files[i], sizeof f->files[i], "%s/%s", f->path, names[i]);
  return 0;
}

static void folder_drop(struct folder *f) {
  for (int i = 0; i < FILES; i++) unlink(f->files[i]);
  rmdir(f->path);
}

static char *read_file(const char *path, int64_t *n) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *n = ftell(file);
  rewind(file);
  char *out = *n < 0 ? NULL : calloc(1, (size_t)*n + 1);
  if (out && fread(out, 1, (size_t)*n, file) != (size_t)*n) {
    free(out);
    out = NULL;
  }
  fclose(file);
  return out;
}

static int write_program(const char *path, const cdevice_program *p) {
  FILE *file = fopen(path, "w");
  if (!file) return -1;
  for (int64_t i = 0; i < p->n; i++) { /* "T=i64" */
    const char *equals = strchr(p->defines[i], '=');
    if (!strncmp(p->defines[i], "CDV_COARSE=", 10)) continue; /* the text defines it itself for CDV_HOST */
    fprintf(file, "#define %.*s %s\n", (int)(equals - p->defines[i]), p->defines[i], equals + 1);
  }
  fprintf(file, "%s%s", prelude, p->text);
  return fclose(file);
}

/* ---- the compiler ---- */
/* Floats are to be those of every other device: nothing is fused, nothing is reordered. */
static int run_cc(const struct folder *f) {
  char *args[] = {"cc", "-x",      "c",  "-std=gnu11",          "-O2",   "-ffp-contract=off",  "-fvisibility=hidden",
                  "-w", "-shared", "-o", (char *)f->files[OUT], "-fPIC", (char *)f->files[IN], NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int status = -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, f->files[LOG], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int r = posix_spawnp(&pid, args[0], &actions, NULL, args, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (!r && waitpid(pid, &status, 0) != pid) r = errno;
  return r ? ENOTSUP : status ? EINVAL : 0;
}

/* owns: code. */
static int open_library(const char *path, char *code, int64_t nbytes, void **out, cdevice_error *err) {
  module *m = calloc(1, sizeof *m);
  void *library = m ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library) {
    *m = (module){library, code, nbytes};
    *out = m;
    return 0;
  }
  free(code);
  free(m);
  return cdevice_backend_fail(err, m ? EPROTO : ENOMEM, 0, NULL, "cannot load a program: %s", m ? dlerror() : "");
}

static int build(void *self, int64_t device, void *stream, const cdevice_program *program, void **out,
                 cdevice_error *err) {
  (void)self, (void)device, (void)stream;
  struct folder f;
  int64_t n = 0;
  int r = folder_make(&f, err);
  if (r) return r;
  r = write_program(f.files[IN], program) ? EIO : run_cc(&f);
  if (r == EINVAL) {
    char *log = read_file(f.files[LOG], &n);
    cdevice_backend_fail(err, r, 0, NULL, "cc: %s", log ? log : "");
    free(log);
  } else if (r) {
    cdevice_backend_fail(err, r, 0, NULL,
                         r == ENOTSUP ? "no cc, which compiles kernels: apt-get install gcc" : "a disk");
  } else {
    char *code = read_file(f.files[OUT], &n);
    r = open_library(f.files[OUT], code, code ? n : 0, out, err);
  }
  folder_drop(&f);
  return r;
}

/* ---- what the core keeps on disk ---- */
static int binary(void *self, int64_t device, void *module_, void *data, int64_t *nbytes, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  const module *m = module_;
  if (data && *nbytes >= m->nbytes) memcpy(data, m->code, (size_t)m->nbytes);
  *nbytes = m->nbytes;
  return 0;
}

static int load(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **out,
                cdevice_error *err) {
  (void)self, (void)device, (void)stream;
  struct folder f;
  int r = folder_make(&f, err);
  if (r) return r;
  FILE *file = fopen(f.files[OUT], "wb");
  char *code = malloc((size_t)nbytes);
  int good = file && code && fwrite(data, 1, (size_t)nbytes, file) == (size_t)nbytes;
  if (file && fclose(file)) good = 0;
  if (good) {
    memcpy(code, data, (size_t)nbytes);
    r = open_library(f.files[OUT], code, nbytes, out, err);
  } else {
    free(code);
    r = cdevice_backend_fail(err, EIO, 0, NULL, "cannot write a program to %s", f.path);
  }
  folder_drop(&f);
  return r;
}

/* ---- the table ---- */
static int identity(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err) {
  (void)self, (void)device, (void)err;
  *flags = CDEVICE_COMPUTE_COARSE; /* an item does much: these are processors */
  snprintf(text, (size_t)size, "pool 1.0, cc, " __VERSION__);
  return 0;
}

static int kernel(void *self, int64_t device, void *module_, const char *name, void **out, cdevice_error *err) {
  (void)self, (void)device;
  *out = dlsym(((module *)module_)->library, name);
  return *out ? 0 : cdevice_backend_fail(err, ENOENT, 0, NULL, "no kernel %s in the program", name);
}

static int launch(void *self, int64_t device, void *kernel_, const cdevice_launch *l, void *stream,
                  cdevice_error *err) {
  (void)self;
  return pool_start(device, kernel_, l, stream, err);
}

static void unload(void *self, int64_t device, void *module_) {
  module *m = module_;
  (void)self, (void)device;
  dlclose(m->library);
  free(m->code);
  free(m);
}

const cdevice_compute pool_compute = {.struct_size = sizeof pool_compute,
                                      .identity = identity,
                                      .build = build,
                                      .binary = binary,
                                      .load = load,
                                      .kernel = kernel,
                                      .launch = launch,
                                      .unload = unload};
