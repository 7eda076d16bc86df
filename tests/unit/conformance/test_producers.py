"""The suites of other libraries' producers: right ones pass, each wrong one is caught by the rule it breaks alone."""

import builtins
import dis
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from cdevice import testing
from cdevice.testing import ProducerSuite, SchemaSuite
from cdevice.testing.conformance import wrong
from cdevice.testing.conformance.programs import cut

PYARROW = "import pyarrow as pa"


def case(source, name="the one"):
    """A case of the stand-ins as source: it runs in an interpreter of its own, not in a fork of this process."""
    prelude = "from cdevice.testing.conformance import standin, wrong"
    return {"source": source, "prelude": prelude, "name": name}


DEATH = "wrong.WRONG_ARRAYS['death'][0]()"


def broken(report):
    return [r.rule for r in report.broken]


@pytest.mark.parametrize("name", wrong.RIGHT)
def test_a_right_producer_breaks_no_rule(name):
    make, rows = wrong.RIGHT[name]
    for suite in (ProducerSuite, SchemaSuite):
        report = suite(make, apart=False, values=rows).run()
        assert not report.broken and report.ok, str(report)


def test_right_producers_keep_every_rule_together():
    cases = {name: make for name, (make, _) in wrong.RIGHT.items()}
    unknown = {"batches_have_no_offset_and_no_nulls", "values_are_the_objects"}  # what the suite is not told here
    unknown.add("data_is_not_copied")  # each export of a stand-in has memory of its own, which its release destroys
    report = ProducerSuite(cases, apart=False).run()
    assert {r.rule for r in report.not_done} == unknown, str(report)
    assert not report.broken, str(report)
    report = SchemaSuite(wrong.RIGHT_SCHEMAS, apart=False).run()
    assert not report.broken, str(report)
    assert {r.rule for r in report.not_done} == {"schema_format_is_the_types"}, str(report)


def test_a_library_that_dies_costs_its_rule_and_the_report_goes_on():
    rule = wrong.WRONG_ARRAYS["death"][1]
    report = ProducerSuite([case(DEATH)]).run()
    assert [(r.rule, r.detail) for r in report.broken] == [(rule, "the one: died of SIGSEGV")]
    assert len(report.rows()) == len(ProducerSuite.rules)


def test_a_case_that_died_is_left_out_of_later_rules_and_the_others_are_not():
    rule = wrong.WRONG_ARRAYS["death"][1]
    cases = [case(DEATH), case("wrong.RIGHT['int64'][0]()", "the other")]
    report = ProducerSuite(cases, progress=False).run()
    assert broken(report) == [rule]
    assert "release_marks_the_array" in [r.rule for r in report.kept]
    alone = ProducerSuite([case(DEATH)]).run()
    assert {r.detail for r in alone.not_done if r.rule == "release_marks_the_array"} == {
        "the one: its process died before"
    }


def test_a_library_that_hangs_is_ended_and_the_report_goes_on():
    report = ProducerSuite([case("wrong.Hangs(wrong.ints())")], patience=0.5).run()
    assert broken(report) == ["unknown_keywords_are_not_implemented"]
    assert "stood still" in report.broken[0].detail
    assert len(report.rows()) == len(ProducerSuite.rules)


def test_buffers_of_a_device_are_not_touched_by_the_suite():
    report = ProducerSuite([case("standin.Producer(standin.guarded_node(), device_type=12, device_id=0)")]).run()
    assert not report.broken, str(report)


def test_a_touch_of_guarded_memory_is_reported_with_the_place():
    report = ProducerSuite([case("standin.Producer(standin.guarded_node())")]).run(["null_count_is_the_bitmaps"])
    assert report.broken[0].detail == (
        "the one: died of SIGSEGV: touched byte 0 of the buffer validity of an array 'l'"
    )


def test_what_lacks_a_method_is_not_done():
    report = ProducerSuite(lambda: object(), apart=False).run()
    assert report.ok and not report.kept and len(report.not_done) == len(ProducerSuite.rules)


def test_the_program_of_a_broken_rule_shows_it_without_cdevice(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "import ctypes, sys\nsys.modules['cdevice'] = None\nclass Theirs:\n    def __arrow_c_schema__(self): return 5\n"
    )
    case = {"source": "theirs.Theirs()", "prelude": f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import theirs"}
    report = SchemaSuite([case], apart=True).run(["schema_capsule_is_named"])
    program = tmp_path / "program.py"
    program.write_text(report.broken[0].program)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.returncode == 1 and "Broken: the name is None" in done.stderr, done.stderr
    assert "cdevice" not in report.broken[0].program


SUITES = [getattr(testing, name) for name in testing.SUITES]


def names_of(code):
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return found.union(*(names_of(c) for c in code.co_consts if hasattr(c, "co_names")))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.__name__)
def test_the_program_of_every_rule_has_all_that_it_names(suite):
    for rule in suite.rules:
        space = {}
        source = cut(rule.check)
        exec(source, space)
        used = names_of(compile(source, rule.name, "exec"))
        assert used <= set(space) | set(dir(builtins)), (rule.name, used - set(space))


def test_reports_are_a_table_json_and_junit():
    make, rule, known = wrong.WRONG_ARRAYS["CPU number 0"]
    report = ProducerSuite(make, name="theirs", apart=False, **known).run()
    assert report.ok  # a SHOULD is broken, no MUST
    assert rule in str(report) and "device_id is 0" in str(report)
    assert [r["rule"] for r in json.loads(report.to_json())["broken"]] == [rule]
    cases = ET.fromstring(report.to_junit()).findall("testsuite/testcase")
    assert [c.get("name") for c in cases if c.find("failure") is not None] == [rule]
    assert len(cases) == len(ProducerSuite.rules)


def test_progress_names_each_rule_before_it_is_checked():
    said = []
    ProducerSuite(wrong.RIGHT["int64"][0], name="theirs", apart=False, progress=said.append).run()
    assert said[0] == f"theirs: 1/{len(ProducerSuite.rules)} export_and_release_end_well"
    assert len(said) == len(ProducerSuite.rules)


def test_pyarrow_breaks_no_rule_but_that_of_reserved_bytes():
    pytest.importorskip("pyarrow")
    cases = [
        {"source": "pa.array([1, None, 3])", "values": [1, None, 3]},
        {"source": "pa.array(['a', 'bb', None])", "values": ["a", "bb", None]},
        {"source": "pa.array([['a'], []])", "values": [["a"], []]},
        {"source": "pa.record_batch({'a': [1, 2]})", "values": [{"a": 1}, {"a": 2}], "batch": True},
    ]
    report = ProducerSuite([{**c, "prelude": PYARROW} for c in cases]).run()
    assert set(broken(report)) <= {"reserved_bytes_are_zero"}, str(report)  # until pyarrow zeroes them


def test_nanoarrow_breaks_no_rule_but_those_its_releases_are_known_to_break():
    pytest.importorskip("nanoarrow")
    pytest.importorskip("pyarrow")
    view = "pa.array(['x', 'a text that is too long to be in its view'], pa.string_view())"
    prelude = "import nanoarrow as na, pyarrow as pa"
    cases = [{"source": s, "prelude": prelude} for s in ("na.c_array([1, 2], na.int64())", f"na.c_array({view})")]
    report = ProducerSuite(cases).run()
    keywords = {"unknown_keywords_that_are_none_are_accepted", "the_own_schema_may_be_requested"}
    views = [r for r in report.broken if r.rule not in keywords]  # none in a version that exports views unharmed
    assert len(views) <= 1 and all("string_view" in r.detail for r in views), str(report)


def test_cdevices_own_arrays_break_no_rule():
    cases = [
        {"source": "cdevice.asarray([1, None, 3])", "values": [1, None, 3]},
        {"source": "cdevice.asarray(['a', 'bb'])", "values": ["a", "bb"]},
        {"source": "cdevice.asarray([['a'], []])", "values": [["a"], []]},
        {"source": "cdevice.asarray([{'a': 1}])", "values": [{"a": 1}]},
    ]
    for suite in (ProducerSuite, SchemaSuite):
        report = suite([{**c, "prelude": "import cdevice"} for c in cases], apart=False).run()
        assert not report.broken, str(report)
