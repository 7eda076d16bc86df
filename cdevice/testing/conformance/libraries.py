"""What there is to check of a library by its name: its objects, and its functions that take others' objects."""

from __future__ import annotations

import collections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .report import Report
    from .suite import Suite


class Entry(collections.namedtuple("Entry", "suite title cases")):
    """``suite``: the name of a class of cdevice.testing; ``title``: words for it; ``cases``: as suites take them."""

    __slots__ = ()


class Library(collections.namedtuple("Library", "distribution prelude entries needs")):
    """``distribution``: the name that its version is known by; ``prelude``: statements that import it; ``needs``: other
    distributions that its cases use."""

    __slots__ = ()


COLUMN = "[{'column': v[0]} for v in r.fetchall()]"
GIVES = {
    "ints": ("[1, None, 3]", [1, None, 3]),
    "texts": ("['a', 'bb', None]", ["a", "bb", None]),
    "lists": ("[['a'], []]", [["a"], []]),
}


def gives(title: str, pattern: str, names: str = "ints texts lists", **known: Any) -> list[Entry]:
    """Arrays of Python values: ``pattern`` has a place for the rows."""
    cases = [{"source": pattern.format(GIVES[n][0]), "values": GIVES[n][1], **known} for n in names.split()]
    return [Entry("ProducerSuite", f"{title} given", cases), Entry("SchemaSuite", f"schema of {title}", cases)]


def takes(title: str, source: str, suite: str = "ConsumerSuite", **known: Any) -> Entry:
    return Entry(suite, f"{title} takes", [{"source": source, **known}])


def streams(title: str, source: str, values: Any, **known: Any) -> Entry:
    return Entry("StreamProducerSuite", f"{title} given", [{"source": source, "values": values, **known}])


def stream_taker(title: str, source: str, **known: Any) -> Entry:
    return takes(title, source, "StreamConsumerSuite", **known)


def tensors(title: str, source: str, values: Any, **known: Any) -> Entry:
    return Entry("DLPackSuite", f"{title} given", [{"source": source, "values": values, **known}])


TABLE = [{"a": 1}, {"a": None}, {"a": 3}]
LIBRARIES = {
    "cdevice": Library(
        "cdevice",
        """
import cdevice, cdevice.aio
class Source:
    def start(self, address):
        rows = [{"a": 1}, {"a": None}], [{"a": 3}]
        return cdevice.aio.produce([cdevice.asarray(r) for r in rows], address)
class End:
    def handler(self):
        self.consumer = cdevice.aio.consume(queue_size=2)
        return int(self.consumer.handler_address)
    def read(self):
        return [row for batch in self.consumer for row in batch.to_pylist()]
def failing():
    yield cdevice.asarray([1])
    raise ValueError("the words")
""",
        [
            *gives("cdevice.asarray", "cdevice.asarray({})"),
            takes("cdevice.asarray", "cdevice.asarray"),
            streams("cdevice.asstream", "cdevice.asstream([cdevice.asarray(r) for r in ([1, 2], [3])])", [1, 2, 3]),
            streams("cdevice.asstream that fails", "cdevice.asstream(failing())", None, fails=True),
            stream_taker(
                "cdevice.asstream", "cdevice.asstream", read="lambda s: [x for a in s for x in a.to_pylist()]"
            ),
            Entry("HandlerSuite", "cdevice.aio", [{"source": "Source()", "values": TABLE}, {"source": "End()"}]),
            tensors("cdevice.asarray", "cdevice.asarray([1, 2, 3])", [1, 2, 3], readonly=True),
            takes("cdevice.asarray", "cdevice.asarray", "DLPackConsumerSuite"),
        ],
        (),
    ),
    "pyarrow": Library(
        "pyarrow",
        "import pyarrow as pa",
        [
            gives("pyarrow.array", "pa.array({})")[0],
            Entry(
                "SchemaSuite",
                "pyarrow.schema",
                [
                    {"source": "pa.int64()", "format": "l"},
                    {"source": "pa.field('a', pa.list_(pa.string()), metadata={'k': 'v'})", "format": "+l"},
                    {"source": "pa.schema({'a': pa.dictionary(pa.int8(), pa.string()), 'b': pa.map_('u4', 'f8')})"},
                ],
            ),
            Entry(
                "ProducerSuite",
                "pyarrow.record_batch given",
                [{"source": "pa.record_batch({'a': [1, None, 3]})", "values": TABLE, "batch": True}],
            ),
            takes("pyarrow.array", "pa.array"),
            takes("pyarrow.record_batch", "pa.record_batch", batch=True),
            streams("pyarrow.table", "pa.table({'a': [1, None, 3]})", TABLE),
            stream_taker("pyarrow.table", "pa.table"),
            stream_taker(
                "pyarrow.RecordBatchReader",
                "pa.RecordBatchReader.from_stream",
                read="lambda r: r.read_all().to_pylist()",
            ),
            stream_taker("pyarrow.chunked_array", "pa.chunked_array", batch=False),
            tensors("pyarrow.array", "pa.array([1, 2, 3])", [1, 2, 3], readonly=True),
        ],
        (),
    ),
    "nanoarrow": Library(
        "nanoarrow",
        "import nanoarrow as na, nanoarrow.device, pyarrow as pa",
        [
            Entry(
                "ProducerSuite",
                "nanoarrow.c_array given",
                [
                    {"source": "na.c_array([1, None, 3], na.int64())", "values": [1, None, 3]},
                    {"source": "na.c_array(['a', 'bb'], na.string())", "values": ["a", "bb"]},
                ],
            ),
            Entry(
                "ProducerSuite",
                "nanoarrow.c_array of string_view given",
                [{"source": "na.c_array(pa.array(['x', 'a text that is too long for a view'], pa.string_view()))"}],
            ),
            Entry(
                "ProducerSuite",
                "nanoarrow.c_device_array given",
                [{"source": "na.device.c_device_array(na.c_array([1, None, 3], na.int64()))", "values": [1, None, 3]}],
            ),
            Entry("SchemaSuite", "nanoarrow.schema", [{"source": "na.c_schema(na.int64())", "format": "l"}]),
            takes("nanoarrow.c_array", "na.c_array", read="lambda a: __import__('nanoarrow').Array(a).to_pylist()"),
            takes(
                "nanoarrow.c_device_array",
                "na.device.c_device_array",
                read="lambda a: __import__('nanoarrow').Array(a).to_pylist()",
            ),
            streams("nanoarrow.ArrayStream", "na.c_array_stream(na.c_array([1, None, 3], na.int64()))", [1, None, 3]),
            stream_taker("nanoarrow.ArrayStream", "na.ArrayStream", read="lambda r: r.read_all().to_pylist()"),
        ],
        ("pyarrow",),
    ),
    "arro3": Library(
        "arro3-core",
        "from arro3.core import Array, RecordBatch, Table, DataType, ArrayReader",
        [
            Entry(
                "ProducerSuite",
                "arro3.Array given",
                [{"source": "Array([1, None, 3], DataType.int64())", "values": [1, None, 3]}],
            ),
            Entry("SchemaSuite", "arro3.DataType", [{"source": "DataType.int64()", "format": "l"}]),
            takes("arro3.Array", "Array.from_arrow", read="lambda a: __import__('pyarrow').array(a).to_pylist()"),
            takes(
                "arro3.RecordBatch",
                "RecordBatch.from_arrow",
                batch=True,
                read="lambda a: __import__('pyarrow').record_batch(a).to_pylist()",
            ),
            streams("arro3.Table", "Table.from_pydict({'a': Array([1, None, 3], DataType.int64())})", TABLE),
            stream_taker(
                "arro3.Table", "Table.from_arrow", read="lambda t: __import__('pyarrow').table(t).to_pylist()"
            ),
        ],
        ("pyarrow",),
    ),
    "polars": Library(
        "polars",
        "import polars as pl",
        [
            streams("polars.DataFrame", "pl.DataFrame({'a': [1, None, 3]})", TABLE),
            streams("polars.Series", "pl.Series([1, None, 3])", [1, None, 3]),
            Entry("SchemaSuite", "polars.Schema", [{"source": "pl.DataFrame({'a': [1]}).schema"}]),
            takes("polars.Series", "pl.Series", read="lambda s: s.to_list()"),
            takes("polars.DataFrame", "pl.DataFrame", batch=True, read="lambda d: d.to_dicts()"),
            stream_taker("polars.DataFrame", "pl.DataFrame", read="lambda d: d.to_dicts()"),
        ],
        (),
    ),
    "duckdb": Library(
        "duckdb",
        "import duckdb\ndef take(o): return duckdb.sql('select * from o')",
        [
            streams("duckdb.sql", "duckdb.sql('select * from (values (1), (null), (3)) t(a)')", TABLE),
            stream_taker("duckdb.sql", "take", read=f"lambda r: {COLUMN}"),
        ],
        ("pyarrow",),
    ),
    "pandas": Library(
        "pandas",
        "import pandas as pd, numpy as np",
        [
            streams("pandas.DataFrame", "pd.DataFrame({'a': [1, 3]})", [{"a": 1}, {"a": 3}]),
            streams("pandas.Series", "pd.Series([1, 3])", [1, 3]),
            stream_taker(
                "pandas.DataFrame",
                "pd.DataFrame.from_arrow",
                read="lambda d: [{'column': None if v != v else int(v)} for v in d['column']]",
            ),
        ],
        ("pyarrow",),
    ),
    "numpy": Library(
        "numpy",
        "import numpy as np",
        [
            tensors("numpy.ndarray", "np.array([[1, 2, 3], [4, 5, 6]])", [[1, 2, 3], [4, 5, 6]]),
            tensors(
                "numpy read-only", "np.broadcast_to(np.array([1, 2, 3]), (2, 3))", [[1, 2, 3], [1, 2, 3]], readonly=True
            ),
            takes("numpy.from_dlpack", "np.from_dlpack", "DLPackConsumerSuite"),
        ],
        (),
    ),
    "datafusion": Library(
        "datafusion",
        "import datafusion, pyarrow as pa\ncontext = datafusion.SessionContext()\n"
        "def take(o): return datafusion.SessionContext().from_arrow(o)",
        [
            streams("datafusion.DataFrame", "context.from_pydict({'a': [1, None, 3]})", TABLE),
            stream_taker("datafusion.SessionContext.from_arrow", "take", read="lambda d: d.to_pylist()"),
        ],
        ("pyarrow",),
    ),
    "awkward": Library(
        "awkward",
        "import awkward as ak",
        [
            tensors("awkward.Array", "ak.Array([[1, 2, 3], [4, 5, 6]])", [[1, 2, 3], [4, 5, 6]]),
            takes("awkward.from_dlpack", "ak.from_dlpack", "DLPackConsumerSuite"),
        ],
        ("numpy",),
    ),
    "geoarrow": Library(
        "geoarrow-c",
        "import geoarrow.c as ga, geoarrow.types as gt",
        [Entry("SchemaSuite", "geoarrow.c.type_spec_to_arrow", [{"source": "ga.type_spec_to_arrow(gt.point())"}])],
        ("geoarrow-types",),
    ),
    "adbc": Library(
        "adbc-driver-sqlite",
        "import adbc_driver_sqlite.dbapi as dbapi\n"
        "def cursor(sql):\n    c = dbapi.connect().cursor(); c.execute(sql); return c.fetch_arrow()\n"
        "def take(o):\n    c = dbapi.connect().cursor(); c.adbc_ingest('t', o); c.execute('select * from t')\n"
        "    return c\n",
        [
            streams("adbc cursor.fetch_arrow", "cursor('select 1 a union all select null union all select 3')", TABLE),
            stream_taker("adbc cursor.adbc_ingest", "take", read=f"lambda r: {COLUMN}"),
        ],
        ("pyarrow",),
    ),
    "chdb": Library(
        "chdb",
        "import chdb, pyarrow as pa\n"
        "def take(o): return pa.table(chdb.query('select * from Python(o)', 'ArrowTable'))\n",
        [stream_taker("chdb.query", "take", unordered=True)],
        ("pyarrow", "pandas"),
    ),
    "deltalake": Library(
        "deltalake",
        "import tempfile, deltalake, pyarrow as pa\n"
        "def take(o):\n    folder = tempfile.mkdtemp(); deltalake.write_deltalake(folder, o)\n"
        "    return pa.table(deltalake.QueryBuilder().register('t', deltalake.DeltaTable(folder))"
        ".execute('select * from t').read_all())\n",
        [stream_taker("deltalake.write_deltalake", "take", unordered=True)],
        ("pyarrow",),
    ),
    "lance": Library(
        "pylance",
        "import tempfile, lance\n"
        "def take(o): return lance.write_dataset(o, tempfile.mkdtemp()).to_table()\n",
        [stream_taker("lance.write_dataset", "take")],
        ("pyarrow",),
    ),
    "jax": Library(
        "jax",
        "import jax.numpy as jnp, jax.dlpack, jax\njax.config.update('jax_enable_x64', True)",
        [
            tensors("jax.Array", "jnp.array([[1, 2, 3], [4, 5, 6]])", [[1, 2, 3], [4, 5, 6]], readonly=True),
            takes("jax.dlpack.from_dlpack", "jax.dlpack.from_dlpack", "DLPackConsumerSuite"),
        ],
        (),
    ),
    "torch": Library(
        "torch",
        "import torch",
        [
            tensors("torch.Tensor", "torch.tensor([[1, 2, 3], [4, 5, 6]])", [[1, 2, 3], [4, 5, 6]]),
            takes("torch.from_dlpack", "torch.from_dlpack", "DLPackConsumerSuite"),
        ],
        (),
    ),
}  # fmt: skip


def installed(distribution: str) -> str | None:
    """The version of a distribution that is installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def version_of(library: str) -> str | None:
    """The version of a library that is installed."""
    return installed(LIBRARIES[library].distribution)


def suites_of(library: str, seconds: float = 60.0, **how: Any) -> list[Suite]:
    """The suites of a library, which share the seconds; each is made with ``how``."""
    from .. import __name__ as testing

    found = LIBRARIES[library]
    out = []
    for entry in found.entries:
        cases = [{"prelude": found.prelude, "name": f"{c['source']}", **c} for c in entry.cases]
        suite = getattr(__import__(testing, fromlist=[entry.suite]), entry.suite)
        out.append(suite(cases, name=f"{library}: {entry.title}", seconds=seconds / len(found.entries), **how))
    return out


def needed(library: str) -> None:
    """Raises LookupError where the library is unknown, or where it or what its cases use is not installed."""
    if library not in LIBRARIES:
        raise LookupError(f"no library {library!r} is known; known are {', '.join(sorted(LIBRARIES))}")
    found = LIBRARIES[library]
    lacking = [name for name in (found.distribution, *found.needs) if not installed(name)]
    if lacking:
        raise LookupError(f"{' and '.join(lacking)} is not installed: pip install {' '.join(lacking)}")


def check(library: str, **how: Any) -> list[Report]:
    """The reports of a library's suites; raises LookupError as :func:`needed` does."""
    needed(library)
    return [suite.run() for suite in suites_of(library, **how)]


def applying(source: str, prelude: str = "", **how: Any) -> list[Suite]:
    """The suites of those who give, for an object that an expression makes."""
    from .. import DLPackSuite, ProducerSuite, SchemaSuite, StreamProducerSuite

    case = {"source": source, "prelude": prelude}
    kinds = (ProducerSuite, SchemaSuite, StreamProducerSuite, DLPackSuite)
    return [kind([case], name=f"{source}: {kind.__name__}", **how) for kind in kinds]
