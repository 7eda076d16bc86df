/* temporal.h - times of type S become times of type T, of another unit.  SCALAR_ARG1: so many for one, or so many
 * to one, which is below 0 and cuts towards zero. */
#define BEYOND_BY(x) ((i64)(x) > (i64)OF(MAX, T) / by || (i64)(x) < (i64)OF(MIN, T) / by)
#define SCALED(x) (by > 0 ? (T)((u64)(i64)(x) * (u64)by) : (T)((i64)(x) / -by))

KERNEL(OF(scale, S)) {
  const i64 by = SCALAR(SCALAR_ARG1);
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(T, BUF_OUT)[i] = SCALED(IN(S, BUF_ARG0)[i]); }
}
KERNEL(OF(scale_checked, S)) {
  const i64 by = SCALAR(SCALAR_ARG1);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const S x = IN(S, BUF_ARG0)[i];
    OUT(T, BUF_OUT)[i] = SCALED(x);
    if ((by > 0 ? BEYOND_BY(x) : (i64)x % -by != 0) && bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR), by > 0 ? KERNEL_ERROR_UNIT_OVERFLOW : KERNEL_ERROR_LOSSY_UNIT, (i64)x);
  }
}
#undef BEYOND_BY
#undef SCALED
