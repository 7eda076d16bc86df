"""Transfers to a device beside the vendor library's bare calls: ratios in one run, sides interleaved; chunks that are
joined, beside the same rows in one chunk and beside pyarrow."""

from __future__ import annotations

import sys
from functools import partial

from .table import aim, named, shown
from .timing import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def struct_of(columns: Any) -> Any:
    """A struct array of numpy columns."""
    import cdevice

    fields = [cdevice.asarray(c) for c in columns]
    schema = cdevice.Schema.make("+s", children=[f.schema.with_name(f"c{i}") for i, f in enumerate(fields)])
    return cdevice.from_buffers(schema, len(columns[0]), [None], null_count=0, children=fields)


def faster(title: str, target: Any, bare: Any, ours: Any) -> Any:
    return title, bare, ours, bare / ours, f"{target:g}x", bare / ours >= target


def within(title: str, target: Any, bare: Any, ours: Any) -> Any:
    return title, bare, ours, ours / bare, f"<= {target:g}x", ours / bare <= target


class OpenCL:
    """The first device, by pyopencl's bare calls."""

    def __init__(self) -> None:
        import pyopencl as cl

        context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
        self.queue = cl.CommandQueue(context)
        self.buffer = partial(cl.Buffer, context, cl.mem_flags.READ_WRITE)
        self.copy = partial(cl.enqueue_copy, self.queue)


def there_and_back(bare: Any, rounds: int) -> Any:
    import numpy as np

    import cdevice

    big = np.random.default_rng(0).random(32 << 20)
    column = cdevice.asarray(big)

    def bare_there_and_back() -> Any:
        buffer = bare.buffer(big.nbytes)
        bare.copy(buffer, big, is_blocking=False)
        out = np.empty_like(big)
        bare.copy(out, buffer)
        return out, buffer

    def our_there_and_back() -> Any:
        there = column.to("opencl")
        return there.to("cpu"), there  # both sides give their memory back outside the time

    return faster(
        "256 MiB column, host -> OpenCL -> host",
        0.95,
        *compare(bare_there_and_back, our_there_and_back, rounds),
    )


def wide(bare: Any, rounds: int) -> Any:
    import numpy as np

    columns = [np.arange(1000) for _ in range(1000)]
    batch = struct_of(columns)

    def bare_wide() -> Any:
        buffers = []
        for c in columns:
            buffers.append(bare.buffer(c.nbytes))
            bare.copy(buffers[-1], c, is_blocking=False)
        bare.queue.finish()
        return buffers

    def our_wide() -> Any:
        there = batch.to("opencl")
        there.synchronize()
        return there

    title = "1000 columns x 1000 rows, host -> OpenCL, waited for"
    return faster(title, 15, *compare(bare_wide, our_wide, rounds))


def wide_back(rounds: int) -> Any:
    import numpy as np

    batch = struct_of([np.arange(1000) for _ in range(1000)])
    there = batch.to("opencl")
    there.synchronize()

    def our_wide() -> Any:
        made = batch.to("opencl")
        made.synchronize()
        return made

    title = "1000 columns x 1000 rows, OpenCL -> host, beside the way there"
    return faster(title, 1, *compare(our_wide, lambda: there.to("cpu"), rounds * 3))


def small(bare: Any, rounds: int) -> Any:
    import numpy as np

    batch, one = struct_of([np.arange(100) for _ in range(10)]), np.arange(1000)
    buffer = bare.buffer(one.nbytes)
    return within(
        "call of .to() for 10 small columns, not waiting",
        3,
        *compare(
            lambda: bare.copy(buffer, one, is_blocking=False),
            lambda: batch.to("opencl"),
            rounds * 20,
            bare.queue.finish,
        ),
    )


class Held:
    """A queue whose commands wait until it is let go."""

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.kept: list[Any] = []
        self.hold()

    def hold(self) -> None:
        import pyopencl as cl

        self.gate = cl.UserEvent(self.queue.context)
        cl.enqueue_barrier(self.queue, wait_for=[self.gate])

    def let_go(self) -> None:
        self.gate.set_status(0)
        self.queue.finish()
        self.kept.clear()  # pyopencl waits for what it has enqueued where that is dropped

    def turn(self) -> None:
        if len(self.kept) >= 40:
            self.let_go()
            self.hold()


def busy(bare: Any, rounds: int) -> Any:
    import numpy as np

    batch, one = struct_of([np.arange(100) for _ in range(10)]), np.arange(1000)
    buffer, held = bare.buffer(one.nbytes), Held(bare.queue)
    enqueue, ours = compare(
        lambda: held.kept.append(bare.copy(buffer, one, is_blocking=False)),
        lambda: held.kept.append(batch.to("opencl", stream=bare.queue)),
        rounds * 20,
        held.turn,
    )
    held.let_go()
    title = "the same on a busy queue, beside one enqueue there"
    return title, enqueue, ours, ours / enqueue, "<= 10 us", ours <= 10e-6


def exported(rounds: int) -> Any:
    import numpy as np

    import cdevice

    here = cdevice.asarray(np.arange(2000.0))[:1000]
    there = here.to("opencl")
    there.synchronize()
    return within(
        "export of an OpenCL array with event, beside the CPU's",
        1.5,
        *compare(
            lambda: [here.__arrow_c_device_array__() for _ in range(2000)],
            lambda: [there.__arrow_c_device_array__() for _ in range(2000)],
            rounds * 3,
        ),
    )


def chunked(rows: int) -> Any:
    """A pyarrow table of 10 columns in 100 chunks of so many rows: numbers, text and bools, with and without nulls."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(0)

    def batch() -> Any:
        nulls = rng.random(rows) < 0.1
        words = pa.array([f"value {k}" for k in range(rows)], mask=nulls)
        columns = [
            pa.array(rng.integers(0, 1 << 40, rows)),
            pa.array(rng.integers(0, 1 << 20, rows).astype("i4")),
            pa.array(rng.random(rows), mask=nulls),
            pa.array(rng.random(rows) < 0.5),
            words,
        ]
        return pa.record_batch(columns * 2, names=[f"c{i}" for i in range(10)])

    return pa.Table.from_batches([batch() for _ in range(100)])


def joined_there(rounds: int) -> Any:
    import cdevice

    table = chunked(10_000)
    chunks = [cdevice.asarray(b) for b in table.to_batches()]
    whole = cdevice.asarray(table.combine_chunks().to_batches()[0])  # in memory of the same kind

    def bare() -> Any:
        there = whole.to("opencl")
        there.synchronize()
        return there

    def ours() -> Any:
        there = cdevice.concat(chunks, device="opencl")
        there.synchronize()
        return there

    title = "100 chunks x 10 columns joined on OpenCL, beside one chunk"
    return faster(title, 0.8, *compare(bare, ours, rounds))


def joined_here(rounds: int) -> Any:
    import cdevice

    table = chunked(1000)
    chunks = [cdevice.asarray(b) for b in table.to_batches()]
    title = "100 chunks x 10 columns joined here, beside pyarrow"
    return faster(title, 1, *compare(table.combine_chunks, lambda: cdevice.concat(chunks), rounds * 20))


def joined(rounds: int, opencl: bool) -> Any:
    try:
        import numpy  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError:
        return []
    return [joined_here(rounds)] + ([joined_there(rounds)] if opencl else [])


def rows(rounds: int) -> Any:
    """[(title, bare s, cdevice's s, ratio, target, reached)] against pyopencl on the first device."""
    import cdevice

    try:
        import numpy  # noqa: F401
        import pyopencl  # noqa: F401
    except ImportError:
        return joined(rounds, False)
    if not cdevice.device("opencl").is_available:
        return joined(rounds, False)
    bare = OpenCL()
    return [
        there_and_back(bare, rounds),
        wide(bare, rounds),
        wide_back(rounds),
        small(bare, rounds),
        busy(bare, rounds),
        exported(rounds),
        *joined(rounds, True),
    ]


def report(rows: Any) -> None:
    print(f"{'transfers':60}{'bare':>12}{'cdevice':>12}{'ratio':>8}" + ("  target" if shown["targets"] else ""))
    print("-" * 102)
    for title, bare, ours, ratio, target, reached in rows:
        print(f"{title:60}{bare * 1e6:>9,.0f} us{ours * 1e6:>9,.0f} us{ratio:>7.2f}x" + aim(f"{target:8}", reached))
    print()


def section(libs: Any, options: Any) -> Any:
    found = rows(5 if options.quick else 11)
    if len(found) < 4:
        print(
            'left out: transfers to OpenCL; apt-get install pocl-opencl-icd, pip install "cdevice[opencl]"',
            file=sys.stderr,
        )
    if not found:
        return {}
    print()
    report(found)
    return {"transfers": named(found, "row", "bare_s", "cdevice_s", "ratio", "target", "reached")}
