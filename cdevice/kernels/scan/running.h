/* running.h - of each row what it and all rows before it come to: their sum, product, least, greatest.
 *
 * One order on every device, so that floats have the same bits: rows are added up in pieces of 32, the pieces of a tile
 * of FILTER_TILE_ROWS one after the other, the tiles in WORK_GROUP_SIZE runs of them, the runs one after the other from
 * the start value on. A row is what lies before its piece, joined with what its piece has up to it. Null rows count as
 * nothing. */
#define PIECE_ROWS 32
#define W OF(WRAP, T)
#if OF(IS_FLOAT, T)
#define ONE_NAN(x) ((x) != (x) ? OF(QUIET, T) : (x)) /* which of them an addition leaves is the compiler's */
#define NOTHING_LEAST OF(MAX, T)
#define NOTHING_GREATEST OF(MIN, T)
#define NOT_GREATER(x, y) (((int)((y) < (x)) | (int)((x) != (x))) ? (y) : (x))
#define NOT_LESS(x, y) (((int)((y) > (x)) | (int)((x) != (x))) ? (y) : (x))
#else
#define ONE_NAN(x) (x)
#define NOTHING_LEAST ((T)OF(MAX, T))
#define NOTHING_GREATEST ((T)OF(MIN, T))
#define NOT_GREATER(x, y) ((y) < (x) ? (y) : (x))
#define NOT_LESS(x, y) ((y) > (x) ? (y) : (x))
#endif
#define SUM_OF(x, y) ((T)((W)(x) + (W)(y)))
#define PRODUCT_OF(x, y) ((T)((W)(x) * (W)(y)))

#define VALUES_AND_NULLS                                                      \
  GLOBAL const T *RESTRICT a = IN(T, BUF_RUNNING_VALUES);                     \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_RUNNING_VALIDITY); \
  const i64 validity_offset = OFFSET(BUF_RUNNING_VALIDITY), n = SCALAR(SCALAR_ROWS)
/* The rows from i on that count. */
#define COUNTED(i) ((i) < n ? bits32(validity, validity_offset, i, n) & tail(i, n) : 0u)
/* s joined with the rows of a piece; which of them are null is no branch where the piece is whole. */
#define FOLD_PIECE(s, i, join, identity)                                \
  {                                                                     \
    const u32 m_ = COUNTED(i);                                          \
    if (m_ == ~0u) {                                                    \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++) s = join(s, a[(i) + l_]); \
    } else if ((i) + PIECE_ROWS <= n) {                                 \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++) {                         \
        const T y_ = a[(i) + l_], z_ = (m_ >> l_ & 1u) ? y_ : identity; \
        s = join(s, z_);                                                \
      }                                                                 \
    } else {                                                            \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++)                           \
        if (m_ >> l_ & 1u) s = join(s, a[(i) + l_]);                    \
    }                                                                   \
  }
/* The same, and the rows of the result: with `before`, the value of the rows before the piece. */
#define WRITE_PIECE(s, i, before, join, identity)                       \
  {                                                                     \
    const u32 m_ = COUNTED(i);                                          \
    if (m_ == ~0u) {                                                    \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++) {                         \
        s = join(s, a[(i) + l_]);                                       \
        const T x_ = join(before, s);                                   \
        o[(i) + l_] = ONE_NAN(x_);                                      \
      }                                                                 \
    } else if ((i) + PIECE_ROWS <= n) {                                 \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++) {                         \
        const T y_ = a[(i) + l_], z_ = (m_ >> l_ & 1u) ? y_ : identity; \
        s = join(s, z_);                                                \
        const T x_ = join(before, s);                                   \
        o[(i) + l_] = ONE_NAN(x_);                                      \
      }                                                                 \
    } else {                                                            \
      for (int l_ = 0; l_ < PIECE_ROWS; l_++) {                         \
        if (m_ >> l_ & 1u) s = join(s, a[(i) + l_]);                    \
        const T x_ = join(before, s);                                   \
        if ((i) + l_ < n) o[(i) + l_] = ONE_NAN(x_);                    \
      }                                                                 \
    }                                                                   \
  }
/* What lies before each tile, in place; n are the tiles. A run of them for each lane. */
#define BEGINS                                      \
  GLOBAL T *RESTRICT o = OUT(T, BUF_RUNNING_TILES); \
  const i64 n = SCALAR(SCALAR_ROWS), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE
#define RUN_BEGIN(lane) ((lane) * each < n ? (lane) * each : n)
#define WRITE_BEGINS(lane, before, join)                             \
  for (i64 t_ = RUN_BEGIN(lane); t_ < RUN_BEGIN((lane) + 1); t_++) { \
    const T x_ = o[t_];                                              \
    o[t_] = before;                                                  \
    before = join(before, x_);                                       \
  }
#if defined(CDV_COARSE)
#define FOLD_TILES(join, nothing)                                                                  \
  VALUES_AND_NULLS;                                                                                \
  TILES(t, n, FILTER_TILE_ROWS) {                                                                  \
    T all = nothing;                                                                               \
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += PIECE_ROWS) { \
      T s = nothing;                                                                               \
      FOLD_PIECE(s, i, join, nothing)                                                              \
      all = join(all, s);                                                                          \
    }                                                                                              \
    OUT(T, BUF_RUNNING_TILES)[t] = all;                                                            \
  }
#define SCAN_TILES(join, nothing)                                                          \
  BEGINS;                                                                                  \
  ITEMS(only, 1) {                                                                         \
    T sums[WORK_GROUP_SIZE], before = OF(FROM, T)(SCALAR(SCALAR_RUNNING_START));           \
    (void)only;                                                                            \
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {                                            \
      sums[k] = nothing;                                                                   \
      for (i64 t = RUN_BEGIN(k); t < RUN_BEGIN(k + 1); t++) sums[k] = join(sums[k], o[t]); \
    }                                                                                      \
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {                                            \
      T at = before;                                                                       \
      WRITE_BEGINS(k, at, join)                                                            \
      before = join(before, sums[k]);                                                      \
    }                                                                                      \
  }
#define WRITE_ROWS(join, nothing)                                                                  \
  VALUES_AND_NULLS;                                                                                \
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                                                          \
  TILES(t, n, FILTER_TILE_ROWS) {                                                                  \
    T before = IN(T, BUF_RUNNING_TILES)[t];                                                        \
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += PIECE_ROWS) { \
      T s = nothing;                                                                               \
      WRITE_PIECE(s, i, before, join, nothing)                                                     \
      before = join(before, s);                                                                    \
    }                                                                                              \
  }
/* All in one pass, by one work item. */
#define WRITE_IN_ONE_PASS(join, nothing)                                                               \
  VALUES_AND_NULLS, tiles = (n + FILTER_TILE_ROWS - 1) / FILTER_TILE_ROWS;                             \
  const i64 each = (tiles + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;                                    \
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                                                              \
  ITEMS(only, 1) {                                                                                     \
    T run = OF(FROM, T)(SCALAR(SCALAR_RUNNING_START));                                                 \
    (void)only;                                                                                        \
    for (i64 k = 0; k < tiles; k += each) {                                                            \
      T at = run, sum = nothing;                                                                       \
      for (i64 t = k; t < tiles && t < k + each; t++) {                                                \
        T before = at, all = nothing;                                                                  \
        for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += PIECE_ROWS) { \
          T s = nothing;                                                                               \
          WRITE_PIECE(s, i, before, join, nothing)                                                     \
          before = join(before, s);                                                                    \
          all = join(all, s);                                                                          \
        }                                                                                              \
        at = join(at, all);                                                                            \
        sum = join(sum, all);                                                                          \
      }                                                                                                \
      run = join(run, sum);                                                                            \
    }                                                                                                  \
  }
/* The first row that is null, or n. */
KERNEL(first_null) {
  const i64 n = SCALAR(SCALAR_ROWS);
  ITEMS(only, 1) {
    i64 first = n;
    for (i64 i = 0; i < n && first == n; i += 32) {
      const u32 m = ~bits32(RAW(const u32, BUF_RUNNING_VALIDITY), OFFSET(BUF_RUNNING_VALIDITY), i, n) & tail(i, n);
      if (m) first = i + CTZ(m);
    }
    OUT(i64, BUF_RUNNING_FIRST_NULL)[only] = first;
  }
}
#else
/* What the lanes have becomes what lies before each; sum: of all. */
#define SCAN_LANES(sum, join)                      \
  SYNC;                                            \
  if (!LID)                                        \
    for (int k_ = 0; k_ < WORK_GROUP_SIZE; k_++) { \
      const T x_ = sums[k_];                       \
      sums[k_] = sum;                              \
      sum = join(sum, x_);                         \
    }                                              \
  SYNC
#define FOLD_TILES(join, nothing)                           \
  SHARED(T, sums, WORK_GROUP_SIZE);                         \
  VALUES_AND_NULLS;                                         \
  const i64 i = (BID * WORK_GROUP_SIZE + LID) * PIECE_ROWS; \
  T s = nothing, all = nothing;                             \
  FOLD_PIECE(s, i, join, nothing)                           \
  sums[LID] = s;                                            \
  SCAN_LANES(all, join);                                    \
  if (!LID) OUT(T, BUF_RUNNING_TILES)[BID] = all;
#define SCAN_TILES(join, nothing)                                              \
  SHARED(T, sums, WORK_GROUP_SIZE);                                            \
  BEGINS;                                                                      \
  T s = nothing, all = OF(FROM, T)(SCALAR(SCALAR_RUNNING_START));              \
  for (i64 t = RUN_BEGIN(LID); t < RUN_BEGIN(LID + 1); t++) s = join(s, o[t]); \
  sums[LID] = s;                                                               \
  SCAN_LANES(all, join);                                                       \
  s = sums[LID];                                                               \
  WRITE_BEGINS(LID, s, join)
#define WRITE_ROWS(join, nothing)                           \
  SHARED(T, sums, WORK_GROUP_SIZE);                         \
  VALUES_AND_NULLS;                                         \
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                   \
  const i64 i = (BID * WORK_GROUP_SIZE + LID) * PIECE_ROWS; \
  T s = nothing, all = IN(T, BUF_RUNNING_TILES)[BID];       \
  FOLD_PIECE(s, i, join, nothing)                           \
  sums[LID] = s;                                            \
  SCAN_LANES(all, join);                                    \
  const T before = sums[LID];                               \
  s = nothing;                                              \
  WRITE_PIECE(s, i, before, join, nothing)
KERNEL(first_null) {
  SHARED(i64, found, WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS);
  i64 first = n;
  for (i64 w = 0; w < n; w += 32 * WORK_GROUP_SIZE) {
    const i64 i = w + 32 * LID;
    if (i < n && first == n) {
      const u32 m = ~bits32(RAW(const u32, BUF_RUNNING_VALIDITY), OFFSET(BUF_RUNNING_VALIDITY), i, n) & tail(i, n);
      if (m) first = i + CTZ(m);
    }
  }
  found[LID] = first;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d && found[LID + d] < found[LID]) found[LID] = found[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, BUF_RUNNING_FIRST_NULL)[0] = found[0];
}
#endif

KERNEL(sum_tiles) { FOLD_TILES(SUM_OF, ZERO(T)); }
KERNEL(sum_begins) { SCAN_TILES(SUM_OF, ZERO(T)); }
KERNEL(sum_rows) { WRITE_ROWS(SUM_OF, ZERO(T)); }
KERNEL(prod_tiles) { FOLD_TILES(PRODUCT_OF, (T)1); }
KERNEL(prod_begins) { SCAN_TILES(PRODUCT_OF, (T)1); }
KERNEL(prod_rows) { WRITE_ROWS(PRODUCT_OF, (T)1); }
KERNEL(min_tiles) { FOLD_TILES(NOT_GREATER, NOTHING_LEAST); }
KERNEL(min_begins) { SCAN_TILES(NOT_GREATER, NOTHING_LEAST); }
KERNEL(min_rows) { WRITE_ROWS(NOT_GREATER, NOTHING_LEAST); }
KERNEL(max_tiles) { FOLD_TILES(NOT_LESS, NOTHING_GREATEST); }
KERNEL(max_begins) { SCAN_TILES(NOT_LESS, NOTHING_GREATEST); }
KERNEL(max_rows) { WRITE_ROWS(NOT_LESS, NOTHING_GREATEST); }
#if defined(CDV_COARSE)
KERNEL(sum_in_one_pass) { WRITE_IN_ONE_PASS(SUM_OF, ZERO(T)); }
KERNEL(prod_in_one_pass) { WRITE_IN_ONE_PASS(PRODUCT_OF, (T)1); }
KERNEL(min_in_one_pass) { WRITE_IN_ONE_PASS(NOT_GREATER, NOTHING_LEAST); }
KERNEL(max_in_one_pass) { WRITE_IN_ONE_PASS(NOT_LESS, NOTHING_GREATEST); }
#endif

/* Of the result: rows that are not null, or those before the first that is. */
KERNEL(running_validity) {
  PACK_ROOM;
  const i64 n = SCALAR(SCALAR_ROWS), skip = SCALAR(SCALAR_RUNNING_SKIP_NULLS);
  const i64 first = skip ? 0 : IN(i64, BUF_RUNNING_FIRST_NULL)[0];
  PACK(OUT(u32, BUF_OUT), n, i,
       skip ? bit1(RAW(const u32, BUF_RUNNING_VALIDITY), OFFSET(BUF_RUNNING_VALIDITY), i) != 0 : i < first)
}
#undef PIECE_ROWS
#undef W
#undef ONE_NAN
#undef NOTHING_LEAST
#undef NOTHING_GREATEST
#undef NOT_GREATER
#undef NOT_LESS
#undef SUM_OF
#undef PRODUCT_OF
#undef VALUES_AND_NULLS
#undef COUNTED
#undef FOLD_PIECE
#undef WRITE_PIECE
#undef BEGINS
#undef RUN_BEGIN
#undef WRITE_BEGINS
#undef SCAN_LANES
#undef FOLD_TILES
#undef SCAN_TILES
#undef WRITE_ROWS
#undef WRITE_IN_ONE_PASS
