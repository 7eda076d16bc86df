/* rounding.h - numbers of type T as multiples of another one, by a mode of rounding (MODE_*, protocol.h).
 *
 * Of floats a multiple is SCALAR_ARG1, its bits as T has them; of integers SCALAR_ARG1; of decimals it is a row. */
#define MODE_OF(flags) ((int)(flags) & 15)
#if OF(IS_FLOAT, T)
KERNEL(sign_of) {
  ONE_ARGUMENT(T);
  EACH_OF_ONE(out_[i] = OF(STORE, T)(x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x))
}
#if !OF(IS_HALF, T)
#define IS_FINITE(x) ((x) - (x) == 0)
#define ROUND_ROW(x, p, by) OF(rounded, T)(x, p, by, r)
/* Flags beside the mode, SCALAR_ARG2: ROUND_BY: rows are multiplied first; ROUND_CHECKS. */
KERNEL(round_to) {
  const T p = OF(FROM, T)(SCALAR(SCALAR_ARG1));
  const int flags = (int)SCALAR(SCALAR_ARG2);
  const OF(rounder, T) r = OF(rounder_of, T)(MODE_OF(flags));
  ONE_ARGUMENT(T);
  if ((flags & ROUND_ONE) && MODE_OF(flags) == MODE_HALF_TO_EVEN) {
    EACH_OF_ONE(out_[i] = OF(even_of, T)(x))
  } else if ((flags & ROUND_ONE) && MODE_OF(flags) == MODE_DOWN) {
    EACH_OF_ONE(out_[i] = OF(floor_of, T)(x))
  } else if (flags & ROUND_BY) {
    EACH_OF_ONE(out_[i] = ROUND_ROW(x, p, 1))
  } else {
    EACH_OF_ONE(out_[i] = ROUND_ROW(x, p, 0))
  }
  if (flags & ROUND_CHECKS) {
    int bad = 0;
    EACH_OF_ONE(bad |= !IS_FINITE(out_[i]) && IS_FINITE(x))
    if (bad) {
      EACH_OF_ONE(if (!IS_FINITE(out_[i]) && IS_FINITE(x) && ROW_COUNTS(i))
                      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUNDED, 0))
    }
  }
}
/* As Arrow: in f64. */
KERNEL(round_binary) {
  const rounder_f64 r = rounder_of_f64(MODE_OF(SCALAR(SCALAR_ARG2)));
  GLOBAL const i32 *RESTRICT digits = IN(i32, BUF_ARG1);
  const i32 all = (i32)SCALAR(SCALAR_ARG1);
  ONE_ARGUMENT(T);
  const T one = OF(LOAD, T)(ARG_KIND(0) ? ONE(T, 0, in_0) : ZERO(T));
  ROWS(i, rows_) {
    const T x = ARG_KIND(0) ? one : in_0[i];
    const i32 d = ARG_KIND(1) == ARG_SCALAR ? all : digits[ARG_KIND(1) ? 0 : i];
    const f64 v = rounded_f64((f64)x, power_of_digits(d), d >= 0, r);
    out_[i] = IS_FINITE(x) ? (T)v : x;
    if (!IS_FINITE(v) && IS_FINITE(x) && ROW_COUNTS(i)) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUNDED, 0);
  }
}
#undef IS_FINITE
#undef ROUND_ROW
#endif
#else
/* A number cut towards zero to a multiple becomes the next one away from zero: its sign, how what was cut compares with
 * middle a multiple (-1, 0, 1), and whether the multiple that it was cut to is an odd one. */
FN int OF(goes_away, T)(int mode, int below0, int middle, int odd) {
  if (mode >= MODE_HALF_DOWN && middle) return middle > 0;
  if (mode >= MODE_HALF_DOWN) mode -= MODE_HALF_DOWN; /* a tie */
  return mode == MODE_DOWN                            ? below0
         : mode == MODE_UP                            ? !below0
         : mode == MODE_TOWARDS_ZERO                  ? 0
         : mode == MODE_TOWARDS_INFINITY              ? 1
         : mode == MODE_HALF_TO_EVEN - MODE_HALF_DOWN ? odd
                                                      : !odd;
}
#if OF(IS_WIDE, T)
#define MAGNITUDE(x) OF(WIDE_MAGNITUDE, T)(x)
#define LESS(x, y) OF(WIDE_LESS, T)(x, y)
/* x as a multiple of m, both without a sign but below0. */
FN T OF(multiple_of, T)(T x, T m, int mode) {
  T rest;
  const T all = MAGNITUDE(x), q = OF(WIDE_QUOTIENT, T)(all, m, &rest), cut = OF(WIDE_SUBTRACT, T)(all, rest);
  const T other = OF(WIDE_SUBTRACT, T)(m, rest);
  const int below0 = LESS(x, OF(FROM, T)(0)), middle = LESS(other, rest) ? 1 : LESS(rest, other) ? -1 : 0;
  if (OF(WIDE_SAME, T)(rest, OF(FROM, T)(0))) return x;
  const T made = OF(goes_away, T)(mode, below0, middle, OF(WIDE_ODD, T)(q)) ? OF(WIDE_ADD, T)(cut, m) : cut;
  return below0 ? OF(WIDE_NEGATE, T)(made) : made;
}
/* SCALAR_ARG2: the mode, and from bit 8 on the digits that a result has at most. */
KERNEL(round_to) {
  const int flags = (int)SCALAR(SCALAR_ARG2), digits = flags >> 8;
  const T m = IN(T, BUF_ARG1)[0], limit = OF(WIDE_POWER, T)(digits);
  ONE_ARGUMENT(T);
  EACH_OF_ONE({
    const T v = OF(multiple_of, T)(x, m, MODE_OF(flags));
    out_[i] = v;
    if (!LESS(MAGNITUDE(v), limit) && ROW_COUNTS(i)) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_PRECISION, digits);
  })
}
/* SCALAR_ARG2: and from bit 16 on the scale. */
KERNEL(round_binary) {
  const int flags = (int)SCALAR(SCALAR_ARG2), digits = flags >> 8 & 255, scale = flags >> 16;
  GLOBAL const i32 *RESTRICT wanted = IN(i32, BUF_ARG1);
  const i32 all = (i32)SCALAR(SCALAR_ARG1);
  const T limit = OF(WIDE_POWER, T)(digits);
  GLOBAL T *RESTRICT out_ = OUT(T, BUF_OUT);
  GLOBAL const T *RESTRICT in_0 = IN(T, BUF_ARG0);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const T x = in_0[ARG_KIND(0) ? 0 : i];
    const i32 d = ARG_KIND(1) == ARG_SCALAR ? all : wanted[ARG_KIND(1) ? 0 : i];
    const i64 cut = (i64)scale - d;
    const T v = cut <= 0 || cut >= digits ? x : OF(multiple_of, T)(x, OF(WIDE_POWER, T)((int)cut), MODE_OF(flags));
    out_[i] = v;
    if (cut >= digits && ROW_COUNTS(i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUND_DIGITS, d);
    else if (!LESS(MAGNITUDE(v), limit) && ROW_COUNTS(i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_PRECISION, digits);
  }
}
KERNEL(sign_of) {
  ONE_ARGUMENT(i64);
  EACH_OF_ONE(out_[i] = LESS(x, OF(FROM, T)(0)) ? -1 : !OF(WIDE_SAME, T)(x, OF(FROM, T)(0)))
}
/* Of two of one scale.  No divisor is 0, or the row does not count. */
#define DIVIDED(name, value)                                                                        \
  KERNEL(name) {                                                                                    \
    TWO_ARGUMENTS(T);                                                                               \
    const T zero = OF(FROM, T)(0);                                                                  \
    EACH_OF_TWO({                                                                                   \
      T rest = zero;                                                                                \
      const int none = OF(WIDE_SAME, T)(y, zero);                                                   \
      const T by = none ? OF(FROM, T)(1) : MAGNITUDE(y);                                            \
      (void)OF(WIDE_QUOTIENT, T)(MAGNITUDE(x), by, &rest);                                          \
      out_[i] = value;                                                                              \
      if (none && ROW_COUNTS(i)) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_DIVIDE_BY_ZERO, 0); \
    })                                                                                              \
  }
#define SIGNED(negative, v) ((negative) ? OF(WIDE_NEGATE, T)(v) : (v))
DIVIDED(remainder_of, SIGNED(LESS(x, zero), rest))
#define FULL_REST \
  (LESS(x, zero) == LESS(y, zero) || OF(WIDE_SAME, T)(rest, zero) ? rest : OF(WIDE_SUBTRACT, T)(by, rest))
DIVIDED(modulo_of, SIGNED(LESS(y, zero), FULL_REST))
#undef MAGNITUDE
#undef LESS
#undef DIVIDED
#undef SIGNED
#undef FULL_REST
#else
/* x as a multiple of m > 0; *over: there is none of T. */
FN T OF(multiple_of, T)(T x, T m, int mode, int *over) {
  const T rest = (T)(x % m), cut = (T)(x - rest);
  const int below0 = IS_NEGATIVE(x);
  const u64 all = below0 ? (u64)0 - (u64)rest : (u64)rest, other = (u64)m - all;
  *over = 0;
  if (rest == 0) return x;
  if (!OF(goes_away, T)(mode, below0, all > other ? 1 : all < other ? -1 : 0, (int)(cut / m & 1))) return cut;
  const T next = below0 ? (T)((OF(WRAP, T))cut - (OF(WRAP, T))m) : (T)((OF(WRAP, T))cut + (OF(WRAP, T))m);
  *over = below0 ? next > cut : next < cut;
  return *over ? x : next;
}
KERNEL(round_to) {
  const T m = OF(FROM, T)(SCALAR(SCALAR_ARG1));
  const int mode = MODE_OF(SCALAR(SCALAR_ARG2));
  ONE_ARGUMENT(T);
  EACH_OF_ONE({
    int over;
    out_[i] = OF(multiple_of, T)(x, m, mode, &over);
    if (over && ROW_COUNTS(i)) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUNDED, 0);
  })
}
KERNEL(round_binary) {
  const int mode = MODE_OF(SCALAR(SCALAR_ARG2));
  GLOBAL const i32 *RESTRICT wanted = IN(i32, BUF_ARG1);
  const i32 all = (i32)SCALAR(SCALAR_ARG1);
  const int most = sizeof(T) == 1 ? 2 : sizeof(T) == 2 ? 4 : sizeof(T) == 4 ? 9 : OF(IS_SIGNED, T) ? 18 : 19;
  ONE_ARGUMENT(T);
  const T one = ARG_KIND(0) ? ONE(T, 0, in_0) : ZERO(T);
  ROWS(i, rows_) {
    int over = 0;
    const T x = ARG_KIND(0) ? one : in_0[i];
    const i32 d = ARG_KIND(1) == ARG_SCALAR ? all : wanted[ARG_KIND(1) ? 0 : i];
    out_[i] = d >= 0 || d < -most ? x : OF(multiple_of, T)(x, (T)power_of_ten(-d), mode, &over);
    if (d < -most && ROW_COUNTS(i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUND_DIGITS, d);
    else if (over && ROW_COUNTS(i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_ROUNDED, 0);
  }
}
KERNEL(sign_of) {
  ONE_ARGUMENT(i8);
  EACH_OF_ONE(out_[i] = (i8)((x > 0) - IS_NEGATIVE(x)))
}
#endif
#endif
#undef MODE_OF
