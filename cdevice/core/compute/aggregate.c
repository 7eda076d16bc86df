/* aggregate.c - functions that give one row: tiles become states, states are joined by the same tree until one is left,
 * and the last kernel makes the result of it, on the device. */
#include "core/compute/aggregate.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/owner.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/event/event.h"
#include "core/format/schema.h"

#include <stdlib.h>
#include <string.h>

#define STATE 3 /* places of one: a value or two, and how many rows it is of */

_Static_assert(CDV_BUFFER_SLOTS(BUF_SUM_OUT, BUF_SUM_COUNT_OUT, BUF_SUM_IN, BUF_VALIDITY_IN, BUF_COUNT_IN) == 5 &&
                   CDV_BUFFER_SLOTS(BUF_MIN_OUT, BUF_MAX_OUT, BUF_EXTREMES_COUNT_OUT, BUF_MIN_IN, BUF_MAX_IN,
                                    BUF_VALIDITY_IN, BUF_COUNT_IN) == 7,
               "buffers of a reduction are distinct");
_Static_assert(CDV_BUFFER_SLOTS(BUF_RESULT, BUF_RESULT_VALIDITY, BUF_RESULT_VALUE, BUF_RESULT_COUNT) == 4 &&
                   CDV_SCALAR_SLOTS(SCALAR_ROWS, SCALAR_STATE_INDEX, SCALAR_LENGTH, SCALAR_MIN_COUNT,
                                    SCALAR_SKIP_NULLS) == 5 &&
                   SCALAR_COUNT_MODE == SCALAR_MIN_COUNT && SCALAR_MOMENTS_OPTION == SCALAR_STATE_INDEX,
               "buffers and scalars of the last kernel are distinct, and option[0] goes to one place");

struct call {
  const struct cdv_aggregate *f;
  struct cdv_exec work;
  const char *join_family, *join; /* the kernel that joins states */
  bool extremes, moments;
  bool in_order; /* one item goes through all rows */
  char letter;   /* of the values of states */
  int letters;   /* of one value: values of 16 bytes have two */
};

/* The letter that Arrow has for a number that the kernels call so; for wider ones that of its half. */
static char letter_of(const char *type) {
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], type)) return "csilCSILfg"[i];
  return 'L';
}

static struct call call_of(const struct cdv_aggregate *f) {
  bool extremes = !strcmp(f->tile, "min_max"), product = !strcmp(f->tile, "product"), wide = f->merge[0] == 'w';
  bool moments = !strcmp(f->family, "moments");
  return (struct call){.f = f,
                       .join_family = moments ? "join_moments" : "reduce",
                       .join = moments    ? "join_moments"
                               : extremes ? "min_max"
                               : product  ? "product"
                                          : "sum",
                       .extremes = extremes,
                       .moments = moments,
                       .in_order = product && wide,
                       .letter = letter_of(f->merge),
                       .letters = moments                     ? MOMENT_WORDS
                                  : !wide                     ? 1
                                  : !strcmp(f->merge, "w128") ? 2
                                                              : 4};
}

/* The last kernel, where it comes into a program of this family and type. */
static const char *end_of(const struct cdv_aggregate *f, const char *family, const char *type) {
  return strcmp(family, f->end_family) || strcmp(type, f->end_type) ? NULL : f->end;
}

static int new_states(struct call *c, int64_t n, cdevice_kernel_buffer out[STATE]) {
  int r = cdv_exec_alloc_temp(&c->work, c->letter, n * c->letters, &out[0]);
  if (!r && c->extremes) r = cdv_exec_alloc_temp(&c->work, c->letter, n * c->letters, &out[1]);
  if (!r) r = cdv_exec_alloc_temp(&c->work, 'l', n, &out[2]);
  return r;
}

static void write_to(const struct call *c, struct cdv_kernel_launch *s, const cdevice_kernel_buffer to[STATE]) {
  if (c->extremes) {
    s->buffers[BUF_MIN_OUT] = to[0];
    s->buffers[BUF_MAX_OUT] = to[1];
    s->buffers[BUF_EXTREMES_COUNT_OUT] = to[2];
  } else {
    s->buffers[BUF_SUM_OUT] = to[0];
    s->buffers[BUF_SUM_COUNT_OUT] = to[2];
  }
}

/* m states become one, in `to`. */
static int merge(struct call *c, cdevice_kernel_buffer from[STATE], int64_t m, const cdevice_kernel_buffer to[STATE]) {
  int r = 0;
  while (!r && m) {
    int64_t left = c->in_order ? 1 : m / REDUCE_TILE_ROWS + (m % REDUCE_TILE_ROWS != 0);
    cdevice_kernel_buffer next[STATE];
    int unit = c->in_order ? CDV_SINGLE_ITEM : CDV_REDUCE_TILE;
    struct cdv_kernel_launch s = {
        c->join_family, c->f->merge, c->join, unit, m, {{0}}, {[SCALAR_PRODUCT_SCALE] = c->f->option[3]}};
    s.with = end_of(c->f, c->join_family, c->f->merge);
    if (left == 1)
      memcpy(next, to, sizeof next);
    else
      r = new_states(c, left, next);
    if (r) break;
    write_to(c, &s, next);
    s.buffers[c->extremes ? BUF_MIN_IN : BUF_SUM_IN] = from[0];
    if (c->extremes) s.buffers[BUF_MAX_IN] = from[1];
    s.buffers[BUF_COUNT_IN] = from[2];
    r = cdv_exec_launch(&c->work, &s);
    memcpy(from, next, sizeof next);
    m = left == 1 ? 0 : left;
  }
  return r;
}

/* The bytes of a value that the kernels call so; 0: bits. */
static int width_of(const char *type) {
  static const char *const names[] = {"bool", "i8",  "u8",  "i16", "u16",  "i32", "u32",
                                      "f32",  "i64", "u64", "f64", "w128", "w256"};
  static const int widths[] = {0, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 16, 32};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], type)) return widths[i];
  return -1;
}

/* A chunk of a type of another width would be read past its end. */
static int require_width(const struct cdv_aggregate *f, const struct cdv_array *a) {
  const struct ArrowSchema *s = a->schema->node;
  if (!f->values || s->format[0] == 'n' || cdv_value_width(s) == width_of(f->type)) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: a chunk of type \"%.60s\" for a kernel of %s", f->function_name, s->format,
                  f->type);
}

/* The state of rows of which none is null, without going through them. */
static int count_all(struct call *c, int64_t rows, const cdevice_kernel_buffer to[STATE]) {
  struct cdv_kernel_launch s = {"reduce_bool",           "bool", "count_rows", CDV_SINGLE_ITEM, 1, {{0}},
                                {[SCALAR_LENGTH] = rows}};
  s.with = end_of(c->f, s.family, s.type);
  write_to(c, &s, to);
  return cdv_exec_launch(&c->work, &s);
}

static int one_chunk(struct call *c, const struct cdv_array *a, const cdevice_kernel_buffer to[STATE]) {
  const struct cdv_aggregate *f = c->f;
  int unit = c->in_order ? CDV_SINGLE_ITEM : !strcmp(f->family, "reduce_bool") ? CDV_FILTER_TILE : CDV_REDUCE_TILE;
  int64_t rows = unit == CDV_FILTER_TILE ? FILTER_TILE_ROWS : REDUCE_TILE_ROWS;
  int64_t length = a->schema->node->format[0] == 'n' ? 0 : a->length; /* of type null: no row counts */
  int64_t tiles = c->in_order ? 1 : length / rows + (length % rows != 0);
  cdevice_kernel_buffer parts[STATE] = {{0}};
  struct cdv_kernel_launch s = {f->family,
                                f->type,
                                f->tile,
                                unit,
                                length,
                                {{0}},
                                {[SCALAR_PRODUCT_SCALE] = f->option[3]},
                                .with = end_of(f, f->family, f->type)};
  int r = require_width(f, a);
  if (!r && !f->values && length && !cdv_may_be_null(a)) return count_all(c, length, to);
  if (!r && tiles > 1) r = new_states(c, tiles, parts);
  if (r) return r;
  write_to(c, &s, tiles > 1 ? parts : to);
  if (f->values && length) {
    s.buffers[c->extremes ? BUF_MIN_IN : BUF_SUM_IN] = cdv_kernel_values(a);
    if (c->extremes) s.buffers[BUF_MAX_IN] = s.buffers[BUF_MIN_IN];
  }
  if (length) s.buffers[BUF_VALIDITY_IN] = cdv_kernel_nulls(a);
  r = cdv_exec_launch(&c->work, &s);
  return r || tiles <= 1 ? r : merge(c, parts, tiles, to);
}

/* ---- the end ---- */
static int finalize(struct call *c, struct cdv_array *out, const cdevice_kernel_buffer state[STATE], int64_t rows) {
  const struct cdv_aggregate *f = c->f;
  bool both = f->option[2] == 2;
  int r = 0;
  for (int i = both ? 0 : (int)f->option[2]; !r && i <= (both ? 1 : (int)f->option[2]); i++) {
    const struct ArrowArray *node = both ? out->node->children[i] : out->node;
    struct cdv_kernel_launch s = {f->end_family, f->end_type, f->end, CDV_SINGLE_ITEM, 1, {{0}}, {0}};
    s.buffers[BUF_RESULT].data = (void *)node->buffers[1];
    s.buffers[BUF_RESULT_VALIDITY].data = (void *)node->buffers[0];
    s.buffers[BUF_RESULT_VALUE] = state[c->extremes ? i : 0];
    s.buffers[BUF_RESULT_COUNT] = state[2];
    s.scalars[SCALAR_STATE_INDEX] = c->moments ? f->option[3] : i;
    s.scalars[SCALAR_LENGTH] = rows;
    s.scalars[SCALAR_MIN_COUNT] = f->option[0];
    s.scalars[SCALAR_SKIP_NULLS] = f->option[1];
    r = cdv_exec_launch(&c->work, &s);
  }
  return r;
}

int cdv_compute_aggregate(const struct cdv_aggregate *f, struct cdv_array *const *chunks, int64_t n,
                          const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct call c = call_of(f);
  struct cdv_array *made = NULL;
  cdevice_kernel_buffer all[STATE] = {{0}}, one[STATE] = {{0}};
  int64_t rows = 0;
  int r = cdv_exec_begin(&c.work, chunks, n, stream_ref, f->function_name);
  if (!r && n > 1) r = new_states(&c, n, all);
  if (!r) r = new_states(&c, 1, one);
  for (int64_t i = 0; !r && i < n; i++) {
    cdevice_kernel_buffer to[STATE];
    memcpy(to, n > 1 ? all : one, sizeof to);
    for (int k = 0; k < STATE; k++) to[k].offset += i;
    rows += chunks[i]->length;
    r = one_chunk(&c, chunks[i], to);
  }
  if (!r && n > 1) r = merge(&c, all, n, one);
  if (!r) r = cdv_exec_alloc_array(&c.work, f->out, 1, strcmp(f->end, "finish_count") != 0, &made);
  if (!r) r = finalize(&c, made, one, rows);
  return cdv_exec_finish(&c.work, r, made, out);
}

/* ---- chunks that come one after the other ---- */
/* The tree of join() while it grows: a level is a tile of states; when there is one more, the tile becomes a state
 * of the level above. */
#define TREE_LEVELS 6   /* of 2^12 states each */
#define MAX_IN_FLIGHT 4 /* chunks that a device may be behind */

struct level {
  struct cdv_array *memory[STATE];
  int64_t n;
};
struct cdv_agg_state {
  const struct cdv_aggregate *f;
  struct cdv_stream_ref stream_ref;
  struct level levels[TREE_LEVELS];
  int64_t rows, chunks;
  struct cdv_event *ahead[MAX_IN_FLIGHT];
};

int cdv_agg_state_new(const struct cdv_aggregate *f, const struct cdv_stream_ref *stream_ref,
                      struct cdv_agg_state **out) {
  struct cdv_agg_state *state = *out = calloc(1, sizeof *state);
  if (!state) return cdv_fail_memory(sizeof *state, "an aggregate");
  state->f = f;
  state->stream_ref = *stream_ref;
  if (stream_ref->owner) cdv_shared_ref(stream_ref->owner);
  return 0;
}

void cdv_agg_state_free(struct cdv_agg_state *state) {
  for (int i = 0; i < MAX_IN_FLIGHT; i++)
    if (state->ahead[i]) cdv_event_unref(state->ahead[i]);
  for (int k = 0; k < TREE_LEVELS; k++)
    for (int i = 0; i < STATE; i++)
      if (state->levels[k].memory[i]) cdv_array_unref(state->levels[k].memory[i]);
  cdv_shared_unref(state->stream_ref.owner);
  free(state);
}

static void state_of(const struct level *l, int64_t row, cdevice_kernel_buffer out[STATE]) {
  for (int i = 0; i < STATE; i++)
    out[i] = (cdevice_kernel_buffer){l->memory[i] ? (void *)l->memory[i]->node->buffers[1] : NULL, row};
}

static int alloc_level(struct call *c, struct level *l) {
  int r = 0;
  for (int i = 0; !r && i < STATE; i++) {
    if (i == 1 && !c->extremes) continue;
    struct cdv_schema *s = cdv_schema_of_number(i == 2 ? 'l' : c->letter);
    r = cdv_exec_alloc_array(&c->work, s, REDUCE_TILE_ROWS * (i == 2 ? 1 : c->letters), false, &l->memory[i]);
    cdv_schema_unref(s);
    if (r)
      l->memory[i] = NULL;
    else
      cdv_array_ref(l->memory[i]); /* the work's ends with it */
  }
  return r;
}

/* Where the next state of a level goes. */
static int next_state(struct call *c, struct cdv_agg_state *state, int k, cdevice_kernel_buffer to[STATE]) {
  struct level *l = &state->levels[k];
  cdevice_kernel_buffer from[STATE], above[STATE];
  int r = l->memory[0] ? 0 : alloc_level(c, l);
  if (!r && l->n == REDUCE_TILE_ROWS) {
    state_of(l, 0, from);
    r = next_state(c, state, k + 1, above);
    if (!r) r = merge(c, from, l->n, above);
    l->n = 0;
  }
  if (!r) state_of(l, l->n++, to);
  return r;
}

/* What was begun before is passed too: the device must be the same, and it lives until this work is done. */
static int begin(struct call *c, struct cdv_agg_state *state, struct cdv_array *chunk) {
  struct cdv_array *arrays[TREE_LEVELS * STATE + 1];
  int64_t n = 0;
  for (int k = 0; k < TREE_LEVELS; k++)
    for (int i = 0; i < STATE; i++)
      if (state->levels[k].memory[i]) arrays[n++] = state->levels[k].memory[i];
  if (chunk) arrays[n++] = chunk;
  *c = call_of(state->f);
  int r = cdv_exec_begin(&c->work, arrays, n, &state->stream_ref, state->f->function_name);
  if (!r) state->stream_ref.stream = c->work.stream; /* the current one may be another by the next chunk */
  return r;
}

/* Waits for what was enqueued AHEAD chunks before. */
static int throttle(struct cdv_agg_state *state, struct cdv_event *event) {
  struct cdv_event **place = &state->ahead[state->chunks++ % MAX_IN_FLIGHT], *before = *place;
  cdevice_error err = {.struct_size = sizeof err};
  *place = event;
  if (!before) return 0;
  const cdevice_backend *b = &before->backend->table;
  int r = b->event_wait_host(b->self, before->device, before->event.sync_event, &err);
  if (r) cdv_fail_backend(r, &err, b->device_type, before->device, "waiting for the device");
  cdv_event_unref(before);
  return r;
}

int cdv_agg_state_consume(struct cdv_agg_state *state, struct cdv_array *chunk) {
  struct call c;
  struct cdv_event *event;
  cdevice_kernel_buffer to[STATE];
  int r = begin(&c, state, chunk);
  if (!r) r = next_state(&c, state, 0, to);
  if (!r) r = one_chunk(&c, chunk, to);
  state->rows += chunk->length;
  r = cdv_exec_finish_void(&c.work, r, &event);
  return r ? r : throttle(state, event);
}

static int top_of(const struct cdv_agg_state *state) {
  int top = 0;
  for (int k = 0; k < TREE_LEVELS; k++)
    if (state->levels[k].n) top = k;
  return top;
}

int cdv_agg_state_finalize(struct cdv_agg_state *state, struct cdv_array **out) {
  struct call c;
  struct cdv_array *made = NULL;
  cdevice_kernel_buffer from[STATE], one[STATE] = {{0}};
  int r = begin(&c, state, NULL);
  for (int k = 0; !r && k < top_of(state); k++) {
    if (!state->levels[k].n) continue;
    r = next_state(&c, state, k + 1, one);
    state_of(&state->levels[k], 0, from);
    if (!r) r = merge(&c, from, state->levels[k].n, one);
  }
  const struct level *top = &state->levels[top_of(state)];
  state_of(top, 0, one);
  if (!r && top->n > 1) {
    memcpy(from, one, sizeof from);
    r = new_states(&c, 1, one);
    if (!r) r = merge(&c, from, top->n, one);
  }
  if (!r) r = cdv_exec_alloc_array(&c.work, state->f->out, 1, strcmp(state->f->end, "finish_count") != 0, &made);
  if (!r) r = finalize(&c, made, one, state->rows);
  return cdv_exec_finish(&c.work, r, made, out);
}
