/* time_between.h - how many borders of a unit lie between two times.  T: see calendar.h. */
#define STORED OF(STORED, T)
#define TICKS ((i64)OF(PER_SECOND, T))
#define DAYS OF(DAYS, T)
#if OF(HAS_CLOCK, T)
#define TICKS_A_DAY (SECONDS_A_DAY * TICKS)
#else
#define TICKS_A_DAY ((i64)1)
#endif
#define DAY(x) ((DAYS)floor_div((i64)(x), TICKS_A_DAY))
#define DOE(kind, d) OF(day_of_era, kind)(d)
#define YEAR(kind, d) (OF(era, kind)(d) * 400 + year_of_era(DOE(kind, d)))
#define MONTHS(kind, d) ((i64)YEAR(kind, d) * 12 + month_of(DOE(kind, d)))
#define QUARTERS(kind, d) (YEAR(kind, d) * 4 + (month_of(DOE(kind, d)) + 2) / 3)
/* SCALAR_ARG2: the first day of a week; Monday is 0, and 1970-01-01 is a Thursday. */
#define WEEKS_i32(d) (floor_div32(d, 7) + floor_div32((d) - floor_div32(d, 7) * 7 + 3 - (i32)SCALAR(SCALAR_ARG2), 7))
#define WEEKS_i64(d) floor_div((d) + 3 - SCALAR(SCALAR_ARG2), 7)
#define WEEKS(kind, d) OF(WEEKS, kind)(d)
#define SAME(kind, d) (d)
/* Of one row for all there is the first one. */
#define FROM(i) IN(STORED, BUF_ARG0)[ARG_KIND(0) == ARG_ARRAY ? (i) : 0]
#define TO(i) IN(STORED, BUF_ARG1)[ARG_KIND(1) == ARG_ARRAY ? (i) : 0]
#define BETWEEN(name, counted)                                                                                  \
  KERNEL(name) {                                                                                                \
    ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_OUT)[i] = (i64)((u64)counted(TO(i)) - (u64)counted(FROM(i))); } \
  }
#if OF(HAS_DATE, T)
#define DATES(counted)                                                                        \
  ROWS(i, SCALAR(SCALAR_ROWS)) {                                                              \
    OUT(i64, BUF_OUT)[i] = (i64)counted(DAYS, DAY(TO(i))) - (i64)counted(DAYS, DAY(FROM(i))); \
  }
#if defined(CDV_HOST) && OF(HAS_CLOCK, T)
#define SPLIT_ROWS 256
#define IS_FAR(x) (OF(NEAR_BITS, T) < 63 ? ((u64)(x) + ((u64)1 << OF(NEAR_BITS, T))) >> (OF(NEAR_BITS, T) % 63 + 1) : 0)
#define SPLIT(k, days, in)                                                         \
  {                                                                                \
    const i64 *RESTRICT in_ = (in) + (ARG_KIND(k) == ARG_ARRAY ? first_ : 0);      \
    const i32 one_ = fast_day(in_[0], FAST_OF(T));                                 \
    if (ARG_KIND(k) == ARG_ARRAY) {                                                \
      for (int j_ = 0; j_ < rows_; j_++) far_ |= IS_FAR(in_[j_]);                  \
      for (int j_ = 0; j_ < rows_; j_++) days[j_] = fast_day(in_[j_], FAST_OF(T)); \
    } else {                                                                       \
      far_ |= IS_FAR(in_[0]);                                                      \
      for (int j_ = 0; j_ < rows_; j_++) days[j_] = one_;                          \
    }                                                                              \
  }
#define DATES_BETWEEN(name, counted)                                                                          \
  KERNEL(name) {                                                                                              \
    for (i64 first_ = launch_->begin; first_ < launch_->end; first_ += SPLIT_ROWS) {                          \
      i32 from_[SPLIT_ROWS], to_[SPLIT_ROWS];                                                                 \
      const int rows_ = launch_->end - first_ < SPLIT_ROWS ? (int)(launch_->end - first_) : SPLIT_ROWS;       \
      i64 *RESTRICT out_ = OUT(i64, BUF_OUT) + first_;                                                        \
      u64 far_ = 0;                                                                                           \
      SPLIT(0, from_, IN(i64, BUF_ARG0))                                                                      \
      SPLIT(1, to_, IN(i64, BUF_ARG1))                                                                        \
      if (far_) {                                                                                             \
        for (int j_ = 0; j_ < rows_; j_++)                                                                    \
          out_[j_] = (i64)counted(DAYS, DAY(TO(first_ + j_))) - (i64)counted(DAYS, DAY(FROM(first_ + j_)));   \
      } else {                                                                                                \
        for (int j_ = 0; j_ < rows_; j_++) out_[j_] = (i64)(counted(i32, to_[j_]) - counted(i32, from_[j_])); \
      }                                                                                                       \
    }                                                                                                         \
  }
#else
#define DATES_BETWEEN(name, counted) \
  KERNEL(name) { DATES(counted) }
#endif
DATES_BETWEEN(years_between, YEAR)
DATES_BETWEEN(quarters_between, QUARTERS)
DATES_BETWEEN(weeks_between, WEEKS)
DATES_BETWEEN(days_between, SAME)
#undef DATES
#undef SPLIT_ROWS
#undef IS_FAR
#undef SPLIT
#undef DATES_BETWEEN
#endif
#define HOURS(x) floor_div((i64)(x), 3600 * TICKS)
#define MINUTES(x) floor_div((i64)(x), 60 * TICKS)
#define COARSE(n) (TICKS < (n) ? 1 : TICKS / (n))
#define FINE(n) (TICKS < (n) ? (n) / TICKS : 1)
#define UNITS(x, n) ((u64)floor_div((i64)(x), COARSE(n)) * (u64)FINE(n))
#if OF(HAS_CLOCK, T)
#define SECONDS(x) UNITS(x, 1)
#define MILLISECONDS(x) UNITS(x, 1000)
#define MICROSECONDS(x) UNITS(x, 1000000)
#define NANOSECONDS(x) UNITS(x, 1000000000)
BETWEEN(hours_between, HOURS)
BETWEEN(minutes_between, MINUTES)
BETWEEN(seconds_between, SECONDS)
BETWEEN(milliseconds_between, MILLISECONDS)
BETWEEN(microseconds_between, MICROSECONDS)
BETWEEN(nanoseconds_between, NANOSECONDS)
#define NANOS_OF_DAY(x) ((i64)(x) - floor_div((i64)(x), TICKS_A_DAY) * TICKS_A_DAY) * (1000000000 / TICKS)
#else
/* SCALAR_ARG2: how many of the unit are a day. */
KERNEL(units_between) {
  const u64 per = (u64)SCALAR(SCALAR_ARG2);
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_OUT)[i] = (i64)((u64)((i64)TO(i) - (i64)FROM(i)) * per); }
}
#define NANOS_OF_DAY(x) ((i64)0)
#endif
/* Months, days and nanoseconds, each as the difference of that part of a date. */
KERNEL(month_day_nano_between) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 a = (i64)FROM(i), b = (i64)TO(i);
    GLOBAL i32 *o = OUT(i32, BUF_OUT) + 4 * i;
#if OF(HAS_DATE, T)
    o[0] = (i32)(MONTHS(DAYS, DAY(b)) - MONTHS(DAYS, DAY(a)));
    o[1] = day_of_month(DOE(DAYS, DAY(b))) - day_of_month(DOE(DAYS, DAY(a)));
#else
    o[0] = 0;
    o[1] = 0;
#endif
    ((GLOBAL i64 *)o)[1] = NANOS_OF_DAY(b) - NANOS_OF_DAY(a);
  }
}
#undef STORED
#undef TICKS
#undef DAYS
#undef TICKS_A_DAY
#undef DAY
#undef DOE
#undef YEAR
#undef MONTHS
#undef QUARTERS
#undef WEEKS_i32
#undef WEEKS_i64
#undef WEEKS
#undef SAME
#undef FROM
#undef TO
#undef BETWEEN
#undef HOURS
#undef MINUTES
#undef COARSE
#undef FINE
#undef UNITS
#undef SECONDS
#undef MILLISECONDS
#undef MICROSECONDS
#undef NANOSECONDS
#undef NANOS_OF_DAY
