/* strings.c - functions of strings and bytes that have offsets. */
#include "core/compute/strings.h"
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/allocate.h"
#include "core/array/array.h"
#include "core/base/error.h"
#include "core/compute/exec.h"
#include "core/compute/kernel_cache.h"
#include "core/compute/launch_args.h"
#include "core/compute/varlen.h"
#include "core/format/layout.h"
#include "core/format/schema.h"

#include <errno.h>
#include <string.h>

_Static_assert(CDV_BUFFER_SLOTS(BUF_OUT, BUF_TEXT_OFFSETS, BUF_TEXT_BYTES, BUF_TEXT_VALIDITY, BUF_TEXT_PATTERN,
                                BUF_ERROR, BUF_TEXT_TILES, BUF_TEXT_OUT) == 8,
               "buffers of a kernel of strings are distinct");
_Static_assert(SCALAR_ROWS == 0 && SCALAR_TEXT_OP == 1 && SCALAR_TEXT_A == 2 && SCALAR_TEXT_B == 3 &&
                   SCALAR_TEXT_C == 4 && KERNEL_SCALARS == 5,
               "numbers of a step follow the rows");

static cdevice_kernel_buffer buffer_of(const struct cdv_array *a, int64_t i) {
  return (cdevice_kernel_buffer){(void *)a->node->buffers[i], 0};
}

/* The type of the offsets, or NULL: it has none. */
static const char *offset_type(const struct ArrowSchema *s) {
  struct cdv_layout l;
  const char *why;
  if (s->dictionary || cdv_layout_parse(s->format, &l, &why)) return NULL;
  return l.type == CDV_BINARY ? "i32" : l.type == CDV_LARGE_BINARY ? "i64" : NULL;
}

/* Do rows that become text have no offsets? */
static bool prints(const struct cdv_text_step *f) { return !strncmp(f->family, "print_", 6); }

/* Numbers and what stands beside them as their types want them; both are new references. */
static int align(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                 struct cdv_array *own[2]) {
  own[0] = own[1] = NULL;
  if (!prints(f)) {
    own[0] = cdv_array_ref(text);
    own[1] = pattern ? cdv_array_ref(pattern) : NULL;
    return 0;
  }
  int r = cdv_array_aligned(text, &own[0]);
  if (r) own[0] = NULL;
  if (!r && pattern) r = cdv_array_aligned(pattern, &own[1]);
  if (r) own[1] = NULL;
  return r;
}
static void drop_aligned(struct cdv_array *own[2]) {
  for (int i = 0; i < 2; i++)
    if (own[i]) cdv_array_unref(own[i]);
}

/* The program's type, and the type of the offsets in it. */
static const char *type_of(const struct cdv_text_step *f, const struct cdv_array *text) {
  return f->type[0] ? f->type : offset_type(text->schema->node);
}
static const char *last_word(const char *type) {
  const char *space = strchr(type, ' ');
  return space ? space + 1 : type;
}

/* A kernel that goes through the rows of `text`. */
static struct cdv_kernel_launch launch_of(const struct cdv_text_step *f, const struct cdv_array *text,
                                          const struct cdv_array *pattern, int granularity) {
  struct cdv_kernel_launch s = {
      .family = f->family, .type = type_of(f, text), .name = f->name, .granularity = granularity, .n = text->length};
  if (text->length && prints(f)) {
    s.buffers[BUF_PRINT_VALUES] = cdv_kernel_values(text);
    s.buffers[BUF_TEXT_VALIDITY] = cdv_kernel_nulls(text);
  } else if (text->length) {
    s.buffers[BUF_TEXT_OFFSETS] = (cdevice_kernel_buffer){(void *)text->node->buffers[1], text->offset};
    s.buffers[BUF_TEXT_BYTES] = buffer_of(text, 2);
    s.buffers[BUF_TEXT_VALIDITY] = cdv_kernel_nulls(text);
  }
  if (pattern) s.buffers[BUF_TEXT_PATTERN] = cdv_kernel_values(pattern);
  for (int i = 0; i < 4; i++) s.scalars[SCALAR_TEXT_OP + i] = f->numbers[i];
  return s;
}

/* The result is null where the rows are. */
static int put_nulls(struct cdv_exec *w, const struct cdv_array *text, const struct cdv_array *out) {
  struct cdv_kernel_launch s = {
      "boolean", "bits", "valid_all", CDV_PER_BIT_WORD, text->length, {[BUF_OUT] = buffer_of(out, 0)}, {0}};
  if (!cdv_may_be_null(text)) return 0;
  s.buffers[BUF_ARG0] = cdv_kernel_nulls(text);
  return cdv_exec_launch(w, &s);
}

/* Bytes of a number of a kernel's type: the digits at its end say how many bits. */
static int width_of(const char *type) {
  const char *digits = type + strcspn(type, "0123456789 ");
  int bits = 0;
  while (*digits >= '0' && *digits <= '9') bits = bits * 10 + (*digits++ - '0');
  return bits / 8;
}

static int check_type(const struct cdv_text_step *f, const struct cdv_array *text) {
  const char *own = offset_type(text->schema->node);
  if (prints(f)) {
    if (cdv_value_width(text->schema->node) == width_of(f->type)) return 0;
    return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: numbers of type %s were expected, not \"%.60s\"", f->function_name,
                    f->type, text->schema->node->format);
  }
  if (own && (!f->type[0] || !strcmp(own, last_word(f->type)))) return 0;
  return cdv_fail(CDV_ARGUMENT, EINVAL, "%s: strings or bytes with offsets were expected, not \"%.60s\"",
                  f->function_name, text->schema->node->format);
}

/* ---- rows that a kernel complains of ---- */
/* Of n rows from `first` on: *row is one that it complains of, or -1. */
static int complains(struct cdv_exec *w, const struct cdv_kernel_launch *whole, int64_t first, int64_t n,
                     int64_t said[2]) {
  struct cdv_kernel_launch s = *whole;
  int r = cdv_exec_error_slot(w, &s.buffers[BUF_ERROR]);
  s.n = n;
  s.buffers[BUF_TEXT_OFFSETS].offset += first;
  s.buffers[BUF_TEXT_VALIDITY].offset += first;
  if (!r) r = cdv_exec_launch(w, &s);
  return r ? r : cdv_exec_read_back(w, &s.buffers[BUF_ERROR], 8, 2 * sizeof *said, said);
}

/* Waits: the error of the first row that a kernel complains of, whichever was found first.  Its result is
 * overwritten; no caller gets it. */
static int check_rows(struct cdv_exec *w, const struct cdv_text_step *f, const struct cdv_kernel_launch *s) {
  int64_t said[2], good = 0, bad, code;
  int r = cdv_exec_read_back(w, &s->buffers[BUF_ERROR], 8, sizeof said, said);
  if (r || !said[0]) return r;
  code = said[0];
  bad = said[1];
  while (!r && good < bad) { /* rows before `good` are */
    int64_t half = (bad - good + 1) / 2;
    r = complains(w, s, good, half, said);
    if (!r && said[0]) {
      bad = good + said[1];
      code = said[0];
    } else if (!r) {
      good += half;
    }
  }
  said[0] = code;
  said[1] = bad;
  return r ? r : cdv_exec_report_error(said, f->function_name, s->type);
}

int cdv_compute_text_numbers(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                             struct cdv_schema *schema, const struct cdv_stream_ref *stream_ref,
                             struct cdv_array **out) {
  struct cdv_array *inputs[2] = {text, pattern}, *made = NULL;
  struct cdv_exec w;
  int r = check_type(f, text);
  if (r) return r;
  r = cdv_exec_begin(&w, inputs, pattern ? 2 : 1, stream_ref, f->function_name);
  if (!r) r = cdv_exec_alloc_array(&w, schema, text->length, cdv_may_be_null(text), &made);
  if (!r) r = put_nulls(&w, text, made);
  if (!r && text->length) {
    struct cdv_kernel_launch s = launch_of(f, text, pattern, f->packed ? CDV_PER_ROW_PACKED : CDV_PER_ROW);
    s.buffers[BUF_OUT] = buffer_of(made, 1);
    if (f->checked) r = cdv_exec_error_slot(&w, &s.buffers[BUF_ERROR]);
    if (!r) r = cdv_exec_launch(&w, &s);
    if (!r && f->checked) r = check_rows(&w, f, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

/* ---- results of strings ---- */
static void drop(struct cdv_text_sizes *x) {
  struct cdv_array **held[] = {&x->offsets, &x->tiles, &x->begins};
  for (int i = 0; i < 3; i++) {
    if (*held[i]) cdv_array_unref(*held[i]);
    *held[i] = NULL;
  }
}

/* A result beside that of cdv_exec_finish: *a, which the call has, becomes a reference that is handed out. */
static int hand_out(struct cdv_exec *w, int r, struct cdv_array **a) {
  struct cdv_array *made = *a;
  *a = NULL;
  return r || !made ? r : cdv_array_freeze(made, w->stream, 0, a);
}

static int alloc_numbers(struct cdv_exec *w, const char *type, int64_t n, struct cdv_array **out) {
  struct cdv_schema *schema = cdv_schema_of_number(!strcmp(type, "i32") ? 'i' : type[0] == 'i' ? 'l' : 'C');
  int r = cdv_exec_alloc_array(w, schema, n, false, out);
  cdv_schema_unref(schema);
  return r;
}

static int64_t tiles_of(int64_t n) { return n / FILTER_TILE_ROWS + (n % FILTER_TILE_ROWS != 0); }

/* Sums of tiles become those of the tiles before; *total: of all. */
static int add_up(struct cdv_exec *w, const char *type, int64_t n, cdevice_kernel_buffer tiles, bool printed,
                  int64_t *total) {
  struct cdv_kernel_launch scan = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, tiles_of(n), {[BUF_OUT] = tiles}, {0}};
  cdevice_kernel_buffer last = {tiles.data, tiles_of(n)};
  int r = cdv_exec_launch(w, &scan);
  if (!r) r = cdv_exec_read_back(w, &last, 8, 8, total);
  if (!r && *total > INT32_MAX && !strcmp(type, "i32"))
    r = cdv_fail(CDV_ARGUMENT, EOVERFLOW,
                 "%s: the result has %lld bytes, more than 32-bit offsets can count; cast %s to large_string or "
                 "large_binary",
                 w->function_name, (long long)*total, printed ? "the numbers" : "the argument");
  return r;
}

static int text_sizes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                      bool with_begins, const struct cdv_stream_ref *stream_ref, struct cdv_text_sizes *out) {
  struct cdv_array *inputs[2] = {text, pattern};
  struct cdv_exec w;
  int64_t n = text->length;
  *out = (struct cdv_text_sizes){NULL, NULL, NULL, 0};
  int r = check_type(f, text);
  if (r) return r;
  struct cdv_kernel_launch s = launch_of(f, text, pattern, CDV_FILTER_TILE);
  const char *offsets = last_word(s.type);
  r = cdv_exec_begin(&w, inputs, pattern ? 2 : 1, stream_ref, f->function_name);
  if (!r) r = alloc_numbers(&w, offsets, n + 1, &out->offsets);
  if (!r) r = alloc_numbers(&w, "i64", tiles_of(n) + 1, &out->tiles);
  if (!r && with_begins) r = alloc_numbers(&w, prints(f) ? "i64" : offsets, n, &out->begins);
  if (!r && f->checked) r = cdv_exec_error_slot(&w, &s.buffers[BUF_ERROR]);
  if (!r) {
    s.buffers[BUF_OUT] = buffer_of(out->offsets, 1);
    s.buffers[BUF_TEXT_TILES] = buffer_of(out->tiles, 1);
    if (with_begins) s.buffers[BUF_TEXT_OUT] = buffer_of(out->begins, 1);
    r = cdv_exec_launch(&w, &s);
  }
  if (!r && f->checked) r = check_rows(&w, f, &s);
  if (!r) r = add_up(&w, offsets, n, buffer_of(out->tiles, 1), prints(f), &out->total);
  r = hand_out(&w, r, &out->begins);
  r = hand_out(&w, r, &out->tiles);
  struct cdv_array *last = out->offsets;
  out->offsets = NULL;
  r = cdv_exec_finish(&w, r, last, &out->offsets);
  if (r) drop(out);
  return r;
}

int cdv_compute_text_sizes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           bool with_begins, const struct cdv_stream_ref *stream_ref, struct cdv_text_sizes *out) {
  struct cdv_array *own[2];
  *out = (struct cdv_text_sizes){NULL, NULL, NULL, 0};
  int r = align(f, text, pattern, own);
  if (!r) r = text_sizes(f, own[0], own[1], with_begins, stream_ref, out);
  drop_aligned(own);
  return r;
}

int cdv_compute_text_parts(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           struct cdv_array *counts, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **offsets, struct cdv_text_sizes *out) {
  struct cdv_array *inputs[3] = {text, counts, pattern};
  struct cdv_exec w;
  int64_t parts = 0;
  *out = (struct cdv_text_sizes){NULL, NULL, NULL, 0};
  *offsets = NULL;
  struct cdv_kernel_launch s = launch_of(f, text, pattern, CDV_PER_ROW);
  cdevice_kernel_buffer sizes = cdv_kernel_values(counts);
  int r = cdv_exec_begin(&w, inputs, pattern ? 3 : 2, stream_ref, f->function_name);
  if (!r) r = alloc_numbers(&w, "i64", text->length + 1, offsets);
  if (!r) r = cdv_sizes_to_offsets(&w, "i64", text->length, &sizes, *offsets, &parts);
  if (!r) r = alloc_numbers(&w, s.type, parts + 1, &out->offsets);
  if (!r) r = alloc_numbers(&w, s.type, parts, &out->begins);
  if (!r) r = alloc_numbers(&w, "i64", tiles_of(parts) + 1, &out->tiles);
  if (!r) {
    struct cdv_kernel_launch sum = {
        .family = "string_pieces",
        .type = s.type,
        .name = "sums",
        .granularity = CDV_FILTER_TILE,
        .n = parts,
        .buffers = {[BUF_OUT] = buffer_of(out->offsets, 1), [BUF_TEXT_TILES] = buffer_of(out->tiles, 1)}};
    s.buffers[BUF_OUT] = buffer_of(out->offsets, 1);
    s.buffers[BUF_TEXT_OUT] = buffer_of(out->begins, 1);
    s.buffers[BUF_TEXT_TILES] = buffer_of(*offsets, 1);
    r = cdv_exec_launch(&w, &s);
    if (!r) r = cdv_exec_launch(&w, &sum);
    if (!r) r = add_up(&w, s.type, parts, buffer_of(out->tiles, 1), false, &out->total);
  }
  r = hand_out(&w, r, offsets);
  r = hand_out(&w, r, &out->begins);
  r = hand_out(&w, r, &out->tiles);
  struct cdv_array *last = out->offsets;
  out->offsets = NULL;
  r = cdv_exec_finish(&w, r, last, &out->offsets);
  if (!r) return 0;
  if (*offsets) cdv_array_unref(*offsets);
  drop(out);
  return r;
}

static int text_bytes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                      const struct cdv_text_sizes *sizes, int64_t n, const struct cdv_stream_ref *stream_ref,
                      struct cdv_array **out) {
  struct cdv_array *inputs[5] = {text, sizes->offsets, sizes->tiles}, *made = NULL;
  struct cdv_exec w;
  int n_inputs = 3, r = check_type(f, text);
  if (pattern) inputs[n_inputs++] = pattern;
  if (sizes->begins) inputs[n_inputs++] = sizes->begins;
  if (r) return r;
  struct cdv_kernel_launch s = launch_of(f, text, pattern, CDV_FILTER_TILE);
  s.n = n;
  s.buffers[BUF_OUT] = buffer_of(sizes->offsets, 1);
  s.buffers[BUF_TEXT_TILES] = buffer_of(sizes->tiles, 1);
  if (sizes->begins) s.buffers[BUF_TEXT_PATTERN] = buffer_of(sizes->begins, 1);
  r = cdv_exec_begin(&w, inputs, n_inputs, stream_ref, f->function_name);
  if (!r) r = alloc_numbers(&w, "u8", sizes->total, &made);
  if (!r && !(w.flags & CDEVICE_COMPUTE_COARSE)) { /* items that do many rows do it as they write */
    struct cdv_kernel_launch settle = {"string_pieces", last_word(s.type), "settle", CDV_FILTER_TILE, n, {{0}}, {0}};
    settle.buffers[BUF_OUT] = s.buffers[BUF_OUT];
    settle.buffers[BUF_TEXT_TILES] = s.buffers[BUF_TEXT_TILES];
    r = cdv_exec_launch(&w, &settle);
  }
  if (!r) {
    s.buffers[BUF_TEXT_OUT] = buffer_of(made, 1);
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}

int cdv_compute_text_bytes(const struct cdv_text_step *f, struct cdv_array *text, struct cdv_array *pattern,
                           const struct cdv_text_sizes *sizes, int64_t n, const struct cdv_stream_ref *stream_ref,
                           struct cdv_array **out) {
  struct cdv_array *own[2];
  int r = align(f, text, pattern, own);
  if (!r) r = text_bytes(f, own[0], own[1], sizes, n, stream_ref, out);
  drop_aligned(own);
  return r;
}

int cdv_compute_text_map(const struct cdv_text_step *f, struct cdv_array *text, bool rows, int64_t first, int64_t total,
                         const struct cdv_stream_ref *stream_ref, struct cdv_array **out) {
  struct cdv_array *made = NULL;
  struct cdv_exec w;
  int r = check_type(f, text);
  if (r) return r;
  struct cdv_kernel_launch s = launch_of(f, text, NULL, CDV_PER_ROW);
  r = cdv_exec_begin(&w, &text, 1, stream_ref, f->function_name);
  if (!r) r = alloc_numbers(&w, "u8", total, &made);
  if (!r && total) {
    if (!rows) {
      s.n = total;
      s.buffers[BUF_TEXT_BYTES].offset = first;
    }
    s.scalars[SCALAR_TEXT_A] = first;
    s.buffers[BUF_TEXT_OUT] = buffer_of(made, 1);
    r = cdv_exec_launch(&w, &s);
  }
  return cdv_exec_finish(&w, r, made, out);
}
