/* class_of.h - which classes a code point is in. */
FN u32 unicode_class(u32 c) {
  if (c < 0x80) return ascii_classes[c];
  if (c >= UNICODE_CLASS_LIMIT) return c >= 0xe0100 && c < 0xe01f0 ? CLASS_PRINTABLE : 0u; /* variation selectors */
  return unicode_classes[unicode_class_records[((u32)unicode_class_blocks[c >> UNICODE_CLASS_SHIFT]
                                                << UNICODE_CLASS_SHIFT) +
                                               (c & ((1u << UNICODE_CLASS_SHIFT) - 1))]];
}
