/* system.c - what systems call by different names: Linux and other Unix systems in the first half, Windows in the second. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, RTLD_DEFAULT */
#endif
#include "core/base/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

void cdv_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  pthread_atfork(before, parent, child);
}

void *cdv_library_open(const char *path, const char **why) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) *why = dlerror();
  return library;
}

void *cdv_library_symbol(void *library, const char *name) { return dlsym(library, name); }
void *cdv_process_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

int cdv_processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n;
}

void *cdv_aligned_alloc(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
void cdv_aligned_free(void *memory) { free(memory); }

struct tm *cdv_gmtime(const time_t *second, struct tm *out) { return gmtime_r(second, out); }

_Static_assert(sizeof(sigset_t) <= sizeof(struct cdv_signals), "a set of signals is larger here");

void cdv_signals_block(struct cdv_signals *before) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  memcpy(before, &old, sizeof old);
}

void cdv_signals_restore(const struct cdv_signals *before) {
  sigset_t old;
  memcpy(&old, before, sizeof old);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

#else
#include <windows.h>

void cdv_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child; /* no process forks */
}

void *cdv_library_open(const char *path, const char **why) {
  static _Thread_local char text[400];
  HMODULE library = LoadLibraryA(path);
  if (library) return (void *)library;
  DWORD code = GetLastError();
  int n = snprintf(text, sizeof text, "%s: ", path);
  if (n < 0 || (size_t)n >= sizeof text - 1) n = 0;
  DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD m = FormatMessageA(flags, NULL, code, 0, text + n, (DWORD)(sizeof text - (size_t)n), NULL);
  while (m && (text[n + (int)m - 1] == '\n' || text[n + (int)m - 1] == '\r')) text[n + (int)--m] = 0;
  if (!m) snprintf(text + n, sizeof text - (size_t)n, "error %lu", (unsigned long)code);
  *why = text;
  return NULL;
}

void *cdv_library_symbol(void *library, const char *name) {
  FARPROC function = GetProcAddress((HMODULE)library, name);
  void *out;
  memcpy(&out, &function, sizeof out);
  return out;
}

void *cdv_process_symbol(const char *name) {
  (void)name;
  return NULL;
}

int cdv_processors(void) {
  DWORD_PTR mine, all;
  if (GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) && mine) return __builtin_popcountll(mine);
  return 1;
}

void *cdv_aligned_alloc(size_t alignment, size_t size) { return _aligned_malloc(size, alignment); }
void cdv_aligned_free(void *memory) { _aligned_free(memory); }

struct tm *cdv_gmtime(const time_t *second, struct tm *out) { return gmtime_s(out, second) ? NULL : out; }

void cdv_signals_block(struct cdv_signals *before) { (void)before; /* none comes to a thread by itself */ }
void cdv_signals_restore(const struct cdv_signals *before) { (void)before; }
#endif
