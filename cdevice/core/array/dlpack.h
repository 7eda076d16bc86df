/* dlpack.h - numbers as DLPack tensors and back; fixed-size lists are the dimensions behind the first. */
#ifndef CDEVICE_CORE_ARRAY_DLPACK_H
#define CDEVICE_CORE_ARRAY_DLPACK_H

#include <stdint.h>

#include "cdevice/dlpack_abi.h"
#include "core/base/owner.h"

struct cdv_array;

/* owns: (*out)->deleter is the caller's to call; it keeps the array.  flags: DLPACK_FLAG_*. */
int cdv_dlpack_export(struct cdv_array *array, uint64_t flags, DLManagedTensorVersioned **out);
int cdv_dlpack_export_legacy(struct cdv_array *array, DLManagedTensor **out);
/* The tensor of an array of numbers, not of lists: its parts are the array's, valid for as long as the caller keeps it.
 * Allocates nothing. */
int cdv_dlpack_borrow(struct cdv_array *array, DLTensor *out);
/* owns: on success owner is dropped with the array; on an error it stays the caller's. */
int cdv_dlpack_import(const DLTensor *tensor, void *sync_event, struct cdv_owner owner, int level,
                      struct cdv_array **out);
/* The same behind all work that `stream` of the tensor's device has been given so far: the array carries an event.  May
 * start the backend; never waits for the device. */
int cdv_dlpack_import_behind(const DLTensor *tensor, void *stream, struct cdv_owner owner, int level,
                             struct cdv_array **out);
/* The stream of a device that work goes to where none is named: *out is `named`, or the backend's current stream
 * where that is NULL. May start the backend; never waits for the device. */
int cdv_default_stream(int32_t device_type, int64_t device_id, void *named, void **out);
/* A tensor of that device, type and shape, writable, its values not set. owns: (*out)->deleter is the caller's to
 * call. May start the backend, and wait for the device where memory is short. */
int cdv_dlpack_allocate(const DLTensor *like, DLManagedTensorVersioned **out);

#endif
