/* wide_casts.h - decimals of 128 and 256 bits, and floats, as decimals of type T; included once for each. */
#define S w128
#include "cdevice/kernels/scalar/decimal_rescale.h"
#undef S
#define S w256
#include "cdevice/kernels/scalar/decimal_rescale.h"
#undef S
#define S f32
#include "cdevice/kernels/scalar/real_decimal.h"
#undef S
#define S f64
#include "cdevice/kernels/scalar/real_decimal.h"
#undef S
