/* readback.h - reading from the source's device into host memory, a large read through two pinned chunks. */
#ifndef CDEVICE_CORE_COPY_READBACK_H
#define CDEVICE_CORE_COPY_READBACK_H

#include <stdint.h>

/* cffi: begin */
int64_t cdv_staging_chunk(int64_t bytes); /* bytes of a staging chunk; sets it when > 0, gives the old value (tests) */
/* cffi: end */

#endif
