"""Nothing leaks at any failure, and failures are reported."""

from __future__ import annotations

import gc

from .. import cases
from .area import Area, expect, same, with_events

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


@check()
def check_a_failed_event_is_told(s: BackendSuite) -> None:
    with_events(s)
    other = s.new_stream()
    gate: Any = None if other is None else s.failing_gate(other)
    s.needs(gate is not None, "its suite offers no gate that fails")
    with gate:
        there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number(), stream=other))
        s.promptly(lambda: there.wait(other))
    try:
        there.synchronize(timeout=s.limit())
    except s.cdevice.Error as e:
        assert str(e), "an error without a text"
        return
    # some devices go on behind what has failed
    expect(there.to("cpu").to_pylist(), [1, 2, 3], "rows of which synchronize() reports no failure")


@check()
def check_events_that_fail_after_their_array_was_dropped(s: BackendSuite) -> None:
    """Nothing of them is held any more."""
    with_events(s)
    other = s.new_stream()
    gate: Any = None if other is None else s.failing_gate(other)
    s.needs(gate is not None, "its suite offers no gate that fails")
    with gate:
        for _ in range(20):
            there = s.promptly(lambda: s.cdevice.asarray(list(range(100))).to(s.device_number(), stream=other))
            behind = s.promptly(lambda: there.to(s.device_number(), stream=other, copy=True))  # noqa: B023
            s.promptly(lambda: behind.wait(other))  # noqa: B023
            s.promptly(there.release)
            s.promptly(behind.release)
        there = behind = None
        gc.collect()
    s.settle()
    got = s.cdevice.asarray([1, 2, 3]).to(s.device_number()).to("cpu").to_pylist()
    expect(got, [1, 2, 3], "rows after events have failed")
