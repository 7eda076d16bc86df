/* print_time.h - dates and times as text.  S: how they are counted (calendar.h), T: an offset of the result.
 * SCALAR_TEXT_OP: TIME_*. */
#define COUNTS                                                                  \
  GLOBAL const OF(STORED, S) *RESTRICT a = IN(OF(STORED, S), BUF_PRINT_VALUES); \
  GLOBAL const OF(STORED, S) *moments = IN(OF(STORED, S), BUF_PRINT_MOMENTS);   \
  const i64 how = SCALAR(SCALAR_TEXT_OP)
#define TICKS (OF(HAS_CLOCK, S) ? (i64)OF(PER_SECOND, S) : (i64)0)
#define MOMENT(i) (how & TIME_WITH_OFFSET ? (i64)moments[i] : (i64)a[i])
FN int CAT(OF(time_size, S), T)(i64 x, i64 moment, i64 how) {
  u8 own[TIME_MOST];
  return put_time(own, x, moment, TICKS, how);
}
KERNEL(OF(time_sizes, S)) {
  COUNTS;
  PRINTED_ROWS;
  TEXT_SIZE(i, PRINTED(i) ? CAT(OF(time_size, S), T)((i64)a[i], MOMENT(i), how) : 0)
}
KERNEL(OF(time_write, S)) {
  COUNTS;
  PRINTED_ROWS;
  PRINT_WRITE(TIME_MOST, put_time(o, (i64)a[i], MOMENT(i), TICKS, how))
}
#undef COUNTS
#undef TICKS
#undef MOMENT
