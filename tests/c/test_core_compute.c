/* test_core_compute.c - functions on the CPU from several threads at once, helped by others, while the number of helpers
 * changes: for the thread sanitizer, and every value is checked. */
#include "check.h"
#include "cdevice/arrow_abi.h"
#include "core/array/array.h"
#include "core/backend/registry.h"
#include "core/base/owner.h"
#include "core/base/thread_pool.h"
#include "core/compute/accumulate.h"
#include "core/compute/aggregate.h"
#include "core/compute/elementwise.h"
#include "core/compute/hash_table.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/select.h"
#include "core/compute/selection.h"
#include "core/format/schema.h"
#include "cpu/compute.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 300000
#define THREADS 4
#define TURNS 25

static int64_t values[MOST];
static uint8_t nulls[MOST / 8 + 8]; /* every fifth row is null */
static int32_t ends[MOST + 1];      /* of texts: row i has i % 7 letters */
static char letters[7 * MOST];
static struct cdv_schema *of_numbers, *of_bits, *of_texts;
static const int64_t lengths[] = {1, 1000, 70000, MOST};
static struct cdv_array *arrays[4], *texts[4];

static void stays(struct ArrowSchema *s) { s->release = NULL; }

static struct cdv_array *column(struct cdv_schema *schema, int64_t n, const void *const *buffers, int64_t n_buffers) {
  struct cdv_parts parts = {
      .device_type = 1, .device_id = -1, .length = n, .null_count = -1, .n_buffers = n_buffers, .buffers = buffers};
  struct cdv_owner none = {NULL, NULL};
  struct cdv_array *out = NULL;
  CHECK(cdv_array_build(schema, &parts, none, 1, &out) == 0);
  return out;
}

static const int64_t *numbers_of(const struct cdv_array *a) { return a->node->buffers[1]; }

/* Of rows 0 ... n - 1 that are no nulls, each times k. */
static int64_t sum_of(int64_t n, int64_t k) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++)
    if (i % 5) sum += k * values[i];
  return sum;
}

static void sum_is(struct cdv_array *a, int64_t want) {
  struct cdv_aggregate f = {.family = "reduce",
                            .type = "i64",
                            .tile = "sum",
                            .merge = "i64",
                            .end_family = "reduce",
                            .end_type = "i64",
                            .end = "finish",
                            .option = {1, 1, 0},
                            .values = true,
                            .out = of_numbers};
  struct cdv_array *out = NULL;
  CHECK(cdv_compute_aggregate(&f, &a, 1, NULL, &out) == 0 && out);
  if (!out) return;
  CHECK(numbers_of(out)[0] == want);
  cdv_array_unref(out);
}

/* Texts of the rows whose value is below the limit. */
static void texts_are(struct cdv_array *all, struct cdv_array *mask, int64_t limit) {
  struct cdv_array *few = NULL;
  int64_t k = 0;
  CHECK(cdv_select_filter(all, mask, false, NULL, &few) == 0 && few);
  if (!few) return;
  const int32_t *at = few->node->buffers[1];
  const char *bytes = few->node->buffers[2];
  for (int64_t i = 0; i < all->length; i++) {
    if (!(i % 5) || values[i] >= limit) continue;
    CHECK(at[k + 1] - at[k] == i % 7 && !memcmp(bytes + at[k], letters + ends[i], (size_t)(i % 7)));
    k++;
  }
  CHECK(few->length == k);
  cdv_array_unref(few);
}

/* Rows of one value, or null, have the number of their first row, and numbers grow as first rows do. */
static bool same_key(const struct cdv_array *a, int64_t i, int64_t k) {
  bool known = i % 5, other = k % 5;
  if (known != other || !known) return known == other;
  if (a->schema->node->format[0] == 'l') return values[i] == values[k];
  return i % 7 == k % 7 && !memcmp(letters + ends[i], letters + ends[k], (size_t)(i % 7));
}

static void groups_are(struct cdv_array *a, int64_t n_groups) {
  struct cdv_array *ids = NULL, *first = NULL, *sums = NULL;
  int64_t next = 0, wrong = 0, total = 0;
  CHECK(cdv_compute_group_ids(&a, 1, CDV_KEY_BITS, NULL, "test", &ids, &first) == 0 && ids && first);
  if (!ids || !first) return;
  const uint32_t *of = ids->node->buffers[1];
  for (int64_t i = 0; i < a->length; i++) {
    int64_t k = of[i] < first->length ? numbers_of(first)[of[i]] : -1;
    wrong += k < 0 || k > i || (k == i ? of[i] != next : of[i] >= next) || !same_key(a, i, k);
    next += k == i;
  }
  CHECK(!wrong && next == first->length && (n_groups < 0 || next == n_groups));
  if (a->schema->node->format[0] == 'l') {
    CHECK(cdv_compute_accumulate(a, ids, next, NULL, CDV_ACCUMULATE_SUM, NULL, "test", &sums) == 0 && sums);
    for (int64_t g = 0; sums && g < next; g++) total += numbers_of(sums)[g];
    CHECK(total == sum_of(a->length, 1));
  }
  if (sums) cdv_array_unref(sums);
  cdv_array_unref(ids);
  cdv_array_unref(first);
}

static void turn(unsigned *seed) {
  int which = (int)rnd(seed, 4);
  int64_t n = lengths[which], kept = 0, limit = 500;
  struct cdv_array *a = arrays[which], *twice = NULL, *mask = NULL, *few = NULL;
  struct cdv_elementwise add = {
      .family = "arith", .type = "i64", .name = "add", .granularity = CDV_PER_ROW, .out = of_numbers};
  struct cdv_elementwise less = {
      .family = "compare", .type = "i64", .name = "less", .granularity = CDV_PER_ROW_PACKED, .out = of_bits};
  struct cdv_datum both[2] = {{.array = a}, {.array = a}}, limited[2] = {{.array = a}, {.bits = limit}};
  struct cdv_selection chosen = {0};
  CHECK(cdv_compute_elementwise(&add, both, 2, NULL, &twice) == 0);
  CHECK(cdv_compute_elementwise(&less, limited, 2, NULL, &mask) == 0);
  if (twice && n > 1) sum_is(twice, sum_of(n, 2));
  for (int64_t i = 0; i < n; i++) kept += i % 5 && values[i] < limit;
  if (mask && !cdv_selection_from_mask(&chosen, mask, NULL)) {
    CHECK(chosen.n_selected == kept);
    CHECK(cdv_compute_filter(&chosen, a, NULL, &few) == 0);
    if (few && few->length) {
      int64_t k = 0;
      for (int64_t i = 0; i < n; i++)
        if (i % 5 && values[i] < limit) CHECK(numbers_of(few)[k++] == values[i]);
    }
    cdv_selection_free(&chosen);
  }
  if (mask) texts_are(texts[which], mask, limit);
  groups_are(a, n >= 1000 * 5 ? 801 : -1);
  groups_are(texts[which], -1);
  if (few) cdv_array_unref(few);
  if (mask) cdv_array_unref(mask);
  if (twice) cdv_array_unref(twice);
}

static void *work(void *seed) {
  for (int i = 0; i < TURNS; i++) turn(seed);
  return NULL;
}

/* A user's programs are kept by this name, in a folder that machines of several kinds may share. */
static void the_compiler_names_its_processor(void) {
  uint32_t flags;
  char text[64] = "";
  cdevice_error err = {.struct_size = sizeof err};
  CHECK(!cpu_compute.identity(NULL, 0, &flags, text, sizeof text, &err));
#if defined(__aarch64__)
  CHECK(!strcmp(text, "compiled, arm64"));
#elif defined(__x86_64__)
  CHECK(!strcmp(text, "compiled, base") || !strcmp(text, "compiled, x86-64-v3"));
#endif
}

int main(void) {
  the_compiler_names_its_processor();
  struct ArrowSchema l = {.format = "l", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = stays};
  struct ArrowSchema b = {.format = "b", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = stays};
  CHECK(cdv_load_builtin("cpu", 0) == 0);
  struct ArrowSchema u = {.format = "u", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = stays};
  CHECK(!cdv_schema_import(&l, &of_numbers) && !cdv_schema_import(&b, &of_bits) && !cdv_schema_import(&u, &of_texts));
  for (int64_t i = 0; i < MOST; i++) {
    values[i] = i * 7919 % 1000 - 100;
    ends[i + 1] = ends[i] + (int32_t)(i % 7);
    memset(letters + ends[i], 'a' + (int)(i % 26), (size_t)(i % 7));
    if (i % 5) nulls[i >> 3] |= (uint8_t)(1 << (i & 7));
  }
  const void *of_column[2] = {nulls, values}, *of_text[3] = {nulls, ends, letters};
  for (int i = 0; i < 4; i++) {
    arrays[i] = column(of_numbers, lengths[i], of_column, 2);
    texts[i] = column(of_texts, lengths[i], of_text, 3);
  }
  int before = cdv_threads(CDV_POOL_KERNELS, 3);
  unsigned seeds[THREADS] = {1, 2, 3, 4};
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], NULL, work, &seeds[i]));
  for (int i = 0; i < 200; i++) {
    cdv_threads(CDV_POOL_KERNELS, 1 + i % 4);
    sum_is(arrays[1 + i % 2], sum_of(lengths[1 + i % 2], 1));
  }
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  cdv_threads(CDV_POOL_KERNELS, before);
  for (int i = 0; i < 4; i++) cdv_array_unref(arrays[i]), cdv_array_unref(texts[i]);
  cdv_schema_unref(of_numbers);
  cdv_schema_unref(of_bits);
  cdv_schema_unref(of_texts);
  CHECK(cdv_live_arrays() == 0);
  if (failures) return 1;
  puts("compute: passed");
  return 0;
}
