"""Dask: how large arrays are, and what goes from worker to worker."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from waiting import unregister, until

import cdevice
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pytest.importorskip("dask", reason="pip install dask distributed")
protocol = pytest.importorskip("distributed.protocol", reason="pip install distributed")

N = 100_000


@pytest.fixture
def fake():
    backend = FakeBackend(5451, "workshop")
    cdevice.register_backend(backend)
    yield backend
    unregister(backend)


def batch():
    rng = np.random.default_rng(7)
    return pa.record_batch(
        {
            "number": rng.integers(0, 99, N),
            "late": pa.array(rng.random(N), mask=rng.random(N) < 0.2),
            "word": [None if i % 7 == 0 else f"w{i}" for i in range(N)],
        }
    )


@pytest.fixture(autouse=True)
def registered():
    """Whatever test runs first, and whether distributed or this package was imported first."""
    protocol.serialize(cdevice.asarray([1]))


@pytest.fixture(params=["dask", "pickle"])
def family(request):
    """Dask's word for how an array is sent: by our hooks, or as the same frames by pickle."""
    return request.param


def sent(array, family):
    """(header, the frames of the buffers, function from such frames to an array)."""
    header, frames = protocol.serialize(array, serializers=[family])
    assert header["serializer"] == family
    if family == "dask":
        return header, frames, lambda f: protocol.deserialize(header, f)
    assert not any(header["writeable"]) and len(frames[0]) < 1000  # the pickle
    return header, frames[1:], lambda f: protocol.deserialize(header, [frames[0], *f])


def address(frame):
    return np.frombuffer(frame, "u1").__array_interface__["data"][0]


def addresses(array):
    return [b.address for c in array.children for b in c.buffers if b.size]


def test_dask_knows_the_size_of_an_array_wherever_it_is(fake):
    from dask.sizeof import sizeof

    for array in (cdevice.asarray(np.arange(N)), cdevice.asarray(np.arange(N)).to("workshop")):
        assert 8 * N <= sizeof(array) < 8 * N + 1000
        assert 16 * N <= sizeof([array, array]) < 16 * N + 3000
        assert sizeof(array[:10]) < 1000


def test_arrays_go_by_our_hooks_where_nothing_else_is_asked_for():
    header, _ = protocol.serialize(cdevice.asarray([1]))
    assert header["serializer"] == "dask"


def test_frames_are_the_buffers_where_they_lie_and_are_used_where_they_arrive(family):
    source = batch()
    array = cdevice.asarray(source)
    _, frames, arrive = sent(array, family)
    assert [address(f) for f in frames] == addresses(array) and len(frames) == 6  # one for a buffer that is there
    arrived = [memoryview(bytearray(f)) for f in frames]
    again = arrive(arrived)
    assert addresses(again) == [address(f) for f in arrived]
    assert pa.record_batch(again).equals(source)


def test_frames_outlive_the_array_they_came_from(family):
    array = cdevice.asarray(batch())
    _, frames, arrive = sent(array, family)
    array.release()
    del array
    assert pa.record_batch(arrive(frames)).equals(batch())


def test_a_part_of_an_array_travels_without_the_rest(family):
    array = cdevice.asarray(batch())
    for part in (array[:10], array[5:15], array[N - 10 :], array.field("word")[100:110]):
        _, frames, arrive = sent(part, family)
        assert sum(len(f) for f in frames) < 1000
        assert arrive(frames).equals(part)


SCATTERED = {
    "list_view": lambda: pa.ListViewArray.from_arrays(range(N), [1] * N, pa.array(range(N))),
    "run_end_encoded": lambda: pa.RunEndEncodedArray.from_arrays(range(1, N + 1), pa.array(range(N))),
    "string_view": lambda: pa.array([f"as long as it takes {i}" for i in range(N)], pa.string_view()),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_a_part_travels_without_the_rest_where_rows_may_lie_anywhere(name, family):
    array = cdevice.asarray(SCATTERED[name]())
    _, frames, arrive = sent(array[:10], family)
    assert sum(len(f) for f in frames) < 1000
    assert arrive(frames).to_pylist() == array[:10].to_pylist()


def test_a_device_array_is_read_in_one_transfer_and_arrives_in_one_allocation(fake, family):
    there = cdevice.asarray(batch()).to("workshop:1")
    there.synchronize()
    fake.calls.clear()
    _, frames, arrive = sent(there, family)
    assert fake.calls["copy"] == 1 and "alloc" not in fake.calls and len(frames) == 6
    fake.calls.clear()
    again = arrive(frames)
    assert again.device == cdevice.device("workshop:1")
    again.synchronize()
    assert fake.calls["alloc"] == 1
    assert pa.record_batch(again.to("cpu")).equals(batch())
    with cdevice.pickling.load_on("cpu"):
        assert arrive(frames).device == cdevice.device("cpu")
    del there, again
    until(lambda: not fake.live())


def through_a_wire(what, **options):
    message = {"op": "data", "data": protocol.to_serialize(what)}
    return protocol.loads([bytes(f) for f in protocol.dumps(message, **options)])["data"]


@pytest.mark.parametrize("serializers", [["dask"], ["pickle"]])
@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.array([], pa.string()),
        lambda: pa.array([None, None]),
        lambda: pa.array(["a", None, "b", "a"]).dictionary_encode(),
        lambda: pa.array([[{"x": 1, "y": "a"}], None, []]),
        lambda: pa.array([bytes(16)], pa.uuid()),
        lambda: pa.record_batch({}),
        lambda: pa.record_batch(
            [[1, 2]], schema=pa.schema([pa.field("x", pa.int32(), False, {"unit": "m"})], {b"\x00\xff": b"\xfe"})
        ),
        lambda: pa.UnionArray.from_dense(
            pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
        ),
        *SCATTERED.values(),
    ],
)
def test_every_layout_and_its_schema_come_back_from_a_wire(make, serializers):
    array = cdevice.asarray(make())
    again = through_a_wire(array, serializers=serializers)
    assert again.schema.equals(array.schema, check_metadata=True) and again.to_pylist() == array.to_pylist()
    assert again.equals(array)


def test_what_arrives_split_and_joined_is_the_array():
    """Arrays among other things, cut into frames of a size that Dask chooses."""
    array = cdevice.asarray(batch())
    got = through_a_wire({"x": array, "y": [array[:5], 3]}, frame_split_size=10_000)
    assert got["x"].equals(array) and got["y"][0].equals(array[:5]) and got["y"][1] == 3


LATE = """
import sys
import cdevice
assert cdevice.asarray([1, 2]).to_pylist() == [1, 2] and cdevice.DeviceArray and "distributed" not in sys.modules
import pickle
from distributed import protocol
got = protocol.loads(pickle.load(sys.stdin.buffer))["data"]
print(got.to_pylist())
header, _ = protocol.serialize(got)
print(header["serializer"])
"""


@pytest.mark.parametrize("family", ["dask", "pickle"])
def test_a_process_that_met_us_before_distributed_and_only_gathers_takes_what_comes(family):
    message = {"data": protocol.to_serialize(cdevice.asarray(["a", None]))}
    frames = [bytes(f) for f in protocol.dumps(message, serializers=[family])]
    done = subprocess.run([sys.executable, "-c", LATE], input=pickle.dumps(frames), capture_output=True, timeout=120)
    said = done.stdout.decode().splitlines()
    # by pickle the class is not looked up, and it goes on by pickle
    assert said == ["['a', None]", family], done.stderr.decode()


def test_who_measures_an_array_sends_it_by_our_hooks():
    """As workers do with every result, whichever came first, Dask or this package."""
    code = (
        "import cdevice; array = cdevice.asarray([1]); from distributed import protocol; import dask.sizeof\n"
        "dask.sizeof.sizeof(array)\n"
        "print(protocol.serialize(array)[0]['serializer'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["dask"], done.stderr


def test_who_imported_distributed_late_and_measures_nothing_pickles_one_array_and_sends_the_others_by_our_hooks():
    code = (
        "import cdevice; cdevice.DeviceArray; array = cdevice.asarray([1]); from distributed import protocol\n"
        "print(protocol.serialize(array)[0]['serializer'], protocol.serialize(array)[0]['serializer'], end=' ')\n"
        "frames = protocol.dumps({'data': protocol.to_serialize(array)}, serializers=['dask'])\n"
        "print(protocol.loads([bytes(f) for f in frames])['data'].to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "pickle dask [1]\n", done.stderr


def test_a_released_array_is_refused_before_anything_is_sent():
    array = cdevice.asarray([1])
    array.release()
    with pytest.raises(TypeError) as refused:
        protocol.serialize(array, serializers=["dask"], on_error="raise")
    assert isinstance(refused.value.__cause__, cdevice.Released)


def test_the_same_rows_have_the_same_token():
    from dask.base import tokenize

    one, same, other = cdevice.asarray([1, 2, None]), cdevice.asarray([1, 2, None]), cdevice.asarray([1, 2, 3])
    assert tokenize(one) == tokenize(same) != tokenize(other)


def test_without_frames_there_is_one_copy_in_the_pickle():
    array = cdevice.asarray(np.arange(N))
    assert 8 * N < len(pickle.dumps(array, 5)) < 8 * N + 1000


# ---- messages that this package does not send ----
def altered():
    """(what was changed, header, frames) of a message about a list of dictionaries."""
    from cdevice.interop.dask import _to_frames

    array = cdevice.asarray(pa.array([["a", None], None, ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))))
    header, frames = _to_frames(array)
    yield "nothing", header, frames
    for name in header:
        yield f"{name} left out", {k: v for k, v in header.items() if k != name}, frames
        for value in (None, 5, "text", [], [1, 2], {}):
            yield f"{name} is {value!r}", {**header, name: value}, frames
    yield "no header", None, frames
    yield "a frame more", header, [*frames, b"12345678"]
    yield "a frame less", header, frames[:-1]
    yield "no frames", header, []

    def nodes(x, way=()):
        yield way, x
        for i, child in enumerate(x[-2]):
            yield from nodes(child, (*way, -2, i))
        if x[-1] is not None:
            yield from nodes(x[-1], (*way, -1))

    def put(x, way, value):
        if not way:
            return value
        i = way[0] % len(x)
        return [put(y, way[1:], value) if k == i else y for k, y in enumerate(x)]

    for part in ("schema", "parts"):
        for way, node in nodes(header[part]):
            for i in range(6):
                for value in (None, -1, 10**30, 0.5, "x", [], [0], [None] * 9, node):
                    yield (
                        f"{part}{way}[{i}] = {str(value)[:20]}",
                        {**header, part: put(header[part], (*way, i), value)},
                        frames,
                    )
            for n in (0, 5, 7):
                short = [*node, None][:n]
                yield f"{part}{way} has {n}", {**header, part: put(header[part], way, short)}, frames
    deep, parts = header["schema"], header["parts"]
    for _ in range(500):
        deep, parts = ("+l", "item", None, 2, [deep], None), (0, 0, 0, [None, None], [parts], None)
    yield "500 levels", {**header, "schema": deep, "parts": parts}, frames
    yield "500 levels of schema", {**header, "schema": deep}, frames
    yield "500 levels of parts", {**header, "parts": parts}, frames


def test_messages_that_nobody_of_this_package_sent_are_refused_with_its_exceptions():
    from cdevice.interop.dask import _from_frames

    refused = 0
    for what, header, frames in altered():
        try:
            array = _from_frames(header, list(frames))
            array.validate("full")
            array.to_pylist()
        except (cdevice.Error, ValueError) as e:
            assert str(e).strip() and what != "nothing"
            refused += 1
        except Exception as e:
            raise AssertionError(f"{what}: {type(e).__name__}: {e}") from e
    assert refused > 150
