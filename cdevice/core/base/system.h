/* system.h - what systems call by different names, or what some of them do not have: forks, libraries, processors, aligned
 * memory, numbers of errors. */
#ifndef CDEVICE_CORE_BASE_SYSTEM_H
#define CDEVICE_CORE_BASE_SYSTEM_H

#include <errno.h>
#include <stddef.h>
#include <time.h>

#ifndef ESHUTDOWN
#define ESHUTDOWN 10058 /* of Windows' sockets */
#endif
#ifndef EREMOTEIO
#define EREMOTEIO EIO
#endif

/* Run before a fork, in the parent behind it and in the child; NULL: nothing.  Where no process forks: nothing is. */
void cdv_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* A library is never closed.  NULL: it cannot be opened, and *why is a sentence of the system, this thread's until its next
 * call. */
void *cdv_library_open(const char *path, const char **why);
void *cdv_library_symbol(void *library, const char *name); /* NULL: it has none */
/* Of what the process has loaded; NULL: there is none, or the system does not tell. */
void *cdv_process_symbol(const char *name);

/* Processors that this process may use, at least 1. */
int cdv_processors(void);

/* size: a multiple of alignment.  owns: cdv_aligned_free's. */
void *cdv_aligned_alloc(size_t alignment, size_t size);
void cdv_aligned_free(void *memory);

/* A second since 1970 as a date in UTC; NULL: it has none. */
struct tm *cdv_gmtime(const time_t *second, struct tm *out);

/* A thread takes no signal from here to cdv_signals_restore, nor does one that it starts meanwhile. */
struct cdv_signals {
  unsigned long long words[16];
};
void cdv_signals_block(struct cdv_signals *before);
void cdv_signals_restore(const struct cdv_signals *before);

#endif
