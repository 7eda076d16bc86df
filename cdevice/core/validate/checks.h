/* checks.h - shared by the files of the checks: structure.c checks structs, contents.c the contents of buffers. */
#ifndef CDEVICE_CHECKS_H
#define CDEVICE_CHECKS_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/base/error.h"
#include "core/format/layout.h"

struct cdv_frame {
  const struct cdv_frame *up;
  int64_t index; /* of a child; -1: the dictionary */
  bool column;   /* a child of the root struct */
  int depth;
};

#define INVALID CDV_INVALID_ARRAY

/* ---- contents.c ---- */
/* This thread's error, with the path of the node and the number of the buffer, or -1. */
#if defined(__GNUC__)
__attribute__((cold, format(printf, 4, 5)))
#endif
int cdv_invalid(const struct cdv_frame *f, int64_t buffer, int kind, const char *format, ...);
/* One node whose memory may be read.  text: UTF-8 as well, which is no matter of bounds. */
int cdv_validate_contents(const struct cdv_frame *f, const struct cdv_layout *l, const struct ArrowSchema *s,
                          const struct ArrowArray *a, bool text);

/* Parses the layout of a format. */
static inline int cdv_validate_format(const struct cdv_frame *f, const struct ArrowSchema *s,
                                      struct cdv_layout *layout) {
  const char *why;
  if (!s->format) return cdv_invalid(f, -1, INVALID, "the format is NULL");
  if (cdv_layout_parse(s->format, layout, &why))
    return cdv_invalid(f, -1, INVALID, "format \"%.100s\": %s", s->format, why);
  return 0;
}

#endif
