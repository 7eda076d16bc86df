/* kernel_source.c - texts of kernels that were added at run time; they stay. */
#include "core/compute/kernel_source.h"
#include "core/base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct own {
  struct own *next;
  const char *text;
  char family[];
};
static _Atomic(struct own *) texts; /* only grows */

const char *cdv_kernel_user_source(const char *family) {
  for (struct own *x = atomic_load(&texts); x; x = x->next)
    if (!strcmp(x->family, family)) return x->text;
  return NULL;
}

int cdv_kernel_register_source(const char *family, const char *text) {
  if (cdv_kernel_user_source(family)) return 0;
  size_t n = strlen(family) + 1, m = strlen(text) + 1;
  struct own *x = malloc(sizeof *x + n + m);
  if (!x) return cdv_fail_memory((int64_t)(sizeof *x + n + m), "the text of a kernel");
  memcpy(x->family, family, n);
  memcpy(x->family + n, text, m);
  x->text = x->family + n;
  x->next = atomic_load(&texts);
  while (!atomic_compare_exchange_weak(&texts, &x->next, x)) continue; /* twice the same does no harm */
  return 0;
}
