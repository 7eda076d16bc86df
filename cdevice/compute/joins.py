"""Joins of two batches by equal keys, on the device that they are on."""

from __future__ import annotations

from .._arrays.record_batch import as_batch
from .._runtime.ext import _native
from ..errors import ArgumentError
from ..interop.asarray import asarray
from ..interop.asstream import asstream
from .dispatch.call import Call
from .dispatch.datum import Datum, argument, joined
from .dispatch.deferred import Deferred, ours
from .dispatch.fallback import copies_wanted, run_with_fallback
from .dispatch.registry import Function
from .expressions.streams import gathered
from .kernels.columns import batch_of, column_of, names_of, on_device_of, require_one_device
from .kernels.join_rows import JOIN_TYPES, JoinRows, SideRows, keys_of_one_type
from .kernels.selection.take import hint_of, is_batch, nullable
from .options import NoOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray, DeviceArrayStream, StreamLike

    Names = str | Deferred | Sequence[str | Deferred]

STREAM_ROWS = 1 << 18  # of a left side that is a stream are joined at once, at least: each time looks at the right side
_OF_EACH_BATCH = {"inner", "left outer", "left semi", "left anti"}
_join = Function("join", "vector", 2, "The rows of two batches that have equal keys.")
_join_indices = Function("join_indices", "vector", 2, "The numbers of the rows that have equal keys.")


class _Computed:
    """A key that is an expression; no column of the result is one."""

    __slots__ = ("expression",)

    def __init__(self, expression: Deferred) -> None:
        self.expression = expression

    def __str__(self) -> str:
        return str(self.expression)


def _key_column(batch: DeviceArray, key: Any, what: str) -> DeviceArray:
    return key.expression.evaluate(batch) if isinstance(key, _Computed) else column_of(batch, key, what)


def _keys(what: str, keys: Any) -> list[Any]:
    """Names of columns, and expressions.  Raises TypeError."""
    given = [ours(k) for k in (keys if isinstance(keys, (list, tuple)) else [keys])]
    return [_Computed(k) if isinstance(k, Deferred) else names_of(what, k)[0] for k in given]


def _both(function: str, keys: Any, right_keys: Any) -> tuple[list[Any], list[Any]]:
    """The keys of both sides."""
    left = _keys(f"{function}: keys", keys)
    right = left if right_keys is None else _keys(f"{function}: right_keys", right_keys)
    if not left or len(left) != len(right):
        raise ArgumentError(f"{function}: {len(left)} keys and {len(right)} right_keys: there must be one for each")
    return left, right


class _Sides:
    """Both batches, their key columns, and the rows of each that the join shows."""

    __slots__ = ("call", "keys", "left", "left_keys", "left_rows", "right", "right_keys", "right_rows")

    def __init__(
        self, function: Function, data: Sequence[Datum], names: Sequence[list[Any]], join_type: str, stream: StreamLike
    ) -> None:
        name = function.name
        self.call = call = Call(function, NoOptions(), list(data), stream)
        batches = [_batch(name, d) for d in data]
        require_one_device(name, batches)
        self.left, self.right = (on_device_of(call, b) for b in batches)
        self.left_keys, self.right_keys = names
        columns = [
            [_key_column(batch, n, name) for n in keys]
            for batch, keys in ((self.left, self.left_keys), (self.right, self.right_keys))
        ]
        self.keys = [keys_of_one_type(call, x, y, str(n)) for x, y, n in zip(*columns, self.left_keys, strict=True)]
        self.left_rows: SideRows | None
        self.right_rows: SideRows | None
        if self.left.length + self.right.length:
            found = JoinRows(call, self.keys).of(join_type)
        else:
            none = SideRows(call, self.left, 0)
            shown = join_type.split()[-1] not in ("semi", "anti")
            found = (
                none if shown or join_type.startswith("left") else None,
                none if shown or join_type.startswith("right") else None,
            )
        self.left_rows, self.right_rows = found


def _batch(function: str, data: Datum) -> DeviceArray:
    batch = joined(data).array
    batch = None if batch is None else as_batch(batch)
    if batch is None or not is_batch(batch):
        raise ArgumentError(f"{function}: expected two batches, or chunks or streams of them{hint_of(batch)}")
    return batch


def _run(
    function: Function,
    data: tuple[Any, Any],
    names: Sequence[list[Any]],
    join_type: str,
    stream: StreamLike,
    fallback: str | None,
    made: Any,
) -> Any:
    if join_type not in JOIN_TYPES:
        raise ValueError(f"{function.name}: join_type must be one of {', '.join(map(repr, JOIN_TYPES))}")
    arguments = [argument(x) for x in data]

    def start(given: list[Datum], where: StreamLike) -> Any:
        return made(_Sides(function, given, names, join_type, where))

    if copies_wanted(fallback):
        return run_with_fallback(function.name, arguments, stream, start)
    return start(arguments, stream)


def join(
    left: Any,
    right: Any,
    keys: Names,
    right_keys: Names | None = None,
    join_type: str = "left outer",
    left_suffix: str | None = None,
    right_suffix: str | None = None,
    coalesce_keys: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The rows of two batches that have equal keys, as ``pyarrow.Table.join``.

    Null is equal to nothing, NaN to NaN, 0.0 not to -0.0.  The rows are in the order of the left side's, the matches of
    one in the order of the right side's, and right rows without a match last.  Keys of two types are cast where no
    value changes.  Columns of a side that may have no row, and the keys of outer joins, are nullable; others stay as
    they are.  Blocks.  Any thread.  Memory beside the data: about 80 bytes a row of both sides; by one column of
    numbers about 20 a row of the left and 40 of the right side.  Where right keys repeat, the left side has up to
    4294967295 rows.

    :param left: a batch, chunks of batches, a table, or a :class:`DeviceArrayStream`
    :param right: a batch, chunks of batches, a table, or a stream, which is read to its end; on the same device
    :param keys: the names of columns of the left side, or expressions, which are no columns of the result
    :param right_keys: of the right side, one for each; None: the same
    :param join_type: "left semi", "right semi", "left anti", "right anti", "inner", "left outer", "right outer" or
        "full outer"
    :param left_suffix: put behind names of left columns that the right side has too
    :param right_suffix: the same of right columns
    :param coalesce_keys: True: the keys are columns once
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a batch on the device of the data; of a stream a stream, where no right row without a match is shown: left
        and inner kinds. It has a batch for each of its batches, small ones of which are put together
    :raises ArgumentError: for a column that does not exist, with near names, and for keys without a common type
    :raises ValueError: for another join_type
    :raises NoKernel: for a type that cannot be a key
    """
    names = _both("join", keys, right_keys)
    suffixes = left_suffix or "", right_suffix or ""
    if isinstance(left, _native.Stream) and join_type in _OF_EACH_BATCH:
        whole = _batch("join", argument(right))
        found: DeviceArrayStream = left  # type: ignore[assignment]

        def one(batch: DeviceArray) -> DeviceArray:
            named = {"left_suffix": left_suffix, "right_suffix": right_suffix, "coalesce_keys": coalesce_keys}
            return join(batch, whole, keys, right_keys, join_type, **named, stream=stream, fallback=fallback)  # type: ignore[arg-type]

        empty = asarray([], schema=found.schema).to(whole.device)
        schema = one(empty).schema
        blocks = gathered(found._moved(), lambda batch: STREAM_ROWS)
        made_later: Any = asstream(map(one, blocks), schema=schema)
        return made_later  # type: ignore[no-any-return]

    def made(sides: _Sides) -> DeviceArray:
        return _result(sides, join_type, suffixes, coalesce_keys)

    out: DeviceArray = _run(_join, (left, right), names, join_type, stream, fallback, made)
    return out


def join_indices(
    left: Any,
    right: Any,
    keys: Names,
    right_keys: Names | None = None,
    join_type: str = "left outer",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The numbers of the rows that :func:`join` puts together, for :func:`take`.

    Blocks.  Any thread.  The arguments and errors are those of :func:`join`.

    :param left: a batch, chunks of batches, a table, or a stream, which is read to its end
    :param right: the same, on the same device
    :param keys: the names of columns of the left side
    :param right_keys: of the right side, one for each; None: the same names
    :param join_type: as in :func:`join`
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a batch of int64 columns ``left`` and ``right``, null where a side has no row; of semi and anti joins one
        of them
    :raises ArgumentError: as join
    :raises ValueError: for another join_type
    :raises NoKernel: for a type that cannot be a key
    """
    names = _both("join_indices", keys, right_keys)

    def made(sides: _Sides) -> DeviceArray:
        sides_shown = (("left", sides.left_rows), ("right", sides.right_rows))
        found = {n: x.numbers for n, x in sides_shown if x is not None}
        return _shown_batch(sides, [*found], [*found.values()])

    out: DeviceArray = _run(_join_indices, (left, right), names, join_type, stream, fallback, made)
    return out


def _shown_batch(sides: _Sides, names: list[str], columns: list[DeviceArray]) -> DeviceArray:
    side = sides.left_rows or sides.right_rows
    assert side is not None
    shown = columns[0] if columns else side.numbers
    return batch_of(names, columns, shown.length, shown)


# in which joins the left and the right side may have no row
_LEFT_MISSES, _RIGHT_MISSES = ("right outer", "full outer"), ("left outer", "full outer")


def _result(sides: _Sides, join_type: str, suffixes: tuple[str, str], coalesce_keys: bool) -> DeviceArray:
    left, right = _shown(sides, join_type, coalesce_keys)
    names: list[str] = []
    columns: list[DeviceArray] = []
    merged = coalesce_keys and join_type == "full outer"
    for batch, shown, side, others, suffix, missed, side_keys in (
        (sides.left, left, sides.left_rows, right, suffixes[0], _LEFT_MISSES, sides.left_keys),
        (sides.right, right, sides.right_rows, left, suffixes[1], _RIGHT_MISSES, sides.right_keys),
    ):
        keys = side_keys if merged else []
        own = [n for n in shown if n not in keys]
        taken = dict(zip(own, side.of([column_of(batch, n, "join") for n in own]) if side else (), strict=True))
        for name in shown:
            if name in taken:
                may_miss = join_type in missed or (
                    name in side_keys and join_type.endswith("outer")
                )  # as pyarrow's keys
                columns.append(nullable(taken[name]) if may_miss else taken[name])
                names.append(name + suffix if name in others else name)
            elif batch is sides.left:
                assert sides.left_rows is not None and sides.right_rows is not None
                right_key, left_key = sides.keys[sides.left_keys.index(name)]
                columns.append(nullable(sides.left_rows.merged(left_key, sides.right_rows, right_key)))
                names.append(name)
    return _shown_batch(sides, names, columns)


def _shown(sides: _Sides, join_type: str, coalesce_keys: bool) -> tuple[list[str], list[str]]:
    """The names of the columns of each side that are shown."""
    left, right = ([c.name for c in batch._schema.children] for batch in (sides.left, sides.right))
    if sides.left_rows is None:
        return [], right
    if sides.right_rows is None:
        return left, []
    if coalesce_keys and join_type in ("inner", "left outer"):
        right = [n for n in right if n not in sides.right_keys]
    if coalesce_keys and join_type == "right outer":
        left = [n for n in left if n not in sides.left_keys]
    return left, right
