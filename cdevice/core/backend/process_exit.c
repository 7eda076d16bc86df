/* process_exit.c - the end of the process, and work that it must not cut off in the middle. */
#include "core/backend/process_exit.h"
#include "cdevice/backend.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define LONGEST 10000000000 /* nanoseconds that are waited in all */
#define STILL 1000000000    /* nothing has worked for so long: a queue is held */
#define WORKED 50000000     /* of a processor's time */
#define PAUSE 2000000

static struct {               /* of the one thread that ends the process */
  int64_t begun, moved, used; /* begun: 0 before */
} ending;

static bool is_unfinished(struct cdv_backend *backend) {
  if (!backend || atomic_load(&backend->state) != CDV_BACKEND_STARTED || !cdv_backend_usable_in_process(backend))
    return false;
  const cdevice_memory *m = cdv_memory_of(backend);
  return CDV_HAS(m, has_pending_work) && m->has_pending_work(backend->table.self);
}

static bool unfinished(void) {
  for (int64_t i = 0, n = cdv_backend_count(); i < n; i++) {
    const cdevice_backend *b = cdv_backend_table_at(i);
    if (b && is_unfinished(cdv_backend_lookup(b->device_type))) return true;
  }
  return false;
}

static int64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

int cdv_exit_drain_step(void) {
  int64_t now = read_clock(CLOCK_MONOTONIC), used = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  if (!ending.begun) ending.begun = ending.moved = now, ending.used = used;
  if (used > ending.used + WORKED) ending.moved = now, ending.used = used;
  if (now > ending.begun + LONGEST || now > ending.moved + STILL || !unfinished()) return 0;
  nanosleep(&(struct timespec){0, PAUSE}, NULL);
  return 1;
}

static void at_exit(void) {
  if (ending.begun) return; /* Python has done it, or was asked not to wait */
  while (cdv_exit_drain_step()) continue;
}

/* exit() calls the last one first, and what a compiler has to be taken down by then was registered while it was
 * loaded and while it built. */
void cdv_register_exit_drain(void) { atexit(at_exit); }
