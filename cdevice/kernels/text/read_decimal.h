/* read_decimal.h - text as decimals, exactly.  S: their storage, T: an offset of the text.  SCALAR_TEXT_OP: the scale;
 * SCALAR_TEXT_A: the precision; SCALAR_TEXT_B: are digits cut that the scale has no room for? */
FN S CAT(OF(decimal_row, S), T)(GLOBAL const u8 *b, i64 begin, i64 end, int scale, int precision, int cut, int *error) {
  S x = OF(FROM, S)(0);
  decimal_parts p;
  *error = decimal_parts_at(b, begin, end, &p);
  if (*error || !p.count) return x;
  const i64 shift = (i64)p.power + scale, all = p.count + shift;
  if (shift < 0 && !cut) *error = KERNEL_ERROR_DIGITS_LOST;
  if (all > precision) *error = KERNEL_ERROR_DIGITS_MORE;
  if (*error || all <= 0) return x;
  i64 i = p.first;
  u64 part = 0, by = 1;
  for (i64 k = 0; k < all; k++) { /* the digits, and zeros behind them */
    if (i <= p.last && b[i] == 46) i++;
    part = part * 10u + (i <= p.last ? (u64)b[i] - 48u : 0u);
    by *= 10u;
    i++;
    if (by == 1000000000u || k == all - 1) {
      x = OF(WIDE_ADD, S)(OF(WIDE_MULTIPLY, S)(x, OF(FROM, S)((i64)by)), OF(FROM, S)((i64)part));
      part = 0, by = 1;
    }
  }
  return p.negative ? OF(WIDE_NEGATE, S)(x) : x;
}
KERNEL(OF(read_decimal, S)) {
  ROWS_OF_TEXT;
  GLOBAL S *RESTRICT o = OUT(S, BUF_OUT);
  (void)last;
  ROWS(i, n) {
    int error = 0;
    S x = OF(FROM, S)(0);
    if (TEXT_IS_VALID(i))
      x = CAT(OF(decimal_row, S), T)(bytes, TEXT_BEGIN(i), TEXT_END(i), (int)SCALAR(SCALAR_TEXT_OP),
                                     (int)SCALAR(SCALAR_TEXT_A), (int)SCALAR(SCALAR_TEXT_B), &error);
    if (error) report_error(OUT(i64, BUF_ERROR), error, i);
    o[i] = x;
  }
}
