/* orphan.c - what a failed copy or call leaves: memory that a device may still write to or read.
 *
 * It is given back behind an event on each stream that was given work.  The failure itself may be that the host does
 * not wait any more (Ctrl-C in a backend), so nothing here waits for long. */
#include "core/event/orphan.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/system.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/reclaim.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define MOMENTS 50000000 /* nanoseconds that most work is done within: then errors leave nothing behind */

struct waiting {
  struct cdv_retired kept; /* first */
  struct cdv_event *events[2];
  struct cdv_orphans left;
};

static void give_back(struct cdv_orphans *x) {
  if (x->target) cdv_array_unref(x->target);
  if (x->memory_of_nodes) x->free_nodes(x->memory_of_nodes);
  for (int i = 0; i < x->n_stages; i++) cdv_staging_put(&x->stages[i]);
  free(x->memory);
  if (x->source) cdv_array_unref(x->source);
}

/* why ESHUTDOWN: Python has ended, and the process that follows it frees everything. */
static void lose(const struct cdv_orphans *x, const char *who, int why) {
  if (why == ESHUTDOWN) return;
  char text[200], bytes[40] = "memory";
  if (x->nbytes) snprintf(bytes, sizeof bytes, "%lld bytes", (long long)x->nbytes);
  snprintf(text, sizeof text, "%s leaves %s: %s may still use %s, and does not say when it is done",
           x->who ? x->who : "a failed copy", bytes, who, x->nbytes ? "them" : "it");
  cdv_log(30, text);
}

/* 0: an event behind the stream's work so far in *out, NULL: nothing is under way. Else that cannot be known. Where
 * none can be recorded the host waits; EIO: the device is dead, nothing will run there; EINVAL: the stream is none,
 * and took nothing. */
static int mark(const struct cdv_stream_use *u, struct cdv_event **out) {
  *out = NULL;
  if (!u->backend || u->backend->table.device_type == ARROW_DEVICE_CPU) return 0;
  if (!cdv_event_record(u->backend, u->device, u->stream, out)) return 0;
  int r = EIO;
  for (int i = 0; i < 2 && cdv_is_dead(r); i++) /* must be reported twice, as for an event */
    r = u->backend->table.stream_wait_host(u->backend->table.self, u->device, u->stream, NULL);
  return cdv_is_dead(r) || r == EINVAL ? 0 : r;
}

static bool passed(struct cdv_event *e) {
  int done, r = cdv_event_completed(e, &done);
  return done || cdv_is_dead(r);
}

/* Looks for a moment whether the event passes. */
static bool passes_soon(struct cdv_event *e) {
  struct timespec begin, now, pause = {0, 100000};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0;; i++) {
    if (passed(e)) return true;
    if (i < 100)
      sched_yield();
    else
      nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec > MOMENTS) return false;
  }
}

/* One event after the other. */
static void go_on(struct cdv_retired *k) {
  struct waiting *x = (struct waiting *)k;
  for (int i = 0; i < 2; i++) {
    struct cdv_event *e = x->events[i];
    if (!e) continue;
    x->events[i] = NULL;
    int r = cdv_on_event_complete(e, k, go_on);
    if (r) lose(&x->left, e->backend->table.name, r);
    cdv_event_unref(e);
    return;
  }
  give_back(&x->left);
  free(x);
}

void cdv_retire_after_streams(const struct cdv_orphans *left, const struct cdv_stream_use users[2]) {
  struct cdv_orphans now = *left;
  struct cdv_event *events[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    int r = mark(&users[i], &events[i]);
    if (r) {
      lose(left, users[i].backend->table.name, r); /* the events stay with it */
      return;
    }
    if (!events[i] || !passes_soon(events[i])) continue;
    cdv_event_unref(events[i]);
    events[i] = NULL;
  }
  if (!events[0] && !events[1]) {
    give_back(&now);
    return;
  }
  struct waiting *x = malloc(sizeof *x);
  if (!x) {
    lose(left, "a device", ENOMEM);
    return;
  }
  x->events[0] = events[0];
  x->events[1] = events[1];
  x->left = *left;
  go_on(&x->kept);
}
