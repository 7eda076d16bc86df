/* string_regex.h - rows against a regular expression: a table of states (compute/kernels/regex/tables.py), followed byte
 * by byte.  T: an offset.
 *
 * A state is where its row of the table begins, and a row has a column for each class of bytes and one for the end.  Row
 * 0: no match any more; row 1: "matches" is sure of one, the others have had the last one; then come the states before
 * whose last byte a match ended. */
#define REGEX_START 256     /* numbers behind the classes of the bytes */
#define REGEX_LAST 257      /* the last state before which a match ended */
#define REGEX_LAST_BACK 258 /* that of the way back */
#define REGEX_STARTS_BACK 260

FN u32 OF(regex_is_match, T)(GLOBAL const u8 *b, i64 i, i64 end, GLOBAL const u16 *classes, GLOBAL const u16 *table,
                             u32 width) {
  u32 state = classes[REGEX_START];
  while (i < end && state > width) state = table[state + classes[b[i++]]];
  if (state > width) state = table[state + width - 1];
  return state == width;
}
/* Where the first match from i on ends, or -1. */
FN i64 OF(regex_end, T)(GLOBAL const u8 *b, i64 i, i64 end, GLOBAL const u16 *classes, GLOBAL const u16 *table,
                        u32 width) {
  const u32 last = classes[REGEX_LAST];
  u32 state = classes[REGEX_START];
  i64 found = -1;
  for (; i < end && state > width; i++) {
    state = table[state + classes[b[i]]];
    if (state <= last && state) found = i;
  }
  return state > width && table[state + width - 1] ? end : found;
}
/* Where the match begins that ends at `at`. */
FN i64 OF(regex_begin, T)(GLOBAL const u8 *b, i64 begin, i64 at, i64 end, GLOBAL const u16 *classes,
                          GLOBAL const u16 *table, u32 width) {
  const u32 last = classes[REGEX_LAST_BACK];
  u32 state = classes[REGEX_STARTS_BACK + (at < end ? classes[b[at]] : width - 1)];
  i64 found = at;
  for (; at > begin && state > width; at--) {
    state = table[state + classes[b[at - 1]]];
    if (state <= last && state) found = at;
  }
  return state > width && table[state + width - 1] ? begin : found;
}
/* How many there are, as Arrow counts: each search begins a text of its own, one byte further behind a match of none. */
FN i64 OF(regex_count, T)(GLOBAL const u8 *b, i64 at, i64 end, GLOBAL const u16 *classes, GLOBAL const u16 *table,
                          u32 width) {
  i64 found = 0;
  while (at <= end) {
    const i64 behind = OF(regex_end, T)(b, at, end, classes, table, width);
    if (behind < 0) return found;
    found++;
    at = behind == at ? at + 1 : behind;
  }
  return found;
}

#define PATTERN                                                   \
  ROWS_OF_TEXT;                                                   \
  (void)last;                                                     \
  GLOBAL const u16 *RESTRICT classes = IN(u16, BUF_TEXT_PATTERN); \
  GLOBAL const u16 *RESTRICT table = classes + SCALAR(SCALAR_TEXT_A)
/* Bits. */
KERNEL(regex_matches) {
  PACK_ROOM;
  PATTERN;
  const u32 width = (u32)SCALAR(SCALAR_TEXT_OP);
  PACK(OUT(u32, BUF_OUT), n, i, OF(regex_is_match, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), classes, table, width))
}
KERNEL(regex_counts) {
  PATTERN;
  const u32 width = (u32)SCALAR(SCALAR_TEXT_OP);
  ROWS(i, n) { OUT(T, BUF_OUT)[i] = (T)OF(regex_count, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), classes, table, width); }
}
/* Where the first match begins, or -1. */
KERNEL(regex_positions) {
  PATTERN;
  GLOBAL const u16 *RESTRICT back = classes + SCALAR(SCALAR_TEXT_B);
  const u32 width = (u32)SCALAR(SCALAR_TEXT_OP);
  ROWS(i, n) {
    const i64 begin = TEXT_BEGIN(i), end = TEXT_END(i);
    i64 at = OF(regex_end, T)(bytes, begin, end, classes, table, width);
    if (at >= 0) at = OF(regex_begin, T)(bytes, begin, at, end, classes, back, width) - begin;
    OUT(T, BUF_OUT)[i] = (T)at;
  }
}
#undef PATTERN
