/* compare.h - two arguments of one type T, 1 and 2, become a bitmap, 0.  What is greater has less on its other side. */
#if defined(CDV_ITEMS)
#define EACH(op)                      \
  if (!FORM(0) && !FORM(1)) {         \
    PACK(o, n, i, a[i] op b[i])       \
  } else if (!FORM(0)) {              \
    PACK(o, n, i, a[i] op q)          \
  } else if (!FORM(1)) {              \
    PACK(o, n, i, p op b[i])          \
  } else {                            \
    PACK(o, n, i, p op q)             \
  }
#else /* a block packs together: no branch around that, which PoCL 3.1 makes endless loops of */
#define EACH(op) PACK(o, n, i, (FORM(0) ? p : a[i]) op(FORM(1) ? q : b[i]))
#endif
#define COMPARE(name, op)                      \
  KERNEL(name) {                               \
    PACK_ROOM;                                 \
    GLOBAL u32 *RESTRICT o = OUT(u32, 0);      \
    GLOBAL const T *RESTRICT a = IN(T, 1);     \
    GLOBAL const T *RESTRICT b = IN(T, 2);     \
    const i64 n = NUMBER(0);                   \
    const T p = FORM(0) ? ONE(T, 0, a) : (T)0; \
    const T q = FORM(1) ? ONE(T, 1, b) : (T)0; \
    EACH(op)                                   \
  }
COMPARE(equal, ==)
COMPARE(not_equal, !=)
COMPARE(less, <)
COMPARE(less_equal, <=)
#undef COMPARE
#undef EACH

KERNEL(is_nan) {
  PACK_ROOM;
  GLOBAL const T *RESTRICT a = IN(T, 1);
  const i64 n = NUMBER(0);
  PACK(OUT(u32, 0), n, i, a[i] != a[i])
}
