/* utf8.h - bytes of UTF-8 as code points and back, and how a row of text is given.  Nothing here knows of T. */

#if defined(CDV_HOST)
#define TEXT_FN FN __attribute__((always_inline)) /* in loops over code points */
#else
#define TEXT_FN FN
#endif
/* The code point from i on, and in *next where the one behind it begins; NOT_UTF8, and the next byte, where there is
 * none: a byte too few, one that continues nothing, a longer form than needed, half of a surrogate pair, a number above
 * the greatest. Nothing from `end` on is read; i is below it. */
TEXT_FN u32 utf8_at(GLOBAL const u8 *b, i64 i, i64 end, i64 *next) {
  const u32 x = b[i];
  *next = i + 1;
  if (x < 0x80) return x;
  const int size = x >= 0xf0 ? 4 : x >= 0xe0 ? 3 : 2;
  if (x < 0xc2 || x > 0xf4 || end - i < size) return NOT_UTF8;
  u32 c = x & (0x7fu >> size), wrong = 0;
  c = c << 6 | (b[i + 1] & 0x3fu);
  wrong |= (b[i + 1] ^ 0x80u) & 0xc0u;
  if (size > 2) {
    c = c << 6 | (b[i + 2] & 0x3fu);
    wrong |= (b[i + 2] ^ 0x80u) & 0xc0u;
  }
  if (size > 3) {
    c = c << 6 | (b[i + 3] & 0x3fu);
    wrong |= (b[i + 3] ^ 0x80u) & 0xc0u;
  }
  if (wrong || c < (size == 4 ? 0x10000u : size == 3 ? 0x800u : 0x80u) || c > 0x10ffffu || (c >> 11) == 0x1bu)
    return NOT_UTF8;
  *next = i + size;
  return c;
}
/* How many bytes a code point has. */
FN i64 utf8_size(u32 c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }
/* Writes it, and gives where the next one goes. */
FN i64 utf8_put(GLOBAL u8 *o, i64 at, u32 c) {
  if (c < 0x80) {
    o[at] = (u8)c;
    return at + 1;
  }
  if (c < 0x800) {
    o[at] = (u8)(0xc0u | c >> 6);
    o[at + 1] = (u8)(0x80u | (c & 0x3fu));
    return at + 2;
  }
  if (c < 0x10000) {
    o[at] = (u8)(0xe0u | c >> 12);
    o[at + 1] = (u8)(0x80u | (c >> 6 & 0x3fu));
    o[at + 2] = (u8)(0x80u | (c & 0x3fu));
    return at + 3;
  }
  o[at] = (u8)(0xf0u | c >> 18);
  o[at + 1] = (u8)(0x80u | (c >> 12 & 0x3fu));
  o[at + 2] = (u8)(0x80u | (c >> 6 & 0x3fu));
  o[at + 3] = (u8)(0x80u | (c & 0x3fu));
  return at + 4;
}

#if defined(CDV_HOST) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TEXT_BY_WORDS 1 /* eight bytes at a time, the first one lowest */
#define TOP_BITS 0x8080808080808080ull
#define EACH_BYTE(x) ((u64)(x) * 0x0101010101010101ull)
/* The lowest n bytes. */
FN u64 first_bytes(i64 n) { return n >= 8 ? ~(u64)0 : ((u64)1 << (8 * n)) - 1; }
/* Eight bytes from i on, zeros from `end` on; nothing from `last` on is read. */
FN u64 text_word(const u8 *b, i64 i, i64 end, i64 last) {
  if (i + 8 <= last) return LOAD8(b + i) & first_bytes(end - i);
  u64 x = 0;
  for (i64 k = i; k < end && k < i + 8; k++) x |= (u64)b[k] << (8 * (k - i));
  return x;
}
#endif

/* Are n bytes the same? */
FN int same_bytes(GLOBAL const u8 *a, GLOBAL const u8 *b, i64 n) {
#if defined(CDV_HOST)
  return !__builtin_memcmp(a, b, (unsigned long)n);
#else
  int same = 1;
  for (i64 k = 0; k < n && same; k++) same = a[k] == b[k];
  return same;
#endif
}
/* Where m bytes are first found from begin on, or -1. */
FN i64 bytes_found(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL const u8 *p, i64 m) {
  if (end - begin < m) return -1;
  if (m == 0) return begin;
#if defined(TEXT_BY_WORDS)
  const u64 first = EACH_BYTE(p[0]), final = EACH_BYTE(p[m - 1]);
  const i64 stop = end - m + 1; /* no match begins there or behind */
  for (; begin < stop && begin + m + 7 <= last; begin += 8) {
    const u64 x = (LOAD8(b + begin) ^ first) | (LOAD8(b + begin + m - 1) ^ final);
    u64 zero = (x - EACH_BYTE(1)) & ~x & TOP_BITS & first_bytes(stop - begin); /* above the lowest some may be wrong */
    for (; zero; zero &= zero - 1) {
      const i64 at = begin + (__builtin_ctzll(zero) >> 3);
      if (b[at] == p[0] && same_bytes(b + at, p, m)) return at;
    }
  }
#else
  (void)last;
#endif
  i64 found = -1;
  for (; begin + m <= end && found < 0; begin++)
    if (b[begin] == p[0] && same_bytes(b + begin, p, m)) found = begin;
  return found;
}

/* Have all bytes their top bit clear? `last`: nothing from there on is read. */
FN int is_ascii(GLOBAL const u8 *b, i64 begin, i64 end, i64 last) {
#if defined(TEXT_BY_WORDS)
  u64 any = 0;
  for (; begin + 8 <= end; begin += 8) any |= LOAD8(b + begin);
  if (begin < end) any |= text_word(b, begin, end, last);
  return !(any & TOP_BITS);
#else
  u32 any = 0;
  (void)last;
  for (i64 k = begin; k < end; k++) any |= b[k];
  return any < 0x80u;
#endif
}
/* How many code points begin there: bytes that continue none. */
FN i64 utf8_count(GLOBAL const u8 *b, i64 begin, i64 end, i64 last) {
  i64 n = 0;
#if defined(TEXT_BY_WORDS)
#define CONTINUING(x) __builtin_popcountll((x) & ~(x) << 1 & TOP_BITS) /* bytes 10xxxxxx */
  i64 k = begin;
  if (begin + 32 <= last) { /* what most rows have, without a branch */
    const i64 size = end - begin;
    for (int j = 0; j < 32; j += 8) {
      const u64 x = LOAD8(b + begin + j) & first_bytes(size > j ? size - j : 0);
      n += CONTINUING(x);
    }
    k += 32;
  }
  for (; k < end; k += 8) {
    const u64 x = text_word(b, k, end, last);
    n += CONTINUING(x);
  }
  return end - begin - n;
#undef CONTINUING
#else
  (void)last;
  for (i64 k = begin; k < end; k++) n += (b[k] & 0xc0u) != 0x80u;
  return n;
#endif
}
#if defined(TEXT_BY_WORDS)
#define TEXT_BLOCK 256 /* rows that are looked at together: are all of their bytes ASCII? */
/* Of the items of a launch the blocks: rows from `first` to `behind`. */
#define ROW_BLOCKS(first, behind)                                                                            \
  for (i64 first = launch_->begin, behind;                                                                   \
       behind = first + TEXT_BLOCK < launch_->end ? first + TEXT_BLOCK : launch_->end, first < launch_->end; \
       first = behind)
#endif
/* White space of Unicode. */
FN int is_space(u32 c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}
FN int is_ascii_space(u32 c) { return c == 32 || (c >= 9 && c <= 13); }

/* The rows of a kernel. */
#define ROWS_OF_TEXT                                          \
  GLOBAL const T *RESTRICT offsets = IN(T, BUF_TEXT_OFFSETS); \
  GLOBAL const u8 *RESTRICT bytes = IN(u8, BUF_TEXT_BYTES);   \
  const i64 n = SCALAR(SCALAR_ROWS), last = n ? (i64)offsets[n] : (i64)0
#define TEXT_BEGIN(i) ((i64)offsets[i])
#define TEXT_END(i) ((i64)offsets[(i) + 1])
#define TEXT_IS_VALID(i) bit1(RAW(const u32, BUF_TEXT_VALIDITY), OFFSET(BUF_TEXT_VALIDITY), i)

/* Is all of it UTF-8? */
FN int is_utf8(GLOBAL const u8 *b, i64 begin, i64 end, i64 last) {
  int good = 1;
  if (is_ascii(b, begin, end, last)) return 1;
  for (i64 i = begin, next; i < end && good; i = next) good = utf8_at(b, i, end, &next) != NOT_UTF8;
  return good;
}
/* Where the code point begins that ends at `end`; no further back than `begin`. */
FN i64 utf8_before(GLOBAL const u8 *b, i64 begin, i64 end) {
  i64 i = end - 1;
  while (i > begin && (b[i] & 0xc0u) == 0x80u) i--;
  return i;
}
/* Where the k-th code point from i on begins, or `end`. */
FN i64 utf8_skip(GLOBAL const u8 *b, i64 i, i64 end, i64 k) {
  for (; k > 0 && i < end; k--) do
      i++;
    while (i < end && (b[i] & 0xc0u) == 0x80u);
  return i;
}

/* Sizes of rows, with the sum of each tile. */
#if defined(CDV_COARSE)
/* ascii: are all bytes of its tile ASCII? */
#define TEXT_SIZE_OF(i, ascii, size)                                                              \
  TILES(t_, n, FILTER_TILE_ROWS) {                                                                \
    i64 sum_ = 0;                                                                                 \
    const i64 end_ = (t_ + 1) * FILTER_TILE_ROWS < n ? (t_ + 1) * FILTER_TILE_ROWS : n;           \
    const int ascii = is_ascii(bytes, TEXT_BEGIN(t_ * FILTER_TILE_ROWS), TEXT_BEGIN(end_), last); \
    for (i64 i = t_ * FILTER_TILE_ROWS; i < end_; i++) {                                          \
      const i64 size_ = size;                                                                     \
      OUT(T, BUF_OUT)[i] = (T)size_;                                                              \
      sum_ += size_;                                                                              \
    }                                                                                             \
    OUT(i64, BUF_TEXT_TILES)[t_] = sum_;                                                          \
  }
#define TEXT_SIZE(i, size)                                                               \
  TILES(t_, n, FILTER_TILE_ROWS) {                                                       \
    i64 sum_ = 0;                                                                        \
    for (i64 i = t_ * FILTER_TILE_ROWS; i < n && i < (t_ + 1) * FILTER_TILE_ROWS; i++) { \
      const i64 size_ = size;                                                            \
      OUT(T, BUF_OUT)[i] = (T)size_;                                                     \
      sum_ += size_;                                                                     \
    }                                                                                    \
    OUT(i64, BUF_TEXT_TILES)[t_] = sum_;                                                 \
  }
/* Each row with its size and where it goes, in order: bytes that are written behind a row are overwritten by the next one, up to
 * `room`.  Sizes become offsets. */
#define TEXT_WRITE(i, at, size, room, action)                                           \
  TILES(t_, n, FILTER_TILE_ROWS) {                                                      \
    GLOBAL T *RESTRICT o_ = OUT(T, BUF_OUT);                                            \
    i64 at = IN(i64, BUF_TEXT_TILES)[t_];                                               \
    const i64 room = IN(i64, BUF_TEXT_TILES)[t_ + 1];                                   \
    (void)room;                                                                         \
    const i64 end_ = (t_ + 1) * FILTER_TILE_ROWS < n ? (t_ + 1) * FILTER_TILE_ROWS : n; \
    for (i64 i = t_ * FILTER_TILE_ROWS; i < end_; i++) {                                \
      const i64 size = (i64)o_[i];                                                      \
      o_[i] = (T)at;                                                                    \
      action;                                                                           \
      at += size;                                                                       \
    }                                                                                   \
    if (end_ == n) o_[n] = (T)at;                                                       \
  }
#else
#define TEXT_SIZE_OF(i, ascii, size) \
  const int ascii = 0;               \
  TEXT_SIZE(i, size)
#define TEXT_SIZE(i, size)                                         \
  SHARED(i64, s_, WORK_GROUP_SIZE);                                \
  i64 sum_ = 0;                                                    \
  for (int r_ = 0; r_ < FILTER_TILE_ROWS; r_ += WORK_GROUP_SIZE) { \
    const i64 i = BID * FILTER_TILE_ROWS + r_ + LID;               \
    if (i < n) {                                                   \
      const i64 size_ = size;                                      \
      OUT(T, BUF_OUT)[i] = (T)size_;                               \
      sum_ += size_;                                               \
    }                                                              \
  }                                                                \
  s_[LID] = sum_;                                                  \
  SYNC;                                                            \
  for (int d_ = WORK_GROUP_SIZE / 2; d_; d_ >>= 1) {               \
    if (LID < d_) s_[LID] += s_[LID + d_];                         \
    SYNC;                                                          \
  }                                                                \
  if (!LID) OUT(i64, BUF_TEXT_TILES)[BID] = s_[0];
#define TEXT_WRITE(i, at, size, room, action)                      \
  const i64 room = 0;                                              \
  (void)room;                                                      \
  for (int r_ = 0; r_ < FILTER_TILE_ROWS; r_ += WORK_GROUP_SIZE) { \
    const i64 i = BID * FILTER_TILE_ROWS + r_ + LID;               \
    if (i < n) {                                                   \
      const i64 at = (i64)IN(T, BUF_OUT)[i];                       \
      const i64 size = (i64)IN(T, BUF_OUT)[i + 1] - at;            \
      action;                                                      \
    }                                                              \
  }
#endif
/* Copies bytes of a row; `last`: nothing from there on is read; bytes up to `room` may be written. */
FN void text_copy(GLOBAL u8 *o, i64 to, i64 room, GLOBAL const u8 *b, i64 from, i64 last, i64 size) {
#if defined(CDV_COARSE)
  if (size <= 16 && to + 16 <= room && from + 16 <= last) {
    COPY16(o + to, b + from);
    return;
  }
  i64 k = 0;
  for (; k + 16 <= size; k += 16) COPY16(o + to + k, b + from + k);
  for (; k < size; k++) o[to + k] = b[from + k];
#else
  (void)room, (void)last;
  for (i64 k = 0; k < size; k++) o[to + k] = b[from + k];
#endif
}
