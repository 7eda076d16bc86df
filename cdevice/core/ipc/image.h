/* image.h - an array written down for another process: its schema, the shape of its tree, and where its buffers lie in
 * segments. */
#ifndef CDEVICE_CORE_IPC_IMAGE_H
#define CDEVICE_CORE_IPC_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct cdv_array;
struct cdv_segment;
struct cdv_shared;

struct cdv_image {
  char *bytes; /* malloc'ed */
  int64_t nbytes;
  struct cdv_segment **segments; /* malloc'ed, a reference on each; of device memory its handle */
  int64_t n_segments;
  bool on_device;
  struct cdv_shared *event; /* that readers wait for; or NULL */
};
#define CDV_IMAGE_SEGMENTS 250 /* most; as many descriptors travel in one message */

/* Writes an array down, its schema too or its shape alone; one of a device only with its schema.  ENOTSUP
 * (CDV_CANNOT_EXPORT): some of its memory is in no segment and has no handle, or is in too many pieces: a copy is needed.
 * Waits for the array's event on the host, or where the device can records one for others.  owns: *out until
 * cdv_image_free. */
int cdv_image_write(struct cdv_array *array, bool with_schema, struct cdv_image *out);
void cdv_image_free(struct cdv_image *image);
/* The array, over segment 0, which has the image, and those behind it.  level: 1 structure, 2 full.  The whole image is
 * checked.  lifeline: kept as long as the array, its owner sees its end; or NULL.  owns: takes a reference on each segment;
 * *out is a new reference. */
int cdv_image_read(struct cdv_segment *const *segments, int64_t n_segments, struct cdv_segment *lifeline, int level,
                   struct cdv_array **out);
/* The same of an image in memory, whose segments are all given: of an array of `schema` where that is no part of the
 * image. owner: keeps the image and the segments; a reference is taken for each node. */
struct cdv_schema;
int cdv_image_parse(const char *bytes, int64_t nbytes, struct cdv_segment *const *segments, int64_t n_segments,
                    struct cdv_schema *schema, struct cdv_shared *owner, int level, struct cdv_array **out);
/* How many segments an image has, and what the first of it, 0 not counted, must be; for the caller that maps them. */
struct cdv_image_segment {
  int64_t nbytes, kind;
};
enum { CDV_IMAGE_MEMORY, CDV_IMAGE_FILE, CDV_IMAGE_DEVICE };
int cdv_image_segments(const char *bytes, int64_t nbytes, const struct cdv_image_segment **out, int64_t *n);
/* Whose memory it is. */
int cdv_image_device(const char *bytes, int64_t nbytes, int32_t *device_type, int64_t *device);

#endif
