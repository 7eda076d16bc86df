/* bitmap.h - validity and boolean bitmaps, least significant bit first. */
#ifndef CDEVICE_CORE_FORMAT_BITMAP_H
#define CDEVICE_CORE_FORMAT_BITMAP_H

#include <stdint.h>

int64_t cdv_bits_count(const uint8_t *bits, int64_t offset, int64_t length);
static inline int cdv_bit(const uint8_t *bits, int64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }
void cdv_bits_copy(uint8_t *to, int64_t to_offset, const uint8_t *from, int64_t from_offset, int64_t length);
void cdv_bits_set(uint8_t *to, int64_t offset, int64_t length); /* to 1 */

#endif
