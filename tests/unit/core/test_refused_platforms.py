"""Another system, a big-endian processor and another interpreter are refused in one sentence: by the build, by the compiler,
at import."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import types

import pytest
from paths import ROOT

import cdevice

OTHER = "cdevice: this interpreter is pypy; the extension module makes types by the API of CPython, so use CPython 3.10"
SENTENCE = "cdevice: this processor is big-endian; Arrow's buffers are read and written as little-endian ones, so use a"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_importing_the_package_is_refused_before_anything_of_it_is_looked_for(monkeypatch):
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(ImportError) as e:
        load("cdevice_of_another_processor", cdevice.__file__)  # a relative import would fail otherwise
    assert str(e.value).startswith(SENTENCE) and "\n" not in str(e.value)


def test_building_the_package_is_refused_before_anything_is_compiled(monkeypatch):
    module = load("build_ffi_of_another_processor", ROOT / "build_ffi.py")
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(SystemExit) as e:
        module.make_native()
    assert str(e.value).startswith(SENTENCE) and "\n" not in str(e.value)


@pytest.mark.parametrize(
    "system, name, instead", [("win32", "Windows", "use WSL 2"), ("darwin", "macOS", "virtual machine")]
)
def test_building_for_another_system_is_refused_before_anything_is_compiled(system, name, instead, monkeypatch):
    module = load("build_ffi_of_another_system", ROOT / "build_ffi.py")
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(SystemExit) as e:
        module.make_native()
    assert str(e.value).startswith(f"cdevice: the extension module is not written for {name}: ")
    assert instead in str(e.value) and "\n" not in str(e.value)


def test_another_interpreter_is_refused_by_the_build_and_at_import(monkeypatch):
    module = load("build_ffi_of_another_interpreter", ROOT / "build_ffi.py")
    monkeypatch.setattr(sys, "implementation", types.SimpleNamespace(**{**vars(sys.implementation), "name": "pypy"}))
    for refused, run in (
        (SystemExit, module.make_native),
        (ImportError, lambda: load("cdevice_of_another_interpreter", cdevice.__file__)),
    ):
        with pytest.raises(refused) as e:
            run()
        assert str(e.value).startswith(OTHER) and "\n" not in str(e.value)


def test_the_compiler_refuses_the_core():
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        pytest.skip("no C compiler")
    big = ["-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__", "-E", "-w"]
    folders = [f"-I{ROOT / f}" for f in ("cdevice/include", "cdevice", "backends", ".")]
    for name in ("array/array.c", "format/schema.c", "ipc/ring.c", "compute/exec.c"):
        command = [*compiler, *big, *folders, ROOT / "cdevice" / "core" / name]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0 and SENTENCE in done.stderr, name
