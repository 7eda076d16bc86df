/* schema.c - schemas: owned, shared, copied, compared, exported.  A schema has a count of its own, so that keeping
 * one does not keep the data. */
#include "core/format/schema.h"
#include "cdevice/arrow_abi.h"
#include "core/base/error.h"
#include "core/base/free_list.h"
#include "core/validate/structure.h"

#include <stdlib.h>
#include <string.h>

struct schema_line { /* begins as an ArrowSchema does: that part is copied as it is */
  const char *format, *name, *metadata;
  int64_t flags, n_children, first, dictionary;
};
_Static_assert(offsetof(struct schema_line, first) == offsetof(struct ArrowSchema, children), "the copied part");
struct cdv_export_prototype {
  size_t n;
  bool dictionaries;
  struct schema_line lines[];
};

static atomic_llong live;
int64_t cdv_live_schemas(void) { return atomic_load(&live); }

static void finish_template(const struct cdv_schema *s, struct cdv_export_prototype *t) {
  (void)s;
  for (size_t i = 0; i < t->n; i++)
    if (!t->lines[i].name) t->lines[i].name = "";
}

#define X(name) schema##name
#define NODE ArrowSchema
#define LINE schema_line
#define OWNER cdv_schema
#define OWNER_UNREF cdv_schema_unref
#define FINISH finish_template
#include "core/array/export.h"

static struct cdv_schema *new_schema(struct cdv_schema *owner, const struct ArrowSchema *node) {
  struct cdv_schema *s = cdv_node_alloc(CDV_NODE_SCHEMA, sizeof *s);
  if (!s) {
    cdv_fail_memory(sizeof *s, "a schema");
    return NULL;
  }
  atomic_init(&s->refs, 1);
  atomic_init(&s->template, NULL);
  atomic_init(&s->type, 0);
  atomic_init(&s->field_names, NULL);
  atomic_init(&s->finds, 0);
  s->owner = owner;
  s->node = node;
  atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  return s;
}

struct cdv_schema *cdv_schema_ref(struct cdv_schema *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

void cdv_schema_unref(struct cdv_schema *s) {
  if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  free(atomic_load_explicit(&s->template, memory_order_relaxed));
  free(atomic_load_explicit(&s->field_names, memory_order_relaxed));
  if (s->owner)
    cdv_schema_unref(s->owner);
  else if (s->own.release)
    s->own.release(&s->own);
  atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  cdv_node_free(CDV_NODE_SCHEMA, s);
}

/* ---- the types of numbers: they live as long as the process, and no count of what lives counts them ---- */
static void stays(struct ArrowSchema *schema) { schema->release = NULL; }

static const char number_letters[] = "cCsSiIlLefg";
#define NUMBER(i, letter)         \
  [i] = {.refs = 1,               \
         .node = &numbers[i].own, \
         .own = {.format = letter, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = stays}}
static struct cdv_schema numbers[] = {NUMBER(0, "c"), NUMBER(1, "C"), NUMBER(2, "s"), NUMBER(3, "S"),
                                      NUMBER(4, "i"), NUMBER(5, "I"), NUMBER(6, "l"), NUMBER(7, "L"),
                                      NUMBER(8, "e"), NUMBER(9, "f"), NUMBER(10, "g")};

struct cdv_schema *cdv_schema_of_number(char letter) {
  const char *at = letter ? strchr(number_letters, letter) : NULL;
  return at ? cdv_schema_ref(&numbers[at - number_letters]) : NULL;
}

/* Moves without a check: for callers that have checked. */
int cdv_schema_adopt(struct ArrowSchema *schema, struct cdv_schema **out) {
  struct cdv_schema *s = new_schema(NULL, NULL);
  if (!s) return ENOMEM;
  s->own = *schema;
  s->node = &s->own;
  schema->release = NULL;
  *out = s;
  return 0;
}

int cdv_schema_import(struct ArrowSchema *schema, struct cdv_schema **out) {
  int r = cdv_schema_check(schema);
  return r ? r : cdv_schema_adopt(schema, out);
}

struct cdv_schema *cdv_schema_at(struct cdv_schema *schema, const struct ArrowSchema *node) {
  if (node == schema->node) return cdv_schema_ref(schema);
  struct cdv_schema *owner = schema->owner ? schema->owner : schema;
  struct cdv_schema *s = new_schema(owner, node);
  if (s) cdv_schema_ref(owner);
  return s;
}

static void leaf_release(struct ArrowSchema *schema) {
  struct cdv_schema *s = schema->private_data;
  schema->release = NULL;
  cdv_schema_unref(s);
}

int cdv_schema_export(struct cdv_schema *s, struct ArrowSchema *out) {
  const struct ArrowSchema *node = s->node;
  struct cdv_export_prototype *t = NULL;
  bool leaf = !node->n_children && !node->dictionary;
  if (!leaf && !(t = schema_get_template(s))) return ENOMEM;
  out->format = node->format;
  out->name = node->name ? node->name : "";
  out->metadata = node->metadata;
  out->flags = node->flags;
  out->n_children = node->n_children;
  out->children = NULL;
  out->dictionary = node->dictionary;
  if (leaf) {
    out->private_data = s;
    out->release = leaf_release;
  } else if (schema_export_tree(s, t->lines, t->n, t->dictionaries, out)) {
    out->release = NULL;
    return ENOMEM;
  }
  cdv_schema_ref(s);
  return 0;
}

/* ---- metadata: int32 count, then (int32 length, bytes) for keys and values ---- */
int64_t cdv_metadata_size(const char *m) {
  if (!m) return 0;
  int32_t n, length;
  memcpy(&n, m, 4);
  int64_t at = 4;
  for (int64_t i = 0; i < 2 * (int64_t)n; i++) {
    memcpy(&length, m + at, 4);
    if (length < 0) return at;
    at += 4 + (int64_t)length;
  }
  return at;
}

bool cdv_metadata_fits(const char *m, int64_t size) {
  int32_t n, length;
  if (size < 4) return false;
  memcpy(&n, m, 4);
  if (n < 0) return false;
  int64_t at = 4;
  for (int64_t i = 0; i < 2 * (int64_t)n; i++) {
    if (size - at < 4) return false;
    memcpy(&length, m + at, 4);
    at += 4;
    if (length < 0 || length > size - at) return false;
    at += length;
  }
  return true;
}

/* ---- deep copy ---- */
static void copy_release(struct ArrowSchema *s) {
  for (int64_t i = 0; i < s->n_children; i++)
    if (s->children[i]) {
      if (s->children[i]->release) s->children[i]->release(s->children[i]);
      free(s->children[i]);
    }
  if (s->dictionary) {
    if (s->dictionary->release) s->dictionary->release(s->dictionary);
    free(s->dictionary);
  }
  free(s->children);
  free(s->private_data);
  s->release = NULL;
}

int cdv_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out) {
  const char *name = from->name ? from->name : "";
  size_t nf = strlen(from->format) + 1, nn = strlen(name) + 1, nm = (size_t)cdv_metadata_size(from->metadata);
  char *text = malloc(nf + nn + nm);
  memset(out, 0, sizeof *out);
  if (!text) return cdv_fail_memory((int64_t)(nf + nn + nm), "a schema");
  out->private_data = text;
  out->release = copy_release;
  out->format = memcpy(text, from->format, nf);
  out->name = memcpy(text + nf, name, nn);
  if (nm) out->metadata = memcpy(text + nf + nn, from->metadata, nm);
  out->flags = from->flags;
  int r = 0;
  if (from->n_children) {
    out->children = calloc((size_t)from->n_children, sizeof *out->children);
    if (!out->children)
      r = cdv_fail_memory(from->n_children * 8, "a schema");
    else
      out->n_children = from->n_children;
  }
  for (int64_t i = 0; !r && i < from->n_children; i++) {
    out->children[i] = calloc(1, sizeof(struct ArrowSchema));
    r = out->children[i] ? cdv_schema_copy(from->children[i], out->children[i]) : cdv_fail_memory(72, "a schema");
  }
  if (!r && from->dictionary) {
    out->dictionary = calloc(1, sizeof(struct ArrowSchema));
    r = out->dictionary ? cdv_schema_copy(from->dictionary, out->dictionary) : cdv_fail_memory(72, "a schema");
  }
  if (r) out->release(out);
  return r;
}

/* ---- comparison ---- */
static bool metadata_equal(const char *a, const char *b) {
  int64_t n = cdv_metadata_size(a), m = cdv_metadata_size(b);
  if (n <= 4 && m <= 4) return true; /* none, or no entries */
  return n == m && !memcmp(a, b, (size_t)n);
}

/* Formats and names are mostly a letter or two, and every array of a stream is compared. */
static inline bool same_text(const char *a, const char *b) {
  if (a == b) return true;
  if (a[0] != b[0]) return false;
  if (!a[0]) return true;
  return a[1] == b[1] && (!a[1] || !strcmp(a + 2, b + 2));
}

bool cdv_format_equal(const char *a, const char *b) {
  if (same_text(a, b)) return true;
  if (strncmp(a, "d:", 2) || strncmp(b, "d:", 2)) return false;
  size_t n = strlen(a), m = strlen(b); /* 128 bits need not be written */
  const char *shorter = n < m ? a : b, *longer = n < m ? b : a;
  size_t k = n < m ? n : m;
  return strchr(shorter, ',') == strrchr(shorter, ',') && !strncmp(shorter, longer, k) && !strcmp(longer + k, ",128");
}

/* What counts beside the types: names, nullability, order and metadata of this node; and of those below. */
struct labels {
  bool name, nullable, kind, metadata, below;
};

static bool equal(const struct ArrowSchema *a, const struct ArrowSchema *b, struct labels l) {
  if ((!same_text(a->format, b->format) && !cdv_format_equal(a->format, b->format)) || a->n_children != b->n_children ||
      !a->dictionary != !b->dictionary)
    return false;
  if (l.name && !same_text(a->name ? a->name : "", b->name ? b->name : "")) return false;
  if (l.nullable && ((a->flags ^ b->flags) & ARROW_FLAG_NULLABLE)) return false;
  if (l.kind && ((a->flags ^ b->flags) & ~ARROW_FLAG_NULLABLE)) return false;
  if (l.metadata && !metadata_equal(a->metadata, b->metadata)) return false;
  /* the names inside a list or a map say nothing about its type */
  bool named = l.below && (a->format[0] != '+' || a->format[1] == 's' || a->format[1] == 'u');
  struct labels child = {named, l.below, l.below, l.metadata, l.below};
  for (int64_t i = 0; i < a->n_children; i++)
    if (!equal(a->children[i], b->children[i], child)) return false;
  child.name = false;
  return !a->dictionary || equal(a->dictionary, b->dictionary, child);
}

bool cdv_schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b, bool metadata, bool top_name) {
  return equal(a, b, (struct labels){top_name, top_name, true, metadata, true});
}

/* A number is given out once and never again, and only ever carried to a schema of the same type: in any order of
 * threads, one number is one type. The smaller one wins, so that those of one type come to have the same. */
static uint64_t number_of(struct cdv_schema *s) {
  static _Atomic uint64_t last;
  uint64_t none = 0, n = atomic_load_explicit(&s->type, memory_order_relaxed);
  if (n) return n;
  n = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  return atomic_compare_exchange_strong_explicit(&s->type, &none, n, memory_order_relaxed, memory_order_relaxed) ? n
                                                                                                                 : none;
}

bool cdv_schema_same_type(struct cdv_schema *a, struct cdv_schema *b) {
  if (a == b) return true;
  uint64_t x = atomic_load_explicit(&a->type, memory_order_relaxed);
  if (x && x == atomic_load_explicit(&b->type, memory_order_relaxed)) return true;
  if (!cdv_schema_equal(a->node, b->node, false, false)) return false;
  x = number_of(a);
  uint64_t y = number_of(b);
  atomic_store_explicit(x < y ? &b->type : &a->type, x < y ? x : y, memory_order_relaxed);
  return true;
}

/* Of the node where the first difference lies. */
static void describe(const struct ArrowSchema *a, const struct ArrowSchema *b, const char *field, char *out,
                     size_t room) {
  const char *at = field ? field : "", *where = field ? "field " : "it";
  if (a->n_children != b->n_children)
    snprintf(out, room, "%s%.60s has %lld fields, not %lld", where, at, (long long)a->n_children,
             (long long)b->n_children);
  else if (!cdv_format_equal(a->format, b->format))
    snprintf(out, room, "%s%.60s has the format \"%.60s\", not \"%.60s\"", where, at, a->format, b->format);
  else if (strcmp(a->name ? a->name : "", b->name ? b->name : ""))
    snprintf(out, room, "a field is named \"%.60s\", not \"%.60s\"", a->name ? a->name : "", b->name ? b->name : "");
  else
    snprintf(out, room, "%s%.60s differs in its nullability, order or dictionary", where, at);
}

void cdv_schema_difference(const struct ArrowSchema *a, const struct ArrowSchema *b, char *out, size_t room) {
  const char *field = NULL;
  bool name = false;
  for (;;) {
    bool below = a->n_children == b->n_children && !a->dictionary == !b->dictionary;
    const struct ArrowSchema *x = NULL, *y = NULL;
    for (int64_t i = 0; below && !x && i < a->n_children; i++)
      if (!cdv_schema_equal(a->children[i], b->children[i], false, true)) x = a->children[i], y = b->children[i];
    if (below && !x && a->dictionary && !cdv_schema_equal(a->dictionary, b->dictionary, false, false))
      x = a->dictionary, y = b->dictionary;
    if (name && strcmp(a->name ? a->name : "", b->name ? b->name : "")) x = NULL;
    if (!x) break;
    a = x;
    b = y;
    name = true;
    field = a->name && a->name[0] ? a->name : field ? field : "0";
  }
  describe(a, b, field, out, room);
}

bool cdv_schema_castable(const struct ArrowSchema *a, const struct ArrowSchema *b) {
  return equal(a, b, (struct labels){0});
}
