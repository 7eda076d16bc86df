/* string_case.h - rows in another case.  T: an offset. */
#define CASE_UPPER 0
#define CASE_LOWER 1
#define CASE_SWAP 2
#define CASE_CAPITALIZE 3
#define CASE_TITLE 4
/* The code point in its new case; *cased: is the word begun? */
TEXT_FN u32 OF(in_case, T)(u32 c, i64 how, int *cased) {
  const int record = unicode_case_record(c), kind = unicode_kinds[record];
  const int begun = *cased;
  int lower = how == CASE_LOWER || (how == CASE_SWAP && kind == 2);
  if (how >= CASE_CAPITALIZE) {
    lower = begun;
    *cased = how == CASE_CAPITALIZE || kind != 0;
  } else if (how == CASE_SWAP && kind != 1 && kind != 2) {
    return c;
  }
  return c + (u32)(lower ? unicode_to_lower[record] : unicode_to_upper[record]);
}
FN i64 OF(case_size, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, i64 how, u32 valid, i64 row,
                        GLOBAL i64 *error) {
  i64 size = 0;
  int cased = 0;
  if (!valid) return 0;
  if (is_ascii(b, begin, end, last)) return end - begin; /* other cases of these are, too */
  for (i64 i = begin, next; i < end; i = next) {
    if (b[i] < 0x80 && how <= CASE_SWAP) { /* it stays ASCII */
      size++;
      next = i + 1;
      continue;
    }
    const u32 c = utf8_at(b, i, end, &next);
    if (c == NOT_UTF8)
      report_error(error, KERNEL_ERROR_NOT_UTF8, row);
    else
      size += utf8_size(OF(in_case, T)(c, how, &cased));
  }
  return size;
}
FN void OF(case_row, T)(GLOBAL const u8 *b, i64 begin, i64 end, GLOBAL u8 *o, i64 at, i64 how) {
  int cased = 0;
  for (i64 i = begin, next; i < end; i = next) {
    const u32 x = b[i];
    if (x < 0x80 && how <= CASE_SWAP) {
      const u32 letter = (x | 32) - 97 < 26u && how != (x & 32 ? CASE_LOWER : CASE_UPPER);
      o[at++] = (u8)(x ^ letter << 5);
      next = i + 1;
      continue;
    }
    const u32 c = utf8_at(b, i, end, &next);
    if (c != NOT_UTF8) at = utf8_put(o, at, OF(in_case, T)(c, how, &cased));
  }
}
#if defined(TEXT_BY_WORDS)
/* ASCII of many rows at once. */
FN void OF(case_bytes, T)(const u8 *RESTRICT b, u8 *RESTRICT o, i64 size, i64 how) {
  if (how == CASE_UPPER)
    for (i64 k = 0; k < size; k++) o[k] = (u8)(b[k] ^ (u8)((u8)(b[k] - 97) < 26) << 5);
  else if (how == CASE_LOWER)
    for (i64 k = 0; k < size; k++) o[k] = (u8)(b[k] ^ (u8)((u8)(b[k] - 65) < 26) << 5);
  else
    for (i64 k = 0; k < size; k++) o[k] = (u8)(b[k] ^ (u8)((u8)((b[k] | 32) - 97) < 26) << 5);
}
#endif
KERNEL(case_sizes) {
  ROWS_OF_TEXT;
  const i64 how = SCALAR(SCALAR_TEXT_OP);
#if defined(TEXT_BY_WORDS)
  if (!RAW(const u32, BUF_TEXT_VALIDITY)) {
    TILES(t, n, FILTER_TILE_ROWS) {
      i64 sum = 0;
      T *RESTRICT o = OUT(T, BUF_OUT);
      const i64 first = t * FILTER_TILE_ROWS, behind = first + FILTER_TILE_ROWS < n ? first + FILTER_TILE_ROWS : n;
      if (is_ascii(bytes, offsets[first], offsets[behind], last)) {
        for (i64 i = first; i < behind; i++) o[i] = offsets[i + 1] - offsets[i];
        sum = (i64)offsets[behind] - (i64)offsets[first];
      } else {
        for (i64 i = first; i < behind; i++) {
          const i64 size = OF(case_size, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, how, 1, i, OUT(i64, BUF_ERROR));
          o[i] = (T)size;
          sum += size;
        }
      }
      OUT(i64, BUF_TEXT_TILES)[t] = sum;
    }
    return;
  }
#endif
  TEXT_SIZE(i, OF(case_size, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, how, TEXT_IS_VALID(i), i, OUT(i64, BUF_ERROR)))
}
KERNEL(case_write) {
  ROWS_OF_TEXT;
  GLOBAL u8 *RESTRICT out = OUT(u8, BUF_TEXT_OUT);
  const i64 how = SCALAR(SCALAR_TEXT_OP);
#if defined(TEXT_BY_WORDS)
  if (!RAW(const u32, BUF_TEXT_VALIDITY) && how <= CASE_SWAP) {
    TILES(t, n, FILTER_TILE_ROWS) {
      T *RESTRICT o = OUT(T, BUF_OUT);
      const i64 first = t * FILTER_TILE_ROWS, behind = first + FILTER_TILE_ROWS < n ? first + FILTER_TILE_ROWS : n;
      i64 at = IN(i64, BUF_TEXT_TILES)[t];
      if (is_ascii(bytes, offsets[first], offsets[behind], last)) {
        const T moved = (T)(at - (i64)offsets[first]);
        OF(case_bytes, T)(bytes + offsets[first], out + at, (i64)offsets[behind] - (i64)offsets[first], how);
        for (i64 i = first; i < behind; i++) o[i] = (T)(offsets[i] + moved);
        at += (i64)offsets[behind] - (i64)offsets[first];
      } else {
        for (i64 i = first; i < behind; i++) {
          const i64 size = (i64)o[i];
          o[i] = (T)at;
          if (size) OF(case_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), out, at, how);
          at += size;
        }
      }
      if (behind == n) o[n] = (T)at;
    }
    return;
  }
#endif
  (void)last;
  TEXT_WRITE(i, at, size, room, if (size) OF(case_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), out, at, how))
}
