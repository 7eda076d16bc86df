"""Functions of a user's own: one expression, every device."""

import os
import subprocess
import sys

import numpy as np
import pytest
from compute_cases import PLACES, SLICES, column, enter

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

pytestmark = pytest.mark.nosan  # starts a compiler


@pytest.fixture(params=list(PLACES))
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


def there(x, device):
    return cdevice.asarray(x).to(device)


def test_a_row_for_each_row_null_where_an_argument_is(device):
    hypot2 = cc.elementwise("hypot2", "float64 a, float64 b -> float64", "a * a + b * b")
    a, b = column("float64"), column("float64", seed=1)
    for i, n in SLICES:
        x, y = a[i : i + n], b[i : i + n]
        got = pa.array(hypot2(there(a, device)[i : i + n], there(b, device)[i : i + n]).to("cpu"))
        with np.errstate(all="ignore"):
            p, q = (v.to_numpy(zero_copy_only=False).astype("f8") for v in (x, y))
            want = pa.array(p * p + q * q, mask=np.array(x.is_null()) | np.array(y.is_null()))
        assert repr(got.to_pylist()) == repr(want.to_pylist())


@pytest.mark.parametrize("word", ["int8", "uint16", "int32", "uint64", "float32"])
def test_types_are_those_of_the_signature(device, word):
    last = cc.elementwise("last", f"{word} a, {word} b -> {word}", "a < b ? b : a")
    x, y = column(word), column(word, seed=1)
    got = last(there(x, device), there(y, device))
    rows = zip(x.to_pylist(), y.to_pylist(), strict=True)
    assert got.type == word
    want = [None if a is None or b is None else b if a < b else a for a, b in rows]
    assert repr(got.to("cpu").to_pylist()) == repr(want)


def test_bools_go_in_and_come_out(device):
    pick = cc.elementwise("pick", "bool yes, int64 a, int64 b -> bool", "yes ? a < b : a > b")
    yes, a, b = column("bool"), column("int64"), column("int64", seed=1)
    rows = list(zip(*(x.to_pylist() for x in (yes, a, b)), strict=True))
    want = [None if None in r else (r[1] < r[2] if r[0] else r[1] > r[2]) for r in rows]
    for i, n in SLICES:
        got = pick(*(there(x, device)[i : i + n] for x in (yes, a, b)))
        assert got.to("cpu").to_pylist() == want[i : i + n]
    invert = cc.elementwise("invert", "bool a -> bool", "!a")
    assert invert(there([True, None, False], device)).to("cpu").to_pylist() == [False, None, True]
    count = cc.elementwise("count", "bool a, bool b -> int8", "a + b")
    assert count(there([True, True], device), True).to("cpu").to_pylist() == [2, 2]


def test_single_values_and_sums_stand_for_all_rows(device):
    scaled = cc.elementwise("scaled", "float64 x, float64 by, int64 plus -> float64", "x * by + plus")
    x = there([1.0, None, 3.0], device)
    assert scaled(x, 2, 1).to("cpu").to_pylist() == [3.0, None, 7.0]
    assert scaled(x, cc.sum(x), 0).to("cpu").to_pylist() == [4.0, None, 12.0]
    assert scaled(2, x, 1).to("cpu").to_pylist() == [3.0, None, 7.0]
    assert scaled(x, None, 1).to("cpu").to_pylist() == [None] * 3
    assert scaled(1, 2, 3).as_py() == 5.0
    assert scaled([there([1.0], device), there([2.0], device)], 2, 0).to("cpu").to_pylist() == [2.0, 4.0]


def test_it_has_the_same_bits_everywhere(device):
    f = cc.elementwise("poly", "float32 a, float64 b -> float32", "a * b + b * b - a / 3.0f")
    a, b = column("float32", nulls=0), column("float64", seed=1, nulls=0)
    here, far = f(a, b), f(there(a, device), there(b, device))
    assert repr(here.to_pylist()) == repr(far.to("cpu").to_pylist())


def test_functions_that_every_compiler_knows(device):
    f = cc.elementwise("many", "float64 a -> float64", "sqrt(fabs(a)) + floor(a) + ceil(a) + trunc(a)")
    assert f(there([2.25, -2.25], device)).to("cpu").to_pylist() == [1.5 + 2 + 3 + 2, 1.5 - 3 - 2 - 2]
    g = cc.elementwise(
        "wave", "float64 a -> float64", "exp(log(a)) * pow(a, 2.0) * (sin(a) * sin(a) + cos(a) * cos(a))"
    )
    assert g(there([2.0], device)).to("cpu").to_pylist() == [pytest.approx(8.0)]


def test_arguments_of_other_types_are_cast_where_nothing_is_lost():
    f = cc.elementwise("f", "int32 a, float64 b -> float64", "a + b")
    assert f(np.arange(3, dtype="i2"), np.arange(3, dtype="u8")).to_pylist() == [0.0, 2.0, 4.0]
    with pytest.raises(cc.NoKernel, match=r"f\(int64, double\)|f\(int64, float64\): no kernel on cpu; there is"):
        f(np.arange(3), 1.0)
    with pytest.raises(cc.NoKernel, match="string"):
        f(["a"], 1.0)
    with pytest.raises(TypeError, match="f takes 2 arguments, not 1"):
        f([1])


def test_it_is_a_function_and_in_a_registry_when_asked():
    registry = cc.FunctionRegistry(cc.function_registry())
    f = cc.elementwise("thrice", "int64 a -> int64", "3 * a", registry=registry)
    assert registry.get_function("thrice") is f and "thrice" not in cc.list_functions()
    assert cc.call_function("thrice", [[1, 2]], registry=registry).to_pylist() == [3, 6]
    assert str(f.kernels[0]) == "(int64) -> int64 on any device by elementwise" and "3 * a" in f.doc
    with pytest.raises(KeyError, match="thrice"):
        cc.elementwise("thrice", "int64 a -> int64", "a", registry=registry)


@pytest.mark.parametrize(
    ("signature", "expression", "said"),
    [
        ("float64 a", "a", "expected a signature such as"),
        ("float64 -> float64", "a", "is not an argument"),
        ("float64 T -> float64", "T", "is not an argument"),
        ("float64 int -> float64", "1", "is not an argument"),
        ("float64 f64 -> float64", "1", "is not an argument"),
        ("float64 a, float64 a -> float64", "a", "distinct names"),
        (", ".join(f"int8 a{k}" for k in range(65)) + " -> int8", "a0", "65 arguments: a kernel takes up to 64"),
        ("string a -> int64", "1", "is not supported: expected a number type"),
        ("int64 a -> string", "1", "is not supported: expected a number type"),
        ("decimal128(20, 2) a -> int64", "a", "a decimal of 32 or 64 bits"),
        ("float64 a -> float64 a", "a", "distinct names"),
        ("float64 a -> float64 x, float64 y", "x = a", "the result 'y' is missing: expected 'y = ...;'"),
        ("float64 a -> float64 x, float64 y", "x = a; x = a", "the result 'x' is given twice"),
        ("float64 a -> float64", "let a = 1; a", "'a' is there already, at column 5"),
        ("float64 a -> float64", "let t = a\nt", "';' is missing, at line 2, column 1"),
        ("float64 a -> float64", "let t = null; t", "null has no type"),
        ("float64 a -> float64", "a + null", "null has no type beside '\\+': is_null"),
        ("float64 a -> float64", "sqrt(null)", "null has no type"),
        ("float64 a -> float64", "coalesce(a)", "coalesce\\(\\) takes 2 arguments, not 1"),
        ("float64 a -> float64", "fn f(float64 x) -> float64 { f(x) } f(a)", "f\\(\\) is unknown"),
        ("float64 a -> float64", "fn f(float64 x) -> float64 { a } f(a)", "'a' is unknown"),
        ("float64 a -> float64", "fn f(float64 x) -> float64 { is_null(x) } f(a)", "a function is of values"),
        ("float64 a -> float64", "fn f(text x) -> float64 { x } f(a)", "expected a type such as float64, not 'text'"),
        ("float64 a -> float64", "fn f(float64 x) -> float64 { x", "'}' is missing"),
        ("int64 a -> int64", " ", "is empty"),
        ("int64 a -> int64", "1; } int x", "unexpected ';' after the expression, at column 2"),
        ("int64 a -> int64", '"x"', "is not allowed in an expression"),
        ("int64 a -> int64", "a, a", "unexpected ',' after"),
        ("int64 a -> int64", "a)*(a", "unexpected '\\)' after"),
        ("int64 a -> int64", "a + no_such_thing", "'no_such_thing' is unknown; the arguments are a, at column 5"),
        ("int64 a -> int64", "system(a)", "system\\(\\) is unknown; known functions"),
        ("int64 a -> int64", "a ? 1", "':' is missing"),
        ("int64 a -> int64", "a++", "a value is missing"),
        ("int64 a -> int64", "a = 1", "unexpected '=' after"),
        ("int64 a -> int64", "&a", "expected a value, not '&'"),
        ("float64 a -> float64", "a % 2", "'%' takes integers; fmod"),
        ("int64 a -> int64", "pow(a)", "pow\\(\\) takes 2 arguments, not 1"),
        ("int64 a -> int64", "010", "octal"),
        ("int64 a -> int64", "99999999999999999999", "more than 64 bits"),
        ("int64 a -> int64", "(" * 100 + "a" + ")" * 100, "nested too deeply"),
        ("float64 sqrt -> float64", "sqrt", "is not an argument"),
    ],
)
def test_what_is_no_kernel_is_told_at_once(signature, expression, said):
    with pytest.raises(ValueError, match=said):
        cc.elementwise("f", signature, expression)


WIDE = [0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
SPREAD = [
    0.0,
    -0.0,
    0.5,
    -1.5,
    2.5,
    3.9,
    -3.9,
    1e10,
    -1e10,
    1e300,
    -1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    None,
]


@pytest.mark.parametrize(
    ("signature", "expression", "rows", "want"),
    [
        ("int64 a, int64 b -> int64", "a / b", ([7, -7, 7, -(2**63), 5], [2, 2, -2, -1, 0]), [3, -3, -3, -(2**63), 0]),
        ("int64 a, int64 b -> int64", "a % b", ([7, -7, 7, -(2**63), 5], [2, 2, -2, -1, 0]), [1, -1, 1, 0, 0]),
        ("int64 a -> int64", "a << 65", ([1, -1],), [2, -2]),
        ("int64 a -> int64", "a >> 1", ([5, -5],), [2, -3]),
        ("int64 a -> int64", "-a", ([-(2**63), 3],), [-(2**63), -3]),
        ("int64 a -> int64", "a * a", ([2**40],), [0]),
        ("int32 a, uint16 b -> int64", "a + b", ([2**31 - 1], [9]), [2**31 + 8]),
        ("int32 a, int32 b -> int32", "a + b", ([2**31 - 1], [1]), [-(2**31)]),
        ("float64 a -> int32", "a", ([1e300, -1e300, 2.9, float("nan")],), [2**31 - 1, -(2**31), 2, 0]),
        ("float64 a -> uint8", "a", ([-1.0, 300.0, 7.5],), [0, 255, 7]),
        ("float64 a -> bool", "a", ([0.0, -0.0, 0.5, float("nan")],), [False, False, True, True]),
        ("int64 a -> bool", "a", ([0, 256],), [False, True]),
        ("float32 a -> float32", "round(a) + fmod(a, 2)", ([2.5, -2.5],), [3.5, -3.5]),
        (
            "float64 a, float64 b -> float64",
            "fmin(a, b)",
            ([1.0, float("nan"), 3.0], [2.0, 2.0, None]),
            [1.0, 2.0, None],
        ),
        ("int64 a -> int8", "isnan(a) + isinf(1e308 * 10 * a) * 2 + isfinite((float64) a) * 4", ([1],), [6]),
        ("int64 a, int64 b -> int64", "max(min(a, b), -3) + abs(b)", ([1, -9], [5, -4]), [6, 1]),
        (
            "bool a, bool b -> bool",
            "a && !b || a ^ b",
            ([True, True, False], [False, True, False]),
            [True, False, False],
        ),
        ("uint32 a -> uint32", "~a", ([0, 5],), [2**32 - 1, 2**32 - 6]),
        ("int64 a -> float64", "(float32) a / 3", ([1],), [float(np.float32(1) / np.float32(3))]),
        ("int64 a -> int64", "a ? 0x10 : 1u", ([0, 2],), [1, 16]),
    ],
)
def test_what_c_leaves_open_is_the_same_everywhere(device, signature, expression, rows, want):
    f = cc.elementwise("f", signature, expression)
    types = [part.split()[0] for part in signature.partition("->")[0].split(",")]
    args = [cdevice.asarray(r, schema=t) for r, t in zip(rows, types, strict=True)]
    assert repr(f(*args).to_pylist()) == repr(want)
    assert repr(f(*[there(x, device) for x in args]).to("cpu").to_pylist()) == repr(want)


@pytest.mark.parametrize("word", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64", "bool"])
def test_every_conversion_is_the_same_everywhere(device, word):
    for source, rows in (("int64", WIDE), ("float64", SPREAD)):
        f = cc.elementwise("f", f"{source} a -> {word}", "a")
        x = cdevice.asarray(rows, schema=source)
        assert repr(f(x).to_pylist()) == repr(f(there(x, device)).to("cpu").to_pylist())


PROGRAM = """
import sys, cdevice, cdevice.compute as cc
f = cc.elementwise("f", "int64 a -> int64", "a * 7 + 1")
try:
    print(f(cdevice.asarray([1, None])).to_pylist())
except cdevice.Unsupported as e:
    print(e)
"""


def run(**environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_on_the_cpu_it_needs_a_compiler_once_or_says_so(tmp_path):
    none, cache = {"CDEVICE_CC": "/nowhere/cc"}, {"CDEVICE_CACHE_DIR": str(tmp_path / "kept")}
    assert "no C compiler, /nowhere/cc" in (said := run(**none, **cache)) and "apt-get install gcc" in said
    assert run(**cache) == "[8, None]"
    (kept,) = (tmp_path / "kept").iterdir()  # and none of what was compiled with the package
    assert run(**none, **cache) == "[8, None]"
    kept.write_bytes(kept.read_bytes()[:-1])
    assert "no C compiler" in run(**none, **cache)
    left = tmp_path / "left"
    left.mkdir()
    assert run(TMPDIR=str(left), CDEVICE_CACHE_DIR="0") == "[8, None]" and not list(left.iterdir())
    assert run(TMPDIR=str(tmp_path / "not there"), CDEVICE_CACHE_DIR="0") == "[8, None]"


def test_what_is_kept_can_be_read_again_whatever_the_umask_was(tmp_path):
    """A folder that nobody may open stayed, in the user's own as well."""
    before = os.umask(0o777)
    try:
        assert run(HOME=str(tmp_path), XDG_CACHE_HOME="", CDEVICE_CACHE_DIR="") == "[8, None]"
    finally:
        os.umask(before)
    folders = [tmp_path / ".cache", tmp_path / ".cache/cdevice"]
    (kept,) = folders[1].iterdir()
    assert [x.stat().st_mode & 0o777 for x in [*folders, kept]] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("word", ["float32", "float64"])
def test_rounding_and_signs_are_the_same_for_constants_and_for_rows(device, word):
    """PoCL 3.1 stores nothing for rint() of a large constant."""
    values = [
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        1e10,
        -1e10,
        9e18,
        -9e18,
        1e30,
        2.0**23 - 0.5,
        2.0**52 - 0.5,
        8388609.0,
    ]
    mark = "f" if word == "float32" else ""
    x = cdevice.asarray([np.dtype(word).type(v).item() for v in values], schema=word)
    f = cc.elementwise("f", f"{word} a -> {word}", "rint(a)")
    want = [float(np.rint(np.dtype(word).type(v))) for v in values]
    assert repr(f(there(x, device)).to("cpu").to_pylist()) == repr(want) == repr(f(x).to_pylist())
    for v, r in zip(values[7:12], want[7:12], strict=True):
        g = cc.elementwise("g", f"{word} a -> {word}", f"rint({v!r}{mark}) + a * 0")
        assert g(there(x[:1], device)).to("cpu").to_pylist() == [r]
    h = cc.elementwise("h", f"{word} a -> {word}", "copysign(a, 1e300 * 1e300 - 1e300 * 1e300)")
    assert h(there(x, device)).to("cpu").to_pylist() == [abs(v) for v in x.to_pylist()]


# ---- any number of arguments and results, statements, nulls ----
def test_more_arguments_than_a_kernel_has_buffers(device):
    words = ["bool", "int8", "float32", "int64", "float64", "uint16"]
    types = [words[k % len(words)] for k in range(20)]
    f = cc.elementwise(
        "wide",
        ", ".join(f"{t} a{k}" for k, t in enumerate(types)) + " -> float64",
        " + ".join(f"{k + 1} * a{k}" for k in range(20)),
    )
    columns = [
        cdevice.asarray([(k + i) % 2 == 1 if t == "bool" else k + i for i in range(70)], schema=t)
        for k, t in enumerate(types)
    ]
    columns[3] = cdevice.asarray([None if i == 7 else 3 + i for i in range(70)], schema="int64")
    columns[0] = cdevice.asarray([None if i == 9 else i % 2 == 1 for i in range(70)], schema="bool")
    rows = list(zip(*(c.to_pylist() for c in columns), strict=True))
    want = [None if None in r else float(sum((k + 1) * x for k, x in enumerate(r))) for r in rows]
    far = [there(c, device) for c in columns]
    assert f(*far).to("cpu").to_pylist() == want
    assert f(*[c[5:50] for c in far]).to("cpu").to_pylist() == want[5:50]
    far[4] = 4.0  # one value for all rows
    more = [None if w is None else w - 5 * r[4] + 5 * 4.0 for w, r in zip(want, rows, strict=True)]
    assert f(*far).to("cpu").to_pylist() == more


def test_arguments_of_other_lengths_are_named():
    f = cc.elementwise("f", "int64 a, int64 b, int64 c, int64 d -> int64", "a + b + c + d")
    with pytest.raises(cdevice.ArgumentError, match="f: arguments of 2 and 3 rows"):
        f([1, 2], [1, 2, 3], 1, 1)


def test_several_results_are_the_fields_of_a_struct(device):
    text = "let q = x * x + y * y; radius = sqrt(q); far = q > 4.0; quadrant = (x < 0) + 2 * (y < 0)"
    f = cc.elementwise("polar", "float64 x, float64 y -> float64 radius, bool far, int8 quadrant", text)
    x, y = [3.0, None, -1.0, 0.5], [4.0, 1.0, -1.0, None]
    got = f(there(x, device), there(y, device))
    assert got.type == "struct<radius: float64, far: bool, quadrant: int8>"
    rows = [(5.0, True, 0), (None, None, None), (2.0**0.5, False, 3), (None, None, None)]
    assert got.to("cpu").to_pylist() == [dict(zip(("radius", "far", "quadrant"), r, strict=True)) for r in rows]
    assert f(3.0, 4.0).as_py() == {"radius": 5.0, "far": True, "quadrant": 0}
    many = cc.elementwise(
        "many",
        "int64 a -> " + ", ".join(f"int64 r{k}" for k in range(9)),
        "; ".join(f"r{k} = a + {k}" for k in range(9)),
    )
    assert many(there([1, None], device)).to("cpu").to_pylist()[0] == {f"r{k}": 1 + k for k in range(9)}


def test_functions_and_local_names_of_the_text(device):
    f = cc.elementwise(
        "energy",
        "float64 a, float64 b, float64 c, float64 d -> float64",
        """
        fn square(float64 x) -> float64 { x * x }
        fn length(float64 x, float64 y) -> float64 { let q = square(x) + square(y); sqrt(q) }
        let u = length(a, b);
        let v = length(c, d);
        u > v ? u : v
        """,
    )
    given = [there([x, 0.0], device) for x in (3.0, 4.0, 5.0, 12.0)]
    assert f(*given).to("cpu").to_pylist() == [13.0, 0.0]


def test_a_text_that_names_nulls_says_which_rows_are_null(device):
    rows = [(a, b) for a in (None, 1, 5) for b in (None, 2, 7)] * 9
    a, b = (there(cdevice.asarray([r[k] for r in rows], schema="int64"), device) for k in range(2))

    def less(a, b):
        return None if a is None or b is None else a < b

    def both(a, b):  # Kleene's
        return False if a is False or b is False else None if a is None or b is None else True

    cases = {
        "coalesce(a, b)": lambda a, b: b if a is None else a,
        "coalesce(a, 0) + coalesce(b, 0)": lambda a, b: (a or 0) + (b or 0),
        "is_null(a) ? (is_null(b) ? null : -b) : a": lambda a, b: (None if b is None else -b) if a is None else a,
        "is_valid(a) + is_null(b)": lambda a, b: (a is not None) + (b is None),
        "let s = a + b; is_null(s) ? -1 : s": lambda a, b: -1 if a is None or b is None else a + b,
        "a < b ? null : a": lambda a, b: None if less(a, b) in (None, True) else a,
        "null": lambda a, b: None,
        "let k = is_valid(a) && a < b; k": lambda a, b: (lambda x: None if x is None else int(x))(
            both(a is not None, less(a, b))
        ),
    }
    for text, want in cases.items():
        got = cc.elementwise("f", "int64 a, int64 b -> int64", text)(a, b).to("cpu")
        assert got.to_pylist() == [want(*r) for r in rows], text
        got.validate("full")
    bools = cc.elementwise("g", "int64 a, int64 b -> bool", "is_null(a) || a < b")(a, b).to("cpu").to_pylist()
    assert bools == [True if x is None else less(x, y) for x, y in rows]
    two = cc.elementwise(
        "h", "int64 a, int64 b -> int64 x, bool y", "x = coalesce(a, b); y = is_null(a) ? null : a > 2"
    )
    got = two(a, b).to("cpu").to_pylist()
    assert got == [{"x": y if x is None else x, "y": None if x is None else x > 2} for x, y in rows]
    assert two(None, 3).as_py() == {"x": 3, "y": None}


def test_times_and_decimals_are_computed_with_as_their_integers(device):
    import datetime
    import decimal

    later = cc.elementwise("later", "timestamp[us, tz=UTC] t, duration[us] d -> timestamp[us, tz=UTC]", "t + 2 * d")
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    t = pa.array([moment, None], pa.timestamp("us", "UTC"))
    d = pa.array([datetime.timedelta(hours=1)] * 2, pa.duration("us"))
    got = later(there(t, device), there(d, device))
    assert got.type == "timestamp[us, tz=UTC]"
    assert pa.array(got.to("cpu")).to_pylist() == [moment + datetime.timedelta(hours=2), None]
    cents = cc.elementwise("cents", "decimal64(10, 2) price -> int64", "price")
    price = pa.array([decimal.Decimal("12.34"), None], pa.decimal64(10, 2))
    assert cents(there(price, device)).to("cpu").to_pylist() == [1234, None]
    with pytest.raises(cc.NoKernel):
        cents(there(pa.array([decimal.Decimal("1.2")], pa.decimal64(10, 1)), device))


def test_such_a_function_is_one_of_an_expression():
    f = cc.elementwise("gap", "int64 a, int64 b -> int64 low, int64 high", "low = min(a, b); high = max(a, b)")
    batch = cdevice.asarray({"x": [1, 5], "y": [3, 2]})
    e = cc.struct_field(f(cc.field("x"), cc.field("y")), "high") - cc.field("x")
    assert e.evaluate(batch).to_pylist() == [2, 0]
