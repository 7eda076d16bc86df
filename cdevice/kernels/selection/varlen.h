/* varlen.h - values of several sizes, strings and lists, that are taken by number: T is the type of the offsets.
 *
 * 1 offsets, 2 indices (i64) and 3 their nulls, 4 nulls of the values, of which there are number 2. */
FN i64 OF(taken_row, T)(GLOBAL const i64 *index, GLOBAL const u32 *known, i64 k, i64 i, i64 values, GLOBAL i64 *error) {
  if (!bit1(known, k, i)) return -1;
  if (index[i] >= 0 && index[i] < values) return index[i];
  if (error) report_error(error, KERNEL_ERROR_INDEX, index[i]);
  return -1;
}

/* 0 how many bytes or items each row has (i64); 5 the error. */
KERNEL(sizes) {
  ROWS(i, SCALAR(0)) {
    const i64 at = OF(taken_row, T)(IN(i64, 2), RAW(const u32, 3), OFFSET(3), i, SCALAR(2), OUT(i64, 5));
    i64 size = 0;
    if (at >= 0 && bit1(RAW(const u32, 4), OFFSET(4), at)) size = (i64)IN(T, 1)[at + 1] - (i64)IN(T, 1)[at];
    OUT(i64, 0)[i] = size;
  }
}

/* 0 sums of tiles of sizes, 1. */
KERNEL(tile_sizes) {
  const i64 n = SCALAR(0);
#if defined(CDV_COARSE)
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 sum = 0;
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i++) sum += IN(i64, 1)[i];
    OUT(i64, 0)[t] = sum;
  }
#else
  SHARED(i64, s, WORK_GROUP_SIZE);
  i64 sum = 0;
  for (int r = 0; r < FILTER_TILE_ROWS; r += WORK_GROUP_SIZE)
    if (BID * FILTER_TILE_ROWS + r + LID < n) sum += IN(i64, 1)[BID * FILTER_TILE_ROWS + r + LID];
  s[LID] = sum;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) s[LID] += s[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, 0)[BID] = s[0];
#endif
}

/* 0 offsets, one more than rows; 1 the sizes, 2 where each tile begins. */
KERNEL(offsets) {
  const i64 n = SCALAR(0);
#if defined(CDV_COARSE)
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 sum = IN(i64, 2)[t];
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i++) {
      OUT(T, 0)[i] = (T)sum;
      sum += IN(i64, 1)[i];
      if (i + 1 == n) OUT(T, 0)[n] = (T)sum;
    }
  }
#else
  SHARED(i64, s, WORK_GROUP_SIZE);
  const i64 first = (BID * WORK_GROUP_SIZE + LID) * 32;
  i64 sum = 0;
  for (int r = 0; r < 32; r++)
    if (first + r < n) sum += IN(i64, 1)[first + r];
  s[LID] = sum;
  SYNC;
  if (!LID) {
    i64 all = IN(i64, 2)[BID];
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const i64 c = s[k];
      s[k] = all;
      all += c;
    }
  }
  SYNC;
  sum = s[LID];
  for (int r = 0; r < 32; r++) {
    const i64 i = first + r;
    if (i >= n) continue;
    OUT(T, 0)[i] = (T)sum;
    sum += IN(i64, 1)[i];
    if (i + 1 == n) OUT(T, 0)[n] = (T)sum;
  }
#endif
}

/* 0 bytes, from 6; 7 the offsets of the result. */
KERNEL(gather) {
  ROWS(i, SCALAR(0)) {
    const i64 at = OF(taken_row, T)(IN(i64, 2), RAW(const u32, 3), OFFSET(3), i, SCALAR(2), 0);
    const i64 to = (i64)IN(T, 7)[i], size = (i64)IN(T, 7)[i + 1] - to;
    if (at >= 0) {
      const i64 from = (i64)IN(T, 1)[at];
      for (i64 k = 0; k < size; k++) OUT(u8, 0)[to + k] = IN(u8, 6)[from + k];
    }
  }
}
/* 0 the numbers of the items (i64); 7 the offsets of the result. */
KERNEL(expand) {
  ROWS(i, SCALAR(0)) {
    const i64 at = OF(taken_row, T)(IN(i64, 2), RAW(const u32, 3), OFFSET(3), i, SCALAR(2), 0);
    const i64 to = (i64)IN(T, 7)[i], size = (i64)IN(T, 7)[i + 1] - to;
    if (at >= 0) {
      const i64 from = (i64)IN(T, 1)[at];
      for (i64 k = 0; k < size; k++) OUT(i64, 0)[to + k] = from + k;
    }
  }
}
