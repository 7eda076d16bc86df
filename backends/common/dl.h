/* dl.h - finds a vendor's library at run time and remembers what was tried, so that an error can say it.
 *
 * Include it first: it needs _GNU_SOURCE for dl_iterate_phdr.
 *
 *   #define ACME_FUNCTIONS(X)                                        \
 *     X(1, int, Init, "acmeInit", (unsigned flags))                  \
 *     X(0, int, MemFree, "acmeMemFree_v2", (void *pointer))
 *   typedef struct acme_table { ACME_FUNCTIONS(CDEVICE_DL_MEMBER) } acme_table;
 *   #define ACME_ROW(needed, result, name, symbol, args) {symbol, offsetof(acme_table, name), needed},
 *   static const cdevice_dl_row acme_rows[] = {ACME_FUNCTIONS(ACME_ROW)};
 *
 *   cdevice_dl dl = {0};
 *   if (cdevice_dl_open(&dl, "libacme", "CDEVICE_ACME_LIBRARY", names, "acmeInit") ||
 *       cdevice_dl_load(&dl, acme_rows, sizeof acme_rows / sizeof *acme_rows, &table))
 *     ... dl.tried lists the reasons
 */
#ifndef CDEVICE_BACKENDS_DL_H
#define CDEVICE_BACKENDS_DL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) || defined(__FreeBSD__)
#include <link.h>
#define CDEVICE_DL_HAS_PHDR 1
#endif

typedef struct cdevice_dl {
  void *handle;
  char path[512];  /* what was opened */
  char tried[700]; /* "NAME: why not; NAME: why not": for the message */
} cdevice_dl;

typedef struct cdevice_dl_row {
  const char *symbol;
  size_t offset; /* of the function pointer in the caller's table */
  int needed;
} cdevice_dl_row;

#define CDEVICE_DL_MEMBER(needed, result, name, symbol, args) result(*name) args;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void
cdevice_dl_note(cdevice_dl *dl, const char *format, ...) {
  size_t used = strlen(dl->tried);
  va_list args;
  if (used && used + 3 < sizeof dl->tried) {
    memcpy(dl->tried + used, "; ", 3);
    used += 2;
  }
  va_start(args, format);
  vsnprintf(dl->tried + used, sizeof dl->tried - used, format, args);
  va_end(args);
}

/* Opens `name` if it has the symbol `probe`; notes the reason if not. */
static inline int cdevice_dl_try(cdevice_dl *dl, const char *name, int flags, const char *probe) {
  void *handle = dlopen(name, flags);
  if (!handle) {
    const char *why = dlerror();
    size_t length = strlen(name);
    /* dlerror mostly begins with the name, which would stand there twice. */
    if (why && !strncmp(why, name, length) && why[length] == ':') why += length + 1 + (why[length + 1] == ' ');
    cdevice_dl_note(dl, "%s: %s", name, why ? why : "cannot be opened");
    return -1;
  }
  if (probe && !dlsym(handle, probe)) {
    cdevice_dl_note(dl, "%s: has no %s", name, probe);
    dlclose(handle);
    return -1;
  }
  dl->handle = handle;
  snprintf(dl->path, sizeof dl->path, "%s", name);
  return 0;
}

#ifdef CDEVICE_DL_HAS_PHDR
typedef struct cdevice_dl_scan {
  const char *prefix;
  char found[4][512]; /* more copies than this of one vendor's loader in a process is not a case we meet */
  int count;
} cdevice_dl_scan;

static inline int cdevice_dl_visit(struct dl_phdr_info *info, size_t size, void *context) {
  cdevice_dl_scan *scan = context;
  const char *slash, *base;
  size_t length = strlen(scan->prefix);
  (void)size;
  if (!info->dlpi_name || !*info->dlpi_name || scan->count == 4) return 0;
  slash = strrchr(info->dlpi_name, '/');
  base = slash ? slash + 1 : info->dlpi_name;
  /* "libcuda" is not "libcudart": the name ends at '.', or at the '-' of a hash that a wheel's repair added. */
  if (strncmp(base, scan->prefix, length) || (base[length] != '.' && base[length] != '-')) return 0;
  if (strlen(info->dlpi_name) < sizeof scan->found[0]) strcpy(scan->found[scan->count++], info->dlpi_name);
  return 0;
}
#endif

/* A copy that is mapped already: handles made by another library of the process are then of the same runtime.
 * The paths are collected first, because dlopen inside dl_iterate_phdr takes the linker's locks the wrong way round. */
static inline int cdevice_dl_mapped(cdevice_dl *dl, const char *prefix, const char *probe) {
#ifdef CDEVICE_DL_HAS_PHDR
  cdevice_dl_scan scan;
  scan.prefix = prefix;
  scan.count = 0;
  dl_iterate_phdr(cdevice_dl_visit, &scan);
  for (int i = 0; i < scan.count; i++)
    if (!cdevice_dl_try(dl, scan.found[i], RTLD_NOW | RTLD_NOLOAD, probe)) return 0;
  if (!scan.count) cdevice_dl_note(dl, "%s already in the process: none", prefix);
#else
  (void)prefix, (void)probe;
#endif
  return -1;
}

/* The first of: the file named by the environment variable (NULL: none), a mapped file whose name begins with `prefix`
 * (NULL: not looked for), `names` up to its NULL.  A variable that is set is an order: when its file cannot be opened,
 * nothing else is taken instead.  0, or -1 with dl->tried filled. */
static inline int cdevice_dl_open(cdevice_dl *dl, const char *prefix, const char *variable, const char *const *names,
                                  const char *probe) {
  const char *value = variable ? getenv(variable) : NULL;
  if (value && *value) {
    cdevice_dl_note(dl, "$%s is set", variable);
    return cdevice_dl_try(dl, value, RTLD_NOW | RTLD_LOCAL, probe);
  }
  if (variable) cdevice_dl_note(dl, "$%s: not set", variable);
  if (prefix && !cdevice_dl_mapped(dl, prefix, probe)) return 0;
  for (; *names; names++)
    if (!cdevice_dl_try(dl, *names, RTLD_NOW | RTLD_LOCAL, probe)) return 0;
  return -1;
}

/* The path of a file in the folder that this package is installed in, where wheels of others lie beside it. 0: too
 * long, or nothing knows where that is. */
static inline int cdevice_dl_beside(char *out, size_t size, const char *file) {
  static const char here = 0;
  Dl_info where;
  if (!dladdr(&here, &where) || !where.dli_fname || *where.dli_fname != '/') return 0;
  const char *end = strrchr(where.dli_fname, '/'); /* .../site-packages/cdevice/_native... */
  while (end > where.dli_fname && end[-1] != '/') end--;
  int n = snprintf(out, size, "%.*s%s", (int)(end - where.dli_fname), where.dli_fname, file);
  return n > 0 && (size_t)n < size;
}

/* Fills `table`; a missing function is NULL.  -1 when a required one is missing, noted in dl->tried. */
static inline int cdevice_dl_load(cdevice_dl *dl, const cdevice_dl_row *rows, size_t n, void *table) {
  int result = 0;
  for (size_t i = 0; i < n; i++) {
    void *function = dlsym(dl->handle, rows[i].symbol);
    memcpy((char *)table + rows[i].offset, &function, sizeof function);
    if (!function && rows[i].needed) {
      cdevice_dl_note(dl, "%s has no %s", dl->path, rows[i].symbol);
      result = -1;
    }
  }
  return result;
}

static inline void cdevice_dl_close(cdevice_dl *dl) {
  if (dl->handle) dlclose(dl->handle);
  dl->handle = NULL;
}

#endif
