/* cast.h - numbers of type S become numbers of type T.
 *
 * A float that no integer of T is near becomes the nearest one that there is, NaN becomes 0: C leaves that
 * open, and each device would answer another thing. */
#define VS OF(VALUE, S)
#define LOADED(x) OF(LOAD, S)(x)
#if OF(IS_FLOAT, S) && !OF(IS_FLOAT, T)
#define CONVERTED(x) \
  ((x) != (x) ? (T)0 : (x) <= (VS)OF(MIN, T) ? OF(MIN, T) : (x) >= (VS)OF(MAX, T) ? OF(MAX, T) : (T)(x))
#define LOSES(x, r) ((VS)(r) != (x) || BEYOND(x))
/* The nearest number of 64 bits, for the message; C leaves the others open here too. */
#define REPORTED(x)                                       \
  ((x) != (x)                        ? KERNEL_TRUNCATED_NAN \
   : (x) <= (VS)KERNEL_TRUNCATED_LOW ? KERNEL_TRUNCATED_LOW \
   : (x) >= (VS)MAX_i64              ? MAX_i64              \
                                     : (i64)(x))
/* The greatest of 64 bits, and of 32 in an f32, is rounded up to what does not fit. */
#define BEYOND(x) ((x) >= (VS)OF(MAX, T) && (sizeof(T) == 8 || (sizeof(T) == 4 && sizeof(S) == 4)))
#else
#define REPORTED(x) ((i64)(x))
#define CONVERTED(x) NARROWED(x)
#if !OF(IS_FLOAT, S) && OF(IS_FLOAT, T)
/* What the mantissa holds. */
#define DIGITS (sizeof(T) == 2 ? 11 : sizeof(T) == 4 ? 24 : 53)
#define EXACT ((i64)1 << DIGITS)
#define LOSES(x, r)                                  \
  (8 * (int)sizeof(S) - OF(IS_SIGNED, S) > DIGITS && \
   (OF(IS_SIGNED, S) ? (i64)(x) > EXACT || (i64)(x) < -EXACT : (u64)(x) > (u64)EXACT))
#elif !OF(IS_FLOAT, S)
#define NEGATIVE(kind, x) (OF(IS_SIGNED, kind) && (i64)(x) < 0)
#define LOSES(x, r) ((S)(r) != (x) || NEGATIVE(S, x) != NEGATIVE(T, r))
#else
#define LOSES(x, r) 0
#endif
#endif

#if OF(IS_HALF, T)
#define NARROWED(x) (sizeof(VS) == 8 && OF(IS_FLOAT, S) ? half_of_f64((f64)(x)) : half_of((f32)(x)))
#else
#define NARROWED(x) ((T)(x))
#endif

KERNEL(OF(cast, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  ROWS(i, SCALAR(SCALAR_ROWS)) {
    const VS x = LOADED(a[i]);
    o[i] = CONVERTED(x);
  }
}
KERNEL(OF(cast_checked, S)) {
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  GLOBAL const S *RESTRICT a = IN(S, BUF_ARG0);
  int bad = 0;
  {
    ROWS(i, SCALAR(SCALAR_ROWS)) {
      const VS x = LOADED(a[i]);
      const T r = CONVERTED(x);
      o[i] = r;
      bad |= LOSES(x, r);
    }
  }
  if (bad) {
    ROWS(i, SCALAR(SCALAR_ROWS)) {
      const VS x = LOADED(a[i]);
      const T r = CONVERTED(x);
      (void)r;
      if (LOSES(x, r) && bit1(RAW(u32, BUF_COUNTED), OFFSET(BUF_COUNTED), i))
        report_error(OUT(i64, BUF_ERROR), KERNEL_ERROR_TRUNCATED, REPORTED(x));
    }
  }
}
#undef VS
#undef LOADED
#undef NARROWED
#undef CONVERTED
#undef LOSES
#undef REPORTED
#undef BEYOND
#undef EXACT
#undef DIGITS
#undef NEGATIVE
