/* timestamp_parts.h - timestamps (i64) become dates or times of the day of type T.  SCALAR_ARG1: how many to a
 * day. */
KERNEL(date) { /* SCALAR_ARG2: how a day is counted */
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = IN(i64, BUF_ARG0)[i], day = SCALAR(SCALAR_ARG1);
    OUT(T, BUF_OUT)[i] = (T)((u64)(x / day - (x % day < 0)) * (u64)SCALAR(SCALAR_ARG2));
  }
}
/* SCALAR_ARG2: so many for one, or so many to one, which is below 0. */
#define OF_DAY(x) ((x) % SCALAR(SCALAR_ARG1) + ((x) % SCALAR(SCALAR_ARG1) < 0 ? SCALAR(SCALAR_ARG1) : 0))
#define SCALED(x) (by > 0 ? (T)((u64)(x) * (u64)by) : (T)((x) / -by))
KERNEL(clock) {
  const i64 by = SCALAR(SCALAR_ARG2);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = OF_DAY(IN(i64, BUF_ARG0)[i]);
    OUT(T, BUF_OUT)[i] = SCALED(x);
  }
}
KERNEL(clock_checked) {
  const i64 by = SCALAR(SCALAR_ARG2);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = OF_DAY(IN(i64, BUF_ARG0)[i]);
    OUT(T, BUF_OUT)[i] = SCALED(x);
    if (by < 0 && x % -by && bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_LOSSY_TIME, x);
  }
}
#undef OF_DAY
#undef SCALED
