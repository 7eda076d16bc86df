/* join_moments.h - states of moments.h become one, by the tree of tiles.h, and at last variance, standard deviation, skewness
 * or kurtosis.  T is f64. */
#define JOIN_STATE(lane, i, m) s[lane] = moments_joined(s[lane], moments_at(states, counts, i))
#if defined(CDV_COARSE)
KERNEL(join_moments) {
  GLOBAL const f64 *states = MOMENTS_IN(BUF_SUM_IN);
  GLOBAL const i64 *counts = IN(i64, BUF_COUNT_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, REDUCE_TILE_ROWS) {
    const moment_state none = NO_MOMENTS;
    moment_state s[WORK_GROUP_SIZE];
    for (int l = 0; l < WORK_GROUP_SIZE; l++) s[l] = none;
    FOR_STATES(JOIN_STATE)
    TREE_REDUCE(s, moments_joined);
    put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), t, s[0]);
  }
}
#else
KERNEL(join_moments) {
  SHARED(moment_state, s, WORK_GROUP_SIZE);
  GLOBAL const f64 *states = MOMENTS_IN(BUF_SUM_IN);
  GLOBAL const i64 *counts = IN(i64, BUF_COUNT_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  const moment_state none = NO_MOMENTS;
  s[LID] = none;
  FOR_STATES(JOIN_STATE)
  TREE_REDUCE(s, moments_joined)
  if (!LID) put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), BID, s[0]);
}
#endif
#undef JOIN_STATE

/* The last kernels: `value`, where it is defined for so many rows. */
#define FINISH(name, is_defined, value)                                                              \
  KERNEL(name) {                                                                                     \
    ITEMS(only, 1) {                                                                                 \
      const i64 option = SCALAR(SCALAR_MOMENTS_OPTION);                                              \
      const moment_state s = moments_at(MOMENTS_IN(BUF_RESULT_VALUE), IN(i64, BUF_RESULT_COUNT), 0); \
      const f64 n = (f64)s.n;                                                                        \
      const int is_valid = RESULT_IS_VALID && (is_defined);                                          \
      const f64 x = is_valid ? (value) : (f64)0;                                                     \
      OUT(f64, BUF_RESULT)[only] = x != x ? QUIET_f64 : x; /* which NaN it is, is the compiler's */  \
      put32(OUT(u32, BUF_RESULT_VALIDITY), only, is_valid, 1);                                       \
    }                                                                                                \
  }
/* option: ddof, or 1 for the biased one. */
#define SKEW (ROOT64(n) * s.m3 / (s.m2 * ROOT64(s.m2)))
#define SKEW_UNBIASED (SKEW * ROOT64(n * (n - 1)) / (n - 2))
#define KURTOSIS (n * s.m4 / (s.m2 * s.m2) - 3)
#define KURTOSIS_UNBIASED ((n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * KURTOSIS + 6))
FINISH(finish_variance, s.n > option, s.m2 / (n - (f64)option))
FINISH(finish_stddev, s.n > option, ROOT64(s.m2 / (n - (f64)option)))
FINISH(finish_skew, s.n && (option || s.n > 2), option ? SKEW : SKEW_UNBIASED)
FINISH(finish_kurtosis, s.n && (option || s.n > 3), option ? KURTOSIS : KURTOSIS_UNBIASED)
#undef FINISH
#undef SKEW
#undef SKEW_UNBIASED
#undef KURTOSIS
#undef KURTOSIS_UNBIASED
