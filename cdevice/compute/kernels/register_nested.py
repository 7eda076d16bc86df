"""The registry's functions that choose between columns, and those of structs and maps."""

from __future__ import annotations

from ..dispatch.call import of_one_type, without_loss
from ..dispatch.datum import joined, lone
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import DICTIONARY, HALF, NUMBERS, common
from ..nested_options import (
    OPTIONS,
    ListNormOptions,
    MakeStructOptions,
    MapLookupOptions,
    ReshapeOptions,
    StructFieldOptions,
)
from ..options import ScalarAggregateOptions
from ..scalar import Scalar
from . import choice, maps, structs, vectors
from .cast.decimal import at_least_128, is_decimal
from .cast.dictionary import dictionary_decode
from .lists import is_list
from .register_vector import _step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

__all__ = ["OPTIONS", "add_to"]

_ANY = Matcher("any", lambda f: True)
_STRUCT = Matcher("struct or union", lambda f: f == "+s" or f[:2] == "+u")
_LIST = Matcher("lists", is_list)
_CHOSEN = Matcher("values of one type", lambda f: f not in ("+r", DICTIONARY), same=str)
_CHOSEN_OR_DICTIONARY = Matcher("values of one type", lambda f: f != "+r", same=str)


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them; if_else and equal are there."""
    if_else = r.get_function("if_else")
    f = Function("case_when", "scalar", -2, "Of each row the value of the first condition that is true.")
    f.implicit, f.nulls = _values_alike, ("+s",)
    f._add(Kernel(Signature(("+s", _CHOSEN_OR_DICTIONARY), None, True), choice.CaseWhen(if_else)))
    r.add_function(f)
    f = Function("choose", "scalar", -2, "Of each row the value with the number that the row has.")
    f.implicit, f.nulls = _indices_and_values, ("l",)
    f._add(Kernel(Signature(("l", _CHOSEN), None, True), choice.Choose(if_else)))
    r.add_function(f)
    f = Function("coalesce", "meta", -2, "The first argument that is not null, row by row.")
    f.meta = lambda call, args: _coalesce(call, if_else, args)
    r.add_function(f)
    f = Function("struct_field", "scalar", 1, "A field of a struct, of a union its values of one type.")
    f.options = StructFieldOptions
    f._add(Kernel(Signature((_STRUCT,), None, False), structs.struct_field))
    r.add_function(f)
    f = Function("make_struct", "scalar", -2, "Columns as one column of structs.", MakeStructOptions)
    f.nulls = ("n",) * 100  # a null is of no other column's type
    f._add(Kernel(Signature((_ANY,), "+s", True), structs.make_struct))
    r.add_function(f)
    _vectors(r)
    f = Function("map_lookup", "scalar", 1, "The values of each map that have a key.", MapLookupOptions)
    f._add(Kernel(Signature(("+m",), None, False), maps.MapLookup(_step(r.get_function("equal")))))
    r.add_function(f)


_VECTOR = Matcher("fixed-size lists of one size", vectors.is_vector, same=str)
_NUMBER = Matcher("numbers", lambda f: f in (*NUMBERS, HALF) or is_decimal(f))
_ONE = "negate abs sign sqrt exp ln floor ceil trunc round"
_TWO = "add subtract multiply divide power"
_MANY = "min_element_wise max_element_wise"


def _vectors(r: FunctionRegistry) -> None:
    """Functions of numbers, for each value of lists of one size; and those along a list."""
    names = set(r.get_function_names())
    for name in (x + c for x in f"{_ONE} {_TWO} {_MANY}".split() for c in ("", "_checked")):
        if name not in names:
            continue
        f = r.get_function(name)
        exec = vectors.Elementwise(f)
        if f.arity == 1:
            f._add(Kernel(Signature((_VECTOR,), None, False), exec))
            continue
        for inputs in ((_VECTOR, _NUMBER), (_NUMBER, _VECTOR)):
            f._add(Kernel(Signature(inputs, None, False), exec))
        many = f.arity < 0
        f._add(Kernel(Signature((_VECTOR,) if many else (_VECTOR, _VECTOR), None, many), exec))
    docs = {"sum": "The sum", "mean": "The mean", "min": "The minimum", "max": "The maximum"}
    for word, doc in docs.items():
        f = Function(f"list_{word}", "scalar", 1, f"{doc} of the values of each list.", ScalarAggregateOptions)
        f._add(Kernel(Signature((_LIST,), None, False), vectors.ListReduce(f.name)))
        r.add_function(f)
    f = Function("list_dot", "scalar", 2, "The sum of the products of two lists.", ScalarAggregateOptions)
    f._add(Kernel(Signature((_LIST, _LIST), None, False), vectors.list_dot))
    r.add_function(f)
    f = Function("list_norm", "scalar", 1, "The norm of each list.", ListNormOptions)
    norm = vectors.ListNorm(r.get_function("sqrt"), r.get_function("abs"))
    f._add(Kernel(Signature((_LIST,), "g", False), norm))
    r.add_function(f)
    f = Function("reshape", "scalar", 1, "The same values as lists of other sizes.", ReshapeOptions)
    f._add(Kernel(Signature((_VECTOR,), None, False), vectors.reshape))
    r.add_function(f)


def _values_alike(formats: Sequence[str]) -> Sequence[str] | None:
    """Values after the first argument become one type."""
    one = common(formats[1:])
    return None if one is None else (formats[0], *(one,) * (len(formats) - 1))


def _indices_and_values(formats: Sequence[str]) -> Sequence[str] | None:
    """Indices become int64, values one type."""
    first, *values = formats
    one = values[0] if len(set(values)) == 1 else common(values)
    if one is None or (first not in NUMBERS and first != HALF):
        return None
    return ("l", *(one,) * len(values))


def _coalesce(call: Call, if_else: Function, args: Sequence[Datum]) -> Any:
    """Of one type first: the first argument's is not always that of all."""
    args = [joined(of_one_type(call, a) if a.mixed else a) for a in args]
    some = [a for a in args if a.array is not None and a.format != "n"]
    if not all(a.format == DICTIONARY for a in some) or not choice.of_one_dictionary(some):
        args = [dictionary_decode(call, a) for a in args]
    formats = [a.format for a in args if a.format not in (None, "n")]
    one = formats[0] if len(set(formats)) == 1 else common(formats) if formats else None
    if one is None and formats:
        raise call.function.no_kernel_error([a.format or "n" for a in args], call.device_type)
    if one is not None:
        one = at_least_128(one)
        like = next((a.array for a in args if a.format == one and a.array is not None), None)
        args = [without_loss(call, a, one, like) for a in args]
    args = [a for a in args if a.array is not None or a.value is not None] or list(args[:1])
    if all(a.array is None for a in args):
        args = [lone(call, args[0])]
    out = choice.coalesced(call, if_else, args)
    return out if any(a.array is not None and not a.one for a in args) else Scalar(out)
