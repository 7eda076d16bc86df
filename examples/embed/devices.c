/* devices.c - the devices by type, with their numbers, and why there are no others. */
#include <cdevice/cdevice.h>

#include <stdio.h>

int main(void) {
  int32_t types[64];
  int64_t n = 0;
  if (cdevice_start()) {
    fprintf(stderr, "%s\n", cdevice_start_error());
    return 1;
  }
  if (cdevice_device_types(types, 64, &n)) {
    fprintf(stderr, "%s\n", cdevice_error_text());
    return 1;
  }
  for (int64_t i = 0; i < n && i < 64; i++) {
    int64_t count = 0;
    if (cdevice_device_count(types[i], &count)) {
      printf("%-16s %s\n", "-", cdevice_error_text());
      continue;
    }
    for (int64_t id = 0; id < count; id++) {
      cdevice_device_info info;
      const cdevice_backend *b = cdevice_backend_for(types[i]);
      if (cdevice_get_device_info(types[i], id, &info) == 0)
        printf("%s:%-8lld %s\n", b ? b->name : "?", (long long)id, info.name);
    }
  }
  return 0;
}
