/* origin.h - where an array lies, and which backend made it. */
#ifndef CDEVICE_CORE_ARRAY_ORIGIN_H
#define CDEVICE_CORE_ARRAY_ORIGIN_H

#include <stdbool.h>

struct cdv_array;
struct cdv_backend;

/* The backend that made it, or that serves its type where it came without one; started.  It reads, waits and frees,
 * whichever backend serves the type by now.  Borrowed: the array keeps it. */
int cdv_array_backend(struct cdv_array *array, struct cdv_backend **out);
bool cdv_array_host_accessible(const struct cdv_array *array);

#endif
