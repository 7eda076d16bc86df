/* jit.c - kernels of a user's own, by this machine's C compiler: CDEVICE_CC, else cc.  A program becomes a shared
 * library, whose file is gone once it is loaded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/compute.h"

#ifdef _WIN32
#include <errno.h>

static int refuse(cdevice_error *err) {
  return cdevice_backend_fail(err, ENOTSUP, 0, NULL,
                              "user-defined kernels on the CPU are compiled by a C compiler that a process of its own runs, "
                              "which is not done on Windows; use another device");
}
int cpu_compile(const cdevice_program *program, int v3, cpu_library *out, cdevice_error *err) {
  (void)program, (void)v3, (void)out;
  return refuse(err);
}
int cpu_library_load(const void *data, int64_t nbytes, cpu_library *out, cdevice_error *err) {
  (void)data, (void)nbytes, (void)out;
  return refuse(err);
}
void (*cpu_library_find(const cpu_library *l, const char *name))(const cpu_launch *launch) {
  (void)l, (void)name;
  return NULL;
}
void cpu_library_drop(cpu_library *l) { (void)l; }

#else
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What the text needs of cpu_compute.h, and the functions that other compilers know without a header. */
static const char prelude[] =
    "#define CDV_HOST 1\n"
    "#define CDV_LINKAGE __attribute__((visibility(\"default\")))\n"
    "typedef struct { void *data; __INT64_TYPE__ offset; } cdevice_kernel_buffer;\n"
    "typedef struct { __INT64_TYPE__ begin, end; const cdevice_kernel_buffer *buffers; const __INT64_TYPE__ *scalars; }"
    " cpu_launch;\n"
    "#define M1(f) static inline double f##_(double x) { return __builtin_##f(x); }\n"
    "#define M2(f) static inline double f##_(double x, double y) { return __builtin_##f(x, y); }\n"
    "M1(sqrt) M1(fabs) M1(floor) M1(ceil) M1(trunc) M1(exp) M1(log) M1(log2) M1(log10) M1(sin) M1(cos) M1(tan)\n"
    "M1(asin) M1(acos) M1(atan) M1(tanh) M2(pow) M2(atan2) M2(fmin) M2(fmax) M2(fmod)\n"
    "#define sqrt sqrt_\n#define fabs fabs_\n#define floor floor_\n#define ceil ceil_\n#define trunc trunc_\n"
    "#define exp exp_\n#define log log_\n#define log2 log2_\n#define log10 log10_\n#define sin sin_\n#define cos cos_\n"
    "#define tan tan_\n#define asin asin_\n#define acos acos_\n#define atan atan_\n#define tanh tanh_\n"
    "#define pow pow_\n#define atan2 atan2_\n#define fmin fmin_\n#define fmax fmax_\n#define fmod fmod_\n";

/* ---- files: in a new folder, which is taken away again ---- */
enum { IN, OUT, LOG, FILES };
struct folder {
  char path[400], files[FILES][420];
};

static int folder_make(struct folder *f, cdevice_error *err) {
  static const char *const names[FILES] = {"in.c", "out.so", "log"};
  const char *bases[] = {getenv("TMPDIR"), "/tmp"};
  char path[sizeof f->path] = "";
  bool made = false; /* no other user may write there */
  for (int i = 0; !made && i < 2; i++) {
    if (!bases[i] || *bases[i] != '/') continue;
    int n = snprintf(path, sizeof path, "%s/cdevice-XXXXXX", bases[i]);
    made = n > 0 && (size_t)n < sizeof path && mkdtemp(path);
  }
  if (!made)
    return cdevice_backend_fail(err, EACCES, 0, NULL,
                                "no folder for a program: /tmp: %s; set $TMPDIR to a folder that may be written to",
                                strerror(errno));
  for (int i = 0; i < FILES; i++) snprintf(f->files[i], sizeof f->files[i], "%s/%s", path, names[i]);
  memcpy(f->path, path, sizeof path);
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
  for (int64_t i = 0; i < p->n; i++) {
    const char *equals = strchr(p->defines[i], '=');
    if (!strncmp(p->defines[i], "CDV_COARSE=", 10)) continue; /* the text defines it itself */
    fprintf(file, "#define %.*s %s\n", (int)(equals - p->defines[i]), p->defines[i], equals + 1);
  }
  fprintf(file, "%s%s", prelude, p->text);
  return fclose(file);
}

/* ---- the compiler ---- */
static const char *compiler(void) {
  const char *named = getenv("CDEVICE_CC");
  return named && *named ? named : "cc";
}

/* Floats are to be those of every other device: nothing is fused. Nothing looks at floating-point exceptions. */
static int run_compiler(const struct folder *f, int v3) {
  char *args[] = {(char *)compiler(),
                  "-x",
                  "c",
                  "-std=gnu11",
                  "-O3",
                  "-ffp-contract=off",
                  "-fno-trapping-math",
                  "-fvisibility=hidden",
                  "-w",
                  "-fPIC",
                  "-shared",
                  "-o",
                  (char *)f->files[OUT],
                  (char *)f->files[IN],
                  "-lm",
                  v3 ? "-march=x86-64-v3" : NULL,
                  NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int status = -1, r = posix_spawn_file_actions_init(&actions);
  if (!r) r = posix_spawn_file_actions_addopen(&actions, 2, f->files[LOG], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!r && posix_spawnp(&pid, args[0], &actions, NULL, args, environ)) r = ENOTSUP;
  posix_spawn_file_actions_destroy(&actions);
  while (!r && waitpid(pid, &status, 0) != pid)
    if (errno == ECHILD) /* the process does not want to know of its children */
      return access(f->files[OUT], R_OK) ? EINVAL : 0;
    else if (errno != EINTR)
      r = EPROTO;
  if (!r && WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return ENOTSUP; /* how some systems say that it is not there */
  return r ? r : status ? EINVAL : 0;
}

/* owns: code, also where it fails; NULL: there was no memory for it. */
static int open_library(const char *path, char *code, int64_t nbytes, cpu_library *out, cdevice_error *err) {
  if (!code)
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of memory: %lld bytes for a program", (long long)nbytes);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle) {
    *out = (cpu_library){handle, code, nbytes};
    return 0;
  }
  free(code);
  return cdevice_backend_fail(err, EPROTO, 0, NULL, "cannot load a program: %s", dlerror());
}

int cpu_compile(const cdevice_program *program, int v3, cpu_library *out, cdevice_error *err) {
  struct folder f;
  int64_t n = 0;
  int r = folder_make(&f, err);
  if (r) return r;
  r = write_program(f.files[IN], program) ? EIO : run_compiler(&f, v3);
  if (!r) {
    char *code = read_file(f.files[OUT], &n);
    r = open_library(f.files[OUT], code, n, out, err);
  } else if (r == EINVAL) {
    char *log = read_file(f.files[LOG], &n);
    cdevice_backend_fail(err, r, 0, NULL, "%s: %s", compiler(), log ? log : "");
    free(log);
  } else if (r == ENOTSUP) {
    cdevice_backend_fail(err, r, 0, NULL,
                         "no C compiler, %s, which user-defined kernels need on the CPU: "
                         "apt-get install gcc libc6-dev; set $CDEVICE_CC to use another",
                         compiler());
  } else {
    cdevice_backend_fail(err, r, 0, NULL, "cannot run %s on %s", compiler(), f.files[IN]);
  }
  folder_drop(&f);
  return r;
}

int cpu_library_load(const void *data, int64_t nbytes, cpu_library *out, cdevice_error *err) {
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
  } else if (code) {
    free(code);
    r = cdevice_backend_fail(err, EPROTO, 0, NULL, "cannot write a program to %s", f.path);
  } else {
    r = open_library(f.files[OUT], NULL, nbytes, out, err);
  }
  folder_drop(&f);
  return r;
}

void (*cpu_library_find(const cpu_library *l, const char *name))(const cpu_launch *launch) {
  void (*run)(const cpu_launch *launch);
  *(void **)&run = dlsym(l->handle, name);
  return run;
}

void cpu_library_drop(cpu_library *l) {
  if (l->handle) dlclose(l->handle);
  free(l->code);
}
#endif
