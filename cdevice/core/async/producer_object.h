/* producer_object.h - the struct of a producer: the object is in producer.c, its run in producer_run.c. */
#ifndef CDEVICE_PRODUCTION_H
#define CDEVICE_PRODUCTION_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/wait.h"
#include "core/stream/stream.h"

struct cdv_producer {
  /* First, with a spare word: a consumer that follows the specification's listing, with its extra member, reads
   * zeros. */
  struct ArrowAsyncProducer producer;
  void *spare;
  atomic_int claimed; /* by the side that ends it, see cdv_producer_claim */
  atomic_int refs;    /* the maker, the run, all tasks that were not extracted together, every call under way */
  struct cdv_stream *source;
  pthread_mutex_t source_lock; /* of the next three; nothing is called under it */
  int source_users;            /* inside an interrupt of the source */
  struct cdv_stream *leaving;  /* the source, to be closed by the last of them */
  struct ArrowAsyncDeviceStreamHandler *handler;
  char *metadata;
  int fork_generation; /* when it was made */
  atomic_llong requested;
  atomic_llong bad_request_n; /* what request was given instead of a number */
  atomic_int cancelled, stopped, bad_request;
  atomic_int outcome;
  int code;
  struct cdv_saved_error error;
  atomic_int sleepers;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* What each side writes at every task: in cache lines of its own, which would otherwise go to and fro. */
  char pad_sender[CDV_CACHE_LINE];
  atomic_llong sent;
  char pad_consumer[CDV_CACHE_LINE];
  atomic_llong extracted;
  atomic_llong outstanding; /* tasks sent, added when the run ends, less those extracted: at 0 their reference goes */
  char pad_end[CDV_CACHE_LINE];
};

static inline bool cdv_is_interrupted(struct cdv_producer *p) {
  return atomic_load(&p->cancelled) || atomic_load(&p->stopped) || atomic_load(&p->bad_request);
}

/* Takes the source away and closes it: now, or where others are interrupting it, by the last of these. A source
 * waits for no thread of others then, so this does not. */
void cdv_producer_close_source(struct cdv_producer *p);

/* Fills zeroed memory: of one owner, with the functions that a consumer calls. */
void cdv_producer_init(struct cdv_producer *p, struct ArrowAsyncDeviceStreamHandler *handler);

#endif
