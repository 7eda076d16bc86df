/* filter.h - which rows a bitmap chooses, and the nulls of what is taken by number. */
/* Bits and their nulls; what is null chooses its row where number 2 is not 0. */
FN u32 chosen32(GLOBAL const u32 *bits, i64 k, GLOBAL const u32 *known, i64 m, i64 i, i64 n, i64 nulls) {
  const u32 there = bits32(known, m, i, n), set = bits32(bits, k, i, n);
  return (nulls ? set | ~there : set & there) & tail(i, n);
}
#define CHOSEN(i) chosen32(RAW(const u32, 2), OFFSET(2), RAW(const u32, 3), OFFSET(3), i, n, SCALAR(2))

/* 0 how many of each tile of 2 (bits) and 3 (nulls); select.h's filter takes it from there. */
#if defined(CDV_COARSE)
KERNEL(filter_count) {
  const i64 n = SCALAR(0);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 c = 0;
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += 32) c += POPC(CHOSEN(i));
    OUT(i64, 0)[t] = c;
  }
}
KERNEL(filter_rows) { /* 0 the numbers of the rows, 5 where each tile begins */
  const i64 n = SCALAR(0);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 to = IN(i64, 5)[t];
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += 32)
      for (u32 m = CHOSEN(i); m; m &= m - 1) OUT(i64, 0)[to++] = i + CTZ(m);
  }
}
KERNEL(scan) { /* 0: number 0 counts become the sums of those before; their sum stands behind them */
  GLOBAL i64 *RESTRICT o = OUT(i64, 0);
  const i64 n = SCALAR(0);
  ITEMS(only, 1) {
    i64 sum = 0;
    for (i64 i = 0; i < n; i++) {
      const i64 c = o[i];
      o[i] = sum;
      sum += c;
    }
    o[n + only] = sum;
  }
}
KERNEL(scan_columns) { /* 0: the same for each column of number 2 counts; 1 the sums.  A column is a tile. */
  TILES(c, SCALAR(0), FILTER_TILE_ROWS) {
    GLOBAL i64 *RESTRICT o = OUT(i64, 0) + c * SCALAR(2);
    i64 sum = 0;
    for (i64 i = 0; i < SCALAR(2); i++) {
      const i64 k = o[i];
      o[i] = sum;
      sum += k;
    }
    OUT(i64, 1)[c] = sum;
  }
}
#else
KERNEL(filter_count) {
  SHARED(u32, s, WORK_GROUP_SIZE);
  const i64 n = SCALAR(0), i = (BID * WORK_GROUP_SIZE + LID) * 32;
  s[LID] = i < n ? (u32)POPC(CHOSEN(i)) : 0u;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) s[LID] += s[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, 0)[BID] = s[0];
}
KERNEL(filter_rows) {
  SHARED(u32, before, WORK_GROUP_SIZE);
  const i64 n = SCALAR(0), i = (BID * WORK_GROUP_SIZE + LID) * 32;
  u32 m = i < n ? CHOSEN(i) : 0u;
  before[LID] = (u32)POPC(m);
  SYNC;
  for (int d = 1; d < WORK_GROUP_SIZE; d <<= 1) {
    const u32 more = LID >= d ? before[LID - d] : 0u;
    SYNC;
    before[LID] += more;
    SYNC;
  }
  i64 to = IN(i64, 5)[BID] + before[LID] - POPC(m);
  for (; m; m &= m - 1) OUT(i64, 0)[to++] = i + CTZ(m);
}
KERNEL(scan) { /* one block */
  SHARED(i64, s, WORK_GROUP_SIZE);
  GLOBAL i64 *RESTRICT o = OUT(i64, 0);
  const i64 n = SCALAR(0), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;
  const i64 from = LID * each < n ? LID * each : n, to = from + each < n ? from + each : n;
  i64 sum = 0;
  for (i64 i = from; i < to; i++) sum += o[i];
  s[LID] = sum;
  SYNC;
  if (!LID) {
    i64 all = 0;
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const i64 c = s[k];
      s[k] = all;
      all += c;
    }
    o[n] = all;
  }
  SYNC;
  sum = s[LID];
  for (i64 i = from; i < to; i++) {
    const i64 c = o[i];
    o[i] = sum;
    sum += c;
  }
}
KERNEL(scan_columns) { /* a block for each */
  SHARED(i64, s, WORK_GROUP_SIZE);
  GLOBAL i64 *RESTRICT o = OUT(i64, 0) + BID * SCALAR(2);
  const i64 n = SCALAR(2), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;
  const i64 from = LID * each < n ? LID * each : n, to = from + each < n ? from + each : n;
  i64 sum = 0;
  for (i64 i = from; i < to; i++) sum += o[i];
  s[LID] = sum;
  SYNC;
  if (!LID) {
    i64 all = 0;
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const i64 c = s[k];
      s[k] = all;
      all += c;
    }
    OUT(i64, 1)[BID] = all;
  }
  SYNC;
  sum = s[LID];
  for (i64 i = from; i < to; i++) {
    const i64 c = o[i];
    o[i] = sum;
    sum += c;
  }
}
#endif
#undef CHOSEN

/* 2 numbers of rows (i64), 3 their nulls: 5 the error, where one is none of number 2 rows. */
KERNEL(check_rows) {
  ROWS(i, SCALAR(0)) {
    const i64 at = IN(i64, 2)[i];
    if ((at < 0 || at >= SCALAR(2)) && bit1(RAW(const u32, 3), OFFSET(3), i))
      report_error(OUT(i64, 5), KERNEL_ERROR_INDEX, at);
  }
}
/* Of unions: 0 the type ids of rows, 1 those of the values, of which there are number 2; 2 the numbers of the rows
 * and 3 their nulls.  Rows without a number are of type number 3. */
KERNEL(union_types) {
  ROWS(i, SCALAR(0)) {
    const i64 at = IN(i64, 2)[i];
    const int there = at >= 0 && at < SCALAR(2) && bit1(RAW(const u32, 3), OFFSET(3), i);
    OUT(u8, 0)[i] = there ? IN(u8, 1)[at] : (u8)SCALAR(3);
  }
}
/* The same of dense ones: 0 the numbers (i64) of rows of the child with type number 3, 7 the type ids of the result,
 * 1 the offsets of the values.  Rows of other children have any. */
KERNEL(union_rows) {
  ROWS(i, SCALAR(0)) {
    const i64 at = IN(i64, 2)[i];
    const int there = at >= 0 && at < SCALAR(2) && bit1(RAW(const u32, 3), OFFSET(3), i);
    OUT(i64, 0)[i] = there && IN(u8, 7)[i] == (u8)SCALAR(3) ? (i64)IN(i32, 1)[at] : 0;
  }
}

/* The nulls of what is taken: 0 result; 1 nulls of the values, of which there are number 2; 2 indices, 3 their
 * nulls. */
KERNEL(take_valid) {
  PACK_ROOM;
  GLOBAL const i64 *RESTRICT index = IN(i64, 2);
  const i64 n = SCALAR(0), values = SCALAR(2);
  PACK(OUT(u32, 0), n, i,
       bit1(RAW(const u32, 3), OFFSET(3), i) &&
           (index[i] < 0 || index[i] >= values || bit1(RAW(const u32, 1), OFFSET(1), index[i])))
}
/* 0 the numbers of the items (i64) of rows that have number 4 items each; 2 the numbers of the rows and 3 their
 * nulls, 5 the error.  There are number 2 rows, behind number 3 that do not count. */
KERNEL(spread) {
  ROWS(i, SCALAR(0)) {
    const i64 row = i / SCALAR(4), at = IN(i64, 2)[row];
    const int known = bit1(RAW(const u32, 3), OFFSET(3), row), there = at >= 0 && at < SCALAR(2);
    if (known && !there) report_error(OUT(i64, 5), KERNEL_ERROR_INDEX, at);
    OUT(i64, 0)[i] = known && there ? (SCALAR(3) + at) * SCALAR(4) + i % SCALAR(4) : 0;
  }
}
/* 0 the numbers (i64) from number 2 on. */
KERNEL(rows) {
  ROWS(i, SCALAR(0)) { OUT(i64, 0)[i] = SCALAR(2) + i; }
}
/* As select.h's take, of values of number 3 bytes, one by one: an item is a byte, and the offset is in bytes. */
KERNEL(take_bytes) {
  const i64 values = SCALAR(2), width = SCALAR(3);
  ROWS(i, SCALAR(0)) {
    const i64 row = i / width;
    i64 at = IN(i64, 2)[row];
    if (at < 0 || at >= values) {
      if (bit1(RAW(const u32, 3), OFFSET(3), row)) report_error(OUT(i64, 5), KERNEL_ERROR_INDEX, at);
      at = 0;
    }
    OUT(u8, 0)[i] = values ? IN(u8, 1)[at * width + i % width] : (u8)0;
  }
}
/* As select.h's take, of values that are bits. */
FN u32 taken_bit(GLOBAL const u32 *b, i64 offset, i64 values, i64 at, u32 known, GLOBAL i64 *error) {
  if (at >= 0 && at < values) return bit1(b, offset, at);
  if (known) report_error(error, KERNEL_ERROR_INDEX, at);
  return 0u;
}
KERNEL(take) {
  PACK_ROOM;
  GLOBAL const i64 *RESTRICT index = IN(i64, 2);
  const i64 n = SCALAR(0), values = SCALAR(2);
  PACK(OUT(u32, 0), n, i,
       taken_bit(RAW(const u32, 1), OFFSET(1), values, index[i], bit1(RAW(const u32, 3), OFFSET(3), i), OUT(i64, 5)))
}
