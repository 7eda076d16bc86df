"""Docstrings of every public name: parameters, errors, blocking and threads.

The form is that of :func:`cdevice.asarray`: a parameter is described after its name, as in "``stream``: ..." or
":param stream: ...", and these sentences state the rest::

    Raises ArgumentError for ...            or: Never raises.
    Blocks until ..., May block ...         or: Does not block, Never blocks.
    Any thread.                             or: another sentence about threads

What holds for all methods of a class may stand once in the docstring of the class: threads, and "No method blocks".
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cdevice

MODULES = ("aio", "compute", "dask")  # public modules; the names of cdevice itself are those of its stub
ERRORS = re.compile(r"\b[Rr]aises?\b")
BLOCKING = re.compile(r"\b([Bb]locks?|[Nn]ever blocks)\b")
THREADS = re.compile(r"\bthreads?\b")
NO_METHOD_BLOCKS = re.compile(r"\bNo method blocks\b")
DERIVED = {"args", "add_note", "with_traceback", "count", "index"}  # of exceptions and tuples


class Name(NamedTuple):
    path: str
    value: Any
    owner: type | None


def stub_names() -> list[str]:
    text = Path(cdevice.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    return re.findall(r"^from \S+ import \w+ as (\w+)$", text, re.MULTILINE)


def public_objects() -> Iterator[tuple[str, Any]]:
    for name in stub_names():
        yield f"cdevice.{name}", getattr(cdevice, name)
    for module in MODULES:
        found = importlib.import_module(f"cdevice.{module}")
        for name in found.__all__:
            yield f"cdevice.{module}.{name}", getattr(found, name)


def members(path: str, cls: type) -> Iterator[Name]:
    """Public members that a class of cdevice defines, with the class that defines them."""
    for name in dir(cls):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("cdevice"):
            continue
        if not (issubclass(cls, tuple) and name in DERIVED):
            yield Name(f"{path}.{name}", inspect.getattr_static(cls, name), owner)


def all_names() -> list[Name]:
    out = []
    for path, value in public_objects():
        out.append(Name(path, value, None))
        if isinstance(value, type) and not issubclass(value, enum.Enum):  # its members are those of a specification
            out += members(path, value)
    return out


def doc_of(value: Any) -> str:
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def plain(value: Any) -> Any:
    return value.__func__ if isinstance(value, (classmethod, staticmethod)) else value


def is_attribute(name: Name) -> bool:
    """A value in the class, or a field: its text is in the docstring of the class."""
    fields = getattr(name.owner, "_fields", ()) if name.owner else ()
    value = plain(name.value)
    described = callable(value) or isinstance(value, property) or inspect.isgetsetdescriptor(value)
    return name.owner is not None and (not described or name.path.rpartition(".")[2] in fields)


def is_function(name: Name) -> bool:
    return callable(plain(name.value)) and not isinstance(name.value, type) and not is_attribute(name)


def parameters(value: Any) -> list[str]:
    try:
        found = inspect.signature(plain(value)).parameters.values()
    except (ValueError, TypeError):  # a class of C without a signature: it is not called
        return []
    return [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in ("self", "cls")]


def describes(doc: str, name: str) -> bool:
    return bool(re.search(rf"``{name}\b|:param (\w+, )*{name}\b", doc))


NAMES = all_names()
FUNCTIONS = [n for n in NAMES if is_function(n)]
CALLED = [n for n in NAMES if is_function(n) or (isinstance(n.value, type) and not issubclass(n.value, enum.Enum))]
ATTRIBUTES = [n for n in NAMES if is_attribute(n)]


def class_doc(name: Name) -> str:
    """Of the class that the name belongs to, and of its bases."""
    if name.owner is None:
        return ""
    found = dict(public_objects())[name.path.rpartition(".")[0]]
    return " ".join(doc_of(c) for c in found.__mro__ if c.__module__.startswith("cdevice"))


def report(bad: list[str]) -> None:
    assert not bad, f"{len(bad)} docstrings:\n" + "\n".join(bad)


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    assert len(NAMES) > 300
    texts = {n.path: doc_of(n.value) for n in NAMES if not is_attribute(n)}
    report([path for path, text in texts.items() if not text or text.startswith(("Alias for", "Initialize self"))])


def test_every_class_describes_its_attributes() -> None:
    report([n.path for n in ATTRIBUTES if not describes(class_doc(n), n.path.rpartition(".")[2])])


def test_every_parameter_is_described() -> None:
    bad = []
    for path, value, _ in CALLED:
        missing = [p for p in parameters(value) if not describes(doc_of(value), p)]
        if missing and not (isinstance(value, type) and issubclass(value, Exception)):
            bad.append(f"{path}: {', '.join(missing)}")
    report(bad)


def test_every_function_states_its_errors() -> None:
    report([n.path for n in FUNCTIONS if not ERRORS.search(doc_of(n.value))])


def test_every_function_states_whether_it_blocks() -> None:
    report(
        [
            n.path
            for n in FUNCTIONS
            if not BLOCKING.search(doc_of(n.value)) and not NO_METHOD_BLOCKS.search(class_doc(n))
        ]
    )


def test_every_function_states_its_threads() -> None:
    report([n.path for n in FUNCTIONS if not THREADS.search(doc_of(n.value)) and not THREADS.search(class_doc(n))])


@pytest.mark.parametrize(
    ("doc", "name", "described"),
    [
        ("``stream``: of the device", "stream", True),
        (":param x, y: arrays", "y", True),
        ("``exec(call)`` gives an array", "exec", True),
        ("the stream of the device", "stream", False),
        ("``streams``: several", "stream", False),
        (":param x: array", "array", False),
    ],
)
def test_a_parameter_is_described_by_its_name_in_this_form_only(doc: str, name: str, described: bool) -> None:
    assert describes(doc, name) is described
