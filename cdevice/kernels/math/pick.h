/* pick.h - the lesser or the greater of two numbers of type T; of equals the first one, and NaN is no number.
 *
 * least_known, greatest_known: a null is none either, and the result is null where both are. */
#if OF(IS_WIDE, T)
#define IS_LESS(x, y) OF(WIDE_LESS, T)(x, y)
#define IS_NONE(x) 0
#else
#define IS_LESS(x, y) ((x) < (y))
#define IS_NONE(x) (OF(IS_FLOAT, T) && (x) != (x))
#endif
#define IS_KNOWN(k, i)                                                       \
  (ARG_KIND(k) == ARG_SCALAR ? (u32)(SCALAR(SCALAR_KLEENE_KNOWN) >> (k)) & 1 \
                             : bit1(known_##k, known_at_##k, ARG_KIND(k) ? 0 : (i)))
#define PICK(name, first)                                \
  KERNEL(name) {                                         \
    TWO_ARGUMENTS(T);                                    \
    EACH_OF_TWO(out_[i] = (first) || IS_NONE(y) ? x : y) \
  }
#define PICK_KNOWN(name, first)                                                                     \
  KERNEL(name) {                                                                                    \
    GLOBAL const u32 *known_0 = RAW(const u32, BUF_KLEENE_VALIDITY0);                               \
    GLOBAL const u32 *known_1 = RAW(const u32, BUF_KLEENE_VALIDITY1);                               \
    const i64 known_at_0 = OFFSET(BUF_KLEENE_VALIDITY0), known_at_1 = OFFSET(BUF_KLEENE_VALIDITY1); \
    const int numbers_ = (ARG_KIND(0) != ARG_SCALAR || (SCALAR(SCALAR_KLEENE_KNOWN) & 1)) &&        \
                         (ARG_KIND(1) != ARG_SCALAR || (SCALAR(SCALAR_KLEENE_KNOWN) & 2));          \
    TWO_ARGUMENTS(T);                                                                               \
    if (!known_0 && !known_1 && numbers_) {                                                         \
      EACH_OF_TWO(out_[i] = (first) || IS_NONE(y) ? x : y)                                          \
    } else {                                                                                        \
      EACH_OF_TWO(out_[i] = IS_KNOWN(0, i) && (!IS_KNOWN(1, i) || (first) || IS_NONE(y)) ? x : y)   \
    }                                                                                               \
  }
#define FIRST_IS_LESS (!IS_NONE(x) && !IS_LESS(y, x))
#define FIRST_IS_GREATER (!IS_NONE(x) && !IS_LESS(x, y))
PICK(least, FIRST_IS_LESS)
PICK(greatest, FIRST_IS_GREATER)
PICK_KNOWN(least_known, FIRST_IS_LESS)
PICK_KNOWN(greatest_known, FIRST_IS_GREATER)
#undef FIRST_IS_LESS
#undef FIRST_IS_GREATER
#undef IS_LESS
#undef IS_NONE
#undef IS_KNOWN
#undef PICK
#undef PICK_KNOWN
