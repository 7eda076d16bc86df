/* core.h - the device-agnostic core.  No Python.h, no vendor name.
 *
 * Every function may be called from any thread without the GIL.  Functions returning int give 0 or an
 * errno-compatible code and leave kind, message and place in a per-thread slot (cdv_error_last).  On an error
 * nothing was consumed and nothing half-built is returned. */
#ifndef CDEVICE_CORE_H
#define CDEVICE_CORE_H

#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "cdevice/dlpack_abi.h"

/* ---- error.c ---- */
#define CDV_INVALID_ARRAY 1
#define CDV_RELEASED 2
#define CDV_UNAVAILABLE 3
#define CDV_DEVICE 4
#define CDV_MEMORY 5
#define CDV_ARGUMENT 6
#define CDV_CANNOT_EXPORT 7
#define CDV_UNSUPPORTED 8
#define CDV_BUSY 9
#define CDV_STREAM 10

struct cdv_error {
  int kind, code, vendor_code;
  int32_t device_type;
  int64_t device_id;
  int64_t buffer; /* index of the buffer the complaint is about, or -1 */
  int raised;     /* it is what a Python source raised, which is its cause */
  int urgent;     /* its cause stops programs: told at once, and raised as itself */
  int again;      /* a wait was interrupted and nothing was taken: the same call may be made again */
  uint64_t cause; /* number of the Python exception behind it, or 0; see cdv_error_cause */
  char vendor_name[64];
  char node[512]; /* path of the node, "columns[3].dictionary"; empty: the root */
  char message[1536];
};

/* ---- layout.c ---- */
#define CDV_MAX_DEPTH 64

/* Types, in the order of the layout table. */
enum cdv_type {
  CDV_NULL,
  CDV_BOOL,
  CDV_FIXED,
  CDV_BINARY,
  CDV_LARGE_BINARY,
  CDV_BINARY_VIEW,
  CDV_LIST,
  CDV_LARGE_LIST,
  CDV_LIST_VIEW,
  CDV_LARGE_LIST_VIEW,
  CDV_FIXED_LIST,
  CDV_STRUCT,
  CDV_MAP,
  CDV_DENSE_UNION,
  CDV_SPARSE_UNION,
  CDV_RUN_END,
  CDV_N_TYPES
};

/* What a buffer holds. */
enum cdv_role {
  CDV_VALIDITY,
  CDV_BITS,
  CDV_VALUES,
  CDV_OFFSETS,
  CDV_SIZES,
  CDV_BYTES,
  CDV_VIEWS,
  CDV_TYPE_IDS,
  CDV_UNION_OFFSETS
};

/* A parsed format string. */
struct cdv_layout {
  int type;           /* enum cdv_type */
  int width;          /* bytes of one element of the values, offsets or views buffer */
  int n_buffers;      /* fixed part; view types have the variadic buffers and their sizes beside these */
  int utf8;           /* binary types: the bytes are text */
  char code;          /* first letter of fixed-width formats that mean numbers ("i", "l", "g", "d", "t" ...) */
  int64_t list_size;  /* fixed-size list */
  int64_t n_children; /* -1: any number */
  int n_type_ids;
  unsigned char type_ids[128];
};

/* ---- schema.c, array.c ---- */
struct cdv_schema; /* counted, immutable */
struct cdv_shared; /* counted */
struct cdv_array;  /* counted, immutable: one node of an array, with the slice taken of it */
struct cdv_stream; /* of one owner, used by one thread at a time */

/* ---- produce.c, production.c: feeds an ArrowAsyncDeviceStreamHandler from a stream ---- */
struct cdv_production; /* counted */
#define CDV_RUNNING 0
#define CDV_FINISHED 1  /* the whole source was sent */
#define CDV_CANCELLED 2 /* by the consumer */
#define CDV_REFUSED 3   /* a handler's callback returned an error */
#define CDV_FAILED 4    /* the source failed, or the consumer asked for nonsense: on_error was called */
#define CDV_STOPPED 5   /* by cdv_production_stop: on_error was called with ECANCELED */
/* 1 for the first who asks: run, start, fail or abandon, one of which it must call, is its.  0: another's.  Any thread. */
int cdv_production_claim(struct cdv_production *p);
/* Sends everything from this thread and returns when the handler was released.  Once.  Blocks. */
void cdv_production_run(struct cdv_production *p);
/* The same on a thread of its own. */
int cdv_production_start(struct cdv_production *p);
/* Ends it soon, in an error for the consumer.  Never blocks; any thread. */
void cdv_production_stop(struct cdv_production *p);
/* Blocks up to so many nanoseconds (< 0: without limit) until the handler was released: 1, or 0. */
int cdv_production_wait(struct cdv_production *p, int64_t nanoseconds);
/* CDV_*; *code: the errno of a refusal or a failure.  The failure is then this thread's last error. */
int cdv_production_ending(struct cdv_production *p, int *code);
/* Tasks handed out so far, and of these not extracted. */
int64_t cdv_production_sent(struct cdv_production *p, int64_t *unextracted);
/* Was it cancelled, stopped or asked for nonsense?  For sources that wait for something else. */
int cdv_production_interrupted(struct cdv_production *p);
void cdv_production_unref(struct cdv_production *p);
/* Instead of a run, where there is no source: on_error with this thread's last error, or that it was stopped, and
 * release, on this thread.  cancelled: the consumer was closed before. */
void cdv_production_fail(struct cdv_production *p, int cancelled);
/* Takes a handler, before there is a source.  A handler of ours is taken once (EBUSY).  It is called by run, start or
 * fail, one of which must follow. */
int cdv_production_open(struct ArrowAsyncDeviceStreamHandler *handler, struct cdv_production **out);

/* ---- consume.c: takes what a producer sends to its handler ---- */
struct cdv_consumer; /* counted */
#define CDV_HAS_SCHEMA 1
#define CDV_ENDED 2  /* the end or an error came, or release: the producer is no longer called */
#define CDV_CLOSED 4 /* by us */
#define CDV_LET_GO 8 /* the producer has released the handler */
#define CDV_FAULT 16 /* an error waits behind what came before it */
int cdv_consumer_new(int64_t queue_size, int level, struct cdv_consumer **out);
/* For the producer.  From the first call on it is valid until the producer releases it, whatever happens here. */
struct ArrowAsyncDeviceStreamHandler *cdv_consumer_handler(struct cdv_consumer *c);
int cdv_consumer_state(struct cdv_consumer *c);
int32_t cdv_consumer_device_type(struct cdv_consumer *c); /* 0 before the schema */
/* Blocks up to so many nanoseconds (< 0: without limit) until there is an array, a schema (when schema != 0), an end:
 * 1, or 0. */
int cdv_consumer_wait(struct cdv_consumer *c, int schema, int64_t nanoseconds);
/* A new descriptor for one waiter, which becomes readable after cdv_consumer_arm; closed with the consumer.  -errno:
 * none to be had. */
int cdv_consumer_bell(struct cdv_consumer *c);
/* 0: there is something already (schema != 0: a schema; released != 0: the release); 1: that descriptor will tell; -1:
 * nothing will ever come, see cdv_consumer_error. */
int cdv_consumer_arm(struct cdv_consumer *c, int bell, int schema, int released);
int cdv_consumer_armed(struct cdv_consumer *c); /* descriptors that will tell (tests) */
/* Cancels the producer, drops what waits.  Idempotent, any thread; waits for a call of cdv_consumer_take to leave the
 * queue, never for the producer. */
void cdv_consumer_close(struct cdv_consumer *c);
/* What is wrong, as this thread's last error; 0: nothing. */
int cdv_consumer_error(struct cdv_consumer *c);
int64_t cdv_consumer_waiting(struct cdv_consumer *c); /* tasks that wait unextracted */
int64_t cdv_wakeups(void);    /* how often a thread went to sleep for a stream, or rang for an event loop, until now */
int64_t cdv_live_async(void); /* productions and consumers, for leak checks */

/* Handed in by whoever owns memory: drop(owner) is called once, on any thread, without the GIL. */
struct cdv_owner {
  void (*drop)(void *owner);
  void *owner;
};

/* ---- defer.c ---- */
struct cdv_deferred {
  struct cdv_deferred *next;
  void (*run)(void *object); /* NULL: object is a Python reference */
  void *object;
};
int cdv_defer_wait(void);
void cdv_defer_stop(void);
int64_t cdv_defer_count(void);

/* ---- finish.c ---- */
/* At the end of the process: 1 while a started backend has work that this must not cut off, after a pause of 2 ms; 0 once
 * there is none, after ten seconds, or after one in which nothing of the process has worked.  One thread. */
int cdv_let_finish(void);

/* ---- slots.c, registry.c ---- */
int cdv_register(const cdevice_backend *backend, int replace);
int cdv_unregister(int32_t device_type);
int64_t cdv_backend_count(void);
const cdevice_backend *cdv_backend_at(int64_t i);
const cdevice_backend *cdv_backend_for(int32_t device_type);
int64_t cdv_backend_live(int32_t device_type);
/* Of kernels, written by build_ffi.py; "": what stands before each.  NULL: no such family. */
const char *cdv_kernel_text(const char *family);
/* Adds a text of a user's own; one that is there already stays.  The name is the text's: another text has another. */
int cdv_kernel_own(const char *family, const char *text);
int cdv_is_host_accessible(int32_t device_type);
int cdv_device_count(int32_t device_type, int64_t *out);
int cdv_device_info(int32_t device_type, int64_t device_id, cdevice_device_info *out);
int cdv_load_builtin(const char *name, int replace);
int cdv_load_plugin(const char *path, int replace);
/* Arrays of this type are allocated by `allocator` from now on, NULL: by the backend again.  The table is copied. */
int cdv_set_allocator(int32_t device_type, const cdevice_allocator *allocator);

/* ---- block.c, transfer.c, helpers.c, reclaim.c, allocator.c ---- */
int64_t cdv_copy_chunk(int64_t bytes); /* bytes of a staging chunk; sets it when > 0, gives the old value (tests) */
/* Threads, the caller's among them, that share a large copy, a kernel on the CPU; set when n > 0.  The old number. */
enum cdv_crew { CDV_COPIES, CDV_KERNELS, CDV_CREWS };
int cdv_threads(int crew, int n);
void cdv_block_trim(void);  /* gives small memory back that is kept for the next exports and imports */
void cdv_stage_trim(void);  /* the same of host memory that copies pack into */
int64_t cdv_kept(void);     /* sources and chunks that wait for a device */
void cdv_retry_loans(void); /* gives back other allocators' memory behind which nothing could be recorded */

/* ---- statistics, for leak checks ---- */
int64_t cdv_live_arrays(void);
int64_t cdv_live_schemas(void);
int64_t cdv_live_exports(void);
int64_t cdv_live_streams(void);

/* Releases an array from a thread that never saw Python (tests); join: wait for it. */
int cdv_release_in_thread(struct ArrowDeviceArray *array, int join);

/* Drains and releases a stream in such a thread and waits for it: how many arrays, or -1 (tests). */
int64_t cdv_drain_in_thread(struct ArrowDeviceArrayStream *stream);

/* Takes and drops everything from a consumer on this thread: how many arrays, or -1 (tests, benchmarks). */
int64_t cdv_consumer_drain(struct cdv_consumer *c);

/* cffi: skip */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- shared.c ---- */
/* An owner that several keep.  owns: on success *out has it, counted once.  ENOMEM sets no error. */
int cdv_share(struct cdv_owner owner, struct cdv_shared **out);
void *cdv_shared_owner(struct cdv_shared *shared);            /* owner.owner */
struct cdv_shared *cdv_shared_ref(struct cdv_shared *shared); /* NULL is legal, here and in the next one */
void cdv_shared_unref(struct cdv_shared *shared);

/* ---- error.c ---- */
struct cdv_error *cdv_error_last(void);
/* The return code of third-party C as an errno; 0 stays. */
static inline int cdv_code(int code) { return code < 0 ? EIO : code; }
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int cdv_fail(int kind, int code, const char *format, ...);
/* Both give the code that the slot has, which is always one of errno's: a return code of -5 or 0 is EIO there, of a
 * backend EREMOTEIO, and texts become UTF-8. */
void cdv_make_utf8(char *text); /* bytes that are none become "?" */
bool cdv_is_utf8(const char *text);
/* Turns what a backend reported into the slot: "doing: message". */
int cdv_fail_backend(int code, const cdevice_error *err, int32_t device_type, int64_t device_id, const char *doing);
int cdv_fail_memory(int64_t nbytes, const char *what);
/* An exception of Python is behind this thread's last error, until its next one.  owns: takes the share over. */
void cdv_error_because(struct cdv_shared *exception, int urgent);
struct cdv_shared *cdv_error_cause(void);  /* borrowed; NULL: none */
struct cdv_shared *cdv_error_forget(void); /* moves it out */
/* The same for what a backend reports in err, once that becomes this thread's error.  owns. */
void cdv_error_lend(const cdevice_error *err, struct cdv_shared *exception, int urgent);
/* An error that is kept for later or for another thread.  A plain copy of struct cdv_error loses its cause. */
struct cdv_kept_error {
  struct cdv_error error;
  struct cdv_shared *cause;
};
void cdv_error_keep(struct cdv_kept_error *to);         /* this thread's */
void cdv_error_back(const struct cdv_kept_error *from); /* becomes this thread's; stays kept */
void cdv_error_drop(struct cdv_kept_error *kept);       /* its share of the cause */

/* ---- layout.c ---- */
/* Parses a format.  *why gets a short reason on failure (a constant). */
int cdv_layout_parse(const char *format, struct cdv_layout *out, const char **why);
/* Bytes of a fixed-width type whose format is this one letter; 0: it is no such type. */
int cdv_letter_width(unsigned char letter);
/* One entry per buffer of a type; role of buffer i. */
const unsigned char *cdv_layout_roles(const struct cdv_layout *layout);
/* Is its first buffer a bitmap of nulls?  That of a union is none. */
bool cdv_has_validity(const struct cdv_layout *layout);
const char *cdv_role_name(int role);
/* Bytes that buffer `role` of `layout` needs for elements [0, end); -1: overflow.  CDV_BYTES: cannot be known, 0. */
int64_t cdv_buffer_bytes(const struct cdv_layout *layout, int role, int64_t end);
/* Byte range [*from, *to) of a buffer that elements [offset, offset + length) lie in; bits start at a byte. */
void cdv_buffer_range(const struct cdv_layout *layout, int role, int64_t offset, int64_t length, int64_t *from,
                      int64_t *to);

/* ---- block.c: memory for exports, from a small cache ---- */
#define CDV_LINE 64 /* of a cache */
/* Tells threads apart, mostly: by where their stacks are. */
static inline uintptr_t cdv_thread_hint(void) {
  char here;
  return (uintptr_t)&here >> 20;
}
/* by: the hint of the thread that made it. */
void *cdv_block_alloc(size_t size);
void cdv_block_free(void *block, size_t size, uintptr_t by);
void *cdv_small_alloc(size_t size); /* below 2 KiB, the same */
void cdv_small_free(void *block, uintptr_t by);
#define CDV_NODE_ROOT 0 /* kinds of nodes, each of one size */
#define CDV_NODE_VIEW 1
#define CDV_NODE_SCHEMA 2
#define CDV_NODE_KINDS 3
/* Has the lines of a struct fetched that will soon be needed; any address is legal. */
static inline void cdv_fetch_ahead(const void *p, size_t size) {
  for (size_t i = 0; i < size; i += 64) __builtin_prefetch((const void *)((uintptr_t)p + i));
}
void *cdv_node_alloc(int kind, size_t size);
void cdv_node_free(int kind, void *node);

/* ---- bitmap.c ---- */
int64_t cdv_bits_count(const uint8_t *bits, int64_t offset, int64_t length);
static inline int cdv_bit(const uint8_t *bits, int64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }
void cdv_bits_copy(uint8_t *to, int64_t to_offset, const uint8_t *from, int64_t from_offset, int64_t length);
void cdv_bits_set(uint8_t *to, int64_t offset, int64_t length); /* to 1 */

/* ---- slots.c ---- */
struct cdv_supply;
struct cdv_slot {
  cdevice_backend table;               /* full-size copy, holes filled with stubs */
  atomic_llong live;                   /* arrays, blocks and events that need it */
  atomic_int state;                    /* CDV_SLOT_* */
  struct cdv_slot *next;               /* of those removed */
  int generation;                      /* forks counted when it was started */
  uintptr_t starter;                   /* see CDV_SLOT_STARTING */
  _Atomic(struct cdv_supply *) supply; /* an allocator that was set, or NULL */
  atomic_llong aligned;                /* of the device asked last: its number + 2, above 32 bits of alignment */
};
#define CDV_SLOT_NEW 0
#define CDV_SLOT_STARTED 1
#define CDV_SLOT_STARTING 2 /* by the thread `starter` */
extern _Atomic(struct cdv_slot *) cdv_slots[64];
struct cdv_slot *cdv_slot_other(int32_t device_type);
/* NULL: nobody serves that type.  A few nanoseconds; does not start the backend. */
static inline struct cdv_slot *cdv_slot_for(int32_t device_type) {
  if (device_type > 0 && device_type < 64) return atomic_load_explicit(&cdv_slots[device_type], memory_order_acquire);
  return cdv_slot_other(device_type);
}
static inline void cdv_slot_use(struct cdv_slot *slot, long long n) {
  if (slot) atomic_fetch_add(&slot->live, n); /* against cdv_unregister, which hides the slot and then looks */
}
/* The place of a type's slot, made when missing; NULL: no memory for it.  Under the registry's lock. */
_Atomic(struct cdv_slot *) *cdv_slot_place(int32_t device_type);
const cdevice_memory *cdv_memory_of(struct cdv_slot *slot); /* or NULL */
const char *cdv_device_type_name(int32_t device_type);
/* "name:0", or the name alone without a number; good until this thread has asked twice more. */
const char *cdv_place_name(int32_t device_type, int64_t device_id);

/* ---- turn.c ---- */
/* Foreign code that one thread runs for all, without a lock: others wait for their turn with the same key. */
struct cdv_turn {
  struct cdv_turn *next;
  uint64_t key, awaited;
  pthread_t thread;
  bool waits; /* its thread does, for `awaited` */
};
/* Blocks while another thread has the turn.  0: it is this thread's, and what was to be done is looked at again; *me must
 * live until cdv_turn_end.  EDEADLK (no error is set): that thread waits for this one, or is this one. */
int cdv_turn_begin(struct cdv_turn *me, uint64_t key);
void cdv_turn_end(struct cdv_turn *me);

/* ---- door.c: functions of a table whose answers are looked at, as the table's otherwise ---- */
int cdv_door_alloc(struct cdv_slot *slot, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                   cdevice_error *err);
int cdv_door_borrow(const cdevice_allocator *from, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                    cdevice_error *err);
int cdv_door_view(struct cdv_slot *slot, const cdevice_block *whole, int64_t offset, int64_t nbytes, cdevice_block *out,
                  cdevice_error *err);
int cdv_door_stage(struct cdv_slot *slot, int64_t device, int64_t nbytes, cdevice_block *out);
int cdv_door_prepare(struct cdv_slot *slot, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
int cdv_door_count(struct cdv_slot *slot, int64_t *out, cdevice_error *err);
int cdv_door_info(struct cdv_slot *slot, int64_t device, cdevice_device_info *out, cdevice_error *err);
int cdv_door_done(struct cdv_slot *slot, int64_t device, void *event, int *done, cdevice_error *err);

/* ---- registry.c ---- */
/* load(type) is asked where no backend serves a type that is needed: 0, or an error in the slot.  Any thread. */
void cdv_set_loader(int (*load)(int32_t device_type));
/* Gives back what was kept for a table that was taken out and that nothing needs any more; whoever keeps such sets it. */
void cdv_set_forget(void (*forget)(struct cdv_slot *slot));
/* A backend, found if need be, not started; or an error in the slot (BackendUnavailable). */
int cdv_slot_find(int32_t device_type, struct cdv_slot **out);
/* The started backend, or an error in the slot (BackendUnavailable). */
int cdv_slot_ready(int32_t device_type, struct cdv_slot **out);
/* Starts it, unless that was done; refuses one that was started before a fork. */
int cdv_slot_start(struct cdv_slot *slot);
/* As cdv_slot_ready, and it is not taken out before cdv_slot_use(slot, -1). */
int cdv_slot_hold(int32_t device_type, struct cdv_slot **out);
/* May one work with memory, streams and events of the other?  A table that was replaced is alone. */
bool cdv_slot_related(const struct cdv_slot *a, const struct cdv_slot *b);
bool cdv_host_accessible(int32_t device_type);
/* To the log of the host: level as in Python's logging. */
void cdv_log(int level, const char *text);
/* May a function of this slot's table be called in this process?  Not in a forked child, for what the parent made: its
 * runtime is not there, its locks are as some thread of the parent's left them, and the memory is the parent's. */
bool cdv_slot_callable(const struct cdv_slot *slot);
/* Registers every table an init function hands out whose type is free; EEXIST when none was.  who: for messages. */
int cdv_load_tables(cdevice_backend_init_fn init, const char *who, int replace);
/* Is the struct of a backend, which may be older, long enough to have this member, and is it set? */
#define CDV_HAS(m, member) \
  ((m) && (m)->struct_size >= offsetof(cdevice_memory, member) + sizeof(m)->member && (m)->member)

/* ---- recall.c: see cdevice_host ---- */
int64_t cdv_recall(const char *key, void *data, int64_t nbytes);
void cdv_remember(const char *key, const void *data, int64_t nbytes);

/* ---- defer.c ---- */
void cdv_defer_push(struct cdv_deferred *node);
struct cdv_deferred *cdv_defer_take(void);
bool cdv_defer_pending(void);

/* ---- schema.c ---- */
struct cdv_template;
struct cdv_schema {
  atomic_long refs;
  struct cdv_schema *owner; /* the one that owns the nodes, or NULL: this one does */
  const struct ArrowSchema *node;
  struct ArrowSchema own;
  _Atomic(struct cdv_template *) template;
  _Atomic uint64_t type; /* two that have the same number here are of one type; 0: not compared yet */
};
/* owns: moves *schema in; on error it is untouched. */
int cdv_schema_import(struct ArrowSchema *schema, struct cdv_schema **out);
int cdv_schema_adopt(struct ArrowSchema *schema, struct cdv_schema **out); /* without the check */
int cdv_schema_check(const struct ArrowSchema *schema);
int cdv_schema_export(struct cdv_schema *schema, struct ArrowSchema *out);
/* Of a one-letter format that means numbers, nullable and without a name; a new reference.  NULL: another letter. */
struct cdv_schema *cdv_schema_of_number(char letter);
/* A schema for a node below (borrowed from schema's owner).  New reference. */
struct cdv_schema *cdv_schema_at(struct cdv_schema *schema, const struct ArrowSchema *node);
struct cdv_schema *cdv_schema_ref(struct cdv_schema *schema);
void cdv_schema_unref(struct cdv_schema *schema);
/* Deep copy into malloc'ed nodes. */
int cdv_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out);
/* top: the name and the nullability of the top count as well; they say nothing of the type. */
bool cdv_schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b, bool metadata, bool top);
/* cdv_schema_equal() without metadata and top; what was found equal once is not compared again. */
bool cdv_schema_same_type(struct cdv_schema *a, struct cdv_schema *b);
/* How the first is not as the second, in words. */
void cdv_schema_difference(const struct ArrowSchema *a, const struct ArrowSchema *b, char *out, size_t room);
/* Same types in the same shape; names, nullability and metadata may differ. */
bool cdv_schema_castable(const struct ArrowSchema *a, const struct ArrowSchema *b);
/* Bytes of an encoded metadata block; 0 for NULL. */
int64_t cdv_metadata_size(const char *metadata);
/* Does the block end within so many bytes, and say nothing impossible? */
bool cdv_metadata_fits(const char *metadata, int64_t size);
/* "d:5,2" and "d:5,2,128" are one type. */
bool cdv_format_equal(const char *a, const char *b);

/* ---- array.c ---- */
struct cdv_array {
  atomic_long refs;
  struct cdv_array *root; /* the one that owns the memory; a root points to itself */
  struct cdv_schema *schema;
  const struct ArrowArray *node;
  int64_t offset, length;
  atomic_llong null_count; /* -1: not known yet */
  _Atomic(struct cdv_template *) template;
  /* of the root only */
  struct cdv_slot *slot;
  struct ArrowDeviceArray own;
  struct cdv_owner owner;      /* drop(owner) when the root goes; may be NULL */
  struct cdv_event *event;     /* an event of our own, to which own.sync_event points; or NULL */
  const cdevice_block *packed; /* the one allocation that all buffers are in, their places noted beside them; or NULL */
  atomic_int event_done;       /* the host has seen it pass */
  int64_t n_blocks;
  cdevice_block *blocks;
  struct cdv_loan *loan;    /* blocks[0] came from an allocator that was set; or NULL */
  struct cdv_shared *queue; /* keeps the stream that the blocks were allocated for, which release asks; or NULL */
};
/* For an array that was just copied, on the copying thread: a reference for as long as it has memory of its own. */
void cdv_array_keep(struct cdv_array *array, struct cdv_shared *queue);

/* Of a root: whose memory it is, whoever serves the type by now. */
void cdv_array_made_by(struct cdv_array *root, struct cdv_slot *slot);

/* ---- origin.c ---- */
/* The backend that made it, or that serves its type where it came without one; started.  It reads, waits and frees,
 * whichever backend serves the type by now.  Borrowed: the array keeps it. */
int cdv_array_slot(struct cdv_array *array, struct cdv_slot **out);
bool cdv_array_host_accessible(const struct cdv_array *array);

/* ---- measure.c ---- */
/* Counts on the CPU when unknown; -1 when the memory cannot be read here. */
int64_t cdv_array_null_count(struct cdv_array *array);
/* Bytes of the buffers that the slice covers, children included; -1 parts unknown. */
int64_t cdv_array_nbytes(struct cdv_array *array);
/* Size in bytes of buffer i of this node for its own slice's end, as far as it can be known without waiting; -1. */
int64_t cdv_array_buffer_size(struct cdv_array *array, int64_t i);
/* Can the CPU read it now?  0 yes; else an error that says what to do. */
int cdv_array_readable(struct cdv_array *array, const char *doing);
/* A schema that is asked for says "not null" only where that is known of the data, or was said before.  array: the data;
 * NULL: data to come. */
void cdv_keep_nullable(const struct ArrowSchema *have, struct cdv_array *array, struct ArrowSchema *want);
/* May an array that says it is of this device type stand among those of another?  One without a buffer anywhere that calls
 * itself CPU may: libarrow's do in every stream. */
bool cdv_may_be_elsewhere(int32_t device_type, const struct ArrowArray *node);

/* ---- array.c: what is done with one ---- */
/* owns: moves *array in (release becomes NULL); on error it is untouched.  Takes a reference on schema.
 * level: 0 none, 1 structure, 2 full. */
int cdv_array_import(struct ArrowDeviceArray *array, struct cdv_schema *schema, int level, struct cdv_array **out);
/* The same with a schema that is moved in along. */
int cdv_import_pair(struct ArrowSchema *schema, struct ArrowDeviceArray *array, int level, struct cdv_array **out);
/* An array over memory of `owner`, built from parts.  children are shared, not consumed.  buffers are copied.
 * owns: on success owner is dropped with the array; on error it stays the caller's. */
struct cdv_parts {
  int32_t device_type;
  int64_t device_id, length, offset, null_count, n_buffers;
  const void *const *buffers;
  int64_t n_children;
  struct cdv_array *const *children;
  struct cdv_array *dictionary;
  void *sync_event;     /* borrowed from owner, or NULL */
  const int64_t *sizes; /* bytes that each buffer has, -1: not known; or NULL */
};
int cdv_array_build(struct cdv_schema *schema, const struct cdv_parts *parts, struct cdv_owner owner, int level,
                    struct cdv_array **out);
/* owns: on success out->array.release must be called; any number of times from one array. */
int cdv_array_export(struct cdv_array *array, struct ArrowDeviceArray *out);
struct cdv_array *cdv_array_ref(struct cdv_array *array);
void cdv_array_unref(struct cdv_array *array);
/* New views.  child: i of n_children, or -1 for the dictionary; cut: children that share the parent's rows are cut to
 * them. */
int cdv_array_slice(struct cdv_array *array, int64_t offset, int64_t length, struct cdv_array **out);
int cdv_array_child(struct cdv_array *array, int64_t i, bool cut, struct cdv_array **out);
/* As cdv_array_export, but uses up the reference: a struct that was imported and that nobody else holds moves on as it
 * is.  On an error the reference is still the caller's. */
int cdv_array_hand_over(struct cdv_array *array, struct ArrowDeviceArray *out);
/* Asks the caches for what an export of the array reads.  In three steps, as each is found through the one before: 0 its
 * structs, 1 its template, 2 its lists of buffers; changes nothing. */
void cdv_array_expect(struct cdv_array *array, int step);

/* ---- stream.c ---- */
/* A source of arrays.  Kinds put this first in a struct of their own. */
struct cdv_stream {
  int32_t device_type;
  int64_t device_id; /* of the last array that had one */
  struct cdv_schema *schema;
  /* The next array (a new reference), or NULL at the end.  May block. */
  int (*next)(struct cdv_stream *self, struct cdv_array **out);
  /* Frees what next needed, and the struct.  Any thread. */
  void (*close)(struct cdv_stream *self);
  /* Ends a next that waits on another thread, soon, in an error; later ones too.  Never blocks.  NULL: it cannot. */
  void (*interrupt)(struct cdv_stream *self);
  /* The stream that this one takes from and alone owns, also through a struct of ours, or NULL.  NULL: there is none. */
  struct cdv_stream *(*below)(struct cdv_stream *self);
  char *metadata; /* of the array that came last, malloc'ed, or NULL */
  bool quick;     /* next neither blocks nor enters Python */
  bool python;    /* next enters Python */
  bool keeps;     /* what Python raises there is kept for a consumer in Python, on another thread */
  bool ordered;   /* `order`, a stream of this device type, waits for each array's event */
  void *order;
  int state;     /* open, ended, failed */
  char why[256]; /* of the failure */
};
/* For makers of kinds: fills the head; takes a reference on schema. */
void cdv_stream_init(struct cdv_stream *s, struct cdv_schema *schema, int32_t device_type,
                     int (*next)(struct cdv_stream *, struct cdv_array **), void (*close)(struct cdv_stream *));
/* *out: a new reference, or NULL at the end, again and again.  After an error every call fails.  Refuses an array of
 * another device type or another schema. */
int cdv_stream_next(struct cdv_stream *s, struct cdv_array **out);
/* For makers of kinds: imports what a foreign producer sent to a stream of that device.  owns: moves *d in, also on an
 * error, where it is released. */
int cdv_stream_accept(struct ArrowDeviceArray *d, struct cdv_schema *schema, int level, int32_t device_type,
                      int64_t device_id, struct cdv_array **out);
/* As cdv_array_hand_over, for who was told that the array comes from this stream's device. */
int cdv_stream_hand_over(const struct cdv_stream *s, struct cdv_array *array, struct ArrowDeviceArray *out);
/* May wait for a thread of ours that is not inside the source; never for the device. */
void cdv_stream_close(struct cdv_stream *s);
/* See cdv_stream.interrupt.  The caller keeps s from being closed meanwhile. */
void cdv_stream_interrupt(struct cdv_stream *s);
/* See cdv_stream.below.  For walks. */
struct cdv_stream *cdv_stream_below(struct cdv_stream *s);
/* What waits of ours for somebody else call every CDV_SLICE nanoseconds: 0, or this thread's error, which ends the
 * wait (Ctrl-C). */
#define CDV_SLICE 50000000
void cdv_set_look_up(int (*look_up)(void));
int cdv_look_up(void);
/* Forks since the process began: what another thread works for is of no use on the other side of one. */
int cdv_forks(void);
/* Over arrays that are there.  owns: takes a reference on each. */
int cdv_stream_of_arrays(struct cdv_schema *schema, int32_t device_type, struct cdv_array *const *arrays, int64_t n,
                         struct cdv_stream **out);
/* owns: moves *in (release becomes NULL), also on an error, where it is released.  Calls get_schema, so it may block.
 * level: as for cdv_array_import, for each array. */
int cdv_stream_import(struct ArrowDeviceArrayStream *in, int level, struct cdv_stream **out);
int cdv_stream_import_plain(struct ArrowArrayStream *in, int level, struct cdv_stream **out);
/* owns: s moves into *out; on an error it stays the caller's.  schema: what is announced instead of the stream's own, the
 * same types under other names, or NULL.  The plain form waits for each array's event. */
int cdv_stream_export(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowDeviceArrayStream *out);
int cdv_stream_export_plain(struct cdv_stream *s, struct cdv_schema *schema, struct ArrowArrayStream *out);
/* ---- ahead.c ---- */
/* Each array copied to a device (as cdv_array_copy), `ahead` of them before they are asked for; queue: see
 * cdv_array_keep, or NULL.  A thread does it, except where the source enters Python; any_thread: there too.  owns: takes s over; on an error it stays the caller's. */
int cdv_stream_copy(struct cdv_stream *s, int32_t device_type, int64_t device_id, void *stream,
                    struct cdv_shared *queue, int64_t ahead, bool any_thread, struct cdv_stream **out);

/* ---- dlpack.c ---- */
/* owns: (*out)->deleter is the caller's to call; it keeps the array.  flags: DLPACK_FLAG_*. */
int cdv_dlpack_export(struct cdv_array *array, uint64_t flags, DLManagedTensorVersioned **out);
int cdv_dlpack_export_legacy(struct cdv_array *array, DLManagedTensor **out);
/* The tensor of an array of numbers, not of lists: its parts are the array's, valid for as long as the caller keeps it.
 * Allocates nothing. */
int cdv_dlpack_lend(struct cdv_array *array, DLTensor *out);
/* owns: on success owner is dropped with the array; on an error it stays the caller's. */
int cdv_dlpack_import(const DLTensor *tensor, void *sync_event, struct cdv_owner owner, int level,
                      struct cdv_array **out);
/* The same behind all work that `stream` of the tensor's device has been given so far: the array carries an event.  May
 * start the backend; never waits for the device. */
int cdv_dlpack_import_behind(const DLTensor *tensor, void *stream, struct cdv_owner owner, int level,
                             struct cdv_array **out);
/* The stream of a device that work goes to where none is named: *out is `named`, or what the backend says where that is
 * NULL.  May start the backend; never waits for the device. */
int cdv_work_stream(int32_t device_type, int64_t device_id, void *named, void **out);
/* A tensor of that device, type and shape, writable, its values not set.  owns: (*out)->deleter is the caller's to call.
 * May start the backend, and wait for the device where memory is short. */
int cdv_dlpack_allocate(const DLTensor *like, DLManagedTensorVersioned **out);

/* ---- produce.c, production.c ---- */
/* Gives an opened one its source.  owns: takes source over and copies metadata (encoded as ArrowSchema.metadata, or
 * NULL); on an error source stays the caller's. */
int cdv_production_feed(struct cdv_production *p, struct cdv_stream *source, const char *metadata);
/* Both at once.  The handler is the consumer's; it must live until its release is called.  Nothing is called before run
 * or start. */
int cdv_production_new(struct cdv_stream *source, struct ArrowAsyncDeviceStreamHandler *handler, const char *metadata,
                       struct cdv_production **out);
struct cdv_production *cdv_production_ref(struct cdv_production *p);
/* One that was never run: its source is the caller's again, and its handler may be given to another. */
void cdv_production_abandon(struct cdv_production *p);
void cdv_production_error(struct cdv_production *p); /* what it failed with becomes this thread's error */
extern atomic_llong cdv_async_objects;
/* Is this producer one of ours, and so valid while anything of it is held? */
bool cdv_is_production(const struct ArrowAsyncProducer *p);

/* ---- consume.c ---- */
void cdv_consumer_unref(struct cdv_consumer *c); /* of the owner: closes it */
void cdv_consumer_hold(struct cdv_consumer *c);  /* keeps its memory alone */
void cdv_consumer_let_go(struct cdv_consumer *c);
/* The handler, which is nobody's yet: cdv_consumer_handler gives it away. */
struct ArrowAsyncDeviceStreamHandler *cdv_consumer_face(struct cdv_consumer *c);
/* Takes a handler of ours for one producer, or (take = 0) gives it back unused.  0; EBUSY: it was taken before; ENOENT: it
 * is none of ours. */
int cdv_handler_claim(struct ArrowAsyncDeviceStreamHandler *handler, int take);
/* On: the next task will be followed at once by another or by the end, so that nobody need be woken for it; for handlers
 * of ours, on the producer's thread.  quick: whatever is asked for can be sent at once. */
void cdv_handler_hush(struct ArrowAsyncDeviceStreamHandler *handler, bool on, bool quick);
/* May more come as soon as the producer's thread runs? */
bool cdv_consumer_is_fed(struct cdv_consumer *c);
/* The next array, extracted on this thread; 0 with *out NULL: the end; EAGAIN (no error set): nothing after that many
 * nanoseconds (< 0: no limit).  metadata: where not NULL, the task's, malloc'ed, or NULL.  What came before an error is
 * given first. */
int cdv_consumer_take(struct cdv_consumer *c, int64_t nanoseconds, struct cdv_array **out, char **metadata);
struct cdv_schema *cdv_consumer_schema(struct cdv_consumer *c); /* borrowed; NULL before it came */
const char *cdv_consumer_metadata(struct cdv_consumer *c);      /* of the producer; NULL: none */
/* As a stream.  owns: takes over the owner's reference; on an error it stays the caller's.  Blocks until the schema is
 * there. */
int cdv_consumer_stream(struct cdv_consumer *c, struct cdv_stream **out);

/* ---- check.c ---- */
/* Checks a struct against its schema before anything is used.  Reads the node structs, and on memory that the
 * CPU may read one offset per variable-size buffer.  level 2 also reads contents. */
/* *extra: somewhere in it a null array has a buffer, which it should not and polars' have. */
int cdv_check(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, int level, bool *extra);
/* The same; sizes: bytes that the buffers of the root have, -1: not known. */
int cdv_check_sized(const struct ArrowSchema *schema, const struct ArrowDeviceArray *array, const int64_t *sizes,
                    int level, bool *extra);
int cdv_check_view(struct cdv_array *array, int level);
/* Contents of a node and of those below, which the CPU may read: what they point to is there.  Not whether text is text. */
int cdv_check_values(const struct ArrowSchema *schema, const struct ArrowArray *array);

/* ---- equal.c ---- */
/* Same type (names aside) and same values; both readable by the CPU. */
int cdv_array_equal(struct cdv_array *a, struct cdv_array *b, bool nans_equal, int *equal);
/* The same for nodes of one type, which the CPU may read and whose contents were checked. */
bool cdv_nodes_equal(const struct ArrowSchema *schema, const struct ArrowArray *a, const struct ArrowArray *b);

/* ---- copy.c ---- */
/* To a device, on `stream` of the target (of the source, when the target is the CPU; NULL: its current stream).
 * always: copy even if the data is there.  The result carries an event where the target has events; a CPU result is
 * complete.  owns: the source is untouched; *out is a new reference.  blocks: only where sizes must be read from a
 * device first, where a staging chunk is used again, and for a CPU target. */
int cdv_array_copy(struct cdv_array *array, int32_t device_type, int64_t device_id, void *stream, bool always,
                   struct cdv_array **out);

/* ---- empty.c ---- */
/* Rows that nobody has written, of types whose sizes follow from the length; for work on `stream` (as in cdv_array_copy),
 * an event tells others when they may begin.  validity: every node has a bitmap, but a struct at the top.  Does not block.
 * owns: *out is a new reference. */
int cdv_array_empty(struct cdv_schema *schema, int64_t length, bool validity, int32_t device_type, int64_t device_id,
                    void *stream, struct cdv_array **out);
/* The array of what was written to such a one, on the same memory, its event behind what is enqueued on `stream` (NULL:
 * the current one).  null_count: of the top, -1 unknown.  Does not block.  owns: the first is untouched; *out is a new
 * reference. */
int cdv_array_freeze(struct cdv_array *written, void *stream, int64_t null_count, struct cdv_array **out);

/* ---- concat.c ---- */
/* The rows of n > 0 arrays of one type, one after the other, in one allocation, with the names of the first.
 * device_type 0: on the device that all are on; else stream is as for cdv_array_copy.  An event as after a copy.  Does not
 * wait for sources of fixed width without nulls on the target's device or one of its family; others that lie on a device are
 * waited for and pass through the CPU.  owns: the sources are untouched; *out is a new reference. */
int cdv_array_concat(struct cdv_array *const *arrays, int64_t n, int32_t device_type, int64_t device_id, void *stream,
                     struct cdv_array **out);

/* ---- stage.c ---- */
struct cdv_stage {
  char *memory; /* 64-byte aligned */
  int64_t size;
  struct cdv_slot *slot; /* whose pinned memory it is, or NULL */
  cdevice_block block;
};
bool cdv_stage_pins(struct cdv_slot *slot); /* has it host memory that its copies are faster with? */
/* For copies to or from that device; slot may be NULL. */
int cdv_stage_get(struct cdv_slot *slot, int64_t device, int64_t nbytes, struct cdv_stage *out);
/* The device is done with it.  A chunk without memory is legal. */
void cdv_stage_put(struct cdv_stage *stage);

/* ---- helpers.c ---- */
/* part(arg, begin, end) for all of [0, total) in slices, on this thread and others; all at once where the helpers have
 * something else to do.  Returns when all is done. */
void cdv_do_parts(int crew, cdevice_part part, void *arg, int64_t total, int64_t slice);

/* ---- move.c ---- */
struct cdv_move {
  char *dst;
  const char *src;
  int64_t nbytes;
  int64_t at; /* set by cdv_move */
};
/* As memcpy for each in turn; sources and targets may not overlap.  Large ones are shared with helping threads. */
void cdv_move(struct cdv_move *moves, size_t n);

/* ---- allocator.c ---- */
struct cdv_loan;
/* As the backend's alloc, or from the allocator that was set for it; *loan is then what cdv_loan_end gives back instead
 * of the backend's free, else NULL. */
int cdv_lend(struct cdv_slot *slot, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
             struct cdv_loan **loan, cdevice_error *err);
/* Host memory that cdevice_memory.commit or discard takes; ENOTSUP (no error is set): the device has none, or an
 * allocator was set for it. */
int cdv_prepare(struct cdv_slot *slot, int64_t device, int64_t nbytes, cdevice_block *out, cdevice_error *err);
/* Any thread; never blocks.  owns: the reference on what keeps the stream it was allocated for (or NULL), dropped when the
 * memory is the allocator's again. */
void cdv_loan_end(struct cdv_loan *loan, struct cdv_shared *queue);

/* ---- finish.c ---- */
/* exit() does as much where Python has not done it (a C program that embeds).  To be called whenever a backend has built
 * something that it may still work on.  Any thread. */
void cdv_finish_before_exit(void);

/* ---- reclaim.c ---- */
/* Does this error of a backend say that the event has failed or the device is dead, so that nothing will run any more?
 * Every other error says nothing of the device: ask again, and give no memory back. */
static inline bool cdv_is_dead(int code) { return code == EIO; }
struct cdv_kept { /* the caller's memory, put first in what it belongs to */
  struct cdv_kept *next;
  struct cdv_event *event;
  void (*run)(struct cdv_kept *k);
};
/* Calls run(k) on the reclaimer's thread once the device has passed the event or it has failed; *k must live until
 * then.  Never blocks.  On an error, of memory or of a dead device, run is not called. */
int cdv_when_passed(struct cdv_event *event, struct cdv_kept *k, void (*run)(struct cdv_kept *));

/* ---- keep.c ---- */
/* Keeps a source (or NULL) and two staging chunks until an event has passed.  owns: on success the chunks are taken over
 * and without memory afterwards. */
int cdv_keep_until(struct cdv_event *event, struct cdv_array *source, struct cdv_stage stages[2]);
/* Keeps the memory of an array until all work enqueued on `stream` (of its device) so far is done. */
int cdv_record_use(struct cdv_array *array, void *stream);

/* ---- leftover.c: memory of what failed, which devices may still write to or read ---- */
struct cdv_leftover {
  const char *who;                   /* for the log: what leaves it; NULL: "a failed copy" */
  int64_t nbytes;                    /* for the log; 0: unknown */
  struct cdv_array *source, *target; /* or NULL */
  void *memory;                      /* malloc'ed, or NULL */
  void *memory_of_nodes;
  void (*free_nodes)(void *);
  struct cdv_stage stages[4];
  int n_stages;
};
struct cdv_user { /* a stream that was given work; slot NULL: none */
  struct cdv_slot *slot;
  int64_t device;
  void *stream;
};
/* Gives all of it back behind the streams' work so far: now where that is done within moments, else on the reclaimer's
 * thread.  Where it cannot be known when the work is done it stays for good, and the log says so: better lost than changed
 * under somebody else.  owns: takes over what *left names.  Blocks for a twentieth of a second at most, longer only in a
 * backend that can record no event. */
void cdv_give_back_behind(const struct cdv_leftover *left, const struct cdv_user users[2]);

/* ---- event.c: the only reader of sync_event ---- */
/* A recorded event of our own, counted: its array and the reclaimer may both need it. */
struct cdv_event {
  atomic_int refs;
  struct cdv_slot *slot;
  int64_t device;
  cdevice_event event;
};
/* Not recorded yet: whoever does it fills (*out)->event in place. */
int cdv_event_new(struct cdv_slot *slot, int64_t device, struct cdv_event **out);
/* Recorded behind all work of the stream so far.  *out is NULL where there is nothing to wait for. */
int cdv_event_record(struct cdv_slot *slot, int64_t device, void *stream, struct cdv_event **out);
void cdv_event_unref(struct cdv_event *event);
/* As event_done of the backend, for memory that goes back: that the device is dead is believed when it is said twice, for
 * one question may fail alone. */
int cdv_event_over(const struct cdv_event *event, int *done);
int cdv_event_ready(struct cdv_array *array, int *done);
int cdv_event_wait_host(struct cdv_array *array);
/* The same for a limited time; *done says how it ended. */
int cdv_event_wait_for(struct cdv_array *array, int64_t nanoseconds, int *done);
/* Makes a stream of this device wait. */
int cdv_event_wait_stream(struct cdv_array *array, int32_t device_type, int64_t device, void *stream);

/* cffi: end */

#endif
