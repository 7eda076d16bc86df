/* compute_map.c - functions that give a row for each row of their arguments. */
#include "compute.h"

#include <string.h>

#define FORM_ONE 1 /* as in kernels/dialect.h */
#define FORM_NUMBER 2

struct call {
  const struct cdv_map *f;
  const struct cdv_operand *args;
  int n_args;
  int64_t rows;
  struct cdv_work work;
  struct cdv_array *out;
};

static int form_of(const struct cdv_operand *x) { return !x->array ? FORM_NUMBER : x->one ? FORM_ONE : 0; }
static bool may_be_null(const struct cdv_operand *x) { return x->array ? cdv_may_be_null(x->array) : x->null; }
static int64_t all_bits(bool set) { return set ? UINT32_MAX : 0; }
static cdevice_place nulls_of(const struct cdv_operand *x) {
  return x->array ? cdv_place_nulls(x->array) : (cdevice_place){NULL, 0};
}
static cdevice_place buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_place){a->node->buffers[i] ? (void *)a->node->buffers[i] : NULL, 0};
}

/* Argument k of a function stands as argument `as` of a kernel, in that place. */
static void pass(struct cdv_step *s, const struct cdv_operand *x, int as, int place, cdevice_place what) {
  s->places[place] = what;
  s->numbers[1] |= (int64_t)form_of(x) << (2 * as);
}
static void pass_values(struct cdv_step *s, const struct cdv_operand *x, int as, int place) {
  bool word = !strcmp(s->family, "boolean") || (as == 0 && s->unit == CDV_BY_PACK && !strcmp(s->name, "if_else"));
  pass(s, x, as, place, x->array ? cdv_place_values(x->array) : (cdevice_place){NULL, 0});
  if (!x->array) s->numbers[2 + as] = word ? all_bits(x->bits & 1) : x->bits;
}
static void pass_nulls(struct cdv_step *s, const struct cdv_operand *x, int as, int place) {
  pass(s, x, as, place, nulls_of(x));
  if (!x->array) s->numbers[2 + as] = all_bits(!x->null);
}

static int find_rows(struct call *c) {
  c->rows = -1;
  for (int i = 0; i < c->n_args; i++) {
    const struct cdv_operand *x = &c->args[i];
    if (!x->array) continue;
    int64_t n = x->array->length;
    if (x->one && n != 1) return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: a scalar of %lld rows", c->f->said, (long long)n);
    if (x->one || c->rows == n) continue;
    if (c->rows >= 0)
      return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: arguments of %lld and %lld rows; arrays must have the same length",
                      c->f->said, (long long)c->rows, (long long)n);
    c->rows = n;
  }
  if (c->rows < 0) c->rows = 1;
  return 0;
}

/* ---- nulls ---- */
static bool needs_nulls(const struct call *c) {
  bool may = false;
  if (c->f->rule == CDV_NULL_FILLED) return may_be_null(&c->args[0]) && may_be_null(&c->args[1]);
  for (int i = 0; i < c->n_args; i++) may |= may_be_null(&c->args[i]);
  return may && c->f->rule != CDV_NULL_NEVER;
}

static int all_null(struct call *c) {
  struct cdv_step s = {"boolean", "bits", "valid_all", CDV_BY_WORD, c->rows, {buffer_of(c->out, 0)}, {0, FORM_NUMBER}};
  return cdv_work_run(&c->work, &s);
}

static int put_nulls(struct call *c) {
  const struct cdv_operand *x = c->args;
  struct cdv_step s = {"boolean", "bits", "valid_all", CDV_BY_WORD, c->rows, {buffer_of(c->out, 0)}, {0}};
  switch (c->f->rule) {
    case CDV_NULL_WHERE_ANY:
      for (int i = 0; i < c->n_args; i++) pass_nulls(&s, &x[i], i, 1 + i);
      break;
    case CDV_NULL_CHOSEN:
      if (!x[0].array && x[0].null) return all_null(c);
      s.name = "valid_select";
      pass_values(&s, &x[0], 0, 1);
      pass_nulls(&s, &x[1], 1, 2);
      pass_nulls(&s, &x[2], 2, 3);
      s.places[4] = nulls_of(&x[0]);
      break;
    case CDV_NULL_FILLED:
      s.name = "valid_select";
      pass_nulls(&s, &x[0], 0, 1);
      pass_nulls(&s, &x[0], 1, 2);
      pass_nulls(&s, &x[1], 2, 3);
      break;
    default: return 0;
  }
  return cdv_work_run(&c->work, &s);
}

/* ---- values ---- */
static int put_values(struct call *c) {
  const struct cdv_map *f = c->f;
  const struct cdv_operand *x = c->args;
  bool nulls = c->out->node->null_count < 0;
  struct cdv_step s = {f->family, f->type, f->name, f->unit, c->rows, {buffer_of(c->out, 1)}, {0}};
  if (f->rule == CDV_NULL_NEVER) {
    pass_nulls(&s, &x[0], 0, 1);
  } else if (f->rule == CDV_NULL_FILLED) {
    pass_nulls(&s, &x[0], 0, 1);
    pass_values(&s, &x[0], 1, 2);
    pass_values(&s, &x[1], 2, 3);
  } else {
    for (int i = 0; i < c->n_args; i++) pass_values(&s, &x[i], i, 1 + i);
  }
  if (f->rule == CDV_NULL_KLEENE)
    for (int i = 0; i < c->n_args; i++) {
      s.places[3 + i] = nulls_of(&x[i]);
      s.numbers[4] |= (int64_t) !(!x[i].array && x[i].null) << i;
    }
  if (f->rule == CDV_NULL_KLEENE && nulls) s.places[6] = buffer_of(c->out, 0);
  int r = 0;
  if (f->checked) {
    if (nulls) s.places[4] = buffer_of(c->out, 0);
    r = cdv_work_watch(&c->work, &s.places[5]);
  }
  if (!r) r = cdv_work_run(&c->work, &s);
  return !r && f->checked ? cdv_work_look(&c->work, f->said, f->type) : r;
}

int cdv_compute_map(const struct cdv_map *f, const struct cdv_operand *args, int n, const struct cdv_lane *lane,
                    struct cdv_array **out) {
  struct cdv_array *arrays[CDV_OPERANDS];
  struct cdv_operand own[CDV_OPERANDS];
  struct call c = {.f = f, .args = own, .n_args = n};
  int m = 0, r = 0;
  for (int i = 0; !r && i < n; i++) {
    own[i] = args[i];
    if (!args[i].array) continue;
    r = cdv_array_aligned(args[i].array, &arrays[m]);
    if (!r) own[i].array = arrays[m++];
  }
  if (!r) r = find_rows(&c);
  for (int i = 0; !r && i < n; i++) /* of type null: rows without values */
    if (own[i].array && own[i].array->schema->node->format[0] == 'n') own[i] = (struct cdv_operand){.null = true};
  if (!r) {
    r = cdv_work_begin(&c.work, arrays, m, lane, f->said);
    if (!r) r = cdv_work_new(&c.work, f->out, c.rows, needs_nulls(&c), &c.out);
    if (!r && c.out->node->null_count < 0) r = put_nulls(&c);
    if (!r && c.rows) r = put_values(&c);
    r = cdv_work_end(&c.work, r, c.out, out);
  }
  while (m) cdv_array_unref(arrays[--m]);
  return r;
}
