/* print_decimal.h - decimals as text.  S: their storage, T: an offset of the result.  SCALAR_TEXT_OP: the scale. */
#define WIDE_DIVIDE_w128(x, by) wide_divide(x, by)
#define WIDE_DIVIDE_w256(x, by) wide256_divide(x, by)
#define WIDE_CHUNKS_w128 5 /* of nine digits */
#define WIDE_CHUNKS_w256 9
FN int CAT(OF(put_decimal, S), T)(u8 *o, S x, int scale) {
  u8 digits[9 * 9 + 8];
  const int negative = OF(WIDE_BELOW0, S)(x), most = 9 * OF(WIDE_CHUNKS, S);
  S m = OF(WIDE_MAGNITUDE, S)(x);
  int first = 0;
  for (int k = OF(WIDE_CHUNKS, S) - 1; k >= 0; k--) {
    u32 part = (u32)OF(WIDE_DIVIDE, S)(&m, 1000000000u);
    for (int j = 8; j >= 0; j--, part /= 10u) digits[9 * k + j] = (u8)(48u + part % 10u);
  }
  while (first < most - 1 && digits[first] == 48) first++;
  return put_scaled(o, digits + first, most - first, negative, scale);
}
FN int CAT(OF(decimal_size, S), T)(S x, int scale) {
  u8 own[DECIMAL_MOST];
  return CAT(OF(put_decimal, S), T)(own, x, scale);
}
KERNEL(OF(decimal_sizes, S)) {
  PRINTED_ROWS;
  GLOBAL const S *RESTRICT a = IN(S, BUF_PRINT_VALUES);
  TEXT_SIZE(i, PRINTED(i) ? CAT(OF(decimal_size, S), T)(a[i], (int)SCALAR(SCALAR_TEXT_OP)) : 0)
}
KERNEL(OF(decimal_write, S)) {
  PRINTED_ROWS;
  GLOBAL const S *RESTRICT a = IN(S, BUF_PRINT_VALUES);
  PRINT_WRITE(DECIMAL_MOST, CAT(OF(put_decimal, S), T)(o, a[i], (int)SCALAR(SCALAR_TEXT_OP)))
}
#undef WIDE_DIVIDE_w128
#undef WIDE_DIVIDE_w256
#undef WIDE_CHUNKS_w128
#undef WIDE_CHUNKS_w256
