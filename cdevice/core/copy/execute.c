/* execute.c - how the pieces of a copy travel.
 *
 * Small pieces and those whose offsets must be rebased are packed into staging chunks and sent together, or packed
 * where they will lie, if the host may write that (processors); large ones go straight from their memory.  Between
 * two vendors everything passes through two chunks, both sides busy. */
#include "cdevice/arrow_abi.h"
#include "cdevice/backend.h"
#include "core/array/array.h"
#include "core/backend/checked_calls.h"
#include "core/backend/external_allocator.h"
#include "core/backend/profile.h"
#include "core/backend/table.h"
#include "core/base/error.h"
#include "core/base/parallel_memcpy.h"
#include "core/copy/engine.h"
#include "core/copy/staging.h"
#include "core/event/event.h"
#include "core/event/retire.h"
#include "core/format/element.h"

#include <stdlib.h>
#include <string.h>

#define WORTH_FILLING ((int64_t)256 << 10) /* below, what a command more costs is not seen */
#define PART ((int64_t)2 << 20)            /* of a chunk: from here on filling it takes longer than one more call */

static void put_value(void *p, int width, int64_t i, int64_t v) {
  int16_t v2 = (int16_t)v;
  int32_t v4 = (int32_t)v;
  memcpy((char *)p + i * width, width == 2 ? (void *)&v2 : width == 4 ? (void *)&v4 : (void *)&v, (size_t)width);
}

/* Views of elements [at, ...) of a piece: those before the rows become empty ones, the others lose what was cut off the
 * front of their data. */
static void adjust_views(const struct cdv_copy_segment *x, char *memory, int64_t at, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int32_t view[4];
    memcpy(view, memory + 16 * i, 16);
    if (at + i < x->n_leading) {
      memset(view, 0, 16);
    } else {
      /* inline, or the garbage of a null */
      if (!x->starts || view[0] <= 12 || view[2] < 0 || view[2] >= x->n_starts) continue;
      view[3] = (int32_t)((uint32_t)view[3] - (uint32_t)x->starts[view[2]]);
    }
    memcpy(memory + 16 * i, view, 16);
  }
}

/* Most offsets: n elements that only lose the same number. */
static void rebase32(char *to, const char *from, int64_t n, uint32_t by) {
  typedef uint32_t four __attribute__((vector_size(16)));
  int64_t i = 0;
  for (four v; i + 4 <= n; i += 4) {
    memcpy(&v, from + 4 * i, 16);
    v -= by;
    memcpy(to + 4 * i, &v, 16);
  }
  for (uint32_t v; i < n; i++) {
    memcpy(&v, from + 4 * i, 4);
    v -= by;
    memcpy(to + 4 * i, &v, 4);
  }
}

/* Bytes [at, at + nbytes) of a piece, which are at `from`, as they are wanted, to `to`, which may be the same; whole
 * elements. */
static void adjust(const struct cdv_copy_segment *x, char *to, const char *from, int64_t at, int64_t nbytes) {
  int64_t n = nbytes / x->width;
  at /= x->width;
  if (x->width == 16) {
    if (to != from) memcpy(to, from, (size_t)nbytes);
    adjust_views(x, to, at, n);
    return;
  }
  if (x->width == 4 && at >= x->n_leading && x->max_value < 0) {
    rebase32(to, from, n, (uint32_t)x->rebase);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t v = at + i < x->n_leading ? 0 : (int64_t)((uint64_t)cdv_read_int(from, x->width, i) - (uint64_t)x->rebase);
    if (x->max_value >= 0) v = v < 0 ? 0 : v > x->max_value ? x->max_value : v;
    put_value(to, x->width, i, v);
  }
}

/* ---- moving bytes ---- */
struct chunk {
  struct cdv_staging_buffer *stage;
  cdevice_event event;
  bool pending;
};

static int record(struct cdv_plan *p, cdevice_event *out) {
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  memset(out, 0, sizeof *out);
  int r = b->event_record(b->self, p->to_device, p->to_stream, out, &err);
  return r ? cdv_plan_error(p, p->to, r, &err, "recording an event") : 0;
}

static int chunk_free_again(struct cdv_plan *p, struct chunk *s) {
  if (!s->pending) return 0;
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  int r = s->event.sync_event ? b->event_wait_host(b->self, p->to_device, s->event.sync_event, &err) : 0;
  b->event_destroy(b->self, p->to_device, &s->event);
  s->pending = false;
  return r ? cdv_plan_error(p, p->to, r, &err, "waiting for a staging chunk") : 0;
}

static int send(struct cdv_plan *p, const cdevice_copy *copies, int64_t n, int kind) {
  if (!n) return 0;
  cdevice_error err = {.struct_size = sizeof err};
  p->sent = true;
  int r = cdv_profiled_copy(p->to, p->to_device, kind, copies, n, p->to_stream, &err);
  return r ? cdv_plan_error(p, p->to, r, &err, "copying to the device") : 0;
}

/* Fills stage bytes [0, n) with the target's bytes [at, at + n); pieces [i, end) overlap it in order. */
static int fill_stage(struct cdv_plan *p, struct cdv_staging_buffer *s, int64_t at, int64_t n, size_t *from_piece) {
  cdevice_copy *reads = NULL;
  struct cdv_memcpy_range *moves = NULL;
  size_t n_reads = 0, n_moves = 0, room = 0, room_for_moves = 0, first = *from_piece;
  int r = 0;
  size_t i = *from_piece;
  for (; !r && i < p->n_segments; i++) {
    struct cdv_copy_segment *x = &p->segments[i];
    if (!x->staged) continue;
    if (x->dst_offset >= at + n) break;
    int64_t skip = at > x->dst_offset ? at - x->dst_offset : 0, put = x->dst_offset + skip - at;
    int64_t m = x->nbytes - skip;
    if (m <= 0) continue;
    if (m > n - put) m = n - put;
    if (!x->src) {
      memset(s->memory + put, 0, (size_t)m);
    } else if (x->on_host && cdv_is_adjusted(x)) {
      adjust(x, s->memory + put, (const char *)x->src + x->src_offset + skip, skip, m);
    } else if (x->on_host) {
      r = cdv_grow((void **)&moves, &room_for_moves, n_moves + 1, sizeof *moves);
      if (!r)
        moves[n_moves++] =
            (struct cdv_memcpy_range){s->memory + put, (const char *)x->src + x->src_offset + skip, m, 0};
    } else {
      r = cdv_grow((void **)&reads, &room, n_reads + 1, sizeof *reads);
      if (!r)
        reads[n_reads++] = (cdevice_copy){s->memory + put, 0, -1, x->src, x->src_offset + skip, p->from_device, m};
    }
    if (x->dst_offset + x->nbytes > at + n) break; /* continued in the next chunk */
  }
  *from_piece = i;
  if (!r) cdv_parallel_memcpy(moves, n_moves);
  if (!r && n_reads) r = cdv_read_back(p, reads, (int64_t)n_reads);
  free(reads);
  free(moves);
  for (size_t k = first; !r && k < p->n_segments && k <= i; k++) {
    struct cdv_copy_segment *x = &p->segments[k];
    if (!x->staged || x->on_host || !cdv_is_adjusted(x) || x->dst_offset >= at + n || x->dst_offset + x->nbytes <= at)
      continue;
    int64_t skip = at > x->dst_offset ? at - x->dst_offset : 0, put = x->dst_offset + skip - at, m = x->nbytes - skip;
    if (m > n - put) m = n - put;
    adjust(x, s->memory + put, s->memory + put, skip, m);
  }
  return r;
}

/* Fills a chunk with the target's bytes [at, at + n) and sends them.  Joined buffers are sent part by part: there
 * nearly all goes through chunks, and the device takes one part while the next is filled. */
static int send_chunk(struct cdv_plan *p, const cdevice_block *block, struct cdv_staging_buffer *stage, int64_t at,
                      int64_t n, size_t *segment) {
  int64_t most = p->scratch ? PART : n;
  int r = 0;
  for (int64_t k = 0, m; !r && k < n; k += m) {
    m = n - k < most ? n - k : most;
    struct cdv_staging_buffer part = {.memory = stage->memory + k};
    r = fill_stage(p, &part, at + k, m, segment);
    cdevice_copy copy = {block->data, at + k, p->to_device, part.memory, 0, -1, m};
    if (!r) r = send(p, &copy, 1, CDEVICE_COPY_H2D);
  }
  return r;
}

/* Sends the target's bytes [0, end) through two chunks. */
static int send_staged(struct cdv_plan *p, const cdevice_block *block, int64_t end,
                       struct cdv_staging_buffer stages[2]) {
  int64_t size = cdv_chunk_bytes();
  size = size < 64 ? 64 : size / 64 * 64; /* elements are never cut: pieces begin at multiples of 64 */
  struct chunk chunks[2] = {{.stage = &stages[0]}, {.stage = &stages[1]}};
  size_t segment = 0;
  int r = 0;
  for (int64_t at = 0, turn = 0; !r && at < end; turn++) {
    struct chunk *c = &chunks[turn & 1];
    int64_t n = end - at < size ? end - at : size;
    r = chunk_free_again(p, c);
    if (!r && !c->stage->memory) r = cdv_staging_get(p->to, p->to_device, n, c->stage);
    if (!r) r = send_chunk(p, block, c->stage, at, n, &segment);
    at += n;
    if (!r && at < end) {
      r = record(p, &c->event);
      c->pending = !r;
    }
  }
  for (int i = 0; i < 2; i++)
    if (chunks[i].pending) p->to->table.event_destroy(p->to->table.self, p->to_device, &chunks[i].event);
  return r;
}

/* Host memory to host memory. */
static int move_here(cdevice_copy *copies, int64_t n) {
  struct cdv_memcpy_range *moves = malloc(((size_t)n + 1) * sizeof *moves);
  if (!moves) return cdv_fail_memory(n * (int64_t)sizeof *moves, "a copy");
  for (int64_t i = 0; i < n; i++)
    moves[i] = (struct cdv_memcpy_range){(char *)copies[i].dst + copies[i].dst_offset,
                                         (const char *)copies[i].src + copies[i].src_offset, copies[i].nbytes, 0};
  cdv_parallel_memcpy(moves, (size_t)n);
  free(moves);
  return 0;
}

/* Pieces that need no staging, in one list. */
static int send_direct(struct cdv_plan *p, const cdevice_block *block, bool *host_memory_used) {
  cdevice_copy *copies = malloc((p->n_segments + 1) * sizeof *copies);
  if (!copies) return cdv_fail_memory((int64_t)(p->n_segments * sizeof *copies), "a copy");
  int64_t n_host = 0, n = 0, total = 0;
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU;
  for (size_t i = 0; i < p->n_segments; i++) { /* from host memory first */
    struct cdv_copy_segment *x = &p->segments[i];
    if (!x->on_host || x->staged) continue;
    if (!x->src) {
      memset((char *)block->data + x->dst_offset, 0, (size_t)x->nbytes); /* only the CPU gets here */
      continue;
    }
    if (cdv_is_adjusted(x)) { /* here too: others are staged */
      adjust(x, (char *)block->data + x->dst_offset, (const char *)x->src + x->src_offset, 0, x->nbytes);
      continue;
    }
    copies[n_host++] = (cdevice_copy){block->data, x->dst_offset, p->to_device, x->src, x->src_offset, -1, x->nbytes};
  }
  int r = to_cpu ? move_here(copies, n_host) : send(p, copies, n_host, CDEVICE_COPY_H2D);
  *host_memory_used = n_host > 0;
  if (!r && p->copy_whole_block) {
    const cdevice_block *from = p->src->root->packed;
    copies[n++] = (cdevice_copy){block->data, 0, p->to_device, from->data, 0, p->from_device, from->nbytes};
  } else if (!r) {
    for (size_t i = 0; i < p->n_segments; i++) {
      struct cdv_copy_segment *x = &p->segments[i];
      if (!x->on_host)
        copies[n++] =
            (cdevice_copy){block->data, x->dst_offset, p->to_device, x->src, x->src_offset, p->from_device, x->nbytes};
    }
  }
  if (!r && n) {
    if (to_cpu) {
      for (int64_t i = 0; i < n; i++) {
        copies[i].dst = (char *)block->data + copies[i].dst_offset;
        copies[i].dst_offset = 0;
        total += copies[i].nbytes;
      }
      r = total >= CDV_SMALL && cdv_has_pinned_staging(p->from) ? cdv_read_back_pinned(p, copies, n, total)
                                                                : cdv_read_back(p, copies, n);
    } else {
      bool peer = p->from->table.device_type != p->to->table.device_type || p->from_device != p->to_device;
      r = send(p, copies, n, peer ? CDEVICE_COPY_PEER : CDEVICE_COPY_D2D);
    }
  }
  free(copies);
  if (!r && to_cpu)
    for (size_t i = 0; i < p->n_segments; i++) {
      struct cdv_copy_segment *x = &p->segments[i];
      char *there = (char *)block->data + x->dst_offset;
      if (!x->on_host && cdv_is_adjusted(x)) adjust(x, there, there, 0, x->nbytes);
    }
  return r;
}

int cdv_plan_read_rebased(struct cdv_plan *p) {
  int r = 0;
  for (size_t i = 0; !r && i < p->n_segments; i++) {
    struct cdv_copy_segment *x = &p->segments[i];
    if (x->on_host || !x->rebase) continue;
    char *memory = cdv_arena_get(&p->arena, (size_t)x->nbytes);
    if (!memory) return ENOMEM;
    cdevice_copy copy = {memory, 0, -1, x->src, x->src_offset, p->from_device, x->nbytes};
    r = cdv_follow_source(p);
    if (!r) r = cdv_read_back(p, &copy, 1);
    x->src = memory;
    x->src_offset = 0;
    x->on_host = true;
  }
  return r;
}

/* ---- the result ---- */
static int place_buffers(struct cdv_plan *p, struct cdv_array *out) {
  const cdevice_backend *b = &p->to->table;
  const cdevice_block whole = out->blocks[0];
  bool address = b->capabilities & CDEVICE_CAP_ADDRESS;
  for (size_t i = 0; i < p->n_segments; i++) {
    struct cdv_copy_segment *x = &p->segments[i];
    if (x->joined) continue;
    *x->meta = x->dst_offset;
    if (address) {
      *x->where = (char *)whole.data + x->dst_offset;
      continue;
    }
    cdevice_error err = {.struct_size = sizeof err};
    cdevice_block *v = &out->blocks[out->n_blocks];
    int r = cdv_checked_view(p->to, &whole, x->dst_offset, *x->size, v, &err);
    if (r) return cdv_plan_error(p, p->to, r, &err, "making a view of an allocation");
    out->n_blocks++;
    *x->where = v->data;
  }
  return 0;
}

static int no_room(struct cdv_plan *p, int code, const cdevice_error *err) {
  char doing[64];
  snprintf(doing, sizeof doing, "allocating %lld bytes", (long long)p->total);
  return cdv_plan_error(p, p->to, code, err, doing);
}

static int64_t staged_bytes(const struct cdv_plan *p) {
  int64_t staged = 0;
  for (size_t i = 0; i < p->n_segments; i++) {
    const struct cdv_copy_segment *x = &p->segments[i];
    if (x->staged && x->dst_offset + x->nbytes > staged) staged = x->dst_offset + x->nbytes;
  }
  return staged;
}

/* Writes the target's bytes [0, staged) where they will lie, if the device has memory for that: what the CPU packs then
 * need not be sent.  out->data NULL: it has none. */
static int fill_first(struct cdv_plan *p, int64_t staged, cdevice_block *out) {
  cdevice_error err = {.struct_size = sizeof err};
  size_t segment = 0;
  if (p->via_host || staged < WORTH_FILLING) return 0; /* across: a device writes the staging chunk */
  int r = cdv_block_prepare(p->to, p->to_device, p->total, out, &err);
  if (r) {
    out->data = NULL;
    return r == ENOTSUP ? 0 : no_room(p, r, &err);
  }
  struct cdv_staging_buffer all = {.memory = out->data};
  r = fill_stage(p, &all, 0, staged, &segment);
  if (r) cdv_memory_of(p->to)->discard(p->to->table.self, out);
  return r;
}

/* The one allocation, which may be filled already, cut into buffers. */
static int allocate(struct cdv_plan *p, cdevice_block *filled, struct cdv_array *out) {
  const cdevice_backend *b = &p->to->table;
  cdevice_error err = {.struct_size = sizeof err};
  int r = 0;
  out->blocks = calloc(1 + (b->capabilities & CDEVICE_CAP_ADDRESS ? 0 : p->n_segments), sizeof *out->blocks);
  if (!out->blocks) {
    if (filled->data) cdv_memory_of(p->to)->discard(b->self, filled);
    return cdv_fail_memory((int64_t)(p->n_segments * sizeof *out->blocks), "a copy");
  }
  if (filled->data) {
    r = cdv_memory_of(p->to)->commit(b->self, p->to_stream, filled, &err);
    out->blocks[0] = *filled;
  } else {
    r = cdv_block_alloc_for(p->to, p->to_device, p->total, p->to_stream, &out->blocks[0], &out->external_block, &err);
  }
  if (r) {
    free(out->blocks);
    out->blocks = NULL;
    return no_room(p, r, &err);
  }
  out->n_blocks = 1;
  out->packed = out->blocks;
  return place_buffers(p, out);
}

static int send_all(struct cdv_plan *p, struct cdv_array *out, int64_t staged, struct cdv_staging_buffer stages[2],
                    bool *host_memory) {
  int r = 0;
  if (staged) r = send_staged(p, &out->blocks[0], staged, stages);
  return r || p->via_host ? r : send_direct(p, &out->blocks[0], host_memory);
}

int cdv_plan_execute(struct cdv_plan *p, struct cdv_array *out) {
  struct cdv_staging_buffer stages[2] = {{0}, {0}};
  bool to_cpu = p->to->table.device_type == ARROW_DEVICE_CPU, host_memory = false;
  if (!p->total) return 0;
  int64_t staged = p->allocate_only ? 0 : staged_bytes(p);
  cdevice_block filled = {0};
  int r = fill_first(p, staged, &filled);
  if (!r) r = allocate(p, &filled, out);
  if (r) return r;
  if (!p->allocate_only) r = send_all(p, out, filled.data ? 0 : staged, stages, &host_memory);
  if (!r && !to_cpu && (p->sent || !filled.data)) {
    r = cdv_event_record(p->to, p->to_device, p->to_stream, &out->event);
    if (!r && out->event) out->own.sync_event = out->event->event.sync_event;
  }
  bool keep_source = host_memory || (p->from && !to_cpu && !(p->from->table.capabilities & CDEVICE_CAP_ASYNC_FREE));
  if (!r && out->own.sync_event) { /* what the device still reads stays until it has passed the event */
    r = cdv_retire_after_event(out->event, keep_source ? p->src : NULL, stages);
  }
  if (r && !to_cpu && p->sent) p->pending = true;
  for (int i = 0; i < 2; i++) cdv_staging_put_or_orphan(p, &stages[i]);
  return r;
}
