/* parallel_memcpy.c - copies in host memory, large ones by several threads: one alone moves far less than a device's
 * link takes. */
#include "core/base/parallel_memcpy.h"
#include "core/base/thread_pool.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SLICE ((int64_t)256 << 10)
#define WORTH_HELP (4 * SLICE)
#define PAST_CACHES ((int64_t)8 << 20) /* larger data is in no cache when it is read */

struct job {
  const struct cdv_memcpy_range *moves;
  size_t n;
  int64_t total;
};

#if defined(__SSE2__)
/* As memcpy, past the caches: data too large for them is written without reading what was there.  memcpy does so
 * too, but not for pieces. */
static void copy_past_caches(char *to, const char *from, size_t n) {
  size_t head = -(uintptr_t)to & 63;
  if (n < 1024) {
    memcpy(to, from, n);
    return;
  }
  memcpy(to, from, head);
  for (to += head, from += head, n -= head; n >= 64; to += 64, from += 64, n -= 64)
    for (int i = 0; i < 4; i++) _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
  memcpy(to, from, n);
}
static void copies_are_seen(void) { _mm_sfence(); }
#else
#define copy_past_caches memcpy
static void copies_are_seen(void) {}
#endif

/* The bytes [from, to) of all moves in a row. */
static void move_range(void *arg, int64_t from, int64_t to) {
  const struct job *job = arg;
  const struct cdv_memcpy_range *moves = job->moves;
  size_t low = 0, high = job->n;
  while (high - low > 1) { /* the last one that begins at or before `from` */
    size_t middle = (low + high) / 2;
    if (moves[middle].offset <= from)
      low = middle;
    else
      high = middle;
  }
  for (; low < job->n && moves[low].offset < to; low++) {
    const struct cdv_memcpy_range *m = &moves[low];
    int64_t begin = from > m->offset ? from - m->offset : 0,
            end = m->nbytes < to - m->offset ? m->nbytes : to - m->offset;
    if (end <= begin) continue;
    if (job->total < PAST_CACHES)
      memcpy(m->dst + begin, m->src + begin, (size_t)(end - begin));
    else
      copy_past_caches(m->dst + begin, m->src + begin, (size_t)(end - begin));
  }
  if (job->total >= PAST_CACHES) copies_are_seen();
}

static _Thread_local cdv_memcpy_writer *through;

cdv_memcpy_writer *cdv_memcpy_through(cdv_memcpy_writer *writer) {
  cdv_memcpy_writer *before = through;
  through = writer;
  return before;
}

/* In this thread alone: writes to one file wait for each other. */
static void write_through(const struct cdv_memcpy_range *moves, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (moves[i].nbytes < SLICE || !through(moves[i].dst, moves[i].src, moves[i].nbytes))
      memcpy(moves[i].dst, moves[i].src, (size_t)moves[i].nbytes);
}

void cdv_parallel_memcpy(struct cdv_memcpy_range *moves, size_t n) {
  struct job job = {moves, n, 0};
  for (size_t i = 0; i < n; i++) {
    moves[i].offset = job.total;
    job.total += moves[i].nbytes;
  }
  if (through)
    write_through(moves, n);
  else if (job.total >= WORTH_HELP)
    cdv_parallel_for(CDV_POOL_COPIES, move_range, &job, job.total, SLICE);
  else
    for (size_t i = 0; i < n; i++) memcpy(moves[i].dst, moves[i].src, (size_t)moves[i].nbytes);
}
