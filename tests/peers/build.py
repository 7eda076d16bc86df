"""Builds arrow_cpp.cc against the libarrow of the installed pyarrow, once for each of its versions."""

import ctypes
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    """It cannot be built here; the text says what is missing."""


def _library_path():
    try:
        import pyarrow
    except ImportError:
        raise Unavailable("pip install pyarrow") from None
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Unavailable("apt-get install g++")
    directory = pyarrow.get_library_dirs()[0]
    found = glob.glob(os.path.join(directory, "libarrow.so.*"))
    if not found:
        raise Unavailable("a pyarrow that brings libarrow (pip install pyarrow)")
    source = os.path.join(HERE, "arrow_cpp.cc")
    key = hashlib.sha256(open(source, "rb").read() + f"{pyarrow.__version__} {compiler}".encode()).hexdigest()[:16]
    out = os.path.join(tempfile.gettempdir(), f"cdevice-peers-{os.getuid()}", f"arrow_cpp-{key}.so")
    if not os.path.exists(out):
        os.makedirs(os.path.dirname(out), mode=0o700, exist_ok=True)
        made = f"{out}.{os.getpid()}"
        command = [compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-shared", "-fPIC"]
        command += [f"-I{pyarrow.get_include()}", source, "-o", made]
        command += [f"-L{directory}", f"-l:{os.path.basename(found[0])}", f"-Wl,-rpath,{directory}"]
        plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
        done = subprocess.run(command, capture_output=True, text=True, env=plain)
        if done.returncode:
            raise Unavailable(f"a compiler for Arrow's C++ headers; {compiler} says: {done.stderr[:400]}")
        os.replace(made, out)
    return out


@functools.cache
def load():
    """The library with its argument types.  Raises Unavailable."""
    lib = ctypes.CDLL(_library_path())
    i64, u64, p = ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p
    for name, result, *arguments in (
        ("peer_consume", p, u64),
        ("peer_handler", p, p),
        ("peer_produce", p, p, i64, i64, ctypes.c_int, i64, ctypes.c_int),
        ("peer_join", ctypes.c_char_p, p, p, p),
        ("peer_free", None, p),
        ("peer_bench_async", ctypes.c_double, i64, u64, ctypes.c_int),
        ("peer_bench_stream", ctypes.c_double, i64, i64, ctypes.c_int),
        ("peer_drain", ctypes.c_double, p),
    ):
        f = getattr(lib, name)
        f.restype, f.argtypes = result, arguments
    return lib


class Run:
    """A producer or consumer of Arrow C++ at work."""

    def __init__(self, lib, pointer):
        self.lib, self.pointer = lib, pointer

    @property
    def handler(self):
        return self.lib.peer_handler(self.pointer)

    def join(self):
        """(batches, rows, error text) at the end; blocks without the GIL."""
        batches, rows = ctypes.c_int64(), ctypes.c_int64()
        text = self.lib.peer_join(self.pointer, ctypes.byref(batches), ctypes.byref(rows)).decode()
        self.lib.peer_free(self.pointer)
        return batches.value, rows.value, text


def consume(queue_size=5):
    lib = load()
    return Run(lib, lib.peer_consume(queue_size))


def produce(handler, n, rows=1, columns=3, fail_at=-1, threads=False):
    lib = load()
    return Run(lib, lib.peer_produce(handler, n, rows, columns, fail_at, threads))
