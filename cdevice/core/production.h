/* production.h - what a producer of ours is: the object in production.c, its run in produce.c. */
#ifndef CDEVICE_PRODUCTION_H
#define CDEVICE_PRODUCTION_H

#include "core.h"
#include "wait.h"

struct cdv_production {
  /* First, with a spare word: whoever follows the text's listing of the struct, with its extra member, finds zeros. */
  struct ArrowAsyncProducer face;
  void *spare;
  atomic_int claimed; /* by the side that ends it, see cdv_production_claim */
  atomic_int refs;    /* the maker, the run, all tasks that were not extracted together, every call under way */
  struct cdv_stream *source;
  pthread_mutex_t source_lock; /* of the next three; nothing is called under it */
  int source_users;            /* inside an interrupt of the source */
  struct cdv_stream *leaving;  /* the source, to be closed by the last of them */
  struct ArrowAsyncDeviceStreamHandler *handler;
  char *metadata;
  int forks; /* when it was made */
  atomic_llong asked;
  atomic_llong nonsense; /* what request was given instead of a number */
  atomic_int cancelled, stopped, confused;
  atomic_int ending;
  int code;
  struct cdv_kept_error error;
  atomic_int sleepers;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* What each side writes at every task: in cache lines of its own, which would otherwise go to and fro. */
  char of_the_sender[CDV_LINE];
  atomic_llong sent;
  char of_the_taker[CDV_LINE];
  atomic_llong extracted;
  atomic_llong balance; /* tasks sent, added when the run ends, less those extracted: at 0 their reference goes */
  char of_nobody[CDV_LINE];
};

static inline bool cdv_is_interrupted(struct cdv_production *p) {
  return atomic_load(&p->cancelled) || atomic_load(&p->stopped) || atomic_load(&p->confused);
}

/* Takes the source away and closes it: now, or where others are interrupting it, by the last of these.  A source waits for
 * no thread of others then, so this does not. */
void cdv_production_close_source(struct cdv_production *p);

/* Fills zeroed memory: of one owner, with the functions that a consumer calls. */
void cdv_production_init(struct cdv_production *p, struct ArrowAsyncDeviceStreamHandler *handler);

#endif
