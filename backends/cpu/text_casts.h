/* text_casts.h - casts to text and back as C, and a table of them, CPU_KERNELS; a template as kernels.h, of its own
 * because it takes long to compile. */
#include "cpu/compute.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits" /* of one type or another a comparison is always true */
#endif

#define CDV_HOST 1
#include "cdevice/kernels/lang/protocol.h"
/* the language needs its constants */
#include "cdevice/kernels/lang/dialect.h"
/* These know nothing of T. */
#include "cdevice/kernels/lang/wide.h"
#include "cdevice/kernels/lang/half.h"
#include "cdevice/kernels/lang/bits.h"
#include "cdevice/kernels/strings/utf8.h"
#include "cdevice/kernels/text/digits.h"
/* clang-format off: the build writes the table, from which the functions below read */
#include "build/powers.h"
/* clang-format on */
#include "cdevice/kernels/text/shortest.h"
#include "cdevice/kernels/text/integer.h"
#include "cdevice/kernels/text/real.h"
#include "cdevice/kernels/text/decimal.h"
#include "cdevice/kernels/temporal/calendar.h"
#include "cdevice/kernels/text/clock.h"
#include "cdevice/kernels/text/format.h"
#include "cdevice/kernels/text/print.h"

#define T i32
#include "cpu/text_casts_of.h"
#undef T
#define T i64
#include "cpu/text_casts_of.h"
#undef T

/* ---- the table: family, types and name, as programs are asked for ---- */
#define CAST(family, name, s, t) {#family "/" #s " " #t "/" #name "_" #s "_" #t, name##_##s##_##t},
#define PRINTED_AS(what, s)                \
  CAST(print_##what, what##_sizes, s, i32) \
  CAST(print_##what, what##_write, s, i32) \
  CAST(print_##what, what##_sizes, s, i64) CAST(print_##what, what##_write, s, i64)
#define READ_AS(what, s) CAST(read_##what, read_##what, s, i32) CAST(read_##what, read_##what, s, i64)

#define BOTH(what, s) PRINTED_AS(what, s) READ_AS(what, s)
#define TIMES(X) X(time, date32) X(time, s32) X(time, ms32) X(time, s64) X(time, ms64) X(time, us64) X(time, ns64)
#define FORMATTED(X) \
  X(format, date32) X(format, s32) X(format, ms32) X(format, s64) X(format, ms64) X(format, us64) X(format, ns64)
#define BY_FORMAT(s) READ_AS(format, s) CAST(read_format, format_fits, s, i32) CAST(read_format, format_fits, s, i64)

/* clang-format off */
const cpu_kernel CPU_KERNELS[] = {
    BOTH(integer, i64) BOTH(integer, u64) BOTH(bool, bits) BOTH(real, f32) BOTH(real, f64) BOTH(decimal, w128)
    BOTH(decimal, w256) TIMES(BOTH) READ_AS(integer, i8) READ_AS(integer, i16) READ_AS(integer, i32) READ_AS(integer, u8)
    READ_AS(integer, u16) READ_AS(integer, u32) FORMATTED(PRINTED_AS)
    BY_FORMAT(s64) BY_FORMAT(ms64) BY_FORMAT(us64) BY_FORMAT(ns64)
    {NULL, NULL}};
/* clang-format on */
