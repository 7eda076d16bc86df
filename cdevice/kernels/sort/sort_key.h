/* sort_key.h - words whose order is that of values of one size: T is the width, and no floating point is needed.
 *
 * Both zeros are one value. NaN and nulls have a word among the others, and their class puts them in their place. */
#if OF(IS_WIDE, T)
#define KEY_OF(x) (SCALAR(SCALAR_KEY_PART) == SORT_KEY_HIGH ? (x).high ^ sign : (x).low)
#define KEY_SIGN ((u64)1 << 63)
#define KEY_FUSED 0
#else
#define KEY_OF(x) ((u64)(x))
#define KEY_SIGN ((u64)1 << (8 * (int)sizeof(T) - 1))
#define KEY_FUSED (sizeof(T) < 8)
#endif
KERNEL(sort_key) {
  GLOBAL const T *RESTRICT values = IN(T, BUF_KEY_VALUES);
  GLOBAL const u32 *RESTRICT rows = IN(u32, BUF_KEY_ROWS);
  GLOBAL u64 *RESTRICT o = OUT(u64, BUF_KEY_OUT);
  const i64 part = SCALAR(SCALAR_KEY_PART), flags = SCALAR(SCALAR_KEY_FLAGS);
  const u64 top = KEY_SIGN;
  const u64 sign = flags & SORT_KEY_SIGNED ? top : (u64)0, all = top | (top - 1);
  const u64 value_class = flags & SORT_KEY_NULLS_FIRST ? 2 : 0, null_class = 2 - value_class;
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const i64 row = rows ? (i64)rows[i] : i;
    const T x = values[row];
    u64 key = KEY_OF(x), class_ = value_class;
#if !OF(IS_WIDE, T)
    if (flags & SORT_KEY_FLOAT) {
      const u64 magnitude = key & (top - 1);
      if (magnitude > (u64)SCALAR(SCALAR_KEY_INFINITY))
        key = 0, class_ = 1;
      else
        key = !magnitude && !(flags & SORT_KEY_DISTINCT) ? top : key & top ? ~key & all : key | top;
    } else {
      key ^= sign;
    }
#endif
    if (flags & SORT_KEY_DESCENDING && class_ == value_class) key = ~key & all;
    if (!bit1(RAW(const u32, BUF_KEY_VALIDITY), OFFSET(BUF_KEY_VALIDITY), row))
      key = sign, class_ = null_class; /* near the others */
    if (part == SORT_KEY_CLASS)
      key = class_;
    else if (KEY_FUSED)
      key |= class_ << (8 * (int)sizeof(T) & 63);
    o[i] = key;
  }
}
#undef KEY_OF
#undef KEY_SIGN
#undef KEY_FUSED
