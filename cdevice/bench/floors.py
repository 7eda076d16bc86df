"""What this machine can do at best, measured in the same run: figures of two hosts are compared by these.

``section`` also prints the time to write an exported wide array's structs, and the export's time as a multiple of it.
"""

from __future__ import annotations

import array
import ctypes
import itertools
import mmap
import platform
import re
import statistics
import subprocess
import sys
import time
from functools import partial

from .table import number, table, verdict
from .timing import Cell, in_turns, timed
from .wide import Array, Schema, WideStruct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PAGE, LARGE = 4096, 16 << 20
WIDE = (1000, 20_000)
TIMES = 2  # an export and its release may cost so many copies of what they write

_ECHO = "import os\nwhile os.read(0, 1): os.write(1, b'x')"


def processor() -> dict[str, Any]:
    """The name of the processor and the sizes of its caches, as the system tells them."""
    found: dict[str, Any] = {"processor": platform.processor() or platform.machine(), "caches": {}}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            name = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
        found["processor"] = name[1] if name else found["processor"]
        for i in itertools.count():
            at = f"/sys/devices/system/cpu/cpu0/cache/index{i}/"
            level, kind, size = (open(at + n, encoding="utf-8").read().strip() for n in ("level", "type", "size"))
            found["caches"][f"L{level}{'' if kind == 'Unified' else kind[0].lower()}"] = size
    except OSError:
        pass  # not Linux, or the last one
    return found


def spin() -> dict[str, float]:
    """Equal pieces of work, in ms: the least, and how many times that the median and the worst take.  Beyond 1.1 and 2
    another process was busy."""

    def piece() -> float:
        t0 = time.perf_counter()
        sum(range(50_000))
        return time.perf_counter() - t0

    times = sorted(piece() for _ in range(200))
    return {"least": times[0] * 1e3, "median": times[100] / times[0], "worst": times[-1] / times[0]}


def wake_up(turns: int = 2000) -> float:
    """ns from a byte written to a pipe until another process has read it."""
    with subprocess.Popen([sys.executable, "-S", "-c", _ECHO], stdin=-1, stdout=-1, bufsize=0) as other:
        assert other.stdin and other.stdout

        def turn() -> None:
            other.stdin.write(b"x")  # type: ignore[union-attr]
            other.stdout.read(1)  # type: ignore[union-attr]

        timed(turn, 100)
        least = min(timed(turn, turns // 10) for _ in range(10)) / (turns // 10)
        other.stdin.close()
    return least / 2 * 1e9


def _new_memory(size: int, work: Callable[[Any], object]) -> float:
    """Seconds of work on untouched memory, in pages of the usual size."""
    memory = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    view = (ctypes.c_char * size).from_buffer(memory)
    seconds = timed(partial(work, view), 1)
    del view
    memory.close()
    return seconds


def memory_speed(turns: int = 9) -> dict[str, float]:
    """A copy of 16 MiB into memory that is used again and into fresh memory, and what the first touch of a page costs
    (the difference, a page)."""
    source, target = ((ctypes.c_char * LARGE).from_buffer(bytearray(LARGE)) for _ in range(2))
    used, fresh = [], []
    for _ in range(turns):
        used.append(timed(partial(ctypes.memmove, target, source, LARGE), 1))
        fresh.append(_new_memory(LARGE, lambda memory: ctypes.memmove(memory, source, LARGE)))
    a, b = statistics.median(used), statistics.median(fresh)
    return {
        "copy GB/s": LARGE / a / 1e9,
        "copy into fresh memory GB/s": LARGE / b / 1e9,
        "page fault ns": (b - a) / (LARGE // PAGE) * 1e9,
    }


def bytes_written(columns: int) -> int:
    """Of an exported struct of flat columns: for each an ArrowArray, an ArrowSchema and the pointers to them."""
    return (columns + 1) * (ctypes.sizeof(Array) + ctypes.sizeof(Schema) + 2 * ctypes.sizeof(ctypes.c_void_p))


def wide(rounds: int, target: Any) -> dict[int, tuple[float, float]]:
    """{columns: (ns of a memcpy of the written bytes, ns of export + destroy)}"""
    import cdevice

    values, out = array.array("q", range(1000)), {}
    for n in WIDE:
        size = bytes_written(n)
        a, b = (ctypes.create_string_buffer(size) for _ in range(2))
        cells = [
            Cell("memcpy", partial(ctypes.memmove, ctypes.addressof(a), ctypes.addressof(b), size)),
            Cell("cdevice", cdevice.asarray(WideStruct(n, values)).__arrow_c_device_array__),
        ]
        in_turns(cells, rounds, target)
        out[n] = (cells[0].ns, cells[1].ns)
    return out


def section(libs: Any, options: Any) -> Any:
    call = Cell("call", lambda: None)
    call.calibrate(options.target)
    call.sample()
    found: dict[str, Any] = {
        **processor(),
        "spin": spin(),
        "call ns": call.ns,
        "wake-up ns": wake_up(),
        **memory_speed(),
        "wide": {},
    }
    print(f"\nfloors: {found['processor']}, " + ", ".join(f"{k} {v}" for k, v in found["caches"].items()))
    print(f"equal work: least {found['spin']['least']:.2f} ms, median {found['spin']['median']:.2f}x, "
          f"worst {found['spin']['worst']:.1f}x\n")  # fmt: skip
    table(["", ""], [[k, number(v)] for k, v in found.items() if isinstance(v, float)])
    if "cdevice" in libs:
        rows = []
        for n, (floor, ours) in wide(options.rounds, options.target).items():
            found["wide"][n] = {"memcpy ns": floor, "export + destroy ns": ours}
            cells = [number(floor), number(ours), f"{ours / floor:.1f}x", f"{TIMES}x", verdict(ours <= TIMES * floor)]
            rows.append([f"{n:,} columns", *cells])
        print()
        table(["written structs", "memcpy ns", "export + destroy", "times", "target", ""], rows)
    return {"floors": found}
