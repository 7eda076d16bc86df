/* binary.h - strings and bytes of any layout, row by row: their offsets, views of them, or values of one size. */
#if defined(CDV_HOST)
#define OF_TABLE(table, k) (((const u8 *const *)(table))[k])
#else
#define OF_TABLE(table, k) (table)
#endif
#if defined(CDV_HOST) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BY_WORDS 1 /* bytes are compared eight at a time */
#define FN_ALWAYS FN __attribute__((always_inline))
#else
#define FN_ALWAYS FN
#endif

/* A row: how many bytes it has and where they are; of a view that looks elsewhere, where its first four are, too. */
typedef struct {
  i64 size;
  GLOBAL const u8 *at, *head;
#if defined(BY_WORDS)
  u64 word; /* the first eight bytes, zeros behind a row of less, in the order in which bytes are compared */
#endif
} OF(row, T);

#if defined(BY_WORDS)
FN_ALWAYS u64 OF(word_at, T)(const u8 *p) {
  u64 x;
  __builtin_memcpy(&x, p, 8);
  return __builtin_bswap64(x);
}
FN_ALWAYS u64 OF(first_word, T)(const u8 *p, i64 n) { /* nothing is read behind n bytes */
  u32 low, high;
  if (n >= 8) return OF(word_at, T)(p);
  if (n >= 4) {
    __builtin_memcpy(&low, p, 4);
    __builtin_memcpy(&high, p + n - 4, 4);
    return __builtin_bswap64((u64)low | (u64)high << (8 * (n - 4)));
  }
  if (n <= 0) return 0;
  return (u64)p[0] << 56 | (u64)p[n / 2] << (56 - 8 * (n / 2)) | (u64)p[n - 1] << (64 - 8 * n);
}
#endif

FN_ALWAYS OF(row, T) OF(row_of, T)(GLOBAL const u8 *rows, GLOBAL const u8 *bytes, GLOBAL const u32 *known, i64 offset,
                                   i64 layout, i64 i) {
  OF(row, T) r;
  r.size = 0;
  r.at = r.head = rows;
  if (layout == BY_OFFSETS) {
    GLOBAL const i32 *o = (GLOBAL const i32 *)rows + i;
    r.size = (i64)o[1] - (i64)o[0];
    r.at = r.head = bytes + o[0];
  } else if (layout == BY_LONG_OFFSETS) {
    GLOBAL const i64 *o = (GLOBAL const i64 *)rows + i;
    r.size = o[1] - o[0];
    r.at = r.head = bytes + o[0];
  } else if (layout >= 0) {
    r.size = layout;
    r.at = r.head = rows + i * layout;
  } else if (bit1(known, offset, i)) { /* the view of a null is unspecified */
    GLOBAL const i32 *view = (GLOBAL const i32 *)rows + 4 * i;
    r.size = view[0];
    r.head = (GLOBAL const u8 *)(view + 1);
    r.at = view[0] <= 12 ? r.head : (layout == BY_TABLE ? OF_TABLE(bytes, view[2]) : bytes) + view[3];
  }
#if defined(BY_WORDS)
  r.word = OF(first_word, T)(r.at, r.size);
#endif
  return r;
}

/* Is a less than b, equal, or greater: 0, 1, 2. */
FN_ALWAYS int OF(order, T)(OF(row, T) a, OF(row, T) b) {
  const i64 least = a.size < b.size ? a.size : b.size;
#if defined(BY_WORDS)
  u64 x = a.word, y = b.word;
  if (x == y && least > 64) {
    const int order = __builtin_memcmp(a.at + 8, b.at + 8, (unsigned long)(least - 8));
    if (order) return order < 0 ? 0 : 2;
  } else if (x == y && least > 8) {
    for (i64 k = 8; x == y && k < least - 8; k += 8) x = OF(word_at, T)(a.at + k), y = OF(word_at, T)(b.at + k);
    if (x == y) x = OF(word_at, T)(a.at + least - 8), y = OF(word_at, T)(b.at + least - 8);
  }
  return 1 + ((x > y) | ((x == y) & (a.size > b.size))) - ((x < y) | ((x == y) & (a.size < b.size)));
#else
  for (i64 k = 0; k < least && k < 4; k++)
    if (a.head[k] != b.head[k]) return a.head[k] < b.head[k] ? 0 : 2;
  for (i64 k = 4; k < least; k++)
    if (a.at[k] != b.at[k]) return a.at[k] < b.at[k] ? 0 : 2;
  return a.size < b.size ? 0 : a.size == b.size ? 1 : 2;
#endif
}

/* The results for less, equal, greater, a bit each. */
FN_ALWAYS u32 OF(told, T)(OF(row, T) a, OF(row, T) b, i64 says) {
  if (says == 2 || says == 5) { /* are they equal, or not? */
    u32 same = a.size == b.size;
#if defined(BY_WORDS)
    same &= a.word == b.word;
    if (same && a.size > 8)
#else
    if (same)
#endif
      same = OF(order, T)(a, b) == 1;
    return same ^ (says == 5);
  }
  return (u32)(says >> OF(order, T)(a, b)) & 1u;
}

#define LEFT(layout, i)                                                                                  \
  OF(row_of, T)(RAW(const u8, BUF_LEFT_ROWS), IN(u8, BUF_LEFT_BYTES), RAW(const u32, BUF_LEFT_VALIDITY), \
                OFFSET(BUF_LEFT_VALIDITY) - OFFSET(BUF_LEFT_ROWS), layout, OFFSET(BUF_LEFT_ROWS) + (i))
#define RIGHT(layout, i)                                                                                    \
  OF(row_of, T)(RAW(const u8, BUF_RIGHT_ROWS), IN(u8, BUF_RIGHT_BYTES), RAW(const u32, BUF_RIGHT_VALIDITY), \
                OFFSET(BUF_RIGHT_VALIDITY) - OFFSET(BUF_RIGHT_ROWS), layout, OFFSET(BUF_RIGHT_ROWS) + (i))
#define BESIDE(layout, layout2) \
  PACK(OUT(u32, BUF_OUT), n, i, OF(told, T)(LEFT(layout, i), RIGHT(layout2, ARG_KIND(1) ? 0 : i), says))
#define BESIDE_ONE(layout) PACK(OUT(u32, BUF_OUT), n, i, OF(told, T)(LEFT(layout, i), one, says))
KERNEL(compare) {
  PACK_ROOM;
  const i64 n = SCALAR(SCALAR_ROWS), says = SCALAR(SCALAR_ORDERINGS), la = SCALAR(SCALAR_LEFT_LAYOUT),
            lb = SCALAR(SCALAR_RIGHT_LAYOUT);
#if defined(BY_WORDS) /* loops that know the layout */
  if (ARG_KIND(1)) {
    const OF(row, T) one = RIGHT(lb, 0);
    if (la == BY_OFFSETS)
      BESIDE_ONE(BY_OFFSETS)
    else if (la == BY_LONG_OFFSETS)
      BESIDE_ONE(BY_LONG_OFFSETS)
    else if (la == BY_TABLE)
      BESIDE_ONE(BY_TABLE)
    else
      BESIDE_ONE(la)
  } else if (la == BY_OFFSETS && lb == BY_OFFSETS)
    BESIDE(BY_OFFSETS, BY_OFFSETS)
  else if (la == BY_LONG_OFFSETS && lb == BY_LONG_OFFSETS)
    BESIDE(BY_LONG_OFFSETS, BY_LONG_OFFSETS)
  else if (la == BY_TABLE && lb == BY_TABLE)
    BESIDE(BY_TABLE, BY_TABLE)
  else
#endif
    BESIDE(la, lb)
}

/* Views become strings one behind the other: how many bytes each row has (i64). */
KERNEL(view_sizes) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const u32 known = bit1(RAW(const u32, BUF_VALUES_VALIDITY), OFFSET(BUF_VALUES_VALIDITY), i);
    OUT(i64, BUF_OUT)[i] = known ? (i64)RAW(const i32, BUF_VALUES)[4 * (OFFSET(BUF_VALUES) + i)] : 0;
  }
}

/* Views of rows that have offsets or one size: longer ones look at the bytes of the rows. */
KERNEL(make_views) {
  const i64 layout = SCALAR(SCALAR_LEFT_LAYOUT);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const OF(row, T) r = LEFT(layout, i);
    const i64 size = bit1(RAW(const u32, BUF_LEFT_VALIDITY), OFFSET(BUF_LEFT_VALIDITY), i) ? r.size : 0;
    GLOBAL const u8 *base = layout < 0 ? IN(u8, BUF_LEFT_BYTES) : RAW(const u8, BUF_LEFT_ROWS);
    GLOBAL i32 *view = OUT(i32, BUF_OUT) + 4 * i;
    GLOBAL u8 *to = (GLOBAL u8 *)(view + 1);
    view[0] = (i32)size;
    for (int k = 0; k < 12; k++) to[k] = k < size ? r.at[k] : 0;
    if (size > 12) view[2] = 0, view[3] = (i32)(r.at - base);
  }
}

/* Buffers of bytes become one, one after the other. */
KERNEL(join) {
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    OUT(u8, BUF_OUT)[i] = IN(u8, BUF_VALUES)[i];
    if (i == 0) OUT(i64, BUF_DATA_BEGINS)[SCALAR(SCALAR_DATA_INDEX)] = OFFSET(BUF_OUT);
  }
}

/* The bytes, from where each row begins (i64). */
KERNEL(view_bytes) {
  const i64 first = SCALAR(SCALAR_DATA_INDEX), how = SCALAR(SCALAR_DATA_KIND);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    GLOBAL const i32 *view = RAW(const i32, BUF_VALUES) + 4 * (OFFSET(BUF_VALUES) + i);
    const i64 to = IN(i64, BUF_OUT_OFFSETS)[i], size = IN(i64, BUF_OUT_OFFSETS)[i + 1] - to;
    GLOBAL const u8 *from = 0;
    if (size <= 12) {
      if (first == 0) from = (GLOBAL const u8 *)(view + 1);
    } else if (how == BY_TABLE) {
      from = OF_TABLE(RAW(const u8, BUF_DATA0), view[2]) + view[3];
    } else if (how == BY_JOINED) {
      from = IN(u8, BUF_DATA0) + IN(i64, BUF_DATA_BEGINS)[view[2]] + view[3];
    } else {
      const i64 k = view[2] - first;
      if (k == 0) from = IN(u8, BUF_DATA0) + view[3];
      if (k == 1) from = IN(u8, BUF_DATA1) + view[3];
      if (k == 2) from = IN(u8, BUF_DATA2) + view[3];
      if (k == 3) from = IN(u8, BUF_DATA3) + view[3];
    }
    if (from)
      for (i64 k = 0; k < size; k++) OUT(u8, BUF_OUT)[to + k] = from[k];
  }
}
