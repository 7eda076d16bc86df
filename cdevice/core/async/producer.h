/* producer.h - a producer as its consumer and its maker see it: request, cancel, stop, wait, how it ended. */
#ifndef CDEVICE_CORE_ASYNC_PRODUCER_H
#define CDEVICE_CORE_ASYNC_PRODUCER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_producer;

/* cffi: begin */
/* 1 for the first caller: run, start, fail or abandon, one of which it must call, is its. 0: another's. Any
 * thread. */
int cdv_producer_claim(struct cdv_producer *p);
/* Ends it soon, in an error for the consumer.  Never blocks; any thread. */
void cdv_producer_stop(struct cdv_producer *p);
/* Blocks up to so many nanoseconds (< 0: without limit) until the handler was released: 1, or 0. */
int cdv_producer_wait(struct cdv_producer *p, int64_t nanoseconds);
/* CDV_*; *code: the errno of a refusal or a failure.  The failure is then this thread's last error. */
int cdv_producer_outcome(struct cdv_producer *p, int *code);
/* Tasks handed out so far, and of these not extracted. */
int64_t cdv_producer_sent(struct cdv_producer *p, int64_t *unextracted);
/* Was it cancelled, stopped or asked for nonsense?  For sources that wait for something else. */
int cdv_producer_interrupted(struct cdv_producer *p);
void cdv_producer_unref(struct cdv_producer *p);
int64_t cdv_live_async(void); /* productions and consumers, for leak checks */
/* cffi: end */

struct cdv_producer *cdv_producer_ref(struct cdv_producer *p);
void cdv_producer_error(struct cdv_producer *p); /* what it failed with becomes this thread's error */
extern atomic_llong cdv_async_objects;
/* True for a producer of cdevice, which is valid while any of its tasks is held. */
bool cdv_is_producer(const struct ArrowAsyncProducer *p);

#endif
