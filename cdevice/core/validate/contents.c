/* contents.c - checks the contents of a node's buffers: offsets, type ids, run ends, views, dictionary indices, UTF-8,
 * null counts. */
#include "cdevice/arrow_abi.h"
#include "core/base/error.h"
#include "core/format/bitmap.h"
#include "core/format/element.h"
#include "core/format/layout.h"
#include "core/validate/checks.h"

#include <string.h>

#define LONG_PATH 120 /* letters: a message shows half of a longer one */

/* ---- messages ---- */
static void write_path(const struct cdv_frame *f, char *out, size_t room) {
  if (!f || !f->up) {
    out[0] = 0;
    return;
  }
  write_path(f->up, out, room);
  size_t n = strlen(out);
  const char *dot = n ? "." : "";
  if (f->index < 0)
    snprintf(out + n, room - n, "%sdictionary", dot);
  else
    snprintf(out + n, room - n, "%s%s[%lld]", dot, f->column ? "columns" : "children", (long long)f->index);
}

int cdv_invalid(const struct cdv_frame *f, int64_t buffer, int kind, const char *format, ...) {
  char text[512], path[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  write_path(f, path, sizeof path);
  int r;
  if (strlen(path) > LONG_PATH)
    r = cdv_fail(kind, EINVAL, "%.*s... (%d levels down): %s", LONG_PATH / 2, path, f->depth, text);
  else
    r = path[0] ? cdv_fail(kind, EINVAL, "%s: %s", path, text) : cdv_fail(kind, EINVAL, "%s", text);
  struct cdv_error *e = cdv_error_last();
  memcpy(e->node, path, strlen(path) + 1);
  e->buffer = buffer;
  return r;
}
/* ---- contents ---- */
static bool valid_at(const struct ArrowArray *a, int64_t i) {
  return !a->buffers[0] || cdv_bit(a->buffers[0], a->offset + i);
}

/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
static bool utf8_ok(const uint8_t *p, int64_t n) {
  int64_t i = 0;
  while (i < n) {
    uint64_t word;
    if (i + 8 <= n && (memcpy(&word, p + i, 8), !(word & 0x8080808080808080u))) {
      i += 8;
      continue;
    }
    uint8_t c = p[i];
    if (c < 0x80) {
      i++;
      continue;
    }
    int more = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
    if (!more || i + more >= n) return false;
    uint8_t d = p[i + 1];
    if (d < (c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80) || d > (c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF))
      return false;
    for (int k = 2; k <= more; k++)
      if ((p[i + k] & 0xC0) != 0x80) return false;
    i += more + 1;
  }
  return true;
}

static int full_offsets(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowArray *a,
                        int64_t limit) {
  if (!a->buffers[1]) return 0;
  int64_t last = cdv_read_int(a->buffers[1], l->width, a->offset);
  if (last < 0)
    return cdv_invalid(f, 1, INVALID, "offset %lld is negative: %lld", (long long)a->offset, (long long)last);
  for (int64_t i = 1; i <= a->length; i++) {
    int64_t next = cdv_read_int(a->buffers[1], l->width, a->offset + i);
    if (next < last)
      return cdv_invalid(f, 1, INVALID, "offsets decrease at %lld: %lld after %lld", (long long)(a->offset + i),
                         (long long)next, (long long)last);
    last = next;
  }
  if (limit >= 0 && last > limit)
    return cdv_invalid(f, 1, INVALID, "the last offset is %lld, the child has %lld values", (long long)last,
                       (long long)limit);
  return 0;
}

static int full_views(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowArray *a, bool text) {
  int64_t n_data = a->n_buffers - 3;
  for (int64_t i = 0; i < a->length; i++) {
    if (!valid_at(a, i)) continue;
    const char *view = (const char *)a->buffers[1] + (a->offset + i) * 16;
    int32_t v[4];
    memcpy(v, view, 16);
    if (v[0] < 0) return cdv_invalid(f, 1, INVALID, "view %lld has the negative size %d", (long long)i, (int)v[0]);
    const char *bytes = view + 4;
    if (v[0] > 12) {
      if (v[2] < 0 || v[2] >= n_data)
        return cdv_invalid(f, 1, INVALID, "view %lld points to data buffer %d of %lld", (long long)i, (int)v[2],
                           (long long)n_data);
      if (v[3] < 0 || v[3] > cdv_data_size(a, v[2]) - v[0])
        return cdv_invalid(f, 1, INVALID, "view %lld ends outside data buffer %d of %lld bytes", (long long)i,
                           (int)v[2], (long long)cdv_data_size(a, v[2]));
      bytes = (const char *)a->buffers[2 + v[2]] + v[3];
      if (memcmp(bytes, view + 4, 4))
        return cdv_invalid(f, 1, INVALID, "view %lld has another prefix than its data", (long long)i);
    } else {
      for (int k = v[0]; k < 12; k++)
        if (view[4 + k]) return cdv_invalid(f, 1, INVALID, "view %lld is not padded with zeros", (long long)i);
    }
    if (text && l->utf8 && !utf8_ok((const uint8_t *)bytes, v[0]))
      return cdv_invalid(f, 1, INVALID, "value %lld is not UTF-8", (long long)i);
  }
  return 0;
}

static int full_text(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowArray *a) {
  const char *bytes = a->buffers[2];
  for (int64_t i = 0; i < a->length; i++) {
    if (!valid_at(a, i)) continue;
    int64_t from = cdv_read_int(a->buffers[1], l->width, a->offset + i);
    int64_t to = cdv_read_int(a->buffers[1], l->width, a->offset + i + 1);
    if (to > from && !utf8_ok((const uint8_t *)bytes + from, to - from))
      return cdv_invalid(f, 2, INVALID, "value %lld is not UTF-8", (long long)i);
  }
  return 0;
}

static int full_list_view(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowArray *a) {
  int64_t limit = a->children[0]->length;
  for (int64_t i = 0; i < a->length; i++) {
    int64_t from = cdv_read_int(a->buffers[1], l->width, a->offset + i),
            n = cdv_read_int(a->buffers[2], l->width, a->offset + i);
    if (from < 0 || n < 0 || from > limit || n > limit - from)
      return cdv_invalid(f, 1, INVALID, "value %lld is [%lld, +%lld), the child has %lld values", (long long)i,
                         (long long)from, (long long)n, (long long)limit);
  }
  return 0;
}

static int full_union(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowArray *a) {
  signed char child_of[128];
  memset(child_of, -1, sizeof child_of);
  for (int i = 0; i < l->n_type_ids; i++) child_of[l->type_ids[i]] = (signed char)i;
  const int8_t *ids = a->buffers[0];
  int64_t last[128] = {0};
  for (int64_t i = 0; i < a->length; i++) {
    int id = ids[a->offset + i];
    if (id < 0 || child_of[id] < 0)
      return cdv_invalid(f, 0, INVALID, "value %lld has type id %d, which the union lacks", (long long)i, id);
    if (l->type == CDV_DENSE_UNION) {
      int64_t at = cdv_read_int(a->buffers[1], 4, a->offset + i);
      int k = child_of[id];
      if (at < 0 || at >= a->children[k]->length)
        return cdv_invalid(f, 1, INVALID, "value %lld is number %lld of a child of %lld", (long long)i, (long long)at,
                           (long long)a->children[k]->length);
      if (at < last[k])
        return cdv_invalid(f, 1, INVALID, "the offsets into child %d decrease at %lld", k, (long long)i);
      last[k] = at;
    }
  }
  return 0;
}

static int full_run_ends(const struct cdv_frame *f, const struct ArrowSchema *s, const struct ArrowArray *a) {
  const struct ArrowArray *ends = a->children[0];
  int width = cdv_run_width(s);
  int64_t last = 0;
  if (ends->buffers[0] && cdv_bits_count(ends->buffers[0], ends->offset, ends->length) != ends->length)
    return cdv_invalid(f, -1, INVALID, "run ends have nulls");
  for (int64_t i = 0; i < ends->length; i++) {
    int64_t end = cdv_read_int(ends->buffers[1], width, ends->offset + i);
    if (end <= last)
      return cdv_invalid(f, -1, INVALID, "run end %lld is %lld after %lld", (long long)i, (long long)end,
                         (long long)last);
    last = end;
  }
  if (last < a->offset + a->length)
    return cdv_invalid(f, -1, INVALID, "the last run ends at %lld, %lld values are needed", (long long)last,
                       (long long)(a->offset + a->length));
  return 0;
}

int cdv_validate_contents(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowSchema *s,
                          const struct ArrowArray *a, bool text) {
  int r = 0;
  if (cdv_has_validity(l) && a->buffers[0] && a->null_count >= 0) {
    int64_t nulls = a->length - cdv_bits_count(a->buffers[0], a->offset, a->length);
    if (nulls != a->null_count)
      return cdv_invalid(f, 0, INVALID, "null_count is %lld, the bitmap has %lld nulls", (long long)a->null_count,
                         (long long)nulls);
  }
  if (a->length == 0 && l->type != CDV_RUN_END) return 0;
  switch (l->type) {
    case CDV_BINARY:
    case CDV_LARGE_BINARY:
      r = full_offsets(f, l, a, -1);
      if (!r && text && l->utf8) r = full_text(f, l, a);
      break;
    case CDV_BINARY_VIEW: r = full_views(f, l, a, text); break;
    case CDV_LIST:
    case CDV_LARGE_LIST:
    case CDV_MAP: r = full_offsets(f, l, a, a->children[0]->length); break;
    case CDV_LIST_VIEW:
    case CDV_LARGE_LIST_VIEW: r = full_list_view(f, l, a); break;
    case CDV_DENSE_UNION:
    case CDV_SPARSE_UNION: r = full_union(f, l, a); break;
    case CDV_RUN_END: r = full_run_ends(f, s, a); break;
    default: break;
  }
  if (!r && a->dictionary)
    for (int64_t i = 0; i < a->length; i++) {
      if (!valid_at(a, i)) continue;
      int64_t k = cdv_read_index(a->buffers[1], l->code, a->offset + i);
      if (k < 0 || k >= a->dictionary->length)
        return cdv_invalid(f, 1, INVALID, "index %lld is %lld, the dictionary has %lld values", (long long)i,
                           (long long)k, (long long)a->dictionary->length);
    }
  if (!r && l->type == CDV_MAP) {
    const struct ArrowArray *keys = a->children[0]->children[0];
    struct cdv_layout k; /* the first buffer of a union is no bitmap */
    if ((r = cdv_validate_format(f, s->children[0]->children[0], &k))) return r;
    if (cdv_has_validity(&k) && keys->buffers[0] &&
        cdv_bits_count(keys->buffers[0], keys->offset, keys->length) != keys->length)
      return cdv_invalid(f, -1, INVALID, "a map has a null key");
  }
  return r;
}
