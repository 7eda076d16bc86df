"""Dask: how large arrays are, and what goes from worker to worker."""

import pickle

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


def test_frames_are_the_buffers_where_they_lie_and_are_used_where_they_arrive():
    source = batch()
    array = cdevice.asarray(source)
    header, frames = protocol.serialize(array)
    assert header["serializer"] == "pickle" and not any(header["writeable"])
    assert len(frames) == 1 + 6 and len(frames[0]) < 1000  # the pickle and a frame a buffer that is there
    assert [address(f) for f in frames[1:]] == addresses(array)
    arrived = [frames[0], *(memoryview(bytearray(f)) for f in frames[1:])]
    again = protocol.deserialize(header, arrived)
    assert addresses(again) == [address(f) for f in arrived[1:]]
    assert pa.record_batch(again).equals(source)


def test_frames_outlive_the_array_they_came_from():
    array = cdevice.asarray(batch())
    header, frames = protocol.serialize(array)
    array.release()
    del array
    assert pa.record_batch(protocol.deserialize(header, frames)).equals(batch())


def test_a_part_of_an_array_travels_without_the_rest():
    array = cdevice.asarray(batch())
    for part in (array[:10], array[5:15], array[N - 10 :], array.field("word")[100:110]):
        header, frames = protocol.serialize(part)
        assert sum(len(f) for f in frames) < 2000
        assert protocol.deserialize(header, frames).equals(part)


SCATTERED = {
    "list_view": lambda: pa.ListViewArray.from_arrays(range(N), [1] * N, pa.array(range(N))),
    "run_end_encoded": lambda: pa.RunEndEncodedArray.from_arrays(range(1, N + 1), pa.array(range(N))),
    "string_view": lambda: pa.array([f"as long as it takes {i}" for i in range(N)], pa.string_view()),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_a_part_travels_without_the_rest_where_rows_may_lie_anywhere(name):
    array = cdevice.asarray(SCATTERED[name]())
    header, frames = protocol.serialize(array[:10])
    assert sum(len(f) for f in frames) < 2000
    assert protocol.deserialize(header, frames).to_pylist() == array[:10].to_pylist()


def test_a_device_array_is_read_in_one_transfer_and_arrives_in_one_allocation(fake):
    there = cdevice.asarray(batch()).to("workshop:1")
    there.synchronize()
    fake.calls.clear()
    header, frames = protocol.serialize(there)
    assert fake.calls["copy"] == 1 and "alloc" not in fake.calls
    assert header["serializer"] == "pickle" and len(frames) == 1 + 6
    fake.calls.clear()
    again = protocol.deserialize(header, frames)
    assert again.device == cdevice.device("workshop:1")
    again.synchronize()
    assert fake.calls["alloc"] == 1
    assert pa.record_batch(again.to("cpu")).equals(batch())
    del there, again
    until(lambda: not fake.live())


def test_what_arrives_split_and_joined_is_the_array():
    """Messages of arrays among other things, cut into frames of a size that Dask chooses."""
    array = cdevice.asarray(batch())
    message = {"op": "data", "data": protocol.to_serialize({"x": array, "y": [array[:5], 3]})}
    frames = [bytes(f) for f in protocol.dumps(message, frame_split_size=10_000)]
    got = protocol.loads(frames)["data"]
    assert got["x"].equals(array) and got["y"][0].equals(array[:5]) and got["y"][1] == 3


def test_the_same_rows_have_the_same_token():
    from dask.base import tokenize

    one, same, other = cdevice.asarray([1, 2, None]), cdevice.asarray([1, 2, None]), cdevice.asarray([1, 2, 3])
    assert tokenize(one) == tokenize(same) != tokenize(other)


def test_without_frames_there_is_one_copy_in_the_pickle():
    array = cdevice.asarray(np.arange(N))
    assert 8 * N < len(pickle.dumps(array, 5)) < 8 * N + 1000
