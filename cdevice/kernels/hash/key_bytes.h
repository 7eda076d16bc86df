/* key_bytes.h - keys that are strings or bytes as words of 64 bits, as key_words.h has those of one size.  T: an
 * offset. */
#define KEYS                                                                     \
  GLOBAL const T *RESTRICT offsets = IN(T, BUF_KEY_VALUES);                      \
  GLOBAL const u8 *RESTRICT bytes = IN(u8, BUF_KEY_BYTES);                       \
  GLOBAL const u32 *RESTRICT validity = RAW(const u32, BUF_KEY_VALIDITY);        \
  const i64 validity_offset = OFFSET(BUF_KEY_VALIDITY), n = SCALAR(SCALAR_ROWS); \
  const i64 size = WORD_SIZE(SCALAR(SCALAR_WORD_PLACE)), bytes_end = n == 0 ? 0 : size ? n * size : (i64)offsets[n]
#define BATCH_ROWS 64 /* that are loaded before they are computed with */
#define BEGIN_OF(i) (size ? (i) * size : (i64)offsets[i])
#define END_OF(i) (size ? ((i) + 1) * size : (i64)offsets[(i) + 1])
#if defined(CDV_COARSE)
KERNEL(bytes_range) { /* of the valid rows of a tile: lengths, bytes 0 to 7, bytes 8 to 15 */
  KEYS;
  TILES(t, n, SORT_TILE_ROWS) {
    GLOBAL u64 *o = OUT(u64, BUF_WORD_RANGES) + 12 * t;
    u64 least = ~(u64)0, greatest = 0, any = 0, all = ~(u64)0, any0 = 0, all0 = ~(u64)0, any1 = 0, all1 = ~(u64)0;
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) {
      const i64 begin = BEGIN_OF(i), end = END_OF(i);
      const u64 length = (u64)(end - begin);
      const u64 x = bytes_word(bytes, begin, end, bytes_end);
      if (validity && !bit1(validity, validity_offset, i)) continue;
      least = length < least ? length : least;
      greatest = length > greatest ? length : greatest;
      any |= length, all &= length;
      any0 |= x, all0 &= x;
      const u64 y = length > 8 ? bytes_word(bytes, begin + 8, end, bytes_end) : 0;
      any1 |= y, all1 &= y;
    }
    o[0] = least, o[1] = greatest, o[2] = any, o[3] = all;
    o[4] = 0, o[5] = any0, o[6] = any0, o[7] = all0;
    o[8] = 0, o[9] = any1, o[10] = any1, o[11] = all1;
  }
}
#endif
KERNEL(bytes_pack) {
  KEYS;
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_WORDS_OUT);
  GLOBAL const u64 *RESTRICT before = IN(u64, BUF_WORDS_IN);
  GLOBAL u64 *outside = OUT(u64, BUF_WORDS_OUTSIDE);
  const i64 part = WORD_PART(SCALAR(SCALAR_WORD_PLACE));
  const u64 base = (u64)SCALAR(SCALAR_WORD_BASE), mask = (u64)SCALAR(SCALAR_WORD_MASK);
  const int to = WORD_SHIFT(SCALAR(SCALAR_WORD_PLACE));
  const word_runs runs = runs_of(mask);
  const u64 known = SCALAR(SCALAR_KEY_FLAGS) & WORD_NULLABLE ? (u64)1 << (runs.bits & 63) : (u64)0;
  const i64 one_length = WORD_LENGTH_OF(SCALAR(SCALAR_KEY_FLAGS));
#define PACK_BYTES(word, valid, others)                                                   \
  PREPARED_ROWS(i, n) {                                                                   \
    const i64 begin = BEGIN_OF(i), end = END_OF(i);                                       \
    const u64 x = word, there = valid ? ~(u64)0 : (u64)0;                                 \
    o[i] = ((gathered(x, runs) | known) & there) << to | (others);                        \
    FOUND_OUTSIDE(((x ^ base) & ~mask & there) |                                          \
                  (one_length >= 0 ? (u64)((end - begin) ^ one_length) & there : (u64)0)) \
  }
#if defined(CDV_HOST)
  u64 other = 0;
#define FOUND_OUTSIDE(bits) other |= bits;
#else
#define FOUND_OUTSIDE(bits) \
  if (outside && (bits)) *outside = 1;
#endif
#if defined(CDV_COARSE)
  if (one_length > 8 * part && part != WORD_LENGTH && !validity && !size) { /* what ids mostly are */
    const i64 rest = one_length - 8 * part;
    const u64 used = rest >= 8 ? ~(u64)0 : ((u64)1 << (8 * rest)) - 1;
    TILES(t, n, REDUCE_TILE_ROWS) {
      const i64 end_row = END_OF_TILE(t * REDUCE_TILE_ROWS, REDUCE_TILE_ROWS, n);
      for (i64 i = t * REDUCE_TILE_ROWS; i < end_row; i += BATCH_ROWS) {
        u64 x[BATCH_ROWS], differ = 0;
        T other_length = 0;
        const int many = end_row - i < BATCH_ROWS ? (int)(end_row - i) : BATCH_ROWS;
        const i64 last = (i64)offsets[i + many - 1] + 8 * part; /* no row of these begins behind */
        if (last + 8 <= bytes_end) {
          for (int j = 0; j < many; j++) x[j] = LOAD8(bytes + offsets[i + j] + 8 * part) & used;
        } else {
          for (int j = 0; j < many; j++)
            x[j] = bytes_word(bytes, (i64)offsets[i + j] + 8 * part, (i64)offsets[i + j + 1], bytes_end);
        }
        for (int j = 0; j < many; j++) other_length |= (T)(offsets[i + j + 1] - offsets[i + j]) ^ (T)one_length;
        for (int j = 0; j < many; j++) differ |= x[j] ^ base;
        if (before) {
          for (int j = 0; j < many; j++) o[i + j] = (gathered(x[j], runs) | known) << to | before[i + j];
        } else {
          for (int j = 0; j < many; j++) o[i + j] = (gathered(x[j], runs) | known) << to;
        }
        FOUND_OUTSIDE((differ & ~mask) | (u64)other_length)
      }
    }
  } else if (!part && !validity && !before && !size) { /* what one column of strings mostly is */
    PACK_BYTES(bytes_word(bytes, begin, end, bytes_end), 1, 0)
  } else
#endif
  {
    PACK_BYTES(part == WORD_LENGTH ? (u64)(end - begin) : bytes_word(bytes, begin + 8 * part, end, bytes_end),
               !validity || bit1(validity, validity_offset, i), before ? before[i] : (u64)0)
  }
#if defined(CDV_HOST)
  if (other && outside) STORE_RELAXED(outside, (u64)1);
#endif
#undef FOUND_OUTSIDE
#undef PACK_BYTES
}
KERNEL(bytes_hash) {
  KEYS;
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_WORDS_OUT);
  GLOBAL const u64 *RESTRICT before = IN(u64, BUF_WORDS_IN);
  const u64 mask = (u64)SCALAR(SCALAR_WORD_MASK);
  ROWS(i, n) {
    const i64 begin = BEGIN_OF(i), end = END_OF(i);
    u64 h = before ? before[i] : (u64)0;
    if (!validity || bit1(validity, validity_offset, i)) {
      for (i64 k = begin; k < end; k += 8) h = hash_add(h, bytes_word(bytes, k, end, bytes_end));
      h = hash_add(h, (u64)(end - begin));
    } else {
      h = hash_add(h, HASH_OF_NULL);
    }
    o[i] = h & mask;
  }
}
/* Has a row not the key of its group's first row? */
KERNEL(bytes_mismatch) {
  KEYS;
  GLOBAL const u32 *RESTRICT ids = IN(u32, BUF_MISMATCH_IDS);
  GLOBAL const i64 *RESTRICT first = IN(i64, BUF_MISMATCH_FIRST);
  ROWS(i, n) {
    const i64 j = first[ids[i]];
    const i64 a = BEGIN_OF(i), b = BEGIN_OF(j), end = END_OF(i), length = end - a;
    const int valid = !validity || bit1(validity, validity_offset, i);
    const int other = !validity || bit1(validity, validity_offset, j);
    u64 differ = (u64)(valid != other);
    if (valid && other) {
      differ |= (u64)(length != END_OF(j) - b);
      for (i64 k = 0; k < length && !differ; k += 8)
        differ |= bytes_word(bytes, a + k, end, bytes_end) ^ bytes_word(bytes, b + k, b + length, bytes_end);
    }
    if (differ) STORE_RELAXED(OUT(u32, BUF_MISMATCH), 1);
  }
}
#undef KEYS
#undef BEGIN_OF
#undef END_OF
#undef BATCH_ROWS
