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
#include "cdevice/kernels/aggregate/tiles.h"
#include "cdevice/kernels/aggregate/moment_state.h"
#include "cdevice/kernels/math/each.h"
#include "cdevice/kernels/hash/words.h"
#include "cdevice/kernels/temporal/calendar.h"
#include "cdevice/kernels/temporal/zone.h"
#include "cdevice/kernels/strings/utf8.h"
/* clang-format off: the build writes the tables, from which the functions below read */
#include "build/unicode_case.h"
#include "build/unicode_class.h"
/* clang-format on */
#include "cdevice/kernels/strings/case_of.h"
#include "cdevice/kernels/strings/class_of.h"

#include "cpu/reals.h"

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
#include "cpu/text.h"
#include "cdevice/kernels/hash/key_bytes.h"
#undef T
#define T i64
#include "cpu/offsets.h"
#include "cpu/text.h"
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
#include "cdevice/kernels/math/rounding.h"
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
#ifndef CPU_NO_CASTS
#define T f32
#include "cpu/decimal_reals.h"
#undef T
#define T f64
#include "cpu/decimal_reals.h"
#undef T
#endif
#define T w256
#include "cdevice/kernels/scalar/arith.h"
#ifndef CPU_NO_CASTS
#include "cdevice/kernels/math/pick.h"
#include "cdevice/kernels/math/rounding.h"
#endif
#include "cdevice/kernels/group_by/accumulate.h"
#include "cdevice/kernels/scalar/compare.h"
#include "cdevice/kernels/aggregate/reduce.h"
#ifndef CPU_NO_CASTS
#include "cpu/wide_casts.h"
#endif
#undef T
#define T w128
#include "cdevice/kernels/scalar/arith.h"
#ifndef CPU_NO_CASTS
#include "cdevice/kernels/math/pick.h"
#include "cdevice/kernels/math/rounding.h"
#endif
#include "cdevice/kernels/hash/key_words.h"
#include "cdevice/kernels/group_by/accumulate.h"
#include "cdevice/kernels/scalar/compare.h"
#include "cdevice/kernels/aggregate/reduce.h"
#include "cdevice/kernels/selection/select.h"
#ifndef CPU_NO_CASTS
#include "cpu/wide_casts.h"
#define TEXT "cdevice/kernels/scalar/decimal_rescale.h"
#include "cpu/each_integer.h"
#undef TEXT
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
#define T f64
#include "cdevice/kernels/aggregate/join_moments.h"
#undef T
#define T bool
#include "cdevice/kernels/aggregate/reduce_bool.h"
#undef T
#define T date32
#include "cpu/times.h"
#undef T
#define T s32
#include "cpu/times.h"
#undef T
#define T ms32
#include "cpu/times.h"
#undef T
#define T s64
#include "cpu/times.h"
#undef T
#define T ms64
#include "cpu/times.h"
#undef T
#define T us64
#include "cpu/times.h"
#undef T
#define T ns64
#include "cpu/times.h"
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
#define IS_NAN(t) \
  ROW(compare, is_nan, t) ROW(compare, is_finite, t) ROW(compare, is_inf, t) ROW(arith, square_root, t)
#define ROUNDING(t) ROW(rounding, round_to, t) ROW(rounding, round_binary, t) ROW(rounding, sign_of, t)
#define PICK(t) ROW(pick, least, t) ROW(pick, greatest, t) ROW(pick, least_known, t) ROW(pick, greatest_known, t)
#define BITWISE(t)                     \
  ROW(integers, bits_and, t)           \
  ROW(integers, bits_or, t)            \
  ROW(integers, bits_xor, t)           \
  ROW(integers, bits_not, t)           \
  ROW(integers, shift_left, t)         \
  ROW(integers, shift_right, t)        \
  ROW(integers, shift_left_checked, t) \
  ROW(integers, shift_right_checked, t)
#define INTEGER_MATH(t)              \
  BITWISE(t)                         \
  ROW(integers, remainder_of, t)        \
  ROW(integers, remainder_checked, t) \
  ROW(integers, modulo_of, t)           \
  ROW(integers, modulo_checked, t)   \
  ROW(integers, power_to, t)            \
  ROW(integers, power_checked, t)
#define REALS(t) \
  ROW(exponential, exp_of, t) \
  ROW(exponential, expm1_of, t) \
  ROW(exponential, ln_of, t) \
  ROW(exponential, log2_of, t) \
  ROW(exponential, log10_of, t) \
  ROW(exponential, log1p_of, t) \
  ROW(exponential, sqrt_of, t) \
  ROW(exponential, cbrt_of, t) \
  ROW(exponential, ln_checked, t) \
  ROW(exponential, log2_checked, t) \
  ROW(exponential, log10_checked, t) \
  ROW(exponential, log1p_checked, t) \
  ROW(exponential, sqrt_checked, t) \
  ROW(angles, sin_of, t) \
  ROW(angles, cos_of, t) \
  ROW(angles, tan_of, t) \
  ROW(angles, sin_checked, t) \
  ROW(angles, cos_checked, t) \
  ROW(angles, tan_checked, t) \
  ROW(angles, asin_of, t) \
  ROW(angles, acos_of, t) \
  ROW(angles, atan_of, t) \
  ROW(angles, asin_checked, t) \
  ROW(angles, acos_checked, t) \
  ROW(hyperbolic, sinh_of, t) \
  ROW(hyperbolic, cosh_of, t) \
  ROW(hyperbolic, tanh_of, t) \
  ROW(hyperbolic, asinh_of, t) \
  ROW(hyperbolic, acosh_of, t) \
  ROW(hyperbolic, atanh_of, t) \
  ROW(hyperbolic, acosh_checked, t) \
  ROW(hyperbolic, atanh_checked, t) \
  ROW(pairs, power_of, t) \
  ROW(pairs, logb_of, t) \
  ROW(pairs, atan2_of, t) \
  ROW(pairs, hypot_of, t) \
  ROW(pairs, remainder_of, t) \
  ROW(pairs, modulo_of, t) \
  ROW(pairs, logb_checked, t) \
  ROW(pairs, remainder_checked, t) \
  ROW(pairs, modulo_checked, t)
#define DECIMAL_MATH(t) \
  PICK(t) ROUNDING(t) ROW(rounding, remainder_of, t) ROW(rounding, modulo_of, t)
#define REDUCE(t) \
  ROW(reduce, sum, t) ROW(reduce, min_max, t) ROW(reduce, finish, t) ROW(reduce, finish_mean, t) ROW(reduce, product, t)
#define MOMENTS(t) ROW(moments, moments_2, t) ROW(moments, moments_4, t)
#define JOIN_MOMENTS(name) ROW(join_moments, name, f64)
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
  ROW(varlen, tile_sizes, t) ROW(varlen, offsets, t) ROW(varlen, gather, t) ROW(varlen, expand, t) \
  ROW(varlen, match_tiles, t) ROW(varlen, match_offsets, t) ROW(varlen, match_rows, t) ROW(varlen, match_valid, t)
#define RUNS(t) ROW(run_end, run_of, t) ROW(run_end, ends, t)
#define SORT_KEY(t)               \
  ROW(sort_key, sort_key, t)      \
  ROW(sort_key, sort_least, t)    \
  ROW(sort_key, sort_few_count, t) ROW(sort_key, sort_few_scatter, t)
#define REAL_ROW(s, t) {"decimal_real/" #s " " #t "/real_" #s "_" #t, real_##s##_##t},
#define REAL(s) REAL_ROW(s, f32) REAL_ROW(s, f64)
#define OF_REAL_ROW(s, t)                                                \
  {"real_decimal/" #s " " #t "/decimal_" #s "_" #t, decimal_##s##_##t}, \
      {"real_decimal/" #s " " #t "/decimal_checked_" #s "_" #t, decimal_checked_##s##_##t},
#define OF_REAL(t) OF_REAL_ROW(f32, t) OF_REAL_ROW(f64, t)
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
#define SET_LOOKUP(t) ROW(key_words, set_has, t) ROW(key_words, set_rows, t)
#define KEY_BYTES(t)             \
  ROW(key_bytes, bytes_range, t) \
  ROW(key_bytes, bytes_pack, t)  \
  ROW(key_bytes, bytes_hash, t) ROW(key_bytes, bytes_mismatch, t)
#define TEXT_MATCH(t) ROW(string_match, matches, t) ROW(string_match, positions, t) ROW(string_match, characters, t)
#define TEXT_REGEX(t)                    \
  ROW(string_regex, regex_matches, t)    \
  ROW(string_regex, regex_counts, t) ROW(string_regex, regex_positions, t)
#define TEXT_PIECES(t)            \
  ROW(string_pieces, slices, t)   \
  ROW(string_pieces, trims, t)    \
  ROW(string_pieces, pieces, t)   \
  ROW(string_pieces, sums, t)   \
  ROW(string_pieces, stride_sizes, t) \
  ROW(string_pieces, stride_write, t) \
  ROW(string_pieces, map_bytes, t) ROW(string_pieces, map_rows, t)
#define TEXT_EDIT(t)              \
  ROW(string_edit, pad_sizes, t)  \
  ROW(string_edit, pad_write, t)  \
  ROW(string_edit, replace_sizes, t) \
  ROW(string_edit, replace_write, t) \
  ROW(string_edit, cut_sizes, t) ROW(string_edit, cut_write, t) \
  ROW(string_edit, split_counts, t) ROW(string_edit, split_parts, t)
#define TEXT_ROWS(t)  \
  TEXT_MATCH(t)       \
  TEXT_REGEX(t)       \
  TEXT_PIECES(t)      \
  TEXT_EDIT(t)        \
  ROW(string_class, classes, t) ROW(string_case, case_sizes, t) ROW(string_case, case_write, t)
#define HASH_TABLE(name) ROW(hash_table, hash_##name, bits)
#define ACCUMULATE_OF(name, t) ROW(accumulate, accumulate_##name, t) ROW(accumulate, fold_##name, t)
#define ACCUMULATE_ALL(t) \
  ACCUMULATE_OF(count, t) ACCUMULATE_OF(sum, t) ACCUMULATE_OF(product, t) ACCUMULATE_OF(min, t) ACCUMULATE_OF(max, t)
#define LIST_REDUCE(t)           \
  ROW(list_reduce, list_sum, t)  \
  ROW(list_reduce, list_dot, t)  \
  ROW(list_reduce, list_min, t)  \
  ROW(list_reduce, list_max, t)  \
  ROW(list_reduce, list_count, t)
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
#undef REAL_ROW
#define REAL_ROW(s, t)
#undef OF_REAL_ROW
#define OF_REAL_ROW(s, t)
#undef DECIMAL_MATH
#define DECIMAL_MATH(t)
#endif
#define TIME_FIELD(name, t) ROW(time_fields, name, t)
#define DATE_FIELDS(t)       \
  TIME_FIELD(year, t)        \
  TIME_FIELD(month, t)       \
  TIME_FIELD(day, t)         \
  TIME_FIELD(quarter, t)     \
  TIME_FIELD(day_of_year, t) \
  TIME_FIELD(day_of_week, t) TIME_FIELD(week, t) TIME_FIELD(week_year, t) TIME_FIELD(is_leap_year, t)
#define CLOCK_FIELDS(t)      \
  TIME_FIELD(hour, t)        \
  TIME_FIELD(minute, t)      \
  TIME_FIELD(second, t)      \
  TIME_FIELD(millisecond, t) \
  TIME_FIELD(microsecond, t) TIME_FIELD(nanosecond, t) TIME_FIELD(subsecond_f64, t)
#define TIMESTAMPS(X) X(s64) X(ms64) X(us64) X(ns64)
#define TIME_ROUND(t)             \
  ROW(time_round, round_fixed, t) \
  ROW(time_round, round_finer, t) ROW(time_round, round_months, t) ROW(time_round, round_calendar, t)
#define TIME_BETWEEN(name, t) ROW(time_between, name##_between, t)
#define DATES_BETWEEN(t)    \
  TIME_BETWEEN(years, t)    \
  TIME_BETWEEN(quarters, t) \
  TIME_BETWEEN(weeks, t) TIME_BETWEEN(days, t)
#define CLOCKS_BETWEEN(t)       \
  TIME_BETWEEN(hours, t)        \
  TIME_BETWEEN(minutes, t)      \
  TIME_BETWEEN(seconds, t)      \
  TIME_BETWEEN(milliseconds, t) \
  TIME_BETWEEN(microseconds, t) TIME_BETWEEN(nanoseconds, t)
#define ALL_TIMES(t) TIME_ROUND(t) TIME_BETWEEN(month_day_nano, t)
#define ZONED(t) ROW(time_zone, local_time, t) ROW(time_zone, is_dst, t) ROW(time_zone, assume, t)
#define NUMBERS(t) ARITH(t) COMPARE(t) REDUCE(t) MOMENTS(t) CASTS_OF(t) PICK(t) ROUNDING(t)

/* clang-format off */
const cpu_kernel CPU_KERNELS[] = {
    FLOATS(REALS) INTEGERS(INTEGER_MATH) DECIMAL_MATH(w128) DECIMAL_MATH(w256) ROW(rounding, sign_of, f16) BOOLEAN(and_not)
    BOOLEAN(and_not_kleene) BOOLEAN(always) BOOLEAN(never)
    INTEGERS(NUMBERS) FLOATS(NUMBERS) FLOATS(IS_NAN) INTEGERS(ARITH_CHECKED) ARITH_ANY(w128) ARITH_ANY(w256)
    ROW(arith, mean, w128) ROW(arith, mean, w256) ROW(arith, divide, w128) ROW(arith, divide, w256)
    COMPARE(w128) COMPARE(w256) REDUCE(w256) REAL(i32) REAL(i64) REAL(w128) REAL(w256) OF_REAL(w128) OF_REAL(w256) ARITH(f16) COMPARE(f16)
    IS_NAN(f16) CASTS(f16) REDUCE(w128) ROW(reduce, sum_exactly, i64) ROW(reduce, sum_exactly, u64)
    ROW(reduce, finish_mean_of_integers, w128) INTEGERS(FROM_WIDE) INTEGERS(TO_WIDE) TO_WIDE(w128) RESCALE_ROW(w256, w128) RESCALE_ROW(w128, w256) RESCALE_ROW(w256, w256) TIME(i32, i32)
    TIME(i32, i64) TIME(i64, i32) TIME(i64, i64) TIMESTAMP_PARTS(i32) TIMESTAMP_PARTS(i64) SELECT(u8) SELECT(u16)
    SELECT(u32) SELECT(u64) SELECT(w128) VARLEN(i32) VARLEN(i64) BINARY(compare) BINARY(view_sizes) BINARY(make_views) BINARY(join)
    BINARY(view_bytes) BOOLEAN(valid_all) BOOLEAN(is_valid) BOOLEAN(is_null) BOOLEAN(valid_select) BOOLEAN(and)
    BOOLEAN(or) BOOLEAN(xor) BOOLEAN(equal) BOOLEAN(not_equal) BOOLEAN(less) BOOLEAN(less_equal) BOOLEAN(greater)
    BOOLEAN(greater_equal) BOOLEAN(invert) BOOLEAN(first) BOOLEAN(if_else) BOOLEAN(and_kleene) BOOLEAN(or_kleene)
    FILTER(filter_count) FILTER(spread) FILTER(take_bytes) FILTER(rows) FILTER(interleave) RUNS(i16) RUNS(i32) RUNS(i64)
    FILTER(check_rows) FILTER(scan_columns) FILTER(union_types) FILTER(union_rows) FILTER(filter_rows) FILTER(scan)
    FILTER(take_valid) FILTER(take) SCATTER(scatter_clear) SCATTER(scatter_rows) REDUCE_BOOL(sum)
    REDUCE_BOOL(count_rows)
    JOIN_MOMENTS(join_moments) JOIN_MOMENTS(finish_variance) JOIN_MOMENTS(finish_stddev) JOIN_MOMENTS(finish_skew)
    JOIN_MOMENTS(finish_kurtosis) REDUCE_BOOL(finish_any) REDUCE_BOOL(finish_all) REDUCE_BOOL(finish_count) REDUCE_BOOL(finish_product)
    REDUCE_BOOL(finish_extreme) SORT_KEY(u8) SORT_KEY(u16) SORT_KEY(u32) SORT_KEY(u64) SORT_BYTES(i32) SORT_BYTES(i64)
    RADIX_SORT(radix_buckets) RADIX_SORT(radix_pack) RADIX_SORT(sort_pair) RADIX_SORT(radix_ranges) RADIX_SORT(radix_count) RADIX_SORT(radix_scatter)
    RADIX_SORT(sort_key) RADIX_SORT(sort_rows_of) RADIX_SORT(sort_changes) RADIX_SORT(sort_validity)
    RADIX_SORT(sort_rows) INTEGERS(RUNNING) FLOATS(RUNNING) KEY_WORDS(u8) KEY_WORDS(u16) KEY_WORDS(u32) KEY_WORDS(u64)
    KEY_WORDS(w128) SET_LOOKUP(u8) SET_LOOKUP(u16) SET_LOOKUP(u32) SET_LOOKUP(u64)
    ROW(hash_table, set_insert, bits) KEY_BYTES(i32) KEY_BYTES(i64) HASH_TABLE(insert) HASH_TABLE(merge) HASH_TABLE(rehash) HASH_TABLE(copy_lists)
    HASH_TABLE(direct) HASH_TABLE(merge_direct) HASH_TABLE(renumber) HASH_TABLE(zero) HASH_TABLE(clear)
    HASH_TABLE(unmerged) HASH_TABLE(first) HASH_TABLE(mix_words) HASH_TABLE(bucket) HASH_TABLE(count_leaders)
    HASH_TABLE(rank_leaders) HASH_TABLE(leader_ids) INTEGERS(ACCUMULATE_ALL) FLOATS(ACCUMULATE_ALL)
    INTEGERS(LIST_REDUCE) FLOATS(LIST_REDUCE)
    TEXT_ROWS(i32) TEXT_ROWS(i64) ACCUMULATE_ALL(w128) ACCUMULATE_ALL(w256) DATE_FIELDS(date32) CLOCK_FIELDS(s32) CLOCK_FIELDS(ms32) TIMESTAMPS(DATE_FIELDS)
    TIMESTAMPS(CLOCK_FIELDS) TIMESTAMPS(ZONED) TIMESTAMPS(ALL_TIMES) TIMESTAMPS(DATES_BETWEEN)
    TIMESTAMPS(CLOCKS_BETWEEN) ALL_TIMES(date32) ALL_TIMES(s32) ALL_TIMES(ms32) DATES_BETWEEN(date32)
    TIME_BETWEEN(units, date32) CLOCKS_BETWEEN(s32) CLOCKS_BETWEEN(ms32)
    {NULL, NULL}};
/* clang-format on */
