/* error.c - one slot per thread for what went wrong last. */
#include "core.h"

#include <string.h>

static _Thread_local struct cdv_error slot;

struct cdv_error *cdv_error_last(void) { return &slot; }

static void clear(int kind, int code) {
  slot.kind = kind;
  slot.code = code;
  slot.vendor_code = 0;
  slot.vendor_name[0] = 0;
  slot.device_type = 0;
  slot.device_id = -1;
  slot.buffer = -1;
  slot.raised = 0;
  slot.node[0] = 0;
}

int cdv_fail(int kind, int code, const char *format, ...) {
  char text[sizeof slot.message]; /* the arguments may point into the slot */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  clear(kind, code);
  memcpy(slot.message, text, sizeof text);
  return code;
}

int cdv_fail_backend(int code, const cdevice_error *err, int32_t device_type, int64_t device_id, const char *doing) {
  int kind = code == ENODEV    ? CDV_UNAVAILABLE
             : code == ENOMEM  ? CDV_MEMORY
             : code == ENOTSUP ? CDV_UNSUPPORTED
                               : CDV_DEVICE;
  clear(kind, code);
  slot.device_type = device_type;
  slot.device_id = device_id;
  slot.vendor_code = err->vendor_code;
  memcpy(slot.vendor_name, err->vendor_name, sizeof slot.vendor_name);
  slot.vendor_name[sizeof slot.vendor_name - 1] = 0;
  char where[64];
  if (device_id >= 0)
    snprintf(where, sizeof where, "%s:%lld", cdv_device_type_name(device_type), (long long)device_id);
  else
    snprintf(where, sizeof where, "%s", cdv_device_type_name(device_type));
  const char *text = err->message[0] ? err->message : strerror(code);
  size_t n = strlen(doing);
  if (!strncmp(text, doing, n) && text[n] == ':')
    text += n + 1 + (text[n + 1] == ' '); /* both say what was being done */
  if (slot.vendor_code || slot.vendor_name[0])
    snprintf(slot.message, sizeof slot.message, "%s: %s: %s [%s %d]", where, doing, text, slot.vendor_name,
             slot.vendor_code);
  else
    snprintf(slot.message, sizeof slot.message, "%s: %s: %s", where, doing, text);
  return code;
}

int cdv_fail_memory(int64_t nbytes, const char *what) {
  return cdv_fail(CDV_MEMORY, ENOMEM, "out of memory: %lld bytes for %s", (long long)nbytes, what);
}
