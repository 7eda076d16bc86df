"""What other libraries are handed."""

from __future__ import annotations

import pickle

from .area import Area, exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("protocols")


@check()
def check_a_consumer_gets_device_and_event(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    out = exported(s, there)
    assert (out.device_type, out.device_id) == (s.type_id, s.device_number().id)
    assert int(s.ffi.cast("uintptr_t", out.sync_event)) == there.sync_event
    assert list(out.reserved) == [0, 0, 0]
    out.array.release(s.ffi.addressof(out, "array"))


@check()
def check_capsules_go_through_unchanged(s: BackendSuite) -> None:
    there = s.cdevice.asarray(["a", None, "ccc"]).to(s.device_number())
    received = s.cdevice.import_capsules(*there.__arrow_c_device_array__())
    assert received.device == there.device and received.sync_event == there.sync_event
    assert [b.address for b in received.buffers] == [b.address for b in there.buffers]
    del there
    assert received.to("cpu").to_pylist() == ["a", None, "ccc"]


@check()
def check_host_protocols_give_the_data_or_say_what_to_do(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    if s.capabilities & s.cdevice.Capability.HOST_ACCESSIBLE or s.type_id == 1:
        received = s.cdevice.import_capsules(*there.__arrow_c_array__())
        assert received.to_pylist() == [1, 2, 3]
        return
    try:
        there.__arrow_c_array__()
    except s.cdevice.CannotExport as e:
        assert '.to("cpu")' in str(e)
        return
    raise AssertionError("memory that the CPU cannot read was handed out as if it could")


@check()
def check_pickles_hold_the_data(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, None, 3]).to(s.device_number())
    assert pickle.loads(pickle.dumps(there)).to("cpu").to_pylist() == [1, None, 3]
