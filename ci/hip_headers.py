"""A C file that calls each function of backends/gpu_driver/rocm.c's table by the vendor's own header, with arguments of
the types that the table has:  hip_headers.py >FILE; cc -fsyntax-only -isystem HEADERS FILE.  Number and kinds of
arguments must be the header's, and so must constants and offsets."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "backends" / "gpu_driver" / "rocm.c"
LAUNCH = "(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)"
CHECKS = """\
_Static_assert(hipEventDisableTiming == 2 && hipEventInterprocess == 4 && hipStreamNonBlocking == 1, "flags");
_Static_assert(hipMemcpyDefault == 4 && hipStreamCaptureModeRelaxed == 2 && hipErrorInvalidValue == 1, "numbers");
_Static_assert(hipIpcMemLazyEnablePeerAccess == 1 || HIP_VERSION_MAJOR < 6 && !hipIpcMemLazyEnablePeerAccess, "peers");
_Static_assert(sizeof(hipIpcMemHandle_t) == 64 && sizeof(hipIpcEventHandle_t) == 64, "handles");
#if HIP_VERSION_MAJOR >= 6
#define AT(member, place) offsetof(hipPointerAttribute_t, member) == place
_Static_assert(AT(type, 0) && AT(device, 4) && AT(devicePointer, 8) && AT(hostPointer, 16) && AT(isManaged, 24) &&
               AT(allocationFlags, 28) && sizeof(hipPointerAttribute_t) <= 96 && hipMemoryTypeHost == 1, "attributes");
#endif
"""


def functions():
    """(symbol, [type of each argument])"""
    rows = re.findall(
        r'X\(\d, [\w *]+?, ?\w+, "(\w+)", (\(.*\)|RT_LAUNCH_ARGUMENTS)\)', TABLE.read_text(encoding="utf-8")
    )
    for symbol, args in rows:
        types = re.split(r", (?![^(]*\))", (LAUNCH if args == "RT_LAUNCH_ARGUMENTS" else args)[1:-1])
        yield symbol, [t for t in types if t != "void"]


def value(symbol, kind):
    handle = "hipIpcMemHandle_t" if "MemHandle" in symbol else "hipIpcEventHandle_t"
    return "(hipHostFn_t)0" if "(*)" in kind else f"*({kind.replace('cdevice_ipc_handle', handle)} *)0"


if __name__ == "__main__":
    calls = [f"  (void){symbol}({', '.join(value(symbol, t) for t in types)});" for symbol, types in functions()]
    calls = [f"#if HIP_VERSION_MAJOR >= 6\n{c}\n#endif" if "R0600" in c else c for c in calls]
    calls = [f"#ifdef HAS_HIPRTC\n{c}\n#endif" if "hiprtc" in c else c for c in calls]
    assert len(calls) > 40, "the table was not found"
    print("#define __HIP_PLATFORM_AMD__ 1\n#include <stddef.h>\n#include <hip/hip_runtime_api.h>")
    # Triton's wheel has the runtime's headers alone
    print("#if __has_include(<hip/hiprtc.h>)\n#define HAS_HIPRTC 1\n#include <hip/hiprtc.h>\n#endif")
    print("void check(void) {", *calls, "}", CHECKS, sep="\n")
