"""The structs are the specification's: sizes and offsets agree with Arrow's own header, in one translation unit too."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from paths import ROOT

import cdevice
from cdevice._runtime.ext import ffi

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

STRUCTS = (
    "ArrowSchema",
    "ArrowArray",
    "ArrowDeviceArray",
    "ArrowArrayStream",
    "ArrowDeviceArrayStream",
    "ArrowAsyncTask",
    "ArrowAsyncProducer",
    "ArrowAsyncDeviceStreamHandler",
)
OURS, THEIRS = "#include <cdevice/arrow_abi.h>\n", "#include <arrow/c/abi.h>\n"


def compiler(name="cc"):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"no compiler: apt-get install {'gcc' if name == 'cc' else 'g++'}")
    return path


def compile_text(text, tmp_path, *, language="c", args=()):
    source = tmp_path / ("unit.c" if language == "c" else "unit.cpp")
    source.write_text(text)
    command = [
        compiler("cc" if language == "c" else "c++"),
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{cdevice.get_include()}",
    ]
    command += [f"-std={'c11' if language == 'c' else 'c++17'}", f"-I{pa.get_include()}", str(source), *args]
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer's; compilers leak
    done = subprocess.run(command, capture_output=True, text=True, env=plain)
    assert done.returncode == 0, done.stderr


def members(name):
    return [field for field, _ in ffi.typeof(f"struct {name}").fields]


def asserts(keyword):
    lines = []
    for name in STRUCTS:
        kind = ffi.typeof(f"struct {name}")
        lines.append(f'{keyword}(sizeof(struct {name}) == {ffi.sizeof(kind)}, "{name}");')
        lines += [
            f'{keyword}(offsetof(struct {name}, {m}) == {ffi.offsetof(kind, m)}, "{name}.{m}");' for m in members(name)
        ]
    return "#include <stddef.h>\n" + "\n".join(lines)


@pytest.mark.parametrize(
    "includes", [OURS, THEIRS, OURS + THEIRS, THEIRS + OURS], ids=["ours", "theirs", "ours first", "theirs first"]
)
def test_the_compiler_agrees_on_every_offset(includes, tmp_path):
    compile_text(includes + asserts("_Static_assert"), tmp_path, args=["-c", "-o", str(tmp_path / "out.o")])


def test_the_headers_are_cpp_too(tmp_path):
    text = OURS + THEIRS + "#include <cdevice/backend.h>\n" + asserts("static_assert")
    compile_text(text, tmp_path, language="c++", args=["-c", "-o", str(tmp_path / "out.o")])


def test_at_run_time_arrows_own_header_gives_the_same_numbers(tmp_path):
    lines = []
    for name in STRUCTS:
        lines.append(f'  printf("{name} %zu\\n", sizeof(struct {name}));')
        lines += [f'  printf("{name}.{m} %zu\\n", offsetof(struct {name}, {m}));' for m in members(name)]
    text = (
        THEIRS + "#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n  return 0;\n}\n"
    )
    compile_text(text, tmp_path, args=["-o", str(tmp_path / "show")])
    theirs = dict(line.split() for line in subprocess.check_output([str(tmp_path / "show")], text=True).splitlines())
    ours = {}
    for name in STRUCTS:
        kind = ffi.typeof(f"struct {name}")
        ours[name] = str(ffi.sizeof(kind))
        ours.update({f"{name}.{m}": str(ffi.offsetof(kind, m)) for m in members(name)})
    assert ours == theirs


def test_the_canonical_guards_are_there():
    text = pathlib.Path(cdevice.get_include(), "cdevice", "arrow_abi.h").read_text()
    for guard in ("DATA", "DEVICE_DATA", "STREAM", "DEVICE_STREAM", "ASYNC_STREAM"):
        assert re.search(rf"#ifndef ARROW_C_{guard}_INTERFACE\n#define ARROW_C_{guard}_INTERFACE\n", text)


def test_the_plug_in_header_stands_alone(tmp_path):
    compile_text("#include <cdevice/backend.h>\nint x;\n", tmp_path, args=["-c", "-o", str(tmp_path / "out.o")])


def test_the_build_script_refuses_what_cffi_cannot_read(tmp_path):
    root = ROOT
    namespace = {"__file__": str(root / "build_ffi.py"), "__name__": "build_ffi"}
    exec((root / "build_ffi.py").read_text(), namespace)
    header = tmp_path / "bad.h"
    header.write_text("int f(void);\n#if SOMETHING\nint g(void);\n#endif\n")
    with pytest.raises(ValueError, match="bad.h:2"):
        namespace["read_cdef"](str(header))
    header.write_text(
        "/* #if in a comment */\n#define N 3\n/* cffi: skip */\n#if X\n#endif\n/* cffi: end */\nint f(void);\n"
    )
    assert namespace["read_cdef"](str(header)).split() == ["#define", "N", "3", "int", "f(void);"]
