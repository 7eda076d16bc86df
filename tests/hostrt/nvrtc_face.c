/* libnvrtc.so.13 shape over hostrt: compiles with the C compiler of this machine. */
#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HOSTRT_ARCHS="75 80 90": what it compiles for */
static int architectures(int *out) {
    const char *e = getenv("HOSTRT_ARCHS"); int n = 0; char *end;
    for (e = e ? e : "75 80 90"; *e && n < 64; e = *end ? end + 1 : end) { int a = (int)strtol(e, &end, 10); if (out) out[n] = a; n++; }
    return n;
}
#define RTC(name) nvrtc##name
static const char *rtc_target(const char *option) {
    static const char word[] = "--gpu-architecture="; int known[64], n = architectures(known);
    const char *t = option + sizeof word - 1, *number;
    if (strncmp(option, word, sizeof word - 1) || !(number = strchr(t, '_'))) return NULL;
    for (int i = 0; i < n; i++) if (atoi(number + 1) == known[i]) return t;
    return NULL;
}
static int rtc_option(const char *option) { return !strcmp(option, "--fmad=false") || !strcmp(option, "--ftz=false") || !strcmp(option, "--prec-div=true") || !strcmp(option, "--prec-sqrt=true"); }
#include "rtc_face.h"

RTC_API nvrtcVersion(int *major, int *minor) { int e = rtc_enter(__func__); *major = 13; *minor = 0; return e; }
RTC_API nvrtcGetNumSupportedArchs(int *n) { int e = rtc_enter(__func__); *n = architectures(NULL); return e; }
RTC_API nvrtcGetSupportedArchs(int *out) { RTC_DO((architectures(out), 0)); }
RTC_API nvrtcGetCUBINSize(void *p, size_t *n) { RTC_DO(hrt_program_code(p, 0, n, NULL)); }
RTC_API nvrtcGetCUBIN(void *p, char *out) { RTC_DO(hrt_program_code(p, 0, NULL, out)); }
RTC_API nvrtcGetPTXSize(void *p, size_t *n) { RTC_DO(hrt_program_code(p, 1, n, NULL)); }
RTC_API nvrtcGetPTX(void *p, char *out) { RTC_DO(hrt_program_code(p, 1, NULL, out)); }
HRT_EXPORT const char *nvrtcGetErrorString(int e) {
    static const char *const names[] = {"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"};
    return e >= 0 && e < 8 ? names[e] : "NVRTC_ERROR_INTERNAL_ERROR";
}
