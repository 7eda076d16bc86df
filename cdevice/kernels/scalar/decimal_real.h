/* decimal_real.h - decimals of type S as floats of type T.  SCALAR_ARG1: the scale; SCALAR_ARG2: the bits of 10^-scale.
 * As in Arrow, where the digits are no exact float those before the point and those behind it are rounded each by
 * themselves. */
#define TWO_TO_64 ((T)4294967296 * (T)4294967296)
#define EXACT_REAL (sizeof(T) == 4 ? (u64)1 << 24 : (u64)1 << 53)
#if OF(IS_WIDE, S) == 2
#define WORDS_OF(m)                                                                                   \
  (((((T)(m).part[3] * TWO_TO_64 * TWO_TO_64 * TWO_TO_64) + (T)(m).part[2] * TWO_TO_64 * TWO_TO_64) + \
    (T)(m).part[1] * TWO_TO_64) +                                                                     \
   (T)(m).part[0])
#define IS_EXACT(m) (!(m).part[3] && !(m).part[2] && !(m).part[1] && (m).part[0] <= EXACT_REAL)
#elif OF(IS_WIDE, S)
#define WORDS_OF(m) ((T)(m).high * TWO_TO_64 + (T)(m).low)
#define IS_EXACT(m) (!(m).high && (m).low <= EXACT_REAL)
#else
#define WORDS_OF(m) ((T)(m))
#define IS_EXACT(m) ((u64)(m) <= EXACT_REAL)
#endif
KERNEL(OF(real, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  const int scale = (int)SCALAR(SCALAR_ARG1);
  const T by = OF(FROM, T)(SCALAR(SCALAR_ARG2));
  ROWS(i, SCALAR(SCALAR_ROWS)) {
#if OF(IS_WIDE, S)
    const int below0 = OF(WIDE_BELOW0, S)(a[i]);
    const S m = OF(WIDE_MAGNITUDE, S)(a[i]);
#else
    const int below0 = a[i] < 0;
    const u64 m = below0 ? (u64)0 - (u64)(i64)a[i] : (u64)a[i];
#endif
    T r = WORDS_OF(m) * by;
    if (scale > 0 && !IS_EXACT(m)) {
#if OF(IS_WIDE, S)
      int lost;
      const S whole = OF(WIDE_CUT, S)(m, scale, &lost),
              part = OF(WIDE_SUBTRACT, S)(m, OF(WIDE_MULTIPLY, S)(whole, OF(WIDE_POWER, S)(scale)));
#else
      const u64 power = power_of_ten(scale), whole = m / power, part = m % power;
#endif
      r = WORDS_OF(whole) + WORDS_OF(part) * by;
    }
    o[i] = below0 ? -r : r;
  }
}
#undef TWO_TO_64
#undef EXACT_REAL
#undef WORDS_OF
#undef IS_EXACT
