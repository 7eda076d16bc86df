"""Compiled objects are used again exactly where a compiler would make the same ones (build_cache.py)."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest
from paths import ROOT
from sample import sample

COMPILER = shlex.split(os.environ.get("CC", "cc"))
pytestmark = [
    pytest.mark.nosan,
    pytest.mark.notrace,
    pytest.mark.skipif(not shutil.which(COMPILER[0]), reason="no C compiler: apt-get install gcc libc6-dev"),
]
TREE = {
    "a.c": '#include "one.h"\nint a(void) { return ONE + N; }\n',
    "b.c": '#include "two.h"\nint b(void) { return ONE + TWO + N; }\n',
    "c.c": "int c(void) { int unused; return N; }\n",
    "include/one.h": "#define ONE 1\n",
    "include/two.h": '#include "one.h"\n#define TWO 2\n',
    "early/empty.h": "",
}


class Tree:
    """A folder of C files, and how to compile them."""

    def __init__(self, folder):
        self.folder, self.flags, self.compiler, self.env = folder, ["-Wall", "-DN=0"], COMPILER, {}
        for name, text in TREE.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def start(self, *more, output="out"):
        command = [
            sys.executable,
            "-I",
            ROOT / "build_cache.py",
            "objects",
            output,
            *self.flags,
            "-Iearly",
            "-Iinclude",
        ]
        command += [*more, "--", *sorted(p.name for p in self.folder.glob("*.c"))]
        env = {**os.environ, "CC": shlex.join(map(str, self.compiler)), **self.env}
        return subprocess.Popen(command, cwd=self.folder, env=env, stdout=-1, stderr=-1, text=True)

    def compile(self, *more, output="out"):
        """(names compiled, names used again, what the compiler said)"""
        with self.start(*more, output=output) as process:
            said = process.communicate()[1]
        told = json.loads((self.folder / output / "cache.json").read_text())
        return told["compiled"], told["reused"], said

    def entries(self):
        return sorted(p for p in (self.folder / "objects").rglob("*") if p.is_file())


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path)
    assert made.compile()[:2] == (["a.c", "b.c", "c.c"], [])
    assert made.compile()[:2] == ([], ["a.c", "b.c", "c.c"])
    return made


@pytest.mark.parametrize(
    "name, again", [("include/one.h", ["a.c", "b.c"]), ("include/two.h", ["b.c"]), ("c.c", ["c.c"])]
)
def test_an_edit_compiles_exactly_what_includes_the_file(tree, name, again):
    tree.write(name, TREE[name] + "/* a comment: warnings and line numbers may depend on it */\n")
    assert tree.compile()[0] == again
    tree.write(name, TREE[name])
    assert tree.compile()[0] == []


def test_a_header_that_comes_before_another_on_the_search_path_is_noticed(tree):
    tree.write("early/one.h", "#define ONE 10\n")
    assert tree.compile()[0] == ["a.c"]  # two.h finds the one beside it
    (tree.folder / "early" / "one.h").unlink()
    assert tree.compile()[0] == []


def test_a_header_that_an_environment_variable_brings_is_noticed(tree):
    tree.write("c.c", '#if __has_include("late.h")\n#include "late.h"\n#endif\nint c(void) { return N; }\n')
    assert tree.compile()[0] == ["c.c"]
    tree.write("later/late.h", "extern int late;\n")
    tree.env["CPATH"] = str(tree.folder / "later")
    assert tree.compile()[0] == ["c.c"]


@pytest.mark.parametrize("flag", ["-O2", "-DMORE", "-DN=1", "-fsanitize=undefined", "-g", "-Wextra", "-std=gnu11"])
def test_another_flag_compiles_everything(tree, flag):
    assert tree.compile(flag)[0] == ["a.c", "b.c", "c.c"]
    assert tree.compile(flag)[0] == tree.compile()[0] == []


def test_another_compiler_compiles_everything(tree):
    """The version is another, or the program is, though the version is the same."""
    program = tree.folder / "compiler"

    def make(version):
        real = shlex.join(COMPILER)
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo {version}; exit; }}\nexec {real} "$@"\n')
        program.chmod(0o755)

    make("cc 1")
    tree.compiler = [program]
    assert tree.compile()[0] == ["a.c", "b.c", "c.c"]
    assert tree.compile()[0] == []
    make("cc 2")
    assert tree.compile()[0] == ["a.c", "b.c", "c.c"]
    os.utime(program, ns=(1, 1))
    assert tree.compile()[0] == ["a.c", "b.c", "c.c"]


def test_a_working_directory_is_part_of_what_debuggers_read(tree):
    other = Tree(tree.folder.parent / "other")
    shutil.copytree(tree.folder / "objects", other.folder / "objects")
    assert other.compile()[0] == ["a.c", "b.c", "c.c"]


def damage_cut(data):
    return data[: len(data) // 2]


def damage_one_bit(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def damage_empty(data):
    return b""


@pytest.mark.parametrize("damage", [damage_cut, damage_one_bit, damage_empty])
def test_a_damaged_object_is_not_used_and_made_anew(tree, damage):
    good = {p.name: p.read_bytes() for p in (tree.folder / "out").glob("*.o")}
    for path in tree.entries():
        path.write_bytes(damage(path.read_bytes()))
    assert tree.compile()[0] == ["a.c", "b.c", "c.c"]
    assert {p.name: p.read_bytes() for p in (tree.folder / "out").glob("*.o")} == good
    assert tree.compile()[0] == []


def test_an_object_under_the_name_of_another_is_not_used(tree):
    first, second, third = tree.entries()
    shutil.copy(first, second)
    shutil.copy(first, third)
    assert len(tree.compile()[0]) == 2


def test_a_warning_is_told_every_time(tree):
    said = tree.compile()[2]
    assert "unused" in said and tree.compile()[2] == said


def test_what_changes_while_it_is_compiled_is_not_kept(tree):
    """The compiler reads another file than the preprocessor did: the object belongs to neither key."""
    program = tree.folder / "compiler"
    text = "int c(void) { return 5; }"
    real = shlex.join(COMPILER)
    program.write_text(f'#!/bin/sh\ncase " $* " in *" -c c.c "*) echo "{text}" >c.c ;; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    tree.compiler = [program]
    assert tree.compile()[0] == ["a.c", "b.c", "c.c"]
    tree.write("c.c", TREE["c.c"])
    assert tree.compile()[0] == ["c.c"]


@pytest.mark.parametrize("flag", ["--coverage", "-gsplit-dwarf", "-march=native", "-Wa,-alh=list", "-fprofile-arcs"])
def test_a_command_that_makes_or_reads_more_is_always_run(tree, flag):
    for _ in range(2):
        assert tree.compile(flag)[:2] == (["a.c", "b.c", "c.c"], [])


def test_a_file_that_the_assembler_reads_is_not_overlooked(tree):
    tree.write("c.c", 'extern char blob; __asm__("blob: .incbin \\"blob\\"");\n')
    tree.write("blob", "1")
    assert tree.compile()[0] == ["c.c"] == tree.compile()[0]


def test_a_file_that_does_not_compile_leaves_no_object(tree):
    tree.write("a.c", "int a(void) { return nothing; }\n")
    with tree.start() as process:
        said = process.communicate()[1]
    assert process.returncode == 1 and "nothing" in said and "a.c does not compile" in said
    assert sorted(p.name for p in (tree.folder / "out").glob("*.o")) == ["b.o", "c.o"]
    tree.write("a.c", TREE["a.c"])
    assert tree.compile()[0] == []


def test_processes_share_a_folder(tmp_path):
    tree = Tree(tmp_path)
    running = [tree.start(output=f"out{i}") for i in range(4)]
    for process in running:
        assert process.wait() == 0
        process.communicate()
    made = [{p.name: p.read_bytes() for p in (tmp_path / f"out{i}").glob("*.o")} for i in range(4)]
    assert len(made[0]) == 3 and made == [made[0]] * 4
    assert tree.compile()[0] == [] and len(tree.entries()) == 3


def test_what_was_not_used_for_longest_goes_first(tree):
    sys.path.insert(0, str(ROOT))
    try:
        import build_cache
    finally:
        sys.path.remove(str(ROOT))
    first, second, third = tree.entries()
    for age, path in ((1, second), (2, first), (3, third)):
        os.utime(path, (age, age))
    left = tree.folder / "objects" / "x.new"  # of a process that was ended
    left.touch()
    os.utime(left, (1, 1))
    size = [p.stat().st_size for p in (first, third)]
    build_cache.Cache(tree.folder / "objects").prune(most=sum(size) * 4 // 3 + 8)
    assert tree.entries() == sorted([first, third])


# The compiler writes empty objects at once: what the package's own build asks for is looked at, not what it makes.
FAKE = """#!/bin/sh
for a; do case $a in -E | --version | -print*) exec {real} "$@" ;; esac; done
while [ $# -gt 1 ]; do [ "$1" = -o ] && : >"$2"; shift; done
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """build(**environment): runs setup.py's build of the extension in a copy, from the beginning; (compiled, reused)."""
    python = ROOT / "build" / "venv-build" / "bin" / "python"
    if not python.exists():
        pytest.skip("no build/venv-build: ci/test makes it")
    folder = tmp_path_factory.mktemp("package")
    clean = shutil.ignore_patterns("__pycache__", "*.so", "*.o", "*.egg-info")
    for name in ("cdevice", "backends"):
        shutil.copytree(ROOT / name, folder / name, ignore=clean)
    for name in (
        "setup.py",
        "build_ffi.py",
        "build_cache.py",
        "unicode_tables.py",
        "power_tables.py",
        "pyproject.toml",
        "README.rst",
        "LICENSE",
    ):
        shutil.copy(ROOT / name, folder)
    compiler = folder / "compiler"
    compiler.write_text(FAKE.format(real=shlex.join(COMPILER)))
    compiler.chmod(0o755)

    def build(cache="objects", **environment):
        shutil.rmtree(folder / "build", ignore_errors=True)
        env = {**os.environ, "CC": str(compiler), **environment}
        env.pop("CDEVICE_BUILD_CACHE", None)
        if cache:
            env["CDEVICE_BUILD_CACHE"] = str(folder / cache)
        done = subprocess.run([python, "setup.py", "build_ext"], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        if not cache:
            return done.stdout
        told = json.loads((folder / "build" / "cache.json").read_text())
        return told["compiled"], told["reused"]

    build.folder = folder
    build.everything = sorted(build()[0])
    return build


@pytest.mark.slow
@pytest.mark.parametrize("index", sample([0, 7], 2))
def test_the_package_compiles_what_includes_an_edited_header(package, index):
    """Held against what the compiler itself tells of each file."""
    folder = package.folder
    own = [name for name in package.everything if not os.path.isabs(name) and "_native" not in name]
    found = {p for h in folder.rglob("*.h") for p in h.relative_to(folder).parents}
    include = [f"-I{p}" for p in sorted(map(str, found))] + [f"-I{sysconfig.get_path('include')}"]
    uses = {}
    for name in own:
        rule = subprocess.run(
            [*COMPILER, "-MM", *include, name], cwd=folder, capture_output=True, text=True, check=True
        )
        uses[name] = {os.path.normpath(word) for word in re.split(r"[\s\\]+", rule.stdout)[1:] if word}
    some = {h for names in uses.values() for h in names if h.endswith(".h")}
    some = sorted(h for h in some if 2 < sum(h in names for names in uses.values()) < len(own) // 3)
    header = some[index % len(some)]
    with open(folder / header, "a") as f:
        f.write("/* edited */\n")
    compiled = package()[0]
    assert [name for name in compiled if name in own] == sorted(name for name in own if header in uses[name]), header
    assert package()[0] == []


@pytest.mark.slow
def test_the_package_compiles_nothing_again_after_an_edit_of_python(package):
    with open(package.folder / "cdevice" / "__init__.py", "a") as f:
        f.write("# edited\n")
    assert package() == ([], package.everything)
    assert len(package.everything) > 50


@pytest.mark.slow
def test_the_package_compiles_everything_with_other_flags(package):
    assert package(CDEVICE_CFLAGS="-DOTHER")[0] == package.everything


@pytest.mark.slow
def test_without_the_variable_the_package_is_compiled_as_ever(package):
    assert "used again" not in package(cache=None) and not (package.folder / "build" / "cache.json").exists()
