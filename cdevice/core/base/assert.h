/* assert.h - invariants of the core, checked where CDV_DEBUG is defined: in the C tests and under the sanitizers. */
#ifndef CDEVICE_CORE_BASE_ASSERT_H
#define CDEVICE_CORE_BASE_ASSERT_H

#ifdef CDV_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define CDV_ASSERT(condition)                                                                         \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "%s:%d: %s: invariant broken: %s\n", __FILE__, __LINE__, __func__, #condition); \
      abort();                                                                                        \
    }                                                                                                 \
  } while (0)
#else
#define CDV_ASSERT(condition) ((void)0)
#endif

#endif
