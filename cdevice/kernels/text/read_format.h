/* read_format.h - text as timestamps by a format.  S: how they are counted (calendar.h), T: an offset of the text.
 * BUF_TEXT_PATTERN (i64): SCALAR_TEXT_A codes. */
#define CODES GLOBAL const i64 *codes = IN(i64, BUF_TEXT_PATTERN)
#define READ_ROW(i, x) \
  formatted_at(bytes, TEXT_BEGIN(i), TEXT_END(i), codes, SCALAR(SCALAR_TEXT_A), OF(PER_SECOND, S), x)
KERNEL(OF(read_format, S)) { /* no errors are reported where BUF_ERROR is NULL */
  ROWS_OF_TEXT;
  CODES;
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT);
  (void)last;
  ROWS(i, n) {
    i64 x = 0;
    const int error = TEXT_IS_VALID(i) ? READ_ROW(i, &x) : 0;
    if (error && RAW(i64, BUF_ERROR)) report_error(OUT(i64, BUF_ERROR), error, i);
    o[i] = x;
  }
}
FN u32 CAT(OF(fits_format, S), T)(GLOBAL const u8 *bytes, i64 begin, i64 end, GLOBAL const i64 *codes, i64 count) {
  i64 x;
  return !formatted_at(bytes, begin, end, codes, count, OF(PER_SECOND, S), &x);
}
KERNEL(OF(format_fits, S)) { /* bits */
  PACK_ROOM;
  ROWS_OF_TEXT;
  CODES;
  (void)last;
  PACK(OUT(u32, BUF_OUT), n, i,
       CAT(OF(fits_format, S), T)(bytes, TEXT_BEGIN(i), TEXT_END(i), codes, SCALAR(SCALAR_TEXT_A)))
}
#undef CODES
#undef READ_ROW
