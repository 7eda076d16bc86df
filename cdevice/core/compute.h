/* compute.h - one call of a function, from its arguments to its result, for the files that know functions. */
#ifndef CDEVICE_CORE_COMPUTE_H
#define CDEVICE_CORE_COMPUTE_H

#include "core.h"

/* ---- program.c ---- */
/* What a kernel's items are; see kernels/dialect.h. */
enum cdv_unit {
  CDV_BY_ROW,
  CDV_BY_WORD,  /* 32 rows */
  CDV_BY_PACK,  /* 32 rows, or a row where blocks pack them */
  CDV_BY_TILE,  /* CDV_TILE_ROWS, or a block does them */
  CDV_BY_CHUNK, /* CDV_FILTER_ROWS, or a block does them */
  CDV_BY_BLOCK, /* one item, or one block */
  CDV_BY_ONE
};
#define CDV_LANES 256 /* these three as in kernels/dialect.h */
#define CDV_TILE_ROWS 4096
#define CDV_FILTER_ROWS 8192

/* A kernel of a program for a device, built or read from the disk where it is needed first.  flags: what
 * the backend said last.  Borrowed: it stays.  May take
 * long the first time; never waits for the device. */
int cdv_kernel_get(struct cdv_slot *slot, const cdevice_compute *compute, int64_t device, void *stream, uint32_t flags,
                   const char *family, const char *type, const char *name, void **out);
/* What a backend says of its kernels, or NULL: it has none. */
const cdevice_compute *cdv_compute_of(struct cdv_slot *slot);

/* ---- program_cache.c: what was built before, on disk ---- */
struct cdv_digest {
  uint64_t words[2];
};
void cdv_digest_add(struct cdv_digest *digest, const char *text);
/* malloc'ed, *nbytes long; NULL: there is none, or none that is whole and ours alone. */
void *cdv_cache_read(const struct cdv_digest *digest, int64_t *nbytes);
/* Where it cannot be written nothing is said: it is built again next time. */
void cdv_cache_write(const struct cdv_digest *digest, const void *data, int64_t nbytes);

/* ---- program_text.c ---- */
const char *cdv_kernel_own_text(const char *family); /* NULL: no such family */

/* ---- work.c ---- */
/* A stream, and what keeps it for as long as memory that was allocated for it; lane NULL: the current one. */
struct cdv_lane {
  void *stream;
  struct cdv_shared *queue; /* or NULL */
};
struct cdv_work {
  struct cdv_slot *slot;
  const cdevice_compute *compute;
  int64_t device;
  void *stream;
  struct cdv_shared *queue; /* borrowed */
  uint32_t flags;
  bool given;        /* the device was given something to do */
  const char *doing; /* the function, in errors; borrowed */
  int64_t n_held, room;
  struct cdv_array **held; /* what the device may use until it is done: references */
  int64_t *error;          /* two words on the device, or NULL */
};
struct cdv_step {
  const char *family, *type, *name;
  int unit;
  int64_t n;
  cdevice_place places[CDEVICE_KERNEL_BUFFERS];
  int64_t numbers[CDEVICE_KERNEL_NUMBERS]; /* the first is n */
};

/* Finds the device that all arrays are on, holds each, and makes the stream wait for them.  n = 0:
 * the CPU.  Whatever it says, cdv_work_end must follow. */
int cdv_work_begin(struct cdv_work *w, struct cdv_array *const *arrays, int64_t n, const struct cdv_lane *lane,
                   const char *doing);
/* Is it the CPU that computes? */
bool cdv_work_is_host(const struct cdv_work *w);
/* Rows that nobody has written, held until the work is done; borrowed. */
int cdv_work_new(struct cdv_work *w, struct cdv_schema *schema, int64_t length, bool validity, struct cdv_array **out);
/* The same of one-letter formats: memory between two kernels. */
int cdv_work_memory(struct cdv_work *w, char letter, int64_t length, cdevice_place *out);
/* Enqueues a kernel; one of no rows is none, but for tiles, blocks and single items. */
int cdv_work_run(struct cdv_work *w, struct cdv_step *step);
/* Two words that a kernel may complain into, both 0. */
int cdv_work_watch(struct cdv_work *w, cdevice_place *out);
/* Blocks until the device has done what was enqueued, and says what was complained of: 0, or this thread's error. */
int cdv_work_look(struct cdv_work *w, const char *name, const char *type);
/* Blocks; copies from memory of the device. */
int cdv_work_read(struct cdv_work *w, const cdevice_place *from, int width, int64_t nbytes, void *to);
/* The end: r is how it went so far, written what cdv_work_new gave.  owns: *out is a new reference; nothing else is held
 * for longer than the device needs it. */
int cdv_work_end(struct cdv_work *w, int r, struct cdv_array *written, struct cdv_array **out);
/* The end of one that hands nothing out.  owns: *event is behind what was enqueued, or NULL: that is done. */
int cdv_work_leave(struct cdv_work *w, int r, struct cdv_event **event);

/* ---- place.c: where values and nulls of an array are ---- */
/* Bytes of a value; 0: bits; -1: no type of one value for each row. */
int cdv_value_width(const struct ArrowSchema *schema);
cdevice_place cdv_place_values(const struct cdv_array *a);
/* data NULL: none are null. */
cdevice_place cdv_place_nulls(const struct cdv_array *a);
bool cdv_may_be_null(const struct cdv_array *a);
/* The array, or a copy of it where its values do not lie as the type wants it.  owns: *out is a new reference. */
int cdv_array_aligned(struct cdv_array *a, struct cdv_array **out);

/* ---- compute_map.c: functions that give a row for each row ---- */
enum cdv_rule {                     /* when a row is null */
                CDV_NULL_WHERE_ANY, /* where an argument is */
                CDV_NULL_NEVER,     /* what is told of nulls */
                CDV_NULL_CHOSEN,    /* if_else: where what is chosen is, or the condition */
                CDV_NULL_FILLED,    /* fill_null: where both are */
                CDV_NULL_KLEENE     /* where the values that are known do not decide */
};
#define CDV_OPERANDS 3
struct cdv_map {
  char family[24], type[24], name[32];
  char said[160]; /* the function, in errors */
  int unit, rule;
  bool checked;                /* its kernel complains: the call waits for the device */
  int8_t widths[CDV_OPERANDS]; /* bytes of a value of each argument, 0: bits, -1: any; for who checks */
  struct cdv_schema *out;
};
struct cdv_operand {
  struct cdv_array *array; /* or NULL: a number */
  bool one;                /* its only row stands for all */
  bool null;               /* of a number */
  int64_t bits;            /* of a number, as its type has them */
};
/* Does not wait for the device unless f->checked.  owns: *out is a new reference. */
int cdv_compute_map(const struct cdv_map *f, const struct cdv_operand *args, int n, const struct cdv_lane *lane,
                    struct cdv_array **out);

/* ---- compute_reduce.c: functions that give one row ---- */
struct cdv_reduce {
  char family[24], type[24], tile[32]; /* the kernel that goes through the rows */
  char join[24];                       /* the type of its states, which "reduce" joins */
  char end_family[24], end_type[24], end[32];
  char said[32];     /* the function, in errors */
  int64_t option[3]; /* of the last kernel: its numbers 3 and 4; and which value of the state, 2: both in a struct */
  bool values;       /* the rows are read, not their nulls alone */
  struct cdv_schema *out;
};
/* Of chunks of one type, one after the other; n > 0.  Does not wait for the device.  owns: *out is a new reference. */
int cdv_compute_reduce(const struct cdv_reduce *f, struct cdv_array *const *chunks, int64_t n,
                       const struct cdv_lane *lane, struct cdv_array **out);

/* The same of chunks that come one after the other: the same bits, in memory that does not grow with them.  f must live
 * as long as the fold, which is one thread's at a time; after an error it can only be dropped. */
struct cdv_fold;
int cdv_fold_new(const struct cdv_reduce *f, const struct cdv_lane *lane, struct cdv_fold **out);
/* May wait for the device until it has done with an earlier chunk: few are under way. */
int cdv_fold_add(struct cdv_fold *fold, struct cdv_array *chunk);
/* Of one chunk at least.  Does not wait for the device.  owns: *out is a new reference. */
int cdv_fold_end(struct cdv_fold *fold, struct cdv_array **out);
void cdv_fold_drop(struct cdv_fold *fold);

/* ---- compute_choose.c: rows that are chosen ---- */
struct cdv_choice {
  struct cdv_array *mask, *counts;
  int64_t chosen; /* rows */
};
/* Blocks: it reads how many rows a mask of bits chooses; what is null chooses nothing.  owns: the caller gives it back. */
int cdv_choice_make(struct cdv_choice *c, struct cdv_array *mask, const struct cdv_lane *lane);
void cdv_choice_drop(struct cdv_choice *c);
#define CDV_OTHER_LAYOUT (-1) /* no error is set */
/* The rows that were chosen of an array whose values have 1, 2, 4, 8 or 16 bytes; CDV_OTHER_LAYOUT for others.
 * array NULL: their numbers, as int64.  Does not wait. */
int cdv_compute_filter(const struct cdv_choice *c, struct cdv_array *array, const struct cdv_lane *lane,
                       struct cdv_array **out);
/* Rows by number (int64); values of any number of bytes, and bits.  checked: a number that is none of a row is an error, for which the call waits;
 * else there are no such numbers. */
int cdv_compute_take(struct cdv_array *array, struct cdv_array *indices, bool checked, const struct cdv_lane *lane,
                     struct cdv_array **out);

/* ---- compute_variable.c: strings and lists, whose rows have several sizes ---- */
/* Is it one, with offsets? */
bool cdv_has_offsets(const struct ArrowSchema *schema);
/* The offsets that the rows taken by number have, one more than indices; *total: the last one.  Blocks: it reads that.
 * EOVERFLOW: more than the offsets can count. */
int cdv_compute_offsets(struct cdv_array *array, struct cdv_array *indices, bool checked, const struct cdv_lane *lane,
                        int64_t *total, struct cdv_array **out);
/* What lies behind these offsets: the bytes of strings (as uint8), the numbers of the items of lists (as int64).  Does not
 * wait. */
int cdv_compute_items(struct cdv_array *array, struct cdv_array *indices, struct cdv_array *offsets, int64_t total,
                      const struct cdv_lane *lane, struct cdv_array **out);
/* The numbers of the items (int64) that the rows taken by number have, of fixed-size lists of `size`.  Does not wait unless it
 * is checked. */
int cdv_compute_spread(struct cdv_array *array, struct cdv_array *indices, int64_t size, bool checked,
                       const struct cdv_lane *lane, struct cdv_array **out);
/* The runs (int64) that the rows taken by number are in, of a run-end encoded array with these ends. */
int cdv_compute_runs(struct cdv_array *array, struct cdv_array *ends, struct cdv_array *indices, bool checked,
                     const struct cdv_lane *lane, struct cdv_array **out);
/* The numbers (int64) first ... first + n - 1, on the device that has `near`.  Does not wait. */
int cdv_compute_rows(struct cdv_array *near, int64_t first, int64_t n, const struct cdv_lane *lane,
                     struct cdv_array **out);
/* Sizes (int64) become the offsets, of "i32" or "i64", that `out` has memory for, one more than n > 0; *total: the last one.
 * Blocks: it reads that.  EOVERFLOW: more than the offsets can count. */
int cdv_add_up(struct cdv_work *w, const char *type, int64_t n, const cdevice_place *sizes, struct cdv_array *out,
               int64_t *total);

/* ---- compute_binary.c: strings and bytes, of one size too ---- */
/* Of any two layouts, row by row, bool, without nulls; says: bits for less, equal, greater.  CDV_OTHER_LAYOUT: other types, or
 * views of more than one buffer.  Does not wait. */
int cdv_compute_compare(const struct cdv_operand args[2], int says, struct cdv_schema *schema,
                        const struct cdv_lane *lane, struct cdv_array **out);
/* The offsets (int64) that rows of views, one or more, have as strings one behind the other; *total: the last one.
 * Blocks: it reads that. */
int cdv_compute_view_offsets(struct cdv_array *views, const struct cdv_lane *lane, int64_t *total,
                             struct cdv_array **out);
/* Their bytes (as uint8).  Does not wait. */
int cdv_compute_view_bytes(struct cdv_array *views, struct cdv_array *offsets, int64_t total,
                           const struct cdv_lane *lane, struct cdv_array **out);

#endif
