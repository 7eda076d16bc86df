/* sort_binary.h - words whose order is that of strings and bytes: eight bytes at a time, and their length, which tells
 * those apart that are longer by zeros.  T: an offset. */
KERNEL(sort_bytes) {
  GLOBAL const T *RESTRICT offsets = IN(T, BUF_KEY_VALUES);
  GLOBAL const u8 *RESTRICT bytes = IN(u8, BUF_KEY_BYTES);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_KEY_ROWS);
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_KEY_OUT);
  const i64 part = SCALAR(SCALAR_KEY_PART), size = SCALAR(SCALAR_KEY_INFINITY);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = rows ? (i64)rows[i] : i;
    const i64 begin = size ? row * size : (i64)offsets[row], end = size ? begin + size : (i64)offsets[row + 1];
    u64 word = 0;
    if (bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), row)) {
      if (part == SORT_KEY_LENGTH) word = (u64)(end - begin);
      if (part != SORT_KEY_LENGTH)
        for (int k = 0; k < 8; k++) {
          const i64 at = begin + part * 8 + k;
          word = word << 8 | (at < end ? (u64)bytes[at] : (u64)0);
        }
    }
    o[i] = SCALAR(SCALAR_KEY_FLAGS) & SORT_KEY_DESCENDING ? ~word : word;
  }
}
