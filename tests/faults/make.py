"""Compiles what stands between the package and the system, and the stand-ins: ``make.py FOLDER``."""

import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def compile(source, out, *flags):
    cc = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*cc, "-shared", "-fPIC", "-O1", "-g", "-Wall", *flags, source, "-o", out, "-ldl"], check=True)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    compile(HERE / "interpose.c", folder / "interpose.so")
    compile(HERE / "slow_unlock.c", folder / "slow_unlock.so")
    header = HERE.parents[1] / "backends" / "opencl" / "api.h"
    subprocess.run([sys.executable, HERE / "loader.py", header, folder / "loader.c"], check=True)
    compile(folder / "loader.c", folder / "libOpenCL.so", f"-I{header.parent.parent}")
    subprocess.run(["make", "-s", "-C", HERE.parent / "hostrt", f"B={folder}"], check=True)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
