/* shortest.h - floats as the shortest decimals that are read as them again, in the notation of Arrow.  Nothing here knows
 * of T.
 *
 * After R. Giulietti, The Schubfach way to render doubles (2020). */
typedef struct {
  u64 digits; /* without zeros at the end */
  int power;  /* of ten, of the last digit */
} decimal;

/* x * g / 2^128, cut; odd where something was. */
FN u64 cut_to_odd(u64 g_high, u64 g_low, u64 x) {
  const u64 low = product_high(g_low, x), middle = g_high * x + low;
  return (product_high(g_high, x) + (middle < low)) | (middle > 1);
}
/* The shortest decimal that is nearer to c * 2^q than to any other float, and of these the nearest one. */
FN decimal shortest(u64 c, int q, int is_power, int is_least) {
  decimal d;
  const u64 odd = c & 1u;
  const int below = is_power && !is_least; /* the float below is half as far */
  const int k = (q * 1262611 - (below ? 524031 : 0)) >> 22, p = -k - POWER_LEAST;
  const int h = q + log2_of_ten(-k) + 1;
  u64 high = top_bits[2 * p], low = top_bits[2 * p + 1];
  if (-k < 0 || -k > 55) { /* not exact: rounded up */
    low++;
    high += low == 0;
  }
  const u64 lower = cut_to_odd(high, low, (4 * c - 2 + (u64)below) << h) + odd;
  const u64 middle = cut_to_odd(high, low, 4 * c << h);
  const u64 upper = cut_to_odd(high, low, (4 * c + 2) << h) - odd;
  const u64 s = middle >> 2;
  if (s >= 10) {
    const u64 tenth = s / 10u;
    const int down = lower <= 40 * tenth, up = 40 * tenth + 40 <= upper;
    if (down != up) {
      d.digits = tenth + (u64)up;
      d.power = k + 1;
      return d;
    }
  }
  const int down = lower <= 4 * s, up = 4 * s + 4 <= upper;
  d.power = k;
  if (down != up)
    d.digits = s + (u64)up;
  else
    d.digits = s + (u64)(middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1u)));
  return d;
}
FN decimal without_zeros(decimal d) {
#define CUT(by, zeros)        \
  if (d.digits % (by) == 0) { \
    d.digits /= (by);         \
    d.power += (zeros);       \
  }
  if (d.digits % 10u) return d;
  CUT(100000000u, 8)
  CUT(100000000u, 8)
  CUT(10000u, 4)
  CUT(100u, 2)
  CUT(10u, 1)
#undef CUT
  return d;
}
/* A float of which so many bits are behind the point and of the exponent: the power that shortest() has at least. */
FN int least_power(u64 bits, int digits, int exponents) {
  const int exponent = (int)(bits >> digits) & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1 + digits;
  const int below = !(bits & (((u64)1 << digits) - 1)) && exponent > 1;
  return (((exponent ? exponent : 1) - bias) * 1262611 - (below ? 524031 : 0)) >> 22;
}
FN decimal decimal_of(u64 bits, int digits, int exponents) {
  const u64 fraction = bits & (((u64)1 << digits) - 1);
  const int exponent = (int)(bits >> digits) & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1 + digits;
  const u64 c = fraction | (u64)(exponent != 0) << digits;
  const int q = (exponent ? exponent : 1) - bias;
  if (q <= 0 && q >= -digits && !(c & (((u64)1 << -q) - 1))) { /* a whole number */
    decimal d;
    d.digits = c >> -q;
    d.power = 0;
    return without_zeros(d);
  }
  return without_zeros(shortest(c, q, fraction == 0, exponent <= 1));
}
/* Both in one word: the power is counted from least_power() on. */
#define PACKED_POWER 58
FN u64 packed_decimal(decimal d, int least) { return d.digits | (u64)(d.power - least) << PACKED_POWER; }
#define REAL_MOST 40 /* bytes that put_real writes at most, those behind the text too */
#define INFINITE_BITS(digits, exponents) ((((u64)1 << (exponents)) - 1) << (digits))
FN int special_size(u64 bits, int digits, int exponents) { /* nan, inf, 0 and their signs; 0: it is another */
  const u64 m = bits & (((u64)1 << (digits + exponents)) - 1), infinite = INFINITE_BITS(digits, exponents);
  if (m > infinite) return 3;
  return m != infinite && m ? 0 : (m ? 3 : 1) + (int)(bits >> (digits + exponents));
}
FN int real_size(u64 bits, int digits, int exponents, GLOBAL u64 *packed) {
  const int special = special_size(bits, digits, exponents);
  if (special) return special;
  const decimal d = decimal_of(bits, digits, exponents);
  *packed = packed_decimal(d, least_power(bits, digits, exponents));
  const int n = digits_of(d.digits), at = n + d.power, sign = (int)(bits >> (digits + exponents));
  if (at < -5 || at > 10) { /* d.ddde+xxx */
    const int e = at - 1, m = e < 0 ? -e : e;
    return sign + n + (n > 1) + 2 + 1 + (m > 9) + (m > 99);
  }
  return sign + (d.power >= 0 ? at : at > 0 ? n + 1 : n + 2 - at);
}
/* Writes the text, and gives its size; packed: what real_size() has found. */
FN int put_real(u8 *o, u64 bits, int digits, int exponents, u64 packed) {
  const int special = special_size(bits, digits, exponents);
  const u64 negative = bits >> (digits + exponents);
  int i = 0;
  o[0] = 45;
  if (special) {
    const u64 m = bits & (((u64)1 << (digits + exponents)) - 1), infinite = INFINITE_BITS(digits, exponents);
    if (m > infinite) return put_word(o, 0, 0x6e616e, 3); /* nan */
    return m ? put_word(o, (int)negative, 0x666e69, 3) : put_word(o, (int)negative, 48, 1);
  }
  decimal d;
  d.digits = packed & (((u64)1 << PACKED_POWER) - 1);
  d.power = least_power(bits, digits, exponents) + (int)(packed >> PACKED_POWER);
  const int n = digits_of(d.digits), at = n + d.power; /* where the point is */
  i = (int)negative;
  if (at < -5 || at > 10) {
    const int e = at - 1, m = e < 0 ? -e : e, size = 1 + (m > 9) + (m > 99);
    put_digits(o + i + 1, d.digits, n);
    o[i] = o[i + 1];
    o[i + 1] = 46;
    i += n + (n > 1);
    o[i] = 101;
    o[i + 1] = e < 0 ? 45 : 43;
    put_digits(o + i + 2, (u64)m, size);
    return i + 2 + size;
  }
  if (at <= 0) { /* 0.00ddd */
    i = put_word(o, i, (u64)0x3030303030302e30u, 2 - at);
    put_digits(o + i, d.digits, n);
    return i + n;
  }
  if (d.power >= 0) { /* ddd00 */
    put_digits(o + i, d.digits * powers_of_ten[d.power], at);
    return i + at;
  }
  const u64 by = powers_of_ten[-d.power], whole = d.digits / by;
  put_digits(o + i, whole, at);
  o[i + at] = 46;
  put_digits(o + i + at + 1, d.digits - whole * by, -d.power);
  return i + n + 1;
}
