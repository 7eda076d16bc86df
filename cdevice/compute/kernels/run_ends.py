"""Run-end encoding: run_end_encode and run_end_decode."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...errors import ArgumentError
from ...interop.concat import concat
from ...schema import Schema, asschema
from ..dispatch.datum import Datum
from ..dispatch.types import DICTIONARY, format_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.dictionary import known_rows, may_be_null
from .cast.numeric import cast_argument
from .elementwise import KLEENE, WORD, Map, schema_of
from .fill import array_of
from .selection import take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_xor = Map("boolean", "bits", "xor", "bb", "b", unit=WORD)
_or = Map("boolean", "bits", "or_kleene", "bb", "b", unit=WORD, rule=KLEENE)
_AS_INTEGERS = {"e": "S", "f": "I", "g": "L"}
_CAPACITY = {"s": (1 << 15) - 1, "i": (1 << 31) - 1, "l": (1 << 63) - 1}


class RunEndEncode:
    """``exec`` of run_end_encode; ``not_equal``: the function of that name.  Blocks."""

    __slots__ = ("not_equal",)

    def __init__(self, not_equal: Callable[[Call, Datum, Datum], DeviceArray]) -> None:
        self.not_equal = not_equal

    def __call__(self, call: Call, values: Datum) -> DeviceArray:
        options: Any = call.options
        array, to = array_of(call, values), asschema(options.run_end_type).format
        if values.format in (DICTIONARY, "+r"):
            raise NoKernel(f"run_end_encode: no kernel for {words_of(values.format)}")
        n = array.length
        if n > _CAPACITY[to]:
            raise ArgumentError(f"run_end_encode: {n} rows; {words_of(to)} run ends count up to {_CAPACITY[to]}")
        begins = self._begins(call, array) if n > 1 else rows.from_(call, array, 0, 0)
        ends, found = rows.from_(call, array, n, min(n, 1)), array
        if n:
            ends = concat([begins, ends], stream=call.owner)
            found = take.take_array(
                call, array, concat([rows.from_(call, array, 0, 1), begins], stream=call.owner), False
            )
        made = cast_argument(call, Datum(ends, "l"), to, False).array
        assert made is not None
        return _encoded(made, found, n)

    def _begins(self, call: Call, array: DeviceArray) -> DeviceArray:
        """The rows but the first that differ from the one before."""
        format = format_of(array)
        if format == "n":
            return rows.from_(call, array, 0, 0)
        if format in _AS_INTEGERS:  # by bits: a NaN is equal to itself, and 0.0 differs from -0.0
            format = _AS_INTEGERS[format]
            array = take.with_schema(array, schema_of(format))
        differ = self.not_equal(call, Datum(array[1:], format), Datum(array[:-1], format))
        if may_be_null(array):
            known = known_rows(call, array)
            other = _xor(call, Datum(known[1:], "b"), Datum(known[:-1], "b"))
            differ = _or(call, Datum(differ, "b"), Datum(other, "b"))  # null where both are
        return rows.add(call, take.chosen_rows(call, differ), 1)


def _encoded(ends: DeviceArray, values: DeviceArray, n: int) -> DeviceArray:
    children = [Schema.make(ends._format, "run_ends", nullable=False), values._schema.with_name("values")]
    return assemble(Schema.make("+r", children=children), n, [], [ends, values], null_count=0, near=values)


def run_end_decode(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of run_end_decode."""
    array = array_of(call, values)
    if array._format != "+r":
        raise NoKernel(f"run_end_decode: expected run ends, not {words_of(format_of(array))}")
    return take.run_end_decode(call, array)
