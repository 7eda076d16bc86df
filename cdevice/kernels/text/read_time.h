/* read_time.h - text as dates and times.  S: how they are counted (calendar.h), T: an offset of the text.
 * SCALAR_TEXT_OP: TIME_*. */
KERNEL(OF(read_time, S)) {
  ROWS_OF_TEXT;
  GLOBAL OF(STORED, S) *RESTRICT o = OUT(OF(STORED, S), BUF_OUT);
  const i64 per_second = OF(HAS_CLOCK, S) ? (i64)OF(PER_SECOND, S) : (i64)0;
  (void)last;
  ROWS(i, n) {
    i64 x = 0;
    const int error =
        TEXT_IS_VALID(i) ? time_at(bytes, TEXT_BEGIN(i), TEXT_END(i), per_second, SCALAR(SCALAR_TEXT_OP), &x) : 0;
    if (error) report_error(OUT(i64, BUF_ERROR), error, i);
    o[i] = (OF(STORED, S))x;
  }
}
