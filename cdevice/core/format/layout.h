/* layout.h - the one description of every Arrow layout: which buffers a type has, what they hold, how large they
 * must be. */
#ifndef CDEVICE_CORE_FORMAT_LAYOUT_H
#define CDEVICE_CORE_FORMAT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* cffi: begin */
#define CDV_MAX_DEPTH 64
/* Types, in the order of the layout table. */
enum cdv_type {
  CDV_NULL,
  CDV_BOOL,
  CDV_FIXED,
  CDV_BINARY,
  CDV_LARGE_BINARY,
  CDV_BINARY_VIEW,
  CDV_LIST,
  CDV_LARGE_LIST,
  CDV_LIST_VIEW,
  CDV_LARGE_LIST_VIEW,
  CDV_FIXED_LIST,
  CDV_STRUCT,
  CDV_MAP,
  CDV_DENSE_UNION,
  CDV_SPARSE_UNION,
  CDV_RUN_END,
  CDV_N_TYPES
};
/* What a buffer holds. */
enum cdv_buffer_type {
  CDV_VALIDITY,
  CDV_BITS,
  CDV_VALUES,
  CDV_OFFSETS,
  CDV_SIZES,
  CDV_BYTES,
  CDV_VIEWS,
  CDV_TYPE_IDS,
  CDV_UNION_OFFSETS
};
/* A parsed format string. */
struct cdv_layout {
  int type;           /* enum cdv_type */
  int width;          /* bytes of one element of the values, offsets or views buffer */
  int n_buffers;      /* fixed part; view types have the variadic buffers and their sizes beside these */
  int utf8;           /* binary types: the bytes are text */
  char code;          /* first letter of fixed-width formats that mean numbers ("i", "l", "g", "d", "t" ...) */
  int64_t list_size;  /* fixed-size list */
  int64_t n_children; /* -1: any number */
  int n_type_ids;
  unsigned char type_ids[128];
};
/* cffi: end */

/* Parses a format.  *why gets a short reason on failure (a constant). */
int cdv_layout_parse(const char *format, struct cdv_layout *out, const char **why);
/* Bytes of a fixed-width type whose format is this one letter; 0: it is no such type. */
int cdv_format_width(unsigned char letter);
/* One entry per buffer of a type; role of buffer i. */
const unsigned char *cdv_layout_buffer_types(const struct cdv_layout *layout);
/* Is its first buffer a bitmap of nulls?  That of a union is none. */
bool cdv_has_validity(const struct cdv_layout *layout);
const char *cdv_buffer_type_name(int role);
/* Bytes that buffer `role` of `layout` needs for elements [0, end); -1: overflow.  CDV_BYTES: cannot be known, 0. */
int64_t cdv_buffer_bytes(const struct cdv_layout *layout, int role, int64_t end);
/* Byte range [*from, *to) of a buffer that elements [offset, offset + length) lie in; bits start at a byte. */
void cdv_buffer_range(const struct cdv_layout *layout, int role, int64_t offset, int64_t length, int64_t *from,
                      int64_t *to);

#endif
