/* print.h - rows that become text: kernels that tell sizes, and kernels that write.  Nothing here knows of T. */
#define PRINTED_ROWS const i64 n = SCALAR(SCALAR_ROWS)
#define PRINTED(i) bit1(RAW(const u32, BUF_TEXT_VALIDITY), OFFSET(BUF_TEXT_VALIDITY), i)
/* put: writes the text of row i to o, and up to `most` bytes. */
#if defined(CDV_HOST)
#define PRINT_WRITE(most, put)                                              \
  u8 *const out = OUT(u8, BUF_TEXT_OUT);                                    \
  TEXT_WRITE(                                                               \
      i, at, size, room, if (size) {                                        \
        u8 own[most];                                                       \
        u8 *o = at + most <= room ? out + at : own;                         \
        (void)(put);                                                        \
        if (o == own) __builtin_memcpy(out + at, own, (unsigned long)size); \
      })
#else
#define PRINT_WRITE(most, put)                                  \
  GLOBAL u8 *const out = OUT(u8, BUF_TEXT_OUT);                 \
  TEXT_WRITE(                                                   \
      i, at, size, room, if (size) {                            \
        u8 o[most];                                             \
        (void)(put);                                            \
        for (int k = 0; k < (int)size; k++) out[at + k] = o[k]; \
      })
#endif
