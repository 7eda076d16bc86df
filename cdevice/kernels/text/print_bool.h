/* print_bool.h - bits as text.  S: bits, T: an offset of the result. */
#define BOOL_SIZE(i) (5 - (i64)bit1(RAW(const u32, BUF_PRINT_VALUES), OFFSET(BUF_PRINT_VALUES), i))
KERNEL(OF(bool_sizes, S)) {
  PRINTED_ROWS;
  TEXT_SIZE(i, PRINTED(i) ? BOOL_SIZE(i) : 0)
}
KERNEL(OF(bool_write, S)) {
  PRINTED_ROWS;
  PRINT_WRITE(8, put_word(o, 0, size == 4 ? (u64)0x65757274u : (u64)0x65736c6166u, (int)size))
}
#undef BOOL_SIZE
