"""What is built is what was meant, without a word of warning."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from paths import ROOT

SOURCES = (
    "setup.py",
    "build_ffi.py",
    "build_cache.py",
    "unicode_tables.py",
    "power_tables.py",
    "pyproject.toml",
    "README.rst",
    "LICENSE",
    "CHANGELOG.rst",
    "cdevice",
    "backends",
)
# pip's own lines begin with WARNING; what a build says, or a compiler, does not.
WARNING = re.compile(r"^(?!\s*WARNING: ).*(?i:warning\b|would be ignored).*$", re.M)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(what the build said, the wheel): those of ``CDEVICE_TEST_WHEEL``, which ci/test names, else from a copy, for a build
    writes beside the sources."""
    made = Path(os.environ.get("CDEVICE_TEST_WHEEL", ""))
    if (made / "build.log").exists():
        return (made / "build.log").read_text(), next(made.glob("cdevice-*.whl"))
    folder = tmp_path_factory.mktemp("wheel")
    clean = shutil.ignore_patterns("__pycache__", "*.so", "*.o", "*.egg-info")
    (folder / "source").mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "source" / name, ignore=clean)
        else:
            shutil.copy(ROOT / name, folder / "source" / name)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS")}
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "-w", str(folder), str(folder / "source")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=env)
    if done.returncode and "No matching distribution found" in done.stdout:
        pytest.skip("what the build needs is not installed and cannot be had: setuptools, cffi")
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout, next(folder.glob("cdevice-*.whl"))


@pytest.mark.slow
@pytest.mark.nosan
def test_the_build_prints_no_warning(built):
    assert [m[0] for m in WARNING.finditer(built[0])] == []


@pytest.mark.slow
@pytest.mark.nosan
def test_the_wheel_has_every_module_and_no_source_in_c(built):
    names = set(zipfile.ZipFile(built[1]).namelist())
    assert "cdevice/py.typed" in names and "cdevice/include/cdevice/backend.h" in names
    assert not {n for n in names if n.endswith(".c")}
    headers = {n for n in names if n.endswith((".h", ".hpp"))}
    public = {f"cdevice/include/cdevice/{p.name}" for p in (ROOT / "cdevice" / "include" / "cdevice").iterdir()}
    assert public == {n for n in headers if n.startswith("cdevice/include/")} and len(public) >= 5
    assert headers == {n for n in headers if n.startswith(("cdevice/include/", "cdevice/kernels/"))}
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "cdevice").rglob("*.py") if "__pycache__" not in p.parts}
    modules |= {f"cdevice/backends/{p.name}" for p in (ROOT / "backends").glob("*.py")}
    assert modules == {n for n in names if n.endswith(".py")}


@pytest.mark.slow
@pytest.mark.nosan
@pytest.mark.notrace
def test_the_wheel_is_at_most_4_mb(built):
    assert built[1].stat().st_size <= 4_000_000  # with debug information it was 9.4 MB


@pytest.mark.slow
@pytest.mark.nosan
def test_the_wheel_has_a_bill_of_materials(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/sboms/cdevice.cdx.json"))
        bill = json.loads(wheel.read(name))
        metadata = wheel.read(name.replace("sboms/cdevice.cdx.json", "METADATA")).decode()
    needed = [re.match(r"[\w.-]+", m[1])[0] for m in re.finditer(r"^Requires-Dist: ([^;\n]*)$", metadata, re.M)]
    assert needed and [c["name"] for c in bill["components"]] == needed
    assert bill["metadata"]["component"]["version"] == re.search(r"^Version: (.*)$", metadata, re.M)[1]
    assert bill["dependencies"][0]["dependsOn"] == [c["bom-ref"] for c in bill["components"]]


@pytest.mark.slow
@pytest.mark.nosan
def test_two_source_archives_of_the_same_files_have_the_same_bytes(tmp_path):
    python = ROOT / "build" / "venv-build" / "bin" / "python"
    if not python.exists():
        pytest.skip("no build/venv-build: ci/test makes it")
    archives = []
    for folder in ("one", "another"):
        clean = shutil.ignore_patterns("__pycache__", "*.so", "*.o", "*.egg-info")
        (tmp_path / folder).mkdir()
        for name in SOURCES:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, tmp_path / folder / name, ignore=clean, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(ROOT / name, tmp_path / folder / name)
        command = [python, "setup.py", "-q", "sdist"]
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        done = subprocess.run(command, cwd=tmp_path / folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        (archive,) = (tmp_path / folder / "dist").iterdir()
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]


def test_every_file_with_the_version_has_the_same():
    numbers = {}
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.*)"'),
        ("cdevice/__init__.py", r'^__version__ = "(.*)"'),
        ("cdevice/lib/pkgconfig/cdevice.pc", r"^Version: (.*)"),
        ("cdevice/lib/cmake/cdevice/cdevice-config.cmake", r"^set\(cdevice_VERSION (.*)\)"),
        ("cdevice/lib/cmake/cdevice/cdevice-config-version.cmake", r"^set\(PACKAGE_VERSION (.*)\)"),
        ("cdevice/CMakeLists.txt", r"^project\(cdevice_core VERSION (\S+)"),
        ("CHANGELOG.rst", r"^(\d+\.\d+\.\d+) "),
    ):
        numbers[name] = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)[1]
    header = (ROOT / "cdevice/include/cdevice/cdevice.h").read_text(encoding="utf-8")
    numbers["cdevice.h"] = ".".join(re.findall(r"^#define CDEVICE_VERSION_\w+ (\d+)", header, re.M))
    assert len(set(numbers.values())) == 1, numbers
    minor = re.search(
        r"VERSION_MINOR EQUAL (\d+)", (ROOT / "cdevice/lib/cmake/cdevice/cdevice-config-version.cmake").read_text()
    )
    assert minor[1] == numbers["pyproject.toml"].split(".")[1]


# what stands before the text for one type
NUMBERS = (
    '#include "cpu/compute.h"\n#define CDV_HOST 1\n'
    + "".join(f'#include "cdevice/kernels/lang/{part}.h"\n' for part in ("protocol", "dialect", "wide", "half", "bits"))
    + "#define T i32\n"
)


TEXT = ("strings/utf8", "build/unicode_case", "build/unicode_class", "strings/case_of", "strings/class_of")


CASTS = ("strings/utf8", "text/digits", "build/powers", "text/shortest", "text/integer", "text/real", "text/decimal")
CASTS += ("temporal/calendar", "text/clock", "text/format", "text/print")
OF_NUMBERS = ("aggregate/tiles", "aggregate/moment_state", "math/each", "math/rounder")


def included(*parts):
    """What other text comes before a header; tables are written by the build."""
    names = (f"{part}.h" if part.startswith("build/") else f"cdevice/kernels/{part}.h" for part in parts)
    return "".join(f'#include "{name}"\n' for name in names)


def build_module():
    sys.path.insert(0, str(ROOT))
    try:
        import build_ffi
    finally:
        sys.path.remove(str(ROOT))
    return build_ffi


TEMPLATE = """
#define RT_FAMILY "none"
#define RT_N_KINDS 1
#define RT_SAVED int
#define RT_COMPILER "none"
#define RT_COMPILER_NAME "none"
#define RT_COMPILER_HINT ""
#define RT_COMPILER_OPTIONS ""
#define RT_COMPILER_FUNCTIONS(X)
#define RT_MOST_ITEMS 1
#define RT_GONE 0
#define RT_EVENTS_ALONE 0
"""


@pytest.mark.nosan
@pytest.mark.parametrize(
    "name", sorted(str(p.relative_to(ROOT / "backends")) for p in (ROOT / "backends").glob("*/*.h"))
)
def test_a_header_of_the_backends_stands_alone(name, tmp_path):
    """The template's headers need its parameters, and nothing that comes before them."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        pytest.skip("no C compiler")
    source = tmp_path / "alone.c"
    build_module().write_tables()
    template = name.startswith("gpu_driver/")
    parameters = TEMPLATE if template else ""
    parameters = {
        "cpu/kernels.h": "#define CPU_KERNELS kernels\n",
        "cpu/text_casts.h": "#define CPU_KERNELS kernels\n",
        "cpu/text_casts_of.h": NUMBERS.replace("#define T i32", included(*CASTS) + "#define T i32"),
        "cpu/offsets.h": NUMBERS,
        "cpu/times.h": NUMBERS.replace(
            "#define T i32", included("temporal/calendar", "temporal/zone") + "#define T s64"
        ),
        "cpu/numbers.h": NUMBERS.replace("#define T i32", included(*OF_NUMBERS) + "#define T i32"),
        "cpu/reals.h": NUMBERS.replace("#define T i32", included("math/each")),
        "cpu/text.h": NUMBERS.replace("#define T i32", included(*TEXT) + "#define T i32"),
        "cpu/decimal_reals.h": f"{NUMBERS}#undef T\n#define T f64\n",
        "cpu/wide_casts.h": f"{NUMBERS}#undef T\n#define T w128\n",
        "cpu/each_integer.h": NUMBERS + '#define TEXT "cdevice/kernels/scalar/cast.h"\n',
    }.get(name, parameters)
    source.write_text(f'{parameters}#include "{name}"\n')
    flags = ["-std=gnu11", "-w", "-fsyntax-only", f"-I{ROOT / 'backends'}", f"-I{ROOT / 'cdevice' / 'include'}"]
    flags.append(f"-I{ROOT}")  # the text of kernels
    done = subprocess.run([*compiler, *flags, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.nosan
def test_a_program_has_the_kernels_that_it_is_asked_for_alone(tmp_path):
    """Compilers at run time are given the kernels of one call, which takes a tenth of the time of a whole family."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        pytest.skip("no C compiler")
    texts, source = build_module().kernel_sources(), tmp_path / "text.c"

    def kernels(text, *wanted):
        source.write_text(texts[""] + text)
        flags = ["-E", "-P", "-w", "-DS=f32", f"-DT={t}", *wanted, str(source)]
        done = subprocess.run([*compiler, *flags], capture_output=True, text=True, check=True)
        return re.findall(r"__global__ void\s+(\w+)", done.stdout)

    for family, text in texts.items():
        t = "s64" if family.startswith("time_") else "i64"
        every = kernels(text)
        assert len(every) == len(set(every)) and bool(every) == bool(family)
        for name in every[:: max(1, len(every) // 4)]:
            assert kernels(text, "-DCDV_ONLY=1", f"-DKERNEL_ENABLED_{name.removesuffix('_' + t)}") == [name]
        both = [f"-DKERNEL_ENABLED_{name.removesuffix('_' + t)}" for name in every[:2]]
        assert kernels(text, "-DCDV_ONLY=1", *both) == every[:2]
        assert not kernels(text, "-DCDV_ONLY=1")


@pytest.mark.skipif(not shutil.which("readelf"), reason="apt-get install binutils")
@pytest.mark.notrace
def test_what_is_built_is_hardened():
    """Tables of functions are read-only after loading, the stack does not run, writes past a buffer are met."""
    import cdevice._native

    folder = Path(cdevice._native.__file__).parent
    for library in (Path(cdevice._native.__file__), *folder.glob("lib/libcdevice.so")):
        told = subprocess.run(
            ["readelf", "-W", "-d", "-l", "--dyn-syms", str(library)], capture_output=True, text=True, check=True
        ).stdout
        assert "BIND_NOW" in told or "NOW" in told.partition("FLAGS_1")[2].partition("\n")[0], library
        assert "GNU_RELRO" in told and "__stack_chk_fail" in told, library
        assert re.search(r"GNU_STACK .* RW +0x", told), library
        assert "__snprintf_chk" in told or "__memcpy_chk" in told, library


@pytest.mark.parametrize(
    "unknown, left",
    [
        ("none", ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=3", "-fcf-protection"]),
        ("-D_FORTIFY_SOURCE=3", ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-fcf-protection"]),
        ("-fcf-protection", ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=3"]),
        ("-f*", ["-D_FORTIFY_SOURCE=3"]),
        ("*", []),
    ],
)
def test_a_flag_of_hardening_that_the_compiler_does_not_take_is_left_out(unknown, left, monkeypatch, tmp_path):
    """An older compiler builds the package with what it has: the flag is tried before it is used."""
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\nfor word; do case "$word" in {unknown}) exit 1 ;; esac; done\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.delenv("CDEVICE_CFLAGS", raising=False)
    spec = importlib.util.spec_from_file_location("build_ffi_of_another_compiler", ROOT / "build_ffi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compile_, link = module.hardening()
    assert [flag for flag in compile_ if flag != "-U_FORTIFY_SOURCE"] == left
    assert {"-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"} == set(link)
