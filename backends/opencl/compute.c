/* compute.c - kernels: programs of a context, built by the runtime's compiler.
 *
 * Processors (CL_DEVICE_TYPE_CPU) get the shape in which an item does much, other devices that of blocks;
 * CDEVICE_COMPUTE_SHAPE=items or block sets it for all of them, so that both can be tried anywhere. */
#include "opencl/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct ocl_kernel {
  struct ocl_kernel *next;
  cl_kernel kernel;
  pthread_mutex_t lock; /* arguments are set one after the other, then it is enqueued */
} ocl_kernel;

typedef struct ocl_module {
  cl_program program;
  cl_device_id device;
  ocl_kernel *kernels;
} ocl_module;

static int missing(cdevice_error *err) {
  return cdevice_backend_fail(err, ENOTSUP, 0, NULL, "this OpenCL loader has no functions for programs");
}

int ocl_has_programs(void) {
  return ocl.CreateProgramWithSource && ocl.BuildProgram && ocl.CreateKernel && ocl.SetKernelArg &&
         ocl.EnqueueNDRangeKernel && ocl.ReleaseKernel && ocl.ReleaseProgram;
}

static int wants_items(const ocl_device *slot) {
  const char *shape = getenv("CDEVICE_COMPUTE_SHAPE");
  if (shape && !strcmp(shape, "block")) return 0;
  if (shape && !strcmp(shape, "items")) return 1;
  return slot->is_host;
}

static int identity(void *self, int64_t device, uint32_t *flags, char *text, int64_t size, cdevice_error *err) {
  ocl_device *slot;
  int result = ocl_slot_of(device, &slot, err);
  (void)self;
  if (result) return result;
  *flags = wants_items(slot) ? CDEVICE_COMPUTE_COARSE : 0;
  if (!slot->has_doubles) *flags |= CDEVICE_COMPUTE_NO_FP64;
  snprintf(text, (size_t)size, "OpenCL, %s, %s", slot->name, slot->driver);
  return 0;
}

static int scope(void *self, int64_t device, void *stream, void **out, cdevice_error *err) {
  ocl_queue_ref lane;
  int result = ocl_lane_of(device, stream, &lane, err);
  (void)self;
  if (!result) *out = lane.context;
  return result;
}

/* ---- modules ---- */
static int wrap(ocl_device *slot, cl_program program, void **out, cdevice_error *err) {
  ocl_module *m = malloc(sizeof *m);
  if (!m) {
    ocl.ReleaseProgram(program);
    return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "a program");
  }
  *m = (ocl_module){.program = program, .device = slot->id};
  *out = m;
  return 0;
}

/* The compiler's log, as far as there is room.  EINVAL is for errors in the text only. */
static int fail_build(cl_program program, cl_device_id id, cl_int code, cdevice_error *err) {
  size_t n = 0;
  char *log = NULL;
  if (code != CL_BUILD_PROGRAM_FAILURE && code != CL_COMPILER_NOT_AVAILABLE)
    return ocl_fail_as(err, ocl_code_errno(code) == ENOMEM ? ENOMEM : EPROTO, code, "clBuildProgram");
  if (ocl.GetProgramBuildInfo && !ocl.GetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n))
    log = calloc(1, n + 1);
  if (log) ocl.GetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, n, log, NULL);
  int result = code == CL_COMPILER_NOT_AVAILABLE ? ENOTSUP : EINVAL;
  cdevice_backend_fail(err, result, code, ocl_code_name(code), "clBuildProgram: %s", log ? log : "no log");
  free(log);
  return result;
}

static cl_int compile(cl_program program, ocl_device *slot, const cdevice_program *p) {
  char options[512] = "-cl-std=CL1.2";
  if (slot->rounds) strcat(options, " -cl-fp32-correctly-rounded-divide-sqrt");
  for (int64_t i = 0; p && i < p->n; i++) {
    size_t n = strlen(options);
    snprintf(options + n, sizeof options - n, " -D %s", p->defines[i]);
  }
  return ocl.BuildProgram(program, 1, &slot->id, options, NULL, NULL);
}

static int build(void *self, int64_t device, void *stream, const cdevice_program *p, void **out, cdevice_error *err) {
  ocl_queue_ref lane;
  ocl_device *slot;
  cl_int code = 0;
  int result = ocl_slot_of(device, &slot, err);
  (void)self;
  if (!result) result = ocl_lane_of(device, stream, &lane, err);
  if (result) return result;
  if (!ocl_has_programs()) return missing(err);
  const char *text = p->text;
  cl_program program = ocl.CreateProgramWithSource(lane.context, 1, &text, NULL, &code);
  if (!program) return ocl_fail(err, code, "clCreateProgramWithSource");
  code = compile(program, slot, p);
  if (!code) return wrap(slot, program, out, err);
  result = fail_build(program, slot->id, code, err);
  ocl.ReleaseProgram(program);
  return result;
}

/* The place of our device among those of the program, and how many there are; -1: it is not among them. */
static int place_of(const ocl_module *m, size_t *n) {
  cl_device_id ids[64];
  size_t bytes = 0;
  if (ocl.GetProgramInfo(m->program, CL_PROGRAM_DEVICES, sizeof ids, ids, &bytes)) return -1;
  *n = bytes / sizeof *ids;
  for (size_t i = 0; i < *n; i++)
    if (ids[i] == m->device) return (int)i;
  return -1;
}

static int binary(void *self, int64_t device, void *module, void *data, int64_t *nbytes, cdevice_error *err) {
  ocl_module *m = module;
  size_t sizes[64] = {0}, n = 0, room = (size_t)*nbytes;
  unsigned char *places[64] = {NULL};
  (void)self, (void)device;
  int place = ocl.GetProgramInfo ? place_of(m, &n) : -1;
  cl_int code = place < 0 ? CL_INVALID_DEVICE
                          : ocl.GetProgramInfo(m->program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL);
  if (code) return ocl_fail(err, code, "the binary of a program");
  *nbytes = (int64_t)sizes[place];
  if (!data) return 0;
  if (room < sizes[place]) return cdevice_backend_fail(err, EINVAL, 0, NULL, "buffer too small for a binary");
  places[place] = data;
  code = ocl.GetProgramInfo(m->program, CL_PROGRAM_BINARIES, n * sizeof *places, places, NULL);
  return code ? ocl_fail(err, code, "the binary of a program") : 0;
}

static int load(void *self, int64_t device, void *stream, const void *data, int64_t nbytes, void **out,
                cdevice_error *err) {
  ocl_queue_ref lane;
  ocl_device *slot;
  size_t n = (size_t)nbytes;
  const unsigned char *bytes = data;
  cl_int code = 0, status = 0;
  int result = ocl_slot_of(device, &slot, err);
  (void)self;
  if (!result) result = ocl_lane_of(device, stream, &lane, err);
  if (result) return result;
  if (!ocl_has_programs() || !ocl.CreateProgramWithBinary) return missing(err);
  cl_program program = ocl.CreateProgramWithBinary(lane.context, 1, &slot->id, &n, &bytes, &status, &code);
  if (!program) return ocl_fail(err, code, "clCreateProgramWithBinary");
  if (!status && !code) code = compile(program, slot, NULL);
  if (!status && !code) return wrap(slot, program, out, err);
  ocl.ReleaseProgram(program);
  return ocl_fail(err, status ? status : code, "clCreateProgramWithBinary");
}

static void unload(void *self, int64_t device, void *module) {
  ocl_module *m = module;
  (void)self, (void)device;
  for (ocl_kernel *k = m->kernels, *next; k; k = next) {
    next = k->next;
    ocl.ReleaseKernel(k->kernel);
    pthread_mutex_destroy(&k->lock);
    free(k);
  }
  ocl.ReleaseProgram(m->program);
  free(m);
}

/* ---- kernels ---- */
static int kernel(void *self, int64_t device, void *module, const char *name, void **out, cdevice_error *err) {
  ocl_module *m = module;
  cl_int code = 0;
  (void)self, (void)device;
  ocl_kernel *k = malloc(sizeof *k);
  if (!k) return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "a kernel");
  k->kernel = ocl.CreateKernel(m->program, name, &code);
  if (!k->kernel) {
    free(k);
    return ocl_fail(err, code, name);
  }
  pthread_mutex_init(&k->lock, NULL);
  k->next = m->kernels;
  *out = m->kernels = k;
  return 0;
}

static cl_int set_arguments(cl_kernel kernel, const cdevice_launch *l) {
  cl_int code = 0;
  cl_uint at = 0;
  for (int i = 0; i < CDEVICE_KERNEL_BUFFERS && !code; i++) {
    cl_mem mem = l->buffers[i].data;
    code = ocl.SetKernelArg(kernel, at++, sizeof mem, mem ? &mem : NULL);
    if (!code) code = ocl.SetKernelArg(kernel, at++, sizeof(int64_t), &l->buffers[i].offset);
  }
  for (int i = 0; i < CDEVICE_KERNEL_SCALARS && !code; i++)
    code = ocl.SetKernelArg(kernel, at++, sizeof(int64_t), &l->scalars[i]);
  return code;
}

static int launch(void *self, int64_t device, void *kernel_, const cdevice_launch *l, void *stream,
                  cdevice_error *err) {
  ocl_kernel *k = kernel_;
  ocl_queue_ref lane;
  cl_event own = NULL;
  int result = ocl_lane_of(device, stream, &lane, err);
  (void)self;
  if (result) return result;
  size_t block = (size_t)l->work_group_size, items = ((size_t)l->n_work_items + block - 1) / block * block;
  cl_int code = lane.unordered ? ocl_put_barrier(lane.queue, NULL) : 0;
  pthread_mutex_lock(&k->lock);
  if (!code) code = set_arguments(k->kernel, l);
  if (!code) code = ocl.EnqueueNDRangeKernel(lane.queue, k->kernel, 1, NULL, &items, &block, 0, NULL, ocl_held(&own));
  pthread_mutex_unlock(&k->lock);
  if (own) ocl_defer_release(own);
  return code ? ocl_fail(err, code, "clEnqueueNDRangeKernel") : 0;
}

const cdevice_compute opencl_compute = {.struct_size = sizeof opencl_compute,
                                        .identity = identity,
                                        .context = scope,
                                        .build = build,
                                        .binary = binary,
                                        .load = load,
                                        .kernel = kernel,
                                        .launch = launch,
                                        .unload = unload};
