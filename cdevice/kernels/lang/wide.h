/* wide.h - whole numbers of 128 bits, two's complement in two words, and of 256 bits in four: what decimals are stored
 * as.  Only some compilers have such types. */
typedef struct {
  u64 low, high;
} w128;

FN w128 wide_make(u64 high, u64 low) {
  w128 r;
  r.low = low, r.high = high;
  return r;
}
FN w128 wide_signed(i64 x) { return wide_make(x < 0 ? ~(u64)0 : (u64)0, (u64)x); }
FN w128 wide_add(w128 x, w128 y) { return wide_make(x.high + y.high + (x.low + y.low < x.low), x.low + y.low); }
FN w128 wide_negate(w128 x) { return wide_make(~x.high + (x.low == 0), 0 - x.low); }
FN w128 wide_subtract(w128 x, w128 y) { return wide_add(x, wide_negate(y)); }
FN int wide_below0(w128 x) { return (i64)x.high < 0; }
FN w128 wide_magnitude(w128 x) { return wide_below0(x) ? wide_negate(x) : x; }
FN int wide_same(w128 x, w128 y) { return x.low == y.low && x.high == y.high; }
FN int wide_less(w128 x, w128 y) { return (i64)x.high < (i64)y.high || (x.high == y.high && x.low < y.low); }
/* The lower 128 bits. */
FN w128 wide_multiply(w128 x, w128 y) {
  const u64 a = x.low & 0xffffffffu, b = x.low >> 32, c = y.low & 0xffffffffu, d = y.low >> 32;
  const u64 ad = a * d, middle = b * c + (a * c >> 32) + (ad & 0xffffffffu);
  return wide_make(b * d + (ad >> 32) + (middle >> 32) + x.high * y.low + x.low * y.high,
                   middle << 32 | (a * c & 0xffffffffu));
}
/* Without a sign, by less than 2^32; what remains. */
FN u64 wide_divide(w128 *x, u64 by) {
  const u64 a = x->high / by, b = (x->high % by) << 32 | x->low >> 32;
  const u64 c = (b % by) << 32 | (x->low & 0xffffffffu);
  x->high = a, x->low = (b / by) << 32 | c / by;
  return c % by;
}
FN u64 power_of_ten(int k) { /* up to 10^19 */
  u64 r = 1, ten = 10;
  for (int bit = 1; bit < 32; bit <<= 1, ten *= ten) r *= k & bit ? ten : 1;
  return r;
}
FN w128 wide_power(int k) { /* of ten, up to 10^38 */
  const int first = k < 19 ? k : 19;
  return wide_multiply(wide_make(0, power_of_ten(first)), wide_make(0, power_of_ten(k - first)));
}
/* Cut towards zero by 10^k; *lost: was anything? */
FN w128 wide_cut(w128 x, int k, int *lost) {
  w128 r = wide_magnitude(x);
  *lost = 0;
  for (int part = 0; part < 5; part++, k -= 9)
    if (k > 0 && wide_divide(&r, power_of_ten(k < 9 ? k : 9))) *lost = 1;
  return wide_below0(x) ? wide_negate(r) : r;
}
/* What numbers of so many digits are below; 39: of any. */
FN w128 wide_limit(int digits) { return digits >= 39 ? wide_make(~(u64)0 >> 1, ~(u64)0) : wide_power(digits); }
/* The nearest whole number to x / n, n > 0; a half is rounded away from zero. */
FN w128 wide_mean(w128 x, i64 n) {
  const w128 m = wide_magnitude(x);
  u64 rest = 0;
  w128 r = wide_make(0, 0);
  for (int bit = 127; bit >= 0; bit--) {
    rest = rest << 1 | ((bit < 64 ? m.low >> bit : m.high >> (bit - 64)) & 1u);
    r = wide_add(r, r);
    if (rest >= (u64)n) rest -= (u64)n, r.low |= 1;
  }
  if (rest >= (u64)n - rest) r = wide_add(r, wide_make(0, 1));
  return wide_below0(x) ? wide_negate(r) : r;
}
/* Without its last k digits, half a unit of the last one that remains rounded away from zero. */
FN w128 wide_rounded(w128 x, int k) {
  int lost;
  if (k <= 0) return x;
  w128 m = wide_cut(wide_magnitude(x), k - 1, &lost);
  if (wide_divide(&m, 10) >= 5) m = wide_add(m, wide_make(0, 1));
  return wide_below0(x) ? wide_negate(m) : m;
}
FN int leading_zeros(u64 x) { /* x is not 0 */
#if defined(CDV_HOST)
  return __builtin_clzll(x);
#else
  int n = 0;
  for (int step = 32; step; step >>= 1) {
    if (!(x >> (64 - step))) {
      n += step;
      x <<= step;
    }
  }
  return n;
#endif
}
/* Two words by one, high < by: the quotient is one word.  Knuth's algorithm D with digits of 32 bits. */
FN u64 wide_divide_by(u64 high, u64 low, u64 by, u64 *rest) {
  const int up = leading_zeros(by);
  const u64 d = by << up, d1 = d >> 32, d0 = d & 0xffffffffu;
  u64 r = up ? high << up | low >> (64 - up) : high, q = 0;
  low <<= up;
  for (int k = 0; k < 2; k++, low <<= 32) {
    u64 digit = r / d1, left = r % d1;
    while (digit >> 32 || digit * d0 > (left << 32 | low >> 32)) {
      digit--, left += d1;
      if (left >> 32) break;
    }
    r = (r << 32 | low >> 32) - digit * d, q = q << 32 | digit;
  }
  *rest = r >> up;
  return q;
}
FN int wide_bits(w128 x) { return x.high ? 128 - leading_zeros(x.high) : x.low ? 64 - leading_zeros(x.low) : 0; }
/* Without signs, y > 0; what remains. */
FN w128 wide_quotient(w128 x, w128 y, w128 *rest) {
  w128 q = wide_make(0, 0), r = wide_make(0, 0);
  if (!y.high) {
    q.high = x.high ? x.high / y.low : 0;
    q.low = wide_divide_by(x.high ? x.high % y.low : 0, x.low, y.low, &r.low);
    *rest = r;
    return q;
  }
  for (int bit = wide_bits(x) - 1; bit >= 0; bit--) {
    r = wide_add(r, r);
    r.low |= (bit < 64 ? x.low >> bit : x.high >> (bit - 64)) & 1u;
    q = wide_add(q, q);
    if (!(r.high < y.high || (r.high == y.high && r.low < y.low))) r = wide_subtract(r, y), q.low |= 1;
  }
  *rest = r;
  return q;
}
FN w128 wide_up(w128 x, int bits) { /* the lower 128 bits of x 2^bits */
  if (bits >= 64) x = wide_make(x.low, 0), bits -= 64;
  return bits ? wide_make(x.high << bits | x.low >> (64 - bits), x.low << bits) : x;
}
FN w128 wide_down(w128 x, int bits) { /* without a sign; lower bits are cut */
  if (bits >= 64) x = wide_make(0, x.high), bits -= 64;
  return bits ? wide_make(x.high >> bits, x.low >> bits | x.high << (64 - bits)) : x;
}
/* The nearest whole number to x / 2^bits, x without a sign; a half is rounded to the even one. */
FN w128 wide_nearest(w128 x, int bits) {
  if (bits <= 0 || bits >= 128) return bits ? wide_make(0, 0) : x;
  const w128 r = wide_down(x, bits), left = wide_subtract(x, wide_up(r, bits)),
             middle = wide_up(wide_make(0, 1), bits - 1);
  const int more = wide_less(middle, left) || (wide_same(middle, left) && (r.low & 1));
  return more ? wide_add(r, wide_make(0, 1)) : r;
}

/* ---- 256 bits ---- */
typedef struct {
  u64 part[4]; /* the least first */
} w256;

FN w256 wide256_signed(i64 x) {
  w256 r;
  r.part[0] = (u64)x;
  for (int i = 1; i < 4; i++) r.part[i] = x < 0 ? ~(u64)0 : (u64)0;
  return r;
}
FN w256 wide256_make(u64 high, u64 others) {
  w256 r;
  for (int i = 0; i < 3; i++) r.part[i] = others;
  r.part[3] = high;
  return r;
}
FN w256 wide256_add(w256 x, w256 y) {
  u64 carry = 0;
  for (int i = 0; i < 4; i++) {
    const u64 a = x.part[i] + carry;
    carry = a < carry;
    x.part[i] = a + y.part[i];
    carry += x.part[i] < a;
  }
  return x;
}
FN w256 wide256_negate(w256 x) {
  for (int i = 0; i < 4; i++) x.part[i] = ~x.part[i];
  return wide256_add(x, wide256_signed(1));
}
FN w256 wide256_subtract(w256 x, w256 y) { return wide256_add(x, wide256_negate(y)); }
FN int wide256_below0(w256 x) { return (i64)x.part[3] < 0; }
FN w256 wide256_magnitude(w256 x) { return wide256_below0(x) ? wide256_negate(x) : x; }
FN int wide256_same(w256 x, w256 y) {
  return x.part[0] == y.part[0] && x.part[1] == y.part[1] && x.part[2] == y.part[2] && x.part[3] == y.part[3];
}
FN int wide256_less(w256 x, w256 y) {
  if (x.part[3] != y.part[3]) return (i64)x.part[3] < (i64)y.part[3];
  if (x.part[2] != y.part[2]) return x.part[2] < y.part[2];
  return x.part[1] != y.part[1] ? x.part[1] < y.part[1] : x.part[0] < y.part[0];
}
/* The product of two words: the lower word; *high: the other one. */
FN u64 wide_product(u64 x, u64 y, u64 *high) {
#if defined(CDV_HOST) && defined(__SIZEOF_INT128__)
  const unsigned __int128 r = (unsigned __int128)x * y;
  *high = (u64)(r >> 64);
  return (u64)r;
#else
  const u64 a = x & 0xffffffffu, b = x >> 32, c = y & 0xffffffffu, d = y >> 32;
  const u64 ad = a * d, middle = b * c + (a * c >> 32) + (ad & 0xffffffffu);
  *high = b * d + (ad >> 32) + (middle >> 32);
  return middle << 32 | (a * c & 0xffffffffu);
#endif
}
/* The lower 256 bits. */
FN w256 wide256_multiply(w256 x, w256 y) {
  w256 r = wide256_signed(0);
  for (int i = 0; i < 4; i++) {
    u64 carry = 0, high;
    for (int k = 0; k + i < 4; k++) {
      const u64 low = wide_product(x.part[i], y.part[k], &high), sum = r.part[i + k] + low, all = sum + carry;
      carry = high + (sum < low) + (all < carry);
      r.part[i + k] = all;
    }
  }
  return r;
}
FN w256 wide256_power(int k) { /* of ten, up to 10^76 */
  w256 x = wide256_signed(1), ten = wide256_signed(10);
  for (int bit = 1; bit < 128; bit <<= 1) {
    if (k & bit) x = wide256_multiply(x, ten);
    ten = wide256_multiply(ten, ten);
  }
  return x;
}
/* Without a sign, by less than 2^32; what remains. */
FN u64 wide256_divide(w256 *x, u64 by) {
  u64 rest = 0;
  for (int i = 3; i >= 0; i--) {
    const u64 high = rest << 32 | x->part[i] >> 32, low = (high % by) << 32 | (x->part[i] & 0xffffffffu);
    x->part[i] = (high / by) << 32 | low / by;
    rest = low % by;
  }
  return rest;
}
FN int wide256_bits(w256 x) {
  for (int i = 3; i >= 0; i--)
    if (x.part[i]) return 64 * i + 64 - leading_zeros(x.part[i]);
  return 0;
}
/* Without signs, y > 0; what remains. */
FN w256 wide256_quotient(w256 x, w256 y, w256 *rest) {
  w256 q = wide256_signed(0), r = wide256_signed(0);
  if (!y.part[3] && !y.part[2] && !y.part[1]) {
    for (int i = 3; i >= 0; i--) q.part[i] = wide_divide_by(r.part[0], x.part[i], y.part[0], &r.part[0]);
    *rest = r;
    return q;
  }
  for (int bit = wide256_bits(x) - 1; bit >= 0; bit--) {
    r = wide256_add(r, r);
    r.part[0] |= x.part[bit / 64] >> (bit & 63) & 1u;
    q = wide256_add(q, q);
    if (!wide256_less(r, y)) r = wide256_subtract(r, y), q.part[0] |= 1;
  }
  *rest = r;
  return q;
}
FN w256 wide256_up(w256 x, int bits) { /* the lower 256 bits of x 2^bits */
  const int words = bits / 64, own = bits & 63;
  w256 r = wide256_signed(0);
  for (int i = 3; i >= words; i--) {
    r.part[i] = x.part[i - words] << own;
    if (own && i > words) r.part[i] |= x.part[i - words - 1] >> (64 - own);
  }
  return r;
}
FN w256 wide256_down(w256 x, int bits) { /* without a sign; lower bits are cut */
  const int words = bits / 64, own = bits & 63;
  w256 r = wide256_signed(0);
  for (int i = 0; i + words < 4; i++) {
    r.part[i] = x.part[i + words] >> own;
    if (own && i + words < 3) r.part[i] |= x.part[i + words + 1] << (64 - own);
  }
  return r;
}
FN w256 wide256_nearest(w256 x, int bits) {
  const w256 zero = wide256_signed(0), one = wide256_signed(1);
  if (bits <= 0 || bits >= 256) return bits ? zero : x;
  const w256 r = wide256_down(x, bits), left = wide256_subtract(x, wide256_up(r, bits)),
             middle = wide256_up(one, bits - 1);
  const int more = wide256_less(middle, left) || (wide256_same(middle, left) && (r.part[0] & 1));
  return more ? wide256_add(r, one) : r;
}
FN w256 wide256_cut(w256 x, int k, int *lost) {
  w256 r = wide256_magnitude(x);
  *lost = 0;
  for (; k > 0; k -= 9)
    if (wide256_divide(&r, power_of_ten(k < 9 ? k : 9))) *lost = 1;
  return wide256_below0(x) ? wide256_negate(r) : r;
}
FN w256 wide256_limit(int digits) { return digits >= 77 ? wide256_make(~(u64)0 >> 1, ~(u64)0) : wide256_power(digits); }
FN w256 wide256_of(w128 x) {
  w256 r = wide256_signed((i64)x.high);
  r.part[0] = x.low, r.part[1] = x.high;
  r.part[2] = r.part[3] = wide_below0(x) ? ~(u64)0 : (u64)0;
  return r;
}
FN w128 wide256_low(w256 x) { return wide_make(x.part[1], x.part[0]); }
FN w256 wide256_rounded(w256 x, int k) {
  w256 m = wide256_magnitude(x);
  if (k <= 0) return x;
  for (int left = k - 1; left > 0; left -= 9) wide256_divide(&m, power_of_ten(left < 9 ? left : 9));
  if (wide256_divide(&m, 10) >= 5) m = wide256_add(m, wide256_signed(1));
  return wide256_below0(x) ? wide256_negate(m) : m;
}
FN w256 wide256_mean(w256 x, i64 n) {
  const w256 m = wide256_magnitude(x);
  u64 rest = 0;
  w256 r = wide256_signed(0);
  for (int bit = 255; bit >= 0; bit--) {
    rest = rest << 1 | (m.part[bit / 64] >> (bit & 63) & 1u);
    if (rest >= (u64)n) rest -= (u64)n, r.part[bit / 64] |= (u64)1 << (bit & 63);
  }
  if (rest >= (u64)n - rest) r = wide256_add(r, wide256_signed(1));
  return wide256_below0(x) ? wide256_negate(r) : r;
}
