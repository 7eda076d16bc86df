"""What the suites share: named rules, a child process that may die or hang, a report."""

from __future__ import annotations

import collections
import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback
from ctypes import c_void_p

from . import standin
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
        self.make, self.name, self.source, self.prelude, self.known = make, name, source, prelude, known

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
    child processes, which are forks of this one, unless ``apart`` is False.  ``known``: facts about the objects,
    as ``values=[1, None]``.  ``progress``: called with a line before each rule, or True for standard error.
    """

    rules: Rules = Rules()
    what = "library"

    def __init__(
        self,
        make: Any,
        *,
        name: str = "",
        apart: bool = True,
        patience: float = PATIENCE,
        progress: Callable[[str], None] | bool = False,
        **known: Any,
    ) -> None:
        self.subject, self.known = make, known
        self.name = name or getattr(make, "__qualname__", "") or type(self).__name__
        self.apart = apart and hasattr(os, "fork")
        self.patience = patience
        self.progress = progress
        self.dead: set[str] = set()  # subjects that ended their process: no further rule is held against them

    # ---- the subjects ----
    def subjects(self) -> list[Subject]:
        made = self.subject
        if isinstance(made, dict):
            return [Subject(m, name, **self.known) for name, m in made.items()]
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
        return [Subject(made, **self.known)]

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
            except Exception as e:
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
            module, name = getattr(subject.make, "__module__", "?"), getattr(subject.make, "__qualname__", "?")
            prelude, source = f"from {module} import {name.partition('.')[0]}", f"{name}()"
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
            if time.monotonic() - began > WHOLE:
                for rule in left:
                    report.add("not done", self.result(rule, f"the suite's {WHOLE:.0f} seconds are over"))
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
            subjects = self.subjects()
            for i, rule in enumerate(rules):
                self.say(f"{self.name}: {everything - len(rules) + i + 1}/{everything} {rule.name}")
                yield self.one(rule, subjects)
            return
        child = _Child(self, rules)
        try:
            for i, rule in enumerate(rules):
                self.say(f"{self.name}: {everything - len(rules) + i + 1}/{everything} {rule.name}")
                answer = child.answer(self.patience + (10 if i == 0 else 0))
                if answer is None:
                    self.dead.add(child.at)
                    yield "broken", self.result(rule, child.end(), self._died(rule, child.at))
                    return
                outcome, fields = answer
                yield outcome, Result(*fields)
                if time.monotonic() - began > WHOLE:
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
        make = self.subject.get(at) if isinstance(self.subject, dict) else self.subject
        return self.program(rule, Subject(make if callable(make) else None, at, **self.known))


def _raising(error: Exception) -> Any:
    def make() -> Any:
        raise NotDone(f"{type(error).__name__}: {error}")

    return make


_TELL: list[int] = []  # of a child: where it tells
_AT = [""]  # the subject that is checked now


def note(text: str) -> None:
    """Names the subject that is checked now; a child process reports it."""
    _AT[:] = [text]
    if _TELL:
        os.write(_TELL[0], json.dumps({"at": text}).encode() + b"\n")


class _Child:
    """A fork that runs rules and tells each result; ``at``: the subject it was last busy with."""

    def __init__(self, suite: Suite, rules: list[Rule]) -> None:
        read, write = os.pipe()
        self.words = ""
        self.at = ""
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid: int | None = os.fork()
        if not self.pid:
            os.close(read)
            _run_child(suite, rules, write)
        os.close(write)
        self.read, self.rest = read, b""

    def answer(self, seconds: float) -> Any:
        """(outcome, fields of a Result), or None where the process died or was silent for too long."""
        end = time.monotonic() + seconds
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                message = json.loads(line)
                if "result" in message:
                    return message["result"]
                self.at = message.get("at", self.at)
                if "died" in message:
                    self.words = message["died"]
                if "error" in message:
                    raise ImportError(message["error"])
                continue
            left = end - time.monotonic()
            if left <= 0:
                self.words = f"{self.at}: it stood still for {seconds:.0f} seconds and was ended"
                return None
            if select.select([self.read], [], [], left)[0]:
                data = os.read(self.read, 1 << 16)
                if not data:
                    return None
                self.rest += data

    def end(self) -> str:
        """Ends the process where it still runs; how it died."""
        if self.pid is None:
            return self.words
        pid, self.pid = self.pid, None
        gone = None
        if not self.words:  # it died by itself, or is about to end
            for _ in range(50):
                done, gone_ = os.waitpid(pid, os.WNOHANG)
                if done:
                    gone = gone_
                    break
                select.select([], [], [], 0.02)
        if gone is None:
            os.kill(pid, signal.SIGKILL)
            gone = os.waitpid(pid, 0)[1]
        os.close(self.read)
        if not self.words:
            if os.WIFSIGNALED(gone):
                self.words = f"{self.at}: died of {signal.Signals(os.WTERMSIG(gone)).name}"
            else:
                self.words = f"{self.at}: ended with exit code {os.WEXITSTATUS(gone)}"
        return self.words


def _run_child(suite: Suite, rules: list[Rule], write: int) -> None:
    """The child's life; does not return."""

    def tell(**message: Any) -> None:
        os.write(write, json.dumps(message).encode() + b"\n")

    code = 1
    try:
        _TELL.append(write)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        tell_of_reads(write)
        fill_freed_memory()
        subjects = suite.subjects()
        for rule in rules:
            outcome, result = suite.one(rule, subjects)
            tell(result=[outcome, list(result)])
        code = 0
    except ImportError as e:
        tell(error=str(e))
    except BaseException as e:
        tell(died=f"{type(e).__name__}: {e}")
    finally:
        os._exit(code)


def fill_freed_memory() -> None:
    """Memory from malloc holds garbage from here on: what a library leaves as it was is seen (glibc)."""
    try:
        ctypes.CDLL(None).mallopt(-6, 0xA5)
    except AttributeError:
        pass


class _Action(ctypes.Structure):
    """struct sigaction of Linux on 64-bit machines."""

    _fields_ = [("handler", c_void_p), ("mask", ctypes.c_uint64 * 16), ("flags", ctypes.c_int), ("restorer", c_void_p)]


_HANDLERS: list[Any] = []


def tell_of_reads(write: int) -> None:
    """A touch of guarded memory is reported with the place, then the process ends as it would have."""
    if sys.platform != "linux":
        return

    def handler(number: int, info: int, context: int) -> None:
        address = ctypes.c_uint64.from_address(info + 16).value
        words = f"{_AT[-1]}: died of {signal.Signals(number).name}"
        for first, end, what, _ in standin.GUARDS:
            if first <= address < end:
                words += f": touched byte {address - first} of {what}"
        os.write(write, json.dumps({"died": words}).encode() + b"\n")
        os._exit(1)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_int, c_void_p, c_void_p)(handler)
    action = _Action(ctypes.cast(callback, c_void_p).value)
    action.flags = 4  # SA_SIGINFO
    _HANDLERS.append((callback, action))
    ctypes.CDLL(None).sigaction(signal.SIGSEGV, ctypes.byref(action), None)
    ctypes.CDLL(None).sigaction(signal.SIGBUS, ctypes.byref(action), None)
