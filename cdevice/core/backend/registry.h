/* registry.h - which table of functions serves a device type: put in, taken out, started, asked. */
#ifndef CDEVICE_CORE_BACKEND_REGISTRY_H
#define CDEVICE_CORE_BACKEND_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cdevice/backend.h"

struct cdv_backend;

/* cffi: begin */
int cdv_register(const cdevice_backend *backend, int replace);
int cdv_unregister(int32_t device_type);
int cdv_is_host_accessible(int32_t device_type);
int cdv_device_count(int32_t device_type, int64_t *out);
int cdv_device_info(int32_t device_type, int64_t device_id, cdevice_device_info *out);
int cdv_load_builtin(const char *name, int replace);
int cdv_load_plugin(const char *path, int replace);
/* cffi: end */

/* load(type) is asked where no backend serves a type that is needed: 0, or an error in the slot.  Any thread. */
void cdv_set_loader(int (*load)(int32_t device_type));
/* Gives back what was kept for a table that was taken out and that nothing needs any more; its keeper sets
 * it. */
void cdv_set_forget(void (*forget)(struct cdv_backend *backend));
/* A backend, found if need be, not started; or an error in the slot (BackendUnavailable). */
int cdv_backend_find(int32_t device_type, struct cdv_backend **out);
/* The started backend, or an error in the slot (BackendUnavailable). */
int cdv_backend_get_started(int32_t device_type, struct cdv_backend **out);
/* Starts it, unless that was done; refuses one that was started before a fork. */
int cdv_backend_start(struct cdv_backend *backend);
/* As cdv_backend_get_started, and it is not taken out before cdv_backend_addref(slot, -1). */
int cdv_backend_acquire(int32_t device_type, struct cdv_backend **out);
/* May one work with memory, streams and events of the other?  A table that was replaced is alone. */
bool cdv_backend_same_family(const struct cdv_backend *a, const struct cdv_backend *b);
bool cdv_host_accessible(int32_t device_type);
/* To the log of the host: level as in Python's logging. */
void cdv_log(int level, const char *text);
/* May a function of this slot's table be called in this process?  Not in a forked child, for what the parent made: its
 * runtime is not there, its locks are as some thread of the parent's left them, and the memory is the parent's. */
bool cdv_backend_usable_in_process(const struct cdv_backend *backend);
/* Registers every table an init function hands out whose type is free; EEXIST when none was.  who: for messages. */
int cdv_load_tables(cdevice_backend_init_fn init, const char *who, int replace);

#endif
