/* select_internal.h - what the files of filter and take share: select.c decides, select_plan.c goes through the
 * nodes level by level, select_kernels.c starts their kernels, select_result.c owns what becomes the result. */
#ifndef CDEVICE_CORE_SELECTION_H
#define CDEVICE_CORE_SELECTION_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/compute/exec.h"
#include "core/copy/engine.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

/* Which rows of a node become rows of the result. */
struct cdv_row_numbers {
  cdevice_kernel_buffer index; /* int64 */
  cdevice_kernel_buffer known; /* a bitmap; data NULL: no number is null */
  cdevice_kernel_buffer
      count; /* how many there are, while the device alone knows it and n is the most; else data NULL */
  int64_t n;
};

/* A node of the result on its way. */
struct cdv_selected {
  struct cdv_array *from; /* a reference */
  struct ArrowArray *to;
  const struct cdv_row_numbers *rows; /* lives as long as the result's nodes */
  struct cdv_layout layout;
  bool nulls;              /* it gets a bitmap */
  bool masked;             /* its rows are those that the mask chooses: it needs no numbers of them */
  int64_t column;          /* of those of its level whose sizes the device adds up; -1: it is none */
  int64_t total;           /* bytes or items */
  int64_t buffer, scratch; /* the first that it has in the memory of its level */
};

struct cdv_select_result;
struct cdv_select_plan {
  struct cdv_exec work;
  struct cdv_array *mask;        /* of a filter that a kernel can follow without numbers of rows; borrowed, or NULL */
  cdevice_kernel_buffer tiles;   /* where each tile of the mask begins */
  cdevice_kernel_buffer ignored; /* two words, for complaints about rows that are never seen */
  struct cdv_row_numbers *rows;
  struct cdv_selected *items; /* the nodes of a level lie together, those of the next behind them */
  size_t n_items, room;
  struct ArrowArray top;
  struct cdv_select_result *result;
};

/* All of these run on the thread of the call, and none blocks unless its comment states it. */

/* ---- select_result.c ---- */
int cdv_select_begin(struct cdv_select_plan *s, struct cdv_array *const *arrays, int64_t n,
                     const struct cdv_stream_ref *stream_ref, const char *doing);
/* Memory that lives as long as the result's nodes, zeroed; NULL: none, and an error is set. */
void *cdv_select_memory(struct cdv_select_plan *s, size_t nbytes);
struct cdv_arena **cdv_select_arena(struct cdv_select_plan *s);
/* The result uses memory of this array: it gets a reference of its own. */
int cdv_select_keep(struct cdv_select_plan *s, struct cdv_array *a);
/* A node of the result is this array as it is.  owns: takes the reference on a over, also on an error. */
int cdv_select_share(struct cdv_select_plan *s, struct cdv_array *a, struct ArrowArray *to);
/* The end, for any r: frees what the call held.  The result's event is behind all that was enqueued.  owns: *out
 * is a new reference. */
int cdv_select_end(struct cdv_select_plan *s, int r, struct cdv_schema *schema, struct cdv_array **out);

/* ---- select_kernels.c ---- */
/* Do the items of a list need the numbers of their rows?  Nulls have no memory. */
bool cdv_select_numbers_items(const struct cdv_selected *x);
/* Sums of the sizes of each tile of rows; n: rows that are gone through, those that there are among them. */
int cdv_select_tiles(struct cdv_select_plan *s, const struct cdv_selected *x, int64_t n, cdevice_kernel_buffer sums);
/* Writes the buffers of a node; sums: where each tile begins.  block, scratch: the memory of its level, NULL: none. */
int cdv_select_fill(struct cdv_select_plan *s, const struct cdv_selected *x, const struct cdv_array *block,
                    const struct cdv_array *scratch, cdevice_kernel_buffer sums);

/* ---- select_plan.c ---- */
/* The whole array as the only node of the first level, and what has the same rows below it. */
int cdv_select_add_top(struct cdv_select_plan *s, struct cdv_array *array);
/* How many nodes from `begin` on have sizes that the device adds up; numbers them. */
int64_t cdv_select_columns(struct cdv_select_plan *s, size_t begin);
/* Does one of the first level need the numbers of its rows? */
bool cdv_select_needs_numbers(const struct cdv_select_plan *s);
/* Has the sizes added up of k > 0 columns from `begin` on; *sums: where each tile of the first begins, *stride:
 * those of one. totals: room for k words. */
int cdv_select_measure(struct cdv_select_plan *s, size_t begin, int64_t k, cdevice_kernel_buffer totals,
                       cdevice_kernel_buffer *sums, int64_t *stride);
/* Tells each column from `begin` on its total.  EOVERFLOW: its offsets cannot count so many. */
int cdv_select_totals(struct cdv_select_plan *s, size_t begin, const int64_t *totals);
/* Writes the nodes from `begin` on, and lists those below them. */
int cdv_select_write(struct cdv_select_plan *s, size_t begin, cdevice_kernel_buffer sums, int64_t stride);
/* All levels from `begin` on.  Blocks once for each level that has columns. */
int cdv_select_below(struct cdv_select_plan *s, size_t begin);

#endif
