"""Kernels and copies of a device, with the times of the device."""

import json
import threading

import numpy as np
import pytest

import cdevice
import cdevice.compute as cc

DEVICES = ["cpu", "opencl"]


@pytest.fixture(params=DEVICES)
def device(request):
    d = cdevice.device(request.param)
    if not d.is_available:
        pytest.skip(f"no {request.param}: apt-get install pocl-opencl-icd")
    return d


def test_kernels_and_copies_of_the_block_have_their_times(device):
    x = np.arange(100_000)
    there = cdevice.asarray(x).to(device, copy=True)
    with device.profile() as p:
        total = cc.add(there, there)
        back = cc.multiply(total, 3)
    cc.add(there, 1)  # outside
    assert np.array_equal(np.asarray(back.to("cpu")), x * 6)
    kernels = [e for e in p.events if e.kind == "kernel"]
    assert [e.name.split(".")[1] for e in kernels] == ["add", "multiply"] and all(e.rows == len(x) for e in kernels)
    assert all(e.end_ns is not None and 0 <= e.begin_ns <= e.end_ns for e in kernels)
    assert kernels[0].end_ns <= kernels[1].end_ns and kernels[0].duration_ns == kernels[0].end_ns - kernels[0].begin_ns


def test_copies_are_recorded_with_their_bytes():
    device = cdevice.device("opencl")
    if not device.is_available:
        pytest.skip("no opencl: apt-get install pocl-opencl-icd")
    x = np.arange(50_000)
    with device.profile() as p:
        there = cdevice.asarray(x).to(device)
        there.to("cpu")
    copies = [(e.kind, e.nbytes) for e in p.events]
    assert ("copy to device", x.nbytes) in copies and ("copy to host", x.nbytes) in copies


def test_the_table_and_the_trace_are_of_the_events(device):
    there = cdevice.asarray(np.arange(1000.0)).to(device, copy=True)
    with device.profile() as p:
        for _ in range(3):
            cc.sqrt(there)
    line = next(x for x in str(p).splitlines() if "sqrt" in x).split()
    assert line[1] == "3" and line[2] == "3,000"
    trace = json.loads(json.dumps({"traceEvents": p.trace_events()}))["traceEvents"]
    assert len(trace) == 3 == len(p.events) and all(e["ph"] == "X" and e["dur"] >= 0 for e in trace)
    assert repr(p) == f"<cdevice.Profile of {device}: 3 kernels and copies>"


def test_functions_of_a_users_own_have_their_names(device):
    f = cc.elementwise("my_own", "float64 a -> float64", "a * 2")
    x = cdevice.asarray([1.0, 2.0]).to(device, copy=True)
    with device.profile() as p:
        f(x)
    assert p.events[-1].name.startswith("my_own.")


def test_the_default_stream_is_what_it_was_afterwards():
    device = cdevice.device("opencl")
    if not device.is_available:
        pytest.skip("no opencl: apt-get install pocl-opencl-icd")
    from cdevice._devices.backends import default_stream

    x = cdevice.asarray([1, 2]).to(device)
    with pytest.raises(RuntimeError, match="mine"), device.profile() as p:
        cc.add(x, x)
        raise RuntimeError("mine")
    assert default_stream(device.type_id) is None and len(p.events) == 1
    assert cc.add(x, 1).to("cpu").to_pylist() == [2, 3]


def test_a_queue_without_profiling_has_no_times_and_says_so():
    device = cdevice.device("opencl")
    if not device.is_available:
        pytest.skip("no opencl: apt-get install pocl-opencl-icd")
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    x = cdevice.asarray([1, 2]).to(device, stream=queue)
    with device.profile() as p:
        cc.add(x, x, stream=queue)
    assert [e.end_ns for e in p.events] == [None]
    with pytest.raises(cdevice.ArgumentError, match="CL_QUEUE_PROFILING_ENABLE"):
        p.trace_events()
    timed = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    with device.profile() as p:
        cc.add(x, x, stream=timed)
    assert p.events[0].duration_ns >= 0


def test_work_of_other_threads_is_recorded(device):
    x = cdevice.asarray(np.arange(1000)).to(device, copy=True)
    with device.profile() as p:
        threads = [threading.Thread(target=lambda: [cc.add(x, 1) for _ in range(20)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sum("add" in e.name for e in p.events) == 80


def test_a_profile_is_used_once_and_needs_the_extension(device):
    p = device.profile()
    with p:
        pass
    with pytest.raises(RuntimeError, match="used once"), p:
        pass
    from cdevice.testing.fake import FakeBackend

    cdevice.register_backend(FakeBackend(50, "fake50"))
    try:
        with pytest.raises(cdevice.Unsupported, match="cdevice.profile/1"), cdevice.device((50, 0)).profile():
            pass
    finally:
        cdevice.unregister_backend(50)


def test_an_event_names_the_stream_that_it_was_given_to(device):
    x = cdevice.asarray(np.arange(1000)).to(device, copy=True)
    with device.profile() as p:
        cc.add(x, 1)
        cc.add(x, 2)
    assert len({e.stream for e in p.events}) == 1
    if str(device) == "cpu":
        assert p.events[0].stream == 0
