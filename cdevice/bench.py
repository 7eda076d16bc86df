"""Cost per operation beside pyarrow, nanoarrow and arro3: ``python -m cdevice bench``.

One process, one table: the rounds of all libraries are interleaved, so that a slow moment of the machine hits all of
them alike; figures are medians. It measures and compares, it never fails because a machine is slow.

    export + destroy   both capsules of ``__arrow_c_device_array__``, dropped at once
    import, checked    the lowest entry point, on capsules that another library made beforehand, results kept alive;
                       and whatever the library needs beyond that to have the layout verified
    round trip         export, import and release of everything, the library to itself
    N columns          a struct of N int64 columns of 1000 rows

arro3 has no device interface: its column shows ``__arrow_c_array__``, marked ``*`` and left out of the ratios.
"""

import argparse
import array
import ctypes
import functools
import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

NROWS = 1000
WIDTHS = (10, 100, 1000)
GROWTH = (100, 300, 1000, 3000, 10000, 20000)
FLAT = 1.5  # the dearest width may cost this many times the cheapest, per column


# -- the libraries -----------------------------------------------------------------------------------------------------


class Library:
    """One column of the table. Methods that return a callable are called outside the timed part."""

    name = dist = module = ""
    device = True

    def load(self):
        """Import it; ImportError leaves the column out."""
        self.lib = importlib.import_module(self.module)

    def version(self):
        try:
            return importlib.metadata.version(self.dist)
        except importlib.metadata.PackageNotFoundError:
            return "?"

    def array(self, values):
        """int64 array over an array.array('q')"""

    def batch(self, ncols, values):
        """struct array or record batch of `ncols` int64 columns"""

    def exporter(self, obj):
        """() -> (schema capsule, array capsule)"""
        return obj.__arrow_c_device_array__

    def importer(self, batch=False):
        """(schema capsule, array capsule) -> object whose layout has been verified"""

    def from_numpy(self):
        """int64 numpy array -> array without a copy"""


class CDevice(Library):
    name = dist = module = "cdevice"

    def array(self, values):
        try:
            import numpy
        except ImportError:
            return self.lib.asarray(memoryview(values))
        return self.lib.asarray(numpy.frombuffer(values, dtype="int64"))

    def batch(self, ncols, values):
        return self.lib.asarray(WideStruct(ncols, values))

    def importer(self, batch=False):
        return self.lib.import_capsules  # validate="structure" is its default

    def from_numpy(self):
        return self.lib.asarray


class PyArrow(Library):
    name = dist = module = "pyarrow"

    def array(self, values):
        pa = self.lib
        return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])

    def batch(self, ncols, values):
        return self.lib.RecordBatch.from_arrays([self.array(values)] * ncols, [f"c{i}" for i in range(ncols)])

    def importer(self, batch=False):
        return (self.lib.RecordBatch if batch else self.lib.Array)._import_from_c_device_capsule

    def from_numpy(self):
        return self.lib.array


class NanoArrow(Library):
    name = dist = "nanoarrow"
    module = "nanoarrow.device"

    def load(self):
        super().load()
        self.na = importlib.import_module("nanoarrow")

    def array(self, values):
        return self.na.c_array_from_buffers(self.na.int64(), len(values), [None, values], null_count=0)

    def batch(self, ncols, values):
        schema = self.na.struct({f"c{i}": self.na.int64() for i in range(ncols)})
        children = [self.array(values) for _ in range(ncols)]
        return self.na.c_array_from_buffers(schema, len(values), [None], null_count=0, children=children)

    def exporter(self, obj):
        # c_device_array moves out of its argument: hand it a copy.
        return self.lib.c_device_array(obj[:]).__arrow_c_device_array__

    def importer(self, batch=False):
        take = self.lib.CDeviceArray._import_from_c_capsule
        return lambda schema, arr: take(schema, arr).view()  # the view is what checks

    def from_numpy(self):
        return self.na.c_array


class Arro3(Library):
    name, dist, module = "arro3", "arro3-core", "arro3.core"
    device = False

    def array(self, values):
        return self.lib.Array(list(values), self.lib.DataType.int64())

    def batch(self, ncols, values):
        a = self.array(values)
        return self.lib.RecordBatch.from_pydict({f"c{i}": a for i in range(ncols)})

    def exporter(self, obj):
        return obj.__arrow_c_array__

    def importer(self, batch=False):
        return (self.lib.RecordBatch if batch else self.lib.Array).from_arrow_pycapsule

    def from_numpy(self):
        return self.lib.Array.from_numpy


LIBRARIES = {cls.name: cls for cls in (CDevice, PyArrow, NanoArrow, Arro3)}


# -- a wide struct without any library ---------------------------------------------------------------------------------


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


_release_schema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
_release_array = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


@_release_schema
def _done_schema(p):
    p.contents.release = None


@_release_array
def _done_array(p):
    p.contents.release = None


_kept = []  # the structs live as long as the process: nobody tells us when the last child is let go


class WideStruct:
    """Producer of a struct of `ncols` int64 columns from ctypes alone: growth is measured in a bare process too."""

    def __init__(self, ncols, values):
        self.ncols, self.values = ncols, values

    def __arrow_c_array__(self, requested_schema=None):
        n, data = self.ncols, self.values
        done_s, done_a = (ctypes.cast(f, ctypes.c_void_p).value for f in (_done_schema, _done_array))
        names = [b"c%d" % i for i in range(n)]
        schemas, arrays = (Schema * n)(), (Array * n)()
        two = (ctypes.c_void_p * 2)(None, data.buffer_info()[0])
        buffers = ctypes.cast(two, ctypes.POINTER(ctypes.c_void_p))
        for i in range(n):
            schemas[i].format, schemas[i].name, schemas[i].flags, schemas[i].release = b"l", names[i], 2, done_s
            arrays[i].length, arrays[i].n_buffers, arrays[i].buffers = len(data), 2, buffers
            arrays[i].release = done_a
        sp = (ctypes.POINTER(Schema) * n)(*(ctypes.pointer(s) for s in schemas))
        ap = (ctypes.POINTER(Array) * n)(*(ctypes.pointer(a) for a in arrays))
        one = (ctypes.c_void_p * 1)(None)
        schema = Schema(format=b"+s", name=b"", flags=0, n_children=n, release=done_s,
                        children=ctypes.cast(sp, ctypes.POINTER(ctypes.POINTER(Schema))))  # fmt: skip
        arr = Array(length=len(data), n_buffers=1, n_children=n, release=done_a,
                    buffers=ctypes.cast(one, ctypes.POINTER(ctypes.c_void_p)),
                    children=ctypes.cast(ap, ctypes.POINTER(ctypes.POINTER(Array))))  # fmt: skip
        _kept.append((names, schemas, arrays, two, sp, ap, one, schema, arr, data))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(schema), b"arrow_schema", None), new(ctypes.addressof(arr), b"arrow_array", None)


# -- timing ------------------------------------------------------------------------------------------------------------


class Cell:
    """One library in one row: a function round(n) -> seconds, and its samples in ns per operation."""

    def __init__(self, lib, fn, prepared=False, limit=None):
        self.lib, self.limit, self.samples, self.n, self.error = lib, limit, [], 1, None
        self.prepared = prepared
        self.round = fn if prepared else lambda n: timed(fn, n)

    def calibrate(self, target):
        n = 1
        while True:
            t = self.round(n)
            if t >= target / 4 or (self.limit and n >= self.limit):
                break
            n *= 2 if t > target / 40 else 5
        n = max(1, int(n * target / max(t, 1e-9)))
        self.n = min(n, self.limit) if self.limit else n

    def sample(self):
        self.samples.append(self.round(self.n) / self.n * 1e9)

    @property
    def ns(self):
        return statistics.median(self.samples) if self.samples else None


def timed(fn, n):
    it = itertools.repeat(None, n)
    t0 = time.perf_counter()
    for _ in it:
        fn()
    return time.perf_counter() - t0


def tidy_heap():
    """glibc joins freed small blocks at the next large request: those of the library before would cost the next one."""
    bytearray(1 << 16)


def import_round(export, take):
    """Time `take` alone, on n pairs of capsules made beforehand."""

    def run(n):
        pairs = [export() for _ in range(n)]
        tidy_heap()
        t0 = time.perf_counter()
        out = list(itertools.starmap(take, pairs))
        t = time.perf_counter() - t0
        del out, pairs
        return t

    return run


class Row:
    def __init__(self, title, target=None):
        self.title, self.target, self.cells = title, target, {}

    def ratio(self):
        """The better peer's time by ours; None when one of them is missing."""
        mine = self.cells.get("cdevice")
        peers = [c.ns for n, c in self.cells.items() if n != "cdevice" and LIBRARIES[n].device and c.ns]
        return min(peers) / mine.ns if mine and mine.ns and peers else None


def build_rows(libs):
    values = array.array("q", range(NROWS))
    arrays = {n: lib.array(values) for n, lib in libs.items()}
    rows = []

    def row(title, target=None):
        rows.append(Row(title, target))
        return rows[-1].cells

    def roundtrip(export, take):
        return lambda: take(*export())

    cells = row("int64 export + destroy", 1.8)
    for n, lib in libs.items():
        cells[n] = Cell(n, lib.exporter(arrays[n]))

    cells = row("int64 import, checked", 6)
    for n, lib in libs.items():
        # From somebody else: a library may know its own structs again.
        others = [o for o in ("pyarrow", "nanoarrow", "cdevice") if o != n and o in libs] if lib.device else [n]
        if others:
            producer = libs[others[0]]
            cells[n] = Cell(n, import_round(producer.exporter(arrays[others[0]]), lib.importer()), True, 4000)

    cells = row("int64 round trip, checked", 5)
    for n, lib in libs.items():
        cells[n] = Cell(n, roundtrip(lib.exporter(arrays[n]), lib.importer()))

    try:
        import numpy
    except ImportError:
        pass
    else:
        given = numpy.arange(NROWS)
        cells = row("numpy array in")
        for n, lib in libs.items():
            cells[n] = Cell(n, functools.partial(lib.from_numpy(), given))

    for ncols in WIDTHS:
        batches = {n: lib.batch(ncols, values) for n, lib in libs.items()}
        cells = row(f"{ncols} columns export + destroy", {10: 9, 100: 25, 1000: 30}[ncols])
        for n, lib in libs.items():
            cells[n] = Cell(n, lib.exporter(batches[n]))
        cells = row(f"{ncols} columns round trip, checked", 25 if ncols == 1000 else None)
        for n, lib in libs.items():
            cells[n] = Cell(n, roundtrip(lib.exporter(batches[n]), lib.importer(True)))
    return rows


def measure(rows, rounds, target):
    """One round of every library of a row, then the next round."""
    terminal = sys.stderr.isatty()
    gc.collect()
    gc.disable()
    try:
        for k, row in enumerate(rows, 1):
            if terminal:
                print(f"\r[{k}/{len(rows)}] {row.title:<50}", end="", file=sys.stderr, flush=True)
            for c in row.cells.values():
                try:
                    c.round(3)
                    c.calibrate(target)
                except Exception as exc:  # the table says so, the other columns go on
                    c.error = f"{type(exc).__name__}: {exc}"
            for _ in range(rounds):
                for c in row.cells.values():
                    if c.error is None:
                        if c.prepared:
                            gc.collect()
                        c.sample()
    finally:
        gc.enable()
        if terminal:
            print("\r" + " " * 70 + "\r", end="", file=sys.stderr)


def growth(rounds, target, widths=GROWTH):
    """{columns: ns per column} of export + destroy."""
    import cdevice

    values = array.array("q", range(NROWS))
    cells = {n: Cell("cdevice", cdevice.asarray(WideStruct(n, values)).__arrow_c_device_array__) for n in widths}
    gc.collect()
    gc.disable()
    try:
        for c in cells.values():
            c.round(3)
            c.calibrate(target)
        for _ in range(rounds):
            for c in cells.values():
                c.sample()
    finally:
        gc.enable()
    return {n: c.ns / n for n, c in cells.items()}


# -- processes of their own --------------------------------------------------------------------------------------------

CHILD = """
import sys
sys.path.append({where!r})
import time
t = time.perf_counter()
{stmt}
t = time.perf_counter() - t
kb = [int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
print(t * 1e3, kb, int("numpy" in sys.modules), len(sys.modules))
"""


def child(code, *flags):
    """Run code in an empty interpreter; (wall seconds, stdout)."""
    # Not the current directory: a source tree there would shadow the installed package.
    t0 = time.perf_counter()
    r = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, cwd=tempfile.gettempdir())
    t = time.perf_counter() - t0
    if r.returncode:
        raise RuntimeError((r.stderr.strip().splitlines() or ["no message"])[-1])
    return t, r.stdout


def where():
    import cdevice

    return os.path.dirname(os.path.dirname(os.path.abspath(cdevice.__file__)))


def startup(libs, rounds):
    """Import time and memory above an empty interpreter, interleaved; medians."""
    stmts = {"": "pass", **{n: f"import {lib.module}" for n, lib in libs.items()}}
    if "cdevice" in stmts:
        # Its names are loaded on first use: an import alone flatters it.
        stmts["cdevice in use"] = "import cdevice; cdevice.asarray, cdevice.device, cdevice.import_capsules"
    runs = {n: [] for n in stmts}
    for k in range(rounds + 1):
        for n, stmt in stmts.items():
            t, out = child(CHILD.format(where=where(), stmt=stmt))
            if k:  # the first round fills the page cache
                ms, kb, numpy, modules = out.split()
                runs[n].append((t * 1e3, int(kb) / 1024, float(ms), int(numpy), int(modules)))
    med = {n: [statistics.median(column) for column in zip(*r)] for n, r in runs.items()}
    base = med.pop("")
    return {n: {"wall_ms": m[0] - base[0], "memory_mib": m[1] - base[1], "import_ms": m[2], "numpy": bool(m[3]),
                "modules": int(m[4] - base[4])} for n, m in med.items()}  # fmt: skip


def bare_growth(rounds, target):
    code = (
        f"import sys, json\nsys.path.append({where()!r})\nfrom cdevice import bench\n"
        f"print(json.dumps(bench.growth({rounds}, {target})))"
    )
    return {int(n): v for n, v in json.loads(child(code)[1]).items()}


# -- output ------------------------------------------------------------------------------------------------------------


def number(v):
    return "" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:,.1f}"


def table(head, rows):
    rows = [[str(c) for c in r] for r in [head, *rows]]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for k, r in enumerate(rows):
        print("  ".join(f"{c:{'<' if i == 0 else '>'}{w}}" for i, (c, w) in enumerate(zip(r, widths))).rstrip())
        if k == 0:
            print("  ".join("-" * w for w in widths))


def verdict(ok):
    return "" if ok is None else "ok" if ok else "MISSED"


def report(rows, libs):
    errors, out = [], []
    for r in rows:
        line = [r.title]
        for n in libs:
            c = r.cells.get(n)
            if c is not None and c.error:
                errors.append(f"{n}, {r.title}: {c.error}")
            line.append("error" if c is not None and c.error else number(c and c.ns) + "*" * (not libs[n].device))
        ratio = r.ratio()
        line += [f"{ratio:.1f}x" if ratio else "", f"{r.target:g}x" if r.target else "",
                 verdict(None if ratio is None or r.target is None else ratio >= r.target)]  # fmt: skip
        out.append(line)
    table(["ns per operation", *(n + "*" * (not lib.device) for n, lib in libs.items()), "ratio", "target", ""], out)
    if any(not lib.device for lib in libs.values()):
        print("* by __arrow_c_array__: no device interface; not in the ratio")
    for line in errors:
        print(line)


def report_startup(data):
    print("\nimport, above an empty interpreter (in use: asarray, device and import_capsules loaded)")
    rows = []
    for n, d in data.items():
        ok = d["wall_ms"] <= 5 and d["memory_mib"] <= 3 and not d["numpy"] if n.startswith("cdevice") else None
        rows.append([n, f"{d['wall_ms']:.1f}", f"{d['memory_mib']:.1f}", d["modules"], "yes" if d["numpy"] else "no",
                     "5 ms, 3 MiB" if n.startswith("cdevice") else "", verdict(ok)])  # fmt: skip
    table(["", "ms", "MiB", "modules", "numpy", "target", ""], rows)


def report_growth(data):
    print("\ngrowth: ns per column, export + destroy")
    rows = []
    for title, d in data.items():
        spread = max(d.values()) / min(d.values())
        rows.append([title, *(f"{d[n]:.2f}" for n in GROWTH), f"{spread:.2f}x", f"{FLAT}x", verdict(spread <= FLAT)])
    table(["columns", *(f"{n:,}" for n in GROWTH), "spread", "target", ""], rows)


def main(argv=None):
    p = argparse.ArgumentParser(
        prog="python -m cdevice bench",
        description="Cost per operation beside pyarrow, nanoarrow and arro3: medians, one process, rounds interleaved.",
        epilog="ratio: the better peer's time by cdevice's. A missed target is reported, never an exit status.",
    )
    p.add_argument("--quick", action="store_true", help="a few seconds, noisier")
    p.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds per row (%(default)s)")
    p.add_argument(
        "--only",
        metavar="TEXT",
        help="rows whose title contains TEXT; also: startup, growth, transfer, stream, embed, plugin, gpu",
    )
    p.add_argument("--libs", metavar="A,B", help=f"default: {','.join(LIBRARIES)}")
    p.add_argument("--json", metavar="FILE", help="write the figures there too")
    args = p.parse_args(argv)
    rounds, target = (5, 0.003) if args.quick else (args.rounds, 0.012)

    libs = {}
    for name in args.libs.split(",") if args.libs else LIBRARIES:
        if name not in LIBRARIES:
            p.error(f"no library {name!r}; there are {', '.join(LIBRARIES)}")
        lib = LIBRARIES[name]()
        try:
            lib.load()
        except ImportError as exc:
            print(f'left out: {name} ({exc}); pip install "cdevice[bench]"', file=sys.stderr)
            continue
        libs[name] = lib
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores; "
          + ", ".join(f"{n} {lib.version()}" for n, lib in libs.items()) + "\n")  # fmt: skip

    want = lambda title: not args.only or args.only in title
    rows = [r for r in build_rows(libs) if want(r.title)]
    if rows:
        measure(rows, rounds, target)
        report(rows, libs)
    result = {
        "python": platform.python_version(),
        "versions": {n: lib.version() for n, lib in libs.items()},
        "ns": {r.title: {n: c.ns for n, c in r.cells.items()} for r in rows},
        "ratio": {r.title: r.ratio() for r in rows},
        "target": {r.title: r.target for r in rows if r.target},
    }
    if want("startup"):
        result["startup"] = startup(libs, 5 if args.quick else 15)
        report_startup(result["startup"])
    if "cdevice" in libs and want("growth"):
        result["growth"] = {"this process": growth(rounds, target), "bare process": bare_growth(rounds, target)}
        report_growth(result["growth"])
    if "cdevice" in libs and want("stream"):
        from . import bench_stream

        found, missing = bench_stream.rows(libs, 3 if args.quick else 11)
        print()
        bench_stream.report(found, missing)
        result["streams"] = [dict(zip(("row", "peer", "peer_ns", "cdevice_ns", "target"), f)) for f in found]
    if "cdevice" in libs and want("embed"):
        from . import bench_embed

        found = bench_embed.rows(3 if args.quick else 7)
        if isinstance(found, str):
            print(f"left out: C programs; {found}", file=sys.stderr)
        else:
            bench_embed.report(found)
            result["embed"] = [dict(zip(("row", "value", "unit", "bound", "reached"), f)) for f in found]
    if "cdevice" in libs and want("plugin"):
        from . import bench_plugin

        found, missing = bench_plugin.rows(3 if args.quick else 7)
        bench_plugin.report(found, missing)
        result["plugins"] = [dict(zip(("row", "value", "unit", "bound", "reached"), f)) for f in found]
    if "cdevice" in libs and want("transfer"):
        from . import bench_transfer

        transfers = bench_transfer.opencl_rows(5 if args.quick else 11)
        if transfers:
            print()
            bench_transfer.report(transfers)
            result["transfers"] = [
                dict(zip(("row", "bare_s", "cdevice_s", "ratio", "target", "reached"), t)) for t in transfers
            ]
        else:
            print(
                'left out: transfers to OpenCL; apt-get install pocl-opencl-icd, pip install "cdevice[opencl]"',
                file=sys.stderr,
            )
    if "cdevice" in libs and want("gpu"):
        from . import bench_gpu

        found = bench_gpu.rows(3 if args.quick else 11)
        if found:
            print()
            bench_gpu.report(found)
            result["gpu"] = [dict(zip(("row", "bare_s", "cdevice_s", "value", "target", "reached"), f)) for f in found]
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
