/* string_edit.h - rows with more or other bytes: padded, replaced; and rows that are split.  T: an offset. */
#define PAD_LEFT 1
#define PAD_RIGHT 2
#define PAD_LEAN_LEFT 4 /* of a row in the middle: the odd one is on its right */
#define PAD_UTF8 8      /* the width is that of code points */
#define PAD_SIGN 16     /* behind a sign */
FN i64 OF(padding, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 width, i64 how) {
  const i64 more = width - (how & PAD_UTF8 ? utf8_count(b, begin, end, last) : end - begin);
  return more > 0 ? more : 0;
}
FN i64 OF(pad_fill, T)(GLOBAL u8 *o, i64 at, i64 many, GLOBAL const u8 *p, i64 m) {
#if defined(CDV_HOST)
  if (m == 1) {
    const u8 c = p[0];
    for (i64 k = 0; k < many; k++) o[at + k] = c;
    return at + many;
  }
#endif
  for (i64 k = 0; k < many; k++)
    for (i64 x = 0; x < m; x++) o[at++] = p[x];
  return at;
}
FN void OF(pad_row, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL u8 *o, i64 at, i64 room, i64 more,
                       GLOBAL const u8 *p, i64 m, i64 how) {
  const i64 left = (how & 3) == 3 ? (more + ((how & PAD_LEAN_LEFT) == 0)) / 2 : how & PAD_LEFT ? more : 0;
  if (how & PAD_SIGN && begin < end && (b[begin] == 43 || b[begin] == 45)) o[at++] = b[begin++];
  at = OF(pad_fill, T)(o, at, left, p, m);
  text_copy(o, at, room, b, begin, last, end - begin);
  OF(pad_fill, T)(o, at + end - begin, more - left, p, m);
}
#define EDIT_NUMBERS                                                                            \
  ROWS_OF_TEXT;                                                                                 \
  const i64 how = SCALAR(SCALAR_TEXT_OP), a = SCALAR(SCALAR_TEXT_A), c = SCALAR(SCALAR_TEXT_B), \
            d = SCALAR(SCALAR_TEXT_C)
#define EDITED  \
  EDIT_NUMBERS; \
  GLOBAL const u8 *RESTRICT p = IN(u8, BUF_TEXT_PATTERN)
KERNEL(pad_sizes) {
  EDIT_NUMBERS;
  (void)d;
  TEXT_SIZE_OF(i, ascii,
               !TEXT_IS_VALID(i)
                   ? 0
                   : TEXT_END(i) - TEXT_BEGIN(i) +
                         c * OF(padding, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, a, ascii ? how & ~PAD_UTF8 : how))
}
KERNEL(pad_write) {
  EDITED;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  (void)a, (void)d;
  TEXT_WRITE(i, at, size, room,
             if (size) OF(pad_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, out, at, room,
                                      (size - (TEXT_END(i) - TEXT_BEGIN(i))) / c, p, c, how))
}

/* The first `most` places of the a bytes become the c behind them. */
FN i64 OF(replaced, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL const u8 *p, i64 a, i64 c, i64 most,
                       GLOBAL u8 *o, i64 at, i64 room) {
  const i64 first = at;
  while (begin < end) {
    const i64 found = most ? bytes_found(b, begin, end, last, p, a) : -1, stop = found < 0 ? end : found;
    if (o) text_copy(o, at, room, b, begin, last, stop - begin);
    at += stop - begin;
    begin = stop;
    if (found >= 0) {
      if (o) text_copy(o, at, room, p, a, a + c, c);
      at += c;
      begin += a;
      most -= most > 0;
    }
  }
  return at - first;
}
KERNEL(replace_sizes) {
  EDITED;
  (void)how;
  TEXT_SIZE(i, TEXT_IS_VALID(i) ? OF(replaced, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, p, a, c, d, 0, 0, 0) : 0)
}
KERNEL(replace_write) {
  EDITED;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  (void)how;
  TEXT_WRITE(i, at, size, room,
             if (size) OF(replaced, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, p, a, c, d, out, at, room))
}
/* Characters a to c become the d bytes of p. */
FN i64 OF(cut, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 a, i64 c, int bytes, i64 *behind) {
  const i64 all = bytes ? end - begin : utf8_count(b, begin, end, last);
  i64 from = a < 0 ? all + a : a, to = c < 0 ? all + c : c;
  from = from < 0 ? 0 : from < all ? from : all;
  to = to < from ? from : to < all ? to : all;
  const i64 at = all == end - begin ? begin + from : utf8_skip(b, begin, end, from);
  *behind = all == end - begin ? begin + to : utf8_skip(b, at, end, to - from);
  return at;
}
FN i64 OF(cut_size, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 a, i64 c, i64 d, i64 how, u32 valid,
                       i64 row, GLOBAL i64 *error) {
  i64 behind;
  if (!valid) return 0;
  if (!(how & STRING_BYTES) && !is_utf8(b, begin, end, last)) report_error(error, KERNEL_ERROR_NOT_UTF8, row);
  const i64 at = OF(cut, T)(b, begin, end, last, a, c, (how & STRING_BYTES) != 0, &behind);
  return end - behind + at - begin + d;
}
FN void OF(cut_row, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 a, i64 c, GLOBAL const u8 *p, i64 d,
                       i64 how, GLOBAL u8 *o, i64 to) {
  i64 behind;
  const i64 at = OF(cut, T)(b, begin, end, last, a, c, (how & STRING_BYTES) != 0, &behind);
  for (i64 k = begin; k < at; k++) o[to++] = b[k];
  for (i64 k = 0; k < d; k++) o[to++] = p[k];
  for (i64 k = behind; k < end; k++) o[to++] = b[k];
}
KERNEL(cut_sizes) {
  EDIT_NUMBERS;
  TEXT_SIZE(i, OF(cut_size, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, a, c, d, how, TEXT_IS_VALID(i), i,
                               OUT(i64, BUF_ERROR)))
}
KERNEL(cut_write) {
  EDITED;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  TEXT_WRITE(i, at, size, room,
             if (size) OF(cut_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, a, c, p, d, how, out, at))
}

/* ---- rows that are split ---- */
#define SPLIT_SPACE 1
#define SPLIT_ASCII_SPACE 2
#define SPLIT_BACK 4 /* from the end */
/* How many bytes of a separator are at i. */
FN i64 OF(separator, T)(GLOBAL const u8 *b, i64 i, i64 end, GLOBAL const u8 *p, i64 m, i64 how) {
  i64 next, k = 0;
  if (how & (SPLIT_SPACE | SPLIT_ASCII_SPACE)) {
    const i64 begin = i;
    int space = 1;
    while (i < end && space) {
      u32 c = b[i];
      next = i + 1;
      if (how & SPLIT_SPACE) c = utf8_at(b, i, end, &next);
      space = how & SPLIT_SPACE ? is_space(c) : is_ascii_space(c);
      if (space) i = next;
    }
    return i - begin;
  }
  if (i + m > end) return 0;
  while (k < m && b[i + k] == p[k]) k++;
  return k == m ? m : 0;
}
/* How many bytes of a separator end at i. */
FN i64 OF(separator_before, T)(GLOBAL const u8 *b, i64 begin, i64 i, GLOBAL const u8 *p, i64 m, i64 how) {
  i64 next;
  if (how & (SPLIT_SPACE | SPLIT_ASCII_SPACE)) {
    const i64 end = i;
    int space = 1;
    while (i > begin && space) {
      const i64 at = how & SPLIT_SPACE ? utf8_before(b, begin, i) : i - 1;
      u32 c = b[at];
      if (how & SPLIT_SPACE) c = utf8_at(b, at, i, &next);
      space = how & SPLIT_SPACE ? is_space(c) : is_ascii_space(c);
      if (space) i = at;
    }
    return end - i;
  }
  return i - begin < m ? 0 : OF(separator, T)(b, i - m, i, p, m, how);
}
/* Counts the parts of a row; with `begins` it tells where they begin, and their sizes.  many: their number. */
FN i64 OF(split, T)(GLOBAL const u8 *b, i64 begin, i64 end, GLOBAL const u8 *p, i64 m, i64 how, i64 most, i64 many,
                    GLOBAL T *begins, GLOBAL T *sizes) {
  i64 parts = 0, low = begin, high = end;
  if (how & SPLIT_BACK) {
    for (i64 i = end; i > begin && (most < 0 || parts < most);) {
      const i64 size = OF(separator_before, T)(b, begin, i, p, m, how);
      if (size) {
        if (begins) begins[many - 1 - parts] = (T)i, sizes[many - 1 - parts] = (T)(high - i);
        parts++;
        i -= size;
        high = i;
      } else {
        i--;
      }
    }
  } else {
    for (i64 i = begin; i < end && (most < 0 || parts < most);) {
      const i64 size = OF(separator, T)(b, i, end, p, m, how);
      if (size) {
        if (begins) begins[parts] = (T)low, sizes[parts] = (T)(i - low);
        parts++;
        i += size;
        low = i;
      } else {
        i++;
      }
    }
  }
  const i64 rest = how & SPLIT_BACK ? 0 : parts;
  if (begins) begins[rest] = (T)low, sizes[rest] = (T)(high - low);
  return parts + 1;
}
/* How many parts each row has (i64); null ones none. */
KERNEL(split_counts) {
  EDITED;
  (void)last, (void)d;
  ROWS(i, n) {
    OUT(i64, BUF_OUT)
    [i] = TEXT_IS_VALID(i) ? OF(split, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), p, a, how, c, 0, 0, 0) : 0;
  }
}
/* Where the parts are; BUF_TEXT_TILES: the number of the parts before each row. */
KERNEL(split_parts) {
  EDITED;
  GLOBAL const i64 *RESTRICT before = IN(i64, BUF_TEXT_TILES);
  (void)last, (void)d;
  ROWS(i, n) {
    const i64 at = before[i], many = before[i + 1] - at;
    if (many)
      OF(split, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), p, a, how, c, many, OUT(T, BUF_TEXT_OUT) + at,
                   OUT(T, BUF_OUT) + at);
  }
}
#undef EDITED
#undef EDIT_NUMBERS
