"""Groups of equal rows and what each of them comes to, on the device that the data is on."""

from __future__ import annotations

import builtins
import difflib
import json
from collections.abc import Mapping

from .._arrays.record_batch import as_batch, select, with_columns
from ..errors import ArgumentError
from ..interop.concat import concat
from .dispatch.call import Call
from .dispatch.datum import ChunkStream, Datum, argument, joined
from .dispatch.deferred import ours
from .dispatch.fallback import copies_wanted, run_with_fallback
from .dispatch.registry import Function
from .dispatch.types import DICTIONARY, format_of
from .expressions.batches import named, projected
from .expressions.bound import bind, require_condition
from .expressions.expression import Expression, condition, field
from .expressions.graph import is_column_named, names_in
from .expressions.streams import gathered
from .functions import filter, sum
from .kernels import row_numbers as rows
from .kernels.cast.dictionary import dictionary_decode
from .kernels.columns import batch_of, column_of, names_of, on_device_of, require_one_device, where_computed
from .kernels.group_ids import BITS, NORMALIZED, SUM
from .kernels.group_rows import GroupRows, Groups
from .kernels.hash_aggregate import AGGREGATES
from .kernels.selection.take import filter_array, hint_of, is_batch, rows_of_null, take_array
from .options import FunctionOptions, NoOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from .._types import DeviceArray, StreamLike

_function = Function("group_by", "vector", 1, "Groups of equal rows.")
_merge_function = Function("merge", "vector", 1, "States of groups put together.")
_DECODED = {"+r", DICTIONARY}
_OF_ROWS = {"first", "first_last", "last", "list", "one"}  # take rows as they are
_MASK = "\x01where"  # the column of a condition, which is a key that is not shown
FEW = 0.3  # of the rows that a condition is asked of
# of a stream that are grouped at once: many beside what a block costs, or with many groups more, so that their states
# are few beside the rows, up to so many values
STREAM_ROWS = 1 << 19
STREAM_VALUES = 1 << 24
ROWS_OF_GROUP = 200
MERGED_ROWS = 1 << 20  # states of so many groups are put together
_METADATA = "cdevice.group_by"


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

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the state; none: the number of rows alone."""
        return () if self.column is None else AGGREGATES[self.function].fields

    def plain(self) -> list[Any]:
        """What JSON has of it."""
        return [self.name, self.column, self.function, vars(self.options)]


def _options(function: str, options: Any) -> FunctionOptions:
    wanted = NoOptions if function == "count_all" else AGGREGATES[function].options
    if isinstance(options, wanted):
        return options
    if options is None:
        return wanted()
    if isinstance(options, Mapping):
        return wanted(**options)
    if type(options).__module__.partition(".")[0] == "pyarrow":
        return wanted.from_pyarrow(options, {}, function)
    raise TypeError(f"aggregate: {function} takes {wanted.__name__} or a mapping, not {type(options).__name__}")


def _aggregation(name: str | None, spec: Any, computed: _Computed) -> _Aggregation:
    if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 3:
        raise TypeError(f"aggregate: expected (column, aggregate) or (column, aggregate, options), not {spec!r:.60}")
    column, function, options = (*spec, None)[:3]
    if isinstance(column, (list, tuple)):
        if len(column) > 1:
            raise ArgumentError(f"aggregate: {function} takes one column, not {len(column)}")
        column = column[0] if column else None
    column = ours(column)
    if isinstance(column, Expression):
        name = name or f"{column}_{function}"
        column = computed.setdefault(column, f"\x01{len(computed)}")
    if column is not None and not isinstance(column, str):
        raise TypeError(f"aggregate: expected the name of a column or an expression, not {type(column).__name__}")
    return _Aggregation(name, column, function, options)


class _Computed(dict[Expression, str]):
    """Expressions, and the names of the columns that they become."""

    def setdefault(self, expression: Expression, name: str) -> str:
        found = next((n for e, n in self.items() if e.equals(expression)), None)
        if found is None:
            self[expression] = found = name
        return found


def _aggregations(wanted: Any, computed: _Computed) -> list[_Aggregation]:
    if isinstance(wanted, Mapping):
        return [_aggregation(name, spec, computed) for name, spec in wanted.items()]
    if not isinstance(wanted, (list, tuple)):
        raise TypeError(f"aggregate: expected a list or a mapping, not {type(wanted).__name__}")
    return [_aggregation(None, spec, computed) for spec in wanted]


class _Query:
    """Keys and aggregations, and how floats are compared.  ``mask``: a column of bools that is a key too, and of which
    only the groups are shown that have true."""

    __slots__ = ("floats", "keys", "mask", "wanted")

    def __init__(self, keys: list[str], wanted: list[_Aggregation], floats: int, mask: str | None = None) -> None:
        self.keys, self.wanted, self.floats, self.mask = keys, wanted, floats, mask

    def metadata(self) -> dict[str, str]:
        """What a state tells of itself."""
        plain = {"keys": self.keys, "floats": self.floats, "aggregations": [w.plain() for w in self.wanted]}
        return {_METADATA: json.dumps(plain)}

    @classmethod
    def of(cls, state: DeviceArray) -> _Query:
        """The query that a state is of.  Raises ArgumentError for another batch."""
        text = (state._schema.metadata or {}).get(_METADATA.encode())
        if text is None or not is_batch(state):
            raise ArgumentError("merge: expected states, which group_by(...).partial(...) returns")
        try:
            plain = json.loads(text)
            wanted = [_Aggregation(*x) for x in plain["aggregations"]]
            keys, floats = plain["keys"], plain["floats"]
            if not isinstance(keys, list) or not all(isinstance(k, str) for k in keys) or floats not in (0, 1, 2):
                raise ValueError("keys")
            names = [*keys, *(w.name for w in wanted), "rows"]
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise ArgumentError(f"merge: the metadata of a state is damaged: {type(e).__name__}") from None
        columns = state._schema.children
        fields = [*(w.fields for w in wanted), ()]
        if [c.name for c in columns] != names or any(
            tuple(f.name for f in c.children) != own for c, own in zip(columns[len(keys) :], fields, strict=True)
        ):
            raise ArgumentError(f"merge: a state has the columns {', '.join(names)}; this batch has others")
        return cls(keys, wanted, floats)

    def read(self, batch: DeviceArray) -> DeviceArray:
        """The columns of a batch that the query is about."""
        names = list(dict.fromkeys([*self.keys, *(w.column for w in self.wanted if w.column is not None)]))
        batch, there = as_batch(batch), batch._schema.names
        return select(batch, names) if names and len(there) > len(names) and {*names} < {*there} else batch

    # ---- rows to states ----
    def _groups(
        self, call: Call, batch: DeviceArray, mask: DeviceArray | None = None
    ) -> tuple[Groups, list[DeviceArray]]:
        columns = [column_of(batch, name, "group_by") for name in self.keys]
        where = batch.device_type_id, batch.device_id
        if not batch.length:  # of no keys: one group, of no rows
            return Groups(call, rows.as_uint32(call, rows.from_(call, batch, 0, 0)), not columns), columns
        by = columns if mask is None else [*columns, mask]
        return GroupRows(call, by or [rows_of_null(where, batch.length)], self.floats), columns

    def _mask(self, batch: DeviceArray) -> DeviceArray | None:
        return None if self.mask is None or self.mask not in batch._schema.names else batch.field(self.mask)

    def _values(self, call: Call, batch: DeviceArray, groups: Groups) -> list[DeviceArray | None]:
        """The column of each aggregation, one object for those of one name."""
        known: dict[tuple[str, bool], DeviceArray] = {}
        out: list[DeviceArray | None] = []
        for w in self.wanted:
            if w.column is None:
                out.append(None)
                continue
            key = w.column, w.function in _OF_ROWS
            if key not in known:
                known[key] = _decoded(call, w, column_of(batch, w.column, "aggregate"))
            out.append(known[key])
        groups.columns = [*known.values()]
        return out

    def _shown(self, call: Call, made: DeviceArray, mask: DeviceArray | None, groups: Groups) -> DeviceArray:
        """The groups that the mask is true for."""
        if mask is None or not groups.ids.length:
            return made
        return filter_array(call, made, take_array(call, mask, groups.first, False), False)

    def state(self, call: Call, batch: DeviceArray) -> DeviceArray:
        """The state of the rows of a batch."""
        if not batch.length:
            return self._empty(call, batch, self.state)
        self._require_columns(batch)
        mask = self._mask(batch)
        groups, columns = self._groups(call, batch, mask)
        out = [take_array(call, x, groups.first, False) for x in columns]
        for w, x in zip(self.wanted, self._values(call, batch, groups), strict=True):
            states = [] if x is None else AGGREGATES[w.function].state(groups, x, w.options)
            out.append(batch_of(w.fields, states, groups.count, batch))
        out.append(groups.lengths)
        made = batch_of(self._state_names(), out, groups.count, batch, self.metadata())
        return self._shown(call, made, mask, groups)

    def _require_columns(self, batch: DeviceArray) -> None:
        """Raises ArgumentError for a column of an aggregation that is not there."""
        for w in self.wanted:
            if w.column is not None:
                column_of(batch, w.column, "aggregate")

    def result(self, call: Call, batch: DeviceArray) -> DeviceArray:
        """What the rows of a batch come to."""
        if not batch.length and self.keys:
            return self._empty(call, batch, self.result)
        self._require_columns(batch)
        mask = self._mask(batch)
        groups, columns = self._groups(call, batch, mask)
        out = [take_array(call, x, groups.first, False) for x in columns]
        for w, x in zip(self.wanted, self._values(call, batch, groups), strict=True):
            out.append(groups.lengths if x is None else AGGREGATES[w.function].run(groups, x, w.options))
        made = batch_of([*self.keys, *(w.name for w in self.wanted)], out, groups.count, batch)
        return self._shown(call, made, mask, groups)

    def _empty(self, call: Call, batch: DeviceArray, made: Any) -> DeviceArray:
        """Of no rows: one group of nulls, which is cut off."""
        none = rows.nulls(call, batch, 1)
        out: DeviceArray = made(call, take_array(call, batch, none, False))[:0]
        return out

    # ---- states ----
    def merged(self, call: Call, state: DeviceArray) -> DeviceArray:
        """A row for each group of a batch of states."""
        return self._merged(call, state) if state.length else state

    def _merged(self, call: Call, state: DeviceArray) -> DeviceArray:
        groups, columns = self._groups(call, state)
        out = [take_array(call, x, groups.first, False) for x in columns]
        for i, w in enumerate(self.wanted):
            packed = state.field(len(self.keys) + i)
            states = [packed.field(k) for k in range(len(w.fields))]
            merged = AGGREGATES[w.function].merge(groups, states, w.options) if states else []
            out.append(batch_of(w.fields, merged, groups.count, state))
        out.append(groups.accumulate(state.field(len(out)), SUM))
        return batch_of(self._state_names(), out, groups.count, state, self.metadata())

    def finished(self, call: Call, state: DeviceArray) -> DeviceArray:
        """What a state with a row for each group comes to."""
        if not state.length and self.keys:
            return self._empty(call, state, self.finished)
        if not state.length:
            state = self._merged(call, state)
        out = [state.field(i) for i in range(len(self.keys))]
        for i, w in enumerate(self.wanted):
            packed = state.field(len(self.keys) + i)
            states = [packed.field(k) for k in range(len(w.fields))]
            whole = states and AGGREGATES[w.function].finish(call, states, w.options)
            out.append(whole or state.field(len(self.keys) + len(self.wanted)))
        return batch_of([*self.keys, *(w.name for w in self.wanted)], out, state.length, state)

    def _state_names(self) -> list[str]:
        return [*self.keys, *(w.name for w in self.wanted), "rows"]


def _decoded(call: Call, wanted: _Aggregation, column: DeviceArray) -> DeviceArray:
    if format_of(column) not in _DECODED or wanted.function in _OF_ROWS:
        return column
    decoded = dictionary_decode(call, Datum(column, format_of(column))).array
    assert decoded is not None
    return decoded


class _Blocks:
    """The batches of an argument, small ones of a stream put together.  ``groups``: how many the last one had."""

    def __init__(self, data: Datum) -> None:
        self._data = data
        self.groups = 0

    def _rows(self, batch: DeviceArray) -> int:
        most = STREAM_VALUES // max(len(batch._schema.children), 1)
        return max(STREAM_ROWS, min(ROWS_OF_GROUP * self.groups, most))

    def __iter__(self) -> Iterator[DeviceArray]:
        if isinstance(self._data.chunks, ChunkStream):
            return gathered(self._data.chunks, self._rows)
        whole = joined(self._data).array
        assert whole is not None
        return iter((whole,))


def _call_of(function: Function, data: Datum, batch: DeviceArray, stream: StreamLike) -> tuple[Call, DeviceArray]:
    call, batch = Call(function, NoOptions(), [data], stream), as_batch(batch)
    if not is_batch(batch):
        raise ArgumentError(f"{function.name}: expected a batch, chunks of batches or a stream of them{hint_of(batch)}")
    return call, on_device_of(call, batch)


def _grouped(data: Datum, query: _Query, partial: bool, stream: StreamLike) -> DeviceArray:
    if data.chunks is None and data.array is None:
        raise ArgumentError("group_by: expected a batch, chunks of batches or a stream of them")
    states: list[DeviceArray] = []
    before: DeviceArray | None = None  # the rows of a stream so far: until there are others, no state is needed
    merged_rows = MERGED_ROWS
    blocks = _Blocks(data)
    for batch in blocks:
        call, here = _call_of(_function, Datum(batch), batch, stream)
        if not states and before is None:
            before = here
            continue
        if before is not None:
            states.append(query.state(call, before))
            before = None
        states.append(query.state(call, here))
        blocks.groups = states[-1].length
        if builtins.sum(x.length for x in states) >= 2 * merged_rows:
            states = [query.merged(call, concat(states, stream=call.owner))]
            merged_rows = max(MERGED_ROWS, states[0].length)
        del batch, here
    if not states:
        assert before is not None
        call, here = _call_of(_function, Datum(before), before, stream)
        return query.state(call, here) if partial else query.result(call, here)
    state = query.merged(call, concat(states, stream=call.owner))
    return state if partial else query.finished(call, state)


def _mapped(data: Datum, change: Callable[[DeviceArray], DeviceArray]) -> Datum:
    """An argument whose batches are changed when they are read."""
    if isinstance(data.chunks, ChunkStream):
        return Datum(chunks=data.chunks.mapped(change), format=data.format)
    if data.chunks is not None:
        return Datum(chunks=[change(x) for x in data.chunks], format=data.format)
    return data if data.array is None else Datum(change(data.array), data.format)


class GroupBy:
    """The rows of a batch by the values of some of its columns; :func:`group_by` makes it.

    ``data``: the argument of that function; ``keys``: names; ``stream``, ``fallback``, ``floats``: as there.  Nothing
    is computed before :meth:`aggregate` or :meth:`partial`.  ``where``: an expression, or None.  Does not block.  Any
    thread.
    """

    __slots__ = ("_data", "_fallback", "_floats", "_keys", "_stream", "_where")

    def __init__(
        self,
        data: Datum,
        keys: dict[str, Expression],
        stream: StreamLike,
        fallback: str | None,
        floats: int,
        where: Expression | None = None,
    ) -> None:
        self._data, self._keys, self._stream, self._fallback, self._floats = data, keys, stream, fallback, floats
        self._where = where

    def _run(self, aggregations: Any, partial: bool) -> DeviceArray:
        computed = _Computed()
        mask = None if self._where is None else _MASK
        query = _Query([*self._keys], _aggregations(aggregations, computed), self._floats, mask)
        plain = self._where is None and not computed and all(is_column_named(e, n) for n, e in self._keys.items())
        columns = None if plain else self._columns(query, computed)

        def start(arguments: list[Datum], stream: StreamLike) -> DeviceArray:
            data = arguments[0]
            if columns is not None:
                data = _mapped(data, lambda batch: self._prepared(batch, columns, stream))
            elif isinstance(data.chunks, ChunkStream):
                data = _mapped(data, query.read)  # small batches are copied together
            return _grouped(data, query, partial, stream)

        if copies_wanted(self._fallback):
            made: DeviceArray = run_with_fallback("group_by", [self._data], self._stream, start)
            return made
        return start([self._data], self._stream)

    def _columns(self, query: _Query, computed: _Computed) -> dict[str, Expression]:
        """What the query reads."""
        columns = dict(self._keys)
        for w in query.wanted:
            if w.column in columns and not is_column_named(columns[w.column], w.column):  # a key of that name hides it
                w.column = computed.setdefault(field(w.column), f"\x01{len(computed)}")
        columns |= {w.column: field(w.column) for w in query.wanted if w.column is not None}
        return columns | {name: e for e, name in computed.items()}

    def _prepared(self, batch: DeviceArray, columns: dict[str, Expression], stream: StreamLike) -> DeviceArray:
        """The rows and columns that the query is about."""
        batch = as_batch(batch)
        if not is_batch(batch):
            raise ArgumentError(f"group_by: expected a batch, chunks of batches or a stream of them{hint_of(batch)}")
        batch = where_computed(batch)
        for e in columns.values():
            bind(e, batch._schema)  # a column that is missing is named
        if self._where is not None:
            require_condition(self._where, batch._schema, "group_by")
            batch = select(batch, names_in([self._where, *columns.values()]))
            mask = bind(self._where, batch._schema)._rows(batch, stream)
            kept = sum(mask, min_count=0, stream=stream).as_py() if mask._format == "b" else 0
            if kept >= FEW * batch.length:  # fewer rows are copied, of more the others are groups that are not shown
                made = projected(batch, columns, stream)
                return with_columns(made, {_MASK: mask})
            batch = filter(batch, mask, stream=stream)
        return projected(batch, columns, stream)

    def aggregate(self, aggregations: Any) -> DeviceArray:
        """What each group comes to.

        The rows of the result are the groups, in the order of their first rows; its columns are the keys and then the
        aggregates, named ``<column>_<aggregate>`` and ``count_all``.  Blocks.  Any thread.  Of a stream some
        million values and the states of the groups are in memory at once; list, distinct, count_distinct and quantiles
        keep the values that they are made of.

        :param aggregations: a list of (column, aggregate) or (column, aggregate, options), or a mapping of names of the
            result to such; column: a name, an :class:`Expression`, or [] for ``count_all``; options: a FunctionOptions,
            pyarrow's, or a mapping
        :returns: a batch on the device of the data
        :raises RuntimeError: for a stream that was read before
        :raises ArgumentError: for a column or an aggregate that does not exist, with near names
        :raises NoKernel: for a type that cannot be a key, or that the aggregate is not defined for
        """
        return self._run(aggregations, False)

    def partial(self, aggregations: Any) -> DeviceArray:
        """The state of the groups: a batch that :func:`merge` puts together with those of other rows.

        Its columns are the keys, a struct for each aggregate, and ``rows``; its metadata has the query.  It travels as
        any batch does.  Blocks.  Any thread.

        :param aggregations: as in :meth:`aggregate`
        :returns: a batch on the device of the data
        :raises ArgumentError: as aggregate
        :raises NoKernel: as aggregate
        """
        return self._run(aggregations, True)


def group_by(
    data: Any,
    keys: str | Sequence[str] | Mapping[str, Any],
    use_threads: bool = True,
    *,
    where: Expression | str | None = None,
    normalize_floats: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> GroupBy:
    """The rows of a batch by the values of columns, as ``pyarrow.Table.group_by``.

    Null is a group.  Floats are equal where their bits are, so 0.0 and -0.0 are two groups.  Keys: any number of
    columns of any type but nested ones.  Does not block.  Any thread.

    :param data: a batch, chunks of batches, a table, or a stream of any length
    :param keys: the name of a column, or several; none: one group of all rows.  A mapping of names of the result to
        expressions: their values are the keys
    :param use_threads: as pyarrow has it; the result does not depend on it
    :param where: a condition: an :class:`Expression`, or its text; only the rows count that it is true for
    :param normalize_floats: True: 0.0 and -0.0 are one group, and so are all NaN
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a :class:`GroupBy`, whose ``aggregate`` gives a batch
    :raises TypeError: for keys that are not names or expressions
    """
    if isinstance(keys, Mapping):
        named_keys = named(keys, "group_by: keys")
    else:
        named_keys = {name: field(name) for name in names_of("group_by: keys", keys)}
    where = None if where is None else condition(where, "group_by: where")
    copies_wanted(fallback)
    floats = NORMALIZED if normalize_floats else BITS
    return GroupBy(argument(data, False), named_keys, stream, fallback, floats, where)


def merge(states: Iterable[Any], *, partial: bool = False, stream: StreamLike = None) -> DeviceArray:
    """What groups come to whose rows were grouped in parts, on several devices or in several processes.

    The result is that of grouping all rows at once; sums and products of floats may differ in their last digits, and
    where they overflow on the way.  Blocks.  Any thread.

    :param states: batches that ``group_by(...).partial(...)`` returned, with the same keys and aggregations, on one
        device
    :param partial: True: the result is a state again
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :returns: a batch on the device of the states
    :raises ArgumentError: for other batches, and for states of different keys, aggregations or types
    """
    given = [joined(argument(x)).array for x in states]
    if not given:
        raise ArgumentError("merge: expected at least one state")
    arrays: list[DeviceArray] = []
    query: _Query | None = None
    for i, state in enumerate(given):
        if state is None:
            raise ArgumentError("merge: expected states, which group_by(...).partial(...) returns")
        one = _Query.of(state)
        if query is None:
            query = one
        elif one.metadata() != query.metadata():
            raise ArgumentError(f"merge: state {i} has other keys or aggregations than state 0")
        elif not state._schema.equals(arrays[0]._schema):
            raise ArgumentError(f"merge: state {i} has columns of other types than state 0")
        arrays.append(state)
    assert query is not None
    require_one_device("merge", arrays)
    call, first = _call_of(_merge_function, Datum(arrays[0]), arrays[0], stream)
    whole = concat([first, *(on_device_of(call, x) for x in arrays[1:])], stream=call.owner) if arrays[1:] else first
    merged = query.merged(call, whole)
    return merged if partial else query.finished(call, merged)
