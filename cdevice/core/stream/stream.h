/* stream.h - streams of arrays: over ready arrays, imported, exported. */
#ifndef CDEVICE_CORE_STREAM_STREAM_H
#define CDEVICE_CORE_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"

struct cdv_array;
struct cdv_schema;

/* cffi: begin */
int64_t cdv_live_streams(void);
/* Drains and releases a stream in such a thread and waits for it: how many arrays, or -1 (tests). */
int64_t cdv_drain_in_thread(struct ArrowDeviceArrayStream *stream);
/* cffi: end */

/* A source of arrays.  Kinds put this first in a struct of their own. */
struct cdv_stream {
  int32_t device_type;
  int64_t device_id; /* of the last array that had one */
  struct cdv_schema *schema;
  /* The next array (a new reference), or NULL at the end.  May block. */
  int (*next)(struct cdv_stream *self, struct cdv_array **out);
  /* Frees what next needed, and the struct.  Any thread. */
  void (*close)(struct cdv_stream *self);
  /* Ends a next that waits on another thread, soon, in an error; later ones too.  Never blocks.  NULL: it cannot. */
  void (*interrupt)(struct cdv_stream *self);
  /* The stream that this one takes from and alone owns, also through a struct of cdevice, or NULL. NULL: there is
   * none. */
  struct cdv_stream *(*upstream)(struct cdv_stream *self);
  char *metadata;       /* of the array that came last, malloc'ed, or NULL */
  bool nonblocking;     /* next neither blocks nor enters Python */
  bool enters_python;   /* next enters Python */
  bool keeps_exception; /* what Python raises there is kept for a consumer in Python, on another thread */
  bool has_wait_stream; /* `order`, a stream of this device type, waits for each array's event */
  void *wait_stream;
  int state;     /* open, ended, failed */
  char why[256]; /* of the failure */
};
/* For makers of kinds: fills the head; takes a reference on schema. */
void cdv_stream_init(struct cdv_stream *s, struct cdv_schema *schema, int32_t device_type,
                     int (*next)(struct cdv_stream *, struct cdv_array **), void (*close)(struct cdv_stream *));
/* *out: a new reference, or NULL at the end, again and again.  After an error every call fails.  Refuses an array of
 * another device type or another schema. */
int cdv_stream_next(struct cdv_stream *s, struct cdv_array **out);
/* For makers of kinds: imports what a foreign producer sent to a stream of that device.  owns: moves *d in, also on an
 * error, where it is released. */
int cdv_stream_accept(struct ArrowDeviceArray *d, struct cdv_schema *schema, int level, int32_t device_type,
                      int64_t device_id, struct cdv_array **out);
/* As cdv_array_export_move, for a caller that knows that the array is on this stream's device. */
int cdv_stream_export_array(const struct cdv_stream *s, struct cdv_array *array, struct ArrowDeviceArray *out);
/* May block for a thread of cdevice that is not inside the source; never for the device. */
void cdv_stream_close(struct cdv_stream *s);
/* See cdv_stream.interrupt.  The caller keeps s from being closed meanwhile. */
void cdv_stream_interrupt(struct cdv_stream *s);
/* See cdv_stream.below.  For walks. */
struct cdv_stream *cdv_stream_upstream(struct cdv_stream *s);
/* Every blocking wait in cdevice calls this at least every CDV_SIGNAL_POLL_NS ns. Returns 0, or this thread's error,
 * which ends the wait (Ctrl-C). */
#define CDV_SIGNAL_POLL_NS 50000000
void cdv_set_signal_check(int (*look_up)(void));
int cdv_check_signals(void);
/* Forks since the process began: what another thread works for is of no use on the other side of one. */
int cdv_fork_generation(void);
/* Over arrays that are there.  owns: takes a reference on each. */
int cdv_stream_of_arrays(struct cdv_schema *schema, int32_t device_type, struct cdv_array *const *arrays, int64_t n,
                         struct cdv_stream **out);
/* owns: moves *in (release becomes NULL), also on an error, where it is released.  Calls get_schema, so it may block.
 * level: as for cdv_array_import, for each array. */
int cdv_stream_import(struct ArrowDeviceArrayStream *in, int level, struct cdv_stream **out);
int cdv_stream_import_plain(struct ArrowArrayStream *in, int level, struct cdv_stream **out);
/* owns: s moves into *out; on an error it stays the caller's. schema: announced instead of the stream's own,
 * the same types under other names, or NULL. The plain form waits for each array's event. */
int cdv_stream_export(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowDeviceArrayStream *out);
int cdv_stream_export_plain(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowArrayStream *out);

#endif
