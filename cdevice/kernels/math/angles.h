/* angles.h - trigonometric functions of floats of type T.  Angles far from 0 come behind the others. */
#define FAR_ROWS(f)                                                               \
  if (far_) {                                                                     \
    EACH_OF_ONE(if (IS_FAR_ANGLE((f64)x)) out_[i] = OF(real, T)(f##_far((f64)x))) \
  }
#define OF_ANGLES(name, f)                                                                  \
  KERNEL(name) {                                                                            \
    u64 far_ = 0;                                                                           \
    ONE_ARGUMENT(T);                                                                        \
    EACH_OF_ONE(out_[i] = OF(real, T)(f##_near((f64)x)); far_ |= (u64)IS_FAR_ANGLE((f64)x)) \
    FAR_ROWS(f)                                                                             \
  }
#define OF_ANGLES_CHECKED(name, f)                                                                      \
  KERNEL(name) {                                                                                        \
    u64 far_ = 0;                                                                                       \
    ONE_ARGUMENT(T);                                                                                    \
    EACH_OF_ONE(far_ |= (u64)IS_FAR_ANGLE((f64)x))                                                      \
    EACH_CHECKED(EACH_OF_ONE, KERNEL_ERROR_DOMAIN, x == x && x - x != 0, OF(real, T)(f##_near((f64)x))) \
    FAR_ROWS(f)                                                                                         \
  }
#define OF_REALS(name, f)                         \
  KERNEL(name) {                                  \
    ONE_ARGUMENT(T);                              \
    EACH_OF_ONE(out_[i] = OF(real, T)(f((f64)x))) \
  }
#define OF_RATIOS_CHECKED(name, f)                                                          \
  KERNEL(name) {                                                                            \
    ONE_ARGUMENT(T);                                                                        \
    EACH_CHECKED(EACH_OF_ONE, KERNEL_ERROR_DOMAIN, x < -1 || x > 1, OF(real, T)(f((f64)x))) \
  }
OF_ANGLES(sin_of, sin_of)
OF_ANGLES(cos_of, cos_of)
OF_ANGLES(tan_of, tan_of)
OF_ANGLES_CHECKED(sin_checked, sin_of)
OF_ANGLES_CHECKED(cos_checked, cos_of)
OF_ANGLES_CHECKED(tan_checked, tan_of)
OF_REALS(asin_of, asin_real)
OF_REALS(acos_of, acos_real)
OF_REALS(atan_of, atan_real)
OF_RATIOS_CHECKED(asin_checked, asin_real)
OF_RATIOS_CHECKED(acos_checked, acos_real)
#undef FAR_ROWS
#undef OF_ANGLES
#undef OF_ANGLES_CHECKED
#undef OF_REALS
#undef OF_RATIOS_CHECKED
