/* tiles.h - the tree by which many rows become one, the same on every device: tiles of REDUCE_TILE_ROWS rows in
 * WORK_GROUP_SIZE lanes, lane l adding rows l, l + WORK_GROUP_SIZE, ... one after the other; then the lanes by halves; then
 * the tiles in the same way. */
#define TILE_VALIDITY(i) bits32(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN), i, n)

#if defined(CDV_COARSE)
#define TREE_REDUCE(s, join)                       \
  for (int d_ = WORK_GROUP_SIZE / 2; d_; d_ >>= 1) \
    for (int l_ = 0; l_ < d_; l_++) s[l_] = join(s[l_], s[l_ + d_])
/* Is tile t whole, and without nulls? */
#define TILE_IS_DENSE ((t + 1) * REDUCE_TILE_ROWS <= n && !RAW(const u32, BUF_VALIDITY_IN))
/* Goes through the rows of tile t: add(lane, row, is it valid).  c becomes the number of valid rows.  In a dense tile no mask
 * need be spread over the rows; they are read one after the other, as memory is fastest. */
#define FOR_TILE(add, c)                                                               \
  const i64 from = t * REDUCE_TILE_ROWS;                                               \
  if (TILE_IS_DENSE) {                                                                 \
    for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE)                        \
      for (int g = 0; g < WORK_GROUP_SIZE; g += 32)                                    \
        for (int l = 0; l < 32; l++) add(g + l, from + r + g + l, 1u);                 \
    c += REDUCE_TILE_ROWS;                                                             \
  } else if (from + REDUCE_TILE_ROWS <= n) {                                           \
    for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE)                        \
      for (int g = 0; g < WORK_GROUP_SIZE; g += 32) {                                  \
        const u32 m = TILE_VALIDITY(from + r + g);                                     \
        c += POPC(m);                                                                  \
        for (int l = 0; l < 32; l++) add(g + l, from + r + g + l, (m >> l) & 1u);      \
      }                                                                                \
  } else {                                                                             \
    ONE_BY_ONE for (i64 i = from; i < n; i++) {                                        \
      const int l = (int)((u64)(i - from) % WORK_GROUP_SIZE);                          \
      const u32 m = bit1(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN), i); \
      c += m;                                                                          \
      add(l, i, m);                                                                    \
    }                                                                                  \
  }
/* The same of states, of which none is null: there are few, and one plain loop is what compilers take least time for. */
#define FOR_STATES(add)                                                      \
  const i64 from = t * REDUCE_TILE_ROWS;                                     \
  ONE_BY_ONE for (i64 i = from; i < n && i < from + REDUCE_TILE_ROWS; i++) { \
    const int l = (int)((u64)(i - from) % WORK_GROUP_SIZE);                  \
    add(l, i, 1u);                                                           \
  }
#else
#define TREE_REDUCE(s, join)                          \
  SYNC;                                               \
  for (int d_ = WORK_GROUP_SIZE / 2; d_; d_ >>= 1) {  \
    if (LID < d_) s[LID] = join(s[LID], s[LID + d_]); \
    SYNC;                                             \
  }
#define FOR_TILE(add, c)                                                               \
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE) {                        \
    const i64 i = BID * REDUCE_TILE_ROWS + r + LID;                                    \
    if (i < n) {                                                                       \
      const u32 m = bit1(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN), i); \
      c += m;                                                                          \
      add(LID, i, m);                                                                  \
    }                                                                                  \
  }
#define FOR_STATES(add)                                         \
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE) { \
    const i64 i = BID * REDUCE_TILE_ROWS + r + LID;             \
    if (i < n) add(LID, i, 1u);                                 \
  }
#endif
#define TILE_ADD(x, y) ((x) + (y))

/* Of the last kernel: the result is valid where enough rows count, and, unless nulls are skipped, all. */
#define RESULT_IS_VALID                                        \
  (IN(i64, BUF_RESULT_COUNT)[0] >= SCALAR(SCALAR_MIN_COUNT) && \
   (SCALAR(SCALAR_SKIP_NULLS) || IN(i64, BUF_RESULT_COUNT)[0] == SCALAR(SCALAR_LENGTH)))
