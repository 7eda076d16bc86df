"""docs/c-and-cpp.rst: every block is a file that is compiled and run, or a command whose output is the one that it shows."""

import os
import re
import subprocess
import sys

import pytest
from embedding import installed, run, starts
from paths import ROOT

PAGE = ROOT / "docs" / "c-and-cpp.rst"
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n(?:    :caption: (\S+)\n)?\n((?:    .*\n|\n)+)", re.M)
TOOLS = {"gcc": "gcc", "g++": "g++", "cmake": "cmake", "pkg-config": "pkg-config", "rustc": "rustc"}


def blocks():
    return [
        (kind, caption, "".join(line[4:] or "\n" for line in body.rstrip("\n").splitlines(keepends=True)) + "\n")
        for kind, caption, body in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    ]


def commands(text):
    """[(command, the output that it shows)] of a console block."""
    found = re.split(r"^\$ (.*)\n", text, flags=re.M)
    return list(zip(found[1::2], found[2::2]))


CONSOLES = [text for kind, _, text in blocks() if kind == "console"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page, and a python on the path that has the package."""
    out = tmp_path_factory.mktemp("page")
    for _, caption, text in blocks():
        if caption:
            (out / caption).write_text(text, encoding="utf-8")
    (out / "bin").mkdir()
    script = f'#!/bin/sh\nexec env -u PYTHONPATH "{sys.executable}" "$@"\n'
    (out / "bin" / "python").write_text(script)
    (out / "bin" / "python").chmod(0o755)
    return out


def matches(pattern, text):
    """An ellipsis stands for any text in a line."""
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("...")), text) is not None


@installed
@pytest.mark.parametrize("text", CONSOLES, ids=[commands(text)[-1][0].split()[0] for text in CONSOLES])
def test_commands_print_what_the_page_shows(text, folder):
    for tool in TOOLS:
        if re.search(rf"(?<![\w-]){re.escape(tool)} ", text) and not starts(tool):
            pytest.skip(f"apt-get install {TOOLS[tool]}")
    gone = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYTHONPATH")
    env = {k: v for k, v in os.environ.items() if k not in gone}
    env["PATH"] = f"{folder / 'bin'}{os.pathsep}{env['PATH']}"
    for command, shown in commands(text):
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert matches(shown, done.stdout), f"{command}\n{done.stdout}"


def test_every_file_of_the_page_is_used_by_a_command():
    said = "".join(CONSOLES) + "".join(text for kind, _, text in blocks() if kind in ("cmake", "c"))
    for kind, caption, _ in blocks():
        if caption and kind != "cmake":
            assert caption in said or re.search(rf'"{caption.removesuffix(".py")}"', said), caption
        assert caption or kind in ("console", "sh"), kind
    assert len(CONSOLES) > 8


def test_the_commands_of_the_core_are_those_of_its_build_file():
    (text,) = [text for kind, _, text in blocks() if kind == "sh"]
    assert f"#   {text.strip()}\n" in (ROOT / "cdevice" / "CMakeLists.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("standard", "compiler"), [("c++20", "g++"), ("c++17", "clang++")])
def test_the_programs_in_cpp_are_of_other_standards_and_compilers_too(standard, compiler, folder):
    from embedding import build, find_compiler

    program = build(folder, folder / "first.cpp", "other", find_compiler(compiler), standard, ["-Wpedantic"])
    assert run(program).stdout == "Narvik 12\nBergen 12\n"
