/* print_integer.h - whole numbers as text.  S: a number of 64 bits, T: an offset of the result. */
#define INTEGERS GLOBAL const S *RESTRICT a = IN(S, BUF_PRINT_VALUES)
#define NEGATIVE(x) (OF(IS_SIGNED, S) && (i64)(x) < 0)
#define MAGNITUDE(x) (NEGATIVE(x) ? 0 - (u64)(x) : (u64)(x))
KERNEL(OF(integer_sizes, S)) {
  INTEGERS;
  PRINTED_ROWS;
  TEXT_SIZE(i, PRINTED(i) ? digits_of(MAGNITUDE(a[i])) + NEGATIVE(a[i]) : 0)
}
KERNEL(OF(integer_write, S)) {
  INTEGERS;
  PRINTED_ROWS;
  PRINT_WRITE(32, put_whole(o, MAGNITUDE(a[i]), NEGATIVE(a[i]), (int)size))
}
#undef INTEGERS
#undef NEGATIVE
#undef MAGNITUDE
