/* compute.h - kernels for processors: they are compiled with the extension, but for a user's own. */
#ifndef CDEVICE_BACKENDS_CPU_COMPUTE_H
#define CDEVICE_BACKENDS_CPU_COMPUTE_H

#include "cdevice/backend.h"

/* Under a sanitizer the kernels are not optimized: the compiler would take minutes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_KERNELS_SLOW 1
#endif

typedef struct cpu_launch { /* items begin ... end - 1 of a kernel */
  int64_t begin, end;
  const cdevice_kernel_buffer *buffers;
  const int64_t *scalars;
} cpu_launch;

typedef struct cpu_kernel {
  const char *name;
  void (*run)(const cpu_launch *launch);
} cpu_kernel;

/* Two tables for each build, ended by a name that is NULL. */
extern const cpu_kernel cpu_kernels_base[], cpu_text_casts_base[];
/* on Windows gcc aligns the stack to 16 bytes, AVX2 needs 32 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(CPU_KERNELS_BASE_ONLY) && !defined(_WIN32)
#define CPU_KERNELS_V3 1
extern const cpu_kernel cpu_kernels_v3[], cpu_text_casts_v3[];
#endif

extern const cdevice_compute cpu_compute;
void cpu_compute_start(const cdevice_host *host);

/* ---- cpu_compile.c: kernels of a user's own ---- */
typedef struct cpu_library {
  void *handle;
  char *code; /* of its file */
  int64_t nbytes;
} cpu_library;
/* v3: for processors with AVX2. ENOTSUP: there is no compiler; EINVAL: it does not compile, with the compiler's
 * words. */
int cpu_compile(const cdevice_program *program, int v3, cpu_library *out, cdevice_error *err);
int cpu_library_load(const void *data, int64_t nbytes, cpu_library *out, cdevice_error *err);
void (*cpu_library_find(const cpu_library *l, const char *name))(const cpu_launch *launch);
void cpu_library_drop(cpu_library *l);

#endif
