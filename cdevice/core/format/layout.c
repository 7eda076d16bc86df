/* layout.c - the one description of every Arrow layout: which buffers a type has, what they hold, how large
 * they must be.  Checks, slices, copies and sizes all read it. */
#include "core/format/layout.h"

#include <string.h>

/* Roles of the fixed buffers by type, and how many children. */
static const struct {
  unsigned char n_buffers;
  signed char n_children; /* -1: any */
  unsigned char roles[3];
} table[CDV_N_TYPES] = {
    [CDV_NULL] = {0, 0, {0}},
    [CDV_BOOL] = {2, 0, {CDV_VALIDITY, CDV_BITS}},
    [CDV_FIXED] = {2, 0, {CDV_VALIDITY, CDV_VALUES}},
    [CDV_BINARY] = {3, 0, {CDV_VALIDITY, CDV_OFFSETS, CDV_BYTES}},
    [CDV_LARGE_BINARY] = {3, 0, {CDV_VALIDITY, CDV_OFFSETS, CDV_BYTES}},
    [CDV_BINARY_VIEW] = {2, 0, {CDV_VALIDITY, CDV_VIEWS}},
    [CDV_LIST] = {2, 1, {CDV_VALIDITY, CDV_OFFSETS}},
    [CDV_LARGE_LIST] = {2, 1, {CDV_VALIDITY, CDV_OFFSETS}},
    [CDV_LIST_VIEW] = {3, 1, {CDV_VALIDITY, CDV_VALUES, CDV_SIZES}},
    [CDV_LARGE_LIST_VIEW] = {3, 1, {CDV_VALIDITY, CDV_VALUES, CDV_SIZES}},
    [CDV_FIXED_LIST] = {1, 1, {CDV_VALIDITY}},
    [CDV_STRUCT] = {1, -1, {CDV_VALIDITY}},
    [CDV_MAP] = {2, 1, {CDV_VALIDITY, CDV_OFFSETS}},
    [CDV_DENSE_UNION] = {2, -1, {CDV_TYPE_IDS, CDV_UNION_OFFSETS}},
    [CDV_SPARSE_UNION] = {1, -1, {CDV_TYPE_IDS}},
    [CDV_RUN_END] = {0, 2, {0}},
};

/* Formats of one letter: type and width. */
static const struct {
  unsigned char type, width;
} letters[128] = {
    ['n'] = {CDV_NULL, 0},         ['b'] = {CDV_BOOL, 0},   ['c'] = {CDV_FIXED, 1},  ['C'] = {CDV_FIXED, 1},
    ['s'] = {CDV_FIXED, 2},        ['S'] = {CDV_FIXED, 2},  ['i'] = {CDV_FIXED, 4},  ['I'] = {CDV_FIXED, 4},
    ['l'] = {CDV_FIXED, 8},        ['L'] = {CDV_FIXED, 8},  ['e'] = {CDV_FIXED, 2},  ['f'] = {CDV_FIXED, 4},
    ['g'] = {CDV_FIXED, 8},        ['z'] = {CDV_BINARY, 4}, ['u'] = {CDV_BINARY, 4}, ['Z'] = {CDV_LARGE_BINARY, 8},
    ['U'] = {CDV_LARGE_BINARY, 8},
};

int cdv_format_width(unsigned char c) { return c < 128 && letters[c].type == CDV_FIXED ? letters[c].width : 0; }

/* Formats that begin with t: the two letters after it. */
static int time_width(const char *f) {
  if (!f[1]) return 0;
  char unit = f[2];
  switch (f[1]) {
    case 'd': return unit == 'D' ? 4 : unit == 'm' ? 8 : 0;
    case 't': return unit == 's' || unit == 'm' ? 4 : unit == 'u' || unit == 'n' ? 8 : 0;
    case 's':
    case 'D': return unit && strchr("smun", unit) ? 8 : 0;
    case 'i': return unit == 'M' ? 4 : unit == 'D' ? 8 : unit == 'n' ? 16 : 0;
  }
  return 0;
}

/* A decimal number that ends at *end; -1: none or too large. */
static int64_t number(const char **p, int64_t most) {
  int64_t v = 0;
  const char *s = *p;
  if (*s < '0' || *s > '9') return -1;
  for (; *s >= '0' && *s <= '9'; s++) {
    v = v * 10 + (*s - '0');
    if (v > most) return -1;
  }
  *p = s;
  return v;
}

static int decimal_width(const char *p) {
  int64_t precision = number(&p, 76), bits = 128;
  if (precision < 1 || *p++ != ',') return 0;
  if (*p == '-') p++;
  if (number(&p, 1000000) < 0) return 0;
  if (*p == ',') {
    p++;
    bits = number(&p, 256);
  }
  if (*p) return 0;
  int most = bits == 32 ? 9 : bits == 64 ? 18 : bits == 128 ? 38 : bits == 256 ? 76 : 0;
  return precision <= most ? (int)(bits / 8) : 0;
}

static int union_ids(const char *p, struct cdv_layout *out) {
  bool seen[128] = {false};
  if (!*p) return 0;
  for (;; p++) {
    int64_t id = number(&p, 127);
    if (id < 0 || seen[id] || out->n_type_ids == 128) return -1;
    seen[id] = true;
    out->type_ids[out->n_type_ids++] = (unsigned char)id;
    if (!*p) return 0;
    if (*p != ',') return -1;
  }
}

static int parse_nested(const char *f, struct cdv_layout *out, const char **why) {
  const char *p;
  switch (f[1]) {
    case 'l':
      out->type = CDV_LIST;
      out->width = 4;
      break;
    case 'L':
      out->type = CDV_LARGE_LIST;
      out->width = 8;
      break;
    case 's': out->type = CDV_STRUCT; break;
    case 'm':
      out->type = CDV_MAP;
      out->width = 4;
      break;
    case 'r': out->type = CDV_RUN_END; break;
    case 'v':
      if ((f[2] != 'l' && f[2] != 'L') || f[3]) return -1;
      out->type = f[2] == 'l' ? CDV_LIST_VIEW : CDV_LARGE_LIST_VIEW;
      out->width = f[2] == 'l' ? 4 : 8;
      return 0;
    case 'w':
      if (f[2] != ':') return -1;
      p = f + 3;
      out->type = CDV_FIXED_LIST;
      out->list_size = number(&p, INT32_MAX);
      if (out->list_size < 0 || *p) {
        *why = "the list size must be a number from 0 to 2147483647";
        return -1;
      }
      return 0;
    case 'u':
      if ((f[2] != 'd' && f[2] != 's') || f[3] != ':') return -1;
      out->type = f[2] == 'd' ? CDV_DENSE_UNION : CDV_SPARSE_UNION;
      out->width = 4;
      if (union_ids(f + 4, out)) {
        *why = "union type ids are distinct numbers from 0 to 127";
        return -1;
      }
      return 0;
    default: return -1;
  }
  return f[2] ? -1 : 0;
}

int cdv_layout_parse(const char *f, struct cdv_layout *out, const char **why) {
  unsigned char c = (unsigned char)f[0];
  out->utf8 = 0;
  out->code = 0;
  out->list_size = 0;
  out->n_type_ids = 0;
  *why = strncmp(f, "_pl", 3) ? "unknown format" : "a private type of polars: cast it to one of Arrow's";
  if (c < 128 && c && !f[1]) {
    out->type = letters[c].type;
    out->width = letters[c].width;
    if (!out->width && c != 'n' && c != 'b') return -1;
    out->utf8 = (c | 32) == 'u';
    out->code = (char)c;
  } else if (c == 't') {
    out->type = CDV_FIXED;
    out->width = time_width(f);
    out->code = 't';
    /* a timestamp carries ":" and its zone, nothing else carries anything */
    if (!out->width || (f[1] == 's' ? f[3] != ':' : f[3] != 0)) return -1;
  } else if (c == 'd') {
    out->type = CDV_FIXED;
    out->code = 'd';
    out->width = f[1] == ':' ? decimal_width(f + 2) : 0;
    if (!out->width) {
      *why = "a decimal is d:precision,scale[,bits] with a precision the bits can hold";
      return -1;
    }
  } else if (c == 'w') {
    const char *p = f + 2;
    out->type = CDV_FIXED;
    out->code = 'w';
    int64_t width = f[1] == ':' ? number(&p, INT32_MAX) : -1;
    if (width < 0 || *p) {
      *why = "the byte width must be a number from 0 to 2147483647";
      return -1;
    }
    out->width = (int)width;
  } else if (c == 'v' && (f[1] == 'z' || f[1] == 'u') && !f[2]) {
    out->type = CDV_BINARY_VIEW;
    out->width = 16;
    out->utf8 = f[1] == 'u';
  } else if (c == '+') {
    out->width = 0;
    if (parse_nested(f, out, why)) return -1;
  } else {
    return -1;
  }
  out->n_buffers = table[out->type].n_buffers;
  out->n_children = table[out->type].n_children;
  return 0;
}

const unsigned char *cdv_layout_buffer_types(const struct cdv_layout *layout) { return table[layout->type].roles; }

bool cdv_has_validity(const struct cdv_layout *layout) {
  return layout->n_buffers && table[layout->type].roles[0] == CDV_VALIDITY;
}

const char *cdv_buffer_type_name(int role) {
  static const char *const names[] = {
      "a validity bitmap", "bits", "values", "offsets", "sizes", "bytes", "views", "type ids", "union offsets"};
  return names[role];
}

void cdv_buffer_range(const struct cdv_layout *layout, int role, int64_t offset, int64_t length, int64_t *from,
                      int64_t *to) {
  int64_t width = layout->width;
  switch (role) {
    case CDV_VALIDITY:
    case CDV_BITS:
      *from = offset / 8;
      *to = length ? (offset + length + 7) / 8 : *from;
      return;
    case CDV_OFFSETS:
      *from = offset * width;
      *to = (offset + length + 1) * width;
      return;
    case CDV_TYPE_IDS: width = 1; break;
    case CDV_UNION_OFFSETS: width = 4; break;
    case CDV_BYTES: width = 0; break;
    default: break;
  }
  *from = offset * width;
  *to = (offset + length) * width;
}

int64_t cdv_buffer_bytes(const struct cdv_layout *layout, int role, int64_t end) {
  /* (end + 1) * width and the padding of a copy must stay below 2^63 */
  int64_t width = layout->width > 8 ? layout->width : 8, from, to;
  if (end > (INT64_MAX - 4096) / width - 1) return -1;
  if (end == 0 && role == CDV_OFFSETS) return 0; /* the one zero offset may be missing */
  cdv_buffer_range(layout, role, 0, end, &from, &to);
  return to;
}
