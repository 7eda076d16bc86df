/* test_runtime.c - drives the tables of cuda.c and rocm.c as the core does, on hostrt, the stand-in runtime.
 *
 * Builds hostrt with make into the working directory.  Exit code 0: all passed; 77: no make or compiler here.  Gates
 * hold streams; nothing sleeps.  What passes here ran on host memory, not on a GPU. */
#include "common/dl.h"

#include "cdevice/backend.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hostrt/hostrt.h"

int cdevice_cuda_init(uint32_t, int64_t, const cdevice_backend **, cdevice_error *);
int cdevice_rocm_init(uint32_t, int64_t, const cdevice_backend **, cdevice_error *);

static cdevice_error err = {.struct_size = sizeof err};
static const char *doing = "";
#define CHECK(condition)                                                                                          \
  do {                                                                                                            \
    if (!(condition)) {                                                                                           \
      fprintf(stderr, "%s:%d (%s): failed: %s\n  last error: %d %s: %s\n", __FILE__, __LINE__, doing, #condition, \
              (int)err.vendor_code, err.vendor_name, err.message);                                                \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)

static struct {
  void (*get_stats)(struct hostrt_stats *);
  int (*gate)(void *);
  void (*open)(void);
  void (*fail)(const char *, int, int);
  int (*peek)(const void *, void *, size_t);
  int (*fill)(uintptr_t, int, size_t, void *); /* the vendor's own memset */
  int (*sync)(void *);
  int (*current)(void *);
  void (*on_call)(const char *, void (*)(void));
} rt;

static void find(const char *path, int cuda) {
  void *h = dlopen(path, RTLD_NOW);
  CHECK(h);
#define FIND(member, name) *(void **)&rt.member = dlsym(h, name)
  FIND(get_stats, "hostrt_get_stats");
  FIND(gate, "hostrt_gate");
  FIND(open, "hostrt_open");
  FIND(fail, "hostrt_fail");
  FIND(peek, "hostrt_peek");
  FIND(fill, cuda ? "cuMemsetD8Async" : "hipMemsetAsync");
  FIND(sync, cuda ? "cuStreamSynchronize" : "hipStreamSynchronize");
  FIND(current, cuda ? "cuCtxGetCurrent" : "hipGetDevice");
  FIND(on_call, "hostrt_on_call");
  CHECK(rt.on_call && rt.get_stats && rt.gate && rt.open && rt.fail && rt.peek && rt.fill && rt.sync && rt.current);
}

static struct hostrt_stats stats(void) {
  struct hostrt_stats s;
  rt.get_stats(&s);
  return s;
}

struct bytes {
  int64_t live, pooled, pending, peak;
};
static struct bytes memory(const cdevice_backend *b, int64_t device) {
  const cdevice_pool *p = b->extension(b->self, CDEVICE_POOL);
  struct bytes m;
  CHECK(p && p->struct_size == sizeof *p);
  p->statistics(b->self, device, &m.live, &m.pooled, &m.pending, &m.peak);
  return m;
}
static void trim(const cdevice_backend *b, int64_t device) {
  ((const cdevice_pool *)b->extension(b->self, CDEVICE_POOL))->trim(b->self, device);
}
static void until_passed(const cdevice_backend *b, int64_t device) {
  while (memory(b, device).pending) sched_yield();
}

/* Holds the default stream of device 0.  The stand-in's own call has no context: the thread's last one counts. */
static void close_gate(const cdevice_backend *b) {
  cdevice_device_info info = {.struct_size = sizeof info};
  CHECK(b->device_info(b->self, 0, &info, &err) == 0 && rt.gate(NULL) == 0);
}

static atomic_int called;
static void count_call(void *arg) { atomic_fetch_add(&called, (int)(intptr_t)arg); }

static void test_memory(const cdevice_backend *b) {
  cdevice_block x, y;
  cdevice_event e = {0};
  int done = -1;
  CHECK(b->alloc(b->self, 0, 1000, NULL, &x, &err) == 0 && x.data && x.nbytes == 1000);
  CHECK(memory(b, 0).live == 1024 && memory(b, 1).live == 0);
  CHECK(b->alloc(b->self, 1, 5000, NULL, &y, &err) == 0);
  CHECK(memory(b, 1).live == 5120);
  CHECK(b->alloc(b->self, 2, 10, NULL, &y, &err) == EINVAL && err.vendor_code == 101);
  CHECK(b->alloc(b->self, 0, INT64_MAX / 2, NULL, &y, &err) == ENOMEM);

  int32_t type = 0;
  int64_t device = 0, behind = 0;
  CHECK(b->locate(b->self, (char *)x.data + 24, &type, &device, &behind, &err) == 0);
  CHECK(type == b->device_type && device == 0 && (behind == -1 || behind == 1000));
  device = 1;
  CHECK(b->locate(b->self, y.data, &type, &device, &behind, &err) == 0 && device == 1);
  int local;
  CHECK(b->locate(b->self, &local, &type, &device, &behind, &err) == EINVAL);

  unsigned char in[1000], out[1000] = {0};
  for (int i = 0; i < 1000; i++) in[i] = (unsigned char)(i * 7);
  cdevice_copy there[2] = {{x.data, 0, 0, in, 0, -1, 600}, {x.data, 600, 0, in, 600, -1, 400}};
  cdevice_copy back = {out, 0, -1, x.data, 0, 0, 1000};
  int64_t blocked = stats().host_blocks;
  close_gate(b);
  CHECK(b->copy(b->self, CDEVICE_COPY_H2D, there, 2, NULL, &err) == 0);
  CHECK(b->fill(b->self, &x, 10, 5, 0xAB, NULL, &err) == 0);
  CHECK(b->copy(b->self, CDEVICE_COPY_D2H, &back, 1, NULL, &err) == 0);
  CHECK(b->event_record(b->self, 0, NULL, &e, &err) == 0 && e.sync_event == &e.slot && e.slot);
  CHECK(b->event_done(b->self, 0, e.sync_event, &done, &err) == 0 && done == 0);
  atomic_store(&called, 0);
  CHECK(b->event_notify(b->self, 0, e.sync_event, count_call, (void *)1, &err) == 0);
  void *other = NULL;
  CHECK(b->stream_create(b->self, 1, &other, &err) == 0);
  CHECK(b->event_wait_stream(b->self, 1, e.sync_event, other, &err) == 0); /* of another device of the family */
  b->free(b->self, &x);
  CHECK(memory(b, 0).pending == 1024 && stats().host_blocks == blocked && !atomic_load(&called));
  cdevice_block z;
  CHECK(b->alloc(b->self, 0, 1000, NULL, &z, &err) == 0 && z.data != x.data);
  rt.open();
  CHECK(b->event_wait_host(b->self, 0, e.sync_event, &err) == 0);
  for (int i = 0; i < 1000; i++) CHECK(out[i] == (i >= 10 && i < 15 ? 0xAB : in[i]));
  while (!atomic_load(&called)) sched_yield();
  until_passed(b, 0);
  cdevice_block again;
  CHECK(b->alloc(b->self, 0, 900, NULL, &again, &err) == 0 && again.data == x.data);
  CHECK(b->stream_wait_host(b->self, 1, other, &err) == 0);
  b->stream_destroy(b->self, 1, other);

  cdevice_copy peer = {y.data, 0, 1, z.data, 0, 0, 900};
  CHECK(b->fill(b->self, &z, 0, 1000, 3, NULL, &err) == 0);
  cdevice_event f = {0};
  CHECK(b->event_record(b->self, 0, NULL, &f, &err) == 0);
  CHECK(b->event_wait_stream(b->self, 1, f.sync_event, NULL, &err) == 0);
  CHECK(b->copy(b->self, CDEVICE_COPY_PEER, &peer, 1, NULL, &err) == 0);
  CHECK(b->stream_wait_host(b->self, 1, NULL, &err) == 0);
  CHECK(rt.peek(y.data, out, 900) == 0);
  for (int i = 0; i < 900; i++) CHECK(out[i] == 3);
  b->event_destroy(b->self, 0, &f);
  b->event_destroy(b->self, 0, &e);
  CHECK(!e.slot);
  b->free(b->self, &again);
  b->free(b->self, &y);
  b->free(b->self, &z);
  cdevice_device_info info = {.struct_size = sizeof info};
  CHECK(b->device_info(b->self, 1, &info, &err) == 0 && info.alignment == 256 && info.name[0] && info.driver[0]);
  for (int d = 0; d < 2; d++) {
    until_passed(b, d);
    trim(b, d);
    struct bytes m = memory(b, d);
    CHECK(m.live == 0 && m.pooled == 0 && m.pending == 0 && m.peak >= 1024);
  }
}

/* Sizes: rounding adds less than a fifth of the block, and every size finds its own class again. */
static void test_classes(const cdevice_backend *b) {
  for (int64_t n = 1; n < 3000000; n += n / 3 + 1) {
    cdevice_block x, y;
    int64_t before = memory(b, 0).live;
    CHECK(b->alloc(b->self, 0, n, NULL, &x, &err) == 0);
    int64_t size = memory(b, 0).live - before;
    CHECK(size >= n && (size == 512 || (size - n) * 5 < size + 5));
    b->free(b->self, &x);
    until_passed(b, 0);
    CHECK(b->alloc(b->self, 0, size, NULL, &y, &err) == 0 && y.data == x.data);
    b->free(b->self, &y);
    until_passed(b, 0);
  }
  trim(b, 0);
}

/* Nothing can be recorded behind a block, or what was recorded cannot be asked: it is not used again, and comes back to
 * the vendor by a trim, which waits. */
static void test_lost(const cdevice_backend *b, const char *record, const char *query) {
  for (int turn = 0; turn < 2; turn++) {
    cdevice_block x, y;
    CHECK(b->alloc(b->self, 0, 700, NULL, &x, &err) == 0);
    close_gate(b);
    int64_t blocked = stats().host_blocks;
    if (turn == 0) rt.fail(record, 0, 719);
    b->free(b->self, &x);
    if (turn == 1) rt.fail(query, 0, 719);
    CHECK(b->alloc(b->self, 0, 700, NULL, &y, &err) == 0 && y.data != x.data);
    b->free(b->self, &y);
    CHECK(stats().host_blocks == blocked && memory(b, 0).pending >= 768);
    rt.open();
    trim(b, 0);
    until_passed(b, 0);
    trim(b, 0);
    struct bytes m = memory(b, 0);
    CHECK(m.live == 0 && m.pooled == 0 && m.pending == 0);
  }
  rt.fail("nothing", 0, 0);
}

struct job {
  const cdevice_backend *b;
  unsigned seed;
};

static void *worker(void *arg) {
  struct job *j = arg;
  const cdevice_backend *b = j->b;
  void *before = NULL, *after = NULL;
  rt.current(&before);
  cdevice_error e = {.struct_size = sizeof e};
  for (int i = 0; i < 120; i++) {
    int64_t device = rand_r(&j->seed) & 1, n = 64 + rand_r(&j->seed) % 4000;
    void *stream = NULL;
    cdevice_block x;
    cdevice_event event = {0};
    unsigned char in[4100], out[4100];
    memset(in, i, (size_t)n);
    if (i % 3) CHECK(b->stream_create(b->self, device, &stream, &e) == 0);
    CHECK(b->alloc(b->self, device, n, stream, &x, &e) == 0);
    cdevice_copy there = {x.data, 0, device, in, 0, -1, n}, back = {out, 0, -1, x.data, 0, device, n};
    CHECK(b->copy(b->self, CDEVICE_COPY_H2D, &there, 1, stream, &e) == 0);
    CHECK(b->copy(b->self, CDEVICE_COPY_D2H, &back, 1, stream, &e) == 0);
    CHECK(b->event_record(b->self, device, stream, &event, &e) == 0);
    int r = b->event_notify(b->self, device, event.sync_event, count_call, (void *)1, &e);
    CHECK(r == 0 || r == ENOTSUP);
    if (r) count_call((void *)1);
    if (i & 1) b->free(b->self, &x); /* while the copies are queued */
    CHECK(b->event_wait_host(b->self, device, event.sync_event, &e) == 0);
    CHECK(!memcmp(in, out, (size_t)n));
    if (!(i & 1)) b->free(b->self, &x);
    b->event_destroy(b->self, device, &event);
    if (stream) b->stream_destroy(b->self, device, stream);
    if (i % 16 == 0) trim(b, device);
  }
  rt.current(&after);
  CHECK(before == after);
  return NULL;
}

static void test_threads(const cdevice_backend *b) {
  pthread_t t[6];
  struct job jobs[6];
  atomic_store(&called, 0);
  for (unsigned i = 0; i < 6; i++) {
    jobs[i] = (struct job){b, i + 1};
    CHECK(pthread_create(&t[i], NULL, worker, &jobs[i]) == 0);
  }
  for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
  while (atomic_load(&called) < 6 * 120) sched_yield();
  for (int d = 0; d < 2; d++) {
    until_passed(b, d);
    trim(b, d);
    struct bytes m = memory(b, d);
    CHECK(m.live == 0 && m.pooled == 0 && m.pending == 0);
  }
  CHECK(atomic_load(&called) == 6 * 120);
}

/* The device fails while a callback waits for an event: it is called once, by the thread that learns of it. */
static void test_sticky(const cdevice_backend *b) {
  cdevice_event e[12];
  void *stream;
  int n = 0;
  CHECK(b->stream_create(b->self, 0, &stream, &err) == 0 && rt.gate(stream) == 0);
  atomic_store(&called, 0);
  for (int i = 0; i < 12; i++) {
    CHECK(b->event_record(b->self, 0, stream, &e[i], &err) == 0);
    int r = b->event_notify(b->self, 0, e[i].sync_event, count_call, (void *)1, &err);
    CHECK(r == 0 || r == ENOTSUP);
    n += !r;
  }
  CHECK(n == 8 && !atomic_load(&called));
  cdevice_block x;
  CHECK(b->alloc(b->self, 0, 100, NULL, &x, &err) == 0);
  void *side;
  CHECK(b->stream_create(b->self, 0, &side, &err) == 0);
  cdevice_copy bad = {(void *)64, 0, 0, x.data, 0, 0, 64};
  CHECK(b->copy(b->self, CDEVICE_COPY_D2D, &bad, 1, side, &err) == 0);
  CHECK(b->stream_wait_host(b->self, 0, side, &err) == EIO && err.vendor_code == 700 && strstr(err.message, "waiting"));
  CHECK(atomic_load(&called) == n);
  rt.open();
  int done = 0;
  CHECK(b->event_done(b->self, 0, e[0].sync_event, &done, &err) == EIO && err.vendor_code == 700);
  CHECK(b->event_notify(b->self, 0, e[0].sync_event, count_call, (void *)1, &err) != 0);
  b->free(b->self, &x);
  for (int i = 0; i < 12; i++) b->event_destroy(b->self, 0, &e[i]);
  CHECK(memory(b, 0).live == 0 && atomic_load(&called) == n);
}

/* The thread that enters a guard waits by yielding: counted, so that a call under way knows that it waits. */
static _Thread_local bool enters_guard;
static atomic_int yields, inside, called_inside, in_call;
int sched_yield(void) {
  if (enters_guard) atomic_fetch_add(&yields, 1);
  return (int)syscall(SYS_sched_yield);
}

static void until_guard_is_tried(void) {
  atomic_store(&in_call, 1);
  while (!atomic_load(&yields) && !atomic_load(&inside)) sched_yield();
  atomic_fetch_add(&called_inside, atomic_load(&inside));
}

static void *enter_guard(void *p) {
  const cdevice_backend *b = p;
  enters_guard = true;
  while (!atomic_load(&in_call)) syscall(SYS_sched_yield);
  ((const cdevice_memory *)b->extension(b->self, CDEVICE_MEMORY))->capture_enter_exit(b->self, 0, 1);
  atomic_store(&inside, 1);
  return NULL;
}

/* A guard that a thread enters while a call that would end a capture is under way begins after that call. */
static void test_guard(const cdevice_backend *b, const char *launch) {
  cdevice_event e;
  pthread_t thread;
  const cdevice_memory *m = b->extension(b->self, CDEVICE_MEMORY);
  atomic_store(&yields, 0), atomic_store(&inside, 0), atomic_store(&in_call, 0), atomic_store(&called, 0);
  CHECK(b->event_record(b->self, 0, NULL, &e, &err) == 0);
  CHECK(!pthread_create(&thread, NULL, enter_guard, (void *)b));
  rt.on_call(launch, until_guard_is_tried);
  CHECK(b->event_notify(b->self, 0, e.sync_event, count_call, (void *)1, &err) == 0);
  rt.on_call(NULL, NULL);
  CHECK(!pthread_join(thread, NULL));
  CHECK(atomic_load(&in_call) && !atomic_load(&called_inside));
  CHECK(b->event_notify(b->self, 0, e.sync_event, count_call, (void *)1, &err) == ENOTSUP);
  m->capture_enter_exit(b->self, 0, -1);
  while (!atomic_load(&called)) sched_yield();
  b->event_destroy(b->self, 0, &e);
}

/* A code that reports a dead device is EIO; another is not. */
static void test_codes(const cdevice_backend *b, const char *query, int cuda) {
  static const int dead[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 805, 806, 810};
  static const int alive[] = {1, 2, 3, 4, 201, 400, 801, 807, 900, 901, 904, 905, 906, 907, 908, 999};
  int gone = cuda ? 400 : 709; /* HIP's word for a stream that is no more is CUDA's for a context */
  cdevice_event e = {0};
  int done = 0;
  CHECK(b->event_record(b->self, 0, NULL, &e, &err) == 0);
  rt.fail(query, -1, gone);
  CHECK(b->event_done(b->self, 0, e.sync_event, &done, &err) == EINVAL && err.vendor_code == gone);
  for (size_t i = 0; i < sizeof dead / sizeof *dead; i++) {
    if (dead[i] == gone) continue;
    rt.fail(query, 0, dead[i]); /* one failure proves nothing */
    CHECK(b->event_done(b->self, 0, e.sync_event, &done, &err) == 0);
    rt.fail(query, -1, dead[i]);
    CHECK(b->event_done(b->self, 0, e.sync_event, &done, &err) == EIO && err.vendor_code == dead[i]);
  }
  for (size_t i = 0; i < sizeof alive / sizeof *alive; i++) {
    rt.fail(query, -1, alive[i]);
    int r = b->event_done(b->self, 0, e.sync_event, &done, &err);
    CHECK(r && r != EIO && err.vendor_code == alive[i]);
    CHECK((r == EAGAIN) == (alive[i] >= 900 && alive[i] <= 908));
  }
  rt.fail("nothing", 0, 0);
  b->event_destroy(b->self, 0, &e);
}

static void test_vendor(cdevice_backend_init_fn init, const char *variable, const char *path, int cuda, int n_tables) {
  const cdevice_backend *tables[4];
  int n = 0;
  while (n < 4 && !init(CDEVICE_BACKEND_ABI, n, &tables[n], &err)) n++;
  CHECK(n == n_tables);
  setenv(variable, "/no/such/library.so", 1);
  CHECK(tables[0]->start(tables[0]->self, NULL, &err) == ENODEV);
  CHECK(strstr(err.message, "tried") && strstr(err.message, "/no/such/library.so"));
  setenv(variable, path, 1);
  find(path, cuda);
  for (int i = 0; i < n; i++) {
    const cdevice_backend *b = tables[i];
    int64_t count = 0;
    doing = b->name;
    CHECK(!strcmp(b->family, cuda ? "cuda" : "rocm"));
    CHECK(b->start(b->self, NULL, &err) == 0 && b->device_count(b->self, &count, &err) == 0 && count == 2);
    test_memory(b);
    test_guard(b, cuda ? "cuLaunchHostFunc" : "hipLaunchHostFunc");
    test_classes(b);
    test_lost(b, cuda ? "cuCtxRecordEvent" : "hipEventRecord", cuda ? "cuEventQuery" : "hipEventQuery");
    test_codes(b, cuda ? "cuEventQuery" : "hipEventQuery", cuda);
    test_threads(b);
    struct hostrt_stats s = stats();
    CHECK(s.misuse == 0 && s.live_device == 0 && s.live_host == 0 && s.live_managed == 0);
  }
  test_sticky(tables[0]);
}

int main(void) {
  char command[4096], here[1024], cuda[1200], hip[1200], source[1024];
  snprintf(source, sizeof source, "%s", __FILE__);
  char *slash = strrchr(source, '/');
  if (slash) *slash = 0;
  CHECK(getcwd(here, sizeof here));
  snprintf(command, sizeof command, "make -s -C '%s/../hostrt' B='%s/hostrt' >hostrt.log 2>&1", slash ? source : ".",
           here);
  if (system(command)) {
    puts("the stand-in runtime cannot be built here (see hostrt.log): apt-get install gcc make");
    return 77;
  }
  snprintf(cuda, sizeof cuda, "%s/hostrt/cuda/lib/libcuda.so.1", here);
  snprintf(hip, sizeof hip, "%s/hostrt/rocm/lib/libamdhip64.so.7", here);
  test_vendor(cdevice_cuda_init, "CDEVICE_CUDA_LIBRARY", cuda, 1, 3);
  test_vendor(cdevice_rocm_init, "CDEVICE_HIP_LIBRARY", hip, 0, 2);
  return 0;
}
