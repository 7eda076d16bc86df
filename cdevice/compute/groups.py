"""Groups of equal rows and what each of them comes to, on the device that the data is on."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from .._arrays.assemble import assemble
from ..errors import ArgumentError
from ..schema import Schema
from .dispatch.call import Call
from .dispatch.datum import Datum, argument, joined
from .dispatch.fallback import copies_wanted, run_with_fallback
from .dispatch.registry import Function
from .dispatch.types import DICTIONARY, format_of
from .kernels import row_numbers as rows
from .kernels.cast.dictionary import dictionary_decode
from .kernels.columns import column_of, names_of, on_device_of
from .kernels.group_rows import GroupRows
from .kernels.hash_aggregate import AGGREGATES
from .kernels.selection.take import is_batch, rows_of_null, take_array
from .options import CountOptions, FunctionOptions, NoOptions, ScalarAggregateOptions, VarianceOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray, StreamLike

_OPTIONS: dict[str, type[FunctionOptions]] = {
    "count": CountOptions,
    "count_distinct": CountOptions,
    "distinct": CountOptions,
    "list": NoOptions,
    "one": NoOptions,
    "variance": VarianceOptions,
}
_function = Function("group_by", "vector", 1, "Groups of equal rows.")
_DECODED = {"+r", DICTIONARY}
_OF_ROWS = {"first", "first_last", "last", "list", "one"}  # take rows as they are


class _Aggregation:
    """One column of the result: its name, the column that it is made of, the aggregate and its options."""

    __slots__ = ("column", "function", "name", "options")

    def __init__(self, name: str | None, column: str | None, function: str, options: Any) -> None:
        if not isinstance(function, str):
            raise TypeError(f"aggregate: expected the name of an aggregate, not {type(function).__name__}")
        plain = function.removeprefix("hash_")
        if plain != "count_all" and plain not in AGGREGATES:
            near = difflib.get_close_matches(plain, [*AGGREGATES, "count_all"], 1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted([*AGGREGATES, 'count_all']))}"
            )
            raise ArgumentError(f"aggregate: no aggregate {function!r}; {hint}")
        if (column is None) != (plain == "count_all"):
            wants = "takes no column: pass []" if column is not None else "needs a column"
            raise ArgumentError(f"aggregate: {plain} {wants}")
        self.column, self.function = column, plain
        self.name = name or (plain if column is None else f"{column}_{plain}")
        self.options = _options(plain, options)


def _options(function: str, options: Any) -> FunctionOptions:
    wanted = NoOptions if function == "count_all" else _OPTIONS.get(function, ScalarAggregateOptions)
    if isinstance(options, wanted):
        return options
    if options is None:
        return wanted()
    if isinstance(options, Mapping):
        return wanted(**options)
    if type(options).__module__.partition(".")[0] == "pyarrow":
        return wanted.from_pyarrow(options, {}, function)
    raise TypeError(f"aggregate: {function} takes {wanted.__name__} or a mapping, not {type(options).__name__}")


def _aggregation(name: str | None, spec: Any) -> _Aggregation:
    if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 3:
        raise TypeError(f"aggregate: expected (column, aggregate) or (column, aggregate, options), not {spec!r:.60}")
    column, function, options = (*spec, None)[:3]
    if isinstance(column, (list, tuple)):
        if len(column) > 1:
            raise ArgumentError(f"aggregate: {function} takes one column, not {len(column)}")
        column = column[0] if column else None
    if column is not None and not isinstance(column, str):
        raise TypeError(f"aggregate: expected the name of a column, not {type(column).__name__}")
    return _Aggregation(name, column, function, options)


def _aggregations(wanted: Any) -> list[_Aggregation]:
    if isinstance(wanted, Mapping):
        return [_aggregation(name, spec) for name, spec in wanted.items()]
    if not isinstance(wanted, (list, tuple)):
        raise TypeError(f"aggregate: expected a list or a mapping, not {type(wanted).__name__}")
    return [_aggregation(None, spec) for spec in wanted]


class GroupBy:
    """The rows of a batch by the values of some of its columns; :func:`group_by` makes it.

    ``data``: the argument of that function; ``keys``: names; ``stream``, ``fallback``: as there.  Nothing is computed
    before :meth:`aggregate`.  Does not block.  Any thread.
    """

    __slots__ = ("_data", "_fallback", "_keys", "_stream")

    def __init__(self, data: Datum, keys: list[str], stream: StreamLike, fallback: str | None) -> None:
        self._data, self._keys, self._stream, self._fallback = data, keys, stream, fallback

    def aggregate(self, aggregations: Any) -> DeviceArray:
        """What each group comes to.

        The rows of the result are the groups, in the order of their first rows; its columns are the keys and then the
        aggregates, named ``<column>_<aggregate>`` and ``count_all``.  Blocks.  Any thread.  Memory beside the data:
        about 60 bytes a row.

        :param aggregations: a list of (column, aggregate) or (column, aggregate, options), or a mapping of names of the
            result to such; column [] for ``count_all``; options: a FunctionOptions, pyarrow's, or a mapping
        :returns: a batch on the device of the data
        :raises ArgumentError: for a column or an aggregate that does not exist, with near names
        :raises NoKernel: for a type that cannot be a key, or that the aggregate is not defined for
        """
        wanted = _aggregations(aggregations)
        if copies_wanted(self._fallback):
            made: DeviceArray = run_with_fallback(
                "group_by", [self._data], self._stream, lambda a, s: _grouped(a[0], self._keys, wanted, s)
            )
            return made
        return _grouped(self._data, self._keys, wanted, self._stream)


def _grouped(data: Datum, keys: list[str], wanted: list[_Aggregation], stream: StreamLike) -> DeviceArray:
    call = Call(_function, NoOptions(), [data], stream)
    batch = joined(data).array
    if batch is None or not is_batch(batch):
        raise ArgumentError("group_by: expected a batch, chunks of batches or a stream of them")
    batch = on_device_of(call, batch)
    columns = [column_of(batch, name, "group_by") for name in keys]
    values = [None if w.column is None else column_of(batch, w.column, "aggregate") for w in wanted]
    empty = not batch.length
    n = batch.length or 1
    if empty:  # one group of nulls, which is cut off
        none = rows.nulls(call, batch, 1)
        columns = [take_array(call, x, none, False) for x in columns]
        values = [None if x is None else take_array(call, x, none, False) for x in values]
    groups = GroupRows(call, columns or [rows_of_null((batch.device_type_id, batch.device_id), n)])
    out = [take_array(call, x, groups.first, False) for x in columns]
    names = list(keys)
    for w, x in zip(wanted, values, strict=True):
        out.append(groups.lengths if x is None else _aggregated(call, groups, w, x))
        names.append(w.name)
    count = groups.count
    if empty:
        out, count = [x[:0] for x in out], 0
    fields = [x._schema.with_name(name) for x, name in zip(out, names, strict=True)]
    schema = Schema.make("+s", children=fields, nullable=False)
    return assemble(schema, count, [None], out, null_count=0, near=batch)


def _aggregated(call: Call, groups: GroupRows, wanted: _Aggregation, column: DeviceArray) -> DeviceArray:
    if format_of(column) in _DECODED and wanted.function not in _OF_ROWS:
        decoded = dictionary_decode(call, Datum(column, format_of(column))).array
        assert decoded is not None
        column = decoded
    return AGGREGATES[wanted.function](groups, column, wanted.options)


def group_by(
    data: Any,
    keys: str | Sequence[str],
    use_threads: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> GroupBy:
    """The rows of a batch by the values of columns, as ``pyarrow.Table.group_by``.

    Null is a group, and so is NaN; 0.0 and -0.0 are two.  Keys: all types with an order.  Does not block for a batch;
    a stream is read to its end.  Any thread.

    :param data: a batch, chunks of batches, a table, or a stream
    :param keys: the name of a column, or several; none: one group of all rows
    :param use_threads: as pyarrow has it; the result does not depend on it
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a :class:`GroupBy`, whose ``aggregate`` gives a batch
    :raises TypeError: for keys that are not names
    """
    names = names_of("group_by: keys", keys)
    copies_wanted(fallback)
    return GroupBy(argument(data), names, stream, fallback)
