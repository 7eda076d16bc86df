/* engine.h - what the files of the transfer engine share: copy.c decides, plan.c lists the segments, readback.c
 * reads from the source's device, execute.c sends. concat.c decides where several arrays become one, concat_plan.c
 * lists the segments they are made of. */
#ifndef CDEVICE_COPY_H
#define CDEVICE_COPY_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/table.h"
#include "core/copy/staging.h"
#include "core/event/orphan.h"
#include "core/format/schema.h"

#define CDV_SMALL ((int64_t)64 << 10) /* from here on a piece goes by itself */

struct cdv_pending_node;
struct cdv_arena {
  struct cdv_arena *next;
  size_t used, size;
  _Alignas(16) char bytes[];
};

struct cdv_copy_segment {
  const void *src; /* host address, or the source device's buffer; NULL: zeros */
  int64_t src_offset, nbytes, dst_offset;
  int64_t packed_offset; /* of src in the source's packed block */
  int64_t rebase;        /* to subtract from each element */
  int64_t n_leading;     /* elements before the first row: unspecified, they become 0 */
  int64_t max_value;     /* what no element may be above, -1: anything; empty list views point anywhere */
  int width;             /* of an element, with these three */
  const int64_t *starts; /* views: bytes cut off the front of each data buffer */
  int64_t n_starts;
  bool on_host;       /* src is host memory */
  bool staged;        /* it goes through a staging chunk */
  bool joined;        /* it lies right behind the piece before it, in the same buffer, and travels as that does */
  const void **where; /* these of the first piece of a buffer */
  int64_t *meta;      /* `at`, kept beside the buffers of the result */
  int64_t *size;      /* of all of the buffer, kept there too */
};

struct cdv_plan {
  struct cdv_array *src;
  struct cdv_backend *from, *to; /* from: NULL for host memory that needs no backend */
  int64_t from_device, to_device;
  void *from_stream, *to_stream;
  bool host_readable; /* the source's memory may be read here and now */
  bool packed;        /* the source lies in one allocation of cdevice */
  struct cdv_arena *arena;
  struct cdv_copy_segment *segments;
  size_t n_segments, room;
  struct cdv_arena **scratch;     /* of concat_plan.c: host memory that lives as long as src */
  struct cdv_pending_node *items; /* of plan.c: nodes and rows yet to be planned */
  size_t n_items, items_room;
  int64_t total, alignment;
  bool copy_whole_block;      /* the source's packed block is taken as it is */
  bool via_host;              /* two vendors: everything through staging chunks */
  bool allocate_only;         /* of allocate.c: there is nothing to copy */
  bool validity;              /* of allocate.c: nodes get bitmaps */
  bool ordered;               /* from_stream follows the source's event */
  bool sent;                  /* the target's stream was given something */
  bool pending;               /* after a failure: a device may still write to our memory or read it */
  struct cdv_orphans orphans; /* host memory that goes back with it */
};

/* What an offset or a view that travels through the host needs there: rebasing, or zeros before the first row. */
static inline bool cdv_is_adjusted(const struct cdv_copy_segment *x) {
  return x->rebase || x->n_leading || x->max_value >= 0 || x->starts;
}

/* ---- readback.c ---- */
/* This thread's error: what a backend of the two reported. */
int cdv_plan_error(struct cdv_plan *p, struct cdv_backend *backend, int code, const cdevice_error *err,
                   const char *doing);
/* Room for so many elements of a list, at least. */
int cdv_grow(void **list, size_t *room, size_t need, size_t size);
int64_t cdv_chunk_bytes(void);
/* Between two devices of a family the copy follows the event on the target's stream. What must be read before that
 * goes over a stream of the source's own device, which has to follow the event too. */
int cdv_follow_source(struct cdv_plan *p);
/* Copies from the source device into host memory and waits. */
int cdv_read_back(struct cdv_plan *p, const cdevice_copy *copies, int64_t n);
/* The same through two pinned chunks: while the device fills one the other is emptied. */
int cdv_read_back_pinned(struct cdv_plan *p, const cdevice_copy *copies, int64_t n, int64_t total);
/* A chunk goes back, or after a failure with its rest. */
void cdv_staging_put_or_orphan(struct cdv_plan *p, struct cdv_staging_buffer *stage);

/* ---- plan.c ---- */
/* Memory that lives as long as the nodes of the result, zeroed. */
void *cdv_arena_get(struct cdv_arena **head, size_t n);
void *cdv_arena_raw(struct cdv_arena **head, size_t n); /* as it comes */
/* Buffer i of a result's node; its place and size are noted beside the buffers.  *piece is copied. */
int cdv_plan_add(struct cdv_plan *p, struct ArrowArray *node, int64_t i, const struct cdv_copy_segment *segment);
/* Room for a node's buffers, their notes, and the nodes below; 0 or ENOMEM. */
int cdv_node_room(struct cdv_arena **head, struct ArrowArray *to, int64_t n_buffers, int64_t n_children,
                  bool dictionary);
/* The result's nodes carry, behind their buffers, where each lies in the allocation and its size. */
static inline int64_t *cdv_node_meta(const struct ArrowArray *a) { return (int64_t *)(a->buffers + a->n_buffers); }
void cdv_arena_free(struct cdv_arena *a);
void cdv_nodes_release(struct ArrowArray *array);
/* Fills the tree below *top and lists the pieces that it needs. */
int cdv_plan_make(struct cdv_plan *p, struct ArrowArray *top);
/* Which pieces travel together, and where each lies on the target. */
int cdv_plan_lay_out(struct cdv_plan *p);
void cdv_plan_free(struct cdv_plan *p); /* its lists; the nodes are the result's */

/* ---- copy.c ---- */
/* Is the target there, and how are its allocations aligned? */
int cdv_plan_target(struct cdv_plan *p);
/* The streams that the pieces travel on; stream: see cdv_array_copy. */
int cdv_plan_streams(struct cdv_plan *p, void *stream);
/* Lays out, allocates and sends what was planned below `made`; where that failed (r), or does here, gives back what was
 * made.  Uses the plan up.  owns: *out is a new reference. */
int cdv_plan_finish(struct cdv_plan *p, int r, struct ArrowDeviceArray *made, struct cdv_schema *schema,
                    struct cdv_array **out);

/* ---- concat_plan.c ---- */
/* Rows of one node; a's own offset is counted in. */
struct cdv_row_range {
  const struct ArrowArray *a;
  int64_t offset, length;
};
/* Fills the tree below *top and lists the pieces that it needs, for the rows of n > 0 arrays of one type. What has
 * to be written anew is written to *p->scratch, for which the sources must be readable, unless all of them are
 * cdv_is_flat(). */
int cdv_concat_plan_make(struct cdv_plan *p, const struct ArrowSchema *s, const struct cdv_row_range *rows, int64_t n,
                         struct ArrowArray *top);
/* Fixed width without nulls, all the way down: joined without a look at the data. */
bool cdv_is_flat(const struct ArrowSchema *s, const struct ArrowArray *a);

/* ---- unify.c: dictionaries of several arrays, in readable memory ---- */
struct cdv_unified_dictionary {
  struct cdv_row_range *rows; /* the values of the joined dictionary */
  size_t n_rows, room;
  int64_t length;    /* how many those are */
  int64_t *which;    /* array i has dictionary which[i] of those that differ */
  int64_t **numbers; /* the new number of each value of those; NULL: they stay as they are */
  int64_t n;         /* how many differ */
};
/* schema: of the values; arrays: nodes with a dictionary.  Contents of dictionaries that are not the same memory are
 * checked before they are compared. */
int cdv_dictionary_unify(const struct ArrowSchema *schema, const struct cdv_row_range *arrays, int64_t n,
                         struct cdv_unified_dictionary *out);
void cdv_unified_free(struct cdv_unified_dictionary *u); /* also after an error */

/* ---- execute.c ---- */
/* Offsets that must be rebased but lie on a device and go to one: they travel through the host. */
int cdv_plan_read_rebased(struct cdv_plan *p);
/* Allocates, sends everything, and gives the result its event. */
int cdv_plan_execute(struct cdv_plan *p, struct cdv_array *out);

#endif
