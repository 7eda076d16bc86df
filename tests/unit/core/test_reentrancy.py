"""Arguments and destructors are anybody's code: they may release the very array that a call is about."""

import threading

import pytest
from waiting import soon, until

import cdevice
from cdevice._runtime.ext import _native, ffi, lib


def fresh():
    return cdevice.asarray(list(range(1000)), schema="int64").to("cpu", copy=True)


def releasing(array, value):
    """An object whose conversion releases the array and has others take the memory."""

    class Number:
        def _now(self):
            array.release()
            Number.keep = [cdevice.asarray(["x" * 50] * 7).to("cpu", copy=True) for _ in range(40)]
            return value

        __index__ = __int__ = _now

        def __float__(self):
            return float(self._now())

        def __bool__(self):
            self._now()
            return True

    return Number()


CALLS = {
    "slice": lambda a, n: a.slice(n, 3),
    "slice length": lambda a, n: a.slice(0, n),
    "child": lambda a, n: a._child(n),
    "buffer": lambda a, n: a._buffer(n),
    "wait_for": lambda a, n: a._wait_for(n),
    "equals": lambda a, n: a.equals(a, nans_equal=n),
    "copy": lambda a, n: a._copy(1, n, 0, None, n),
    "dlpack": lambda a, n: a._dlpack(n, 0),
    "wait stream": lambda a, n: a._wait_stream(n, 0),
    "row": lambda a, n: a[n],
}


@pytest.mark.parametrize("call", CALLS)
def test_a_conversion_that_releases_the_array_ends_in_released(call):
    array = fresh()
    with pytest.raises((cdevice.Released, IndexError)):
        CALLS[call](array, releasing(array, 0))


def test_a_part_that_is_released_by_another_argument_is_an_error():
    part = fresh()
    with pytest.raises(cdevice.Released):
        cdevice.from_buffers({"a": "int64"}, releasing(part, 5), [None], children=[part])


class Held(bytearray):
    """An owner that runs something when it goes."""

    def __init__(self, n, run):
        super().__init__(n)
        self.run = run

    def __del__(self):
        self.run()


def give_back_elsewhere(owner):
    """Releases an array over `owner` on a thread that never saw Python, so that the owner waits in the list."""
    struct = ffi.new("struct ArrowDeviceArray *")
    array = cdevice.from_buffers("int64", 10, [None, owner])
    array.export_to_c(struct)
    array.release()
    del array, owner
    lib.cdv_release_in_thread(struct, 1)


DRAINING = {
    "device capsules": lambda a: a.__arrow_c_device_array__(),
    "capsules": lambda a: a.__arrow_c_array__(),
    "slice": lambda a: a[1:3],
    "field": lambda a: a.field(0),
    "export_to_c": lambda a: a.export_to_c(ffi.new("struct ArrowDeviceArray *")),
    "part": lambda a: cdevice.from_buffers(a.schema, 3, [None], children=[a.field(0), a.field(1)]),
    "copy": lambda a: a.to("cpu", copy=True),
    "equals": lambda a: a.equals(a),
    "validate": lambda a: a.validate("full"),
}


@pytest.mark.parametrize("call", DRAINING)
def test_a_deferred_destructor_that_releases_the_array_comes_before_its_pointer_is_taken(call):
    array = cdevice.asarray([{"a": k, "b": str(k)} for k in range(1000)]).to("cpu", copy=True)
    busy, leave = threading.Event(), threading.Event()

    def hold():  # keeps the thread that drops owners busy, so that the call below finds the other one in the list
        busy.set()
        if threading.current_thread() is not threading.main_thread():  # else it was dropped here: nobody would leave
            leave.wait()

    give_back_elsewhere(Held(80, hold))
    assert soon(busy.is_set, 30)
    give_back_elsewhere(Held(80, array.release))
    try:
        DRAINING[call](array)
    except cdevice.Released:
        pass
    finally:
        leave.set()
    until(lambda: array.released)
    with pytest.raises(cdevice.Released):
        array.to_pylist()


def test_a_number_that_does_not_fit_is_a_value_error():
    array = fresh()
    for call in (lambda: array.slice(1 << 70), lambda: array.slice(0, 1 << 70), lambda: array._child(-1 << 80)):
        with pytest.raises(ValueError, match="beyond 64 bits"):
            call()
    with pytest.raises(ValueError, match="beyond"):
        cdevice.from_buffers("int64", 1 << 64, [None, b""])


def test_numbers_that_are_no_numbers_are_type_errors():
    for bad in ("1", None, 1.5, [], b"1"):
        with pytest.raises(TypeError):
            fresh().slice(bad, 1)
    assert _native.Array is not None


def test_a_collection_under_the_lock_of_the_fake_backend_frees_blocks(monkeypatch):
    """Threads are started under it, and any allocation of Python's may collect garbage that owns blocks."""
    from cdevice.testing.fake import FakeBackend

    fake = FakeBackend()
    block, start = fake.alloc(8, device_id=0), threading.Thread.start

    def collect_and_start(thread):
        fake.free(block)
        start(thread)

    user = threading.Thread(target=fake.gate, daemon=True)
    monkeypatch.setattr(threading.Thread, "start", collect_and_start)
    start(user)
    user.join(20)
    assert not user.is_alive() and fake.live() == 0
