/* test_core.c - the core without Python: formats, bitmaps, the block cache, exports and the deferred list under threads.
 *
 * Linked with cdevice/core, backends and build/builtin.c; ci/test does it. */
#include "check.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/array/equal.h"
#include "core/backend/external_allocator.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/deferred_release.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/base/owner.h"
#include "core/base/parallel_memcpy.h"
#include "core/base/system.h"
#include "core/base/thread_pool.h"
#include "core/copy/copy.h"
#include "core/format/bitmap.h"
#include "core/format/layout.h"
#include "core/format/schema.h"
#include "core/validate/structure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#else
static int rand_r(unsigned *seed) { return (int)rnd(seed, 1u << 24); }
#endif

/* ---- copies in host memory ---- */
static void *move_much(void *seed_) {
  unsigned seed = *(unsigned *)seed_;
  const int64_t most = 3 << 20;
  unsigned char *src = malloc(most), *dst = malloc(most), *want = malloc(most);
  for (int64_t i = 0; i < most; i++) src[i] = (unsigned char)(i * 31 + (i >> 8));
  for (int turn = 0; turn < 12; turn++) {
    struct cdv_memcpy_range moves[40];
    int64_t at = 0;
    size_t n = 0;
    memset(dst, 0xEE, most);
    memset(want, 0xEE, most);
    for (; n < 40 && at < most; n++) { /* with gaps, some of no bytes, turns of one large one between them */
      int64_t gap = rand_r(&seed) % 100, size = turn % 3 ? rand_r(&seed) % 200000 : most, from;
      if (rand_r(&seed) % 8 == 0 && turn % 3) size = 0;
      at += gap;
      if (at > most) at = most;
      if (size > most - at) size = most - at;
      from = size < most ? rand_r(&seed) % (most - size + 1) : 0;
      moves[n] = (struct cdv_memcpy_range){(char *)dst + at, (char *)src + from, size, 0};
      memcpy(want + at, src + from, (size_t)size);
      at += size;
    }
    cdv_parallel_memcpy(moves, n);
    CHECK(!memcmp(dst, want, most));
  }
  free(src);
  free(dst);
  free(want);
  return NULL;
}

static void test_moves(void) {
  unsigned seeds[3] = {1, 2, 3};
  int before = cdv_threads(CDV_POOL_COPIES, 4);
  CHECK(before >= 1 && cdv_threads(CDV_POOL_COPIES, 0) == 4);
  cdv_parallel_memcpy(NULL, 0);
  move_much(&seeds[0]);
  pthread_t t[3];
  for (int i = 0; i < 3; i++) CHECK(!pthread_create(&t[i], NULL, move_much, &seeds[i]));
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
#if !defined(__SANITIZE_THREAD__) && !defined(_WIN32) /* it forbids threads in a child; no process forks there */
  fflush(NULL);
  pid_t child = fork();
  if (!child) {
    move_much(&seeds[1]);
    _exit(cdv_threads(CDV_POOL_COPIES, 0) == 4 && !failures ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
#endif
  CHECK(cdv_threads(CDV_POOL_COPIES, 1) == 4);
  move_much(&seeds[2]);
  cdv_threads(CDV_POOL_COPIES, before);
}

/* ---- formats ---- */
static void test_formats(void) {
  static const struct {
    const char *format;
    int type, width, n_buffers;
  } good[] = {{"n", CDV_NULL, 0, 0},
              {"b", CDV_BOOL, 0, 2},
              {"c", CDV_FIXED, 1, 2},
              {"L", CDV_FIXED, 8, 2},
              {"e", CDV_FIXED, 2, 2},
              {"d:5,2", CDV_FIXED, 16, 2},
              {"d:9,2,32", CDV_FIXED, 4, 2},
              {"d:76,-3,256", CDV_FIXED, 32, 2},
              {"w:0", CDV_FIXED, 0, 2},
              {"w:42", CDV_FIXED, 42, 2},
              {"u", CDV_BINARY, 4, 3},
              {"Z", CDV_LARGE_BINARY, 8, 3},
              {"vu", CDV_BINARY_VIEW, 16, 2},
              {"tdD", CDV_FIXED, 4, 2},
              {"ttn", CDV_FIXED, 8, 2},
              {"tss:", CDV_FIXED, 8, 2},
              {"tsn:Europe/Paris", CDV_FIXED, 8, 2},
              {"tin", CDV_FIXED, 16, 2},
              {"+l", CDV_LIST, 4, 2},
              {"+L", CDV_LARGE_LIST, 8, 2},
              {"+vl", CDV_LIST_VIEW, 4, 3},
              {"+w:3", CDV_FIXED_LIST, 0, 1},
              {"+s", CDV_STRUCT, 0, 1},
              {"+m", CDV_MAP, 4, 2},
              {"+ud:1,5,127", CDV_DENSE_UNION, 4, 2},
              {"+us:", CDV_SPARSE_UNION, 4, 1},
              {"+r", CDV_RUN_END, 0, 0}};
  static const char *const bad[] = {"",          "x",    "ii",       "d",       "d:",      "d:0,1",  "d:39,1",
                                    "d:10,1,32", "d:5",  "d:5,2,99", "d:5,2x",  "w",       "w:",     "w:-1",
                                    "w:2x",      "t",    "td",       "tdx",     "tds",     "tts:",   "ts",
                                    "tss",       "tsx:", "tDs:",     "ti",      "tix",     "v",      "vx",
                                    "vuu",       "+",    "+x",       "+ll",     "+w",      "+w:",    "+w:99999999999",
                                    "+u",        "+ud",  "+ux:0",    "+ud:0,0", "+ud:128", "+ud:1,", "+v",
                                    "+vx",       "+vll"};
  struct cdv_layout l;
  const char *why;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    int r = cdv_layout_parse(good[i].format, &l, &why);
    if (r || l.type != good[i].type || l.width != good[i].width || l.n_buffers != good[i].n_buffers) {
      fprintf(stderr, "format %s\n", good[i].format);
      failures++;
    }
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!cdv_layout_parse(bad[i], &l, &why)) {
      fprintf(stderr, "format \"%s\" was accepted\n", bad[i]);
      failures++;
    }
  CHECK(cdv_layout_parse("l", &l, &why) == 0);
  CHECK(cdv_buffer_bytes(&l, CDV_VALUES, 10) == 80);
  CHECK(cdv_buffer_bytes(&l, CDV_VALIDITY, 9) == 2);
  CHECK(cdv_buffer_bytes(&l, CDV_VALUES, INT64_MAX / 8) == -1);
  CHECK(cdv_layout_parse("u", &l, &why) == 0);
  CHECK(cdv_buffer_bytes(&l, CDV_OFFSETS, 0) == 0 && cdv_buffer_bytes(&l, CDV_OFFSETS, 3) == 16);
}

/* ---- bitmaps against the obvious ---- */
static void test_bitmaps(void) {
  uint8_t bits[64], copy[64];
  unsigned seed = 7;
  for (int i = 0; i < 64; i++) bits[i] = (uint8_t)((seed = seed * 1103515245u + 12345u) >> 16);
  for (int offset = 0; offset < 70; offset++)
    for (int length = 0; length < 300; length += 13) {
      int64_t n = 0;
      for (int i = 0; i < length; i++) n += cdv_bit(bits, offset + i);
      CHECK(cdv_bits_count(bits, offset, length) == n);
      memset(copy, 0xA5, sizeof copy);
      cdv_bits_copy(copy, 3, bits, offset, length);
      for (int i = 0; i < length; i++) CHECK(cdv_bit(copy, 3 + i) == cdv_bit(bits, offset + i));
      CHECK((copy[0] & 7) == (0xA5 & 7)); /* what lies before is kept */
    }
}

/* ---- an array of our own, exported from several threads ---- */
static atomic_int dropped;
static void drop(void *owner) {
  (void)owner;
  atomic_fetch_add(&dropped, 1);
}

static struct cdv_array *make(int columns) {
  static int64_t values[16];
  struct ArrowSchema leaf = {.format = "l", .name = "x", .flags = ARROW_FLAG_NULLABLE},
                     top = {.format = "+s", .name = ""};
  struct ArrowSchema copy, *fields[2000];
  struct cdv_schema *schema, *field = NULL;
  struct cdv_array *child, *out, *children[2000];
  const void *buffers[2] = {NULL, values}, *none[1] = {NULL};
  for (int i = 0; i < columns; i++) fields[i] = &leaf;
  top.n_children = columns;
  top.children = fields;
  CHECK(!cdv_schema_copy(&leaf, &copy) && !cdv_schema_import(&copy, &field));
  CHECK(!cdv_schema_copy(&top, &copy) && !cdv_schema_import(&copy, &schema));
  struct cdv_parts p = {.device_type = 1, .device_id = -1, .length = 16, .n_buffers = 2, .buffers = buffers};
  CHECK(!cdv_array_build(field, &p, (struct cdv_owner){drop, values}, 1, &child));
  for (int i = 0; i < columns; i++) children[i] = child;
  struct cdv_parts q = {.device_type = 1,
                        .device_id = -1,
                        .length = 16,
                        .n_buffers = 1,
                        .buffers = none,
                        .n_children = columns,
                        .children = children};
  CHECK(!cdv_array_build(schema, &q, (struct cdv_owner){NULL, NULL}, 1, &out));
  cdv_array_unref(child);
  cdv_schema_unref(field);
  cdv_schema_unref(schema);
  return out;
}

static void *export_often(void *p) {
  struct cdv_array *a = p;
  for (int i = 0; i < 400; i++) {
    struct ArrowDeviceArray d;
    struct ArrowSchema s;
    CHECK(!cdv_array_export(a, &d) && !cdv_schema_export(a->schema, &s));
    struct ArrowArray moved = *d.array.children[i % d.array.n_children];
    d.array.children[i % d.array.n_children]->release = NULL;
    if (i & 1) {
      moved.release(&moved);
      d.array.release(&d.array);
    } else {
      d.array.release(&d.array);
      CHECK(moved.length == 16);
      moved.release(&moved);
    }
    struct cdv_array *again = NULL;
    CHECK(!cdv_array_export(a, &d) && !cdv_import_pair(&s, &d, 1, &again));
    CHECK(!d.array.release && !s.release);
    cdv_array_unref(again);
  }
  return NULL;
}

static void test_exports(void) {
  static const int columns[] = {1, 39, 40, 41, 400, 401, 1500};
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
    pthread_t threads[4];
    struct cdv_array *a = make(columns[k]);
    int before = atomic_load(&dropped);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, export_often, a);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(atomic_load(&dropped) == before);
    cdv_array_unref(a);
    CHECK(atomic_load(&dropped) == before + 1);
  }
  CHECK(cdv_live_arrays() == 0 && cdv_live_schemas() == 0 && cdv_live_exports() == 0);
}

/* ---- the block cache ---- */
static void *churn(void *unused) {
  (void)unused;
  void *held[32] = {NULL};
  size_t sizes[32] = {0};
  unsigned seed = (unsigned)(uintptr_t)&held;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 1103515245u + 12345u;
    int k = (seed >> 16) & 31;
    if (held[k]) {
      CHECK(((unsigned char *)held[k])[sizes[k] - 1] == (unsigned char)k);
      cdv_block_free(held[k], sizes[k], cdv_thread_hint() + (seed >> 24 & 1)); /* its own, or another thread's */
      held[k] = NULL;
    } else {
      sizes[k] = 1 + ((seed >> 8) & (seed >> 25 & 1 ? 0xFFFF : 0x7FF));
      held[k] = cdv_block_alloc(sizes[k]);
      memset(held[k], k, sizes[k]);
    }
  }
  for (int k = 0; k < 32; k++)
    if (held[k]) cdv_block_free(held[k], sizes[k], cdv_thread_hint());
  return NULL;
}

/* ---- the deferred list: every node comes out once, those of a thread in their order ---- */
#define NODES 50000
static struct cdv_deferred nodes[4][NODES];
static void *push_all(void *p) {
  struct cdv_deferred *mine = p;
  for (int i = 0; i < NODES; i++) cdv_defer_push(&mine[i]);
  return NULL;
}

static void test_deferred(void) {
  pthread_t threads[4];
  int64_t seen = 0, next[4] = {0};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, push_all, nodes[i]);
  while (seen < 4 * NODES)
    for (struct cdv_deferred *d = cdv_defer_take(); d; d = d->next) {
      int64_t at = d - &nodes[0][0];
      CHECK(d->object == NULL && at % NODES == next[at / NODES]++);
      d->object = d;
      seen++;
    }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(seen == 4 * NODES && cdv_defer_count() == 0);
}

/* ---- copies on the CPU ---- */
static void test_copy(void) {
  struct cdv_array *a = make(20), *b = NULL;
  CHECK(!cdv_array_copy(a, 1, -1, NULL, true, &b));
  int equal = 0;
  CHECK(!cdv_array_equal(a, b, false, &equal) && equal);
  CHECK(b->node->children[3]->buffers[1] != a->node->children[3]->buffers[1]);
  CHECK((uintptr_t)b->node->children[3]->buffers[1] % 64 == 0);
  cdv_array_unref(a);
  CHECK(!cdv_validate_view(b, 2));
  cdv_array_unref(b);
}

/* ---- memory of the caller's own ---- */
static atomic_int lent, gone;
static int own_alloc(void *self, int64_t device, int64_t nbytes, void *stream, cdevice_block *out, cdevice_error *err) {
  (void)stream;
  if (self) return cdevice_backend_fail(err, ENOMEM, 7, "MINE_EMPTY", "nothing left");
  *out = (cdevice_block){cdv_aligned_alloc(64, (size_t)(nbytes + 63) / 64 * 64), nbytes, device, {NULL, NULL}};
  atomic_fetch_add(&lent, 1);
  return 0;
}
static void own_free(void *self, const cdevice_block *block) {
  (void)self;
  cdv_aligned_free(block->data);
  atomic_fetch_sub(&lent, 1);
}
static void own_drop(void *self) { (void)self, atomic_fetch_add(&gone, 1); }

static void *swap_allocators(void *count) {
  cdevice_allocator mine = {sizeof mine, 0, NULL, own_alloc, own_free, own_drop};
  for (int i = 0; i < 300; i++) {
    struct cdv_array *a = make(20), *b = NULL;
    if (count) CHECK(!cdv_set_allocator(1, i % 3 ? &mine : NULL));
    CHECK(!cdv_array_copy(a, 1, -1, NULL, true, &b));
    cdv_array_unref(a);
    cdv_array_unref(b);
  }
  return NULL;
}

static void test_allocators(void) {
  cdevice_allocator mine = {sizeof mine, 0, NULL, own_alloc, own_free, own_drop}, empty = mine, small = mine;
  struct cdv_array *a = make(20), *b = NULL;
  empty.self = &empty;
  small.struct_size = 8;
  CHECK(cdv_set_allocator(1, &small) == EINVAL && cdv_set_allocator(63, &mine) == ENODEV);
  CHECK(!cdv_set_allocator(1, &mine) && !cdv_array_copy(a, 1, -1, NULL, true, &b) && atomic_load(&lent) == 1);
  CHECK(!cdv_set_allocator(1, &empty) && !atomic_load(&gone)); /* the first one's block is still out */
  cdv_array_unref(b);
  CHECK(!atomic_load(&lent) && atomic_load(&gone) == 1);
  CHECK(cdv_array_copy(a, 1, -1, NULL, true, &b) == ENOMEM && cdv_error_last()->vendor_code == 7);
  CHECK(!cdv_set_allocator(1, NULL) && atomic_load(&gone) == 2);
  cdv_array_unref(a);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, swap_allocators, i ? &lent : NULL);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  CHECK(!cdv_set_allocator(1, NULL) && !atomic_load(&lent));
  CHECK(atomic_load(&gone) == 2 + 2 * 200);
}

int main(void) {
  pthread_t threads[4];
  CHECK(cdv_load_builtin("cpu", 0) == 0);
  CHECK(cdv_load_builtin("cpu", 0) == EEXIST);
  CHECK(cdv_load_builtin("no such", 0) == ENOENT);
  test_moves();
  test_formats();
  test_bitmaps();
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  test_exports();
  test_deferred();
  test_copy();
  test_allocators();
  CHECK(cdv_backend_live(1) == 0 && cdv_unregister(1) == 0 && !cdv_backend_table(1));
  printf("%s\n", failures ? "failed" : "core: passed");
  return failures != 0;
}
