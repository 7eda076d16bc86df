"""Lists of one size as vectors: functions of numbers for each of their values, sums along them, their shape."""

from __future__ import annotations

import json
from copy import copy

from ..._arrays.assemble import assemble, under
from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...schema import Schema
from ..dispatch.call import NO_OPTIONS, execute
from ..dispatch.datum import Datum, argument
from ..dispatch.types import FLOATS, HALF, NUMBERS, common, format_of, storage_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .aggregate import count_true
from .cast.decimal import is_decimal
from .cast.dictionary import known_rows, may_be_null
from .cast.nested import is_tensor
from .cast.numeric import cast_argument
from .elementwise import WORD, Map
from .hash_aggregate import of_each_list
from .lists import Lists, is_list, sized
from .selection.choose import length_of, on_one_device
from .selection.take import both, chosen_rows, is_valid, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from ..dispatch.registry import Function

COUNT, SUM, MIN, MAX, DOT = range(5)  # enum cdv_list_reduction
_or = Map("boolean", "bits", "or", "bb", "b", unit=WORD)
_divide = Map("arith", "f64", "divide", "gg", "g")
_METADATA = b"ARROW:extension:metadata"


def is_vector(format: str) -> bool:
    """Is it a list of a fixed size?"""
    return format.startswith("+w:")


def _size(format: str | None) -> int:
    return int((format or "")[3:])


def _parents(call: Call, near: DeviceArray, n: int, size: int) -> DeviceArray:
    """Of each value of n lists the list that it is of."""
    return rows.divide(call, rows.from_(call, near, 0, n * size), max(size, 1))


# ---- a function of numbers, for each value ----
class Elementwise:
    """``exec`` of a function of numbers for lists of one size: the function of their values.

    ``checks``: it raises an error for some values, of which those below a null list are none."""

    __slots__ = ("checks", "function")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.checks = function.name.endswith("_checked") or function.name in ("divide", "modulo", "remainder")

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        n = length_of(call.function.name, args)
        lists = [a for a in args if is_vector(a.format or "")]
        first = next((a.array for a in lists if a.array is not None), None)
        if first is None:
            raise NoKernel(f"{call.function.name}: no kernel for nulls of {words_of(lists[0].format or 'n')} alone")
        size, length = _size(first._format), 1 if n is None else n
        skips = getattr(call.options, "skip_nulls", False)
        known = self._known(call, args, first, length, skips)
        arrays = [a.array for a in args if a.array is not None]
        types = {format_of(x._child(0) if is_vector(x._format) else x) for x in arrays}
        whole = not (skips or self.checks or len(types) > 1)  # else values below null lists are none: of casts too
        values = [self._values(call, a, first, size, n, whole) for a in args]
        inner = copy(call)
        inner.function = self.function
        out = argument(execute(inner, values)).array
        assert out is not None
        return _list_of(call, first, out, length, known)

    def _known(self, call: Call, args: Sequence[Datum], near: DeviceArray, n: int, skips: bool) -> DeviceArray | None:
        """Which rows of the result have a value; None: all have."""
        found: Datum | None = None
        for a in args:
            if a.value is not None if a.array is None else not may_be_null(a.array):
                if skips:
                    return None
                continue
            bits = Datum(value=False, format="b")
            if a.array is not None:
                bits = Datum(known_rows(call, a.array), "b", one=a.one)
            if found is None:  # all are known, until one is not; where nulls are skipped, none is, until one is
                every = rows.from_(call, near, 0, n)
                found = Datum(rows.less(call, every, 0) if skips else rows.less_equal(call, 0, every), "b")
            found = Datum((_or if skips else both)(call, found, bits), "b")
        return None if found is None else found.array

    def _values(self, call: Call, a: Datum, near: DeviceArray, size: int, n: int | None, whole: bool) -> Datum:
        """An argument as one for each value of the lists; ``whole``: values below null lists too."""
        if not is_vector(a.format or ""):
            if a.array is None or a.one:
                return a
            assert n is not None
            return Datum(take_array(call, a.array, _parents(call, near, n, size), False), a.format)
        if a.array is None:
            return Datum(value=None)
        child = a.array._child(0)
        if a.one and n is not None:  # the same list for all rows
            numbers = rows.from_(call, near, 0, n * size)
            begins = rows.multiply(call, _parents(call, near, n, size), size)
            return Datum(take_array(call, child, rows.subtract(call, numbers, begins), False), format_of(child))
        if may_be_null(a.array) and not whole:
            parents = _parents(call, near, a.array.length, size)
            bits = take_array(call, known_rows(call, a.array), parents, False)
            numbers = with_bitmap(rows.from_(call, near, 0, child.length), rows_without_nulls(call, bits))
            child = take_array(call, child, numbers, False)
        return Datum(child, format_of(child))


def rows_without_nulls(call: Call, bits: DeviceArray) -> DeviceArray:
    """Bits that have no nulls, whole."""
    return rows.without_nulls(both(call, Datum(bits, "b"), Datum(bits, "b")))


def _list_of(call: Call, like: DeviceArray, values: DeviceArray, n: int, known: DeviceArray | None) -> DeviceArray:
    """Lists as others are, of other values; a tensor keeps its shape."""
    schema = like._schema
    field = values._schema.with_name(schema.children[0].name)
    made = Schema.make(like._format, children=[field], metadata=schema._metadata if is_tensor(schema) else None)
    bitmap = None if known is None else (known, 1)
    near = values if known is None or known.device_type_id == values.device_type_id else known
    if near is not values:
        values = values.to("cpu")
    return assemble(made, n, [bitmap], [values], null_count=0 if known is None else -1, near=near)


# ---- along a list ----
class _Rows:
    """The lists of an argument: where each begins and how many values it has, None for lists of one size."""

    __slots__ = ("array", "begins", "length", "lengths", "one", "size", "valid", "values")

    def __init__(self, call: Call, a: Datum, begins: bool = False) -> None:
        if a.array is None or not is_list(a.format or ""):
            raise NoKernel(f"{call.function.name}: expected lists, not {words_of(a.format or 'n')}")
        self.array, self.length, self.one = a.array, a.array.length, a.one
        self.begins: DeviceArray | None = None
        self.lengths: DeviceArray | None = None
        self.size = 0
        if is_vector(a.format or "") and not begins:
            self.size, self.values = _size(a.format), a.array._child(0)
            self.valid = is_valid(call, Datum(a.array, a.format)) if a.array.null_count else None
        else:
            lists = Lists(call, Datum(a.array, a.format))
            self.begins, self.lengths = lists.begins, lists.lengths
            self.valid, self.values = lists.valid, lists.values


def _numbers(call: Call, values: DeviceArray, to: str | None = None) -> DeviceArray:
    """Values that kernels add up; ``to``: as that type."""
    format = format_of(values)
    if format not in (*NUMBERS, "b", HALF):
        raise NoKernel(f"{call.function.name}: no kernel for lists of {words_of(format)}: the values must be numbers")
    wanted = to or {"b": "C", HALF: "f"}.get(format, format)
    made = cast_argument(call, Datum(values, format), wanted, False).array
    assert made is not None
    return made


def _reduced(
    call: Call, lists: _Rows, values: DeviceArray, operation: int, other: _Rows | None = None, more: Any = None
) -> DeviceArray:
    n, size = lists.length, lists.size
    begins = None if other is None else other.begins
    handles = call.stream, call.owner
    return _native.compute_list_reduce(  # type: ignore[no-any-return]
        values, more, lists.begins, begins, lists.lengths, n, size, operation, call.function.name, *handles
    )


def _enough(
    call: Call, lists: _Rows, counts: DeviceArray | None, least: int, valid: DeviceArray | None
) -> DeviceArray | None:
    """Which lists have a result; None: all have.  ``counts``: of the values that count; None: all of ``size`` do."""
    options: Any = call.options
    if counts is None:
        counts = lists.lengths
    if counts is None:
        if lists.size >= least:
            return valid
        nothing = rows.from_(call, lists.values, 0, lists.length)
        return rows.less(call, nothing, 0)
    enough = rows.less_equal(call, least, counts)
    if not options.skip_nulls:
        whole = rows.equal(call, counts, lists.lengths if lists.lengths is not None else lists.size)
        enough = both(call, Datum(enough, "b"), Datum(whole, "b"))
    return enough if valid is None else both(call, Datum(enough, "b"), Datum(valid, "b"))


def nulls_of_both(call: Call, out: DeviceArray, valid: DeviceArray) -> DeviceArray:
    """Rows that are null where they are, and where the bits are not set."""
    known = both(call, Datum(known_rows(call, out), "b"), Datum(valid, "b"))
    return with_bitmap(out, rows_without_nulls(call, known))


def _with_nulls(call: Call, out: DeviceArray, known: DeviceArray | None) -> DeviceArray:
    return out if known is None else with_bitmap(out, rows_without_nulls(call, known))


class ListReduce:
    """``exec`` of list_sum, list_mean, list_min and list_max."""

    __slots__ = ("name", "operation")

    def __init__(self, name: str) -> None:
        self.name = name
        self.operation = {"list_sum": SUM, "list_mean": SUM, "list_min": MIN, "list_max": MAX}[name]

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        options: Any = call.options
        lists = _Rows(call, a)
        format = format_of(lists.values)
        if is_decimal(format):
            assert a.array is not None
            out = of_each_list(call, self.name.removeprefix("list_"), a.array, options)
            return out if lists.valid is None else nulls_of_both(call, out, lists.valid)
        extreme = self.operation in (MIN, MAX)
        as_stored = extreme and format not in (*NUMBERS, HALF, "b") and (storage_of(format) or "") in (*NUMBERS,)
        values = lists.values if as_stored and format[0] == "t" else _numbers(call, lists.values)
        counts = _reduced(call, lists, values, COUNT) if values.null_count else None
        least = max(options.min_count, int(extreme or self.name == "list_mean"))
        known = _enough(call, lists, counts, least, lists.valid)
        if self.name == "list_mean" and format_of(values) in "lL":
            out = rows.real_sum(call, values, lambda x: _reduced(call, lists, x, SUM))
        else:
            out = _reduced(call, lists, values, self.operation)
        if self.name == "list_mean":
            out = self._mean(call, lists, out, counts)
        elif extreme and format in ("b", HALF):
            made = cast_argument(call, Datum(out, format_of(out)), format, False).array
            assert made is not None
            out = made
        return _with_nulls(call, out, known)

    def _mean(self, call: Call, lists: _Rows, total: DeviceArray, counts: DeviceArray | None) -> DeviceArray:
        counts = lists.lengths if counts is None else counts
        one = Datum(value=float(lists.size), format="g")
        n = one if counts is None else cast_argument(call, Datum(counts, "l"), "g", False)
        return _divide(call, cast_argument(call, Datum(total, format_of(total)), "g", False), n)


def _two(call: Call, a: Datum, b: Datum) -> tuple[_Rows, _Rows]:
    """The lists of two arguments, of as many values each; one list of all rows has a begin for each of them."""
    name = call.function.name
    n = length_of(name, (a, b))
    for x in (a, b):
        if x.array is None or not is_list(x.format or ""):
            raise NoKernel(f"{name}: expected two lists, not {words_of(x.format or 'n')}")
    assert a.array is not None and b.array is not None
    parts = on_one_device(call, [a.array, b.array])
    a, b = Datum(parts[0], a.format, one=a.one), Datum(parts[1], b.format, one=b.one)
    one_size = a.format == b.format and is_vector(a.format or "")
    if one_size and a.one == b.one:
        return _Rows(call, a), _Rows(call, b)
    found = _Rows(call, a, True), _Rows(call, b, True)
    if n is not None:
        for lists in found:
            if lists.one:
                _spread(call, lists, n)
    if not one_size:
        _require_lengths(call, *found)
    return found


def _spread(call: Call, lists: _Rows, n: int) -> None:
    """One list as that of every row."""
    assert lists.begins is not None and lists.lengths is not None
    zeros = rows.multiply(call, rows.from_(call, lists.begins, 0, n), 0)
    lists.begins = take_array(call, lists.begins, zeros, False)
    lists.lengths = take_array(call, lists.lengths, zeros, False)
    lists.valid = None if lists.valid is None else rows_without_nulls(call, take_array(call, lists.valid, zeros, False))
    lists.length = n


def _require_lengths(call: Call, a: _Rows, b: _Rows) -> None:
    """Raises ArgumentError where two lists, neither of which is null, have several lengths.  Blocks."""
    assert a.lengths is not None and b.lengths is not None
    other = Datum(rows.not_equal(call, a.lengths, b.lengths), "b")
    for x in (a, b):
        if x.valid is not None:
            other = Datum(both(call, other, Datum(x.valid, "b")), "b")
    bad = chosen_rows(call, rows_without_nulls(call, other.array))  # type: ignore[arg-type]
    if bad.length:
        row = rows.number_at(bad, 0)
        n, m = rows.number_at(a.lengths, row), rows.number_at(b.lengths, row)
        raise ArgumentError(f"{call.function.name}: row {row} has lists of {n} and {m} values: both must have as many")
    for x, y in ((a, b), (b, a)):
        if y.valid is not None:  # of a null row nothing is read
            assert x.lengths is not None
            x.lengths = rows.choose(call, y.valid, x.lengths, 0)


def list_dot(call: Call, a: Datum, b: Datum) -> DeviceArray:
    """``exec``: the sum of the products of two lists.  Blocks for lists of several lengths."""
    options: Any = call.options
    x, y = _two(call, a, b)
    formats = [format_of(_numbers(call, z.values)) for z in (x, y)]
    one = common(formats)
    assert one is not None
    if one in FLOATS and formats[0] != formats[1]:  # float32 has not all integers, and products are made in float64
        one = "g"
    left, right = _numbers(call, x.values, one), _numbers(call, y.values, one)
    counts = _reduced(call, x, left, COUNT, y, right) if left.null_count or right.null_count else None
    valid = x.valid if y.valid is None else y.valid
    if x.valid is not None and y.valid is not None:
        valid = both(call, Datum(x.valid, "b"), Datum(y.valid, "b"))
    known = _enough(call, x, counts, options.min_count, valid)
    return _with_nulls(call, _reduced(call, x, left, DOT, y, right), known)


class ListNorm:
    """``exec`` of list_norm; ``sqrt``, ``abs``: the functions of these names."""

    __slots__ = ("abs", "sqrt")

    def __init__(self, sqrt: Function, abs: Function) -> None:
        self.sqrt, self.abs = sqrt, abs

    def _step(self, call: Call, function: Function, values: DeviceArray) -> DeviceArray:
        inner = copy(call)
        inner.function, inner.options = function, NO_OPTIONS
        out = argument(execute(inner, [Datum(values, format_of(values))])).array
        assert out is not None
        return out

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        options: Any = call.options
        lists = _Rows(call, a)
        values = _numbers(call, lists.values)
        if format_of(values) not in FLOATS:
            values = _numbers(call, values, "g")
        counts = _reduced(call, lists, values, COUNT) if values.null_count else None
        infinite = options.ord not in (1, 2)
        known = _enough(call, lists, counts, max(options.min_count, int(infinite)), lists.valid)
        if options.ord == 2:
            out = self._step(call, self.sqrt, _reduced(call, lists, values, DOT, lists, values))
        else:
            sizes = self._step(call, self.abs, values)
            out = _reduced(call, lists, sizes, MAX if infinite else SUM)
            out = _numbers(call, out, "g")
        return _with_nulls(call, out, known)


# ---- the shape ----
def _shape_for(total: int, shape: Sequence[int], words: str) -> list[int]:
    known = 1
    for k in shape:
        known *= k if k != -1 else 1
    if -1 in shape and known and total % known == 0:
        return [total // known if k == -1 else k for k in shape]
    if -1 in shape or known != total:
        raise ArgumentError(f"reshape: {words} has {total} values, which shape {tuple(shape)} has not")
    return list(shape)


def reshape(call: Call, a: Datum) -> DeviceArray:
    """``exec``: the same values as lists of other sizes, without a copy."""
    options: Any = call.options
    array = a.array
    if array is None or not is_vector(a.format or ""):
        raise NoKernel(f"reshape: expected lists of a fixed size, not {words_of(a.format or 'n')}")
    schema, total, leaf = array._schema, 1, array
    known: DeviceArray | None = None
    while is_vector(leaf._format):
        size = _size(leaf._format)
        known = _known_below(call, leaf, known, leaf is array)
        if known is not None:
            known = take_array(call, known, _parents(call, known, leaf.length, size), False)
        total *= size
        leaf = leaf._child(0)
    shape = _shape_for(total, options.shape, schema.type)
    if is_tensor(schema):
        return under(array, _tensor(schema, shape))
    n = array.length
    out, field = leaf, leaf._schema.with_name("item")
    for i in range(len(shape) - 1, -1, -1):
        below = 1
        for k in shape[:i]:
            below *= k
        made = Schema.make(f"+w:{shape[i]}", "item", children=[field])
        if i:
            out = assemble(made, n * below, [None], [out], null_count=0, near=out, made=(array,))
        field = made
    return sized(call, array, field.with_name(""), out)


def _known_below(call: Call, lists: DeviceArray, above: DeviceArray | None, outermost: bool) -> DeviceArray | None:
    """1 for each list that is not null, nor below a null one; None: all are.  ``above``: of those that these lie in.

    Raises ArgumentError for a null list below one that is not null.  Blocks where there may be one."""
    if not lists.null_count:
        return above
    own = rows.as_int64(call, known_rows(call, lists))
    if outermost:
        return own
    if count_true(call, rows_without_nulls(call, rows.less(call, own, 1 if above is None else above))):
        raise ArgumentError("reshape: a list below another one is null, and would be none of another shape")
    return own if above is None else rows.multiply(call, own, above)


def _tensor(schema: Schema, shape: list[int]) -> Schema:
    """A tensor of another shape: its values lie in one list."""
    metadata = dict(schema.metadata or {})
    about = json.loads(metadata.get(_METADATA) or b"{}")
    order = about.get("permutation")
    if order is not None and order != sorted(order):
        raise ArgumentError("reshape: a tensor whose dimensions are permuted has no other shape without a copy")
    metadata[_METADATA] = json.dumps({"shape": shape}).encode()
    return Schema.make(schema.format, schema.name, children=schema.children, flags=schema.flags, metadata=metadata)
