/* string_class.h - what all characters of a row are.  T: an offset. */

/* Words that begin with upper case and go on in lower case: 1; *cased: was the character before one? */
FN int OF(titled, T)(u32 is, int *cased, int *any) {
  const int upper = (is & (CLASS_UPPER | CLASS_TITLE)) != 0, lower = (is & CLASS_LOWER) != 0;
  const int fits = !(upper && *cased) && !(lower && !*cased);
  *cased = upper || lower;
  *any |= upper;
  return fits;
}
FN u32 OF(is_of_class, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, u32 kind, int *bad) {
  if (kind == CLASS_ASCII) return (u32)is_ascii(b, begin, end, last);
  const u32 want = kind & 511u, never = kind & CLASS_LOWER   ? CLASS_UPPER | CLASS_TITLE
                                        : kind & CLASS_UPPER ? CLASS_LOWER | CLASS_TITLE
                                                             : 0u;
  int cased = 0, any = 0, fits = 1;
  for (i64 i = begin; i < end;) {
    i64 next = i + 1;
    u32 c = b[i], is;
    if (!(kind & CLASS_ONLY_ASCII)) c = utf8_at(b, i, end, &next);
    if (c == NOT_UTF8) *bad = 1;
    is = c == NOT_UTF8 ? 0u : unicode_class(c);
    if (kind & CLASS_ONLY_ASCII) is = c >= 0x80 ? 0u : want & CLASS_SPACE ? CLASS_SPACE * (u32)is_ascii_space(c) : is;
    if (kind & CLASS_TITLED)
      fits &= OF(titled, T)(is, &cased, &any);
    else if (never)
      fits &= !(is & never), any |= (is & want) != 0;
    else
      fits &= (is & want) != 0, any = 1;
    i = next;
  }
  return (u32)(fits & (any | (want == CLASS_PRINTABLE)));
}
#if defined(TEXT_BY_WORDS)
/* Of a row without other code points: no more is read than what decides. */
FN u32 OF(ascii_of_class, T)(const u8 *b, i64 begin, i64 end, u32 kind) {
  const u32 want = kind & 511u, spaces = want & CLASS_SPACE && kind & CLASS_ONLY_ASCII;
  const u32 never = kind & CLASS_LOWER ? CLASS_UPPER : kind & CLASS_UPPER ? CLASS_LOWER : 0u;
  u32 any = 0;
  int found = 0;
  if (spaces || kind & CLASS_TITLED) return OF(is_of_class, T)(b, begin, end, end, kind, &found);
  if (begin == end) return want == CLASS_PRINTABLE;
  if (never) {
    for (i64 i = begin; i < end; i++) any |= ascii_classes[b[i]];
    return !(any & never) && any & want;
  }
  for (; begin < end && ascii_classes[b[begin]] & want; begin++) continue;
  return begin == end;
}
#endif
FN u32 OF(class_of_row, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, u32 kind, u32 valid, i64 row,
                           GLOBAL i64 *error) {
  int bad = 0;
  const u32 is = valid ? OF(is_of_class, T)(b, begin, end, last, kind, &bad) : 0u;
  if (bad && error) report_error(error, KERNEL_ERROR_NOT_UTF8, row);
  return is;
}
KERNEL(classes) {
  PACK_ROOM;
  ROWS_OF_TEXT;
  const u32 kind = (u32)SCALAR(SCALAR_TEXT_OP);
#if defined(TEXT_BY_WORDS)
  WORDS(w, n) {
    const i64 first = w * 32, behind = first + 32 < n ? first + 32 : n;
    const int ascii = is_ascii(bytes, offsets[first], offsets[behind], last);
    u32 word = 0;
    if (kind == CLASS_ASCII && ascii)
      word = ~0u;
    else
      for (i64 i = first; i < behind; i++)
        word |= (ascii && kind != CLASS_ASCII ? OF(ascii_of_class, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), kind)
                                              : OF(class_of_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, kind,
                                                                    TEXT_IS_VALID(i), i, OUT(i64, BUF_ERROR)))
                << (i - first);
    put32(OUT(u32, BUF_OUT), w, word, n);
  }
#else
  PACK(OUT(u32, BUF_OUT), n, i,
       OF(class_of_row, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, kind, TEXT_IS_VALID(i), i, OUT(i64, BUF_ERROR)))
#endif
}
