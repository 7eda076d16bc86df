/* real.h - floats in text, to the nearest; of two that are as near, the even one.  Nothing here knows of T.
 *
 * The first 19 digits, times 128 bits of a power of ten, are between two numbers; where both are rounded to the same
 * float, that is it, else all digits decide.  After D. Lemire, Number parsing at a gigabyte per second (2021). */

/* A float of so many bits behind the point and of its exponent. */
typedef struct {
  int digits, exponents;
} real_layout;
typedef struct {
  u64 bits;    /* cut */
  int unit;    /* the power of two of its last bit */
  int up;      /* the nearest one is the next one */
  int is_half; /* it may be as near: the low word decides */
} rounded;
/* high:low * 2^(exponent of the highest bit, which is set, or the one below) ...; sticky: and some more. */
TEXT_FN rounded round_real(u64 high, u64 low, int sticky, int exponent, real_layout f) {
  rounded r;
  const int least = 2 - (1 << (f.exponents - 1)); /* exponent of the least normal float */
  const int one = !(high >> 63);                  /* no branches: they would be random */
  high = high << one | (low >> 63 & (u64)one);
  low <<= one;
  exponent -= one;
  const int keep = exponent >= least ? f.digits + 1 : f.digits + 1 - (least - exponent);
  r.bits = 0;
  r.unit = least - f.digits;
  r.up = r.is_half = 0;
  if (keep < 0) return r;
  const u64 m = keep ? high >> (64 - keep) : 0, rest = keep ? high << keep : high;
  r.is_half = rest << 1 == 0;
  r.up = (int)(rest >> 63) & ((rest << 1 != 0) | (low != 0) | sticky | (int)(m & 1u));
  r.bits = m;
  if (exponent >= least) {
    r.unit = exponent - f.digits;
    const i64 biased = (i64)exponent - least + 1, all = ((i64)1 << f.exponents) - 1;
    r.bits = biased >= all ? (u64)all << f.digits : ((u64)(biased - 1) << f.digits) + m;
    if (biased >= all) r.up = 0;
  }
  return r;
}

#define BIG_WORDS 96 /* 780 digits, and 5^1122 */
#define BIG_DIGITS 780
typedef struct {
  u32 word[BIG_WORDS];
  int size;
} big;
FN void big_set(big *x, u64 v) {
  x->word[0] = (u32)v;
  x->word[1] = (u32)(v >> 32);
  x->size = v >> 32 ? 2 : v ? 1 : 0;
}
FN void big_multiply(big *x, u32 by, u32 more) {
  u64 carry = more;
  for (int i = 0; i < x->size; i++) {
    carry += (u64)x->word[i] * by;
    x->word[i] = (u32)carry;
    carry >>= 32;
  }
  if (carry && x->size < BIG_WORDS) x->word[x->size++] = (u32)carry;
}
FN void big_times_five(big *x, int power) {
  for (; power >= 13; power -= 13) big_multiply(x, 1220703125u, 0);
  for (; power > 0; power--) big_multiply(x, 5, 0);
}
FN void big_shift(big *x, int by) {
  const int words = by >> 5;
  big_multiply(x, 1u << (by & 31), 0);
  if (!words || !x->size || x->size + words > BIG_WORDS) return;
  for (int i = x->size - 1; i >= 0; i--) x->word[i + words] = x->word[i];
  for (int i = 0; i < words; i++) x->word[i] = 0;
  x->size += words;
}
FN int big_compare(const big *x, const big *y) {
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  int i = x->size - 1;
  while (i > 0 && x->word[i] == y->word[i]) i--;
  return i < 0 || x->word[i] == y->word[i] ? 0 : x->word[i] < y->word[i] ? -1 : 1;
}
/* Are the digits from begin to end, with a point somewhere, times 10^power, more than half of a unit above m units?
 * power: of the last digit. */
FN int is_nearer_above(GLOBAL const u8 *b, i64 begin, i64 end, int power, u64 m, int unit) {
  big x, y;
  int taken = 0, more = 0, chunk = 0;
  u32 part = 0, by = 1;
  big_set(&x, 0);
  for (i64 i = begin; i < end; i++) {
    const u32 d = (u32)b[i] - 48u;
    if (d > 9) continue;
    if (taken < BIG_DIGITS) {
      if (taken || d) taken++;
      part = part * 10u + d;
      by *= 10u;
      if (++chunk == 9) {
        big_multiply(&x, by, part);
        part = 0, by = 1, chunk = 0;
      }
    } else {
      more |= d != 0;
      power++;
    }
  }
  if (chunk) big_multiply(&x, by, part);
  big_set(&y, 2 * m + 1);
  int shift = unit - 1;
  if (power > 0) {
    big_times_five(&x, power);
  } else {
    big_times_five(&y, -power);
  }
  shift -= power;
  if (shift > 0)
    big_shift(&y, shift);
  else
    big_shift(&x, -shift);
  const int order = big_compare(&x, &y);
  return order > 0 || (order == 0 && (more || (m & 1u)));
}

#if defined(CDV_HOST)
static const f64 small_powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#endif
#if defined(CDV_HOST)
/* w * 10^power, where both are exact: one operation rounds. */
TEXT_FN int easy_real(u64 w, int power, real_layout f, u64 *bits) {
  if (w > (u64)1 << 53 || power < -22 || power > 22) return 0;
  const f64 x = (f64)(i64)w, r = power < 0 ? x / small_powers[-power] : x * small_powers[power];
  *bits = BITS_OF_F64(r);
  if (f.digits == 52) return 1;
  if ((*bits & 0x1fffffffu) == 0x10000000u || !(r >= 1e-30 && r <= 1e30)) return 0; /* else it is rounded twice */
  *bits = BITS_OF_F32((f32)r);
  return 1;
}
#endif
/* w * 10^power as a float, or w and some more; 0: the digits must decide, and *r is the one below. */
TEXT_FN int real_of(u64 w, int power, int more, real_layout f, rounded *r) {
  r->bits = 0;
  r->unit = r->up = r->is_half = 0;
  if (!w || power < POWER_LEAST) return 1;
  if (power > 308) {
    r->bits = (((u64)1 << f.exponents) - 1) << f.digits;
    return 1;
  }
  const int zeros = leading_zeros(w), p = 2 * (power - POWER_LEAST);
  const u64 x = w << zeros, ten_high = top_bits[p], ten_low = top_bits[p + 1];
  u64 low = x * ten_high, high = product_high(x, ten_high);
  const u64 carry = product_high(x, ten_low);
  low += carry;
  high += low < carry;
  const int exact = power >= 0 && power <= 55 && !more, exponent = log2_of_ten(power) + 64 - zeros;
  *r = round_real(high, low, !exact || x * ten_low != 0, exponent, f);
  if (exact || (!more && !((low ^ (low + 2)) >> 63) && !r->is_half)) return 1;
  u64 add = 1, add_high = 0;
  if (more) {
    add = zeros ? ten_high << zeros | ten_low >> (64 - zeros) : ten_high;
    add_high = zeros ? ten_high >> (64 - zeros) : 0;
    add += 2;
    add_high += add < 2;
  }
  low += add;
  add_high += low < add;
  high += add_high;
  if (high < add_high) return 0;
  const rounded above = round_real(high, low, 1, exponent, f);
  return r->bits + (u64)r->up == above.bits + (u64)above.up;
}
/* The digits from i on, behind those of *w; where they end.  Nothing from `last` on is read. */
TEXT_FN i64 digits_at(GLOBAL const u8 *b, i64 i, i64 end, i64 last, u64 *w) {
  u64 r = *w;
#if defined(DIGITS_BY_WORDS)
  while (i + 8 <= last) {
    u64 d = LOAD8(b + i) ^ 0x3030303030303030ull, bad = NOT_DIGITS(d);
    if (end - i < 8) bad |= TOP_BITS << (8 * (end - i));
    if (bad) {
      const int n = __builtin_ctzll(bad) >> 3;
      d = n ? d << (8 * (8 - n)) : 0;
      *w = r * powers_of_ten[n] + number_of_word(d);
      return i + n;
    }
    r = r * 100000000u + number_of_word(d);
    i += 8;
  }
#else
  (void)last;
#endif
  for (; i < end && (u32)b[i] - 48u <= 9u; i++) r = r * 10u + ((u64)b[i] - 48u);
  *w = r;
  return i;
}
/* inf, infinity, nan and nan(letters), in any case. */
FN int special_at(GLOBAL const u8 *b, i64 i, i64 end, real_layout f, u64 *bits) {
  const i64 n = end - i;
  int good = 0;
  *bits = (((u64)1 << f.exponents) - 1) << f.digits;
  if (n == 3 || n == 8) good = is_word(b, i, (u64)0x666e69u, 3) && (n == 3 || is_word(b, i + 3, (u64)0x7974696e69u, 5));
  if (good || n < 3 || !is_word(b, i, (u64)0x6e616eu, 3)) return good ? 0 : KERNEL_ERROR_NOT_READ;
  *bits |= (u64)1 << (f.digits - 1);
  good = n == 3 || (n > 4 && b[i + 3] == 40 && b[end - 1] == 41);
  for (i64 k = i + 4; k < end - 1 && good; k++) {
    const u32 c = b[k];
    good = c - 48u <= 9u || (c | 32u) - 97u < 26u || c == 95;
  }
  return good ? 0 : KERNEL_ERROR_NOT_READ;
}
/* The first 19 digits from i on that are not leading zeros; *power grows by one for each that is left. */
FN u64 first_digits(GLOBAL const u8 *b, i64 i, i64 end, int *power, int *more) {
  u64 w = 0;
  int taken = 0;
  for (; i < end; i++) {
    const u32 d = (u32)b[i] - 48u;
    if (d > 9) continue;
    if (taken < 19) {
      w = w * 10u + d;
      taken += w != 0;
    } else {
      *more |= d != 0;
      *power += 1;
    }
  }
  return w;
}
#if defined(DIGITS_BY_WORDS)
/* w * 10^power, where that is a normal float and none is as near; 0: it may be another. */
TEXT_FN int likely_real(u64 w, int power, real_layout f, u64 *bits) {
  if (!w) return 0;
  const int zeros = __builtin_clzll(w), p = 2 * (power - POWER_LEAST);
  const u64 x = w << zeros, low = x * top_bits[p], sum = low + product_high(x, top_bits[p + 1]);
  const u64 high = product_high(x, top_bits[p]) + (sum < low);
  const int one = !(high >> 63), keep = f.digits + 1;
  const i64 biased = log2_of_ten(power) + 64 - zeros - one - 2 + (1 << (f.exponents - 1)) + 1;
  const u64 m = high << one >> (64 - keep), rest = high << one << keep;
  *bits = ((u64)(biased - 1) << f.digits) + m + (rest >> 63);
  const int sure = rest << 1 != 0 && sum < ~(u64)3; /* the product is below that plus two */
  return sure && biased > 0 && biased < (1 << f.exponents) - 2;
}
/* Digits, a point and digits, at most 19 of them; 0: it is something else, or hard to round. */
TEXT_FN int plain_real_at(const u8 *b, i64 i, i64 end, real_layout f, u64 *bits) {
  const u64 d = LOAD8(b + i) ^ 0x3030303030303030ull;
  int whole = 1; /* by branches: what follows need not wait for it */
  if (__builtin_expect(b[i + 1] != 46, 0)) {
    whole = 2;
    if (__builtin_expect(b[i + 2] != 46, 0)) {
      whole = 3;
      if (__builtin_expect(b[i + 3] != 46, 0)) {
        const u64 bad = NOT_DIGITS(d);
        whole = bad ? __builtin_ctzll(bad) >> 3 : 8;
      }
    }
  }
  const i64 behind = end - i - whole - 1;
  const u64 head = d << (8 * (8 - whole) & 63);
  u64 w = 0, others = 0;
  if (whole > 7 || whole < 1 || behind < 1 || whole + behind > 19 || end < 24 || b[i + whole] != 46 || NOT_DIGITS(head))
    return 0;
  if (behind <= 8) {
    if (!short_digits_at(b, end - behind, end, ~(u64)0, &w)) return 0;
  } else {
    w = long_digits_at(b, end, behind, &others);
    if (others) return 0;
  }
  w += number_of_word(head) * powers_of_ten[behind];
  if (whole + behind < 16 && easy_real(w, (int)-behind, f, bits)) return 1;
  return likely_real(w, (int)-behind, f, bits);
}
#endif
/* The bits of a float. */
TEXT_FN int real_at(GLOBAL const u8 *b, i64 begin, i64 end, i64 last_byte, real_layout f, u64 *bits) {
  i64 i = begin;
  const u64 negative = i < end && b[i] == 45;
  int power = 0, more = 0;
  u64 w = 0;
  if (i < end && (b[i] == 45 || b[i] == 43)) i++;
  const i64 first = i;
#if defined(DIGITS_BY_WORDS)
  if (i + 8 <= last_byte && end - i > 2 && plain_real_at(b, i, end, f, bits)) {
    *bits |= negative << (f.digits + f.exponents);
    return 0;
  }
#endif
  i = digits_at(b, i, end, last_byte, &w);
  i64 count = i - first;
  if (i < end && b[i] == 46) {
    const i64 point = i + 1;
    i = digits_at(b, point, end, last_byte, &w);
    count += i - point;
    power = (int)(point - i);
  }
  const i64 behind = i;
  if (!count) {
    const int r = special_at(b, first, first == behind ? end : first, f, bits);
    *bits |= negative << (f.digits + f.exponents);
    return r;
  }
  if (i < end && (b[i] | 32) == 101) {
    int e = 0;
    const int down = i + 1 < end && b[i + 1] == 45;
    i += 1 + (i + 1 < end && (b[i + 1] == 45 || b[i + 1] == 43));
    if (i == end) return KERNEL_ERROR_NOT_READ;
    for (; i < end && (u32)b[i] - 48u <= 9u; i++) e = e < 100000000 ? e * 10 + (b[i] - 48) : e;
    power += down ? -e : e;
  }
  if (i != end) return KERNEL_ERROR_NOT_READ;
  const int last = power;
#if defined(CDV_HOST)
  if (count <= 19 && easy_real(w, power, f, bits)) {
    *bits |= negative << (f.digits + f.exponents);
    return 0;
  }
#endif
  if (count > 19) w = first_digits(b, first, behind, &power, &more);
  rounded r;
  if (!real_of(w, power, more, f, &r)) {
    const u64 m = (r.bits & (((u64)1 << f.digits) - 1)) | (u64)(r.bits >> f.digits != 0) << f.digits;
    r.up = is_nearer_above(b, first, behind, last, m, r.unit);
  }
  *bits = (r.bits + (u64)r.up) | negative << (f.digits + f.exponents);
  return 0;
}
