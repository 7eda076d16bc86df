/* read_bool.h - text as bits.  S: bits, T: an offset of the text. */
KERNEL(OF(read_bool, S)) {
  PACK_ROOM;
  ROWS_OF_TEXT;
  (void)last;
  PACK(OUT(u32, BUF_OUT), n, i, bool_row(bytes, TEXT_BEGIN(i), TEXT_END(i), TEXT_IS_VALID(i), i, OUT(i64, BUF_ERROR)))
}
