"""The stand-in runtimes of tests/hostrt, built and loaded once in a process: a backend opens its library only once."""

import ctypes
import os
import shutil
import subprocess

import pytest
from paths import TESTS

HERE = TESTS
TYPES = {"cuda": 2, "cuda_host": 3, "cuda_managed": 13, "rocm": 10, "rocm_host": 11}


class Stats(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_int64)
        for n in "live_device live_host live_managed live_bytes live_events live_streams records waits host_blocks misuse ops_done".split()
    ]


class Runtime:
    """The test controls of one stand-in library."""

    def __init__(self, path, engine, trace):
        self.path, self.trace = path, trace
        self.library = ctypes.CDLL(str(engine), mode=ctypes.RTLD_LOCAL)
        self.library.hostrt_gate.argtypes = [ctypes.c_void_p]
        self.library.hostrt_limit.argtypes = [ctypes.c_int64]
        for name in ("storm_hits", "calls", "programs", "modules", "launches", "codes", "code_bytes"):
            getattr(self.library, f"hostrt_{name}").restype = ctypes.c_int64
        self.library.hostrt_fail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]

    def stats(self):
        out = Stats()
        self.library.hostrt_get_stats(ctypes.byref(out))
        return out

    def gate(self, stream=0):
        assert self.library.hostrt_gate(stream) == 0

    def open(self):
        self.library.hostrt_open()

    def fail(self, function, after, code):
        """The call number ``after`` + 1 from now on fails, once; ``after`` < 0: every call."""
        self.library.hostrt_fail(function.encode(), after, code)

    def mend(self):
        self.fail("nothing", 0, 0)


def start(build):
    """{"cuda": Runtime, "rocm": Runtime}, made in the folder `build`; afterwards the five backends use them."""
    import cdevice

    if not shutil.which("make") or not (shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("no compiler for the stand-in: apt-get install gcc make")
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
    subprocess.run(["make", "-s", "-C", str(HERE / "hostrt"), f"B={build}"], check=True, capture_output=True, env=plain)
    cuda, hip = build / "cuda/lib/libcuda.so.1", build / "rocm/lib/libamdhip64.so.7"
    made = {
        "cuda": Runtime(cuda, build / "cuda/lib/libhostrt.so", None),
        "rocm": Runtime(hip, hip, None),
    }
    os.environ["CDEVICE_CUDA_LIBRARY"], os.environ["CDEVICE_HIP_LIBRARY"] = str(cuda), str(hip)
    # asked for when kernels are compiled first; HIP's compiler is in its runtime
    os.environ["CDEVICE_NVRTC_LIBRARY"] = str(build / "cuda/lib/libnvrtc.so.13")
    kept = build / "kept"  # each text is compiled once for all tests
    kept.mkdir(exist_ok=True)
    os.environ["HOSTRT_KEPT"] = str(kept)
    try:
        for d in TYPES:
            assert cdevice.device(d).is_available
    finally:
        del os.environ["CDEVICE_CUDA_LIBRARY"], os.environ["CDEVICE_HIP_LIBRARY"]
    return made
