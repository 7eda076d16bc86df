/* run_end.h - which run a row is in; T is the type of the ends, 1, of which there are number 3.  0 result (i64); 2
 * numbers of rows (i64) and 3 their nulls, 5 the error.  There are number 2 rows, behind number 4 that do not count. */
KERNEL(run_of) {
  GLOBAL const T *RESTRICT end = IN(T, 1);
  ROWS(i, SCALAR(0)) {
    const i64 at = IN(i64, 2)[i], row = at + SCALAR(4);
    const int known = bit1(RAW(const u32, 3), OFFSET(3), i), there = at >= 0 && at < SCALAR(2);
    i64 low = 0, high = known && there ? SCALAR(3) : 0; /* the first end behind the row */
    if (known && !there) report_error(OUT(i64, 5), KERNEL_ERROR_INDEX, at);
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if ((i64)end[middle] > row)
        high = middle;
      else
        low = middle + 1;
    }
    OUT(i64, 0)[i] = low;
  }
}
/* 0 the numbers from number 2 on, as ends and offsets have them. */
KERNEL(ends) {
  ROWS(i, SCALAR(0)) { OUT(T, 0)[i] = (T)(SCALAR(2) + i); }
}
