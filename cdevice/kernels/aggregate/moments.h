/* moments.h - how numbers of type T lie around their mean, by the tree of tiles.h: the rows of a tile are summed first, and
 * then the powers of their distances from the mean, while the processor still has them near.  State: moment_state.h's. */
#define ADD_ROW(lane, i, m)       \
  {                               \
    const f64 x_ = (f64)a[i];     \
    s[lane] += (m) ? x_ : (f64)0; \
  }
#define ADD_SQUARE(lane, i, m)        \
  {                                   \
    const f64 x_ = (f64)a[i] - mean;  \
    const f64 d_ = (m) ? x_ : (f64)0; \
    s[lane] += d_;                    \
    squares[lane] += d_ * d_;         \
  }
#define ADD_POWERS(lane, i, m)          \
  {                                     \
    const f64 x_ = (f64)a[i] - mean;    \
    const f64 d_ = (m) ? x_ : (f64)0;   \
    const f64 square_ = d_ * d_;        \
    s[lane] += d_;                      \
    squares[lane] += square_;           \
    cubes[lane] += square_ * d_;        \
    fourths[lane] += square_ * square_; \
  }
#if defined(CDV_COARSE)
#define LANES(s) \
  for (int l = 0; l < WORK_GROUP_SIZE; l++) s[l] = 0
/* Of a dense tile, the second time: a few lanes are summed after the others, so that their sums stay in registers. */
#define FEW_LANES 8
#define EACH_DISTANCE(add)                                            \
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE)         \
    for (int l = 0; l < FEW_LANES; l++) {                             \
      const f64 d_ = (f64)a[t * REDUCE_TILE_ROWS + r + g + l] - mean; \
      add                                                             \
    }
/* The mean of tile t, which has c valid rows: then all is zero again. */
#define MEAN_OF_TILE(c)                            \
  LANES(s);                                        \
  {FOR_TILE(ADD_ROW, c)} TREE_REDUCE(s, TILE_ADD); \
  const f64 mean = c ? s[0] / (f64)c : (f64)0;     \
  LANES(s)
KERNEL(moments_2) {
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, REDUCE_TILE_ROWS) {
    f64 s[WORK_GROUP_SIZE], squares[WORK_GROUP_SIZE];
    i64 c = 0, again = 0;
    MEAN_OF_TILE(c);
    LANES(squares);
    if (TILE_IS_DENSE) {
      for (int g = 0; g < WORK_GROUP_SIZE; g += FEW_LANES) {
        f64 s1[FEW_LANES] = {0}, s2[FEW_LANES] = {0};
        EACH_DISTANCE(s1[l] += d_; s2[l] += d_ * d_;)
        for (int l = 0; l < FEW_LANES; l++) s[g + l] = s1[l], squares[g + l] = s2[l];
      }
    } else {
      FOR_TILE(ADD_SQUARE, again)
    }
    TREE_REDUCE(s, TILE_ADD);
    TREE_REDUCE(squares, TILE_ADD);
    put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), t, moments_around(mean, c, s[0], squares[0], 0, 0));
  }
}
KERNEL(moments_4) {
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, REDUCE_TILE_ROWS) {
    f64 s[WORK_GROUP_SIZE], squares[WORK_GROUP_SIZE], cubes[WORK_GROUP_SIZE], fourths[WORK_GROUP_SIZE];
    i64 c = 0, again = 0;
    MEAN_OF_TILE(c);
    LANES(squares);
    LANES(cubes);
    LANES(fourths);
    if (TILE_IS_DENSE) {
      for (int g = 0; g < WORK_GROUP_SIZE; g += FEW_LANES) {
        f64 s1[FEW_LANES] = {0}, s2[FEW_LANES] = {0}, s3[FEW_LANES] = {0}, s4[FEW_LANES] = {0};
        EACH_DISTANCE(const f64 e_ = d_ * d_; s1[l] += d_; s2[l] += e_; s3[l] += e_ * d_; s4[l] += e_ * e_;)
        for (int l = 0; l < FEW_LANES; l++)
          s[g + l] = s1[l], squares[g + l] = s2[l], cubes[g + l] = s3[l], fourths[g + l] = s4[l];
      }
    } else {
      FOR_TILE(ADD_POWERS, again)
    }
    TREE_REDUCE(s, TILE_ADD);
    TREE_REDUCE(squares, TILE_ADD);
    TREE_REDUCE(cubes, TILE_ADD);
    TREE_REDUCE(fourths, TILE_ADD);
    put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), t,
                moments_around(mean, c, s[0], squares[0], cubes[0], fourths[0]));
  }
}
#undef LANES
#undef FEW_LANES
#undef EACH_DISTANCE
#else
#define MEAN_OF_TILE(c)                            \
  s[LID] = 0;                                      \
  FOR_TILE(ADD_ROW, c)                             \
  counts[LID] = c;                                 \
  TREE_REDUCE(s, TILE_ADD)                         \
  TREE_REDUCE(counts, TILE_ADD)                    \
  const i64 all = counts[0];                       \
  const f64 mean = all ? s[0] / (f64)all : (f64)0; \
  SYNC; /* all have read it */                     \
  s[LID] = 0
KERNEL(moments_2) {
  SHARED(f64, s, WORK_GROUP_SIZE);
  SHARED(f64, squares, WORK_GROUP_SIZE);
  SHARED(i64, counts, WORK_GROUP_SIZE);
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  i64 c = 0;
  MEAN_OF_TILE(c);
  squares[LID] = 0;
  FOR_TILE(ADD_SQUARE, c)
  TREE_REDUCE(s, TILE_ADD)
  TREE_REDUCE(squares, TILE_ADD)
  if (!LID)
    put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), BID, moments_around(mean, all, s[0], squares[0], 0, 0));
}
KERNEL(moments_4) {
  SHARED(f64, s, WORK_GROUP_SIZE);
  SHARED(f64, squares, WORK_GROUP_SIZE);
  SHARED(f64, cubes, WORK_GROUP_SIZE);
  SHARED(f64, fourths, WORK_GROUP_SIZE);
  SHARED(i64, counts, WORK_GROUP_SIZE);
  GLOBAL const T *RESTRICT a = IN(T, BUF_SUM_IN);
  const i64 n = SCALAR(SCALAR_ROWS);
  i64 c = 0;
  MEAN_OF_TILE(c);
  squares[LID] = 0, cubes[LID] = 0, fourths[LID] = 0;
  FOR_TILE(ADD_POWERS, c)
  TREE_REDUCE(s, TILE_ADD)
  TREE_REDUCE(squares, TILE_ADD)
  TREE_REDUCE(cubes, TILE_ADD)
  TREE_REDUCE(fourths, TILE_ADD)
  if (!LID)
    put_moments(MOMENTS_OUT, OUT(i64, BUF_SUM_COUNT_OUT), BID,
                moments_around(mean, all, s[0], squares[0], cubes[0], fourths[0]));
}
#endif
#undef ADD_ROW
#undef ADD_SQUARE
#undef ADD_POWERS
#undef MEAN_OF_TILE
