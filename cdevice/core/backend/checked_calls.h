/* checked_calls.h - what a backend answers, checked before it is used: it is third-party C. */
#ifndef CDEVICE_CORE_BACKEND_CHECKED_CALLS_H
#define CDEVICE_CORE_BACKEND_CHECKED_CALLS_H

#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_backend;

int cdv_checked_alloc(struct cdv_backend *backend, int64_t device, int64_t nbytes, void *stream, cdevice_block *out,
                      cdevice_error *err);
int cdv_checked_external_alloc(const cdevice_allocator *from, int64_t device, int64_t nbytes, void *stream,
                               cdevice_block *out, cdevice_error *err);
int cdv_checked_view(struct cdv_backend *backend, const cdevice_block *whole, int64_t offset, int64_t nbytes,
                     cdevice_block *out, cdevice_error *err);
int cdv_checked_stage_alloc(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out);
int cdv_checked_prepare(struct cdv_backend *backend, int64_t device, int64_t nbytes, cdevice_block *out,
                        cdevice_error *err);
/* 0, or why no work may be put on the stream now: a graph capture. Asked before the first command, because after a
 * refusal in the middle no event can be recorded behind those that were enqueued. */
int cdv_checked_stream(struct cdv_backend *backend, int64_t device, void *stream, cdevice_error *err);
int cdv_checked_device_count(struct cdv_backend *backend, int64_t *out, cdevice_error *err);
int cdv_checked_device_info(struct cdv_backend *backend, int64_t device, cdevice_device_info *out, cdevice_error *err);
int cdv_checked_event_done(struct cdv_backend *backend, int64_t device, void *event, int *done, cdevice_error *err);

#endif
