/* test_opencl.c - drives the OpenCL table as the core does, on the platform that is there; PoCL is enough.
 *
 *   gcc -std=gnu11 -O1 -g -Wall -Wextra -Icdevice/include -Ibackends tests/c/test_opencl.c backends/opencl*.c \
 *       -o test_opencl -ldl -lpthread && ./test_opencl
 *
 * Exit code 0: all passed; 77: no OpenCL platform here, the message names what to install.  Asynchrony is
 * shown with user events that gate a queue, never by time: a closed gate stays closed until the test opens it. */
#include "common/dl.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "opencl/opencl.h"

static const cdevice_backend *be;
static cdevice_error err = {.struct_size = sizeof err};
static int checks;

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                                 \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "%s:%d: failed: %s\n  last error: %d %s: %s\n", __FILE__, __LINE__, #condition, \
              (int)err.vendor_code, err.vendor_name, err.message);                                    \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)

/* The few calls a user of OpenCL would make himself, from the loader that the backend found. */
typedef void *(*create_user_event_fn)(void *context, int32_t *code);
typedef int32_t (*set_status_fn)(void *event, int32_t status);
typedef int32_t (*release_fn)(void *object);
typedef int32_t (*info_fn)(void *object, uint32_t what, size_t size, void *value, size_t *needed);
typedef void *(*create_context_fn)(const intptr_t *properties, uint32_t n, void *const *devices, void *, void *,
                                   int32_t *code);
typedef void *(*create_queue_fn)(void *context, void *device, uint64_t properties, int32_t *code);
typedef int32_t (*barrier_fn)(void *queue, uint32_t n, void *const *events, void **event);
typedef int32_t (*on_destroy_fn)(void *mem, void (*fn)(void *mem, void *arg), void *arg);
typedef void *(*create_buffer_fn)(void *context, uint64_t flags, size_t size, void *host, int32_t *code);

static struct {
  create_user_event_fn create_user_event;
  set_status_fn set_status;
  release_fn release_event, release_queue, release_context, release_mem, flush;
  info_fn queue_info, mem_info;
  create_context_fn create_context;
  create_queue_fn create_queue;
  create_buffer_fn create_buffer;
  barrier_fn barrier;
  on_destroy_fn on_destroy;
} user;

static void load_user(void) {
  static const cdevice_dl_row rows[] = {
#define ROW(member, symbol) {symbol, (size_t)((char *)&user.member - (char *)&user), 1}
      ROW(create_user_event, "clCreateUserEvent"),
      ROW(set_status, "clSetUserEventStatus"),
      ROW(release_event, "clReleaseEvent"),
      ROW(release_queue, "clReleaseCommandQueue"),
      ROW(release_context, "clReleaseContext"),
      ROW(release_mem, "clReleaseMemObject"),
      ROW(flush, "clFlush"),
      ROW(queue_info, "clGetCommandQueueInfo"),
      ROW(mem_info, "clGetMemObjectInfo"),
      ROW(create_context, "clCreateContext"),
      ROW(create_queue, "clCreateCommandQueue"),
      ROW(create_buffer, "clCreateBuffer"),
      ROW(barrier, "clEnqueueBarrierWithWaitList"),
      ROW(on_destroy, "clSetMemObjectDestructorCallback"),
  };
  static const char *const none[] = {NULL};
  cdevice_dl dl = {0};
  CHECK(cdevice_dl_open(&dl, "libOpenCL", NULL, none, "clGetPlatformIDs") == 0); /* the backend mapped it */
  CHECK(cdevice_dl_load(&dl, rows, sizeof rows / sizeof *rows, &user) == 0);
}

static void *context_of(void *queue) {
  void *context = NULL;
  CHECK(user.queue_info(queue, 0x1090, sizeof context, &context, NULL) == 0);
  return context;
}

static void *device_of(void *queue) {
  void *device = NULL;
  CHECK(user.queue_info(queue, 0x1091, sizeof device, &device, NULL) == 0);
  return device;
}

static uint32_t references(void *mem) {
  uint32_t count = 0;
  CHECK(user.mem_info(mem, 0x1105, sizeof count, &count, NULL) == 0);
  return count;
}

static void *new_gate(void *context) {
  int32_t code = 0;
  void *gate = user.create_user_event(context, &code);
  CHECK(gate && code == 0);
  return gate;
}

/* Closes a gate on the queue: nothing enqueued after it runs before it is opened. */
static void *close_gate(void *queue) {
  void *gate = new_gate(context_of(queue));
  CHECK(user.barrier(queue, 1, &gate, NULL) == 0);
  return gate;
}

static void open_gate(void *gate) {
  CHECK(user.set_status(gate, 0) == 0);
  CHECK(user.release_event(gate) == 0);
}

/* Waiting for a callback, with an end to it. */
typedef struct latch {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count;
} latch;

#define LATCH {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static void latch_hit(void *arg) {
  latch *l = arg;
  pthread_mutex_lock(&l->lock);
  l->count++;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->lock);
}

static int latch_count(latch *l) {
  pthread_mutex_lock(&l->lock);
  int count = l->count;
  pthread_mutex_unlock(&l->lock);
  return count;
}

static int latch_wait(latch *l, int count) {
  struct timespec end;
  int result = 0;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 60;
  pthread_mutex_lock(&l->lock);
  while (l->count < count && !result) result = pthread_cond_timedwait(&l->changed, &l->lock, &end);
  pthread_mutex_unlock(&l->lock);
  return result;
}

static void on_destroyed(void *mem, void *arg) {
  (void)mem;
  latch_hit(arg);
}

/* Shorthands. */

static void *new_stream(int64_t device) {
  void *stream = NULL;
  CHECK(be->stream_create(be->self, device, &stream, &err) == 0 && stream);
  return stream;
}

static cdevice_block new_block(int64_t device, int64_t nbytes, void *stream) {
  cdevice_block block;
  CHECK(be->alloc(be->self, device, nbytes, stream, &block, &err) == 0);
  CHECK(block.data && block.nbytes == nbytes && block.device_id == device);
  return block;
}

static int up(cdevice_block *block, int64_t offset, const void *host, int64_t nbytes, void *stream) {
  cdevice_copy copy = {block->data, offset, block->device_id, host, 0, 0, nbytes};
  return be->copy(be->self, CDEVICE_COPY_H2D, &copy, 1, stream, &err);
}

static int down(void *host, const cdevice_block *block, int64_t offset, int64_t nbytes, void *stream) {
  cdevice_copy copy = {host, 0, 0, block->data, offset, block->device_id, nbytes};
  return be->copy(be->self, CDEVICE_COPY_D2H, &copy, 1, stream, &err);
}

/* Runtimes that cannot tell of an event say ENOTSUP; then a thread of the test waits, as the core would ask. */
static struct watched {
  void **slot;
  void *told;
} watched[8];
static int n_watched;
static void *watch_event(void *p) {
  struct watched *w = p;
  be->event_wait_host(be->self, 0, w->slot, NULL);
  latch_hit(w->told);
  return NULL;
}
static int notify(cdevice_event *event, void *told) {
  int r = be->event_notify(be->self, 0, &event->slot, latch_hit, told, &err);
  if (r != ENOTSUP) return r == 0;
  pthread_t thread;
  struct watched *w = &watched[n_watched++];
  *w = (struct watched){&event->slot, told};
  return !pthread_create(&thread, NULL, watch_event, w) && !pthread_detach(thread);
}

static cdevice_event record(int64_t device, void *stream) {
  cdevice_event event = {0};
  CHECK(be->event_record(be->self, device, stream, &event, &err) == 0);
  CHECK(event.slot && event.sync_event);
  event.sync_event = NULL; /* a copy of the struct moved it; use &event.slot below */
  return event;
}

static int is_done(cdevice_event *event) {
  int done = -1;
  CHECK(be->event_done(be->self, 0, &event->slot, &done, &err) == 0);
  return done;
}

static void finish(int64_t device, void *stream) { CHECK(be->stream_wait_host(be->self, device, stream, &err) == 0); }

static void numbers(uint32_t *out, int n, uint32_t first) {
  for (int i = 0; i < n; i++) out[i] = first + (uint32_t)i;
}

/* The tests. */

/* In a child, before anything is loaded here: the message to a user without OpenCL. */
static void test_missing(const char *variable, const char *value, const char *expected) {
  pid_t child = fork();
  int status = 1;
  CHECK(child >= 0);
  if (!child) {
    cdevice_host host = {CDEVICE_BACKEND_ABI, sizeof host, NULL};
    setenv(variable, value, 1);
    _exit(be->start(be->self, &host, &err) == ENODEV && strstr(err.message, expected) &&
                  strstr(err.message, "apt-get install pocl-opencl-icd")
              ? 0
              : (fprintf(stderr, "%s=%s: %s\n", variable, value, err.message), 1));
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_table(void) {
  const cdevice_backend *other = NULL;
  int64_t count = 0;
  CHECK(cdevice_opencl_init(CDEVICE_BACKEND_ABI, 0, &be, &err) == 0);
  CHECK(cdevice_opencl_init(CDEVICE_BACKEND_ABI, 1, &other, &err) == ENOENT);
  CHECK(cdevice_opencl_init(CDEVICE_BACKEND_ABI + 0x10000, 0, &other, &err) == ENOTSUP && !other);
  CHECK(be->device_type == ARROW_DEVICE_OPENCL && !strcmp(be->name, "opencl"));
  CHECK(be->struct_size == sizeof *be && be->abi_version == CDEVICE_BACKEND_ABI);
  CHECK(be->device_count(be->self, &count, &err) == ENODEV);
  CHECK(be->device_count(be->self, &count, NULL) == ENODEV);
}

static void test_info(int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    cdevice_device_info info = {.struct_size = sizeof info};
    CHECK(be->device_info(be->self, i, &info, &err) == 0);
    CHECK(info.alignment >= 64 && !(info.alignment & (info.alignment - 1)));
    CHECK(info.name[0] && strchr(info.name, '(') && info.total_bytes > 0);
    printf("  opencl:%d %s, driver %s, alignment %u, %.1f GiB\n", (int)i, info.name, info.driver, info.alignment,
           (double)info.total_bytes / (1 << 30));
  }
  cdevice_device_info info = {.struct_size = sizeof info};
  CHECK(be->device_info(be->self, count, &info, &err) == EINVAL && strstr(err.message, "does not exist"));
  CHECK(be->device_info(be->self, -1, &info, NULL) == EINVAL);
}

static void test_alloc_view(void) {
  cdevice_device_info info = {.struct_size = sizeof info};
  CHECK(be->device_info(be->self, 0, &info, &err) == 0);
  int64_t step = info.alignment;
  uint32_t host[4], back[4] = {0};
  cdevice_block whole, view, inner, same, bad;
  memset(&bad, 0, sizeof bad);
  CHECK(be->alloc(be->self, 0, 0, NULL, &bad, &err) == EINVAL);
  CHECK(be->alloc(be->self, 0, -1, NULL, &bad, &err) == EINVAL);
  CHECK(be->alloc(be->self, 99, 64, NULL, &bad, &err) == EINVAL);
  CHECK(be->alloc(be->self, 0, (int64_t)1 << 60, NULL, &bad, &err) == ENOMEM && err.vendor_code < 0);
  CHECK(!strncmp(err.vendor_name, "CL_", 3));

  whole = new_block(0, 8 * step, NULL);
  CHECK(be->view(be->self, &whole, 2 * step, 4 * step, &view, &err) == 0);
  CHECK(view.data != whole.data && view.nbytes == 4 * step && view.device_id == 0);
  CHECK(be->view(be->self, &view, step, 16, &inner, &err) == 0); /* a view of a view */
  CHECK(be->view(be->self, &whole, 0, whole.nbytes, &same, &err) == 0 && same.data == whole.data);
  CHECK(be->view(be->self, &whole, 1, 8, &bad, &err) == EINVAL);
  CHECK(!strcmp(err.vendor_name, "CL_MISALIGNED_SUB_BUFFER_OFFSET") && err.vendor_code == -13);
  CHECK(be->view(be->self, &whole, 8 * step, 1, &bad, &err) == EINVAL);
  CHECK(be->view(be->self, &whole, 0, 8 * step + 1, &bad, &err) == EINVAL);
  CHECK(be->view(be->self, &whole, INT64_MAX, INT64_MAX, &bad, &err) == EINVAL);
  CHECK(be->view(be->self, &whole, 0, 0, &bad, &err) == EINVAL);
  CHECK(be->view(be->self, &view, 0, 4 * step + 1, &bad, &err) == EINVAL);
  CHECK(bad.data == NULL);

  numbers(host, 4, 7);
  CHECK(up(&whole, 3 * step, host, sizeof host, NULL) == 0); /* where `inner` lies */
  finish(0, NULL);
  be->free(be->self, &same);
  be->free(be->self, &whole);
  be->free(be->self, &view);
  CHECK(down(back, &inner, 0, sizeof back, NULL) == 0); /* its memory is the parent's, alive by it alone */
  finish(0, NULL);
  CHECK(!memcmp(host, back, sizeof host));
  be->free(be->self, &inner);
  memset(&bad, 0, sizeof bad);
  be->free(be->self, &bad);
}

static void test_copies(void) {
  enum { n = 1000 };
  uint32_t host[n], back[n], untouched = 77;
  void *stream = new_stream(0);
  cdevice_block a = new_block(0, sizeof host, stream), b = new_block(0, sizeof host, stream);
  cdevice_copy list[3];
  numbers(host, n, 100);
  memset(back, 0, sizeof back);
  /* Odd offsets on both sides, and an empty one with nothing to point to. */
  list[0] = (cdevice_copy){a.data, 0, 0, host, 0, 0, 1001};
  list[1] = (cdevice_copy){NULL, 0, 0, NULL, 0, 0, 0};
  list[2] = (cdevice_copy){a.data, 1001, 0, host, 1001, 0, (int64_t)sizeof host - 1001};
  CHECK(be->copy(be->self, CDEVICE_COPY_H2D, list, 3, stream, &err) == 0);
  list[0] = (cdevice_copy){b.data, 4, 0, a.data, 0, 0, (int64_t)sizeof host - 4};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2D, list, 1, stream, &err) == 0);
  CHECK(down(back, &b, 4, sizeof host - 4, stream) == 0);
  CHECK(be->copy(be->self, CDEVICE_COPY_H2D, list, 0, stream, &err) == 0);
  cdevice_event event = record(0, stream);
  CHECK(be->event_wait_host(be->self, 0, &event.slot, &err) == 0 && is_done(&event) == 1);
  CHECK(!memcmp(host, back, sizeof host - 4));
  be->event_destroy(be->self, 0, &event);
  CHECK(!event.slot && !event.sync_event);

  /* Refused as a whole: the good first copy is not sent either. */
  list[0] = (cdevice_copy){&untouched, 0, 0, a.data, 0, 0, 4};
  list[1] = (cdevice_copy){back, 0, 0, a.data, (int64_t)sizeof host - 3, 0, 4};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2H, list, 2, stream, &err) == EINVAL && err.vendor_code == -30);
  CHECK(strstr(err.message, "copy 1") && strstr(err.message, "4000"));
  finish(0, stream);
  CHECK(untouched == 77);
  CHECK(down(back, &a, -1, 4, stream) == EINVAL && down(back, &a, 0, -4, stream) == EINVAL);
  CHECK(down(back, &a, 4, INT64_MAX, stream) == EINVAL);
  CHECK(down(NULL, &a, 0, 4, stream) == EINVAL && err.vendor_code == -37);
  cdevice_block none = {.nbytes = 4};
  CHECK(down(back, &none, 0, 4, stream) == EINVAL && err.vendor_code == -38);
  CHECK(be->copy(be->self, 9, list, 1, stream, &err) == EINVAL);
  /* Refused by the runtime in the middle: what was sent is over when the error comes back. */
  list[0] = (cdevice_copy){b.data, 0, 0, a.data, 0, 0, 400};
  list[1] = (cdevice_copy){a.data, 100, 0, a.data, 0, 0, 400};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2D, list, 2, stream, &err) == EINVAL);
  CHECK(!strcmp(err.vendor_name, "CL_MEM_COPY_OVERLAP"));

  CHECK(be->fill(be->self, &a, 8, 16, 0xAB, stream, &err) == 0);
  CHECK(be->fill(be->self, &a, 8, sizeof host, 0xAB, stream, &err) == EINVAL);
  CHECK(down(back, &a, 0, sizeof back, stream) == 0);
  finish(0, stream);
  CHECK(back[1] == 101 && back[2] == 0xABABABABu && back[5] == 0xABABABABu && back[6] == 106);

  int32_t type = 0;
  int64_t device = -1, nbytes = -1;
  CHECK(be->locate(be->self, a.data, &type, &device, &nbytes, &err) == 0);
  CHECK(type == ARROW_DEVICE_OPENCL && device == 0 && nbytes == (int64_t)sizeof host);
  CHECK(be->locate(be->self, NULL, &type, &device, &nbytes, &err) == EINVAL);
  CHECK(be->compatible(be->self, 0, a.data, NULL, stream) == 1 && be->compatible(be->self, 0, a.data, NULL, NULL) == 1);
  CHECK(be->compatible(be->self, 0, NULL, NULL, NULL) == 1);
  void *current = NULL, *again = NULL;
  CHECK(be->current_stream(be->self, 0, &current, &err) == 0 && current);
  CHECK(be->current_stream(be->self, 0, &again, &err) == 0 && again == current);
  be->free(be->self, &a);
  be->free(be->self, &b);
  be->stream_destroy(be->self, 0, stream);
}

static void test_gate(void) {
  enum { n = 4096 };
  static uint32_t host[n], back[n];
  void *first = new_stream(0), *second = new_stream(0);
  cdevice_block a = new_block(0, sizeof host, first);
  latch freed = LATCH, told = LATCH;
  int done;
  numbers(host, n, 5);
  memset(back, 0, sizeof back);
  uint32_t count = references(a.data);

  void *gate = close_gate(first);
  CHECK(up(&a, 0, host, sizeof host, first) == 0);
  cdevice_event copied = record(0, first);
  CHECK(is_done(&copied) == 0);
  CHECK(be->event_wait_stream(be->self, 0, &copied.slot, second, &err) == 0); /* returns: the host does not wait */
  CHECK(down(back, &a, 0, sizeof back, second) == 0);
  cdevice_event received = record(0, second);
  CHECK(is_done(&received) == 0 && is_done(&copied) == 0);
  CHECK(be->compatible(be->self, 0, a.data, &copied.slot, second) == 1);
  CHECK(notify(&received, &told));
  CHECK(is_done(&received) == 0);
  CHECK(user.on_destroy(a.data, on_destroyed, &freed) == 0);
  be->free(be->self, &a); /* while both copies are pending */
  CHECK(latch_count(&told) == 0 && latch_count(&freed) == 0 && back[0] == 0);
  CHECK(is_done(&received) == 0);
  be->event_destroy(be->self, 0, &copied); /* while pending */

  open_gate(gate);
  CHECK(be->event_wait_host(be->self, 0, &received.slot, &err) == 0);
  CHECK(is_done(&received) == 1);
  CHECK(!memcmp(host, back, sizeof host));
  CHECK(latch_wait(&told, 1) == 0);
  CHECK(latch_wait(&freed, 1) == 0); /* so nothing was leaked */
  CHECK(notify(&received, &told));
  CHECK(latch_wait(&told, 2) == 0);
  be->event_destroy(be->self, 0, &received);
  be->event_destroy(be->self, 0, &received);

  /* No event: safe now. */
  CHECK(be->event_done(be->self, 0, NULL, &done, &err) == 0 && done == 1);
  CHECK(be->event_wait_host(be->self, 0, NULL, &err) == 0);
  CHECK(be->event_wait_stream(be->self, 0, NULL, first, &err) == 0);
  CHECK(be->event_notify(be->self, 0, NULL, latch_hit, &told, &err) == 0 && latch_count(&told) == 3);
  void *nothing = NULL;
  CHECK(be->event_done(be->self, 0, &nothing, &done, &err) == EINVAL && err.vendor_code == -58);
  CHECK(be->event_wait_host(be->self, 0, &nothing, &err) == EINVAL);
  CHECK(be->event_wait_stream(be->self, 0, &nothing, first, &err) == EINVAL);

  a = new_block(0, 64, first);
  CHECK(references(a.data) == count);
  be->free(be->self, &a);
  be->stream_destroy(be->self, 0, first);
  be->stream_destroy(be->self, 0, second);
}

/* Intel's CPU runtime fails the command that waited for the event, and goes on with the next. */
static int forgets_failures(void) {
  cdevice_device_info info = {.struct_size = sizeof info};
  CHECK(be->device_info(be->self, 0, &info, &err) == 0);
  return strstr(info.name, "Intel(R) OpenCL") != NULL;
}

static void test_failed_event(void) {
  void *stream = new_stream(0), *other = new_stream(0);
  void *broken = new_gate(context_of(stream));
  uint32_t word = 0;
  int done = -1;
  latch told = LATCH;
  cdevice_block a = new_block(0, 64, stream);
  void *barrier = NULL; /* kept: PoCL 3.1 aborts when the event of a command behind a failed one has gone */
  CHECK(user.barrier(stream, 1, &broken, &barrier) == 0);
  CHECK(down(&word, &a, 0, 4, stream) == 0);
  cdevice_event after = record(0, stream);
  CHECK(notify(&after, &told));
  CHECK(user.set_status(broken, -5) == 0);
  /* The event that failed: its own code. */
  CHECK(be->event_wait_host(be->self, 0, &broken, &err) == EIO && err.vendor_code == -5);
  CHECK(!strcmp(err.vendor_name, "CL_OUT_OF_RESOURCES") && strstr(err.message, "CL_OUT_OF_RESOURCES"));
  CHECK(be->event_done(be->self, 0, &broken, &done, &err) == EIO && err.vendor_code == -5 && done == -1);
  /* The event behind it: failed too, under any name of the runtime's. */
  if (forgets_failures()) {
    CHECK(be->event_wait_host(be->self, 0, &barrier, &err) == EIO); /* the first behind it, at least */
  } else {
    CHECK(be->event_wait_host(be->self, 0, &after.slot, &err) == EIO && err.vendor_code < 0 && err.vendor_name[0]);
    CHECK(be->event_done(be->self, 0, &after.slot, &done, &err) == EIO && done == -1);
    CHECK(be->event_wait_host(be->self, 0, &after.slot, NULL) == EIO);
  }
  CHECK(latch_wait(&told, 1) == 0);
  int result = be->event_wait_stream(be->self, 0, &broken, other, &err); /* at once, or on what comes after */
  if (!result) {
    cdevice_event behind = record(0, other);
    result = be->event_wait_host(be->self, 0, &behind.slot, &err);
    be->event_destroy(be->self, 0, &behind);
  }
  CHECK(result == EIO);
  be->event_destroy(be->self, 0, &after);
  user.release_event(barrier);
  user.release_event(broken);
  be->free(be->self, &a);
  be->stream_destroy(be->self, 0, stream);
  be->stream_destroy(be->self, 0, other);
}

/* A user's own context on the same device. */
static void test_foreign_context(void) {
  enum { n = 512 };
  uint32_t host[n], back[n], twice[n];
  void *stream = new_stream(0), *device = device_of(stream);
  int32_t code = 0, type = 0;
  int64_t at = -1, nbytes = 0;
  void *context = user.create_context(NULL, 1, &device, NULL, NULL, &code);
  CHECK(context && !code);
  void *queue = user.create_queue(context, device, 0, &code);
  CHECK(queue && !code);
  cdevice_block theirs = new_block(0, sizeof host, queue), second = new_block(0, sizeof host, queue);
  cdevice_block ours = new_block(0, sizeof host, stream);
  CHECK(context_of(queue) == context);
  CHECK(be->locate(be->self, theirs.data, &type, &at, &nbytes, &err) == 0);
  CHECK(type == 4 && at == 0 && nbytes == (int64_t)sizeof host);
  CHECK(be->compatible(be->self, 0, theirs.data, NULL, queue) == 1);
  CHECK(be->compatible(be->self, 0, theirs.data, NULL, stream) == 0);
  CHECK(be->compatible(be->self, 0, theirs.data, NULL, NULL) == 0);
  numbers(host, n, 1);

  /* Their buffers on our stream, whose gate is closed: nothing blocks, nothing is lost, the order is kept. */
  memset(back, 0, sizeof back);
  memset(twice, 0, sizeof twice);
  void *gate = close_gate(stream);
  CHECK(up(&theirs, 0, host, sizeof host, stream) == 0);
  CHECK(be->fill(be->self, &theirs, 0, 4, 0, stream, &err) == 0);
  cdevice_copy list[2] = {{second.data, 0, 0, theirs.data, 0, 0, sizeof host}};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2D, list, 1, stream, &err) == 0);
  CHECK(up(&ours, 0, host, sizeof host, stream) == 0);
  list[0] = (cdevice_copy){back, 0, 0, second.data, 0, 0, sizeof host}; /* two contexts in one batch */
  list[1] = (cdevice_copy){twice, 0, 0, ours.data, 0, 0, sizeof host};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2H, list, 2, stream, &err) == 0);
  cdevice_event all = record(0, stream);
  CHECK(is_done(&all) == 0 && back[1] == 0 && twice[1] == 0);
  be->free(be->self, &second);
  open_gate(gate);
  CHECK(be->event_wait_host(be->self, 0, &all.slot, &err) == 0);
  CHECK(back[0] == 0 && !memcmp(back + 1, host + 1, sizeof host - 4) && !memcmp(twice, host, sizeof host));

  /* Without a stream too. */
  memset(back, 0, sizeof back);
  CHECK(down(back, &theirs, 4, sizeof host - 4, NULL) == 0);
  finish(0, NULL);
  CHECK(!memcmp(back, host + 1, sizeof host - 4));

  /* Two contexts in one copy: reported, for the core to go through the host. */
  list[0] = (cdevice_copy){ours.data, 0, 0, theirs.data, 0, 0, 4};
  CHECK(be->copy(be->self, CDEVICE_COPY_D2D, list, 1, stream, &err) == ENOTSUP && err.vendor_code == -34);
  CHECK(be->copy(be->self, CDEVICE_COPY_PEER, list, 1, stream, &err) == ENOTSUP);
  CHECK(down(back, &theirs, 4, sizeof host, stream) == EINVAL);

  /* Their event on our stream and on the host. */
  memset(back, 0, sizeof back);
  gate = close_gate(queue);
  CHECK(up(&theirs, 0, host, sizeof host, queue) == 0);
  cdevice_event made = record(0, queue);
  CHECK(be->compatible(be->self, 0, NULL, &made.slot, stream) == 0);
  CHECK(be->compatible(be->self, 0, theirs.data, &made.slot, queue) == 1);
  CHECK(be->event_wait_stream(be->self, 0, &made.slot, stream, &err) == 0);
  CHECK(down(back, &theirs, 0, sizeof host, stream) == 0);
  cdevice_event received = record(0, stream);
  CHECK(is_done(&made) == 0 && is_done(&received) == 0);
  be->event_destroy(be->self, 0, &made);
  open_gate(gate);
  CHECK(be->event_wait_host(be->self, 0, &received.slot, &err) == 0);
  CHECK(!memcmp(back, host, sizeof host));
  be->event_destroy(be->self, 0, &received);

  /* Over already: nothing to wait for.  Failed already, failing later: reported. */
  finish(0, queue);
  made = record(0, queue);
  CHECK(be->event_wait_host(be->self, 0, &made.slot, &err) == 0);
  CHECK(be->event_wait_stream(be->self, 0, &made.slot, stream, &err) == 0);
  be->event_destroy(be->self, 0, &made);
  void *broken = new_gate(context);
  CHECK(be->event_wait_stream(be->self, 0, &broken, stream, &err) == 0);
  received = record(0, stream);
  CHECK(user.set_status(broken, -9999) == 0);
  CHECK(be->event_wait_host(be->self, 0, &received.slot, &err) == (forgets_failures() ? 0 : EIO));
  CHECK(be->event_wait_stream(be->self, 0, &broken, stream, &err) == EIO && err.vendor_code == -9999);
  CHECK(strstr(err.message, "-9999"));
  user.release_event(broken);

  be->event_destroy(be->self, 0, &received);
  be->event_destroy(be->self, 0, &all);
  be->free(be->self, &theirs);
  be->free(be->self, &ours);
  user.release_queue(queue);
  user.release_context(context);
  be->stream_destroy(be->self, 0, stream);
}

/* One caller's closed gate does not stop another caller who also uses their context. */
static void test_foreign_independent(void) {
  void *first = new_stream(0), *second = new_stream(0), *device = device_of(first);
  int32_t code = 0;
  uint32_t word = 42, slow = 0, fast = 0;
  void *context = user.create_context(NULL, 1, &device, NULL, NULL, &code);
  void *queue = user.create_queue(context, device, 0, &code);
  cdevice_block theirs = new_block(0, 64, queue);
  CHECK(up(&theirs, 0, &word, 4, queue) == 0);
  finish(0, queue);
  void *gate = close_gate(first);
  CHECK(down(&slow, &theirs, 0, 4, first) == 0);
  CHECK(down(&fast, &theirs, 0, 4, second) == 0);
  finish(0, second);
  CHECK(fast == 42 && slow == 0);
  /* Their context and queue may go while a copy is pending. */
  be->free(be->self, &theirs);
  user.release_queue(queue);
  user.release_context(context);
  open_gate(gate);
  finish(0, first);
  CHECK(slow == 42);
  be->stream_destroy(be->self, 0, first);
  be->stream_destroy(be->self, 0, second);
}

static void test_unordered(void) {
  enum { n = 256 };
  uint32_t host[n], back[n];
  int32_t code = 0;
  void *stream = new_stream(0);
  void *queue = user.create_queue(context_of(stream), device_of(stream), 1, &code);
  be->stream_destroy(be->self, 0, stream);
  if (!queue) {
    printf("  no out-of-order queues here\n");
    return;
  }
  numbers(host, n, 9);
  memset(back, 0, sizeof back);
  cdevice_block a = new_block(0, sizeof host, queue), b = new_block(0, sizeof host, queue);
  void *gate = close_gate(queue);
  cdevice_copy list[1] = {{b.data, 0, 0, a.data, 0, 0, sizeof host}};
  CHECK(be->fill(be->self, &a, 0, sizeof host, 1, queue, &err) == 0);
  CHECK(up(&a, 0, host, sizeof host, queue) == 0);
  CHECK(be->copy(be->self, CDEVICE_COPY_D2D, list, 1, queue, &err) == 0);
  CHECK(down(back, &b, 0, sizeof back, queue) == 0);
  cdevice_event event = record(0, queue);
  CHECK(is_done(&event) == 0);
  open_gate(gate);
  CHECK(be->event_wait_host(be->self, 0, &event.slot, &err) == 0);
  CHECK(!memcmp(host, back, sizeof host));
  be->event_destroy(be->self, 0, &event);
  be->free(be->self, &a);
  be->free(be->self, &b);
  user.release_queue(queue);
}

static void test_peer(int64_t count) {
  enum { n = 300 };
  uint32_t host[n], back[n];
  for (int64_t to = 1; to < count; to++) {
    cdevice_block a = new_block(0, sizeof host, NULL), b = new_block(to, sizeof host, NULL);
    void *zero = NULL;
    cdevice_copy list[1] = {{b.data, 0, to, a.data, 0, 0, sizeof host}};
    numbers(host, n, (uint32_t)to);
    memset(back, 0, sizeof back);
    CHECK(be->current_stream(be->self, 0, &zero, &err) == 0);
    void *gate = close_gate(zero);
    CHECK(up(&a, 0, host, sizeof host, NULL) == 0);
    cdevice_event sent = record(0, NULL);
    if (be->compatible(be->self, 0, b.data, &sent.slot, NULL)) {
      CHECK(be->event_wait_stream(be->self, to, &sent.slot, NULL, &err) == 0);
      CHECK(be->copy(be->self, CDEVICE_COPY_PEER, list, 1, NULL, &err) == 0);
      CHECK(down(back, &b, 0, sizeof back, NULL) == 0);
      cdevice_event received = record(to, NULL);
      CHECK(is_done(&received) == 0);
      open_gate(gate);
      CHECK(be->event_wait_host(be->self, to, &received.slot, &err) == 0);
      CHECK(!memcmp(host, back, sizeof host));
      be->event_destroy(be->self, to, &received);
      printf("  copied from opencl:0 to opencl:%d\n", (int)to);
    } else {
      CHECK(be->copy(be->self, CDEVICE_COPY_PEER, list, 1, NULL, &err) == ENOTSUP);
      open_gate(gate);
      printf("  opencl:0 to opencl:%d goes through the host\n", (int)to);
    }
    be->event_destroy(be->self, 0, &sent);
    be->free(be->self, &a);
    be->free(be->self, &b);
    finish(0, NULL);
    /* A stream of another device is not one for an allocation here. */
    int32_t code = 0;
    void *mine = new_stream(0), *device = device_of(mine);
    void *context = user.create_context(NULL, 1, &device, NULL, NULL, &code);
    void *queue = user.create_queue(context, device, 0, &code);
    CHECK(be->alloc(be->self, to, 64, queue, &a, &err) == EINVAL && strstr(err.message, "stream"));
    user.release_queue(queue);
    user.release_context(context);
    be->stream_destroy(be->self, 0, mine);
  }
}

static void test_svm(void) {
  const cdevice_opencl_svm *svm = be->extension(be->self, CDEVICE_OPENCL_SVM);
  uint64_t capabilities = 0;
  uint32_t word = 11, back = 0;
  void *pointer = NULL;
  CHECK(svm && svm->struct_size == sizeof *svm && !be->extension(be->self, "something/1"));
  CHECK(svm->capabilities(be->self, 0, &capabilities, &err) == 0);
  if (!capabilities) {
    CHECK(svm->alloc(be->self, 0, 256, 64, 0, NULL, &pointer, &err) == ENOTSUP);
    printf("  no shared virtual memory here\n");
    return;
  }
  void *stream = new_stream(0);
  CHECK(svm->alloc(be->self, 0, 0, 64, 0, NULL, &pointer, &err) == EINVAL);
  CHECK(svm->alloc(be->self, 0, 256, 3, 0, NULL, &pointer, &err) == EINVAL);
  CHECK(svm->alloc(be->self, 0, 256, 64, 0, stream, &pointer, &err) == 0);
  CHECK((uintptr_t)pointer % 64 == 0);
  void *gate = close_gate(stream);
  CHECK(svm->copy(be->self, 0, (char *)pointer + 8, &word, 4, stream, &err) == 0);
  CHECK(svm->copy(be->self, 0, &back, (char *)pointer + 8, 4, stream, &err) == 0);
  cdevice_event event = record(0, stream);
  CHECK(svm->free(be->self, 0, pointer, &event.slot, stream, &err) == 0); /* while pending */
  CHECK(is_done(&event) == 0 && back == 0);
  open_gate(gate);
  finish(0, stream);
  CHECK(back == 11);
  be->event_destroy(be->self, 0, &event);
  be->stream_destroy(be->self, 0, stream);
}

/* Threads: the CHECK of a thread ends the program, as wanted. */
typedef struct worker {
  pthread_t thread;
  uint32_t seed;
  void *queue; /* of another context */
} worker;

static void *work(void *arg) {
  worker *w = arg;
  enum { n = 1024, rounds = 200 };
  uint32_t host[n], back[n];
  cdevice_error own = {.struct_size = sizeof own};
  for (int round = 0; round < rounds; round++) {
    void *stream = round % 4 == 3 ? w->queue : NULL;
    cdevice_block a, b;
    cdevice_event event;
    int done = 0;
    numbers(host, n, w->seed + (uint32_t)round);
    CHECK(be->alloc(be->self, 0, sizeof host, stream, &a, &own) == 0);
    CHECK(be->alloc(be->self, 0, sizeof host, stream, &b, &own) == 0);
    cdevice_copy in = {a.data, 0, 0, host, 0, 0, sizeof host}, over = {b.data, 0, 0, a.data, 0, 0, sizeof host},
                 out = {back, 0, 0, b.data, 0, 0, sizeof host};
    /* Every eighth round their buffers on our stream. */
    if (round % 8 == 7) stream = NULL;
    CHECK(be->copy(be->self, CDEVICE_COPY_H2D, &in, 1, stream, &own) == 0);
    CHECK(be->copy(be->self, CDEVICE_COPY_D2D, &over, 1, stream, &own) == 0);
    CHECK(be->copy(be->self, CDEVICE_COPY_D2H, &out, 1, stream, &own) == 0);
    CHECK(be->event_record(be->self, 0, stream, &event, &own) == 0);
    be->free(be->self, &a);
    be->free(be->self, &b);
    if (round % 2)
      CHECK(be->event_wait_host(be->self, 0, event.sync_event, &own) == 0);
    else
      while (!done) CHECK(be->event_done(be->self, 0, event.sync_event, &done, &own) == 0);
    be->event_destroy(be->self, 0, &event);
    CHECK(!memcmp(host, back, sizeof host));
  }
  return NULL;
}

static void test_threads(void) {
  worker workers[4];
  void *mine = new_stream(0), *device = device_of(mine);
  int32_t code = 0;
  void *context = user.create_context(NULL, 1, &device, NULL, NULL, &code);
  void *queue = user.create_queue(context, device, 0, &code);
  for (int i = 0; i < 4; i++) {
    workers[i] = (worker){.seed = (uint32_t)i * 100000, .queue = queue};
    CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < 4; i++) CHECK(pthread_join(workers[i].thread, NULL) == 0);
  user.release_queue(queue);
  user.release_context(context);
  be->stream_destroy(be->self, 0, mine);
}

/* The first use of all, by all at once: one default queue comes of it. */
static void *first_use(void *arg) {
  CHECK(be->current_stream(be->self, 0, arg, NULL) == 0);
  return NULL;
}

static void test_first_use(void) {
  pthread_t threads[4];
  void *queues[4] = {0};
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, first_use, &queues[i]) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(queues[i] && queues[i] == queues[0]);
}

#define RUN(call)   \
  do {              \
    puts(#call);    \
    fflush(stdout); \
    call;           \
  } while (0)

int main(void) {
  cdevice_host host = {CDEVICE_BACKEND_ABI, sizeof host, NULL};
  int64_t count = 0;
  int result;
  setenv("POCL_DEVICES", "pthread pthread", 0); /* two devices of one platform, where PoCL is it */
  RUN(test_table());
  RUN(test_missing("CDEVICE_OPENCL_LIBRARY", "/nowhere/libOpenCL.so", "/nowhere/libOpenCL.so"));
  RUN(test_missing("CDEVICE_OPENCL_LIBRARY", "libm.so.6", "has no clGetPlatformIDs"));
  result = be->start(be->self, &host, &err);
  if (result == ENODEV) {
    printf("skipped: %s\n", err.message);
    return 77;
  }
  CHECK(result == 0);
  CHECK(be->start(be->self, &host, &err) == 0);
  CHECK(be->device_count(be->self, &count, &err) == 0 && count > 0);
  load_user();
  RUN(test_first_use());
  RUN(test_info(count));
  RUN(test_alloc_view());
  RUN(test_copies());
  RUN(test_gate());
  RUN(test_failed_event());
  RUN(test_foreign_context());
  RUN(test_foreign_independent());
  RUN(test_unordered());
  RUN(test_peer(count));
  RUN(test_svm());
  RUN(test_threads());
  be->stop(be->self);
  CHECK(be->device_count(be->self, &count, &err) == ENODEV);
  CHECK(be->start(be->self, &host, &err) == 0); /* and once more */
  RUN(test_copies());
  be->stop(be->self);
  printf("ok: %d checks\n", checks);
  return 0;
}
