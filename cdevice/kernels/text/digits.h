/* digits.h - whole numbers as digits and back.  Nothing here knows of T. */

/* The high word of a product. */
FN u64 product_high(u64 x, u64 y) {
#if defined(CDV_HOST)
  return (u64)((unsigned __int128)x * y >> 64);
#elif defined(__OPENCL_VERSION__)
  return mul_hi(x, y);
#else
  return wide_multiply(wide_make(0, x), wide_make(0, y)).high;
#endif
}

TABLE(u64)
powers_of_ten[20] = {1u,
                     10u,
                     100u,
                     1000u,
                     10000u,
                     100000u,
                     1000000u,
                     10000000u,
                     100000000u,
                     1000000000u,
                     (u64)10 * 1000000000u,
                     (u64)100 * 1000000000u,
                     (u64)1000 * 1000000000u,
                     (u64)10000 * 1000000000u,
                     (u64)100000 * 1000000000u,
                     (u64)1000000 * 1000000000u,
                     (u64)10000000 * 1000000000u,
                     (u64)100000000 * 1000000000u,
                     (u64)1000000000 * 1000000000u,
                     (u64)10 * 1000000000u * 1000000000u};
FN int log2_of_ten(int k) { return (k * 1741647) >> 19; } /* cut, of 10^k */
/* How many digits it has. */
FN int digits_of(u64 x) {
#if defined(CDV_HOST)
  const int n = (64 - __builtin_clzll(x | 1)) * 1233 >> 12; /* log10(2) is 1233 / 4096 */
  return n + (n < 20 && x >= powers_of_ten[n]) + (x == 0);
#else
  int n = 1;
  for (int k = 1; k < 20; k++) n += x >= powers_of_ten[k];
  return n;
#endif
}

#if defined(CDV_HOST) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DIGITS_BY_WORDS 1 /* eight digits at a time, the first one lowest */
FN void store8(u8 *o, u64 x) { __builtin_memcpy(o, &x, 8); }
/* Eight digits, of a number below 10^8. */
FN u64 word_of_digits(u32 x) {
  u64 d = x / 10000u | (u64)(x % 10000u) << 32;
  u64 q = (d * 5243u >> 19) & 0x0000007f0000007full; /* by 100 */
  d = q | (d - q * 100u) << 16;
  q = (d * 103u >> 10) & 0x000f000f000f000full; /* by 10 */
  return (q | (d - q * 10u) << 8) + 0x3030303030303030ull;
}
/* The number that eight digits are, each less '0'. */
FN u32 number_of_word(u64 d) {
  d = d * 10 + (d >> 8);
  return (u32)(((d & 0x000000ff000000ffull) * (100 + ((u64)1000000 << 32)) +
                (d >> 16 & 0x000000ff000000ffull) * (1 + ((u64)10000 << 32))) >>
               32);
}
/* Is a byte no digit, less '0' by exclusive or? */
#define NOT_DIGITS(d) ((((d) + 0x7676767676767676ull) | (d)) & 0x8080808080808080ull)
#endif

/* Writes the last n digits, up to eight bytes more behind them. */
FN void put_digits(u8 *o, u64 x, int n) {
#if defined(DIGITS_BY_WORDS)
  if (n > 16) {
    const u64 top = x / 10000000000000000u;
    store8(o, word_of_digits((u32)(top % 100000000u)) >> (8 * (24 - n)));
    o += n - 16;
    x -= top * 10000000000000000u;
    n = 16;
  }
  if (n > 8) {
    const u64 high = x / 100000000u;
    store8(o, word_of_digits((u32)(high % 100000000u)) >> (8 * (16 - n)));
    o += n - 8;
    x -= high * 100000000u;
    n = 8;
  }
  if (n > 0) store8(o, word_of_digits((u32)(x % 100000000u)) >> (8 * (8 - n)));
#else
  for (int k = n - 1; k >= 0; k--) {
    const u64 q = x / 10u;
    o[k] = (u8)(48u + (u32)(x - q * 10u));
    x = q;
  }
#endif
}
FN int put_word(u8 *o, int at, u64 letters, int n) { /* of up to eight, the first one lowest */
#if defined(DIGITS_BY_WORDS)
  store8(o + at, letters);
#else
  for (int k = 0; k < n; k++) o[at + k] = (u8)(letters >> (8 * k));
#endif
  return at + n;
}
/* A whole number, whose size with its sign is known. */
FN int put_whole(u8 *o, u64 magnitude, int negative, int size) {
  o[0] = 45;
  put_digits(o + negative, magnitude, size - negative);
  return size;
}
