"""Several threads, two devices of one family, and every value checked against the bytes it was made of.

    python stress.py FAMILY [--seconds N] [--seed N] [--threads N] [--calm] [--soak N]

FAMILY: cuda or rocm, on hostrt, the stand-in runtime, with gates, delays and, in the second half of the time, faults in
every vendor call (--calm: without); opencl, on PoCL with two devices.  A wrong value, a hang, an exception that nothing
explains and a leak are failures: exit status 1, and the seed to try again with.

--soak N: N such rounds in one process, a backend that comes and goes between them, forks among the rest; memory, descriptors,
threads and arrays do not grow from the earlier rounds to the later ones.
"""

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import descriptors  # noqa: E402
import numpy as np  # noqa: E402
from memory import resident  # noqa: E402
from waiting import until  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice._runtime.ext import ffi, lib  # noqa: E402
from cdevice.testing.fake import FakeBackend  # noqa: E402

os.environ.setdefault("HOSTRT_IPC", "1")  # the stand-ins have handles for other processes
warnings.filterwarnings("ignore", "share: ", cdevice.DeviceWarning)
TYPES = {"cuda": ("cuda", "cuda_managed", "cuda_host"), "rocm": ("rocm", "rocm_host"), "opencl": ("opencl",)}
MOST = 8  # arrays that a thread has at a time
MOST_ROWS = 600_000  # of an array joined from others: a stand-in's kernel takes microseconds for a row
WORDS = ("", "a", "of fourteen b.", "rather longer than a view holds inline", "Ü")


def source(rng):
    """An array on the CPU unlike every other one before: what is left of those must not look right."""
    salt = rng.getrandbits(40)
    n = rng.choice((1, 7, 100, 1000, 5000, 40_000))
    kind = rng.randrange(7)
    if kind == 0:
        return cdevice.asarray(np.arange(n) + salt)
    if kind == 1:
        n = min(n, 2000)
        return cdevice.asarray([None if (i + salt) % 11 == 0 else f"{salt + i}{WORDS[i % 5]}" for i in range(n)])
    if kind == 2:
        n = min(n, 500)
        return cdevice.asarray([[f"{salt}/{k}" for k in range((i + salt) % 5)] for i in range(n)])
    if kind == 3:
        n = min(n, 2000)
        return cdevice.asarray([{"a": salt + i, "b": None if i % 3 else str(salt - i)} for i in range(n)])
    if kind == 4:
        return cdevice.asarray((np.arange(n) * (salt | 1)) % 3 == 0)
    if kind == 5:
        return cdevice.asarray((np.arange(n * 3) + salt).reshape(n, 3).astype("float64"))
    return cdevice.asarray(np.random.default_rng(salt).integers(0, 255, 300_000, dtype=np.uint8))


class Failed(Exception):
    pass


class World:
    """The devices of a family and what can be done to them."""

    faults = gates = forks = False

    def __init__(self, family, streams=3):
        self.family = family
        self.totals = [0, 0, 0]
        self.devices = [cdevice.device(f"{t}:{i}") for t in TYPES[family] for i in range(2)]
        for d in self.devices:
            if not d.is_available:
                raise SystemExit(f"{d} is not available")
        self.table = lib.cdv_backend_table(self.devices[0].type_id)
        self.streams = {i: [None, *(self.new_stream(i) for _ in range(streams))] for i in range(2)}
        self.allocated, self.lock = {}, threading.Lock()
        self.stop = threading.Event()
        self.stormy = 0  # counted up when faults begin and when they end: odd while there are some

    def new_stream(self, number):
        out = ffi.new("void **")
        if self.table.stream_create(self.table.self, number, out, ffi.NULL):
            raise SystemExit("no stream")
        return int(ffi.cast("uintptr_t", out[0]))

    def close(self):
        for number, streams in self.streams.items():
            for s in streams[1:]:
                self.table.stream_destroy(self.table.self, number, ffi.cast("void *", s))

    def expected(self, error, before):
        """May this have been raised, when faults began or ended so often before the call and since?"""
        if before == self.stormy and not before % 2:
            return False
        kinds = (cdevice.DeviceError, cdevice.OutOfMemory, cdevice.Unsupported)
        return isinstance(error, kinds) or (isinstance(error, cdevice.InvalidArray) and "no live buffer" in str(error))

    def allocator(self, device):
        return Lender(self, device.type_id)

    def disturb(self, rng):
        self.stop.wait(0.003)

    def calm(self):
        pass

    def check(self, faults):
        pass


class Lender:
    """The backend's own memory, through set_allocator."""

    def __init__(self, world, type_id):
        self.world, self.table = world, lib.cdv_backend_table(type_id)

    def allocate(self, nbytes, stream=None):
        block = ffi.new("cdevice_block *")
        if self.table.alloc(self.table.self, self.world.current_device(), nbytes, ffi.NULL, block, ffi.NULL):
            raise MemoryError("nothing to lend")
        address = int(ffi.cast("uintptr_t", block.data))
        with self.world.lock:
            self.world.allocated[address] = block, nbytes
        return address

    def deallocate(self, address, nbytes, stream=None):
        with self.world.lock:
            block, asked = self.world.allocated.pop(address)
        if asked != nbytes:
            self.world.fail(Failed(f"{asked} bytes were allocated, {nbytes} came back"))
        self.table.free(self.table.self, block)


class Standin(World):
    faults = gates = True

    def __init__(self, family, build):
        import standin

        self.runtime = standin.start(build)[family]
        super().__init__(family)
        self.rt = self.runtime.library
        self.vendor = ctypes.CDLL(str(self.runtime.path))

    def current_device(self):
        n = ctypes.c_int()
        name = "cuCtxGetDevice" if self.family == "cuda" else "hipGetDevice"
        for _ in range(200):  # a fault may answer
            if not getattr(self.vendor, name)(ctypes.byref(n)):
                return n.value
        raise MemoryError("no current device")

    def disturb(self, rng):
        what = rng.randrange(10)
        if what < 4:
            self.rt.hostrt_gate(rng.choice(self.streams[rng.randrange(2)][1:]))
            self.stop.wait(rng.random() * 0.02)
            self.rt.hostrt_open()
        elif what < 6:
            self.rt.hostrt_set_delay_us(rng.choice((0, 0, 20, 300)))
        elif what == 6:
            with cdevice.device(rng.choice(self.devices)).capturing():
                self.stop.wait(rng.random() * 0.02)
        else:
            self.stop.wait(rng.random() * 0.01)

    def storm(self, rng):
        self.stormy += 1
        self.rt.hostrt_storm(rng.getrandbits(31), rng.choice((7, 20, 60)))
        self.stop.wait(rng.random() * 0.1)
        self.rt.hostrt_storm(0, 0)
        self.stormy += 1
        self.stop.wait(rng.random() * 0.05)

    def calm(self):
        self.rt.hostrt_storm(0, 0)
        self.rt.hostrt_set_delay_us(0)
        self.rt.hostrt_open()

    def idle(self, device, faults):
        """What was given up under faults stays in use."""
        m = device.memory()
        return not m.pending and (faults or not m.live)

    def check(self, faults):
        misuse = self.runtime.stats().misuse
        if misuse:
            raise Failed(f"{misuse} calls with dead handles or memory")
        for d in self.devices:
            # under faults some is left behind which nothing could be recorded: a trim waits for the device
            until(lambda d=d: (faults and d.trim()) or self.idle(d, faults), lambda d=d: f"idle: {d} {d.memory()}")
        if faults:
            lost = sum(d.memory().live for d in self.devices)
            print(f"  faults: {self.rt.hostrt_storm_hits()}, bytes given up because nobody could wait: {lost}")


class OpenCL(World):
    def __init__(self):
        super().__init__("opencl")
        import pyopencl as cl

        devices = [d for p in cl.get_platforms() for d in p.get_devices()]
        self.context = cl.Context(devices)  # of both
        self.queues = [(cl.CommandQueue(self.context, d), cl.CommandQueue(cl.Context([d]))) for d in devices]
        self.own = {i: list(s) for i, s in self.streams.items()}
        for i, queues in enumerate(self.queues):
            self.streams[i] = [*self.streams[i], *queues]
        self.cl = cl

    def close(self):
        self.streams = self.own
        super().close()

    def allocator(self, device):
        return lambda n: self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, n)


class Worker(threading.Thread):
    def __init__(self, world, seed, number):
        super().__init__(daemon=True)
        self.world, self.rng, self.items = world, random.Random(f"{seed}/{number}"), []
        self.checked = self.done = self.refused = 0
        self.doing = "nothing yet"

    def run(self):
        try:
            while not self.world.stop.is_set():
                self.step()
        except BaseException as e:
            self.world.fail(e, self.doing)

    def step(self):
        rng, world = self.rng, self.world
        names = ("make", "move", "move", "back", "back", "cut", "wait", "use", "drop", "pool", "pass_on", "column",
                 "compute", "compute", "joined", "flow", "share", "ring", "fork")  # fmt: skip
        name = rng.choice(names) if self.items else "make"
        if len(self.items) >= MOST:
            name = rng.choice(("back", "drop", "use"))
        before = world.stormy
        self.doing = name
        try:
            getattr(self, name)()
            self.done += 1
        except cdevice.Error as e:
            if not world.expected(e, before):
                raise
            self.refused += 1

    # ---- what is done ----
    def stream(self, device):
        return self.rng.choice(self.world.streams[device.id]) if device.type_id != 1 else None

    def pick(self):
        return self.rng.choice(self.items)

    def make(self):
        values, device = source(self.rng), self.rng.choice(self.world.devices)
        self.items.append((values.to(device, stream=self.stream(device)), values))

    def move(self):
        array, values = self.pick()
        device = self.rng.choice(self.world.devices)
        self.items.append((array.to(device, stream=self.stream(device), copy=self.rng.random() < 0.3 or None), values))

    def back(self):
        self.compare(*self.pick())

    def compare(self, array, values):
        stream = self.stream(array.device) if self.rng.random() < 0.5 else None
        got = array.to("cpu", stream=stream, copy=True)
        self.checked += 1
        if not got.equals(values, nans_equal=True):
            raise Failed(f"{array!r}: {str(got.to_pylist())[:300]} instead of {str(values.to_pylist())[:300]}")

    def cut(self):
        array, values = self.pick()
        a, b = sorted(self.rng.randrange(array.length + 1) for _ in range(2))
        self.items.append((array[a:b], values[a:b]))

    def column(self):
        array, values = self.pick()
        if values.type.startswith("struct"):
            name = self.rng.choice(("a", "b"))
            self.items.append((array.field(name), values.field(name)))

    def wait(self):
        array, _ = self.pick()
        how = self.rng.randrange(3)
        if how == 0:
            array.wait(self.stream(array.device))
        elif how == 1:
            array.synchronize()
        else:
            assert array.ready in (True, False)

    def use(self):
        i = self.rng.randrange(len(self.items))
        array, _ = self.items[i]
        array.record_use(self.stream(array.device))
        del self.items[i]

    def drop(self):
        for _ in range(self.rng.randrange(1, 4)):
            if self.items:
                array, _ = self.items.pop(self.rng.randrange(len(self.items)))
                if self.rng.random() < 0.5 and not any(array is other for other, _ in self.items):
                    array.release()

    def pass_on(self):
        """Out through the C structs, and released by a thread that never saw Python."""
        array, values = self.pick()
        out = ffi.new("struct ArrowDeviceArray *")
        if self.rng.random() < 0.5:
            array._export_structs(int(ffi.cast("uintptr_t", out)), 0)
            assert lib.cdv_release_in_thread(out, 1) == 0
        else:
            self.items.append((cdevice.asarray(array, validate="structure"), values))

    def compute(self):
        """The same of the array and of its values on the CPU."""
        array, values = self.pick()
        n, stream, rng = array.length, self.stream(array.device), self.rng
        number = values.type in ("int64", "float64", "uint8")
        what = rng.randrange(4) if number else 1
        if what == 0:
            call = lambda x, **o: cc.add(x, 3, **o)
        elif what == 1:
            rows = [None if rng.random() < 0.1 else rng.randrange(n) for _ in range(rng.randrange(20))] if n else []
            picks = cdevice.asarray(rows, schema="int64")
            here = {"cpu": picks, array.device: picks.to(array.device)}
            call = lambda x, **o: cc.take(x, here[x.device if x.device == array.device else "cpu"], **o)
        elif what == 2:
            call = lambda x, **o: cc.filter(x, cc.greater(x, 100, **o), **o)
        else:
            got, want = cc.sum(array, stream=stream).as_py(), cc.sum(values).as_py()
            if got != want:
                raise Failed(f"the sum of {array!r} is {got}, not {want}")
            return
        try:
            want = call(values)
        except cc.NoKernel:
            return
        self.items.append((call(array, stream=stream), want))

    def joined(self):
        array, values = self.pick()
        parts = [(array, values)]
        for a, v in self.items:
            fits = sum(p.length for _, p in parts) + v.length <= MOST_ROWS
            if fits and len(parts) < 3 and v.type == values.type and a.device == array.device:
                parts.append((a, v))
        self.items.append(tuple(cdevice.concat(of) for of in zip(*parts, strict=True)))

    def flow(self):
        """Through a stream that copies ahead, left early at times."""
        device = self.rng.choice(self.world.devices)
        values = [source(self.rng)]
        values += [values[0]] * self.rng.randrange(6)
        left = self.rng.randrange(1, 8)
        with cdevice.asstream(iter(values), schema=values[0].schema).to(device, prefetch=2) as moved:
            for want, got in zip(values[:left], moved):
                self.compare(got, want)

    def share(self):
        """Opened where it was shared: the array itself, or a copy in shared memory."""
        array, values = self.pick()
        opens = self.rng.randrange(3)
        with array.share(opens=opens) as shared:
            for _ in range(opens or self.rng.randrange(2)):
                self.items.append((shared.open(validate="structure"), values))

    def ring(self):
        """A shared stream, left early at times."""
        values = source(self.rng)
        n, left = self.rng.randrange(5), self.rng.randrange(1, 6)
        with cdevice.asstream(iter([values] * n), schema=values.schema).share(nbytes=1 << 16) as shared:
            for _, got in zip(range(left), cdevice.open_shared(shared.token)):
                self.compare(got, values)

    def fork(self):
        """A child that touches nothing of a device's and ends at once."""
        if not self.world.forks or self.rng.random() < 0.8:
            return
        child = os.fork()
        if not child:
            os._exit(0 if cdevice.asarray([1, 2]).to_pylist() == [1, 2] else 1)
        if os.waitpid(child, 0)[1]:
            raise Failed("a forked child could not read an array")

    def pool(self):
        device = self.rng.choice(self.world.devices)
        what = self.rng.randrange(4)
        if what == 0 and self.world.gates:
            device.trim()
        elif what == 1 and self.world.gates:
            device.memory()
        elif what == 2:
            cdevice.set_allocator(device.type_id, self.world.allocator(device))
        else:
            cdevice.set_allocator(device.type_id, None)


def leaks(world, before, faults):
    """Everything must be as it was."""
    for d in world.devices:
        cdevice.set_allocator(d.type_id, None)
    gc.collect()
    try:
        until(lambda: not lib.cdv_retired_count(), lambda: f"that nothing is kept: {lib.cdv_retired_count()}")
        until(
            lambda: lib.cdv_external_blocks_retry() or faults or not world.allocated,
            lambda: f"that nothing is allocated: {len(world.allocated)}",
        )
        until(
            lambda: faults or lib.cdv_live_arrays() <= before,
            lambda: f"that arrays are given back: {lib.cdv_live_arrays()}, {before} before",
        )
    except AssertionError as e:
        raise Failed(e) from e
    try:
        until(
            lambda: faults or not (lib.cdv_live_tickets() or lib.cdv_live_segments()),
            lambda: (
                f"that shared memory is given back: {lib.cdv_live_tickets()} arrays, {lib.cdv_live_segments()} segments"
            ),
        )
    except AssertionError as e:
        raise Failed(e) from e
    world.check(faults)


def part(world, seed, seconds, threads, faults):
    """So many seconds of work by so many threads; then everything is read back and given back."""
    before = lib.cdv_live_arrays()
    world.stop, failures = threading.Event(), []

    def fail(error, doing=""):
        failures.append((error, doing))
        world.stop.set()

    world.fail = fail
    workers = [Worker(world, seed, i) for i in range(threads)]
    for w in workers:
        w.start()
    rng, end = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < end and not world.stop.is_set():
        world.disturb(rng)
        if faults:
            world.storm(rng)
    world.stop.set()
    world.calm()
    for w in workers:
        w.join()
    for error, doing in failures:
        print(f"FAILED while doing {doing}:")
        traceback.print_exception(error)
    if failures:
        return False
    for w in workers:
        while w.items:
            w.compare(*w.items.pop())
    totals = [sum(getattr(w, n) for w in workers) for n in ("done", "checked", "refused")]
    name = world.family + (", faults" if faults else "")
    print(f"{name}: {totals[0]} operations, {totals[1]} arrays verified, {totals[2]} refused")
    world.totals = [a + b for a, b in zip(world.totals, totals, strict=True)]
    del workers, w
    leaks(world, before, faults)
    return True


class MallInfo(ctypes.Structure):  # mallinfo2() of glibc
    _fields_ = [
        (n, ctypes.c_size_t)
        for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def in_use():
    """Bytes that malloc has given out, everywhere in the process; 0 where it does not say."""
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        return 0
    ask.restype = MallInfo
    found = ask()
    return found.uordblks + found.hblkhd


def state():
    """What must not grow."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what it keeps is not lost
    return {
        "MiB": resident() >> 20,
        "MiB in use": in_use() >> 20,
        "descriptors": descriptors.count(),
        "threads": len(os.listdir("/proc/self/task")),
        "arrays": lib.cdv_live_arrays(),
        "segments": lib.cdv_live_segments(),
    }


ROOM = {"MiB": 32, "MiB in use": 8, "descriptors": 0, "threads": 0, "arrays": 0, "segments": 0}


def growing(found):
    """What was never in the later half of the rounds as low as it once was in the earlier, the first left out: in that pools
    fill up and kernels are built."""
    half = len(found) // 2
    return [n for n in ROOM if min(f[n] for f in found[half:]) > max(f[n] for f in found[1:half]) + ROOM[n]]


def pass_through(number):
    """A backend that comes and goes."""
    passing = FakeBackend(4711, "passing")
    cdevice.register_backend(passing)
    cdevice.asarray(list(range(number))).to("passing").release()
    cdevice.unregister_backend("passing")
    until(lambda: not passing.live(), lambda: f"{passing.live()} blocks and events of a backend taken out go")
    passing.close()


@contextlib.contextmanager
def patience(seconds):
    """Of a round: after so many seconds the stacks of C where there is gdb, as those of Python end at the call that waits;
    thirty later Python's, and the end."""

    def show():
        if gdb := shutil.which("gdb"):
            subprocess.run([gdb, "-q", "-batch", "-p", str(os.getpid()), "-ex", "thread apply all bt 20"], check=False)

    timer = threading.Timer(seconds, show)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(seconds + 30, exit=True)
    try:
        yield
    finally:
        timer.cancel()


def soak(world, seed, options, faults):
    """Rounds of work, the later half of them with faults, if there are any."""
    world.forks = True
    for stormy in (False, True)[: 1 + faults]:
        found = []
        for k in range(max(4, options.soak // (1 + faults))):
            with patience(options.seconds + 120):
                if not part(world, seed + k, options.seconds, options.threads, stormy):
                    return False
            pass_through(k)
            for d in (*world.devices, cdevice.device("cpu")):
                d.trim()
            found.append(state())
            print(f"  round {k + 1}: " + ", ".join(f"{v} {n}" for n, v in found[-1].items()), flush=True)
        grown = growing(found) if not stormy else []  # what is given up under faults is said above
        if grown:
            print(f"FAILED: {', '.join(grown)} grew", flush=True)
            return False
        span = ", ".join(f"{min(f[n] for f in found)} to {max(f[n] for f in found)} {n}" for n in ROOM)
        print(
            f"soaked {world.family}{', faults' if stormy else ''}: {len(found)} rounds of {options.seconds:g} s, {span}"
        )
    print(f"soaked {world.family}: {world.totals[0]} operations, {world.totals[1]} arrays verified")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=TYPES)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--calm", action="store_true", help="no faults")
    parser.add_argument("--soak", type=int, default=0, help="rounds of so many seconds")
    parser.add_argument("--build", type=pathlib.Path, default=None, help="where the stand-in is built")
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(3), "big") if options.seed is None else options.seed
    print(f"{options.family}: {options.seconds:g} s, seed {seed}", flush=True)
    faulthandler.dump_traceback_later(options.seconds + 90, exit=True)
    world = OpenCL() if options.family == "opencl" else Standin(options.family, options.build or HERE / "build")
    faults = world.faults and not options.calm
    good = False
    try:
        if options.soak:
            good = soak(world, seed, options, faults)
        else:
            with patience(options.seconds + 90):
                good = part(world, seed, options.seconds / (2 if faults else 1), options.threads, False)
                good = good and (not faults or part(world, seed + 1, options.seconds / 2, options.threads, True))
    except Exception:
        traceback.print_exc()
        good = False
    if not good:
        print(f"again: --seed {seed}", flush=True)
        os._exit(1)  # threads may be stuck
    world.close()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
