/* dialect.h - one language for four compilers: C (a kernel is a function that does a range of items), OpenCL C,
 * NVRTC and HIPRTC.  Nothing is included, so that it is all the text there is.
 *
 * Every kernel has the same parameters: KERNEL_BUFFERS buffers, each with an offset in elements (of a bitmap: in
 * bits; a handle is no address, so nothing can be added to it before), and KERNEL_SCALARS numbers, the first of
 * which is the number of rows.
 *
 *   KERNEL(name) { ... }     its name has the types of the program behind it: add_i64
 *   IN(T, k) OUT(T, k)       buffer k, from its offset on; may be NULL
 *   RAW(T, k) OFFSET(k)      buffer k from its beginning, and the offset
 *   SCALAR(k)                number k
 *   TABLE(T) name[] = {...}  numbers that never change, outside of kernels
 * k is a name of protocol.h, which the driver uses too: BUF_OUT, SCALAR_ROWS.
 *
 * The macro of the loop defines the work item, and the driver launches as many:
 *   ROWS(i, n)      a row
 *   WORDS(w, n)     32 rows, that is a word of a bitmap
 *   PACK(...)       bits.h: where a word is an item (CDV_COARSE), 32 rows; else a row, and a block packs the words
 *   TILES(t, n, s)  s rows: where an item does a tile alone (CDV_COARSE), that; else a block of WORK_GROUP_SIZE does
 *   it
 *   one item
 * CDV_COARSE is the shape for processors, which like an item that does much; devices of many threads take the other
 * one. */
#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
/* With CDV_ONLY a program has the kernels whose names are behind KERNEL_ENABLED_, no others. The build puts this
 * around each. */
#define KERNEL_ENABLED(name) (!CDV_ONLY || GLUE(KERNEL_ENABLED_, name))

#if defined(CDV_HOST)
typedef __INT8_TYPE__ i8;
typedef __INT16_TYPE__ i16;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
#define CDV_COARSE 1
#define GLOBAL
#define RESTRICT __restrict__
#define FN static inline
#define TABLE(type) static const type
#ifndef CDV_LINKAGE
#define CDV_LINKAGE static /* of a kernel; empty: it is found by its name */
#endif
#define KERNEL(name) CDV_LINKAGE void CAT(name, T)(const cpu_launch *launch_)
#define RAW(type, k) ((GLOBAL type *)launch_->buffers[k].data)
#define OFFSET(k) (launch_->buffers[k].offset)
#define SCALAR(k) (launch_->scalars[k])
#define ITEMS(i, n) for (i64 i = launch_->begin, GLUE(i, _end) = launch_->end; i < GLUE(i, _end); i++)
#define POPC(x) __builtin_popcount(x)
#define CTZ(x) __builtin_ctz(x)
#define ATOMIC_OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED) /* several threads may go through the items */
#define ATOMIC_MAX(p, v) atomic_max_(p, v)
#define STORE_RELAXED(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
static inline void atomic_max_(i32 *p, i32 v) {
  i32 found = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (found < v && !__atomic_compare_exchange_n(p, &found, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
}
#define COPY16(to, from) __builtin_memcpy(to, from, 16) /* bytes, wherever they are; for CDV_COARSE alone */
#define LOAD8(from) load8_(from)                        /* u64 of eight bytes, likewise; in any order */
static inline u64 load8_(const u8 *from) {
  u64 x;
  __builtin_memcpy(&x, from, 8);
  return x;
}
#define PREFETCH(p) __builtin_prefetch(p)
#define FABS(x) (sizeof(x) == 4 ? (OF(VALUE, T))__builtin_fabsf((f32)(x)) : (OF(VALUE, T))__builtin_fabs((f64)(x)))
#define SQRT(x) (sizeof(x) == 4 ? (OF(VALUE, T))__builtin_sqrtf((f32)(x)) : (OF(VALUE, T))__builtin_sqrt((f64)(x)))
#define ROOT64(x) __builtin_sqrt(x) /* of an f64 */
#define AS_F32(bits)     \
  (((union {             \
     u32 u;              \
     f32 f;              \
   }){.u = (u32)(bits)}) \
       .f)
#define BITS_OF_F32(x) \
  (((union {           \
     f32 f;            \
     u32 u;            \
   }){.f = (x)})       \
       .u)
#define AS_F64(bits)     \
  (((union {             \
     u64 u;              \
     f64 f;              \
   }){.u = (u64)(bits)}) \
       .f)
#define BITS_OF_F64(x) \
  (((union {           \
     f64 f;            \
     u64 u;            \
   }){.f = (x)})       \
       .u)
#else
#if defined(__OPENCL_VERSION__)
#if !defined(CDV_NO_F64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#if defined(CDV_NO_F64)
typedef float f64; /* so that the text can be read; kernels of it are refused before they are started */
#define AS_F64(bits) AS_F32(bits)
#define BITS_OF_F64(x) ((u64)as_uint(x))
#else
typedef double f64;
#define AS_F64(bits) as_double((u64)(bits))
#define BITS_OF_F64(x) as_ulong(x)
#endif
#define GLOBAL __global
#define RESTRICT restrict
#define FN static
#define TABLE(type) __constant type
#define ENTRY(name) __kernel void name
#define SHARED(type, name, n) __local type name[n]
#define GID ((i64)get_global_id(0))
#define LID ((int)get_local_id(0))
#define BID ((i64)get_group_id(0))
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define POPC(x) ((int)popcount(x))
#define CTZ(x) ((int)(31 - clz((x) & (0u - (x)))))
#define ATOMIC_OR(p, v) atomic_or((volatile GLOBAL u32 *)(p), v)
#define ATOMIC_MAX(p, v) atomic_max((volatile GLOBAL i32 *)(p), v)
#define ATOMIC_MIN(p, v) atomic_min((volatile GLOBAL u32 *)(p), v)
#define ATOMIC_ADD(p, v) atomic_add((volatile GLOBAL u32 *)(p), v)
#define ATOMIC_EXCHANGE_IF(p, old, v) atomic_cmpxchg((volatile GLOBAL u32 *)(p), old, v)
#define LOAD_RELAXED(p) (*(volatile GLOBAL u32 *)(p))
#if defined(__clang__) /* loads from addresses that lie apart are slower together than one by one */
#define ONE_BY_ONE _Pragma("clang loop vectorize(disable)")
#endif
struct __attribute__((packed)) bytes16_ {
  ulong low, high;
};
#define COPY16(to, from) (*(GLOBAL struct bytes16_ *)(to) = *(GLOBAL const struct bytes16_ *)(from))
struct __attribute__((packed)) bytes8_ {
  ulong x;
};
#define LOAD8(from) (((GLOBAL const struct bytes8_ *)(from))->x)
#define FABS(x) fabs(x)
#define SQRT(x) sqrt(x)
#define ROOT64(x) sqrt(x)
#define AS_F32(bits) as_float((u32)(bits))
#define BITS_OF_F32(x) as_uint(x)
#else
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#define GLOBAL
#define RESTRICT __restrict__
#define FN inline __device__ /* unused static functions cause warnings */
#define TABLE(type) static __device__ const type
#define ENTRY(name) extern "C" __global__ void name
#define SHARED(type, name, n) __shared__ type name[n]
#define GID ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define LID ((int)threadIdx.x)
#define BID ((i64)blockIdx.x)
#define SYNC __syncthreads()
#define POPC(x) __popc(x)
#define CTZ(x) (__ffs(x) - 1)
#define ATOMIC_OR(p, v) atomicOr((p), (v))
#define ATOMIC_MAX(p, v) atomicMax((p), (v))
#define ATOMIC_MIN(p, v) atomicMin((p), (v)) /* this and the next three: where many items fill one table */
#define ATOMIC_ADD(p, v) atomicAdd((p), (v))
#define ATOMIC_EXCHANGE_IF(p, old, v) atomicCAS((p), (old), (v))
#define LOAD_RELAXED(p) (*(volatile u32 *)(p))
#define FABS(x) (sizeof(x) == 4 ? (OF(VALUE, T))fabsf((f32)(x)) : (OF(VALUE, T))fabs((f64)(x)))
#define SQRT(x) (sizeof(x) == 4 ? (OF(VALUE, T))sqrtf((f32)(x)) : (OF(VALUE, T))sqrt((f64)(x)))
#define ROOT64(x) sqrt(x)
#define AS_F32(bits) __int_as_float((int)(bits))
#define BITS_OF_F32(x) ((u32)__float_as_int(x))
#define AS_F64(bits) __longlong_as_double((i64)(bits))
#define BITS_OF_F64(x) ((u64)__double_as_longlong(x))
#endif
#define STORE_RELAXED(p, v) (*(p) = (v))
#define BUFFER_(k) GLOBAL u8 *b##k##_, i64 o##k##_
#define KERNEL(name)                                                                                                 \
  ENTRY(CAT(name, T))                                                                                                \
  (BUFFER_(0), BUFFER_(1), BUFFER_(2), BUFFER_(3), BUFFER_(4), BUFFER_(5), BUFFER_(6), BUFFER_(7), i64 x0_, i64 x1_, \
   i64 x2_, i64 x3_, i64 x4_)
#define RAW_(type, k) ((GLOBAL type *)b##k##_)
#define OFFSET_(k) (o##k##_)
#define RAW(type, k) RAW_(type, k) /* k is replaced before it is pasted */
#define OFFSET(k) OFFSET_(k)
#define SCALAR(k) ((k) == 0 ? x0_ : (k) == 1 ? x1_ : (k) == 2 ? x2_ : (k) == 3 ? x3_ : x4_)
#define ITEMS(i, n)  \
  const i64 i = GID; \
  if (i < (n))
#endif

#if !defined(ONE_BY_ONE)
#define ONE_BY_ONE /* before a loop */
#endif
#if !defined(PREFETCH)
#define PREFETCH(p) (void)0
#endif
#define OUT(type, k) (RAW(type, k) + OFFSET(k))
#define IN(type, k) ((GLOBAL const type *)(RAW(type, k) + OFFSET(k)))
/* Rows by number: INDEX(i), of one of two widths, below INDICES. */
#define INDICES                                            \
  GLOBAL const i64 *RESTRICT index = IN(i64, BUF_INDICES); \
  GLOBAL const u32 *RESTRICT short_index = SCALAR(SCALAR_SHORT_INDICES) ? IN(u32, BUF_INDICES) : 0
#define INDEX(i) (short_index ? (i64)short_index[i] : index[i])
#define ROWS(i, n) ITEMS(i, n)
#define WORDS(w, n) ITEMS(w, ((n) + 31) / 32)
#if defined(CDV_COARSE)
#define TILES(t, n, rows) ITEMS(t, ((n) + (rows) - 1) / (rows) + ((n) == 0))
#endif

/* ---- properties of a type, found by its name ---- */
#define OF(what, type) CAT(what, type)
/* What a value is computed with as, and how it gets there from where it is stored and back. */
#define VALUE_i8 i8
#define VALUE_i16 i16
#define VALUE_i32 i32
#define VALUE_i64 i64
#define VALUE_u8 u8
#define VALUE_u16 u16
#define VALUE_u32 u32
#define VALUE_u64 u64
#define VALUE_f32 f32
#define VALUE_f64 f64
#define VALUE_w128 w128
#define VALUE_w256 w256
#define VALUE_f16 f32
#define LOAD_i8(x) (x)
#define LOAD_i16(x) (x)
#define LOAD_i32(x) (x)
#define LOAD_i64(x) (x)
#define LOAD_u8(x) (x)
#define LOAD_u16(x) (x)
#define LOAD_u32(x) (x)
#define LOAD_u64(x) (x)
#define LOAD_f32(x) (x)
#define LOAD_f64(x) (x)
#define LOAD_w128(x) (x)
#define LOAD_w256(x) (x)
#define LOAD_f16(x) half_value(x)
#define STORE_i8(x) (x)
#define STORE_i16(x) (x)
#define STORE_i32(x) (x)
#define STORE_i64(x) (x)
#define STORE_u8(x) (x)
#define STORE_u16(x) (x)
#define STORE_u32(x) (x)
#define STORE_u64(x) (x)
#define STORE_f32(x) (x)
#define STORE_f64(x) (x)
#define STORE_w128(x) (x)
#define STORE_w256(x) (x)
#define STORE_f16(x) half_of(x)
/* Integers are added and multiplied in a type that wraps, which C promises of unsigned ones from 32 bits on. */
#define WRAP_i8 u32
#define WRAP_i16 u32
#define WRAP_i32 u32
#define WRAP_i64 u64
#define WRAP_u8 u32
#define WRAP_u16 u32
#define WRAP_u32 u32
#define WRAP_u64 u64
#define WRAP_f16 f32
#define WRAP_f32 f32
#define WRAP_f64 f64
#define IS_FLOAT_i8 0
#define IS_FLOAT_i16 0
#define IS_FLOAT_i32 0
#define IS_FLOAT_i64 0
#define IS_FLOAT_u8 0
#define IS_FLOAT_u16 0
#define IS_FLOAT_u32 0
#define IS_FLOAT_u64 0
#define IS_FLOAT_f16 1
#define IS_FLOAT_f32 1
#define IS_FLOAT_f64 1
#define IS_FLOAT_w128 0
#define IS_FLOAT_w256 0
#define IS_SIGNED_i8 1
#define IS_SIGNED_i16 1
#define IS_SIGNED_i32 1
#define IS_SIGNED_i64 1
#define IS_SIGNED_u8 0
#define IS_SIGNED_u16 0
#define IS_SIGNED_u32 0
#define IS_SIGNED_u64 0
#define IS_SIGNED_f16 1
#define IS_SIGNED_f32 1
#define IS_SIGNED_f64 1
#define IS_SIGNED_w128 1
#define IS_SIGNED_w256 1
#define IS_HALF_i8 0
#define IS_HALF_i16 0
#define IS_HALF_i32 0
#define IS_HALF_i64 0
#define IS_HALF_u8 0
#define IS_HALF_u16 0
#define IS_HALF_u32 0
#define IS_HALF_u64 0
#define IS_HALF_f32 0
#define IS_HALF_f64 0
#define IS_HALF_f16 1
#define IS_WIDE_i8 0
#define IS_WIDE_i16 0
#define IS_WIDE_i32 0
#define IS_WIDE_i64 0
#define IS_WIDE_u8 0
#define IS_WIDE_u16 0
#define IS_WIDE_u32 0
#define IS_WIDE_u64 0
#define IS_WIDE_f16 0
#define IS_WIDE_f32 0
#define IS_WIDE_f64 0
#define IS_WIDE_w128 1 /* wide.h: no operators */
#define IS_WIDE_w256 2
#define WIDE_ADD_w128(x, y) wide_add(x, y)
#define WIDE_ADD_w256(x, y) wide256_add(x, y)
#define WIDE_SUBTRACT_w128(x, y) wide_subtract(x, y)
#define WIDE_SUBTRACT_w256(x, y) wide256_subtract(x, y)
#define WIDE_MULTIPLY_w128(x, y) wide_multiply(x, y)
#define WIDE_MULTIPLY_w256(x, y) wide256_multiply(x, y)
#define WIDE_NEGATE_w128(x) wide_negate(x)
#define WIDE_NEGATE_w256(x) wide256_negate(x)
#define WIDE_MAGNITUDE_w128(x) wide_magnitude(x)
#define WIDE_MAGNITUDE_w256(x) wide256_magnitude(x)
#define WIDE_SAME_w128(x, y) wide_same(x, y)
#define WIDE_SAME_w256(x, y) wide256_same(x, y)
#define WIDE_LESS_w128(x, y) wide_less(x, y)
#define WIDE_LESS_w256(x, y) wide256_less(x, y)
#define WIDE_MEAN_w128(x, n) wide_mean(x, n)
#define WIDE_MEAN_w256(x, n) wide256_mean(x, n)
#define WIDE_ROUNDED_w128(x, k) wide_rounded(x, k)
#define WIDE_ROUNDED_w256(x, k) wide256_rounded(x, k)
#define WIDE_POWER_w128(k) wide_power(k)
#define WIDE_POWER_w256(k) wide256_power(k)
#define WIDE_QUOTIENT_w128(x, y, rest) wide_quotient(x, y, rest)
#define WIDE_QUOTIENT_w256(x, y, rest) wide256_quotient(x, y, rest)
#define WIDE_CUT_w128(x, k, lost) wide_cut(x, k, lost)
#define WIDE_CUT_w256(x, k, lost) wide256_cut(x, k, lost)
#define WIDE_LIMIT_w128(digits) wide_limit(digits)
#define WIDE_LIMIT_w256(digits) wide256_limit(digits)
#define WIDE_BELOW_w128(x, limit) wide_less(wide_magnitude(x), limit)
#define WIDE_BELOW_w256(x, limit) wide256_less(wide256_magnitude(x), limit)
#define WIDE_NEAREST_w128(x, bits) wide_nearest(x, bits)
#define WIDE_NEAREST_w256(x, bits) wide256_nearest(x, bits)
#define WIDE_UP_w128(x, bits) wide_up(x, bits)
#define WIDE_UP_w256(x, bits) wide256_up(x, bits)
#define WIDE_BITS_w128(x) wide_bits(x)
#define WIDE_BITS_w256(x) wide256_bits(x)
#define WIDE_BELOW0_w128(x) wide_below0(x)
#define WIDE_BELOW0_w256(x) wide256_below0(x)
#define WIDE_128_w128(x) (x) /* a w128 as one of the type, and the lower bits of one as a w128 */
#define WIDE_128_w256(x) wide256_of(x)
#define WIDE_LOW_w128(x) (x)
#define WIDE_LOW_w256(x) wide256_low(x)
#define WIDE_MOST_w128 38 /* digits */
#define WIDE_MOST_w256 76
#define WIDE_ODD_w128(x) ((int)((x).low & 1))
#define WIDE_ODD_w256(x) ((int)((x).part[0] & 1))
#define IS_LONG_i8 0
#define IS_LONG_i16 0
#define IS_LONG_i32 0
#define IS_LONG_i64 1 /* its sums do not fit it */
#define IS_LONG_u8 0
#define IS_LONG_u16 0
#define IS_LONG_u32 0
#define IS_LONG_u64 1
#define IS_LONG_f16 0
#define IS_LONG_f32 0
#define IS_LONG_f64 0
#define IS_LONG_w128 0
#define IS_LONG_w256 0
/* What sums are made in. */
#define SUM_i8 i64
#define SUM_i16 i64
#define SUM_i32 i64
#define SUM_i64 i64
#define SUM_u8 u64
#define SUM_u16 u64
#define SUM_u32 u64
#define SUM_u64 u64
#define SUM_f32 f64
#define SUM_f64 f64
#define SUM_w128 w128
#define SUM_w256 w256
#define I64_MIN (-0x7fffffffffffffff - 1)
#define MIN_i8 (-128)
#define MIN_i16 (-32768)
#define MIN_i32 (-2147483647 - 1)
#define MIN_i64 I64_MIN
#define MIN_u8 0
#define MIN_u16 0
#define MIN_u32 0u
#define MIN_u64 ((u64)0)
#define MIN_f32 (-INFINITE_f32)
#define MIN_f64 (-INFINITE_f64)
#define MAX_i8 127
#define MAX_i16 32767
#define MAX_i32 2147483647
#define MAX_i64 ((i64)0x7fffffffffffffff)
#define MAX_u8 255
#define MAX_u16 65535
#define MAX_u32 0xffffffffu
#define MAX_u64 (~(u64)0)
#define MAX_f32 INFINITE_f32
#define MAX_f64 INFINITE_f64
#define MIN_w128 wide_make((u64)1 << 63, 0)
#define MAX_w128 wide_make(~(u64)0 >> 1, ~(u64)0)
#define MIN_w256 wide256_make((u64)1 << 63, 0)
#define MAX_w256 wide256_make(~(u64)0 >> 1, ~(u64)0)
#define INFINITE_f32 AS_F32(0x7f800000u)
#define INFINITE_f64 AS_F64((u64)0x7ff00000 << 32)
#define QUIET_f32 AS_F32(0x7fc00000u)
#define QUIET_f64 AS_F64((u64)0x7ff80000 << 32)
/* A number of the call, whose bits are in one of SCALAR(). */
#define FROM_i8(x) ((i8)(x))
#define FROM_i16(x) ((i16)(x))
#define FROM_i32(x) ((i32)(x))
#define FROM_i64(x) ((i64)(x))
#define FROM_u8(x) ((u8)(x))
#define FROM_u16(x) ((u16)(x))
#define FROM_u32(x) ((u32)(x))
#define FROM_u64(x) ((u64)(x))
#define FROM_f16(x) ((f16)(x)) /* its bits */
#define FROM_f32(x) AS_F32(x)
#define FROM_f64(x) AS_F64(x)
#define FROM_w128(x) wide_signed(x)
#define FROM_w256(x) wide256_signed(x)
#define ZERO(type) OF(FROM, type)(0)

/* How an argument of a call is given, two bits for each: a row for each row; one row for all of them; a number,
 * in SCALAR_ARG0 for the first argument and so on. */
#define ARG_KIND(k) ((int)(SCALAR(SCALAR_ARG_KINDS) >> (2 * (k))) & 3)
/* The one value of an argument that is not an array. */
#define ONE(type, k, buffer) (ARG_KIND(k) == ARG_SCALAR ? OF(FROM, type)(SCALAR(SCALAR_ARG0 + (k))) : (buffer)[0])

/* What a kernel found, in the two words of an error: one of these, and a value. Which of several is reported is
 * unspecified. */
FN void report_error(GLOBAL i64 *error, i64 code, i64 value) {
  STORE_RELAXED(error + 1, value);
  STORE_RELAXED(error, code);
}
