/* list_reduce.h - what the values of each list come to: their sum, minimum, maximum or number, or the sum of the products of
 * two lists.
 *
 * Value i of a list is of lane i modulo LIST_LANES; a lane takes its values in their order, and the lanes are folded by
 * halves: so the sum of floats depends on the list alone, and has the same bits on every device. Null values count as
 * nothing; NaN is neither least nor greatest where there is a number. Lists of one size lie one behind the other and have
 * no BUF_LIST_BEGINS and no BUF_LIST_LENGTHS. */
#define S_ OF(SUM, T)
#define LIST_LANES 16
#if defined(CDV_HOST) && defined(__GNUC__) && !defined(__clang__)
#define KEPT_LOOP _Pragma("GCC unroll 1") /* of unrolled lanes no vectors are made */
#else
#define KEPT_LOOP
#endif
#define SUM_OF(x, y) ((S_)((OF(WRAP, S_))(x) + (OF(WRAP, S_))(y)))
#define PRODUCT_OF(x, y) ((S_)((OF(WRAP, S_))(x) * (OF(WRAP, S_))(y)))
#define COUNT_OF(x, y) ((x) + (y))
#if OF(IS_FLOAT, T)
#define NOTHING_LEAST OF(QUIET, T)
#define NOTHING_GREATEST OF(QUIET, T)
#define MINIMUM_OF(x, y) (((int)((y) < (x)) | (int)((x) != (x))) ? (y) : (x))
#define MAXIMUM_OF(x, y) (((int)((y) > (x)) | (int)((x) != (x))) ? (y) : (x))
#define ONE_NAN(x, type) ((x) != (x) ? OF(QUIET, type) : (x)) /* which of them an addition leaves is the compiler's */
#else
#define NOTHING_LEAST ((T)OF(MAX, T))
#define NOTHING_GREATEST ((T)OF(MIN, T))
#define MINIMUM_OF(x, y) ((y) < (x) ? (y) : (x))
#define MAXIMUM_OF(x, y) ((y) > (x) ? (y) : (x))
#define ONE_NAN(x, type) (x)
#endif
#define IS_KNOWN(i)                                       \
  (bit1(known, OFFSET(BUF_LIST_VALIDITY), first + (i)) && \
   bit1(other_known, OFFSET(BUF_LIST_OTHER_VALIDITY), second + (i)))
#if defined(CDV_COARSE)
#define REST(A, join, value)        \
  for (; i < n; i++)                \
    if (IS_KNOWN(i)) {              \
      const A v_ = value(i);        \
      const i64 l = i % LIST_LANES; \
      s[l] = join(s[l], v_);        \
    }
#else /* lanes are registers */
#define REST(A, join, value)              \
  for (; i < n; i += LIST_LANES)          \
    for (int l = 0; l < LIST_LANES; l++)  \
      if (i + l < n && IS_KNOWN(i + l)) { \
        const A v_ = value(i + l);        \
        s[l] = join(s[l], v_);            \
      }
#endif
/* The pointers that a kernel reads: compilers warn of others. */
#define OF_ONE_ GLOBAL const T *RESTRICT x = IN(T, BUF_LIST_VALUES)
#define OF_TWO_ OF_ONE_, *RESTRICT y = IN(T, BUF_LIST_OTHER)
#define LISTS(A, nothing, join, value, result)                                                      \
  GLOBAL const u32 *RESTRICT known = RAW(const u32, BUF_LIST_VALIDITY);                             \
  GLOBAL const u32 *RESTRICT other_known = RAW(const u32, BUF_LIST_OTHER_VALIDITY);                 \
  GLOBAL const i64 *RESTRICT begins = IN(i64, BUF_LIST_BEGINS);                                     \
  GLOBAL const i64 *RESTRICT other_begins = IN(i64, BUF_LIST_OTHER_BEGINS);                         \
  GLOBAL const i64 *RESTRICT lengths = IN(i64, BUF_LIST_LENGTHS);                                   \
  const i64 size = SCALAR(SCALAR_REDUCED_SIZE);                                                     \
  ROWS(row, SCALAR(SCALAR_ROWS)) {                                                                  \
    const i64 first = begins ? begins[row] : row * size, n = lengths ? lengths[row] : size;         \
    const i64 second = other_begins ? other_begins[row] : row * size;                               \
    A s[LIST_LANES];                                                                                \
    i64 i = 0;                                                                                      \
    for (int l = 0; l < LIST_LANES; l++) s[l] = nothing;                                            \
    if (!known && !other_known)                                                                     \
      for (; i + LIST_LANES <= n; i += LIST_LANES) KEPT_LOOP for (int l = 0; l < LIST_LANES; l++) { \
          const A v_ = value(i + l);                                                                \
          s[l] = join(s[l], v_);                                                                    \
        }                                                                                           \
    REST(A, join, value)                                                                            \
    for (int d = LIST_LANES / 2; d; d >>= 1)                                                        \
      for (int l = 0; l < d; l++) s[l] = join(s[l], s[l + d]);                                      \
    OUT(A, BUF_OUT)[row] = result;                                                                  \
  }
#define VALUE_(i) x[first + (i)]
#define SUMMAND_(i) ((S_)x[first + (i)])
#define PRODUCT_(i) PRODUCT_OF((S_)x[first + (i)], (S_)y[second + (i)])
#define ONE_(i) 1
KERNEL(list_sum) { OF_ONE_; LISTS(S_, ZERO(S_), SUM_OF, SUMMAND_, ONE_NAN(s[0], S_)); }
KERNEL(list_dot) { OF_TWO_; LISTS(S_, ZERO(S_), SUM_OF, PRODUCT_, ONE_NAN(s[0], S_)); }
KERNEL(list_min) { OF_ONE_; LISTS(T, NOTHING_LEAST, MINIMUM_OF, VALUE_, ONE_NAN(s[0], T)); }
KERNEL(list_max) { OF_ONE_; LISTS(T, NOTHING_GREATEST, MAXIMUM_OF, VALUE_, ONE_NAN(s[0], T)); }
/* How many values are valid, of both lists where there are two. */
KERNEL(list_count) { LISTS(i64, 0, COUNT_OF, ONE_, s[0]); }
#undef S_
#undef LIST_LANES
#undef KEPT_LOOP
#undef SUM_OF
#undef PRODUCT_OF
#undef COUNT_OF
#undef NOTHING_LEAST
#undef NOTHING_GREATEST
#undef MINIMUM_OF
#undef MAXIMUM_OF
#undef ONE_NAN
#undef IS_KNOWN
#undef REST
#undef LISTS
#undef OF_ONE_
#undef OF_TWO_
#undef VALUE_
#undef SUMMAND_
#undef PRODUCT_
#undef ONE_
