/* doorbell.h - a descriptor that becomes readable, for event loops: an eventfd. */
#ifndef CDEVICE_CORE_BASE_DOORBELL_H
#define CDEVICE_CORE_BASE_DOORBELL_H

/* owns: the descriptor is the caller's until cdv_doorbell_free.  -errno: there is none to be had; -ENOTSUP: this system has
 * none.  Any thread; does not block. */
int cdv_doorbell_new(void);
void cdv_doorbell_ring(int descriptor); /* readable from now on; any thread, does not block */
void cdv_doorbell_clear(int descriptor);
void cdv_doorbell_free(int descriptor);

#endif
