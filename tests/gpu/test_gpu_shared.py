"""Memory of a GPU that other processes open by the driver's handles."""

import contextlib
import gc
import pickle
import warnings

import gpu_here  # noqa: F401 - first: it skips
import numpy as np
import pytest
from readers import Reader
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


def there(values=range(1000)):
    return cdevice.asarray(np.asarray(values)).to("cuda")


def live():
    return lib.cdv_live_arrays(), lib.cdv_live_segments(), lib.cdv_live_tickets()


@pytest.fixture
def reader():
    there().share().close()  # the thread that answers is there
    settle()
    with contextlib.closing(Reader()) as child:
        yield child


@pytest.fixture(autouse=True)
def no_copies_with_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def numbers(reader, what="values(kept[-1].to('cpu'))"):
    return reader("lambda _: " + what, None)


def test_an_array_of_a_device_is_opened_on_the_device_by_another_process(reader):
    array = there()
    with array.share() as shared:
        reader.keep(shared.token)
        assert numbers(reader, "(str(kept[-1].device), kept[-1].type)") == ("cuda:0", "int64")
        assert numbers(reader) == list(range(1000)) and shared.times_opened == 1
        assert numbers(reader, "__import__('cdevice.compute').compute.sum(kept[-1]).as_py()") == sum(range(1000))


def test_what_one_process_writes_the_other_reads(reader):
    target = cdevice.empty("int64", 1000, device="cuda")
    array = target.freeze() if hasattr(target, "freeze") else target
    with array.share() as shared:
        reader.keep(shared.token)
        driver = pytest.importorskip("cuda.bindings.driver", reason="pip install cuda-bindings")
        source = np.full(1000, 7)
        with contextlib.ExitStack() as stack:
            code, context = driver.cuDevicePrimaryCtxRetain(0)
            stack.callback(driver.cuDevicePrimaryCtxRelease, 0)
            driver.cuCtxPushCurrent(context)
            stack.callback(driver.cuCtxPopCurrent)
            assert driver.cuMemcpyHtoD(array.buffers[1].address, source.ctypes.data, 8000) == (0,)
        assert numbers(reader) == [7] * 1000


def test_every_layout_goes_as_it_lies(reader):
    arrays = [
        pa.array(["a", None, "ccc"] * 50),
        pa.array(["short", "longer than twelve bytes", None] * 50, pa.string_view()),
        pa.array([[1, 2], None, []]),
        pa.array([{"a": 1, "b": "x"}, None]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array([], pa.int32()),
        pa.nulls(3),
        pa.array([True, None, False]),
        pa.array(list(range(100))).slice(13, 40),
        pa.RunEndEncodedArray.from_arrays([2, 5], [7, 8]),
    ]
    for a in arrays:
        with cdevice.asarray(a).to("cuda").share() as shared:
            reader.keep(shared.token)
            assert numbers(reader) == a.to_pylist(), a.type
    table = pa.table({str(i): pa.array(range(i, i + 10)) for i in range(300)}).to_batches()[0]
    with cdevice.asarray(table).to("cuda").share() as shared:
        reader.keep(shared.token)
        assert numbers(reader) == table.to_pylist()


def test_a_reader_waits_for_the_event_and_the_owner_does_not(reader, gates):
    table = lib.cdv_backend_table(cdevice.device("cuda").type_id)
    numbers(reader, "cdevice.asarray([1]).to('cuda').synchronize()")
    with gates["cuda"].held(table):
        array = there()
        assert not array.ready
        shared = array.share()
        assert not array.ready
        reader("lambda t: kept.append(cdevice.open_shared(t, validate=None))", shared.token)
        assert numbers(reader, "kept[-1].ready") is False
    assert numbers(reader) == list(range(1000))
    shared.close()


@pytest.mark.parametrize("end", ["close", "kill"])
def test_memory_stays_until_the_last_reader_has_closed_it_or_ended(reader, end):
    until(lambda: lib.cdv_live_tickets() == 0)
    before = live()
    array = there()
    second, shared = Reader(), array.share()
    for one in (reader, second):
        one.keep(shared.token)
    shared.close()
    del array, shared
    gc.collect()
    assert lib.cdv_live_arrays() == before[0] + 1
    other = there([5] * 1000)  # does not lie where they read
    assert numbers(reader) == numbers(second) == list(range(1000))
    del other
    getattr(second, end)()
    assert numbers(reader) == list(range(1000)) and lib.cdv_live_arrays() == before[0] + 1
    getattr(reader, end)()
    until(lambda: live() == before)


def test_a_reader_that_drops_the_array_gives_its_memory_back(reader):
    shared = there().share()
    reader.keep(shared.token)
    reader.keep(shared.token)
    assert numbers(reader) == list(range(1000))
    drop = "(kept.clear(), __import__('gc').collect(), __import__('cdevice')._runtime.ext.lib.cdv_live_segments())[2]"
    assert numbers(reader, drop) == 0
    reader.keep(shared.token)
    assert numbers(reader) == list(range(1000)) and shared.times_opened == 3
    shared.close()


def test_in_its_own_process_it_is_the_array_itself():
    array = there()
    with array.share() as shared:
        again = cdevice.open_shared(shared.token)
        assert again.buffers[1].address == array.buffers[1].address
        del array
        assert again.to("cpu").to_pylist() == list(range(1000))


def test_memory_of_a_vendors_pool_is_copied_to_memory_that_has_a_handle(reader):
    cupy = pytest.importorskip("cupy", reason="pip install cupy-cuda13x")
    pool = cupy.cuda.MemoryAsyncPool()
    with cupy.cuda.using_allocator(pool.malloc):
        values = cupy.arange(1000)
    cupy.cuda.runtime.deviceSynchronize()
    with cdevice.asarray(values).share() as shared:
        reader.keep(shared.token)
        assert numbers(reader, "str(kept[-1].device)") == "cuda:0" and numbers(reader) == list(range(1000))


def test_pickles_within_sharing_carry_the_handle(reader):
    array = there(range(100_000))
    with cdevice.sharing():
        message = pickle.dumps(array)
    assert len(message) < 1000
    what = "lambda m: (str((a := pickle.loads(m)).device), values(a.to('cpu'))[-1])"
    assert reader(what, message) == ("cuda:0", 99_999)


def test_a_stream_of_device_batches_reaches_another_process(reader):
    with cdevice.asstream([there(range(i, i + 100)) for i in range(5)]).share() as shared:
        got = reader("lambda t: [values(b) for b in cdevice.open_shared(t)]", shared.token)
    assert got == [list(range(i, i + 100)) for i in range(5)]
