/* print_format.h - dates and times by a format.  S: how they are counted (calendar.h), T: an offset of the result.
 * BUF_TEXT_PATTERN (i64): as many moments as SCALAR_TEXT_B, of what clocks show as values, or none; SCALAR_TEXT_A
 * codes. */
#define COUNTS                                                                  \
  GLOBAL const OF(STORED, S) *RESTRICT a = IN(OF(STORED, S), BUF_PRINT_VALUES); \
  GLOBAL const i64 *codes = IN(i64, BUF_TEXT_PATTERN) + SCALAR(SCALAR_TEXT_B);  \
  GLOBAL const i64 *moments = IN(i64, BUF_TEXT_PATTERN);                        \
  const i64 count = SCALAR(SCALAR_TEXT_A), zoned = SCALAR(SCALAR_TEXT_B)
#define TICKS (OF(HAS_CLOCK, S) ? (i64)OF(PER_SECOND, S) : (i64)0)
#define MOMENT(i) (zoned ? moments[i] : (i64)a[i])
KERNEL(OF(format_sizes, S)) {
  COUNTS;
  PRINTED_ROWS;
  TEXT_SIZE(i, PRINTED(i) ? put_formatted(0, 0, (i64)a[i], MOMENT(i), TICKS, codes, count) : 0)
}
KERNEL(OF(format_write, S)) {
  COUNTS;
  PRINTED_ROWS;
  GLOBAL u8 *const out = OUT(u8, BUF_TEXT_OUT);
  TEXT_WRITE(i, at, size, room, if (size) put_formatted(out, at, (i64)a[i], MOMENT(i), TICKS, codes, count))
}
#undef COUNTS
#undef TICKS
#undef MOMENT
