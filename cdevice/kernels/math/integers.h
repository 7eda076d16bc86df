/* integers.h - bits, shifts, remainders and powers of integers of type T. */
#define U OF(WRAP, T)
#define BITS_OF_TYPE ((int)sizeof(T) * 8 - OF(IS_SIGNED, T))
#define LEAST_BY_MINUS_1(x, y) (OF(IS_SIGNED, T) && (x) == OF(MIN, T) && (y) == (T) - 1)
#define BIT_WISE(name, value)         \
  KERNEL(name) {                      \
    TWO_ARGUMENTS(T);                 \
    EACH_OF_TWO(out_[i] = (T)(value)) \
  }
BIT_WISE(bits_and, x &y)
BIT_WISE(bits_or, x | y)
BIT_WISE(bits_xor, x ^ y)
KERNEL(bits_not) {
  ONE_ARGUMENT(T);
  EACH_OF_ONE(out_[i] = (T)~x)
}

/* By less than no bit, or by all of them, a number stays what it is. */
#define SHIFTS(y) ((u64)(y) < (u64)BITS_OF_TYPE) /* of one below 0 it is great */
#define LEFT(x, y) (SHIFTS(y) ? (T)((U)(x) << (SHIFTS(y) ? (int)(y) : 0)) : (x))
#define RIGHT(x, y) (SHIFTS(y) ? (T)((x) >> (SHIFTS(y) ? (int)(y) : 0)) : (x))
BIT_WISE(shift_left, LEFT(x, y))
BIT_WISE(shift_right, RIGHT(x, y))
KERNEL(shift_left_checked) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, KERNEL_ERROR_SHIFT, !SHIFTS(y), LEFT(x, y))
}
KERNEL(shift_right_checked) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, KERNEL_ERROR_SHIFT, !SHIFTS(y), RIGHT(x, y))
}

/* What could trap is done with other numbers. */
#define REST_OF(x, y) ((y) == 0 || LEAST_BY_MINUS_1(x, y) ? (T)0 : (T)((x) % (y)))
/* With the divisor's sign. */
#define MODULO_OF(x, y) \
  ((T)(REST_OF(x, y) +  \
       (OF(IS_SIGNED, T) && REST_OF(x, y) != 0 && (IS_NEGATIVE(REST_OF(x, y)) != IS_NEGATIVE(y)) ? (y) : (T)0)))
#define DIVISION_ERROR(y) ((y) == 0 ? KERNEL_ERROR_DIVIDE_BY_ZERO : KERNEL_ERROR_OVERFLOW)
KERNEL(remainder_of) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0, REST_OF(x, y))
}
KERNEL(remainder_checked) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, DIVISION_ERROR(y), y == 0 || LEAST_BY_MINUS_1(x, y), REST_OF(x, y))
}
KERNEL(modulo_of) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0, MODULO_OF(x, y))
}
KERNEL(modulo_checked) {
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, DIVISION_ERROR(y), y == 0 || LEAST_BY_MINUS_1(x, y), MODULO_OF(x, y))
}

/* The product of x with itself, y times; *wraps: is it none of T? */
FN T OF(power_of, T)(T x, T y, int *wraps) {
  U power = 1, square = (U)x;
  int over = 0, last = 0; /* a square that wraps matters where it is used */
  *wraps = 0;
  for (int bit = 0; bit < BITS_OF_TYPE && (u64)y >> bit; bit++) {
    const T a = (T)power, b = (T)square;
    last = over;
    if ((u64)y >> bit & 1) {
      power = (U)(T)(power * square);
      if (last || (a != 0 && (LEAST_BY_MINUS_1(b, a) || (T)power / a != b))) *wraps = 1;
    }
    square = (U)(T)(square * square);
    over |= b != 0 && (LEAST_BY_MINUS_1(b, b) || (T)square / b != b);
  }
  return (T)power;
}
KERNEL(power_to) {
  int wraps;
  TWO_ARGUMENTS(T);
  EACH_CHECKED(EACH_OF_TWO, KERNEL_ERROR_NEGATIVE_POWER, IS_NEGATIVE(y),
               IS_NEGATIVE(y) ? (T)0 : OF(power_of, T)(x, y, &wraps))
}
KERNEL(power_checked) {
  int bad_ = 0;
  TWO_ARGUMENTS(T);
  EACH_OF_TWO({
    int wraps = 0;
    out_[i] = IS_NEGATIVE(y) ? (T)0 : OF(power_of, T)(x, y, &wraps);
    bad_ |= wraps | (IS_NEGATIVE(y));
  })
  if (bad_) {
    EACH_OF_TWO({
      int wraps = 0;
      if (!IS_NEGATIVE(y)) (void)OF(power_of, T)(x, y, &wraps);
      if ((wraps || IS_NEGATIVE(y)) && ROW_COUNTS(i))
        report_error(OUT(i64, BUF_ERROR), IS_NEGATIVE(y) ? KERNEL_ERROR_NEGATIVE_POWER : KERNEL_ERROR_OVERFLOW, 0);
    })
  }
}
#undef U
#undef BITS_OF_TYPE
#undef LEAST_BY_MINUS_1
#undef BIT_WISE
#undef SHIFTS
#undef LEFT
#undef RIGHT
#undef REST_OF
#undef MODULO_OF
#undef DIVISION_ERROR
