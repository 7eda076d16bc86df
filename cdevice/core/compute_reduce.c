/* compute_reduce.c - functions that give one row: tiles become states, states are joined by the same tree until one is left,
 * and the last kernel makes the result of it, on the device. */
#include "compute.h"

#include <stdlib.h>
#include <string.h>

#define STATE 3 /* places of one: a value or two, and how many rows it is of */

struct call {
  const struct cdv_reduce *f;
  struct cdv_work work;
  bool extremes;
  char letter; /* of the values of states */
  int letters; /* of one value: what is 16 bytes wide has two */
};

/* The letter that Arrow has for a number that the kernels call so; for what is wider that of its half. */
static char letter_of(const char *type) {
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], type)) return "csilCSILfg"[i];
  return 'L';
}

static struct call call_of(const struct cdv_reduce *f) {
  return (struct call){.f = f,
                       .extremes = !strcmp(f->tile, "min_max"),
                       .letter = letter_of(f->join),
                       .letters = strcmp(f->join, "w128") ? 1 : 2};
}

static int new_states(struct call *c, int64_t n, cdevice_place out[STATE]) {
  int r = cdv_work_memory(&c->work, c->letter, n * c->letters, &out[0]);
  if (!r && c->extremes) r = cdv_work_memory(&c->work, c->letter, n * c->letters, &out[1]);
  if (!r) r = cdv_work_memory(&c->work, 'l', n, &out[2]);
  return r;
}

/* Where the kernels have the parts of a state: sum writes 0 and 1 and reads 2 and 6; min_max writes 0, 1, 2 and reads 4, 5
 * and 6. */
static void write_to(const struct call *c, struct cdv_step *s, const cdevice_place to[STATE]) {
  s->places[0] = to[0];
  s->places[1] = c->extremes ? to[1] : to[2];
  if (c->extremes) s->places[2] = to[2];
}

/* m states become one, in `to`. */
static int join(struct call *c, cdevice_place from[STATE], int64_t m, const cdevice_place to[STATE]) {
  int r = 0;
  while (!r && m) {
    int64_t left = m / CDV_TILE_ROWS + (m % CDV_TILE_ROWS != 0);
    cdevice_place next[STATE];
    struct cdv_step s = {"reduce", c->f->join, c->extremes ? "min_max" : "sum", CDV_BY_TILE, m, {{0}}, {0}};
    if (left == 1)
      memcpy(next, to, sizeof next);
    else
      r = new_states(c, left, next);
    if (r) break;
    write_to(c, &s, next);
    s.places[c->extremes ? 4 : 2] = from[0];
    if (c->extremes) s.places[5] = from[1];
    s.places[6] = from[2];
    r = cdv_work_run(&c->work, &s);
    memcpy(from, next, sizeof next);
    m = left == 1 ? 0 : left;
  }
  return r;
}

/* The bytes of a value that the kernels call so; 0: bits. */
static int width_of(const char *type) {
  static const char *const names[] = {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "f32", "i64", "u64", "f64", "w128"};
  static const int widths[] = {0, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 16};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], type)) return widths[i];
  return -1;
}

/* A chunk of a type of another width would be read past its end. */
static int require_width(const struct cdv_reduce *f, const struct cdv_array *a) {
  const struct ArrowSchema *s = a->schema->node;
  if (!f->values || s->format[0] == 'n' || cdv_value_width(s) == width_of(f->type)) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: a chunk of type \"%.60s\" for a kernel of %s", f->said, s->format, f->type);
}

/* The state of rows of which none is null, without going through them. */
static int count_all(struct call *c, int64_t rows, const cdevice_place to[STATE]) {
  int r = 0;
  for (int i = 0; !r && i < STATE; i += 2) {
    struct cdv_step s = {"choose", "bits", "rows", CDV_BY_ROW, 1, {to[i]}, {0, 0, rows}};
    r = cdv_work_run(&c->work, &s);
  }
  return r;
}

static int one_chunk(struct call *c, const struct cdv_array *a, const cdevice_place to[STATE]) {
  const struct cdv_reduce *f = c->f;
  int unit = !strcmp(f->family, "reduce") ? CDV_BY_TILE : CDV_BY_CHUNK;
  int64_t rows = unit == CDV_BY_TILE ? CDV_TILE_ROWS : CDV_FILTER_ROWS;
  int64_t length = a->schema->node->format[0] == 'n' ? 0 : a->length; /* of type null: no row counts */
  int64_t tiles = length / rows + (length % rows != 0);
  cdevice_place parts[STATE] = {{0}};
  struct cdv_step s = {f->family, f->type, f->tile, unit, length, {{0}}, {0}};
  int r = require_width(f, a);
  if (!r && !f->values && length && !cdv_may_be_null(a)) return count_all(c, length, to);
  if (!r && tiles > 1) r = new_states(c, tiles, parts);
  if (r) return r;
  write_to(c, &s, tiles > 1 ? parts : to);
  if (f->values && length) {
    s.places[c->extremes ? 4 : 2] = cdv_place_values(a);
    if (c->extremes) s.places[5] = s.places[4];
  }
  if (length) s.places[3] = cdv_place_nulls(a);
  r = cdv_work_run(&c->work, &s);
  return r || tiles <= 1 ? r : join(c, parts, tiles, to);
}

/* ---- the end ---- */
static int finish(struct call *c, struct cdv_array *out, const cdevice_place state[STATE], int64_t rows) {
  const struct cdv_reduce *f = c->f;
  bool both = f->option[2] == 2;
  int r = 0;
  for (int i = both ? 0 : (int)f->option[2]; !r && i <= (both ? 1 : (int)f->option[2]); i++) {
    const struct ArrowArray *node = both ? out->node->children[i] : out->node;
    struct cdv_step s = {f->end_family, f->end_type, f->end, CDV_BY_ONE, 1, {{0}}, {0}};
    s.places[0].data = (void *)node->buffers[1];
    s.places[1].data = (void *)node->buffers[0];
    s.places[2] = state[c->extremes ? i : 0];
    s.places[3] = state[2];
    s.numbers[1] = i;
    s.numbers[2] = rows;
    s.numbers[3] = f->option[0];
    s.numbers[4] = f->option[1];
    r = cdv_work_run(&c->work, &s);
  }
  return r;
}

int cdv_compute_reduce(const struct cdv_reduce *f, struct cdv_array *const *chunks, int64_t n,
                       const struct cdv_lane *lane, struct cdv_array **out) {
  struct call c = call_of(f);
  struct cdv_array *made = NULL;
  cdevice_place all[STATE] = {{0}}, one[STATE] = {{0}};
  int64_t rows = 0;
  int r = cdv_work_begin(&c.work, chunks, n, lane, f->said);
  if (!r && n > 1) r = new_states(&c, n, all);
  if (!r) r = new_states(&c, 1, one);
  for (int64_t i = 0; !r && i < n; i++) {
    cdevice_place to[STATE];
    memcpy(to, n > 1 ? all : one, sizeof to);
    for (int k = 0; k < STATE; k++) to[k].offset += i;
    rows += chunks[i]->length;
    r = one_chunk(&c, chunks[i], to);
  }
  if (!r && n > 1) r = join(&c, all, n, one);
  if (!r) r = cdv_work_new(&c.work, f->out, 1, strcmp(f->end, "finish_count") != 0, &made);
  if (!r) r = finish(&c, made, one, rows);
  return cdv_work_end(&c.work, r, made, out);
}

/* ---- chunks that come one after the other ---- */
/* The tree of join() while it grows: a level is a tile of states; when there is one more, the tile becomes a state of the
 * level above. */
#define LEVELS 6 /* of 2^12 states each */
#define AHEAD 4  /* chunks that a device may be behind */

struct level {
  struct cdv_array *memory[STATE];
  int64_t n;
};
struct cdv_fold {
  const struct cdv_reduce *f;
  struct cdv_lane lane;
  struct level levels[LEVELS];
  int64_t rows, chunks;
  struct cdv_event *ahead[AHEAD];
};

int cdv_fold_new(const struct cdv_reduce *f, const struct cdv_lane *lane, struct cdv_fold **out) {
  struct cdv_fold *fold = *out = calloc(1, sizeof *fold);
  if (!fold) return cdv_fail_memory(sizeof *fold, "an aggregate");
  fold->f = f;
  fold->lane = *lane;
  if (lane->queue) cdv_shared_ref(lane->queue);
  return 0;
}

void cdv_fold_drop(struct cdv_fold *fold) {
  for (int i = 0; i < AHEAD; i++)
    if (fold->ahead[i]) cdv_event_unref(fold->ahead[i]);
  for (int k = 0; k < LEVELS; k++)
    for (int i = 0; i < STATE; i++)
      if (fold->levels[k].memory[i]) cdv_array_unref(fold->levels[k].memory[i]);
  cdv_shared_unref(fold->lane.queue);
  free(fold);
}

static void state_of(const struct level *l, int64_t row, cdevice_place out[STATE]) {
  for (int i = 0; i < STATE; i++)
    out[i] = (cdevice_place){l->memory[i] ? (void *)l->memory[i]->node->buffers[1] : NULL, row};
}

static int furnish(struct call *c, struct level *l) {
  int r = 0;
  for (int i = 0; !r && i < STATE; i++) {
    if (i == 1 && !c->extremes) continue;
    struct cdv_schema *s = cdv_schema_of_number(i == 2 ? 'l' : c->letter);
    r = cdv_work_new(&c->work, s, CDV_TILE_ROWS * (i == 2 ? 1 : c->letters), false, &l->memory[i]);
    cdv_schema_unref(s);
    if (r)
      l->memory[i] = NULL;
    else
      cdv_array_ref(l->memory[i]); /* the work's ends with it */
  }
  return r;
}

/* Where the next state of a level goes. */
static int next_state(struct call *c, struct cdv_fold *fold, int k, cdevice_place to[STATE]) {
  struct level *l = &fold->levels[k];
  cdevice_place from[STATE], above[STATE];
  int r = l->memory[0] ? 0 : furnish(c, l);
  if (!r && l->n == CDV_TILE_ROWS) {
    state_of(l, 0, from);
    r = next_state(c, fold, k + 1, above);
    if (!r) r = join(c, from, l->n, above);
    l->n = 0;
  }
  if (!r) state_of(l, l->n++, to);
  return r;
}

/* What was begun before is passed too: the device must be the same, and it lives until this work is done. */
static int begin(struct call *c, struct cdv_fold *fold, struct cdv_array *chunk) {
  struct cdv_array *arrays[LEVELS * STATE + 1];
  int64_t n = 0;
  for (int k = 0; k < LEVELS; k++)
    for (int i = 0; i < STATE; i++)
      if (fold->levels[k].memory[i]) arrays[n++] = fold->levels[k].memory[i];
  if (chunk) arrays[n++] = chunk;
  *c = call_of(fold->f);
  int r = cdv_work_begin(&c->work, arrays, n, &fold->lane, fold->f->said);
  if (!r) fold->lane.stream = c->work.stream; /* the current one may be another by the next chunk */
  return r;
}

/* Waits for what was enqueued AHEAD chunks before. */
static int catch_up(struct cdv_fold *fold, struct cdv_event *event) {
  struct cdv_event **place = &fold->ahead[fold->chunks++ % AHEAD], *before = *place;
  cdevice_error err = {.struct_size = sizeof err};
  *place = event;
  if (!before) return 0;
  const cdevice_backend *b = &before->slot->table;
  int r = b->event_wait_host(b->self, before->device, before->event.sync_event, &err);
  if (r) cdv_fail_backend(r, &err, b->device_type, before->device, "waiting for the device");
  cdv_event_unref(before);
  return r;
}

int cdv_fold_add(struct cdv_fold *fold, struct cdv_array *chunk) {
  struct call c;
  struct cdv_event *event;
  cdevice_place to[STATE];
  int r = begin(&c, fold, chunk);
  if (!r) r = next_state(&c, fold, 0, to);
  if (!r) r = one_chunk(&c, chunk, to);
  fold->rows += chunk->length;
  r = cdv_work_leave(&c.work, r, &event);
  return r ? r : catch_up(fold, event);
}

static int top_of(const struct cdv_fold *fold) {
  int top = 0;
  for (int k = 0; k < LEVELS; k++)
    if (fold->levels[k].n) top = k;
  return top;
}

int cdv_fold_end(struct cdv_fold *fold, struct cdv_array **out) {
  struct call c;
  struct cdv_array *made = NULL;
  cdevice_place from[STATE], one[STATE] = {{0}};
  int r = begin(&c, fold, NULL);
  for (int k = 0; !r && k < top_of(fold); k++) {
    if (!fold->levels[k].n) continue;
    r = next_state(&c, fold, k + 1, one);
    state_of(&fold->levels[k], 0, from);
    if (!r) r = join(&c, from, fold->levels[k].n, one);
  }
  const struct level *top = &fold->levels[top_of(fold)];
  state_of(top, 0, one);
  if (!r && top->n > 1) {
    memcpy(from, one, sizeof from);
    r = new_states(&c, 1, one);
    if (!r) r = join(&c, from, top->n, one);
  }
  if (!r) r = cdv_work_new(&c.work, fold->f->out, 1, strcmp(fold->f->end, "finish_count") != 0, &made);
  if (!r) r = finish(&c, made, one, fold->rows);
  return cdv_work_end(&c.work, r, made, out);
}
