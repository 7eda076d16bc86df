/* decimal_real.h - decimals of type T as float64.  SCALAR_ARG1: the scale. */
#if OF(IS_WIDE, T) == 2
#define REAL_OF(x) wide256_real(x)
#elif OF(IS_WIDE, T)
#define REAL_OF(x) wide_real(x)
#else
#define REAL_OF(x) ((f64)(x))
#endif
KERNEL(real) {
  GLOBAL f64 *RESTRICT o = OUT(f64, BUF_OUT);
  GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);
  const int scale = (int)SCALAR(SCALAR_ARG1), digits = scale < 0 ? -scale : scale;
  f64 power = 1;
  for (int k = 0; k < digits; k++) power *= 10;
  ROWS(i, SCALAR(SCALAR_ROWS)) { o[i] = scale < 0 ? REAL_OF(a[i]) * power : REAL_OF(a[i]) / power; }
}
#undef REAL_OF
