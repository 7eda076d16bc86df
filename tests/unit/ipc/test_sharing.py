"""Within sharing(), what is pickled is shared: tokens travel, and nothing is kept longer than somebody may open it."""

import concurrent.futures
import functools
import gc
import multiprocessing
import pickle
import threading

import pytest
from readers import Reader, doubled

import cdevice
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")

N = 100_000


def numbers():
    return cdevice.asarray(np.arange(N))


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture(autouse=True)
def nothing_is_shared_afterwards():
    gc.collect()
    before = lib.cdv_live_tickets()
    yield
    gc.collect()
    assert lib.cdv_live_tickets() == before
    assert len(pickle.dumps(numbers())) > 8 * N


def test_a_pickle_is_a_token_within_the_block_and_bytes_outside(reader):
    array = numbers()
    with cdevice.sharing():
        made = [pickle.dumps(array, protocol) for protocol in (2, 5)]
        assert max(map(len, made)) < 500
        assert reader("lambda a: (len(a), a[-1:].to_pylist())", array) == (N, [N - 1])
        assert all(pickle.loads(x).equals(array) for x in made)
    assert lib.cdv_live_tickets() == 0


def test_small_arrays_travel_as_bytes():
    with cdevice.sharing():
        assert pickle.loads(pickle.dumps(cdevice.asarray([1, 2]))).to_pylist() == [1, 2]
    assert lib.cdv_live_tickets() == 0


def test_what_nobody_opened_in_the_block_is_opened_once_after_it():
    with cdevice.sharing():
        made = pickle.dumps(numbers())
    assert pickle.loads(made).equals(numbers())
    with pytest.raises(cdevice.Released):
        pickle.loads(made)


def test_each_array_is_opened_as_often_as_was_said():
    with cdevice.sharing(opens=2):
        made = pickle.dumps(numbers())
        assert pickle.loads(made).equals(pickle.loads(made))
        assert lib.cdv_live_tickets() == 0
        with pytest.raises(cdevice.Released):
            pickle.loads(made)


def test_it_holds_for_every_thread():
    made = []
    with cdevice.sharing(opens=1):
        thread = threading.Thread(target=lambda: made.append(pickle.dumps(numbers())))
        thread.start()
        thread.join()
        with cdevice.sharing(min_bytes=1 << 40):  # the innermost counts
            assert len(pickle.dumps(numbers())) > 8 * N
    assert len(made[0]) < 500
    assert pickle.loads(made[0]).equals(numbers())


def test_an_array_of_a_device_comes_back_there():
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL device here: apt-get install pocl-opencl-icd")
    array = numbers().to("opencl")
    with cdevice.sharing(opens=1):
        assert str(pickle.loads(pickle.dumps(array)).device) == "opencl:0"
        with cdevice.pickling.load_on("cpu"):
            assert str(pickle.loads(pickle.dumps(array)).device) == "cpu"


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_a_pools_arguments_and_results_are_shared(start):
    context = multiprocessing.get_context(start)
    begin = functools.partial(cdevice.sharing(opens=1).start)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context, initializer=begin) as pool:
        with cdevice.sharing(opens=1):
            found = list(pool.map(doubled, [numbers(), numbers()[10:]]))
    assert found[0].equals(doubled(numbers()))
    assert found[1].equals(doubled(numbers())[10:])
    with open("/proc/self/maps") as maps:
        assert "memfd:cdevice" in maps.read()  # the results lie in memory of the workers, which have ended


def test_dasks_messages_have_a_token():
    dask = pytest.importorskip("distributed.protocol", reason="pip install distributed")
    array = numbers()
    with cdevice.sharing(opens=1):
        header, frames = dask.serialize(array)
        assert sum(map(len, frames)) < 500
        assert dask.deserialize(header, frames).equals(array)


@pytest.mark.parametrize("header", [{"shared": 1}, {"shared": b"x"}, {"shared": b"x", "device": 7}])
def test_dasks_messages_that_are_broken_are_refused(header):
    from cdevice.interop.dask import _from_frames

    with pytest.raises((cdevice.InvalidArray, cdevice.ArgumentError)):
        _from_frames(header, [])


@pytest.mark.parametrize("opens", [-1, 1.5, None, True])
def test_bad_numbers_are_refused(opens):
    with pytest.raises(cdevice.ArgumentError, match="opens="):
        cdevice.sharing(opens=opens)


def test_it_can_be_pickled_and_begun_elsewhere():
    other = pickle.loads(pickle.dumps(cdevice.sharing(opens=3, min_bytes=7)))
    assert (other.opens, other.min_bytes) == (3, 7)
    other.start()
    other.stop()
    other.stop()
