"""What the suites share: named rules, a child process that may die or hang, a report."""

from __future__ import annotations

import collections
import os
import sys
import time
import traceback

from .children import Child, keep_exceptions, note
from .programs import cut
from .report import Report, Result
from .structs import Broken, NotDone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

PATIENCE = 10.0  # seconds for one rule, after which its process is ended
WHOLE = 60.0  # seconds for a suite, after which no further rule is begun


class Rule(collections.namedtuple("Rule", "name level sentence source check")):
    """A rule: ``check(subject)`` raises Broken or NotDone; the sentence is its docstring."""

    __slots__ = ()


class Rules(list["Rule"]):
    """The rules of a suite, in their order."""

    def add(self, level: str, source: str) -> Callable[[Any], Any]:
        def register(function: Any) -> Any:
            sentence = " ".join((function.__doc__ or "").split())
            self.append(Rule(function.__name__, level, sentence, source, function))
            return function

        return register


class Subject:
    """What a check is given: ``make`` and, where they are known, ``values`` (the rows), ``format`` and others.

    ``source``: the expression that makes it, ``prelude``: the statements before it, for programs."""

    def __init__(self, make: Any, name: str = "the object", source: str = "", prelude: str = "", **known: Any) -> None:
        self.given, self.name, self.source, self.prelude, self.known = make, name, source, prelude, known
        self.origin = make

    def make(self) -> Any:
        """The object to be checked; NotDone where it cannot be made, for which no rule is to blame."""
        try:
            return self.given()
        except NotDone:
            raise
        except Exception as e:
            raise NotDone(f"it cannot be made: {type(e).__name__}: {e}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.known.get(name)


# what stands in a program in the place of Subject
PLAIN_SUBJECT = """
class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)
"""


def subject_of(made: Any) -> Subject:
    """A subject from source: ``{"source": expression, "prelude": statements, "name": ..., values ...}``."""
    space: dict[str, Any] = {}
    exec(made.get("prelude", ""), space)
    known = {k: v for k, v in made.items() if k not in ("source", "prelude", "name")}
    source = made["source"]
    return Subject(lambda: eval(source, space), made.get("name", source), source, made.get("prelude", ""), **known)


class Suite:
    """The base of the suites.

    ``make``: a callable, or {name: callable}; or a list of dictionaries with ``source`` (an expression) and
    ``prelude`` (statements), with which programs that show a broken rule are complete.  A callable is called in
    child processes, which are forks of this one, and sources in interpreters of their own, unless ``apart`` is False.
    ``known``: facts about the objects, as ``values=[1, None]``.  ``progress``: called with a line before each rule, or
    True for standard error.  ``patience``: seconds for a rule; ``seconds``: for all of them.
    """

    rules: Rules = Rules()
    what = "library"
    each_apart = False  # each rule has a process of its own
    one_death_is_all = True  # a subject that ended its process is left out of later rules
    given_is_the_subject = False  # rules call the given callable (``take``); it makes no object (``make``)

    def __init__(
        self,
        make: Any,
        *,
        name: str = "",
        apart: bool = True,
        patience: float = PATIENCE,
        seconds: float = WHOLE,
        progress: Callable[[str], None] | bool = False,
        **known: Any,
    ) -> None:
        self.subject, self.known = make, known
        self.name = name or getattr(make, "__qualname__", "") or type(self).__name__
        self.apart = apart and hasattr(os, "fork")
        self.patience, self.seconds = patience, seconds
        self.progress = progress
        self.dead: set[str] = set()  # subjects that ended their process: no further rule is held against them

    # ---- the subjects ----
    def subjects(self) -> list[Subject]:
        made = self.subject
        if isinstance(made, dict):
            return [self._subject(m, name) for name, m in made.items()]
        if isinstance(made, list):
            out = []
            for one in made:
                try:
                    out.append(subject_of({**self.known, **one}))
                except ImportError:
                    raise
                except Exception as e:
                    out.append(Subject(_raising(e), one.get("name", one["source"])))
            return out
        return [self._subject(made, "the object")]

    def _subject(self, given: Any, name: str) -> Subject:
        subject = Subject((lambda: given) if self.given_is_the_subject else given, name, **self.known)
        subject.origin = given
        return subject

    def one(self, rule: Rule, subjects: Iterable[Subject]) -> tuple[str, Result]:
        """Holds a rule against each subject: broken by the first that breaks it, kept where one keeps it."""
        kept, why, first, others = 0, "", None, 0
        for subject in subjects:
            if subject.name in self.dead:
                why = why or f"{subject.name}: its process died before"
                continue
            note(subject.name)
            try:
                rule.check(subject)
                kept += 1
            except NotDone as e:
                why = why or str(e)
            except Broken as e:
                if first:
                    others += 1
                else:
                    first = subject, str(e)
            except panics() as e:
                words = f"{type(e).__name__}: {e} ({traceback.extract_tb(e.__traceback__)[-1].name})"
                if first:
                    others += 1
                else:
                    first = subject, " ".join(words.split())[:500]
        if first:
            more = f" (and {others} more of {kept + others + 1})" if others else ""
            return "broken", self.result(rule, f"{first[0].name}: {first[1]}{more}", self.program(rule, first[0]))
        return (
            ("kept", self.result(rule)) if kept else ("not done", self.result(rule, why or "there is nothing to check"))
        )

    def result(self, rule: Rule, detail: str = "", program: str = "") -> Result:
        return Result(rule.name, rule.level, rule.sentence, rule.source, detail, program)

    def program(self, rule: Rule, subject: Subject) -> str:
        """A program that shows the broken rule with the standard library and the checked library alone."""
        source = subject.source
        prelude = subject.prelude
        if not source:
            module, name = getattr(subject.origin, "__module__", "?"), getattr(subject.origin, "__qualname__", "?")
            prelude = f"from {module} import {name.partition('.')[0]}"
            source = name if self.given_is_the_subject else f"{name}()"
        known = "".join(f", {k}={v!r}" for k, v in subject.known.items() if k != "module")
        return (
            f'"""{rule.sentence}\n\n{rule.level}: {rule.source}"""\n{cut(rule.check)}\n{PLAIN_SUBJECT}\n\n'
            f'{prelude}\n\n{rule.name}(Subject(lambda: {source}{known}))\nprint("kept")\n'
        )

    # ---- how ----
    def run(self, rules: Iterable[str] | None = None) -> Report:
        """Checks the rules, all or those named, and returns the :class:`Report`."""
        began = time.monotonic()
        self.dead.clear()
        report = Report(self.name)
        left = [r for r in self.rules if rules is None or r.name in rules]
        everything = len(left)
        while left:
            if time.monotonic() - began > self.seconds:
                for rule in left:
                    report.add("not done", self.result(rule, f"the suite's {self.seconds:.0f} seconds are over"))
                break
            for outcome, result in self._some(left, everything, began):
                report.add(outcome, result)
                left = left[1:]
        report.seconds = time.monotonic() - began
        return report

    def say(self, text: str) -> None:
        if self.progress is True:
            print(text, file=sys.stderr, flush=True)
        elif self.progress:
            self.progress(text)

    def _some(self, rules: list[Rule], everything: int, began: float) -> Any:
        """The results of the rules in their order, until all are there or the process they run in has died."""
        if not self.apart:
            keep_exceptions()
            subjects = self.subjects()
            for i, rule in enumerate(rules):
                self.say(f"{self.name}: {everything - len(rules) + i + 1}/{everything} {rule.name}")
                yield self.one(rule, subjects)
            return
        if self.each_apart:
            rules, everything = rules[:1], everything - len(rules) + 1
        child = Child(self, rules)
        try:
            for i, rule in enumerate(rules):
                self.say(f"{self.name}: {everything - len(rules) + i + 1}/{everything} {rule.name}")
                answer = child.answer(self.patience + (10 if i == 0 else 0))
                if answer is None:
                    if self.one_death_is_all:
                        self.dead.add(child.at)
                    yield "broken", self.result(rule, child.end(), self._died(rule, child.at))
                    return
                outcome, fields = answer
                yield outcome, Result(*fields)
                if time.monotonic() - began > self.seconds:
                    return
        finally:
            child.end()

    def _died(self, rule: Rule, at: str) -> str:
        """The program of a rule whose process has died with the subject of that name."""
        for made in self.subject if isinstance(self.subject, list) else []:
            if made.get("name", made["source"]) == at:
                known = {k: v for k, v in made.items() if k not in ("source", "prelude", "name")}
                source, prelude = made["source"], made.get("prelude", "")
                return self.program(rule, Subject(None, at, source, prelude, **known))
        given = self.subject.get(at) if isinstance(self.subject, dict) else self.subject
        return self.program(rule, self._subject(given if callable(given) else None, at))


def panics() -> tuple[type[BaseException], ...]:
    """Every Exception, and those that are none and mean no end of the process: panics of libraries in Rust."""
    return (Exception, *(k for k in BaseException.__subclasses__() if k.__name__ == "PanicException"))


def _raising(error: Exception) -> Any:
    def make() -> Any:
        raise NotDone(f"{type(error).__name__}: {error}")

    return make
