/* each.h - loops over rows of type T: x is a row of the first argument, y of the second one.  ROUND_*: protocol.h. */
#define FIRST_OF_TWO OF(LOAD, T)(ARG_KIND(0) ? ONE(T, 0, in_0) : ZERO(T))
#define SECOND_OF_TWO OF(LOAD, T)(ARG_KIND(1) ? ONE(T, 1, in_1) : ZERO(T))
#define ONE_ARGUMENT(result)                           \
  GLOBAL result *RESTRICT out_ = OUT(result, BUF_OUT); \
  GLOBAL const T *RESTRICT in_0 = IN(T, BUF_ARG0);     \
  const i64 rows_ = SCALAR(SCALAR_ROWS);               \
  (void)rows_
#define TWO_ARGUMENTS(result)                                        \
  ONE_ARGUMENT(result);                                              \
  GLOBAL const T *RESTRICT in_1 = IN(T, BUF_ARG1);                   \
  const OF(VALUE, T) first_ = FIRST_OF_TWO, second_ = SECOND_OF_TWO; \
  (void)first_, (void)second_
#define EACH_OF_ONE(action)                                    \
  {ROWS(i, rows_){const OF(VALUE, T) x = OF(LOAD, T)(in_0[i]); \
  (void)x;                                                     \
  action;                                                      \
  }                                                            \
  }
#define EACH_OF_TWO(action)                                                  \
  if (!ARG_KIND(0) && !ARG_KIND(1)) {                                        \
    ROWS(i, rows_) {                                                         \
      const OF(VALUE, T) x = OF(LOAD, T)(in_0[i]), y = OF(LOAD, T)(in_1[i]); \
      (void)x, (void)y;                                                      \
      action;                                                                \
    }                                                                        \
  } else if (!ARG_KIND(0)) {                                                 \
    const OF(VALUE, T) y = second_;                                          \
    ROWS(i, rows_) {                                                         \
      const OF(VALUE, T) x = OF(LOAD, T)(in_0[i]);                           \
      (void)x, (void)y;                                                      \
      action;                                                                \
    }                                                                        \
  } else {                                                                   \
    const OF(VALUE, T) x = first_;                                           \
    ROWS(i, rows_) {                                                         \
      const OF(VALUE, T) y = ARG_KIND(1) ? second_ : OF(LOAD, T)(in_1[i]);   \
      (void)x, (void)y;                                                      \
      action;                                                                \
    }                                                                        \
  }
#define IS_NEGATIVE(x) (OF(IS_SIGNED, T) && (i64)(x) < 0) /* of an integer */
#define ROW_COUNTS(i) bit1(RAW(u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i)
/* First all rows; then, where any is wrong, which of them count. */
#define EACH_CHECKED(each, code, wrong, value)                                          \
  int bad_ = 0;                                                                         \
  each(out_[i] = (value); bad_ |= (wrong));                                             \
  if (bad_) {                                                                           \
    each(if ((wrong) && ROW_COUNTS(i)) report_error(OUT(i64, BUF_ERROR), code, (i64)0)) \
  }
