/* owner.h - an owner that several keep. */
#ifndef CDEVICE_CORE_BASE_OWNER_H
#define CDEVICE_CORE_BASE_OWNER_H

struct cdv_shared;

/* cffi: begin */
/* An owner of memory: drop(owner) is called once, on any thread, without the GIL. */
struct cdv_owner {
  void (*drop)(void *owner);
  void *owner;
};
/* cffi: end */

/* An owner that several keep.  owns: on success *out has it, counted once.  ENOMEM sets no error. */
int cdv_share(struct cdv_owner owner, struct cdv_shared **out);
void *cdv_shared_owner(struct cdv_shared *shared);            /* owner.owner */
struct cdv_shared *cdv_shared_ref(struct cdv_shared *shared); /* NULL is legal, here and in the next one */
void cdv_shared_unref(struct cdv_shared *shared);

#endif
