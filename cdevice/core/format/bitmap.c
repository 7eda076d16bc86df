/* bitmap.c - validity and boolean bitmaps, least significant bit first. */
#include "core/format/bitmap.h"

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

static inline void put_bit(uint8_t *to, int64_t k, int value) {
  uint8_t bit = (uint8_t)(1u << (k & 7));
  if (value)
    to[k >> 3] |= bit;
  else
    to[k >> 3] &= (uint8_t)~bit;
}

/* Bits of `to` outside the range are kept. */
void cdv_bits_copy(uint8_t *to, int64_t to_offset, const uint8_t *from, int64_t from_offset, int64_t length) {
  int64_t i = 0;
  for (; i < length && ((to_offset + i) & 7); i++) put_bit(to, to_offset + i, cdv_bit(from, from_offset + i));
  uint8_t *there = to + ((to_offset + i) >> 3);
  const uint8_t *here = from + ((from_offset + i) >> 3);
  int64_t shift = (from_offset + i) & 7, left = length - i;
  if (!shift) {
    memcpy(there, here, (size_t)(left >> 3));
    i += left & ~(int64_t)7;
  } else {
    for (; left >= 64; left -= 64, i += 64, there += 8, here += 8) { /* which lie in nine bytes */
      uint64_t word = load64(here) >> shift | (uint64_t)here[8] << (64 - shift);
      memcpy(there, &word, sizeof word);
    }
  }
  for (; i < length; i++) put_bit(to, to_offset + i, cdv_bit(from, from_offset + i));
}

void cdv_bits_set(uint8_t *to, int64_t offset, int64_t length) {
  int64_t i = 0, end = offset + length;
  for (i = offset; i < end && (i & 7); i++) put_bit(to, i, 1);
  if (i < end) memset(to + (i >> 3), 0xFF, (size_t)((end - i) >> 3));
  for (i += (end - i) & ~(int64_t)7; i < end; i++) put_bit(to, i, 1);
}
