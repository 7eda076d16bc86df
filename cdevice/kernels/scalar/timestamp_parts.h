/* timestamp_parts.h - timestamps, 1 (i64), become dates or times of the day of type T, 0.  Number 3: how many to a
 * day.  Where it is checked 4 is the bitmap of the rows that count and 5 the error. */
KERNEL(date) { /* number 4: how a day is counted */
  ROWS(i, SCALAR(0)) {
    const i64 x = IN(i64, BUF_ARG0)[i], day = SCALAR(3);
    OUT(T, BUF_OUT)[i] = (T)((u64)(x / day - (x % day < 0)) * (u64)SCALAR(4));
  }
}
/* Number 4: so many for one, or so many to one, which is below 0. */
#define OF_DAY(x) ((x) % SCALAR(3) + ((x) % SCALAR(3) < 0 ? SCALAR(3) : 0))
#define SCALED(x) (by > 0 ? (T)((u64)(x) * (u64)by) : (T)((x) / -by))
KERNEL(clock) {
  const i64 by = SCALAR(4);
  ROWS(i, SCALAR(0)) {
    const i64 x = OF_DAY(IN(i64, BUF_ARG0)[i]);
    OUT(T, BUF_OUT)[i] = SCALED(x);
  }
}
KERNEL(clock_checked) {
  const i64 by = SCALAR(4);
  ROWS(i, SCALAR(0)) {
    const i64 x = OF_DAY(IN(i64, BUF_ARG0)[i]);
    OUT(T, BUF_OUT)[i] = SCALED(x);
    if (by < 0 && x % -by && bit1(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_LOSSY_TIME, x);
  }
}
#undef OF_DAY
#undef SCALED
