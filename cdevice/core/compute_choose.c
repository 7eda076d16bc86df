/* compute_choose.c - rows that a mask chooses, and rows by number. */
#include "compute.h"

#include <string.h>

/* The kernels' name of a width; NULL: there is none. */
static const char *width_name(int width) {
  switch (width) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "u64";
    case 16: return "w128";
    default: return NULL;
  }
}

static cdevice_place buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_place){(void *)a->node->buffers[i], 0};
}

/* ---- masks ---- */
int cdv_choice_make(struct cdv_choice *c, struct cdv_array *mask, const struct cdv_lane *lane) {
  struct cdv_work w;
  struct cdv_array *counts = NULL;
  struct cdv_schema *numbers = cdv_schema_of_number('l');
  int64_t tiles = mask->length / CDV_FILTER_ROWS + (mask->length % CDV_FILTER_ROWS != 0);
  int r = cdv_work_begin(&w, &mask, 1, lane, "filter");
  if (!r) r = cdv_work_new(&w, numbers, tiles + 1, false, &counts);
  cdv_schema_unref(numbers);
  cdevice_place at = r ? (cdevice_place){NULL, 0} : buffer_of(counts, 1), total = {at.data, tiles};
  if (!r && tiles) {
    struct cdv_step s = {"choose", "bits", "filter_count", CDV_BY_CHUNK, mask->length, {at}, {0}};
    s.places[2] = cdv_place_values(mask);
    s.places[3] = cdv_place_nulls(mask);
    r = cdv_work_run(&w, &s);
  }
  if (!r) {
    struct cdv_step s = {"choose", "bits", "scan", CDV_BY_BLOCK, tiles, {at}, {0}};
    r = cdv_work_run(&w, &s);
  }
  if (!r) r = cdv_work_read(&w, &total, 8, 8, &c->chosen);
  r = cdv_work_end(&w, r, counts, &c->counts);
  if (!r) c->mask = cdv_array_ref(mask);
  return r;
}

void cdv_choice_drop(struct cdv_choice *c) {
  cdv_array_unref(c->mask);
  cdv_array_unref(c->counts);
}

/* Bitmaps are written by words where several items share one: there is room for whole ones. */
static int64_t whole_words(int64_t rows) { return (rows + 31) / 32 * 32; }

static int clear_nulls(struct cdv_work *w, struct cdv_array *a) {
  struct cdv_step s = {"boolean", "bits", "valid_all", CDV_BY_WORD, a->length, {buffer_of(a, 0)}, {0, 2}};
  return cdv_work_run(w, &s);
}

int cdv_compute_filter(const struct cdv_choice *c, struct cdv_array *array, const struct cdv_lane *lane,
                       struct cdv_array **out) {
  int width = array ? cdv_value_width(array->schema->node) : 8;
  if (width < 1 || !width_name(width)) return CDV_OTHER_LAYOUT;
  if (array && array->length != c->mask->length)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "filter: a mask of %lld rows for %lld", (long long)c->mask->length,
                    (long long)array->length);
  struct cdv_array *inputs[3] = {c->mask, c->counts, NULL}, *made = NULL;
  struct cdv_schema *schema = array ? cdv_schema_ref(array->schema) : cdv_schema_of_number('l');
  bool nulls = array && cdv_may_be_null(array);
  struct cdv_work w;
  struct cdv_step s = {array ? "select" : "choose",
                       array ? width_name(width) : "bits",
                       array ? "filter" : "filter_rows",
                       CDV_BY_CHUNK,
                       c->mask->length,
                       {{0}},
                       {0}};
  int r = array ? cdv_array_aligned(array, &inputs[2]) : 0;
  if (r) {
    cdv_schema_unref(schema);
    return r;
  }
  r = cdv_work_begin(&w, inputs, array ? 3 : 2, lane, "filter");
  if (!r) r = cdv_work_new(&w, schema, nulls ? whole_words(c->chosen) : c->chosen, nulls, &made);
  if (!r && nulls) r = clear_nulls(&w, made);
  if (!r && c->chosen) {
    s.places[0] = buffer_of(made, 1);
    if (array) s.places[1] = cdv_place_values(inputs[2]);
    s.places[2] = cdv_place_values(c->mask);
    s.places[3] = cdv_place_nulls(c->mask);
    if (array) s.places[4] = cdv_place_nulls(inputs[2]);
    s.places[5] = buffer_of(c->counts, 1);
    if (nulls) s.places[6] = buffer_of(made, 0);
    r = cdv_work_run(&w, &s);
  }
  struct cdv_array *whole = NULL;
  r = cdv_work_end(&w, r, made, &whole);
  if (inputs[2]) cdv_array_unref(inputs[2]);
  cdv_schema_unref(schema);
  if (r || whole->length == c->chosen) {
    if (!r) *out = whole;
    return r;
  }
  r = cdv_array_slice(whole, 0, c->chosen, out);
  cdv_array_unref(whole);
  return r;
}

/* ---- by number ---- */
int cdv_compute_take(struct cdv_array *array, struct cdv_array *indices, bool checked, const struct cdv_lane *lane,
                     struct cdv_array **out) {
  int width = cdv_value_width(array->schema->node);
  bool bytes = width > 0 && !width_name(width);
  if (width < 0) return CDV_OTHER_LAYOUT;
  struct cdv_array *inputs[2] = {NULL, indices}, *made = NULL;
  struct cdv_work w;
  int r = cdv_array_aligned(array, &inputs[0]);
  if (r) return r;
  bool nulls = cdv_may_be_null(array) || cdv_may_be_null(indices);
  r = cdv_work_begin(&w, inputs, 2, lane, "take");
  if (!r) r = cdv_work_new(&w, array->schema, indices->length, nulls, &made);
  struct cdv_step s = {.family = width && !bytes ? "select" : "choose",
                       .type = width && !bytes ? width_name(width) : "bits",
                       .name = bytes ? "take_bytes" : "take",
                       .unit = width ? CDV_BY_ROW : CDV_BY_PACK,
                       .n = indices->length * (bytes ? width : 1)};
  s.numbers[2] = array->length;
  s.numbers[3] = width;
  s.places[2] = cdv_place_values(indices);
  s.places[3] = cdv_place_nulls(indices);
  struct cdv_step valid = s;
  if (!r && nulls) {
    valid.family = "choose", valid.type = "bits", valid.name = "take_valid", valid.unit = CDV_BY_PACK;
    valid.n = indices->length;
    valid.places[0] = buffer_of(made, 0);
    valid.places[1] = cdv_place_nulls(inputs[0]);
    r = cdv_work_run(&w, &valid);
  }
  if (!r) r = cdv_work_watch(&w, &s.places[5]);
  if (!r) {
    s.places[0] = buffer_of(made, 1);
    s.places[1] = cdv_place_values(inputs[0]);
    if (bytes) s.places[1].offset *= width;
    r = cdv_work_run(&w, &s);
  }
  if (!r && checked) r = cdv_work_look(&w, "take", s.type);
  r = cdv_work_end(&w, r, made, out);
  cdv_array_unref(inputs[0]);
  return r;
}
