"""What being a plug-in costs: at import, in an export, in a Python method.  For ``python -m cdevice bench``."""

from __future__ import annotations

import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from .process import child
from .table import bounds, named
from .timing import best

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..backend import Copy, CopyKind


_CHILD = """
import sys, time
sys.path[:0] = {path!r}
t = time.perf_counter()
import cdevice
cdevice.asarray, cdevice.device, cdevice.import_capsules
print((time.perf_counter() - t) * 1e3)
"""


def _import_ms(path: list[str], rounds: int) -> Any:
    times = [float(child(_CHILD.format(path=path), "-I")[1]) for _ in range(rounds + 1)]
    return statistics.median(times[1:])


def _twenty(folder: Any) -> None:
    """Twenty installed plug-ins, as importlib.metadata sees them."""
    for i in range(20):
        info = os.path.join(folder, f"plug{i}-1.0.dist-info")
        os.mkdir(info)
        with open(os.path.join(info, "METADATA"), "w") as f:
            f.write(f"Metadata-Version: 2.1\nName: plug{i}\nVersion: 1.0\n")
        with open(os.path.join(info, "entry_points.txt"), "w") as f:
            f.write(f"[cdevice.backends]\nplug{i}.{9000 + i} = plug{i}:Backend\n")


def _native(folder: Any) -> Any:
    """The device of examples/plugin-native, or why it is not here."""
    import cdevice

    sources = glob.glob(os.path.join(os.environ.get("CDEVICE_EXAMPLES", "examples"), "plugin-native/src/*.c"))
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler or not sources:
        return None
    path = os.path.join(folder, "pool.so")
    flags = ["-O2", "-shared", "-fPIC", "-std=gnu11", "-fvisibility=hidden", f"-I{cdevice.get_include()}", "-pthread"]
    subprocess.run([compiler, *flags, "-o", path, *sources, "-ldl"], check=True)
    cdevice.load_backend(path)
    return cdevice.device("pool")


def _python_backend() -> Any:
    import cdevice

    class Plain(cdevice.Backend):
        name, device_type = "bench_plain", 9100
        capabilities = cdevice.Capability.ADDRESS | cdevice.Capability.EVENTS

        def device_count(self) -> int:
            return 1

        def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
            return 64

        def free(self, block: Any) -> None:
            pass

        def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
            pass

        def event_record(self, *, device_id: int, stream: int = 0) -> Any:
            return 64

        def event_done(self, event: Any, *, device_id: int) -> bool:
            return True

        def event_wait(self, event: Any, *, device_id: int, stream: int | None = None) -> None:
            pass

        def event_destroy(self, event: Any) -> None:
            pass

    return Plain()


def _bridge(rounds: int) -> Any:
    """us that a Python plug-in costs beyond its own methods."""
    import cdevice

    from .._runtime.ext import ffi, lib

    backend = _python_backend()
    cdevice.register_backend(backend)
    lib.cdv_device_count(9100, ffi.new("int64_t *"))
    table = lib.cdv_backend_table(9100)
    block, event = ffi.new("cdevice_block *"), ffi.new("cdevice_event *")

    def bridged() -> None:
        table.alloc(table.self, 0, 64, ffi.NULL, block, ffi.NULL)
        table.event_record(table.self, 0, ffi.NULL, event, ffi.NULL)
        table.event_destroy(table.self, 0, event)
        table.free(table.self, block)

    def own() -> None:
        got = backend.alloc(64, device_id=0)
        made = backend.event_record(device_id=0)
        backend.event_destroy(made)
        backend.free(got)

    us = (best(rounds, 5000, bridged) - best(rounds, 5000, own)) / 1e3
    cdevice.unregister_backend(9100)
    return us


def _export_ratio(device: Any, rounds: int) -> Any:
    """An export's time on that device by its time on the CPU."""
    import cdevice

    on_cpu = cdevice.asarray(list(range(1000)))
    there = on_cpu.to(device)
    there.synchronize()
    pairs = [
        (best(1, 20_000, on_cpu.__arrow_c_device_array__), best(1, 20_000, there.__arrow_c_device_array__))
        for _ in range(2 * rounds + 1)
    ]
    return statistics.median(b / a for a, b in pairs)


def rows(rounds: int) -> Any:
    """([(title, value, unit, bound, reached)], [what was left out])"""
    out: list[tuple[str, Any, str, float, bool]] = []
    left_out: list[str] = []
    here = [p for p in sys.path if p]
    with tempfile.TemporaryDirectory() as folder:
        _twenty(folder)
        alone, crowded = _import_ms(here, 3 * rounds), _import_ms([*here, folder], 3 * rounds)
        out.append(("import in use, no plug-in installed beside the package's", alone, "ms", 5, alone <= 5))
        out.append(("the same, twenty plug-ins installed", crowded, "ms", 5, crowded <= 5))
        device = _native(folder)
        if device is None:
            left_out.append("a native plug-in; $CDEVICE_EXAMPLES names the folder examples, apt-get install gcc")
        else:
            ratio = _export_ratio(device, rounds)
            out.append(("int64 export from a native plug-in: time of the CPU's", ratio, "x", 1.1, ratio <= 1.1))
    us = _bridge(rounds)
    out.append(("Python plug-in, allocate + event + release, beyond its own cost", us, "us", 10, us <= 10))
    return out, left_out


def section(libs: Any, options: Any) -> Any:
    found, left_out = rows(3 if options.quick else 7)
    bounds("plug-ins", found, left_out, width=68)
    return {"plugins": named(found, "row", "value", "unit", "bound", "reached")}
