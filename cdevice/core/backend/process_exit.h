/* process_exit.h - the end of the process, and work that it must not cut off in the middle. */
#ifndef CDEVICE_CORE_BACKEND_PROCESS_EXIT_H
#define CDEVICE_CORE_BACKEND_PROCESS_EXIT_H

/* cffi: begin */
/* At the end of the process: 1 while a started backend has work that this must not cut off, after a pause of 2 ms; 0
 * once there is none, after ten seconds, or after one in which nothing of the process has worked.  One thread. */
int cdv_exit_drain_step(void);
/* cffi: end */

/* exit() does as much where Python has not done it (a C program that embeds).  To be called whenever a backend has
 * built something that it may still work on.  Any thread. */
void cdv_register_exit_drain(void);

#endif
