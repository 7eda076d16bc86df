/* accumulate.h - what the rows of each group come to: their sum, product, minimum or maximum.
 *
 * An accumulator for each group and part of the rows takes them in their order, and the parts are folded from the first
 * to the last: so the sum of floats has the same bits on every device. Where a work item goes through many rows
 * (CDV_COARSE), that is a part; else a group's rows of a part, by the order of the rows group by group.
 * Null rows count as nothing; NaN is neither least nor greatest where there is a number. */
#define S_ OF(SUM, T)
#if OF(IS_WIDE, T)
#define SUM_OF(x, y) OF(WIDE_ADD, T)(x, y)
/* Rounded to the scale; one times a number is the number, however large it is. */
#define PRODUCT_OF(x, y) (OF(WIDE_SAME, T)(x, nothing) ? (y) : OF(WIDE_ROUNDED, T)(OF(WIDE_MULTIPLY, T)(x, y), scale))
#define ONE_ OF(WIDE_POWER, T)(scale)
#define NOTHING_LEAST OF(MAX, T)
#define NOTHING_GREATEST OF(MIN, T)
#define MINIMUM_OF(x, y) (OF(WIDE_LESS, T)(y, x) ? (y) : (x))
#define MAXIMUM_OF(x, y) (OF(WIDE_LESS, T)(x, y) ? (y) : (x))
#else
#define W OF(WRAP, S_)
#define SUM_OF(x, y) ((S_)((W)(x) + (W)(y)))
#define PRODUCT_OF(x, y) ((S_)((W)(x) * (W)(y)))
#define ONE_ ((S_)1)
#if OF(IS_FLOAT, T) /* of NaN alone the extremes are NaN */
#define NOTHING_LEAST OF(QUIET, T)
#define NOTHING_GREATEST OF(QUIET, T)
#define MINIMUM_OF(x, y) (((int)((y) < (x)) | (int)((x) != (x))) ? (y) : (x))
#define MAXIMUM_OF(x, y) (((int)((y) > (x)) | (int)((x) != (x))) ? (y) : (x))
#else
#define NOTHING_LEAST ((T)OF(MAX, T))
#define NOTHING_GREATEST ((T)OF(MIN, T))
#define MINIMUM_OF(x, y) ((y) < (x) ? (y) : (x))
#define MAXIMUM_OF(x, y) ((y) > (x) ? (y) : (x))
#endif
#endif
#if defined(CDV_COARSE)
#define ACCUMULATORS(groups) (((groups) + 63) & ~(i64)63) /* of a part: no two share a cache line */
/* Item p * ranges + q: the groups of range q in part p. */
#define ACCUMULATE(A, identity, join, value)                                                       \
  GLOBAL const T *RESTRICT values = IN(T, BUF_ACCUMULATE_VALUES);                                  \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_ACCUMULATE_VALIDITY);                   \
  GLOBAL const u32 *RESTRICT ids = IN(u32, BUF_ACCUMULATE_IDS);                                    \
  const int scale = (int)SCALAR(SCALAR_ACCUMULATE_SCALE);                                          \
  const A nothing = identity;                                                                      \
  (void)values, (void)scale; /* of counts */                                                       \
  const i64 validity_offset = OFFSET(BUF_ACCUMULATE_VALIDITY), n = SCALAR(SCALAR_ROWS);            \
  const i64 groups = SCALAR(SCALAR_ACCUMULATE_GROUPS), rows = SCALAR(SCALAR_ACCUMULATE_PART);      \
  const i64 ranges = SCALAR(SCALAR_ACCUMULATE_RANGES);                                             \
  ITEMS(item, ((n + rows - 1) / rows + (n == 0)) * ranges) {                                       \
    const i64 p = item / ranges, q = item % ranges, end = (p + 1) * rows < n ? (p + 1) * rows : n; \
    const u32 low = (u32)(groups * q / ranges), high = (u32)(groups * (q + 1) / ranges);           \
    GLOBAL A *RESTRICT o = OUT(A, BUF_OUT) + p * ACCUMULATORS(groups);                                           \
    for (i64 g = low; g < (i64)high; g++) o[g] = nothing;                                          \
    if (ranges > 1) {                                                                              \
      for (i64 row = p * rows; row < end; row++)                                                   \
        if (ids[row] - low < high - low && bit1(validity, validity_offset, row)) {                 \
          const A y = value;                                                                       \
          o[ids[row]] = join(o[ids[row]], y);                                                      \
        }                                                                                          \
    } else if (validity) {                                                                         \
      for (i64 row = p * rows; row < end; row++)                                                   \
        if (bit1(validity, validity_offset, row)) {                                                \
          const A y = value;                                                                       \
          o[ids[row]] = join(o[ids[row]], y);                                                      \
        }                                                                                          \
    } else {                                                                                       \
      for (i64 row = p * rows; row < end; row++) {                                                 \
        const A y = value;                                                                         \
        o[ids[row]] = join(o[ids[row]], y);                                                        \
      }                                                                                            \
    }                                                                                              \
  }
#else
#define ACCUMULATORS(groups) (groups)
#if !defined(PLACE_OF_ROW)
#define PLACE_OF_ROW
/* The place from `first` on whose row is not below a number; rows grow from there to `last`. */
FN i64 place_of(GLOBAL const u64 *order, i64 first, i64 last, i64 row) {
  while (first < last) {
    const i64 middle = first + (last - first) / 2;
    if ((i64)order[middle] < row)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}
#endif
/* Item p * groups + g. */
#define ACCUMULATE(A, identity, join, value)                                                                          \
  GLOBAL const T *RESTRICT values = IN(T, BUF_ACCUMULATE_VALUES);                                                     \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_ACCUMULATE_VALIDITY);                                      \
  GLOBAL const u64 *RESTRICT order = IN(u64, BUF_ACCUMULATE_ORDER);                                                   \
  const i64 validity_offset = OFFSET(BUF_ACCUMULATE_VALIDITY);                                                        \
  const int scale = (int)SCALAR(SCALAR_ACCUMULATE_SCALE);                                                             \
  const A nothing = identity;                                                                                         \
  (void)values, (void)scale;                                                                                          \
  const i64 groups = SCALAR(SCALAR_ACCUMULATE_GROUPS), rows = SCALAR(SCALAR_ACCUMULATE_PART);                         \
  ROWS(item, SCALAR(SCALAR_ROWS)) {                                                                                   \
    const i64 p = item / groups, g = item % groups;                                                                   \
    const i64 first = IN(i64, BUF_ACCUMULATE_BEGINS)[g], last = IN(i64, BUF_ACCUMULATE_ENDS)[g];                      \
    A x = nothing;                                                                                                    \
    for (i64 i = place_of(order, first, last, p * rows), end = place_of(order, first, last, (p + 1) * rows); i < end; \
         i++) {                                                                                                       \
      const i64 row = (i64)order[i];                                                                                  \
      if (bit1(validity, validity_offset, row)) {                                                                     \
        const A y = value;                                                                                            \
        x = join(x, y);                                                                                               \
      }                                                                                                               \
    }                                                                                                                 \
    OUT(A, BUF_OUT)[item] = x;                                                                                        \
  }
#endif
/* Each group's accumulators, from the first part to the last. */
#define FOLD(A, identity, join)                                               \
  GLOBAL const A *RESTRICT parts = IN(A, BUF_ACCUMULATE_PARTS);               \
  const i64 groups = SCALAR(SCALAR_ROWS), n = SCALAR(SCALAR_ACCUMULATE_PART); \
  const int scale = (int)SCALAR(SCALAR_ACCUMULATE_SCALE);                     \
  const A nothing = identity;                                                 \
  (void)scale;                                                                \
  ROWS(g, groups) {                                                           \
    A x = nothing;                                                            \
    for (i64 p = 0; p < n; p++) {                                             \
      const A y = parts[p * ACCUMULATORS(groups) + g];                                      \
      x = join(x, y);                                                         \
    }                                                                         \
    OUT(A, BUF_OUT)[g] = x;                                                   \
  }
KERNEL(accumulate_sum) { ACCUMULATE(S_, ZERO(S_), SUM_OF, values[row]); }
KERNEL(fold_sum) { FOLD(S_, ZERO(S_), SUM_OF); }
KERNEL(accumulate_product) { ACCUMULATE(S_, ONE_, PRODUCT_OF, values[row]); }
KERNEL(fold_product) { FOLD(S_, ONE_, PRODUCT_OF); }
/* How many rows are valid. */
#define ADD_COUNT(x, y) ((x) + (y))
#if defined(CDV_COARSE)
KERNEL(accumulate_count) { ACCUMULATE(i64, 0, ADD_COUNT, 1); }
#else
KERNEL(count_clear) {
  ROWS(g, SCALAR(SCALAR_ROWS)) { OUT(u32, BUF_OUT)[g] = 0; }
}
KERNEL(count_rows) {
  ROWS(row, SCALAR(SCALAR_ROWS)) {
    if (bit1(RAW(const u32, BUF_ACCUMULATE_VALIDITY), OFFSET(BUF_ACCUMULATE_VALIDITY), row))
      ATOMIC_ADD(OUT(u32, BUF_OUT) + IN(u32, BUF_ACCUMULATE_IDS)[row], 1u);
  }
}
KERNEL(count_as_i64) {
  ROWS(g, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_OUT)[g] = (i64)IN(u32, BUF_ACCUMULATE_PARTS)[g]; }
}
#endif
KERNEL(fold_count) { FOLD(i64, 0, ADD_COUNT); }
#undef ADD_COUNT
KERNEL(accumulate_min) { ACCUMULATE(T, NOTHING_LEAST, MINIMUM_OF, values[row]); }
KERNEL(fold_min) { FOLD(T, NOTHING_LEAST, MINIMUM_OF); }
KERNEL(accumulate_max) { ACCUMULATE(T, NOTHING_GREATEST, MAXIMUM_OF, values[row]); }
KERNEL(fold_max) { FOLD(T, NOTHING_GREATEST, MAXIMUM_OF); }
#undef ACCUMULATE
#undef FOLD
#undef ACCUMULATORS
#undef S_
#undef W
#undef ONE_
#undef SUM_OF
#undef PRODUCT_OF
#undef NOTHING_LEAST
#undef NOTHING_GREATEST
#undef MINIMUM_OF
#undef MAXIMUM_OF
