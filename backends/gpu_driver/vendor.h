/* vendor.h - the parameters of the template: what a vendor's file defines.
 *
 * Before it is included: RT_FAMILY ("cuda"), RT_N_KINDS (how many tables), RT_SAVED (the type of what rt_enter keeps
 * for rt_leave); of the compiler RT_COMPILER (what its functions' names begin with), RT_COMPILER_NAME,
 * RT_COMPILER_HINT (what to install), RT_COMPILER_OPTIONS (strings, a comma behind each), RT_COMPILER_FUNCTIONS(X)
 * (its own ones, as in dl.h) and RT_MOST_ITEMS (that a launch may have); RT_GONE (the code that reports of a stream or
 * an event that it is gone, where another vendor's reports it of the device; 0: there is none) and RT_EVENTS_ALONE (may
 * an event be asked when the stream that it was recorded on has been destroyed?).  After it, in any order: the small
 * functions below, with the vendor's calls.
 *
 *   rt_load(err)                       loads the library, notes its path in rt_library; ENODEV where there is none
 *   rt_enter(device, &saved)           makes the device current and the thread's capture mode relaxed, returns the
 *                                      vendor's code; rt_leave(saved) undoes both
 *   rt_malloc(kind, n, &p)  rt_mfree(kind, p)
 *   rt_memcpy(kind, host_kind, dst, src, n, stream)   rt_memset(p, byte, n, stream)
 *   rt_event_new(&e) rt_event_del(e) rt_event_rec(e, s) rt_event_ask(e) rt_event_sync(e)
 *   rt_event_new_timed(&e)  rt_event_elapsed(&milliseconds, e, other)   of events that were made so
 *   rt_can_record_context() rt_event_rec_all(device, e)   records after all streams of the device, if supported
 *   rt_capture(s, &status)             is the stream, or for the legacy one any that it follows, being captured?
 *   rt_stream_wait(s, e) rt_stream_new(&s) rt_stream_del(s) rt_stream_sync(s) rt_launch_host_func(s, fn, arg)
 *   rt_stream_ask(s)                   is it idle?  For streams of cdevice
 *   rt_device_sync()                   waits for the current device
 *   rt_enable_peer(device, other)              lets the current device reach the other's memory itself, if it can
 *   rt_pointer_attributes(p, &kind, &device, &bytes_behind)   rt_error_name(code)   rt_error_text(code)
 *   rt_memory_range(p, &begin, &size)   of the allocation; RT_NOT_SUPPORTED from these where the library has none:
 *   rt_memory_handle(begin, handle) rt_memory_open(handle, &p) rt_memory_close(p)
 *   rt_event_new_shared(&e) rt_event_handle(e, handle) rt_event_open(handle, &e)
 *   rt_count(&n) rt_describe(device, info)
 *   rt_can_call()                      does the library have what rt_launch_host_func needs?
 *   rt_compiler_open(dl)               finds the compiler's library; dl->tried lists the paths that failed
 *   rt_compiler_name(text, size, major, minor)   what it is, with its version
 *   rt_target(device, t, err)          what the compiler compiles for the device: fills t, see rt_target_info
 *   rt_code(program, t, data, &n)      what it has made; data NULL: only how large it is
 *   rt_module_new(&m, image) rt_module_del(m) rt_module_find(&f, m, name)   rt_can_launch()
 *   rt_launch(f, blocks, lanes, stream, arguments)
 *   rt_kinds[RT_N_KINDS]               {kind, device type, name, capabilities} of each table
 */
#ifndef CDEVICE_RUNTIME_VENDOR_H
#define CDEVICE_RUNTIME_VENDOR_H

#if !defined RT_FAMILY || !defined RT_N_KINDS || !defined RT_SAVED || !defined RT_COMPILER
#error "RT_FAMILY, RT_N_KINDS, RT_SAVED and the compiler's RT_COMPILER... are to be defined first: see above"
#endif
#if !defined RT_GONE || !defined RT_EVENTS_ALONE
#error "RT_GONE and RT_EVENTS_ALONE are to be defined first: see above"
#endif

#include "common/dl.h"

#include "cdevice/backend.h"

#include <errno.h>

typedef RT_SAVED rt_saved_context;

/* The error numbers that CUDA's driver, CUDA's runtime and HIP share. */
enum {
  RT_OK = 0,
  RT_INVALID = 1,
  RT_OOM = 2,
  RT_SHUTDOWN = 4,
  RT_STUB = 34,
  RT_NO_DRIVER = 35,
  RT_NO_DEVICE = 100,
  RT_BAD_DEVICE = 101,
  RT_BAD_CONTEXT = 201,
  RT_BAD_HANDLE = 400,
  RT_NOT_READY = 600,
  RT_NOT_SUPPORTED = 801,
  RT_MISMATCH = 803,
  RT_TOO_OLD = 804,
};
/* cuLaunchKernel's and hipModuleLaunchKernel's: the function; blocks and lanes of a block, three directions of each;
 * shared memory; the stream; pointers to the arguments; other ways of giving them */
#define RT_LAUNCH_ARGUMENTS \
  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)
enum { RT_CAPTURED = 900, RT_CAPTURED_BY_OTHERS = 906, RT_CAPTURE_LAST = 908 };
enum { RT_DEVICE = 0, RT_PINNED = 1, RT_MANAGED = 2 };

typedef struct rt_kind {
  int kind;
  int32_t device_type;
  const char *name;
  uint64_t capabilities;
} rt_kind;

/* What kernels are compiled to, for one device. */
typedef struct rt_target_info {
  char option[96]; /* the compiler's option for it */
  char name[64];   /* "sm_90" */
  int portable;    /* the driver compiles once more (PTX) */
} rt_target_info;

/* What the vendor's file defines; those returning int give the vendor's code. */
static const rt_kind rt_kinds[RT_N_KINDS];
static int rt_load(cdevice_error *err);
static int rt_count(int *n);
static int rt_describe(int device, cdevice_device_info *out);
static int rt_enter(int device, rt_saved_context *saved);
static void rt_leave(rt_saved_context *saved);
static int rt_malloc(int kind, size_t n, void **out);
static int rt_mfree(int kind, void *p);
static int rt_memcpy(int kind, int direction, void *dst, const void *src, size_t n, void *stream);
static int rt_memset(void *p, int byte, size_t n, void *stream);
static int rt_event_new(void **out);
static int rt_event_new_timed(void **out);
static int rt_event_elapsed(float *ms, void *from, void *to);
static int rt_event_del(void *event);
static int rt_event_rec(void *event, void *stream);
static int rt_can_record_context(void);
static int rt_event_rec_all(int device, void *event);
static int rt_capture(void *stream, int *status);
static int rt_event_ask(void *event);
static int rt_event_sync(void *event);
static int rt_stream_wait(void *stream, void *event);
static int rt_stream_new(void **out);
static int rt_stream_del(void *stream);
static int rt_stream_sync(void *stream);
static int rt_stream_ask(void *stream);
static int rt_device_sync(void);
static void rt_enable_peer(int device, int other);
static int rt_can_call(void);
static int rt_launch_host_func(void *stream, void (*fn)(void *), void *arg);
static int rt_pointer_attributes(const void *p, int *kind, int *device, int64_t *behind);
static int rt_memory_range(const void *p, void **begin, size_t *size);
static int rt_memory_handle(void *begin, cdevice_ipc_handle *out);
static int rt_memory_open(const cdevice_ipc_handle *handle, void **out);
static int rt_memory_close(void *p);
static int rt_event_new_shared(void **out);
static int rt_event_handle(void *event, cdevice_ipc_handle *out);
static int rt_event_open(const cdevice_ipc_handle *handle, void **out);
static int rt_compiler_open(cdevice_dl *dl);
static void rt_compiler_name(char *out, size_t size, int major, int minor);
static int rt_target(int device, rt_target_info *out, cdevice_error *err); /* an errno; the device is current */
static int rt_code(void *program, const rt_target_info *target, char *data, size_t *n); /* the compiler's code */
static int rt_can_launch(void);
static int rt_module_new(void **out, const void *image);
static int rt_module_del(void *module);
static int rt_module_find(void **out, void *module, const char *name);
static int rt_launch(void *function, unsigned blocks, unsigned lanes, void *stream, void **arguments);
static const char *rt_error_name(int code);
static const char *rt_error_text(int code);

#endif
