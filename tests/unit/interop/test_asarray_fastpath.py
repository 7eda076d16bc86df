"""asarray(obj) alone is made in C where that is simple: what it makes, and that it never differs from the Python one."""

import inspect
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from waiting import until

import cdevice
from cdevice._runtime.ext import lib

in_python = cdevice.asarray.__self__  # the function that it stands in front of


class Sub(np.ndarray):
    pass


packed = np.zeros(3, [("a", "i1"), ("b", "i8")])
misaligned = np.ndarray((3,), "i8", np.zeros(40, "u1"), offset=1)
OBJECTS = {
    **{f"numpy {t}": np.arange(5).astype(t) for t in "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 ?".split()},
    **{f"numpy {t}": np.arange(5).astype(t) for t in "q Q l L n".split()},
    "empty": np.zeros(0, "i4"),
    "one row with a stride": np.arange(9)[::5][:1],
    "strided": np.arange(10)[::2],
    "backwards": np.arange(5)[::-1],
    "swapped": np.arange(5).astype(">i4"),
    "misaligned": misaligned,
    "read-only": np.frombuffer(bytes(16), "i8"),
    "of zero dimensions": np.array(5),
    "of two": np.arange(6).reshape(2, 3),
    "of two, of Fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "complex": np.zeros(2, "c16"),
    "long double": np.zeros(2, "g"),
    "dates": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "times": np.array([1, 2], "M8[ns]"),
    "spans": np.array([1, 2], "m8[s]"),
    "objects": np.array([1, None, "x"][:2], object),
    "text": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "void": np.zeros(2, "V3"),
    "structured": packed,
    "a field of one": packed["b"],
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "subclass": np.arange(4).view(Sub),
    "recarray": np.rec.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "list": [1, None],
    "tuple": (1.5, 2),
    "dict": {"a": [1], "b": np.arange(1)},
    "bytes object": b"abc",
    "memoryview": memoryview(bytes(8)).cast("i"),
    "nothing": None,
    "number": 3,
    "class": cdevice.DeviceArray,
}


def outcome(make, obj):
    """What came of it, to be compared; addresses too, where nothing had to be copied."""
    try:
        a = make(obj)
    except Exception as e:
        return type(e), str(e)
    plain = isinstance(obj, np.ndarray) and obj.ndim == 1 and obj.size and a._format in "cCsSiIlLefg"
    shared = plain and a._buffer(1)[0] == obj.__array_interface__["data"][0]
    return repr(a.schema), a.length, a.offset, a.null_count, a.sync_event, a.device, a.to_pylist(), shared


@pytest.mark.parametrize("name", OBJECTS)
def test_c_and_python_make_the_same(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(cdevice.asarray, OBJECTS[name]) == outcome(in_python, OBJECTS[name])


def test_a_numpy_array_is_not_copied_and_lives_as_long_as_its_array():
    values = np.arange(1000)
    count, before = sys.getrefcount(values), lib.cdv_live_arrays()
    array = cdevice.asarray(values)
    part = array[10:]
    assert part.buffers[1].address == values.ctypes.data and sys.getrefcount(values) > count
    array.release()
    assert part.to_pylist()[0] == 10 and sys.getrefcount(values) > count
    del part, array
    until(lambda: sys.getrefcount(values) == count and lib.cdv_live_arrays() == before)
    with pytest.raises(ValueError, match="resize"):
        kept = cdevice.asarray(values)
        values.resize(2000)
    assert kept.length == 1000


def test_the_way_in_looks_like_the_function_behind_it():
    assert list(inspect.signature(cdevice.asarray).parameters) == list(inspect.signature(in_python).parameters)
    for name, p in inspect.signature(in_python).parameters.items():
        here = inspect.signature(cdevice.asarray).parameters[name]
        assert (here.kind, here.default) == (p.kind, p.default)
    assert cdevice.asarray.__doc__ == in_python.__doc__ and cdevice.asarray.__name__ == "asarray"
    assert cdevice.asarray.__module__ == "cdevice.interop.asarray"


def test_keywords_are_heard_and_unknown_ones_refused():
    values = np.arange(3, dtype="i4")
    for nothing in ({"schema": None}, {"device": None, "stream": None}, {"copy": None}, {"validate": "structure"}):
        assert cdevice.asarray(values, **nothing).buffers[1].address == values.ctypes.data
    assert cdevice.asarray(values, copy=True).buffers[1].address != values.ctypes.data
    assert cdevice.asarray(obj=values).length == 3
    for wrong in ({"copying": None}, {"validate": "no"}):
        with pytest.raises((TypeError, ValueError)):
            cdevice.asarray(values, **wrong)
    for arguments in ((), (values, None, None)):
        with pytest.raises(TypeError):
            cdevice.asarray(*arguments)


class Producer:
    """Says what it is told to, and counts."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def __arrow_c_device_array__(self, requested_schema=None):
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer()


def test_a_producer_is_asked_once_whatever_it_answers():
    inside = cdevice.asarray([1, 2, 3])
    for answer in (inside.__arrow_c_device_array__, lambda: list(inside.__arrow_c_device_array__())):
        p = Producer(answer)
        assert cdevice.asarray(p).to_pylist() == [1, 2, 3] and p.asked == 1
    for answer, error in (
        (AttributeError("mine"), AttributeError),
        (KeyError("mine"), KeyError),
        (lambda: inside.__arrow_c_device_array__()[:1], ValueError),
        (lambda: (), ValueError),
        (lambda: 5, TypeError),
        (lambda: (1, 2), (TypeError, ValueError)),
    ):
        p = Producer(answer)
        with pytest.raises(error):
            cdevice.asarray(p)
        assert p.asked == 1


def test_an_attribute_that_raises_is_heard_and_one_that_is_none_is_not_there():
    class Raising:
        @property
        def __arrow_c_device_array__(self):
            raise RuntimeError("mine")

    class Nothing:
        __arrow_c_device_array__ = None

        def __arrow_c_array__(self):
            return cdevice.asarray([4]).__arrow_c_array__()

    with pytest.raises(RuntimeError, match="mine"):
        cdevice.asarray(Raising())
    assert cdevice.asarray(Nothing()).to_pylist() == [4]


def test_the_first_array_of_a_process_and_of_its_child_has_somebody_to_drop_its_owner():
    code = """
import os, sys, threading, numpy, cdevice
from cdevice._runtime.ext import ffi, lib
def turn():
    values = numpy.arange(5); n = sys.getrefcount(values)
    cdevice.asarray(values); out = ffi.new("struct ArrowDeviceArray *")
    a = cdevice.asarray(values); a.export_to_c(out); del a
    assert "cdevice-release" in [t.name for t in threading.enumerate()]
    assert not lib.cdv_release_in_thread(out, 1)
    pause = threading.Event()
    for _ in range(20000):
        if sys.getrefcount(values) == n: return
        pause.wait(0.001)
    raise SystemExit("nobody dropped it")
turn()
child = os.fork()
if not child:
    try: turn()
    except BaseException: os._exit(3)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
