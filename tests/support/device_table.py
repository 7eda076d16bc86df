"""The table of functions, types and devices in docs/functions.rst, from calls of four rows of each type.

python tests/support/device_table.py        writes it into the page; with PoCL and an empty cache it takes an hour

Each call runs on the CPU and on OpenCL by cdevice's kernels alone.  A cell counts where all types of its column work,
and where OpenCL gives the rows that the CPU gives.
"""

import os
import pathlib
import sys


import pyarrow as pa
from function_table import REFUSED, TYPES, arguments

import cdevice
import cdevice.compute as cc

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "functions.rst"
BEGIN, END = ".. The table: python tests/support/device_table.py\n", "\n.. The end of the table.\n"
DEVICES = {"c": "cpu", "o": "opencl"}


def _there(value, device):
    return cdevice.asarray(value).to(device) if isinstance(value, pa.Array) else value


def _rows(result):
    if isinstance(result, cc.Scalar):
        return result.as_py()
    return result.to("cpu").to_pylist()


def result(f, t, device):
    """(does a function take a type on a device?, its rows)"""
    args, options = arguments(f, t)
    try:
        with cc.fallback("error"):
            made = f(*(_there(a, device) for a in args), **options)
        if device != "cpu" and str(made.device) == "cpu":
            return False, None
        return True, _rows(made)
    except REFUSED:
        return False, None


def _same(one, other):
    return repr(one) == repr(other)  # NaN is itself, -0.0 is not 0.0


def cell(f, types, devices=DEVICES):
    """The letters of the devices on which a function takes all of the types."""
    found = ""
    expected = [result(f, t, "cpu") for t in types]
    for letter, device in devices.items():
        made = expected if device == "cpu" else [result(f, t, device) for t in types]
        if all(done for done, _ in made) and all(_same(m[1], e[1]) for m, e in zip(made, expected, strict=True)):
            found += letter
    return found


def own_kernels_alone():
    """pyarrow's functions are left out, for as long as the process lives."""
    os.environ["CDEVICE_BACKENDS"] = "-pyarrow"


def lines(found):
    """A simple table of reStructuredText; ``found``: {function: [cell, ...]}."""
    head = ["function", *TYPES]
    table = [head, *([name, *cells] for name, cells in found.items())]
    widths = [max(len(r[i]) for r in table) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    text = [" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in table]
    return [rule, text[0], rule, *text[1:], rule]


def shown():
    """{function: [cell, ...]} of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rule, head, _, *rows, _ = text.strip("\n").split("\n")
    starts = [0]
    for i, c in enumerate(rule):
        if c == " ":
            starts.append(i + 1)
    def cut(row):
        ends = [*(s - 1 for s in starts[1:]), None]
        return [row[s:e].strip() for s, e in zip(starts, ends, strict=True)]
    assert cut(head) == ["function", *TYPES]
    return {row[0]: row[1:] for row in map(cut, rows)}


def main():
    own_kernels_alone()
    found = {}
    for name in cc.list_functions():
        f = cc.get_function(name)
        found[name] = [cell(f, types) for types in TYPES.values()]
        print(name, *found[name], flush=True)
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + "\n" + "\n".join(lines(found)) + "\n" + text[end:], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
