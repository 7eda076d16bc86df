"""Several threads at once."""

from __future__ import annotations

import threading

from .area import Area, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("threads")


@check()
def check_eight_threads_at_once(s: BackendSuite) -> None:
    errors = []

    def work(i: int) -> None:
        try:
            for k in range(15):
                values = list(range(i * 100, i * 100 + k))
                source = s.cdevice.asarray(values, schema="int64")
                expect(source.to(s.device_number(i)).to("cpu").to_pylist(), values, f"rows of thread {i}")
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@check()
def check_made_here_and_read_there(s: BackendSuite) -> None:
    there = s.cdevice.asarray(list(range(100))).to(s.device_number())
    expect(s.promptly(lambda: there.to("cpu").to_pylist()), list(range(100)), "rows read in another thread")
