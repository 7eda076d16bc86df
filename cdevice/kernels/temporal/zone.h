/* zone.h - offsets of a time zone from UTC, by its table.  No kernels: it stands before families that know zones.
 *
 * A table is 64-bit words: ZONE_* of protocol.h, the transitions (seconds, rising, a greatest one behind them), what
 * holds before the first one, between two, and behind the last one (seconds east of UTC, times two, plus one for
 * daylight saving time), and for each bucket of some seconds how many transitions there are up to its first second.
 * So a row is found by one look at a bucket, and as many steps as a bucket has transitions at most. */
#define ZONE_TRANSITION(z, i) ((z)[ZONE_HEAD + (i)])
#define ZONE_STATE(z, i) ((z)[ZONE_HEAD + (z)[ZONE_TRANSITIONS] + 1 + (i)])
#define ZONE_BUCKET(z, i) ((z)[ZONE_HEAD + 2 * (z)[ZONE_TRANSITIONS] + 2 + (i)])
FN i64 zone_offset(i64 state) { return state >> 1; }

/* The moment of the table that has the same rules: where the rule at the end of a table holds, calendar and rule
 * repeat every 400 years. */
FN i64 zone_fold(GLOBAL const i64 *z, i64 second) {
  if (second < z[ZONE_FOLD]) return second;
  return second - (floor_div(second - z[ZONE_FOLD], ZONE_PERIOD) + 1) * ZONE_PERIOD;
}
/* How many transitions there are up to a second of the table. */
FN i64 zone_find(GLOBAL const i64 *z, i64 second) {
  i64 b = (second - z[ZONE_FIRST]) >> z[ZONE_SHIFT];
  b = second < z[ZONE_FIRST] ? 0 : b < z[ZONE_BUCKETS] ? b : z[ZONE_BUCKETS] - 1;
  i64 i = ZONE_BUCKET(z, b);
  for (i64 k = 0; k < z[ZONE_STEPS]; k++) i += ZONE_TRANSITION(z, i) <= second;
  return i;
}
FN i64 zone_state(GLOBAL const i64 *z, i64 second) { return ZONE_STATE(z, zone_find(z, zone_fold(z, second))); }

#define ZONE_RAISE 0
#define ZONE_EARLIEST 1
#define ZONE_LATEST 2
/* The second at which clocks show a second.  Where they show it twice, or never, it is chosen by `ambiguous` and
 * `missing`; else *what becomes an error.  Of a missing one the transition, and -1 or 1 in *what: the moment before it, or
 * that one. */
FN i64 zone_utc(GLOBAL const i64 *z, i64 shown, int ambiguous, int missing, int *what) {
  const i64 near = zone_fold(z, shown), fold = shown - near;
  const i64 from = zone_find(z, near - SECONDS_A_DAY), n = z[ZONE_TRANSITIONS];
  i64 first = 0, last = 0, found = 0, gap = 0;
  for (i64 k = 0; k <= z[ZONE_NEAR]; k++) { /* no offset is a day: these are all that may show it */
    const i64 i = from + k < n ? from + k : n, offset = zone_offset(ZONE_STATE(z, i));
    const int past = from + k > n;
    const int after = i == 0 || ZONE_TRANSITION(z, i - (i > 0)) <= near - offset;
    const int before = near - offset < ZONE_TRANSITION(z, i);
    if (!past && after && before) {
      first = found ? first : near - offset;
      last = near - offset;
      found++;
    }
    if (!past && after && !before) gap = ZONE_TRANSITION(z, i);
  }
  *what = 0;
  if (!found) {
    *what = missing == ZONE_EARLIEST ? -1 : missing == ZONE_LATEST ? 1 : KERNEL_ERROR_MISSING_TIME;
    return gap + fold;
  }
  if (found > 1 && ambiguous == ZONE_RAISE) *what = KERNEL_ERROR_AMBIGUOUS_TIME;
  return (ambiguous == ZONE_LATEST ? last : first) + fold;
}
