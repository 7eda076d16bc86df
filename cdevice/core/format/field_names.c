/* field_names.c - which field of a schema has a name: an index in the order of the names, made where it pays. */
#include "core/format/field_names.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 32, TURNS = 4 }; /* fields, and questions, for which nothing is kept */

struct name {
  const char *text; /* the schema's */
  int64_t at;
};
struct cdv_field_names {
  int64_t n;
  struct name names[];
};

static const char *name_of(const struct ArrowSchema *node, int64_t i) {
  const char *name = node->children[i]->name;
  return name ? name : "";
}

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* NULL: it does not pay, or there is no memory. */
static const struct name *sorted(struct cdv_schema *s) {
  const struct ArrowSchema *node = s->node;
  struct cdv_field_names *known = atomic_load_explicit(&s->field_names, memory_order_acquire);
  if (known || node->n_children <= FEW) return known ? known->names : NULL;
  if (atomic_fetch_add_explicit(&s->finds, 1, memory_order_relaxed) < TURNS) return NULL;
  struct cdv_field_names *made = malloc(sizeof *made + (size_t)node->n_children * sizeof made->names[0]);
  if (!made) return NULL;
  made->n = node->n_children;
  for (int64_t i = 0; i < made->n; i++) made->names[i] = (struct name){name_of(node, i), i};
  qsort(made->names, (size_t)made->n, sizeof made->names[0], by_text);
  if (atomic_compare_exchange_strong(&s->field_names, &known, made)) return made->names;
  free(made); /* another thread was first */
  return known->names;
}

int64_t cdv_schema_find(struct cdv_schema *s, const char *name, int64_t *at) {
  int64_t n = s->node->n_children, found = 0;
  const struct name *names = sorted(s);
  if (!names) {
    for (int64_t i = 0; i < n; i++)
      if (!strcmp(name_of(s->node, i), name)) {
        found++;
        *at = i;
      }
    return found;
  }
  int64_t low = 0, high = n; /* the first that is not less */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (strcmp(names[middle].text, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < n && !strcmp(names[low].text, name); low++, found++) *at = names[low].at;
  return found;
}
