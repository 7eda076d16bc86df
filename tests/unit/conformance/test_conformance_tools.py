"""The suites of other libraries by name, from the command line and from pytest."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from cdevice.testing.conformance import libraries


def check(*args, cwd, **environment):
    command = [sys.executable, "-m", "cdevice", "check", *args]
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=environment)


def test_cdevice_breaks_no_must(tmp_path):
    done = check("--library", "cdevice", "--json", "--junit", "found.xml", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["conforms"] and done.returncode == 0, done.stdout
    titles = {s["name"] for s in found["suites"]}
    assert {"cdevice: cdevice.asarray takes", "cdevice: cdevice.aio", "cdevice: cdevice.asstream given"} <= titles
    assert all(s["kept"] for s in found["suites"])
    rules = sum(len(s[k]) for s in found["suites"] for k in ("kept", "broken", "not_done"))
    assert len(ET.parse(tmp_path / "found.xml").findall("testsuite/testcase")) == rules


def test_a_library_is_told_in_tables_of_what_is_broken(tmp_path):
    pytest.importorskip("nanoarrow")
    pytest.importorskip("pyarrow")
    done = check("--library", "nanoarrow", "-k", "flags", cwd=tmp_path)
    assert "nanoarrow: nanoarrow.c_array takes: 0 kept, 1 broken, 0 not done" in done.stdout, done.stdout
    assert "unknown_flags_are_ignored" in done.stdout and done.returncode == 0  # a READING


def test_the_program_of_a_broken_rule_is_shown_on_request(tmp_path):
    (tmp_path / "acme.py").write_text("class Acme:\n    def __arrow_c_schema__(self): return 5\n\nmake = Acme\n")
    done = check("--capsule", "acme:make", "-v", cwd=tmp_path)
    assert done.returncode == 1 and "make(): the name is None" in done.stdout, done.stdout
    assert "from acme import make" in done.stdout and "ProducerSuite" not in done.stdout


def test_files_that_a_library_makes_are_gone_afterwards(tmp_path):
    (tmp_path / "acme.py").write_text(
        "import tempfile\n"
        "class Acme:\n    def __arrow_c_schema__(self): open(tempfile.mkdtemp() + '/x', 'w'); raise SystemExit(3)\n\nmake = Acme\n"
    )
    (tmp_path / "temporary").mkdir()
    done = check("--capsule", "acme:make", cwd=tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert done.returncode == 1 and "SystemExit: 3" in done.stdout, done.stdout
    assert not [*(tmp_path / "temporary").iterdir()]


def test_wrong_words_are_a_sentence(tmp_path):
    for args, words, code in (
        (["--library", "acme"], "no library 'acme' is known; known are adbc, ", 2),
        (["--capsule", "acme"], "--capsule must be MODULE:FUNCTION", 2),
        (["cpu", "--library", "numpy"], "one at a time", 2),
        (["cpu", "--junit", "x.xml"], "--junit goes with --library or --capsule", 2),
        (["--capsule", "acme:make"], "No module named 'acme'", 3),
    ):
        done = check(*args, cwd=tmp_path)
        assert words in done.stderr and done.returncode == code, (args, done.stderr)


def test_every_entry_names_a_suite_and_its_source_compiles():
    from cdevice import testing

    for library in libraries.LIBRARIES.values():
        compile(library.prelude, library.distribution, "exec")
        for entry in library.entries:
            assert getattr(testing, entry.suite).rules
            for case in entry.cases:
                compile(case["source"], entry.title, "eval")


def test_pytest_has_a_test_for_each_rule(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["cdevice.testing.plugin"]\n')
    (tmp_path / "test_acme.py").write_text(
        "from cdevice.testing import ProducerSuite, SchemaSuite\n"
        "from cdevice.testing.conformance import wrong\n"
        "wrong_ones = ProducerSuite(wrong.WRONG_ARRAYS['negative length'][0])\n"
        "should = ProducerSuite(wrong.WRONG_ARRAYS['CPU number 0'][0])\n"
        "right = SchemaSuite(wrong.RIGHT_SCHEMAS)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-rf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "FAILED test_acme.py::wrong_ones::length_is_not_negative" in done.stdout, done.stdout
    assert "1 failed" in done.stdout and "1 xfailed" in done.stdout
    assert "the length of the array is -1" in done.stdout
    one = subprocess.run([*command, "-k", "release_marks_the_array"], cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in one.stdout, one.stdout
