/* string_match.h - whether and where a pattern is in a row, and how many characters a row has.  T: an offset. */

#if defined(TEXT_BY_WORDS)
/* Which of the rows, 32 at most, have the m > 0 bytes: they lie one behind the other, and are gone through so. */
FN u32 OF(rows_with, T)(const u8 *b, const T *offsets, int rows, i64 last, const u8 *p, i64 m) {
  const u64 first = EACH_BYTE(p[0]), final = EACH_BYTE(p[m - 1]);
  i64 at = offsets[0], stop = (i64)offsets[rows] - m + 1; /* no match begins there or behind */
  u32 found = 0;
  int r = 0;
  while (at < stop && at + m + 7 <= last) {
    const u64 x = (LOAD8(b + at) ^ first) | (LOAD8(b + at + m - 1) ^ final);
    u64 zero = (x - EACH_BYTE(1)) & ~x & TOP_BITS & first_bytes(stop - at);
    i64 next = at + 8;
    for (; zero; zero &= zero - 1) {
      const i64 k = at + (__builtin_ctzll(zero) >> 3);
      if (k >= next) break;
      while (offsets[r + 1] <= k) r++;
      if (k + m > offsets[r + 1] || b[k] != p[0] || (m > 2 && !same_bytes(b + k, p, m))) continue;
      if (m == 2 && b[k + 1] != p[1]) continue;
      found |= 1u << r;
      if (offsets[r + 1] > next) next = offsets[r + 1]; /* the row is done */
    }
    at = next;
  }
  for (; at < stop; at++) {
    while (offsets[r + 1] <= at) r++;
    if (at + m <= offsets[r + 1] && same_bytes(b + at, p, m)) found |= 1u << r;
  }
  return found;
}
#endif

/* The character from i on, as it is compared. */
FN u32 OF(character, T)(GLOBAL const u8 *b, i64 i, i64 end, i64 how, i64 *next) {
  u32 c = b[i];
  *next = i + 1;
  if (c < 0x80) return how & STRING_FOLDED && c >= 65 && c <= 90 ? c + 32 : c; /* what most are */
  if (how & STRING_BYTES) return c; /* only those of ASCII have a case */
  c = utf8_at(b, i, end, next);
  return how & STRING_FOLDED ? unicode_fold(c) : c;
}
/* Character k of a pattern, likewise. */
FN u32 OF(wanted, T)(GLOBAL const u32 *p, i64 k, i64 how) {
  const u32 c = p[k];
  if (c >= 97 && (c < 0x80 || how & STRING_BYTES)) return c;
  return how & STRING_FOLDED && c < LIKE_ANY ? unicode_fold(c) : c;
}
/* Where the m characters of a pattern, found at i, end; or -1. */
FN i64 OF(folded_end, T)(GLOBAL const u8 *b, i64 i, i64 end, GLOBAL const u32 *p, i64 m, i64 how) {
  i64 k = 0;
  while (k < m && i < end) {
    i64 next;
    if (OF(character, T)(b, i, end, how, &next) != OF(wanted, T)(p, k, how))
      end = i; /* no other way out */
    else
      k++, i = next;
  }
  return k == m ? i : -1;
}
/* Where they are first found from *begin on, or -1; *begin becomes where they end. */
FN i64 OF(folded_found, T)(GLOBAL const u8 *b, i64 *begin, i64 end, GLOBAL const u32 *p, i64 m, i64 how) {
  i64 found = -1;
  for (i64 i = *begin; i <= end && found < 0;) {
    const i64 at = OF(folded_end, T)(b, i, end, p, m, how);
    i64 next = i + 1;
    if (at >= 0)
      found = i, *begin = at;
    else if (i < end)
      OF(character, T)(b, i, end, how, &next);
    i = next;
  }
  return found;
}
FN u32 OF(like, T)(GLOBAL const u8 *b, i64 begin, i64 end, GLOBAL const u32 *p, i64 m, i64 how) {
  i64 i = begin, k = 0, any = -1, mark = begin, next = begin;
  u32 may = 1;
  while (i < end && may) {
    const u32 c = OF(character, T)(b, i, end, how, &next);
    if (k < m && p[k] == LIKE_ANY) {
      any = k++;
      mark = i;
    } else if (k < m && (OF(wanted, T)(p, k, how) == c || (p[k] == LIKE_ONE && c != NOT_UTF8))) {
      k++;
      i = next;
    } else if (any >= 0) { /* what stands for any number takes one more */
      OF(character, T)(b, mark, end, how, &mark);
      i = mark;
      k = any + 1;
    } else {
      may = 0;
    }
  }
  while (k < m && p[k] == LIKE_ANY) k++;
  return may & (u32)(k == m);
}

FN u32 OF(is_match, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL const u8 *p, i64 m, i64 how) {
  GLOBAL const u32 *codes = (GLOBAL const u32 *)p;
  const i64 what = how & 7;
  i64 from = begin;
  if (what == STRING_LIKE) return OF(like, T)(b, begin, end, codes, m, how);
  if (how & STRING_FOLDED) {
    if (what == STRING_STARTS) return OF(folded_end, T)(b, begin, end, codes, m, how) >= 0;
    if (what == STRING_EQUALS) return OF(folded_end, T)(b, begin, end, codes, m, how) == end;
    if (what == STRING_CONTAINS) return OF(folded_found, T)(b, &from, end, codes, m, how) >= 0;
    u32 found = 0; /* it ends with it */
    for (i64 i = begin; i <= end && !found; i++) found = OF(folded_end, T)(b, i, end, codes, m, how) == end;
    return found;
  }
  if (what == STRING_CONTAINS) return bytes_found(b, begin, end, last, p, m) >= 0;
  if (end - begin < m || (what == STRING_EQUALS && end - begin != m)) return 0;
  return same_bytes(b + (what == STRING_ENDS ? end - m : begin), p, m);
}

/* Bits. */
#define PATTERN                                           \
  ROWS_OF_TEXT;                                           \
  GLOBAL const u8 *RESTRICT p = IN(u8, BUF_TEXT_PATTERN); \
  const i64 m = SCALAR(SCALAR_TEXT_A), how = SCALAR(SCALAR_TEXT_OP)
KERNEL(matches) {
  PACK_ROOM;
  PATTERN;
#if defined(TEXT_BY_WORDS)
  if (how == STRING_CONTAINS && m) {
    WORDS(w, n) {
      const int rows = n - w * 32 < 32 ? (int)(n - w * 32) : 32;
      put32(OUT(u32, BUF_OUT), w, OF(rows_with, T)(bytes, offsets + w * 32, rows, last, p, m), n);
    }
    return;
  }
  if ((how == STRING_STARTS || how == STRING_ENDS) && m <= 8) {
    const u64 word = text_word(p, 0, m, m), mask = first_bytes(m);
    const i64 readable = last - 8;
#define SAME_WORD(at) ((at) <= readable ? ((LOAD8(bytes + (at)) ^ word) & mask) == 0 : same_bytes(bytes + (at), p, m))
    if (how == STRING_STARTS)
      PACK(OUT(u32, BUF_OUT), n, i, TEXT_END(i) - TEXT_BEGIN(i) >= m && SAME_WORD(TEXT_BEGIN(i)))
    else
      PACK(OUT(u32, BUF_OUT), n, i, TEXT_END(i) - TEXT_BEGIN(i) >= m && SAME_WORD(TEXT_END(i) - m))
    return;
#undef SAME_WORD
  }
#endif
  PACK(OUT(u32, BUF_OUT), n, i, OF(is_match, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, p, m, how))
}

FN i64 OF(position, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL const u8 *p, i64 m, i64 how) {
  i64 from = begin, at;
  if (how & STRING_FOLDED)
    at = OF(folded_found, T)(b, &from, end, (GLOBAL const u32 *)p, m, how);
  else
    at = bytes_found(b, begin, end, last, p, m);
  return at < 0 ? -1 : at - begin;
}
/* Of matches that do not overlap; of no bytes there is one before each byte, and one at the end. */
FN i64 OF(occurrences, T)(GLOBAL const u8 *b, i64 begin, i64 end, i64 last, GLOBAL const u8 *p, i64 m, i64 how) {
  i64 found = 0, at = begin;
  if (m == 0) return 1 + end - begin;
  while (at >= 0) {
    i64 behind = at;
    if (how & STRING_FOLDED) {
      at = OF(folded_found, T)(b, &behind, end, (GLOBAL const u32 *)p, m, how);
    } else {
      at = bytes_found(b, at, end, last, p, m);
      behind = at + m;
    }
    if (at >= 0) found++, at = behind;
  }
  return found;
}
KERNEL(positions) {
  PATTERN;
  if ((how & 7) == STRING_FIND) {
    ROWS(i, n) { OUT(T, BUF_OUT)[i] = (T)OF(position, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, p, m, how); }
  } else {
    ROWS(i, n) { OUT(T, BUF_OUT)[i] = (T)OF(occurrences, T)(bytes, TEXT_BEGIN(i), TEXT_END(i), last, p, m, how); }
  }
}
#if defined(TEXT_BY_WORDS)
#define BLOCK_WORDS 2048 /* bytes of a block by eights */
/* Code points of the rows of a block, from how many there are before each eight bytes; 0: there are too many bytes. */
FN int OF(count_block, T)(const u8 *b, const T *offsets, int rows, i64 last, T *o) {
  u32 before[BLOCK_WORDS + 1], all = 0;
  const i64 begin = offsets[0], size = (i64)offsets[rows] - begin, words = size / 8 + 1;
  if (words > BLOCK_WORDS || begin + 8 * words > last) return 0;
  for (i64 k = 0; k < words; k++) {
    const u64 x = LOAD8(b + begin + 8 * k);
    before[k] = all;
    all += (u32)__builtin_popcountll(~(x & ~x << 1) & TOP_BITS);
  }
  u32 from = 0;
  for (int r = 0; r < rows; r++) {
    const i64 at = (i64)offsets[r + 1] - begin;
    const u64 x = LOAD8(b + begin + (at & ~(i64)7));
    const u32 to = before[at >> 3] + (u32)__builtin_popcountll(~(x & ~x << 1) & TOP_BITS & first_bytes(at & 7));
    o[r] = (T)(to - from);
    from = to;
  }
  return 1;
}
#endif
KERNEL(characters) {
  ROWS_OF_TEXT;
#if defined(TEXT_BY_WORDS)
  GLOBAL T *RESTRICT o = OUT(T, BUF_OUT);
  ROW_BLOCKS(first, behind) {
    if (is_ascii(bytes, offsets[first], offsets[behind], last))
      for (i64 i = first; i < behind; i++) o[i] = offsets[i + 1] - offsets[i];
    else if (!OF(count_block, T)(bytes, offsets + first, (int)(behind - first), last, o + first))
      for (i64 i = first; i < behind; i++) o[i] = (T)utf8_count(bytes, TEXT_BEGIN(i), TEXT_END(i), last);
  }
#else
  ROWS(i, n) { OUT(T, BUF_OUT)[i] = (T)utf8_count(bytes, TEXT_BEGIN(i), TEXT_END(i), last); }
#endif
}
#undef PATTERN
