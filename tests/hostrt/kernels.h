/* kernels.h - compiling and running kernels on the stand-in (kernels.c), for the faces; and what tests ask about it. */
#ifndef HOSTRT_KERNELS_H
#define HOSTRT_KERNELS_H
#include "hostrt.h"

enum { HRT_NO_BINARY = 209, HRT_INVALID_IMAGE = 200, HRT_NOT_FOUND = 500, HRT_LAUNCH_FAILED = 719 };
/* NVRTC's and HIPRTC's result codes */
enum { RTC_OUT_OF_MEMORY = 1, RTC_INVALID_INPUT = 3, RTC_INVALID_PROGRAM = 4, RTC_INVALID_OPTION = 5, RTC_COMPILATION = 6 };

int hrt_program_create(void **out, const char *text);
int hrt_program_compile(void *program, const char *target);
int hrt_program_log(void *program, size_t *n, char *out);
int hrt_program_code(void *program, int portable, size_t *n, char *out); /* n or out may be NULL */
int hrt_program_destroy(void **program);
int hrt_module_load(void **out, const void *data, int (*takes)(const char *target));
int hrt_module_unload(void *module);
int hrt_module_function(void **out, void *module, const char *name);
int hrt_launch(void *function, unsigned blocks, unsigned lanes, void *stream, void **arguments);

HRT_EXPORT int64_t hostrt_programs(void);  /* that live */
HRT_EXPORT int64_t hostrt_modules(void);
HRT_EXPORT int64_t hostrt_launches(void);  /* so far */
HRT_EXPORT int64_t hostrt_codes(void);     /* of programs, handed out so far, and their bytes */
HRT_EXPORT int64_t hostrt_code_bytes(void);
#endif
