"""Programs on the stand-in runtimes of tests/hostrt, each in a process of its own."""

import os
import shutil
import subprocess
import sys

import pytest
from paths import TESTS

HERE = TESTS

PRELUDE = """
import sys, importlib.util, os, ctypes, gc, threading
sys.path[:0] = {path!r}
if importlib.util.find_spec("cdevice.backends") is None:
    import types
    m = types.ModuleType("cdevice.backends"); m.__path__ = [{backends!r}]; sys.modules["cdevice.backends"] = m
import numpy as np
import cdevice
from cdevice._runtime.ext import _native, ffi, lib
vendor = ctypes.CDLL({library!r})          # what a user of the vendor's library calls
rt = ctypes.CDLL({engine!r})               # the test's controls
rt.hostrt_gate.argtypes = [ctypes.c_void_p]
rt.hostrt_fail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
rt.hostrt_limit.argtypes = [ctypes.c_int64]
here = {device!r}

class Stats(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in "live_device live_host live_managed live_bytes live_events live_streams "
                "records waits host_blocks misuse ops_done".split()]

def stats():
    out = Stats()
    rt.hostrt_get_stats(ctypes.byref(out))
    return out

def calls(*words):
    lines = open(os.environ["HOSTRT_TRACE"]).read().split()
    return sum(any(w in line for w in words) for line in lines)

def settle(to=0):
    pause = threading.Event()
    for i in range(20000):
        if i % 200 == 0:
            gc.collect()
        _native.drain()
        if lib.cdv_retired_count() <= to:
            return
        pause.wait(0.0005)
    raise AssertionError(f"{{lib.cdv_retired_count()}} sources are still kept")

def until(condition):
    pause = threading.Event()
    for _ in range(20000):
        if condition():
            return
        pause.wait(0.0005)
    raise AssertionError("it never came true")

def new_stream(device=0, of=None):
    out, err = ffi.new("void **"), ffi.new("cdevice_error *")
    assert cdevice.device(of or here).is_available     # the backend is started
    table = lib.cdv_backend_table(cdevice.device(of or here).type_id)
    assert table.stream_create(table.self, device, out, err) == 0
    return int(ffi.cast("uintptr_t", out[0]))

def destroy(stream, device=0):
    table = lib.cdv_backend_table(cdevice.device(here).type_id)
    table.stream_destroy(table.self, device, ffi.cast("void *", stream))

def rows(n):
    return cdevice.asarray(np.arange(n))
"""


@pytest.fixture(scope="session")
def hostrt(tmp_path_factory):
    if not shutil.which("make") or not (shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("no compiler for the stand-in: apt-get install gcc make")
    build = tmp_path_factory.mktemp("hostrt")
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
    done = subprocess.run(
        ["make", "-s", "-C", str(HERE / "hostrt"), f"B={build}"], capture_output=True, text=True, env=plain
    )
    assert done.returncode == 0, done.stderr
    return build


def libraries(build, device):
    if device.startswith("cuda"):
        return build / "cuda/lib/libcuda.so.1", build / "cuda/lib/libhostrt.so"
    return (build / "rocm/lib/libamdhip64.so.7",) * 2


def script(build, device, code):
    library, engine = libraries(build, device)
    text = PRELUDE.format(
        path=[p for p in sys.path if p],
        backends=str(HERE.parent / "backends"),
        library=str(library),
        engine=str(engine),
        device=device,
    )
    return text + code


def run(build, device, code, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CDEVICE_", "HOSTRT_"))}
    env["CDEVICE_CUDA_LIBRARY"] = str(libraries(build, "cuda")[0])
    env["CDEVICE_HIP_LIBRARY"] = str(libraries(build, "rocm")[0])
    if (
        "ASAN_OPTIONS" in env
    ):  # its search for leaks at exit stumbles over the threads of the stand-in; the rest stays on
        env["ASAN_OPTIONS"] += ":detect_leaks=0"
    p = subprocess.run(
        [sys.executable, "-c", script(build, device, code)],
        capture_output=True,
        text=True,
        timeout=40,
        env=env | {k: str(v) for k, v in more.items()},
    )
    assert (p.returncode, p.stderr) == (0, ""), p.stdout + p.stderr
    return p.stdout
