/* time_fields.h - parts of times: a number for each row.  T: see calendar.h.
 *
 * A count is split first: its day, the second of the day, or the tick of the second; these have 32 bits, and so have
 * the fields.  The C compiler does each of the two steps for several rows at once. */
#define STORED OF(STORED, T)
#define TICKS OF(PER_SECOND, T)
#define DAYS OF(DAYS, T)
#if !OF(HAS_CLOCK, T)
#define SPLIT_DAY(x) ((DAYS)(x))
#else
#define SPLIT_DAY(x) ((DAYS)floor_div((i64)(x), SECONDS_A_DAY * (i64)TICKS))
#endif
#define SPLIT_SECOND(x) split_second_of_day((i64)(x), TICKS)
#define SPLIT_TICK(x) split_tick((i64)(x), TICKS)

#if defined(CDV_HOST) && OF(HAS_CLOCK, T) && OF(HAS_DATE, T)
#define FAST_DAY(x) fast_day(x, FAST_OF(T))
#define FAST_TICK_OF_DAY(x) fast_tick_of_day(x, FAST_OF(T))
#define FAST_SECOND(x) ((i32)(FAST_TICK_OF_DAY(x) / (f64)TICKS))
#define FAST_TICK(x) ((i32)(FAST_TICK_OF_DAY(x) - (f64)FAST_SECOND(x) * (f64)TICKS))
#define IS_FAR(x) (OF(NEAR_BITS, T) < 63 ? ((u64)(x) + ((u64)1 << OF(NEAR_BITS, T))) >> (OF(NEAR_BITS, T) % 63 + 1) : 0)
#define SPLIT_ROWS 256
/* part: which, SPLIT_part and FAST_part make it; kind: its type; action: a macro of a type and a part. */
#define EACH(part, kind, out, action)                                                                 \
  for (i64 first_ = launch_->begin; first_ < launch_->end; first_ += SPLIT_ROWS) {                    \
    i32 parts_[SPLIT_ROWS];                                                                           \
    const int rows_ = launch_->end - first_ < SPLIT_ROWS ? (int)(launch_->end - first_) : SPLIT_ROWS; \
    const i64 *RESTRICT in_ = IN(i64, BUF_ARG0) + first_;                                             \
    out *RESTRICT out_ = OUT(out, BUF_OUT) + first_;                                                  \
    u64 far_ = 0;                                                                                     \
    for (int j_ = 0; j_ < rows_; j_++) far_ |= IS_FAR(in_[j_]);                                       \
    if (far_) {                                                                                       \
      for (int j_ = 0; j_ < rows_; j_++) {                                                            \
        const kind d_ = SPLIT_##part(in_[j_]);                                                        \
        out_[j_] = (out)(action(kind, d_));                                                           \
      }                                                                                               \
      continue;                                                                                       \
    }                                                                                                 \
    for (int j_ = 0; j_ < rows_; j_++) parts_[j_] = FAST_##part(in_[j_]);                             \
    for (int j_ = 0; j_ < rows_; j_++) out_[j_] = (out)(action(i32, parts_[j_]));                     \
  }
#else
#define EACH(part, kind, out, action)                      \
  ROWS(i, SCALAR(SCALAR_ROWS)) {                           \
    const kind d_ = SPLIT_##part(IN(STORED, BUF_ARG0)[i]); \
    OUT(out, BUF_OUT)[i] = (out)(action(kind, d_));        \
  }
#endif
#define DATE_FIELD(name, action) \
  KERNEL(name) { EACH(DAY, DAYS, i64, action) }
#define CLOCK_FIELD(name, action) \
  KERNEL(name) { EACH(SECOND, i32, i64, action) }
#define TICK_FIELD(name, out, action) \
  KERNEL(name) { EACH(TICK, i32, out, action) }

#if OF(HAS_DATE, T)
#define DOE(kind, d) OF(day_of_era, kind)(d)
#define YEAR(kind, d) (OF(era, kind)(d) * 400 + year_of_era(DOE(kind, d)))
#define MONTH(kind, d) month_of(DOE(kind, d))
#define DAY(kind, d) day_of_month(DOE(kind, d))
#define QUARTER(kind, d) ((month_of(DOE(kind, d)) + 2) / 3)
#define DAY_OF_YEAR(kind, d) (day_of_year(DOE(kind, d)) + 1)
#define DAY_OF_WEEK(kind, d) (day_of_week(DOE(kind, d), (i32)SCALAR(SCALAR_ARG1)) + (i32)SCALAR(SCALAR_ARG2))
#define WEEK(kind, d) week_of(DOE(kind, d), (i32)SCALAR(SCALAR_ARG1))
#define WEEK_YEAR(kind, d) (YEAR(kind, d) + week_year(DOE(kind, d), (i32)SCALAR(SCALAR_ARG1)))
#define IS_LEAP_YEAR(x) is_leap(year_of_era(DOE(DAYS, SPLIT_DAY(x))))
DATE_FIELD(year, YEAR)
DATE_FIELD(month, MONTH)
DATE_FIELD(day, DAY)
DATE_FIELD(quarter, QUARTER)
DATE_FIELD(day_of_year, DAY_OF_YEAR)
DATE_FIELD(day_of_week, DAY_OF_WEEK) /* SCALAR_ARG1: the first day of a week, SCALAR_ARG2: its number */
DATE_FIELD(week, WEEK)               /* SCALAR_ARG1: the first day of a week, and flags */
DATE_FIELD(week_year, WEEK_YEAR)
KERNEL(is_leap_year) {
  PACK_ROOM;
#if defined(CDV_HOST) && OF(HAS_CLOCK, T)
  WORDS(w, SCALAR(SCALAR_ROWS)) {
    const i64 *RESTRICT in_ = IN(i64, BUF_ARG0) + w * 32;
    const int rows_ = SCALAR(SCALAR_ROWS) - w * 32 < 32 ? (int)(SCALAR(SCALAR_ROWS) - w * 32) : 32;
    u32 leaps_[32], word_ = 0;
    u64 far_ = 0;
    for (int j_ = 0; j_ < rows_; j_++) far_ |= IS_FAR(in_[j_]);
    for (int j_ = 0; j_ < rows_; j_++) leaps_[j_] = (u32)FAST_DAY(in_[j_]);
    for (int j_ = 0; j_ < rows_; j_++) leaps_[j_] = (u32)is_leap(year_of_era(day_of_era_i32((i32)leaps_[j_])));
    for (int j_ = 0; j_ < rows_; j_++) word_ |= (far_ ? (u32)IS_LEAP_YEAR(in_[j_]) : leaps_[j_]) << j_;
    put32(OUT(u32, BUF_OUT), w, word_, SCALAR(SCALAR_ROWS));
  }
#else
  PACK(OUT(u32, BUF_OUT), SCALAR(SCALAR_ROWS), i, IS_LEAP_YEAR(IN(STORED, BUF_ARG0)[i]))
#endif
}
#undef DOE
#undef YEAR
#undef MONTH
#undef DAY
#undef QUARTER
#undef DAY_OF_YEAR
#undef DAY_OF_WEEK
#undef WEEK
#undef WEEK_YEAR
#undef IS_LEAP_YEAR
#endif
#if OF(HAS_CLOCK, T)
/* Of a unit that is too coarse all are 0. */
#define PER(n) (TICKS < (n) ? 1 : TICKS / (n))
#define HOUR(kind, d) ((d) / 3600)
#define MINUTE(kind, d) ((d) / 60 % 60)
#define SECOND(kind, d) ((d) % 60)
#define MILLISECOND(kind, d) (TICKS < 1000 ? 0 : (d) / PER(1000))
#define MICROSECOND(kind, d) (TICKS < 1000000 ? 0 : (d) / PER(1000000) % 1000)
#define NANOSECOND(kind, d) (TICKS < 1000000000 ? 0 : (d) % 1000)
#define SUBSECOND(kind, d) ((f64)(d) / (f64)TICKS)
CLOCK_FIELD(hour, HOUR)
CLOCK_FIELD(minute, MINUTE)
CLOCK_FIELD(second, SECOND)
TICK_FIELD(millisecond, i64, MILLISECOND)
TICK_FIELD(microsecond, i64, MICROSECOND)
TICK_FIELD(nanosecond, i64, NANOSECOND)
TICK_FIELD(subsecond_f64, f64, SUBSECOND)
#undef PER
#undef HOUR
#undef MINUTE
#undef SECOND
#undef MILLISECOND
#undef MICROSECOND
#undef NANOSECOND
#undef SUBSECOND
#endif
#undef STORED
#undef TICKS
#undef DAYS
#undef SPLIT_DAY
#undef SPLIT_SECOND
#undef SPLIT_TICK
#undef FAST_DAY
#undef FAST_TICK_OF_DAY
#undef FAST_SECOND
#undef FAST_TICK
#undef IS_FAR
#undef SPLIT_ROWS
#undef EACH
#undef DATE_FIELD
#undef CLOCK_FIELD
#undef TICK_FIELD
