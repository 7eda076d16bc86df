/* string_pieces.h - results that are parts of rows: slices and trimmed rows.  T: an offset. */

/* A piece of a row. */
typedef struct {
  i64 begin, size;
} OF(piece, T);

/* Characters from start to stop, counted from the end where negative; step 1. */
FN OF(piece, T) OF(slice, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 start, i64 stop, int bytes) {
  OF(piece, T) p;
  const i64 all = bytes ? end - begin : utf8_count(b, begin, end, last);
  const i64 from = start < 0 ? (all + start < 0 ? 0 : all + start) : start < all ? start : all;
  const i64 to = stop < 0 ? (all + stop < 0 ? 0 : all + stop) : stop < all ? stop : all;
  if (all == end - begin) {
    p.begin = begin + from;
    p.size = to > from ? to - from : 0;
    return p;
  }
  p.begin = utf8_skip(b, begin, end, from);
  p.size = to > from ? utf8_skip(b, p.begin, end, to - from) - p.begin : 0;
  return p;
}
#define TRIM_LEFT 1
#define TRIM_RIGHT 2
#define TRIM_SPACE 4
#define TRIM_BYTES 8
FN int OF(is_trimmed, T)(u32 c, GLOBAL const u32 *p, i64 m, i64 how) {
  if (how & TRIM_SPACE) return how & TRIM_BYTES ? is_ascii_space(c) : is_space(c);
  int found = 0;
  for (i64 k = 0; k < m; k++) found |= p[k] == c;
  return found;
}
FN OF(piece, T) OF(trim, T)(GLOBAL const u8 *b, i64 begin, i64 end, GLOBAL const u32 *p, i64 m, i64 how) {
  OF(piece, T) r;
  i64 stop = how & TRIM_LEFT ? end : begin, next;
  while (begin < stop) {
    u32 c = b[begin];
    next = begin + 1;
    if (!(how & TRIM_BYTES)) c = utf8_at(b, begin, end, &next);
    if (OF(is_trimmed, T)(c, p, m, how))
      begin = next;
    else
      stop = begin;
  }
  stop = how & TRIM_RIGHT ? begin : end;
  while (end > stop) {
    const i64 at = how & TRIM_BYTES ? end - 1 : utf8_before(b, begin, end);
    u32 c = b[at];
    if (!(how & TRIM_BYTES)) c = utf8_at(b, at, end, &next);
    if (OF(is_trimmed, T)(c, p, m, how))
      end = at;
    else
      stop = end;
  }
  r.begin = begin;
  r.size = end - begin;
  return r;
}
/* The ASCII characters among them. */
typedef struct {
  u64 low, high;
} OF(byte_set, T);
FN OF(byte_set, T) OF(trimmed_bytes, T)(GLOBAL const u32 *p, i64 m, i64 how) {
  OF(byte_set, T) set;
  set.low = set.high = 0;
  if (how & TRIM_SPACE) {
    set.low = (u64)0x3e00 | (u64)1 << 32 | (how & TRIM_BYTES ? (u64)0 : (u64)0xf << 28);
    return set;
  }
  for (i64 k = 0; k < m; k++) {
    if (p[k] < 64)
      set.low |= (u64)1 << p[k];
    else if (p[k] < 128)
      set.high |= (u64)1 << (p[k] - 64);
  }
  return set;
}
FN OF(piece, T) OF(ascii_trim, T)(GLOBAL const u8 *b, i64 begin, i64 end, OF(byte_set, T) set, i64 how) {
  OF(piece, T) r;
#define IN_SET(c) (((c) & 64 ? set.high : set.low) >> ((c) & 63) & 1)
  if (how & TRIM_LEFT)
    while (begin < end && IN_SET(b[begin])) begin++;
  if (how & TRIM_RIGHT)
    while (end > begin && IN_SET(b[end - 1])) end--;
#undef IN_SET
  r.begin = begin;
  r.size = end - begin;
  return r;
}
/* Keeps where a piece begins, and gives its size; nothing of a null, or where the row is no UTF-8. */
FN i64 OF(kept, T)(OF(piece, T) p, GLOBAL T *begins, i64 i) {
  begins[i] = (T)p.begin;
  return p.size;
}
FN int OF(may_be_cut, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, u32 valid, int check, i64 i,
                         GLOBAL i64 *error) {
  if (!valid || begin == end) return 0;
  if (!check || is_utf8(b, begin, end, last)) return 1;
  report_error(error, KERNEL_ERROR_NOT_UTF8, i);
  return 0;
}
#define MAY_BE_CUT(i, check) \
  OF(may_be_cut, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, TEXT_IS_VALID(i), check, i, OUT(i64, BUF_ERROR))
KERNEL(slices) {
  ROWS_OF_TEXT;
  GLOBAL T *RESTRICT begins = OUT(T, BUF_TEXT_OUT);
  const i64 start = SCALAR(SCALAR_TEXT_A), stop = SCALAR(SCALAR_TEXT_B);
  const int of_bytes = (SCALAR(SCALAR_TEXT_OP) & STRING_BYTES) != 0;
#if defined(TEXT_BY_WORDS)
  if (!RAW(const u32, BUF_TEXT_VALIDITY)) {
    TILES(t, n, FILTER_TILE_ROWS) {
      i64 sum = 0;
      GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
      const i64 first = t * FILTER_TILE_ROWS, behind = first + FILTER_TILE_ROWS < n ? first + FILTER_TILE_ROWS : n;
      const int known = of_bytes || is_ascii(bytes, offsets[first], offsets[behind], last);
      for (i64 i = first; i < behind; i++) {
        i64 size = 0;
        if (known) {
          const i64 all = (i64)offsets[i + 1] - (i64)offsets[i];
          i64 from = start < 0 ? all + start : start, to = stop < 0 ? all + stop : stop;
          from = from < 0 ? 0 : from < all ? from : all;
          to = to < from ? from : to < all ? to : all;
          begins[i] = (T)(offsets[i] + from);
          size = to - from;
        } else if (MAY_BE_CUT(i, 1)) {
          size = OF(kept, T)(OF(slice, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, start, stop, 0), begins, i);
        }
        o[i] = (T)size;
        sum += size;
      }
      OUT(i64, BUF_TEXT_TILES)[t] = sum;
    }
    return;
  }
#endif
  TEXT_SIZE(i,
            !MAY_BE_CUT(i, !of_bytes)
                ? 0
                : OF(kept, T)(OF(slice, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, start, stop, of_bytes), begins, i))
}
KERNEL(trims) {
  ROWS_OF_TEXT;
  GLOBAL T *RESTRICT begins = OUT(T, BUF_TEXT_OUT);
  GLOBAL const u32 *RESTRICT p = IN(u32, BUF_TEXT_PATTERN);
  const i64 how = SCALAR(SCALAR_TEXT_OP), m = SCALAR(SCALAR_TEXT_A);
  const OF(byte_set, T) set = OF(trimmed_bytes, T)(p, m, how);
  TEXT_SIZE_OF(i, ascii,
               ascii ? (TEXT_IS_VALID(i)
                            ? OF(kept, T)(OF(ascii_trim, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), set, how), begins, i)
                            : 0)
               : !MAY_BE_CUT(i, !(how & TRIM_BYTES))
                   ? 0
                   : OF(kept, T)(OF(trim, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), p, m, how), begins, i))
}
#undef MAY_BE_CUT
/* The pieces, one behind the other. */
KERNEL(pieces) {
  GLOBAL const u8 *RESTRICT bytes = IN(u8, BUF_TEXT_BYTES);
  GLOBAL const T *RESTRICT begins = IN(T, BUF_TEXT_PATTERN);
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  const i64 n = SCALAR(SCALAR_ROWS), last = SCALAR(SCALAR_TEXT_A);
  TEXT_WRITE(i, at, size, room, if (size) text_copy(out, at, room, bytes, (i64)begins[i], last, size))
}
/* Sizes that are there already. */
KERNEL(sums) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TEXT_SIZE(i, (i64)IN(T, BUF_OUT)[i])
}
#if !defined(CDV_COARSE)
/* Sizes become offsets. */
KERNEL(settle) {
  const i64 n = SCALAR(SCALAR_ROWS);
  GLOBAL T *o = OUT(T, BUF_OUT);
  SHARED(i64, s, WORK_GROUP_SIZE);
  const i64 first = (BID * WORK_GROUP_SIZE + LID) * 32;
  i64 sum = 0;
  for (int r = 0; r < 32; r++)
    if (first + r < n) sum += (i64)o[first + r];
  s[LID] = sum;
  SYNC;
  if (!LID) {
    i64 all = IN(i64, BUF_TEXT_TILES)[BID];
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const i64 c = s[k];
      s[k] = all;
      all += c;
    }
  }
  SYNC;
  sum = s[LID];
  for (int r = 0; r < 32; r++) {
    const i64 i = first + r;
    if (i >= n) continue;
    const i64 size = (i64)o[i];
    o[i] = (T)sum;
    sum += size;
    if (i + 1 == n) o[n] = (T)sum;
  }
}
#endif

/* Slices with another step: how many characters; negative steps go back from start. */
FN i64 OF(strided, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 start, i64 stop, i64 step, int bytes,
                      GLOBAL u8 *o, i64 at) {
  const i64 all = bytes ? end - begin : utf8_count(b, begin, end, last), low = step < 0 ? -1 : 0;
  const int plain = all == end - begin;
  i64 from = start < 0 ? all + start : start, to = stop == I64_MIN ? -1 : stop < 0 ? all + stop : stop, size = 0;
  from = from < low ? low : from > all + low ? all + low : from;
  to = to < low ? low : to > all + low ? all + low : to;
  i64 i = plain ? begin + from : from < 0 ? begin : utf8_skip(b, begin, end, from);
  for (i64 k = from; step < 0 ? k > to : k < to; k += step) {
    const i64 behind = plain ? i + 1 : utf8_skip(b, i, end, 1);
    if (o)
      for (i64 x = i; x < behind; x++) o[at + size + x - i] = b[x];
    size += behind - i;
    if (step > 0 ? step >= to - k : -step >= k - to) { /* the last one; k + step may not be a number */
      k = to - step;
    } else if (plain) {
      i += step;
    } else if (step > 0) {
      i = utf8_skip(b, i, end, step);
    } else {
      for (i64 s = step; s < 0; s++) i = utf8_before(b, begin, i);
    }
  }
  return size;
}
#define STRIDED(i, o, at)                                                                               \
  OF(strided, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, SCALAR(SCALAR_TEXT_A), SCALAR(SCALAR_TEXT_B), \
                 SCALAR(SCALAR_TEXT_C), (SCALAR(SCALAR_TEXT_OP) & STRING_BYTES) != 0, o, at)
KERNEL(stride_sizes) {
  ROWS_OF_TEXT;
  TEXT_SIZE(i, OF(may_be_cut, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, TEXT_IS_VALID(i),
                                 !(SCALAR(SCALAR_TEXT_OP) & STRING_BYTES), i, OUT(i64, BUF_ERROR))
                   ? STRIDED(i, 0, 0)
                   : 0)
}
KERNEL(stride_write) {
  ROWS_OF_TEXT;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  TEXT_WRITE(i, at, size, room, if (size) STRIDED(i, out, at))
}
#undef STRIDED

/* ---- rows of the same size: bytes where the rows have them ---- */
#define MAP_UPPER 0
#define MAP_LOWER 1
#define MAP_SWAP 2
/* ASCII letters of all bytes; a row is a byte. */
KERNEL(map_bytes) {
  GLOBAL const u8 *RESTRICT b = IN(u8, BUF_TEXT_BYTES);
  GLOBAL u8 *RESTRICT o = OUT(u8, BUF_TEXT_OUT);
  const i64 how = SCALAR(SCALAR_TEXT_OP);
  if (how == MAP_UPPER) {
    ROWS(i, SCALAR(SCALAR_ROWS)) { o[i] = (u8)(b[i] ^ (u8)((u8)(b[i] - 97) < 26) << 5); }
  } else if (how == MAP_LOWER) {
    ROWS(i, SCALAR(SCALAR_ROWS)) { o[i] = (u8)(b[i] ^ (u8)((u8)(b[i] - 65) < 26) << 5); }
  } else {
    ROWS(i, SCALAR(SCALAR_ROWS)) { o[i] = (u8)(b[i] ^ (u8)((u8)((b[i] | 32) - 97) < 26) << 5); }
  }
}
#define ROW_REVERSE 0      /* bytes */
#define ROW_REVERSE_UTF8 1 /* code points */
#define ROW_CAPITALIZE 2   /* ASCII letters */
#define ROW_TITLE 3
FN void OF(map_row, T)(GLOBAL const u8 *b, i64 begin, i64 end, GLOBAL u8 *o, i64 at, i64 how) {
  int cased = 0;
  if (how == ROW_REVERSE_UTF8) {
    for (i64 i = begin, to = at + end - begin; i < end;) {
      i64 next = utf8_skip(b, i, end, 1);
      to -= next - i;
      for (i64 k = i; k < next; k++) o[to + k - i] = b[k];
      i = next;
    }
    return;
  }
  for (i64 i = begin; i < end; i++) {
    const u8 c = b[i], letter = (u8)((c | 32) - 97) < 26;
    if (how == ROW_REVERSE)
      o[at + end - 1 - i] = c;
    else
      o[at + i - begin] = !letter ? c : cased ? (u8)(c | 32) : (u8)(c & 0xdf);
    cased = how == ROW_CAPITALIZE || letter;
  }
}
KERNEL(map_rows) {
  ROWS_OF_TEXT;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  const i64 how = SCALAR(SCALAR_TEXT_OP);
  (void)last;
  ROWS(i, n) { OF(map_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), out, TEXT_BEGIN(i) - SCALAR(SCALAR_TEXT_A), how); }
}
