/* arith.h - numbers of one type T. */
#define V OF(VALUE, T)
#define LOADED(x) OF(LOAD, T)(x)
#define STORED(x) OF(STORE, T)(x)
#define EACH1(x, action)                                  \
  {ROWS(i, n){const V x = ARG_KIND(0) ? p : LOADED(a[i]); \
  (void)x;                                                \
  action;                                                 \
  }                                                       \
  }
#define EACH2(x, y, action)                       \
  if (!ARG_KIND(0) && !ARG_KIND(1)) {             \
    ROWS(i, n) {                                  \
      const V x = LOADED(a[i]), y = LOADED(b[i]); \
      (void)x, (void)y;                           \
      action;                                     \
    }                                             \
  } else if (!ARG_KIND(0)) {                      \
    const V y = q;                                \
    ROWS(i, n) {                                  \
      const V x = LOADED(a[i]);                   \
      (void)x, (void)y;                           \
      action;                                     \
    }                                             \
  } else {                                        \
    const V x = p;                                \
    ROWS(i, n) {                                  \
      const V y = ARG_KIND(1) ? q : LOADED(b[i]); \
      (void)x, (void)y;                           \
      action;                                     \
    }                                             \
  }
#define RESULT                                              \
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                   \
  GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);             \
  const i64 n = SCALAR(SCALAR_ROWS);                        \
  const V p = LOADED(ARG_KIND(0) ? ONE(T, 0, a) : ZERO(T)); \
  (void)n, (void)p
#define SECOND                                  \
  GLOBAL const T *RESTRICT b = IN(T, BUF_ARG1); \
  const V q = LOADED(ARG_KIND(1) ? ONE(T, 1, b) : ZERO(T))
/* First all rows, then, where any is wrong, which of them count. */
#define COUNTS(i) bit1(RAW(u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i)
#define CHECKED(each, code, wrong, value)                                      \
  int bad = 0;                                                                 \
  each(o[i] = (value); bad |= (wrong));                                        \
  if (bad) {                                                                   \
    each(if ((wrong) && COUNTS(i)) report_error(OUT(i64, BUF_ERROR), code, 0)) \
  }
#define BY_ONE(action) EACH1(x, action)
#define BY_TWO(action) EACH2(x, y, action)

#define W OF(WRAP, T)
#if OF(IS_WIDE, T)
#define SUM_OF(x, y) OF(WIDE_ADD, T)(x, y)
#define DIFFERENCE_OF(x, y) OF(WIDE_SUBTRACT, T)(x, y)
#define PRODUCT_OF(x, y) OF(WIDE_MULTIPLY, T)(x, y)
#else
#define SUM_OF(x, y) STORED((V)((W)(x) + (W)(y)))
#define DIFFERENCE_OF(x, y) STORED((V)((W)(x) - (W)(y)))
#define PRODUCT_OF(x, y) STORED((V)((W)(x) * (W)(y)))
#endif
#define LEAST OF(MIN, T)

KERNEL(add) {
  RESULT;
  SECOND;
  EACH2(x, y, o[i] = SUM_OF(x, y))
}
KERNEL(subtract) {
  RESULT;
  SECOND;
  EACH2(x, y, o[i] = DIFFERENCE_OF(x, y))
}
KERNEL(multiply) {
  RESULT;
  SECOND;
  EACH2(x, y, o[i] = PRODUCT_OF(x, y))
}

#if OF(IS_WIDE, T)
KERNEL(negate) {
  RESULT;
  EACH1(x, o[i] = OF(WIDE_NEGATE, T)(x))
}
KERNEL(magnitude) {
  RESULT;
  EACH1(x, o[i] = OF(WIDE_MAGNITUDE, T)(x))
}
/* Cut towards zero. */
FN T OF(quotient_of, T)(T x, T y) {
  T rest;
  const int below0 = OF(WIDE_BELOW0, T)(x) != OF(WIDE_BELOW0, T)(y);
  if (OF(WIDE_SAME, T)(y, ZERO(T))) return y;
  const T q = OF(WIDE_QUOTIENT, T)(OF(WIDE_MAGNITUDE, T)(x), OF(WIDE_MAGNITUDE, T)(y), &rest);
  return below0 ? OF(WIDE_NEGATE, T)(q) : q;
}
KERNEL(divide) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_DIVIDE_BY_ZERO, OF(WIDE_SAME, T)(y, ZERO(T)), OF(quotient_of, T)(x, y))
}
/* Sums by counts, i64; the results are rounded, a half away from zero. */
KERNEL(mean) {
  RESULT;
  GLOBAL const i64 *RESTRICT counts = IN(i64, BUF_ARG1);
  ROWS(i, n) { o[i] = OF(WIDE_MEAN, T)(a[i], counts[i] ? counts[i] : 1); }
}
#elif OF(IS_FLOAT, T)
KERNEL(negate) {
  RESULT;
  EACH1(x, o[i] = STORED(-x))
}
KERNEL(magnitude) {
  RESULT;
  EACH1(x, o[i] = STORED(FABS(x)))
}
KERNEL(square_root) {
  RESULT;
  EACH1(x, o[i] = STORED(SQRT(x)))
}
KERNEL(divide) {
  RESULT;
  SECOND;
  EACH2(x, y, o[i] = STORED(x / y))
}
KERNEL(divide_checked) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0, STORED(x / y))
}
#else
#if OF(IS_SIGNED, T)
#define ABS_OF(x) ((x) < 0 ? (T)(0 - (W)(x)) : (x))
#define SUM_WRAPS(x, y) ((((x) ^ SUM_OF(x, y)) & ((y) ^ SUM_OF(x, y))) < 0)
#define DIFFERENCE_WRAPS(x, y) ((((x) ^ (y)) & ((x) ^ DIFFERENCE_OF(x, y))) < 0)
#define QUOTIENT_WRAPS(x, y) ((y) == -1 && (x) == LEAST)
#else
#define ABS_OF(x) (x)
#define SUM_WRAPS(x, y) (SUM_OF(x, y) < (x))
#define DIFFERENCE_WRAPS(x, y) ((x) < (y))
#define QUOTIENT_WRAPS(x, y) 0
#endif
/* Of 64 bits the product is divided again; below them it is made in 64 bits. */
#define PRODUCT_WRAPS(x, y)                                                                                     \
  (sizeof(T) == 8 ? (x) != 0 && (QUOTIENT_WRAPS(y, x) || QUOTIENT_WRAPS(x, y) || PRODUCT_OF(x, y) / (x) != (y)) \
                  : (SUM_TYPE)(x) * (SUM_TYPE)(y) != (SUM_TYPE)PRODUCT_OF(x, y))
#define SUM_TYPE OF(SUM, T)

KERNEL(negate) {
  RESULT;
  EACH1(x, o[i] = DIFFERENCE_OF(0, x))
}
KERNEL(magnitude) {
  RESULT;
  EACH1(x, o[i] = ABS_OF(x))
}
KERNEL(add_checked) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_OVERFLOW, SUM_WRAPS(x, y), SUM_OF(x, y))
}
KERNEL(subtract_checked) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_OVERFLOW, DIFFERENCE_WRAPS(x, y), DIFFERENCE_OF(x, y))
}
KERNEL(multiply_checked) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_OVERFLOW, PRODUCT_WRAPS(x, y), PRODUCT_OF(x, y))
}
KERNEL(negate_checked) {
  RESULT;
  CHECKED(BY_ONE, KERNEL_ERROR_OVERFLOW, OF(IS_SIGNED, T) ? x == LEAST : x != 0, DIFFERENCE_OF(0, x))
}
KERNEL(magnitude_checked) {
  RESULT;
  CHECKED(BY_ONE, KERNEL_ERROR_OVERFLOW, OF(IS_SIGNED, T) && x == LEAST, ABS_OF(x))
}
/* What could trap is done with other numbers; the least number by -1 is 0, as in Arrow. */
#define QUOTIENT_OF(x, y) ((y) == 0 || QUOTIENT_WRAPS(x, y) ? (T)0 : (T)((x) / (y)))
KERNEL(divide) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0, QUOTIENT_OF(x, y))
}
KERNEL(divide_checked) {
  RESULT;
  SECOND;
  CHECKED(BY_TWO, y == 0 ? KERNEL_ERROR_DIVIDE_BY_ZERO : KERNEL_ERROR_OVERFLOW, y == 0 || QUOTIENT_WRAPS(x, y),
          QUOTIENT_OF(x, y))
}
#undef ABS_OF
#undef SUM_WRAPS
#undef DIFFERENCE_WRAPS
#undef QUOTIENT_WRAPS
#undef PRODUCT_WRAPS
#undef QUOTIENT_OF
#undef SUM_TYPE
#endif
#undef EACH1
#undef EACH2
#undef RESULT
#undef SECOND
#undef COUNTS
#undef CHECKED
#undef BY_ONE
#undef BY_TWO
#undef W
#undef V
#undef LOADED
#undef STORED
#undef SUM_OF
#undef DIFFERENCE_OF
#undef PRODUCT_OF
#undef LEAST
