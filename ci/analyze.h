/* Included first by `ci/compilers analyze`: what one file of the core promises to the others, and an analyzer that reads one file at
 * a time cannot know. An error has a code above 0. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/error.h"

static inline int error_code(int code) {
  if (code <= 0) __builtin_unreachable();
  return code;
}
#define cdv_fail(...) error_code(cdv_fail(__VA_ARGS__))
#define cdv_fail_memory(...) error_code(cdv_fail_memory(__VA_ARGS__))
#define cdv_fail_backend(...) error_code(cdv_fail_backend(__VA_ARGS__))
