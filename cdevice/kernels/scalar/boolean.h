/* boolean.h - bitmaps: values that are bits, and the nulls of everything.  A word is an item.
 *
 * An argument that is a number is a word, all of whose bits are the same. */
#define WORD(k, buffer)                                       \
  (ARG_KIND(k) == ARG_SCALAR ? (u32)SCALAR(SCALAR_ARG0 + (k)) \
                             : wide32(RAW(const u32, buffer), OFFSET(buffer), w * 32, n, ARG_KIND(k)))

/* ---- nulls: the arguments are bitmaps ---- */
KERNEL(valid_all) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, WORD(0, BUF_ARG0) & WORD(1, BUF_ARG1) & WORD(2, BUF_ARG2), n); }
}
KERNEL(is_valid) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, WORD(0, BUF_ARG0), n); }
}
KERNEL(is_null) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, ~WORD(0, BUF_ARG0), n); }
}
/* Of if_else: the condition, the nulls of the two; BUF_COUNTED: the nulls of the condition. */
KERNEL(valid_select) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) {
    const u32 c = WORD(0, BUF_ARG0);
    const u32 known = wide32(RAW(const u32, BUF_COUNTED), OFFSET(BUF_COUNTED), w * 32, n, ARG_KIND(0) == ARG_BROADCAST);
    put32(OUT(u32, BUF_OUT), w, known & ((c & WORD(1, BUF_ARG1)) | (~c & WORD(2, BUF_ARG2))), n);
  }
}

/* ---- values ---- */
#define LOGIC(name, expression)                               \
  KERNEL(name) {                                              \
    const i64 n = SCALAR(SCALAR_ROWS);                        \
    WORDS(w, n) {                                             \
      const u32 a = WORD(0, BUF_ARG0), b = WORD(1, BUF_ARG1); \
      put32(OUT(u32, BUF_OUT), w, expression, n);             \
    }                                                         \
  }
LOGIC(and, a &b)
LOGIC(or, a | b)
LOGIC(xor, a ^ b)
LOGIC(and_not, a & ~b)
LOGIC(equal, ~(a ^ b))
LOGIC(not_equal, a ^ b)
LOGIC(less, ~a &b)
LOGIC(less_equal, ~a | b)
LOGIC(greater, a & ~b)
LOGIC(greater_equal, a | ~b)
#undef LOGIC
KERNEL(first) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, WORD(0, BUF_ARG0), n); }
}
/* Of rows of any type. */
KERNEL(always) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, ~0u, n); }
}
KERNEL(never) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, 0u, n); }
}
KERNEL(invert) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, ~WORD(0, BUF_ARG0), n); }
}
KERNEL(if_else) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) {
    const u32 c = WORD(0, BUF_ARG0);
    put32(OUT(u32, BUF_OUT), w, (c & WORD(1, BUF_ARG1)) | (~c & WORD(2, BUF_ARG2)), n);
  }
}

/* ---- Kleene's logic, with the validity of the result ---- */
#define KNOWN(k, buffer)                                                            \
  (ARG_KIND(k) == ARG_SCALAR ? 0u - (u32)((SCALAR(SCALAR_KLEENE_KNOWN) >> (k)) & 1) \
                             : wide32(RAW(const u32, buffer), OFFSET(buffer), w * 32, n, ARG_KIND(k)))
#define KLEENE(name, value, decides_a, decides_b)                                                     \
  KERNEL(name) {                                                                                      \
    const i64 n = SCALAR(SCALAR_ROWS);                                                                \
    WORDS(w, n) {                                                                                     \
      const u32 a = WORD(0, BUF_ARG0), b = WORD(1, BUF_ARG1), va = KNOWN(0, BUF_KLEENE_VALIDITY0),    \
                vb = KNOWN(1, BUF_KLEENE_VALIDITY1);                                                  \
      put32(OUT(u32, BUF_OUT), w, value, n);                                                          \
      if (RAW(u32, BUF_OUT_VALIDITY))                                                                 \
        put32(OUT(u32, BUF_OUT_VALIDITY), w, (va & vb) | (va & (decides_a)) | (vb & (decides_b)), n); \
    }                                                                                                 \
  }
KLEENE(and_kleene, a &b, ~a, ~b)
KLEENE(or_kleene, (a & va) | (b & vb), a, b)
KLEENE(and_not_kleene, a & ~b, ~a, b)
#undef KLEENE
#undef KNOWN
#undef WORD
