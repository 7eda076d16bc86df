"""``ci/test --unit`` runs what needs no device, no compiler and no child process, and holds it to that."""

import os
import re
import subprocess
import sys

import pytest
import unit_only
from paths import TESTS

WRONG = """
import ctypes, multiprocessing, os, subprocess, sys
import pytest

def started(): subprocess.run([sys.executable, "-c", ""])
def forked(): os.fork() or os._exit(0)
def by_a_shell(): os.system("true")
def spawned_by_multiprocessing(): multiprocessing.get_context("spawn").Process(target=print).start()
def caught():
    try:
        subprocess.run(["true"])
    except BaseException:
        pass
def from_c():
    libc, pid = ctypes.CDLL(None), ctypes.c_int()
    words = (ctypes.c_char_p * 2)(b"true", None)
    assert libc.posix_spawnp(ctypes.byref(pid), b"true", None, None, words, None) == 0
    libc.waitpid(pid, None, 0)
def opencl():
    import cdevice
    cdevice.device("opencl").is_available
def cuda_caught():
    import cdevice
    try:
        cdevice.device("cuda").is_available
    except BaseException:
        pass
def a_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
def a_binding(): import pyopencl
"""
MESSAGES = {
    "started": "starts a child process, /",
    "forked": "starts a child process, os.fork",
    "by_a_shell": "starts a child process",
    "spawned_by_multiprocessing": "starts a child process",
    "caught": "starts a child process, true",
    "from_c": "a library started a child process",
    "opencl": "loads the backend opencl",
    "cuda_caught": "loads the backend cuda",
    "a_driver": "loads libcuda.so.1",
    "a_binding": "imports pyopencl",
}
RIGHT = """
import pytest

def test_of_the_cpu():
    import cdevice
    assert cdevice.asarray([1]).to("cpu").to_pylist() == [1]

def test_of_a_runtime(runtimes): assert False
def test_hostrt_something(): assert False

@pytest.mark.parametrize("device", ["cpu", "opencl", "cuda", "rocm"])
def test_of_a_device(device): assert device == "cpu"
"""


def run(folder, *arguments):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        TESTS.parent / "pyproject.toml",
        "--rootdir",
        folder,
        "-p",
        "conftest",
    ]
    command += ["-p", "no:cacheprovider", "-v", "--tb=short", *arguments, folder]
    env = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS / 'support'}"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout


@pytest.mark.nosan
@pytest.mark.notrace
def test_what_a_unit_test_may_not_do_fails_it_and_is_named(tmp_path):
    names = "\n".join(f"def test_{name}(): {name}()" for name in MESSAGES)
    (tmp_path / "test_wrong.py").write_text(f"{WRONG}\n{names}\ndef test_afterwards(): pass\n")
    out = run(tmp_path, "--unit")
    parts = dict(re.findall(r"^_+ (?:ERROR at teardown of )?test_(\w+) _+$(.*?)(?=^_{4}|^={4})", out, re.M | re.S))
    assert parts.keys() == MESSAGES.keys(), out
    for name, message in MESSAGES.items():
        assert message in parts[name] and "a unit test needs no device" in parts[name], parts[name]
    assert "test_afterwards PASSED" in out


@pytest.mark.nosan
@pytest.mark.notrace
def test_a_unit_test_that_starts_a_process_by_python_fails_in_every_run(tmp_path):
    names = "\n".join(f"def test_{name}(): {name}()" for name in ("started", "forked", "by_a_shell", "caught"))
    slow = "@pytest.mark.slow\ndef test_slow(): started()"
    (tmp_path / "test_wrong.py").write_text(f"{WRONG}\n{names}\n{slow}\ndef test_afterwards(): pass\n")
    out = run(tmp_path)
    assert len(re.findall(r"^E +Failed: starts a child process.*a unit test needs no device", out, re.M)) == 4, out
    assert "test_slow PASSED" in out and "test_afterwards PASSED" in out, out


@pytest.mark.nosan
@pytest.mark.notrace
def test_only_unit_tests_run_and_elsewhere_all_do(tmp_path):
    (tmp_path / "test_right.py").write_text(RIGHT)
    (tmp_path / "test_cli.py").write_text("raise SystemExit('a file without unit tests is not even imported')")
    out = run(tmp_path, "--unit")
    ran = re.findall(r"::(\S+) (?:PASSED|FAILED|ERROR)", out)
    assert ran == ["test_of_the_cpu", "test_of_a_device[cpu]"] and "2 passed, 5 deselected" in out, out
    (tmp_path / "test_cli.py").unlink()
    assert "2 passed, 5 deselected" in run(tmp_path, "-m", "unit")
    assert "7 deselected" not in (out := run(tmp_path, "-k", "not runtime")) and "4 failed, 2 passed" in out, out


def test_what_is_named_exists():
    """A test that was renamed or moved is looked for under its new name."""
    files = {p.name: p for pattern in ("test_*.py", "*_checks.py") for p in TESTS.rglob(pattern)}
    assert not {name for name in unit_only.FILES | unit_only.TESTS.keys() if name not in files}
    for name, tests in unit_only.TESTS.items():
        there = set(re.findall(r"^ *(?:async )?def (test_\w+)", files[name].read_text(), re.M))
        assert not set(tests.split()) - there, name
