/* opencl.h - what the OpenCL backend offers beside the table of backend.h. */
#ifndef CDEVICE_BACKENDS_OPENCL_H
#define CDEVICE_BACKENDS_OPENCL_H

#include "cdevice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

int cdevice_opencl_init(uint32_t core_abi, int64_t index, const cdevice_backend **out, cdevice_error *err);

/* extension(self, "cdevice.opencl.svm/1"): shared virtual memory, for callers that want it.  Its pointers are
 * addresses, no cl_mem: they must not be given to the functions of the table.  A pointer belongs to the context of
 * the stream it was allocated for (NULL: the device's default queue). */
#define CDEVICE_OPENCL_SVM "cdevice.opencl.svm/1"
#define CDEVICE_OPENCL_SVM_FINE_GRAIN 0x1 /* the host may touch it without mapping */

typedef struct cdevice_opencl_svm {
  uint32_t struct_size;
  uint32_t reserved;
  /* *out: CL_DEVICE_SVM_CAPABILITIES; 0: this device has none. */
  int (*capabilities)(void *self, int64_t device, uint64_t *out, cdevice_error *err);
  /* alignment: 0 or a power of two up to 128, the largest OpenCL type. */
  int (*alloc)(void *self, int64_t device, int64_t nbytes, uint32_t alignment, uint32_t flags, void *stream, void **out,
               cdevice_error *err);
  /* Frees once `stream` (the one it was allocated for, or one of its context) has passed everything enqueued now and
   * sync_event (a cl_event* of that context, may be NULL).  Does not block. */
  int (*free)(void *self, int64_t device, void *pointer, void *sync_event, void *stream, cdevice_error *err);
  /* Either side host or shared virtual memory of the stream's context.  Does not block. */
  int (*copy)(void *self, int64_t device, void *dst, const void *src, int64_t nbytes, void *stream, cdevice_error *err);
} cdevice_opencl_svm;

/* extension(self, "cdevice.opencl.devices/1"): which device a cl_device_id is.  Loaders list platforms each in its
 * own order; the ids behind them are the runtime's. */
#define CDEVICE_OPENCL_DEVICES "cdevice.opencl.devices/1"

typedef struct cdevice_opencl_devices {
  uint32_t struct_size;
  uint32_t reserved;
  /* The number of the device that `id` is or is a part of; -1: none that is listed here. */
  int64_t (*index_of)(void *self, void *id);
} cdevice_opencl_devices;

#ifdef __cplusplus
}
#endif
#endif
