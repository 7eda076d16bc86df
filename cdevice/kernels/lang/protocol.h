/* protocol.h - what the driver (core/compute) and the kernels agree on.  Both read it, so that nothing is defined
 * twice. The core includes it; the build puts its text in front of dialect.h. */

#define WORK_GROUP_SIZE 256                     /* work items of a group */
#define REDUCE_TILE_ROWS 4096                   /* of a reduction */
#define FILTER_TILE_ROWS (WORK_GROUP_SIZE * 32) /* of a filter: a word of the mask for each work item */

/* Parameters of every kernel: so many buffers, each with an offset, and so many scalars. */
#define KERNEL_BUFFERS 8
#define KERNEL_SCALARS 5

/* A buffer or scalar has several names where kernels use it for several things; a kernel uses one of them. They are
 * numbers without parentheses, because the parameters of a kernel are found by pasting them. */

/* Scalars: the rows; how arguments are given, two bits for each; values of scalar arguments, or options of the
 * kernel. */
#define SCALAR_ROWS 0
#define SCALAR_ARG_KINDS 1
#define SCALAR_ARG0 2
#define SCALAR_ARG1 3
#define SCALAR_ARG2 4

/* How an argument is given: a row for each row; one row for all of them; a scalar. */
#define ARG_ARRAY 0
#define ARG_BROADCAST 1
#define ARG_SCALAR 2

/* Buffers of kernels that give a row for each row. */
#define BUF_OUT 0
#define BUF_ARG0 1
#define BUF_ARG1 2
#define BUF_ARG2 3
#define BUF_COUNTED 4          /* bitmap of the rows whose errors count; NULL: all */
#define BUF_ERROR 5            /* two words, see report_error() */
#define BUF_OUT_VALIDITY 6     /* where the kernel writes it */
#define BUF_KLEENE_VALIDITY0 3 /* of the arguments of and_kleene, or_kleene */
#define BUF_KLEENE_VALIDITY1 4
#define SCALAR_KLEENE_KNOWN 4 /* a bit for each argument that is not a null scalar */

/* Buffers of the kernel of a whole expression; its arguments have the others.  The scalars behind SCALAR_ROWS are its
 * constants. */
#define BUF_FUSED_VALIDITY 1
#define BUF_FUSED_ERROR 2
#define SCALAR_CONSTANT0 1

/* Buffers of reductions: sums (a value and a count for each tile), extremes (two values and a count), the last step. */
#define BUF_SUM_OUT 0
#define BUF_SUM_COUNT_OUT 1
#define BUF_SUM_IN 2
#define BUF_MIN_OUT 0
#define BUF_MAX_OUT 1
#define BUF_EXTREMES_COUNT_OUT 2
#define BUF_MIN_IN 4
#define BUF_MAX_IN 5
#define BUF_VALIDITY_IN 3 /* of rows */
#define BUF_COUNT_IN 6    /* of states; NULL: the input are rows */
#define MOMENT_WORDS 5    /* of moment_state.h: what a sum is elsewhere */
#define BUF_RESULT 0
#define BUF_RESULT_VALIDITY 1
#define BUF_RESULT_VALUE 2
#define BUF_RESULT_COUNT 3
#define SCALAR_STATE_INDEX 1 /* 0: the first value of the state, 1: the second one */
#define SCALAR_LENGTH 2      /* of all chunks */
#define SCALAR_MIN_COUNT 3
#define SCALAR_PRODUCT_SCALE 2  /* of decimals */
#define SCALAR_MOMENTS_OPTION 1 /* of the last kernels of join_moments.h */
#define SCALAR_COUNT_MODE 3     /* of finish_count: 0 valid rows, 1 nulls, 2 all rows */
#define SCALAR_SKIP_NULLS 4

/* Buffers of a filter. */
#define BUF_VALUES 1
#define BUF_MASK 2
#define BUF_MASK_VALIDITY 3
#define BUF_VALUES_VALIDITY 4
#define BUF_TILE_BEGINS 5  /* where the rows of each tile begin in the result (i64) */
#define SCALAR_EMIT_NULL 2 /* not 0: a null of the mask selects its row */
/* scan_columns: the sum of each column, and how many counts a column has. */
#define BUF_TOTALS 1
#define SCALAR_STRIDE 2

/* Buffers of kernels that take rows by index; BUF_VALUES: values, offsets, type ids or run ends; of take_valid the
 * validity of the values. */
#define BUF_INDICES 2 /* i64 */
#define BUF_INDEX_VALIDITY 3
#define SCALAR_SHORT_INDICES 1 /* take, take_valid, take_bytes: not 0: indices are u32 */
#define SCALAR_VALUES_LENGTH 2 /* every index is below it */
#define SCALAR_VALUE_WIDTH 3   /* take_bytes: bytes of a value */
#define SCALAR_VALUES_OFFSET 3 /* spread: rows before the first one */
#define SCALAR_LIST_SIZE 4
#define BUF_OUT_TYPE_IDS 7 /* union_rows: of the result */
#define SCALAR_TYPE_ID 3
#define SCALAR_RUNS 3           /* run_of: how many */
#define SCALAR_RUNS_OFFSET 4    /* rows before the first one */
#define SCALAR_FIRST 2          /* rows, ends: the first number */
#define SCALAR_PARTS 2          /* interleave: columns */
#define SCALAR_SEPARATOR_STEP 3 /* interleave: 1: a separator for each row, 0: one for all */

/* Buffers of values of variable length that are taken by index; BUF_VALUES: their offsets. */
#define BUF_SIZES 1     /* of rows (i64), instead of offsets and indices */
#define BUF_ROW_COUNT 5 /* i64; NULL: SCALAR_ROW_COUNT has it */
#define SCALAR_ROW_COUNT 3
#define BUF_BYTES 6
#define BUF_OUT_OFFSETS 7

/* Buffers of the rows of two sides that match, for each left row those of its group in the order of the groups. */
#define BUF_MATCH_RIGHT 1    /* rows of the result (u32); those of the left side are BUF_OUT */
#define BUF_MATCH_IDS 2      /* of left rows (u32): their groups */
#define BUF_MATCH_KNOWN 3    /* bitmap of those that have a group */
#define BUF_MATCH_COUNTS 4   /* of groups (i64): how many right rows match */
#define BUF_MATCH_ORDER 5    /* u32: the right rows group by group */
#define BUF_MATCH_BEGINS 6   /* i64: of the groups in it */
#define BUF_MATCH_TILES 7    /* i64: where the pairs of each tile of left rows begin; in place of offsets */
#define SCALAR_MATCH_LEAST 2 /* rows of the result for a left row */
#define SCALAR_MATCH_LEFT_ROWS 3
#define SCALAR_MATCH_RIGHT_ROWS 3 /* of the order, where the left rows are SCALAR_ROWS */
#define NO_MATCH 0xffffffffu

/* Buffers of a comparison of strings or bytes; the second argument may be one row for all. */
#define BUF_LEFT_ROWS 1 /* offsets, views, or values of one width */
#define BUF_LEFT_BYTES 2
#define BUF_LEFT_VALIDITY 3
#define BUF_RIGHT_ROWS 4
#define BUF_RIGHT_BYTES 5
#define BUF_RIGHT_VALIDITY 6
#define SCALAR_ORDERINGS 2 /* the results for less, equal, greater, a bit each */
#define SCALAR_LEFT_LAYOUT 3
#define SCALAR_RIGHT_LAYOUT 4
/* A layout: how many bytes each value has, or one of these. */
#define BY_OFFSETS (-1)      /* of 32 bits */
#define BY_LONG_OFFSETS (-2) /* of 64 bits */
#define BY_VIEWS (-3)        /* of one buffer of bytes at most */
#define BY_TABLE (-4)        /* views of any number of them, whose addresses are in a table: where kernels are C */

/* Buffers of views, BUF_VALUES, that become offsets and bytes.  What they look at: up to four buffers, the first of
 * which is number SCALAR_DATA_INDEX (BY_NAME); or all in BUF_DATA0, joined (BY_JOINED) or as a table (BY_TABLE). */
#define BUF_DATA0 2
#define BUF_DATA1 3
#define BUF_DATA2 5
#define BUF_DATA3 6
#define BUF_DATA_BEGINS 3 /* where each of those joined begins (i64) */
#define SCALAR_DATA_INDEX 2
#define SCALAR_DATA_KIND 3
#define BY_NAME 0
#define BY_JOINED 1

/* Strings and bytes with offsets (kernels/strings). A result of strings has offsets in BUF_OUT: first the sizes of rows,
 * with sums of tiles of FILTER_TILE_ROWS; then, beside the bytes in BUF_TEXT_OUT, where each row begins. */
#define BUF_TEXT_OFFSETS 1
#define BUF_TEXT_BYTES 2
#define BUF_TEXT_VALIDITY 3
#define BUF_TEXT_PATTERN 4 /* bytes; of STRING_FOLDED and STRING_LIKE u32, code points or LIKE_*; counts (i64) */
#define BUF_TEXT_TILES 6   /* sums of tiles (i64); then of the tiles before each */
#define BUF_TEXT_OUT 7     /* bytes */
#define SCALAR_TEXT_OP 1
#define SCALAR_TEXT_A 2 /* the size of the pattern, or another number of the operation */
#define SCALAR_TEXT_B 3
#define SCALAR_TEXT_C 4
#define STRING_STARTS 0 /* questions about a row and a pattern */
#define STRING_ENDS 1
#define STRING_CONTAINS 2
#define STRING_EQUALS 3
#define STRING_LIKE 4
#define STRING_FIND 5
#define STRING_COUNT 6
#define STRING_FOLDED 8      /* case is ignored */
#define STRING_BYTES 16      /* bytes, not code points, are characters */
#define LIKE_ONE 0xffffffffu /* any character */
#define LIKE_ANY 0xfffffffeu /* any number of them */
#define NOT_UTF8 0xfffffff0u /* no code point */
#define CLASS_ALPHA 1        /* what a code point is */
#define CLASS_DECIMAL 2
#define CLASS_DIGIT 4
#define CLASS_NUMERIC 8
#define CLASS_SPACE 16
#define CLASS_PRINTABLE 32
#define CLASS_LOWER 64
#define CLASS_UPPER 128
#define CLASS_TITLE 256
#define CLASS_ALNUM (CLASS_ALPHA | CLASS_NUMERIC)
#define CLASS_ASCII 512       /* of rows: all bytes are */
#define CLASS_TITLED 1024     /* words begin with upper case, and go on in lower case */
#define CLASS_ONLY_ASCII 2048 /* others are in no class */

/* Casts to text and back (kernels/text). */
#define BUF_PRINT_VALUES 1  /* numbers that become text; their validity is BUF_TEXT_VALIDITY */
#define BUF_PRINT_MOMENTS 4 /* of times that are as clocks show them: as they are counted, for the offset of the zone */
#define TIME_AS_TIMESTAMP 0 /* SCALAR_TEXT_OP */
#define TIME_AS_DATE 1
#define TIME_AS_CLOCK 2
#define TIME_WITH_Z 4      /* a Z behind it */
#define TIME_WITH_OFFSET 8 /* +hhmm behind it; text must have an offset of any form */

/* Errors that a kernel reports, with a value.  Which of several is reported is unspecified. */
#define KERNEL_ERROR_OVERFLOW 1
#define KERNEL_ERROR_DIVIDE_BY_ZERO 2
#define KERNEL_ERROR_TRUNCATED 3
#define KERNEL_TRUNCATED_NAN (-0x7fffffffffffffff - 1) /* the value of that, of a float */
#define KERNEL_TRUNCATED_LOW (-0x7fffffffffffffff)     /* this, or any below */
#define KERNEL_ERROR_INDEX 4
#define KERNEL_ERROR_PRECISION 5
#define KERNEL_ERROR_RESCALE 6
#define KERNEL_ERROR_OUT_OF_RANGE 7
#define KERNEL_ERROR_LOSSY_UNIT 8
#define KERNEL_ERROR_UNIT_OVERFLOW 9
#define KERNEL_ERROR_LOSSY_TIME 10
#define KERNEL_ERROR_AMBIGUOUS_TIME 11 /* a local second */
#define KERNEL_ERROR_MISSING_TIME 12
#define KERNEL_ERROR_ROUNDED 13
#define KERNEL_ERROR_ROUND_DIGITS 14
#define KERNEL_ERROR_SHIFT 15
#define KERNEL_ERROR_NEGATIVE_POWER 16
#define KERNEL_ERROR_LOGARITHM_OF_ZERO 17
#define KERNEL_ERROR_LOGARITHM 18
#define KERNEL_ERROR_SQUARE_ROOT 19
#define KERNEL_ERROR_DOMAIN 20
#define KERNEL_ERROR_NOT_FINITE 21
#define KERNEL_ERROR_NOT_UTF8 22 /* a row; from here on the first one is looked for */
#define KERNEL_ERROR_NOT_READ 23
#define KERNEL_ERROR_NO_ZONE 24 /* text that must have an offset of its zone */
#define KERNEL_ERROR_A_ZONE 25  /* or must not */
#define KERNEL_ERROR_DIGITS_LOST 26
#define KERNEL_ERROR_DIGITS_MORE 27 /* than the precision of a decimal */

/* Modes of rounding, as Arrow counts them; of floats flags beside one. */
#define MODE_DOWN 0
#define MODE_UP 1
#define MODE_TOWARDS_ZERO 2
#define MODE_TOWARDS_INFINITY 3
#define MODE_HALF_DOWN 4 /* ties alone; others are rounded to the nearest one */
#define MODE_HALF_UP 5
#define MODE_HALF_TOWARDS_ZERO 6
#define MODE_HALF_TOWARDS_INFINITY 7
#define MODE_HALF_TO_EVEN 8
#define MODE_HALF_TO_ODD 9
#define ROUND_BY 16     /* rows are multiplied, then divided */
#define ROUND_CHECKS 32 /* a result may be infinite */
#define ROUND_ONE 64    /* to a multiple of 1 */

/* The table of a time zone (zone.h): words of 64 bits. */
#define ZONE_TRANSITIONS 0 /* how many */
#define ZONE_FIRST 1       /* second that the first bucket begins with */
#define ZONE_SHIFT 2       /* a bucket has so many seconds, as a power of two */
#define ZONE_BUCKETS 3
#define ZONE_STEPS 4 /* transitions of a bucket at most */
#define ZONE_FOLD 5  /* second from which on the table is used again, ZONE_PERIOD before */
#define ZONE_NEAR 6  /* transitions of two days at most */
#define ZONE_HEAD 7
#define ZONE_PERIOD ((i64)146097 * 86400)

/* Sorting: words of 64 bits whose order is that of the rows, least significant digit first. A tile is what a work item
 * counts and scatters alone (CDV_COARSE), or what a work group does. */
#define SORT_TILE_ROWS 65536
#define SORT_TILE_BITS 11 /* of a digit */
#define SORT_GROUP_ITEM_ROWS 16
#define SORT_GROUP_ROWS (WORK_GROUP_SIZE * SORT_GROUP_ITEM_ROWS)
#define SORT_GROUP_BITS 4

/* Buffers of radix.h. Rows are uint32; NULL: each row is at its own place. */
#define BUF_RADIX_WORDS_OUT 0 /* NULL: the words are not needed any more */
#define BUF_RADIX_ROWS_OUT 1
#define BUF_RADIX_WORDS 2
#define BUF_RADIX_ROWS 3
#define BUF_RADIX_COUNTS 4 /* of each digit and tile; then their sums */
#define BUF_RADIX_TIES 5   /* radix_buckets: the words, where a key is a part of them */
#define BUF_RADIX_MORE 6   /* radix_buckets: u32 that equal words are ordered by; NULL: by their rows */
#define BUF_RADIX_RANGES 0 /* of each tile: its words' least, greatest, or, and */
#define SCALAR_RADIX_LOW 1 /* radix_pack: the lowest bit of an element's key; radix_buckets: in which words differ */
#define SCALAR_RADIX_SHIFT 2
#define SCALAR_RADIX_BIAS 3 /* the least word */
#define SCALAR_RADIX_TILES 4

/* Buffers of sort_key.h and sort_binary.h: a word for each row of BUF_KEY_ROWS, which are as above. */
#define BUF_KEY_OUT 0
#define BUF_KEY_VALUES 1 /* or offsets */
#define BUF_KEY_VALIDITY 2
#define BUF_KEY_ROWS 3
#define BUF_KEY_BYTES 4
#define SCALAR_KEY_STRIDE 1 /* of values in words: 1 up to 64 bits */
#define SCALAR_KEY_FLAGS 2
#define SCALAR_KEY_PART 3     /* of bytes: a word of eight of them, or SORT_KEY_LENGTH */
#define SCALAR_KEY_INFINITY 4 /* bits of the infinity of a float; of bytes of one size: that */
#define SORT_KEY_SIGNED 1
#define SORT_KEY_FLOAT 2
#define SORT_KEY_NULLS_FIRST 4
#define SORT_KEY_DESCENDING 8
#define SORT_KEY_DISTINCT 16 /* the two zeros of a float are two values */
#define SORT_KEY_LENGTH (-1)

/* sort_pair: words of two keys become one, and what has no room there. */
#define BUF_PAIR_WORDS 0 /* of the first key; then of both */
#define BUF_PAIR_MORE 1  /* u32 */
#define BUF_PAIR_SECOND 2
#define SCALAR_PAIR_LOW 1   /* bits of the second key that have no room */
#define SCALAR_PAIR_SHIFT 2 /* of the first key */
#define SCALAR_PAIR_LEAST 3
#define SCALAR_PAIR_SECOND_LEAST 4

/* Integers that have few values: sort_few_count and sort_few_scatter, whose buffers are those of radix.h and
 * BUF_KEY_VALUES; the rows are u64. */
#define BUF_FEW_ROWS_OUT 0
#define SCALAR_FEW_VALUES 1 /* how many: the greatest less the least, and one; up to 1 << SORT_TILE_BITS */

/* Buffers of sort_changes, whose words are those of the rows in their order. */
#define BUF_CHANGES_OUT 0
#define BUF_CHANGES_WORDS 1
#define SCALAR_CHANGES_FIRST 2 /* 0: BUF_CHANGES_OUT has what other words have found */

/* Buffers of running.h, whose tiles have FILTER_TILE_ROWS. */
#define BUF_RUNNING_VALUES 1
#define BUF_RUNNING_VALIDITY 2
#define BUF_RUNNING_TILES 3      /* the result of each tile; then of all tiles before it */
#define BUF_RUNNING_FIRST_NULL 4 /* i64 */
#define SCALAR_RUNNING_START 2   /* bits of the value before the first row */
#define SCALAR_RUNNING_SKIP_NULLS 3

/* Keys of groups (key_words.h, key_bytes.h): a word of 64 bits for each row, to which each column adds its bits, or its
 * hash. The other buffers of a key are those of a sort. */
#define BUF_WORDS_OUT 0
#define BUF_WORDS_IN 3    /* of the columns before; NULL: this is the first one */
#define BUF_WORD_RANGES 0 /* of each tile, as BUF_RADIX_RANGES; of bytes three: lengths, bytes 0 to 7, bytes 8 to 15 */
#define BUF_MISMATCH 0    /* u32: not 0 where a row has not the key of its group's first row */
#define BUF_MISMATCH_IDS 5
#define BUF_MISMATCH_FIRST 6 /* i64 */
#define BUF_WORDS_OUTSIDE 5  /* u64: not 0 where a row has bits that are not packed; NULL: none has */
#define SCALAR_WORD_LEAST 1
#define SCALAR_WORD_BASE 1     /* of bytes: the bits that are equal in all rows */
#define SCALAR_WORD_PLACE 3    /* which part of a column: WORD_* */
#define SCALAR_WORD_MASK 4     /* bits of the word less the least that are packed; of a hash: its bits that are used */
#define WORD_NORMALIZE_NAN 16  /* SCALAR_KEY_FLAGS, beside those of sorts: all NaN are one value */
#define WORD_NORMALIZE_ZERO 32 /* both zeros are one value */
#define WORD_NULLABLE 64       /* a bit above the others tells that the row is valid */
#define WORD_LENGTH_OF(flags) (((flags) >> 16) - 1) /* that all rows have, -1: any; others are outside */
#define WORD_SHIFT(place) ((int)((place) >> 8) & 63)
#define WORD_PART(place) ((int)(place) & 255)
#define WORD_SIZE(place) ((place) >> 16) /* of bytes of one size; 0: they have offsets */
#define WORD_LENGTH 2                    /* parts of bytes: 0, 1, their length */

/* hash_table.h. Where a work item fills a table alone (CDV_COARSE), there is one for each of some parts of the rows,
 * with a list of the keys and first rows of its groups; else there is one table, of row numbers. */
#define HASH_BATCH_ROWS 256 /* looked up together */
#define HASH_STATE 2        /* i64 of a part: its groups; the rows, or of hash_merge the groups, that are done */
#define HASH_EMPTY 0xffffffffu
#define BUF_HASH_IDS 0
#define BUF_HASH_WORDS 1
#define BUF_HASH_SLOTS 2 /* of each part: pairs of a word and an id; of direct tables ids; else rows */
#define BUF_HASH_KEYS 3  /* of each part: the words of its groups (u64) */
#define BUF_HASH_FIRST 4 /* their first rows (u32) */
#define BUF_HASH_STATES 5
#define BUF_HASH_REMAP 1    /* what the ids of a part, or of all parts, become */
#define BUF_HASH_OLD_KEYS 6 /* lists of parts, apart from the table that takes them */
#define BUF_HASH_OLD_FIRST 7
#define BUF_HASH_BITS 0    /* hash_firsts: bitmap of first rows */
#define BUF_HASH_GROUPS 3  /* hash_number: first rows (i64) */
#define SCALAR_HASH_SIZE 1 /* slots of a table: a power of two; lists have room for half as many groups */
#define SCALAR_HASH_OLD_ROOM 2
#define SCALAR_HASH_FIRST_ROW 2 /* hash_insert, hash_direct: number of the first row */
#define SCALAR_HASH_PART 3      /* rows of a part; hash_merge: which part */
#define SCALAR_HASH_SEED 4
/* A set (set_lookup.c): a table of row numbers, HASH_EMPTY where there is none. */
#define BUF_SET_WORDS 3 /* of its rows */
#define BUF_SET_SLOTS 4
#define BUF_SET_HASHES 6 /* where work items do many rows: a bitmap of hashes, of eight bits for each slot */
#define SET_HASH_SHIFT(size) (lowest_bit((u64)(size)) < 29 ? 29 - lowest_bit((u64)(size)) : 0)
#define BUF_SET_FOUND 5                           /* set_rows: bitmap of the rows that are found */
#define SCALAR_SET_LEAST 3                        /* of a table with a place for each word: the first one's */
#define SET_NULL_ROW(flags) (((flags) >> 16) - 1) /* that nulls are found at; -1: they are not found */
#define SET_DIRECT 128 /* SCALAR_KEY_FLAGS: a table of that kind; SCALAR_HASH_SIZE: its places */
/* Many groups, where work items do many rows: the rows are put in buckets by their words, and each bucket has a table. */
#define HASH_BUCKET_SHIFT (64 - SORT_TILE_BITS)
#define BUF_HASH_LEADERS 0 /* u32: the first row of each row's group; then its number */
#define BUF_HASH_BUCKET_ROWS 3
#define BUF_HASH_RANKS 2  /* u32, of first rows */
#define BUF_HASH_COUNTS 5 /* i64 of each tile: its first rows; then those before it */

/* accumulate.h: an accumulator for each group and part of the rows; then the parts are folded. */
#define BUF_ACCUMULATE_VALUES 1
#define BUF_ACCUMULATE_VALIDITY 2
#define BUF_ACCUMULATE_IDS 3    /* u32, of rows: where an item goes through the rows of a part */
#define BUF_ACCUMULATE_ORDER 4  /* u64: the rows group by group; else an item goes through a group's rows of a part */
#define BUF_ACCUMULATE_BEGINS 5 /* i64: of the groups in it */
#define BUF_ACCUMULATE_ENDS 6
#define BUF_ACCUMULATE_PARTS 1 /* accumulate_fold: the accumulators of the parts */
#define SCALAR_ACCUMULATE_GROUPS 1
#define SCALAR_ACCUMULATE_PART 2   /* rows of a part; accumulate_fold: how many parts */
#define SCALAR_ACCUMULATE_RANGES 3 /* of groups that items share a part by */
#define SCALAR_ACCUMULATE_SCALE 4  /* of products of decimals */

/* list_reduce.h: an item goes through a list, or two. */
#define BUF_LIST_VALUES 1
#define BUF_LIST_VALIDITY 2
#define BUF_LIST_OTHER 3
#define BUF_LIST_OTHER_VALIDITY 4
#define BUF_LIST_BEGINS 5 /* i64; NULL: lists of one size */
#define BUF_LIST_OTHER_BEGINS 6
#define BUF_LIST_LENGTHS 7 /* i64 */
#define SCALAR_REDUCED_SIZE 1

/* time_round.h: SCALAR_ARG2. */
#define ROUND_FLOOR 0
#define ROUND_CEIL 1
#define ROUND_NEAREST 2 /* the later one of two that are as near */
#define ROUND_STRICT 4  /* a multiple becomes the next one */
#define ROUND_BACK(x) ((x) >> 3)
#define ROUND_FINER(x) ((x) >> 3)
#define ROUND_BEGIN(x) ((int)((x) >> 3))
#define FROM_1970 0 /* months */
#define FROM_YEAR 1
#define FROM_YEAR_0 2
#define FROM_MONDAY 3 /* ticks */
#define FROM_SUNDAY 4
#define FROM_MONTH 5
#define FROM_DAY 6
#define FROM_HOUR 7
#define FROM_MINUTE 8
#define FROM_SECOND 9
#define FROM_MILLI 10
#define FROM_MICRO 11
