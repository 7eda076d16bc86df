/* rtc_face.h - what NVRTC and HIPRTC have in common: RTC(name) is the name with the prefix, rtc_target(option) the target that an
 * option names, NULL where it is another option, and rtc_option(option) says whether that one is known. */
#include "kernels.h"
#include <stdlib.h>
#include <string.h>

#define RTC_API HRT_EXPORT int
#define RTC_DO(x) do { int e_ = rtc_enter(__func__); return e_ ? e_ : (x); } while (0)

static int rtc_enter(const char *fn) { int e = hrt_enter(fn); return e == HRT_NO_DEVICE ? 0 : e; } /* a compiler needs none */
RTC_API RTC(CreateProgram)(void **p, const char *text, const char *name, int n, const char *const *headers, const char *const *names) { (void)name; (void)headers; (void)names; RTC_DO(n ? RTC_INVALID_INPUT : hrt_program_create(p, text)); }
RTC_API RTC(DestroyProgram)(void **p) { RTC_DO(hrt_program_destroy(p)); }
RTC_API RTC(CompileProgram)(void *p, int n, const char *const *options) {
    const char *target = NULL; int e = rtc_enter(__func__); if (e) return e;
    for (int i = 0; i < n; i++) { const char *t = rtc_target(options[i]); if (t) target = t; else if (!rtc_option(options[i])) return RTC_INVALID_OPTION; }
    return target ? hrt_program_compile(p, target) : RTC_INVALID_OPTION;
}
RTC_API RTC(GetProgramLogSize)(void *p, size_t *n) { RTC_DO(hrt_program_log(p, n, NULL)); }
RTC_API RTC(GetProgramLog)(void *p, char *log) { RTC_DO(hrt_program_log(p, NULL, log)); }
