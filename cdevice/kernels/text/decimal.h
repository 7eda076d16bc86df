/* decimal.h - decimals as digits with a scale, as Java prints them.  Nothing here knows of T. */
#define DECIMAL_DIGITS 78 /* of 256 bits */
#define DECIMAL_MOST 112  /* bytes of a text */
/* n digits, of which `scale` are behind the point. */
FN int put_scaled(u8 *o, const u8 *digits, int n, int negative, int scale) {
  const int adjusted = n - 1 - scale;
  int i = negative, k = 0;
  o[0] = 45;
  if (scale >= 0 && adjusted >= -6) {
    if (n <= scale) {
      o[i] = 48;
      o[i + 1] = 46;
      i += 2;
      for (; k < scale - n; k++) o[i++] = 48;
    }
    for (k = 0; k < n; k++) {
      if (k == n - scale && k) o[i++] = 46;
      o[i++] = digits[k];
    }
    return i;
  }
  o[i++] = digits[0];
  if (n > 1) o[i++] = 46;
  for (k = 1; k < n; k++) o[i++] = digits[k];
  const int m = adjusted < 0 ? -adjusted : adjusted, size = digits_of((u64)m);
  o[i] = 69;
  o[i + 1] = adjusted < 0 ? 45 : 43;
  put_digits(o + i + 2, (u64)m, size);
  return i + 2 + size;
}

/* The parts of a decimal in text. */
typedef struct {
  i64 first, last; /* of the digits that are not 0, where they are */
  int count;       /* digits from first to last */
  int power;       /* of that at last */
  int negative;
} decimal_parts;
FN int decimal_parts_at(GLOBAL const u8 *b, i64 begin, i64 end, decimal_parts *p) {
  i64 i = begin, point = -1;
  int digits = 0, behind = 0, zeros = 0, e = 0;
  p->first = p->last = -1;
  p->count = p->power = 0;
  p->negative = i < end && b[i] == 45;
  if (i < end && (b[i] == 45 || b[i] == 43)) i++;
  for (; i < end && ((u32)b[i] - 48u <= 9u || (b[i] == 46 && point < 0)); i++) {
    if (b[i] == 46) {
      point = i;
    } else {
      digits = 1;
      behind += point >= 0;
      zeros++;
      if (b[i] != 48) {
        if (p->first < 0) p->first = i, zeros = 1;
        p->count += zeros;
        p->last = i;
        zeros = 0;
      }
    }
  }
  if (!digits) return KERNEL_ERROR_NOT_READ;
  if (i < end && (b[i] | 32) == 101) {
    const int down = i + 1 < end && b[i + 1] == 45;
    i += 1 + (i + 1 < end && (b[i + 1] == 45 || b[i + 1] == 43));
    if (i == end) return KERNEL_ERROR_NOT_READ;
    for (; i < end && (u32)b[i] - 48u <= 9u; i++) e = e < 100000000 ? e * 10 + (b[i] - 48) : e;
    e = down ? -e : e;
  }
  p->power = e - behind + zeros;
  return i == end ? 0 : KERNEL_ERROR_NOT_READ;
}
