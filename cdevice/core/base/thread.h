/* thread.h - threads that run only code of this library. */
#ifndef CDEVICE_THREAD_H
#define CDEVICE_THREAD_H

#include "core/base/error.h"
#include "core/base/system.h"

#include <pthread.h>
#include <string.h>

/* A detached thread that no signal comes to: these are for the program's own threads, one of which may wait for them
 * (sigwait).  Not for threads that call foreign code, which could start processes with this mask. */
static inline int cdv_start_thread(void *(*run)(void *), void *arg) {
  pthread_t thread;
  pthread_attr_t attributes;
  struct cdv_signals before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  cdv_signals_block(&before);
  int r = pthread_create(&thread, &attributes, run, arg);
  cdv_signals_restore(&before);
  pthread_attr_destroy(&attributes);
  return r;
}

/* r: what pthread_create said. */
static inline int cdv_fail_thread(int r, const char *doing) {
  return cdv_fail(CDV_MEMORY, r,
                  "%s: cannot start a thread: %s: the limit of threads (ulimit -u) or of memory (ulimit -v) is reached",
                  doing, strerror(r));
}

#endif
