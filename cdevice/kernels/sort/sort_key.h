/* sort_key.h - words whose order is that of values of one size: T is the width, and no floating point is needed.
 * Values of more than 64 bits are several u64, of which SCALAR_KEY_STRIDE - 1 are left out.
 *
 * Both zeros are one value. NaN and nulls have a word among the others, and their class puts them in their place. */
#define KEY_SIGN ((u64)1 << (8 * (int)sizeof(T) - 1))
#define KEY_FUSED (sizeof(T) < 8)
/* A value's bits as its word, if it is neither null nor NaN. */
FN u64 OF(order, T)(T x, i64 flags) {
  const u64 top = KEY_SIGN, all = top | (top - 1);
  u64 key = (u64)x;
  if (flags & SORT_KEY_FLOAT)
    key = !(key & (top - 1)) && !(flags & SORT_KEY_DISTINCT) ? top : key & top ? ~key & all : key | top;
  else if (flags & SORT_KEY_SIGNED)
    key ^= top;
  return flags & SORT_KEY_DESCENDING ? ~key & all : key;
}
KERNEL(sort_key) {
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_KEY_ROWS);
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_KEY_OUT);
  const i64 part = SCALAR(SCALAR_KEY_PART), flags = SCALAR(SCALAR_KEY_FLAGS), stride = SCALAR(SCALAR_KEY_STRIDE);
  const u64 magnitude = KEY_SIGN - 1, sign = flags & SORT_KEY_SIGNED ? KEY_SIGN : (u64)0;
  const u64 value_class = flags & SORT_KEY_NULLS_FIRST ? 2 : 0, null_class = 2 - value_class;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = rows ? (i64)rows[i] : i;
    const T x = values[row * stride];
    u64 key = OF(order, T)(x, flags), class_ = value_class;
    if (flags & SORT_KEY_FLOAT && ((u64)x & magnitude) > (u64)SCALAR(SCALAR_KEY_INFINITY)) key = 0, class_ = 1;
    if (!bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), row))
      key = sign, class_ = null_class; /* near the others */
    if (part == SORT_KEY_CLASS)
      key = class_;
    else if (KEY_FUSED)
      key |= class_ << (8 * (int)sizeof(T) & 63);
    o[i] = key;
  }
}

/* The least word of each tile, all bits: it has none; nulls and NaN have no word here, and the two zeros one. */
#define KEY_LEAST(i, valid)                                                                   \
  {                                                                                           \
    const T x_ = values[(i) * stride], s_ = is_float && x_ == top ? (T)0 : x_;                \
    const T turned_ = is_float && s_ & top ? (T)~top : (T)0, key_ = (T)(s_ ^ turned_ ^ flip); \
    const int is_ = (valid) && !(is_float && (T)(x_ & ~top) > infinity);                      \
    least = is_ && key_ < least ? key_ : least;                                               \
  }
#define KEY_LEAST_HEAD                                                                                     \
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);                                                 \
  const i64 n = SCALAR(SCALAR_ROWS), flags = SCALAR(SCALAR_KEY_FLAGS), stride = SCALAR(SCALAR_KEY_STRIDE); \
  const T top = (T)KEY_SIGN, infinity = (T)SCALAR(SCALAR_KEY_INFINITY);                                    \
  const int is_float = (flags & SORT_KEY_FLOAT) != 0;                                                      \
  const T flip =                                                                                           \
      (T)((is_float || flags & SORT_KEY_SIGNED ? top : (T)0) ^ (flags & SORT_KEY_DESCENDING ? (T) ~(T)0 : (T)0))
#define KEY_LEAST_WORD(x) ((x) == (T) ~(T)0 ? ~(u64)0 : (u64)(x))
#if defined(CDV_COARSE)
KERNEL(sort_least) {
  KEY_LEAST_HEAD;
  TILES(t, n, REDUCE_TILE_ROWS) {
    const i64 end = (t + 1) * REDUCE_TILE_ROWS < n ? (t + 1) * REDUCE_TILE_ROWS : n;
    T least = (T) ~(T)0;
    if (RAW(const u32, BUF_KEY_VALIDITY)) {
      for (i64 i = t * REDUCE_TILE_ROWS; i < end; i++)
        KEY_LEAST(i, bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), i))
    } else if (is_float || stride > 1) {
      for (i64 i = t * REDUCE_TILE_ROWS; i < end; i++) KEY_LEAST(i, 1)
    } else {
      for (i64 i = t * REDUCE_TILE_ROWS; i < end; i++) {
        const T key = (T)(values[i] ^ flip);
        least = key < least ? key : least;
      }
    }
    OUT(u64, BUF_KEY_OUT)[t] = KEY_LEAST_WORD(least);
  }
}
#else
KERNEL(sort_least) {
  SHARED(T, leasts, WORK_GROUP_SIZE);
  KEY_LEAST_HEAD;
  T least = (T) ~(T)0;
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE) {
    const i64 i = BID * REDUCE_TILE_ROWS + r + LID;
    if (i < n) KEY_LEAST(i, bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), i))
  }
  leasts[LID] = least;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) leasts[LID] = leasts[LID + d] < leasts[LID] ? leasts[LID + d] : leasts[LID];
    SYNC;
  }
  if (!LID) OUT(u64, BUF_KEY_OUT)[BID] = KEY_LEAST_WORD(leasts[0]);
}
#endif
#undef KEY_LEAST
#undef KEY_LEAST_HEAD
#undef KEY_LEAST_WORD
#undef KEY_SIGN
#undef KEY_FUSED
