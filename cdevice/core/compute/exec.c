/* exec.c - one call of a function: the device, the order of things on it, and what has to live until it is done. */
#include "core/compute/exec.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/array/dlpack.h"
#include "core/array/info.h"
#include "core/array/origin.h"
#include "core/backend/profile.h"
#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/base/system.h"
#include "core/compute/kernel_cache.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/orphan.h"
#include "core/event/retire.h"
#include "core/format/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- begin ---- */
static bool has_memory(const struct cdv_array *a) {
  return a->node->n_buffers || a->node->n_children || a->node->dictionary;
}

static int two_devices(const char *doing, const struct ArrowDeviceArray *a, const struct ArrowDeviceArray *b) {
  char names[2][64];
  const struct ArrowDeviceArray *both[2] = {a, b};
  for (int i = 0; i < 2; i++)
    snprintf(names[i], sizeof names[i], both[i]->device_type == ARROW_DEVICE_CPU ? "%s" : "%s:%lld",
             cdv_device_type_name(both[i]->device_type), (long long)both[i]->device_id);
  return cdv_fail(CDV_ARGUMENT, EXDEV, "%s: arguments on %s and %s; move one with .to()", doing, names[0], names[1]);
}

/* Who computes: the arrays' device, or the CPU for memory that it can read of a device without kernels. */
static int choose(struct cdv_exec *w, struct cdv_array *const *arrays, int64_t n, const char *doing) {
  struct cdv_array *first = NULL;
  struct cdv_backend *backend;
  int32_t type = ARROW_DEVICE_CPU;
  bool two = false;
  int r = 0;
  for (int64_t i = 0; !r && i < n; i++) {
    if (!has_memory(arrays[i])) continue;
    const struct ArrowDeviceArray *own = &arrays[i]->root->own;
    if (!first)
      first = arrays[i];
    else if (own->device_type != first->root->own.device_type || own->device_id != first->root->own.device_id) {
      if (!cdv_array_host_accessible(arrays[i]) || !cdv_array_host_accessible(first))
        return two_devices(doing, &first->root->own, own);
      two = true; /* memory that neither device's kernels need to reach: the CPU reads both */
    }
  }
  if (!first && n) first = arrays[0]; /* none has buffers: the first one's device decides */
  if (first) {
    type = first->root->own.device_type;
    w->device = first->root->own.device_id;
    r = cdv_array_backend(first, &backend);
    if (r) return r;
    w->compute = two ? NULL : cdv_compute_of(backend);
    w->backend = backend;
    if (!w->compute && !cdv_array_host_accessible(first))
      return cdv_fail(CDV_UNSUPPORTED, ENOTSUP,
                      "%s: the backend of %s does not support kernels (extension cdevice.compute/1)", doing,
                      cdv_device_type_name(type));
  }
  if (!w->compute) {
    r = cdv_backend_get_started(ARROW_DEVICE_CPU, &w->backend);
    w->device = -1;
    w->compute = r ? NULL : cdv_compute_of(w->backend);
  }
  if (!r && !w->compute) r = cdv_fail(CDV_UNSUPPORTED, ENOTSUP, "%s: the CPU backend does not support kernels", doing);
  return r;
}

bool cdv_exec_is_host(const struct cdv_exec *w) { return w->backend->table.device_type == ARROW_DEVICE_CPU; }

/* Memory of one is memory of the other: one table, however often it was registered. */
static bool same_backend(const struct cdv_backend *a, const struct cdv_backend *b) {
  return a == b || (a->table.alloc == b->table.alloc && a->table.self == b->table.self);
}

/* All that kernels get is memory of the backend that runs them: it may have been replaced since, or while this goes
 * on. */
static int hold(struct cdv_exec *w, struct cdv_array *a) {
  const struct cdv_backend *backend = a->root->backend;
  if (!cdv_exec_is_host(w) && has_memory(a) && backend && !same_backend(backend, w->backend))
    return cdv_fail(
        CDV_ARGUMENT, EXDEV,
        "the backend of %s was replaced since an argument was made; copy it with .to(\"%s\", copy=True) to the "
        "new one",
        backend->table.name, backend->table.name);
  if (w->n_retained == w->room) {
    int64_t room = 2 * w->room + 8;
    struct cdv_array **held = realloc(w->retained, (size_t)room * sizeof *held);
    if (!held) return cdv_fail_memory(room * (int64_t)sizeof *held, "a call");
    w->retained = held;
    w->room = room;
  }
  CDV_ASSERT(w->n_retained < w->room);
  w->retained[w->n_retained++] = cdv_array_ref(a);
  return 0;
}

int cdv_exec_use(struct cdv_exec *w, struct cdv_array *a) {
  int r = hold(w, a);
  if (r) return r;
  return cdv_exec_is_host(w) ? cdv_event_wait_host(a)
                             : cdv_event_wait_stream(a, w->backend->table.device_type, w->device, w->stream);
}

int cdv_exec_begin(struct cdv_exec *w, struct cdv_array *const *arrays, int64_t n,
                   const struct cdv_stream_ref *stream_ref, const char *doing) {
  char text[8];
  cdevice_error err = {.struct_size = sizeof err};
  memset(w, 0, sizeof *w);
  w->stream_owner = stream_ref ? stream_ref->owner : NULL;
  w->function_name = doing;
  int r = choose(w, arrays, n, doing);
  if (!r) cdv_backend_addref(w->backend, 1);
  if (r) w->backend = NULL;
  int32_t type = r ? 0 : w->backend->table.device_type;
  if (!r && !cdv_exec_is_host(w))
    r = cdv_default_stream(type, w->device, stream_ref ? stream_ref->stream : NULL, &w->stream);
  if (!r) {
    r = w->compute->identity(w->backend->table.self, w->device, &w->flags, text, sizeof text, &err);
    if (r) cdv_fail_backend(r, &err, type, w->device, "querying the kernel compiler");
  }
  for (int64_t i = 0; !r && i < n; i++) r = cdv_exec_use(w, arrays[i]);
  return r;
}

/* ---- memory ---- */
int cdv_exec_alloc_array(struct cdv_exec *w, struct cdv_schema *schema, int64_t length, bool validity,
                         struct cdv_array **out) {
  int r = cdv_array_empty(schema, length, validity, w->backend->table.device_type, w->device, w->stream, out);
  if (r) return r;
  cdv_array_set_stream_owner(*out, w->stream_owner);
  r = hold(w, *out);
  cdv_array_unref(*out); /* the work has it */
  return r;
}

int cdv_exec_alloc_temp(struct cdv_exec *w, char letter, int64_t length, cdevice_kernel_buffer *out) {
  struct cdv_array *a;
  struct cdv_schema *s = cdv_schema_of_number(letter);
  int r = cdv_exec_alloc_array(w, s, length, false, &a);
  cdv_schema_unref(s);
  if (!r) *out = (cdevice_kernel_buffer){(void *)a->node->buffers[1], 0};
  return r;
}

int cdv_exec_alloc_buffers(struct cdv_exec *w, const int64_t *nbytes, int64_t n, struct cdv_array **out) {
  int r = cdv_buffers_empty(nbytes, n, w->backend->table.device_type, w->device, w->stream, out);
  if (r) return r;
  cdv_array_set_stream_owner(*out, w->stream_owner);
  r = hold(w, *out);
  cdv_array_unref(*out); /* the work has it */
  return r;
}

/* ---- kernels ---- */
static int64_t parts(int64_t n, int64_t rows) { return n / rows + (n % rows != 0); }

/* How many items, and how many of them a block has. */
static void measure(const struct cdv_exec *w, const struct cdv_kernel_launch *s, cdevice_launch *l) {
  bool items = w->flags & CDEVICE_COMPUTE_COARSE;
  int64_t tile = s->granularity == CDV_REDUCE_TILE ? REDUCE_TILE_ROWS
                 : s->granularity != CDV_SORT_TILE ? FILTER_TILE_ROWS
                 : items                           ? SORT_TILE_ROWS
                                                   : SORT_GROUP_ROWS;
  int64_t tiles = parts(s->n, tile);
  l->work_group_size = WORK_GROUP_SIZE;
  switch (s->granularity) {
    case CDV_PER_ROW: l->n_work_items = s->n; break;
    case CDV_PER_BIT_WORD: l->n_work_items = parts(s->n, 32); break;
    case CDV_PER_ROW_PACKED: l->n_work_items = items ? parts(s->n, 32) : s->n; break;
    case CDV_REDUCE_TILE:
    case CDV_FILTER_TILE:
    case CDV_SORT_TILE:
      l->n_work_items = tiles ? tiles : 1;
      if (!items) l->n_work_items *= WORK_GROUP_SIZE;
      if (items) l->work_group_size = 1;
      break;
    case CDV_SORT_BUCKETS:
      l->n_work_items = 1 << SORT_TILE_BITS;
      l->work_group_size = 1;
      break;
    case CDV_ITEMS:
      l->n_work_items = s->n_items;
      l->work_group_size = 1;
      break;
    case CDV_SINGLE_BLOCK: l->n_work_items = items ? 1 : WORK_GROUP_SIZE; break;
    default: l->n_work_items = 1;
  }
  if (l->n_work_items == 1) l->work_group_size = 1;
}

/* float64 appears in the program's type; sums of floats and means, also those that come next, use it. */
static bool needs_f64(const struct cdv_kernel_launch *s) {
  bool sums = !strcmp(s->family, "reduce") && strcmp(s->name, "min_max") && strcmp(s->name, "finish");
  sums |= !strcmp(s->family, "accumulate") && (strstr(s->name, "sum") || strstr(s->name, "product"));
  sums |= !strcmp(s->family, "list_reduce") && s->type[0] == 'f' && (strstr(s->name, "sum") || strstr(s->name, "dot"));
  const char *means = s->type[0] == 'w' ? "finish_mean_of_integers" : "finish_mean";
  bool mean = !strcmp(s->name, means) || (s->with && !strcmp(s->with, means));
  bool real = !strcmp(s->name, "round_binary") && s->type[0] == 'f';
  static const char *const families[] = {"exponential", "angles", "hyperbolic", "pairs", "moments", "join_moments"};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) real |= !strcmp(s->family, families[i]);
  return strstr(s->type, "f64") || (sums && s->type[0] == 'f') || mean || real || !strcmp(s->name, "subsecond_f64");
}

static void record(const struct cdv_exec *w, const struct cdv_kernel_launch *s, struct cdv_profile_span *span) {
  struct cdv_profile_event what = {.kind = 'k', .rows = s->n};
  bool own = !strncmp(s->family, "own_", 4); /* a text of the user's or of an expression: the function tells more */
  snprintf(what.name, sizeof what.name, "%s.%s.%s", own ? w->function_name : s->family, s->name, s->type);
  cdv_profile_leave(span, w->stream, &what);
}

int cdv_exec_launch(struct cdv_exec *w, struct cdv_kernel_launch *s) {
  void *kernel;
  cdevice_error err = {.struct_size = sizeof err};
  cdevice_launch l = {.buffers = s->buffers, .scalars = s->scalars};
  if (!s->n && s->granularity <= CDV_PER_ROW_PACKED) return 0;
  if (w->flags & CDEVICE_COMPUTE_NO_FP64 && needs_f64(s))
    return cdv_fail(CDV_UNSUPPORTED, ENOTSUP, "%s: %s:%lld has no float64", w->function_name,
                    cdv_device_type_name(w->backend->table.device_type), (long long)w->device);
  s->scalars[SCALAR_ROWS] = s->n;
  measure(w, s, &l);
  int r = cdv_kernel_get(w->backend, w->compute, w->device, w->stream, w->flags, s->family, s->type, s->name, s->with,
                         &kernel);
  if (r) return r;
  struct cdv_profile_span span;
  cdv_profile_enter(&span, w->backend, w->device, w->stream);
  r = w->compute->launch(w->backend->table.self, w->device, kernel, &l, w->stream, &err);
  if (span.profile) record(w, s, &span);
  __atomic_store_n(&w->has_work, true, __ATOMIC_RELAXED); /* threads of the CPU share a call */
  return r ? cdv_fail_backend(r, &err, w->backend->table.device_type, w->device, "launching a kernel") : 0;
}

int cdv_exec_error_slot(struct cdv_exec *w, cdevice_kernel_buffer *out) {
  int r = cdv_exec_alloc_temp(w, 'l', 2, out);
  w->error = r ? NULL : out->data;
  if (r) return r;
  if (cdv_exec_is_host(w)) {
    memset(out->data, 0, 2 * sizeof(int64_t));
    return 0;
  }
  struct cdv_kernel_launch s = {"boolean",
                                "bits",
                                "valid_all",
                                CDV_PER_BIT_WORD,
                                128,
                                {[BUF_OUT] = *out},
                                {[SCALAR_ARG_KINDS] = ARG_SCALAR}}; /* a number, 0 */
  return cdv_exec_launch(w, &s);
}

int cdv_exec_read_back(struct cdv_exec *w, const cdevice_kernel_buffer *from, int width, int64_t nbytes, void *to) {
  const cdevice_backend *b = &w->backend->table;
  cdevice_error err = {.struct_size = sizeof err};
  if (cdv_exec_is_host(w)) {
    memcpy(to, (char *)from->data + from->offset * width, (size_t)nbytes);
    return 0;
  }
  struct cdv_event *event = NULL;
  void *memory = malloc((size_t)nbytes); /* the device may write to it after a failure */
  if (!memory) return cdv_fail_memory(nbytes, "a read from a device");
  cdevice_copy copy = {.dst = memory,
                       .src = from->data,
                       .src_offset = from->offset * width,
                       .nbytes = nbytes,
                       .src_device = w->device,
                       .dst_device = -1};
  int r = cdv_profiled_copy(w->backend, w->device, CDEVICE_COPY_D2H, &copy, 1, w->stream, &err);
  if (r) cdv_fail_backend(r, &err, b->device_type, w->device, "reading from the device");
  if (!r) r = cdv_event_record(w->backend, w->device, w->stream, &event);
  if (!r && event) {
    r = b->event_wait_host(b->self, w->device, event->event.sync_event, &err);
    if (r) cdv_fail_backend(r, &err, b->device_type, w->device, "waiting for the device");
  }
  if (event) cdv_event_unref(event);
  if (!r) {
    memcpy(to, memory, (size_t)nbytes);
    free(memory);
    return 0;
  }
  struct cdv_saved_error kept;
  cdv_error_save(&kept);
  struct cdv_orphans left = {.who = "a failed call of a function", .nbytes = nbytes, .memory = memory};
  struct cdv_stream_use users[2] = {{w->backend, w->device, w->stream}, {NULL, 0, NULL}};
  cdv_retire_after_streams(&left, users);
  cdv_error_restore(&kept);
  cdv_error_clear(&kept);
  return r;
}

/* ---- what kernels complain of ---- */

/* "u8" in Arrow's words: "uint8". */
static const char *words_of(const char *type, char *out, size_t size) {
  snprintf(out, size, "%s%s", type[0] == 'i' ? "int" : type[0] == 'u' ? "uint" : "float", type + 1);
  return out;
}

static int bad_time(int64_t second, const char *name, const char *what) {
  struct tm t;
  time_t x = (time_t)second;
  char word[48];
  if (cdv_gmtime(&x, &t) && strftime(word, sizeof word, "%Y-%m-%d %H:%M:%S", &t))
    return cdv_fail(CDV_ARGUMENT, EDOM, "%s: the local time %s %s", name, word, what);
  return cdv_fail(CDV_ARGUMENT, EDOM, "%s: the local second %" PRId64 " %s", name, second, what);
}

static const char *const plain_errors[] = {
    [KERNEL_ERROR_ROUNDED] = "overflow occurred during rounding",
    [KERNEL_ERROR_SHIFT] = "shift amount must be >= 0 and less than precision of type",
    [KERNEL_ERROR_NEGATIVE_POWER] = "integers to negative integer powers are not allowed",
    [KERNEL_ERROR_LOGARITHM_OF_ZERO] = "logarithm of zero",
    [KERNEL_ERROR_LOGARITHM] = "logarithm of negative number",
    [KERNEL_ERROR_SQUARE_ROOT] = "square root of negative number",
    [KERNEL_ERROR_DOMAIN] = "domain error",
    [KERNEL_ERROR_NOT_FINITE] = "a float that is infinite or NaN cannot become a decimal",
};

static int kernel_error_message(const int64_t said[2], const char *name, const char *type) {
  char word[24];
  const char *to = strchr(type, ' ');
  to = words_of(to ? to + 1 : type, word, sizeof word);
  if (said[0] > 0 && said[0] < (int64_t)(sizeof plain_errors / sizeof *plain_errors) && plain_errors[said[0]])
    return cdv_fail(CDV_ARGUMENT, EDOM, "%s: %s", name, plain_errors[said[0]]);
  switch (said[0]) {
    case KERNEL_ERROR_OVERFLOW: return cdv_fail(CDV_ARGUMENT, EOVERFLOW, "%s: overflow", name);
    case KERNEL_ERROR_DIVIDE_BY_ZERO: return cdv_fail(CDV_ARGUMENT, EDOM, "%s: divide by zero", name);
    case KERNEL_ERROR_INDEX:
      return cdv_fail(CDV_ARGUMENT, ERANGE, "%s: index %" PRId64 " out of bounds", name, said[1]);
    case KERNEL_ERROR_TRUNCATED:
      if (type[0] == 'f' && said[1] == KERNEL_TRUNCATED_NAN)
        return cdv_fail(CDV_ARGUMENT, EDOM, "cast: NaN was truncated converting to %s", to);
      if (type[0] == 'f')
        return cdv_fail(CDV_ARGUMENT, EDOM, "cast: a float %s %" PRId64 " was truncated converting to %s",
                        said[1] == KERNEL_TRUNCATED_LOW ? "of at most"
                        : said[1] == INT64_MAX          ? "of at least"
                                                        : "near",
                        said[1], to);
      if (type[0] == 'u')
        return cdv_fail(CDV_ARGUMENT, EDOM, "cast: integer value %" PRIu64 " not in the range of %s", (uint64_t)said[1],
                        to);
      return cdv_fail(CDV_ARGUMENT, EDOM, "cast: integer value %" PRId64 " not in the range of %s", said[1], to);
    case KERNEL_ERROR_PRECISION:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: Decimal value does not fit in precision %" PRId64, name, said[1]);
    case KERNEL_ERROR_RESCALE:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: Rescaling Decimal value would cause data loss", name);
    case KERNEL_ERROR_OUT_OF_RANGE: return cdv_fail(CDV_ARGUMENT, EDOM, "%s: Integer value out of bounds", name);
    case KERNEL_ERROR_LOSSY_UNIT: return cdv_fail(CDV_ARGUMENT, EDOM, "%s would lose data: %" PRId64, name, said[1]);
    case KERNEL_ERROR_UNIT_OVERFLOW:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s would result in out of bounds timestamp: %" PRId64, name, said[1]);
    case KERNEL_ERROR_LOSSY_TIME:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: Cast would lose data: %" PRId64, name, said[1]);
    case KERNEL_ERROR_AMBIGUOUS_TIME: return bad_time(said[1], name, "is ambiguous");
    case KERNEL_ERROR_MISSING_TIME: return bad_time(said[1], name, "does not exist");
    case KERNEL_ERROR_ROUND_DIGITS:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: Rounding to %" PRId64 " digits is out of range for the type", name,
                      said[1]);
    case KERNEL_ERROR_NOT_UTF8:
      return cdv_fail(CDV_ARGUMENT, EILSEQ, "%s: row %" PRId64 " is not valid UTF-8", name, said[1]);
    case KERNEL_ERROR_NOT_READ:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: row %" PRId64 " cannot be read", name, said[1]);
    case KERNEL_ERROR_NO_ZONE:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: row %" PRId64 " has no zone offset", name, said[1]);
    case KERNEL_ERROR_A_ZONE:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: row %" PRId64 " has a zone offset", name, said[1]);
    case KERNEL_ERROR_DIGITS_LOST:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: row %" PRId64 " has more digits behind the point", name, said[1]);
    case KERNEL_ERROR_DIGITS_MORE:
      return cdv_fail(CDV_ARGUMENT, EDOM, "%s: row %" PRId64 " has more digits", name, said[1]);
    default: return cdv_fail(CDV_DEVICE, EIO, "%s: a kernel reports %" PRId64, name, said[0]);
  }
}

int cdv_exec_report_error(const int64_t said[2], const char *name, const char *type) {
  return said[0] ? kernel_error_message(said, name, type) : 0;
}

int cdv_exec_check_error(struct cdv_exec *w, const char *name, const char *type) {
  int64_t said[2];
  cdevice_kernel_buffer from = {w->error, 0};
  int r = w->error ? cdv_exec_read_back(w, &from, 8, sizeof said, said) : 0;
  return !r && w->error ? cdv_exec_report_error(said, name, type) : r;
}

/* ---- end ---- */
static void let_go(struct cdv_exec *w, struct cdv_event *event, int failed) {
  struct cdv_staging_buffer none[2] = {{0}, {0}};
  struct cdv_stream_use users[2] = {{w->backend, w->device, w->stream}, {NULL, 0, NULL}};
  bool host = !w->backend || cdv_exec_is_host(w);
  for (int64_t i = 0; i < w->n_retained; i++) {
    struct cdv_array *a = w->retained[i];
    /* what the backend itself lets go behind the device's work needs no keeper */
    bool ours = a->root->n_blocks && !a->root->external_block && w->backend &&
                (w->backend->table.capabilities & CDEVICE_CAP_ASYNC_FREE);
    bool kept = host || ours || !w->has_work || (!failed && event && !cdv_retire_after_event(event, a->root, none));
    if (!failed && !event) kept = true; /* the device was done at once */
    if (kept) {
      cdv_array_unref(a);
    } else {
      int64_t nbytes = a->root->n_blocks ? a->root->blocks[0].nbytes : cdv_array_nbytes(a);
      struct cdv_orphans left = {.who = failed ? "a failed call of a function" : "a call of a function",
                                 .nbytes = nbytes > 0 ? nbytes : 0,
                                 .source = a};
      cdv_retire_after_streams(&left, users);
    }
  }
  free(w->retained);
  w->retained = NULL;
  w->n_retained = w->room = 0;
}

static int leave(struct cdv_exec *w, int r, struct cdv_event *event) {
  struct cdv_saved_error kept;
  if (r) cdv_error_save(&kept);
  let_go(w, event, r);
  if (w->backend) cdv_backend_addref(w->backend, -1);
  if (r) {
    cdv_error_restore(&kept);
    cdv_error_clear(&kept);
  }
  return r;
}

int cdv_exec_finish(struct cdv_exec *w, int r, struct cdv_array *written, struct cdv_array **out) {
  if (!r && written) r = cdv_array_freeze(written, w->stream, written->node->null_count < 0 ? -1 : 0, out);
  return leave(w, r, r || !written ? NULL : (*out)->event);
}

int cdv_exec_finish_all(struct cdv_exec *w, int r, struct cdv_array *const *written, int n, struct cdv_array **out) {
  int made = 0;
  for (; !r && made < n; made++) {
    r = cdv_array_freeze(written[made], w->stream, written[made]->node->null_count < 0 ? -1 : 0, &out[made]);
    if (r) break;
  }
  if (r) {
    struct cdv_saved_error kept;
    cdv_error_save(&kept);
    while (made) cdv_array_unref(out[--made]), out[made] = NULL;
    cdv_error_restore(&kept);
    cdv_error_clear(&kept);
  }
  return leave(w, r, r || !n ? NULL : out[n - 1]->event);
}

int cdv_exec_finish_void(struct cdv_exec *w, int r, struct cdv_event **event) {
  *event = NULL;
  if (!r && w->has_work && !cdv_exec_is_host(w)) r = cdv_event_record(w->backend, w->device, w->stream, event);
  return leave(w, r, *event);
}
