/* reals.h - what functions of floats have in common: sums of two f64, reductions, polynomials.  All is computed in f64,
 * by sums, products, quotients and square roots alone, none of them contracted, so that every device has the same bits.
 * Where loops over rows call them, nothing branches.  tests/support/number_polynomials.py prints the constants. */
#define EXP_OF(r)                                                  \
  (0.5000000000000002 +                                            \
   r * (0.1666666666666667 +                                       \
        r * (0.04166666666663897 +                                 \
             r * (0.008333333333326084 +                           \
                  r * (0.0013888888901770616 +                     \
                       r * (0.0001984126987500228 +                \
                            r * (2.4801562851311046e-05 +          \
                                 r * (2.755725517000089e-06 +      \
                                      r * (2.757760886245147e-07 + \
                                           r * (2.5105312729622103e-08 + r * 1.4770622547440991e-09))))))))))
#define LOG_OF(z)                            \
  (0.6666666666666666 +                      \
   z * (0.40000000000000885 +                \
        z * (0.28571428570799784 +           \
             z * (0.22222222392581045 +      \
                  z * (0.18181795547521137 + \
                       z * (0.15386244737621665 + z * (0.13268638369266825 + z * 0.13088034850927555)))))))
#define LOG_REST_OF(z)                                  \
  (0.2 + z * (0.14285714285714282 +                     \
              z * (0.11111111111114234 +                \
                   z * (0.09090909089822495 +           \
                        z * (0.07692307881454075 +      \
                             z * (0.06666648198981917 + \
                                  z * (0.05883409510814777 + z * (0.05228097555200746 + z * 0.0538181075750563))))))))
#define SIN_OF(z)                         \
  (-0.16666666666666666 +                 \
   z * (0.008333333333333331 +            \
        z * (-0.0001984126984126504 +     \
             z * (2.755731921932058e-06 + \
                  z * (-2.50521062259944e-08 + z * (1.6058530596645953e-10 + z * -7.586636882825159e-13))))))
#define COS_OF(z)                          \
  (0.041666666666666664 +                  \
   z * (-0.0013888888888888887 +           \
        z * (2.4801587301584632e-05 +      \
             z * (-2.755731922139249e-07 + \
                  z * (2.0876755787492604e-09 + z * (-1.1470460319209511e-11 + z * 4.745838412531023e-14))))))
#define ATAN_OF(z)                                                    \
  (-0.3333333333333333 +                                              \
   z * (0.199999999999998 +                                           \
        z * (-0.14285714285659326 +                                   \
             z * (0.11111111105106705 +                               \
                  z * (-0.09090908751076636 +                         \
                       z * (0.0769229630497447 +                      \
                            z * (-0.06666423628069258 +               \
                                 z * (0.058789145444006215 +          \
                                      z * (-0.052303478730160745 +    \
                                           z * (0.04551108126325172 + \
                                                z * (-0.034558092551413795 + z * 0.01627194475162406)))))))))))
#define LN2_0 0.6931471806019545
#define LN2_1 -4.2009150726810846e-11
#define LOG2_E_0 1.4426950408889634
#define LOG2_E_1 2.0355273740931033e-17
#define LOG10_E_0 0.4342944819032518
#define LOG10_E_1 1.098319650216765e-17
#define LOG10_2_0 0.3010299956640665
#define LOG10_2_1 -8.532344317057107e-14
#define THIRD_0 0.3333333333333333
#define THIRD_1 1.850371707708594e-17
#define PI_HALF_0 1.5707963267948966
#define PI_HALF_1 6.123233995736766e-17
#define PI_FOURTH_0 0.7853981633974483
#define PI_FOURTH_1 3.061616997868383e-17
#define PI_0 3.141592653589793
#define PI_1 1.2246467991473532e-16
#define PI_HALF_PART_0 1.5707963267341256
#define PI_HALF_PART_1 6.077100506303966e-11
#define PI_HALF_PART_2 2.0222662487111665e-21
#define PI_HALF_PART_3 8.4784276603689e-32
#define LN2_NEAR_0 0.6931471805599453
#define LN2_NEAR_1 2.3190468138462996e-17
#define TWO_BY_PI 0.6366197723675814
TABLE(u64)
two_by_pi_words[] = {/* of 2 / pi: a word before the point, and those behind it */
                     0,
                     0xa2f9836e4e441529,
                     0xfc2757d1f534ddc0,
                     0xdb6295993c439041,
                     0xfe5163abdebbc561,
                     0xb7246e3a424dd2e0,
                     0x06492eea09d1921c,
                     0xfe1deb1cb129a73e,
                     0xe88235f52ebb4484,
                     0xe99c7026b45f7e41,
                     0x3991d639835339f4,
                     0x9c845f8bbdf9283b,
                     0x1ff897ffde05980f,
                     0xef2f118b5a0a6d1f,
                     0x6d367ecf27cb09b7,
                     0x4f463f669e5fea2d,
                     0x7527bac7ebe5f17b,
                     0x3d0739f78a5292ea,
                     0x6bfb5fb11f8d5d08,
                     0x56033046fc7b6bab,
                     0xf0cfbc209af4361d,
                     0xa9e391615ee61b08,
                     0x6599855f14a06840};
#if defined(CDV_HOST) /* a loop over rows is done several at once where all of it is in the loop */
#define REAL_FN static inline __attribute__((always_inline))
#else
#define REAL_FN FN
#endif
/* As c ? a : b, without a branch. */
#define CHOOSE(c, a, b) choose_bits((u64)(c), a, b)
REAL_FN f64 choose_bits(u64 c, f64 a, f64 b) { return AS_F64((BITS_OF_F64(a) & (0 - c)) | (BITS_OF_F64(b) & (c - 1))); }
typedef struct { /* h + l, l less than a unit of h's last digit */
  f64 h, l;
} two;

REAL_FN two two_of(f64 h, f64 l) {
  two r;
  r.h = h, r.l = l;
  return r;
}
REAL_FN two two_sum(f64 a, f64 b) { /* exact */
  const f64 h = a + b, x = h - a;
  return two_of(h, (a - (h - x)) + (b - x));
}
REAL_FN f64 high_half(f64 a) {
  const f64 c = 134217729.0 * a;
  return c - (c - a);
}
REAL_FN two two_product(f64 a, f64 b) { /* exact, unless a part is too small for f64 */
  const f64 h = a * b, ah = high_half(a), bh = high_half(b), al = a - ah, bl = b - bh;
  return two_of(h, al * bl - (((h - ah * bh) - al * bh) - ah * bl));
}
REAL_FN two two_normal(f64 h, f64 l) { /* |h| >= |l| */
  const f64 s = h + l;
  return two_of(s, l - (s - h));
}
REAL_FN two two_add(two a, two b) {
  const two s = two_sum(a.h, b.h);
  return two_normal(s.h, s.l + (a.l + b.l));
}
REAL_FN two two_times(two a, two b) {
  const two p = two_product(a.h, b.h);
  return two_normal(p.h, p.l + (a.h * b.l + a.l * b.h));
}
REAL_FN two two_by(two a, two b) {
  const f64 q = a.h / b.h;
  const two p = two_product(q, b.h);
  return two_normal(q, (((a.h - p.h) - p.l) + (a.l - q * b.l)) / b.h);
}
REAL_FN two two_root(two a) {
  const f64 r = ROOT64(a.h);
  const two p = two_product(r, r);
  const f64 by = r == 0 ? 1 : 2 * r;
  return two_normal(r, (((a.h - p.h) - p.l) + a.l) / by);
}
#define MAGNITUDE_OF(x) AS_F64(BITS_OF_F64(x) & ~((u64)1 << 63))
#define SIGNED_AS(x, r) AS_F64((BITS_OF_F64(r) & ~((u64)1 << 63)) | (BITS_OF_F64(x) & ((u64)1 << 63)))
#define IS_BELOW_0(x) ((int)(BITS_OF_F64(x) >> 63))
#define NEAREST_BY \
  6755399441055744.0 /* 1.5 * 2^52: a sum with it is whole, and its last bits are those of the integer */
#define POWER_OF_TWO(k) AS_F64(BITS_OF_F64((k) + (NEAREST_BY + 1023.0)) << 52) /* -1023 < k < 1024 */
#define IS_REAL(x) ((x) - (x) == 0)

/* ---- e^x ---- */
typedef struct { /* e^x = 2^k * (1 + r + rest) */
  f64 k, r, rest;
} exponential;
/* Of x + low, |x| < 1000. */
REAL_FN exponential exponential_of(f64 x, f64 low) {
  exponential e;
  e.k = (x * LOG2_E_0 + NEAREST_BY) - NEAREST_BY;
  const two r = two_sum(x - e.k * LN2_0, low - e.k * LN2_1);
  e.r = r.h;
  e.rest = r.l + r.h * r.h * EXP_OF(r.h);
  return e;
}
/* By two powers of two, so that a number too small for them is rounded once. */
REAL_FN f64 scaled(f64 x, f64 k) {
  const f64 middle = (k * 0.5 + NEAREST_BY) - NEAREST_BY;
  return x * POWER_OF_TWO(middle) * POWER_OF_TWO(k - middle);
}
REAL_FN f64 bounded(f64 x, f64 low, f64 high) {
  const f64 a = x < low ? low : x;
  return a > high ? high : a;
}
REAL_FN f64 exp_sum(f64 x, f64 low) { /* of x + low */
  const exponential e = exponential_of(bounded(x, -800.0, 800.0), low);
  return scaled(1 + (e.r + e.rest), e.k);
}
/* Where neither e^x nor a part of it is beyond what f64 holds; exp_of_far: of all x. */
#define IS_FAR_POWER(x) (!((x) > -708.0 && (x) < 709.0))
REAL_FN f64 exp_of_near(f64 x) {
  const f64 n = x * LOG2_E_0 + NEAREST_BY, k = n - NEAREST_BY, r = (x - k * LN2_0) - k * LN2_1;
  return AS_F64(BITS_OF_F64(1 + (r + r * r * EXP_OF(r))) + (BITS_OF_F64(n) << 52));
}
FN f64 exp_of_far(f64 x) {
  const f64 r = exp_sum(x, 0);
  return x != x ? QUIET_f64 : r;
}
/* e^x - 1, |x| < 40 or x below; */
REAL_FN two expm1_sum(f64 x) {
  const exponential e = exponential_of(bounded(x, -50.0, 800.0), 0);
  const f64 middle = (e.k * 0.5 + NEAREST_BY) - NEAREST_BY, rest = e.k - middle;
  const f64 one = POWER_OF_TWO(0.0 - middle) * POWER_OF_TWO(0.0 - rest);
  const two u = two_sum(1 - one, e.r), v = two_sum(u.h, u.l + e.rest);
  return two_of(v.h * POWER_OF_TWO(middle) * POWER_OF_TWO(rest), v.l * POWER_OF_TWO(middle) * POWER_OF_TWO(rest));
}
REAL_FN f64 expm1_real(f64 x) {
  const two r = expm1_sum(x);
  const f64 v = r.h;
  return CHOOSE(x != x, QUIET_f64, CHOOSE(x == 0, x, v));
}

/* ---- logarithms ---- */
typedef struct { /* x = 2^k * (1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1 */
  f64 k, f;
} logarithm;
REAL_FN logarithm logarithm_of(f64 x) { /* 0 < x < infinity */
  const int small = x < AS_F64((u64)1 << 52);
  const f64 y = small ? x * 18014398509481984.0 : x; /* 2^54 */
  const u64 bits = BITS_OF_F64(y), up = bits + (((u64)0x3ff00000 << 32) - (((u64)0x3fe6a09e << 32) | 0x667f3bcdu));
  const f64 k = AS_F64((up >> 52) | (u64)0x433 << 52) - (4503599627370496.0 + 1023.0), less = small ? 54.0 : 0.0;
  logarithm r;
  r.k = k - less;
  r.f = AS_F64(bits - (((up >> 52) - 1023) << 52)) - 1;
  return r;
}
/* ln(2^k * (1 + f)) + low */
REAL_FN f64 ln_sum(f64 k, f64 f, f64 low) {
  const f64 s = f / (2 + f), z = s * s, middle = 0.5 * f * f;
  return k * LN2_0 - ((middle - (s * (middle + z * LOG_OF(z)) + (k * LN2_1 + low))) - f);
}
REAL_FN two ln_two(f64 x) {
  const logarithm g = logarithm_of(x);
  const two d = two_sum(2, g.f), s = two_by(two_of(g.f, 0), d), z = two_times(s, s);
  const two third = two_times(z, two_of(THIRD_0, THIRD_1)),
            w = two_normal(third.h, third.l + z.h * z.h * LOG_REST_OF(z.h));
  const two twice = two_of(2 * s.h, 2 * s.l), v = two_times(twice, w);
  const two a = two_sum(g.k * LN2_0, twice.h), b = two_sum(a.h, v.h);
  return two_normal(b.h, b.l + (a.l + (g.k * LN2_1 + (twice.l + v.l))));
}
/* What logarithms are of numbers that have none. */
#define LOG_OR(x, value) \
  ((x) == 0 ? -INFINITE_f64 : (x) < 0 || (x) != (x) ? QUIET_f64 : (x) == INFINITE_f64 ? INFINITE_f64 : (value))
#define IS_FAR_LOG(x) (!((x) >= AS_F64((u64)1 << 52) && (x) < INFINITE_f64))
REAL_FN logarithm logarithm_near(f64 x) { /* x is none of those */
  const u64 bits = BITS_OF_F64(x), up = bits + (((u64)0x3ff00000 << 32) - (((u64)0x3fe6a09e << 32) | 0x667f3bcdu));
  logarithm r;
  r.k = AS_F64((up >> 52) | (u64)0x433 << 52) - (4503599627370496.0 + 1023.0);
  r.f = AS_F64(bits - (((up >> 52) - 1023) << 52)) - 1;
  return r;
}
REAL_FN f64 ln_of_near(f64 x) {
  const logarithm g = logarithm_near(x);
  return ln_sum(g.k, g.f, 0);
}
FN f64 ln_of_far(f64 x) {
  const logarithm g = logarithm_of(x);
  const f64 r = ln_sum(g.k, g.f, 0);
  return LOG_OR(x, r);
}
/* k * unit + ln(1 + f) * scale, both of two parts: the first one of the unit has so few digits that k times it is
 * exact. */
REAL_FN f64 log_by(logarithm g, f64 unit, f64 unit_less, f64 scale, f64 scale_less) {
  const f64 s = g.f / (2 + g.f), z = s * s, middle = 0.5 * g.f * g.f, rest = s * (middle + z * LOG_OF(z));
  const two d = two_sum(g.f, -middle), h = two_normal(d.h, d.l + rest);
  const two p = two_product(h.h, scale), a = two_sum(g.k * unit, p.h);
  return a.h + (a.l + (p.l + (h.h * scale_less + h.l * scale) + g.k * unit_less));
}
REAL_FN f64 log2_of_near(f64 x) { return log_by(logarithm_near(x), 1, 0, LOG2_E_0, LOG2_E_1); }
REAL_FN f64 log10_of_near(f64 x) { return log_by(logarithm_near(x), LOG10_2_0, LOG10_2_1, LOG10_E_0, LOG10_E_1); }
FN f64 log2_of_far(f64 x) {
  const f64 r = log_by(logarithm_of(x), 1, 0, LOG2_E_0, LOG2_E_1);
  return LOG_OR(x, r);
}
FN f64 log10_of_far(f64 x) {
  const f64 r = log_by(logarithm_of(x), LOG10_2_0, LOG10_2_1, LOG10_E_0, LOG10_E_1);
  return LOG_OR(x, r);
}
REAL_FN f64 log1p_sum(f64 x, f64 low) { /* ln(1 + x + low), x > -1 */
  const two u = two_sum(1, x);
  const logarithm g = logarithm_of(u.h);
  return ln_sum(g.k, g.f, (u.l + low) / u.h);
}
#define IS_FAR_LOG1P(x) (!((x) > -1 && (x) < INFINITE_f64))
REAL_FN f64 log1p_of_near(f64 x) {
  const f64 r = log1p_sum(x, 0);
  return CHOOSE(x == 0, x, r);
}
FN f64 log1p_of_far(f64 x) { return LOG_OR(x + 1, x); }
REAL_FN f64 logb_real(f64 x, f64 base) {
  const two a = ln_two(x), b = ln_two(base), r = two_by(a, b);
  const f64 p = LOG_OR(x, a.h), q = LOG_OR(base, b.h), plain = p / q;
  const f64 v = IS_REAL(p) && IS_REAL(q) && IS_REAL(r.h) ? r.h : plain;
  /* As Arrow, of 0 by any base above 0. */
  const f64 of_0 = CHOOSE(base <= 0, QUIET_f64, -INFINITE_f64);
  return CHOOSE(x == 0, of_0, CHOOSE(v != v, QUIET_f64, v));
}
REAL_FN f64 whole_of(f64 x) { /* the nearest whole number to |x| < 2^52 */
  const f64 m = MAGNITUDE_OF(x);
  return SIGNED_AS(x, (m + 4503599627370496.0) - 4503599627370496.0);
}
REAL_FN f64 power_real(f64 x, f64 y) {
  const f64 a = MAGNITUDE_OF(x), m = MAGNITUDE_OF(y), middle = y * 0.5;
  const u64 whole = (u64)(m >= 4503599627370496.0) | (u64)(whole_of(y) == y);
  const u64 odd = whole & (u64)(m < 9007199254740992.0) & (u64)(whole_of(middle) != middle);
  const two g = ln_two(a), p = two_times(g, two_of(bounded(y, -1e270, 1e270), 0));
  const f64 low = CHOOSE(MAGNITUDE_OF(p.h) < 800, p.l, 0.0), e = exp_sum(p.h, low);
  const f64 edge = CHOOSE((u64)(a > 1) == (u64)(y > 0), INFINITE_f64, 0.0);
  const f64 r =
      CHOOSE(a == 1, 1.0, CHOOSE((u64)(a == 0) | (u64)(a == INFINITE_f64) | (u64)(m == INFINITE_f64), edge, e));
  const f64 v = AS_F64(BITS_OF_F64(r) ^ (odd & BITS_OF_F64(x) >> 63) << 63);
  const u64 none = (u64)(x != x) | (u64)(y != y) | ((u64)(x < 0) & (u64)(a != INFINITE_f64) & (whole ^ 1));
  return CHOOSE((u64)(y == 0) | (u64)(x == 1), 1.0, CHOOSE(none, QUIET_f64, v));
}

/* ---- remainders ---- */
/* x cut to a multiple of y is as far away from x: exact.  Digits of the quotient, eleven at a time. */
FN f64 remainder_real(f64 x, f64 y) {
  const f64 a = MAGNITUDE_OF(x), b = MAGNITUDE_OF(y);
  if (!(a < INFINITE_f64) || b == 0 || y != y) return QUIET_f64;
  if (b == INFINITE_f64 || a < b) return x;
  const u64 low = ((u64)1 << 52) - 1;
  i64 i = (i64)(BITS_OF_F64(a) >> 52), k = (i64)(BITS_OF_F64(b) >> 52);
  u64 p = BITS_OF_F64(a) & low, q = BITS_OF_F64(b) & low;
  if (i) p |= low + 1, i--;
  if (k) q |= low + 1, k--;
  u64 rest = p % q;
  for (i64 left = i - k; left > 0 && rest; left -= 11) rest = (rest << (left < 11 ? left : 11)) % q;
  u64 bits = rest;
  if (rest > low) { /* no power of two above 2^k is left of it */
    bits = (rest & low) | (u64)(k + 1) << 52;
  } else if (rest) {
    for (int step = 0; step < 53 && rest <= low && k > 0; step++) rest <<= 1, k--;
    bits = rest > low ? (rest & low) | (u64)(k + 1) << 52 : rest;
  }
  return SIGNED_AS(x, AS_F64(bits));
}
FN f64 modulo_real(f64 x, f64 y) {
  const f64 r = remainder_real(x, y);
  if (r != r) return r;
  if (r == 0) return SIGNED_AS(y, r);
  return IS_BELOW_0(r) != IS_BELOW_0(y) ? r + y : r;
}

/* ---- angles ---- */
typedef struct { /* an angle less quarter multiples of a circle: from -pi/4 to pi/4 */
  f64 h, l;
  u64 quarter;
} angle;
#define FAR_ANGLE 823549.0 /* nearer ones are reduced by parts of pi / 2 */
REAL_FN angle near_angle(f64 x) {
  const f64 n = x * TWO_BY_PI + NEAREST_BY, k = n - NEAREST_BY;
  const two a = two_sum(x - k * PI_HALF_PART_0, 0.0 - k * PI_HALF_PART_1), b = two_sum(a.h, 0.0 - k * PI_HALF_PART_2);
  const two r = two_normal(b.h, b.l + (a.l - k * PI_HALF_PART_3));
  angle g;
  g.h = r.h, g.l = r.l, g.quarter = BITS_OF_F64(n);
  return g;
}
/* By 190 digits of x times 2 / pi, from the second one before the point on. */
FN angle far_angle(f64 x) {
  const u64 bits = BITS_OF_F64(x), m = (bits & (((u64)1 << 52) - 1)) | (u64)1 << 52;
  const int start = (int)(bits >> 52 & 2047) - 1075 - 2 + 64, word = start / 64, up = start % 64;
  u64 v[4], w[3];
  for (int i = 0; i < 4; i++) v[i] = two_by_pi_words[word + i];
  for (int i = 0; i < 3; i++) w[i] = up ? v[i] << up | v[i + 1] >> (64 - up) : v[i];
  const w128 c = wide_multiply(wide_make(0, m), wide_make(0, w[2])),
             b = wide_multiply(wide_make(0, m), wide_make(0, w[1]));
  u64 r2 = c.low, r1 = c.high + b.low, r0 = b.high + m * w[0] + (r1 < b.low);
  u64 quarter = r0 >> 62;
  r0 = r0 << 2 | r1 >> 62, r1 = r1 << 2 | r2 >> 62, r2 <<= 2;
  int below0 = (int)(r0 >> 63);
  if (below0) {
    quarter++;
    r0 = ~r0, r1 = ~r1, r2 = ~r2;
    r2++, r1 += r2 == 0, r0 += r2 == 0 && r1 == 0;
  }
  f64 unit = 1;
  for (int step = 0; step < 128 && !(r0 >> 63); step++) {
    r0 = r0 << 1 | r1 >> 63, r1 = r1 << 1 | r2 >> 63, r2 <<= 1;
    unit *= 0.5;
  }
  const f64 h = (f64)(i64)(r0 >> 11) * AS_F64((u64)(1023 - 53) << 52) * unit;
  const f64 l = (f64)(i64)((r0 << 53 | r1 >> 11) >> 11) * AS_F64((u64)(1023 - 106) << 52) * unit;
  const two p = two_times(two_normal(h, l), two_of(PI_HALF_0, PI_HALF_1));
  const int negative = below0 ^ (int)(bits >> 63);
  angle g;
  g.h = negative ? -p.h : p.h, g.l = negative ? -p.l : p.l;
  g.quarter = bits >> 63 ? 0 - quarter : quarter;
  return g;
}
REAL_FN two sine_of(angle g) {
  const f64 z = g.h * g.h, v = z * g.h;
  return two_of(g.h, v * SIN_OF(z) + g.l * (1 - 0.5 * z));
}
REAL_FN two cosine_of(angle g) {
  const f64 z = g.h * g.h, middle = 0.5 * z, w = 1 - middle;
  return two_of(w, ((1 - w) - middle) + (z * z * COS_OF(z) - g.h * g.l));
}
REAL_FN f64 sin_by(angle g) {
  const two s = sine_of(g), c = cosine_of(g);
  const f64 a = s.h + s.l, b = c.h + c.l, r = g.quarter & 1 ? b : a;
  return AS_F64(BITS_OF_F64(r) ^ (g.quarter & 2) << 62);
}
REAL_FN f64 cos_by(angle g) {
  g.quarter++;
  return sin_by(g);
}
REAL_FN f64 tan_by(angle g) {
  const two a = sine_of(g), b = cosine_of(g), s = two_normal(a.h, a.l), c = two_normal(b.h, b.l);
  const int odd = (int)(g.quarter & 1);
  const two up = two_of(odd ? -c.h : s.h, odd ? -c.l : s.l), by = two_of(odd ? s.h : c.h, odd ? s.l : c.l);
  return two_by(up, by).h;
}
#define IS_FAR_ANGLE(x) (MAGNITUDE_OF(x) > FAR_ANGLE && IS_REAL(x))
REAL_FN f64 sin_of_near(f64 x) {
  const f64 r = sin_by(near_angle(x));
  return CHOOSE(x == 0, x, CHOOSE(IS_REAL(x), r, QUIET_f64));
}
REAL_FN f64 cos_of_near(f64 x) {
  const f64 r = cos_by(near_angle(x));
  return IS_REAL(x) ? r : QUIET_f64;
}
REAL_FN f64 tan_of_near(f64 x) {
  const f64 r = tan_by(near_angle(x));
  return CHOOSE(x == 0, x, CHOOSE(IS_REAL(x), r, QUIET_f64));
}
FN f64 sin_of_far(f64 x) { return sin_by(far_angle(x)); }
FN f64 cos_of_far(f64 x) { return cos_by(far_angle(x)); }
FN f64 tan_of_far(f64 x) { return tan_by(far_angle(x)); }

/* The angle of the point (x, y), both from 0 on. */
REAL_FN two atan_ratio(two y, two x) {
  const u64 flat = y.h <= 0.41421356237309503 * x.h, steep = y.h > 2.414213562373095 * x.h;
  const two sum = two_add(x, y), less = two_add(y, two_of(-x.h, -x.l));
  const two up = two_of(CHOOSE(flat, y.h, CHOOSE(steep, -x.h, less.h)), CHOOSE(flat, y.l, CHOOSE(steep, -x.l, less.l)));
  const two by = two_of(CHOOSE(flat, x.h, CHOOSE(steep, y.h, sum.h)), CHOOSE(flat, x.l, CHOOSE(steep, y.l, sum.l)));
  const two t = two_by(up, by);
  const f64 z = t.h * t.h, rest = t.h * z * ATAN_OF(z);
  const f64 base = CHOOSE(flat, 0.0, CHOOSE(steep, PI_HALF_0, PI_FOURTH_0));
  const f64 low = CHOOSE(flat, 0.0, CHOOSE(steep, PI_HALF_1, PI_FOURTH_1));
  const two s = two_sum(base, t.h);
  return two_normal(s.h, s.l + (low + (t.l + rest)));
}
REAL_FN f64 atan_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 1e300 ? m : 1e300;
  const two r = atan_ratio(two_of(a, 0), two_of(1, 0));
  const f64 v = CHOOSE(a < 1e-9, a, r.h);
  return CHOOSE(x != x, QUIET_f64, SIGNED_AS(x, v));
}
REAL_FN f64 atan2_real(f64 y, f64 x) {
  const f64 a = MAGNITUDE_OF(y), b = MAGNITUDE_OF(x), most = a > b ? a : b;
  const f64 down = AS_F64((u64)(1023 - 100) << 52), up = AS_F64((u64)(1023 + 600) << 52);
  const f64 by = CHOOSE(most > 1e290, down, CHOOSE(most < 1e-260, up, 1.0));
  const u64 ends = (u64)(a == INFINITE_f64) | (u64)(b == INFINITE_f64);
  const f64 p = CHOOSE(ends, CHOOSE(a == INFINITE_f64, 1.0, 0.0), a * by);
  const f64 q = CHOOSE(ends, CHOOSE(b == INFINITE_f64, 1.0, 0.0), b * by);
  const u64 none = (u64)(p == 0) & (u64)(q == 0);
  const two t = atan_ratio(two_of(p, 0), two_of(CHOOSE(none, 1.0, q), 0));
  const two back = two_add(two_of(PI_0, PI_1), two_of(-t.h, -t.l));
  const f64 tiny = p / CHOOSE(q == 0, 1.0, q);
  const f64 v = CHOOSE(IS_BELOW_0(x), back.h, CHOOSE(p < q * 1e-30, tiny, t.h));
  return CHOOSE((x != x) | (y != y), QUIET_f64, SIGNED_AS(y, v));
}
REAL_FN two chord_of(f64 a) { /* sqrt(1 - a^2), 0 <= a <= 1 */
  return two_root(two_times(two_sum(1, -a), two_sum(1, a)));
}
REAL_FN f64 asin_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 1 ? m : 1;
  const two r = atan_ratio(two_of(a, 0), chord_of(a));
  const f64 v = CHOOSE(a < 1e-9, a, r.h);
  return CHOOSE(!(m <= 1), QUIET_f64, SIGNED_AS(x, v));
}
REAL_FN f64 acos_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 1 ? m : 1;
  const two r = atan_ratio(chord_of(a), two_of(a, 0)), back = two_add(two_of(PI_0, PI_1), two_of(-r.h, -r.l));
  const f64 v = CHOOSE(IS_BELOW_0(x), back.h, r.h);
  return CHOOSE(!(m <= 1), QUIET_f64, v);
}
REAL_FN f64 hypot_real(f64 x, f64 y) {
  const f64 a = MAGNITUDE_OF(x), b = MAGNITUDE_OF(y), most = a > b ? a : b;
  const f64 up = AS_F64((u64)(1023 + 600) << 52), down = AS_F64((u64)(1023 - 600) << 52);
  const f64 by = CHOOSE(most > 1e140, down, CHOOSE(most < 1e-140, up, 1.0));
  const f64 back = CHOOSE(most > 1e140, up, CHOOSE(most < 1e-140, down, 1.0));
  const f64 p = a * by, q = b * by;
  const two r = two_root(two_add(two_product(p, p), two_product(q, q)));
  const f64 v = r.h * back;
  const u64 ends = (u64)(a == INFINITE_f64) | (u64)(b == INFINITE_f64);
  return CHOOSE(ends, INFINITE_f64, CHOOSE((u64)(x != x) | (u64)(y != y), QUIET_f64, v));
}

/* ---- hyperbolic functions ---- */
REAL_FN f64 sinh_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 22 ? m : 22, b = bounded(m, 1, 800);
  const two e = expm1_sum(a), one = two_add(two_of(1, 0), two_normal(e.h, e.l));
  const two r = two_add(e, two_by(e, one)), far = two_sum(b, -LN2_NEAR_0);
  const f64 v = CHOOSE(m < 1e-9, m, CHOOSE(m < 22, 0.5 * r.h, exp_sum(far.h, far.l - LN2_NEAR_1)));
  return CHOOSE(x != x, QUIET_f64, SIGNED_AS(x, v));
}
REAL_FN f64 cosh_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 22 ? m : 22, e = exp_sum(a, 0), b = bounded(m, 1, 800);
  const two far = two_sum(b, -LN2_NEAR_0);
  const f64 near = 0.5 * e + 0.5 / e, v = CHOOSE(m < 22, near, exp_sum(far.h, far.l - LN2_NEAR_1));
  return CHOOSE(x != x, QUIET_f64, v);
}
REAL_FN f64 tanh_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 22 ? m : 22;
  const two e = expm1_sum(2 * a), r = two_by(e, two_add(two_of(2, 0), e));
  const f64 v = CHOOSE(m < 1e-9, m, CHOOSE(m < 22, r.h, 1.0));
  return CHOOSE(x != x, QUIET_f64, SIGNED_AS(x, v));
}
#define FAR_AREA 268435456.0 /* 2^28: 1 beside its square is nothing */
REAL_FN f64 asinh_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < FAR_AREA ? m : 1;
  const two s = two_product(a, a), one = two_of(1, 0), r = two_root(two_add(one, s));
  const two w = two_add(two_of(a, 0), two_by(s, two_add(one, r)));
  const logarithm g = logarithm_of(m);
  const f64 near = log1p_sum(w.h, w.l), far = ln_sum(g.k + 1, g.f, 0);
  const f64 v = CHOOSE((u64)(m < 1e-9) | (u64)(m == INFINITE_f64), m, CHOOSE(m < FAR_AREA, near, far));
  return CHOOSE(x != x, QUIET_f64, SIGNED_AS(x, v));
}
REAL_FN f64 acosh_real(f64 x) {
  const f64 a = bounded(x, 1, FAR_AREA);
  const two t = two_sum(a, -1), w = two_add(t, two_root(two_times(t, two_add(two_of(2, 0), t))));
  const logarithm g = logarithm_of(x);
  const f64 near = log1p_sum(w.h, w.l), far = ln_sum(g.k + 1, g.f, 0), v = CHOOSE(x < FAR_AREA, near, far);
  return CHOOSE(!(x >= 1), QUIET_f64, CHOOSE(x == INFINITE_f64, x, v));
}
REAL_FN f64 atanh_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), a = m < 1 ? m : 0;
  const two w = two_by(two_of(2 * a, 0), two_sum(1, -a));
  const f64 near = 0.5 * log1p_sum(w.h, w.l), v = CHOOSE(m < 1e-9, m, CHOOSE(m == 1, INFINITE_f64, near));
  return CHOOSE(!(m <= 1), QUIET_f64, SIGNED_AS(x, v));
}
REAL_FN f64 sqrt_real(f64 x) {
  const f64 r = ROOT64(x);
  return r != r ? QUIET_f64 : r;
}
/* The first guess has a third of the exponent; two of Halley's steps leave an error of some 1e-11, and one of Newton's,
 * whose cube has twice the digits, next to none. */
REAL_FN f64 cbrt_real(f64 x) {
  const f64 m = MAGNITUDE_OF(x), small = 1e-270, great = 1e270;
  const f64 grown = CHOOSE(m < small, m * POWER_OF_TWO(300.0), CHOOSE(m > great, m * POWER_OF_TWO(-300.0), m));
  const f64 a = CHOOSE(m > 0 && IS_REAL(m), grown, 1.0);
  const f64 back = CHOOSE(m < small, POWER_OF_TWO(-100.0), CHOOSE(m > great, POWER_OF_TWO(100.0), 1.0));
  f64 t = AS_F64((((BITS_OF_F64(a) >> 32) * 0xaaaaaaabu >> 33) + 0x2a9f0000u) << 32);
  for (int k = 0; k < 2; k++) {
    const f64 cube = t * t * t;
    t *= (cube + 2 * a) / (2 * cube + a);
  }
  const two square = two_product(t, t), cube = two_times(square, two_of(t, 0));
  const f64 r = (t - ((cube.h - a) + cube.l) / (3 * square.h)) * back;
  return CHOOSE(x != x, QUIET_f64, CHOOSE(m > 0 && IS_REAL(m), SIGNED_AS(x, r), x));
}

/* A result as it is stored. */
REAL_FN f32 real_f32(f64 r) { return r != r ? QUIET_f32 : (f32)r; }
REAL_FN f64 real_f64(f64 r) { return r; }
