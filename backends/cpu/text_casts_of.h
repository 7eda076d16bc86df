/* text_casts_of.h - casts of text with offsets of type T. */
#define S i8
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S i16
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S i32
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S u8
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S u16
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S u32
#include "cdevice/kernels/text/read_integer.h"
#undef S
#define S i64
#include "cdevice/kernels/text/read_integer.h"
#include "cdevice/kernels/text/print_integer.h"
#undef S
#define S u64
#include "cdevice/kernels/text/read_integer.h"
#include "cdevice/kernels/text/print_integer.h"
#undef S
#define S f32
#include "cdevice/kernels/text/read_real.h"
#include "cdevice/kernels/text/print_real.h"
#undef S
#define S f64
#include "cdevice/kernels/text/read_real.h"
#include "cdevice/kernels/text/print_real.h"
#undef S
#define S bits
#include "cdevice/kernels/text/read_bool.h"
#include "cdevice/kernels/text/print_bool.h"
#undef S
#define S w128
#include "cdevice/kernels/text/read_decimal.h"
#include "cdevice/kernels/text/print_decimal.h"
#undef S
#define S w256
#include "cdevice/kernels/text/read_decimal.h"
#include "cdevice/kernels/text/print_decimal.h"
#undef S
#define S date32
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#undef S
#define S s32
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#undef S
#define S ms32
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#undef S
#define S s64
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#include "cdevice/kernels/text/read_format.h"
#undef S
#define S ms64
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#include "cdevice/kernels/text/read_format.h"
#undef S
#define S us64
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#include "cdevice/kernels/text/read_format.h"
#undef S
#define S ns64
#include "cdevice/kernels/text/read_time.h"
#include "cdevice/kernels/text/print_time.h"
#include "cdevice/kernels/text/print_format.h"
#include "cdevice/kernels/text/read_format.h"
#undef S
