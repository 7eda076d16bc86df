/* read_integer.h - text as whole numbers.  S: an integer, T: an offset of the text. */
KERNEL(OF(read_integer, S)) {
  ROWS_OF_TEXT;
  GLOBAL S *RESTRICT o = OUT(S, BUF_OUT);
  (void)last;
  ROWS(i, n) {
    const i64 begin = TEXT_BEGIN(i), end = TEXT_END(i);
    u64 x = 0;
#if defined(DIGITS_BY_WORDS)
    const int negative = OF(IS_SIGNED, S) && begin < end && bytes[begin] == 45;
    if (short_digits_at(bytes, begin + negative, end, (u64)OF(MAX, S) + (u64)negative, &x)) {
      o[i] = (S)((x ^ (0 - (u64)negative)) + (u64)negative);
      continue;
    }
    x = 0;
#endif
    if (TEXT_IS_VALID(i) && integer_at(bytes, begin, end, (u64)OF(MAX, S), OF(IS_SIGNED, S), 2 * (int)sizeof(S), &x)) {
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_NOT_READ, i);
    }
    o[i] = (S)x;
  }
}
