/* reduce.h - many numbers of type T become one, by the tree of tiles.h.
 *
 * State: a value, and how many rows it is of (i64). */
#define A OF(SUM, T)
#if OF(IS_WIDE, T)
#define ADD_WRAP(x, y) OF(WIDE_ADD, T)(x, y)
#define SUMMAND(x) (x)
#else
#define ADD_WRAP(x, y) ((A)((OF(WRAP, A))(x) + (OF(WRAP, A))(y))) /* integers wrap */
#define MULTIPLY_WRAP(x, y) ((A)((OF(WRAP, A))(x) * (OF(WRAP, A))(y)))
#define SUMMAND(x) ((A)(x))
#endif

/* Sums, or products, and counts of the tiles: of rows, or of the results of tiles before and their counts. */
#define ADD(lane, i, m)                                       \
  {                                                           \
    const T x_ = a[i];                                        \
    s[lane] = ADD_WRAP(s[lane], (m) ? SUMMAND(x_) : ZERO(A)); \
  }
#define ADD_STATE(lane, i, m) s[lane] = ADD_WRAP(s[lane], SUMMAND(a[i])), more += counted[i]
#define MULTIPLY(lane, i, m)                              \
  {                                                       \
    const T x_ = a[i];                                    \
    s[lane] = MULTIPLY_WRAP(s[lane], (m) ? (A)x_ : (A)1); \
  }
#define MULTIPLY_STATE(lane, i, m) s[lane] = MULTIPLY_WRAP(s[lane], (A)a[i]), more += counted[i]
#if defined(CDV_COARSE)
#define FOLD(name, row, state, join, neutral)                     \
  KERNEL(name) {                                                  \
    GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);               \
    GLOBAL const i64 *RESTRICT counted = IN(i64, BUF_COUNT_IN);   \
    const i64 n = SCALAR(SCALAR_ROWS);                            \
    TILES(t, n, REDUCE_TILE_ROWS) {                               \
      A s[WORK_GROUP_SIZE];                                       \
      i64 c = 0, more = 0;                                        \
      for (int l = 0; l < WORK_GROUP_SIZE; l++) s[l] = (neutral); \
      if (counted) {                                              \
        FOR_STATES(state)                                         \
      } else {                                                    \
        FOR_TILE(row, c)                                          \
      }                                                           \
      TREE_REDUCE(s, join);                                       \
      OUT(A, BUF_SUM_OUT)[t] = s[0];                              \
      OUT(i64, BUF_SUM_COUNT_OUT)[t] = counted ? more : c;        \
    }                                                             \
  }
#else
#define FOLD(name, row, state, join, neutral)                                                \
  KERNEL(name) {                                                                             \
    SHARED(A, s, WORK_GROUP_SIZE);                                                           \
    SHARED(i64, counts, WORK_GROUP_SIZE);                                                    \
    GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);                                          \
    GLOBAL const i64 *RESTRICT counted = IN(i64, BUF_COUNT_IN);                              \
    const i64 n = SCALAR(SCALAR_ROWS);                                                       \
    i64 c = 0, more = 0;                                                                     \
    s[LID] = (neutral);                                                                      \
    if (counted) {                                                                           \
      FOR_TILE(state, c)                                                                     \
    } else {                                                                                 \
      FOR_TILE(row, c)                                                                       \
    }                                                                                        \
    counts[LID] = counted ? more : c;                                                        \
    TREE_REDUCE(s, join)                                                                     \
    TREE_REDUCE(counts, TILE_ADD)                                                            \
    if (!LID) OUT(A, BUF_SUM_OUT)[BID] = s[0], OUT(i64, BUF_SUM_COUNT_OUT)[BID] = counts[0]; \
  }
#endif
FOLD(sum, ADD, ADD_STATE, ADD_WRAP, ZERO(A))
#if !OF(IS_WIDE, T)
FOLD(product, MULTIPLY, MULTIPLY_STATE, MULTIPLY_WRAP, (A)1)
#else
/* Row after row, because each step is rounded to the scale; by one item. */
KERNEL(product) {
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  GLOBAL const i64 *RESTRICT counted = IN(i64, BUF_COUNT_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  const int scale = (int)SCALAR(SCALAR_PRODUCT_SCALE);
  ITEMS(only, 1) {
    i64 c = 0;
    T p = OF(FROM, T)(1);
    for (int k = 0; k < scale; k++) p = OF(WIDE_MULTIPLY, T)(p, OF(FROM, T)(10));
    for (i64 i = 0; i < n; i++) {
      const i64 more = counted ? counted[i] : (i64)bit1(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN), i);
      if (more) p = c ? OF(WIDE_ROUNDED, T)(OF(WIDE_MULTIPLY, T)(p, a[i]), scale) : a[i];
      c += more;
    }
    OUT(T, BUF_SUM_OUT)[only] = p;
    OUT(i64, BUF_SUM_COUNT_OUT)[only] = c;
  }
}
#endif
#undef ADD
#undef ADD_STATE
#undef MULTIPLY
#undef MULTIPLY_STATE
#undef FOLD

/* As sum, but no sum wraps: sums of type w128, of the rows' halves apart. */
#define ADD_HALVES(lane, i, m)                 \
  {                                            \
    const T x_ = (m) ? a[i] : 0;               \
    low[lane] += (i64)((u64)x_ & 0xffffffffu); \
    high[lane] += (i64)(x_ >> 32);             \
  }
#define OF_HALVES(low, high) wide_add(wide_make((u64)((high) >> 32), (u64)(high) << 32), wide_make(0, (u64)(low)))
#if OF(IS_LONG, T)
#if defined(CDV_COARSE)
KERNEL(sum_exactly) {
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, REDUCE_TILE_ROWS) {
    i64 low[WORK_GROUP_SIZE], high[WORK_GROUP_SIZE];
    i64 c = 0;
    for (int l = 0; l < WORK_GROUP_SIZE; l++) low[l] = 0, high[l] = 0;
    FOR_TILE(ADD_HALVES, c)
    TREE_REDUCE(low, TILE_ADD);
    TREE_REDUCE(high, TILE_ADD);
    OUT(w128, BUF_SUM_OUT)[t] = OF_HALVES(low[0], high[0]);
    OUT(i64, BUF_SUM_COUNT_OUT)[t] = c;
  }
}
#else
KERNEL(sum_exactly) {
  SHARED(i64, low, WORK_GROUP_SIZE);
  SHARED(i64, high, WORK_GROUP_SIZE);
  SHARED(i64, counts, WORK_GROUP_SIZE);
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  i64 c = 0;
  low[LID] = 0, high[LID] = 0;
  FOR_TILE(ADD_HALVES, c)
  counts[LID] = c;
  TREE_REDUCE(low, TILE_ADD)
  TREE_REDUCE(high, TILE_ADD)
  TREE_REDUCE(counts, TILE_ADD)
  if (!LID) OUT(w128, BUF_SUM_OUT)[BID] = OF_HALVES(low[0], high[0]), OUT(i64, BUF_SUM_COUNT_OUT)[BID] = counts[0];
}
#endif
#endif
#undef ADD_HALVES
#undef OF_HALVES

/* Least, greatest and counts of the tiles: of rows, which are BUF_MIN_IN and BUF_MAX_IN, or of tiles before. NaN is
 * ignored. */
#if OF(IS_WIDE, T)
#define MIN_SKIP_NAN(x, y) (OF(WIDE_LESS, T)(y, x) ? (y) : (x))
#define MAX_SKIP_NAN(x, y) (OF(WIDE_LESS, T)(x, y) ? (y) : (x))
#else
#define MIN_SKIP_NAN(x, y) (((int)((y) < (x)) | (int)((x) != (x))) ? (y) : (x)) /* no ||, which would be a branch */
#define MAX_SKIP_NAN(x, y) (((int)((y) > (x)) | (int)((x) != (x))) ? (y) : (x))
#endif
#define NOTHING_LEAST (OF(IS_FLOAT, T) ? NAN_OF : OF(MAX, T))
#define NOTHING_GREATEST (OF(IS_FLOAT, T) ? NAN_OF : OF(MIN, T))
#if OF(IS_FLOAT, T)
#define NAN_OF OF(QUIET, T)
#else
#define NAN_OF ZERO(T)
#endif
#define EXTREMES(lane, i, m)                     \
  {                                              \
    low[lane] = MIN_SKIP_NAN(low[lane], a[i]);   \
    high[lane] = MAX_SKIP_NAN(high[lane], b[i]); \
    more += counted[i];                          \
  }
#define SIMPLE(lane, i, m)                                   \
  {                                                          \
    const T v_ = a[i], x_ = (m) ? v_ : p, y_ = (m) ? v_ : q; \
    low[lane] = MIN_SKIP_NAN(low[lane], x_);                 \
    high[lane] = MAX_SKIP_NAN(high[lane], y_);               \
  }
#if defined(CDV_COARSE)
KERNEL(min_max) {
  GLOBAL const T *RESTRICT a = IN(T, BUF_MIN_IN);
  GLOBAL const T *RESTRICT b = IN(T, BUF_MAX_IN);
  GLOBAL const i64 *RESTRICT counted = IN(i64, BUF_COUNT_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  const T p = NOTHING_LEAST, q = NOTHING_GREATEST;
  TILES(t, n, REDUCE_TILE_ROWS) {
    T low[WORK_GROUP_SIZE], high[WORK_GROUP_SIZE];
    i64 c = 0, more = 0;
    for (int l = 0; l < WORK_GROUP_SIZE; l++) low[l] = p, high[l] = q;
    if (counted) {
      FOR_STATES(EXTREMES)
    } else {
      FOR_TILE(SIMPLE, c)
    }
    TREE_REDUCE(low, MIN_SKIP_NAN);
    TREE_REDUCE(high, MAX_SKIP_NAN);
    OUT(T, BUF_MIN_OUT)[t] = low[0];
    OUT(T, BUF_MAX_OUT)[t] = high[0];
    OUT(i64, BUF_EXTREMES_COUNT_OUT)[t] = counted ? more : c;
  }
}
#else
KERNEL(min_max) {
  SHARED(T, low, WORK_GROUP_SIZE);
  SHARED(T, high, WORK_GROUP_SIZE);
  SHARED(i64, counts, WORK_GROUP_SIZE);
  GLOBAL const T *RESTRICT a = IN(T, BUF_MIN_IN);
  GLOBAL const T *RESTRICT b = IN(T, BUF_MAX_IN);
  GLOBAL const i64 *RESTRICT counted = IN(i64, BUF_COUNT_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  const T p = NOTHING_LEAST, q = NOTHING_GREATEST;
  i64 c = 0, more = 0;
  low[LID] = p, high[LID] = q;
  if (counted) {
    FOR_TILE(EXTREMES, c)
  } else {
    FOR_TILE(SIMPLE, c)
  }
  counts[LID] = counted ? more : c;
  TREE_REDUCE(low, MIN_SKIP_NAN)
  TREE_REDUCE(high, MAX_SKIP_NAN)
  TREE_REDUCE(counts, TILE_ADD)
  if (!LID) OUT(T, BUF_MIN_OUT)
  [BID] = low[0], OUT(T, BUF_MAX_OUT)[BID] = high[0], OUT(i64, BUF_EXTREMES_COUNT_OUT)[BID] = counts[0];
}
#endif
#undef EXTREMES
#undef SIMPLE
#undef MIN_SKIP_NAN
#undef MAX_SKIP_NAN
#undef NOTHING_LEAST
#undef NOTHING_GREATEST
#undef NAN_OF

/* The end of all of them. */
#if OF(IS_FLOAT, T)
#define ONE_NAN(x, type) ((x) != (x) ? OF(QUIET, type) : (x)) /* which of them an addition leaves is the compiler's */
#else
#define ONE_NAN(x, type) (x)
#endif
KERNEL(finish) {
  ITEMS(only, 1) {
    const T x = IN(T, BUF_RESULT_VALUE)[0];
    OUT(T, BUF_RESULT)[only] = ONE_NAN(x, T);
    put32(OUT(u32, BUF_RESULT_VALIDITY), only, RESULT_IS_VALID, 1);
  }
}
KERNEL(finish_mean) {
  ITEMS(only, 1) {
    const i64 c = IN(i64, BUF_RESULT_COUNT)[0];
#if OF(IS_WIDE, T)
    OUT(T, BUF_RESULT)[only] = OF(WIDE_MEAN, T)(IN(T, BUF_RESULT_VALUE)[0], c ? c : 1);
    put32(OUT(u32, BUF_RESULT_VALIDITY), only, c && RESULT_IS_VALID, 1); /* decimals have no NaN */
#else
    const f64 x = (f64)IN(T, BUF_RESULT_VALUE)[0] / (f64)c;
    OUT(f64, BUF_RESULT)[only] = c ? ONE_NAN(x, f64) : QUIET_f64;
    put32(OUT(u32, BUF_RESULT_VALIDITY), only, RESULT_IS_VALID, 1);
#endif
  }
}
#if OF(IS_WIDE, T) == 1
KERNEL(finish_mean_of_integers) {
  ITEMS(only, 1) {
    const w128 sum = IN(T, BUF_RESULT_VALUE)[0];
    const i64 c = IN(i64, BUF_RESULT_COUNT)[0];
    w128 m = wide_magnitude(sum);
    f64 unit = 1;
    while (m.high) { /* bits that are cut off stay visible in the last bit, far behind those of a float */
      m.low = m.low >> 1 | m.high << 63 | (m.low & 1u);
      m.high >>= 1;
      unit *= 2;
    }
    const f64 x = (f64)m.low * unit / (f64)c;
    OUT(f64, BUF_RESULT)[only] = c ? (wide_below0(sum) ? -x : x) : QUIET_f64;
    put32(OUT(u32, BUF_RESULT_VALIDITY), only, RESULT_IS_VALID, 1);
  }
}
#endif
#undef ONE_NAN
#undef A
#undef ADD_WRAP
#undef MULTIPLY_WRAP
#undef SUMMAND
