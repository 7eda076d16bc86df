/* element.h - reading single values out of buffers that the CPU may read. */
#ifndef CDEVICE_VALUES_H
#define CDEVICE_VALUES_H

#include <stdint.h>
#include <string.h>

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"

/* Element i of a buffer of signed integers of 2, 4 or 8 bytes (offsets, sizes, run ends), aligned or not. */
static inline int64_t cdv_read_int(const void *p, int width, int64_t i) {
  int16_t v2;
  int32_t v4;
  int64_t v8;
  const char *at = (const char *)p + i * width;
  switch (width) {
    case 2: memcpy(&v2, at, 2); return v2;
    case 4: memcpy(&v4, at, 4); return v4;
    default: memcpy(&v8, at, 8); return v8;
  }
}

/* Dictionary index i of a buffer of this integer format; a uint64 above 2^63 comes out negative. */
static inline int64_t cdv_read_index(const void *p, char code, int64_t i) {
  switch (code) {
    case 'c': return ((const int8_t *)p)[i];
    case 'C': return ((const uint8_t *)p)[i];
    case 'S': return (uint16_t)cdv_read_int(p, 2, i);
    case 's': return cdv_read_int(p, 2, i);
    case 'I': return (uint32_t)cdv_read_int(p, 4, i);
    case 'i': return cdv_read_int(p, 4, i);
    default: return cdv_read_int(p, 8, i);
  }
}

/* Bytes of data buffer k of a view array: its last buffer has them, on the CPU on every device. */
static inline int64_t cdv_data_size(const struct ArrowArray *views, int64_t k) {
  return cdv_read_int(views->buffers[views->n_buffers - 1], 8, k);
}

static inline int cdv_run_width(const struct ArrowSchema *runs) {
  char code = runs->children[0]->format[0];
  return code == 's' ? 2 : code == 'i' ? 4 : 8;
}

/* The run that holds a row of a run-end encoded array, its offset counted in. */
static inline int64_t cdv_find_run(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t row) {
  const struct ArrowArray *ends = a->children[0];
  int width = cdv_run_width(s);
  int64_t low = 0, high = ends->length - 1;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (cdv_read_int(ends->buffers[1], width, ends->offset + mid) > row)
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

#endif
