/* reclaim.h - memory that a device may still read. */
#ifndef CDEVICE_CORE_EVENT_RECLAIM_H
#define CDEVICE_CORE_EVENT_RECLAIM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct cdv_event;

/* cffi: begin */
int64_t cdv_retired_count(void); /* sources and chunks that wait for a device */
/* Returns once no event query of the reclaimer is under way that began before this call. A capture guard calls it after
 * it has become active, because a query that looked before would end the capture. Blocks for one query. Any thread. */
void cdv_wait_for_query(void);
/* cffi: end */

/* Does this error of a backend say that the event has failed or the device is dead, so that nothing will run any more?
 * After any other error the state is unknown: ask again, and free no memory. */
static inline bool cdv_is_dead(int code) { return code == EIO; }
struct cdv_retired { /* the caller's memory, put first in what it belongs to */
  struct cdv_retired *next;
  struct cdv_event *event;
  void (*run)(struct cdv_retired *k);
};
/* Calls run(k) on the reclaimer's thread once the device has passed the event or it has failed; *k must live until
 * then.  Never blocks.  On an error, of memory or of a dead device, run is not called. */
int cdv_on_event_complete(struct cdv_event *event, struct cdv_retired *k, void (*run)(struct cdv_retired *));

#endif
