/* protocol.h - what the driver (core/compute) and the kernels agree on.  Both read it, so that nothing is defined
 * twice. The core includes it; the build puts its text in front of dialect.h. */

#define WORK_GROUP_SIZE 256                     /* work items of a group */
#define REDUCE_TILE_ROWS 4096                   /* of a reduction */
#define FILTER_TILE_ROWS (WORK_GROUP_SIZE * 32) /* of a filter: a word of the mask for each work item */

/* Parameters of every kernel: so many buffers, each with an offset, and so many scalars. */
#define KERNEL_BUFFERS 8
#define KERNEL_SCALARS 5

/* Scalars: the rows; how arguments are given, two bits for each; values of scalar arguments, or options of the
 * kernel. */
#define SCALAR_ROWS 0
#define SCALAR_ARG_KINDS 1
#define SCALAR_FIRST_ARG 2

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
#define BUF_RESULT 0
#define BUF_RESULT_VALIDITY 1
#define BUF_RESULT_VALUE 2
#define BUF_RESULT_COUNT 3

/* Errors that a kernel reports, with a value.  Which of several is reported is unspecified. */
#define KERNEL_ERROR_OVERFLOW 1
#define KERNEL_ERROR_DIVIDE_BY_ZERO 2
#define KERNEL_ERROR_TRUNCATED 3
#define KERNEL_ERROR_INDEX 4
#define KERNEL_ERROR_PRECISION 5
#define KERNEL_ERROR_RESCALE 6
#define KERNEL_ERROR_OUT_OF_RANGE 7
#define KERNEL_ERROR_LOSSY_UNIT 8
#define KERNEL_ERROR_UNIT_OVERFLOW 9
#define KERNEL_ERROR_LOSSY_TIME 10
