/* read_real.h - text as floats.  S: a float, T: an offset of the text. */
#define REAL_OF_f32 u32
#define REAL_OF_f64 u64
#define REAL_DIGITS_f32 23
#define REAL_DIGITS_f64 52
KERNEL(OF(read_real, S)) {
  ROWS_OF_TEXT;
  GLOBAL OF(REAL_OF, S) *RESTRICT o = OUT(OF(REAL_OF, S), BUF_OUT);
  real_layout layout;
  layout.digits = OF(REAL_DIGITS, S);
  layout.exponents = 8 * (int)sizeof(S) - 1 - layout.digits;
  ROWS(i, n) {
    u64 x = 0;
    if (TEXT_IS_VALID(i) && real_at(bytes, TEXT_BEGIN(i), TEXT_END(i), last, layout, &x))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_NOT_READ, i);
    o[i] = (OF(REAL_OF, S))x;
  }
}
#undef REAL_OF_f32
#undef REAL_OF_f64
#undef REAL_DIGITS_f32
#undef REAL_DIGITS_f64
