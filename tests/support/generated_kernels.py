"""Texts of kernels that are made as they are needed: of expressions, and of a user's own functions, one of each form, in
generated_kernels.txt.  ``ci/kernels`` compiles them, a test holds them to the writers.  Written anew by ``python tests/support/generated_kernels.py``."""

import datetime
import pathlib

import cdevice
import cdevice.compute as cc
from cdevice.compute.udf import inputs
from cdevice.compute.udf.elementwise import _Variant
from cdevice.compute.udf.kernels import Reading

FILE = pathlib.Path(__file__).with_name("generated_kernels.txt")
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


READ = {"one": (True, False), "nullable": (False, True), "all": (False, False)}


def own_texts():
    """The same of functions of a user's own."""
    out = {}

    def readings(of, how):
        places = iter(range(2, 8))
        return [
            Reading(x.type, x.name, *READ[w], (next(places), 0), (next(places) if w == "nullable" else 0, 0))
            for x, w in zip(of.arguments, how, strict=True)
        ]

    def keep(text):
        out[form] = "i32", text
        return ""

    rows = (
        cc.elementwise(
            "f",
            "bool p, float64 a, int32 i -> float64 r, int64 s, bool t",
            "fn square(float64 x) -> float64 { x * x } let q = square(a) + i; r = exp(q); s = i / 3; t = p && a < 1.0",
        )
        .kernels[0]
        .exec
    )
    nulls = (
        cc.elementwise("g", "float64 a, bool p -> float64", "is_null(p) || p ? coalesce(a, 1.0) : null").kernels[0].exec
    )
    bits = cc.elementwise("h", "float64 a, bool p -> bool", "is_null(p) ? a < 1.0 : p && a > 2.0").kernels[0].exec
    more = {"map": "x * y", "identity": "0.0"}
    fold = cc.reduction("rms", "float32 x, float64 y -> float64", "a + b", finish="sqrt(a / n)", **more).kernels[0].exec
    over = cc.scan("total", "float32 x, float64 y -> float64", "a + b", finish="a * 2", **more).kernels[0].exec
    kept, inputs.register = inputs.register, keep
    try:
        form = "own: several results"
        _Variant(rows, readings(rows, ("all", "all", "one")), 2)
        form = "own: validity"
        _Variant(nulls, readings(nulls, ("nullable", "nullable")), 2)
        form = "own: bits with validity"
        _Variant(bits, readings(bits, ("nullable", "nullable")), 2)
        form = "own: a fold"
        fold._fold(readings(fold, ("nullable", "all")))
        form = "own: states"
        fold._end()
        form = "own: a scan"
        over._kernels(readings(over, ("nullable", "all")))
    finally:
        inputs.register = kept
    return out


def written():
    """The file's text, as it should be."""
    every = {**texts(), **own_texts()}
    return "".join(f"==== {form}: {word}\n{text}" for form, (word, text) in every.items())


def write():
    FILE.write_text(written())


if __name__ == "__main__":
    write()
