"""Is there a GPU, or in a rehearsal the stand-in?  Tests import it first: without one they are skipped."""

import ctypes
import os

import pytest


def face():
    """ "cuda", "stand-in", or why there is none."""
    try:
        driver = ctypes.CDLL(os.environ.get("CDEVICE_CUDA_LIBRARY", "libcuda.so.1"))
    except OSError as e:
        return f"no NVIDIA driver ({e})"
    n = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(n)) or not n.value:
        return "a driver, but no GPU"
    return "stand-in" if hasattr(driver, "hostrt_face") else "cuda"


_wanted = "stand-in" if os.environ.get("CDEVICE_REHEARSAL") else "cuda"
if face() != _wanted:
    pytest.skip(f"{face()}: ci/gpu runs this where there is a GPU and an NVIDIA driver", allow_module_level=True)
