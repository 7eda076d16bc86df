/* decimal_reals.h - decimals of each width as floats of type T; included once for each. */
#define S i32
#include "cdevice/kernels/scalar/decimal_real.h"
#undef S
#define S i64
#include "cdevice/kernels/scalar/decimal_real.h"
#undef S
#define S w128
#include "cdevice/kernels/scalar/decimal_real.h"
#undef S
#define S w256
#include "cdevice/kernels/scalar/decimal_real.h"
#undef S
