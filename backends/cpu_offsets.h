/* cpu_offsets.h - what is known to do with offsets of type T, and with times that are stored so. */
#include "cdevice/kernels/variable.h"
#include "cdevice/kernels/runs.h"
#ifndef CPU_NO_CASTS
#include "cdevice/kernels/moment.h"
#define S i32
#include "cdevice/kernels/time.h"
#undef S
#define S i64
#include "cdevice/kernels/time.h"
#undef S
#endif
