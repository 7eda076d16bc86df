/* format.h - dates and times by a format: codes (i64), a byte that stands for itself, FORMAT_FIELD and a letter, or
 * FORMAT_SPACE.  Nothing here knows of T. */
#define FORMAT_FIELD 256
#define FORMAT_SPACE 512 /* any white space; of text alone */
#define FIELD_MOST 40
typedef struct {
  i64 year;
  u32 day_of_era;
  u32 second; /* of the day */
  u32 tick;
  i64 per_second; /* 1 of dates */
  i64 offset;     /* of the zone, in seconds */
} time_parts;
FN time_parts parts_of_time(i64 x, i64 moment, i64 per_second) { /* per_second: 0: days */
  time_parts p;
  i64 day = x;
  p.second = p.tick = 0;
  p.offset = 0;
  p.per_second = per_second ? per_second : 1;
  if (per_second) {
    day = floor_div(x, SECONDS_A_DAY * per_second);
    p.second = (u32)split_second_of_day(x, per_second);
    p.tick = (u32)split_tick(x, per_second);
    p.offset = (x - moment) / per_second;
  }
  p.day_of_era = day_of_era_i64(day);
  p.year = era_i64(day) * 400 + year_of_era(p.day_of_era);
  return p;
}
FN int put_field(u8 *o, i64 letter, time_parts p) {
  const u32 hour = p.second / 3600u, m = (u32)((p.year < 0 ? 0 - (u64)p.year : (u64)p.year) % 100u);
  const u64 year = p.year < 0 ? 0 - (u64)p.year : (u64)p.year;
  const int size = digits_of(year);
  switch (letter) {
    case 89: /* Y */
      o[0] = 45;
      if (size >= 4) return put_whole(o, year, p.year < 0, size + (p.year < 0));
      return put_padded(o, p.year < 0, (u32)year, 4);
    case 121: return put_two(o, 0, m);
    case 109: return put_two(o, 0, (u32)month_of(p.day_of_era));
    case 100: return put_two(o, 0, (u32)day_of_month(p.day_of_era));
    case 101: /* e */
      put_two(o, 0, (u32)day_of_month(p.day_of_era));
      if (o[0] == 48) o[0] = 32;
      return 2;
    case 106: return put_padded(o, 0, (u32)day_of_year(p.day_of_era) + 1u, 3);
    case 72: return put_two(o, 0, hour);
    case 73: return put_two(o, 0, hour % 12u ? hour % 12u : 12u); /* I */
    case 77: return put_two(o, 0, p.second / 60u % 60u);
    case 83: return put_second(o, 0, p.second % 60u, p.tick, p.per_second);
    case 117: return put_padded(o, 0, (u32)day_of_week(p.day_of_era, 0) + 1u, 1);
    case 119: return put_padded(o, 0, (u32)day_of_week(p.day_of_era, 6), 1); /* w: Sunday is 0 */
    default: return put_offset(o, 0, p.offset);                              /* z */
  }
}
/* The size of a text; o: where it is written at `at`, or NULL. */
FN i64 put_formatted(GLOBAL u8 *o, i64 at, i64 x, i64 moment, i64 per_second, GLOBAL const i64 *codes, i64 count) {
  const time_parts p = parts_of_time(x, moment, per_second);
  const i64 first = at;
  for (i64 k = 0; k < count; k++) {
    u8 own[FIELD_MOST];
    int n = 1;
    own[0] = (u8)codes[k];
    if (codes[k] >= FORMAT_FIELD) n = put_field(own, codes[k] - FORMAT_FIELD, p);
    if (o)
      for (int j = 0; j < n; j++) o[at + j] = own[j];
    at += n;
  }
  return at - first;
}

/* ---- back, as strptime of the C library reads ---- */
typedef struct {
  int year, month, day, hour, minute, second, day_of_year; /* day_of_year: 0: there is none */
  int has_month, has_day;
  i64 offset;
} read_parts;
/* A number of so many digits at most, spaces before it; where it ends, or -1. */
FN i64 number_at(GLOBAL const u8 *b, i64 i, i64 end, int least, int most, int digits, int *out) {
  int x = 0, n = 0;
  while (i < end && b[i] == 32) i++;
  while (i < end && (u32)b[i] - 48u <= 9u && (n == 0 || (n < digits && x * 10 <= most))) {
    x = x * 10 + (b[i] - 48);
    n++;
    i++;
  }
  *out = x;
  return n && x >= least && x <= most ? i : -1;
}
/* Z, +hh, +hhmm or +hh:mm behind white space. */
FN i64 zone_at(GLOBAL const u8 *b, i64 i, i64 end, i64 *seconds) {
  int x = 0, n = 0;
  while (i < end && is_ascii_space(b[i])) i++;
  *seconds = 0;
  if (i < end && b[i] == 90) return i + 1;
  if (i >= end || (b[i] != 43 && b[i] != 45)) return -1;
  const int down = b[i++] == 45;
  while (n < 4 && i < end && (u32)b[i] - 48u <= 9u) {
    x = x * 10 + (b[i] - 48);
    n++;
    i++;
    if (n == 2 && i + 1 < end && b[i] == 58 && (u32)b[i + 1] - 48u <= 9u) i++;
  }
  if (n == 2) x *= 100, n = 4;
  if (n != 4 || x % 100 > 59) return -1;
  *seconds = (i64)(x / 100 * 3600 + x % 100 * 60) * (down ? -1 : 1);
  return i;
}
FN i64 field_at(GLOBAL const u8 *b, i64 i, i64 end, i64 letter, read_parts *p) {
  int x = 0;
  switch (letter) {
    case 89: return number_at(b, i, end, 0, 9999, 4, &p->year);
    case 121:
      i = number_at(b, i, end, 0, 99, 2, &x);
      p->year = x >= 69 ? 1900 + x : 2000 + x;
      return i;
    case 109: p->has_month = 1; return number_at(b, i, end, 1, 12, 2, &p->month);
    case 100:
    case 101: p->has_day = 1; return number_at(b, i, end, 1, 31, 2, &p->day);
    case 106: return number_at(b, i, end, 1, 366, 3, &p->day_of_year);
    case 72: return number_at(b, i, end, 0, 23, 2, &p->hour);
    case 77: return number_at(b, i, end, 0, 59, 2, &p->minute);
    case 83: return number_at(b, i, end, 0, 61, 2, &p->second);
    case 90: /* Z: a name, which tells nothing */
      while (i < end && is_ascii_space(b[i])) i++;
      while (i < end && !is_ascii_space(b[i])) i++;
      return i;
    default: return zone_at(b, i, end, &p->offset);
  }
}
FN int formatted_at(GLOBAL const u8 *b, i64 i, i64 end, GLOBAL const i64 *codes, i64 count, i64 per_second, i64 *out) {
  read_parts p;
  p.year = 1900;
  p.month = p.day = 1;
  p.hour = p.minute = p.second = p.day_of_year = p.has_month = p.has_day = 0;
  p.offset = 0;
  *out = 0;
  for (i64 k = 0; k < count && i >= 0; k++) {
    const i64 c = codes[k];
    if (c == FORMAT_SPACE)
      while (i < end && is_ascii_space(b[i])) i++;
    else if (c >= FORMAT_FIELD)
      i = field_at(b, i, end, c - FORMAT_FIELD, &p);
    else
      i = i < end && b[i] == (u8)c ? i + 1 : -1;
  }
  if (i != end) return KERNEL_ERROR_NOT_READ;
  i64 day = month_begin((i64)p.year * 12 + p.month - 1) + p.day - 1; /* those behind a month are of the next one */
  if (p.day_of_year && !(p.has_month && p.has_day)) {
    if (p.has_month || p.has_day || p.day_of_year > 365 + is_leap(p.year)) return KERNEL_ERROR_NOT_READ;
    day = month_begin((i64)p.year * 12) + p.day_of_year - 1;
  }
  return count_of(day * SECONDS_A_DAY + p.hour * 3600 + p.minute * 60 + p.second - p.offset, 0, per_second, out);
}
