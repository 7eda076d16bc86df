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
/* Has it at most this many digits? */
FN int wide_fits(w128 x, int digits) { return digits >= 39 || wide_less(wide_magnitude(x), wide_power(digits)); }
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
FN f64 wide_real(w128 x) {
  const w128 m = wide_magnitude(x);
  const f64 r = (f64)m.high * ((f64)4294967296 * (f64)4294967296) + (f64)m.low;
  return wide_below0(x) ? -r : r;
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
FN u64 wide256_half(w256 x, int i) { return x.part[i / 2] >> 32 * (i & 1) & 0xffffffffu; } /* 32 bits of it */
/* The lower 256 bits. */
FN w256 wide256_multiply(w256 x, w256 y) {
  w256 r = wide256_signed(0);
  for (int i = 0; i < 8; i++) {
    u64 carry = 0;
    for (int k = 0; k + i < 8; k++) {
      const u64 sum = wide256_half(x, i) * wide256_half(y, k) + wide256_half(r, i + k) + carry;
      const int up = 32 * ((i + k) & 1);
      r.part[(i + k) / 2] &= ~((u64)0xffffffffu << up);
      r.part[(i + k) / 2] |= (sum & 0xffffffffu) << up;
      carry = sum >> 32;
    }
  }
  return r;
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
FN f64 wide256_real(w256 x) {
  const w256 m = wide256_magnitude(x);
  f64 r = 0;
  for (int i = 3; i >= 0; i--) r = r * ((f64)4294967296 * (f64)4294967296) + (f64)m.part[i];
  return wide256_below0(x) ? -r : r;
}
