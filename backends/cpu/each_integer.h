/* each_integer.h - the text TEXT once for each integer S; T and TEXT are defined where it is included. */
#define S i8
#include TEXT
#undef S
#define S i16
#include TEXT
#undef S
#define S i32
#include TEXT
#undef S
#define S i64
#include TEXT
#undef S
#define S u8
#include TEXT
#undef S
#define S u16
#include TEXT
#undef S
#define S u32
#include TEXT
#undef S
#define S u64
#include TEXT
#undef S
