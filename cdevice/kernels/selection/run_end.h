/* run_end.h - which run (i64) a row is in; T is the type of the ends, BUF_VALUES. */
KERNEL(run_of) {
  GLOBAL const T *RESTRICT end = IN(T, BUF_VALUES);
  const i64 runs = SCALAR(SCALAR_RUNS);
  i64 run = 0; /* of the row before: where one work item goes through many rows, the next is mostly near it */
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 at = IN(i64, BUF_INDICES)[i], row = at + SCALAR(SCALAR_RUNS_OFFSET);
    const int known = bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i),
              there = at >= 0 && at < SCALAR(SCALAR_VALUES_LENGTH);
    i64 low = 0, high = known && there ? runs : 0; /* the first end behind the row */
    if (known && !there) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);
    if (run < high && (!run || (i64)end[run - 1] <= row)) {
      low = run;
      for (int k = 0; k < 8 && low < high && (i64)end[low] <= row; k++) low++;
      if (low < high && (i64)end[low] > row) high = low;
    }
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if ((i64)end[middle] > row)
        high = middle;
      else
        low = middle + 1;
    }
    OUT(i64, BUF_OUT)[i] = low;
    run = low;
  }
}
/* The numbers from SCALAR_FIRST on, as ends and offsets have them. */
KERNEL(ends) {
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(T, BUF_OUT)[i] = (T)(SCALAR(SCALAR_FIRST) + i); }
}
