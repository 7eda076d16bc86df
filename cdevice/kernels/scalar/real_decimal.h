/* real_decimal.h - floats of type S as decimals of type T: the nearest one, of two the even one.  SCALAR_ARG1: the scale,
 * the precision and the digits of the widest decimal of the result's width, eight bits each; SCALAR_ARG2: the bits of
 * 10^scale.  One that has no such decimal becomes 0. */
#define WIDTH (8 * (int)sizeof(S))
#define MANTISSA (sizeof(S) == 4 ? 23 : 52)
#define DIGITS_OF_S (sizeof(S) == 4 ? 8 : 16)
#if !defined(REAL_BITS_f32)
#define REAL_BITS_f32(x) BITS_OF_F32(x)
#define REAL_BITS_f64(x) BITS_OF_F64(x)
#define POWER_BITS(k) ((k) * 217706 / 65536 + 1) /* of 10^k */
#endif
typedef struct {
  int scale, precision, most; /* most: digits that there is room for */
  int first;                  /* digits of the scale that a mantissa is multiplied by at once */
  T power;                    /* of ten, by `first` */
  T limit, whole;             /* of all digits; of those before the point */
} CAT(OF(wanted, S), T);
FN CAT(OF(wanted, S), T) CAT(OF(wanted_of, S), T)(int scale, int precision, int most) {
  CAT(OF(wanted, S), T) r;
  r.scale = scale, r.precision = precision, r.most = most;
  r.first = scale < most - DIGITS_OF_S ? scale : most - DIGITS_OF_S;
  r.power = OF(WIDE_POWER, T)(r.first);
  r.limit = OF(WIDE_POWER, T)(precision);
  r.whole = OF(WIDE_POWER, T)(precision < scale ? 0 : precision - scale);
  return r;
}
/* x 10^scale; *none: has it more digits? */
FN T CAT(OF(decimal_at, S), T)(S x, const CAT(OF(wanted, S), T) * w, int *none) {
  const u64 bits = (u64)OF(REAL_BITS, S)(x);
  const int field = (int)(bits >> MANTISSA) & (WIDTH == 32 ? 255 : 2047);
  const u64 part = bits & (((u64)1 << MANTISSA) - 1);
  const u64 mantissa = field ? part | (u64)1 << MANTISSA : part;
  const int up = (field ? field : 1) - (WIDTH == 32 ? 150 : 1075);
  T r = OF(WIDE_128, T)(wide_make(0, mantissa));
  *none = field == (WIDTH == 32 ? 255 : 2047);
  if (*none || !mantissa) return OF(FROM, T)(0);
  if (up >= 0) {
    *none = up + MANTISSA >= (OF(IS_WIDE, T) == 2 ? 254 : 126);
    if (!*none) r = OF(WIDE_UP, T)(r, up);
    *none |= !OF(WIDE_BELOW, T)(r, w->whole);
    if (!*none) r = OF(WIDE_MULTIPLY, T)(r, OF(WIDE_POWER, T)(w->scale));
  } else { /* multiplied and shifted in turns where the product does not fit; as Arrow rounds it */
    const int step = w->most > w->precision ? w->most - w->precision : 1;
    int left = w->scale - w->first, down = -up, power = 0, shifted = 0;
    if (down > MANTISSA + 1 + POWER_BITS(w->scale)) return OF(FROM, T)(0);
    *none = !OF(WIDE_BELOW, T)(OF(WIDE_128, T)(wide_make(0, down < 64 ? mantissa >> down : 0)), w->whole);
    if (*none) return OF(FROM, T)(0);
    r = OF(WIDE_MULTIPLY, T)(r, w->power);
    for (; left > 0 && down > 0;) {
      const int k = left < step ? left : step;
      power += k;
      const int room = POWER_BITS(power) - shifted, by = down < room ? down : room;
      shifted += by;
      r = OF(WIDE_MULTIPLY, T)(OF(WIDE_NEAREST, T)(r, by), OF(WIDE_POWER, T)(k));
      down -= by;
      left -= k;
    }
    if (left) r = OF(WIDE_MULTIPLY, T)(r, OF(WIDE_POWER, T)(left));
    r = OF(WIDE_NEAREST, T)(r, down);
  }
  *none |= !OF(WIDE_BELOW, T)(r, w->limit);
  return bits >> (WIDTH - 1) ? OF(WIDE_NEGATE, T)(r) : r;
}
#define DECIMAL_OF(x) CAT(OF(decimal_at, S), T)(few ? (x) * by : (x), &wanted, &none)
#define OPTIONS                                                                                                   \
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                                                                         \
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);                                                                   \
  const int scale = (int)(SCALAR(SCALAR_ARG1) & 255), precision = (int)(SCALAR(SCALAR_ARG1) >> 8 & 255);          \
  const int most = (int)(SCALAR(SCALAR_ARG1) >> 16), few = most <= 9; /* of 32 bits: by a product, as in Arrow */ \
  const CAT(OF(wanted, S), T) wanted = CAT(OF(wanted_of, S), T)(few ? 0 : scale, precision, few ? 38 : most);     \
  const S by = OF(FROM, S)(SCALAR(SCALAR_ARG2))
KERNEL(OF(decimal, S)) {
  OPTIONS;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int none = 0;
    const T r = DECIMAL_OF(a[i]);
    o[i] = none ? OF(FROM, T)(0) : r;
  }
}
KERNEL(OF(decimal_checked, S)) {
  OPTIONS;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int none = 0;
    const T r = DECIMAL_OF(a[i]);
    o[i] = none ? OF(FROM, T)(0) : r;
    if (none && bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR), a[i] - a[i] == 0 ? KERNEL_ERROR_PRECISION : KERNEL_ERROR_NOT_FINITE, precision);
  }
}
#undef WIDTH
#undef MANTISSA
#undef DIGITS_OF_S
#undef DECIMAL_OF
#undef OPTIONS
