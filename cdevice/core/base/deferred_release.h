/* deferred_release.h - work that a release callback must not do itself because it needs a lock (the GIL) that the
 * releasing thread must not wait for. */
#ifndef CDEVICE_CORE_BASE_DEFERRED_RELEASE_H
#define CDEVICE_CORE_BASE_DEFERRED_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

/* cffi: begin */
struct cdv_deferred {
  struct cdv_deferred *next;
  void (*run)(void *object); /* NULL: object is a Python reference */
  void *object;
};
int cdv_defer_wait(void);
void cdv_defer_stop(void);
int64_t cdv_defer_count(void);
/* cffi: end */

void cdv_defer_push(struct cdv_deferred *node);
struct cdv_deferred *cdv_defer_take(void);
bool cdv_defer_pending(void);

#endif
