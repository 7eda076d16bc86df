"""The transfer engine on a device of handles and queues (a stand-in in Python): every layout, every cut, every fault."""

import gc
import threading
import weakref

import cases
import numpy as np
import pytest
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


def settle(*backends):
    until(
        lambda: not any(b.live() for b in backends) and not lib.cdv_retired_count(),
        lambda: [b.live() for b in backends],
    )


@pytest.fixture(scope="module")
def devices():
    made = FakeBackend(5001, "first"), FakeBackend(5002, "second"), FakeBackend(5003, "sync", events=False)
    for b in made:
        cdevice.register_backend(b)
    yield made
    unregister(*made)


@pytest.mark.parametrize("name", cases.ARRAYS)
def test_every_layout_and_cut_travels_there_across_and_back(name, devices):
    source = cdevice.asarray(cases.ARRAYS[name])
    for start, stop in ((0, 8), (0, 3), (1, 2), (3, 7), (7, 8), (2, 8), (4, 4)):
        rows = source[start:stop]
        for target in ("first:1", "second", "sync"):
            there = rows.to(target)
            back = there.to("cpu")
            back.validate("full")
            assert back.equals(rows, nans_equal=True)
            part = there[there.length // 3 :]
            expected = rows[rows.length // 3 :]
            assert part.to("cpu").equals(expected, nans_equal=True)
            for other in ("first:0", "second:1", "sync:1"):
                assert part.to(other).to("cpu").equals(expected, nans_equal=True)


def test_thousands_of_small_columns_come_back_in_one_copy(devices, monkeypatch):
    first, sent = devices[0], []
    copy = FakeBackend.copy
    monkeypatch.setattr(
        FakeBackend, "copy", lambda b, kind, copies, **k: (sent.append(len(copies)), copy(b, kind, copies, **k))[1]
    )
    columns = {f"c{k}": cdevice.asarray([f"{k} {i}" if i != 3 else None for i in range(4)]) for k in range(3000)}
    source = cdevice.record_batch(columns)
    there = source.to("first")
    sent.clear()
    back = there.to("cpu")
    assert back.equals(source) and max(sent) == 1, (sent, first.calls["copy"])


def test_staging_chunks_smaller_than_the_data_give_the_same(devices):
    source = cdevice.asarray(
        pa.record_batch(
            {"x": range(3000), "s": [str(i) * (i % 9) for i in range(3000)], "l": [[i] * (i % 4) for i in range(3000)]}
        )
    )
    old = lib.cdv_staging_chunk(256)
    try:
        there = source[11:2900].to("first")
        assert there.to("cpu").equals(source[11:2900])
        across = there[5:].to("second")
        assert across[7:].to("cpu").equals(source[23:2900])
    finally:
        lib.cdv_staging_chunk(old)


def test_a_wide_batch_is_one_allocation_one_copy_one_event(devices):
    first = devices[0]
    batch = cdevice.asarray(pa.record_batch({f"c{i}": [1, 2, 3] for i in range(500)}))
    first.calls.clear()
    there = batch.to("first")
    assert first.calls["alloc"] == 1
    assert first.calls["copy"] == 1
    there.synchronize()
    first.calls.clear()
    there.to("cpu")
    assert first.calls["copy"] == 1
    first.calls.clear()
    there.to("first:1")
    assert (first.calls["alloc"], first.calls["copy"]) == (1, 1)


def test_sizes_of_many_columns_are_read_together(devices):
    first = devices[0]
    batch = cdevice.asarray(pa.record_batch({f"c{i}": ["a", "bb", "ccc", "d"] for i in range(100)}))
    there = batch.to("first")
    first.calls.clear()
    part = there[1:3].to("cpu")
    assert first.calls["copy"] == 2  # one for all offsets, one for all data
    assert part.equals(batch[1:3])


def test_nothing_waits_while_the_queue_is_held(devices):
    first = devices[0]
    with first.gate():
        there = cdevice.asarray(["a", "b"]).to("first")
        again = there.to("first:1")  # sizes are known from the way there: the host need not ask
        assert not there.ready and not again.ready
    again.synchronize()
    assert again.to("cpu").to_pylist() == ["a", "b"]


def test_releasing_while_held_gives_everything_back_afterwards(devices):
    first = devices[0]
    with first.gate():
        there = cdevice.asarray(["a", "b"]).to("first")
        there.release()
        assert lib.cdv_retired_count() >= 1
    settle(*devices)


@pytest.mark.parametrize("target", ["first", "cpu", "second", "first:1"])
def test_a_fault_at_any_call_leaks_nothing_and_leaves_the_source(target, devices):
    first, second, _ = devices
    source = cdevice.asarray(cases.ARRAYS["record"])
    if target != "first":
        source = source.to("first")
    settled = None
    for n in range(60):
        first.fail_after = n
        try:
            done = source.to(target)
        except cdevice.DeviceError:
            continue
        finally:
            first.fail_after = None
        settled = n
        assert done.to("cpu").to_pylist() == cases.ARRAYS["record"].to_pylist()
        del done
        break
    assert settled
    assert source.to("cpu").to_pylist() == cases.ARRAYS["record"].to_pylist()
    del source
    settle(*devices)


def test_copy_false_refuses_to_move_and_none_shares_what_is_there(devices):
    there = cdevice.asarray([1, 2]).to("first")
    assert there.to("first").buffers[1].address == there.buffers[1].address
    assert there.to("first", copy=True).buffers[1].address != there.buffers[1].address
    with pytest.raises(ValueError, match="copy=False"):
        there.to("cpu", copy=False)
    assert cdevice.asarray([3], device="first").device == cdevice.device("first")


def test_pickles_come_back_on_their_device(devices):
    import pickle

    there = cdevice.asarray(["a", None]).to("second:1")
    again = pickle.loads(pickle.dumps(there))
    assert again.device == cdevice.device("second:1")
    assert again.to("cpu").to_pylist() == ["a", None]


def test_ctrl_c_interrupts_a_wait(devices):
    import _thread

    first = devices[0]
    with first.gate():
        there = cdevice.asarray([1, 2]).to("first")
        with pytest.raises(KeyboardInterrupt):
            threading.Thread(target=_thread.interrupt_main).start()
            there.synchronize()
    there.synchronize()
    assert there.ready


# ---- pinned staging; CUDA and ROCm on hostrt, the stand-in runtime ----
def pinned(device):
    """Bytes of pinned memory that are in use."""
    return cdevice.device(device.split("_")[0] + "_host").memory().live


@pytest.mark.parametrize("device", ["cuda", "cuda_managed", "rocm"])
def test_hostrt_pageable_memory_leaves_its_source_free_and_arrives_through_pinned_chunks(device, runtimes):
    values = np.arange(100_000)
    alive = weakref.ref(values)
    runtime = runtimes[device.split("_")[0]]
    settle()
    used, waits = pinned(device), runtime.stats().host_blocks
    runtime.gate()
    there = cdevice.asarray(values).to(device)
    assert pinned(device) > used and runtime.stats().host_blocks == waits
    del values
    gc.collect()
    assert alive() is None  # copied: the device reads the chunk
    runtime.open()
    there.synchronize()
    settle()
    assert pinned(device) == used
    assert there.to("cpu", copy=True).to_numpy().tolist() == list(range(100_000))
    assert pinned(device) == used


@pytest.mark.parametrize("vendor", ["cuda", "rocm"])
def test_hostrt_pinned_memory_is_read_by_the_device_itself(vendor, runtimes):
    host = cdevice.asarray(np.arange(100_000)).to(f"{vendor}_host").to("cpu")
    assert host.device_type == 1
    settle()
    used = pinned(vendor)
    runtimes[vendor].gate()
    there = host.to(vendor)
    assert pinned(vendor) == used and lib.cdv_retired_count() == 1
    runtimes[vendor].open()
    assert there.to("cpu").equals(host)
    settle()


@pytest.mark.parametrize("device", ["cuda", "cuda_managed", "rocm"])
@pytest.mark.parametrize("chunk", [64, 100_000, 8 << 20])
def test_hostrt_large_batches_of_any_chunk_size_come_back_equal(device, chunk, runtimes):
    n = 30_000
    batch = cdevice.asarray(
        pa.record_batch(
            {
                "i": pa.array(range(n)),
                "s": pa.array([None if i % 7 == 0 else str(i) for i in range(n)]),
                "b": pa.array([i % 3 == 0 for i in range(n)]),
            }
        )
    )
    before = lib.cdv_staging_chunk(chunk)
    try:
        for part in (batch, batch[1001:29_003]):
            there = part.to(device)
            assert there.to("cpu", copy=True).equals(part)
    finally:
        lib.cdv_staging_chunk(before)
    settle()


@pytest.mark.parametrize("device", ["cuda", "rocm"])
@pytest.mark.parametrize("call", range(1, 14))
def test_hostrt_a_fault_in_a_large_transfer_leaves_nothing_behind(device, call, runtimes):
    cuda = device == "cuda"
    names = (
        ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemAllocHost_v2", "cuEventRecord"]
        if cuda
        else ["hipMemcpyAsync", "hipHostMalloc", "hipEventRecord"]
    )
    source = cdevice.asarray(np.arange(60_000))
    before = lib.cdv_staging_chunk(65_536)
    settle()
    used, live = pinned(device), lib.cdv_live_arrays()
    failed = 0
    try:
        for name in names:
            runtimes[device].fail(name, call - 1, 999)
            try:
                assert source.to(device).to("cpu", copy=True).equals(source)
            except cdevice.DeviceError:
                failed += 1
            runtimes[device].fail("", 0, 0)
            gc.collect()
            settle()
    finally:
        lib.cdv_staging_chunk(before)
    assert pinned(device) == used and lib.cdv_live_arrays() == live
    assert failed or call > 8
    assert runtimes[device].stats().misuse == 0
