"""Memory that a device may still write, or read, is never given back: after any failure of a copy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from failing_copies import Failing, N, zeros
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import lib
from cdevice.testing.fake import FakeBackend


@pytest.fixture
def device():
    backend = Failing(41, "failing")
    cdevice.register_backend(backend)
    yield backend
    backend.trouble = None
    backend.waits = True
    unregister(backend)


def raiser(where, error):
    def trouble(name):
        if name == where:
            raise error("broken")

    return trouble


@pytest.mark.parametrize("error", [RuntimeError, cdevice.DeviceError, ValueError])
@pytest.mark.parametrize("where", ["event_wait", "event_record", "copy"])
def test_a_read_that_fails_waits_for_what_is_under_way(device, where, error):
    there = cdevice.asarray(list(range(N))).to((41, 0))
    there.synchronize()
    gate = device.gate(0)
    opener = raiser(where, error)  # a new one each time: a raised exception keeps the frames it went through

    def trouble(name):  # from here on the host must wait, so somebody has to open
        if name == where:
            gate.open()
        opener(name)

    device.trouble = trouble
    with pytest.raises(cdevice.Error):
        there.to("cpu")
    device.trouble = None
    keep = zeros()  # would get the memory of the result that failed
    until(lambda: device._stream(0).work.empty())
    assert [k.to_pylist() for k in keep] == [[0] * N] * 12
    assert there.to("cpu").to_pylist() == list(range(N))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_read_returns_while_the_device_is_busy_and_its_memory_comes_back_later(device, error):
    there = cdevice.asarray(list(range(N))).to((41, 0))
    there.synchronize()
    before, gate = lib.cdv_live_arrays(), device.gate(0)
    device.trouble = raiser("event_wait", error)
    with pytest.raises((cdevice.Error, KeyboardInterrupt)):
        there.to("cpu")  # whoever holds the gate is this thread: a wait for the device would never end
    device.trouble = None
    keep = zeros()
    gate.open()
    until(lambda: device._stream(0).work.empty() and not lib.cdv_retired_count())
    assert [k.to_pylist() for k in keep] == [[0] * N] * 12
    del keep
    until(lambda: lib.cdv_live_arrays() <= before)


def test_what_cannot_be_waited_for_is_left_and_the_log_says_so():
    code = f"""
import sys
sys.path[:0] = {[os.path.dirname(__file__), *(p for p in sys.path if p)]!r}
import cdevice
from failing_copies import Failing, zeros, N
b = Failing(41, "failing")
cdevice.register_backend(b)
there = cdevice.asarray(list(range(N))).to((41, 0)); there.synchronize()
gate = b.gate(0)
def trouble(name):
    raise RuntimeError(name)
b.trouble, b.waits = trouble, False
try: there.to("cpu")
except cdevice.Error as e: print(type(e).__name__)
b.trouble, b.waits = None, True
keep = zeros()
gate.open()
b.stream_wait(device_id=0)
print([k.to_pylist() for k in keep] == [[0] * N] * 12, there.to("cpu").to_pylist() == list(range(N)))
"""
    env = dict(os.environ)
    if "ASAN_OPTIONS" in env:  # what is left is left on purpose
        env["ASAN_OPTIONS"] += ":detect_leaks=0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["DeviceError", "True True"]
    assert "a failed copy leaves 32768 bytes: failing may still use them" in done.stderr


@pytest.mark.parametrize(
    "values", [[f"word {k}" for k in range(N)], [[k, None] for k in range(N)]], ids=["text", "list"]
)
def test_sizes_that_cannot_be_learned_end_in_an_error_and_nothing_is_written_later(device, values):
    there = cdevice.asarray(values).to((41, 0))
    there.synchronize()
    part = there[10:200]
    gate = device.gate(0)

    def trouble(name):
        if name == "event_wait":
            gate.open()
            raise RuntimeError("broken")

    device.trouble = trouble
    with pytest.raises(cdevice.Error):
        part.to("cpu")
    device.trouble = None
    assert part.to("cpu").to_pylist() == values[10:200]


# ---- rows before an array's own, and views of nothing ----
def test_rows_before_the_offset_are_nobodys_and_may_be_garbage():
    """Three offsets, views or sizes that no check reads."""
    bits = bytes([0b101000])
    offsets = np.array([-1, 99, 5, 0, 1, 1, 3], "i4")
    text = cdevice.from_buffers("string", 3, [bits, offsets, b"abc"], offset=3, null_count=1, validate="full")
    lists = cdevice.from_buffers(
        ["int8"], 3, [bits, offsets], offset=3, null_count=1, children=[cdevice.asarray([1, 2, 3], schema="int8")]
    )
    garbage = b"\xff" * 48 + b"\1\0\0\0a" + bytes(11) + bytes(16) + b"\2\0\0\0bc" + bytes(10)
    views = cdevice.from_buffers("string_view", 3, [bits, garbage, b""], offset=3, null_count=1, validate="full")
    list_views = cdevice.from_buffers(
        "list_view<item: int8>",
        3,
        [bits, np.array([-9, 77, 1 << 30, 0, 0, 1], "i4"), np.array([-1, 5, 1 << 30, 1, 0, 2], "i4")],
        offset=3,
        null_count=1,
        children=[cdevice.asarray([1, 2, 3], schema="int8")],
        validate="full",
    )
    for array, rows in [
        (text, ["a", None, "bc"]),
        (lists, [[1], None, [2, 3]]),
        (views, ["a", None, "bc"]),
        (list_views, [[1], None, [2, 3]]),
    ]:
        copy = array.to("cpu", copy=True)
        copy.validate("full")
        assert array.to_pylist() == copy.to_pylist() == rows
        copy.to("cpu", copy=True).validate("full")


def test_bytes_before_the_first_row_are_not_copied():
    offsets = np.array([0, 0, 0, 10**6, 10**6 + 1, 10**6 + 1, 10**6 + 3], "i4")
    array = cdevice.from_buffers(
        "string", 3, [bytes([0b101000]), offsets, bytes(10**6 + 3)], offset=3, null_count=1, validate="full"
    )
    assert array.to("cpu", copy=True).buffers[2].size == 3


@pytest.mark.parametrize("device", ["cpu", (42, 0)])
@pytest.mark.parametrize("rows", [[[], [7, 8]], [[]], [[7], [], None, [8, 9]], [None, []]], ids=repr)
def test_empty_list_views_may_point_anywhere_and_copies_of_them_are_valid(rows, device):
    pa = pytest.importorskip("pyarrow")
    backend = FakeBackend(42, "viewing")
    cdevice.register_backend(backend)
    try:
        for kind in (pa.list_view, pa.large_list_view):
            inner = pa.array([0] * 3 + [x for r in rows or () for x in r or ()] + [0] * 3, pa.int64())
            starts, sizes, at = [], [], 3
            for k, row in enumerate(rows):
                n = len(row or ())
                starts.append(at if n else [0, 3, 6][k % 3])
                sizes.append(n)
                at += n
            index = pa.int32() if kind is pa.list_view else pa.int64()
            array = (pa.ListViewArray if kind is pa.list_view else pa.LargeListViewArray).from_arrays(
                pa.array(starts, index), pa.array(sizes, index), inner, mask=pa.array([r is None for r in rows])
            )
            array.validate(full=True)
            ours = cdevice.asarray(array, validate="full")
            copy = ours.to(device, copy=True).to("cpu", copy=True)
            copy.validate("full")
            pa.array(copy).validate(full=True)
            assert copy.to_pylist() == rows
            for k in range(len(rows)):
                part = ours[k : k + 1].to(device, copy=True).to("cpu", copy=True)
                part.validate("full")
                assert part.to_pylist() == rows[k : k + 1]
            del copy, part, ours
    finally:
        unregister(backend)
