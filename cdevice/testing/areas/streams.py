"""Streams of arrays."""

from __future__ import annotations

from .area import Area, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("streams")


@check(0, 2)
def check_a_stream_moves_there_and_back(s: BackendSuite, prefetch: int) -> None:
    arrays = [s.cdevice.asarray([i, None, i * i]) for i in range(20)]
    there = s.cdevice.asstream(arrays).to(s.device_number(), prefetch=prefetch)
    expect(there.device_type_id, s.type_id, "the device type of the stream")
    got = [a.to_pylist() for a in there.to("cpu", prefetch=prefetch)]
    expect(got, [a.to_pylist() for a in arrays], "arrays of the stream")


@check()
def check_a_stream_leaves_and_comes_in_through_its_struct(s: BackendSuite) -> None:
    arrays = [s.cdevice.asarray([i]).to(s.device_number()) for i in range(5)]
    out = s.ffi.new("struct ArrowDeviceArrayStream *")
    s.cdevice.asstream(arrays).export_to_c(out)
    expect(out.device_type, s.type_id, "the device type of the struct")
    got = list(s.cdevice.import_stream_from_c(out))
    expect([a.to("cpu").to_pylist() for a in got], [[i] for i in range(5)], "arrays of the stream")


@check()
def check_an_asynchronous_stream(s: BackendSuite) -> None:
    from ... import aio

    got = list(aio.iterate([s.cdevice.asarray([i]) for i in range(10)], device=s.device_number()))
    expect([a.device.type_id for a in got], [s.type_id] * 10, "device types of the arrays")
    expect([a.to("cpu").to_pylist() for a in got], [[i] for i in range(10)], "arrays of the stream")


@check()
def check_a_named_stream_is_used(s: BackendSuite) -> None:
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1, 2]).to(s.device_number(), stream=other))
        assert s.promptly(lambda: there.to("cpu", stream=other)).to_pylist() == [1, 2], "it ran on the held stream"
