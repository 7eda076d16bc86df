/* segments.h - one value for the rows of each segment: their sum, product, minimum or maximum.
 *
 * Segment s is the places BUF_SEGMENT_BEGINS[s] to BUF_SEGMENT_ENDS[s]; BUF_SEGMENT_ROWS has the row of each place, or
 * is NULL where a place is a row.  A work item goes through a segment from its beginning to its end, so that the sum of
 * floats has the same bits on every device.  Null rows count as nothing; NaN is neither least nor
 * greatest where there is a number. */
#if OF(IS_WIDE, T)
#define SUM_OF(x, y) wide_add(x, y)
#define PRODUCT_OF(x, y) wide_multiply(x, y)
#define NOTHING_MULTIPLIED wide_signed(1)
#else
#define W OF(WRAP, T)
#define SUM_OF(x, y) ((T)((W)(x) + (W)(y)))
#define PRODUCT_OF(x, y) ((T)((W)(x) * (W)(y)))
#define NOTHING_MULTIPLIED ((T)1)
#endif
#if OF(IS_WIDE, T)
#define NOTHING_LEAST OF(MAX, T)
#define NOTHING_GREATEST OF(MIN, T)
#define MINIMUM_OF(x, y) (wide_less(y, x) ? (y) : (x))
#define MAXIMUM_OF(x, y) (wide_less(x, y) ? (y) : (x))
#elif OF(IS_FLOAT, T) /* of NaN alone the extremes are NaN */
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
#define FOLD_SEGMENTS(identity, join)                                         \
  GLOBAL const T *RESTRICT values = IN(T, BUF_SEGMENT_VALUES);                \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_SEGMENT_VALIDITY); \
  GLOBAL const i64 *RESTRICT rows = IN(i64, BUF_SEGMENT_ROWS);                \
  const i64 validity_offset = OFFSET(BUF_SEGMENT_VALIDITY);                   \
  ROWS(s, SCALAR(SCALAR_ROWS)) {                                              \
    const i64 end = IN(i64, BUF_SEGMENT_ENDS)[s];                             \
    T x = identity;                                                           \
    for (i64 i = IN(i64, BUF_SEGMENT_BEGINS)[s]; i < end; i++) {              \
      const i64 row = rows ? rows[i] : i;                                     \
      if (bit1(validity, validity_offset, row)) {                             \
        const T y = values[row];                                              \
        x = join(x, y);                                                       \
      }                                                                       \
    }                                                                         \
    OUT(T, BUF_OUT)[s] = x;                                                   \
  }
KERNEL(segment_sum) {
  FOLD_SEGMENTS(ZERO(T), SUM_OF);
}
KERNEL(segment_product) {
  FOLD_SEGMENTS(NOTHING_MULTIPLIED, PRODUCT_OF);
}
KERNEL(segment_min) {
  FOLD_SEGMENTS(NOTHING_LEAST, MINIMUM_OF);
}
KERNEL(segment_max) {
  FOLD_SEGMENTS(NOTHING_GREATEST, MAXIMUM_OF);
}
#undef FOLD_SEGMENTS
#undef MAXIMUM_OF
#undef MINIMUM_OF
#undef PRODUCT_OF
#undef SUM_OF
#undef NOTHING_GREATEST
#undef NOTHING_LEAST
#undef NOTHING_MULTIPLIED
#undef W
