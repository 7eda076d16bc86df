/* cast_bool.h - numbers of type T and bits. */
KERNEL(cast_bool) { /* from bits */
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  const i64 n = SCALAR(SCALAR_ROWS);
#define OF_ROW(i) bits32(RAW(const u32, BUF_ARG0), OFFSET(BUF_ARG0), i, n)
  FOR_BITS(n, OF_ROW, bit, i, o[i] = (T)bit)
#undef OF_ROW
}
KERNEL(to_bool) {
  PACK_ROOM;
  GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);
  const i64 n = SCALAR(SCALAR_ROWS);
  PACK(OUT(u32, BUF_OUT), n, i, a[i] != 0)
}
