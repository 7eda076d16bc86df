/* rounder.h - modes of rounding floats. */
/* A sum with it has no digits behind the point. */
#define WHOLE_FROM_f32 8388608.0f
#define WHOLE_FROM_f64 AS_F64((u64)0x433 << 52)
#define AS_BITS_f32(x) AS_F32(x)
#define AS_BITS_f64(x) AS_F64(x)
#define ITS_BITS_f32(x) BITS_OF_F32(x)
#define ITS_BITS_f64(x) BITS_OF_F64(x)
#define SIGN_f32 0x80000000u
#define SIGN_f64 ((u64)1 << 63)
#define WITH_SIGN_OF(K, x, r) OF(AS_BITS, K)((OF(ITS_BITS, K)(r) & ~OF(SIGN, K)) | (OF(ITS_BITS, K)(x) & OF(SIGN, K)))
#if defined(CDV_HOST) && (defined(__SSE4_1__) || defined(__aarch64__)) /* one instruction */
FN f32 floor_of_f32(f32 x) { return __builtin_floorf(x); }
FN f64 floor_of_f64(f64 x) { return __builtin_floor(x); }
FN f32 even_of_f32(f32 x) { return __builtin_nearbyintf(x); }
FN f64 even_of_f64(f64 x) { return __builtin_nearbyint(x); }
#else
#define WHOLE_OF(K)                                                                                                  \
  FN K OF(even_of, K)(K x) {                                                                                         \
    const K m = OF(AS_BITS, K)(OF(ITS_BITS, K)(x) & ~OF(SIGN, K)), near = m + OF(WHOLE_FROM, K) - OF(WHOLE_FROM, K); \
    return m < OF(WHOLE_FROM, K) ? WITH_SIGN_OF(K, x, near) : x;                                                     \
  }                                                                                                                  \
  FN K OF(floor_of, K)(K x) {                                                                                        \
    const K near = OF(even_of, K)(x);                                                                                \
    return near > x ? WITH_SIGN_OF(K, x, near - 1) : near;                                                           \
  }
WHOLE_OF(f32)
WHOLE_OF(f64)
#endif
/* Of a mode: digits behind the point round up above `up`, and where they are that by `tie`; of numbers below 0 by other
 * ones.  rounded: as Arrow, x by p, or p to one, and back; a whole number then stays as it is. */
#define ROUNDER(K)                                                                                               \
  typedef struct {                                                                                               \
    K up, up_below_0, tie, tie_below_0, odd;                                                                     \
  } OF(rounder, K);                                                                                              \
  FN OF(rounder, K) OF(rounder_of, K)(int mode) {                                                                \
    OF(rounder, K) r;                                                                                            \
    const K middle = (K)1 / 2;                                                                                   \
    r.up = r.up_below_0 = middle, r.tie = r.tie_below_0 = r.odd = 0;                                             \
    if (mode == MODE_DOWN) r.up = r.up_below_0 = 2;                                                              \
    if (mode == MODE_UP) r.up = r.up_below_0 = 0;                                                                \
    if (mode == MODE_TOWARDS_ZERO) r.up = 2, r.up_below_0 = 0;                                                   \
    if (mode == MODE_TOWARDS_INFINITY) r.up = 0, r.up_below_0 = 2;                                               \
    if (mode == MODE_HALF_UP) r.tie = r.tie_below_0 = 1;                                                         \
    if (mode == MODE_HALF_TOWARDS_ZERO) r.tie_below_0 = 1;                                                       \
    if (mode == MODE_HALF_TOWARDS_INFINITY) r.tie = 1;                                                           \
    if (mode == MODE_HALF_TO_EVEN) r.odd = 1;                                                                    \
    if (mode == MODE_HALF_TO_ODD) r.tie = r.tie_below_0 = 1, r.odd = -1;                                         \
    return r;                                                                                                    \
  }                                                                                                              \
  FN K OF(rounded, K)(K x, K p, int by, OF(rounder, K) r) {                                                      \
    const K s = by ? x * p : x / p, low = OF(floor_of, K)(s), rest = s - low;                                    \
    const K up = s < 0 ? r.up_below_0 : r.up, tie = s < 0 ? r.tie_below_0 : r.tie;                               \
    const K middle = low / 2, odd = low - 2 * OF(floor_of, K)(middle);                                           \
    const K beyond = rest > up ? low + 1 : low, at = low + (tie + r.odd * odd), made = rest == up ? at : beyond; \
    const K whole = WITH_SIGN_OF(K, s, made), back = by ? whole / p : whole * p;                                 \
    return rest == 0 || !(x - x == 0) ? x : back;                                                                \
  }
ROUNDER(f32)
ROUNDER(f64)
/* Powers of ten as Arrow has them: above 10^10 they are products of the nearest f32. */
FN f64 power_of_digits(i32 digits) {
  const u32 many = digits < 0 ? 0u - (u32)digits : (u32)digits;
  f64 p = 1;
  for (u32 k = 0; k < 10 && k < many; k++) p *= 10;
  if (many == 11) p = (f64)AS_F32(0x51ba43b7u);
  if (many == 12) p = (f64)AS_F32(0x5368d4a5u);
  if (many == 13) p = (f64)AS_F32(0x551184e7u);
  if (many == 14) p = (f64)AS_F32(0x56b5e621u);
  if (many >= 15) p = (f64)AS_F32(0x58635fa9u);
  for (u32 k = 15; k < many && k < 400; k++) p *= 10;
  return p;
}
