/* error.c - one slot per thread for what went wrong last. */
#include "core/base/error.h"
#include "cdevice/backend.h"
#include "core/backend/table.h"
#include "core/base/owner.h"
#include "core/base/system.h"

#include <pthread.h>
#include <string.h>

static _Thread_local struct cdv_error backend;

struct cdv_error *cdv_error_last(void) { return &backend; }

/* ---- the Python exception behind an error.  It stays outside the slot, which may be copied: only the number there and
 * here shows that they belong together. ---- */
static _Thread_local struct {
  uint64_t number;
  struct cdv_shared *exception;
} cause;

#define ATTACHED 4
static _Thread_local struct attached_cause { /* exceptions of backends in Python, until their error is this thread's */
  uint64_t text;
  int urgent;
  struct cdv_shared *exception;
} attached[ATTACHED];

static pthread_key_t at_thread_end;

static void forget_all(void *unused) {
  (void)unused;
  cdv_shared_unref(cause.exception);
  cause.exception = NULL;
  for (int i = 0; i < ATTACHED; i++) {
    cdv_shared_unref(attached[i].exception);
    attached[i].exception = NULL;
  }
}

__attribute__((constructor)) static void init(void) { pthread_key_create(&at_thread_end, forget_all); }

static void replace(struct cdv_shared **place, struct cdv_shared *exception) {
  struct cdv_shared *old = *place;
  *place = exception;
  if (exception) pthread_setspecific(at_thread_end, &cause);
  cdv_shared_unref(old);
}

void cdv_error_set_cause(struct cdv_shared *exception, int urgent) {
  static atomic_ullong count;
  replace(&cause.exception, exception);
  backend.cause = cause.number = exception ? atomic_fetch_add(&count, 1) + 1 : 0;
  backend.is_interrupt = exception && urgent;
}

struct cdv_shared *cdv_error_cause(void) {
  return backend.cause && backend.cause == cause.number ? cause.exception : NULL;
}

struct cdv_shared *cdv_error_take_cause(void) {
  struct cdv_shared *out = cdv_error_cause();
  if (out) cause.exception = NULL;
  replace(&cause.exception, NULL);
  cause.number = backend.cause = 0;
  return out;
}

static uint64_t digest(const char *text) { /* FNV-1a */
  uint64_t h = 14695981039346656037u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h;
}

void cdv_error_attach_cause(const cdevice_error *err, struct cdv_shared *exception, int urgent) {
  static _Thread_local unsigned at;
  struct attached_cause *l = &attached[at++ % ATTACHED];
  replace(&l->exception, exception);
  l->urgent = urgent;
  l->text = digest(err->message);
}

/* The cause whose text is reported, unless another must not be lost; unreported ones are dropped. */
static void take_lent(const cdevice_error *err) {
  struct attached_cause *found = NULL;
  uint64_t text = 0;
  for (int i = 0; i < ATTACHED; i++) {
    if (!attached[i].exception) continue;
    if (!text) text = digest(err->message);
    if (attached[i].urgent || (attached[i].text == text && !(found && found->urgent))) found = &attached[i];
  }
  if (found) {
    cdv_error_set_cause(found->exception, found->urgent);
    found->exception = NULL;
  }
  for (int i = 0; i < ATTACHED; i++) replace(&attached[i].exception, NULL);
}

void cdv_error_save(struct cdv_saved_error *to) {
  to->error = backend;
  to->cause = cdv_shared_ref(cdv_error_cause());
}

void cdv_error_restore(const struct cdv_saved_error *from) {
  backend = from->error;
  cdv_error_set_cause(cdv_shared_ref(from->cause), from->error.is_interrupt);
}

void cdv_error_clear(struct cdv_saved_error *kept) {
  cdv_shared_unref(kept->cause);
  kept->cause = NULL;
}

/* Length of the letter that begins here, 0: there is none. */
static size_t letter(const unsigned char *p) {
  size_t n = *p < 0x80                 ? 1
             : *p >= 0xC2 && *p < 0xE0 ? 2
             : *p >= 0xE0 && *p < 0xF0 ? 3
             : *p >= 0xF0 && *p < 0xF5 ? 4
                                       : 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  bool strange = (*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] >= 0xA0) || (*p == 0xF0 && p[1] < 0x90) ||
                 (*p == 0xF4 && p[1] >= 0x90);
  return strange ? 0 : n;
}

bool cdv_is_utf8(const char *text) {
  size_t n = 0;
  for (const unsigned char *p = (const unsigned char *)text; *p; p += n)
    if (!(n = letter(p))) return false;
  return true;
}

void cdv_make_utf8(char *text) {
  for (unsigned char *p = (unsigned char *)text; *p;) {
    size_t n = letter(p);
    if (!n) *p = '?';
    p += n ? n : 1;
  }
}

static void clear(int kind, int code) {
  backend.kind = kind;
  backend.code = code;
  backend.vendor_code = 0;
  backend.vendor_name[0] = 0;
  backend.device_type = 0;
  backend.device_id = -1;
  backend.buffer = -1;
  backend.raised = backend.is_interrupt = backend.retryable = 0;
  backend.node[0] = 0;
  backend.cause = 0;
  replace(&cause.exception, NULL);
}

int cdv_fail(int kind, int code, const char *format, ...) {
  char text[sizeof backend.message]; /* the arguments may point into the slot */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  code = code > 0 ? code : EIO;
  clear(kind, code);
  memcpy(backend.message, text, sizeof text);
  cdv_make_utf8(backend.message);
  return code;
}

int cdv_fail_backend(int code, const cdevice_error *err, int32_t device_type, int64_t device_id, const char *doing) {
  int kind = code == ENODEV    ? CDV_UNAVAILABLE
             : code == ENOMEM  ? CDV_MEMORY
             : code == ENOTSUP ? CDV_UNSUPPORTED
                               : CDV_DEVICE;
  int said = code;
  code = code > 0 ? code : EREMOTEIO;
  clear(kind, code);
  take_lent(err);
  backend.device_type = device_type;
  backend.device_id = device_id;
  backend.vendor_code = err->vendor_code;
  memcpy(backend.vendor_name, err->vendor_name, sizeof backend.vendor_name);
  backend.vendor_name[sizeof backend.vendor_name - 1] = 0;
  const char *where = cdv_device_name(device_type, device_id);
  char number[64];
  snprintf(number, sizeof number, "its code is %d, which is no errno", said);
  const char *text = err->message[0] ? err->message : said > 0 ? strerror(said) : number;
  size_t n = strlen(doing);
  if (!strncmp(text, doing, n) && text[n] == ':')
    text += n + 1 + (text[n + 1] == ' '); /* both say what was being done */
  if (backend.vendor_code || backend.vendor_name[0])
    snprintf(backend.message, sizeof backend.message, "%s: %s: %s [%s %d]", where, doing, text, backend.vendor_name,
             backend.vendor_code);
  else
    snprintf(backend.message, sizeof backend.message, "%s: %s: %s", where, doing, text);
  cdv_make_utf8(backend.message);
  cdv_make_utf8(backend.vendor_name);
  return code;
}

int cdv_fail_memory(int64_t nbytes, const char *what) {
  return cdv_fail(CDV_MEMORY, ENOMEM, "out of memory: %lld bytes for %s", (long long)nbytes, what);
}
