/* offsets.h - operations on offsets of type T, and on times that are stored so. */
#include "cdevice/kernels/selection/varlen.h"
#include "cdevice/kernels/selection/run_end.h"
#include "cdevice/kernels/sort/sort_binary.h"
#ifndef CPU_NO_CASTS
#include "cdevice/kernels/scalar/timestamp_parts.h"
#define S i32
#include "cdevice/kernels/scalar/temporal.h"
#undef S
#define S i64
#include "cdevice/kernels/scalar/temporal.h"
#undef S
#endif
