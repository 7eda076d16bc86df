/* boolean.h - bitmaps: values that are bits, and the nulls of everything.  A word is an item.
 *
 * An argument that is a number is a word, all of whose bits are the same. */
#define WORD(k, buffer)                                       \
  (ARG_KIND(k) == ARG_SCALAR ? (u32)SCALAR(SCALAR_ARG0 + (k)) \
                             : wide32(RAW(const u32, buffer), OFFSET(buffer), w * 32, n, ARG_KIND(k)))

#if defined(CDV_HOST)
/* An argument: the words that its first bit is in and that follow, and where in the word it is; NULL: all are `all`. */
typedef struct {
  const u32 *words;
  u32 all;
  int shift;
} bit_argument;
FN bit_argument bit_argument_of(const u32 *b, i64 offset, int kind, u32 scalar) {
  bit_argument x = {0, ~0u, 0};
  if (kind == ARG_SCALAR)
    x.all = scalar;
  else if (kind)
    x.all = wide32(b, offset, 0, 1, kind);
  else if (b)
    x.words = b + (offset >> 5), x.shift = (int)(offset & 31);
  return x;
}
#define BIT_ARGUMENT(k, buffer) \
  bit_argument_of(RAW(const u32, buffer), OFFSET(buffer), ARG_KIND(k), (u32)SCALAR(SCALAR_ARG0 + (k)))
#define ALIGNED(x) (x).words[w]
#define SHIFTED(x) (u32)(((u64)(x).words[w + 1] << 32 | (x).words[w]) >> (x).shift)
#define ALL(x) (x).all
#define WHOLE_WORDS(at_a, at_b, at_c, value)         \
  for (; w < whole; w++) {                           \
    const u32 a = at_a(x), b = at_b(y), c = at_c(z); \
    (void)a, (void)b, (void)c;                       \
    o[w] = value;                                    \
  }
#define WHOLE_WORDS_OF(at, value)    \
  if (x.words && y.words && z.words) \
    WHOLE_WORDS(at, at, at, value)   \
  else if (x.words && y.words)       \
    WHOLE_WORDS(at, at, ALL, value)  \
  else if (x.words && !z.words)      \
  WHOLE_WORDS(at, ALL, ALL, value)
/* Whole words ahead of the others, in loops that become vectors. */
#define BIT_WORDS(value)                                                                                            \
  {                                                                                                                 \
    const bit_argument x = BIT_ARGUMENT(0, BUF_ARG0), y = BIT_ARGUMENT(1, BUF_ARG1), z = BIT_ARGUMENT(2, BUF_ARG2); \
    const int shifted = x.shift || y.shift || z.shift;                                                              \
    const i64 readable = n / 32 - shifted, whole = launch_->end < readable ? launch_->end : readable;               \
    u32 *RESTRICT o = OUT(u32, BUF_OUT);                                                                            \
    i64 w = launch_->begin;                                                                                         \
    if (!shifted) {                                                                                                 \
      WHOLE_WORDS_OF(ALIGNED, value)                                                                                \
    } else {                                                                                                        \
      WHOLE_WORDS_OF(SHIFTED, value)                                                                                \
    }                                                                                                               \
    for (; w < launch_->end; w++) BIT_WORD(value)                                                                   \
  }
#else
#define BIT_WORDS(value) WORDS(w, n) BIT_WORD(value)
#endif
#define BIT_WORD(value)                                                            \
  {                                                                                \
    const u32 a = WORD(0, BUF_ARG0), b = WORD(1, BUF_ARG1), c = WORD(2, BUF_ARG2); \
    (void)a, (void)b, (void)c;                                                     \
    put32(OUT(u32, BUF_OUT), w, value, n);                                         \
  }
#define OF_BITS(name, value)           \
  KERNEL(name) {                       \
    const i64 n = SCALAR(SCALAR_ROWS); \
    BIT_WORDS(value)                   \
  }

/* ---- nulls: the arguments are bitmaps ---- */
OF_BITS(valid_all, a & b & c)
OF_BITS(is_valid, a)
OF_BITS(is_null, ~a)
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
OF_BITS(and, a &b)
OF_BITS(or, a | b)
OF_BITS(xor, a ^ b)
OF_BITS(and_not, a & ~b)
OF_BITS(equal, ~(a ^ b))
OF_BITS(not_equal, a ^ b)
OF_BITS(less, ~a &b)
OF_BITS(less_equal, ~a | b)
OF_BITS(greater, a & ~b)
OF_BITS(greater_equal, a | ~b)
OF_BITS(first, a)
OF_BITS(invert, ~a)
OF_BITS(if_else, (a & b) | (~a & c))
/* Of rows of any type. */
KERNEL(always) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, ~0u, n); }
}
KERNEL(never) {
  const i64 n = SCALAR(SCALAR_ROWS);
  WORDS(w, n) { put32(OUT(u32, BUF_OUT), w, 0u, n); }
}

/* ---- Kleene's logic, with the validity of the result ---- */
#define KNOWN(k, buffer)                                                            \
  (ARG_KIND(k) == ARG_SCALAR ? 0u - (u32)((SCALAR(SCALAR_KLEENE_KNOWN) >> (k)) & 1) \
                             : wide32(RAW(const u32, buffer), OFFSET(buffer), w * 32, n, ARG_KIND(k)))
#define KLEENE_WORD(value, decides_a, decides_b)                                                    \
  {                                                                                                 \
    const u32 a = WORD(0, BUF_ARG0), b = WORD(1, BUF_ARG1), va = KNOWN(0, BUF_KLEENE_VALIDITY0),    \
              vb = KNOWN(1, BUF_KLEENE_VALIDITY1);                                                  \
    put32(OUT(u32, BUF_OUT), w, value, n);                                                          \
    if (RAW(u32, BUF_OUT_VALIDITY))                                                                 \
      put32(OUT(u32, BUF_OUT_VALIDITY), w, (va & vb) | (va & (decides_a)) | (vb & (decides_b)), n); \
  }
#if defined(CDV_HOST)
#define KNOWN_ARGUMENT(k, buffer)                                      \
  bit_argument_of(RAW(const u32, buffer), OFFSET(buffer), ARG_KIND(k), \
                  0u - (u32)((SCALAR(SCALAR_KLEENE_KNOWN) >> (k)) & 1))
#define KLEENE_WHOLE(at, at_va, at_vb, value, decides_a, decides_b)    \
  for (; w < whole; w++) {                                             \
    const u32 a = at(x), b = at(y), va = at_va(kx), vb = at_vb(ky);    \
    (void)va, (void)vb;                                                \
    o[w] = value;                                                      \
    if (v) v[w] = (va & vb) | (va & (decides_a)) | (vb & (decides_b)); \
  }
#define KLEENE_WHOLE_OF(at, value, decides_a, decides_b)   \
  if (!x.words || !y.words) {                              \
  } else if (kx.words && ky.words)                         \
    KLEENE_WHOLE(at, at, at, value, decides_a, decides_b)  \
  else if (kx.words)                                       \
    KLEENE_WHOLE(at, at, ALL, value, decides_a, decides_b) \
  else if (ky.words)                                       \
    KLEENE_WHOLE(at, ALL, at, value, decides_a, decides_b) \
  else                                                     \
    KLEENE_WHOLE(at, ALL, ALL, value, decides_a, decides_b)
#define KLEENE_WORDS(value, decides_a, decides_b)                                                                  \
  {                                                                                                                \
    const bit_argument x = BIT_ARGUMENT(0, BUF_ARG0), y = BIT_ARGUMENT(1, BUF_ARG1),                               \
                       kx = KNOWN_ARGUMENT(0, BUF_KLEENE_VALIDITY0), ky = KNOWN_ARGUMENT(1, BUF_KLEENE_VALIDITY1); \
    const int shifted = x.shift || y.shift || kx.shift || ky.shift;                                                \
    const i64 readable = n / 32 - shifted, whole = launch_->end < readable ? launch_->end : readable;              \
    u32 *RESTRICT o = OUT(u32, BUF_OUT), *RESTRICT v = RAW(u32, BUF_OUT_VALIDITY);                                 \
    i64 w = launch_->begin;                                                                                        \
    if (v) v = OUT(u32, BUF_OUT_VALIDITY);                                                                         \
    if (!shifted) {                                                                                                \
      KLEENE_WHOLE_OF(ALIGNED, value, decides_a, decides_b)                                                        \
    } else {                                                                                                       \
      KLEENE_WHOLE_OF(SHIFTED, value, decides_a, decides_b)                                                        \
    }                                                                                                              \
    for (; w < launch_->end; w++) KLEENE_WORD(value, decides_a, decides_b)                                         \
  }
#else
#define KLEENE_WORDS(value, decides_a, decides_b) WORDS(w, n) KLEENE_WORD(value, decides_a, decides_b)
#endif
#define KLEENE(name, value, decides_a, decides_b) \
  KERNEL(name) {                                  \
    const i64 n = SCALAR(SCALAR_ROWS);            \
    KLEENE_WORDS(value, decides_a, decides_b)     \
  }
KLEENE(and_kleene, a &b, ~a, ~b)
KLEENE(or_kleene, (a & va) | (b & vb), a, b)
KLEENE(and_not_kleene, a & ~b, ~a, b)
#undef KLEENE
#undef KNOWN
#undef WORD
