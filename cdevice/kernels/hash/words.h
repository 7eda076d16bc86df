/* words.h - words of 64 bits that stand for keys: bits gathered from others, hashes, up to eight bytes. */

/* Runs of bits of a mask, four at most: the driver fills gaps of masks that have more. */
/* Rows of kernels that prepare much for them: where an item is called for one row it does those of a tile. */
#if defined(CDV_COARSE)
#define PREPARED_ROWS(i, n)                             \
  TILES(GLUE(i, _tile), n, REDUCE_TILE_ROWS)            \
  for (i64 i = GLUE(i, _tile) * REDUCE_TILE_ROWS,       \
           GLUE(i, _end) = END_OF_TILE(i, REDUCE_TILE_ROWS, n); \
       i < GLUE(i, _end); i++)
#define END_OF_TILE(first, rows, n) ((first) + (rows) < (n) ? (first) + (rows) : (n))
#else
#define PREPARED_ROWS(i, n) ROWS(i, n)
#endif
typedef struct {
  int from[4], to[4], bits;
  u64 mask[4];
} word_runs;
FN int lowest_bit(u64 x) { /* of a word that is not 0 */ return (u32)x ? CTZ((u32)x) : 32 + CTZ((u32)(x >> 32)); }
/* By few steps: some devices do them for each row. */
FN word_runs runs_of(u64 mask) {
  word_runs r;
  r.bits = 0;
  for (int k = 0; k < 4; k++) {
    r.from[k] = r.to[k] = 0;
    r.mask[k] = 0;
    if (!mask) continue;
    const int from = lowest_bit(mask);
    const u64 above = mask >> from;
    const int length = ~above ? lowest_bit(~above) : 64;
    r.from[k] = from, r.to[k] = r.bits & 63;
    r.mask[k] = length == 64 ? ~(u64)0 : ((u64)1 << length) - 1;
    r.bits += length;
    mask &= ~(r.mask[k] << from);
  }
  return r;
}
FN u64 gathered(u64 x, const word_runs r) {
  return (x >> r.from[0] & r.mask[0]) | (x >> r.from[1] & r.mask[1]) << r.to[1] |
         (x >> r.from[2] & r.mask[2]) << r.to[2] | (x >> r.from[3] & r.mask[3]) << r.to[3];
}
#define HASH_OF_NULL (((u64)0x5bf03635u << 32) | 0xa1d7cc4bu)
#define HASH_FACTOR_1 (((u64)0x9e3779b9u << 32) | 0x7f4a7c15u)
#define HASH_FACTOR_2 (((u64)0xc2b2ae3du << 32) | 0x27d4eb4fu)
FN u64 hash_mix(u64 h) {
  h ^= h >> 32;
  h *= HASH_FACTOR_1;
  return h ^ h >> 29;
}
FN u32 hash_place(u64 word, u64 seed) { return (u32)(hash_mix((word ^ seed) * HASH_FACTOR_2) >> 20); }
/* The table of a set: row numbers by the words of its rows, or by hashes of them. */
#define SET_WORDS                                                                        \
  GLOBAL const u64 *RESTRICT words = IN(u64, BUF_SET_WORDS);                             \
  const i64 size = SCALAR(SCALAR_HASH_SIZE);                                             \
  const u64 seed = (u64)SCALAR(SCALAR_HASH_SEED), least = (u64)SCALAR(SCALAR_SET_LEAST); \
  const int direct = (SCALAR(SCALAR_KEY_FLAGS) & SET_DIRECT) != 0
#define SET_TABLE                                            \
  SET_WORDS;                                                 \
  GLOBAL const u32 *RESTRICT slots = IN(u32, BUF_SET_SLOTS); \
  const i64 null_row = SET_NULL_ROW(SCALAR(SCALAR_KEY_FLAGS))
FN u64 hash_add(u64 h, u64 x) { return hash_mix((x ^ h * HASH_FACTOR_1) * HASH_FACTOR_2 + h); }
/* Up to eight of the bytes from begin to end, which is no less; no byte at `last` or behind it is read. */
FN u64 bytes_word(GLOBAL const u8 *bytes, i64 begin, i64 end, i64 last) {
  const i64 length = end - begin;
#if defined(CDV_COARSE)
  if (begin + 8 <= last) {
    const u64 mask = length >= 8 ? ~(u64)0 : ((u64)1 << (8 * (length > 0 ? length : 0))) - 1;
    return LOAD8(bytes + begin) & mask;
  }
#endif
  u64 word = 0;
  (void)last;
  for (int k = 7; k >= 0; k--) word = word << 8 | (k < length ? (u64)bytes[begin + (k < length ? k : 0)] : (u64)0);
  return word;
}
