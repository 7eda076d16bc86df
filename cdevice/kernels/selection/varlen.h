/* varlen.h - values of several sizes, strings and lists, that are taken by number, and the right rows that a left row of
 * a join matches: T is the type of the offsets. */

/* How many bytes or items row i of the result has. */
FN i64 OF(row_size, T)(GLOBAL const T *offsets, GLOBAL const i64 *index, GLOBAL const u32 *known, i64 k,
                       GLOBAL const u32 *valid, i64 v, i64 i, i64 values) {
  const i64 at = index[i];
  if (at < 0 || at >= values || !bit1(known, k, i) || !bit1(valid, v, at)) return 0;
  return (i64)offsets[at + 1] - (i64)offsets[at];
}
#define ROW_SIZE(i)                                                                                         \
  OF(row_size, T)                                                                                           \
  (IN(T, BUF_VALUES), IN(i64, BUF_INDICES), RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), \
   RAW(const u32, BUF_VALUES_VALIDITY), OFFSET(BUF_VALUES_VALIDITY), i, SCALAR(SCALAR_VALUES_LENGTH))
#define SIZE(i) IN(i64, BUF_SIZES)[i]
/* How many rows of a join left row i is in: SCALAR_MATCH_LEAST at least.  No branch, as none is foreseen. */
FN i64 OF(match_count, T)(GLOBAL const u32 *ids, GLOBAL const u32 *known, i64 k, GLOBAL const i64 *counts, i64 least,
                          i64 i) {
  const u32 there = bit1(known, k, i);
  const i64 count = counts[ids[i] & (0u - there)] & -(i64)there;
  return count > least ? count : least;
}
#define MATCHES(i)                                                                                              \
  OF(match_count, T)                                                                                            \
  (IN(u32, BUF_MATCH_IDS), RAW(const u32, BUF_MATCH_KNOWN), OFFSET(BUF_MATCH_KNOWN), IN(i64, BUF_MATCH_COUNTS), \
   SCALAR(SCALAR_MATCH_LEAST), i)
/* Of each tile the sum of size(i) of its rows i below `rows`. */
#if defined(CDV_COARSE)
#define TILE_SUMS(n, rows, size)                                                                        \
  TILES(t, n, FILTER_TILE_ROWS) {                                                                       \
    i64 sum = 0;                                                                                        \
    ONE_BY_ONE                                                                                          \
    for (i64 i = t * FILTER_TILE_ROWS; i < rows && i < (t + 1) * FILTER_TILE_ROWS; i++) sum += size(i); \
    OUT(i64, BUF_OUT)[t] = sum;                                                                         \
  }
#else
#define TILE_SUMS(n, rows, size)                                \
  SHARED(i64, s, WORK_GROUP_SIZE);                              \
  i64 sum = 0;                                                  \
  for (int r = 0; r < FILTER_TILE_ROWS; r += WORK_GROUP_SIZE) { \
    const i64 i = BID * FILTER_TILE_ROWS + r + LID;             \
    if (i < rows) sum += size(i);                               \
  }                                                             \
  s[LID] = sum;                                                 \
  SYNC;                                                         \
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {               \
    if (LID < d) s[LID] += s[LID + d];                          \
    SYNC;                                                       \
  }                                                             \
  if (!LID) OUT(i64, BUF_OUT)[BID] = s[0];
#endif
/* Offsets, one more than the n rows: where each begins, as rows of size(i) follow each other; an item of a group has 32
 * of its tile's. */
#if defined(CDV_COARSE)
#define TILE_OFFSETS(n, size)                                                                                  \
  TILES(t, n, FILTER_TILE_ROWS) {                                                                              \
    GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);                                                                    \
    const i64 begin = t * FILTER_TILE_ROWS, end = begin + FILTER_TILE_ROWS < n ? begin + FILTER_TILE_ROWS : n; \
    i64 sum = IN(i64, BUF_TILE_BEGINS)[t];                                                                     \
    for (i64 i = begin; i < end; i++) {                                                                        \
      o[i] = (T)sum;                                                                                           \
      sum += size(i);                                                                                          \
    }                                                                                                          \
    if (end == n) o[n] = (T)sum;                                                                               \
  }
#else
#define TILE_OFFSETS(n, size)                           \
  SHARED(i64, s, WORK_GROUP_SIZE);                      \
  const i64 first = (BID * WORK_GROUP_SIZE + LID) * 32; \
  i64 sum = 0;                                          \
  for (int r = 0; r < 32; r++)                          \
    if (first + r < n) sum += size(first + r);          \
  s[LID] = sum;                                         \
  SYNC;                                                 \
  if (!LID) {                                           \
    i64 all = IN(i64, BUF_TILE_BEGINS)[BID];            \
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {         \
      const i64 c = s[k];                               \
      s[k] = all;                                       \
      all += c;                                         \
    }                                                   \
  }                                                     \
  SYNC;                                                 \
  sum = s[LID];                                         \
  for (int r = 0; r < 32; r++) {                        \
    const i64 i = first + r;                            \
    if (i >= n) continue;                               \
    OUT(T, BUF_OUT)[i] = (T)sum;                        \
    sum += size(i);                                     \
    if (i + 1 == n) OUT(T, BUF_OUT)[n] = (T)sum;        \
  }                                                     \
  if (!n && !LID) OUT(T, BUF_OUT)[0] = (T)0;
#endif

/* Sums of tiles of row sizes.  Rows behind the count do not count. */
KERNEL(row_tiles) {
  const i64 rows = RAW(i64, BUF_ROW_COUNT) ? IN(i64, BUF_ROW_COUNT)[0] : SCALAR(SCALAR_ROW_COUNT);
  TILE_SUMS(SCALAR(SCALAR_ROWS), rows, ROW_SIZE)
}
KERNEL(row_offsets) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILE_OFFSETS(n, ROW_SIZE)
}

/* Of sizes. */
KERNEL(tile_sizes) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILE_SUMS(n, n, SIZE)
}
KERNEL(offsets) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILE_OFFSETS(n, SIZE)
}

/* Of left rows of a join. */
KERNEL(match_tiles) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILE_SUMS(n, n, MATCHES)
}
KERNEL(match_offsets) {
  const i64 n = SCALAR(SCALAR_ROWS);
  TILE_OFFSETS(n, MATCHES)
}
#undef ROW_SIZE
#undef SIZE
#undef MATCHES
#undef TILE_SUMS
#undef TILE_OFFSETS
/* The rows of both sides (u32) that are the rows of a join; NO_MATCH: a left row that no right row matches.  Where one
 * work item does many, it goes through the left rows of a tile; else a row of the join looks for its left row. */
#define MATCH_ARGUMENTS                                                      \
  GLOBAL u32 *RESTRICT left = OUT(u32, BUF_OUT);                             \
  GLOBAL u32 *RESTRICT right = OUT(u32, BUF_MATCH_RIGHT);                    \
  GLOBAL const u32 *RESTRICT ids = IN(u32, BUF_MATCH_IDS);                   \
  GLOBAL const u32 *RESTRICT known = RAW(const u32, BUF_MATCH_KNOWN);        \
  GLOBAL const i64 *RESTRICT counts = IN(i64, BUF_MATCH_COUNTS);             \
  GLOBAL const i64 *RESTRICT begins = IN(i64, BUF_MATCH_BEGINS);             \
  GLOBAL const u32 *RESTRICT order = IN(u32, BUF_MATCH_ORDER);               \
  const i64 known_offset = OFFSET(BUF_MATCH_KNOWN), n = SCALAR(SCALAR_ROWS); \
  const i64 least = SCALAR(SCALAR_MATCH_LEAST)
#if defined(CDV_COARSE)
#define FEW 4 /* matches: as many are written at once, and the next left row writes over those that are too many */
KERNEL(match_rows) {
  MATCH_ARGUMENTS;
  const i64 readable = SCALAR(SCALAR_MATCH_RIGHT_ROWS) - FEW;
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 to = IN(i64, BUF_MATCH_TILES)[t];
    const i64 writable = IN(i64, BUF_MATCH_TILES)[t + 1] - FEW;
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i++) {
      const u32 there = bit1(known, known_offset, i), id = ids[i] & (0u - there);
      const i64 count = counts[id] & -(i64)there, begin = begins[id], put = count > least ? count : least;
      if (put <= FEW && to <= writable && begin <= readable) {
        for (int k = 0; k < FEW; k++) left[to + k] = (u32)i;
        for (int k = 0; k < FEW; k++) right[to + k] = order[begin + k];
      } else {
        for (i64 k = 0; k < put; k++) left[to + k] = (u32)i;
        for (i64 k = 0; k < count; k++) right[to + k] = order[begin + k];
      }
      if (put > count) right[to] = NO_MATCH;
      to += put;
    }
  }
}
#undef FEW
#else
KERNEL(match_rows) {
  MATCH_ARGUMENTS;
  GLOBAL const T *RESTRICT offsets = IN(T, BUF_OUT_OFFSETS);
  ROWS(i, n) {
    i64 row = 0, high = SCALAR(SCALAR_MATCH_LEFT_ROWS) - 1;
    while (row < high) {
      const i64 middle = row + (high - row) / 2;
      if ((i64)offsets[middle + 1] > i)
        high = middle;
      else
        row = middle + 1;
    }
    const i64 k = i - (i64)offsets[row];
    const int there = !least || (bit1(known, known_offset, row) && k < counts[ids[row]]);
    left[i] = (u32)row;
    right[i] = there ? order[begins[ids[row]] + k] : NO_MATCH;
  }
}
#endif
#undef MATCH_ARGUMENTS
KERNEL(match_valid) {
  PACK_ROOM;
  const i64 n = SCALAR(SCALAR_ROWS);
  PACK(OUT(u32, BUF_OUT), n, i, IN(u32, BUF_MATCH_RIGHT)[i] != NO_MATCH)
}

/* The bytes of rows. */
KERNEL(gather) {
  GLOBAL u8 *RESTRICT o = OUT(u8, BUF_OUT);
  GLOBAL const u8 *RESTRICT bytes = IN(u8, BUF_BYTES);
  GLOBAL const T *RESTRICT to = IN(T, BUF_OUT_OFFSETS);
  GLOBAL const T *RESTRICT begins = IN(T, BUF_VALUES);
  GLOBAL const i64 *RESTRICT index = IN(i64, BUF_INDICES);
  const i64 n = SCALAR(SCALAR_ROWS);
#if defined(CDV_COARSE)
  const i64 readable = (i64)begins[SCALAR(SCALAR_VALUES_LENGTH)] - 32;
  TILES(t, n, FILTER_TILE_ROWS) { /* in order: the next row overwrites bytes written behind a row */
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
/* The numbers of the items (i64) of rows. */
KERNEL(expand) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 put = (i64)IN(T, BUF_OUT_OFFSETS)[i], size = (i64)IN(T, BUF_OUT_OFFSETS)[i + 1] - put;
    const i64 from = size ? (i64)IN(T, BUF_VALUES)[IN(i64, BUF_INDICES)[i]] : 0;
    for (i64 k = 0; k < size; k++) OUT(i64, BUF_OUT)[put + k] = from + k;
  }
}
