/* trials.c - what the standard promises and a runtime may not keep, tried once for each device.
 *
 * Each trial holds a command behind an event of cdevice, which is always opened again; nothing is flushed before,
 * because a runtime that runs commands inside clFlush would stand still.  The findings are kept on disk by driver.
 * What must not be tried in a user's process is decided by name (platforms.c). */
#include "opencl/internal.h"

#include <sched.h>
#include <time.h>

#define TRIALS "opencl trials 2" /* change it with the trials */
#define BYTES ((size_t)4096)
#define PATIENCE 5.0 /* seconds for a command that nothing holds */
#define LATE 0.1     /* seconds from the end of a command to the end of its buffer */
#define ROUNDS 30000 /* of the kernel */
#define SPOILT 0xA5
#define ATTEMPTS 3 /* a call may fail alone */

enum { TRY_WRITE, TRY_READ, TRY_COPY, TRY_FILL, TRY_PART, TRY_KERNEL, TRY_KINDS };

typedef struct trial {
  ocl_device *slot;
  cl_context context;
  cl_command_queue queue;
  cl_mem other;
  cl_program program;
  cl_kernel kernel;
} trial;

static unsigned char was_read[BYTES]; /* one trial at a time; a command that did not end in time may still write it */

/* A buffer of a trial, on memory that this file owns until the callback has run. */
typedef struct guest {
  unsigned char memory[BYTES];
  atomic_int ended;
} guest;

static const char text[] = "__kernel void trial(__global const uint *a, __global uint *b) {\n"
                           "  uint s = a[0];\n"
                           "  for (int i = 0; i < ROUNDS; i++) s = s * 1664525u + a[s & 15u];\n"
                           "  b[0] = s;\n"
                           "}\n";

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void CL_CALL on_end(cl_mem mem, void *arg) {
  (void)mem;
  atomic_store(&((guest *)arg)->ended, 1);
}

static void CL_CALL on_called(cl_event event, cl_int status, void *arg) {
  (void)event, (void)status;
  atomic_store((atomic_int *)arg, 1);
}

/* Waits until *flag; 0: not in time. */
static int comes(atomic_int *flag, double limit) {
  double end = seconds() + limit;
  while (!atomic_load(flag) && seconds() < end) sched_yield();
  return atomic_load(flag);
}

static cl_int enqueue(trial *t, int kind, cl_mem mem, const cl_event *gate, cl_event *out) {
  static const unsigned char twos[BYTES / 4] = {2};
  static const size_t one = 1;
  cl_int code;
  switch (kind) {
    case TRY_PART:
    case TRY_WRITE: return ocl.EnqueueWriteBuffer(t->queue, mem, 0, 0, sizeof twos, twos, 1, gate, out);
    case TRY_READ: return ocl.EnqueueReadBuffer(t->queue, mem, 0, 0, BYTES, was_read, 1, gate, out);
    case TRY_COPY: return ocl.EnqueueCopyBuffer(t->queue, mem, t->other, 0, 0, BYTES, 1, gate, out);
    case TRY_FILL: return ocl.EnqueueFillBuffer(t->queue, mem, twos, 1, 0, BYTES, 1, gate, out);
    default: break;
  }
  code = ocl.SetKernelArg(t->kernel, 0, sizeof mem, &mem);
  if (!code) code = ocl.SetKernelArg(t->kernel, 1, sizeof t->other, &t->other);
  if (!code) code = ocl.EnqueueNDRangeKernel(t->queue, t->kernel, 1, NULL, &one, &one, 1, gate, out);
  if (!code) code = ocl.SetKernelArg(t->kernel, 0, sizeof t->other, &t->other); /* the kernel's next use */
  return code;
}

static int is_all(const unsigned char *bytes, int value) {
  for (size_t i = 0; i < BYTES; i++)
    if (bytes[i] != value) return 0;
  return 1;
}

/* Was the buffer, whose memory was filled with SPOILT when its end was reported, used after that?  -1: it cannot be
 * read. */
static int was_used(trial *t, int kind, const guest *g) {
  uint32_t s = 0x01010101, result;
  if (kind == TRY_WRITE || kind == TRY_PART || kind == TRY_FILL) return !is_all(g->memory, SPOILT);
  if (kind == TRY_READ) return !is_all(was_read, 1);
  if (ocl.EnqueueReadBuffer(t->queue, t->other, 1, 0, BYTES, was_read, 0, NULL, NULL)) return -1;
  if (kind == TRY_COPY) return !is_all(was_read, 1);
  for (int i = 0; i < ROUNDS; i++) s = s * 1664525u + 0x01010101u;
  memcpy(&result, was_read, sizeof result);
  return result != s;
}

/* Lets the command go and watches until it is over: was its buffer's end reported while it was in use?  An event may
 * be over a little later than its command, so what counts is what the command sees. -1: it never ended. */
static int early(trial *t, int kind, guest *g, cl_event gate, cl_event event) {
  int found = atomic_load(&g->ended), spoilt = 0;
  double end = seconds() + PATIENCE;
  cl_int status = 1;
  ocl.SetUserEventStatus(gate, CL_COMPLETE);
  ocl.Flush(t->queue);
  while (status > 0 && seconds() < end) {
    if (!found && !spoilt && atomic_load(&g->ended)) memset(g->memory, spoilt = SPOILT, BYTES);
    if (ocl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL)) status = -1;
    if (status > 0) sched_yield();
  }
  if (status) return -1;
  return spoilt ? was_used(t, kind, g) : found;
}

/* One command on a buffer that is given back while it is queued; opens the gate. */
static int try_command(trial *t, int kind, cl_event gate) {
  cl_event event = NULL;
  cl_int code = 0;
  cl_buffer_region region = {0, BYTES / 2};
  guest *g = aligned_alloc(BYTES, 2 * BYTES);
  if (!g) {
    ocl.SetUserEventStatus(gate, CL_COMPLETE);
    return OCL_UNTRIED;
  }
  memset(g, 0, 2 * BYTES);
  memset(g->memory, 1, BYTES);
  cl_mem part = NULL,
         mem = ocl.CreateBuffer(t->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, g->memory, &code);
  if (!mem) {
    ocl.SetUserEventStatus(gate, CL_COMPLETE);
    free(g);
    return OCL_UNTRIED;
  }
  code = ocl.SetMemObjectDestructorCallback(mem, on_end, g);
  int told = !code;
  if (!code && kind == TRY_PART) part = ocl.CreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (!code) code = enqueue(t, kind, part ? part : mem, &gate, &event);
  if (part) ocl.ReleaseMemObject(part);
  ocl.ReleaseMemObject(mem);
  if (!event) ocl.SetUserEventStatus(gate, CL_COMPLETE);
  int found = event ? early(t, kind, g, gate, event) : -1;
  if (event) ocl_defer_release(event);
  int all = found < 0 || code ? OCL_UNTRIED : found ? OCL_FREED_EARLY : 0;
  if (found >= 0) {
    ocl.Finish(t->queue);
    ocl_release_completed();
  }
  if (told && !comes(&g->ended, LATE) && !code) all |= OCL_FREED_LATE;
  if (told && atomic_load(&g->ended) && !(all & OCL_FREED_EARLY)) free(g); /* else the runtime may still have it */
  return all;
}

static int try_buffers(trial *t) {
  int found = 0;
  for (int kind = 0; kind < TRY_KINDS && !(found & OCL_UNTRIED); kind++) {
    cl_int code = 0;
    cl_event gate = ocl.CreateUserEvent(t->context, &code);
    if (!gate) return found | OCL_UNTRIED;
    found |= try_command(t, kind, gate);
    ocl_defer_release(gate);
  }
  return found;
}

/* Is a callback called that is set on an event which is over? */
static int try_callback(trial *t) {
  static atomic_int called; /* may be set at any time later */
  unsigned char byte = 0;
  cl_event event = NULL;
  atomic_store(&called, 0);
  cl_int code = ocl.EnqueueWriteBuffer(t->queue, t->other, 1, 0, 1, &byte, 0, NULL, &event);
  if (code || !event) return OCL_UNTRIED;
  if (!ocl.Finish(t->queue)) code = ocl.SetEventCallback(event, CL_COMPLETE, on_called, &called);
  int found = code ? OCL_UNTRIED : comes(&called, LATE) ? 0 : OCL_NO_CALLBACK;
  ocl_defer_release(event);
  return found;
}

/* Does a queue count in its context?  The count shows it without touching what may be gone. */
static int try_context(trial *t, cl_int *code) {
  cl_uint before = 0, after = 0;
  *code = ocl.GetContextInfo(t->context, CL_CONTEXT_REFERENCE_COUNT, sizeof before, &before, NULL);
  if (*code) return OCL_UNTRIED;
  t->queue = ocl_make_queue(t->context, t->slot->id, code);
  if (*code || !t->queue) return OCL_UNTRIED;
  *code = ocl.GetContextInfo(t->context, CL_CONTEXT_REFERENCE_COUNT, sizeof after, &after, NULL);
  return *code ? OCL_UNTRIED : after > before ? 0 : OCL_LOSES_CONTEXT;
}

static int make_kernel(trial *t) {
  const char *source = text;
  cl_int code = 0;
  t->other = ocl.CreateBuffer(t->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  if (!t->other || !ocl_has_programs()) return OCL_UNTRIED;
  t->program = ocl.CreateProgramWithSource(t->context, 1, &source, NULL, &code);
  if (t->program) code = ocl.BuildProgram(t->program, 1, &t->slot->id, "-cl-std=CL1.2 -D ROUNDS=30000", NULL, NULL);
  if (t->program && !code) t->kernel = ocl.CreateKernel(t->program, "trial", &code);
  return t->kernel ? 0 : OCL_UNTRIED;
}

static int try_all(ocl_device *slot) {
  intptr_t properties[3] = {CL_CONTEXT_PLATFORM, (intptr_t)slot->platform, 0};
  trial t = {.slot = slot};
  cl_int code = 0;
  t.context = ocl.CreateContext(properties, 1, &slot->id, NULL, NULL, &code);
  if (!t.context) return OCL_UNTRIED;
  int found = try_context(&t, &code);
  if (!(found & OCL_UNTRIED)) found |= make_kernel(&t);
  if (!(found & OCL_UNTRIED)) found |= try_buffers(&t);
  if (!(found & OCL_UNTRIED)) found |= try_callback(&t);
  if (t.kernel) ocl.ReleaseKernel(t.kernel);
  if (t.program) ocl.ReleaseProgram(t.program);
  if (t.other) ocl.ReleaseMemObject(t.other);
  if (t.queue) ocl.ReleaseCommandQueue(t.queue);
  ocl.ReleaseContext(t.context);
  return found;
}

static int recalled(const char *key) {
  const cdevice_host *host = ocl_state.host;
  int32_t found = 0;
  if (!host || host->struct_size < offsetof(cdevice_host, cache_put) + sizeof host->cache_put) return -1;
  return host->cache_get(key, &found, sizeof found) == sizeof found && !(found & ~OCL_FINDINGS) ? found : -1;
}

static void remember(const char *key, int32_t found) {
  const cdevice_host *host = ocl_state.host;
  if (host && host->struct_size >= offsetof(cdevice_host, cache_put) + sizeof host->cache_put)
    host->cache_put(key, &found, sizeof found);
}

/* One at a time; a failed try is not kept on disk, and tried again some times. */
int ocl_try(ocl_device *slot) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char key[512];
  pthread_mutex_lock(&lock);
  int found = atomic_load(&slot->findings);
  if (found < 0) {
    snprintf(key, sizeof key, "%s; %s; %s; %s", TRIALS, slot->name, slot->driver, slot->version);
    found = slot->old ? OCL_UNTRIED : recalled(key);
    if (found < 0) {
      found = try_all(slot);
      if (!(found & OCL_UNTRIED)) remember(key, found);
    }
    if (found & OCL_NO_CALLBACK) ocl_state.deaf = 1;
    if (!(found & OCL_UNTRIED) || slot->old || ++slot->attempts == ATTEMPTS) atomic_store(&slot->findings, found);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

/* ---- for people ---- */
static void line(char *out, size_t size, const char *note) {
  size_t n = strlen(out);
  snprintf(out + n, size - n, "%s%s", n ? "\n" : "", note);
}

static int notes(void *self, int64_t device, char *out, int64_t size, cdevice_error *err) {
  ocl_device *slot;
  int r = ocl_slot_of(device, &slot, err);
  size_t n = (size_t)size;
  (void)self;
  if (r) return r;
  *out = 0;
  int found = ocl_try(slot);
  if (found & OCL_UNTRIED) line(out, n, "could not be tried: no memory is pooled");
  if (found & OCL_FREED_EARLY)
    line(out, n, "tells the end of a buffer that a queued command uses: no memory is pooled");
  if (found & OCL_FREED_LATE)
    line(out, n, "does not tell the end of a buffer when its last command is over: no memory is pooled");
  if (found & OCL_NO_CALLBACK) line(out, n, "does not call back for an event that is over: events are asked");
  if (found & OCL_LOSES_CONTEXT)
    line(out, n, "a queue does not keep its context: hold the context as long as the queue");
  if (ocl_state.deaf && !(found & OCL_NO_CALLBACK))
    line(out, n, "not trusted to call back for failed events: events are asked");
  if (ocl_state.fragile)
    line(out, n, "not trusted with failed events that were released: events are held until they are over");
  return 0;
}

const void *opencl_notes(void) {
  static const cdevice_notes table = {.struct_size = sizeof table, .notes = notes};
  return &table;
}
