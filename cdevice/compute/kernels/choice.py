"""Values chosen from several arguments: case_when, choose and coalesce.

Values of one size are selected one argument after the other; all others by number, of all arguments at once."""

from __future__ import annotations

from copy import copy

from ...errors import ArgumentError
from ..dispatch.call import NO_OPTIONS, execute
from ..dispatch.datum import Datum, argument, lone
from ..dispatch.types import DICTIONARY, width_of
from ..errors import IndexOutOfBounds, NoKernel
from . import row_numbers as rows
from .aggregate import count_valid
from .cast.dictionary import dictionary_decode, known_rows
from .elementwise import WORD, Map
from .fill import true_rows
from .selection.choose import choose_rows, first_known, length_of
from .selection.take import both, filter_array, is_valid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..dispatch.call import Call
    from ..dispatch.registry import Function

_or = Map("boolean", "bits", "or", "bb", "b", unit=WORD)


def is_of_one_size(format: str) -> bool:
    """Has if_else a kernel that moves values of this type?"""
    return width_of(format) is not None


def of_one_dictionary(arguments: Sequence[Datum]) -> bool:
    """Are all dictionary arrays of one type?"""
    found = [a.array for a in arguments if a.array is not None]
    return all(a._schema.dictionary is not None and a._schema._equal(found[0]._schema, False, False) for a in found)


def first_true(call: Call, if_else: Function, conditions: Sequence[Datum], values: Sequence[Datum]) -> Any:
    """Of each row the value of its first condition that is true.  Conditions have no nulls; of values there is one
    more, for rows that none is true of.  One array for one row of each."""
    length_of(call.function.name, (*conditions, *values))
    if not is_of_one_size(values[0].format or ""):
        return choose_rows(call, conditions, values)
    inner = copy(call)
    inner.function, inner.options = if_else, NO_OPTIONS
    found = values[-1]
    try:
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            found = argument(execute(inner, [condition, value, found]))
    except NoKernel as e:
        raise NoKernel(f"{call.function.name}: {e}") from None
    return found.array


class CaseWhen:
    """``exec`` of case_when; ``if_else``: the function of that name."""

    __slots__ = ("if_else",)

    def __init__(self, if_else: Function) -> None:
        self.if_else = if_else

    def __call__(self, call: Call, cond: Datum, *values: Datum) -> Any:
        array = cond.array
        if array is None or not array._n_children:
            raise NoKernel("case_when: the conditions must be a struct of bools, with a field for each")
        n = array._n_children
        if n not in (len(values), len(values) - 1):
            raise ArgumentError(
                f"case_when: {n} conditions and {len(values)} values: there must be one value for each condition, and "
                "at most one more"
            )
        for field in array._schema.children:
            if field.format != "b" or field.dictionary is not None:
                raise NoKernel(f"case_when: the condition {field.name!r} must be bool, not {field.type}")
        if array.null_count and count_valid(call, array) < array.length:
            raise ArgumentError("case_when: the struct of conditions must not be null itself; its fields may be")
        if values[0].format == DICTIONARY and not of_one_dictionary(values):
            return execute(call, [cond, *(dictionary_decode(call, v) for v in values)])
        conditions = [Datum(array._child(i), "b", one=cond.one) for i in range(n)]
        conditions = [Datum(true_rows(call, c), "b", one=c.one) for c in conditions]
        rest = [] if len(values) > n else [Datum(value=None, format=values[0].format)]
        return first_true(call, self.if_else, conditions, [*values, *rest])


class Choose:
    """``exec`` of choose; ``if_else``: the function of that name."""

    __slots__ = ("if_else",)

    def __init__(self, if_else: Function) -> None:
        self.if_else = if_else

    def __call__(self, call: Call, indices: Datum, *values: Datum) -> Any:
        if indices.array is None:
            indices = lone(call, indices)
        array = indices.array
        assert array is not None
        below, above = rows.less(call, array, 0), rows.less_equal(call, len(values), array)
        bad = filter_array(call, array, _or(call, Datum(below, "b"), Datum(above, "b")), False)
        if bad.length:
            raise IndexOutOfBounds(
                f"choose: index {rows.number_at(bad, 0)} is out of bounds: there are {len(values)} values, from 0 on"
            )
        known = Datum(is_valid(call, indices), "b")
        conditions = []
        for i in range(len(values)):
            here = rows.equal(call, array, i)
            conditions.append(Datum(rows.without_nulls(both(call, Datum(here, "b"), known)), "b", one=indices.one))
        return first_true(call, self.if_else, conditions, [*values, Datum(value=None, format=values[0].format)])


def coalesced(call: Call, if_else: Function, values: Sequence[Datum]) -> Any:
    """Of each row the first value that is not null: of one type, and of at least one array."""
    some = [v for v in values if v.array is not None or v.value is not None] or [*values[:1]]
    number = next((i for i, v in enumerate(some) if v.array is None), len(some))
    some = some[: number + 1]  # a number of the host is never null
    if number == 0:  # then every row is that
        near = next((v.array for v in values if v.array is not None and not v.one), None)
        if near is None:
            return lone(call, some[0]).array
        return first_true(call, if_else, [Datum(known_rows(call, near), "b")], [some[0], some[0]])
    if not is_of_one_size(some[0].format or ""):
        return first_known(call, some)
    conditions = [Datum(known_rows(call, v.array), "b", one=v.one) for v in some[:-1] if v.array is not None]
    return first_true(call, if_else, conditions, some)
