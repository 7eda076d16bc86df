/* decimal_rescale.h - decimals, and integers as decimals of scale 0: S becomes T.  SCALAR_ARG1: by how many digits
 * the scale grows (or shrinks); SCALAR_ARG2: how many digits the result may have. */
#if OF(IS_WIDE, S) == 2 || OF(IS_WIDE, T) == 2
#define M w256 /* what it is computed in */
#else
#define M w128
#endif
#if OF(IS_WIDE, S) == 2
#define WIDE_OF(x) (x)
#elif OF(IS_WIDE, S)
#define WIDE_OF(x) OF(WIDE_128, M)(x)
#elif OF(IS_SIGNED, S)
#define WIDE_OF(x) OF(FROM, M)(x)
#else
#define WIDE_OF(x) OF(WIDE_128, M)(wide_make(0, (u64)(x)))
#endif
#if OF(IS_WIDE, T) == 2
#define CUT_OF(w) (w)
#define BACK(r) (r)
#elif OF(IS_WIDE, T)
#define CUT_OF(w) OF(WIDE_LOW, M)(w)
#define BACK(r) OF(WIDE_128, M)(r)
#else
#define CUT_OF(w) ((T)OF(WIDE_LOW, M)(w).low)
#define BACK(r) OF(WIDE_128, M)(OF(IS_SIGNED, T) ? wide_signed((i64)(r)) : wide_make(0, (u64)(r)))
#endif
#define DIGITS_OF(by) ((by) < 0 ? 0 : (by) > OF(WIDE_MOST, M) ? OF(WIDE_MOST, M) : (by))
#define GROWN(x) (by < 0 ? OF(WIDE_CUT, M)(x, -by, &lost) : OF(WIDE_MULTIPLY, M)(x, power))

KERNEL(OF(rescale, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  const int by = (int)SCALAR(SCALAR_ARG1);
  const M power = OF(WIDE_POWER, M)(DIGITS_OF(by));
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int lost = 0;
    const M x = WIDE_OF(a[i]), w = by ? GROWN(x) : x;
    (void)lost;
    o[i] = CUT_OF(w);
  }
}
KERNEL(OF(rescale_checked, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  const int by = (int)SCALAR(SCALAR_ARG1), digits = (int)SCALAR(SCALAR_ARG2);
  const M power = OF(WIDE_POWER, M)(DIGITS_OF(by)), limit = OF(WIDE_LIMIT, M)(digits);
  const M room = OF(WIDE_LIMIT, M)(OF(WIDE_MOST, M) - DIGITS_OF(by)); /* by more digits 0 alone grows */
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int lost = 0;
    const M x = WIDE_OF(a[i]), w = by ? GROWN(x) : x;
    const T r = CUT_OF(w);
    o[i] = r;
    if (by > 0 && !OF(WIDE_BELOW, M)(x, room)) lost = 1;
    const int fits = OF(WIDE_BELOW, M)(w, limit);
    if ((lost || !fits || !OF(WIDE_SAME, M)(BACK(r), w)) && bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR),
                   lost   ? KERNEL_ERROR_RESCALE
                   : fits ? KERNEL_ERROR_OUT_OF_RANGE
                          : KERNEL_ERROR_PRECISION,
                   digits);
  }
}
#undef M
#undef WIDE_OF
#undef CUT_OF
#undef BACK
#undef DIGITS_OF
#undef GROWN
