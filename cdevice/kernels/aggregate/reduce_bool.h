/* reduce_bool.h - how many bits are set.  State: bits that are set and known, and bits that are known (both i64). */
#define KNOWN(i) (bits32(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN), i, n) & tail(i, n))
#define SET(i) (bits32(RAW(const u32, BUF_SUM_IN), OFFSET(BUF_SUM_IN), i, n) & KNOWN(i))

#if defined(CDV_HOST)
/* All 64 bits from one on, which are there; no bitmap: all are set. */
FN u64 bits64(const u32 *b, i64 at) {
  if (!b) return ~(u64)0;
  const u8 *p = (const u8 *)b + (at >> 3);
  const int shift = (int)(at & 7);
  u64 x;
  __builtin_memcpy(&x, p, 8);
  return shift ? x >> shift | (u64)p[8] << (64 - shift) : x;
}
#endif
/* Set and known of the tiles; no BUF_SUM_IN: all are set. */
#if defined(CDV_COARSE)
KERNEL(sum) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 set = 0, known = 0, i = t * FILTER_TILE_ROWS;
    const i64 end = i + FILTER_TILE_ROWS < n ? i + FILTER_TILE_ROWS : n;
#if defined(CDV_HOST)
    for (; i + 64 <= end; i += 64) {
      const u64 there = bits64(RAW(const u32, BUF_VALIDITY_IN), OFFSET(BUF_VALIDITY_IN) + i);
      set += __builtin_popcountll(bits64(RAW(const u32, BUF_SUM_IN), OFFSET(BUF_SUM_IN) + i) & there);
      known += __builtin_popcountll(there);
    }
#endif
    for (; i < end; i += 32) {
      set += POPC(SET(i));
      known += POPC(KNOWN(i));
    }
    OUT(i64, BUF_SUM_OUT)[t] = set;
    OUT(i64, BUF_SUM_COUNT_OUT)[t] = known;
  }
}
#else
KERNEL(sum) {
  SHARED(u32, set, WORK_GROUP_SIZE);
  SHARED(u32, known, WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS), i = (BID * WORK_GROUP_SIZE + LID) * 32;
  set[LID] = i < n ? (u32)POPC(SET(i)) : 0u;
  known[LID] = i < n ? (u32)POPC(KNOWN(i)) : 0u;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) set[LID] += set[LID + d], known[LID] += known[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, BUF_SUM_OUT)[BID] = set[0], OUT(i64, BUF_SUM_COUNT_OUT)[BID] = known[0];
}
#endif
#undef SET
#undef KNOWN

/* The state of rows of which none is null. */
KERNEL(count_rows) {
  ITEMS(only, 1) {
    OUT(i64, BUF_SUM_OUT)[only] = SCALAR(SCALAR_LENGTH);
    OUT(i64, BUF_SUM_COUNT_OUT)[only] = SCALAR(SCALAR_LENGTH);
  }
}

/* The ends: as reduce.h's. */
#define VALUE IN(i64, BUF_RESULT_VALUE)[0]
#define COUNT IN(i64, BUF_RESULT_COUNT)[0]
#define ENOUGH (COUNT >= SCALAR(SCALAR_MIN_COUNT))
KERNEL(finish_any) {
  ITEMS(only, 1) {
    put32(OUT(u32, BUF_RESULT), only, VALUE > 0, 1);
    put32(OUT(u32, BUF_RESULT_VALIDITY), only,
          ENOUGH && (VALUE > 0 || SCALAR(SCALAR_SKIP_NULLS) || COUNT == SCALAR(SCALAR_LENGTH)), 1);
  }
}
KERNEL(finish_all) {
  ITEMS(only, 1) {
    put32(OUT(u32, BUF_RESULT), only, VALUE == COUNT, 1);
    put32(OUT(u32, BUF_RESULT_VALIDITY), only,
          ENOUGH && (VALUE != COUNT || SCALAR(SCALAR_SKIP_NULLS) || COUNT == SCALAR(SCALAR_LENGTH)), 1);
  }
}
/* Of bits that are numbers. */
KERNEL(finish_product) {
  ITEMS(only, 1) {
    OUT(u64, BUF_RESULT)[only] = VALUE == COUNT;
    put32(OUT(u32, BUF_RESULT_VALIDITY), only, ENOUGH && (SCALAR(SCALAR_SKIP_NULLS) || COUNT == SCALAR(SCALAR_LENGTH)),
          1);
  }
}
KERNEL(finish_count) {
  ITEMS(only, 1) {
    OUT(i64, BUF_RESULT)
    [only] = SCALAR(SCALAR_COUNT_MODE) == 0   ? COUNT
             : SCALAR(SCALAR_COUNT_MODE) == 1 ? SCALAR(SCALAR_LENGTH) - COUNT
                                              : SCALAR(SCALAR_LENGTH);
  }
}
/* The least or the greatest of bits. */
KERNEL(finish_extreme) {
  ITEMS(only, 1) {
    put32(OUT(u32, BUF_RESULT), only, SCALAR(SCALAR_STATE_INDEX) ? VALUE > 0 : VALUE == COUNT, 1);
    put32(OUT(u32, BUF_RESULT_VALIDITY), only,
          COUNT && ENOUGH && (SCALAR(SCALAR_SKIP_NULLS) || COUNT == SCALAR(SCALAR_LENGTH)), 1);
  }
}
#undef VALUE
#undef COUNT
#undef ENOUGH
