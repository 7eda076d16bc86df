/* compute_variable.c - strings and lists, whose rows have several sizes. */
#include "compute.h"

#include <string.h>

static const char *offset_type(const struct ArrowSchema *s) {
  struct cdv_layout l;
  const char *why;
  if (s->dictionary || cdv_layout_parse(s->format, &l, &why)) return NULL;
  switch (l.type) {
    case CDV_BINARY:
    case CDV_LIST:
    case CDV_MAP: return "i32";
    case CDV_LARGE_BINARY:
    case CDV_LARGE_LIST: return "i64";
    default: return NULL;
  }
}

bool cdv_has_offsets(const struct ArrowSchema *s) { return offset_type(s) != NULL; }

static bool is_list(const struct ArrowSchema *s) { return s->format[0] == '+'; }
static cdevice_place buffer_of(const struct cdv_array *a, int i) {
  return (cdevice_place){(void *)a->node->buffers[i], 0};
}
static cdevice_place offsets_of(const struct cdv_array *a) {
  return a->length ? (cdevice_place){(void *)a->node->buffers[1], a->offset} : (cdevice_place){NULL, 0};
}

/* What all these kernels are told. */
static struct cdv_step step_of(const char *name, int unit, const struct cdv_array *a, const struct cdv_array *indices) {
  struct cdv_step s = {.family = "variable", .type = offset_type(a->schema->node), .name = name, .unit = unit};
  s.n = indices->length;
  s.numbers[2] = a->length;
  s.places[1] = offsets_of(a);
  s.places[2] = cdv_place_values(indices);
  s.places[3] = cdv_place_nulls(indices);
  s.places[4] = cdv_place_nulls(a);
  return s;
}

/* Tiles are summed, the sums are added up, the tiles begin where they say. */
int cdv_add_up(struct cdv_work *w, const char *type, int64_t n, const cdevice_place *sizes, struct cdv_array *out,
               int64_t *total) {
  int64_t tiles = n / CDV_FILTER_ROWS + (n % CDV_FILTER_ROWS != 0);
  cdevice_place sums;
  int r = cdv_work_memory(w, 'l', tiles + 1, &sums);
  if (r) return r;
  struct cdv_step tile = {"variable", type, "tile_sizes", CDV_BY_CHUNK, n, {sums, *sizes}, {0}};
  struct cdv_step scan = {"choose", "bits", "scan", CDV_BY_BLOCK, tiles, {sums}, {0}};
  struct cdv_step spread = {"variable", type, "offsets", CDV_BY_CHUNK, n, {buffer_of(out, 1), *sizes, sums}, {0}};
  cdevice_place last = {sums.data, tiles};
  r = cdv_work_run(w, &tile);
  if (!r) r = cdv_work_run(w, &scan);
  if (!r) r = cdv_work_read(w, &last, 8, 8, total);
  if (!r && *total > INT32_MAX && !strcmp(type, "i32"))
    r = cdv_fail(CDV_ARGUMENT, EOVERFLOW, "the result has %lld bytes or items, more than 32-bit offsets can count",
                 (long long)*total);
  return r ? r : cdv_work_run(w, &spread);
}

int cdv_compute_offsets(struct cdv_array *array, struct cdv_array *indices, bool checked, const struct cdv_lane *lane,
                        int64_t *total, struct cdv_array **out) {
  struct cdv_array *inputs[2] = {array, indices}, *made = NULL;
  bool wide = !strcmp(offset_type(array->schema->node), "i64");
  struct cdv_schema *schema = cdv_schema_of_number(wide ? 'l' : 'i');
  struct cdv_work w;
  cdevice_place sizes;
  int64_t n = indices->length;
  int r = cdv_work_begin(&w, inputs, 2, lane, "take");
  if (!r) r = cdv_work_new(&w, schema, n + 1, false, &made);
  if (!r) r = cdv_work_memory(&w, 'l', n + 1, &sizes);
  cdv_schema_unref(schema);
  struct cdv_step s = step_of("sizes", CDV_BY_ROW, array, indices);
  *total = 0;
  if (!r) r = cdv_work_watch(&w, &s.places[5]);
  if (!r && n) {
    s.places[0] = sizes;
    r = cdv_work_run(&w, &s);
    if (!r && checked) r = cdv_work_look(&w, "take", s.type);
    if (!r) r = cdv_add_up(&w, s.type, n, &sizes, made, total);
  } else if (!r) { /* its one offset */
    struct cdv_step zero = {"boolean", "bits", "valid_all", CDV_BY_WORD, wide ? 64 : 32, {buffer_of(made, 1)}, {0, 2}};
    r = cdv_work_run(&w, &zero);
  }
  return cdv_work_end(&w, r, made, out);
}

int cdv_compute_items(struct cdv_array *array, struct cdv_array *indices, struct cdv_array *offsets, int64_t total,
                      const struct cdv_lane *lane, struct cdv_array **out) {
  struct cdv_array *inputs[3] = {array, indices, offsets}, *made = NULL;
  bool list = is_list(array->schema->node);
  struct cdv_schema *schema = cdv_schema_of_number(list ? 'l' : 'C');
  struct cdv_work w;
  int r = cdv_work_begin(&w, inputs, 3, lane, "take");
  if (!r) r = cdv_work_new(&w, schema, total, false, &made);
  cdv_schema_unref(schema);
  if (!r && total) {
    struct cdv_step s = step_of(list ? "expand" : "gather", CDV_BY_ROW, array, indices);
    s.places[0] = buffer_of(made, 1);
    if (!list) s.places[6] = buffer_of(array, 2);
    s.places[7] = cdv_place_values(offsets);
    r = cdv_work_run(&w, &s);
  }
  return cdv_work_end(&w, r, made, out);
}

static const char *end_type(const struct ArrowSchema *s) {
  switch (s->children[0]->format[0]) {
    case 's': return "i16";
    case 'i': return "i32";
    default: return "i64";
  }
}

int cdv_compute_runs(struct cdv_array *array, struct cdv_array *ends, struct cdv_array *indices, bool checked,
                     const struct cdv_lane *lane, struct cdv_array **out) {
  struct cdv_array *inputs[3] = {array, ends, indices}, *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_work w;
  int r = cdv_work_begin(&w, inputs, 3, lane, "take");
  if (!r) r = cdv_work_new(&w, schema, indices->length, cdv_may_be_null(indices), &made);
  cdv_schema_unref(schema);
  if (!r && cdv_may_be_null(indices)) {
    struct cdv_step s = {"boolean", "bits", "valid_all", CDV_BY_WORD, indices->length, {buffer_of(made, 0)}, {0}};
    s.places[1] = cdv_place_nulls(indices);
    r = cdv_work_run(&w, &s);
  }
  struct cdv_step s = {.family = "runs", .type = end_type(array->schema->node), .name = "run_of", .unit = CDV_BY_ROW};
  s.n = indices->length;
  if (!r) r = cdv_work_watch(&w, &s.places[5]);
  if (!r) {
    s.places[0] = buffer_of(made, 1);
    s.places[1] = cdv_place_values(ends);
    s.places[2] = cdv_place_values(indices);
    s.places[3] = cdv_place_nulls(indices);
    s.numbers[2] = array->length;
    s.numbers[3] = ends->length;
    s.numbers[4] = array->offset;
    r = cdv_work_run(&w, &s);
  }
  if (!r && checked) r = cdv_work_look(&w, "take", s.type);
  return cdv_work_end(&w, r, made, out);
}

int cdv_compute_rows(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_lane *lane,
                     struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_work w;
  int r = cdv_work_begin(&w, &near, 1, lane, "take");
  if (!r) r = cdv_work_new(&w, schema, n, false, &made);
  cdv_schema_unref(schema);
  if (!r) {
    struct cdv_step s = {"choose", "bits", "rows", CDV_BY_ROW, n, {buffer_of(made, 1)}, {0, 0, first}};
    r = cdv_work_run(&w, &s);
  }
  return cdv_work_end(&w, r, made, out);
}

int cdv_compute_spread(struct cdv_array *array, struct cdv_array *indices, int64_t size, bool checked,
                       const struct cdv_lane *lane, struct cdv_array **out) {
  struct cdv_array *inputs[2] = {array, indices}, *made = NULL;
  struct cdv_schema *schema = cdv_schema_of_number('l');
  struct cdv_work w;
  int r = cdv_work_begin(&w, inputs, 2, lane, "take");
  if (!r) r = cdv_work_new(&w, schema, indices->length * size, false, &made);
  cdv_schema_unref(schema);
  struct cdv_step s = {.family = "choose", .type = "bits", .name = "spread", .unit = CDV_BY_ROW};
  s.n = indices->length * size;
  if (!r) r = cdv_work_watch(&w, &s.places[5]);
  if (!r) {
    s.places[0] = buffer_of(made, 1);
    s.places[2] = cdv_place_values(indices);
    s.places[3] = cdv_place_nulls(indices);
    s.numbers[2] = array->length;
    s.numbers[3] = array->offset;
    s.numbers[4] = size;
    r = cdv_work_run(&w, &s);
  }
  if (!r && checked) r = cdv_work_look(&w, "take", s.type);
  return cdv_work_end(&w, r, made, out);
}
