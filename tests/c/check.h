/* check.h - what the tests in C share: CHECK counts failures, on any thread, and prints the first of them. */
#ifndef CDEVICE_TEST_CHECK_H
#define CDEVICE_TEST_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static atomic_int failures;
#define CHECK(x)                                                                                       \
  do {                                                                                                 \
    if (!(x)) {                                                                                        \
      if (atomic_fetch_add(&failures, 1) < 20) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
    }                                                                                                  \
  } while (0)

static inline unsigned rnd(unsigned *seed, unsigned n) { /* 0 .. n-1 */
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % n;
}

#endif
