/* orphan.h - what a failed copy or call leaves: memory that a device may still write to or read. */
#ifndef CDEVICE_CORE_EVENT_ORPHAN_H
#define CDEVICE_CORE_EVENT_ORPHAN_H

#include <stdint.h>

#include "core/copy/staging.h"

struct cdv_array;
struct cdv_backend;

struct cdv_orphans {
  const char *who;                   /* for the log: what leaves it; NULL: "a failed copy" */
  int64_t nbytes;                    /* for the log; 0: unknown */
  struct cdv_array *source, *target; /* or NULL */
  void *memory;                      /* malloc'ed, or NULL */
  void *memory_of_nodes;
  void (*free_nodes)(void *);
  struct cdv_staging_buffer stages[4];
  int n_stages;
};
struct cdv_stream_use { /* a stream that was given work; slot NULL: none */
  struct cdv_backend *backend;
  int64_t device;
  void *stream;
};
/* Gives all of it back behind the streams' work so far: now where that is done within moments, else on the
 * reclaimer's thread. Where the end of the work cannot be determined the memory is leaked, with a warning in the
 * log: better lost than changed under another user. owns: takes over what *left names. Blocks for a twentieth of a
 * second at most, longer only in a backend that can record no event. */
void cdv_retire_after_streams(const struct cdv_orphans *left, const struct cdv_stream_use users[2]);

#endif
