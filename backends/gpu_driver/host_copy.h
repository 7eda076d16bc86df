/* host_copy.h - copies from one place of the host's memory to another, in the order of a stream.
 *
 * The vendor's asynchronous copy is none there: CUDA's waits for the stream and copies, both in the caller's thread.  So
 * a function that the stream calls copies.  Its memory is kept as for any copy, until the event behind it has passed.
 * A copy at once, where the stream reports that it is idle, is no way: on an H200 one came before an event that its stream
 * waited for.
 */
#ifndef CDEVICE_RUNTIME_HOST_COPY_H
#define CDEVICE_RUNTIME_HOST_COPY_H

#include "gpu_driver/call.h"

#include <stdlib.h>
#include <string.h>

typedef struct rt_host_copies {
  int64_t n;
  cdevice_copy copies[];
} rt_host_copies;

static void rt_copy_in_stream(void *given) {
  rt_host_copies *of = given;
  for (const cdevice_copy *c = of->copies; c < of->copies + of->n; c++)
    if (c->nbytes) memmove((char *)c->dst + c->dst_offset, (const char *)c->src + c->src_offset, (size_t)c->nbytes);
  free(of);
}

static int rt_is_pinned(const void *p) {
  int kind = RT_DEVICE, where = 0;
  int64_t behind = -1;
  return !rt_pointer_attributes(p, &kind, &where, &behind) && kind == RT_PINNED;
}

/* Do the copies of one call concern the host's memory alone?  Their targets are of one type, and so are their sources;
 * one side is pinned memory, the other may be a device's. */
static int rt_is_host_copy(int direction, const cdevice_copy *first) {
  if (direction == CDEVICE_COPY_H2D || direction == CDEVICE_COPY_D2H) return 1;
  return rt_is_pinned((char *)first->src + first->src_offset) && rt_is_pinned((char *)first->dst + first->dst_offset);
}

/* For pinned memory.  The vendor's code; RT_NOT_SUPPORTED: the vendor is to copy.  The device is current; does not wait
 * for the stream. */
static int rt_copy_host(int direction, const cdevice_copy *copies, int64_t n, void *stream) {
  if (!rt_is_host_copy(direction, copies)) return RT_NOT_SUPPORTED;
  rt_host_copies *of = rt_can_call() ? malloc(sizeof *of + (size_t)n * sizeof *copies) : NULL;
  if (!of) return RT_NOT_SUPPORTED;
  of->n = n;
  memcpy(of->copies, copies, (size_t)n * sizeof *copies);
  int code = rt_launch_host_func(stream, rt_copy_in_stream, of);
  if (code) free(of);
  return code;
}

#endif
