/* scatter.h - for each number the last row that has it as its index: -1 where none has.  32-bit rows, whose maximum
 * every device can find with several work items at once. */
KERNEL(scatter_clear) {
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(i32, BUF_OUT)[i] = -1; }
}
KERNEL(scatter_rows) {
  const i64 targets = SCALAR(SCALAR_VALUES_LENGTH);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 at = IN(i64, BUF_INDICES)[i];
    if (bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i)) {
      if (at >= 0 && at < targets)
        ATOMIC_MAX(OUT(i32, BUF_OUT) + at, (i32)i);
      else
        report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);
    }
  }
}
