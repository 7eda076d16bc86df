/* no_such_device.h - which number of a device is that of none. */
#ifndef CDEVICE_NATIVE_SUPPORT_NO_SUCH_DEVICE_H
#define CDEVICE_NATIVE_SUPPORT_NO_SUCH_DEVICE_H

#include "core/backend/registry.h"
#include "core/backend/table.h"
#include "core/base/error.h"

/* Is there no such device?  Then that is this thread's error, with a message; else the reported error stays. */
static bool no_such_device(int32_t type, int64_t id) {
  struct cdv_error kept = *cdv_error_last();
  int64_t n = 0;
  if (type == ARROW_DEVICE_CPU || cdv_device_count(type, &n) || (id >= 0 && id < n)) {
    *cdv_error_last() = kept;
    return false;
  }
  const char *name = cdv_device_type_name(type);
  if (n > 0) {
    cdv_fail(CDV_ARGUMENT, EINVAL, "no device %s:%lld: there %s %lld", name, (long long)id, n == 1 ? "is" : "are",
             (long long)n);
    return true;
  }
  cdv_fail(CDV_UNAVAILABLE, ENODEV, "no device %s:%lld: %s finds none here", name, (long long)id, name);
  cdv_error_last()->device_type = type;
  cdv_error_last()->device_id = id;
  return true;
}

#endif
