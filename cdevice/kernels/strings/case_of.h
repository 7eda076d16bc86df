/* case_of.h - code points in other cases, one for one. */
FN int unicode_case_record(u32 c) {
  if (c >= UNICODE_CASE_LIMIT) return 0;
  return unicode_case_records[((u32)unicode_case_blocks[c >> UNICODE_CASE_SHIFT] << UNICODE_CASE_SHIFT) +
                              (c & ((1u << UNICODE_CASE_SHIFT) - 1))];
}
FN u32 unicode_upper(u32 c) { return c + (u32)unicode_to_upper[unicode_case_record(c)]; }
FN u32 unicode_lower(u32 c) { return c + (u32)unicode_to_lower[unicode_case_record(c)]; }
/* One for all that differ in their case alone. */
FN u32 unicode_fold(u32 c) {
  if (c < 0x80) return c >= 65 && c <= 90 ? c + 32 : c;
  return c + (u32)unicode_to_fold[unicode_case_record(c)];
}
/* 1: it is lower case, 2: upper case, 3: title case, 0: it has no case. */
FN int unicode_case_kind(u32 c) { return unicode_kinds[unicode_case_record(c)]; }
