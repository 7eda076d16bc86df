"""Writes docs/reference/c.rst: the functions of cdevice.h and the classes of cdevice.hpp, from the headers' comments.

python docs/c_functions.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "reference" / "c.rst"
INCLUDE = HERE.parent / "cdevice" / "include" / "cdevice"

HEAD = """\
.. Written by docs/c_functions.py from the comments of cdevice.h and cdevice.hpp: edit those.

C and C++
=========

The functions of ``cdevice/cdevice.h`` and the classes of ``cdevice/cdevice.hpp``. ``docs/c-and-cpp.rst`` has programs
to begin with; ``backend.h``, for device types, is on ``docs/add-your-device.rst``.

"""
# what is set as code in a sentence: names with "_", pointers, members, calls, strings
CODE = re.compile(
    r'"[^"]*"|`[^`]*`|\*?\b\w+(?:->\w+(?:\.\w+)*|\.\w+\b(?=[ ,;:)]))|\*[A-Za-z_]\w*|\b\w*_\w*(?:\(\))?\*?|\b[a-z]+\(\)'
)
SPECIAL = re.compile(r"([\\*`|_])")
# the end of a head of a function, before its initializers
FUNCTION = re.compile(r"(\)(?:\s*(?:const|noexcept|&&))*)\s*(?::(?!:).*)?$", re.S)
GROUP = re.compile(r"^/\* ---- (.*?) ---- \*/$", re.M)


def comment_lines(comment: str) -> list[str]:
    """The lines of a C comment without its signs; further indentation stays."""
    inner = comment.strip().removeprefix("/*").removesuffix("*/")
    return [re.sub(r"^\s*\* ?", "", line) if i else line.strip() for i, line in enumerate(inner.rstrip().split("\n"))]


def sentence(text: str) -> str:
    """A sentence of a comment for reStructuredText."""
    out, at = [], 0
    for m in CODE.finditer(text):
        out += [SPECIAL.sub(r"\\\1", text[at : m.start()]), f"``{m[0].strip('`')}``"]
        at = m.end()
    return re.sub(r"\bowns:", "*Owns:*", "".join([*out, SPECIAL.sub(r"\\\1", text[at:])]))


def prose(comment: str, indent: str) -> list[str]:
    """A comment as paragraphs; lines that are indented further are a literal block."""
    out: list[str] = []
    words: list[str] = []

    def flush() -> None:
        if words:
            out.extend(["", indent + sentence(" ".join(words))])
            words.clear()

    block = False
    for line in comment_lines(comment):
        if line.startswith("  ") and line.strip():
            if not block:
                flush()
                out.extend(["", f"{indent}::", ""])
            out.append(f"{indent}    {line.strip()}")
            block = True
        elif not line.strip():
            flush()
            block = False
        else:
            block = False
            words.append(line.strip())
    flush()
    return out


def conventions(comment: str) -> list[str]:
    """The comment at the head of a header: its list of conventions as a list of definitions."""
    lines = comment_lines(comment)
    out: list[str] = []
    for line in lines[lines.index("Conventions") + 1 :]:
        m = re.match(r"  (\w+):\s+(.*)", line)
        if m:
            out += [m[1], f"    {m[2]}"]
        elif line.strip():
            out[-1] += f" {line.strip()}"
    return [f"    {sentence(x.strip())}" if x.startswith("    ") else x for x in out] + [""]


def of_c(text: str) -> list[str]:
    """cdevice.h by its groups."""
    out = ["Conventions", "-----------", ""]
    out += conventions(re.match(r"/\*.*?\*/", text, re.S)[0])  # type: ignore[index]
    parts = GROUP.split(text[: text.index("#ifdef __cplusplus\n}")])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        out += [title[0].upper() + title[1:], "-" * len(title), ""]
        out += group(body)
    return out


def group(body: str) -> list[str]:
    """The declarations of a group: several behind one comment share it, and so do constants."""
    out: list[str] = []
    item = re.compile(
        r"(?P<comment>/\*(?:(?!\*/).)*\*/)\n|"
        r"(?P<macros>(?:#define [^\n]*\n)+)|"
        r"(?P<struct>typedef struct \w+ \{.*?\} \w+;\n)|"
        r"(?P<function>^[a-z][^;{}#]*?\);)(?P<behind>[ ]*/\*[^\n]*\*/)?\n",
        re.S | re.M,
    )
    comment = ""
    for m in item.finditer(body):
        if m["comment"]:
            comment = m["comment"]
        elif m["macros"] or m["struct"]:
            text = (m["macros"] or m["struct"]).rstrip("\n")
            if comment:
                out += [*prose(comment, ""), ""]
            out += [".. code-block:: c", "", *(f"    {line}".rstrip() for line in text.split("\n")), ""]
            comment = ""
        else:
            signature = " ".join(m["function"].rstrip(";").split())
            out += [f".. c:function:: {signature}"]
            out += prose(comment, "    ") if comment else []
            out += prose(m["behind"], "    ") if m["behind"] else []
            out += [""]
            following = body[m.end() : m.end() + 2]
            if not re.match(r"[a-z]", following):  # functions without a line between them share the comment
                comment = ""
    return out


def synopsis(text: str) -> str:
    """A part of cdevice.hpp without bodies of functions, and without what is private."""
    text = re.sub(r"\n(?:private|protected):\n.*?(?=\n\};)", "", text, flags=re.S)
    text = re.sub(
        r"\n {2}class iterator \{.*?\n {2}\};\n", "\n  class iterator; /* random access */\n", text, flags=re.S
    )
    out, i = "", 0
    while i < len(text):
        if text.startswith("/*", i):
            end = text.index("*/", i) + 2
            out += text[i:end]
            i = end
            continue
        start = max(out.rfind(sign) for sign in (";", "{", "}", "*/")) + 1
        function = FUNCTION.search(out[start:]) if text[i] == "{" else None
        if function is None:
            out += text[i]
            i += 1
            continue
        out = out[:start] + out[start:][: function.end(1)] + ";"
        depth = 1
        while depth:
            i += 1
            depth += (text[i] == "{") - (text[i] == "}")
        i += 1
    lines = [line.rstrip() for line in out.split("\n")]
    return re.sub(r"\n\n+(?=\};)", "\n", re.sub(r"\n{3,}", "\n\n", "\n".join(lines))).strip("\n")


def of_cpp(text: str) -> list[str]:
    """cdevice.hpp by its groups."""
    out = ["C++", "---", "", *conventions(re.match(r"/\*.*?\*/", text, re.S)[0])]  # type: ignore[index]
    body = re.sub(r"namespace detail \{.*?\n\} // namespace detail\n", "", text, flags=re.S)
    body = body[: body.index("} // namespace cdevice\n")]
    parts = GROUP.split(body)
    for title, inner in zip(parts[1::2], parts[2::2], strict=True):
        shown = synopsis(inner)
        out += [title[0].upper() + title[1:] + " in C++", "~" * (len(title) + 7), "", ".. code-block:: cpp", ""]
        out += [f"    {line}".rstrip() for line in shown.split("\n")] + [""]
    return out


def page() -> str:
    c, cpp = ((INCLUDE / name).read_text(encoding="utf-8") for name in ("cdevice.h", "cdevice.hpp"))
    return HEAD + "\n".join([*of_c(c), *of_cpp(cpp)]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
