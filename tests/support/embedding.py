"""Programs in C and C++ that link libcdevice: the flags, a build, a run.  Importing it skips where there can be none."""

import os
import pathlib
import shutil
import subprocess

import pytest
from children import child_env
from paths import ROOT

import cdevice
from cdevice import config

EXAMPLES = ROOT / "examples" / "embed"

try:
    LIBRARY = pathlib.Path(config.get_library_dir()) / "libcdevice.so"
except FileNotFoundError as e:
    pytest.skip(str(e), allow_module_level=True)
if not shutil.which("gcc"):
    pytest.skip("no C compiler: apt-get install gcc g++", allow_module_level=True)
if os.environ.get("CDEVICE_SANITIZE"):
    pytest.skip("a program that links no sanitizer cannot load an extension that does", allow_module_level=True)

installed = pytest.mark.skipif(
    not (pathlib.Path(cdevice.__file__).parent / "backends").exists(),
    reason="the package is not installed: pip install .",
)


def starts(tool):
    """Is it there, and does it start?  rustup's rustc and cargo do not where no toolchain was chosen."""
    return shutil.which(tool) and not subprocess.run([tool, "--version"], capture_output=True).returncode


def find_compiler(name):
    """``name``, or the newest of its versions that is there; skips where there is none."""
    found = [c for c in (name, *(f"{name}-{n}" for n in range(21, 12, -1))) if shutil.which(c)]
    if not found:
        pytest.skip(f"apt-get install {'clang' if 'clang' in name else 'g++'}")
    return found[0]


def flags():
    return [config.OPTIONS["cflags"][1](), *config.OPTIONS["libs"][1]().split()]


def build(directory, source, name="program", compiler="gcc", standard="gnu11", extra=(), ok=True):
    """The program that a text, or a file, gives; with ok=False what the compiler printed."""
    out = directory / f"{name}-{compiler}-{standard}"
    cpp = "++" in standard
    if isinstance(source, str):
        (directory / f"{name}.{'cpp' if cpp else 'c'}").write_text(source)
        source = directory / f"{name}.{'cpp' if cpp else 'c'}"
    language = ["-x", "c++"] if cpp else []
    command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", *extra, *language, str(source)]
    done = subprocess.run([*command, "-o", str(out), *flags(), "-pthread"], capture_output=True, text=True)
    if not ok:
        assert done.returncode
        return done.stderr
    assert done.returncode == 0, done.stderr
    return out


def run(program, *args, env=None, ok=True, **kwargs):
    done = subprocess.run(
        [str(program), *map(str, args)], capture_output=True, text=True, timeout=60, env=env or child_env(), **kwargs
    )
    if ok:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def example_env():
    env = child_env()
    return {**env, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), env["PYTHONPATH"]])}
