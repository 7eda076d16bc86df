"""What was handed out for reading outlives the Python object that it came from: release() and `with` take nothing."""

import gc
import threading

import numpy as np
import pytest

import cdevice


def others(n):
    """Arrays that take the memory that was given back a moment ago."""
    return [cdevice.asarray([7] * n, schema="int64").to("cpu", copy=True) for _ in range(8)]


def made(n=4096):
    return cdevice.asarray(list(range(n)), schema="int64").to("cpu", copy=True)


VIEWS = {
    "to_numpy": lambda a: a.to_numpy(),
    "asarray": np.asarray,
    "memoryview": lambda a: np.frombuffer(a.buffers[1].memoryview(), "i8"),
    "array interface": lambda a: np.asarray(a.buffers[1]).view("i8"),
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("how", VIEWS)
@pytest.mark.parametrize("end", ["release", "with", "del"])
def test_a_view_keeps_the_memory_when_its_array_ends(how, end):
    array = made()
    if end == "with":
        with array:
            view = VIEWS[how](array)
    else:
        view = VIEWS[how](array)
        if end == "release":
            array.release()
    del array
    gc.collect()
    keep = others(4096)
    assert view.tolist() == list(range(4096))
    del keep


def test_a_buffer_object_outlives_release():
    array = made()
    buffer = array.buffers[1]
    array.release()
    keep = others(4096)
    assert buffer.size == 8 * 4096 and buffer.memoryview().cast("q").tolist() == list(range(4096))
    del keep


def test_the_cuda_array_interface_lends_for_as_long_as_the_object_lives():
    """Its holders keep the object alone; on the CPU the same share is seen through _lend()."""
    array, live = made(), cdevice._runtime.ext.lib.cdv_live_arrays
    gc.collect()
    before = live()
    array._lend()
    array.release()
    assert live() == before  # released for Python, the memory still there
    with pytest.raises(cdevice.Released):
        array.to_pylist()
    del array
    gc.collect()
    assert live() == before - 1


def test_rows_are_read_safely_while_another_thread_releases():
    """Either all the rows, or Released: never something else."""
    for _ in range(60):
        array = cdevice.asarray([f"a longer string {k}" for k in range(3000)]).to("cpu", copy=True)
        started, out = threading.Event(), []

        def read(array=array, started=started, out=out):
            started.set()
            try:
                out.append(array.to_pylist())
            except cdevice.Released:
                out.append(None)

        thread = threading.Thread(target=read)
        thread.start()
        started.wait()
        array.release()
        thread.join()
        assert out[0] is None or out[0][-1] == "a longer string 2999"
