/* time_round.h - times as multiples of a unit.  T: see calendar.h.  SCALAR_ARG2: ROUND_* and what the kernel needs. */
#define STORED OF(STORED, T)
#define TICKS ((i64)OF(PER_SECOND, T))
#if OF(HAS_CLOCK, T)
#define TICKS_A_DAY (SECONDS_A_DAY * TICKS)
#else
#define TICKS_A_DAY ((i64)1)
#endif
#if OF(HAS_CLOCK, T)
#define FAST_DAY(x) fast_day((i64)(x), FAST_OF(T))
#else
#define FAST_DAY(x) (x)
#endif
/* Is a count none of those of days of 32 bits, or a multiple's away from their end? */
#define IS_FAR_OR_LAST(x) \
  (OF(NEAR_BITS, T) == 63 ? 0 : ((u64)(i64)(x) + ((u64)1 << (OF(NEAR_BITS, T) - 1))) >> OF(NEAR_BITS, T))
/* The multiple before x or the next one. */
#define CHOSEN(x, first, next)                                                                                 \
  (how == ROUND_FLOOR || (how == ROUND_NEAREST && (x) - (first) < (next) - (x)) || ((first) >= (x) && !strict) \
       ? (first)                                                                                               \
       : (next))
#define ROUND_ROWS 256 /* done together */
#define HOW                                                    \
  const int flags = (int)SCALAR(SCALAR_ARG2), how = flags & 3; \
  const int strict = flags & ROUND_STRICT

/* SCALAR_ARG1: the ticks of a multiple; ROUND_BACK: days before 1970-01-01 that multiples are counted from. */
KERNEL(round_fixed) {
  const i64 size = SCALAR(SCALAR_ARG1), back = ROUND_BACK(SCALAR(SCALAR_ARG2)) * TICKS_A_DAY;
  HOW;
#if defined(CDV_HOST) && OF(HAS_CLOCK, T) && OF(HAS_DATE, T)
  /* As in calendar.h: size is 2^k times an odd number, which x >> k is divided by, within 2^50 of 0. */
  const int k = __builtin_ctzll((u64)size), all = k > 12;
  const u64 low = ((u64)1 << k) - 1, begin = (u64)1 << (all ? 63 : k + 50); /* before 1970: nothing is before it */
  const f64 odd = (f64)(size >> k), per = 1 / odd, less = 4503599627370496.0 + (f64)(begin >> k);
  const f64 magic = 6755399441055744.0; /* 1.5 * 2^52: a sum with it is a whole number */
  const i64 ceil = how == ROUND_CEIL, nearest = how == ROUND_NEAREST, strictly = strict != 0;
/* The rest of a count: the quotient is rounded, its rest is exact. */
#define WHOLE(y) (AS_F64((((y) + begin) >> k) | (u64)0x433 << 52) - less)
#define REST(d) ((d) - ((d) * per + magic - magic) * odd)
#define REST_OF(y)                                                                                                     \
  (((BITS_OF_F64(REST(WHOLE(y)) + (REST(WHOLE(y)) < 0 ? odd : 0) + 4503599627370496.0) & (((u64)1 << 52) - 1)) << k) | \
   ((y) & low))
  for (i64 first_ = launch_->begin; first_ < launch_->end; first_ += ROUND_ROWS) {
    const int rows_ = launch_->end - first_ < ROUND_ROWS ? (int)(launch_->end - first_) : ROUND_ROWS;
    const i64 *RESTRICT in_ = IN(i64, BUF_ARG0) + first_;
    i64 *RESTRICT out_ = OUT(i64, BUF_OUT) + first_;
    u64 far_ = size >> k >= (i64)1 << 50, left_[ROUND_ROWS];
    if (!all)
      for (int j = 0; j < rows_; j++) far_ |= ((u64)in_[j] + (u64)back + begin) >> (k + 51);
    for (int j = 0; far_ && j < rows_; j++) {
      const i64 x = in_[j], y = (i64)((u64)x + (u64)back), r = y % size;
      const i64 first = (i64)((u64)x - (u64)(r < 0 ? r + size : r)), next = (i64)((u64)first + (u64)size);
      out_[j] = CHOSEN(x, first, next);
    }
    if (far_) continue;
    for (int j = 0; j < rows_; j++) left_[j] = REST_OF((u64)in_[j] + (u64)back);
    if (how == ROUND_FLOOR) {
      for (int j = 0; j < rows_; j++) out_[j] = (i64)((u64)in_[j] - left_[j]);
    } else {
      for (int j = 0; j < rows_; j++) {
        const i64 left = (i64)left_[j];
        const i64 rise = (ceil & ((left > 0) | strictly)) | (nearest & (left + left >= size));
        out_[j] = (i64)((u64)in_[j] - left_[j] + ((u64)-rise & (u64)size));
      }
    }
  }
#undef WHOLE
#undef REST
#undef REST_OF
#else
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = (i64)IN(STORED, BUF_ARG0)[i], y = (i64)((u64)x + (u64)back), r = y % size;
    const i64 first = (i64)((u64)x - (u64)(r < 0 ? r + size : r)), next = (i64)((u64)first + (u64)size);
    OUT(STORED, BUF_OUT)[i] = (STORED)CHOSEN(x, first, next);
  }
#endif
}
/* A unit finer than a tick: SCALAR_ARG1: how many of it are a multiple, and from bit 32 on how many ticks that is, cut;
 * ROUND_FINER: how many of it are a tick. */
KERNEL(round_finer) {
  const i64 multiple = SCALAR(SCALAR_ARG1) & 0xffffffff, step = SCALAR(SCALAR_ARG1) >> 32;
  const i64 per = ROUND_FINER(SCALAR(SCALAR_ARG2)), over = per % multiple;
  HOW;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = (i64)IN(STORED, BUF_ARG0)[i], m = x % multiple;
    const i64 rest = (m < 0 ? m + multiple : m) * over % multiple; /* of the finer units of x */
    const i64 first = x - (x < 0 ? rest / per : (rest + per - 1) / per), next = first + step;
    OUT(STORED, BUF_OUT)[i] = (STORED)CHOSEN(x, first, next);
  }
}
/* Months.  SCALAR_ARG1: how many are a multiple; ROUND_BEGIN: what they are counted from; years towards year 0, as
 * Arrow. */
#define ROUND_MONTHS(x, to)                                                                              \
  {                                                                                                      \
    const i64 day_ = floor_div((i64)(x), TICKS_A_DAY), year_ = year_of(day_) * 12;                       \
    const i64 at_ = from == FROM_YEAR_0 ? year_ : months_of(day_);                                       \
    const i64 from_ = from == FROM_1970 ? 1970 * 12 : from == FROM_YEAR ? year_ : 0;                     \
    const i64 r_ = (at_ - from_) % size;                                                                 \
    const i64 low_ = at_ - (r_ < 0 && from != FROM_YEAR_0 ? r_ + size : r_);                             \
    const i64 before_ = (i64)((u64)month_begin(low_) * (u64)TICKS_A_DAY);                                \
    const i64 after_ = (i64)((u64)month_begin(low_ + size) * (u64)TICKS_A_DAY);                          \
    to = (STORED)(how == ROUND_CEIL ? after_ : CHOSEN((i64)(x), before_, after_)); /* as Arrow's ceil */ \
  }
KERNEL(round_months) {
  const i64 size = SCALAR(SCALAR_ARG1);
  const int from = ROUND_BEGIN(SCALAR(SCALAR_ARG2));
  HOW;
#if defined(CDV_HOST) && OF(HAS_DATE, T)
  const i32 size_ = (i32)size, fixed_ = (from == FROM_1970 ? 1970 * 12 : 0) + (i32)ERAS_OF_MONTHS * 4800;
  const i32 by_year_ = from == FROM_YEAR ? ~0 : 0;
  const u32 years_ = from == FROM_YEAR_0 ? ~0u : 0;
  for (i64 begin_ = launch_->begin; begin_ < launch_->end; begin_ += ROUND_ROWS) {
    const int rows_ = launch_->end - begin_ < ROUND_ROWS ? (int)(launch_->end - begin_) : ROUND_ROWS;
    const STORED *RESTRICT in_ = IN(STORED, BUF_ARG0) + begin_;
    STORED *RESTRICT out_ = OUT(STORED, BUF_OUT) + begin_;
    i32 first_[ROUND_ROWS], next_[ROUND_ROWS];
    u64 far_ = size >> 24; /* the next multiple has 32 bits, too */
    for (int j = 0; j < rows_; j++) far_ |= IS_FAR_OR_LAST(in_[j]);
    for (int j = 0; far_ && j < rows_; j++) ROUND_MONTHS(in_[j], out_[j]);
    if (far_) continue;
    for (int j = 0; j < rows_; j++) first_[j] = FAST_DAY(in_[j]);
    for (int j = 0; j < rows_; j++) {
      const u32 months = months_i32(first_[j]), years = months / 12 * 12;
      const u32 at = (months & ~years_) | (years & years_);
      const i32 past = (i32)at - ((fixed_ & ~by_year_) | ((i32)years & by_year_));
      const i32 q = (i32)((f64)past / (f64)size_), r = past - q * size_;
      const u32 low = at - (u32)(r < 0 ? r + (size_ & ~(i32)years_) : r);
      first_[j] = month_begin_i32(low);
      next_[j] = month_begin_i32(low + (u32)size_);
    }
    for (int j = 0; j < rows_; j++) {
      const i64 x = in_[j], first = (i64)((u64)(i64)first_[j] * (u64)TICKS_A_DAY);
      const i64 next = (i64)((u64)(i64)next_[j] * (u64)TICKS_A_DAY);
      const int later = how == ROUND_CEIL || (how == ROUND_NEAREST && (strict || x != first) && x - first >= next - x);
      out_[j] = (STORED)(later ? next : first);
    }
  }
#else
  ROWS(i, SCALAR(SCALAR_ROWS)) { ROUND_MONTHS(IN(STORED, BUF_ARG0)[i], OUT(STORED, BUF_OUT)[i]) }
#endif
}
/* Multiples that are counted from the begin of a greater unit.  SCALAR_ARG1: how many ticks; ROUND_BEGIN: which. */
KERNEL(round_calendar) {
  const i64 size = SCALAR(SCALAR_ARG1);
  const int from = ROUND_BEGIN(SCALAR(SCALAR_ARG2));
  HOW;
  const i64 greater = from == FROM_DAY      ? TICKS_A_DAY
                      : from == FROM_HOUR   ? 3600 * TICKS
                      : from == FROM_MINUTE ? 60 * TICKS
                      : from == FROM_SECOND ? TICKS
                      : from == FROM_MILLI  ? TICKS / 1000
                                            : TICKS / 1000000;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 x = (i64)IN(STORED, BUF_ARG0)[i], day = floor_div(x, TICKS_A_DAY);
    i64 begin, at = x;
    if (from == FROM_MONDAY || from == FROM_SUNDAY) { /* as Arrow: of a day that is some days later */
      const i64 later = from == FROM_MONDAY ? 3 : 4, fourth = month_begin(year_of(day + later) * 12) + 3;
      begin = (fourth - (i64)day_of_week(day_of_era_i64(fourth), from == FROM_MONDAY ? 0 : 6)) * TICKS_A_DAY;
      at = x + later * TICKS_A_DAY;
    } else if (from == FROM_MONTH) {
      begin = month_begin(months_of(day)) * TICKS_A_DAY;
    } else {
      const i64 r = greater > 0 ? x % greater : 0;
      begin = x - (r < 0 ? r + greater : r);
    }
    const i64 first = begin + (at - begin) / size * size, next = (i64)((u64)first + (u64)size);
    OUT(STORED, BUF_OUT)[i] = (STORED)CHOSEN(x, first, next);
  }
}
#undef STORED
#undef TICKS
#undef TICKS_A_DAY
#undef CHOSEN
#undef HOW
#undef ROUND_ROWS
#undef ROUND_MONTHS
#undef FAST_DAY
#undef IS_FAR_OR_LAST
