/* bits.h - bitmaps at any offset in bits: the one place that knows how they are read and written.
 *
 * The driver gives bitmaps whose first byte is at a multiple of four; nothing is read behind the byte that has the last
 * bit. */

/* The 32 bits of rows i ... i + 31, i < n, of n rows that begin `offset` bits into b; what lies beyond n is
 * anything.  No b: all of them are set. */
FN u32 bits32(GLOBAL const u32 *b, i64 offset, i64 i, i64 n) {
  if (!b) return ~0u;
  const i64 p = offset + i, end = offset + n, w = p >> 5;
  const int s = (int)(p & 31);
  if ((w + (s ? 2 : 1)) * 32 <= end) return s ? b[w] >> s | b[w + 1] << (32 - s) : b[w];
  GLOBAL const u8 *bytes = (GLOBAL const u8 *)b;
  u64 x = 0;
#define BYTE(k) \
  if (((p >> 3) + k) * 8 < end) x |= (u64)bytes[(p >> 3) + k] << (8 * k)
  BYTE(0);
  BYTE(1);
  BYTE(2);
  BYTE(3);
  BYTE(4);
#undef BYTE
  return (u32)(x >> (p & 7));
}
/* One of them. */
FN u32 bit1(GLOBAL const u32 *b, i64 offset, i64 i) {
  return b ? (((GLOBAL const u8 *)b)[(offset + i) >> 3] >> ((offset + i) & 7)) & 1u : 1u;
}
/* As bits32; one: the first bit stands for all. */
FN u32 wide32(GLOBAL const u32 *b, i64 offset, i64 i, i64 n, int one) {
  if (one) return 0u - bit1(b, offset, 0);
  return bits32(b, offset, i, n);
}
/* Those of rows i ... i + 31 that there are. */
FN u32 tail(i64 i, i64 n) { return n - i >= 32 ? ~0u : n <= i ? 0u : (1u << (n - i)) - 1; }
/* Writes word w of a bitmap of n rows that begins at bit 0, and no byte behind it; rows beyond n become 0. */
FN void put32(GLOBAL u32 *o, i64 w, u32 x, i64 n) {
  if ((w + 1) * 32 <= n) {
    o[w] = x;
    return;
  }
  GLOBAL u8 *bytes = (GLOBAL u8 *)o;
  const i64 left = n - w * 32; /* no loop, see below */
  x &= tail(w * 32, n);
  if (left > 0) bytes[w * 4] = (u8)x;
  if (left > 8) bytes[w * 4 + 1] = (u8)(x >> 8);
  if (left > 16) bytes[w * 4 + 2] = (u8)(x >> 16);
  if (left > 24) bytes[w * 4 + 3] = (u8)(x >> 24);
}

/* Loops run a number of times that is known: PoCL 3.1 makes endless ones of those whose end depends on the item.
 *
 * PACK(o, n, i, test): sets bit i of o to `test`, which names the row i, for all n rows.  PACK_ROOM comes first in the
 * kernel. */
#if defined(CDV_COARSE)
#define PACK_ROOM
#define PACK(o, n, i, test)                        \
  WORDS(word_, n) {                                \
    u32 packed_ = 0;                               \
    const i64 first_ = word_ * 32;                 \
    if (first_ + 32 <= (n)) {                      \
      for (int j_ = 0; j_ < 32; j_++) {            \
        const i64 i = first_ + j_;                 \
        (void)i;                                   \
        packed_ |= (u32)(test) << j_;              \
      }                                            \
    } else {                                       \
      for (int j_ = 0; j_ < 32; j_++) {            \
        const i64 i = first_ + j_;                 \
        packed_ |= (u32)(i < (n) && (test)) << j_; \
      }                                            \
    }                                              \
    put32(o, word_, packed_, n);                   \
  }
/* PACK_TWO(o, v, n, i, test): as PACK, of two bitmaps; `test` is the bit of o and, doubled, that of v.
 * PACK_ROWS(o, n, i, test): as PACK, where `test` may store something for the row, which it is asked once for. */
#if defined(CDV_HOST) /* bytes first: a loop that stores values and gathers bits is done row by row */
FN u32 gathered_(const u8 *bytes) {
  u32 x = 0;
  for (int k = 0; k < 32; k += 8) x |= (u32)((load8_(bytes + k) * 0x0102040810204080u) >> 56) << k;
  return x;
}
#define BYTES_(n, i, test)                       \
  u8 bytes_[32];                                 \
  const i64 first_ = word_ * 32;                 \
  if (first_ + 32 <= (n)) {                      \
    for (int j_ = 0; j_ < 32; j_++) {            \
      const i64 i = first_ + j_;                 \
      bytes_[j_] = (u8)(test);                   \
    }                                            \
  } else {                                       \
    for (int j_ = 0; j_ < 32; j_++) {            \
      const i64 i = first_ + j_;                 \
      bytes_[j_] = i < (n) ? (u8)(test) : (u8)0; \
    }                                            \
  }
#define PACK_ROWS(o, n, i, test)           \
  WORDS(word_, n) {                        \
    BYTES_(n, i, test)                     \
    put32(o, word_, gathered_(bytes_), n); \
  }
#define PACK_TWO(o, v, n, i, test)         \
  WORDS(word_, n) {                        \
    BYTES_(n, i, test)                     \
    u8 known_[32];                         \
    for (int j_ = 0; j_ < 32; j_++) {      \
      known_[j_] = (u8)(bytes_[j_] >> 1);  \
      bytes_[j_] &= 1;                     \
    }                                      \
    put32(o, word_, gathered_(bytes_), n); \
    put32(v, word_, gathered_(known_), n); \
  }
#else
#define PACK_ROWS PACK
#define PACK_TWO(o, v, n, i, test)                  \
  WORDS(word_, n) {                                 \
    u32 packed_ = 0, known_ = 0;                    \
    const i64 first_ = word_ * 32;                  \
    for (int j_ = 0; j_ < 32; j_++) {               \
      const i64 i = first_ + j_;                    \
      const u32 both_ = i < (n) ? (u32)(test) : 0u; \
      packed_ |= (both_ & 1u) << j_;                \
      known_ |= both_ >> 1 << j_;                   \
    }                                               \
    put32(o, word_, packed_, n);                    \
    put32(v, word_, known_, n);                     \
  }
#endif
/* FOR_BITS(n, word, bit, i, do): for all n rows, with `bit` of the word that word(its first row) gives. */
#define FOR_BITS(n, word, bit, i, action)   \
  WORDS(word_, n) {                         \
    const i64 first_ = word_ * 32;          \
    const u32 bits_ = word(first_);         \
    if (first_ + 32 <= (n)) {               \
      for (int j_ = 0; j_ < 32; j_++) {     \
        const i64 i = first_ + j_;          \
        const u32 bit = (bits_ >> j_) & 1u; \
        action;                             \
      }                                     \
    } else {                                \
      for (int j_ = 0; j_ < 32; j_++) {     \
        const i64 i = first_ + j_;          \
        const u32 bit = (bits_ >> j_) & 1u; \
        if (i < (n)) action;                \
      }                                     \
    }                                       \
  }
#else
#define PACK_ROOM SHARED(u8, room_, WORK_GROUP_SIZE)
#define PACK(o, n, i, test)                                                  \
  {                                                                          \
    const i64 i = GID;                                                       \
    room_[LID] = i < (n) ? (u8)((test) ? 1 : 0) : (u8)0;                     \
    SYNC;                                                                    \
    if ((LID & 31) == 0 && i < (n)) {                                        \
      u32 packed_ = 0;                                                       \
      for (int j_ = 0; j_ < 32; j_++) packed_ |= (u32)room_[LID + j_] << j_; \
      put32(o, i >> 5, packed_, n);                                          \
    }                                                                        \
  }
#define PACK_ROWS PACK
#define PACK_TWO(o, v, n, i, test)                   \
  {                                                  \
    const i64 i = GID;                               \
    room_[LID] = i < (n) ? (u8)(test) : (u8)0;       \
    SYNC;                                            \
    if ((LID & 31) == 0 && i < (n)) {                \
      u32 packed_ = 0, known_ = 0;                   \
      for (int j_ = 0; j_ < 32; j_++) {              \
        packed_ |= (u32)(room_[LID + j_] & 1) << j_; \
        known_ |= (u32)(room_[LID + j_] >> 1) << j_; \
      }                                              \
      put32(o, i >> 5, packed_, n);                  \
      put32(v, i >> 5, known_, n);                   \
    }                                                \
  }
#define FOR_BITS(n, word, bit, i, action)                  \
  ROWS(i, n) {                                             \
    const u32 bit = (word(i & ~(i64)31) >> (i & 31)) & 1u; \
    action;                                                \
  }
#endif
