"""Every public callable of the package with hostile arguments, in batches of processes.

    python tests/fuzz/python.py SECONDS [SEED]

A finding is a signal, SystemError, a hang, or an exception that is neither of the documented family nor what a hostile
object raised itself.  The seed of the case is printed; with 0 seconds that one case is run.
"""

import contextlib
import gc
import inspect
import io
import os
import random
import subprocess
import sys
import tempfile
import time

BATCH = 400


OF_FILES = {"loader", "scan", "write_ipc", "write_parquet"}  # which document OSError


class Hostile(Exception):
    """What hostile objects raise."""


# ---- in the child ----
def load():
    global cdevice, aio, ffi, _native, FakeBackend, FAMILY, np
    import cdevice
    from cdevice import aio
    from cdevice._runtime.ext import _native, ffi
    from cdevice.testing.fake import FakeBackend

    try:
        import numpy as np
    except ImportError:
        np = None
    FAMILY = (cdevice.Error, TypeError, ValueError, MemoryError, IndexError, KeyError, BufferError, StopIteration)
    FAMILY += (NotImplementedError, TimeoutError, ImportError, Hostile)


def arrays():
    there = cdevice.asarray([1, None, 3]).to((50, 0))
    released = cdevice.asarray([1])
    released.release()
    return [
        cdevice.asarray([1, 2, None], schema="int64"),
        cdevice.asarray(["a", None, "a longer string than twelve"]),
        cdevice.asarray([{"a": 1, "b": [1, 2]}, None]),
        cdevice.asarray([[1], None, []]).to("cpu", copy=True)[1:],
        cdevice.asarray([], schema="timestamp[ns, tz=UTC]"),
        cdevice.asarray(["x", "x"], schema="dictionary<values=string, indices=int8, ordered=0>"),
        cdevice.asarray([1.5, 1.5], schema="run_end_encoded<run_ends: int16, values: float64>"),
        cdevice.asarray([(0, 1), (1, "x")], schema="dense_union<a: int64=0, b: string=1>"),
        there,
        GONE,
        released,
    ]


def targets():
    a = random.choice(arrays())
    out = [a, a.schema if not a.released else cdevice.asschema("int8"), cdevice.device("cpu"), cdevice.device((50, 1))]
    consumer = aio.consume()
    production = aio.produce([[1], [2]], consumer)
    production.join(60)  # so that nothing asked of the two waits for good
    out += [consumer, production]
    draft = cdevice.empty({"a": "int32", "b": "bool"}, random.choice((0, 3)), validity=random.random() < 0.5)
    out += [draft, draft.field("a"), draft.field("a").buffers[1]]
    if random.random() < 0.3:
        draft.freeze()
    if not a.released:
        out += [cdevice.asstream([a]), cdevice.asstream(x for x in [a, a])]
        if a._n_buffers:
            out.append(a.buffers[0])
    return out


def closed_consumer():
    """One that nobody feeds would be waited for, as it should be."""
    out = aio.consume()
    out.close()
    return out


def hostile(rng):
    """An object whose every conversion does something else."""
    array = cdevice.asarray([1, 2, 3])
    stream = cdevice.asstream([array])

    def act():
        what = rng.randrange(6)
        if what == 0:
            array.release()
        elif what == 1:
            stream.close()
        elif what == 2:
            raise Hostile("on purpose")
        elif what == 3:
            cdevice.asarray([1]).to("cpu", copy=True).to_pylist()
        elif what == 4:
            gc.collect()
        return rng.choice((0, 1, -1, 2, "x", None, 2**70, 0.5))

    def method(self, *args, **kwargs):
        return act()

    names = rng.sample(
        "__index__ __int__ __float__ __bool__ __len__ __eq__ __iter__ __getitem__ __hash__ __str__ __repr__ __del__ __call__ "
        "__fspath__ __next__ __enter__ __arrow_c_array__ __arrow_c_device_array__ __arrow_c_schema__ __arrow_c_stream__ "
        "__arrow_c_device_stream__ __dlpack__ __dlpack_device__ __cuda_array_interface__ __array_interface__ "
        "__cdevice_backend__ allocate deallocate ptr items keys __contains__ __reduce_ex__ __buffer__ nbytes".split(),
        rng.randrange(1, 9),
    )

    def length(self):
        answer = act()
        return 7 if answer == 2**70 else answer  # list() itself refuses that one, in words of its own

    body = {n: property(method) if rng.random() < 0.2 and n[:2] != "__" else method for n in names}
    if "__len__" in body:
        body["__len__"] = length
    if rng.random() < 0.2:
        body["__getattr__"] = lambda self, name: act()
    kind = type("Odd", (rng.choice((object, object, int, str, list, dict)),), body)
    try:
        return rng.choice((kind, kind(), kind()))
    except Exception:
        return object()


def values(rng, addresses):
    small = [
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        64,
        1e300,
        0.5,
        float("nan"),
        float("inf"),
        -(2**63),
        -(2**70),
        10**30,
        2**64,
    ]
    large = [2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63]
    words = [
        "",
        "x",
        "cpu",
        "int64",
        "fake50:1",
        "fake50",
        "list<item: int8>",
        "structure",
        "full",
        "\ud800",
        "a\0b",
        "é" * 300,
    ]
    made = [
        lambda: b"",
        lambda: b"x" * 9,
        lambda: bytearray(16),
        lambda: memoryview(bytes(24)).cast("q"),
        lambda: [],
        lambda: [1, 2],
        lambda: [None, "x", 1.5],
        lambda: [[1], [2, None]],
        lambda: [[[]]],
        lambda: {"a": 1},
        lambda: {1: 2},
        lambda: (),
        lambda: (1, 2),
        lambda: (50, 0),
        lambda: object(),
        lambda: ...,
        lambda: int,
        lambda: slice(None, None, rng.choice((None, 0, -1, 2))),
        lambda: slice(rng.choice((None, -5, 5, 2**70)), "x"),
        lambda: iter([cdevice.asarray([1])]),
        lambda: (cdevice.asarray([k]) for k in range(3)),
        lambda: lambda *a, **k: None,
        lambda: ffi.NULL,
        lambda: rng.choice(arrays()),
        lambda: rng.choice(arrays()),
        lambda: cdevice.asschema("struct<a: int8>"),
        lambda: cdevice.asstream([[1]]),
        lambda: cdevice.asarray([1]).__arrow_c_array__(),
        lambda: cdevice.asarray([1]).__arrow_c_device_array__()[rng.randrange(2)],
        lambda: cdevice.asarray([1]).buffers[1],
        closed_consumer,
        lambda: sys.stdin,
        lambda: hostile(rng),
        lambda: hostile(rng),
        lambda: hostile(rng),
        lambda: [hostile(rng), 1],
        lambda: {"a": hostile(rng)},
    ]
    if np is not None:
        made += [
            lambda: np.arange(5),
            lambda: np.array([1, "x", None], object),
            lambda: np.zeros((2, 3))[:, ::2],
            lambda: np.array(["2020-01-01", "NaT"], "M8[s]"),
            lambda: np.ma.masked_array([1, 2], [0, 1]),
            lambda: np.zeros(2, "i4,f8"),
            lambda: np.float16(1),
        ]
    pool = [lambda v=v: v for v in small + words + ([] if addresses else large)] + made * 2
    return rng.choice(pool)()


# what takes addresses or handles: an int that looks like one would be followed, and must not be made up here
ADDRESSES = {
    "import_from_c", "import_stream_from_c", "export_to_c", "from_buffers", "register_backend", "produce", "set_allocator",
    "record_use", "wait", "to", "iterate", "asarray", "asstream", "concat", "read_all", "record_batch", "__dlpack__", "to_pyopencl", "to_cupy", "to_hip",
    "empty", "freeze",
}  # fmt: skip
# what ends the process, starts others, or waits for good when it is asked to
LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__init__", "__del__", "__getattribute__"}
LEFT_OUT |= {"__setattr__", "__delattr__", "__dir__", "__sizeof__", "__getstate__", "__reduce__"}
LEFT_OUT |= {"__format__", "DeviceType", "Capability"}
LEFT_OUT |= {"set_default_stream"}  # a raw handle is believed, by every call behind it


def callables(rng):
    """(name, callable): a public function or a method of some object."""
    if rng.random() < 0.45:
        names = [n for n in dir(cdevice) if n[0] != "_" and callable(getattr(cdevice, n)) and n not in LEFT_OUT]
        names = [n for n in names if not isinstance(getattr(cdevice, n), type)]
        modules = dict.fromkeys(names, cdevice) | dict.fromkeys(("consume", "produce", "iterate"), aio)
        name = rng.choice(sorted(modules))
        return name, getattr(modules[name], name)
    target = rng.choice(targets())
    names = [n for n in dir(target) if n not in LEFT_OUT and (n[0] != "_" or n[:2] == "__")]
    names += ["__getitem__", "slice", "to", "field", "equals"] * 3
    own = [n for n in names if getattr(type(target), n, None) is not getattr(object, n, None)]
    name = rng.choice([n for n in own if hasattr(type(target), n)])
    try:
        return name, getattr(target, name)
    except AttributeError:
        if name in ("__cuda_array_interface__", "num_columns", "column_names", "keys"):  # not every array has them
            return name, lambda: None
        raise


def case(seed):
    rng = random.Random(seed)
    random.seed(seed)
    name, f = callables(rng)
    if not callable(f):
        return
    addresses = name in ADDRESSES
    args = [values(rng, addresses) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5)))]
    kwargs = {}
    try:
        parameters = inspect.signature(f).parameters
        keys = [p.name for p in parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
        for k in rng.sample(keys, rng.randrange(min(len(keys), 3) + 1)):
            kwargs[k] = values(rng, addresses)
    except (ValueError, TypeError):
        pass
    if rng.random() < 0.6:
        args = args[:1] if kwargs else args
    kwargs.pop("timeout", None)
    if name == "synchronize":
        args, kwargs = [], {}
    try:
        result = f(*args, **kwargs)
    except OSError:
        if name not in OF_FILES:
            raise
        return
    if isinstance(result, (cdevice.DeviceArray, cdevice.DeviceArrayStream, list)) or hasattr(result, "device"):
        repr(result)
    if isinstance(result, cdevice.DeviceArray) and not result.released:
        result.validate("full")
    if isinstance(result, cdevice.DeviceArrayStream):
        for _, array in zip(range(3), result):
            repr(array)
    for x in (*args, *kwargs.values()):
        if isinstance(x, aio.Consumer):
            x.close()


def child(first, n, note):
    import faulthandler

    global GONE
    load()
    faulthandler.enable()
    old = FakeBackend(50, "fake50")
    cdevice.register_backend(old)
    GONE = cdevice.asarray([7, 8]).to((50, 0))
    cdevice.register_backend(FakeBackend(50, "fake50"), replace=True)
    sys.unraisablehook = lambda u: None  # hostile __del__
    bad = None
    for seed in range(first, first + n):
        with open(note, "w") as f:
            f.write(str(seed))
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                case(seed)
        except FAMILY:
            pass
        except RuntimeError as e:
            if type(e) is not RuntimeError and not isinstance(e, RecursionError):
                bad = e
        except BaseException as e:
            bad = e
        if bad is not None:
            import traceback

            traceback.print_exception(type(bad), bad, bad.__traceback__)
            print(f"python: case {seed}: {type(bad).__name__} is no documented error")
            sys.stdout.flush()
            os._exit(1)
    faulthandler.cancel_dump_traceback_later()
    gc.collect()


# ---- in the parent ----
def main(seconds, seed=None):
    if os.environ.get("FUZZ_CHILD"):
        child(seed, int(os.environ["FUZZ_CHILD"]), os.environ["FUZZ_NOTE"])
        return 0
    seed = int(time.time()) * 1000 if seed is None else seed
    note = os.environ.get("FUZZ_NOTE") or os.devnull
    end, n, failed, batch = time.monotonic() + seconds, 0, 0, BATCH if seconds else 1
    keep_going = bool(os.environ.get("FUZZ_KEEP_GOING"))
    while time.monotonic() < end or not n:
        command = [sys.executable, os.path.abspath(__file__), "0", str(seed + n)]
        env = os.environ | {"FUZZ_CHILD": str(batch), "FUZZ_NOTE": note + ".child" if note != os.devnull else note}
        with tempfile.TemporaryDirectory() as folder:  # what is asked to write files writes them there
            done = subprocess.run(
                command, env=env, cwd=folder, capture_output=True, text=True, errors="replace", timeout=600
            )
        n += batch
        if done.returncode:
            failed += 1
            print(done.stdout[-1500:], done.stderr[-3000:], file=sys.stderr)
            if note != os.devnull:
                with open(env["FUZZ_NOTE"]) as f, open(note, "w") as out:
                    out.write(f.read())
                print(f"python: exit status {done.returncode}, case {open(note).read()}", file=sys.stderr)
            if not keep_going:
                return 1
    print(f"python: {n} cases from seed {seed}, {failed} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))
