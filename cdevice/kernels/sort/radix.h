/* radix.h - a stable sort of rows by words, a digit at a time: count the digits of each tile, add the counts up
 * (filter.h's scan), put each row where the counts have it. */
#define RADIX_WORD(i) (IN(u64, BUF_RADIX_WORDS)[i] - (u64)SCALAR(SCALAR_RADIX_BIAS))
#define RADIX_DIGIT(x) ((int)(((x) >> SCALAR(SCALAR_RADIX_SHIFT)) & (RADIX - 1)))
#if defined(CDV_COARSE)
#define RADIX (1 << SORT_TILE_BITS)
KERNEL(radix_ranges) {
  const i64 n = SCALAR(SCALAR_ROWS);
  GLOBAL const u64 *RESTRICT words = IN(u64, BUF_RADIX_WORDS);
  TILES(t, n, SORT_TILE_ROWS) {
    u64 least = ~(u64)0, greatest = 0, any = 0, all = ~(u64)0;
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) {
      const u64 x = words[i];
      least = x < least ? x : least;
      greatest = x > greatest ? x : greatest;
      any |= x;
      all &= x;
    }
    GLOBAL u64 *o = OUT(u64, BUF_RADIX_RANGES) + 4 * t;
    o[0] = least, o[1] = greatest, o[2] = any, o[3] = all;
  }
}
KERNEL(radix_count) {
  const i64 n = SCALAR(SCALAR_ROWS), tiles = SCALAR(SCALAR_RADIX_TILES);
  TILES(t, n, SORT_TILE_ROWS) {
    u32 counts[RADIX];
    for (int d = 0; d < RADIX; d++) counts[d] = 0;
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) counts[RADIX_DIGIT(RADIX_WORD(i))]++;
    for (int d = 0; d < RADIX; d++) OUT(i64, BUF_RADIX_COUNTS)[d * tiles + t] = counts[d];
  }
}
KERNEL(radix_scatter) {
  const i64 n = SCALAR(SCALAR_ROWS), tiles = SCALAR(SCALAR_RADIX_TILES);
  GLOBAL u64 *RESTRICT words = OUT(u64, BUF_RADIX_WORDS_OUT);
  GLOBAL u32 *RESTRICT rows_out = OUT(u32, BUF_RADIX_ROWS_OUT);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_RADIX_ROWS);
  GLOBAL const u64 *RESTRICT from = IN(u64, BUF_RADIX_WORDS);
  const u64 bias = (u64)SCALAR(SCALAR_RADIX_BIAS);
  TILES(t, n, SORT_TILE_ROWS) {
    u32 at[RADIX];
    for (int d = 0; d < RADIX; d++) at[d] = (u32)IN(i64, BUF_RADIX_COUNTS)[d * tiles + t];
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) {
      const u64 word = from[i];
      const u32 to = at[RADIX_DIGIT(word - bias)]++;
      rows_out[to] = rows ? rows[i] : (u32)i;
      if (words) words[to] = word;
    }
  }
}
/* ---- rows whose highest digit is equal: a work item sorts them in its cache ----
 * An element is 32 bits of a word, those below the digit, and under them the place of the word: elements of one key are
 * in the order of their places. */
#define RADIX_FEW 32
#define RADIX_BUCKET 32768 /* rows above which a bucket is split once more */
#define RADIX_COUNTS 6144  /* three digits of 11 bits, or four of 8 */
KERNEL(radix_pack) {
  const i64 n = SCALAR(SCALAR_ROWS), tiles = SCALAR(SCALAR_RADIX_TILES);
  GLOBAL u64 *RESTRICT elements = OUT(u64, BUF_RADIX_WORDS_OUT);
  GLOBAL const u64 *RESTRICT words = IN(u64, BUF_RADIX_WORDS);
  const u64 bias = (u64)SCALAR(SCALAR_RADIX_BIAS);
  const int low = (int)SCALAR(SCALAR_RADIX_LOW), bits = (int)SCALAR(SCALAR_RADIX_SHIFT) - low;
  const u32 mask = bits < 32 ? ((u32)1 << bits) - 1 : ~(u32)0;
  TILES(t, n, SORT_TILE_ROWS) {
    u32 at[RADIX];
    for (int d = 0; d < RADIX; d++) at[d] = (u32)IN(i64, BUF_RADIX_COUNTS)[d * tiles + t];
    for (i64 i = t * SORT_TILE_ROWS; i < n && i < (t + 1) * SORT_TILE_ROWS; i++) {
      const u64 x = words[i] - bias;
      elements[at[RADIX_DIGIT(x)]++] = (u64)((u32)(x >> low) & mask) << 32 | (u64)i;
    }
  }
}
FN void radix_insert(GLOBAL u64 *x, i64 n) {
  for (i64 i = 1; i < n; i++) {
    const u64 e = x[i];
    i64 k = i;
    for (; k > 0 && x[k - 1] > e; k--) x[k] = x[k - 1];
    x[k] = e;
  }
}
/* By the lowest bits of the key, with room for as many elements at y. */
FN void radix_local(GLOBAL u64 *x, GLOBAL u64 *y, i64 n, int bits) {
  u32 at[RADIX_COUNTS];
  const int most = n < 4096 ? 8 : 11, passes = (bits + most - 1) / most;
  int moved = 0;
  if (n <= RADIX_FEW) {
    radix_insert(x, n);
    return;
  }
  if (!passes) return;
  const int width = (bits + passes - 1) / passes, digits = 1 << width;
  for (int d = 0; d < passes << width; d++) at[d] = 0;
  for (i64 i = 0; i < n; i++) {
    u32 key = (u32)(x[i] >> 32);
    for (int p = 0; p < passes; p++, key >>= width) at[(p << width) + (int)(key & (u32)(digits - 1))]++;
  }
  for (int p = 0; p < passes; p++) {
    const int begin = p << width, shift = 32 + p * width;
    GLOBAL u64 *from = moved ? y : x, *to = moved ? x : y;
    u32 sum = 0;
    if (at[begin + (int)(from[0] >> shift & (u64)(digits - 1))] == (u32)n) continue;
    for (int d = begin; d < begin + digits; d++) {
      const u32 c = at[d];
      at[d] = sum;
      sum += c;
    }
    for (i64 i = 0; i < n; i++) {
      const u64 e = from[i];
      to[at[begin + (int)(e >> shift & (u64)(digits - 1))]++] = e;
    }
    moved = !moved;
  }
  if (moved)
    for (i64 i = 0; i < n; i++) x[i] = y[i];
}
/* Elements that are equal so far, by 32 bits more. */
FN void radix_more(GLOBAL u64 *x, GLOBAL u64 *y, i64 n, GLOBAL const u32 *more) {
  for (i64 i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && x[end] >> 32 == x[i] >> 32;) end++;
    if (end - i == 1) continue;
    for (i64 k = i; k < end; k++) x[k] = (u64)more[(u32)x[k]] << 32 | (u32)x[k];
    radix_local(x + i, y + i, end - i, 32);
  }
}
/* The same by the bits of the words below those of the key, and then by more. */
FN void radix_ties(GLOBAL u64 *x, GLOBAL u64 *y, i64 n, GLOBAL const u64 *words, GLOBAL const u32 *more, u64 bias,
                   int low, int bits) {
  for (i64 i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && x[end] >> 32 == x[i] >> 32;) end++;
    if (end - i == 1) continue;
    for (i64 k = i; k < end; k++) {
      const u32 place = (u32)x[k];
      x[k] = ((words[place] - bias) >> low & (((u64)1 << bits) - 1)) << 32 | place;
    }
    radix_local(x + i, y + i, end - i, bits);
    if (more) radix_more(x + i, y + i, end - i, more);
  }
}
/* A bucket that is larger than a cache goes to y, by its next digit; returns the bits that are left. */
FN int radix_split(GLOBAL const u64 *x, GLOBAL u64 *y, i64 n, int bits, u32 *at) {
  const int left = bits > SORT_TILE_BITS ? bits - SORT_TILE_BITS : 0;
  u32 sum = 0;
  for (int d = 0; d < RADIX; d++) at[d] = 0;
  for (i64 i = 0; i < n; i++) at[x[i] >> (32 + left) & (RADIX - 1)]++;
  for (int d = 0; d < RADIX; d++) {
    const u32 c = at[d];
    at[d] = sum;
    sum += c;
  }
  for (i64 i = 0; i < n; i++) {
    const u64 e = x[i];
    y[at[e >> (32 + left) & (RADIX - 1)]++] = e;
  }
  return left; /* at[d] is the end of the digit now */
}
KERNEL(radix_buckets) {
  const i64 tiles = SCALAR(SCALAR_RADIX_TILES);
  const u64 bias = (u64)SCALAR(SCALAR_RADIX_BIAS);
  const int least = (int)SCALAR(SCALAR_RADIX_LOW), top = (int)SCALAR(SCALAR_RADIX_SHIFT);
  const int low = top - least > 32 ? top - 32 : least; /* of the key */
  GLOBAL const u64 *words = IN(u64, BUF_RADIX_TIES);
  GLOBAL const u32 *rows = IN(u32, BUF_RADIX_ROWS), *more = IN(u32, BUF_RADIX_MORE);
  ITEMS(d, RADIX) {
    const i64 begin = IN(i64, BUF_RADIX_COUNTS)[d * tiles], n = IN(i64, BUF_RADIX_COUNTS)[(d + 1) * tiles] - begin;
    GLOBAL u64 *x = OUT(u64, BUF_RADIX_WORDS) + begin, *y = OUT(u64, BUF_RADIX_WORDS_OUT) + begin;
    GLOBAL u32 *o = OUT(u32, BUF_RADIX_ROWS_OUT) + begin;
    u32 ends[RADIX];
    int bits = top - low, parts = 1;
    ends[0] = (u32)n;
    if (n > RADIX_BUCKET && bits > SORT_TILE_BITS) {
      GLOBAL u64 *other = x;
      bits = radix_split(x, y, n, bits, ends);
      parts = RADIX;
      x = y;
      y = other;
    }
    for (int k = 0; k < parts; k++) {
      const i64 first = k ? (i64)ends[k - 1] : 0, m = (i64)ends[k] - first;
      if (m > 1) radix_local(x + first, y + first, m, bits);
      if (m > 1 && low > least) radix_ties(x + first, y + first, m, words, more, bias, least, low - least);
    }
    for (i64 k = 0; k < n; k++) o[k] = rows ? rows[(u32)x[k]] : (u32)x[k];
  }
}
KERNEL(sort_pair) {
  GLOBAL u64 *RESTRICT words = OUT(u64, BUF_PAIR_WORDS);
  GLOBAL u32 *RESTRICT more = OUT(u32, BUF_PAIR_MORE);
  GLOBAL const u64 *RESTRICT second = IN(u64, BUF_PAIR_SECOND);
  const int low = (int)SCALAR(SCALAR_PAIR_LOW), shift = (int)SCALAR(SCALAR_PAIR_SHIFT);
  const u64 least = (u64)SCALAR(SCALAR_PAIR_LEAST), second_least = (u64)SCALAR(SCALAR_PAIR_SECOND_LEAST);
  const u64 rest = ((u64)1 << low) - 1;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const u64 x = second[i] - second_least;
    words[i] = (words[i] - least) << shift | x >> low;
    if (more) more[i] = (u32)(x & rest);
  }
}
#undef RADIX_COUNTS
#undef RADIX_FEW
#undef RADIX_BUCKET
#else
/* A work item takes SORT_GROUP_ITEM_ROWS rows that lie together: counts[digit][item] are then in the rows' order. */
#define RADIX (1 << SORT_GROUP_BITS)
#define RADIX_FIRST ((BID * WORK_GROUP_SIZE + LID) * SORT_GROUP_ITEM_ROWS)
KERNEL(radix_ranges) {
  SHARED(u64, least, WORK_GROUP_SIZE);
  SHARED(u64, greatest, WORK_GROUP_SIZE);
  SHARED(u64, any, WORK_GROUP_SIZE);
  SHARED(u64, all, WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS), first = RADIX_FIRST;
  u64 a = ~(u64)0, b = 0, c = 0, d = ~(u64)0;
  for (int k = 0; k < SORT_GROUP_ITEM_ROWS; k++)
    if (first + k < n) {
      const u64 x = IN(u64, BUF_RADIX_WORDS)[first + k];
      a = x < a ? x : a;
      b = x > b ? x : b;
      c |= x;
      d &= x;
    }
  least[LID] = a, greatest[LID] = b, any[LID] = c, all[LID] = d;
  SYNC;
  for (int k = WORK_GROUP_SIZE / 2; k; k >>= 1) {
    if (LID < k) {
      least[LID] = least[LID + k] < least[LID] ? least[LID + k] : least[LID];
      greatest[LID] = greatest[LID + k] > greatest[LID] ? greatest[LID + k] : greatest[LID];
      any[LID] |= any[LID + k];
      all[LID] &= all[LID + k];
    }
    SYNC;
  }
  if (!LID) {
    GLOBAL u64 *o = OUT(u64, BUF_RADIX_RANGES) + 4 * BID;
    o[0] = least[0], o[1] = greatest[0], o[2] = any[0], o[3] = all[0];
  }
}
KERNEL(radix_count) {
  SHARED(u16, counts, RADIX * WORK_GROUP_SIZE);
  const i64 n = SCALAR(SCALAR_ROWS), first = RADIX_FIRST;
  for (int d = 0; d < RADIX; d++) counts[d * WORK_GROUP_SIZE + LID] = 0;
  for (int k = 0; k < SORT_GROUP_ITEM_ROWS; k++)
    if (first + k < n) counts[RADIX_DIGIT(RADIX_WORD(first + k)) * WORK_GROUP_SIZE + LID]++;
  SYNC;
  if (LID < RADIX) {
    i64 sum = 0;
    for (int k = 0; k < WORK_GROUP_SIZE; k++) sum += counts[LID * WORK_GROUP_SIZE + k];
    OUT(i64, BUF_RADIX_COUNTS)[LID * SCALAR(SCALAR_RADIX_TILES) + BID] = sum;
  }
}
KERNEL(radix_scatter) {
  SHARED(u16, counts, RADIX * WORK_GROUP_SIZE);
  SHARED(i64, begin, RADIX);
  GLOBAL u64 *RESTRICT words = OUT(u64, BUF_RADIX_WORDS_OUT);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_RADIX_ROWS);
  const i64 n = SCALAR(SCALAR_ROWS), first = RADIX_FIRST;
  for (int d = 0; d < RADIX; d++) counts[d * WORK_GROUP_SIZE + LID] = 0;
  for (int k = 0; k < SORT_GROUP_ITEM_ROWS; k++)
    if (first + k < n) counts[RADIX_DIGIT(RADIX_WORD(first + k)) * WORK_GROUP_SIZE + LID]++;
  SYNC;
  if (LID < RADIX) {
    u16 sum = 0;
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const u16 c = counts[LID * WORK_GROUP_SIZE + k];
      counts[LID * WORK_GROUP_SIZE + k] = sum;
      sum = (u16)(sum + c);
    }
    begin[LID] = IN(i64, BUF_RADIX_COUNTS)[LID * SCALAR(SCALAR_RADIX_TILES) + BID];
  }
  SYNC;
  for (int k = 0; k < SORT_GROUP_ITEM_ROWS; k++)
    if (first + k < n) {
      const u64 word = IN(u64, BUF_RADIX_WORDS)[first + k];
      const int d = RADIX_DIGIT(word - (u64)SCALAR(SCALAR_RADIX_BIAS));
      const i64 to = begin[d] + counts[d * WORK_GROUP_SIZE + LID]++;
      OUT(u32, BUF_RADIX_ROWS_OUT)[to] = rows ? rows[first + k] : (u32)(first + k);
      if (words) words[to] = word;
    }
}
#undef RADIX_FIRST
#endif
#undef RADIX
#undef RADIX_WORD
#undef RADIX_DIGIT

/* Bits, with their class above them. */
KERNEL(sort_key) {
  GLOBAL const u32 *rows = IN(u32, BUF_KEY_ROWS);
  const int first = (SCALAR(SCALAR_KEY_FLAGS) & SORT_KEY_NULLS_FIRST) != 0;
  const int down = (SCALAR(SCALAR_KEY_FLAGS) & SORT_KEY_DESCENDING) != 0;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = rows ? (i64)rows[i] : i;
    const u32 valid = bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), row);
    const u32 bit = bit1(RAW(const u32, BUF_KEY_VALUES), OFFSET(BUF_KEY_VALUES), row);
    OUT(u64, BUF_KEY_OUT)[i] = valid ? (u64)((first << 1) | ((int)bit ^ down)) : (u64)(!first << 1);
  }
}
/* Which rows are null, alone. */
KERNEL(sort_validity) {
  GLOBAL const u32 *rows = IN(u32, BUF_KEY_ROWS);
  const int first = (SCALAR(SCALAR_KEY_FLAGS) & SORT_KEY_NULLS_FIRST) != 0;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const u32 valid = bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), rows ? (i64)rows[i] : i);
    OUT(u64, BUF_KEY_OUT)[i] = (u64)((int)valid == first);
  }
}
/* The rows as the uint64 of the result. */
KERNEL(sort_rows) {
  GLOBAL const u32 *rows = IN(u32, BUF_KEY_ROWS);
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(u64, BUF_KEY_OUT)[i] = rows ? (u64)rows[i] : (u64)i; }
}
/* The other way round. */
KERNEL(sort_rows_of) {
  ROWS(i, SCALAR(SCALAR_ROWS)) { OUT(u32, BUF_KEY_OUT)[i] = (u32)IN(u64, BUF_KEY_ROWS)[i]; }
}
/* 1 where a word differs from the one before it, and for the first. */
KERNEL(sort_changes) {
  GLOBAL const u64 *RESTRICT words = IN(u64, BUF_CHANGES_WORDS);
  GLOBAL i64 *RESTRICT o = OUT(i64, BUF_CHANGES_OUT);
  const int first = (int)SCALAR(SCALAR_CHANGES_FIRST);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 changed = i == 0 || words[i] != words[i - 1];
    o[i] = first ? changed : o[i] | changed;
  }
}
