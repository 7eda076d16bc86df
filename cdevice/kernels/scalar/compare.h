/* compare.h - two arguments of one type T become a bitmap.  greater is less with its arguments swapped. */
#define LOADED(x) OF(LOAD, T)(x)
#if OF(QUAD, T) /* the CPU's build for AVX2 defines it: four values at a time, or memory waits */
typedef T OF(quad_, T) __attribute__((vector_size(32), aligned(8), may_alias));
#define QUAD(x, i) (*(const OF(quad_, T) *)&(x)[i])
#define FOUR(v) ((OF(quad_, T)){v, v, v, v})
#define QUADS(TEST, X, Y, x, y)                                                                                  \
  WORDS(word_, n) {                                                                                              \
    const i64 first_ = word_ * 32;                                                                               \
    u32 packed_ = 0;                                                                                             \
    if (first_ + 32 <= n)                                                                                        \
      for (int j_ = 0; j_ < 32; j_ += 4) packed_ |= QUAD_MASK(TEST(X(a, first_ + j_), Y(b, first_ + j_))) << j_; \
    else                                                                                                         \
      for (i64 i = first_; i < n; i++) packed_ |= (u32)(TEST(x, y)) << (i - first_);                             \
    put32(o, word_, packed_, n);                                                                                 \
  }
#define FOUR_P(x, i) FOUR(p)
#define FOUR_Q(x, i) FOUR(q)
#define EACH(TEST)                      \
  if (!ARG_KIND(0) && !ARG_KIND(1)) {   \
    QUADS(TEST, QUAD, QUAD, a[i], b[i]) \
  } else if (!ARG_KIND(0)) {            \
    QUADS(TEST, QUAD, FOUR_Q, a[i], q)  \
  } else if (!ARG_KIND(1)) {            \
    QUADS(TEST, FOUR_P, QUAD, p, b[i])  \
  } else {                              \
    PACK(o, n, i, TEST(p, q))           \
  }
#elif defined(CDV_COARSE)
/* As PACK, with one loop for what arguments are, and one for the last word: a compiler takes long for eight. */
#define WHOLE_WORD(test)            \
  for (int j_ = 0; j_ < 32; j_++) { \
    const i64 i = first_ + j_;      \
    packed_ |= (u32)(test) << j_;   \
  }
#define EACH(TEST)                                                                                                   \
  WORDS(word_, n) {                                                                                                  \
    const i64 first_ = word_ * 32;                                                                                   \
    u32 packed_ = 0;                                                                                                 \
    if (first_ + 32 > n) {                                                                                           \
      for (int j_ = 0; j_ < 32; j_++) {                                                                              \
        const i64 i = first_ + j_;                                                                                   \
        if (i < n) packed_ |= (u32)(TEST((ARG_KIND(0) ? p : LOADED(a[i])), (ARG_KIND(1) ? q : LOADED(b[i])))) << j_; \
      }                                                                                                              \
    } else if (!ARG_KIND(0) && !ARG_KIND(1)) {                                                                       \
      WHOLE_WORD(TEST(LOADED(a[i]), LOADED(b[i])))                                                                   \
    } else if (!ARG_KIND(0)) {                                                                                       \
      WHOLE_WORD(TEST(LOADED(a[i]), q))                                                                              \
    } else if (!ARG_KIND(1)) {                                                                                       \
      WHOLE_WORD(TEST(p, LOADED(b[i])))                                                                              \
    } else {                                                                                                         \
      packed_ = TEST(p, q) ? 0xffffffffu : 0u;                                                                       \
    }                                                                                                                \
    put32(o, word_, packed_, n);                                                                                     \
  }
#else /* a block packs together: no branch around that, which PoCL 3.1 makes endless loops of */
#define EACH(TEST) PACK(o, n, i, TEST((ARG_KIND(0) ? p : LOADED(a[i])), (ARG_KIND(1) ? q : LOADED(b[i]))))
#endif
#define COMPARE(name, TEST)                                              \
  KERNEL(name) {                                                         \
    PACK_ROOM;                                                           \
    GLOBAL u32 *RESTRICT o = OUT(u32, BUF_OUT);                          \
    GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);                        \
    GLOBAL const T *RESTRICT b = IN(T, BUF_ARG1);                        \
    const i64 n = SCALAR(SCALAR_ROWS);                                   \
    const OF(VALUE, T) p = LOADED(ARG_KIND(0) ? ONE(T, 0, a) : ZERO(T)); \
    const OF(VALUE, T) q = LOADED(ARG_KIND(1) ? ONE(T, 1, b) : ZERO(T)); \
    EACH(TEST)                                                           \
  }
#if OF(IS_WIDE, T)
#define SAME(x, y) OF(WIDE_SAME, T)(x, y)
#define LESS(x, y) OF(WIDE_LESS, T)(x, y)
#define AT_MOST(x, y) !OF(WIDE_LESS, T)(y, x)
#define OTHER(x, y) !OF(WIDE_SAME, T)(x, y)
#else
#define SAME(x, y) ((x) == (y))
#define LESS(x, y) ((x) < (y))
#define AT_MOST(x, y) ((x) <= (y))
#define OTHER(x, y) ((x) != (y))
#endif
COMPARE(equal, SAME)
COMPARE(not_equal, OTHER)
COMPARE(less, LESS)
COMPARE(less_equal, AT_MOST)
#undef COMPARE
#undef EACH
#undef WHOLE_WORD
#undef QUAD
#undef FOUR
#undef QUADS
#undef FOUR_P
#undef FOUR_Q
#undef SAME
#undef LESS
#undef AT_MOST
#undef OTHER

#if OF(IS_FLOAT, T)
KERNEL(is_nan) {
  PACK_ROOM;
  GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);
  const i64 n = SCALAR(SCALAR_ROWS);
  const OF(VALUE, T) p = LOADED(ARG_KIND(0) ? ONE(T, 0, a) : ZERO(T));
  PACK(OUT(u32, BUF_OUT), n, i, (ARG_KIND(0) ? p : LOADED(a[i])) != (ARG_KIND(0) ? p : LOADED(a[i])))
}
#define OF_ROWS(name, test)                                               \
  KERNEL(name) {                                                          \
    PACK_ROOM;                                                            \
    GLOBAL const T *RESTRICT a = IN(T, BUF_ARG0);                         \
    const i64 n = SCALAR(SCALAR_ROWS);                                    \
    const OF(VALUE, T) p = LOADED(ARG_KIND(0) ? ONE(T, 0, a) : ZERO(T));  \
    PACK(OUT(u32, BUF_OUT), n, i, test((ARG_KIND(0) ? p : LOADED(a[i])))) \
  }
#define FINITE(x) ((x) - (x) == 0)
#define INFINITE(x) ((x) == (x) && (x) - (x) != 0)
OF_ROWS(is_finite, FINITE)
OF_ROWS(is_inf, INFINITE)
#undef OF_ROWS
#undef FINITE
#undef INFINITE
#endif
#undef LOADED
