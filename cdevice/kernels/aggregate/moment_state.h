/* moment_state.h - how n numbers lie around their mean.  In memory: MOMENT_WORDS of f64 and, apart from them, n. */
typedef struct {
  f64 mean, rest; /* the mean is the sum of both, of which the first is nearest: else far numbers would lose digits */
  f64 m2, m3, m4; /* sums of powers of the distances from it */
  i64 n;
} moment_state;
#define NO_MOMENTS {0, 0, 0, 0, 0, 0}
/* By sums of powers of the distances from `pivot`, which is near the mean. */
FN moment_state moments_around(f64 pivot, i64 n, f64 s1, f64 s2, f64 s3, f64 s4) {
  moment_state x = NO_MOMENTS;
  if (!n) return x;
  const f64 c = (f64)n, r = s1 / c, r2 = r * r, less = c * r2;
  x.mean = pivot, x.rest = r, x.n = n;
  x.m2 = less - less == 0 ? s2 - less : s2; /* where both are infinite, so is the sum of squares */
  x.m3 = s3 - 3 * r * s2 + 2 * c * r2 * r;
  x.m4 = s4 - 4 * r * s3 + 6 * r2 * s2 - 3 * c * r2 * r2;
  if (x.m2 < 0) x.m2 = 0;
  if (x.m4 < 0) x.m4 = 0;
  return x;
}
/* The formulas of Chan and Pebay. */
FN moment_state moments_joined(moment_state a, moment_state b) {
  if (!b.n) return a;
  if (!a.n) return b;
  const f64 na = (f64)a.n, nb = (f64)b.n, n = na + nb, d = (b.mean - a.mean) + (b.rest - a.rest), r = d / n, r2 = r * r;
  moment_state x;
  x.n = a.n + b.n;
  const f64 more = a.rest + r * nb;
  x.mean = a.mean + more;
  x.rest = more - (x.mean - a.mean);
  x.m2 = a.m2 + b.m2 + d * r * na * nb;
  x.m3 = a.m3 + b.m3 + d * r2 * na * nb * (na - nb) + 3 * r * (na * b.m2 - nb * a.m2);
  x.m4 = a.m4 + b.m4 + d * r * r2 * na * nb * (na * na - na * nb + nb * nb) +
         6 * r2 * (na * na * b.m2 + nb * nb * a.m2) + 4 * r * (na * b.m3 - nb * a.m3);
  return x;
}
FN moment_state moments_at(GLOBAL const f64 *states, GLOBAL const i64 *counts, i64 i) {
  GLOBAL const f64 *at = states + MOMENT_WORDS * i;
  moment_state x;
  x.mean = at[0], x.rest = at[1], x.m2 = at[2], x.m3 = at[3], x.m4 = at[4];
  x.n = counts[i];
  return x;
}
FN void put_moments(GLOBAL f64 *states, GLOBAL i64 *counts, i64 i, moment_state x) {
  GLOBAL f64 *at = states + MOMENT_WORDS * i;
  at[0] = x.mean, at[1] = x.rest, at[2] = x.m2, at[3] = x.m3, at[4] = x.m4;
  counts[i] = x.n;
}
#define MOMENTS_IN(k) ((GLOBAL const f64 *)RAW(f64, k) + MOMENT_WORDS * OFFSET(k))
#define MOMENTS_OUT (RAW(f64, BUF_SUM_OUT) + MOMENT_WORDS * OFFSET(BUF_SUM_OUT))
