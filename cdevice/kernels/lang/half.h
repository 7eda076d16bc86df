/* half.h - floats of 16 bits: they are stored as integers and computed with as f32, which has room for the result of
 * one operation to be rounded once more.  Not all compilers have such a type. */
typedef u16 f16;

#if defined(CDV_HOST) && defined(__FLT16_MANT_DIG__) && (defined(__F16C__) || defined(__aarch64__))
/* One instruction; of NaN it keeps other digits. */
typedef union {
  f16 bits;
  _Float16 value;
} half_bits;
FN f32 half_value(f16 h) {
  const half_bits x = {h};
  const f32 value = (f32)x.value;
  return (h & 0x7fffu) > 0x7c00u ? AS_F32((u32)(h & 0x8000u) << 16 | 0x7f800000u | (u32)(h & 0x3ffu) << 13) : value;
}
FN f16 half_of(f32 value) {
  half_bits x;
  x.value = (_Float16)value;
  return value != value ? (f16)((BITS_OF_F32(value) >> 16 & 0x8000u) | 0x7e00u) : x.bits;
}
#else
FN f32 half_value(f16 h) {
  const u32 sign = (u32)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, digits = h & 0x3ffu;
  if (exponent == 31) return AS_F32(sign | 0x7f800000u | digits << 13);
  if (exponent) return AS_F32(sign | (exponent + 112) << 23 | digits << 13);
  return AS_F32(sign | BITS_OF_F32((f32)digits * AS_F32(0x33800000u))); /* 2^-24 */
}
/* The nearest one; of two that are as near the even one. */
FN f16 half_of(f32 value) {
  const u32 bits = BITS_OF_F32(value), sign = (bits >> 16) & 0x8000u, x = bits & 0x7fffffffu;
  u32 h, rest, middle;
  if (x > 0x7f800000u) return (f16)(sign | 0x7e00u);
  if (x >= 0x477ff000u) return (f16)(sign | 0x7c00u); /* 65520 */
  if (x >= 0x38800000u) {                             /* 2^-14 */
    h = (x - 0x38000000u) >> 13, rest = x & 0x1fffu, middle = 0x1000u;
  } else if (x >= 0x33000000u) { /* 2^-25 */
    const u32 shift = 126 - (x >> 23), digits = (x & 0x7fffffu) | 0x800000u;
    h = digits >> shift, rest = digits & ((1u << shift) - 1), middle = 1u << (shift - 1);
  } else {
    return (f16)sign;
  }
  if (rest > middle || (rest == middle && (h & 1u))) h++;
  return (f16)(sign | h);
}
#endif
/* Bits that are lost on the way leave an odd number, so that it is not rounded twice. */
FN f16 half_of_f64(f64 value) {
  const f32 near = (f32)value;
  u32 bits = BITS_OF_F32(near);
  if ((f64)near == value || value != value || (bits & 0x7fffffffu) == 0x7f800000u) return half_of(near);
  if ((near < 0 ? -(f64)near : (f64)near) > (value < 0 ? -value : value)) bits--;
  return half_of(AS_F32(bits | 1u));
}
