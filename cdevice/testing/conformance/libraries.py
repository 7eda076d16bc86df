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
    """``distribution``: the name that its version is known by, or several, of which one is installed; ``prelude``:
    statements that import it; ``needs``: other distributions that its cases use."""

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


def through(title: str, source: str, taker: str, values: Any, **known: Any) -> list[Entry]:
    """What holds no Arrow data itself, through us: an object of it comes in, an array goes to it."""
    array = {"source": f"cdevice.asarray({source})", "values": values, **known}
    device = {"read": "lambda a: a.to('cpu').to_pylist()"}
    return [
        Entry("ProducerSuite", f"{title} by cdevice.asarray given", [array]),
        Entry("SchemaSuite", f"schema of {title} by cdevice.asarray", [array]),
        takes(f"{title} by cdevice", taker, **device),
    ]


TABLE = [{"a": 1}, {"a": None}, {"a": 3}]
MATRIX = [[1, 2, 3], [4, 5, 6]]
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
        "import numpy as np, cdevice",
        [
            *through("numpy.ndarray", "np.array([1, 2, 3])", "cdevice.asarray", [1, 2, 3], device_type=1),
            takes(
                "numpy by DeviceArray.to_numpy",
                "lambda o: cdevice.asarray(o).to_numpy(nulls='object')",
                read="lambda a: a.tolist()",
            ),
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
            Entry(
                "ProducerSuite",
                "datafusion.RecordBatch given",
                [
                    {
                        "source": "next(iter(context.from_pydict({'a': [1, None, 3]}).execute_stream()))",
                        "values": TABLE,
                        "batch": True,
                    }
                ],
            ),
            stream_taker("datafusion.SessionContext.from_arrow", "take", read="lambda d: d.to_pylist()"),
        ],
        ("pyarrow",),
    ),
    "awkward": Library(
        "awkward",
        "import awkward as ak",
        [
            gives("awkward.to_arrow", "ak.to_arrow(ak.Array({}), extensionarray=False)")[0],
            takes("awkward.from_arrow", "ak.from_arrow", read="lambda a: a.to_list()"),
            takes("awkward.from_dlpack", "ak.from_dlpack", "DLPackConsumerSuite"),
        ],
        ("numpy", "pyarrow"),
    ),
    "geoarrow": Library(
        "geoarrow-c",
        "import geoarrow.c as ga, geoarrow.types as gt, geoarrow.pyarrow as gp",
        [
            Entry("SchemaSuite", "geoarrow.c.type_spec_to_arrow", [{"source": "ga.type_spec_to_arrow(gt.point())"}]),
            Entry("ProducerSuite", "geoarrow.pyarrow.array given", [{"source": "gp.as_geoarrow(['POINT (0 1)'])"}]),
        ],
        ("geoarrow-types", "geoarrow-pyarrow"),
    ),
    "geoarrow-rust": Library(
        "geoarrow-rust-core",
        "import geoarrow.rust.core as gr, numpy as np",
        [
            Entry(
                "ProducerSuite",
                "geoarrow.rust.core.points given",
                [{"source": "gr.points(np.array([[0.0, 1.0], [2.0, 3.0]]))"}],
            ),
            Entry("SchemaSuite", "geoarrow.rust.core.point", [{"source": "gr.point('xy')"}]),
        ],
        ("numpy",),
    ),
    "adbc": Library(
        "adbc-driver-sqlite",
        "import adbc_driver_manager as manager, adbc_driver_sqlite, adbc_driver_sqlite.dbapi as dbapi, tempfile\n"
        "def cursor(sql):\n    c = dbapi.connect().cursor(); c.execute(sql); return c.fetch_arrow()\n"
        "def take(o):\n    c = dbapi.connect(tempfile.mkdtemp() + '/t').cursor()\n"
        "    c.adbc_ingest('t', o); c.execute('select * from t'); return c\n"
        "def statement():\n"
        "    c = manager.AdbcConnection(adbc_driver_sqlite.connect(tempfile.mkdtemp() + '/t'))\n"
        "    return manager.AdbcStatement(c)\n"
        "def result(s, sql): s.set_sql_query(sql); return s.execute_query()[0]\n"
        "def bind(o):\n"
        "    with statement() as s:\n"
        "        s.set_options(**{manager.INGEST_OPTION_TARGET_TABLE: 't'}); s.bind_stream(o); s.execute_update()\n"
        "        return __import__('pyarrow').table(result(s, 'select * from t'))\n",
        [
            streams("adbc cursor.fetch_arrow", "cursor('select 1 a union all select null union all select 3')", TABLE),
            stream_taker("adbc cursor.adbc_ingest", "take", read=f"lambda r: {COLUMN}"),
            streams(
                "adbc_driver_manager.AdbcStatement",
                "result(statement(), 'select 1 a union all select null union all select 3')",
                TABLE,
            ),
            stream_taker("adbc_driver_manager.AdbcStatement.bind_stream", "bind"),
        ],
        ("pyarrow",),
    ),
    "chdb": Library(
        "chdb",
        "import chdb, pyarrow as pa\n"
        "def take(o): return pa.table(chdb.query('select * from Python(o)', 'ArrowTable'))\n",
        [
            streams("chdb.query", "chdb.query('select 1 a union all select 3 a', 'Arrow')", None),
            stream_taker("chdb.query", "take", unordered=True),
        ],
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
        "import tempfile, lance, pyarrow as pa\n"
        "def write(o): return lance.write_dataset(o, tempfile.mkdtemp())\n"
        "def take(o): return write(pa.RecordBatchReader.from_stream(o)).to_table()\n",
        [
            streams("lance scanner.to_reader", "write(pa.table({'a': [1, None, 3]})).scanner().to_reader()", TABLE),
            Entry("SchemaSuite", "lance dataset.schema", [{"source": "write(pa.table({'a': [1]})).schema"}]),
            stream_taker("lance.write_dataset of pyarrow's reader", "take"),
        ],
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
    "tensorflow": Library(
        "tensorflow-cpu|tensorflow",
        "import tensorflow as tf\n"
        "def take(o): return tf.experimental.dlpack.from_dlpack(o.__dlpack__())\n",
        [
            tensors("tensorflow.Tensor", "tf.constant([[1, 2, 3], [4, 5, 6]], tf.int64)", MATRIX, readonly=True),
            takes("tensorflow from_dlpack", "take", "DLPackConsumerSuite", read="lambda t: t.numpy().tolist()"),
        ],
        (),
    ),
    "paddle": Library(
        "paddlepaddle",
        "import paddle",
        [
            tensors("paddle.Tensor", "paddle.to_tensor([[1, 2, 3], [4, 5, 6]])", MATRIX),
            takes("paddle.from_dlpack", "paddle.from_dlpack", "DLPackConsumerSuite"),
        ],
        (),
    ),
    "array_api_strict": Library(
        "array-api-strict",
        "import array_api_strict as xp, numpy as np",
        [
            tensors("array_api_strict.Array", "xp.asarray([[1, 2, 3], [4, 5, 6]])", MATRIX),
            takes(
                "array_api_strict.from_dlpack",
                "xp.from_dlpack",
                "DLPackConsumerSuite",
                read="lambda a: __import__('numpy').asarray(a).tolist()",
            ),
        ],
        ("numpy",),
    ),
    "tvm_ffi": Library(
        "apache-tvm-ffi",
        "import tvm_ffi, numpy as np",
        [
            tensors("tvm_ffi.Tensor", "tvm_ffi.from_dlpack(np.array([[1, 2, 3], [4, 5, 6]]))", MATRIX),
            takes(
                "tvm_ffi.from_dlpack",
                "tvm_ffi.from_dlpack",
                "DLPackConsumerSuite",
                read="lambda t: __import__('numpy').from_dlpack(t).tolist()",
            ),
        ],
        ("numpy",),
    ),
    "warp": Library(
        "warp-lang",
        "import warp as wp\nwp.config.quiet = True\nwp.init()",
        [
            tensors("warp.array", "wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.int64, device='cpu')", MATRIX),
            takes("warp.from_dlpack", "wp.from_dlpack", "DLPackConsumerSuite", read="lambda a: a.numpy().tolist()"),
        ],
        ("numpy",),
    ),
    "narwhals": Library(
        "narwhals",
        "import narwhals as nw, pyarrow as pa",
        [
            streams("narwhals.DataFrame", "nw.from_native(pa.table({'a': [1, None, 3]}))", TABLE),
            streams(
                "narwhals.Series",
                "nw.from_native(pa.chunked_array([[1, None, 3]]), series_only=True)",
                [1, None, 3],
            ),
            stream_taker(
                "narwhals.DataFrame.from_arrow",
                "lambda o: nw.DataFrame.from_arrow(o, backend='pyarrow')",
                read="lambda d: d.to_native().to_pylist()",
            ),
        ],
        ("pyarrow",),
    ),
    "ibis": Library(
        "ibis-framework",
        "import ibis, pyarrow as pa",
        [
            streams("ibis.memtable", "ibis.memtable({'a': [1, None, 3]})", None),
            Entry("SchemaSuite", "ibis.Schema", [{"source": "ibis.schema({'a': 'int64'})"}]),
            stream_taker("ibis.memtable", "ibis.memtable", read="lambda t: t.to_pyarrow().to_pylist()"),
        ],
        ("pyarrow",),
    ),
    "sedonadb": Library(
        "sedonadb",
        "import sedonadb\ncontext = sedonadb.connect()",
        [
            streams("sedonadb.DataFrame", "context.sql('select * from (values (1), (null), (3)) t(a)')", TABLE),
            Entry("SchemaSuite", "schema of sedonadb.DataFrame", [{"source": "context.sql('select 1 a')"}]),
            stream_taker(
                "sedonadb create_data_frame",
                "context.create_data_frame",
                read="lambda d: d.to_arrow_table().to_pylist()",
            ),
        ],
        ("pyarrow",),
    ),
    "daft": Library(
        "daft",
        "import daft",
        [
            streams("daft.DataFrame", "daft.from_pydict({'a': [1, None, 3]})", TABLE),
            *gives("daft.Series", "daft.Series.from_pylist({})"),
            takes("daft.Series.from_arrow", "daft.Series.from_arrow"),
            stream_taker("daft.from_arrow", "daft.from_arrow", read="lambda d: d.to_pylist()"),
        ],
        ("pyarrow",),
    ),
    "pyogrio": Library(
        "pyogrio",
        "import io, pyogrio\n"
        "def take(o):\n    out = io.BytesIO(); pyogrio.write_arrow(o, out, driver='CSV', layer='t', encoding='utf-8')\n"
        "    rows = out.getvalue().decode().split()\n"
        "    return [{rows[0]: int(r) if r.strip('\"') else None} for r in rows[1:]]\n",
        [stream_taker("pyogrio.write_arrow", "take", read="lambda rows: rows")],
        ("pyarrow",),
    ),
    "pantab": Library(
        "pantab",
        "import tempfile, pantab, pyarrow as pa\n"
        "def write(o):\n"
        "    file = tempfile.mkdtemp() + '/t.hyper'; pantab.frame_to_hyper(o, file, table='t')\n"
        "    return pantab.frame_from_hyper(file, table='t', return_type='pyarrow')\n",
        [
            streams("pantab.frame_from_hyper", "write(pa.table({'a': [1, None, 3]}))", TABLE),
            stream_taker("pantab.frame_to_hyper", "write"),
        ],
        ("pyarrow",),
    ),
    "obstore": Library(
        "obstore",
        "import obstore.store\n"
        "def listed():\n"
        "    store = obstore.store.MemoryStore(); store.put('a', b'xy')\n"
        "    return store.list(return_arrow=True).collect()\n",
        [Entry("ProducerSuite", "obstore list given", [{"source": "listed()", "batch": True}])],
        ("arro3-core",),
    ),
    "connectorx": Library(
        "connectorx",
        "import sqlite3, tempfile, connectorx\n"
        "def rows():\n"
        "    file = tempfile.mkdtemp() + '/t'; c = sqlite3.connect(file); c.execute('create table t(a integer)')\n"
        "    c.execute('insert into t values (1), (null), (3)'); c.commit(); c.close()\n"
        "    return connectorx.read_sql('sqlite://' + file, 'select a from t', return_type='arrow_stream')\n",
        [streams("connectorx.read_sql", "rows()", TABLE)],
        ("pyarrow",),
    ),
    "ladybug": Library(
        "ladybug",
        "import ladybug\n"
        "def rows():\n"
        "    c = ladybug.Connection(ladybug.Database(':memory:'))\n"
        "    return c.execute('unwind [1, 3] as a return a').get_as_arrow()\n",
        [streams("ladybug get_as_arrow", "rows()", [{"a": 1}, {"a": 3}])],
        ("pyarrow",),
    ),
    "pyopencl": Library(
        "pyopencl",
        "import cdevice, numpy as np, pyopencl as cl, pyopencl.array\n"
        "device = next(d for p in cl.get_platforms() for d in p.get_devices())\n"
        "queue = cl.CommandQueue(cl.Context([device]))\n",
        through(
            "pyopencl.array.Array",
            "cl.array.to_device(queue, np.array([1, 2, 3]))",
            "lambda o: cdevice.asarray(o).to('opencl', stream=queue)",
            [1, 2, 3],
            device_type=4,
        ),
        ("numpy",),
    ),
    "cupy": Library(
        "cupy-cuda13x|cupy-cuda12x|cupy-rocm-7-0|cupy",
        "import cdevice, cupy\n"
        "there = 'rocm' if cupy.cuda.runtime.is_hip else 'cuda'\nstream = cupy.cuda.Stream(non_blocking=True)\n",
        [
            *through(
                "cupy.ndarray",
                "cupy.array([1, 2, 3])",
                "lambda o: cdevice.asarray(o).to(there, stream=stream)",
                [1, 2, 3],
            ),
            tensors("cupy.ndarray", "cupy.array([[1, 2, 3], [4, 5, 6]])", MATRIX),
            takes("cupy.from_dlpack", "cupy.from_dlpack", "DLPackConsumerSuite", read="lambda a: a.get().tolist()"),
        ],
        ("numpy",),
    ),
    "hip": Library(
        "hip-python",
        "import cdevice, rocm.bindings.hip\n"
        "def hip_array(): return cdevice.asarray([1, 2, 3]).to('rocm').to_hip()\n",
        [
            *through(
                "hip-python's array",
                "hip_array()",
                "lambda o: cdevice.asarray(cdevice.asarray(o).to('rocm').to_hip())",
                [1, 2, 3],
                device_type=10,
            ),
            tensors("hip-python's array", "hip_array()", [1, 2, 3]),
        ],
        (),
    ),
    "numba": Library(
        "numba-cuda",
        "import cdevice, numba.cuda as nc, numpy as np\nstream = nc.stream()\n",
        [
            *through(
                "numba.cuda device array",
                "nc.to_device(np.array([1, 2, 3]))",
                "lambda o: cdevice.asarray(o).to('cuda', stream=stream)",
                [1, 2, 3],
                device_type=2,
            ),
            tensors("numba.cuda device array", "nc.to_device(np.array([1, 2, 3]))", [1, 2, 3]),
        ],
        ("numpy",),
    ),
}  # fmt: skip


def installed(distribution: str) -> str | None:
    """The version of a distribution that is installed, of the first of several."""
    from importlib import metadata

    for name in distribution.split("|"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
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
    lacking = [name.partition("|")[0] for name in (found.distribution, *found.needs) if not installed(name)]
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
