/* exec.h - one call of a function: the device, the order of things on it, and what has to live until it is done. */
#ifndef CDEVICE_CORE_COMPUTE_EXEC_H
#define CDEVICE_CORE_COMPUTE_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_array;
struct cdv_event;
struct cdv_schema;
struct cdv_shared;
struct cdv_backend;

/* A stream, and what keeps it for as long as memory that was allocated for it; lane NULL: the current one. */
struct cdv_stream_ref {
  void *stream;
  struct cdv_shared *owner; /* or NULL */
};
struct cdv_exec {
  struct cdv_backend *backend;
  const cdevice_compute *compute;
  int64_t device;
  void *stream;
  struct cdv_shared *stream_owner; /* borrowed */
  uint32_t flags;
  bool has_work;             /* the device was given something to do */
  const char *function_name; /* the function, in errors; borrowed */
  int64_t n_retained, room;
  struct cdv_array **retained; /* what the device may use until it is done: references */
  int64_t *error;              /* two words on the device, or NULL */
};
struct cdv_kernel_launch {
  const char *family, *type, *name;
  int granularity;
  int64_t n;
  cdevice_kernel_buffer buffers[CDEVICE_KERNEL_BUFFERS];
  int64_t scalars[CDEVICE_KERNEL_SCALARS]; /* the first is n */
  int64_t n_items;                         /* CDV_ITEMS: how many */
  const char *with; /* kernels that this call launches next, built together with it: see cdv_kernel_get; or NULL */
};
/* Finds the device that all arrays are on, holds each, and makes the stream wait for them.  n = 0:
 * the CPU.  cdv_exec_finish must follow, also after an error. */
int cdv_exec_begin(struct cdv_exec *w, struct cdv_array *const *arrays, int64_t n,
                   const struct cdv_stream_ref *stream_ref, const char *doing);
/* Is it the CPU that computes? */
bool cdv_exec_is_host(const struct cdv_exec *w);
/* Another array that kernels read, as those that begin got. */
int cdv_exec_use(struct cdv_exec *w, struct cdv_array *a);
/* Memory in one allocation (see cdv_buffers_empty), held until the work is done; borrowed. */
int cdv_exec_alloc_buffers(struct cdv_exec *w, const int64_t *nbytes, int64_t n, struct cdv_array **out);
/* Uninitialised rows, retained until the work is done; borrowed. */
int cdv_exec_alloc_array(struct cdv_exec *w, struct cdv_schema *schema, int64_t length, bool validity,
                         struct cdv_array **out);
/* The same of one-letter formats: memory between two kernels. */
int cdv_exec_alloc_temp(struct cdv_exec *w, char letter, int64_t length, cdevice_kernel_buffer *out);
/* Enqueues a kernel; one of no rows is none, but for tiles, blocks and single items. */
int cdv_exec_launch(struct cdv_exec *w, struct cdv_kernel_launch *step);
/* Two words that a kernel may complain into, both 0. */
int cdv_exec_error_slot(struct cdv_exec *w, cdevice_kernel_buffer *out);
/* Blocks until the device has done the enqueued work: 0, or the error that a kernel reported. */
int cdv_exec_check_error(struct cdv_exec *w, const char *name, const char *type);
/* The same of two words that were read already.  Does not block. */
int cdv_exec_report_error(const int64_t said[2], const char *name, const char *type);
/* Blocks; copies from memory of the device. */
int cdv_exec_read_back(struct cdv_exec *w, const cdevice_kernel_buffer *from, int width, int64_t nbytes, void *to);
/* The end: r is how it went so far, written what cdv_exec_alloc_array gave. owns: *out is a new reference; nothing
 * else is held for longer than the device needs it. */
int cdv_exec_finish(struct cdv_exec *w, int r, struct cdv_array *written, struct cdv_array **out);
/* The same of several results: where one fails there is none. */
int cdv_exec_finish_all(struct cdv_exec *w, int r, struct cdv_array *const *written, int n, struct cdv_array **out);
/* The end of one that hands nothing out.  owns: *event is behind what was enqueued, or NULL: that is done. */
int cdv_exec_finish_void(struct cdv_exec *w, int r, struct cdv_event **event);

#endif
