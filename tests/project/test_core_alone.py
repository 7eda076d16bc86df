"""The core by CMake, without Python: what is built, exported, installed and refused, and some of its tests in C."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from paths import ROOT

CORE = ROOT / "cdevice"
HEADER = (CORE / "include" / "cdevice" / "cdevice.h").read_text(encoding="utf-8")
QUICK = ["-DCMAKE_BUILD_TYPE=Debug", "-DCDEVICE_CPU_BASE_ONLY=ON", "-DCMAKE_C_FLAGS=-DCPU_KERNELS_SLOW -g0"]
TESTS = "test_core|test_core_cache|test_core_compute|test_opencl"

for _tool in ("cmake", "gcc"):
    if not shutil.which(_tool):
        pytest.skip(f"apt-get install {_tool}", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.nosan, pytest.mark.notrace]


def run(*command, ok=True, env=None, cwd=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env, cwd=cwd, timeout=500)
    assert (done.returncode == 0) == ok, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core") / "b"
    run("cmake", "-S", CORE, "-B", folder, f"-DCDEVICE_PYTHON={sys.executable}", *QUICK)
    targets = ["cdevice_core", "cdevice_core_static", *TESTS.split("|")]
    said = run("cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", *targets)
    assert "warning:" not in said
    return folder


@pytest.fixture(scope="module")
def installed(built):
    prefix = built.parent / "installed"
    prefix.mkdir()
    # the tests that were not built are no part of it
    run("cmake", "-DCMAKE_INSTALL_PREFIX=" + str(prefix), "-P", "cmake_install.cmake", cwd=built)
    return prefix


def test_its_tests_in_c_pass(built):
    said = run("ctest", "--test-dir", built, "--output-on-failure", "-R", f"^({TESTS})$")
    assert f"tests passed, 0 tests failed out of {TESTS.count('|') + 1}" in said


def test_the_shared_library_has_the_functions_of_the_header_and_no_other_name(built):
    said = run("nm", "-D", "--defined-only", built / "libcdevice_core.so")
    names = {line.split()[-1] for line in said.splitlines() if line.split()[-2] in "TDB"}
    declared = set(re.findall(r"^[a-z][\w *]*?\b(cdevice_\w+)\(", HEADER, re.M))
    assert declared - names == set() and len(declared) > 60
    assert {n for n in names if not n.startswith("cdevice_")} == set()


def test_neither_library_knows_python(built):
    for name, flags in (("libcdevice_core.so", ["-D"]), ("libcdevice_core.a", [])):
        assert not re.findall(r"\bU _?Py\w*", run("nm", *flags, "--undefined-only", built / name))
    assert "python" not in run("readelf", "-d", built / "libcdevice_core.so").lower()


PROGRAM = """
#include <cdevice/cdevice.h>
#include <errno.h>
#include <stdio.h>
static const double values[3] = {1.5, 2.5, -4.0};
int main(void) {
  int32_t type, types[8]; int64_t id, n; cdevice_schema *s; cdevice_array *a, *b, *out = NULL; int equal = 0;
  const void *buffers[2] = {NULL, values};
  cdevice_array_parts p;
  memset(&p, 0, sizeof p);
  p.device_type = 1; p.device_id = -1; p.length = 3; p.n_buffers = 2; p.buffers = buffers;
  if (cdevice_start() || *cdevice_start_error() || cdevice_version() != 512) return 1;
  if (cdevice_find_device("cpu", &type, &id) || type != 1 || id != -1) return 2;
  if (cdevice_find_device("OpenCL:3", &type, &id) || type != 4 || id != 3) return 3;
  if (cdevice_find_device("cuda-host", &type, &id) || type != 3 || id) return 4;
  if (cdevice_find_device("6001:2", &type, &id) || type != 6001 || id != 2) return 5;
  const char *wrong[] = {"nothing_like_it", "", ":1", "cuda:", "cuda:x", "cuda:-1", "-3", "opencl:99999999999999999999"};
  for (int i = 0; i < 8; i++)
    if (cdevice_find_device(wrong[i], &type, &id) != EINVAL || !strstr(cdevice_error_text(), "is no device")) return 10 + i;
  if (cdevice_device_types(types, 8, &n) || n < 2 || types[0] != 1) return 20;
  if (cdevice_schema_new("g", "x", 0, 0, NULL, NULL, &s) || cdevice_array_build(s, &p, CDEVICE_CHECK_FULL, &a)) return 21;
  if (cdevice_array_copy(a, 1, -1, NULL, 1, &b) || cdevice_array_equal(a, b, 0, &equal) || !equal) return 22;
  if (cdevice_call("sum", &a, 1, NULL, &out) != ENOTSUP || out || !strstr(cdevice_error_text(), "link libcdevice of the Python package")) return 23;
  if (cdevice_call_python("m", "f", NULL, NULL) != ENOTSUP) return 24;
  if (cdevice_array_slice(NULL, 0, 1, &out) != EINVAL || strcmp(cdevice_error_text(), "cdevice_array_slice(): array is NULL")) return 25;
  if (cdevice_array_copy(a, 6150, 0, NULL, 0, &out) != ENODEV || !*cdevice_error_text()) return 26;
  cdevice_array_unref(a); cdevice_array_unref(b); cdevice_schema_unref(s);
  printf("%lld types\\n", (long long)n);
  return 0;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(cdevice_core 0.2 REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE cdevice::core)
add_executable(static program.c)
target_link_libraries(static PRIVATE cdevice::core_static)
"""


def test_a_program_links_the_installed_libraries_and_runs_without_python(installed, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "b")
    for name in ("shared", "static"):
        assert run(tmp_path / "b" / name, env={"PATH": "/nowhere"}) == "2 types\n"
    assert {p.name for p in (installed / "include" / "cdevice").iterdir()} == {
        p.name for p in (CORE / "include" / "cdevice").iterdir()
    }


CPP = """
#include <cdevice/cdevice.hpp>
#include <iostream>
int main() {
  const auto x = cdevice::make_numbers<double>("x", {1, 2});
  std::cout << *x.copy_to(cdevice::device::find("cpu"), nullptr, true).as<double>().at(1);
  try {
    cdevice::call("sum", x);
  } catch (const cdevice::error &e) {
    std::cout << (e.code() == ENOTSUP) << '\\n';
  }
}
"""


def test_the_header_of_cpp_takes_the_core_too(installed, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("apt-get install g++")
    (tmp_path / "program.cpp").write_text(CPP)
    flags = [f"-I{installed / 'include'}", next(installed.rglob("libcdevice_core.a")), "-pthread", "-ldl", "-lm"]
    run(
        "g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", tmp_path / "program.cpp", "-o", tmp_path / "program", *flags
    )
    assert run(tmp_path / "program", env={}) == "21\n"


OWNERS = """
#include <cdevice/cdevice.hpp>
using namespace cdevice;
#define EXPECT(x) do { if (!(x)) return __LINE__; } while (0)
int main() {
  const array x = make_numbers<double>("x", {1, 2, 3});
  array batch = make_batch({x, make_strings("s", {"a", "", "c"})}), same = batch, moved = std::move(batch);
  same = moved;
  array &itself = same;
  same = itself;
  EXPECT(!batch && same.column("s").as<std::string_view>()[2] == "c" && same.slice(1, 2).column("x").as<double>()[0] == 2);
  schema type = moved.type(), copy = type, nested("+s", "t", 0, {copy, schema("i")});
  type = std::move(copy);
  c_schema s = nested.to_c(), t = std::move(s);
  EXPECT(!s && t && t->n_children == 2);
  s = type.to_c();
  c_array a = moved.to_c();
  array back = array::import_from(s.get(), a.get(), checks::full);
  EXPECT(!a && back.equals(same));
  try {
    s = x.type().to_c();
    a = moved.to_c();
    array::import_from(s.get(), a.get()); // of another type: both stay the caller's
    return __LINE__;
  } catch (const error &) {
  }
  stream in = stream::of(x.type(), {x, x.slice(0, 1), x});
  for (array &one : in) {
    EXPECT(one.length() == 3);
    break; // the rest is never asked for
  }
  stream other = std::move(in);
  c_stream out;
  other.export_to(out.get());
  in = stream::import_from(out.get());
  EXPECT(std::move(in).copy_to({}, 2).next().equals(x.slice(0, 1)));
  consumer c(1);
  producer p(stream::of(x.type(), {x, x, x, x}), c.handler());
  EXPECT(c.next() && c.next_for(std::chrono::seconds(20)));
  c = consumer(1); // ends the first one, which has a producer
  p.wait();
  tensor dlpack = x.to_dlpack();
  EXPECT(array::from_dlpack(std::move(dlpack)).as<double>().data()[2] == 3);
  c_cpu_stream never;
  stream::of(x.type(), {x}).export_to(never.get());
  return 0;
}
"""


def test_owners_of_cpp_give_back_everything_once(installed, tmp_path):
    """Under the address sanitizer, which finds what is leaked, freed twice or read after its end."""
    if not shutil.which("g++"):
        pytest.skip("apt-get install g++")
    (tmp_path / "program.cpp").write_text(OWNERS)
    command = ["g++", "-std=c++17", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    command += ["-Wall", "-Wextra", "-Werror", f"-I{installed / 'include'}", str(tmp_path / "program.cpp")]
    command += [
        "-o",
        str(tmp_path / "program"),
        str(next(installed.rglob("libcdevice_core.a"))),
        "-pthread",
        "-ldl",
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "asan" in done.stderr:
        pytest.skip("no address sanitizer: apt-get install libasan8")
    assert done.returncode == 0, done.stderr
    run(tmp_path / "program", env={"ASAN_OPTIONS": "detect_leaks=1"})


def test_pkg_config_finds_the_installed_library(installed, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("apt-get install pkg-config")
    (tmp_path / "program.c").write_text(PROGRAM)
    folder = next(installed.rglob("cdevice_core.pc")).parent
    words = run("pkg-config", "--cflags", "--libs", "cdevice_core", env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
    run("gcc", tmp_path / "program.c", "-o", tmp_path / "program", *words.split())
    assert run(tmp_path / "program", env={}) == "2 types\n"


def test_a_machine_without_python_gets_a_reason_or_takes_what_was_written_elsewhere(built, tmp_path):
    said = run(
        "cmake",
        "-S",
        CORE,
        "-B",
        tmp_path / "a",
        "-DCDEVICE_PYTHON=CDEVICE_PYTHON-NOTFOUND",
        *QUICK,
        ok=False,
        env={**os.environ, "PATH": without_python(tmp_path)},
    )
    assert "CDEVICE_GENERATED" in said
    run(
        "cmake",
        "-S",
        CORE,
        "-B",
        tmp_path / "b",
        f"-DCDEVICE_GENERATED={built / 'generated'}",
        *QUICK,
        env={**os.environ, "PATH": without_python(tmp_path)},
    )


def without_python(folder):
    """A folder with the tools of a build, and no interpreter."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("cmake", "cc", "gcc", "make", "ld", "as", "ar", "ranlib", "nm", "strip", "sh", "uname"):
        if shutil.which(name) and not (tools / name).exists():
            (tools / name).symlink_to(shutil.which(name))
    return str(tools)


def test_a_backend_that_does_not_exist_ends_the_configuration(tmp_path):
    said = run("cmake", "-S", CORE, "-B", tmp_path / "b", "-DCDEVICE_BACKENDS=opencl", *QUICK, ok=False)
    assert "the core needs cpu" in said
