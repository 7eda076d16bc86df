"""What other libraries are handed."""

from __future__ import annotations

import pickle

from .area import Area, expect, exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("protocols")


@check()
def check_a_consumer_gets_device_and_event(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    out = exported(s, there)
    expect((out.device_type, out.device_id), (s.type_id, s.device_number().id), "(device type, device) of the struct")
    expect(int(s.ffi.cast("uintptr_t", out.sync_event)), there.sync_event, "the struct's sync_event")
    expect(list(out.reserved), [0, 0, 0], "the struct's reserved bytes")
    out.array.release(s.ffi.addressof(out, "array"))


@check()
def check_capsules_go_through_unchanged(s: BackendSuite) -> None:
    there = s.cdevice.asarray(["a", None, "ccc"]).to(s.device_number())
    received = s.cdevice.import_capsules(*there.__arrow_c_device_array__())
    expect(received.device, there.device, "the device of what was received")
    expect(received.sync_event, there.sync_event, "the event of what was received")
    expect([b.address for b in received.buffers], [b.address for b in there.buffers], "addresses of buffers")
    del there
    expect(received.to("cpu").to_pylist(), ["a", None, "ccc"], "rows that went through capsules")


@check()
def check_host_protocols_give_the_data_or_say_what_to_do(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    if s.capabilities & s.cdevice.Capability.HOST_ACCESSIBLE or s.type_id == 1:
        received = s.cdevice.import_capsules(*there.__arrow_c_array__())
        expect(received.to_pylist(), [1, 2, 3], "rows read by the CPU")
        return
    try:
        there.__arrow_c_array__()
    except s.cdevice.CannotExport as e:
        assert '.to("cpu")' in str(e), f'the refusal does not name .to("cpu"): {e}'
        return
    raise AssertionError("memory that the CPU cannot read was handed out as if it could")


@check()
def check_pickles_hold_the_data(s: BackendSuite) -> None:
    there = s.cdevice.asarray([1, None, 3]).to(s.device_number())
    expect(pickle.loads(pickle.dumps(there)).to("cpu").to_pylist(), [1, None, 3], "rows that were pickled")
