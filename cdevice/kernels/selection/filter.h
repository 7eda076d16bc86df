/* filter.h - which rows a bitmap chooses, and the nulls of rows taken by number. */
/* Bits and their nulls; a null chooses its row where SCALAR_EMIT_NULL is not 0. */
FN u32 chosen32(GLOBAL const u32 *bits, i64 k, GLOBAL const u32 *known, i64 m, i64 i, i64 n, i64 nulls) {
  const u32 there = bits32(known, m, i, n), set = bits32(bits, k, i, n);
  return (nulls ? set | ~there : set & there) & tail(i, n);
}
#define CHOSEN(i)                                                                                                    \
  chosen32(RAW(const u32, BUF_MASK), OFFSET(BUF_MASK), RAW(const u32, BUF_MASK_VALIDITY), OFFSET(BUF_MASK_VALIDITY), \
           i, n, SCALAR(SCALAR_EMIT_NULL))

/* How many rows of each tile are chosen; select.h's filter takes it from there. */
#if defined(CDV_COARSE)
KERNEL(filter_count) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 c = 0;
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += 32) c += POPC(CHOSEN(i));
    OUT(i64, BUF_OUT)[t] = c;
  }
}
KERNEL(filter_rows) { /* the numbers of the rows */
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 to = IN(i64, BUF_TILE_BEGINS)[t];
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += 32)
      for (u32 m = CHOSEN(i); m; m &= m - 1) OUT(i64, BUF_OUT)[to++] = i + CTZ(m);
  }
}
KERNEL(scan) { /* in place: counts become the sums of those before; their sum stands behind them */
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT);
  const i64 n = SCALAR(SCALAR_ROWS);
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
KERNEL(scan_columns) { /* the same for each column of SCALAR_STRIDE counts, with the sums apart.  A column is a tile. */
  TILES(c, SCALAR(SCALAR_ROWS), FILTER_TILE_ROWS) {
    GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT) + c * SCALAR(SCALAR_STRIDE);
    i64 sum = 0;
    for (i64 i = 0; i < SCALAR(SCALAR_STRIDE); i++) {
      const i64 k = o[i];
      o[i] = sum;
      sum += k;
    }
    OUT(i64, BUF_TOTALS)[c] = sum;
  }
}
#else
KERNEL(filter_count) {
  SHARED(u32, s, WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS), i = (BID * WORK_GROUP_SIZE + LID) * 32;
  s[LID] = i < n ? (u32)POPC(CHOSEN(i)) : 0u;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) s[LID] += s[LID + d];
    SYNC;
  }
  if (!LID) OUT(i64, BUF_OUT)[BID] = s[0];
}
KERNEL(filter_rows) {
  SHARED(u32, before, WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS), i = (BID * WORK_GROUP_SIZE + LID) * 32;
  u32 m = i < n ? CHOSEN(i) : 0u;
  before[LID] = (u32)POPC(m);
  SYNC;
  for (int d = 1; d < WORK_GROUP_SIZE; d <<= 1) {
    const u32 more = LID >= d ? before[LID - d] : 0u;
    SYNC;
    before[LID] += more;
    SYNC;
  }
  i64 to = IN(i64, BUF_TILE_BEGINS)[BID] + before[LID] - POPC(m);
  for (; m; m &= m - 1) OUT(i64, BUF_OUT)[to++] = i + CTZ(m);
}
KERNEL(scan) { /* one block */
  SHARED(i64, s, WORK_GROUP_SIZE);
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT);
  const i64 n = SCALAR(SCALAR_ROWS), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;
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
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT) + BID * SCALAR(SCALAR_STRIDE);
  const i64 n = SCALAR(SCALAR_STRIDE), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;
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
    OUT(i64, BUF_TOTALS)[BID] = all;
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

/* An error where an index is that of no row. */
KERNEL(check_rows) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 at = IN(i64, BUF_INDICES)[i];
    if ((at < 0 || at >= SCALAR(SCALAR_VALUES_LENGTH)) &&
        bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i))
      report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);
  }
}
/* Of unions: the type ids of rows, from those of the values.  Rows without an index are of type SCALAR_TYPE_ID. */
KERNEL(union_types) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 at = IN(i64, BUF_INDICES)[i];
    const int there = at >= 0 && at < SCALAR(SCALAR_VALUES_LENGTH) &&
                      bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i);
    OUT(u8, BUF_OUT)[i] = there ? IN(u8, BUF_VALUES)[at] : (u8)SCALAR(SCALAR_TYPE_ID);
  }
}
/* Of dense ones: the numbers (i64) of rows of the child with type SCALAR_TYPE_ID, from the offsets of the values.
 * Rows of other children have any. */
KERNEL(union_rows) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 at = IN(i64, BUF_INDICES)[i];
    const int there = at >= 0 && at < SCALAR(SCALAR_VALUES_LENGTH) &&
                      bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i);
    OUT(i64, BUF_OUT)
    [i] = there && IN(u8, BUF_OUT_TYPE_IDS)[i] == (u8)SCALAR(SCALAR_TYPE_ID) ? (i64)IN(i32, BUF_VALUES)[at] : 0;
  }
}

/* The nulls of the rows taken. */
KERNEL(take_valid) {
  PACK_ROOM;
  INDICES;
  const i64 n = SCALAR(SCALAR_ROWS), values = SCALAR(SCALAR_VALUES_LENGTH);
  PACK(OUT(u32, BUF_OUT), n, i,
       bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i) &&
           (INDEX(i) < 0 || INDEX(i) >= values || bit1(RAW(const u32, BUF_VALUES), OFFSET(BUF_VALUES), INDEX(i))))
}
/* The numbers of the items (i64) of rows that have SCALAR_LIST_SIZE items each. */
KERNEL(spread) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = i / SCALAR(SCALAR_LIST_SIZE), at = IN(i64, BUF_INDICES)[row];
    const int known = bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), row),
              there = at >= 0 && at < SCALAR(SCALAR_VALUES_LENGTH);
    if (known && !there) report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);
    OUT(i64, BUF_OUT)
    [i] = known && there ? (SCALAR(SCALAR_VALUES_OFFSET) + at) * SCALAR(SCALAR_LIST_SIZE) + i % SCALAR(SCALAR_LIST_SIZE)
                         : 0;
  }
}
/* The numbers (i64) from SCALAR_FIRST on. */
KERNEL(rows) {
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(i64, BUF_OUT)[i] = SCALAR(SCALAR_FIRST) + i; }
}
/* For each row the numbers (i64) of its parts, of columns that stand one behind the other, and between them that of its
 * separator; these stand behind the columns. */
KERNEL(interleave) {
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_OUT);
  const i64 n = SCALAR(SCALAR_ROWS), parts = SCALAR(SCALAR_PARTS), step = SCALAR(SCALAR_SEPARATOR_STEP);
  ROWS(i, n) {
    const i64 begin = i * (2 * parts - 1);
    o[begin] = i;
    for (i64 p = 1; p < parts; p++) {
      o[begin + 2 * p - 1] = parts * n + i * step;
      o[begin + 2 * p] = p * n + i;
    }
  }
}
/* As select.h's take, of values of any width, byte by byte: an item is a byte, and the offset is in bytes. */
KERNEL(take_bytes) {
  INDICES;
  const i64 values = SCALAR(SCALAR_VALUES_LENGTH), width = SCALAR(SCALAR_VALUE_WIDTH);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = i / width;
    i64 at = INDEX(row);
    if (at < 0 || at >= values) {
      if (bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), row))
        report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);
      at = 0;
    }
    OUT(u8, BUF_OUT)[i] = values ? IN(u8, BUF_VALUES)[at * width + i % width] : (u8)0;
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
  INDICES;
  const i64 n = SCALAR(SCALAR_ROWS), values = SCALAR(SCALAR_VALUES_LENGTH);
  PACK(OUT(u32, BUF_OUT), n, i,
       taken_bit(RAW(const u32, BUF_VALUES), OFFSET(BUF_VALUES), values, INDEX(i),
                 bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i), OUT(i64, BUF_ERROR)))
}
