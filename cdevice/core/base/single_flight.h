/* single_flight.h - work that one thread does for all and others wait for: the start of a backend, the build of a
 * kernel. */
#ifndef CDEVICE_CORE_BASE_SINGLE_FLIGHT_H
#define CDEVICE_CORE_BASE_SINGLE_FLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Foreign code that one thread runs for all, without a lock: others wait for their turn with the same key. */
struct cdv_single_flight {
  struct cdv_single_flight *next;
  uint64_t key, awaited;
  pthread_t thread;
  bool waits; /* its thread does, for `awaited` */
};
/* Blocks while another thread has the turn.  0: it is this thread's, and what was to be done is looked at again; *me
 * must live until cdv_single_flight_end.  EDEADLK (no error is set): that thread waits for this one, or is this one. */
int cdv_single_flight_begin(struct cdv_single_flight *me, uint64_t key);
void cdv_single_flight_end(struct cdv_single_flight *me);

#endif
