/* varlen.h - values of several sizes, strings and lists, that are taken by number: T is the type of the offsets.
 *
 * 1 offsets, 2 indices (i64) and 3 their nulls, 4 nulls of the values, of which there are number 2. */

/* How many bytes or items row i of the result has. */
FN i64 OF(row_size, T)(GLOBAL const T *offsets, GLOBAL const i64 *index, GLOBAL const u32 *known, i64 k,
                       GLOBAL const u32 *valid, i64 v, i64 i, i64 values) {
  const i64 at = index[i];
  if (at < 0 || at >= values || !bit1(known, k, i) || !bit1(valid, v, at)) return 0;
  return (i64)offsets[at + 1] - (i64)offsets[at];
}
#define ROW_SIZE(i) \
  OF(row_size, T)(IN(T, 1), IN(i64, 2), RAW(const u32, 3), OFFSET(3), RAW(const u32, 4), OFFSET(4), i, SCALAR(2))

/* 0 sums of tiles of row sizes.  Rows from number 3 on do not count; 5: holds their number. */
KERNEL(row_tiles) {
  const i64 rows = RAW(i64, 5) ? IN(i64, 5)[0] : SCALAR(3);
#if defined(CDV_COARSE)
  TILES(t, SCALAR(0), FILTER_TILE_ROWS) {
    i64 sum = 0;
    ONE_BY_ONE
    for (i64 i = t * FILTER_TILE_ROWS; i < rows && i < (t + 1) * FILTER_TILE_ROWS; i++) sum += ROW_SIZE(i);
    OUT(i64, 0)[t] = sum;
  }
#else
  SHARED(i64, s, WORK_GROUP_SIZE);
  i64 sum = 0;
  for (int r = 0; r < FILTER_TILE_ROWS; r += WORK_GROUP_SIZE) {
    const i64 i = BID * FILTER_TILE_ROWS + r + LID;
    if (i < rows) sum += ROW_SIZE(i);
  }
  s[LID] = sum;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) s[LID] += s[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, 0)[BID] = s[0];
#endif
}
/* 0 offsets, one more than rows; 5 where each tile begins. */
KERNEL(row_offsets) {
  const i64 n = SCALAR(0);
#if defined(CDV_COARSE)
  TILES(t, n, FILTER_TILE_ROWS) {
    GLOBAL T *RESTRICT o = OUT(T, 0);
    const i64 begin = t * FILTER_TILE_ROWS, end = begin + FILTER_TILE_ROWS < n ? begin + FILTER_TILE_ROWS : n;
    i64 sum = IN(i64, 5)[t];
    for (i64 i = begin; i < end; i++) {
      o[i] = (T)sum;
      sum += ROW_SIZE(i);
    }
    if (end == n) o[n] = (T)sum;
  }
#else
  SHARED(i64, s, WORK_GROUP_SIZE);
  const i64 first = (BID * WORK_GROUP_SIZE + LID) * 32;
  i64 sum = 0;
  for (int r = 0; r < 32; r++)
    if (first + r < n) sum += ROW_SIZE(first + r);
  s[LID] = sum;
  SYNC;
  if (!LID) {
    i64 all = IN(i64, 5)[BID];
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
    sum += ROW_SIZE(i);
    if (i + 1 == n) OUT(T, 0)[n] = (T)sum;
  }
  if (!n && !LID) OUT(T, 0)[0] = (T)0;
#endif
}
#undef ROW_SIZE

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
  GLOBAL u8 *RESTRICT o = OUT(u8, 0);
  GLOBAL const u8 *RESTRICT bytes = IN(u8, 6);
  GLOBAL const T *RESTRICT to = IN(T, 7);
  GLOBAL const T *RESTRICT begins = IN(T, 1);
  GLOBAL const i64 *RESTRICT index = IN(i64, 2);
  const i64 n = SCALAR(0);
#if defined(CDV_COARSE)
  const i64 readable = (i64)begins[SCALAR(2)] - 32;
  TILES(t, n, FILTER_TILE_ROWS) { /* in order: what is written behind a row, the next one overwrites */
    const i64 begin = t * FILTER_TILE_ROWS, end = begin + FILTER_TILE_ROWS < n ? begin + FILTER_TILE_ROWS : n;
    const i64 writable = (i64)to[end] - 32;
    for (i64 i = begin; i < end; i++) {
      const i64 put = (i64)to[i], size = (i64)to[i + 1] - put;
      const i64 from = (i64)begins[size ? index[i] : 0];
      if (size <= 32 && put <= writable && from <= readable) {
        COPY16(o + put, bytes + from);
        COPY16(o + put + 16, bytes + from + 16);
        continue;
      }
      i64 k = 0;
      for (; k + 16 <= size; k += 16) COPY16(o + put + k, bytes + from + k);
      for (; k < size; k++) o[put + k] = bytes[from + k];
    }
  }
#else
  for (int r = 0; r < FILTER_TILE_ROWS; r += WORK_GROUP_SIZE) {
    const i64 i = BID * FILTER_TILE_ROWS + r + LID;
    if (i >= n) continue;
    const i64 put = (i64)to[i], size = (i64)to[i + 1] - put;
    const i64 from = size ? (i64)begins[index[i]] : 0;
    for (i64 k = 0; k < size; k++) o[put + k] = bytes[from + k];
  }
#endif
}
/* 0 the numbers of the items (i64); 7 the offsets of the result. */
KERNEL(expand) {
  ROWS(i, SCALAR(0)) {
    const i64 put = (i64)IN(T, 7)[i], size = (i64)IN(T, 7)[i + 1] - put;
    const i64 from = size ? (i64)IN(T, 1)[IN(i64, 2)[i]] : 0;
    for (i64 k = 0; k < size; k++) OUT(i64, 0)[put + k] = from + k;
  }
}
