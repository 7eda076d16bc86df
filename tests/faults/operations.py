"""What is done while something fails: each function makes its arguments on the device and gives the operation, which looks
at its own result.

``on``: "cpu", where no device takes part; "device", where one must; "both".  ``computes``: needs kernels.
"""

import asyncio
import pickle
import sys
import threading
import traceback

import cases
import numpy as np
import pyarrow as pa

import cdevice
import cdevice.compute as cc
from cdevice import aio
from cdevice._runtime.ext import ffi, lib
from cdevice.testing.fake import FakeBackend

OPERATIONS = {}
LAYOUTS = """null bool int64 decimal128 float16 timestamp[us,UTC] fixed_size_binary string large_string string_view list
large_list list_view fixed_size_list struct map dense_union sparse_union dictionary run_end_encoded list_of_struct
list_view_of_string_view struct_of_list_of_dictionary record""".split()


class Wrong(Exception):
    """A result that is not the one it must be."""


def same(got, want):
    if got != want:
        raise Wrong(f"{str(got)[:200]} instead of {str(want)[:200]}")


def operation(on="both", computes=False, grows=False, slow=False):
    """``grows``: more is kept after each call, as it shall be; ``slow``: a call takes long, fewer are made."""

    def take(function):
        function.on, function.computes, function.grows, function.slow = on, computes, grows, slow
        OPERATIONS[function.__name__.strip("_")] = function
        return function

    return take


def there(values, here, **more):
    a = cdevice.asarray(values, **more).to(here, copy=True)
    a.synchronize()
    return a


# ---- functions as C programs call them ----
@operation(computes=True)
def call_from_c(here):
    from cdevice.compute.from_c import call

    batch = there({"k": ["x", "y", "x"], "v": [1, 2, 3]}, here)
    options = '{"keys": ["k"], "aggregations": [["v", "sum"]], "where": "v < 3"}'
    want = [{"k": "x", "v_sum": 1}, {"k": "y", "v_sum": 2}]
    scalars = '{"scalars": [{"value": "2", "type": "int64"}]}'

    def run():
        same(call(("group_by", (batch,), options)).to("cpu").to_pylist(), want)
        same(call(("less", (batch["v"], None), scalars)).to("cpu").to_pylist(), [True, False, False])

    return run


# ---- arrays in and out ----
@operation("cpu")
def import_pyarrow(here):
    source = pa.record_batch([cases.ARRAYS[n] for n in LAYOUTS if n != "null"], [n for n in LAYOUTS if n != "null"])
    want = cdevice.asarray(source).to_pylist()
    return lambda: same(cdevice.asarray(source, validate="full").to_pylist(), want)


@operation("cpu")
def import_numpy(here):
    source = np.arange(60).reshape(20, 3)
    return lambda: same(cdevice.asarray(source)[1:3].to_pylist(), [[3, 4, 5], [6, 7, 8]])


@operation("cpu")
def import_list(here):
    rows = [{"a": [1, None], "b": "x", "c": None}, None, {"a": [], "b": "ü", "c": 2.5}]
    return lambda: same(cdevice.asarray(rows).to_pylist(), rows)


@operation("cpu")
def export_pyarrow(here):
    ours = [cdevice.asarray(cases.ARRAYS[n]) for n in LAYOUTS]

    def run():
        for array, name in zip(ours, LAYOUTS):
            same(pa.array(array[1:7]).equals(cases.ARRAYS[name][1:7]), True)

    return run


@operation()
def export_structs(here):
    ours = there(cases.ARRAYS["record"], here)
    want = ours.to("cpu").to_pylist()

    def run():
        d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
        ours._export_structs(int(ffi.cast("uintptr_t", d)), int(ffi.cast("uintptr_t", s)))
        try:
            back = cdevice.import_from_c(d, s)
        finally:
            if s.release:
                s.release(s)
            if d.array.release:
                d.array.release(ffi.addressof(d, "array"))
        same(back[1:].to("cpu").to_pylist(), want[1:])

    return run


@operation("cpu")
def wide(here):
    batch = pa.record_batch({f"c{i}": [i, None] for i in range(300)})

    def run():
        same(pa.record_batch(cdevice.asarray(batch)).equals(batch), True)

    return run


@operation("cpu")
def schema(here):
    source = pa.schema([pa.field(n, cases.ARRAYS[n].type, metadata={"k": "v"}) for n in LAYOUTS], {"a": "b"})

    def run():
        ours = cdevice.asschema(source)
        same(pa.schema(ours).equals(source, check_metadata=True), True)
        same(ours.with_name("x").name, "x")
        same(cdevice.Schema.make("i", "x", metadata={"q": "r"}).metadata, {b"q": b"r"})
        same(cdevice.asschema(["string"]) == cdevice.asschema(pa.list_(pa.string())), True)

    return run


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@operation("cpu")
def dlpack(here):
    source, ours = np.arange(12.0), cdevice.asarray(np.arange(12.0))

    def run():
        same(np.from_dlpack(ours)[3:5].tolist(), [3.0, 4.0])
        same(cdevice.asarray(OnlyDLPack(source))[3:5].to_pylist(), [3.0, 4.0])

    return run


@operation("cpu")
def pickled(here):
    ours = cdevice.asarray(cases.ARRAYS["record"])[1:6]
    want = ours.to_pylist()

    def run():
        buffers = []
        data = pickle.dumps(ours, protocol=5, buffer_callback=buffers.append)
        same(pickle.loads(data, buffers=buffers).to_pylist(), want)

    return run


@operation("cpu")
def buffers(here):
    offsets, bits = np.array([0, 1, 1, 3], "i4"), bytes([0b101])
    child = cdevice.asarray([1, 2, 3], schema="int8")

    def run():
        text = cdevice.from_buffers("string", 3, [bits, offsets, b"abc"], validate="full")
        same(text.to_pylist(), ["a", None, "bc"])
        lists = cdevice.from_buffers(["int8"], 3, [bits, offsets], children=[child], validate="full")
        same(lists.to_pylist(), [[1], None, [2, 3]])
        same(bytes(text.buffers[2].memoryview()), b"abc")

    return run


@operation()
def looks(here):
    ours = there(cases.ARRAYS["record"], here)
    other = there(cases.ARRAYS["record"], here)

    def run():
        same(ours.equals(other), True)
        same(repr(ours).partition(",")[0], "<cdevice.DeviceArray of 8 rows and 4 columns")  # values need not show
        same([c.length for c in ours.children], [8] * 4)
        same(len(ours[2:].field("s")), 6)
        same(ours.null_count, 0)

    return run


# ---- copies ----
def layout(name):
    def copied(here):
        source = cdevice.asarray(cases.ARRAYS[name])
        want = source.to_pylist()

        def run():
            a = source[1:7].to(here, copy=True)
            same(a[1:].to("cpu", copy=True).to_pylist(), want[2:7])

        return run

    copied.__name__ = f"copy {name}"
    operation()(copied)


for one in LAYOUTS:
    layout(one)


@operation()
def large(here):
    values = cdevice.asarray({"a": np.arange(400_000), "b": [str(i) for i in range(2000)] * 200})

    def run():
        a = values.to(here, copy=True)
        same(a.to("cpu", copy=True).equals(values), True)

    return run


@operation()
def joined(here):
    words = pa.array(["a", "b", None, "a"]).dictionary_encode(), pa.array(["b", "c", None, "d"]).dictionary_encode()
    pairs = [[there(w, here) for w in words]]
    want = [[*words[0].to_pylist(), *words[1].to_pylist()]]
    for name in (
        "bool",
        "string_view",
        "list",
        "dense_union",
        "sparse_union",
        "run_end_encoded",
        "record",
        "list_view",
    ):
        one = there(cases.ARRAYS[name], here)
        rows = one.to("cpu").to_pylist()
        pairs.append([one, one[2:5]])
        want.append(rows + rows[2:5])

    def run():
        for pair, rows in zip(pairs, want):
            same(cdevice.concat(pair).to("cpu").to_pylist(), rows)

    return run


@operation()
def emptied(here):
    types = ["int64", cdevice.asschema(pa.struct([("a", "int64"), ("b", "float32")]))]

    def run():
        for type in types:
            draft = cdevice.empty(type, 100, device=here, validity=True)
            same(draft.freeze().length, 100)
            draft = None
        cdevice.empty("int8", 1, device=here).freeze().synchronize()

    return run


@operation()
def moved_together(here):
    arrays = [cdevice.asarray(np.arange(50) + i) for i in range(20)]

    def run():
        moved = [a.to(here, copy=True) for a in arrays]
        for i, a in enumerate(moved):
            a.record_use(None)
            same(a[:2].to("cpu").to_pylist(), [i, i + 1])

    return run


# ---- other processes ----
@operation()
def share(here):
    """Opened by this process, whose memory it is."""
    batch = cdevice.record_batch({"x": there([1, None, 3], here), "s": there(["a", None, "ccc"], here)})
    cdevice.asarray([1]).share().close()  # the thread and its socket

    def run():
        with batch.share() as shared:
            same(cdevice.open_shared(shared.token).to("cpu").to_pylist(), batch.to("cpu").to_pylist())

    return run


@operation("cpu")
def share_empty(here):
    def run():
        draft = cdevice.empty("int64", 3, shared=True)
        np.asarray(draft.buffers[1])[:] = 7
        with draft.freeze().share() as shared:
            same(cdevice.open_shared(shared.token).to_pylist(), [7, 7, 7])

    return run


@operation("cpu")
def share_stream(here):
    cdevice.asarray([1]).share().close()

    def run():
        with cdevice.asstream(iter(batches()), schema=batches(1)[0].schema).share(nbytes=65536) as shared:
            try:
                same([r for a in cdevice.open_shared(shared.token) for r in a.to_pylist()], rows())
            except cdevice.StreamError:
                shared.join(30)  # raises what the writer met
                raise
            shared.join(30)

    return run


# ---- streams ----
def batches(n=4):
    return [cdevice.asarray([{"a": i, "b": "x" * i}]) for i in range(n)]


def rows(n=4):
    return [{"a": i, "b": "x" * i} for i in range(n)]


def stream_from_device_arg(prefetch):
    def stream(here):
        def run():
            with cdevice.asstream(iter(batches()), schema=batches(1)[0].schema) as s:
                with s.to(here, prefetch=prefetch) as moved:
                    same([r for a in moved for r in a.to("cpu").to_pylist()], rows())

        return run

    stream.__name__ = f"stream prefetch={prefetch}"
    operation()(stream)


stream_from_device_arg(0)
stream_from_device_arg(2)


@operation()
def stream_threaded(here):
    """The source is C, so that a thread copies ahead."""
    table = pa.table({"a": range(40), "b": [str(i) for i in range(40)]})
    want = table.to_pylist()

    def run():
        with cdevice.asstream(table.to_reader(max_chunksize=7), device=here, prefetch=2) as s:
            same(s.read_all("cpu").to_pylist(), want)

    return run


@operation("cpu")
def stream_out(here):
    def run():
        s = cdevice.asstream(iter(batches()), schema=batches(1)[0].schema)
        same(pa.RecordBatchReader.from_stream(s).read_all().to_pylist(), rows())

    return run


@operation("cpu")
def stream_structs(here):
    def run():
        out = ffi.new("struct ArrowDeviceArrayStream *")
        try:
            cdevice.asstream(batches()).export_to_c(out)
            same(cdevice.import_stream_from_c(out).to_pylist(), rows())
        finally:
            if out.release:
                out.release(out)

    return run


@operation()
def produced(here):
    def run():
        with aio.consume(queue_size=2) as c:
            p = aio.produce(iter(batches()), c, device=here, metadata={"k": "v"})
            same([r for a in c for r in a.to("cpu").to_pylist()], rows())
        p.join(20)

    return run


@operation()
def produced_pairs(here):
    def run():
        pairs = [(b, {"n": str(i)}) for i, b in enumerate(batches())]
        c = aio.consume(queue_size=3)
        p = aio.produce(iter(pairs), c, device=here)
        got = [(a.to("cpu").to_pylist()[0]["a"], c.batch_metadata) for a in c]
        p.join(20)
        same(got, [(i, {b"n": str(i).encode()}) for i in range(4)])

    return run


@operation()
def produced_in_a_loop(here):
    async def source():
        for b in batches():
            await asyncio.sleep(0)
            yield b

    async def main():
        got = []
        c = aio.consume(queue_size=2)
        p = aio.produce(source(), c, schema=batches(1)[0].schema, device=here)
        async for a in c:
            got += a.to("cpu").to_pylist()
        await p
        same(got, rows())

    return lambda: asyncio.run(main())


@operation()
def iterated(here):
    async def main():
        got = []
        async for a in aio.iterate(iter(batches()), device=here):
            got += a.to("cpu").to_pylist()
        same(got, rows())

    return lambda: asyncio.run(main())


@operation("cpu")
def consumer_as_stream(here):
    def run():
        c = aio.consume()
        p = aio.produce(cdevice.asstream(batches()), c)
        same(c.as_stream().to_pylist(), rows())
        p.join(20)

    return run


# ---- functions ----
def numbers(here):
    a = there([1, None, 3, 4, 5, None, 7], here, schema="int64")
    b = there([2, 2, None, 2, 2, 2, 2], here, schema="int64")
    return a, b


def function(name, call, want):
    def computed(here):
        given = numbers(here)

        def run():
            got = call(*given)
            same(got.as_py() if hasattr(got, "as_py") else got.to("cpu").to_pylist(), want)

        return run

    computed.__name__ = f"compute {name}"
    operation(computes=True)(computed)


def vector(x):
    """All of the rows as one list of a fixed size."""
    return cdevice.from_buffers("fixed_size_list<item: int64>[7]", 1, [None], children=[x])


function("add", lambda a, b: cc.add(a, b), [3, None, None, 6, 7, None, 9])
function("add scalar", lambda a, b: cc.add(a, 1), [2, None, 4, 5, 6, None, 8])
function("checked", lambda a, b: cc.multiply_checked(a, b), [2, None, None, 8, 10, None, 14])
function("divide", lambda a, b: cc.divide(a, b), [0, None, None, 2, 2, None, 3])
function("filter", lambda a, b: cc.filter(a, cc.greater(a, 3)), [4, 5, 7])
function("take", lambda a, b: cc.take(a, b), [3, 3, None, 3, 3, 3, 3])
function("drop_null", lambda a, b: cc.drop_null(a), [1, 3, 4, 5, 7])
function("if_else", lambda a, b: cc.if_else(cc.is_null(a), b, a), [1, 2, 3, 4, 5, 2, 7])
function("fill_null", lambda a, b: cc.fill_null(a, 9), [1, 9, 3, 4, 5, 9, 7])
function("sum", lambda a, b: cc.sum(a), 20)
function("mean", lambda a, b: cc.mean(cc.add(a, b)), 6.25)
function("min_max", lambda a, b: cc.max(a), 7)
function("cast", lambda a, b: cc.cast(a, "int16"), [1, None, 3, 4, 5, None, 7])
function("sort_indices", lambda a, b: cc.array_sort_indices(a, "descending"), [6, 4, 3, 2, 0, 1, 5])
function("rank", lambda a, b: cc.rank(b, tiebreaker="min"), [1, 1, 7, 1, 1, 1, 1])
function("cumulative_sum", lambda a, b: cc.cumulative_sum(a, skip_nulls=True), [1, None, 4, 8, 13, None, 20])
function("cumulative_checked", lambda a, b: cc.cumulative_prod_checked(b), [2, 4, None, None, None, None, None])
function("quantile", lambda a, b: cc.quantile(a, [0, 0.5, 1]), [1.0, 4.0, 7.0])
function("variance", lambda a, b: cc.variance(a), 4.0)
function("product", lambda a, b: cc.product(a), 420)
function("product of decimals", lambda a, b: cc.product(cc.cast(a, "decimal128(20, 0)")), 420)
function("mode", lambda a, b: cc.mode([b, a], 2), [{"mode": 2, "count": 6}, {"mode": 1, "count": 1}])
function("median of decimals", lambda a, b: cc.quantile(cc.cast(a, "decimal128(20, 0)")), [4.0])
function("fill_null_forward", lambda a, b: cc.fill_null_forward(a), [1, 1, 3, 4, 5, 5, 7])
function("fill_null_backward", lambda a, b: cc.fill_null_backward(a), [1, 3, 3, 4, 5, 7, 7])
function("run_end_encode", lambda a, b: cc.run_end_decode(cc.run_end_encode(b)), [2, 2, None, 2, 2, 2, 2])
function("scatter", lambda a, b: cc.scatter(a, [1, 0, 2, 3, 4, 5, 6]), [None, 1, 3, 4, 5, None, 7])
function("year", lambda a, b: cc.year(cc.cast(a, "timestamp[s]")), [1970, None, 1970, 1970, 1970, None, 1970])
function("hour", lambda a, b: cc.hour(cc.cast(a, "timestamp[s, Asia/Tokyo]")), [9, None, 9, 9, 9, None, 9])
function(
    "floor_temporal",
    lambda a, b: cc.cast(cc.floor_temporal(cc.cast(a, "timestamp[s]"), 3, "second"), "int64"),
    [0, None, 3, 3, 3, None, 6],
)
function(
    "seconds_between",
    lambda a, b: cc.seconds_between(*(cc.cast(x, "timestamp[s]") for x in (b, a))),
    [-1, None, None, 2, 3, None, 5],
)
function("exp", lambda a, b: cc.floor(cc.exp(cc.cast(b, "float64"))), [7.0, 7.0, None, 7.0, 7.0, 7.0, 7.0])
function("round", lambda a, b: cc.round(a, -1), [0, None, 0, 0, 0, None, 10])
function("modulo", lambda a, b: cc.modulo(a, 3), [1, None, 0, 1, 2, None, 1])
function("max_element_wise", lambda a, b: cc.max_element_wise(a, b), [2, 2, 3, 4, 5, 2, 7])
function(
    "case_when",
    lambda a, b: cc.case_when(cc.make_struct(cc.greater(a, 4), cc.is_null(a)), b, 0),
    [None, 0, None, None, 2, 0, 2],
)
function(
    "coalesce of strings",
    lambda a, b: cc.cast(cc.coalesce(*(cc.cast(x, "string") for x in (a, b))), "int64"),
    [1, 2, 3, 4, 5, 2, 7],
)
function("cast to views", lambda a, b: cc.cast(cc.cast(a, "string_view"), "int64"), [1, None, 3, 4, 5, None, 7])
function("struct_field", lambda a, b: cc.struct_field(cc.make_struct(a, b), 1), [2, 2, None, 2, 2, 2, 2])
function("list_dot", lambda a, b: cc.list_dot(vector(a), cc.add(vector(b), 1)), [51])
function("first_last", lambda a, b: cc.first_last(a), {"first": 1, "last": 7})
function("chunks", lambda a, b: cc.sum([a, b, a]), 52)
function("stream", lambda a, b: cc.sum(cdevice.asstream(iter([a, b]))), 32)


@operation(computes=True)
def compute_groups(here):
    """Numbers of rows, aggregates, states that are merged, and a join."""
    keys = there(["a", None, "a", "a string that is hashed", None, "a"], here)
    batch = cdevice.record_batch({"k": keys, "x": there([1, 2, None, 4, 5, 6], here, schema="int64")})
    asked = [("x", "sum"), ("x", "list"), ("x", "max")]
    want = [("a", 7, [1, None, 6], 6), (None, 7, [2, 5], 5), ("a string that is hashed", 4, [4], 4)]
    want = [dict(zip(("k", "x_sum", "x_list", "x_max"), row)) for row in want]

    def run():
        same(cc.group_by(batch, "k").aggregate(asked).to("cpu").to_pylist(), want)
        states = [cc.group_by(batch[a:b], "k").partial(asked) for a, b in ((0, 2), (2, 6))]
        same(cc.merge(states).to("cpu").to_pylist(), want)
        rows = cc.join_indices(batch[:2], batch[2:4], "k", join_type="full outer").to("cpu").to_pylist()
        same(rows, [{"left": 0, "right": 0}, {"left": 1, "right": None}, {"left": None, "right": 1}])

    return run


@operation(computes=True)
def compute_expressions(here):
    """Rows that are chosen, columns that are computed, one row and groups of all, batch by batch too."""
    f = cc.field
    batch = cdevice.record_batch(
        {
            "k": there([1, 2, 1, None], here),
            "x": there([1.5, None, 2.5, 4.0], here),
            "s": there(["a", "b", "c", "d"], here),
        }
    )
    where = (f("x") * 2 > 3) & (f("s") != "z")
    fused = (f("x") * 2 + f("k") * 3 - 1).bind(batch.schema)
    program = fused._program(batch)

    def run():
        same(batch.filter(where).to("cpu")["s"].to_pylist(), ["c", "d"])
        same(batch.project({"y": f("x") + 1}).to("cpu")["y"].to_pylist(), [2.5, None, 3.5, 5.0])
        same(fused._run(program, batch, None).array.to("cpu").to_pylist(), [5.0, None, 7.0, None])
        stream = cdevice.asstream([batch[:2], batch[2:]]).filter(where).with_columns(y=f("x") * 2)
        same(
            stream.group_by("k").aggregate([("y", "max")]).to("cpu").to_pylist(),
            [{"k": 1, "y_max": 5.0}, {"k": None, "y_max": 8.0}],
        )

    return run


@operation("cpu", computes=True)
def compute_aggregates_of_expressions(here):
    f = cc.field
    batch = cdevice.record_batch({"x": there([1.5, None, 2.5, 4.0], here), "s": there(["a", "b", "c", "d"], here)})
    where = (f("x") * 2 > 3) & (f("s") != "z")
    asked = {"t": (f("x") * 2, "sum"), "n": ([], "count_all"), "v": ("x", "variance")}
    want = [{"t": 13.0, "n": 2, "v": 0.5625}]
    return lambda: same(cc.aggregate(batch, asked, where=where).to("cpu").to_pylist(), want)


@operation(computes=True)
def compute_hash_functions(here):
    values, _ = numbers(here)
    grouper = cc.Grouper({"k": "int64"})

    def run():
        ids = grouper.consume(cdevice.record_batch({"k": values}))
        same(cc.hash_count(values, ids).to("cpu").to_pylist(), [1, 0, 1, 1, 1, 1])

    return run


@operation(computes=True)
def compute_first_rows(here):
    """Of so many that most are not sorted."""
    x = there(range(20_000), here, schema="int64")
    return lambda: same(cc.select_k_unstable(x, 1, [("", "descending")]).to("cpu").to_pylist(), [19_999])


@operation(computes=True)
def compute_decimals_of_256_bits(here):
    x = there([3, None, -(10**50), 3], here, schema="decimal256(60, 0)")

    def run():
        same(cc.array_sort_indices(x).to("cpu").to_pylist(), [2, 0, 3, 1])
        same(cc.sum(x).as_py(), 6 - 10**50)
        same(cc.equal(x, x).to("cpu").to_pylist(), [True, None, True, True])

    return run


@operation(computes=True)
def compute_texts(here):
    words = there(["a", None, "longer than a view", "b", ""], here)
    views = there(cases.ARRAYS["string_view"], here)
    batch = there(pa.record_batch({"i": [1, 2, None], "s": ["x", None, "zz"]}), here)
    mask, picks = there([True, None, True, False, True], here), there([2, 0, 0], here, schema="int64")

    def run():
        same(cc.filter(words, mask).to("cpu").to_pylist(), ["a", "longer than a view", ""])
        same(cc.take(views, picks).to("cpu").to_pylist(), ["", "a", "a"])
        same(cc.equal(words, "b").to("cpu").to_pylist(), [False, None, False, True, False])
        same(cc.take(batch, picks)[1:].to("cpu").to_pylist(), [{"i": 1, "s": "x"}] * 2)

    return run


@operation(computes=True)
def compute_selection(here):
    """Every layout in one batch: levels, what is shared, numbers of rows between them."""
    kinds, places = pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32())
    parts = [pa.array([1, None]), pa.array(["x", "y"])]
    columns = {
        "n": pa.array([1, 2, None, 4]),
        "b": pa.array([True, None, False, True]),
        "s": pa.array(["a", None, "longer than a view is wide", ""]),
        "l": pa.array([["a", "b"], None, [], [None, "c"]]),
        "v": pa.array(["a", None, "longer than a view is wide", ""], pa.string_view()),
        "w": pa.array([[1], None, [2, 3], []], pa.list_view(pa.int64())),
        "f": pa.array([[1, 2], None, [3, 4], [5, None]], pa.list_(pa.int8(), 2)),
        "d": pa.array(["a", "b", "a", None]).dictionary_encode(),
        "r": pa.RunEndEncodedArray.from_arrays(pa.array([3, 4], pa.int32()), pa.array(["p", None])),
        "u": pa.UnionArray.from_dense(kinds, places, parts),
        "0": pa.nulls(4),
    }
    batch = pa.record_batch(columns)
    x, rows = there(batch, here), batch.to_pylist()
    mask, picks = there([True, None, False, True], here), there([3, 0, 3], here, schema="int64")

    def run():
        same(cc.filter(x, mask).to("cpu").to_pylist(), [rows[0], rows[3]])
        same(cc.take(x, picks).to("cpu").to_pylist(), [rows[3], rows[0], rows[3]])
        emitted = cc.filter(x, mask, null_selection_behavior="emit_null").to("cpu").to_pylist()
        same(emitted, [rows[0], dict.fromkeys(columns), rows[3]])

    return run


@operation(computes=True)
def compute_strings(here):
    """Of two layouts: views of two buffers beside offsets of 64 bits."""
    rows = ["a", None, "longer than a view is wide", "", "another one of many bytes"]
    far = there(pa.chunked_array([pa.array(part, pa.string_view()) for part in (rows[:3], rows[3:])]), here)
    words, few = there(pa.array(rows[::-1], pa.large_string()), here), there(rows[:2], here)
    assert len(far.buffers) == 5  # validity, views, two of bytes, their sizes

    def run():
        same(cc.equal(far, words).to("cpu").to_pylist(), [False, None, True, None, False])
        same(cc.less(few, "b").to("cpu").to_pylist(), [True, None])
        same(cc.cast(far, "string").to("cpu").to_pylist(), rows)
        same(
            cc.cast(words[1:], "binary").to("cpu").to_pylist(), [None if w is None else w.encode() for w in rows[3::-1]]
        )
        same(cc.coalesce(far, words).to("cpu").to_pylist(), [rows[0], "", *rows[2:]])

    return run


@operation(computes=True, grows=True, slow=True)
def compute_own(here):
    """A text that was never compiled before."""
    a, names = there([1.0, None, 3.0], here), iter(range(10**6))

    def run():
        n = next(names)
        f = cc.elementwise(f"faulty{n}", "float64 a -> float64", f"a + {n}.0")
        same(f(a).to("cpu").to_pylist(), [1.0 + n, None, 3.0 + n])

    return run


@operation(computes=True)
def compute_own_wide(here):
    """More arguments than a kernel has buffers, several results, nulls that the text decides."""
    kinds = ", ".join(f"{'int64' if k % 2 else 'float32'} a{k}" for k in range(9))
    text = "low = coalesce(a0, 0.0f) + a8; many = a1 > 1 ? null : a1 + a3 + a5 + a7; yes = is_null(a0)"
    f = cc.elementwise("faulty", f"{kinds} -> float64 low, int64 many, bool yes", text)
    columns = [
        there([1, None, 3] if k < 2 else [1, 2, 3], here, schema="int64" if k % 2 else "float32") for k in range(9)
    ]
    want = [
        {"low": 2.0, "many": 4, "yes": False},
        {"low": 2.0, "many": None, "yes": True},
        {"low": 6.0, "many": None, "yes": False},
    ]
    return lambda: same(f(*columns).to("cpu").to_pylist(), want)


@operation(computes=True)
def compute_own_folds(here):
    """A reduction of several tiles and chunks, and a scan with nulls."""
    total = cc.reduction("faulty", "int64 x -> int64", "a + b", identity="0", finish="a * n")
    running = cc.scan("faulty", "int64 x -> int64", "a + b", identity="0")
    x, y = there(list(range(9000)), here), there([1, None, 3], here)
    n = 9000 * 8999 // 2 * 2

    def run():
        same(total([x, x]).as_py(), n * 18000)
        same(running(y, skip_nulls=True).to("cpu").to_pylist(), [1, None, 4])
        same(running(y).to("cpu").to_pylist(), [1, None, None])

    return run


@operation(computes=True)
def profile(here):
    x = there([1, 2, 3], here)

    def run():
        with cdevice.device(here).profile() as p:
            same(cc.add(x, x).to("cpu", copy=True).to_pylist(), [2, 4, 6])
        by_cpu = str(here).endswith("_host")
        same([e.name.split(".")[1] for e in p.events if e.kind == "kernel"], [] if by_cpu else ["add"])

    return run


# ---- devices ----
@operation("cpu", grows=True)
def plugged(here):
    def run():
        b = FakeBackend(96, "plugged")
        cdevice.register_backend(b)
        try:
            same(there([1, 2], (96, 1)).to("cpu").to_pylist(), [1, 2])
            same(cdevice.device("plugged:1").is_available, True)
        except BaseException as e:
            traceback.clear_frames(e.__traceback__)  # they have arrays
            raise
        finally:
            b.close()
            cdevice.unregister_backend(96)

    return run


class Lender:
    """The backend's own memory through the door for allocators."""

    def __init__(self, type_id):
        self.table, self.allocated = lib.cdv_backend_table(type_id), {}

    def allocate(self, nbytes, stream=None):
        block, error = (
            ffi.new("cdevice_block *"),
            ffi.new("cdevice_error *", {"struct_size": ffi.sizeof("cdevice_error")}),
        )
        if self.table.alloc(self.table.self, 0, nbytes, ffi.NULL, block, error):
            raise MemoryError(f"{ffi.string(error.message).decode()} [{error.vendor_code}]")
        address = int(ffi.cast("uintptr_t", block.data))
        self.allocated[address] = block
        return address

    def deallocate(self, address, nbytes, stream=None):
        self.table.free(self.table.self, self.allocated.pop(address))


@operation("device")
def allocated(here):
    type_id = cdevice.device(here).type_id
    there([1], here)

    def run():
        lender = Lender(type_id)
        cdevice.set_allocator(type_id, lender)
        try:
            a = there([1, None, 3], here)
            same(a.to("cpu").to_pylist(), [1, None, 3])
            del a
        finally:
            cdevice.set_allocator(type_id, None)

    return run


@operation("device", grows=True)
def restarted(here):
    """The backend is taken out and found again.  A table stays, for what was made with it."""
    built_in = isinstance(here, str)

    def run():
        if built_in and lib.cdv_backend_table(cdevice.device(here).type_id):
            cdevice.unregister_backend(here)
        same(there(["a", None], here).to("cpu").to_pylist(), ["a", None])
        same(len(cdevice.devices(cdevice.device(here).type_id)) > 0, True)
        if built_in:
            same(cc.add(there([1, 2], here), 1).to("cpu").to_pylist(), [2, 3])

    return run


@operation()
def released_elsewhere(here):
    def run():
        out = ffi.new("struct ArrowDeviceArray *")
        try:
            a = there(cases.ARRAYS["record"], here)
            a._export_structs(int(ffi.cast("uintptr_t", out)), 0)
        finally:
            if out.array.release:
                error = threading.Thread(target=out.array.release, args=(ffi.addressof(out, "array"),))
                error.start()
                error.join()

    return run


def chosen(device, pattern=None):
    import re

    standin = isinstance(device, str) and device.startswith(("cuda", "rocm"))
    for name, function in OPERATIONS.items():
        if pattern and not re.search(pattern, name):
            continue
        if function.on == ("device" if device == "cpu" else "cpu"):
            continue
        if function.computes and not isinstance(device, str):
            continue
        if standin and sys.platform != "linux":
            continue
        yield name
