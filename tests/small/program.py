"""A small but real program: what a condition of ci/small must let work, or refuse in a sentence.

    python program.py [PART ...]     those parts are left out

A line for each part: its name, a tab, and "ok" or what was said.  What an error says is one sentence of the package's
own errors, of MemoryError, OSError, ImportError or TimeoutError; anything else ends the program with its traceback.
"""

import contextlib
import gc
import locale
import os
import sys
import threading
import time

PARTS = {}
SAID = []


def part(f):
    PARTS[f.__name__] = f
    return f


def numbers_of(array):
    return array.to("cpu").to_pylist()


@part
def imports():
    global cdevice, cc
    import cdevice
    import cdevice.compute as cc


@part
def devices():
    names = [str(d) for d in cdevice.devices()]
    assert "cpu" in names, names


@part
def lists():
    a = cdevice.asarray([1, None, 3])
    assert a.to_pylist() == [1, None, 3]
    assert cdevice.record_batch({"x": [1.5, None], "s": ["a", "bc"]}).to_pylist()[1] == {"x": None, "s": "bc"}


@part
def numpy():
    import numpy as np

    a = cdevice.asarray(np.arange(1000.0))
    assert a.to_numpy()[999] == 999.0


@part
def pyarrow():
    import pyarrow as pa

    a = cdevice.asarray(pa.array(["a", None, "ccc"]))
    assert pa.array(a).to_pylist() == ["a", None, "ccc"]


@part
def copies():
    a = cdevice.asarray([*range(100_000)])
    b = a.to("cpu", copy=True)
    assert b.equals(a)
    assert cdevice.concat([a, b]).length == 200_000


@part
def compute():
    a = cdevice.asarray([*range(300_000)])
    assert cc.sum(cc.add(a, 1)).as_py() == 300_000 * 300_001 // 2
    assert numbers_of(cc.filter(a, cc.greater(a, 299_997))) == [299_998, 299_999]
    assert numbers_of(cc.take(a, cc.sort_indices(cc.negate(a))))[0] == 299_999
    t = cdevice.record_batch({"k": [1, 2, 1], "v": [1.5, 2.25, 3.0]})
    assert numbers_of(cc.group_by(t, ["k"]).aggregate([("v", "sum")])["v_sum"]) == [4.5, 2.25]


@part
def texts():
    a = cdevice.asarray(["1.5", "-2e3", None])
    assert numbers_of(cc.cast(a, "float64")) == [1.5, -2000.0, None]
    assert numbers_of(cc.cast(cc.cast(a, "float64"), "string")) == ["1.5", "-2000", None]
    assert numbers_of(cc.utf8_upper(cdevice.asarray(["äß", "i"])))[1] == "I"
    assert str(cc.field("x") * 1.5) and "1.5" in repr(cdevice.asarray([1.5]))


@part
def streams():
    def batches():
        for k in range(5):
            yield cdevice.asarray([k, k + 1])

    assert [numbers_of(b)[0] for b in cdevice.asstream(batches())] == [0, 1, 2, 3, 4]
    s = cdevice.asstream(cdevice.asstream(batches()), device="cpu", prefetch=2)
    assert sum(b.length for b in s) == 10


@part
def produce():
    from cdevice import aio

    assert [b.length for b in aio.iterate(iter([cdevice.asarray([1, 2])]))] == [2]


@part
def loop():
    import asyncio

    from cdevice import aio

    async def main():
        async def source():
            for k in range(3):
                yield cdevice.asarray([k])

        return [numbers_of(b)[0] async for b in aio.iterate(source())]

    assert asyncio.run(main()) == [0, 1, 2]


@part
def share():
    a = cdevice.asarray([*range(5000)])
    shared = a.share()
    assert cdevice.open_shared(shared.token).equals(a)
    shared.close()


@part
def share_stream():
    with cdevice.asstream([cdevice.asarray([1, 2]), cdevice.asarray([3])]).share(nbytes=1 << 20) as shared:
        assert [numbers_of(b) for b in cdevice.open_shared(shared.token)] == [[1, 2], [3]]


@part
def pickles():
    import pickle

    a = cdevice.record_batch({"x": [1, 2], "s": ["a", None]})
    assert pickle.loads(pickle.dumps(a)).equals(a)


@part
def opencl():
    a = cdevice.asarray([1, 2, 3]).to("opencl")
    assert cc.sum(cc.add(a, 1)).as_py() == 9
    assert a.to("cpu").to_pylist() == [1, 2, 3]


@part
def waits():
    """A wait ends when it should."""
    from cdevice import aio

    consumer, begin = aio.consume(), time.monotonic()
    consumer.close()
    assert time.monotonic() - begin < 30


def sentence(e):
    return f"{type(e).__name__}: {e}"


def is_clear(e):
    """Its text is one sentence that says something."""
    kinds = (MemoryError, OSError, ImportError, TimeoutError)
    ours = (kinds, cdevice.Error) if "cdevice" in globals() else kinds
    if type(e) is MemoryError:  # Python's own, which says no more
        return True
    return isinstance(e, ours) and len(str(e)) > 8 and "\n" not in str(e).strip()


def open_descriptors():
    """Those that are there by now, also without /proc."""
    out = set()
    for fd in range(256):
        try:
            os.fstat(fd)
        except OSError:
            continue
        out.add(fd)
    return out


def run(names):
    for name in names:
        try:
            PARTS[name]()
        except Exception as e:
            if not is_clear(e):
                raise
            SAID.append((name, sentence(e)))
        else:
            SAID.append((name, "ok"))
        if name == "imports" and SAID[-1][1] != "ok":
            return


def main(arguments, report=print):
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "")
    without = set(arguments)
    names = [name for name in PARTS if name not in without]
    run(names)
    # once more, now that everything that is kept is open
    before = None
    if len(SAID) == len(names):
        gc.collect()
        before = open_descriptors()
        del SAID[:]
        run(names[2:])
        gc.collect()
    for name, said in SAID:
        report(f"{name}\t{said}")
    if before is not None:
        end = time.monotonic() + 5  # threads close some of theirs
        while (more := open_descriptors() - before) and time.monotonic() < end:
            threading.Event().wait(0.01)
        report(f"descriptors\t{'ok' if not more else sorted(more)}")
    report("end\tok")


if __name__ == "__main__":
    main(sys.argv[1:])
