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
    GLOBAL u64 *o = OUT(u64, BUF_WORD_RANGES) + 4 * t;
    const i64 first = t * SORT_TILE_ROWS, end = END_OF_TILE(first, SORT_TILE_ROWS, n);
    const int plain = !OF(IS_WIDE, T) && !validity && !(flags & (WORD_NORMALIZE_NAN | WORD_NORMALIZE_ZERO));
    if (plain) { /* in their own width */
#if !OF(IS_WIDE, T)
      const T flip = (T)(flags & SORT_KEY_SIGNED ? (T)KEY_TOP : 0);
      T least = (T) ~(T)0, greatest = 0, any = 0, all = (T) ~(T)0;
      for (i64 i = first; i < end; i++) {
        const T x = (T)(values[i] ^ flip);
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        any |= x;
        all &= x;
      }
      o[0] = least, o[1] = greatest, o[2] = any, o[3] = all;
#endif
    } else {
      u64 least = ~(u64)0, greatest = 0, any = 0, all = ~(u64)0;
      for (i64 i = first; i < end; i++) {
        const u64 x = KEY_NORMAL(KEY_WORD(values[i]));
        if (validity && !bit1(validity, validity_offset, i)) continue;
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        any |= x;
        all &= x;
      }
      o[0] = least, o[1] = greatest, o[2] = any, o[3] = all;
    }
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
#if defined(CDV_HOST)
  u64 other = 0;
#define FOUND_OUTSIDE(bits) other |= bits;
#else
#define FOUND_OUTSIDE(bits)
#endif
#define PACK_WORDS(code, valid, others)                   \
  PREPARED_ROWS(i, n) {                                   \
    const u64 x = CODE, there = valid ? ~(u64)0 : (u64)0; \
    o[i] = (((code) | known) & there) << to | (others);   \
    FOUND_OUTSIDE(x & ~mask & there)                      \
  }
#define CODE (KEY_NORMAL(KEY_WORD(values[i])) - least)
#if defined(CDV_COARSE)
  if (!runs.mask[1] && !validity && !before) { /* what one column of numbers mostly is */
    PACK_WORDS(x >> runs.from[0] & runs.mask[0], 1, 0)
  } else
#endif
  {
    PACK_WORDS(gathered(x, runs), !validity || bit1(validity, validity_offset, i), before ? before[i] : (u64)0)
  }
#if defined(CDV_HOST)
  GLOBAL u64 *outside = OUT(u64, BUF_WORDS_OUTSIDE);
  if (other && outside) STORE_RELAXED(outside, (u64)1);
#endif
#undef FOUND_OUTSIDE
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
#if !OF(IS_WIDE, T)
/* ---- rows that are found in a set ---- */
FN u32 CAT(set_row, T)(u64 word, u64 at, u64 last, GLOBAL const u64 *words, GLOBAL const u32 *slots) {
  u32 row = slots[at];
  while (row != HASH_EMPTY && words[row] != word) {
    at = (at + 1) & last;
    row = slots[at];
  }
  return row;
}
#define SET_ROW(word)                                                       \
  (direct ? (word) - least < (u64)size ? slots[(word) - least] : HASH_EMPTY \
          : CAT(set_row, T)(word, hash_place(word, seed) & (u64)(size - 1), (u64)(size - 1), words, slots))
#if defined(CDV_COARSE)
/* Which of 32 keys are found, as bits, and where; before: the bits of those before. */
FN u32 CAT(set_find, T)(const u64 *keys, u32 *found, GLOBAL const u64 *words, GLOBAL const u32 *slots,
                        GLOBAL const u32 *hashes, i64 size, u64 least, u64 seed, int direct, u32 before) {
  u32 bits = 0, more = 0;
  if (direct) {
    for (int k = 0; k < 32; k++) {
      const u64 at = keys[k] - least;
      const u32 row = slots[at < (u64)size ? at : 0];
      found[k] = at < (u64)size ? row : HASH_EMPTY;
    }
    for (int k = 0; k < 32; k++) bits |= (u32)(found[k] != HASH_EMPTY) << k;
    return bits;
  }
  const u64 last = (u64)(size - 1);
  u32 places[32];
  for (int k = 0; k < 32; k++) places[k] = hash_place(keys[k], seed);
  if (POPC(before) < 16) { /* most are not there, as a bitmap of hashes tells */
    const int shift = SET_HASH_SHIFT(size);
    for (int k = 0; k < 32; k++) more |= (hashes[places[k] >> shift >> 5] >> (places[k] >> shift & 31) & 1u) << k;
  } else {
    u64 there[32];
    for (int k = 0; k < 32; k++) found[k] = slots[places[k] & last];
    for (int k = 0; k < 32; k++) there[k] = words[found[k] == HASH_EMPTY ? 0 : found[k]];
    for (int k = 0; k < 32; k++) {
      const u32 some = found[k] != HASH_EMPTY, same = there[k] == keys[k];
      bits |= (some & same) << k;
      more |= (some & (same ^ 1u)) << k;
    }
  }
  for (; more; more &= more - 1) {
    const int k = CTZ(more);
    found[k] = CAT(set_row, T)(keys[k], places[k] & last, last, words, slots);
    bits |= (u32)(found[k] != HASH_EMPTY) << k;
  }
  return bits;
}
#define SET_TILES(w)                                     \
  TILES(GLUE(w, _tile), n, REDUCE_TILE_ROWS)             \
  for (i64 w = GLUE(w, _tile) * (REDUCE_TILE_ROWS / 32); \
       w * 32 < n && w < (GLUE(w, _tile) + 1) * (REDUCE_TILE_ROWS / 32); w++)
/* bits: which of the rows from 32 w on are found and not null; valid: which are not null */
#define SET_FIND                                                                                                    \
  u64 keys[32];                                                                                                     \
  u32 found[32];                                                                                                    \
  const int many = n - w * 32 < 32 ? (int)(n - w * 32) : 32;                                                        \
  for (int k = 0; k < many; k++) keys[k] = KEY_NORMAL(KEY_WORD(values[w * 32 + k]));                                \
  for (int k = many; k < 32; k++) keys[k] = 0;                                                                      \
  const u32 valid = bits32(validity, validity_offset, w * 32, n);                                                   \
  before = CAT(set_find, T)(keys, found, words, slots, IN(u32, BUF_SET_HASHES), size, least, seed, direct, before); \
  const u32 bits = valid & before
KERNEL(set_has) {
  KEYS;
  SET_TABLE;
  u32 before = 0;
  SET_TILES(w) {
    SET_FIND;
    put32(OUT(u32, BUF_OUT), w, null_row >= 0 ? bits | ~valid : bits, n);
  }
}
KERNEL(set_rows) {
  KEYS;
  SET_TABLE;
  GLOBAL u32 *RESTRICT o = OUT(u32, BUF_OUT);
  u32 before = 0;
  SET_TILES(w) {
    SET_FIND;
    put32(OUT(u32, BUF_SET_FOUND), w, null_row >= 0 ? bits | ~valid : bits, n);
    for (int k = 0; k < many; k++)
      o[w * 32 + k] = bits >> k & 1 ? found[k] : valid >> k & 1 || null_row < 0 ? 0 : (u32)null_row;
  }
}
#undef SET_FIND
#undef SET_TILES
#else
FN u32 CAT(put_row, T)(GLOBAL u32 *o, i64 i, u32 row) {
  o[i] = row == HASH_EMPTY ? 0 : row;
  return row != HASH_EMPTY;
}
#define FOUND_ROW(i) \
  (bit1(validity, validity_offset, i) ? SET_ROW((u64)KEY_NORMAL(KEY_WORD(values[i]))) : (u32)null_row)
KERNEL(set_has) {
  PACK_ROOM;
  KEYS;
  SET_TABLE;
  PACK(OUT(u32, BUF_OUT), n, i, FOUND_ROW(i) != HASH_EMPTY)
}
KERNEL(set_rows) {
  PACK_ROOM;
  KEYS;
  SET_TABLE;
  PACK(OUT(u32, BUF_SET_FOUND), n, i, CAT(put_row, T)(OUT(u32, BUF_OUT), i, FOUND_ROW(i)))
}
#undef FOUND_ROW
#endif
#undef SET_ROW
#endif
#undef KEYS
#undef KEY_WORD
#undef KEY_TOP
#undef KEY_INFINITY
#undef KEY_NORMAL
