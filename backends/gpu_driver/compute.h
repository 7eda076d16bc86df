/* compute.h - kernels: compiled at run time by the vendor's library for that (NVRTC, HIPRTC), which is found when a
 * kernel is asked for first, and launched on streams.
 *
 * The two libraries have the same functions under two prefixes.  They need no device to compile and read no files:
 * the text is all there is.  They are never closed.
 *
 * Needs the parameters of vendor.h. */
#ifndef CDEVICE_RUNTIME_COMPUTE_H
#define CDEVICE_RUNTIME_COMPUTE_H

#include "gpu_driver/call.h"

#define RTC_FUNCTIONS(X)                                                                      \
  X(1, int, Version, RT_COMPILER "Version", (int *, int *))                                   \
  X(1, int, CreateProgram, RT_COMPILER "CreateProgram",                                       \
    (void **, const char *, const char *, int, const char *const *, const char *const *))     \
  X(1, int, CompileProgram, RT_COMPILER "CompileProgram", (void *, int, const char *const *)) \
  X(1, int, DestroyProgram, RT_COMPILER "DestroyProgram", (void **))                          \
  X(1, int, GetProgramLogSize, RT_COMPILER "GetProgramLogSize", (void *, size_t *))           \
  X(1, int, GetProgramLog, RT_COMPILER "GetProgramLog", (void *, char *))                     \
  X(0, const char *, GetErrorString, RT_COMPILER "GetErrorString", (int))                     \
  RT_COMPILER_FUNCTIONS(X)

static struct {
  RTC_FUNCTIONS(CDEVICE_DL_MEMBER)
} rtc;
#define RTC_ROW(needed, result, name, symbol, args) {symbol, (size_t)((char *)&rtc.name - (char *)&rtc), needed},

/* The result codes that NVRTC and HIPRTC share. */
enum { RTC_OOM = 1, RTC_BAD_OPTION = 5, RTC_DOES_NOT_COMPILE = 6, RTC_NO_BUILTINS = 7 };

static struct rt_compiler {
  pthread_mutex_t lock;
  int found;
  char name[64];                /* with its version */
  atomic_int known[RT_DEVICES]; /* targets[i] is filled, and stays as it is */
  rt_target_info targets[RT_DEVICES];
  char folders[2048]; /* where wheels may be besides, a line each */
} rt_compiler = {.lock = PTHREAD_MUTEX_INITIALIZER, .name = RT_COMPILER_NAME};

/* Floats are to be those of every other device: nothing is fused. */
static const char *const rt_options[] = {RT_COMPILER_OPTIONS};

typedef struct rt_module {
  void *handle;
  char *code; /* malloc'ed; NULL: it was loaded */
  size_t nbytes;
} rt_module;

/* ---- the compiler ---- */
/* extension(self, "cdevice.wheels/1"): folders in which wheels of the vendor's may be, a line each; before first
 * use. */
#define RT_WHEELS "cdevice.wheels/1"
static void rt_look_in(const char *folders) {
  pthread_mutex_lock(&rt_compiler.lock);
  snprintf(rt_compiler.folders, sizeof rt_compiler.folders, "%s", folders);
  pthread_mutex_unlock(&rt_compiler.lock);
}

static int rt_compiler_fail(cdevice_error *err, int code, const char *doing, const char *log) {
  int r = code == RTC_OOM                                          ? ENOMEM
          : code == RTC_NO_BUILTINS                                ? ENOTSUP
          : code == RTC_DOES_NOT_COMPILE || code == RTC_BAD_OPTION ? EINVAL
                                                                   : EPROTO;
  const char *name = rtc.GetErrorString ? rtc.GetErrorString(code) : NULL;
  return cdevice_backend_fail(err, r, code, name ? name : RT_COMPILER_NAME, "%s, %s: %s%s", rt_compiler.name, doing,
                              log, r == ENOTSUP ? " (" RT_COMPILER_HINT ")" : "");
}

/* Looked for again at each call until it is there: the library may be installed meanwhile. */
static int rt_compiler_find_locked(cdevice_error *err) {
  const cdevice_dl_row rows[] = {RTC_FUNCTIONS(RTC_ROW)};
  cdevice_dl dl = {0};
  if (rt_compiler.found) return 0;
  if (!rt_can_launch())
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "%s lacks the functions that load and launch kernels",
                                rt_library);
  if (rt_compiler_open(&dl) || cdevice_dl_load(&dl, rows, sizeof rows / sizeof *rows, &rtc)) {
    cdevice_dl_close(&dl);
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "no %s, which compiles kernels: %s; tried: %s", RT_COMPILER_NAME,
                                RT_COMPILER_HINT, dl.tried);
  }
  int major, minor, code = rtc.Version(&major, &minor);
  if (code) {
    int r = rt_compiler_fail(err, code, "querying its version", dl.path);
    cdevice_dl_close(&dl);
    return r;
  }
  rt_compiler_name(rt_compiler.name, sizeof rt_compiler.name, major, minor);
  rt_compiler.found = 1;
  return 0;
}

/* The compiler is there, and so is what it compiles for the device.  ENOTSUP: no compiler, or none for this device. */
static int rt_compiler_for(int64_t device, const rt_target_info **out, cdevice_error *err) {
  rt_saved_context saved;
  if (device < 0 || device >= rt_devices) return rt_bad_device(err, device);
  *out = &rt_compiler.targets[device];
  if (atomic_load_explicit(&rt_compiler.known[device], memory_order_acquire)) return 0;
  pthread_mutex_lock(&rt_compiler.lock);
  int r = rt_compiler_find_locked(err);
  if (!r) r = rt_begin(device, &saved, err);
  if (!r) {
    r = rt_target((int)device, &rt_compiler.targets[device], err);
    rt_leave(&saved);
  }
  if (!r) atomic_store_explicit(&rt_compiler.known[device], 1, memory_order_release);
  pthread_mutex_unlock(&rt_compiler.lock);
  return r;
}

/* Also without a compiler: the function that needs it reports that it is missing. */
static int rt_compute_identity(void *self, int64_t device, uint32_t *flags, char *text, int64_t size,
                               cdevice_error *err) {
  const rt_target_info *t;
  (void)self;
  *flags = 0;
  int r = rt_compiler_for(device, &t, err);
  if (r == ENOTSUP) {
    snprintf(text, (size_t)size, "no %s", RT_COMPILER_NAME);
    return 0;
  }
  if (!r)
    snprintf(text, (size_t)size, "%s, %s%s, %s", rt_compiler.name, t->name, t->portable ? " as PTX" : "",
             rt_options[0]);
  return r;
}

/* ---- modules ---- */

/* Takes the code, which was malloc'ed, or leaves it to the image's owner (NULL). */
static int rt_module_wrap(int64_t device, const void *image, char *code, size_t n, void **out, cdevice_error *err) {
  rt_saved_context saved;
  rt_module *m = malloc(sizeof *m);
  if (!m) {
    free(code);
    return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for the record of a program");
  }
  *m = (rt_module){NULL, code, n};
  int r = rt_begin(device, &saved, err);
  if (!r) r = rt_end(device, &saved, rt_module_new(&m->handle, image), "loading a program", err);
  if (r) {
    free(code);
    free(m);
    return r;
  }
  *out = m;
  return 0;
}

/* The beginning of the compiler's log. */
static int rt_fail_compile(void *program, int code, cdevice_error *err) {
  size_t n = 0;
  char *log = NULL;
  if (!rtc.GetProgramLogSize(program, &n)) log = calloc(1, n + 1);
  if (log && rtc.GetProgramLog(program, log)) *log = 0;
  int r = rt_compiler_fail(err, code, "compiling", log && *log ? log : "no log");
  free(log);
  return r;
}

#define RT_OPTIONS 8
static int rt_compile(void *program, const rt_target_info *t, cdevice_error *err) {
  const char *options[RT_OPTIONS] = {t->option};
  int n = 1;
  for (size_t i = 0; i < sizeof rt_options / sizeof *rt_options && n < RT_OPTIONS; i++) options[n++] = rt_options[i];
  int code = rtc.CompileProgram(program, n, options);
  return code ? rt_fail_compile(program, code, err) : 0;
}

/* The text behind its definitions: as options they would hold in HIPRTC's own headers too, where T is a name.
 * malloc'ed. */
static char *rt_text(const cdevice_program *p) {
  size_t n = strlen(p->text) + 1;
  for (int64_t i = 0; i < p->n; i++) n += strlen(p->defines[i]) + sizeof "#define \n";
  char *text = malloc(n), *at = text;
  if (!text) return NULL;
  for (int64_t i = 0; i < p->n; i++) {
    const char *value = strchr(p->defines[i], '=');
    int name = (int)(value ? value - p->defines[i] : (ptrdiff_t)strlen(p->defines[i]));
    at += sprintf(at, "#define %.*s %s\n", name, p->defines[i], value ? value + 1 : "");
  }
  strcpy(at, p->text);
  return text;
}

static int rt_take_code(void *program, const rt_target_info *t, char **out, size_t *n, cdevice_error *err) {
  int code = rt_code(program, t, NULL, n);
  if (code) return rt_compiler_fail(err, code, "querying the size of a program", t->name);
  *out = malloc(*n ? *n : 1);
  if (!*out) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for a program of %zu bytes", *n);
  code = rt_code(program, t, *out, n);
  if (!code) return 0;
  free(*out);
  return rt_compiler_fail(err, code, "reading a program", t->name);
}

static int rt_build(void *self, int64_t device, void *stream, const cdevice_program *p, void **out,
                    cdevice_error *err) {
  const rt_target_info *t;
  void *program = NULL;
  char *code = NULL;
  size_t n = 0;
  (void)self, (void)stream;
  int r = rt_compiler_for(device, &t, err);
  if (r) return r;
  char *text = rt_text(p);
  if (!text) return cdevice_backend_fail(err, ENOMEM, 0, NULL, "out of host memory for the source of kernels");
  int made = rtc.CreateProgram(&program, text, p->family, 0, NULL, NULL);
  free(text); /* the compiler has a copy */
  if (made) return rt_compiler_fail(err, made, "adding source text", p->family);
  r = rt_compile(program, t, err);
  if (!r) r = rt_take_code(program, t, &code, &n, err);
  rtc.DestroyProgram(&program);
  return r ? r : rt_module_wrap(device, code, code, n, out, err);
}

static int rt_binary(void *self, int64_t device, void *module, void *data, int64_t *nbytes, cdevice_error *err) {
  const rt_module *m = module;
  (void)self, (void)device;
  if (!m->code) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "a loaded program has no binary to cache");
  if (data && *nbytes < (int64_t)m->nbytes)
    return cdevice_backend_fail(err, EINVAL, 0, NULL, "buffer too small for a program");
  *nbytes = (int64_t)m->nbytes;
  if (data) memcpy(data, m->code, m->nbytes);
  return 0;
}

static int rt_load_binary(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **out,
                          cdevice_error *err) {
  (void)self, (void)stream;
  if (!rt_can_launch()) return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "%s does not load kernels", rt_library);
  return rt_module_wrap(device, data, NULL, (size_t)nbytes, out, err);
}

static void rt_unload(void *self, int64_t device, void *module) {
  rt_module *m = module;
  rt_saved_context saved;
  (void)self;
  if (device >= 0 && device < rt_devices && !rt_enter((int)device, &saved)) {
    rt_module_del(m->handle);
    rt_leave(&saved);
  }
  free(m->code);
  free(m);
}

/* ---- kernels ---- */
static int rt_kernel(void *self, int64_t device, void *module, const char *name, void **out, cdevice_error *err) {
  const rt_module *m = module;
  rt_saved_context saved;
  (void)self;
  int r = rt_begin(device, &saved, err);
  return r ? r : rt_end(device, &saved, rt_module_find(out, m->handle, name), name, err);
}

static int rt_compute_launch(void *self, int64_t device, void *kernel, const cdevice_launch *l, void *stream,
                             cdevice_error *err) {
  cdevice_kernel_buffer places[CDEVICE_KERNEL_BUFFERS];
  int64_t numbers[CDEVICE_KERNEL_SCALARS],
      blocks = l->n_work_items / l->work_group_size + (l->n_work_items % l->work_group_size != 0);
  void *arguments[2 * CDEVICE_KERNEL_BUFFERS + CDEVICE_KERNEL_SCALARS], **at = arguments;
  rt_saved_context saved;
  (void)self;
  if (blocks > RT_MOST_ITEMS / l->work_group_size || blocks > INT32_MAX)
    return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "%lld work items are more than one launch supports",
                                (long long)l->n_work_items);
  memcpy(places, l->buffers, sizeof places); /* the vendor's pointers are not to const */
  memcpy(numbers, l->scalars, sizeof numbers);
  for (int i = 0; i < CDEVICE_KERNEL_BUFFERS; i++) *at++ = &places[i].data, *at++ = &places[i].offset;
  for (int i = 0; i < CDEVICE_KERNEL_SCALARS; i++) *at++ = &numbers[i];
  int r = rt_begin_on(device, stream, &saved, err);
  if (r) return r;
  int code = rt_launch(kernel, (unsigned)blocks, (unsigned)l->work_group_size, stream, arguments);
  return rt_end(device, &saved, code, "launching a kernel", err);
}

/* The device's context is the only one: scope is NULL. */
static const cdevice_compute rt_compute = {.struct_size = sizeof rt_compute,
                                           .identity = rt_compute_identity,
                                           .build = rt_build,
                                           .binary = rt_binary,
                                           .load = rt_load_binary,
                                           .kernel = rt_kernel,
                                           .launch = rt_compute_launch,
                                           .unload = rt_unload};

#endif
