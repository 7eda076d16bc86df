"""Aggregates of groups, by Arrow's names without ``hash_``.

Each has a state of some columns with a row for each group: states of parts of the rows are merged into those of all
rows, and the result follows from the state.
"""

from __future__ import annotations

import math
import sys

from ..._arrays.assemble import assemble
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum
from ..dispatch.types import FLOATS, HALF, NUMBERS, SIGNED, UNSIGNED, decimal_of, format_of, storage_of, words_of
from ..errors import NoKernel
from ..options import CountOptions, NoOptions, QuantileOptions, ScalarAggregateOptions, SkewOptions, VarianceOptions
from . import row_numbers as rows
from .aggregate import extremes, number, reduced
from .cast.decimal import as_float64, is_decimal
from .cast.dictionary import known_rows
from .cast.numeric import cast_argument
from .elementwise import CHOSEN, PACK, Map, schema_of
from .group_ids import MAX, MIN, ONE_NAN, PRODUCT, SUM, Numbered
from .group_rows import GroupRows, Groups
from .lists import Lists
from .selection.take import both, filter_array, nullable, row_numbers, take_array, with_bitmap, with_schema
from .sort import plain_layout, sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from ..options import FunctionOptions

    States = list[DeviceArray]

_add = Map("arith", "f64", "add", "gg", "g")
_divide = Map("arith", "f64", "divide", "gg", "g")
_subtract = Map("arith", "f64", "subtract", "gg", "g")
_multiply = Map("arith", "f64", "multiply", "gg", "g")
_root = Map("arith", "f64", "square_root", "g", "g")
_decimal_means = {
    bits: Map("arith", f"w{bits}", "mean", "WW", lambda formats: formats[0], function_name="hash_mean")
    for bits in (128, 256)
}
_choose = Map("select", "u64", "if_else", "bgg", "g", unit=PACK, rule=CHOSEN)


def _cast(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    made = cast_argument(call, Datum(array, format_of(array)), to, False).array
    assert made is not None
    return made


def _float(x: DeviceArray | float) -> Datum:
    return Datum(value=x, format="g") if isinstance(x, float) else Datum(x, "g")


def _refuse(groups: Groups, array: DeviceArray, name: str) -> NoKernel:
    return NoKernel(f"{groups.call.function.name}: no {name} of {words_of(format_of(array))}")


def _enough(call: Call, valid: DeviceArray, length: DeviceArray, options: Any, least: int = 0) -> DeviceArray:
    """Which groups have as many valid rows as the result needs, and no null where these count."""
    enough = rows.less_equal(call, max(options.min_count, least), valid)
    if not options.skip_nulls:
        enough = both(call, Datum(enough, "b"), Datum(rows.equal(call, valid, length), "b"))
    return rows.without_nulls(enough)


def _real(groups: Groups, array: DeviceArray, name: str) -> DeviceArray:
    """Numbers, decimals too, as float64."""
    format = format_of(array)
    if is_decimal(format):
        made = as_float64(groups.call, Datum(array, format)).array
        assert made is not None
        return made
    if format not in (*NUMBERS, HALF):
        raise _refuse(groups, array, name)
    return _cast(groups.call, array, "g")


class Aggregate:
    """How an aggregate is computed.  ``fields``: names of the columns of its state."""

    name: str
    options: ClassVar[type[FunctionOptions]] = ScalarAggregateOptions
    fields: tuple[str, ...] = ("value", "valid", "rows")

    def __init__(self, name: str) -> None:
        self.name = name

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        """Of rows."""
        return [self.value(groups, array, options), groups.valid(array), groups.lengths]

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        """The first column of the state."""
        raise NotImplementedError

    def merge(self, groups: Groups, states: States, options: Any) -> States:
        """Of states, which are the rows of the groups."""
        return [self.merged(groups, states, options), *(groups.accumulate(x, SUM) for x in states[1:])]

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        """The first column of the merged state."""
        raise NotImplementedError

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        """The result."""
        raise NotImplementedError

    def run(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        """The result of rows at once."""
        return self.finish(groups.call, self.state(groups, array, options), options)


class _Folded(Aggregate):
    """A sum or a product."""

    def __init__(self, name: str, operation: int) -> None:
        super().__init__(name)
        self.operation = operation

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        numbers = _summed(groups, array, self.name)
        if self.operation == PRODUCT and (decimal_of(numbers._format) or (0, 0, 0))[1] < 0:
            raise NoKernel(
                f"{groups.call.function.name}: no product of {words_of(array._format)}, whose scale is negative: "
                "cast it first"
            )
        return groups.accumulate(numbers, self.operation)

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        return groups.accumulate(states[0], self.operation)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        out, valid, length = states
        decimal = decimal_of(out._format)
        if decimal and self.operation == SUM:  # has all digits that there are
            out = with_schema(out, schema_of(_DIGITS[decimal[2]].format(decimal[1])))
        return with_bitmap(out, _enough(call, valid, length, options))


_DIGITS = {128: "d:38,{}", 256: "d:76,{},256"}


def _summed(groups: Groups, array: DeviceArray, name: str) -> DeviceArray:
    """The numbers as kernels add them up."""
    format = format_of(array)
    if format in (*SIGNED, *UNSIGNED, *FLOATS):
        return array
    if format in ("b", HALF):
        return _cast(groups.call, array, "C" if format == "b" else "f")
    decimal = decimal_of(format)
    if decimal:
        return array if decimal[2] >= 128 else _cast(groups.call, array, f"d:{decimal[0]},{decimal[1]}")
    raise _refuse(groups, array, name)


def _may_overflow(call: Call, array: DeviceArray) -> bool:
    """May a sum of some of these integers be none of 64 bits?  Blocks."""
    format = format_of(array)
    if array.length == 0:
        return False
    ends = number(reduced(call, extremes(format, format, 2), array))
    most: int = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
    return most * array.length >= 1 << (63 if format == "l" else 64)


class _Mean(_Folded):
    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        if format_of(array) in "lL" and _may_overflow(groups.call, array):
            return rows.real_sum(groups.call, array, lambda x: groups.accumulate(x, SUM))
        total = super().value(groups, array, options)
        return total if decimal_of(total._format) else _cast(groups.call, total, "g")

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        total, valid, length = states
        decimal = decimal_of(total._format)
        if decimal:
            out = _decimal_means[decimal[2]](call, Datum(total, total._format), Datum(valid, "l"))
        else:
            out = _divide(call, _float(total), _float(_cast(call, valid, "g")))  # of no rows NaN, as in Arrow
        return with_bitmap(out, _enough(call, valid, length, options, 1 if decimal else 0))


class _Extreme(Aggregate):
    """The minimum or the maximum: of numbers by their values, of all else by its order."""

    def __init__(self, name: str, operation: int) -> None:
        super().__init__(name)
        self.operation = operation

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        call = groups.call
        if _is_number(array):
            return groups.accumulate(array, self.operation)
        plain = plain_layout(call, array)
        if plain._format == "n" or not plain.length:
            return take_array(call, plain, groups.first, False)
        order = _by_group(groups, plain, self.operation == MAX)
        found = rows.without_nulls(take_array(call, order, groups.places, False))
        return take_array(call, plain, found, False)

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        known = rows.less(groups.call, 0, states[1])
        return self.value(groups, _with_nulls(groups.call, states[0], known), options)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        out, valid, length = states
        return nullable(_with_nulls(call, out, _enough(call, valid, length, options, 1)))


def _is_number(array: DeviceArray) -> bool:
    """Is it a number for kernels, as dates are?"""
    format = format_of(array)
    if decimal_of(format):
        return True
    stored = storage_of(format) if format not in ("b", HALF) else None
    return stored is not None and stored in NUMBERS


def _with_nulls(call: Call, array: DeviceArray, known: DeviceArray) -> DeviceArray:
    """Rows, of any type, that are null where the bits are not set, and nowhere else."""
    if _is_number(array) and not array.offset and not known.offset:
        return rows.null_unless(call, array, known)
    numbers = row_numbers(call, array)
    return take_array(call, array, with_bitmap(numbers, known), False)


def _by_group(groups: Groups, array: DeviceArray, descending: bool) -> DeviceArray:
    """The rows, group by group, each in the order of its values; nulls last."""
    keys = [(groups.ids, False, False, False), (array, descending, False, False)]
    return with_schema(sorted_rows(groups.call, keys, [groups.ids, array]), schema_of("l"))


class _End(Aggregate):
    """The first or the last row."""

    def __init__(self, name: str, last: bool) -> None:
        super().__init__(name)
        self.last = last

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        if options.skip_nulls:
            found = groups.end_rows(array, self.last)
        else:
            found = groups.last if self.last else groups.first
        return take_array(groups.call, array, found, False)

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        return self.value(groups, states[0], options)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        out, valid, _ = states
        if options.min_count <= 1:
            return nullable(out)
        few = rows.less_equal(call, options.min_count, valid)  # beside nulls of its own
        return nullable(take_array(call, out, with_bitmap(rows.from_(call, out, 0, out.length), few), False))


class _One(Aggregate):
    options: ClassVar[type[FunctionOptions]] = NoOptions
    fields = ("value",)

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        return take_array(groups.call, array, groups.first, False)

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        return [self.value(groups, array, options)]

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        return self.value(groups, states[0], options)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        return nullable(states[0])


class _Count(Aggregate):
    options: ClassVar[type[FunctionOptions]] = CountOptions
    fields = ("value",)

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        if options.mode == "all":
            return [groups.lengths]
        valid = groups.valid(array)
        return [valid if options.mode == "only_valid" else rows.subtract(groups.call, groups.lengths, valid)]

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        return groups.accumulate(states[0], SUM)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        return states[0]


class _Decided(Aggregate):
    """any or all: a null decides nothing where a row decides: one that is true for any, false for all."""

    def value(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        if format_of(array) != "b":
            raise _refuse(groups, array, self.name)
        found = groups.accumulate(_cast(groups.call, array, "C"), MAX if self.name == "any" else MIN)
        return rows.less(groups.call, 0, rows.as_int64(groups.call, found))  # of no row 0, or the greatest

    def merged(self, groups: Groups, states: States, options: Any) -> DeviceArray:
        return self.value(groups, states[0], options)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        plain, valid, length = states
        enough = rows.less_equal(call, options.min_count, valid)
        if not options.skip_nulls:
            value = rows.as_int64(call, plain)
            decided = rows.as_int64(call, rows.equal(call, value, int(self.name == "any")))
            whole = rows.as_int64(call, rows.equal(call, valid, length))
            certain = rows.multiply(call, rows.as_int64(call, enough), rows.add(call, decided, whole))
            enough = rows.less(call, 0, certain)
        return with_bitmap(plain, enough)


class _Pair(Aggregate):
    """A struct of two others."""

    def __init__(self, name: str, parts: tuple[Aggregate, Aggregate]) -> None:
        super().__init__(name)
        self.parts = parts
        self.fields = tuple(f"{p.name}_{f}" for p in parts for f in p.fields)

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        return [x for p in self.parts for x in p.state(groups, array, options)]

    def _split(self, states: States) -> list[tuple[Aggregate, States]]:
        n = len(self.parts[0].fields)
        return [(self.parts[0], states[:n]), (self.parts[1], states[n:])]

    def merge(self, groups: Groups, states: States, options: Any) -> States:
        return [x for p, s in self._split(states) for x in p.merge(groups, s, options)]

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        made = [p.finish(call, s, options) for p, s in self._split(states)]
        fields = [x._schema.with_name(p.name) for x, p in zip(made, self.parts, strict=True)]
        return assemble(Schema.make("+s", children=fields), made[0].length, [None], made, null_count=0, near=made[0])


class _Numbers:
    """A column of float64 with a row for each group, or each row of the groups, as formulas write it."""

    __slots__ = ("array", "call")

    def __init__(self, call: Call, array: DeviceArray) -> None:
        self.call, self.array = call, array

    def _do(self, step: Map, other: _Numbers | float) -> _Numbers:
        right = _float(other if isinstance(other, float) else other.array)
        return _Numbers(self.call, step(self.call, _float(self.array), right))

    def __add__(self, other: _Numbers | float) -> _Numbers:
        return self._do(_add, other)

    def __sub__(self, other: _Numbers | float) -> _Numbers:
        return self._do(_subtract, other)

    def __mul__(self, other: _Numbers | float) -> _Numbers:
        return self._do(_multiply, other)

    def __truediv__(self, other: _Numbers | float) -> _Numbers:
        return self._do(_divide, other)

    __rmul__ = __mul__

    def root(self) -> _Numbers:
        return _Numbers(self.call, _root(self.call, _float(self.array)))

    def not_below_0(self) -> _Numbers:
        below = Datum(_less(self.call, _float(self.array), _float(0.0)), "b")
        return _Numbers(self.call, _choose(self.call, below, _float(0.0), _float(self.array)))

    def finite(self) -> _Numbers:
        """The greatest number where it is infinite or no number: infinity less that is infinity."""
        most = _float(sys.float_info.max)
        below = Datum(_less(self.call, _float(self.array), most), "b")
        return _Numbers(self.call, _choose(self.call, below, _float(self.array), most))

    def of_groups(self, groups: Groups) -> _Numbers:
        """For each row that of its group."""
        return _Numbers(self.call, take_array(self.call, self.array, groups.ids, False))

    def sum(self, groups: Groups) -> _Numbers:
        return _Numbers(self.call, groups.accumulate(self.array, SUM))


class _Moments(Aggregate):
    """By the mean first, then by sums of powers of the distances from it, up to ``power``.  The state is that of
    ``kernels/aggregate/moment_state.h``: the mean is the sum of two numbers, or far numbers would lose digits."""

    def __init__(self, name: str, power: int) -> None:
        super().__init__(name)
        self.power = power
        self.fields = ("mean", "rest", *(f"m{k}" for k in range(2, power + 1)), "valid", "rows")

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        call = groups.call
        numbers, valid = _Numbers(call, _real(groups, array, self.name)), groups.valid(array)
        pivot = numbers.sum(groups) / _some(call, valid)
        distance = numbers - pivot.of_groups(groups)
        powers = [distance]
        while len(powers) < self.power:
            powers.append(powers[-1] * distance)
        return [*self._around(pivot, valid, [x.sum(groups) for x in powers]), valid, groups.lengths]

    @staticmethod
    def _around(pivot: _Numbers, valid: DeviceArray, sums: list[_Numbers]) -> States:
        """The mean and the sums around it, of the sums of powers of the distances from ``pivot``, which is near it."""
        s1, s2, *more = sums
        rest = s1 / _some(pivot.call, valid)
        out = [pivot, rest, (s2 - (s1 * rest).finite()).not_below_0()]
        if more:
            out.append(more[0] - rest * (3.0 * s2 - 2.0 * s1 * rest))
        if len(more) > 1:
            out.append((more[1] - rest * (4.0 * more[0] - rest * (6.0 * s2 - 3.0 * s1 * rest))).not_below_0())
        return [x.array for x in out]

    def merge(self, groups: Groups, states: States, options: Any) -> States:
        call = groups.call
        mean, rest, *m = (_Numbers(call, x) for x in states[:-2])
        counts, length = states[-2:]
        n, valid = _Numbers(call, _cast(call, counts, "g")), groups.accumulate(counts, SUM)
        pivot = (mean * n).sum(groups) / _some(call, valid)
        d = mean - pivot.of_groups(groups) + rest
        square = n * d * d
        sums = [n * d, m[0] + square]
        if len(m) > 1:
            sums.append(m[1] + d * (3.0 * m[0] + square))
        if len(m) > 2:
            sums.append(m[2] + d * (4.0 * m[1] + d * (6.0 * m[0] + square)))
        return [*self._around(pivot, valid, [x.sum(groups) for x in sums]), valid, groups.accumulate(length, SUM)]


def _some(call: Call, valid: DeviceArray) -> _Numbers:
    """The numbers of valid rows as divisors: 1 for none."""
    return _Numbers(call, _cast(call, rows.choose(call, rows.less(call, 0, valid), valid, 1), "g"))


class _Spread(_Moments):
    """The variance or the standard deviation."""

    options: ClassVar[type[FunctionOptions]] = VarianceOptions

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        _, _, m2, valid, length = states
        by = _cast(call, rows.subtract(call, valid, options.ddof), "g")
        out = _divide(call, _float(m2), _float(by))
        if self.name == "stddev":
            out = _root(call, _float(out))
        return with_bitmap(out, _enough(call, valid, length, options, options.ddof + 1))


class _Shape(_Moments):
    """The skewness or the excess kurtosis."""

    options: ClassVar[type[FunctionOptions]] = SkewOptions

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        m2, m3, *m4 = (_Numbers(call, x) for x in states[2:-2])
        valid, length = states[-2:]
        n = _Numbers(call, _cast(call, valid, "g"))
        if not m4:
            out = n.root() * m3 / (m2 * m2.root())
            if not options.biased:
                out = out * (n * (n - 1.0)).root() / (n - 2.0)
        else:
            out = n * m4[0] / (m2 * m2) - 3.0
            if not options.biased:
                out = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * out + 6.0)
        x = _float(out.array)
        same = _choose(call, Datum(_equal(call, x, x), "b"), x, _float(math.nan))  # which NaN it is, is the processor's
        return with_bitmap(same, _enough(call, valid, length, options, 1 if options.biased else self.power))


class _Collected(Aggregate):
    """What needs all rows: a list for each group.  ``fields``: the lists."""

    fields = ("values",)

    def wanted(self, groups: Groups, array: DeviceArray, options: Any) -> tuple[DeviceArray, DeviceArray]:
        """The rows that count, group by group, and how many each group has."""
        return groups.order, groups.lengths

    def state(self, groups: Groups, array: DeviceArray, options: Any) -> States:
        some, lengths = self.wanted(groups, array, options)
        return [_as_lists(groups.call, groups.count, take_array(groups.call, array, some, False), lengths)]

    def merge(self, groups: Groups, states: States, options: Any) -> States:
        merged, values = _members(groups, states[0])
        return self.state(merged, values, options)

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        groups, values = _members(None, states[0], call)
        return self.run(groups, values, options)


def of_each_list(call: Call, name: str, lists: DeviceArray, options: Any) -> DeviceArray:
    """An aggregate of the values of each list, by its name.  Blocks."""
    groups, values = _members(None, lists, call)
    return AGGREGATES[name].run(groups, values, options)


def _members(groups: Groups | None, lists: DeviceArray, call: Call | None = None) -> tuple[Groups, DeviceArray]:
    """The values of lists as rows of the groups that the lists are rows of, or each of its own."""
    call = call or (groups.call if groups else None)
    assert call is not None
    found = Lists(call, Datum(lists, lists._format))
    parents, k = rows.expanded(call, found.lengths)
    place = rows.add(call, take_array(call, found.begins, parents, False), k)
    values = take_array(call, found.values, place, False)
    ids = parents if groups is None else take_array(call, groups.ids, parents, False)
    return Groups(call, _cast(call, ids, "I"), lists.length if groups is None else groups.count), values


def _as_lists(call: Call, groups: int, values: DeviceArray, lengths: DeviceArray) -> DeviceArray:
    """Rows, group by group, as a list for each group."""
    if values.length >= 1 << 31:
        raise NoKernel(f"{call.function.name}: lists of {values.length} rows; a list array has up to 2**31 - 1")
    ends = rows.running_sum(call, lengths)
    offsets = _cast(call, concat([rows.from_(call, ends, 0, 1), ends], stream=call.owner), "i")
    values = nullable(values)  # as pyarrow's, so that tables of both have one type
    schema = Schema.make("+l", children=[values._schema.with_name("item")])
    return assemble(schema, groups, [None, (offsets, 1)], [values], null_count=0)


class _List(_Collected):
    options: ClassVar[type[FunctionOptions]] = NoOptions

    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        return states[0]

    def run(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        return self.state(groups, array, options)[0]


class _Distinct(_List):
    options: ClassVar[type[FunctionOptions]] = CountOptions

    def wanted(self, groups: Groups, array: DeviceArray, options: Any) -> tuple[DeviceArray, DeviceArray]:
        call = groups.call
        first, group = _different(groups, array, options.mode)
        lengths = Numbered(call, group, groups.count).lengths
        if first.length:
            keys = [(group, False, False, False), (first, False, False, False)]
            order = with_schema(sorted_rows(call, keys, [group, first]), schema_of("l"))
            first = take_array(call, first, order, False)
        return first, lengths


def _different(groups: Groups, array: DeviceArray, mode: str) -> tuple[DeviceArray, DeviceArray]:
    """The first row of each different value of each group, and its group."""
    call = groups.call
    if not array.length:
        return groups.order, groups.ids
    first = GroupRows(call, [groups.ids, array], ONE_NAN).first
    group = take_array(call, groups.ids, first, False)
    if mode == "all":
        return first, group
    known = known_rows(call, take_array(call, array, first, False))
    keep = known if mode == "only_valid" else rows.equal(call, rows.as_int64(call, known), 0)
    return filter_array(call, first, keep, False), filter_array(call, group, keep, False)


class _CountDistinct(_Distinct):
    def finish(self, call: Call, states: States, options: Any) -> DeviceArray:
        return Lists(call, Datum(states[0], states[0]._format)).lengths

    def run(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        group = _different(groups, array, options.mode)[1]
        return Numbered(groups.call, group, groups.count).lengths


class _Quantile(_Collected):
    """Exact quantiles of each group; of several a list of fixed size."""

    options: ClassVar[type[FunctionOptions]] = QuantileOptions

    def run(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        call = groups.call
        kept = _enough(call, groups.valid(array), groups.lengths, options, 1)
        between = options.interpolation in ("linear", "midpoint")
        if not (is_decimal(format_of(array)) or format_of(array) in (*NUMBERS, HALF)):
            raise _refuse(groups, array, self.name)
        values = _real(groups, array, self.name) if between else array
        plain = _without_nan(groups, values)
        parts = [self._one(groups, plain, q, options.interpolation) for q in options.q]
        if len(parts) == 1:
            return nullable(_with_nulls(call, parts[0], kept))
        n, k = groups.count, len(parts)
        numbers = rows.from_(call, parts[0], 0, n * k)
        row = rows.divide(call, numbers, k)
        place = rows.add(call, row, rows.multiply(call, rows.subtract(call, numbers, rows.multiply(call, row, k)), n))
        found = take_array(call, concat(parts, stream=call.owner), place, False)
        schema = Schema.make(f"+w:{k}", children=[found._schema.with_name("item")])
        return assemble(schema, n, [(with_bitmap(groups.lengths, kept), 0)], [found], null_count=-1)

    def _one(self, groups: Groups, array: DeviceArray, q: float, interpolation: str) -> DeviceArray:
        call = groups.call
        valid = groups.valid(array)
        some = rows.less(call, 0, valid)
        last = rows.subtract(call, rows.choose(call, some, valid, 1), 1)
        place = _multiply(call, _float(_cast(call, last, "g")), _float(float(q)))
        low = rows.as_int64(call, place)
        part = _subtract(call, _float(place), _float(_cast(call, low, "g")))
        high = rows.add(call, low, rows.as_int64(call, _less(call, _float(0.0), _float(part))))
        if interpolation == "lower":
            high = low
        elif interpolation == "higher":
            low = high
        elif interpolation == "nearest":
            above = _less(call, _float(0.5), _float(part))
            tie = rows.multiply(
                call,
                rows.as_int64(call, _equal(call, _float(part), _float(0.5))),
                rows.subtract(call, low, rows.multiply(call, rows.divide(call, low, 2), 2)),
            )
            up = rows.less(call, 0, rows.add(call, rows.as_int64(call, above), tie))
            low = high = rows.choose(call, up, high, low)
        if not array.length:
            return take_array(call, array, groups.first, False)
        order = _by_group(groups, array, False)
        places = (take_array(call, order, rows.add(call, groups.places, x), False) for x in (low, high))
        below, above = (rows.without_nulls(take_array(call, array, x, False)) for x in places)
        if interpolation not in ("linear", "midpoint"):
            return below
        if interpolation == "midpoint":
            part = _choose(call, Datum(_less(call, _float(0.0), _float(part)), "b"), _float(0.5), _float(0.0))
        upper = _multiply(call, _float(above), _float(part))
        lower = _multiply(call, _float(below), _float(_subtract(call, _float(1.0), _float(part))))
        between = _float(_add(call, _float(upper), _float(lower)))
        exact = Datum(_less(call, _float(0.0), _float(part)), "b")
        return rows.without_nulls(_choose(call, exact, between, _float(below)))  # a row itself may be infinite


_less = Map("compare", "f64", "less", "gg", "b", unit=PACK)
_equal = Map("compare", "f64", "equal", "gg", "b", unit=PACK)


def _without_nan(groups: Groups, array: DeviceArray) -> DeviceArray:
    """NaN as null: it is neither below nor above a number."""
    call, format = groups.call, format_of(array)
    if format not in FLOATS or not array.length:
        return array
    same = Map("compare", "f64" if format == "g" else "f32", "equal", format * 2, "b", unit=PACK)
    x = Datum(array, format)
    numbers = both(call, Datum(same(call, x, x), "b"), Datum(known_rows(call, array), "b"))
    return _with_nulls(call, array, rows.without_nulls(numbers))


class _Median(_Quantile):
    """Arrow's approximate median, exact: the mean of the two rows in the middle."""

    options: ClassVar[type[FunctionOptions]] = ScalarAggregateOptions

    def run(self, groups: Groups, array: DeviceArray, options: Any) -> DeviceArray:
        chosen = QuantileOptions(0.5, "linear", options.skip_nulls, options.min_count)
        return super().run(groups, array, chosen)


_MIN, _MAX = _Extreme("min", MIN), _Extreme("max", MAX)
_FIRST, _LAST = _End("first", False), _End("last", True)
AGGREGATES: dict[str, Aggregate] = {
    x.name: x
    for x in (
        _Decided("all"),
        _Decided("any"),
        _Median("approximate_median"),
        _Count("count"),
        _CountDistinct("count_distinct"),
        _Distinct("distinct"),
        _FIRST,
        _Pair("first_last", (_FIRST, _LAST)),
        _Shape("kurtosis", 4),
        _LAST,
        _List("list"),
        _MAX,
        _Mean("mean", SUM),
        _MIN,
        _Pair("min_max", (_MIN, _MAX)),
        _One("one"),
        _Folded("product", PRODUCT),
        _Quantile("quantile"),
        _Shape("skew", 3),
        _Spread("stddev", 2),
        _Folded("sum", SUM),
        _Spread("variance", 2),
    )
}
