/* test_core_system.c - what systems call by different names (core/base/system.h, doorbell.h), and that what a system does not
 * have is refused in a sentence. */
#include "check.h"
#include "core/array/array.h"
#include "core/base/doorbell.h"
#include "core/base/error.h"
#include "core/base/system.h"
#include "core/format/schema.h"
#include "core/ipc/broker.h"
#include "core/ipc/segment.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#ifdef __linux__
#include <poll.h>
#include <signal.h>
#endif

static void test_memory(void) {
  for (size_t alignment = 64; alignment <= 4096; alignment *= 2) {
    char *memory = cdv_aligned_alloc(alignment, 3 * alignment);
    CHECK(memory && (uintptr_t)memory % alignment == 0);
    memset(memory, 1, 3 * alignment);
    cdv_aligned_free(memory);
  }
  cdv_aligned_free(NULL);
}

static void test_dates(void) {
  struct tm t;
  const time_t leap = 951782400; /* 2000-02-29 */
  CHECK(cdv_gmtime(&leap, &t) == &t && t.tm_year == 100 && t.tm_mon == 1 && t.tm_mday == 29 && t.tm_hour == 0);
}

static void test_libraries(void) {
  const char *why = NULL;
  CHECK(!cdv_library_open("no-such-library-of-cdevice", &why));
  CHECK(why && strstr(why, "no-such-library-of-cdevice") && strlen(why) > strlen("no-such-library-of-cdevice: "));
#ifdef _WIN32
  void *library = cdv_library_open("kernel32.dll", &why);
  CHECK(library && cdv_library_symbol(library, "GetProcAddress"));
#elif defined(__GLIBC__)
  void *library = cdv_library_open("libm.so.6", &why);
  CHECK(library && cdv_library_symbol(library, "cos"));
  CHECK(cdv_process_symbol("malloc"));
#else
  void *library = NULL;
#endif
  CHECK(!library || !cdv_library_symbol(library, "no_such_function_of_cdevice"));
  CHECK(!cdv_process_symbol("no_such_function_of_cdevice"));
}

static void *signals_of_thread(void *out) {
  (void)out;
#ifdef __linux__
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  *(int *)out = sigismember(&now, SIGINT) && sigismember(&now, SIGTERM);
#endif
  return NULL;
}

static void test_signals(void) {
  struct cdv_signals before;
  pthread_t thread;
  int of_it = 1;
  cdv_signals_block(&before);
  CHECK(!pthread_create(&thread, NULL, signals_of_thread, &of_it));
  cdv_signals_restore(&before);
  pthread_join(thread, NULL);
  CHECK(of_it);
#ifdef __linux__
  int of_this = 1;
  signals_of_thread(&of_this);
  CHECK(!of_this);
#endif
}

static void test_doorbell(void) {
  int bell = cdv_doorbell_new();
#ifdef __linux__
  struct pollfd p = {.fd = bell, .events = POLLIN};
  CHECK(bell >= 0 && poll(&p, 1, 0) == 0);
  cdv_doorbell_ring(bell);
  cdv_doorbell_ring(bell);
  CHECK(poll(&p, 1, 0) == 1);
  cdv_doorbell_clear(bell);
  CHECK(poll(&p, 1, 0) == 0);
  cdv_doorbell_free(bell);
#else
  CHECK(bell == -ENOTSUP);
#endif
}

static void test_shared_memory(void) {
  struct cdv_segment *s = NULL;
  int r = cdv_segment_create(4096, false, &s);
#ifdef __linux__
  CHECK(r == 0 && s->nbytes == 4096);
  cdv_segment_unref(s);
#else
  struct cdv_ticket ticket = {0};
  struct cdv_array *array = NULL;
  CHECK(r == ENOTSUP && cdv_error_last()->kind == CDV_UNSUPPORTED && strstr(cdv_error_last()->message, "needs Linux"));
  CHECK(cdv_open_ticket(&ticket, 1, &array) == ENOTSUP && !array);
  CHECK(strstr(cdv_error_last()->message, "opening a shared array"));
#endif
}

int main(void) {
  test_memory();
  test_dates();
  test_libraries();
  test_signals();
  test_doorbell();
  test_shared_memory();
  CHECK(cdv_processors() >= 1);
  printf("system: %s\n", failures ? "failed" : "passed");
  return failures ? 1 : 0;
}
