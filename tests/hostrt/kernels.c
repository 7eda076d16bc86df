/* Kernels of the stand-in: text in the dialect of cdevice/kernels, as CUDA and HIP C++ have it, becomes a shared object by the C
 * compiler of this machine; its blocks run one after the other on the thread of a stream, the lanes of a block as fibers that
 * take turns at barriers.  Numbers are true; speed, registers and what real compilers say of the text are not shown by this. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernels.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;
static int64_t live_programs, live_modules, launches, codes, code_bytes;
int64_t hostrt_programs(void) { return __atomic_load_n(&live_programs, __ATOMIC_SEQ_CST); }
int64_t hostrt_modules(void) { return __atomic_load_n(&live_modules, __ATOMIC_SEQ_CST); }
int64_t hostrt_launches(void) { return __atomic_load_n(&launches, __ATOMIC_SEQ_CST); }
int64_t hostrt_codes(void) { return __atomic_load_n(&codes, __ATOMIC_SEQ_CST); }
int64_t hostrt_code_bytes(void) { return __atomic_load_n(&code_bytes, __ATOMIC_SEQ_CST); }
static void add(int64_t *count, int64_t n) { __atomic_fetch_add(count, n, __ATOMIC_SEQ_CST); }

/* ---------------------------------------------------------------- the compiler */
/* What CUDA and HIP know without a header; C has no extern "C", which is taken out of the text. */
static const char prelude[] =
    "struct hostrt_place { unsigned x, y, z; };\n"
    "static __thread struct hostrt_place threadIdx, blockIdx, blockDim, gridDim;\n"
    "#define __global__ __attribute__((visibility(\"default\")))\n"
    "#define __device__\n"
    "#define __shared__ static __thread\n"
    "#define inline static __inline__ __attribute__((unused))\n"
    "__global__ void (*hostrt_barrier)(void);\n"
    "__global__ void hostrt_stand(unsigned lane, unsigned block, unsigned lanes, unsigned blocks) {\n"
    "  threadIdx.x = lane, blockIdx.x = block, blockDim.x = lanes, gridDim.x = blocks;\n"
    "  blockDim.y = blockDim.z = gridDim.y = gridDim.z = 1;\n"
    "}\n"
    "#define __syncthreads() hostrt_barrier()\n"
    "#define __popc(x) __builtin_popcount(x)\n"
    "#define __ffs(x) __builtin_ffs((int)(x))\n"
    "#define atomicOr(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)\n"
    "inline void atomicMax(int *p, int v) {\n"
    "  int found = __atomic_load_n(p, __ATOMIC_RELAXED);\n"
    "  while (found < v && !__atomic_compare_exchange_n(p, &found, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;\n"
    "}\n"
    "#define atomicAdd(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)\n"
    "inline void atomicMin(unsigned *p, unsigned v) {\n"
    "  unsigned found = __atomic_load_n(p, __ATOMIC_RELAXED);\n"
    "  while (found > v && !__atomic_compare_exchange_n(p, &found, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;\n"
    "}\n"
    "inline unsigned atomicCAS(unsigned *p, unsigned old, unsigned v) {\n"
    "  __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);\n"
    "  return old;\n"
    "}\n"
    "#define fabsf __builtin_fabsf\n"
    "#define fabs __builtin_fabs\n"
    "#define sqrtf __builtin_sqrtf\n"
    "#define sqrt __builtin_sqrt\n"
    "inline float __int_as_float(int x) { union { int i; float f; } u; u.i = x; return u.f; }\n"
    "inline int __float_as_int(float x) { union { int i; float f; } u; u.f = x; return u.i; }\n"
    "inline double __longlong_as_double(long long x) { union { long long i; double f; } u; u.i = x; return u.f; }\n"
    "inline long long __double_as_longlong(double x) { union { long long i; double f; } u; u.f = x; return u.i; }\n"
    "#line 1 \"cdevice\"\n";

struct hrt_program { char *text, *log, *code; size_t n; };
struct image { char magic[8]; char target[48]; uint64_t n; }; /* before the bytes of a shared object */
#define MAGIC "hostrt1"

int hrt_program_create(void **out, const char *text) {
    if (!out || !text) return RTC_INVALID_INPUT;
    struct hrt_program *p = calloc(1, sizeof *p);
    if (p) p->text = strdup(text);
    if (!p || !p->text) { free(p); return RTC_OUT_OF_MEMORY; }
    add(&live_programs, 1); *out = p; return 0;
}
int hrt_program_destroy(void **program) {
    struct hrt_program *p = program ? *program : NULL;
    if (!p) return RTC_INVALID_PROGRAM;
    free(p->text); free(p->log); free(p->code); free(p); *program = NULL;
    add(&live_programs, -1); return 0;
}
int hrt_program_log(void *program, size_t *n, char *out) {
    struct hrt_program *p = program; const char *log = p && p->log ? p->log : "";
    if (!p) return RTC_INVALID_PROGRAM;
    if (n) *n = strlen(log) + 1;
    if (out) strcpy(out, log);
    return 0;
}
int hrt_program_code(void *program, int portable, size_t *n, char *out) {
    struct hrt_program *p = program;
    if (!p || !p->code) return RTC_INVALID_PROGRAM;
    int there = (strncmp(((struct image *)p->code)->target, "compute_", 8) == 0) == portable; /* a cubin, or PTX */
    if (n) *n = there ? p->n : 0;
    if (out && there) { memcpy(out, p->code, p->n); add(&codes, 1); add(&code_bytes, (int64_t)p->n); }
    return 0;
}

static char *read_file(const char *path, size_t *n, size_t before) {
    FILE *f = fopen(path, "rb"); if (!f) return NULL;
    fseek(f, 0, SEEK_END); long size = ftell(f); rewind(f);
    char *out = size < 0 ? NULL : calloc(1, (size_t)size + before + 1);
    if (out && fread(out + before, 1, (size_t)size, f) != (size_t)size) { free(out); out = NULL; }
    fclose(f); *n = (size_t)size; return out;
}
static int write_text(const char *path, const char *text) {
    static const char word[] = "extern \"C\"";
    FILE *f = fopen(path, "w"); if (!f) return -1;
    fputs(prelude, f);
    for (const char *at; (at = strstr(text, word)); text = at + sizeof word - 1) fwrite(text, 1, (size_t)(at - text), f);
    fputs(text, f); return fclose(f);
}
/* The compiler's status; what it says is in `log`. */
static int run_cc(const char *in, const char *out, const char *log) {
    char *const args[] = {"cc", "-x", "c", "-std=gnu11", "-O1", "-w", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fwrapv", "-fPIC", "-shared", "-fvisibility=hidden", "-o", (char *)out, (char *)in, NULL};
    size_t n = 0, k = 0; while (environ[n]) n++;
    char **env = calloc(n + 1, sizeof *env); if (!env) return -1;
    for (size_t i = 0; i < n; i++) if (strncmp(environ[i], "LD_PRELOAD=", 11)) env[k++] = environ[i]; /* a sanitizer's: compilers leak */
    posix_spawn_file_actions_t a; posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_addopen(&a, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600); posix_spawn_file_actions_adddup2(&a, 2, 1);
    pid_t pid; int status = -1, r = posix_spawnp(&pid, "cc", &a, NULL, args, env);
    posix_spawn_file_actions_destroy(&a); free(env);
    if (r || waitpid(pid, &status, 0) != pid) return -1;
    return status;
}
/* HOSTRT_KEPT names a folder: a text is compiled once for all programs. 1: there is one. */
static int kept_path(const char *text, char *path, size_t room) {
    const char *folder = getenv("HOSTRT_KEPT"); uint64_t a = 14695981039346656037u, b = 1099511628211u;
    if (!folder || !*folder) return 0;
    for (; *text; text++) { a = (a ^ (unsigned char)*text) * 1099511628211u; b = (b + (unsigned char)*text) * 6364136223846793005u; }
    return snprintf(path, room, "%s/%016llx%016llx.so", folder, (unsigned long long)a, (unsigned long long)b) < (int)room;
}
static void keep(const char *file, const char *path) {
    char other[4200]; size_t n = 0; char *bytes = read_file(file, &n, 0); int fd;
    snprintf(other, sizeof other, "%s-XXXXXX", path);
    if (!bytes || (fd = mkstemp(other)) < 0) { free(bytes); return; }
    int all = write(fd, bytes, n) == (ssize_t)n; close(fd); free(bytes);
    if (!all || rename(other, path)) unlink(other);
}
/* target: "sm_90", "gfx90a" */
int hrt_program_compile(void *program, const char *target) {
    struct hrt_program *p = program; char dir[] = "/tmp/hostrt-XXXXXX", in[64], out[64], log[64], kept[4096]; size_t n = 0;
    if (!p) return RTC_INVALID_PROGRAM;
    int keeps = kept_path(p->text, kept, sizeof kept);
    free(p->log); free(p->code); p->log = NULL; p->code = keeps ? read_file(kept, &n, sizeof(struct image)) : NULL;
    if (!p->code) {
        if (!mkdtemp(dir)) return RTC_OUT_OF_MEMORY;
        snprintf(in, sizeof in, "%s/in.c", dir); snprintf(out, sizeof out, "%s/out.so", dir); snprintf(log, sizeof log, "%s/log", dir);
        int status = write_text(in, p->text) ? -1 : run_cc(in, out, log);
        p->log = read_file(log, &n, 0);
        if (!status) p->code = read_file(out, &n, sizeof(struct image));
        if (!status && keeps) keep(out, kept);
        unlink(in); unlink(out); unlink(log); rmdir(dir);
    }
    if (p->code) {
        struct image *i = (struct image *)p->code; i->n = n; p->n = n + sizeof *i;
        snprintf(i->magic, sizeof i->magic, MAGIC); snprintf(i->target, sizeof i->target, "%s", target);
    }
    return p->code ? 0 : RTC_COMPILATION;
}

/* ---------------------------------------------------------------- modules */
struct function { struct function *next; void (*entry)(void); struct module *module; };
struct module { void *library; int device; void (*stand)(unsigned, unsigned, unsigned, unsigned); struct function *functions; };
static void barrier(void);

/* takes: does this device run code for that target? */
int hrt_module_load(void **out, const void *data, int (*takes)(const char *target)) {
    const struct image *i = data; char path[] = "/tmp/hostrt-XXXXXX"; /* of its own: dlopen takes what it has under a name */
    if (!out || !data || memcmp(i->magic, MAGIC, sizeof i->magic)) return HRT_INVALID_IMAGE;
    if (!takes(i->target)) return HRT_NO_BINARY;
    int fd = mkstemp(path);
    struct module *m = calloc(1, sizeof *m);
    if (fd < 0 || !m || write(fd, i + 1, i->n) != (ssize_t)i->n) { if (fd >= 0) { close(fd); unlink(path); } free(m); return HRT_OUT_OF_MEMORY; }
    close(fd); m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL); unlink(path);
    void *b = m->library ? dlsym(m->library, "hostrt_barrier") : NULL, *s = m->library ? dlsym(m->library, "hostrt_stand") : NULL;
    if (!b || !s) { if (m->library) dlclose(m->library); free(m); return HRT_INVALID_IMAGE; }
    *(void (**)(void))b = barrier; *(void **)&m->stand = s;
    hrt_get_device(&m->device); add(&live_modules, 1); *out = m; return 0;
}
int hrt_module_unload(void *module) {
    struct module *m = module; if (!m) return HRT_INVALID_HANDLE;
    for (struct function *f = m->functions, *next; f; f = next) { next = f->next; free(f); }
    dlclose(m->library); free(m); add(&live_modules, -1); return 0;
}
int hrt_module_function(void **out, void *module, const char *name) {
    struct module *m = module; if (!out || !m || !name) return HRT_INVALID_VALUE;
    void *entry = dlsym(m->library, name); if (!entry) return HRT_NOT_FOUND;
    struct function *f = calloc(1, sizeof *f); if (!f) return HRT_OUT_OF_MEMORY;
    *(void **)&f->entry = entry; f->module = m;
    pthread_mutex_lock(&L); f->next = m->functions; m->functions = f; pthread_mutex_unlock(&L);
    *out = f; return 0;
}

/* ---------------------------------------------------------------- launches */
#define BUFFERS 8 /* every kernel of the dialect: eight addresses, an offset behind each, five numbers */
#define ARGUMENTS (2 * BUFFERS + 5)
#define STACK ((size_t)64 << 10)
typedef uint64_t u;
typedef void (*kernel)(u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u, u);
struct fiber { void *stack; unsigned lane; int done; };
struct launch {
    void *addresses[BUFFERS]; /* first: hrt_kernel makes them readable */
    struct function *function; unsigned blocks, lanes; uint64_t rest[ARGUMENTS - BUFFERS];
    void *scheduler; struct fiber *running; char *stacks; struct fiber *fibers;
};
static __thread struct launch *now;

/* A lane takes some tens of nanoseconds so; swapcontext asks the system twice for each change. */
#if defined(__x86_64__) && !defined(HOSTRT_UCONTEXT)
void hostrt_switch(void **from, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n.globl hostrt_switch\n.hidden hostrt_switch\n.type hostrt_switch,@function\nhostrt_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size hostrt_switch,.-hostrt_switch\n");
static void change(void **from, void *to) { hostrt_switch(from, to); }
static void *begin(char *stack, void (*entry)(void)) {
    void **top = (void **)(void *)(stack + STACK) - 8; /* six registers, where to go, and where it came from */
    memset(top, 0, 8 * sizeof *top); top[6] = (void *)entry; return top;
}
#else
static void change(void **from, void *to) { swapcontext(*from = __builtin_alloca(sizeof(ucontext_t)), to); }
static void *begin(char *stack, void (*entry)(void)) {
    ucontext_t *c = (ucontext_t *)(void *)stack; /* at the far end of the stack */
    getcontext(c); c->uc_stack.ss_sp = stack + sizeof *c; c->uc_stack.ss_size = STACK - sizeof *c; c->uc_link = NULL;
    makecontext(c, entry, 0); return c;
}
#endif
static void barrier(void) { struct launch *l = now; change(&l->running->stack, l->scheduler); }
static void lanes_main(void) { /* one lane after the other */
    for (;;) {
        struct launch *l = now; const u *o = l->rest; void **a = l->addresses;
        ((kernel)l->function->entry)((u)a[0], o[0], (u)a[1], o[1], (u)a[2], o[2], (u)a[3], o[3], (u)a[4], o[4], (u)a[5], o[5], (u)a[6], o[6], (u)a[7], o[7], o[8], o[9], o[10], o[11], o[12]);
        l->running->done = 1; barrier();
    }
}
static void resume(struct launch *l, struct fiber *f, unsigned block) {
    l->function->module->stand(f->lane, block, l->lanes, l->blocks);
    l->running = f; change(&l->scheduler, f->stack);
}
/* How many lanes came to a barrier and were alone there: CUDA leaves open what happens then. */
static int run_block(struct launch *l, unsigned block) {
    unsigned waiting = 0;
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        struct fiber *f = &l->fibers[waiting]; /* one that has ended takes the next lane */
        if (!f->stack) f->stack = begin(l->stacks + waiting * STACK, lanes_main);
        f->lane = lane; f->done = 0; resume(l, f, block);
        if (!f->done) waiting++;
    }
    while (waiting) {
        unsigned left = 0;
        if (waiting != l->lanes) return 1;
        for (unsigned i = 0; i < waiting; i++) { resume(l, &l->fibers[i], block); left += !l->fibers[i].done; }
        waiting = left;
    }
    return 0;
}
/* Stacks are a thread's, until it ends: what was touched stays mapped. */
#define LANES 1024
static pthread_key_t stacks_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void unmap(void *stacks) { munmap(stacks, LANES * STACK); }
static void make_key(void) { if (pthread_key_create(&stacks_of_thread, unmap)) abort(); }
static char *stacks(void) {
    pthread_once(&once, make_key);
    char *s = pthread_getspecific(stacks_of_thread);
    if (s) return s;
    s = mmap(NULL, LANES * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s == MAP_FAILED || pthread_setspecific(stacks_of_thread, s)) abort();
    return s;
}
static int run(void *arg) {
    struct launch *l = arg; int bad = 0;
    l->stacks = stacks(); l->fibers = calloc(l->lanes, sizeof *l->fibers);
    if (!l->fibers) abort();
    now = l;
    for (unsigned b = 0; b < l->blocks && !bad; b++) bad = run_block(l, b);
    now = NULL; free(l->fibers);
    return bad ? HRT_LAUNCH_FAILED : 0;
}
int hrt_launch(void *function, unsigned blocks, unsigned lanes, void *stream, void **arguments) {
    struct function *f = function; int device;
    if (!f || !arguments) return HRT_INVALID_VALUE;
    if (!blocks || !lanes || lanes > LANES) return HRT_INVALID_VALUE;
    if (hrt_stream_device(stream, &device) || device != f->module->device) return HRT_INVALID_HANDLE; /* another context's */
    struct launch *l = calloc(1, sizeof *l); if (!l) return HRT_OUT_OF_MEMORY;
    l->function = f; l->blocks = blocks; l->lanes = lanes;
    for (int i = 0; i < BUFFERS; i++) { l->addresses[i] = *(void **)arguments[2 * i]; l->rest[i] = *(uint64_t *)arguments[2 * i + 1]; }
    for (int i = 2 * BUFFERS; i < ARGUMENTS; i++) l->rest[i - BUFFERS] = *(uint64_t *)arguments[i];
    add(&launches, 1);
    return hrt_kernel(stream, run, l, l->addresses, BUFFERS);
}
