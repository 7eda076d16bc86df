"""pytest runs the suites of other libraries: one test a rule.

In ``conftest.py``: ``pytest_plugins = ["cdevice.testing.plugin"]``.  In a test module each variable that is a suite,
such as ``arrays = ProducerSuite(make)``, is collected: a rule that is broken fails where its level is MUST, and is an
expected failure where it is SHOULD or READING; a rule that was not done is skipped.
"""

from __future__ import annotations

import pytest

from .conformance.suite import Suite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BrokenRule(Exception):
    """A rule that is a MUST is broken."""


class SuiteCollector(pytest.Collector):
    """The rules of a suite; they are all checked when the first is asked for."""

    suite: Suite

    def collect(self) -> Any:
        self.found: dict[str, Any] | None = None
        for rule in self.suite.rules:
            yield RuleItem.from_parent(self, name=rule.name)

    def outcome(self, name: str) -> Any:
        if self.found is None:
            names = [item.name for item in self.session.items if item.parent is self]
            self.found = {r.rule: (outcome, r) for outcome, r in self.suite.run(names).rows()}
        return self.found[name]


class RuleItem(pytest.Item):
    """One rule of a suite."""

    def runtest(self) -> None:
        outcome, result = self.parent.outcome(self.name)  # type: ignore[union-attr]
        words = f"{result.sentence} {result.detail} [{result.level}: {result.source}]"
        if outcome == "not done":
            pytest.skip(result.detail)
        if outcome == "broken":
            if result.level != "MUST":
                pytest.xfail(words)
            raise BrokenRule(f"{words}\n\n{result.program}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, BrokenRule):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Any:
        return self.path, None, f"{self.parent.name}: {self.name}"  # type: ignore[union-attr]


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    if not isinstance(obj, Suite):
        return None
    made: Any = SuiteCollector.from_parent(collector, name=name)
    made.suite = obj
    return made
