"""Where faults come from.  Each class arms the n-th fault, says how many places there are and what an error must look like."""

import ctypes
import errno
import gc
import os
import sys

import descriptors
import standin
from waiting import until

import cdevice
from cdevice._runtime.ext import _native, lib
from cdevice.testing.fake import FakeBackend


def chain(error):
    """An exception and those behind it."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


LIVE = ("arrays", "exports", "schemas", "streams", "async", "segments", "tickets", "rings")


class Target:
    """``codes``: what the n-th call may answer; each is tried.  ``compares_processes``: are states those of two processes,
    each new, which may differ in what they keep for the next call?"""

    codes = (0,)
    compares_processes = False
    device = "cpu"

    def prepare(self):
        """In the process of the operation, before anything uses a device."""

    def arm(self, n, code=0):
        raise NotImplementedError

    def disarm(self):
        """Nothing fails any more: (calls that could have failed, what did or None)."""
        raise NotImplementedError

    def complaint(self, error, what, code):
        """What is wrong with the error that came of `what`, or None."""
        raise NotImplementedError

    def counts(self):
        """What must be after an operation as it was before."""
        return {}

    def state(self):
        """The same of the package, once nothing is on its way."""
        bound = sys.modules.get("cdevice.compute.expressions.bound")
        if bound and self.compares_processes:
            bound._same.clear()  # a few schemas for each expression: which, depends on what failed
        gc.collect()
        _native.drain()
        if lib.cdv_retired_count():
            until(lambda: not lib.cdv_retired_count())
        cdevice.device("cpu").trim()
        if self.device != "cpu":
            try:
                cdevice.device(self.device).trim()
            except cdevice.Unsupported:
                pass
        out = {n: getattr(lib, f"cdv_live_{n}")() for n in LIVE}
        out["descriptors"] = descriptors.count()
        out.update(self.counts())
        if self.device != "cpu":
            out["backend"] = lib.cdv_backend_live(cdevice.device(self.device).type_id)
        return out


class Malloc(Target):
    """The extension's own requests to the system."""

    def __init__(self, device, build):
        self.device = (97, 0) if device == "fake" else device
        self.build, self.backend, self.standin = build, None, None

    def prepare(self):
        self.lib = ctypes.CDLL(None)
        for name in ("seen", "fired", "live", "live_bytes"):
            getattr(self.lib, f"faults_{name}").restype = ctypes.c_longlong
        self.lib.faults_arm.argtypes = [ctypes.c_longlong]
        self.lib.faults_what.restype = ctypes.c_char_p
        self.lib.faults_where.restype = ctypes.c_size_t
        assert self.lib.faults_watch(os.path.realpath(_native.__file__).encode()) == 1, "the extension is not there"
        if self.device == (97, 0):
            self.backend = FakeBackend(97, "fake")
            cdevice.register_backend(self.backend)
        elif str(self.device).startswith(("cuda", "rocm")):
            self.standin = standin.start(self.build)[self.device.split("_")[0]].library

    def arm(self, n, code=0):
        self.lib.faults_arm(n)

    def disarm(self):
        seen, fired = self.lib.faults_seen(), self.lib.faults_fired()
        self.lib.faults_arm(-1)
        if not fired:
            return seen, None
        return seen, f"{self.lib.faults_what().decode()} at {self.lib.faults_where() - 1:#x}"

    def complaint(self, error, what, code):
        if isinstance(error, MemoryError):
            return None
        if isinstance(error, OSError) and what.startswith(("eventfd", "pthread_create")):
            return None
        refused = isinstance(error, cdevice.BackendUnavailable) and what.startswith("pthread_create")
        if refused and f"may start none ({os.strerror(errno.EAGAIN)})" in str(error):
            return None  # OpenCL's, which tries one thread before the runtime does: PoCL would end the process
        return f"{type(error).__name__}: {error}"

    def counts(self):
        out = {"blocks": self.lib.faults_live(), "bytes": self.lib.faults_live_bytes()}
        if (
            self.standin and self.compares_processes
        ):  # a program that was compiled keeps its code, one that was read from the disk does not
            out["blocks"] -= self.standin.hostrt_codes()
            out["bytes"] -= self.standin.hostrt_code_bytes()
        if self.backend:
            out["the backend's"] = self.backend.live()
        return out


class OpenCL(Target):
    """Every call of OpenCL's but those that give back, through a loader of our own."""

    codes = (-6, -59, -9999)  # CL_OUT_OF_HOST_MEMORY, CL_INVALID_OPERATION, a vendor's own
    device = "opencl"
    KINDS = "context queue mem event program kernel".split()

    def __init__(self, device, build):
        self.lib = None

    def prepare(self):
        self.lib = ctypes.CDLL(os.environ["CDEVICE_OPENCL_LIBRARY"])
        self.lib.faults_what.restype = ctypes.c_char_p
        self.lib.faults_live.restype = ctypes.c_long

    def arm(self, n, code=-6):
        self.lib.faults_arm(n, code)

    def disarm(self):
        what, seen = self.lib.faults_what(), self.lib.faults_seen()
        self.lib.faults_arm(-1, 0)
        return seen, what and what.decode()

    def complaint(self, error, what, code):
        return complaint_of_a_vendor(error, what, code)

    def counts(self):
        return {k: self.lib.faults_live(i) for i, k in enumerate(self.KINDS)}


def complaint_of_a_vendor(error, what, code):
    """The package's own error, with the vendor's code and a text that says what was done."""
    own = [e for e in chain(error) if isinstance(e, cdevice.Error)]
    if not own:
        return f"{type(error).__name__}: {error}"
    if not any(e.vendor_code == code for e in own) and str(code) not in str(own[0]):
        return f"no code: {type(error).__name__}: {error}"
    if len(str(own[0])) < 20:
        return f"no step: {error}"
    return None


WATCHES = 2 * 8  # devices, and RT_WATCHES of backends/gpu_driver/call.h


class Standin(Target):
    """Every call of the vendor's but those that give back, on the stand-in."""

    codes = (2, 1, 999, 719)  # out of memory, invalid value, unknown, launch failure

    def __init__(self, device, build):
        self.device, self.build = device, build

    def prepare(self):
        self.runtime = standin.start(self.build)[self.device.split("_")[0]]
        self.rt = self.runtime.library
        self.rt.hostrt_failed.restype = ctypes.c_char_p

    def arm(self, n, code=2):
        self.rt.hostrt_fail(b"*", 1 << 30 if n < 0 else n, code)

    def disarm(self):
        what, seen = self.rt.hostrt_failed(), self.rt.hostrt_matched()
        self.rt.hostrt_fail(b"nothing", 0, 0)
        return seen, what.decode() if what else None

    def complaint(self, error, what, code):
        return complaint_of_a_vendor(error, what, code)

    def counts(self):
        s = self.runtime.stats()
        out = {n: getattr(s, n) for n in ("live_device", "live_host", "live_managed", "misuse")}
        out["live_streams"] = max(s.live_streams, WATCHES)  # streams that wait are made when they are needed, and kept
        out["live"] = cdevice.device(self.device).memory().live
        return out


class Injected(Exception):
    pass


class Callbacks(Target):
    """Every method of a Python backend, every callback of an operation, each where it calls :func:`point`."""

    codes = ("Injected", "MemoryError", "DeviceError", "SystemExit")
    device = (97, 0)

    def __init__(self, device, build):
        self.seen, self.n, self.what, self.code = 0, -1, None, "Injected"

    def prepare(self):
        import callbacks

        callbacks.point = self.point
        self.backend = callbacks.Failing(97, "fake")
        cdevice.register_backend(self.backend)

    def counts(self):
        return {"the backend's": self.backend.live()}

    def point(self, name):
        n, self.seen = self.seen, self.seen + 1
        if n == self.n:
            self.what = name
            made = {"Injected": Injected, "MemoryError": MemoryError, "DeviceError": cdevice.DeviceError}
            raise made.get(self.code, SystemExit)(f"injected in {name}")

    def arm(self, n, code="Injected"):
        self.seen, self.n, self.what, self.code = 0, n, None, code

    def disarm(self):
        self.n = -1
        return self.seen, self.what

    def complaint(self, error, what, code):
        if any(f"injected in {what}" in str(e) for e in chain(error)):
            return None
        if what.startswith("on_") and "the consumer refused with errno" in str(error):  # all that its answer says
            return None
        return f"{type(error).__name__}: {error}"


def target(name, device, build):
    made = {"malloc": Malloc, "opencl": OpenCL, "cuda": Standin, "rocm": Standin, "callbacks": Callbacks}
    return made[name](device, build)
