"""Nothing leaks at any failure."""

from __future__ import annotations

from .. import cases
from .area import Area, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..suite import BackendSuite


check = Area("failures")


@check("to_the_device", "from_the_device", "on_the_device")
def check_nothing_leaks_at_any_failure(s: BackendSuite, way: Any) -> None:
    s.needs(s.fail_after(None), "its suite injects no failures")
    record = cases.arrays()["record"]
    target = s.device_number()
    there: Any = None if way == "to_the_device" else record.to(target)
    if there is not None:
        there.synchronize()
    for n in range(200):
        s.fail_after(n)
        try:
            if way == "to_the_device":
                out = record.to(target)
            elif way == "from_the_device":
                out = there.to("cpu")
            else:
                out = there.to(target, copy=True)
        except s.cdevice.Error as e:
            assert str(e), "an error without a text"
            continue
        finally:
            s.fail_after(None)
        assert n, "the first call was to fail, and nothing was reported"
        same(out.to("cpu"), record)
        break
    else:
        raise AssertionError("after 200 failures it still fails")
    del out, there
