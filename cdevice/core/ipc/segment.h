/* segment.h - shared memory: a file without a name that other processes of the machine map. */
#ifndef CDEVICE_CORE_IPC_SEGMENT_H
#define CDEVICE_CORE_IPC_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cdevice/backend.h"
#include "core/base/owner.h"

/* cffi: begin */
int64_t cdv_live_segments(void);
/* on: what this thread allocates on the CPU from now on lies in segments.  The setting before. */
int cdv_allocate_in_segments(int on);
/* cffi: end */

struct cdv_segment {
  atomic_long refs;
  char *base; /* NULL: nothing is mapped, it stands for a file that the owner of the memory mapped */
  int64_t nbytes;
  int fd;
  dev_t device;
  ino_t inode;
  bool is_file;                   /* a file of another program, not memory of cdevice */
  bool sealed_when_shared;        /* others read it alone */
  struct cdv_owner device_memory; /* what closes it, where base is memory of a device, opened here */
  struct cdv_segment *next;
};
/* Memory that this process may write and others may map, to read only but where both_write: see cdv_segment_seal.
 * Reserved at once: ENOMEM or ENOSPC where there is too little.  Any thread; does not block for others.  owns: *out is a
 * new reference. */
int cdv_segment_create(int64_t nbytes, bool both_write, struct cdv_segment **out);
/* Before its descriptor goes to others: from now on it is written by mappings that are there, no others.  Any thread;
 * does not block. */
void cdv_segment_seal(const struct cdv_segment *s);
/* A descriptor that is no memory, to be handed out beside some.  owns: fd is taken over, also on an error. */
int cdv_segment_of_descriptor(int fd, struct cdv_segment **out);
/* Memory of a device that is open in this process.  owns: `owner` is taken over, also on an error; it is dropped with
 * the last reference. */
int cdv_segment_of_device(void *data, int64_t nbytes, struct cdv_owner owner, struct cdv_segment **out);
/* The same for bytes that are there: they cannot be written any more. */
int cdv_segment_of_bytes(const void *bytes, int64_t nbytes, struct cdv_segment **out);
/* Maps at least nbytes, once in a process.  owns: fd is taken over, also on an error; *out is a new
 * reference. */
enum cdv_segment_kind { CDV_SEGMENT_READ, CDV_SEGMENT_FILE, CDV_SEGMENT_WRITE };
int cdv_segment_map(int fd, int64_t nbytes, enum cdv_segment_kind kind, struct cdv_segment **out);
/* The segment that these bytes lie in, or the file that they are mapped from, and where there; NULL: neither.  A new
 * reference. */
struct cdv_segment *cdv_segment_find(const void *address, int64_t nbytes, int64_t *offset);
struct cdv_segment *cdv_segment_ref(struct cdv_segment *s);
void cdv_segment_unref(struct cdv_segment *s); /* any thread; never blocks for others */
/* What this thread allocates on the CPU comes from `allocator`, which must live so long; NULL: as always.  The one
 * before. */
const cdevice_allocator *cdv_allocator_override(const cdevice_allocator *allocator);
const cdevice_allocator *cdv_overriding_allocator(void);

#endif
