"""The properties of the table and of its devices."""

from __future__ import annotations

from .area import Area

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("table")


@check()
def check_the_name_is_a_word(s: BackendSuite) -> None:
    import re

    assert re.fullmatch("[a-z][a-z0-9_]*", s.name), f"{s.name!r} is no name: [a-z][a-z0-9_]*"


@check()
def check_there_is_a_device_and_it_says_what_it_is(s: BackendSuite) -> None:
    assert s.devices >= 1, f"device_count() returned {s.devices}"
    info = s.device_number().info
    assert info.name, "a device without a name"
    assert info.alignment >= 1 and info.alignment & (info.alignment - 1) == 0, (
        f"the alignment {info.alignment} is not a power of two"
    )
    sizes = f"total_bytes {info.total_bytes}, free_bytes {info.free_bytes}"
    assert info.total_bytes >= -1 and info.free_bytes >= -1, f"{sizes}: -1 is the one negative size, unknown"
    assert info.total_bytes < 0 or info.free_bytes <= info.total_bytes, f"{sizes}: more is free than there is"


@check()
def check_capabilities_and_functions_agree(s: BackendSuite) -> None:
    c, C = s.capabilities, s.cdevice.Capability
    if not c & C.ADDRESS:
        assert s.table.view, "without ADDRESS view() is required"
    if c & C.HOST_ACCESSIBLE:
        assert c & C.ADDRESS, "what the CPU reads has addresses"


@check()
def check_a_device_that_is_not_there_is_refused(s: BackendSuite) -> None:
    s.needs(s.type_id != 1, "the CPU has no number")
    array = s.cdevice.asarray([1, 2, 3])
    try:
        array.to((s.type_id, s.devices + 3))
    except (s.cdevice.DeviceError, ValueError, s.cdevice.BackendUnavailable):
        return
    raise AssertionError(f"{s.name}:{s.devices + 3} was accepted; there are {s.devices} devices")
