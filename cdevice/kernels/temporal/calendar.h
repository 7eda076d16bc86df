/* calendar.h - days since 1970-01-01 as dates of the proleptic Gregorian calendar, and times as days.  No kernels: it
 * stands before the families time_*, whose T is how a time is counted: the unit, and the bits of a count.
 *
 * The calendar repeats every 400 years, an era, which here begins on March 1: the leap day is the last one.  Within an
 * era 32 bits suffice, and every divisor is known, so that a compiler makes multiplications of them, of several rows
 * at once.  Eras are of 32 bits where the days are. */
#define STORED_date32 i32
#define STORED_s32 i32
#define STORED_ms32 i32
#define STORED_s64 i64
#define STORED_ms64 i64
#define STORED_us64 i64
#define STORED_ns64 i64
#define PER_SECOND_date32 1
#define PER_SECOND_s32 1
#define PER_SECOND_ms32 1000
#define PER_SECOND_s64 1
#define PER_SECOND_ms64 1000
#define PER_SECOND_us64 1000000
#define PER_SECOND_ns64 1000000000
/* What day numbers are of: 32 bits hold those of all microseconds. */
#define DAYS_date32 i32
#define DAYS_s32 i32
#define DAYS_ms32 i32
#define DAYS_s64 i64
#define DAYS_ms64 i64
#define DAYS_us64 i32
#define DAYS_ns64 i32
#define HAS_DATE_date32 1
#define HAS_DATE_s32 0
#define HAS_DATE_ms32 0
#define HAS_DATE_s64 1
#define HAS_DATE_ms64 1
#define HAS_DATE_us64 1
#define HAS_DATE_ns64 1
#define HAS_CLOCK_date32 0
#define HAS_CLOCK_s32 1
#define HAS_CLOCK_ms32 1
#define HAS_CLOCK_s64 1
#define HAS_CLOCK_ms64 1
#define HAS_CLOCK_us64 1
#define HAS_CLOCK_ns64 1
#define SECONDS_A_DAY 86400
#define DAYS_AN_ERA 146097
#define DAYS_TO_ERA_0 719468 /* from 0000-03-01 to 1970-01-01 */

FN i64 floor_div(i64 x, i64 by) { /* `by` is a constant */
  const i64 q = x / by;
  return q - (x - q * by < 0);
}
FN i32 floor_div32(i32 x, i32 by) {
  const i32 q = x / by;
  return q - (x - q * by < 0);
}

/* ---- counts to days, seconds of the day and ticks of the second ----
 * split_WHAT_T(x) gives one of them by integers.  fast_WHAT_T(x) does so by float64, of several rows at once, where
 * is_near_T(x): a day is 2^k times an odd number of ticks; x >> k, which is below 2^52, and the odd number are exact,
 * and so is what a division of them is cut to.  Only where the C compiler compiles: other devices may lack float64. */
/* k of a day's ticks, and counts that are near: those of days of 32 bits. */
#define DAY_SHIFT_s64 7
#define DAY_SHIFT_ms64 10
#define DAY_SHIFT_us64 13
#define DAY_SHIFT_ns64 16
#define NEAR_BITS_date32 31
#define NEAR_BITS_s64 46
#define NEAR_BITS_ms64 56
#define NEAR_BITS_us64 63
#define NEAR_BITS_ns64 63
FN i32 split_second_of_day(i64 x, i64 per_second) { /* the low bits of two differences suffice */
  return (i32)((u32)floor_div(x, per_second) - (u32)floor_div(x, SECONDS_A_DAY * per_second) * SECONDS_A_DAY);
}
FN i32 split_tick(i64 x, i64 per_second) { return (i32)((u32)x - (u32)floor_div(x, per_second) * (u32)per_second); }
#if defined(CDV_HOST)
/* From the least near count on, and from a day on, nothing is below 0. */
#define FAST_BEFORE(t, odd) ((((i64)1 << (OF(NEAR_BITS, t) - OF(DAY_SHIFT, t))) + (odd) - 1) / (odd)) /* days */
#define FAST_ODD(t) ((i64)SECONDS_A_DAY * OF(PER_SECOND, t) >> OF(DAY_SHIFT, t))
FN f64 fast_above(i64 x, int bits, int k, i64 odd, i64 before) {
  const u64 above = ((u64)x + ((u64)1 << bits)) >> k;
  return AS_F64(above | (u64)0x433 << 52) - 4503599627370496.0 + (f64)(before * odd - ((i64)1 << (bits - k)));
}
FN i32 fast_day(i64 x, int bits, int k, i64 odd, i64 before) {
  return (i32)((u32)(i32)(fast_above(x, bits, k, odd, before) / (f64)odd) - (u32)before);
}
FN f64 fast_tick_of_day(i64 x, int bits, int k, i64 odd, i64 before) {
  const f64 above = fast_above(x, bits, k, odd, before), q = (f64)(i32)(above / (f64)odd);
  const f64 low = AS_F64(((u64)x & (((u64)1 << k) - 1)) | (u64)0x433 << 52) - 4503599627370496.0;
  return (above - q * (f64)odd) * (f64)(1 << k) + low;
}
#define FAST_OF(t) OF(NEAR_BITS, t), OF(DAY_SHIFT, t), FAST_ODD(t), FAST_BEFORE(t, FAST_ODD(t))
#endif

/* ---- days to eras ---- */
/* Counted from the first day of 32 bits there is nothing below 0, but that day is not the first of an era. */
#define ERAS_BEFORE_0 14694
#define DAYS_BEFORE_AN_ERA 14862
FN u32 day_of_era_i32(i32 day) {
  const u32 z = (u32)day + 0x80000000u, r = z - z / DAYS_AN_ERA * DAYS_AN_ERA;
  return r < DAYS_BEFORE_AN_ERA ? r + (DAYS_AN_ERA - DAYS_BEFORE_AN_ERA) : r - DAYS_BEFORE_AN_ERA;
}
FN i32 era_i32(i32 day) {
  const u32 z = (u32)day + 0x80000000u, q = z / DAYS_AN_ERA;
  return (i32)q - ERAS_BEFORE_0 - (i32)(z - q * DAYS_AN_ERA < DAYS_BEFORE_AN_ERA);
}
FN i64 era_i64(i64 day) { return floor_div(day + DAYS_TO_ERA_0, DAYS_AN_ERA); }
FN u32 day_of_era_i64(i64 day) { return (u32)(day + DAYS_TO_ERA_0 - era_i64(day) * DAYS_AN_ERA); }

/* ---- within an era: years from March on, and their days from 0 on ----
 * After C. Neri and L. Schneider, Euclidean affine functions and their application to calendar algorithms (2022). */
FN u32 days_of_century(u32 doe) { return (4 * doe + 3) % DAYS_AN_ERA | 3; } /* four times, and three */
FN u32 march_year(u32 doe) {
  return (4 * doe + 3) / DAYS_AN_ERA * 100 + (u32)(((u64)2939745 * days_of_century(doe)) >> 32);
}
FN u32 march_day(u32 doe) { return (u32)((u64)2939745 * days_of_century(doe)) / 2939745 / 4; }
#define JANUARY_1 306 /* as a day from March on */
FN u32 month_and_day(u32 doe) { return 2141 * march_day(doe) + 197913; }
FN i32 month_of(u32 doe) {
  const i32 m = (i32)(month_and_day(doe) >> 16);
  return m > 12 ? m - 12 : m;
}
FN i32 day_of_month(u32 doe) { return (i32)((month_and_day(doe) & 0xffff) / 2141) + 1; }
FN i32 year_of_era(u32 doe) { return (i32)march_year(doe) + (march_day(doe) >= JANUARY_1); } /* 0 to 400 */
FN i32 is_leap(i32 year_of_era) { return year_of_era % 4 == 0 && (year_of_era % 100 != 0 || year_of_era % 400 == 0); }
FN i32 day_of_year(u32 doe) { /* from 0 on */
  const i32 d = (i32)march_day(doe);
  return d >= JANUARY_1 ? d - JANUARY_1 : d + 59 + is_leap((i32)march_year(doe));
}
/* From 0 on; first: the day that a week begins with, Monday is 0.  March 1 of an era is a Wednesday. */
FN i32 day_of_week(u32 doe, i32 first) { return (i32)((doe + 9 - (u32)first) % 7); }

/* ---- weeks of a year ---- */
#define WEEK_COUNTS_FROM_0 8 /* days before the first week are in week 0, not in the last one of the year before */
#define WEEK_IS_FULL 16      /* the first week has no day of the year before; else four days of its year */
/* The day of the year that its first week begins on; jan1: the day of the week of January 1. */
FN i32 first_week(i32 jan1, i32 flags) {
  const i32 days = 7 - jan1; /* of the week of January 1 that are in the year */
  return flags & WEEK_IS_FULL ? days % 7 : days >= 4 ? -jan1 : days;
}
/* The year of the week of a day, less the day's year. */
FN i32 week_year(u32 doe, i32 flags) {
  const i32 year = year_of_era(doe), day = day_of_year(doe), length = 365 + is_leap(year);
  const i32 jan1 = (day_of_week(doe, flags & 7) + 371 - day) % 7;
  return (day >= length + first_week((jan1 + length) % 7, flags)) - (day < first_week(jan1, flags));
}
FN i32 week_of(u32 doe, i32 flags) {
  const i32 year = year_of_era(doe), day = day_of_year(doe);
  const i32 jan1 = (day_of_week(doe, flags & 7) + 371 - day) % 7, zero = flags & WEEK_COUNTS_FROM_0;
  const i32 length = 365 + is_leap(year), before = 365 + is_leap(year + 399);
  const i32 begin = first_week(jan1, flags), next = length + first_week((jan1 + length) % 7, flags);
  const i32 last = first_week((jan1 + 371 - before) % 7, flags) - before; /* of the year before */
  const i32 from = zero ? begin : day < begin ? last : day >= next ? next : begin;
  return (day - from + 7) / 7;
}

/* ---- back: months since year 0 to days ---- */
FN i64 month_begin(i64 months) {
  const i64 year = floor_div(months, 12), month = months - year * 12, march = year - (month < 2);
  const i64 era = floor_div(march, 400), y = march - era * 400, m = month < 2 ? month + 10 : month - 2;
  return era * DAYS_AN_ERA + y * 365 + y / 4 - y / 100 + (153 * m + 2) / 5 - DAYS_TO_ERA_0;
}
FN i64 year_of(i64 day) { return era_i64(day) * 400 + year_of_era(day_of_era_i64(day)); }
FN i64 months_of(i64 day) { return year_of(day) * 12 + month_of(day_of_era_i64(day)) - 1; } /* since year 0 */

/* The same of 32 bits, whose months are counted from a year before all days of 32 bits. */
#define ERAS_OF_MONTHS 14701u
FN u32 months_i32(i32 day) {
  const u32 doe = day_of_era_i32(day);
  return (u32)(era_i32(day) + ERAS_OF_MONTHS) * 4800 + (u32)year_of_era(doe) * 12 + (u32)month_of(doe) - 1;
}
FN i32 month_begin_i32(u32 months) {
  const u32 year = months / 12, month = months - year * 12, march = year - (month < 2), era = march / 400;
  const u32 y = march - era * 400, m = month < 2 ? month + 10 : month - 2;
  return (i32)((era - ERAS_OF_MONTHS) * DAYS_AN_ERA + y * 365 + y / 4 - y / 100 + (153 * m + 2) / 5 - DAYS_TO_ERA_0);
}
