/* decimal_rescale.h - decimals, and integers as decimals of scale 0: S becomes T.  SCALAR_ARG1: by how many digits
 * the scale grows (or shrinks); SCALAR_ARG2: how many digits the result may have. */
#if OF(IS_WIDE, S)
#define WIDE_OF(x) (x)
#elif OF(IS_SIGNED, S)
#define WIDE_OF(x) wide_signed(x)
#else
#define WIDE_OF(x) wide_make(0, (u64)(x))
#endif
#if OF(IS_WIDE, T)
#define CUT_OF(w) (w)
#define BACK(r) (r)
#else
#define CUT_OF(w) ((T)(w).low)
#define BACK(r) (OF(IS_SIGNED, T) ? wide_signed((i64)(r)) : wide_make(0, (u64)(r)))
#endif
#define GROWN(x) (by < 0 ? wide_cut(x, -by, &lost) : wide_multiply(x, wide_power(by)))

KERNEL(OF(rescale, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  const int by = (int)SCALAR(SCALAR_ARG1);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int lost = 0;
    const w128 x = WIDE_OF(a[i]), w = GROWN(x);
    o[i] = CUT_OF(w);
  }
}
KERNEL(OF(rescale_checked, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  const int by = (int)SCALAR(SCALAR_ARG1), digits = (int)SCALAR(SCALAR_ARG2);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    int lost = 0;
    const w128 x = WIDE_OF(a[i]), w = GROWN(x);
    const T r = CUT_OF(w);
    o[i] = r;
    if (by > 0 && !wide_fits(x, 38 - by)) lost = 1;
    if ((lost || !wide_fits(w, digits) || !wide_same(BACK(r), w)) &&
        bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR),
                   lost                   ? KERNEL_ERROR_RESCALE
                   : wide_fits(w, digits) ? KERNEL_ERROR_OUT_OF_RANGE
                                          : KERNEL_ERROR_PRECISION,
                   digits);
  }
}
#undef WIDE_OF
#undef CUT_OF
#undef BACK
#undef GROWN
