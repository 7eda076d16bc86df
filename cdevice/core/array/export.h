/* export.h - how a tree of nodes leaves: included twice, for ArrowArray and for ArrowSchema.
 *
 * A template lists the nodes below the root in breadth-first order, so the children of a node stand together.
 * An export is one head (count, pointers to all nodes) and blocks of nodes; one atomic count serves them all.
 * A consumer may move any child out and release it by itself: it then keeps the head alive, not its siblings' data
 * any longer than the owner does.
 *
 * Needs: NODE (struct), LINE (struct of a template line: begins as a NODE up to its children, the constant part;
 * with first and dictionary), struct cdv_export_prototype (n, dictionaries, lines[]), OWNER (struct with node and
 * template), OWNER_UNREF, FINISH(owner, template), and a prefix through X(name). */

#if !defined(X) || !defined(NODE) || !defined(LINE) || !defined(OWNER) || !defined(OWNER_UNREF) || !defined(FINISH)
#error "export.h is a template: its parameters are said at its head"
#endif

#include "core/base/error.h"
#include "core/base/free_list.h"

#include <stdlib.h>
#include <string.h>

#define NODES_PER_BLOCK 400 /* one 32 KiB block of the cache */
#define INLINE_NODES 40     /* head and nodes in one allocation up to here */

struct X(_export) {
  atomic_long refs;
  struct OWNER *owner;
  uintptr_t by; /* the thread that made it */
  size_t n_nodes;
  struct NODE **nodes;  /* [n_nodes], node i of the template */
  struct NODE **blocks; /* NULL: the nodes follow in this allocation */
};

static size_t X(_export_size)(size_t n, size_t n_blocks) {
  return sizeof(struct X(_export)) + (n + n_blocks) * sizeof(struct NODE *) + (n_blocks ? 0 : n * sizeof(struct NODE));
}

static void X(_export_unref)(struct X(_export) * e, long n) {
  if (atomic_fetch_sub_explicit(&e->refs, n, memory_order_acq_rel) != n) return;
  struct OWNER *owner = e->owner;
  size_t n_blocks = 0;
  if (e->blocks)
    for (size_t i = 0; i < e->n_nodes; i += NODES_PER_BLOCK, n_blocks++) {
      size_t m = e->n_nodes - i < NODES_PER_BLOCK ? e->n_nodes - i : NODES_PER_BLOCK;
      cdv_block_free(e->blocks[n_blocks], m * sizeof(struct NODE), e->by);
    }
  cdv_block_free(e, X(_export_size)(e->n_nodes, n_blocks), e->by);
  OWNER_UNREF(owner);
}

static void X(_node_release)(struct NODE *node);
static void X(_leaf_release)(struct NODE *node); /* the same where nothing is below */

/* Releases the children and the dictionary still in place below node; counts those of cdevice. */
static long X(_release_below)(struct X(_export) * e, struct NODE *node) {
  long n = 0;
  struct NODE **children = node->children;
  for (int64_t i = 0, m = node->n_children; i < m; i++) {
    struct NODE *x = children[i];
    if (x->release == X(_leaf_release)) {
      n++;
      x->release = NULL;
    } else if (x->release == X(_node_release)) {
      n += 1 + X(_release_below)(e, x);
      x->release = NULL;
    } else if (x->release) {
      x->release(x);
    }
  }
  if (node->dictionary && node->dictionary->release) {
    struct NODE *x = node->dictionary;
    if (x->release == X(_node_release) || x->release == X(_leaf_release)) {
      n += 1 + X(_release_below)(e, x);
      x->release = NULL;
    } else {
      x->release(x);
    }
  }
  return n;
}

static void X(_node_release)(struct NODE *node) {
  struct X(_export) *e = node->private_data;
  long n = 1 + X(_release_below)(e, node);
  node->release = NULL;
  X(_export_unref)(e, n);
}

static void X(_leaf_release)(struct NODE *node) { X(_node_release)(node); }

/* Makes the nodes of a template with n >= 1 lines and hangs them below *root.  Takes over one reference on owner
 * when it succeeds. */
static int X(_export_tree)(struct OWNER *owner, const struct LINE *lines, size_t n, bool dictionaries,
                           struct NODE *root) {
  size_t n_blocks = n <= INLINE_NODES ? 0 : (n + NODES_PER_BLOCK - 1) / NODES_PER_BLOCK;
  size_t size = X(_export_size)(n, n_blocks);
  struct X(_export) *e = cdv_block_alloc(size);
  if (!e) return cdv_fail_memory((int64_t)size, "an export");
  e->owner = owner;
  e->n_nodes = n;
  e->by = cdv_thread_hint();
  e->nodes = (struct NODE **)(e + 1);
  e->blocks = n_blocks ? e->nodes + n : NULL;
  atomic_init(&e->refs, (long)n + 1);
  struct NODE *block = (struct NODE *)(e->nodes + n);
  const struct {
    struct NODE **children, *dictionary;
    void (*release)(struct NODE *);
    void *private_data;
  } leaf = {NULL, NULL, X(_leaf_release), e};
  for (size_t i = 0, k = 0; i < n; k++) {
    size_t m = n - i;
    if (n_blocks) {
      if (m > NODES_PER_BLOCK) m = NODES_PER_BLOCK;
      block = cdv_block_alloc(m * sizeof(struct NODE));
      if (!block) {
        while (k--) cdv_block_free(e->blocks[k], NODES_PER_BLOCK * sizeof(struct NODE), e->by);
        cdv_block_free(e, size, e->by);
        return cdv_fail_memory((int64_t)(m * sizeof(struct NODE)), "an export");
      }
      e->blocks[k] = block;
    }
    for (size_t j = 0; j < m; j++, i++) {
      const struct LINE *line = &lines[i];
      struct NODE *x = &block[j];
      memcpy(x, line, offsetof(struct NODE, children)); /* two or three moves of 16 bytes */
      memcpy(&x->children, &leaf, sizeof leaf);
      e->nodes[i] = x;
      if (!line->n_children) continue;
      x->children = e->nodes + line->first;
      x->release = X(_node_release);
    }
  }
  if (dictionaries)
    for (size_t i = 0; i < n; i++) {
      if (lines[i].dictionary < 0) continue;
      e->nodes[i]->dictionary = e->nodes[lines[i].dictionary];
      e->nodes[i]->release = X(_node_release);
    }
  root->release = X(_node_release);
  root->private_data = e;
  root->children = root->n_children ? e->nodes : NULL; /* the root's own come first */
  root->dictionary = root->dictionary ? e->nodes[root->n_children] : NULL;
  return 0;
}

/* Lists the nodes below root.  *lines is malloc'ed; order[i] is the node behind line i (the caller fills the rest). */
static int X(_template)(const struct NODE *root, struct LINE **lines, const struct NODE ***order, size_t *count,
                        bool *dictionaries) {
  size_t n = 0, room = (size_t)root->n_children + 8, at = 0;
  struct LINE *out = malloc(room * sizeof *out);
  const struct NODE **queue = malloc(room * sizeof *queue);
  const struct NODE *node = root;
  *dictionaries = false;
  while (out && queue) {
    size_t below = (size_t)node->n_children + (node->dictionary ? 1 : 0);
    if (n + below > room) {
      room = (n + below) * 2;
      struct LINE *more = realloc(out, room * sizeof *out);
      if (more) out = more;
      const struct NODE **longer = more ? realloc(queue, room * sizeof *queue) : NULL;
      if (!longer) break;
      queue = longer;
    }
    if (node != root) {
      out[at - 1].first = (int64_t)n;
      out[at - 1].n_children = node->n_children;
      out[at - 1].dictionary = node->dictionary ? (int64_t)(n + (size_t)node->n_children) : -1;
      if (node->dictionary) *dictionaries = true;
    }
    for (int64_t i = 0; i < node->n_children; i++) queue[n++] = node->children[i];
    if (node->dictionary) queue[n++] = node->dictionary;
    if (at == n) {
      *lines = out;
      *order = queue;
      *count = n;
      return 0;
    }
    node = queue[at++];
  }
  free(out);
  free(queue);
  return cdv_fail_memory((int64_t)(room * sizeof *out), "an export template");
}

/* The owner's template, made on first use; NULL: out of memory. */
static struct cdv_export_prototype *X(_get_template)(struct OWNER *owner) {
  struct cdv_export_prototype *t = atomic_load_explicit(&owner->template, memory_order_acquire), *other = NULL;
  if (t) return t;
  struct LINE *lines = NULL;
  const struct NODE **order = NULL;
  size_t n = 0;
  bool dictionaries = false;
  if (X(_template)(owner->node, &lines, &order, &n, &dictionaries)) return NULL;
  t = malloc(sizeof *t + n * sizeof *lines);
  if (t) {
    t->n = n;
    t->dictionaries = dictionaries;
    for (size_t i = 0; i < n; i++) memcpy(&lines[i], order[i], offsetof(struct NODE, children));
    if (n) memcpy(t->lines, lines, n * sizeof *lines);
    FINISH(owner, t);
    if (!atomic_compare_exchange_strong_explicit(&owner->template, &other, t, memory_order_acq_rel,
                                                 memory_order_acquire)) {
      free(t); /* another thread was first */
      t = other;
    }
  } else {
    cdv_fail_memory((int64_t)(n * sizeof *lines), "an export template");
  }
  free(lines);
  free(order);
  return t;
}

#undef NODES_PER_BLOCK
#undef INLINE_NODES
