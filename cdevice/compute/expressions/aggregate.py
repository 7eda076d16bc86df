"""One row of what the rows of a batch or a stream come to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ..._arrays.assemble import assemble
from ..._arrays.record_batch import as_batch
from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.call import Call, options_of, run_arguments
from ..dispatch.datum import Datum, argument
from ..dispatch.deferred import ours
from ..dispatch.types import format_of
from ..functions import get_function
from ..kernels import row_numbers as rows
from ..kernels.aggregate import Reduce
from ..kernels.cast.dictionary import dictionary_decode
from ..kernels.cast.numeric import cast_argument
from ..kernels.columns import batch_of, where_computed
from ..kernels.selection.take import hint_of, is_batch, is_valid, take_array
from ..options import NoOptions
from ..scalar import Scalar
from .batches import filtered, mask_of
from .bound import bind
from .expression import Expression, condition, field, scalar
from .graph import Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..._types import DeviceArray, StreamLike
    from ..dispatch.function import Function
    from ..dispatch.signature import Kernel
    from ..options import FunctionOptions

BLOCK_ROWS = 1 << 18  # of the CPU: results of so many rows stay in its cache
AGGREGATES = (
    "all any approximate_median count count_all count_distinct first first_last kurtosis last max mean min min_max "
    "mode product quantile skew stddev sum variance"
).split()
# these see a null row as no row
_SKIP = frozenset("all any count max mean min min_max product sum".split())


class Aggregation:
    """One column of the result."""

    __slots__ = ("expression", "function", "name", "options")

    def __init__(self, name: str | None, spec: Any) -> None:
        if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 3:
            raise TypeError(
                f"aggregate: expected (expression, aggregate) or (expression, aggregate, options), not {spec!r:.60}"
            )
        of, word, options = (*spec, None)[:3]
        if not isinstance(word, str):
            raise TypeError(f"aggregate: expected the name of an aggregate, not {type(word).__name__}")
        if word not in AGGREGATES:
            near = difflib.get_close_matches(word, AGGREGATES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(AGGREGATES)}"
            raise ArgumentError(f"aggregate: no aggregate {word!r}; {hint}")
        if isinstance(of, (list, tuple)):
            if len(of) > 1:
                raise ArgumentError(f"aggregate: {word} takes one column, not {len(of)}")
            of = of[0] if of else None
        if (of is None) != (word == "count_all"):
            wants = "takes no column: pass []" if of is not None else "needs a column"
            raise ArgumentError(f"aggregate: {word} {wants}")
        if isinstance(of, str):
            of = field(of)
        of = ours(of)
        if of is not None and not isinstance(of, Expression):
            raise TypeError(f"aggregate: expected a column's name or an expression, not {type(of).__name__}")
        self.name = name or (word if of is None else f"{of}_{word}")
        self.function: Function = get_function("count" if of is None else word)
        self.options = options_of(self.function, options, {} if of is not None else {"mode": "all"})
        self.expression: Expression | None = of

    def skips_nulls(self) -> bool:
        """Is a null row as no row?"""
        if self.function.name == "count":
            return bool(self.options.mode == "only_valid")
        return self.function.name in _SKIP and bool(self.options.skip_nulls)


def aggregations(wanted: Any) -> list[Aggregation]:
    """The columns that an argument asks for."""
    if isinstance(wanted, Mapping):
        return [Aggregation(name, spec) for name, spec in wanted.items()]
    if not isinstance(wanted, (list, tuple)):
        raise TypeError(f"aggregate: expected a list or a mapping, not {type(wanted).__name__}")
    return [Aggregation(None, spec) for spec in wanted]


def _list_of_quantiles(call: Call, values: DeviceArray) -> DeviceArray:
    """Several quantiles as a list of fixed size, of the type that groups give."""
    known = None
    if values.null_count:  # all are null, or none is
        known = is_valid(call, Datum(values[:1], format_of(values)))
    schema = Schema.make(f"+w:{values.length}", children=[values._schema.with_name("item")])
    bits = None if known is None else (known, 1)
    return assemble(schema, 1, [bits], [values], null_count=-1 if bits else 0, near=values)


def _list_of_modes(call: Call, values: DeviceArray) -> DeviceArray:
    ends = rows.multiply(call, rows.from_(call, values, 0, 2), values.length)
    offsets = cast_argument(call, Datum(ends, "l"), "i", False).array
    assert offsets is not None
    schema = Schema.make("+l", children=[values._schema.with_name("item")])
    return assemble(schema, 1, [None, (offsets, 1)], [values], null_count=0)


def _as_one_row(call: Call, values: DeviceArray) -> DeviceArray:
    """The rows that a function gave as the one row of the result: quantile and mode have as many as they are asked for.

    Raises ArgumentError for any other number: a registered kernel of a vector function may give it, and no row is cut
    off."""
    name, options = call.function.name, call.options
    if name == "quantile" and len(options.q) > 1 and values.length == len(options.q):
        return _list_of_quantiles(call, values)
    if name == "mode" and options.n > 1:
        return _list_of_modes(call, values)
    if name == "mode" and not values.length:
        return take_array(call, values, rows.nulls(call, values, 1), False)
    if values.length != 1:
        raise ArgumentError(
            f"aggregate: {name} gave {values.length} rows, expected 1: call cdevice.compute.{name} for all of them"
        )
    return values


_if_else = get_function("if_else")
_NO_OPTIONS = NoOptions()


def _where(value: Expression, where: Expression) -> Expression:
    """The value where the condition holds, else null."""
    return Expression._made(Called(_if_else, _NO_OPTIONS), (where, value, scalar(None)))


class _Running:
    """One aggregate over batches that come one after the other."""

    def __init__(self, wanted: Aggregation, schema: Schema, where: Expression | None) -> None:
        self.wanted = wanted
        self.fold: object = None
        self.kernel: Kernel | None = None
        self.kept: list[DeviceArray] = []  # of aggregates that have no state of a few bytes
        value = wanted.expression
        counted = value is None
        self.filters = where is not None and not counted and not wanted.skips_nulls()
        if value is None:
            self.options: FunctionOptions = wanted.options
            if where is not None:  # the rows that it is true for
                self.options = options_of(wanted.function, None, {"mode": "only_valid"})
                value = _where(scalar(True), where)
        else:
            self.options = wanted.options
            if where is not None and not self.filters:
                value = _where(value, where)
        self.bound = None if value is None else bind(value, schema)
        type = Schema.make("n") if self.bound is None else self.bound.type
        self.encoded = type.format == "+r" or type.dictionary is not None  # its batches are decoded
        while (values := type.children[1] if type.format == "+r" else type.dictionary) is not None:
            type = values
        self.format = type.format

    def start(self, batch: DeviceArray, stream: StreamLike) -> None:
        function = self.wanted.function
        self.call = Call(function, self.options, [Datum(batch)], stream)
        if function.meta is not None:
            return
        kernel, wanted = function._candidates((self.format,), self.call.device_type)[0]
        exec = kernel.exec
        if isinstance(exec, Reduce) and wanted == (self.format,) and kernel.init is None:
            self.kernel = kernel
            self.fold = _native.compute_fold(exec.plan(self.options), self.call.stream, self.call.owner)

    def add(self, batch: DeviceArray, chosen: DeviceArray | None, stream: StreamLike) -> None:
        """``chosen``: the rows that the condition is true for, where that was asked for."""
        rows = chosen if self.filters else batch
        assert rows is not None
        values = rows if self.bound is None else self.bound._rows(rows, stream)
        if self.fold is None:
            self.kept.append(values)
        else:
            if self.encoded:
                decoded = dictionary_decode(self.call, Datum(values, format_of(values))).array
                assert decoded is not None
                values = decoded
            _native.compute_fold_add(self.fold, values)

    def end(self, stream: StreamLike) -> DeviceArray:
        if self.fold is None:
            whole = self.kept[0] if len(self.kept) == 1 else concat(self.kept)
            made = run_arguments(self.wanted.function, self.options, [Datum(whole, format_of(whole))], stream)
            return _as_one_row(self.call, made.array if isinstance(made, Scalar) else made)
        assert self.kernel is not None
        made = _native.compute_fold_end(self.fold)
        if self.kernel.finalize:
            made = self.kernel.finalize(self.call, made)
        return made.array if isinstance(made, Scalar) else made


def blocks(batch: DeviceArray) -> Iterator[DeviceArray]:
    """The parts of a batch that are computed one after the other."""
    if batch.device_type_id != 1 or batch.length <= 2 * BLOCK_ROWS:
        yield batch
        return
    for begin in range(0, batch.length, BLOCK_ROWS):
        yield batch._slice(begin, min(BLOCK_ROWS, batch.length - begin))


def _batches(data: Datum, what: str) -> Iterator[DeviceArray]:
    found = [data.array] if data.chunks is None else data.chunks
    for batch in found:
        batch = None if batch is None else as_batch(batch)
        if batch is None or not is_batch(batch):
            raise ArgumentError(f"{what}: expected a batch, chunks of batches or a stream of them{hint_of(batch)}")
        yield where_computed(batch)


def aggregate(
    data: Any, wanted: Any, *, where: Expression | str | None = None, stream: StreamLike = None
) -> DeviceArray:
    """What the rows of a batch or a stream come to: one row.

    Of the CPU's batches, blocks that fit into its cache are computed one after the other; nothing of the size of the
    data is made.  Of a stream, one batch at a time is in memory, but for aggregates without a state of a few bytes
    (quantile, mode, count_distinct and their like), whose values are kept.  Sums of floats may differ in the
    last digits from those of one array.  Blocks.  Any thread.

    Several quantiles are a list of fixed size in the one row, null where there is no number; of ``mode`` the row has a
    struct, null where there is no value, or with ``n`` greater than 1 a list of them.

    :param data: a batch, chunks of batches, a table, or a stream of any length
    :param wanted: a mapping of names of the result to (expression, aggregate) or (expression, aggregate, options), or a
        list of these; a name stands for the column, [] for none (``count_all``)
    :param where: a condition: an :class:`Expression`, or its text; only the rows count that it is true for
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :returns: a batch of one row on the device of the data
    :raises ArgumentError: for a column or an aggregate that does not exist, with near names, and where a kernel gave
        another number of rows than one
    :raises NoKernel: for a type that an aggregate or a function is not defined for
    :raises TypeError: for objects of other types
    """
    specs = aggregations(wanted)
    where = None if where is None else condition(where, "aggregate: where")
    running: list[_Running] | None = None
    last: DeviceArray | None = None
    for batch in _batches(argument(data, False), "aggregate"):
        if running is None:
            if where is not None:
                mask_of(batch[:0], where, stream, "aggregate")
            running = [_Running(s, batch._schema, where) for s in specs]
            for r in running:
                r.start(batch, stream)
        for part in blocks(batch):
            chosen = None
            if where is not None and any(r.filters for r in running):
                chosen = filtered(part, where, stream, "aggregate")
            for r in running:
                r.add(part, chosen, stream)
        last = batch
    assert running is not None and last is not None
    columns = [r.end(stream) for r in running]
    return batch_of([s.name for s in specs], columns, 1, last)
