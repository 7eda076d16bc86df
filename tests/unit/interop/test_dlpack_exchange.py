"""DLPack's exchange table: ours as C finds it behind the type, and other libraries' where their types have one."""

import ctypes
import gc
import sys
import sysconfig

import exchange
import numpy as np
import pytest
from dlpack_cases import FORMATS, SHAPES, lists
from exchange import Calls, Foreign, Table
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import _native, lib
from cdevice.testing.fake import FakeBackend

FAKE = 5402


@pytest.fixture
def ours():
    return Calls(exchange.table_of(cdevice.DeviceArray))


@pytest.fixture(scope="module")
def fake():
    b = FakeBackend(FAKE, "exchanged")
    cdevice.register_backend(b)
    yield b
    unregister(b)


@pytest.fixture
def nothing_left():
    gc.collect()
    _native.drain()
    before, Foreign.made, Foreign.deleted = lib.cdv_live_arrays(), 0, 0
    Foreign.asked.clear()
    yield
    until(lambda: lib.cdv_live_arrays() == before and Foreign.made == Foreign.deleted)


def test_the_table_says_its_version_and_has_every_function(ours):
    assert tuple(ours.table.version) == (1, 3) and not ours.table.previous
    assert all((ours.table.allocate, ours.table.out, ours.table.in_, ours.table.lend, ours.table.stream))
    array = cdevice.asarray([1])
    assert type(array).__dlpack_c_exchange_api__ is cdevice.DeviceArray.__dlpack_c_exchange_api__
    assert "dlpack_exchange_api" in repr(type(array).__dlpack_c_exchange_api__)


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_leave_and_come_back_as_they_lie(name, ours, nothing_left):
    values = np.arange(6).astype(FORMATS[name])
    array = cdevice.asarray(values)
    for rows, expected in ((array, values), (array[2:5], values[2:5]), (array[3:3], values[3:3])):
        tensor = ours.out(rows)
        assert tuple(tensor.version) == (1, 3) and tensor.flags == 1  # read-only
        lent = ours.lend(rows)
        for t in (tensor.tensor, lent):
            assert t.dimensions() == ([len(expected)], [1]) and tuple(t.device) == (1, 0) and t.byte_offset == 0
            assert (t.code, t.bits, t.lanes) == ("iuf".index(values.dtype.kind), values.itemsize * 8, 1)
            if len(rows):
                assert t.data == expected.__array_interface__["data"][0]
        back = ours.in_(tensor)
        assert type(back) is cdevice.DeviceArray and back.type == name and back.to_pylist() == expected.tolist()
        if len(rows):
            assert back._buffer(1)[0] == expected.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dimensions_leave_and_come_back(shape, ours, nothing_left):
    values = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    array = cdevice.asarray(values)
    lent = ours.lend(array)
    tensor = ours.out(array)
    for t in (tensor.tensor, lent, ours.lend(array)):
        assert t.dimensions()[0] == list(shape) and (not values.size or t.data == values.ctypes.data)
        assert not values.size or t.dimensions()[1] == [s // 4 for s in values.strides]
    assert ours.in_(tensor).equals(array)


def test_a_fixed_shape_tensor_has_its_own_shape_here_too(ours, nothing_left):
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange(48, dtype="f4").reshape(2, 2, 3, 4)
    array = cdevice.asarray(pa.FixedShapeTensorArray.from_numpy_ndarray(numbers))
    tensor = ours.out(array)
    assert tensor.tensor.dimensions()[0] == ours.lend(array).dimensions()[0] == [2, 2, 3, 4]
    ours.delete(tensor)


REFUSED = [
    (["a"], None),
    ([1, None], None),
    ([True], None),
    ([[1]], None),
    ([[1], [None]], lists("int8")),
    ([1], "timestamp[s]"),
    (["u"], cdevice.Schema.make("i", dictionary=cdevice.asschema("string"))),
    ([{"a": 1}], None),
]


@pytest.mark.parametrize(("values", "schema"), REFUSED)
def test_what_dlpack_cannot_say_is_refused_in_the_same_words(values, schema, ours, nothing_left):
    array = cdevice.asarray(values, schema=schema)
    with pytest.raises(BufferError) as said:
        array.__dlpack__(stream=-1)
    for call in (ours.out, ours.lend):
        with pytest.raises(type(said.value)) as here:
            call(array)
        assert str(here.value) == str(said.value)


def test_what_is_no_array_and_what_was_released_is_refused(ours):
    array = cdevice.asarray([1])
    array.release()
    for call in (ours.out, ours.lend):
        with pytest.raises(TypeError, match="expected a DeviceArray"):
            call(7)
        with pytest.raises(cdevice.Released):
            call(array)


@pytest.mark.parametrize("wrong", [{"strides": 2}, {"code": 6, "bits": 8}, {"code": 4, "bits": 16}, {"major": 2}])
def test_a_tensor_that_is_refused_stays_its_owners(wrong, ours, nothing_left):
    tensor = Foreign([1, 2, 3], **wrong)
    tensor._out()
    with pytest.raises(cdevice.ArgumentError, match="contiguous|no type|major version 1"):
        ours.in_(tensor.managed)
    assert Foreign.deleted == 0
    ours.delete(tensor.managed)


def test_what_was_lent_stays_until_the_object_dies(ours, nothing_left):
    for shape in ((1000,), (10, 100)):
        values = np.arange(1000)
        count = sys.getrefcount(values)
        array = cdevice.asarray(values.reshape(shape))
        lent = ours.lend(array)
        array.release()
        assert sys.getrefcount(values) > count
        assert ctypes.c_int64.from_address(lent.data + 8 * 999).value == 999 and lent.dimensions()[0] == list(shape)
        del array
        _native.drain()
        assert sys.getrefcount(values) == count


def test_ten_thousand_turns_leave_nothing_behind(ours, nothing_left):
    array, lists, words = cdevice.asarray(np.arange(10)), cdevice.asarray(np.zeros((2, 3))), cdevice.asarray(["a"])
    counts = [sys.getrefcount(x) for x in (array, lists, words, cdevice.DeviceArray)]
    before = lib.cdv_live_arrays()
    for turn in range(10_000):
        a = (array, lists)[turn % 2]
        ours.delete(ours.out(a))
        ours.lend(a)
        ours.in_(ours.out(a))
        if turn % 100 == 0:
            with pytest.raises(BufferError):
                ours.out(words)
            ours.delete(ours.allocate([7, 3]))
    del a
    gc.collect()
    # the child of `lists`; the release thread may still be at what it took
    until(lambda: lib.cdv_live_arrays() <= before + 1)
    *now, of_class = [sys.getrefcount(x) for x in (array, lists, words, cdevice.DeviceArray)]
    assert now == counts[:3]
    # without a GIL each thread has a count of its own for a class; a collection adds them up but for some of the last
    assert abs(of_class - counts[3]) <= (100 if sysconfig.get_config_var("Py_GIL_DISABLED") == 1 else 0)


# ---- devices ----
def test_the_cpu_has_no_stream_and_a_stranger_no_device(ours):
    assert ours.stream(1, 0) is None
    with pytest.raises(cdevice.BackendUnavailable):
        ours.stream(5499, 0)


def test_a_tensor_waits_on_the_device_for_what_its_array_waits_for(fake, ours, nothing_left):
    with fake.gate(3):  # the work stream is another
        there = cdevice.asarray(np.arange(10)).to("exchanged:1", stream=3)[3:]
        assert not there.ready
        tensor, lent = ours.out(there), ours.lend(there)  # nobody waits
        for t in (tensor.tensor, lent):
            assert tuple(t.device) == (FAKE, 1) and t.byte_offset == 24 and t.data
        back = ours.in_(tensor)
        assert back.sync_event and back.device == there.device
        with pytest.raises(TimeoutError):
            back.synchronize(timeout=0.1)
    assert back.to("cpu").to_pylist() == list(range(3, 10))
    cdevice.set_default_stream(FAKE, 9)
    try:
        assert ours.stream(FAKE, 1) == 9
    finally:
        cdevice.set_default_stream(FAKE, None)
    del there, back


def test_a_number_of_no_device_is_refused(fake, ours, nothing_left):
    tensor = Foreign([1], device=(FAKE, 99))
    tensor._out()
    with pytest.raises(cdevice.ArgumentError, match="on device 99"):
        ours.in_(tensor.managed)
    ours.delete(tensor.managed)


# ---- the allocator ----
def test_new_tensors_are_writable_and_come_in_as_arrays(ours, fake, nothing_left):
    tensor = ours.allocate([2, 3])
    assert tensor.flags == 0 and tuple(tensor.tensor.device) == (1, 0) and tensor.tensor.data % 64 == 0
    assert tensor.tensor.dimensions() == ([2, 3], [3, 1])
    (ctypes.c_int64 * 6).from_address(tensor.tensor.data)[:] = range(6)
    assert ours.in_(tensor).to_pylist() == [[0, 1, 2], [3, 4, 5]]
    for shape, type in (([0, 4], (0, 64, 1)), ([], (2, 32, 1)), ([5], (4, 16, 1)), ([5], (17, 4, 1))):
        ours.delete(ours.allocate(shape, type))
    there = ours.allocate([4], device=(FAKE, 1))
    assert tuple(there.tensor.device) == (FAKE, 1)
    assert ours.in_(there).device == cdevice.device("exchanged:1")


def test_what_cannot_be_allocated_is_said_once(ours, fake, nothing_left):
    for shape in ([-1], [2**62, 2**62], [2**62]):
        assert ours.allocate(shape)[0] == "ValueError"
    assert ours.allocate([3], type=(0, 0, 1))[0] == "ValueError"
    assert ours.allocate([3], device=(FAKE, 99)) == ("ValueError", "no device exchanged:99, there are 2")
    assert ours.allocate([3], device=(5499, 0))[0] == "RuntimeError"
    kind, text = ours.allocate([2**55])
    assert kind == "MemoryError" and f"allocating {2**58} bytes" in text


# ---- other libraries' tables ----
def test_a_foreign_tensor_comes_in_by_its_table(nothing_left):
    tensor = Foreign([1, 2, 3])
    array = cdevice.asarray(tensor)
    assert array.to_pylist() == [1, 2, 3] and array._buffer(1)[0] == ctypes.addressof(tensor.values)
    assert (Foreign.made, Foreign.deleted, tensor.by_method) == (1, 0, 0)
    part = array[1:]
    del array
    assert part.to_pylist() == [2, 3] and Foreign.deleted == 0
    del part
    assert Foreign.deleted == 1


def test_a_foreign_tensor_on_a_thread_without_the_gil_is_given_back_where_python_may_run(nothing_left):
    from cdevice._runtime.ext import ffi

    out = ffi.new("struct ArrowDeviceArray *")
    cdevice.asarray(Foreign([1])).export_to_c(out)
    assert lib.cdv_release_in_thread(out, 1) == 0
    until(lambda: Foreign.deleted == 1)


@pytest.mark.parametrize("wrong", [{"strides": 2}, {"code": 6, "bits": 8}, {"major": 2}, {"device": (17, 0)}])
def test_what_the_table_gives_and_cannot_be_taken_is_asked_for_by_dlpack(wrong, nothing_left):
    tensor = Foreign([4, 5, 6], **wrong)
    assert cdevice.asarray(tensor).to_pylist() == [4, 5, 6] if "device" not in wrong else cdevice.asarray(tensor)
    assert (Foreign.made, Foreign.deleted, tensor.by_method) == (1, 1, 1)


def subclass(table=None, **more):
    if table is not None:
        more["__dlpack_c_exchange_api__"] = exchange.capsule(table)
    return type("Other", (Foreign,), more)([1, 2])


def test_tables_that_cannot_be_used_are_passed_over(nothing_left):
    old = Table((2, 0), None, None, exchange.FOREIGN.out, None, None, exchange.FOREIGN.stream)
    empty = Table((1, 3), None, None, None, None, None, None)
    stream = exchange.FOREIGN.stream
    no_tensor = Table((1, 3), None, None, exchange.table_of(cdevice.DeviceArray).out, None, None, stream)
    for tensor in (
        subclass(old),
        subclass(empty),
        subclass(no_tensor),  # its function raises TypeError
        subclass(__dlpack_c_exchange_api__=7),
        subclass(__dlpack_c_exchange_api__=exchange.capsule(exchange.FOREIGN, b"another")),
        subclass(requires_grad=True),
    ):
        assert cdevice.asarray(tensor).to_pylist() == [1, 2] and tensor.by_method == 1
    assert Foreign.made == 0
    chain = Table((2, 0), ctypes.addressof(exchange.FOREIGN), None, None, None, None, None)
    tensor = subclass(chain, requires_grad=False)
    assert cdevice.asarray(tensor).to_pylist() == [1, 2] and not tensor.by_method and Foreign.made == 1


def test_arrow_comes_before_the_table(nothing_left):
    inside = cdevice.asarray([7.5])
    tensor = subclass(__arrow_c_array__=lambda self: inside.__arrow_c_array__())
    assert cdevice.asarray(tensor).to_pylist() == [7.5] and Foreign.made == 0


def test_with_anything_asked_for_dlpack_is_used(nothing_left):
    tensor = Foreign([1, 2])
    assert cdevice.asarray(tensor, copy=True).to_pylist() == [1, 2] and tensor.by_method == 1
    assert cdevice.asarray(tensor, schema=None, device=None, copy=None).to_pylist() == [1, 2] and Foreign.made == 1


def test_tvm_takes_and_gives_arrays_by_the_table():
    tvm = pytest.importorskip("tvm_ffi", reason="pip install apache-tvm-ffi")
    values = np.arange(6, dtype="f4")
    seen = []

    @tvm.convert
    def function(tensor):
        seen.append(np.from_dlpack(tensor).ctypes.data)
        return tensor

    back = function(cdevice.asarray(values))
    assert type(back) is cdevice.DeviceArray and back.to_pylist() == values.tolist()
    assert seen == [values.ctypes.data] and back.buffers[1].address == values.ctypes.data
    wrapped = tvm.core.DLTensorTestWrapper(tvm.from_dlpack(values))
    array = cdevice.asarray(wrapped)
    assert array.to_pylist() == values.tolist() and array.buffers[1].address == values.ctypes.data
