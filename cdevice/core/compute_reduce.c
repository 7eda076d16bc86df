/* compute_reduce.c - functions that give one row: tiles become states, states are joined by the same tree until one is left,
 * and the last kernel makes the result of it, on the device. */
#include "compute.h"

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

static int one_chunk(struct call *c, const struct cdv_array *a, const cdevice_place to[STATE]) {
  const struct cdv_reduce *f = c->f;
  int unit = !strcmp(f->family, "reduce") ? CDV_BY_TILE : CDV_BY_CHUNK;
  int64_t rows = unit == CDV_BY_TILE ? CDV_TILE_ROWS : CDV_FILTER_ROWS;
  int64_t tiles = a->length / rows + (a->length % rows != 0);
  cdevice_place parts[STATE] = {{0}};
  struct cdv_step s = {f->family, f->type, f->tile, unit, a->length, {{0}}, {0}};
  int r = tiles > 1 ? new_states(c, tiles, parts) : 0;
  if (r) return r;
  write_to(c, &s, tiles > 1 ? parts : to);
  if (f->values && a->length) {
    s.places[c->extremes ? 4 : 2] = cdv_place_values(a);
    if (c->extremes) s.places[5] = s.places[4];
  }
  s.places[3] = cdv_place_nulls(a);
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
  struct call c = {.f = f, .extremes = !strcmp(f->tile, "min_max"), .letter = letter_of(f->join)};
  c.letters = strcmp(f->join, "w128") ? 1 : 2;
  struct cdv_array *made = NULL;
  cdevice_place all[STATE] = {{0}}, one[STATE] = {{0}};
  int64_t rows = 0;
  int r = cdv_work_begin(&c.work, chunks, n, lane, f->end);
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
