/* print_real.h - floats as text.  S: a float, T: an offset of the result. */
#define REAL_OF_f32 u32
#define REAL_OF_f64 u64
#define REAL_LAYOUT_f32 23, 8
#define REAL_LAYOUT_f64 52, 11
#define REALS GLOBAL const OF(REAL_OF, S) *RESTRICT a = IN(OF(REAL_OF, S), BUF_PRINT_VALUES)
KERNEL(OF(real_sizes, S)) {
  REALS;
  PRINTED_ROWS;
  GLOBAL u64 *packed = OUT(u64, BUF_TEXT_OUT);
  TEXT_SIZE(i, PRINTED(i) ? real_size(a[i], OF(REAL_LAYOUT, S), packed + i) : 0)
}
KERNEL(OF(real_write, S)) {
  REALS;
  PRINTED_ROWS;
  GLOBAL const u64 *packed = IN(u64, BUF_TEXT_PATTERN);
  PRINT_WRITE(REAL_MOST, put_real(o, a[i], OF(REAL_LAYOUT, S), packed[i]))
}
#undef REALS
