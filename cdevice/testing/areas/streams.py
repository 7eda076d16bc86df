"""Streams of arrays."""

from __future__ import annotations

from .area import Area

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("streams")


@check(0, 2)
def check_a_stream_moves_there_and_back(s: BackendSuite, prefetch: int) -> None:
    arrays = [s.cdevice.asarray([i, None, i * i]) for i in range(20)]
    there = s.cdevice.asstream(arrays).to(s.device_number(), prefetch=prefetch)
    assert there.device_type_id == s.type_id
    got = [a.to_pylist() for a in there.to("cpu", prefetch=prefetch)]
    assert got == [a.to_pylist() for a in arrays]


@check()
def check_a_stream_leaves_and_comes_in_through_its_struct(s: BackendSuite) -> None:
    arrays = [s.cdevice.asarray([i]).to(s.device_number()) for i in range(5)]
    out = s.ffi.new("struct ArrowDeviceArrayStream *")
    s.cdevice.asstream(arrays).export_to_c(out)
    assert out.device_type == s.type_id
    got = list(s.cdevice.import_stream_from_c(out))
    assert [a.to("cpu").to_pylist() for a in got] == [[i] for i in range(5)]


@check()
def check_an_asynchronous_stream(s: BackendSuite) -> None:
    from ... import aio

    got = list(aio.iterate([s.cdevice.asarray([i]) for i in range(10)], device=s.device_number()))
    assert [a.device.type_id for a in got] == [s.type_id] * 10
    assert [a.to("cpu").to_pylist() for a in got] == [[i] for i in range(10)]


@check()
def check_a_named_stream_is_used(s: BackendSuite) -> None:
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1, 2]).to(s.device_number(), stream=other))
        assert s.promptly(lambda: there.to("cpu", stream=other)).to_pylist() == [1, 2], "it ran on the held stream"
