/* hyperbolic.h - hyperbolic functions of floats of type T. */
#define OF_REALS(name, f)                         \
  KERNEL(name) {                                  \
    ONE_ARGUMENT(T);                              \
    EACH_OF_ONE(out_[i] = OF(real, T)(f((f64)x))) \
  }
#define OF_REALS_CHECKED(name, f, wrong)                                          \
  KERNEL(name) {                                                                  \
    ONE_ARGUMENT(T);                                                              \
    EACH_CHECKED(EACH_OF_ONE, KERNEL_ERROR_DOMAIN, wrong, OF(real, T)(f((f64)x))) \
  }
OF_REALS(sinh_of, sinh_real)
OF_REALS(cosh_of, cosh_real)
OF_REALS(tanh_of, tanh_real)
OF_REALS(asinh_of, asinh_real)
OF_REALS(acosh_of, acosh_real)
OF_REALS(atanh_of, atanh_real)
OF_REALS_CHECKED(acosh_checked, acosh_real, x < 1)
OF_REALS_CHECKED(atanh_checked, atanh_real, x <= -1 || x >= 1)
#undef OF_REALS
#undef OF_REALS_CHECKED
