"""Transfers to a device beside the vendor library's bare calls: ratios in one run, sides interleaved."""

import gc
import statistics
import time


def _timed(fn):
    t0 = time.perf_counter()
    out = fn()
    t = time.perf_counter() - t0
    if hasattr(out, "synchronize"):
        out.synchronize()  # so that nobody finds the device awake from the other side's work
    return t


def compare(bare, ours, rounds, between=None):
    """Medians in seconds of two calls that take turns; what they return is dropped outside the time."""
    times = ([], [])
    for fn in (bare, ours):
        fn()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for fn, out in zip((bare, ours), times):
                out.append(_timed(fn))
                if between:
                    between()
    finally:
        gc.enable()
    return tuple(map(statistics.median, times))


def opencl_rows(rounds):
    """[(title, bare s, ours s, ratio, target, reached)] against pyopencl on the first device."""
    import cdevice

    try:
        import numpy as np
        import pyopencl as cl

        if not cdevice.device("opencl").is_available:
            return []
        device = cl.get_platforms()[0].get_devices()[0]
    except ImportError:
        return []
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE
    rows = []

    def table(columns, length):
        fields = [cdevice.asarray(np.arange(length)) for _ in range(columns)]
        schema = cdevice.Schema.make("+s", children=[f.schema.with_name(f"c{i}") for i, f in enumerate(fields)])
        return cdevice.from_buffers(schema, length, [None], null_count=0, children=fields)

    def faster(title, target, bare, ours):
        rows.append((title, bare, ours, bare / ours, f"{target:g}x", bare / ours >= target))

    def within(title, target, bare, ours):
        rows.append((title, bare, ours, ours / bare, f"<= {target:g}x", ours / bare <= target))

    big = np.random.default_rng(0).random(32 << 20)
    column = cdevice.asarray(big)

    def bare_there_and_back():
        buffer = cl.Buffer(context, flags, big.nbytes)
        cl.enqueue_copy(queue, buffer, big, is_blocking=False)
        out = np.empty_like(big)
        cl.enqueue_copy(queue, out, buffer)
        return out, buffer

    def our_there_and_back():
        there = column.to("opencl")
        return there.to("cpu"), there  # both sides give their memory back outside the time

    faster(
        "256 MiB column, host -> OpenCL -> host",
        0.95,
        *compare(bare_there_and_back, our_there_and_back, rounds),
    )

    wide = table(1000, 1000)
    columns = [np.arange(1000) for _ in range(1000)]

    def bare_wide():
        buffers = []
        for c in columns:
            buffers.append(cl.Buffer(context, flags, c.nbytes))
            cl.enqueue_copy(queue, buffers[-1], c, is_blocking=False)
        queue.finish()
        return buffers

    def our_wide():
        there = wide.to("opencl")
        there.synchronize()
        return there

    faster("1000 columns x 1000 rows, host -> OpenCL, waited for", 15, *compare(bare_wide, our_wide, rounds))

    small, one = table(10, 100), np.arange(1000)
    buffer = cl.Buffer(context, flags, one.nbytes)
    within(
        "call of .to() for 10 small columns, not waiting",
        3,
        *compare(
            lambda: cl.enqueue_copy(queue, buffer, one, is_blocking=False),
            lambda: small.to("opencl"),
            rounds * 20,
            queue.finish,
        ),
    )

    here, there = column[:1000], column[:1000].to("opencl")
    there.synchronize()
    within(
        "export of an OpenCL array with event, beside the CPU's",
        1.5,
        *compare(
            lambda: [here.__arrow_c_device_array__() for _ in range(2000)],
            lambda: [there.__arrow_c_device_array__() for _ in range(2000)],
            rounds * 3,
        ),
    )
    return rows


def report(rows):
    print(f"{'transfers':56}{'bare':>12}{'cdevice':>12}{'ratio':>8}  target")
    print("-" * 98)
    for title, bare, ours, ratio, target, reached in rows:
        print(
            f"{title:56}{bare * 1e6:>9,.0f} us{ours * 1e6:>9,.0f} us{ratio:>7.2f}x  {target:8}"
            + ("ok" if reached else "MISSED")
        )
    print()
