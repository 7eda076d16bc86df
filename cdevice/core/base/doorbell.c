/* doorbell.c - a descriptor that becomes readable, for event loops: an eventfd. */
#include "core/base/doorbell.h"

#include <errno.h>

#ifdef __linux__
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int cdv_doorbell_new(void) {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
}

void cdv_doorbell_ring(int descriptor) {
  uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

void cdv_doorbell_clear(int descriptor) {
  uint64_t old;
  while (read(descriptor, &old, sizeof old) < 0 && errno == EINTR) {}
}

void cdv_doorbell_free(int descriptor) { close(descriptor); }

#else
int cdv_doorbell_new(void) { return -ENOTSUP; }
void cdv_doorbell_ring(int descriptor) { (void)descriptor; }
void cdv_doorbell_clear(int descriptor) { (void)descriptor; }
void cdv_doorbell_free(int descriptor) { (void)descriptor; }
#endif
