"""What a suite found: a table, JSON, JUnit."""

from __future__ import annotations

import collections
import json
from xml.sax.saxutils import escape, quoteattr

LEVELS = ("MUST", "SHOULD", "READING")


class Result(collections.namedtuple("Result", "rule level sentence source detail program")):
    """One rule: its name, its level (MUST, SHOULD, READING, or GOAL: what the interfaces are for), a sentence, the
    paragraph of the specification it comes from; ``detail``: how it is broken or why it is not done; ``program``: one
    that shows a broken rule without cdevice."""

    __slots__ = ()


class Report:
    """The lists ``broken``, ``kept`` and ``not_done`` of :class:`Result`, and ``ok``: no MUST is broken."""

    def __init__(self, name: str, seconds: float = 0.0) -> None:
        self.name, self.seconds = name, seconds
        self.kept: list[Result] = []
        self.broken: list[Result] = []
        self.not_done: list[Result] = []

    def add(self, outcome: str, result: Result) -> None:
        {"kept": self.kept, "broken": self.broken, "not done": self.not_done}[outcome].append(result)

    @property
    def ok(self) -> bool:
        return not any(r.level == "MUST" for r in self.broken)

    def rows(self) -> list[tuple[str, Result]]:
        return [
            (outcome, r)
            for outcome, found in (("broken", self.broken), ("not done", self.not_done), ("kept", self.kept))
            for r in found
        ]

    def __str__(self) -> str:
        counts = f"{len(self.kept)} kept, {len(self.broken)} broken, {len(self.not_done)} not done"
        lines = [f"{self.name}: {counts}, {self.seconds:.1f} s"]
        for outcome, r in self.rows():
            lines.append(f"  {outcome:<8}  {r.level:<7}  {r.rule:<44}  {r.sentence}")
            if outcome == "broken":
                lines.append(f"            {r.detail}  [{r.source}]")
            elif outcome == "not done":
                lines.append(f"            {r.detail}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report {str(self).splitlines()[0]}>"

    def as_dict(self) -> dict[str, object]:
        groups = {"broken": self.broken, "not_done": self.not_done, "kept": self.kept}
        return {
            "name": self.name,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            **{k: [r._asdict() for r in v] for k, v in groups.items()},
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)

    def to_junit(self) -> str:
        return junit([self])


def junit(reports: list[Report]) -> str:
    """JUnit's XML: a test suite a report, a test case a rule."""
    out = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for report in reports:
        out.append(
            f'<testsuite name={quoteattr(report.name)} tests="{len(report.rows())}" failures="{len(report.broken)}"'
            f' skipped="{len(report.not_done)}" time="{report.seconds:.3f}">'
        )
        for outcome, r in report.rows():
            out.append(f"<testcase classname={quoteattr(report.name)} name={quoteattr(r.rule)}>")
            if outcome == "broken":
                out.append(f"<failure message={quoteattr(_plain(r.detail))}>{escape(_plain(r.sentence))}</failure>")
            elif outcome == "not done":
                out.append(f"<skipped message={quoteattr(_plain(r.detail))}/>")
            out.append("</testcase>")
        out.append("</testsuite>")
    return "\n".join([*out, "</testsuites>"]) + "\n"


def _plain(text: str) -> str:
    """Without the control characters that XML cannot have."""
    return "".join(c if c >= " " or c in "\n\t" else "?" for c in text)
