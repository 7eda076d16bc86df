/* binary.h - strings and bytes of any layout, row by row: their offsets, views of them, or values of one size.
 *
 * A layout is a number: how many bytes each value has, or one of these. */
#define BY_OFFSETS -1      /* of 32 bits */
#define BY_LONG_OFFSETS -2 /* of 64 bits */
#define BY_VIEWS -3        /* of one buffer of bytes at most */
#define BY_TABLE -4        /* views of any number of them, whose addresses are in a table: where kernels are C */
#if defined(CDV_HOST)
#define OF_TABLE(table, k) (((const u8 *const *)(table))[k])
#define ORDER(a, b, n) __builtin_memcmp(a, b, (unsigned long)(n))
#else
#define OF_TABLE(table, k) (table)
#define ORDER(a, b, n) OF(order, T)(a, b, n)
FN int OF(order, T)(GLOBAL const u8 *a, GLOBAL const u8 *b, i64 n) {
  for (i64 k = 0; k < n; k++)
    if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
  return 0;
}
#endif

/* A row: its bytes, how many they are, and where its first four are. */
FN GLOBAL const u8 *OF(row_of, T)(GLOBAL const u8 *rows, GLOBAL const u8 *bytes, i64 layout, i64 row, i64 *size,
                                  GLOBAL const u8 **head) {
  GLOBAL const u8 *at;
  if (layout == BY_OFFSETS) {
    GLOBAL const i32 *o = (GLOBAL const i32 *)rows + row;
    *size = (i64)o[1] - (i64)o[0];
    at = bytes + o[0];
  } else if (layout == BY_LONG_OFFSETS) {
    GLOBAL const i64 *o = (GLOBAL const i64 *)rows + row;
    *size = o[1] - o[0];
    at = bytes + o[0];
  } else if (layout < 0) {
    GLOBAL const i32 *view = (GLOBAL const i32 *)rows + 4 * row;
    *size = view[0];
    *head = (GLOBAL const u8 *)(view + 1);
    return view[0] <= 12 ? *head : (layout == BY_TABLE ? OF_TABLE(bytes, view[2]) : bytes) + view[3];
  } else {
    *size = layout;
    at = rows + row * layout;
  }
  *head = at;
  return at;
}

/* Number 2: what is said of less, equal, greater, a bit each. */
FN u32 OF(told, T)(GLOBAL const u8 *a, GLOBAL const u8 *bytes, GLOBAL const u32 *known, i64 offset, i64 layout, i64 i,
                   GLOBAL const u8 *b, GLOBAL const u8 *bytes2, GLOBAL const u32 *known2, i64 offset2, i64 layout2,
                   i64 j, i64 says) {
  i64 n, m;
  GLOBAL const u8 *head, *head2;
  if (!bit1(known, offset, i) || !bit1(known2, offset2, j)) return 0u; /* what a view of a null says is anything */
  a = OF(row_of, T)(a, bytes, layout, i, &n, &head);
  b = OF(row_of, T)(b, bytes2, layout2, j, &m, &head2);
  if (says == 2 && n != m) return 0u;
  if (says == 5 && n != m) return 1u;
  const i64 least = n < m ? n : m;
  int order = 0;
  for (i64 k = 0; !order && k < least && k < 4; k++) order = (int)head[k] - (int)head2[k];
  if (!order && least > 4) order = ORDER(a + 4, b + 4, least - 4);
  if (!order) order = n < m ? -1 : n > m;
  return (u32)(says >> (order < 0 ? 0 : order ? 2 : 1)) & 1u;
}

/* 0 result; of the first one 1 rows, 2 bytes and 3 nulls, and number 3 its layout; of the second one 4, 5, 6 and number
 * 4. */
KERNEL(compare) {
  PACK_ROOM;
  const i64 n = NUMBER(0), says = NUMBER(2), la = NUMBER(3), lb = NUMBER(4), oa = OFFSET(1), ob = OFFSET(4);
  PACK(OUT(u32, 0), n, i,
       OF(told, T)(RAW(const u8, 1), IN(u8, 2), RAW(const u32, 3), OFFSET(3) - oa, la, oa + (FORM(0) ? 0 : i),
                   RAW(const u8, 4), IN(u8, 5), RAW(const u32, 6), OFFSET(6) - ob, lb, ob + (FORM(1) ? 0 : i), says))
}

/* Views become strings one behind the other: 0 how many bytes each row has (i64); 1 views, 4 nulls. */
KERNEL(view_sizes) {
  ROWS(i, NUMBER(0))
  OUT(i64, 0)[i] = bit1(RAW(const u32, 4), OFFSET(4), i) ? (i64)RAW(const i32, 1)[4 * (OFFSET(1) + i)] : 0;
}

/* Buffers of bytes become one: 0 where this one goes, 1 what it has, 3 where each begins (i64); number 2: which it is. */
KERNEL(join) {
  ROWS(i, NUMBER(0)) {
    OUT(u8, 0)[i] = IN(u8, 1)[i];
    if (i == 0) OUT(i64, 3)[NUMBER(2)] = OFFSET(0);
  }
}

/* 0 the bytes, 7 where each row begins (i64).  Number 3, what the views look at: 2, 3, 5, 6, the first of which has number
 * 2; or what was joined, 2, and 3 where each begins; or 2, a table. */
#define BY_NAME 0
#define BY_JOINED 1
KERNEL(view_bytes) {
  const i64 first = NUMBER(2), how = NUMBER(3);
  ROWS(i, NUMBER(0)) {
    GLOBAL const i32 *view = RAW(const i32, 1) + 4 * (OFFSET(1) + i);
    const i64 to = IN(i64, 7)[i], size = IN(i64, 7)[i + 1] - to;
    GLOBAL const u8 *from = 0;
    if (size <= 12) {
      if (first == 0) from = (GLOBAL const u8 *)(view + 1);
    } else if (how == BY_TABLE) {
      from = OF_TABLE(RAW(const u8, 2), view[2]) + view[3];
    } else if (how == BY_JOINED) {
      from = IN(u8, 2) + IN(i64, 3)[view[2]] + view[3];
    } else {
      const i64 k = view[2] - first;
      if (k == 0) from = IN(u8, 2) + view[3];
      if (k == 1) from = IN(u8, 3) + view[3];
      if (k == 2) from = IN(u8, 5) + view[3];
      if (k == 3) from = IN(u8, 6) + view[3];
    }
    if (from)
      for (i64 k = 0; k < size; k++) OUT(u8, 0)[to + k] = from[k];
  }
}
