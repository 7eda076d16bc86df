/* aggregate.h - functions that give one row: tiles become states, states are joined by the same tree until one is
 * left, and the last kernel makes the result of it, on the device. */
#ifndef CDEVICE_CORE_COMPUTE_AGGREGATE_H
#define CDEVICE_CORE_COMPUTE_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_agg_state;
struct cdv_stream_ref;
struct cdv_schema;

struct cdv_aggregate {
  char family[24], type[24], tile[32]; /* the kernel that goes through the rows */
  char merge[24];                      /* the type of its states, which "reduce" joins, or of moments "join_moments" */
  char end_family[24], end_type[24], end[32];
  char function_name[32]; /* the function, in errors */
  /* Of the last kernel: SCALAR_MIN_COUNT or SCALAR_COUNT_MODE, SCALAR_SKIP_NULLS; which value of the state, 2: both in
   * a struct; SCALAR_PRODUCT_SCALE or SCALAR_MOMENTS_OPTION. */
  int64_t option[4];
  bool values; /* the rows are read, not their nulls alone */
  struct cdv_schema *out;
};
/* Of chunks of one type, one after the other; n > 0.  Does not wait for the device.  owns: *out is a new reference. */
int cdv_compute_aggregate(const struct cdv_aggregate *f, struct cdv_array *const *chunks, int64_t n,
                          const struct cdv_stream_ref *stream_ref, struct cdv_array **out);
int cdv_agg_state_new(const struct cdv_aggregate *f, const struct cdv_stream_ref *stream_ref,
                      struct cdv_agg_state **out);
/* May wait for the device until it has done with an earlier chunk: few are under way. */
int cdv_agg_state_consume(struct cdv_agg_state *fold, struct cdv_array *chunk);
/* Of one chunk at least.  Does not wait for the device.  owns: *out is a new reference. */
int cdv_agg_state_finalize(struct cdv_agg_state *fold, struct cdv_array **out);
void cdv_agg_state_free(struct cdv_agg_state *fold);

#endif
