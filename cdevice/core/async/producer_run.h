/* producer_run.h - the run of a producer: one thread sends a stream to an ArrowAsyncDeviceStreamHandler. */
#ifndef CDEVICE_CORE_ASYNC_PRODUCER_RUN_H
#define CDEVICE_CORE_ASYNC_PRODUCER_RUN_H

#include "cdevice/arrow_abi.h"

struct cdv_producer;
struct cdv_stream;

/* cffi: begin */
#define CDV_RUNNING 0
#define CDV_FINISHED 1  /* the whole source was sent */
#define CDV_CANCELLED 2 /* by the consumer */
#define CDV_REFUSED 3   /* a handler's callback returned an error */
#define CDV_FAILED 4    /* the source failed, or the consumer asked for nonsense: on_error was called */
#define CDV_STOPPED 5   /* by cdv_producer_stop: on_error was called with ECANCELED */
/* Sends everything from this thread and returns when the handler was released.  Once.  Blocks. */
void cdv_producer_run(struct cdv_producer *p);
/* The same on a thread of its own. */
int cdv_producer_start(struct cdv_producer *p);
/* Instead of a run, where there is no source: on_error with this thread's last error, or that it was stopped, and
 * release, on this thread.  cancelled: the consumer was closed before. */
void cdv_producer_fail(struct cdv_producer *p, int cancelled);
/* Takes a handler, before there is a source. A handler of cdevice is claimed once (EBUSY). It is called by run,
 * start or fail, one of which must follow. */
int cdv_producer_open(struct ArrowAsyncDeviceStreamHandler *handler, struct cdv_producer **out);
/* cffi: end */

/* Gives an opened one its source.  owns: takes source over and copies metadata (encoded as ArrowSchema.metadata, or
 * NULL); on an error source stays the caller's. */
int cdv_producer_set_source(struct cdv_producer *p, struct cdv_stream *source, const char *metadata);
/* Both at once.  The handler is the consumer's; it must live until its release is called.  Nothing is called before run
 * or start. */
int cdv_producer_new(struct cdv_stream *source, struct ArrowAsyncDeviceStreamHandler *handler, const char *metadata,
                     struct cdv_producer **out);
/* One that was never run: its source is the caller's again, and its handler may be given to another. */
void cdv_producer_cancel_unstarted(struct cdv_producer *p);

#endif
