/* key_words.h - keys of one size as words of 64 bits, whose bits are packed beside those of other columns, or hashed.
 * T: the width; no floating point is needed. */
#if OF(IS_WIDE, T)
#define KEY_WORD(x) (WORD_PART(SCALAR(SCALAR_WORD_PLACE)) ? (x).high : (x).low)
#define KEY_NORMAL(x) (x)
#else
#define KEY_WORD(x) ((u64)(x))
#define KEY_TOP ((u64)1 << (8 * (int)sizeof(T) - 1))
#define KEY_INFINITY (sizeof(T) == 2 ? (u64)0x7c00 : sizeof(T) == 4 ? (u64)0x7f800000 : (u64)0x7ff00000 << 32)
FN u64 CAT(normal_float, T)(u64 x, i64 flags) {
  const u64 magnitude = x & (KEY_TOP - 1);
  if (magnitude > KEY_INFINITY && flags & WORD_NORMALIZE_NAN) return KEY_TOP - 1;
  if (!magnitude && flags & WORD_NORMALIZE_ZERO) return 0;
  return x;
}
/* Signed numbers from the least to the greatest. */
#define KEY_NORMAL(x)                                                                  \
  (flags & (WORD_NORMALIZE_NAN | WORD_NORMALIZE_ZERO) ? CAT(normal_float, T)(x, flags) \
                                                      : (x) ^ (flags & SORT_KEY_SIGNED ? KEY_TOP : (u64)0))
#endif
#define KEYS                                                                                                       \
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);                                                         \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_KEY_VALIDITY);                                          \
  const i64 validity_offset = OFFSET(BUF_KEY_VALIDITY), flags = SCALAR(SCALAR_KEY_FLAGS), n = SCALAR(SCALAR_ROWS); \
  (void)flags, (void)n
#if defined(CDV_COARSE)
KERNEL(word_range) { /* of the valid rows of a tile */
  KEYS;
  TILES(t, n, SORT_TILE_ROWS) {
    u64 least = ~(u64)0, greatest = 0, any = 0, all = ~(u64)0;
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) {
      const u64 x = KEY_NORMAL(KEY_WORD(values[i]));
      if (validity && !bit1(validity, validity_offset, i)) continue;
      least = x < least ? x : least;
      greatest = x > greatest ? x : greatest;
      any |= x;
      all &= x;
    }
    GLOBAL u64 *o = OUT(u64, BUF_WORD_RANGES) + 4 * t;
    o[0] = least, o[1] = greatest, o[2] = any, o[3] = all;
  }
}
#endif
KERNEL(word_pack) {
  KEYS;
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_WORDS_OUT);
  GLOBAL const u64 *RESTRICT before = IN(u64, BUF_WORDS_IN);
  const u64 least = (u64)SCALAR(SCALAR_WORD_LEAST), mask = (u64)SCALAR(SCALAR_WORD_MASK);
  const int to = WORD_SHIFT(SCALAR(SCALAR_WORD_PLACE));
  const word_runs runs = runs_of(mask);
  const u64 known = flags & WORD_NULLABLE ? (u64)1 << (runs.bits & 63) : (u64)0;
#define PACK_WORDS(code, valid, others) \
  ROWS(i, n) { o[i] = (valid ? ((code) | known) << to : (u64)0) | (others); }
#define CODE (KEY_NORMAL(KEY_WORD(values[i])) - least)
#if defined(CDV_COARSE)
  if (!runs.mask[1] && !validity && !before) { /* what one column of numbers mostly is */
    PACK_WORDS(CODE >> runs.from[0] & runs.mask[0], 1, 0)
    return;
  }
#endif
  PACK_WORDS(gathered(CODE, runs), !validity || bit1(validity, validity_offset, i), before ? before[i] : (u64)0)
#undef PACK_WORDS
#undef CODE
}
KERNEL(word_hash) {
  KEYS;
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_WORDS_OUT);
  GLOBAL const u64 *RESTRICT before = IN(u64, BUF_WORDS_IN);
  const u64 mask = (u64)SCALAR(SCALAR_WORD_MASK);
  ROWS(i, n) {
    const int valid = !validity || bit1(validity, validity_offset, i);
    const u64 x = valid ? KEY_NORMAL(KEY_WORD(values[i])) : HASH_OF_NULL;
    o[i] = hash_add(before ? before[i] : (u64)0, x) & mask;
  }
}
/* Has a row not the key of its group's first row? */
KERNEL(word_mismatch) {
  KEYS;
  GLOBAL const u32 *RESTRICT ids = IN(u32, BUF_MISMATCH_IDS);
  GLOBAL const i64 *RESTRICT first = IN(i64, BUF_MISMATCH_FIRST);
  ROWS(i, n) {
    const i64 k = first[ids[i]];
    const int valid = !validity || bit1(validity, validity_offset, i);
    const int other = !validity || bit1(validity, validity_offset, k);
    const u64 x = KEY_NORMAL(KEY_WORD(values[i])), y = KEY_NORMAL(KEY_WORD(values[k]));
    if (valid != other || (valid && x != y)) STORE_RELAXED(OUT(u32, BUF_MISMATCH), 1);
  }
}
#undef KEYS
#undef KEY_WORD
#undef KEY_TOP
#undef KEY_INFINITY
#undef KEY_NORMAL
