/* broker.h - hands the descriptors of shared arrays to other processes that know their tickets. */
#ifndef CDEVICE_CORE_IPC_BROKER_H
#define CDEVICE_CORE_IPC_BROKER_H

#include <stdint.h>

struct cdv_array;
struct cdv_segment;

/* cffi: begin */
/* What another process needs to open an array that this one shares. */
struct cdv_ticket {
  uint64_t number;
  int64_t process;
  int64_t user;
  uint8_t secret[16];
  uint8_t boot[16];   /* of the machine, since it was started */
  uint8_t socket[16]; /* of the process; its name is made of these */
};
/* It cannot be opened any more.  Arrays that were opened stay as they are.  Does not block for others. */
void cdv_retract(uint64_t number);
int64_t cdv_times_opened(uint64_t number);           /* -1: it is not shared any more */
void cdv_limit_opens(uint64_t number, int64_t more); /* it may be opened so many times more */
int64_t cdv_live_tickets(void);
/* cffi: end */

/* Shares an array of the CPU that lies in segments.  opens: how often it may be opened, 0: as often as one likes.  Starts
 * a thread, once.  ENOTSUP: see cdv_image_write.  owns: it is shared, and its memory kept, until cdv_retract, the
 * last time that it may be opened, or the end of the process. */
int cdv_publish(struct cdv_array *array, int64_t opens, struct cdv_ticket *out);
/* The array of a ticket of this machine.  Blocks for the thread of the process that shares it, some microseconds, at most
 * ten seconds.  level: as for cdv_image_read.  owns: *out is a new reference. */
int cdv_open_ticket(const struct cdv_ticket *ticket, int level, struct cdv_array **out);
/* The same in two steps, for descriptors of another meaning; n at most CDV_IMAGE_SEGMENTS.  owns: publishing takes a
 * reference on each; the descriptors that come of asking are the caller's, also after an error. */
int cdv_publish_segments(struct cdv_segment *const *segments, int64_t n, int64_t opens, struct cdv_ticket *out);
int cdv_ask_ticket(const struct cdv_ticket *ticket, int *fds, int64_t *n);

#endif
