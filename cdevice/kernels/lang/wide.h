/* wide.h - whole numbers of 128 bits, two's complement in two words: what decimals are stored as.  Only some
 * compilers have such a type. */
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
