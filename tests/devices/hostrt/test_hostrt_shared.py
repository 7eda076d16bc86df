"""Memory of a device that other processes open by the vendor's handles, on hostrt, the stand-in runtime."""

import pytest
from standin_process import hostrt, run  # noqa: F401 - a fixture

vendors = pytest.mark.parametrize("device", ["cuda", "rocm"])

OPEN = """
from readers import Reader
import descriptors
HANDLE = "cuIpcGetMemHandle" if here == "cuda" else "hipIpcGetMemHandle"
OPENS = "cuIpcOpenMemHandle_v2" if here == "cuda" else "hipIpcOpenMemHandle"
EVENT = "cuIpcOpenEventHandle" if here == "cuda" else "hipIpcOpenEventHandle"

def there(values=range(1000), **more):
    return cdevice.asarray(list(values), **more).to(here)

def live():
    return lib.cdv_live_arrays(), lib.cdv_live_segments(), lib.cdv_live_tickets(), descriptors.count()

def numbers(reader, what="values(kept[-1].to('cpu'))"):
    return reader("lambda _: " + what, None)
"""


def shares(build, device, code, **more):
    compiler = build / "cuda/lib/libnvrtc.so.13"
    return run(build, device, OPEN + code, HOSTRT_IPC=1, CDEVICE_NVRTC_LIBRARY=compiler, **more)


@vendors
def test_an_array_of_a_device_is_opened_on_the_device_by_another_process(device, hostrt):
    shares(
        hostrt,
        device,
        """
array = there()
with array.share() as shared, __import__("contextlib").closing(Reader()) as reader:
    reader.keep(shared.token)
    assert numbers(reader, "(str(kept[-1].device), kept[-1].type)") == (f"{here}:0", "int64")
    assert numbers(reader) == list(range(1000)) and shared.times_opened == 1
    assert numbers(reader, "__import__('cdevice.compute').compute.sum(kept[-1]).as_py()") == sum(range(1000))
    # the same bytes: what is written here is read there
    assert rt.hostrt_poke(ctypes.c_void_p(array.buffers[1].address), (ctypes.c_int64 * 1)(77), 8) == 0
    assert numbers(reader)[:2] == [77, 1]
    assert stats().live_device == 1
""",
    )


def test_memory_is_opened_where_the_flag_has_the_number_of_hip_5(hostrt):
    shares(
        hostrt,
        "rocm",
        """
with there().share() as shared, __import__("contextlib").closing(Reader()) as reader:
    reader.keep(shared.token)
    assert numbers(reader) == list(range(1000))
""",
        HOSTRT_OLD_HIP=1,
    )


@vendors
def test_every_layout_goes_as_it_lies(device, hostrt):
    shares(
        hostrt,
        device,
        """
import pyarrow as pa
arrays = [
    pa.array(["a", None, "ccc"] * 50), pa.array(["short", "longer than twelve bytes", None] * 50, pa.string_view()),
    pa.array([[1, 2], None, []]), pa.array([{"a": 1, "b": "x"}, None]), pa.array(["x", "y", "x"]).dictionary_encode(),
    pa.array([], pa.int32()), pa.nulls(3), pa.array([True, None, False]), pa.array(list(range(100))).slice(13, 40),
    pa.RunEndEncodedArray.from_arrays([2, 5], [7, 8]),
]
reader = Reader()
for a in arrays:
    on_device = cdevice.asarray(a).to(here)
    with on_device.share() as shared:
        reader.keep(shared.token)
        assert numbers(reader, "kept[-1].device.name is not None and kept[-1].device_type_id") == on_device.device_type_id
        assert numbers(reader) == a.to_pylist(), a.type
table = pa.table({str(i): pa.array(range(i, i + 10)) for i in range(300)}).to_batches()[0]
wide = cdevice.asarray(table).to(here)  # one allocation
with wide.share() as shared:
    reader.keep(shared.token)
    assert numbers(reader) == table.to_pylist()
reader.close()
""",
    )


@vendors
def test_a_reader_waits_for_the_event_and_the_owner_does_not(device, hostrt):
    shares(
        hostrt,
        device,
        """
stream = new_stream()
rt.hostrt_gate(stream)
array = cdevice.asarray(np.arange(1000)).to(here, stream=stream)
assert not array.ready
waits = stats().host_blocks
shared = array.share()
assert stats().host_blocks == waits and not array.ready
reader = Reader()
reader("lambda t: kept.append(cdevice.open_shared(t, validate=None))", shared.token)
assert numbers(reader, "kept[-1].ready") is False
rt.hostrt_open()
assert numbers(reader) == list(range(1000))
reader.close()
shared.close()
del array
settle()
destroy(stream)
""",
    )


@vendors
@pytest.mark.parametrize("end", ["close", "kill"])
def test_memory_stays_until_the_last_reader_has_closed_it_or_ended(device, end, hostrt):
    shares(
        hostrt,
        device,
        f"""
there().share().close()  # the thread and its descriptors are there
settle()
until(lambda: lib.cdv_live_tickets() == 0)
before = live()
array = there()
first, second, shared = Reader(), Reader(), array.share()
for reader in (first, second):
    reader.keep(shared.token)
shared.close()
del array, shared
gc.collect()
assert lib.cdv_live_arrays() == before[0] + 1
other = there([5] * 1000)  # does not lie where they read
assert numbers(first) == numbers(second) == list(range(1000))
del other
first.{end}()
assert numbers(second) == list(range(1000)) and lib.cdv_live_arrays() == before[0] + 1
second.{end}()
until(lambda: lib.cdv_live_arrays() == before[0])
until(lambda: live() == before)
""",
    )


@vendors
def test_a_reader_that_drops_the_array_gives_its_memory_back(device, hostrt):
    shares(
        hostrt,
        device,
        """
shared, reader = there().share(), Reader()
reader.keep(shared.token)
reader.keep(shared.token)
assert numbers(reader) == list(range(1000))
what = "(kept.clear(), __import__('gc').collect(), __import__('cdevice')._runtime.ext.lib.cdv_live_segments())[2]"
assert numbers(reader, what) == 0
assert numbers(reader, "len([p for p in __import__('os').listdir('/proc/self/fd')])") == numbers(
    reader, "len([p for p in __import__('os').listdir('/proc/self/fd')])")
reader.keep(shared.token)
assert numbers(reader) == list(range(1000)) and shared.times_opened == 3
reader.close()
""",
    )


@vendors
def test_in_its_own_process_it_is_the_array_itself(device, hostrt):
    shares(
        hostrt,
        device,
        """
array = there()
shared = array.share(opens=2)
again = cdevice.open_shared(shared.token)
assert again.buffers[1].address == array.buffers[1].address and shared.times_opened == 1
del array
assert np.asarray(again.to("cpu")).tolist() == list(range(1000))
shared.open()
try:
    shared.open()
except cdevice.Released as e:
    assert "does not share" in str(e), e
else:
    raise AssertionError("opened three times")
""",
    )


@vendors
def test_memory_without_a_handle_is_copied_to_memory_that_has_one(device, hostrt):
    """A vendor's pool, which others cannot open."""
    shares(
        hostrt,
        device,
        """
import warnings
warnings.simplefilter("error")
array, reader = there(), Reader()
rt.hostrt_fail(HANDLE.encode(), 0, 1)
with array.share() as shared:
    reader.keep(shared.token)
assert numbers(reader, "str(kept[-1].device)") == f"{here}:0" and numbers(reader) == list(range(1000))
rt.hostrt_fail(HANDLE.encode(), -1, 801)  # an integrated device
try:
    array.share()
except cdevice.DeviceWarning as e:
    assert f"this memory of {here}:0: they get a copy on the CPU" in str(e), e
else:
    raise AssertionError("no warning")
warnings.simplefilter("ignore")
with array.share() as shared:
    assert reader.values(shared.token) == list(range(1000))
reader.close()
""",
    )


@pytest.mark.parametrize("device", ["cuda_managed", "cuda_host", "rocm_host"])
def test_memory_of_the_other_types_is_copied_to_the_cpu_with_a_warning(device, hostrt):
    shares(
        hostrt,
        device,
        """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    shared = there().share()
assert [w.category for w in caught] == [cdevice.DeviceWarning] and caught[0].filename == "<string>", caught
reader = Reader()
assert reader.values(shared.token) == list(range(1000))
reader.close()
""",
    )


@vendors
def test_a_device_that_does_not_open_the_memory_says_so_and_nothing_is_left(device, hostrt):
    shares(
        hostrt,
        device,
        """
stream = new_stream()
rt.hostrt_gate(stream)
array = cdevice.asarray(np.arange(1000)).to(here, stream=stream)
shared, reader = array.share(), Reader()
reader("lambda t: kept.append(cdevice.open_shared(t, validate=None))", shared.token)
setup = "(__import__('ctypes').CDLL(%r).hostrt_fail(%r, 0, 2), cdevice.open_shared(t, validate=None))"
left = "(__import__('cdevice')._runtime.ext.lib.cdv_live_segments(), len(__import__('os').listdir('/proc/self/fd')))"
engine = os.environ["CDEVICE_CUDA_LIBRARY" if here == "cuda" else "CDEVICE_HIP_LIBRARY"].replace("libcuda.so.1", "libhostrt.so")
for function in (OPENS, EVENT):
    before = numbers(reader, left)
    try:
        reader("lambda t: " + setup % (engine, function.encode()), shared.token)
    except cdevice.DeviceError as e:
        assert "opening a shared array" in str(e), e
    else:
        raise AssertionError(function)
    assert numbers(reader, left) == before
rt.hostrt_open()
assert numbers(reader) == list(range(1000))
reader.close()
shared.close()
del array
settle()
destroy(stream)
""",
    )


@vendors
def test_a_reader_without_the_device_says_what_is_missing(device, hostrt):
    shares(
        hostrt,
        device,
        """
shared = there().share()
name = "CDEVICE_CUDA_LIBRARY" if here == "cuda" else "CDEVICE_HIP_LIBRARY"
os.environ[name] = "/nowhere/lib.so"
reader = Reader()
try:
    reader.values(shared.token)
except cdevice.BackendUnavailable as e:
    assert "/nowhere/lib.so" in str(e), e
else:
    raise AssertionError("opened")
reader.close()
""",
    )


@vendors
def test_pickles_within_sharing_carry_the_handle(device, hostrt):
    shares(
        hostrt,
        device,
        """
import pickle
array, reader = there(range(100_000)), Reader()
with cdevice.sharing():
    message = pickle.dumps(array)
    assert len(message) < 1000
    assert reader("lambda m: (str((a := pickle.loads(m)).device), values(a.to('cpu'))[-1])", message) == (f"{here}:0", 99_999)
reader.close()
""",
    )


@vendors
def test_a_stream_of_device_batches_is_copied_to_shared_memory(device, hostrt):
    shares(
        hostrt,
        device,
        """
batches = [there(range(i, i + 100)) for i in range(5)]
stream = cdevice.asstream(batches)
reader = Reader()
with stream.share() as shared:
    got = reader("lambda t: [values(b) for b in cdevice.open_shared(t)]", shared.token)
    assert got == [list(range(i, i + 100)) for i in range(5)]
reader.close()
""",
    )
