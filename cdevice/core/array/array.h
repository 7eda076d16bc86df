/* array.h - arrays: imported, built, viewed, exported, released. */
#ifndef CDEVICE_CORE_ARRAY_ARRAY_H
#define CDEVICE_CORE_ARRAY_ARRAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/base/owner.h"

struct cdv_event;
struct cdv_external_block;
struct cdv_schema;
struct cdv_shared;
struct cdv_backend;
struct cdv_export_prototype;

/* cffi: begin */
int64_t cdv_live_arrays(void);
int64_t cdv_live_exports(void);
/* Releases an array from a thread that never saw Python (tests); join: wait for it. */
int cdv_release_in_thread(struct ArrowDeviceArray *array, int join);
/* cffi: end */

struct cdv_array {
  atomic_long refs;
  struct cdv_array *root; /* the one that owns the memory; a root points to itself */
  struct cdv_schema *schema;
  const struct ArrowArray *node;
  int64_t offset, length;
  atomic_llong null_count; /* -1: not known yet */
  _Atomic(struct cdv_export_prototype *) template;
  /* of the root only */
  struct cdv_backend *backend;
  struct ArrowDeviceArray own;
  struct cdv_owner owner;      /* drop(owner) when the root goes; may be NULL */
  struct cdv_event *event;     /* an event of our own, to which own.sync_event points; or NULL */
  const cdevice_block *packed; /* the one allocation that all buffers are in, their places noted beside them; or NULL */
  atomic_int event_done;       /* the host has seen it pass */
  int64_t n_blocks;
  cdevice_block *blocks;
  struct cdv_external_block *external_block; /* blocks[0] came from an allocator that was set; or NULL */
  struct cdv_shared
      *stream_owner; /* keeps the stream that the blocks were allocated for, which release asks; or NULL */
};
/* For an array that was just copied, on the copying thread: a reference for as long as it has memory of its own. */
void cdv_array_set_stream_owner(struct cdv_array *array, struct cdv_shared *queue);
/* Of a root: the backend that made the memory, even after it was replaced. */
void cdv_array_set_backend(struct cdv_array *root, struct cdv_backend *backend);
/* owns: moves *array in (release becomes NULL); on error it is untouched.  Takes a reference on schema.
 * level: 0 none, 1 structure, 2 full. */
int cdv_array_import(struct ArrowDeviceArray *array, struct cdv_schema *schema, int level, struct cdv_array **out);
/* The same with a schema that is moved in along. */
int cdv_import_pair(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int level, struct cdv_array **out);
/* An array over memory of `owner`, built from parts.  children are shared, not consumed.  buffers are copied.
 * owns: on success owner is dropped with the array; on error it stays the caller's. */
struct cdv_parts {
  int32_t device_type;
  int64_t device_id, length, offset, null_count, n_buffers;
  const void *const *buffers;
  int64_t n_children;
  struct cdv_array *const *children;
  struct cdv_array *dictionary;
  void *sync_event;     /* borrowed from owner, or NULL */
  const int64_t *sizes; /* bytes that each buffer has, -1: not known; or NULL */
};
int cdv_array_build(struct cdv_schema *schema, const struct cdv_parts *parts, struct cdv_owner owner, int level,
                    struct cdv_array **out);
/* owns: on success out->array.release must be called; any number of times from one array. */
int cdv_array_export(struct cdv_array *array, struct ArrowDeviceArray *out);
struct cdv_array *cdv_array_ref(struct cdv_array *array);
void cdv_array_unref(struct cdv_array *array);
/* New views.  child: i of n_children, or -1 for the dictionary; cut: children that share the parent's rows are cut to
 * them. */
int cdv_array_slice(struct cdv_array *array, int64_t offset, int64_t length, struct cdv_array **out);
int cdv_array_child(struct cdv_array *array, int64_t i, bool cut, struct cdv_array **out);
/* As cdv_array_export, but uses up the reference: a struct that was imported and with no other holder moves on as it
 * is.  On an error the reference is still the caller's. */
int cdv_array_export_move(struct cdv_array *array, struct ArrowDeviceArray *out);
/* Asks the caches for what an export of the array reads. In three steps, as each is found through the one before: 0
 * its structs, 1 its template, 2 its lists of buffers; changes nothing. */
void cdv_array_prefetch_cache(struct cdv_array *array, int step);

#endif
