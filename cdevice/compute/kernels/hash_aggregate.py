"""Aggregates of the rows of each group, by Arrow's names without ``hash_``: a row for each group."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum
from ..dispatch.types import FLOATS, HALF, NUMBERS, SIGNED, UNSIGNED, decimal_of, format_of, storage_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.decimal import is_narrow
from .cast.dictionary import known_rows
from .cast.numeric import cast_argument
from .elementwise import Map, schema_of
from .group_ids import MAX, MIN, ONE_NAN, PRODUCT, SUM, Numbered
from .group_rows import GroupRows
from .selection.take import both, filter_array, take_array, with_bitmap, with_schema
from .sort import plain_layout, sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    Aggregate = Callable[[GroupRows, DeviceArray, Any], DeviceArray]

_add = Map("arith", "f64", "add", "gg", "g")
_divide = Map("arith", "f64", "divide", "gg", "g")
_subtract = Map("arith", "f64", "subtract", "gg", "g")
_multiply = Map("arith", "f64", "multiply", "gg", "g")


def _cast(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    made = cast_argument(call, Datum(array, format_of(array)), to, False).array
    assert made is not None
    return made


def _refuse(groups: GroupRows, array: DeviceArray, name: str) -> NoKernel:
    return NoKernel(f"{groups.call.function.name}: no {name} of {words_of(format_of(array))}")


def _kept(groups: GroupRows, out: DeviceArray, array: DeviceArray, options: Any, least: int = 0) -> DeviceArray:
    """A result that is null for groups with too few valid rows, or with a null where these count."""
    call = groups.call
    valid = groups.valid(array)
    enough = rows.less_equal(call, max(options.min_count, least), valid)
    if not options.skip_nulls:
        enough = both(call, Datum(enough, "b"), Datum(rows.equal(call, valid, groups.lengths), "b"))
    return with_bitmap(out, enough)


def _summed(groups: GroupRows, array: DeviceArray, name: str) -> DeviceArray:
    """The numbers as kernels add them up."""
    format = format_of(array)
    if format in (*SIGNED, *UNSIGNED, *FLOATS):
        return array
    if format in ("b", HALF):
        return _cast(groups.call, array, "C" if format == "b" else "f")
    if is_narrow(format) and (decimal_of(format) or (0, 0, 0))[2] == 128:
        return array
    raise _refuse(groups, array, name)


def _sum(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    out = groups.accumulate(_summed(groups, array, "sum"), SUM)
    if out._format[:1] == "d":
        _, scale, _ = decimal_of(out._format) or (0, 0, 0)
        out = with_schema(out, schema_of(f"d:38,{scale}"))
    return _kept(groups, out, array, options)


def _product(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    if array._format[:1] == "d":  # its scale grows with every row
        raise _refuse(groups, array, "product")
    return _kept(groups, groups.accumulate(_summed(groups, array, "product"), PRODUCT), array, options)


def _means(groups: GroupRows, array: DeviceArray) -> DeviceArray:
    """The mean of the valid rows of each group (float64); of none NaN."""
    call = groups.call
    if array._format[:1] == "d":
        raise _refuse(groups, array, "mean")
    total = _cast(call, groups.accumulate(_summed(groups, array, "mean"), SUM), "g")
    return _divide(call, Datum(total, "g"), Datum(_cast(call, groups.valid(array), "g"), "g"))


def _mean(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    return _kept(groups, _means(groups, array), array, options, 1)


def _extreme(operation: int) -> Aggregate:
    """The minimum or the maximum: of numbers by their values, of all else by its order."""

    def run(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
        call, format = groups.call, format_of(array)
        stored = storage_of(format) if format not in ("b", HALF) and format[:1] != "d" else None
        if stored is None or stored not in NUMBERS:
            return _ordered_extreme(groups, array, operation, options)
        numbers = array if stored == format else with_schema(array, schema_of(stored))
        kept = _kept(groups, groups.accumulate(numbers, operation), array, options, 1)
        return kept if stored == format else with_schema(kept, array._schema)

    return run


def _ordered_extreme(groups: GroupRows, array: DeviceArray, operation: int, options: Any) -> DeviceArray:
    call = groups.call
    plain = plain_layout(call, array)
    if plain._format == "n":
        return take_array(call, array, groups.first, False)
    order = _by_group(groups, plain, operation == MAX)
    found = take_array(call, order, groups.begins, False)
    kept = _kept(groups, rows.without_nulls(found), plain, options, 1)
    return take_array(call, plain, kept, False)


def _by_group(groups: GroupRows, array: DeviceArray, descending: bool) -> DeviceArray:
    """The rows, group by group, each in the order of its values; nulls last."""
    keys = [(groups.ids, False, False, False), (array, descending, False, False)]
    return with_schema(sorted_rows(groups.call, keys, [groups.ids, array]), schema_of("l"))


def _struct(names: tuple[str, str], aggregates: tuple[Aggregate, Aggregate]) -> Aggregate:
    def run(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
        parts = [f(groups, array, options) for f in aggregates]
        fields = [p._schema.with_name(n) for p, n in zip(parts, names, strict=True)]
        return assemble(Schema.make("+s", children=fields), groups.count, [None], parts, null_count=0, near=parts[0])

    return run


def _count(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    if options.mode == "all":
        return groups.lengths
    valid = groups.valid(array)
    return valid if options.mode == "only_valid" else rows.subtract(groups.call, groups.lengths, valid)


def _bits(groups: GroupRows, array: DeviceArray, name: str, operation: int) -> DeviceArray:
    if format_of(array) != "b":
        raise _refuse(groups, array, name)
    return rows.less(groups.call, 0, groups.accumulate(rows.as_int64(groups.call, array), operation))


def _any_or_all(name: str) -> Aggregate:
    """A null decides nothing where a row decides: one that is true for any, false for all."""

    def run(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
        call, valid = groups.call, groups.valid(array)
        found = _bits(groups, array, name, MAX if name == "any" else MIN)
        some = rows.less(call, 0, valid)
        as_number = rows.as_int64(call, found)
        plain = rows.choose(call, some, as_number, int(name == "all"))
        enough = rows.as_int64(call, rows.less_equal(call, options.min_count, valid))
        if not options.skip_nulls:
            decided = rows.equal(call, plain, int(name == "any"))
            whole = rows.equal(call, valid, groups.lengths)
            certain = rows.choose(call, decided, 1, rows.as_int64(call, whole))
            enough = rows.multiply(call, enough, certain)
        return with_bitmap(rows.equal(call, plain, 1), rows.equal(call, enough, 1))

    return run


def _end(last: bool) -> Aggregate:
    def run(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
        call = groups.call
        if options.skip_nulls:
            found = groups.end_rows(array, last)
        else:
            behind = rows.subtract(call, groups.ends, 1)
            found = take_array(call, groups.order, behind, False) if last else groups.first
        out = take_array(call, array, found, False)
        if options.min_count <= 1:
            return out
        few = rows.less_equal(call, options.min_count, groups.valid(array))
        numbers = with_bitmap(rows.from_(call, found, 0, groups.count), few)
        return take_array(call, out, numbers, False)

    return run


def _one(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    return take_array(groups.call, array, groups.first, False)


def _as_lists(groups: GroupRows, values: DeviceArray, lengths: DeviceArray) -> DeviceArray:
    """Rows, group by group, as a list for each group."""
    call = groups.call
    if values.length >= 1 << 31:
        raise NoKernel(f"{call.function.name}: lists of {values.length} rows; a list array has up to 2**31 - 1")
    ends = rows.running_sum(call, lengths)
    offsets = _cast(call, concat([rows.from_(call, ends, 0, 1), ends], stream=call.owner), "i")
    schema = Schema.make("+l", children=[values._schema.with_name("item")])
    return assemble(schema, groups.count, [None, (offsets, 1)], [values], null_count=0)


def _list(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    return _as_lists(groups, take_array(groups.call, array, groups.order, False), groups.lengths)


def _different(groups: GroupRows, array: DeviceArray, mode: str) -> tuple[DeviceArray, DeviceArray]:
    """The first row of each different value of each group, group by group, and how many each group has."""
    call = groups.call
    first = GroupRows(call, [groups.ids, array], ONE_NAN).first
    group = take_array(call, groups.ids, first, False)
    if mode == "all":
        return first, group
    known = known_rows(call, take_array(call, array, first, False))
    keep = known if mode == "only_valid" else rows.equal(call, rows.as_int64(call, known), 0)
    return filter_array(call, first, keep, False), filter_array(call, group, keep, False)


def _lengths(groups: GroupRows, group: DeviceArray) -> DeviceArray:
    """How many of the groups' numbers, which are some rows', each group has."""
    return Numbered(groups.call, group, groups.count).lengths


def _count_distinct(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    return _lengths(groups, _different(groups, array, options.mode)[1])


def _distinct(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    call = groups.call
    first, group = _different(groups, array, options.mode)
    lengths = _lengths(groups, group)
    if first.length:
        keys = [(group, False, False, False), (first, False, False, False)]
        order = with_schema(sorted_rows(call, keys, [group, first]), schema_of("l"))
        first = take_array(call, first, order, False)
    return _as_lists(groups, take_array(call, array, first, False), lengths)


def _moment(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    """The variance of each group: by its mean first, then by the squares of the distances from it."""
    call = groups.call
    if format_of(array) not in (*NUMBERS, HALF):
        raise _refuse(groups, array, "variance")
    numbers = _cast(call, array, "g")
    means = take_array(call, _means(groups, numbers), groups.group_of, False)
    distance = Datum(_subtract(call, Datum(numbers, "g"), Datum(means, "g")), "g")
    squares = groups.accumulate(_multiply(call, distance, distance), SUM)
    valid = groups.valid(array)
    by = _cast(call, rows.subtract(call, valid, options.ddof), "g")
    out = _divide(call, Datum(squares, "g"), Datum(by, "g"))
    return _kept(groups, out, array, options, options.ddof + 1)


def _median(groups: GroupRows, array: DeviceArray, options: Any) -> DeviceArray:
    """The exact median: the mean of the two rows in the middle."""
    call = groups.call
    if format_of(array) not in (*NUMBERS, HALF):
        raise _refuse(groups, array, "approximate_median")
    order = _by_group(groups, array, False)
    valid = groups.valid(array)
    begins = groups.begins
    last = rows.subtract(call, valid, 1)
    some = rows.choose(call, rows.less(call, 0, valid), last, 0)
    low = rows.add(call, begins, rows.divide(call, some, 2))
    high = rows.add(call, begins, rows.divide(call, rows.add(call, some, 1), 2))
    ends = [
        Datum(_cast(call, take_array(call, array, take_array(call, order, x, False), False), "g"), "g")
        for x in (low, high)
    ]
    both_halves = [Datum(_multiply(call, x, Datum(value=0.5, format="g")), "g") for x in ends]
    out = rows.without_nulls(_add(call, *both_halves))
    return _kept(groups, out, array, options, 1)


_min, _max, _first, _last = _extreme(MIN), _extreme(MAX), _end(False), _end(True)
AGGREGATES: dict[str, Aggregate] = {
    "all": _any_or_all("all"),
    "any": _any_or_all("any"),
    "approximate_median": _median,
    "count": _count,
    "count_distinct": _count_distinct,
    "distinct": _distinct,
    "first": _first,
    "first_last": _struct(("first", "last"), (_first, _last)),
    "last": _last,
    "list": _list,
    "max": _max,
    "mean": _mean,
    "min": _min,
    "min_max": _struct(("min", "max"), (_min, _max)),
    "one": _one,
    "product": _product,
    "sum": _sum,
    "variance": _moment,
}
