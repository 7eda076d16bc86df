/* consumer.h - an ArrowAsyncDeviceStreamHandler of our own, and the queue behind it. */
#ifndef CDEVICE_CORE_ASYNC_CONSUMER_H
#define CDEVICE_CORE_ASYNC_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_array;
struct cdv_consumer;
struct cdv_schema;
struct cdv_stream;

/* cffi: begin */
#define CDV_HAS_SCHEMA 1
#define CDV_ENDED 2            /* the end or an error came, or release: the producer is no longer called */
#define CDV_CLOSED 4           /* by us */
#define CDV_HANDLER_RELEASED 8 /* the producer has released the handler */
#define CDV_FAILED_PENDING 16  /* an error waits behind what came before it */
int cdv_consumer_new(int64_t queue_size, int level, struct cdv_consumer **out);
/* For the producer.  From the first call on it is valid until the producer releases it, also after close. */
struct ArrowAsyncDeviceStreamHandler *cdv_consumer_handler(struct cdv_consumer *c);
int cdv_consumer_state(struct cdv_consumer *c);
int32_t cdv_consumer_device_type(struct cdv_consumer *c); /* 0 before the schema */
/* Blocks up to so many nanoseconds (< 0: without limit) until there is an array, a schema (when schema != 0), an end:
 * 1, or 0. */
int cdv_consumer_wait(struct cdv_consumer *c, int schema, int64_t nanoseconds);
/* A new descriptor for one waiter, which becomes readable after cdv_consumer_arm; closed with the consumer.  -errno:
 * none to be had. */
int cdv_consumer_new_waiter(struct cdv_consumer *c);
/* 0: there is something already (schema != 0: a schema; released != 0: the release); 1: that descriptor will tell; -1:
 * nothing will ever come, see cdv_consumer_error. */
int cdv_consumer_arm(struct cdv_consumer *c, int bell, int schema, int released);
int cdv_consumer_armed(struct cdv_consumer *c); /* descriptors that will tell (tests) */
/* Cancels the producer, drops what waits.  Idempotent, any thread; waits for a call of cdv_consumer_take to leave the
 * queue, never for the producer. */
void cdv_consumer_close(struct cdv_consumer *c);
/* The consumer's error, as this thread's last error; 0: none. */
int cdv_consumer_error(struct cdv_consumer *c);
int64_t cdv_consumer_waiting(struct cdv_consumer *c); /* tasks that wait unextracted */
/* Takes and drops everything from a consumer on this thread: how many arrays, or -1 (tests, benchmarks). */
int64_t cdv_consumer_drain(struct cdv_consumer *c);
/* cffi: end */

void cdv_consumer_unref(struct cdv_consumer *c);    /* of the owner: closes it */
void cdv_consumer_weak_ref(struct cdv_consumer *c); /* keeps its memory alone */
void cdv_consumer_weak_unref(struct cdv_consumer *c);
/* The handler, before it is exported by cdv_consumer_handler. */
struct ArrowAsyncDeviceStreamHandler *cdv_consumer_borrow_handler(struct cdv_consumer *c);
/* Claims a handler of cdevice for one producer, or (take = 0) returns it unused. 0; EBUSY: it was taken before;
 * ENOENT: it is a third-party handler. */
int cdv_handler_claim(struct ArrowAsyncDeviceStreamHandler *handler, int take);
/* On: the next task will be followed at once by another or by the end, so no waiter need be woken for it; for
 * handlers of cdevice, on the producer's thread. quick: every requested task can be sent at once. */
void cdv_handler_suppress_notify(struct ArrowAsyncDeviceStreamHandler *handler, bool on, bool quick);
/* May more come as soon as the producer's thread runs? */
bool cdv_consumer_has_more(struct cdv_consumer *c);
/* The next array, extracted on this thread; 0 with *out NULL: the end; EAGAIN (no error set): nothing after that many
 * nanoseconds (< 0: no limit).  metadata: where not NULL, the task's, malloc'ed, or NULL.  What came before an error is
 * given first. */
int cdv_consumer_take(struct cdv_consumer *c, int64_t nanoseconds, struct cdv_array **out, char **metadata);
struct cdv_schema *cdv_consumer_schema(struct cdv_consumer *c); /* borrowed; NULL before it came */
const char *cdv_consumer_metadata(struct cdv_consumer *c);      /* of the producer; NULL: none */
/* As a stream.  owns: takes over the owner's reference; on an error it stays the caller's.  Blocks until the schema is
 * there. */
int cdv_consumer_stream(struct cdv_consumer *c, struct cdv_stream **out);

#endif
