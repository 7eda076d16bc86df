"""The libraries that hold streams and arrays on GPUs, unmodified, on hostrt, the stand-in runtime: no GPU is used.

They need an environment of their own, because cupy for ROCm and for CUDA have one name: ``ci/clients`` makes it.
"""

import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HOSTRT = pathlib.Path(__file__).resolve().parent.parent / "hostrt"
sys.path.insert(0, str(HOSTRT))


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    if not shutil.which("gcc") or not shutil.which("make"):
        pytest.skip("no compiler for the stand-in: apt-get install gcc make")
    return tmp_path_factory.mktemp("hostrt")


class Controls:
    def __init__(self, engine):
        self.library = ctypes.CDLL(str(engine))
        self.library.hostrt_gate.argtypes = [ctypes.c_void_p]

    def gate(self, stream):
        assert self.library.hostrt_gate(stream) == 0

    def open(self):
        self.library.hostrt_open()

    def misuse(self):
        from standin import Stats

        out = Stats()
        self.library.hostrt_get_stats(ctypes.byref(out))
        return out.misuse


@pytest.fixture(scope="session")
def cuda(build):
    """The stand-in as libcuda.so.1, mapped before anybody asks for that name."""
    if importlib.util.find_spec("numba") is None:
        pytest.skip("pip install numba-cuda, in an environment of its own: ci/clients")
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
    subprocess.run(["make", "-s", "-C", str(HOSTRT), f"B={build}"], check=True, capture_output=True, env=plain)
    ctypes.CDLL(str(build / "cuda/lib/libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    return Controls(build / "cuda/lib/libhostrt.so")


@pytest.fixture(scope="session")
def hip(build):
    """The stand-in as libamdhip64.so.7, mapped as cupy's wheel would map AMD's."""
    pytest.importorskip("cupy_backends", reason="pip install cupy-rocm-7-0, in an environment of its own: ci/clients")
    import cupy_stubs

    made = cupy_stubs.make(build / "rocm-for-cupy/lib")
    for path in made:
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    (build / "rocm-for-cupy/lib/libamdhip64.so").symlink_to(made[0])
    os.environ["ROCM_PATH"] = str(build / "rocm-for-cupy")  # hip-python looks there
    return Controls(made[0])
