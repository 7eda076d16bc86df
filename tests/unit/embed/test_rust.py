"""The program in Rust over the C header, by rustc and by cargo, with the flags of its README."""

import os
import re
import shutil
import subprocess

import pytest
from children import child_env
from embedding import LIBRARY, installed, run, starts
from paths import ROOT

import cdevice
from cdevice import config

FOLDER = ROOT / "examples" / "rust"
ROWS = "Bergen      20.00\nNarvik      18.00\nOslo         3.25\n"

if not starts("rustc"):
    pytest.skip("no rustc: apt-get install rustc, or rustup default stable", allow_module_level=True)


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Built as the README has it, with warnings as errors."""
    out = tmp_path_factory.mktemp("rust") / "trips"
    line = re.search(r"^    rustc (.*)$", (FOLDER / "README.rst").read_text(encoding="utf-8"), re.M)[1]
    words = line.replace("$lib", config.get_library_dir()).split()
    command = ["rustc", *words, "-D", "warnings", "-o", str(out)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@installed
@pytest.mark.parametrize("name", ["cpu", "opencl:0"])
def test_trips_are_filtered_grouped_and_sorted_in_rust(name, trips):
    if not cdevice.device(name).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    env = {k: v for k, v in child_env().items() if k != "LD_LIBRARY_PATH"}
    assert run(trips, name, env=env).stdout == ROWS


def test_an_error_is_a_sentence_with_its_code(trips):
    done = run(trips, "nothing_like_it", ok=False)
    assert done.returncode == 1
    assert re.fullmatch(r"trips: .*'nothing_like_it'.* \(22\)\n", done.stderr), done.stderr


def test_cargo_takes_the_flags_of_the_readme(tmp_path):
    if not starts("cargo"):
        pytest.skip("no cargo: apt-get install cargo, or rustup default stable")
    flags = re.search(r"^    rustflags = .*$", (FOLDER / "README.rst").read_text(encoding="utf-8"), re.M)[0].strip()
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text("[build]\n" + flags.replace("LIB", str(LIBRARY.parent)) + "\n")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "trips"\nversion = "1.0.0"\nedition = "2021"\n')
    (tmp_path / "src").mkdir()
    shutil.copy(FOLDER / "trips.rs", tmp_path / "src" / "main.rs")
    env = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}
    command = ["cargo", "build", "--offline", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "target" / "debug" / "trips").stdout == ROWS


def test_structs_and_functions_are_those_of_the_header():
    """Each declaration has the parameters of the header, and the struct its members, in their order."""
    header = (FOLDER.parents[1] / "cdevice" / "include" / "cdevice" / "cdevice.h").read_text(encoding="utf-8")
    rust = (FOLDER / "trips.rs").read_text(encoding="utf-8")
    functions = re.findall(r"pub fn (cdevice_\w+)\(([^)]*)\)", rust)
    assert len(functions) > 10
    for name, parameters in functions:
        given = re.search(rf"\b{name}\(([^)]*)\);", header)[1]
        there = 0 if given == "void" else given.count(",") + 1
        assert len(re.findall(r"\w+:(?!:)", parameters)) == there, name
    members = re.search(r"typedef struct cdevice_array_parts \{(.*?)\} cdevice_array_parts", header, re.S)[1]
    members = re.sub(r"/\*.*?\*/", "", members, flags=re.S).replace("(*release)(void *owner)", "release")
    names = [re.findall(r"\w+", one)[-1] for line in members.split(";") if line.strip() for one in line.split(",")]
    struct = re.search(r"pub struct Parts \{(.*?)\n    \}", rust, re.S)[1]
    assert re.findall(r"pub (\w+):", struct) == names
