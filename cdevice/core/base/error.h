/* error.h - one slot per thread for what went wrong last. */
#ifndef CDEVICE_CORE_BASE_ERROR_H
#define CDEVICE_CORE_BASE_ERROR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cdevice: this processor is big-endian; Arrow's buffers are read and written as little-endian ones, so use a little-endian processor (x86-64, arm64)"
#endif

struct cdv_shared;

/* cffi: begin */
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
  int64_t buffer;   /* index of the buffer the complaint is about, or -1 */
  int raised;       /* it is what a Python source raised, which is its cause */
  int is_interrupt; /* its cause stops programs: reported at once, and raised as itself */
  int retryable;    /* a wait was interrupted and nothing was taken: the same call may be made again */
  uint64_t cause;   /* number of the Python exception behind it, or 0; see cdv_error_cause */
  char vendor_name[64];
  char node[512]; /* path of the node, "columns[3].dictionary"; empty: the root */
  char message[1536];
};
/* cffi: end */

struct cdv_error *cdv_error_last(void);
/* The return code of third-party C as an errno; 0 stays. */
static inline int cdv_errno(int code) { return code < 0 ? EIO : code; }
#if defined(__MINGW32__)
__attribute__((format(gnu_printf, 3, 4)))
#elif defined(__GNUC__)
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
void cdv_error_set_cause(struct cdv_shared *exception, int urgent);
struct cdv_shared *cdv_error_cause(void);      /* borrowed; NULL: none */
struct cdv_shared *cdv_error_take_cause(void); /* moves it out */
/* The same for what a backend reports in err, once that becomes this thread's error.  owns. */
void cdv_error_attach_cause(const cdevice_error *err, struct cdv_shared *exception, int urgent);
/* An error that is kept for later or for another thread.  A plain copy of struct cdv_error loses its cause. */
struct cdv_saved_error {
  struct cdv_error error;
  struct cdv_shared *cause;
};
void cdv_error_save(struct cdv_saved_error *to);            /* this thread's */
void cdv_error_restore(const struct cdv_saved_error *from); /* becomes this thread's; stays kept */
void cdv_error_clear(struct cdv_saved_error *kept);         /* its share of the cause */

#endif
