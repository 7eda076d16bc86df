/* kernels.h - the whole text as C, and a table of it, CPU_KERNELS; a template: its parameters are listed at its
 * head. */
#include "cpu/compute.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits" /* of one type or another a comparison is always true */
#endif

#define CDV_HOST 1
#include "cdevice/kernels/lang/protocol.h"
/* the language needs its constants */
#include "cdevice/kernels/lang/dialect.h"
/* These know nothing of T. */
#include "cdevice/kernels/lang/wide.h"
#include "cdevice/kernels/lang/half.h"
#include "cdevice/kernels/lang/bits.h"
#include "cdevice/kernels/hash/words.h"

#define T i8
#include "cpu/numbers.h"
#undef T
#define T i16
#include "cpu/numbers.h"
#undef T
#define T i32
#include "cpu/numbers.h"
#undef T
#define T i64
#include "cpu/numbers.h"
#undef T
#define T i16
#include "cdevice/kernels/selection/run_end.h"
#undef T
#define T u8
#include "cpu/numbers.h"
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/sort/sort_key.h"
#include "cdevice/kernels/selection/select.h"
#undef T
#define T u16
#include "cpu/numbers.h"
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/sort/sort_key.h"
#include "cdevice/kernels/selection/select.h"
#undef T
#define T u32
#include "cpu/numbers.h"
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/sort/sort_key.h"
#include "cdevice/kernels/selection/select.h"
#undef T
#define T u64
#include "cpu/numbers.h"
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/sort/sort_key.h"
#include "cdevice/kernels/selection/select.h"
#undef T
#define T i32
#include "cpu/offsets.h"
#include "cdevice/kernels/hash/key_bytes.h"
#undef T
#define T i64
#include "cpu/offsets.h"
#include "cdevice/kernels/hash/key_bytes.h"
#undef T
#define T f32
#include "cpu/numbers.h"
#undef T
#define T f64
#include "cpu/numbers.h"
#undef T
#define T f16
#include "cdevice/kernels/scalar/arith.h"
#include "cdevice/kernels/scalar/compare.h"
#ifndef CPU_NO_CASTS
#define TEXT "cdevice/kernels/scalar/cast.h"
#include "cpu/each_integer.h"
#undef TEXT
#define S f32
#include "cdevice/kernels/scalar/cast.h"
#undef S
#define S f64
#include "cdevice/kernels/scalar/cast.h"
#undef S
#endif
#undef T
#define T i32
#include "cdevice/kernels/scalar/decimal_real.h"
#undef T
#define T i64
#include "cdevice/kernels/scalar/decimal_real.h"
#undef T
#define T w256
#include "cdevice/kernels/scalar/arith.h"
#include "cdevice/kernels/scalar/compare.h"
#include "cdevice/kernels/scalar/decimal_real.h"
#include "cdevice/kernels/aggregate/reduce.h"
#undef T
#define T w128
#include "cdevice/kernels/scalar/arith.h"
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/group_by/accumulate.h"
#include "cdevice/kernels/scalar/decimal_real.h"
#include "cdevice/kernels/scalar/compare.h"
#include "cdevice/kernels/aggregate/reduce.h"
#include "cdevice/kernels/selection/select.h"
#ifndef CPU_NO_CASTS
#define TEXT "cdevice/kernels/scalar/decimal_rescale.h"
#include "cpu/each_integer.h"
#undef TEXT
#define S w128
#include "cdevice/kernels/scalar/decimal_rescale.h"
#undef S
#endif
#undef T
#define T bits
#include "cdevice/kernels/scalar/binary.h"
#include "cdevice/kernels/scalar/boolean.h"
#include "cdevice/kernels/selection/filter.h"
#include "cdevice/kernels/selection/scatter.h"
#include "cdevice/kernels/sort/radix.h"
#include "cdevice/kernels/hash/hash_table.h"
#undef T
#define T bool
#include "cdevice/kernels/aggregate/reduce_bool.h"
#undef T

/* ---- the table: family, type and name, as programs are asked for ---- */
#define ROW(family, name, type) {#family "/" #type "/" #name "_" #type, name##_##type},
#define INTEGERS(X) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64)
#define FLOATS(X) X(f32) X(f64)
#define ARITH_ANY(t) \
  ROW(arith, add, t) ROW(arith, subtract, t) ROW(arith, multiply, t) ROW(arith, negate, t) ROW(arith, magnitude, t)
#define ARITH(t) ARITH_ANY(t) ROW(arith, divide, t) ROW(arith, divide_checked, t)
#define ARITH_CHECKED(t)          \
  ROW(arith, add_checked, t)      \
  ROW(arith, subtract_checked, t) \
  ROW(arith, multiply_checked, t) ROW(arith, negate_checked, t) ROW(arith, magnitude_checked, t)
#define COMPARE(t) ROW(compare, equal, t) ROW(compare, not_equal, t) ROW(compare, less, t) ROW(compare, less_equal, t)
#define IS_NAN(t) ROW(compare, is_nan, t) ROW(arith, square_root, t)
#define REDUCE(t) \
  ROW(reduce, sum, t) ROW(reduce, min_max, t) ROW(reduce, finish, t) ROW(reduce, finish_mean, t) ROW(reduce, product, t)
#define CAST_ROW(s, t)                                    \
  {"cast/" #s " " #t "/cast_" #s "_" #t, cast_##s##_##t}, \
      {"cast/" #s " " #t "/cast_checked_" #s "_" #t, cast_checked_##s##_##t},
#define CASTS(t)   \
  CAST_ROW(i8, t)  \
  CAST_ROW(i16, t) \
  CAST_ROW(i32, t) \
  CAST_ROW(i64, t) CAST_ROW(u8, t) CAST_ROW(u16, t) CAST_ROW(u32, t) CAST_ROW(u64, t) CAST_ROW(f32, t) CAST_ROW(f64, t)
#define CASTS_OF(t) CASTS(t) CAST_ROW(f16, t) ROW(cast_bool, cast_bool, t) ROW(cast_bool, to_bool, t)
#define RESCALE_ROW(s, t)                                                  \
  {"decimal_rescale/" #s " " #t "/rescale_" #s "_" #t, rescale_##s##_##t}, \
      {"decimal_rescale/" #s " " #t "/rescale_checked_" #s "_" #t, rescale_checked_##s##_##t},
#define FROM_WIDE(t) RESCALE_ROW(w128, t)
#define TO_WIDE(s) RESCALE_ROW(s, w128)
#define TIME_ROW(name, s, t) {"temporal/" #s " " #t "/" #name "_" #s "_" #t, name##_##s##_##t},
#define TIME(s, t) TIME_ROW(scale, s, t) TIME_ROW(scale_checked, s, t)
#define TIMESTAMP_PARTS(t) \
  ROW(timestamp_parts, date, t) ROW(timestamp_parts, clock, t) ROW(timestamp_parts, clock_checked, t)
#define SELECT(t) ROW(select, if_else, t) ROW(select, take, t) ROW(select, filter, t)
#define VARLEN(t)             \
  ROW(varlen, row_tiles, t)   \
  ROW(varlen, row_offsets, t) \
  ROW(varlen, tile_sizes, t) ROW(varlen, offsets, t) ROW(varlen, gather, t) ROW(varlen, expand, t)
#define RUNS(t) ROW(run_end, run_of, t) ROW(run_end, ends, t)
#define SORT_KEY(t) ROW(sort_key, sort_key, t) ROW(sort_key, sort_least, t)
#define REAL(t) ROW(decimal_real, real, t)
#define SORT_BYTES(t) ROW(sort_binary, sort_bytes, t)
#define RADIX_SORT(name) ROW(radix, name, bits)
#define RUNNING_OF(name, t)     \
  ROW(running, name##_tiles, t) \
  ROW(running, name##_begins, t) ROW(running, name##_rows, t) ROW(running, name##_in_one_pass, t)
#define RUNNING(t)    \
  RUNNING_OF(sum, t)  \
  RUNNING_OF(prod, t) \
  RUNNING_OF(min, t) RUNNING_OF(max, t) ROW(running, first_null, t) ROW(running, running_validity, t)
#define KEY_WORDS(t)            \
  ROW(key_words, word_range, t) \
  ROW(key_words, word_pack, t)  \
  ROW(key_words, word_hash, t) ROW(key_words, word_mismatch, t)
#define KEY_BYTES(t)             \
  ROW(key_bytes, bytes_range, t) \
  ROW(key_bytes, bytes_pack, t)  \
  ROW(key_bytes, bytes_hash, t) ROW(key_bytes, bytes_mismatch, t)
#define HASH_TABLE(name) ROW(hash_table, hash_##name, bits)
#define ACCUMULATE_OF(name, t) ROW(accumulate, accumulate_##name, t) ROW(accumulate, fold_##name, t)
#define ACCUMULATE_ALL(t) \
  ACCUMULATE_OF(count, t) ACCUMULATE_OF(sum, t) ACCUMULATE_OF(product, t) ACCUMULATE_OF(min, t) ACCUMULATE_OF(max, t)
#define BINARY(name) ROW(binary, name, bits)
#define BOOLEAN(name) ROW(boolean, name, bits)
#define SCATTER(name) ROW(scatter, name, bits)
#define FILTER(name) ROW(filter, name, bits)
#define REDUCE_BOOL(name) ROW(reduce_bool, name, bool)
#ifdef CPU_NO_CASTS
#undef CASTS
#undef CASTS_OF
#define CASTS(t)
#define CASTS_OF(t)
#undef TIMESTAMP_PARTS
#define TIMESTAMP_PARTS(t)
#undef TIME_ROW
#define TIME_ROW(name, s, t)
#undef RESCALE_ROW
#define RESCALE_ROW(s, t)
#endif
#define NUMBERS(t) ARITH(t) COMPARE(t) REDUCE(t) CASTS_OF(t)

/* clang-format off */
const cpu_kernel CPU_KERNELS[] = {
    INTEGERS(NUMBERS) FLOATS(NUMBERS) FLOATS(IS_NAN) INTEGERS(ARITH_CHECKED) ARITH_ANY(w128) ARITH_ANY(w256)
    COMPARE(w128) COMPARE(w256) REDUCE(w256) REAL(i32) REAL(i64) REAL(w128) REAL(w256) ARITH(f16) COMPARE(f16)
    IS_NAN(f16) CASTS(f16) REDUCE(w128) ROW(reduce, sum_exactly, i64) ROW(reduce, sum_exactly, u64)
    ROW(reduce, finish_mean_of_integers, w128) INTEGERS(FROM_WIDE) INTEGERS(TO_WIDE) TO_WIDE(w128) TIME(i32, i32)
    TIME(i32, i64) TIME(i64, i32) TIME(i64, i64) TIMESTAMP_PARTS(i32) TIMESTAMP_PARTS(i64) SELECT(u8) SELECT(u16)
    SELECT(u32) SELECT(u64) SELECT(w128) VARLEN(i32) VARLEN(i64) BINARY(compare) BINARY(view_sizes) BINARY(join)
    BINARY(view_bytes) BOOLEAN(valid_all) BOOLEAN(is_valid) BOOLEAN(is_null) BOOLEAN(valid_select) BOOLEAN(and)
    BOOLEAN(or) BOOLEAN(xor) BOOLEAN(equal) BOOLEAN(not_equal) BOOLEAN(less) BOOLEAN(less_equal) BOOLEAN(greater)
    BOOLEAN(greater_equal) BOOLEAN(invert) BOOLEAN(first) BOOLEAN(if_else) BOOLEAN(and_kleene) BOOLEAN(or_kleene)
    FILTER(filter_count) FILTER(spread) FILTER(take_bytes) FILTER(rows) RUNS(i16) RUNS(i32) RUNS(i64)
    FILTER(check_rows) FILTER(scan_columns) FILTER(union_types) FILTER(union_rows) FILTER(filter_rows) FILTER(scan)
    FILTER(take_valid) FILTER(take) SCATTER(scatter_clear) SCATTER(scatter_rows) REDUCE_BOOL(sum)
    REDUCE_BOOL(count_rows)
    REDUCE_BOOL(finish_any) REDUCE_BOOL(finish_all) REDUCE_BOOL(finish_count) REDUCE_BOOL(finish_product)
    REDUCE_BOOL(finish_extreme) SORT_KEY(u8) SORT_KEY(u16) SORT_KEY(u32) SORT_KEY(u64) SORT_BYTES(i32) SORT_BYTES(i64)
    RADIX_SORT(radix_buckets) RADIX_SORT(radix_ranges) RADIX_SORT(radix_count) RADIX_SORT(radix_scatter)
    RADIX_SORT(sort_key) RADIX_SORT(sort_rows_of) RADIX_SORT(sort_changes) RADIX_SORT(sort_validity)
    RADIX_SORT(sort_rows) INTEGERS(RUNNING) FLOATS(RUNNING) KEY_WORDS(u8) KEY_WORDS(u16) KEY_WORDS(u32) KEY_WORDS(u64)
    KEY_WORDS(w128) KEY_BYTES(i32) KEY_BYTES(i64) HASH_TABLE(insert) HASH_TABLE(merge) HASH_TABLE(rehash) HASH_TABLE(copy_lists)
    HASH_TABLE(direct) HASH_TABLE(merge_direct) HASH_TABLE(renumber) HASH_TABLE(zero)
    HASH_TABLE(unmerged) HASH_TABLE(first) HASH_TABLE(mix_words) HASH_TABLE(bucket) HASH_TABLE(count_leaders)
    HASH_TABLE(rank_leaders) HASH_TABLE(leader_ids) INTEGERS(ACCUMULATE_ALL) FLOATS(ACCUMULATE_ALL)
    ACCUMULATE_ALL(w128)
    {NULL, NULL}};
/* clang-format on */
