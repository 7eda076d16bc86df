"""Arrays of every layout, there and back."""

from __future__ import annotations

from .. import cases
from .area import Area, expect, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..suite import BackendSuite

check = Area("layouts")


@check(*cases.names())
def check_there_and_back(s: BackendSuite, name: str) -> None:
    source = cases.arrays()[name]
    there = source.to(s.device_number())
    expect(there.device, s.device_number(), "the device of the copy")
    expect(there.length, 8, "the rows of the copy")
    same(there.to("cpu"), source)


@check(*cases.names())
def check_slices_there_and_back(s: BackendSuite, name: str) -> None:
    source = cases.arrays()[name]
    for start, stop in ((0, 3), (1, 6), (3, 4), (7, 8), (4, 4)):
        rows = source[start:stop]
        there = rows.to(s.device_number())
        same(there.to("cpu"), rows)
        same(there[there.length // 2 :].to("cpu"), rows[rows.length // 2 :])


@check(*cases.names())
def check_copied_on_the_device(s: BackendSuite, name: str) -> None:
    source = cases.arrays()[name]
    there = source.to(s.device_number())
    again = there[1:7].to(s.device_number(), copy=True)
    same(again.to("cpu"), source[1:7])


@check(*cases.names())
def check_to_another_device_of_the_type(s: BackendSuite, name: str) -> None:
    s.needs(s.devices > 1, "there is one device")
    source = cases.arrays()[name]
    there = source.to(s.device_number(0))
    other = there[2:].to(s.device_number(1))
    expect(other.device, s.device_number(1), "the device of the copy")
    same(other.to("cpu"), source[2:])


@check()
def check_a_million_rows(s: BackendSuite) -> None:
    import array

    source = s.cdevice.asarray(memoryview(array.array("q", range(1_000_000))))
    same(source.to(s.device_number()).to("cpu"), source)


@check()
def check_a_thousand_columns(s: BackendSuite) -> None:
    column = s.cdevice.asarray(list(range(20)))
    from ..._arrays.from_buffers import from_buffers
    from ...schema import Schema

    schema = Schema.make("+s", children=[column.schema.with_name(f"c{i}") for i in range(1000)])
    source = from_buffers(schema, 20, [None], null_count=0, children=[column] * 1000)
    same(source.to(s.device_number())[3:9].to("cpu"), source[3:9])
