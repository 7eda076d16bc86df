/* select.h - values that are moved, never looked at: T is a width. */
/* The condition, BUF_ARG0, is a bitmap. */
#define OF_ROW(i)                                       \
  (ARG_KIND(0) == ARG_SCALAR ? (u32)SCALAR(SCALAR_ARG0) \
                             : wide32(RAW(const u32, BUF_ARG0), OFFSET(BUF_ARG0), i, n, ARG_KIND(0)))
KERNEL(if_else) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const T *RESTRICT a = IN(T, BUF_ARG1);
  GLOBAL const T *RESTRICT b = IN(T, BUF_ARG2);
  const i64 n = SCALAR(SCALAR_ROWS);
  if (!ARG_KIND(1) && !ARG_KIND(2)) {
    FOR_BITS(n, OF_ROW, bit, i, {
      const T x = a[i];
      const T y = b[i];
      o[i] = bit ? x : y;
    })
  } else if (!ARG_KIND(1)) {
    const T q = ONE(T, 2, b);
    FOR_BITS(n, OF_ROW, bit, i, {
      const T x = a[i];
      o[i] = bit ? x : q;
    })
  } else if (!ARG_KIND(2)) {
    const T p = ONE(T, 1, a);
    FOR_BITS(n, OF_ROW, bit, i, {
      const T y = b[i];
      o[i] = bit ? p : y;
    })
  } else {
    const T p = ONE(T, 1, a), q = ONE(T, 2, b);
    FOR_BITS(n, OF_ROW, bit, i, o[i] = bit ? p : q)
  }
}
#undef OF_ROW

/* A null index takes the first value. */
#define TAKE(index)                                                                \
  ROWS(i, SCALAR(SCALAR_ROWS)) {                                                   \
    const i64 at = (i64)(index)[i];                                                \
    if ((u64)at < (u64)values) {                                                   \
      o[i] = a[at];                                                                \
    } else {                                                                       \
      if (bit1(RAW(const u32, BUF_INDEX_VALIDITY), OFFSET(BUF_INDEX_VALIDITY), i)) \
        report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_INDEX, at);                 \
      o[i] = values ? a[0] : ZERO(T);                                              \
    }                                                                              \
  }
KERNEL(take) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const T *RESTRICT a = IN(T, BUF_VALUES);
  INDICES;
  const i64 values = SCALAR(SCALAR_VALUES_LENGTH);
  if (short_index) {
    TAKE(short_index)
  } else {
    TAKE(index)
  }
}
#undef TAKE

/* The rows whose bit in the mask is set and valid; the words of BUF_OUT_VALIDITY are 0 before. */
#define CHOSEN(i)                                             \
  (bits32(RAW(const u32, BUF_MASK), OFFSET(BUF_MASK), i, n) & \
   bits32(RAW(const u32, BUF_MASK_VALIDITY), OFFSET(BUF_MASK_VALIDITY), i, n) & tail(i, n))
#if defined(CDV_COARSE)
KERNEL(filter) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const T *RESTRICT a = IN(T, BUF_VALUES);
  GLOBAL u32 *RESTRICT valid = OUT(u32, BUF_OUT_VALIDITY);
  const i64 n = SCALAR(SCALAR_ROWS);
  TILES(t, n, FILTER_TILE_ROWS) {
    i64 to = IN(i64, BUF_TILE_BEGINS)[t], at = to >> 5;
    int held = (int)(to & 31), shared = held != 0;
    u64 hold = 0;
    for (i64 i = t * FILTER_TILE_ROWS; i < n && i < (t + 1) * FILTER_TILE_ROWS; i += 32) {
      u32 m = CHOSEN(i),
          known = valid ? bits32(RAW(const u32, BUF_VALUES_VALIDITY), OFFSET(BUF_VALUES_VALIDITY), i, n) : 0u, r = 0;
      const int c = POPC(m);
      if (m == ~0u) {
        for (int j = 0; j < 32; j++) o[to + j] = a[i + j];
        r = known;
      } else {
        i64 k = to;
        for (int q = 0; m; m &= m - 1, q++) {
          const int j = CTZ(m);
          o[k++] = a[i + j];
          r |= ((known >> j) & 1u) << q;
        }
      }
      to += c;
      if (!valid) continue;
      hold |= (u64)r << held;
      held += c;
      if (held < 32) continue;
      if (shared)
        ATOMIC_OR(valid + at, (u32)hold);
      else
        valid[at] = (u32)hold;
      at++, held -= 32, hold >>= 32, shared = 0;
    }
    if (valid && held) ATOMIC_OR(valid + at, (u32)hold);
  }
}
#else
KERNEL(filter) {
  SHARED(u32, before, WORK_GROUP_SIZE);
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const T *RESTRICT a = IN(T, BUF_VALUES);
  GLOBAL u32 *RESTRICT valid = OUT(u32, BUF_OUT_VALIDITY);
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
  if (m) {
    i64 to = IN(i64, BUF_TILE_BEGINS)[BID] + before[LID] - POPC(m);
    const u32 known = valid ? bits32(RAW(const u32, BUF_VALUES_VALIDITY), OFFSET(BUF_VALUES_VALIDITY), i, n) : 0u;
    const int held = (int)(to & 31);
    const i64 at = to >> 5;
    u64 hold = 0;
    for (int q = held; m; m &= m - 1, q++) {
      const int j = CTZ(m);
      o[to++] = a[i + j];
      hold |= (u64)((known >> j) & 1u) << q;
    }
    if (valid && (u32)hold) ATOMIC_OR(valid + at, (u32)hold);
    if (valid && (u32)(hold >> 32)) ATOMIC_OR(valid + at + 1, (u32)(hold >> 32));
  }
}
#endif
#undef CHOSEN
