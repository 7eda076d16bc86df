"""Tensors in and out beside numpy's, and by the exchange table from C, for which a compiler is needed.

For ``python -m cdevice bench``."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import statistics
import subprocess
import tempfile

from .table import bounds, named
from .timing import Cell, in_turns, quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SOURCE = r"""
#include <cdevice/dlpack_abi.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
double tensor_out(const DLPackExchangeAPI *table, void *object, long n) {
  double t = now();
  for (long i = 0; i < n; i++) {
    DLManagedTensorVersioned *m;
    if (table->managed_tensor_from_py_object_no_sync(object, &m)) return -1;
    m->deleter(m);
  }
  return (now() - t) / n;
}
double tensor_lent(const DLPackExchangeAPI *table, void *object, long n) {
  double t = now();
  for (long i = 0; i < n; i++) {
    DLTensor m;
    if (table->dltensor_from_py_object_no_sync(object, &m)) return -1;
  }
  return (now() - t) / n;
}
double tensor_back(const DLPackExchangeAPI *table, void *object, void (*drop)(void *), long n) {
  double t = now();
  for (long i = 0; i < n; i++) {
    DLManagedTensorVersioned *m;
    void *back;
    if (table->managed_tensor_from_py_object_no_sync(object, &m)) return -1;
    if (table->managed_tensor_to_py_object_no_sync(m, &back)) return -1;
    drop(back);
  }
  return (now() - t) / n;
}
"""
CALLS = 200_000


def _from_c(array: Any, rounds: int) -> Any:
    """Medians in ns of (out and deleted, borrowed, out and back as an array), or the reason as a string."""
    import cdevice

    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        return "apt-get install gcc"
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(type(array).__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    drop = ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p)
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "b.c"), os.path.join(folder, "b.so")
        with open(source, "w") as f:
            f.write(SOURCE)
        flags = ["-O2", "-std=gnu11", "-shared", "-fPIC", f"-I{cdevice.get_include()}"]
        subprocess.run([compiler, *flags, source, "-o", library], check=True)
        lib: Any = ctypes.PyDLL(library)  # which keeps the GIL, as the table's callers do
        for name in ("tensor_out", "tensor_lent", "tensor_back"):
            getattr(lib, name).restype = ctypes.c_double
        runs: Any = (
            lambda: lib.tensor_out(ctypes.c_void_p(table), ctypes.py_object(array), ctypes.c_long(CALLS)),
            lambda: lib.tensor_lent(ctypes.c_void_p(table), ctypes.py_object(array), ctypes.c_long(CALLS)),
            lambda: lib.tensor_back(ctypes.c_void_p(table), ctypes.py_object(array), drop, ctypes.c_long(CALLS)),
        )
        with quiet():
            samples = [[run() for run in runs] for _ in range(rounds + 1)]
    return [statistics.median(column) for column in zip(*samples[1:])]


def _times(rounds: int, target: float, ours: Any, theirs: Any) -> tuple[float, float]:
    """(ns of cdevice, ratio of the peer), medians of pairs."""
    cells = Cell("ours", ours), Cell("theirs", theirs)
    in_turns(cells, rounds, target)
    return cells[0].ns, statistics.median(a / b for a, b in zip(cells[0].samples, cells[1].samples))


def rows(options: Any) -> Any:
    """([(title, value, unit, bound, reached)], what was left out)"""
    import numpy

    import cdevice

    from ..interop.dlpack import from_dlpack

    values = numpy.arange(1000)
    array = cdevice.asarray(values)
    found: list[Any] = []
    for title, ours, theirs, bound in (
        ("__dlpack__ + destroy", array.__dlpack__, values.__dlpack__, 1.3),
        (
            "from_dlpack(numpy array)",
            functools.partial(from_dlpack, values),
            functools.partial(numpy.from_dlpack, values),
            2,
        ),
    ):
        ns, ratio = _times(options.rounds, options.target, ours, theirs)
        found.append((f"{title}: times numpy's, {ns:.0f} ns", ratio, "x", bound, ratio <= bound))
    out = _from_c(array, options.rounds)
    if isinstance(out, str):
        return found, [f"the exchange table from C: {out}"]
    for title, ns, bound in (
        ("exchange table: a tensor out + deleted", out[0], 60),
        ("exchange table: a tensor borrowed", out[1], 60),
        ("exchange table: out, in again, both dropped", out[2], 300),
    ):
        found.append((title, ns, "ns", bound, ns <= bound))
    return found, []


def section(libs: Any, options: Any) -> dict[str, Any]:
    try:
        found, left_out = rows(options)
    except ImportError as e:
        found, left_out = [], [f"dlpack: {e}"]
    bounds("dlpack", found, left_out)
    return {"dlpack": named(found, "title", "value", "unit", "bound", "reached")}
