"""Texts of fused kernels, one of each form, in fused_kernels.txt: ``ci/kernels`` compiles them, a test holds them to the
writer.  Written anew by ``python tests/support/fused_kernels.py``."""

import datetime
import pathlib

import cdevice
import cdevice.compute as cc

FILE = pathlib.Path(__file__).with_name("fused_kernels.txt")
COLUMNS = {"a": "float64", "b": "float32", "i": "int32", "j": "int64", "u": "uint8", "p": "bool", "d": "date32"}
f = cc.field
SAMPLES = {  # form: the expression, and the columns that have nulls
    "bits": (f("a") * 2 > f("b"), ""),
    "bits with validity": ((f("i") > 3) & (f("p") | (f("d") >= datetime.date(2000, 1, 1))), "ip"),
    "values": (cc.if_else(f("p"), f("a") * 2, f("b") - 1), "ab"),
    "values with validity": (cc.coalesce(cc.if_else(f("p"), f("a") * 2, None), f("b") * 1), "p"),
    "checked": ((f("i") + f("u")) * f("j") - cc.abs_checked(f("j")), "i"),
    "a table of constants": (f("a") * 2 + 3 - f("a") * 5 + 7 - cc.sqrt(f("a")) * 11, ""),
}


def texts():
    """{form: (type of the program, text)}"""
    out = {}
    schema = cdevice.asschema(COLUMNS)
    for form, (expression, nullable) in SAMPLES.items():
        bound = expression.bind(schema)
        names = {i: bound._steps[i].called.name for i in bound._columns}
        program = type(bound._plain)(bound._steps, frozenset(i for i, n in names.items() if n in nullable))
        (part,) = [p for _, p, _ in program.entries if p]
        word = "bits" if bound.type.format == "b" else {"g": "f64", "f": "f32", "l": "i64"}[bound.type.format]
        out[form] = word, part.text
    return out


def written():
    """The file's text, as it should be."""
    return "".join(f"==== {form}: {word}\n{text}" for form, (word, text) in texts().items())


def write():
    FILE.write_text(written())


if __name__ == "__main__":
    write()
