/* pairs.h - functions of two floats of type T. */
#define OF_PAIRS(name, f)                                 \
  KERNEL(name) {                                          \
    TWO_ARGUMENTS(T);                                     \
    EACH_OF_TWO(out_[i] = OF(real, T)(f((f64)x, (f64)y))) \
  }
#define OF_PAIRS_CHECKED(name, f, code, wrong)                             \
  KERNEL(name) {                                                           \
    TWO_ARGUMENTS(T);                                                      \
    EACH_CHECKED(EACH_OF_TWO, code, wrong, OF(real, T)(f((f64)x, (f64)y))) \
  }
OF_PAIRS(power_of, power_real)
OF_PAIRS(logb_of, logb_real)
OF_PAIRS(atan2_of, atan2_real)
OF_PAIRS(hypot_of, hypot_real)
OF_PAIRS(remainder_of, remainder_real)
OF_PAIRS(modulo_of, modulo_real)
#define LOGARITHM_ERROR (x == 0 || y == 0 ? KERNEL_ERROR_LOGARITHM_OF_ZERO : KERNEL_ERROR_LOGARITHM)
OF_PAIRS_CHECKED(logb_checked, logb_real, LOGARITHM_ERROR, x <= 0 || y <= 0)
OF_PAIRS_CHECKED(remainder_checked, remainder_real, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0)
OF_PAIRS_CHECKED(modulo_checked, modulo_real, KERNEL_ERROR_DIVIDE_BY_ZERO, y == 0)
#undef OF_PAIRS
#undef LOGARITHM_ERROR
#undef OF_PAIRS_CHECKED
