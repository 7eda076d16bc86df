/* clock.h - dates and times in text.  Nothing here knows of T. */
#define TIME_MOST 72 /* bytes of a text */
FN int put_two(u8 *o, int at, u32 x) {
  o[at] = (u8)(48u + x / 10u);
  o[at + 1] = (u8)(48u + x % 10u);
  return at + 2;
}
/* With zeros before it. */
FN int put_padded(u8 *o, int at, u32 x, int size) {
  for (int k = size - 1; k >= 0; k--, x /= 10u) o[at + k] = (u8)(48u + x % 10u);
  return at + size;
}
FN int put_year(u8 *o, int at, i32 year) {
  const u32 m = (u32)(year < 0 ? -year : year);
  if (year < 0) o[at++] = 45;
  return put_padded(o, at, m, m > 9999u ? 5 : 4);
}
FN int put_date(u8 *o, int at, i32 year, u32 day_of_era) {
  at = put_year(o, at, year);
  o[at] = 45;
  at = put_two(o, at + 1, (u32)month_of(day_of_era));
  o[at] = 45;
  return put_two(o, at + 1, (u32)day_of_month(day_of_era));
}
/* Digits behind the point of a second. */
FN int second_digits(i64 per_second) {
  return per_second == 1 ? 0 : per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
}
FN int put_second(u8 *o, int at, u32 second, u32 tick, i64 per_second) {
  at = put_two(o, at, second);
  if (per_second == 1) return at;
  o[at] = 46;
  return put_padded(o, at + 1, tick, second_digits(per_second));
}
FN int put_clock(u8 *o, int at, u32 second, u32 tick, i64 per_second) {
  at = put_two(o, at, second / 3600u);
  o[at] = 58;
  at = put_two(o, at + 1, second / 60u % 60u);
  o[at] = 58;
  return put_second(o, at + 1, second % 60u, tick, per_second);
}
/* +hhmm, of seconds, which are cut. */
FN int put_offset(u8 *o, int at, i64 seconds) {
  const u32 minutes = (u32)((seconds < 0 ? -seconds : seconds) / 60);
  o[at] = seconds < 0 ? 45 : 43;
  at = put_two(o, at + 1, minutes / 60u % 100u);
  return put_two(o, at, minutes % 60u);
}
FN int put_out_of_range(u8 *o, i64 x) {
  const u64 m = x < 0 ? 0 - (u64)x : (u64)x;
  const int size = digits_of(m) + (x < 0);
  int at = put_word(o, 0, (u64)0x6f2065756c61763cu, 8); /* <value out of range: */
  at = put_word(o, at, (u64)0x617220666f207475u, 8);
  at = put_word(o, at, (u64)0x203a65676eu, 5);
  at += put_whole(o + at, m, x < 0, size);
  o[at] = 62;
  return at + 1;
}
#define YEAR_IS_FAR(year) ((year) < -32767 || (year) > 32767) /* Arrow prints no others */
/* x: as clocks show it; moment: as it is counted; how: TIME_*; per_second: 0: days. */
FN int put_time(u8 *o, i64 x, i64 moment, i64 per_second, i64 how) {
  int at = 0;
  i64 day = x;
  if ((how & 3) == TIME_AS_CLOCK) {
    if (x < 0 || x >= SECONDS_A_DAY * per_second) return put_out_of_range(o, x);
    return put_clock(o, 0, (u32)(x / per_second), (u32)(x % per_second), per_second);
  }
  if (per_second)
    day = (how & 3) == TIME_AS_DATE ? x / (SECONDS_A_DAY * per_second) : floor_div(x, SECONDS_A_DAY * per_second);
  const u32 doe = day_of_era_i64(day);
  const i64 year = era_i64(day) * 400 + year_of_era(doe);
  if (YEAR_IS_FAR(year)) return put_out_of_range(o, moment);
  at = put_date(o, 0, (i32)year, doe);
  if ((how & 3) == TIME_AS_DATE) return at;
  o[at] = 32;
  at = put_clock(o, at + 1, (u32)split_second_of_day(x, per_second), (u32)split_tick(x, per_second), per_second);
  if (how & TIME_WITH_Z) o[at++] = 90;
  return how & TIME_WITH_OFFSET ? put_offset(o, at, (x - moment) / per_second) : at;
}

/* ---- back ---- */
#define NO_DIGITS 1000u
FN u32 two_at(GLOBAL const u8 *b, i64 i) {
  const u32 x = (u32)b[i] - 48u, y = (u32)b[i + 1] - 48u;
  return x <= 9u && y <= 9u ? x * 10u + y : NO_DIGITS;
}
FN int date_is(i32 year, u32 month, u32 day) {
  if (month < 1 || month > 12 || day < 1) return 0;
  return day <= (month == 2 ? 28u + (u32)is_leap(year) : 30u + ((month + (month >> 3)) & 1u));
}
/* YYYY-MM-DD: days since 1970. */
FN int date_at(GLOBAL const u8 *b, i64 i, i64 end, i64 *day) {
  if (end - i < 10 || b[i + 4] != 45 || b[i + 7] != 45) return KERNEL_ERROR_NOT_READ;
  const u32 high = two_at(b, i), low = two_at(b, i + 2), month = two_at(b, i + 5), d = two_at(b, i + 8);
  const i32 year = (i32)(high * 100u + low);
  if (high > 99u || low > 99u || !date_is(year, month, d)) return KERNEL_ERROR_NOT_READ;
  *day = month_begin((i64)year * 12 + month - 1) + d - 1;
  return 0;
}
/* Digits behind the point, as ticks; where they end, or -1: there are too many. */
FN i64 ticks_at(GLOBAL const u8 *b, i64 i, i64 end, i64 per_second, i64 *ticks) {
  const int most = second_digits(per_second);
  int n = 0;
  i64 x = 0;
  for (; i < end && (u32)b[i] - 48u <= 9u && n < most; i++, n++) x = x * 10 + (b[i] - 48);
  for (; n < most; n++) x *= 10;
  *ticks = x;
  return i < end && (u32)b[i] - 48u <= 9u ? -1 : i;
}
/* hh, hh:mm, hh:mm:ss and ticks; where they end, or -1.  least: how many of them there must be; dot: may no digit be
 * behind the point? */
FN i64 clock_at(GLOBAL const u8 *b, i64 i, i64 end, i64 per_second, int least, int dot, i64 *second, i64 *ticks) {
  const i64 begin = i;
  u32 part[3];
  int n = 0;
  part[0] = part[1] = part[2] = 0;
  while (n < 3 && end - i >= 2 + (n > 0) && (n == 0 || b[i] == 58)) {
    i += n > 0;
    part[n++] = two_at(b, i);
    i += 2;
  }
  *ticks = 0;
  *second = (i64)part[0] * 3600 + part[1] * 60 + part[2];
  if (n < least || part[0] > 23u || part[1] > 59u || part[2] > 59u || i == begin) return -1;
  if (n < 3 || i == end || b[i] != 46) return i;
  const i64 point = i + 1;
  i = per_second == 1 ? -1 : ticks_at(b, point, end, per_second, ticks);
  return i == point && !dot ? -1 : i;
}
/* Z, +hh, +hhmm or +hh:mm: in seconds; where it ends, or -1. */
FN i64 offset_at(GLOBAL const u8 *b, i64 i, i64 end, i64 *seconds) {
  *seconds = 0;
  if (b[i] == 90) return i + 1;
  if ((b[i] != 43 && b[i] != 45) || end - i < 3) return -1;
  const int down = b[i] == 45;
  const u32 hours = two_at(b, i + 1);
  u32 minutes = 0;
  i += 3;
  if (i < end) {
    i += b[i] == 58;
    if (end - i != 2) return -1;
    minutes = two_at(b, i);
    i += 2;
  }
  if (hours > 23u || minutes > 59u) return -1;
  *seconds = (i64)(hours * 60u + minutes) * (down ? -60 : 60);
  return i;
}
/* Seconds and ticks as a count. */
FN int count_of(i64 seconds, i64 ticks, i64 per_second, i64 *x) {
  const i64 most = MAX_i64 / per_second;
  if (seconds > most || seconds < -most - 1) return KERNEL_ERROR_NOT_READ;
  if (seconds >= 0) {
    *x = seconds * per_second;
    if (ticks > MAX_i64 - *x) return KERNEL_ERROR_NOT_READ;
    *x += ticks;
    return 0;
  }
  *x = (seconds + 1) * per_second;
  if (*x < I64_MIN + (per_second - ticks)) return KERNEL_ERROR_NOT_READ;
  *x -= per_second - ticks;
  return 0;
}
FN int timestamp_at(GLOBAL const u8 *b, i64 i, i64 end, i64 per_second, int zoned, i64 *x) {
  i64 day, second = 0, ticks = 0, offset = 0;
  int has_zone = 0;
  if (date_at(b, i, end, &day)) return KERNEL_ERROR_NOT_READ;
  i += 10;
  if (i < end) {
    if (b[i] != 32 && b[i] != 84) return KERNEL_ERROR_NOT_READ;
    i = clock_at(b, i + 1, end, per_second, 1, 0, &second, &ticks);
    if (i >= 0 && i < end) {
      i = offset_at(b, i, end, &offset);
      has_zone = 1;
    }
    if (i != end) return KERNEL_ERROR_NOT_READ;
  }
  if (has_zone != zoned) return zoned ? KERNEL_ERROR_NO_ZONE : KERNEL_ERROR_A_ZONE;
  return count_of(day * SECONDS_A_DAY + second - offset, ticks, per_second, x);
}
FN int time_at(GLOBAL const u8 *b, i64 begin, i64 end, i64 per_second, i64 how, i64 *x) {
  i64 second, ticks;
  *x = 0;
  if ((how & 3) == TIME_AS_TIMESTAMP) return timestamp_at(b, begin, end, per_second, (how & TIME_WITH_OFFSET) != 0, x);
  if ((how & 3) == TIME_AS_DATE) {
    if (end - begin != 10 || date_at(b, begin, end, x)) return KERNEL_ERROR_NOT_READ;
    if (per_second) *x *= SECONDS_A_DAY * per_second;
    return 0;
  }
  if (clock_at(b, begin, end, per_second, 2, 1, &second, &ticks) != end) return KERNEL_ERROR_NOT_READ;
  *x = second * per_second + ticks;
  return 0;
}
