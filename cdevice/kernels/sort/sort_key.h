/* sort_key.h - words whose order is that of values of one size: T is the width, and no floating point is needed.
 * Values of more than 64 bits are several u64, of which SCALAR_KEY_STRIDE - 1 are left out.
 *
 * Both zeros are one value. NaN and nulls stand behind or before all others: by bits above the value's, by words that
 * no number has where the value is a float64, and else by their class, in words of their own. */
#define KEY_SIGN ((u64)1 << (8 * (int)sizeof(T) - 1))
#define KEY_FUSED (sizeof(T) < 8)
#define KEY_OF(row)                                                                         \
  (bits = (u64)values[(row) * stride], bits = (bits & rest) || !one_zero ? bits : (u64)0,   \
   word = (bits ^ flip ^ ((0 - (bits >> (8 * (int)sizeof(T) - 1))) & turned)) | value_word, \
   (bits & rest) > infinity ? nan_word : word)
KERNEL(sort_key) {
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_KEY_VALIDITY);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_KEY_ROWS);
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_KEY_OUT);
  const i64 n = SCALAR(SCALAR_ROWS), validity_offset = OFFSET(BUF_KEY_VALIDITY), stride = SCALAR(SCALAR_KEY_STRIDE);
  const i64 flags = SCALAR(SCALAR_KEY_FLAGS);
  const int is_float = (flags & SORT_KEY_FLOAT) != 0, first = (flags & SORT_KEY_NULLS_FIRST) != 0;
  const int one_zero = is_float && !(flags & SORT_KEY_DISTINCT), shift = 8 * (int)sizeof(T) & 63;
  const u64 rest = KEY_SIGN - 1, all = KEY_SIGN | rest;
  const u64 sign = is_float || flags & SORT_KEY_SIGNED ? KEY_SIGN : (u64)0;
  const u64 turned = is_float ? rest : (u64)0; /* bits of negative floats */
  const u64 flip = sign ^ (flags & SORT_KEY_DESCENDING ? all : (u64)0);
  const u64 infinity = is_float ? (u64)SCALAR(SCALAR_KEY_INFINITY) : ~(u64)0;
  const u64 value_class = first ? 2 : 0, null_class = 2 - value_class,
            value_word = KEY_FUSED ? value_class << shift : 0;
  const u64 nan_word = KEY_FUSED ? (u64)1 << shift : first ? (u64)1 : ~(u64)1;
  const u64 null_word = KEY_FUSED ? null_class << shift : !is_float ? sign : first ? (u64)0 : ~(u64)0;
  u64 bits, word;
  (void)n;
  if (rows) {
    ROWS(i, n) {
      const u64 key = KEY_OF((i64)rows[i]);
      o[i] = bit1(validity, validity_offset, (i64)rows[i]) ? key : null_word;
    }
  } else if (validity) {
    ROWS(i, n) {
      const u64 key = KEY_OF(i);
      o[i] = bit1(validity, validity_offset, i) ? key : null_word;
    }
  } else {
    ROWS(i, n) { o[i] = KEY_OF(i); }
  }
}
#undef KEY_OF

#if defined(CDV_COARSE)
/* Integers of few values: where a row belongs follows from how many rows of each value each tile has. */
#define FEW_VALUES                                                                                     \
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);                                             \
  const i64 n = SCALAR(SCALAR_ROWS), tiles = SCALAR(SCALAR_RADIX_TILES);                               \
  const i64 flags = SCALAR(SCALAR_KEY_FLAGS), many = SCALAR(SCALAR_FEW_VALUES);                        \
  const T flip = (T)(flags & SORT_KEY_SIGNED ? (T)KEY_SIGN : 0), least = (T)SCALAR(SCALAR_RADIX_BIAS); \
  const u32 last = (u32)(many - 1), down = flags & SORT_KEY_DESCENDING ? 1 : 0
#define FEW_PLACE(i) (down ? last - (u32)(T)((T)(values[i] ^ flip) - least) : (u32)(T)((T)(values[i] ^ flip) - least))
#define FEW_ROWS(i, t) \
  for (i64 i = (t) * SORT_TILE_ROWS, end = i + SORT_TILE_ROWS < n ? i + SORT_TILE_ROWS : n; i < end; i++)
KERNEL(sort_few_count) {
  FEW_VALUES;
  TILES(t, n, SORT_TILE_ROWS) {
    u32 counts[1 << SORT_TILE_BITS];
    for (i64 d = 0; d < many; d++) counts[d] = 0;
    FEW_ROWS(i, t) counts[FEW_PLACE(i)]++;
    for (i64 d = 0; d < many; d++) OUT(i64, BUF_RADIX_COUNTS)[d * tiles + t] = counts[d];
  }
}
KERNEL(sort_few_scatter) {
  FEW_VALUES;
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_FEW_ROWS_OUT);
  TILES(t, n, SORT_TILE_ROWS) {
    u32 at[1 << SORT_TILE_BITS];
    for (i64 d = 0; d < many; d++) at[d] = (u32)IN(i64, BUF_RADIX_COUNTS)[d * tiles + t];
    FEW_ROWS(i, t) o[at[FEW_PLACE(i)]++] = (u64)i;
  }
}
#undef FEW_VALUES
#undef FEW_PLACE
#undef FEW_ROWS
#endif

/* The least word of each tile, all bits: it has none; nulls and NaN have no word here, and the two zeros one.  That of
 * several words is the number that 64 bits hold and that is nearest. */
#define KEY_NONE ((T) ~(T)0)
#define KEY_INTEGER(i) ((T)(values[i] ^ flip))
#define KEY_FLOAT(i) OF(key_of_float, T)(values[i], flip, infinity)
#define KEY_NEAREST(i) ((T)(OF(nearest, T)(values + (i) * words, words) ^ flip))
FN T OF(key_of_float, T)(T x, T flip, T infinity) {
  const T top = (T)KEY_SIGN, rest = (T)~top, s = x == top ? (T)0 : x;
  const T key = (T)(s ^ ((T)(0 - (s >> (8 * (int)sizeof(T) - 1))) & rest) ^ flip);
  return (x & rest) > infinity ? KEY_NONE : key;
}
FN T OF(nearest, T)(GLOBAL const T *x, int words) {
  const T top = (T)KEY_SIGN, above = x[0] & top ? KEY_NONE : (T)0;
  int fits = 1;
  for (int k = 1; k < words; k++) fits &= x[k] == above;
  return fits ? x[0] : x[words - 1] & top ? top : (T)(top - 1);
}
#define KEY_LEAST(key)                   \
  {                                      \
    const T key_ = (key);                \
    least = key_ < least ? key_ : least; \
  }
#if defined(CDV_COARSE)
#define KEY_TILE(KEY)                                                                          \
  for (; i + 32 <= end; i += 32) {                                                             \
    const u32 m = bits32(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), i, n);    \
    if (m == ~0u) {                                                                            \
      for (int l = 0; l < 32; l++) KEY_LEAST(KEY(i + l))                                       \
    } else {                                                                                   \
      for (int l = 0; l < 32; l++) KEY_LEAST((T)(KEY(i + l) | (T)((T)((m >> l) & 1u) - (T)1))) \
    }                                                                                          \
  }                                                                                            \
  for (; i < end; i++)                                                                         \
  KEY_LEAST(bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), i) ? KEY(i) : KEY_NONE)
#else
#define KEY_ROW(KEY)                                                                                    \
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE) {                                         \
    const i64 i = BID * REDUCE_TILE_ROWS + r + LID;                                                     \
    if (i < n && bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), i)) KEY_LEAST(KEY(i)) \
  }
#endif
KERNEL(sort_least) {
#if !defined(CDV_COARSE)
  SHARED(T, leasts, WORK_GROUP_SIZE);
#endif
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);
  const i64 n = SCALAR(SCALAR_ROWS), flags = SCALAR(SCALAR_KEY_FLAGS);
  const int words = (int)SCALAR(SCALAR_KEY_STRIDE), is_float = (flags & SORT_KEY_FLOAT) != 0;
  const T infinity = (T)SCALAR(SCALAR_KEY_INFINITY), all = flags & SORT_KEY_DESCENDING ? KEY_NONE : (T)0;
  const T flip = (T)((is_float || flags & SORT_KEY_SIGNED ? (T)KEY_SIGN : (T)0) ^ all);
#if defined(CDV_COARSE)
  TILES(t, n, REDUCE_TILE_ROWS) {
    const i64 end = (t + 1) * REDUCE_TILE_ROWS < n ? (t + 1) * REDUCE_TILE_ROWS : n;
    i64 i = t * REDUCE_TILE_ROWS;
    T least = KEY_NONE;
    if (is_float) {
      KEY_TILE(KEY_FLOAT)
    } else if (words > 1) {
      KEY_TILE(KEY_NEAREST)
    } else {
      KEY_TILE(KEY_INTEGER)
    }
    OUT(u64, BUF_KEY_OUT)[t] = least == KEY_NONE ? ~(u64)0 : (u64)least;
  }
#else
  T least = KEY_NONE;
  if (is_float) {
    KEY_ROW(KEY_FLOAT)
  } else if (words > 1) {
    KEY_ROW(KEY_NEAREST)
  } else {
    KEY_ROW(KEY_INTEGER)
  }
  leasts[LID] = least;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (LID < d) leasts[LID] = leasts[LID + d] < leasts[LID] ? leasts[LID + d] : leasts[LID];
    SYNC;
  }
  if (!LID) OUT(u64, BUF_KEY_OUT)[BID] = leasts[0] == KEY_NONE ? ~(u64)0 : (u64)leasts[0];
#endif
}
#undef KEY_NONE
#undef KEY_INTEGER
#undef KEY_FLOAT
#undef KEY_NEAREST
#undef KEY_LEAST
#undef KEY_TILE
#undef KEY_ROW
#undef KEY_SIGN
#undef KEY_FUSED
