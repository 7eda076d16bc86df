/* bitmap.c - validity and boolean bitmaps, least significant bit first. */
#include "core.h"

#include <string.h>

static uint64_t load64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

int64_t cdv_bits_count(const uint8_t *bits, int64_t offset, int64_t length) {
  int64_t n = 0, i = offset, end = offset + length;
  for (; i < end && (i & 7); i++) n += cdv_bit(bits, i);
  for (; i + 64 <= end; i += 64) n += __builtin_popcountll(load64(bits + (i >> 3)));
  for (; i < end; i++) n += cdv_bit(bits, i);
  return n;
}

/* Bits of `to` outside the range are kept. */
void cdv_bits_copy(uint8_t *to, int64_t to_offset, const uint8_t *from, int64_t from_offset, int64_t length) {
  int64_t i = 0;
  if (((to_offset | from_offset) & 7) == 0) {
    memcpy(to + (to_offset >> 3), from + (from_offset >> 3), (size_t)(length >> 3));
    i = length & ~(int64_t)7;
  }
  for (; i < length; i++) {
    int64_t k = to_offset + i;
    uint8_t bit = (uint8_t)(1u << (k & 7));
    if (cdv_bit(from, from_offset + i))
      to[k >> 3] |= bit;
    else
      to[k >> 3] &= (uint8_t)~bit;
  }
}
