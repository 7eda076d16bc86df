"""Plain English: words that no document, docstring, comment or message of the project uses.

``docs/glossary.rst`` has the words to use; each entry of ``WORDS`` names the replacement.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.rst", "CONTRIBUTING.rst", "SECURITY.rst", "CHANGELOG.rst", "tests/README.rst", "cdevice/DESIGN.rst"]
WORDS = {
    "who(m)?ever": "the caller, the owner, the user",
    "nobody|somebody|anybody": "no thread, a third party, any caller",
    "is said|was said": "reports, states",
    "such a one": "one",
    "lent|lends?": "borrowed, allocated for",
    "strangers?": "third-party",
    "of ours": "of cdevice",
    "left open": "unspecified",
    "for ever": "forever",
    "mended": "fixed",
    "not a number": "NaN",
    "by the way": "",
    "which is meant": "",
    "says": "states, reports, returns",
    "told": "reported, passed",
    "whatever": "any, every",
    "ours(?! alone (on both )?[0-9])": "of cdevice",  # a recorded figure of ci/fuzz in docs/reliability.rst
    "what is": "the noun that it stands for",
    "no more than": "at most, only",
}
FOLDERS = ("cdevice", "backends", "ci", "examples", "tests/c")


PATTERN = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
# what C passes to a function that makes an error, and every comment: strings elsewhere are formats and kernel text
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
C_MESSAGE = re.compile(
    r"\b(?:cdv_fail\w*|cdv_error_set\w*|cdv_log\w*|PyErr_\w+|fail|refuse|f?printf|puts)"
    r"\s*\((?:[^;\"]|\"(?:\\.|[^\"\\])*\")*;"
)
SHELL_TEXT = re.compile(r"(?:^|\s)(?:#|(?:say|die|echo)\s).*")
C_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
MESSAGES = ("warn", "warning", "error", "info", "debug", "print", "fail")

Line = tuple[int, str]


def lines_of(line: int, text: str) -> Iterator[Line]:
    for i, words in enumerate(text.splitlines()):
        yield line + i, words


def docstrings(tree: ast.AST) -> Iterator[Line]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from lines_of(node.lineno, node.value.value)


def messages(tree: ast.AST) -> Iterator[Line]:
    """Strings of raise statements, and of calls that warn, log or print."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(node, ast.Raise) or name in MESSAGES:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def words_of_python(text: str) -> Iterator[Line]:
    tree = ast.parse(text)
    yield from docstrings(tree)
    yield from messages(tree)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def words_of_c(text: str) -> Iterator[Line]:
    def line(at: int) -> int:
        return text.count("\n", 0, at) + 1

    for comment in C_COMMENT.finditer(text):
        yield from lines_of(line(comment.start()), comment.group())
    for call in C_MESSAGE.finditer(text):
        for string in C_STRING.finditer(call.group()):
            yield line(call.start() + string.start()), string.group()


def words_of_page(text: str) -> Iterator[Line]:
    yield from lines_of(1, text)


def words_of_script(text: str) -> Iterator[Line]:
    """Comments, and the messages of ``say``, ``die`` and ``echo``."""
    for number, line in enumerate(text.splitlines(), 1):
        found = SHELL_TEXT.search(line)
        if found:
            yield number, found.group()


READERS = {
    ".rst": words_of_page,
    ".py": words_of_python,
    ".pyi": words_of_python,
    ".c": words_of_c,
    ".h": words_of_c,
    ".hpp": words_of_c,
    ".cpp": words_of_c,
    ".rs": words_of_c,
    ".sh": words_of_script,
    ".supp": words_of_script,
    ".cmake": words_of_script,
    "": words_of_script,  # the scripts of ci/
}


def files() -> list[Path]:
    found = [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.is_file() and p.suffix in READERS]
    return [*(ROOT / p for p in PAGES), *sorted((ROOT / "docs").glob("*.rst")), *dict.fromkeys(found)]


def found_in(text: str, suffix: str, words: re.Pattern[str] = PATTERN) -> list[tuple[int, str]]:
    return sorted({(n, m.group()) for n, line in READERS[suffix](text) for m in words.finditer(line)})


@pytest.mark.parametrize(
    "kinds",
    [(".rst",), (".py", ".pyi"), (".c", ".h", ".hpp", ".cpp", ".rs"), (".sh", ".supp", ".cmake", "")],
    ids=["pages", "python", "c", "scripts"],
)
def test_no_page_comment_docstring_or_message_uses_a_word_of_the_list(kinds: tuple[str, ...]) -> None:
    read = [p for p in files() if p.suffix in kinds]
    assert len(read) > 9
    bad = [
        f"{p.relative_to(ROOT)}:{n}: {word!r}"
        for p in read
        for n, word in found_in(p.read_text(encoding="utf-8"), p.suffix)
    ]
    assert not bad, f"{len(bad)} words that are not used; instead see WORDS:\n" + "\n".join(bad)


@pytest.mark.parametrize(
    ("suffix", "text", "lines"),
    [
        (".rst", "A page.\n\nNobody reads it.\n", [3]),
        (".py", '"""One.\n\nWhoever calls.\n"""\n', [3]),
        (".py", "x = 1  # for ever\n", [1]),
        (".py", 'x = "nobody"\n', []),
        (".py", 'def f(n):\n    raise ValueError(\n        f"{n} is lent"\n    )\n', [3]),
        (".py", "nobody = 1\n", []),
        (".py", "ours = 1  # as ours is\n", [1]),
        (".rst", "Taken is what is there.\n\nours alone 25; ours\n", [1, 3]),
        ("", '#!/bin/sh\nwhatever=1 # whatever\nsay "it says why"\nls whatever\n', [2, 3]),
        (".c", 'int f(void) {\n  puts("it says so");\n}\n', [2]),
        (".c", "int x; /* as\n   somebody */\n", [2]),
        (".c", 'f(e,\n  "nobody");\ncdv_fail(e, 1,\n  "nobody; %s", x);\n', [4]),
    ],
)
def test_the_check_finds_words_in_text_and_not_in_code(suffix: str, text: str, lines: list[int]) -> None:
    assert [n for n, _ in found_in(text, suffix)] == lines
