"""The collection: the steps that are done with each batch, and the graph of tasks that does it."""

from __future__ import annotations

import pickle
from functools import partial
from uuid import uuid4

from dask.base import DaskMethodsMixin, tokenize
from dask.threaded import get as _threaded

from .._runtime.ext import _native
from .._values.from_python import from_list
from ..compute.expressions.batches import named
from ..compute.expressions.expression import Expression, condition, field
from ..errors import ArgumentError
from ..interop.asarray import asarray
from ..schema import asschema
from . import steps
from .graph import culled, tree
from .steps import Part, Steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .._types import DeviceArray, DeviceLike, Schema

    Graph = dict[Any, Any]

JOINS = ("inner", "left outer", "left semi", "left anti")  # of each batch alone
MERGED = 8  # states that one task puts together


class Batches(DaskMethodsMixin):  # type: ignore[misc]
    """A lazy collection of record batches on the devices of Dask's workers.

    Comes from :func:`read_parquet` and :func:`from_batches`.  Immutable; methods give new collections, :meth:`compute`,
    ``persist()`` and :meth:`to_arrow` have Dask compute.  A Dask collection: ``dask.compute``, ``dask.persist`` and
    ``Client.compute`` take it.  Each partition is one task, which reads its rows and does all steps.  A step is first
    done with no rows, in this process: a wrong one is an error there, before anything is read.  ``dask``: the graph.
    No method blocks but those three.  Any thread.
    """

    __dask_optimize__ = staticmethod(culled)
    __dask_scheduler__ = staticmethod(_threaded)

    def __init__(self) -> None:
        raise TypeError("Batches cannot be made directly: use read_parquet() or from_batches()")

    _name: str
    _sources: list[Any]  # of each partition: a Part, or the key of a task
    _steps: Steps
    _others: tuple[Any, ...]  # keys of the tables that are joined
    _graph: Graph  # the tasks that those keys name
    _empty: DeviceArray  # no rows, on the CPU: the schema

    @classmethod
    def _of(
        cls, name: str, sources: list[Any], empty: DeviceArray, graph: Graph, did: Steps, others: tuple[Any, ...] = ()
    ) -> Batches:
        self: Batches = object.__new__(cls)
        self._name, self._sources, self._empty, self._graph = name, sources, empty, graph
        self._steps, self._others = did, others
        return self

    @classmethod
    def of_parts(cls, name: str, parts: list[Part], empty: DeviceArray) -> Batches:
        """A collection of parts; read_parquet() and from_batches() make it.

        ``name``: of its tasks; ``parts``: of its partitions; ``empty``: a batch of no rows.  Never raises.
        """
        return cls._of(f"cdevice-{name}", [*parts], empty, {}, Steps())

    # ---- Dask's protocol ----
    def __dask_graph__(self) -> Graph:
        graph = dict(self._graph)
        for key, source in zip(self.__dask_keys__(), self._sources):
            if key != source:
                graph[key] = (self._steps, source, *self._others)
        return graph

    @property
    def dask(self) -> Graph:
        """The graph of tasks.  Never raises."""
        return self.__dask_graph__()

    def __dask_keys__(self) -> list[Any]:
        return [(self._name, i) for i in range(len(self._sources))]

    def __dask_layers__(self) -> tuple[str, ...]:
        return (self._name,)

    def __dask_tokenize__(self) -> str:
        return self._name

    def __dask_postcompute__(self) -> tuple[Any, ...]:
        return steps.on_the_cpu, ()

    def __dask_postpersist__(self) -> tuple[Any, ...]:
        return _persisted, (self._name, len(self._sources), self._empty)

    # ---- the schema ----
    @property
    def schema(self) -> Schema:
        """The :class:`~cdevice.Schema` of every batch.  Never raises."""
        return self._empty.schema

    @property
    def column_names(self) -> list[str]:
        """The names of the columns.  Never raises."""
        return self._empty.column_names

    @property
    def npartitions(self) -> int:
        """How many batches there are.  Never raises."""
        return len(self._sources)

    def __repr__(self) -> str:
        return f"<cdevice.dask.Batches of {self.schema.type}, {self.npartitions} partitions>"

    # ---- steps ----
    def _then(self, step: Callable[..., DeviceArray], *token: Any) -> Batches:
        empty = step(self._empty)
        if empty.schema.format != "+s":
            raise ArgumentError(f"map_batches: the function must return a batch, not an array of {empty.schema.type}")
        return self._with(step, empty[:0].to("cpu"), token)

    def _with(self, step: Callable[..., DeviceArray], empty: DeviceArray, token: tuple[Any, ...]) -> Batches:
        name = f"cdevice-{tokenize(self._name, *token)}"
        return self._of(name, self._sources, empty, self._graph, self._steps.then(step), self._others)

    def filter(self, where: Expression | str) -> Batches:
        """The rows that a condition is true for.

        ``where``: an :class:`~cdevice.compute.Expression`, or its text.  Raises ArgumentError for a column that is not
        there, with its place in the expression, NoKernel, TypeError.
        """
        where = condition(where, "filter")
        return self._then(partial(steps.filter_rows, where=where), "filter", _bytes(where))

    def project(self, columns: Mapping[str, Any] | Iterable[Any]) -> Batches:
        """Batches of some expressions.

        ``columns``: as :meth:`cdevice.DeviceArray.project`.  Raises as :meth:`filter`.
        """
        wanted = named(columns, "project")
        return self._then(partial(steps.compute_columns, wanted=wanted), "project", _bytes(wanted))

    def with_columns(self, columns: Mapping[str, Any] | None = None, /, **more: Any) -> Batches:
        """Each batch with these columns.

        ``columns``, ``more``: names and expressions.  Raises as :meth:`filter`.
        """
        there = {name: field(name) for name in self.column_names}
        return self.project({**there, **named({**(columns or {}), **more}, "with_columns")})

    def select(self, columns: Iterable[str]) -> Batches:
        """Some columns of each batch.

        ``columns``: their names, in this order.  Raises ArgumentError for one that is not there.
        """
        return self.project([*columns] if not isinstance(columns, str) else columns)

    def map_batches(self, function: Callable[[DeviceArray], Any], *, schema: Any = None) -> Batches:
        """What a function makes of each batch, on its worker.

        ``function``: of a :class:`~cdevice.DeviceArray`; returns a batch: what :func:`cdevice.asarray` takes.
        ``schema``: of its results, as :func:`cdevice.asschema` takes it; None: the function is called here with a batch
        of no rows.  Raises ArgumentError for results that are no batches, and what the function raises.
        """
        if not callable(function):
            raise TypeError(f"map_batches: expected a function, not {type(function).__name__}")
        step, token = partial(steps.call, function=function), ("map_batches", uuid4().hex)
        if schema is None:
            return self._then(step, *token)
        return self._with(step, from_list([], asschema(schema)).to_batch(), token)

    def to(self, device: DeviceLike) -> Batches:
        """The same batches on another device of each worker.

        ``device``: see :func:`cdevice.device`; this process need not have it if it is a str.  Never raises for a str.
        """
        word = str(device)
        return self._with(partial(steps.move, device=word), self._empty, ("to", word))

    # ---- several batches ----
    def join(self, right: Any, keys: Any, right_keys: Any = None, join_type: str = "left outer") -> Batches:
        """Each batch joined with a small table, which goes to every worker once.

        ``right``: a batch, what :func:`cdevice.asarray` takes, or a collection, whose rows are put together.  ``keys``,
        ``right_keys``: as :func:`cdevice.compute.join`.  ``join_type``: "inner", "left outer", "left semi" or "left
        anti": those that look at each row of the left side alone.  Raises ArgumentError for another one and for columns
        that are not there, and as :func:`cdevice.compute.join`.
        """
        if join_type not in JOINS:
            raise ArgumentError(f"join: join_type must be one of {', '.join(JOINS)} here, not {join_type!r}")
        key, graph, small = _whole(right)
        step = partial(steps.join_small, keys=keys, right_keys=right_keys, join_type=join_type)
        empty = step(self._empty, small)
        name = f"cdevice-{tokenize(self._name, 'join', key, _bytes((keys, right_keys)), join_type)}"
        did = self._steps.then(step, joined=True)
        return self._of(name, self._sources, empty, {**self._graph, **graph}, did, (*self._others, key))

    def group_by(self, keys: Any, *, where: Expression | None = None) -> GroupedBatches:
        """The groups of all rows.

        ``keys``: names, or a mapping of names to expressions; ``where``: an expression that chooses the rows, or None:
        as :func:`cdevice.compute.group_by`.  Raises nothing before :meth:`GroupedBatches.aggregate`.
        """
        return GroupedBatches(self, keys, where)

    # ---- results ----
    def compute(self, **options: Any) -> DeviceArray:
        """All rows as one array of the CPU.

        ``options``: as of every Dask collection.  Results go to the memory of the CPU before they are sent, so that
        this process needs no device.  Blocks until it is computed.  Raises what a task raised, and Dask's own errors.
        """
        there = self.to("cpu")
        found: DeviceArray = super(Batches, there).compute(**options)
        return found

    def to_arrow(self, **options: Any) -> Any:
        """All rows as a ``pyarrow.Table``.

        ``options``, errors and blocking: as :meth:`compute`.  Raises ModuleNotFoundError without pyarrow.
        """
        import pyarrow as pa

        return pa.Table.from_batches([pa.record_batch(self.compute(**options))])


class GroupedBatches:
    """The rows of a collection by the values of some columns; :meth:`Batches.group_by` makes it.

    ``batches``, ``keys``, ``where``: as there.  Does not block.  Any thread.
    """

    def __init__(self, batches: Batches, keys: Any, where: Any) -> None:
        self._batches, self._keys, self._where = batches, keys, where

    def aggregate(self, wanted: Any) -> Batches:
        """What each group comes to: a collection of one batch.

        ``wanted``: as :meth:`cdevice.compute.GroupBy.aggregate`.  Every task makes the states of its rows; tasks that
        put some of them together form a tree, and states alone are sent.  Does not block.  Raises ArgumentError for an
        aggregate or a column that is not there, NoKernel, TypeError.
        """
        step = partial(steps.group, keys=self._keys, where=self._where, wanted=wanted)
        of = self._batches
        states = of._then(step, "group_by", _bytes((self._keys, self._where, wanted)))
        name = f"{states._name}-finish"
        graph, last = tree(f"{states._name}-merge", states.__dask_keys__(), steps.merge_states, MERGED)
        graph[name, 0] = (steps.finish_states, last)
        empty = steps.finish_states([states._empty])[:0]  # of no keys there is one group
        return Batches._of(name, [(name, 0)], empty, {**states.__dask_graph__(), **graph}, Steps())


def _persisted(
    graph: Graph, name: str, n: int, empty: DeviceArray, *, rename: Mapping[str, str] | None = None
) -> Batches:
    """A collection whose partitions are there.  Named in Dask's messages."""
    name = (rename or {}).get(name, name)
    keys = [(name, i) for i in range(n)]
    return Batches._of(name, keys, empty, {k: graph[k] for k in keys}, Steps())


def _whole(right: Any) -> tuple[Any, Graph, DeviceArray]:
    """(key, graph, the same without rows) of the right side of a join."""
    if isinstance(right, Batches):
        key = f"{right._name}-whole"
        return key, {**right.__dask_graph__(), key: (steps.one_array, right.__dask_keys__())}, right._empty
    small: Any = right if isinstance(right, _native.Array) else asarray(right)
    key = f"cdevice-small-{uuid4().hex}"
    return key, {key: (Steps(), Part(small, [], small.schema, None))}, from_list([], small.schema)


def _bytes(value: Any) -> Any:
    """What tells a value from others, for the name of a task."""
    try:
        return pickle.dumps(value, 5)
    except Exception:  # one that Dask's own pickle takes, perhaps
        return uuid4().hex
