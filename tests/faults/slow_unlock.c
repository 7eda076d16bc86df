/* slow_unlock.c - a lock that another thread than the first lets go stays taken for a while: what meets it by chance once in
 * a million times meets it always. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sem_post(sem_t *sem) { /* Python's locks are semaphores */
  static int (*next)(sem_t *);
  struct timespec while_ = {.tv_nsec = 300000};
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "sem_post");
  if (syscall(SYS_gettid) != getpid()) nanosleep(&while_, NULL);
  return next(sem);
}
