/* integer.h - whole numbers and truth values in text.  Nothing here knows of T.
 *
 * What reads a row gives 0, or the error that there is. */

/* Digits alone; leading zeros are none too many. */
FN int all_digits_at(GLOBAL const u8 *b, i64 i, i64 end, u64 most, u64 *x) {
  u64 r = 0;
  int good = i < end;
  for (; i < end && good; i++) {
    const u64 d = (u64)b[i] - 48u;
    good = d <= 9 && r <= most / 10u && r * 10u <= most - d;
    r = r * 10u + d;
  }
  *x = r;
  return good ? 0 : KERNEL_ERROR_NOT_READ;
}
FN int hex_at(GLOBAL const u8 *b, i64 i, i64 end, int digits, u64 *x) {
  u64 r = 0;
  int good = i < end && end - i <= digits;
  for (; i < end && good; i++) {
    const u32 c = b[i], letter = (c | 32u) - 97u;
    good = c - 48u <= 9u || letter <= 5u;
    r = r << 4 | (u64)(letter <= 5u ? letter + 10u : c - 48u);
  }
  *x = r;
  return good ? 0 : KERNEL_ERROR_NOT_READ;
}
#if defined(DIGITS_BY_WORDS)
/* The last bytes of a word: of the second one before the end of n digits at n, of the first one at n + 8, of the third one
 * at n - 8. */
static const u64 last_bytes[28] = {0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0xff00000000000000ull,
                                   0xffff000000000000ull,
                                   0xffffff0000000000ull,
                                   0xffffffff00000000ull,
                                   0xffffffffff000000ull,
                                   0xffffffffffff0000ull,
                                   0xffffffffffffff00ull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull,
                                   0xffffffffffffffffull};
#if defined(__SSE4_1__) && defined(__GNUC__)
typedef char bytes16 __attribute__((vector_size(16)));
typedef short words8 __attribute__((vector_size(16)));
typedef int ints4 __attribute__((vector_size(16)));
/* The last 16 digits or fewer, n of them, and in *high those of 10^8; *bad as below. */
FN __attribute__((always_inline)) u32 last_digits_at(const u8 *b, i64 end, i64 n, u32 *high, u64 *bad) {
  static const u8 kept[32] = {[16 ... 31] = 0xff};
  bytes16 d, mask;
  __builtin_memcpy(&d, b + end - 16, 16);
  __builtin_memcpy(&mask, kept + (n < 16 ? n : 16), 16);
  d = (d ^ 0x30) & mask;
  *bad = (u64)__builtin_ia32_pmovmskb128((bytes16)((d > 9) | (d < 0)));
  const words8 two = __builtin_ia32_pmaddubsw128(d, (bytes16){10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1});
  const ints4 four = __builtin_ia32_pmaddwd128(two, (words8){100, 1, 100, 1, 100, 1, 100, 1});
  const words8 packed = __builtin_ia32_packusdw128(four, four);
  const ints4 eight = __builtin_ia32_pmaddwd128(packed, (words8){10000, 1, 10000, 1, 10000, 1, 10000, 1});
  *high = (u32)eight[0];
  return (u32)eight[1];
}
#else
FN u32 last_digits_at(const u8 *b, i64 end, i64 n, u32 *high, u64 *bad) {
  const u64 zeros = 0x3030303030303030ull, low = LOAD8(b + end - 8) ^ zeros;
  const u64 more = (LOAD8(b + end - 16) ^ zeros) & last_bytes[n];
  *bad = NOT_DIGITS(low) | NOT_DIGITS(more);
  *high = number_of_word(more);
  return number_of_word(low);
}
#endif
/* 8 to 19 digits without a branch, which would be random; *bad: not 0 where there are others. */
FN __attribute__((always_inline)) u64 long_digits_at(const u8 *b, i64 end, i64 n, u64 *bad) {
  const u64 top = (LOAD8(b + end - 24) ^ 0x3030303030303030ull) & last_bytes[n - 8];
  u32 high;
  u64 others;
  const u32 low = last_digits_at(b, end, n, &high, &others);
  *bad = others | NOT_DIGITS(top);
  return low + (u64)high * 100000000u +
         ((top >> 40 & 255u) * 100u + (top >> 48 & 255u) * 10u + (top >> 56)) * 10000000000000000u;
}
/* Up to 19 digits, whose number is not above `most`; 0: it is none of these. */
FN __attribute__((always_inline)) int short_digits_at(const u8 *b, i64 begin, i64 end, u64 most, u64 *x) {
  const i64 n = end - begin;
  u64 bad, r;
  if (n <= 0 || n > 19 || end < 24) return 0;
  if (n <= 8) {
    const int up = (int)(8 * (8 - n));
    const u64 d = (LOAD8(b + end - 8) ^ 0x3030303030303030ull) >> up << up;
    bad = NOT_DIGITS(d);
    r = number_of_word(d);
  } else {
    r = long_digits_at(b, end, n, &bad);
  }
  *x = r;
  return !bad && r <= most;
}
#endif
/* A whole number up to `most`, with a sign one more; or the bits of one, by up to so many digits behind 0x. */
FN int integer_at(GLOBAL const u8 *b, i64 begin, i64 end, u64 most, int is_signed, int hex_digits, u64 *x) {
  const int negative = is_signed && begin < end && b[begin] == 45;
  begin += negative;
  if (!negative && end - begin > 2 && b[begin] == 48 && (b[begin + 1] | 32) == 120)
    return hex_at(b, begin + 2, end, hex_digits, x);
  const int r = all_digits_at(b, begin, end, most + (u64)negative, x);
  if (negative) *x = 0 - *x;
  return r;
}

/* Are the letters at i a word of small ones, the first one lowest, in any case? */
FN int is_word(GLOBAL const u8 *b, i64 i, u64 letters, int n) {
  int same = 1;
  for (int k = 0; k < n && same; k++) same = (b[i + k] | 32u) == (u32)(letters >> (8 * k) & 255u);
  return same;
}
/* 1 or 0, true or false. */
FN int bool_at(GLOBAL const u8 *b, i64 begin, i64 end, u32 *x) {
  const i64 n = end - begin;
  *x = 0;
  if (n == 1) {
    *x = b[begin] == 49;
    return b[begin] == 48 || b[begin] == 49 ? 0 : KERNEL_ERROR_NOT_READ;
  }
  if (n == 4 && is_word(b, begin, (u64)0x65757274u, 4)) {
    *x = 1;
    return 0;
  }
  return n == 5 && is_word(b, begin, (u64)0x65736c61u << 8 | 0x66u, 5) ? 0 : KERNEL_ERROR_NOT_READ;
}
FN u32 bool_row(GLOBAL const u8 *b, i64 begin, i64 end, u32 valid, i64 row, GLOBAL i64 *error) {
  u32 x = 0;
  if (valid && bool_at(b, begin, end, &x)) report_error(error, KERNEL_ERROR_NOT_READ, row);
  return x;
}
