/* exponential.h - powers of e, logarithms, square and cube roots of floats of type T.  Rows that the first loop has no
 * value for come behind the others. */
#define OF_REALS(name, f)                         \
  KERNEL(name) {                                  \
    ONE_ARGUMENT(T);                              \
    EACH_OF_ONE(out_[i] = OF(real, T)(f((f64)x))) \
  }
#define FAR_ROWS(f, is_far)                                                 \
  if (far_) {                                                               \
    EACH_OF_ONE(if (is_far((f64)x)) out_[i] = OF(real, T)(f##_far((f64)x))) \
  }
#define OF_FAR_REALS(name, f, is_far)                                                 \
  KERNEL(name) {                                                                      \
    u64 far_ = 0;                                                                     \
    ONE_ARGUMENT(T);                                                                  \
    EACH_OF_ONE(out_[i] = OF(real, T)(f##_near((f64)x)); far_ |= (u64)is_far((f64)x)) \
    FAR_ROWS(f, is_far)                                                               \
  }
#define OF_LOGARITHMS_CHECKED(name, f, is_far, zero)                                                          \
  KERNEL(name) {                                                                                              \
    u64 far_ = 0;                                                                                             \
    ONE_ARGUMENT(T);                                                                                          \
    EACH_OF_ONE(far_ |= (u64)is_far((f64)x))                                                                  \
    EACH_CHECKED(EACH_OF_ONE, x == zero ? KERNEL_ERROR_LOGARITHM_OF_ZERO : KERNEL_ERROR_LOGARITHM, x <= zero, \
                 OF(real, T)(f##_near((f64)x)))                                                               \
    FAR_ROWS(f, is_far)                                                                                       \
  }
OF_FAR_REALS(exp_of, exp_of, IS_FAR_POWER)
OF_REALS(expm1_of, expm1_real)
OF_FAR_REALS(ln_of, ln_of, IS_FAR_LOG)
OF_FAR_REALS(log2_of, log2_of, IS_FAR_LOG)
OF_FAR_REALS(log10_of, log10_of, IS_FAR_LOG)
OF_FAR_REALS(log1p_of, log1p_of, IS_FAR_LOG1P)
OF_LOGARITHMS_CHECKED(ln_checked, ln_of, IS_FAR_LOG, 0)
OF_LOGARITHMS_CHECKED(log2_checked, log2_of, IS_FAR_LOG, 0)
OF_LOGARITHMS_CHECKED(log10_checked, log10_of, IS_FAR_LOG, 0)
OF_LOGARITHMS_CHECKED(log1p_checked, log1p_of, IS_FAR_LOG1P, -1)
OF_REALS(sqrt_of, sqrt_real)
OF_REALS(cbrt_of, cbrt_real)
KERNEL(sqrt_checked) {
  ONE_ARGUMENT(T);
  EACH_CHECKED(EACH_OF_ONE, KERNEL_ERROR_SQUARE_ROOT, x < 0, OF(real, T)(sqrt_real((f64)x)))
}
#undef OF_REALS
#undef FAR_ROWS
#undef OF_FAR_REALS
#undef OF_LOGARITHMS_CHECKED
