"""Releases: of which memory, when, and on which thread."""

from __future__ import annotations

from .area import Area, expect, exported, with_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("release")


@check()
def check_release_on_a_thread_that_never_saw_python(s: BackendSuite) -> None:
    for _ in range(20):
        there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
        out = exported(s, there)
        del there
        expect(s.lib.cdv_release_in_thread(out, 1), 0, "what releasing in another thread answers")


@check()
def check_release_is_idempotent_and_slices_keep_the_data(s: BackendSuite) -> None:
    there = s.cdevice.asarray(list(range(10))).to(s.device_number())
    part = there[3:]
    there.release()
    there.release()
    assert there.released, "it does not report that it is released"
    expect(part.to("cpu").to_pylist(), list(range(3, 10)), "rows of a slice whose whole was released")


@check()
def check_release_does_not_wait_for_the_device(s: BackendSuite) -> None:
    with_events(s)
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1] * 1000).to(s.device_number()))
        out = exported(s, there)
        del there
        s.promptly(lambda: s.lib.cdv_release_in_thread(out, 1))


@check()
def check_everything_is_given_back(s: BackendSuite) -> None:
    before = s._arrays_alive()
    for _ in range(50):
        s.cdevice.asarray(list(range(100))).to(s.device_number()).to("cpu")
    s.settle()
    alive = s._arrays_alive()[0]
    assert alive <= before[0], f"{alive} arrays, blocks and events are alive, {before[0]} were before"
