"""Transfers between two vendors' memory, beside the slower of the two sides: stand-ins of CUDA and ROCm, and OpenCL.

    python tests/benchmarks/vendors.py [MiB]

with the package installed.  Best of nine, in turns; what ran on a stand-in is host memory behind a vendor's interface.
"""

import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import numpy as np
import standin

import cdevice

PAIRS = [
    ("cuda_host", "rocm_host"),
    ("rocm_host", "cuda_host"),
    ("cuda", "rocm"),
    ("rocm", "cuda"),
    ("opencl", "cuda"),
    ("cuda", "opencl"),
    ("cuda_host", "opencl"),
]


def seconds(work):
    t = time.perf_counter()
    made = work()
    made.synchronize()
    t = time.perf_counter() - t
    made.release()
    return t


def main():
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    with tempfile.TemporaryDirectory() as build:
        standin.start(pathlib.Path(build))
    here = cdevice.asarray(np.random.default_rng(0).random(mib << 17))
    there = {name: here.to(name) for pair in PAIRS for name in pair}
    works = {("up", name): lambda name=name: here.to(name) for name in there}
    works |= {("down", name): lambda a=a: a.to("cpu", copy=True) for name, a in there.items()}
    works |= {pair: lambda pair=pair: there[pair[0]].to(pair[1]) for pair in PAIRS}
    best = dict.fromkeys(works, float("inf"))
    for _ in range(9):
        for key, work in works.items():
            best[key] = min(best[key], seconds(work))
    print(f"{mib} MiB                     ms  from  to, by themselves  of the slower side (0.9 wanted)")
    for a, b in PAIRS:
        down, up, both = best["down", a] * 1e3, best["up", b] * 1e3, best[a, b] * 1e3
        print(f"{a + ' -> ' + b:24}{both:8.1f}{down:7.1f}{up:7.1f}{max(down, up) / both:20.2f}x")


main()
