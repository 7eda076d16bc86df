/* platforms.c - the loader, its platforms and devices, and their information. */
#include "opencl/internal.h"

struct ocl_calls ocl;
struct ocl_state ocl_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define INSTALL                                                                                                 \
  "install an OpenCL runtime, for instance `apt-get install pocl-opencl-icd` (CPU) or the GPU vendor's, and a " \
  "loader (`apt-get install ocl-icd-libopencl1` or `pip install pyopencl`)"

#define OPENCL_ROW(needed, result, name, symbol, args) {symbol, (size_t)((char *)&ocl.name - (char *)&ocl), needed},

int ocl_slot_of(int64_t device, ocl_device **out, cdevice_error *err) {
  if (!ocl_started(err)) return ENODEV;
  if (device < 0 || device >= ocl_state.n)
    return cdevice_backend_fail(err, EINVAL, CL_INVALID_DEVICE, ocl_code_name(CL_INVALID_DEVICE),
                                "OpenCL device %lld does not exist, there %s %lld", (long long)device,
                                ocl_state.n == 1 ? "is" : "are", (long long)ocl_state.n);
  *out = &ocl_state.slots[device];
  return 0;
}

/* The enumerated device that is `id` or that `id` is a part of; -1. */
int64_t ocl_index_of(cl_device_id id) {
  for (int depth = 0; id && depth < 8; depth++) {
    cl_device_id parent = NULL;
    for (int64_t i = 0; i < ocl_state.n; i++)
      if (ocl_state.slots[i].id == id) return i;
    if (ocl.GetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL)) break;
    id = parent;
  }
  return -1;
}

/* The device of a context on which to work for `wanted`: that one, else the context's first. */
cl_int ocl_pick_device(cl_context context, int64_t wanted, cl_device_id *out, int64_t *index) {
  cl_device_id few[16], *ids = few;
  size_t bytes = 0;
  cl_int code = ocl.GetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
  size_t n = bytes / sizeof *ids;
  if (code) return code;
  if (!n) return CL_DEVICE_NOT_FOUND;
  if (n > 16 && !(ids = malloc(bytes))) return CL_OUT_OF_HOST_MEMORY;
  code = ocl.GetContextInfo(context, CL_CONTEXT_DEVICES, bytes, ids, NULL);
  *out = NULL;
  *index = -1;
  for (size_t i = 0; !code && i < n; i++) {
    int64_t at = ocl_index_of(ids[i]);
    if (!*out || (at >= 0 && (*index < 0 || at == wanted))) *out = ids[i], *index = at;
    if (at >= 0 && at == wanted) break;
  }
  if (ids != few) free(ids);
  return code;
}

/* What a device is decides on results and on the state kept for it, so it is asked once for all, and again where the
 * question itself has failed: one call may fail alone.  0, and *out all zeros, where it reports nothing. */
static int says(ocl_device *slot, cl_uint what, size_t size, void *out) {
  for (int i = 0; i < 2; i++)
    if (!ocl.GetDeviceInfo(slot->id, what, size, out, NULL)) return 1;
  memset(out, 0, size);
  return 0;
}

static int text_info(ocl_device *slot, cl_uint what, char *out, size_t capacity) {
  char text[1024] = "";
  says(slot, what, sizeof text - 1, text);
  snprintf(out, capacity, "%s", text);
  return text[0] != 0;
}

/* Is the extension among those that the device lists?  A question that it does not know is not put to it. */
static int offers(ocl_device *slot, const char *extension) {
  size_t size = 0, n = strlen(extension);
  int found = 0;
  if (ocl.GetDeviceInfo(slot->id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) || !size) return 0;
  char *list = calloc(1, size + 1);
  if (list && says(slot, CL_DEVICE_EXTENSIONS, size, list))
    for (const char *at = list; !found && (at = strstr(at, extension)); at += n)
      found = (at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
  free(list);
  return found;
}

static void describe(ocl_device *slot, const char *platform) {
  char name[128];
  cl_uint bits = 0;
  cl_ulong total = 0, svm = 0;
  cl_bits type = 0, doubles = 0, single = 0;
  int major = 0, minor = 0;
  text_info(slot, CL_DEVICE_NAME, name, sizeof name);
  snprintf(slot->name, sizeof slot->name, "%.80s (%.40s)", name[0] ? name : "unnamed device", platform);
  text_info(slot, CL_DRIVER_VERSION, slot->driver, sizeof slot->driver);
  text_info(slot, CL_DEVICE_VERSION, slot->version, sizeof slot->version);
  slot->old = sscanf(slot->version, "OpenCL %d.%d", &major, &minor) == 2 && major * 10 + minor < 12;
  slot->is_host = says(slot, CL_DEVICE_TYPE, sizeof type, &type) && type & CL_DEVICE_TYPE_CPU;
  slot->has_doubles = says(slot, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles) && doubles;
  slot->rounds =
      says(slot, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single) && single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  says(slot, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits);
  slot->alignment = 64;
  while (slot->alignment < bits / 8 && slot->alignment < 1u << 30) slot->alignment *= 2;
  says(slot, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total);
  slot->total_bytes = total && total <= INT64_MAX ? (int64_t)total : -1;
  if (major >= 2 && says(slot, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm)) slot->svm = svm;
  if (offers(slot, "cl_khr_device_uuid")) says(slot, CL_DEVICE_UUID_KHR, sizeof slot->uuid, slot->uuid);
}

static void say(int level, const char *text) {
  if (ocl_state.host && ocl_state.host->log) ocl_state.host->log(level, text);
}

/* What must not be tried in a user's process, by the name of the platform. */
static const struct {
  const char *platform; /* its name begins so */
  int survives, tells;
} known[] = {{"Intel(R) OpenCL", 1, 1}, {"rusticl", 1, 0}, {"Oclgrind", 1, 0}, {"Portable Computing Language", 0, 0}};

/* A failed event that no user holds may end the process, and one without notification would be waited for forever:
 * both are expected of unknown runtimes. */
static void know(const char *platform) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strncmp(platform, known[i].platform, strlen(known[i].platform))) continue;
    if (!known[i].survives) ocl_state.fragile = 1;
    if (!known[i].tells) ocl_state.deaf = 1;
    return;
  }
  ocl_state.fragile = ocl_state.deaf = 1;
}

static int no_device(const char *platform, cl_int code) {
  if (code && code != CL_DEVICE_NOT_FOUND)
    cdevice_dl_note(&ocl_state.dl, "platform \"%.60s\": clGetDeviceIDs: %s (%d)", platform, ocl_code_name(code), code);
  else
    cdevice_dl_note(&ocl_state.dl, "platform \"%.60s\": no device%s", platform,
                    strncmp(platform, "rusticl", 7) ? "" : " (it has those that $RUSTICL_ENABLE names)");
  return 0;
}

/* Appends the devices of one platform; a platform without any is none. */
static int enumerate(cl_platform_id platform, cdevice_error *err) {
  char name[256] = "";
  cl_uint n = 0;
  cl_device_id *ids;
  ocl_device *slots;
  if (ocl.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL)) name[0] = 0;
  cl_int code = ocl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
  if (code || !n) return no_device(name, code);
  know(name);
  ids = calloc(n, sizeof *ids);
  slots = realloc(ocl_state.slots, ((size_t)ocl_state.n + n) * sizeof *slots);
  if (slots) ocl_state.slots = slots;
  if (!ids || !slots) {
    free(ids);
    return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "list of devices");
  }
  code = ocl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL);
  if (code) n = 0, no_device(name, code);
  for (cl_uint i = 0; i < n; i++) {
    ocl_device *slot = &ocl_state.slots[ocl_state.n++];
    memset(slot, 0, sizeof *slot);
    atomic_init(&slot->findings, -1);
    slot->id = ids[i];
    slot->platform = platform;
    slot->use = calloc(1, sizeof *slot->use); /* NULL: nothing is counted and nothing pooled */
    if (slot->use) slot->use->refs = 1;
    describe(slot, name[0] ? name : "unnamed platform");
    if (slot->old) say(30, "an OpenCL device older than 1.2 is listed but cannot be used");
  }
  free(ids);
  return 0;
}

/* Does the file name the variable? */
static int mentions(const char *path, const char *word) {
  char text[4096 + 32];
  size_t length = strlen(word), kept = 0, n;
  int found = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  while (!found && (n = fread(text + kept, 1, 4096, file)) > 0) {
    for (size_t i = 0; !found && i + length <= kept + n; i++) found = !memcmp(text + i, word, length);
    n += kept;
    kept = n < length ? n : length - 1;
    memmove(text, text + n - kept, kept);
  }
  fclose(file);
  return found;
}

/* The loader in pyopencl's wheel looks for runtimes beside the package, in a variable that `import pyopencl` sets, and
 * dies where it is not set.  So it is set here, however the loader was found: the folder of the package, or that of a
 * copy of the loader somewhere else, where there is nothing to find. */
static void tell_home(void) {
  static const char variable[] = "PYOPENCL_HOME";
  Dl_info where;
  char *path = NULL, *slash;
  if (getenv(variable) || !dladdr(*(void **)&ocl.GetPlatformIDs, &where) || !where.dli_fname) return;
  path = realpath(where.dli_fname, NULL);
  slash = path && mentions(path, variable) ? strrchr(path, '/') : NULL;
  if (slash) {
    *slash = 0;
    slash = strrchr(path, '/');
    if (slash && !strcmp(slash, "/.libs")) *slash = 0;           /* pyopencl/.libs */
    if (slash && !strcmp(slash, "/pyopencl.libs")) slash[9] = 0; /* beside pyopencl */
    setenv(variable, path, 0);
  }
  free(path);
}

static void *nothing(void *unused) { return unused; }

/* Runtimes start threads, and PoCL ends a process that may have none. */
static int may_start_threads(cdevice_error *err) {
  pthread_t thread;
  int r = pthread_create(&thread, NULL, nothing, NULL);
  if (!r) return !pthread_join(thread, NULL);
  cdevice_backend_fail(err, ENODEV, 0, NULL,
                       "OpenCL needs threads, and this process may start none (%s): the limit of threads (ulimit -u) "
                       "or of memory (ulimit -v) is reached",
                       strerror(r));
  return 0;
}

static int start_locked(cdevice_error *err) {
#if defined(__APPLE__)
  static const char *const names[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL", NULL};
#else
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
#endif
  static const cdevice_dl_row rows[] = {OPENCL_FUNCTIONS(OPENCL_ROW)};
  cl_platform_id *platforms;
  cl_uint n = 0;
  cl_int code;
  int result = 0;
  ocl_state.dl.tried[0] = 0;
  if (!ocl_state.dl.handle) {
    if (cdevice_dl_open(&ocl_state.dl, "libOpenCL", "CDEVICE_OPENCL_LIBRARY", names, "clGetPlatformIDs")) {
      const char *named = getenv("CDEVICE_OPENCL_LIBRARY");
      if (named && *named)
        return cdevice_backend_fail(
            err, ENODEV, 0, NULL, "the OpenCL loader that $CDEVICE_OPENCL_LIBRARY names cannot be used (%s); " INSTALL,
            ocl_state.dl.tried);
      return cdevice_backend_fail(err, ENODEV, 0, NULL, "no OpenCL loader (%s); " INSTALL, ocl_state.dl.tried);
    }
    if (cdevice_dl_load(&ocl_state.dl, rows, sizeof rows / sizeof *rows, &ocl)) {
      cdevice_dl_close(&ocl_state.dl);
      return cdevice_backend_fail(err, ENODEV, 0, NULL, "the OpenCL loader is older than 1.2 (%s); " INSTALL,
                                  ocl_state.dl.tried);
    }
  }
  if (!may_start_threads(err)) return ENODEV;
  tell_home();
  code = ocl.GetPlatformIDs(0, NULL, &n);
  if (code && code != CL_PLATFORM_NOT_FOUND_KHR) return ocl_fail_as(err, EIO, code, "clGetPlatformIDs");
  if ((code || !n) && ocl_note_broken())
    return cdevice_backend_fail(err, ENODEV, CL_PLATFORM_NOT_FOUND_KHR, ocl_code_name(CL_PLATFORM_NOT_FOUND_KHR),
                                "OpenCL through %s has no platform: the installed runtime cannot be loaded (%s)",
                                ocl_state.dl.path, ocl_state.dl.tried);
  if (code || !n)
    return cdevice_backend_fail(err, ENODEV, CL_PLATFORM_NOT_FOUND_KHR, ocl_code_name(CL_PLATFORM_NOT_FOUND_KHR),
                                "%s finds no OpenCL platform; " INSTALL
                                "; a runtime is found by its .icd file in /etc/OpenCL/vendors or $OCL_ICD_VENDORS",
                                ocl_state.dl.path);
  platforms = calloc(n, sizeof *platforms);
  if (!platforms) return ocl_fail(err, CL_OUT_OF_HOST_MEMORY, "list of platforms");
  code = ocl.GetPlatformIDs(n, platforms, NULL);
  if (code) result = ocl_fail_as(err, EIO, code, "clGetPlatformIDs");
  for (cl_uint i = 0; !result && i < n; i++) result = enumerate(platforms[i], err);
  free(platforms);
  if (!result && !ocl_state.n)
    result =
        cdevice_backend_fail(err, ENODEV, CL_DEVICE_NOT_FOUND, ocl_code_name(CL_DEVICE_NOT_FOUND),
                             "OpenCL through %s has no device (%s); " INSTALL, ocl_state.dl.path, ocl_state.dl.tried);
  return result;
}

static void forget_devices(void) {
  for (int64_t i = 0; i < ocl_state.n; i++) ocl_use_drop(ocl_state.slots[i].use);
  free(ocl_state.slots);
  ocl_state.slots = NULL;
  ocl_state.n = 0;
}

/* May be tried again after ENODEV: the missing part can have been loaded by then. */
int opencl_start(void *self, const cdevice_host *host, cdevice_error *err) {
  int result = 0;
  (void)self;
  pthread_mutex_lock(&ocl_state.lock);
  if (!ocl_state.started) {
    ocl_state.host = host;
    host_pool_start(host);
    result = start_locked(err);
    if (result) {
      forget_devices();
    } else {
      __atomic_store_n(&ocl_state.started, 1, __ATOMIC_RELEASE);
    }
  }
  pthread_mutex_unlock(&ocl_state.lock);
  return result;
}

void opencl_stop(void *self) {
  (void)self;
  pthread_mutex_lock(&ocl_state.lock);
  if (ocl_state.started) {
    __atomic_store_n(&ocl_state.started, 0, __ATOMIC_RELEASE);
    for (int64_t i = 0; i < ocl_state.n; i++) {
      ocl_device *slot = &ocl_state.slots[i];
      if (slot->queue) ocl.ReleaseCommandQueue(slot->queue);
      if (!slot->context) continue;
      for (int64_t k = i + 1; k < ocl_state.n; k++) /* shared by the platform's devices, released once */
        if (ocl_state.slots[k].context == slot->context) ocl_state.slots[k].context = NULL;
      ocl.ReleaseContext(slot->context);
    }
    forget_devices();
    ocl_state.host = NULL;
    /* The loader stays mapped: runtimes have threads. */
  }
  pthread_mutex_unlock(&ocl_state.lock);
}

int opencl_device_count(void *self, int64_t *out, cdevice_error *err) {
  (void)self;
  if (!ocl_started(err)) return ENODEV;
  *out = ocl_state.n;
  return 0;
}

int opencl_device_info(void *self, int64_t device, cdevice_device_info *out, cdevice_error *err) {
  cdevice_device_info info = {0};
  ocl_device *slot;
  int result = ocl_slot_of(device, &slot, err);
  size_t size = out->struct_size;
  (void)self;
  if (result) return result;
  info.alignment = slot->alignment;
  info.total_bytes = slot->total_bytes;
  info.free_bytes = -1;
  memcpy(info.name, slot->name, sizeof info.name);
  memcpy(info.driver, slot->driver, sizeof info.driver);
  memcpy(info.uuid, slot->uuid, sizeof info.uuid);
  if (!size || size > sizeof info) size = sizeof info; /* a caller that knows fewer members gets those */
  info.struct_size = (uint32_t)size;
  memcpy(out, &info, size);
  return 0;
}

static int64_t index_of(void *self, void *id) {
  (void)self;
  return ocl_started(NULL) ? ocl_index_of(id) : -1;
}

const void *opencl_devices(void) {
  static const cdevice_opencl_devices table = {.struct_size = sizeof table, .index_of = index_of};
  return &table;
}
