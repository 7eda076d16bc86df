/* alone.c - libcdevice_core: the functions of cdevice.h over the core alone, for programs without Python
 * (cdevice/CMakeLists.txt). Devices are those of the backends that are built in, of plug-ins in C and of registered
 * tables; what a Python package does is ENOTSUP. */
#include "native/embed/capi.h"
#include "native/embed/plain.h"

#include <pthread.h>
#include <string.h>

/* CDEVICE_BUILTIN_BACKENDS: "cpu", "opencl" */
static void load_builtin(void) {
  static const char *const names[] = {CDEVICE_BUILTIN_BACKENDS};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) cdv_load_builtin(names[i], 0);
}
static void begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_builtin);
}

/* ---- what the package does in Python ---- */

static bool same_word(const char *a, const char *b) { /* CUDA-HOST is cuda_host */
  for (; *a && *b; a++, b++) {
    char x = *a == '-' ? '_' : *a;
    if (x >= 'A' && x <= 'Z') x = (char)(x - 'A' + 'a');
    if (x != *b) return false;
  }
  return !*a && !*b;
}

/* The device type of a word: a number, Arrow's name, or that of a table; 0: unknown. */
static int32_t type_of_word(const char *word) {
  char *end;
  long number = strtol(word, &end, 10);
  if (end != word && !*end) return number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
  for (int64_t i = 0, n = cdv_backend_count(); i < n; i++) {
    const cdevice_backend *table = cdv_backend_table_at(i);
    if (table && same_word(word, table->name)) return table->device_type;
  }
  for (int32_t type = 1; type <= 18; type++)
    if (same_word(word, cdv_device_type_name(type))) return type;
  return 0;
}

static int capi_find_device(const char *name, int32_t *type, int64_t *id) {
  char word[64], *end = NULL;
  const char *colon = strchr(name, ':');
  size_t n = colon ? (size_t)(colon - name) : strlen(name);
  long long number = 0;
  errno = 0;
  if (colon) number = strtoll(colon + 1, &end, 10);
  bool fits = n && n < sizeof word && !(colon && (end == colon + 1 || *end || errno));
  snprintf(word, sizeof word, "%.*s", (int)(fits ? n : 0), name);
  int32_t found = fits ? type_of_word(word) : 0;
  if (!found || (number < 0 && found != ARROW_DEVICE_CPU))
    return cdv_fail(
        CDV_ARGUMENT, EINVAL,
        "cdevice_find_device(): \"%.100s\" is no device: expected \"name\", \"name:number\" or \"type:number\"", name);
  *type = found;
  *id = found == ARROW_DEVICE_CPU ? -1 : number;
  return 0;
}

static int capi_device_types(int32_t *types, int64_t room, int64_t *n) {
  int64_t found = 0;
  if (room > 0 && !types)
    return cdv_fail(CDV_ARGUMENT, EINVAL, "cdevice_device_types(): types is NULL, and has room for %lld",
                    (long long)room);
  for (int64_t i = 0, count = cdv_backend_count(); i < count; i++) {
    const cdevice_backend *table = cdv_backend_table_at(i);
    if (!table) continue;
    if (found < room) types[found] = table->device_type;
    found++;
  }
  *n = found;
  return 0;
}

static int needs_python(const char *function) {
  return cdv_fail(
      CDV_UNSUPPORTED, ENOTSUP,
      "cdevice_%s(): this program has the core alone: link libcdevice of the Python package for it (pip install "
      "--no-binary cdevice cdevice)",
      function);
}
#define capi_call_python(...) needs_python("call_python")
#define capi_compute_call(...) needs_python("call")
#define capi_check_array(...) needs_python("check_array")
#define capi_check_stream(...) needs_python("check_stream")
#define capi_check_stream_cpu(...) needs_python("check_stream_cpu")

/* ---- the functions ---- */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int cdevice_start(void) {
  begin();
  return 0;
}
EXPORTED const char *cdevice_start_error(void) { return ""; }
EXPORTED uint32_t cdevice_version(void) {
  return CDEVICE_VERSION_MAJOR << 16 | CDEVICE_VERSION_MINOR << 8 | CDEVICE_VERSION_PATCH;
}
EXPORTED const char *cdevice_error_text(void) { return capi_error_text(); }
EXPORTED int cdevice_error_vendor_code(void) { return capi_error_vendor_code(); }
#define CDEVICE_REFUSED_CODE EINVAL
#define CALL_(f, arguments) f arguments
#define CALL(f, arguments) CALL_(f, arguments)
#define F(result, failed, name, parameters, arguments, behind, ...)           \
  EXPORTED result cdevice_##name parameters {                                 \
    begin();                                                                  \
    return ALL_GIVEN(name, __VA_ARGS__) ? CALL(behind, arguments) : (failed); \
  }
#define V(name, parameters, arguments, behind, ...)     \
  EXPORTED void cdevice_##name parameters {             \
    begin();                                            \
    if (ALL_GIVEN(name, __VA_ARGS__)) behind arguments; \
  }
CDEVICE_FUNCTIONS(F, V)
