/* directory.h - the descriptors of a shared array by /proc, where a process may not have a socket. */
#ifndef CDEVICE_CORE_IPC_DIRECTORY_H
#define CDEVICE_CORE_IPC_DIRECTORY_H

#include <stdint.h>

struct cdv_segment;

/* Writes down which descriptors of this process an array consists of: its own descriptor is what others need to know.  n:
 * at most CDV_IMAGE_SEGMENTS.  owns: *out is a new reference; the segments must live as long.  Does not block. */
int cdv_directory_write(const uint8_t secret[16], struct cdv_segment *const *segments, int64_t n,
                        struct cdv_segment **out);
/* Opens them in another process: at most CDV_IMAGE_SEGMENTS.  ENOENT sets no error: the process has ended or does not share
 * it any more.  owns: the descriptors are the caller's, also after an error.  Does not block. */
int cdv_directory_read(int64_t process, int64_t descriptor, const uint8_t secret[16], int *fds, int64_t *n);

#endif
