"""Functions of strings and bytes in every layout, on every device, against pyarrow.compute and Python's own."""

import random
import re

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import COMPUTED, places, shown  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

PIECES = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "abc",
    "aB",
    "aaa",
    " ",
    "\t",
    "1",
    "é",
    "É",
    "ß",
    "ſ",
    "K",
    "€",
    "\u2028",
    "😀",
    "ǅ",
    "%",
    "_",
]
PIECES += ["\\", "\n", "x" * 9, "ab" * 8, "Ωω", "1é😀"]
LAYOUTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
    "fixed_size_binary": pa.binary(6),
    "dictionary": pa.dictionary(pa.int16(), pa.string()),
}
TEXTS = ("string", "large_string", "string_view", "dictionary")
WITH_OFFSETS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def words(n, seed=0, pieces=PIECES):
    rng = random.Random(seed)
    return ["".join(rng.choice(pieces) for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9)))) for _ in range(n)]


def rows(word, n=150, nulls=0.2, seed=0, pieces=PIECES):
    """Rows of a layout; null ones have bytes behind them."""
    rng, kind = random.Random(f"{word}{seed}"), LAYOUTS[word]
    values = words(n, seed, pieces)
    if word == "dictionary":
        some = pa.array([*values[: max(n // 3, 1)], None] if nulls else values[: n // 3])
        picks = pa.array([rng.randrange(len(some)) for _ in range(n)], pa.int16())
        return pa.DictionaryArray.from_arrays(picks, some)
    if word == "fixed_size_binary":
        return pa.array([None if rng.random() < nulls else v.encode()[:6].ljust(6, b"a") for v in values], kind)
    full = pa.array([v.encode() for v in values], pa.binary()).cast(WITH_OFFSETS.get(kind, kind))
    if not nulls:
        return full.cast(kind)
    known = pa.array([rng.random() >= nulls for _ in range(n)])
    buffers = full.buffers()
    made = pa.Array.from_buffers(full.type, n, [known.buffers()[1], *buffers[1:]])
    return made.cast(kind)


def slices(x):
    return [x, x[3:], x[33:97], x[7:7], x[:1]]


def plain(x):
    """What pyarrow's functions take."""
    if pa.types.is_dictionary(x.type):
        return x.dictionary_decode()
    if pa.types.is_fixed_size_binary(x.type):
        return x.cast(pa.binary())
    return x.cast(WITH_OFFSETS.get(x.type, x.type))


def agree(device, x, name, want=None, **options):
    """A function gives on a device what pyarrow gives, or ``want``."""
    got = cc.call_function(name, [cdevice.asarray(x).to(device)], **options)
    assert got.device.type.name.lower() in (COMPUTED.get(device, device), device)
    here = got.to("cpu")
    here.validate("full")
    here = pa.array(here)
    if want is None:
        want = getattr(pc, name)(plain(x), **options)
    assert here.type == want.type and shown(here) == shown(want), (name, options, str(x)[:300])


def cases(kinds=LAYOUTS):
    return [pytest.param(p, w, id=f"{p}-{w}") for w in kinds for p in places("int64")]


each = pytest.mark.parametrize(("device", "word"), cases(), indirect=["device"])
each_text = pytest.mark.parametrize(("device", "word"), cases(TEXTS), indirect=["device"])


@each
def test_lengths_of_rows_in_every_layout(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls)):
            agree(device, x, "binary_length")
            if word in TEXTS:
                agree(device, x, "utf8_length")
                agree(device, x, "string_is_ascii")


PATTERNS = ["", "a", "ab", "aa", "abc", "é", "😀", "x" * 12, "ab" * 9, "1é😀"]


@each
def test_patterns_are_found_as_pyarrow_finds_them(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=1)):
            for pattern in PATTERNS:
                for name in ("starts_with", "ends_with", "match_substring", "find_substring", "count_substring"):
                    agree(device, x, name, pattern=pattern)


@each
def test_patterns_are_found_where_case_is_ignored(device, word):
    x = rows(word, seed=2)
    for pattern in ("", "A", "aB", "É", "s", "k", "ſ", "ω", "1É", "\\", "_"):
        for name in ("starts_with", "ends_with", "match_substring", "find_substring", "count_substring"):
            agree(device, x, name, pattern=pattern, ignore_case=True)


LIKES = [
    "",
    "%",
    "a%",
    "%a",
    "%a%",
    "_",
    "__",
    "a_",
    "%_a%",
    "%a_%b",
    "a\\%",
    "\\a",
    "%\\_%",
    "%é_",
    "%%a%%",
    "a%%b%",
    "%\\\\%",
    "a\\",
    "_%_",
]


@each
def test_match_like_is_pyarrows(device, word):
    x = rows(word, seed=3)
    for pattern in LIKES:
        for ignore_case in (False, True):
            agree(device, x, "match_like", pattern=pattern, ignore_case=ignore_case)


def like(text, pattern):
    """A second model of match_like: a regular expression of Python's."""
    out = ""
    parts = iter(pattern)
    for c in parts:
        c, wild = (next(parts, ""), None) if c == "\\" else (c, {"%": ".*", "_": "."}.get(c))
        out += wild or re.escape(c)
    return re.fullmatch(out, text, re.S) is not None


@everywhere
def test_match_like_is_a_regular_expression(device):
    rng = random.Random(5)
    some = words(200, 6, ["a", "b", "é", "%", "_"])
    x = cdevice.asarray(pa.array(some)).to(device)
    for _ in range(20):
        pattern = "".join(rng.choice(["a", "b", "%", "_", "\\%", "\\_", "é"]) for _ in range(rng.randrange(6)))
        assert cc.match_like(x, pattern).to("cpu").to_pylist() == [like(t, pattern) for t in some], pattern


CLASSES = ["alnum", "alpha", "decimal", "lower", "printable", "space", "title", "upper"]


@each_text
def test_classes_of_rows_are_pyarrows(device, word):
    pieces = [
        "",
        "a",
        "A",
        "b",
        "Ab",
        "1",
        " ",
        "é",
        "É",
        "ǅ",
        "\t",
        "\x1c",
        "½",
        "²",
        "\x7f",
        "€",
        "Ⅷ",
        "ⅷ",
        "\u0345",
        "-",
    ]
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=4, pieces=pieces)):
            for name in [
                *(f"utf8_is_{c}" for c in (*CLASSES, "digit", "numeric")),
                *(f"ascii_is_{c}" for c in CLASSES),
            ]:
                agree(device, x, name)


@everywhere
def test_python_has_the_same_classes(device):
    some = [w for w in words(300, 7) if "ǅ" not in w and "ß" not in w]
    x = cdevice.asarray(pa.array(some)).to(device)
    for name in ("alnum", "alpha", "decimal", "lower", "space", "title", "upper", "numeric"):
        got = getattr(cc, f"utf8_is_{name}")(x).to("cpu").to_pylist()
        assert got == [getattr(w, f"is{name}")() for w in some], name


NOT_UTF8 = [b"a\xffb", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80"]
NOT_UTF8 += [b"\x80abc", b"ab\xe2\x82", b"\xf0\x9f\x98", b"\xe2\x28\xa1", b"\xf5\x80\x80\x80"]


def not_checked(values, kind=None):
    """Strings of any bytes."""
    return pa.array(values, pa.binary()).view(kind or pa.string())


@everywhere
def test_a_row_that_is_not_utf8_is_told(device):
    for bad in NOT_UTF8:
        x = cdevice.asarray(not_checked([b"abc", None, "é".encode(), bad])).to(device)  # the last: nothing is behind it
        with pytest.raises(ArgumentError, match=r"utf8_is_alpha: row 3 is not valid UTF-8"):
            cc.utf8_is_alpha(x)
        assert cc.utf8_is_alpha(x[:3]).to("cpu").to_pylist() == [True, None, True]
        assert cc.utf8_length(x).to("cpu").to_pylist()[3] == sum(b & 0xC0 != 0x80 for b in bad)
        for ignore_case in (False, True):
            assert cc.match_substring(x, "zz", ignore_case=ignore_case).to("cpu").to_pylist() == [
                False,
                None,
                False,
                False,
            ]
            assert cc.match_like(x, "_%zz_", ignore_case=ignore_case).to("cpu").to_pylist() == [
                False,
                None,
                False,
                False,
            ]


@everywhere
def test_null_rows_may_have_any_bytes(device):
    full = not_checked([b"\xff\xfe", b"a", b"\xc3"])
    x = pa.Array.from_buffers(pa.string(), 3, [pa.array([False, True, False]).buffers()[1], *full.buffers()[1:]])
    assert cc.utf8_is_alpha(cdevice.asarray(x).to(device)).to("cpu").to_pylist() == [None, True, None]


# ---- every code point ----
EVERY = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cpu-base", "opencl-items"], indirect=True)
def test_every_code_point_has_pythons_classes_and_pyarrows_where_its_unicode_is_the_same(device):
    from unicode_versions import assigned, require_unicode_of_the_build, same_as_python

    require_unicode_of_the_build()
    there, x = cdevice.asarray(pa.array(EVERY)).to(device), pa.array(EVERY)
    for name in (*CLASSES, "digit", "numeric"):
        got = getattr(cc, f"utf8_is_{name}")(there).to("cpu").to_pylist()
        theirs = getattr(pc, f"utf8_is_{name}")(x).to_pylist()
        wrong = [c for c, a, b in zip(EVERY, got, theirs, strict=True) if a != b and assigned(c)]
        assert wrong == [], (name, wrong[:20])
        if name in same_as_python:
            wrong = [c for c, a in zip(EVERY, got, strict=True) if a != getattr(c, f"is{name}")()]
            assert wrong == [], (name, wrong[:20])


@pytest.mark.parametrize("device", ["cpu", "opencl-items"], indirect=True)
def test_letters_whose_case_is_ignored_are_pyarrows(device):
    """Each code point that has another case, against all of them."""
    some = sorted(
        {
            v
            for c in EVERY[:0x1F000]
            for v in (c.lower(), c.upper(), c.casefold(), c)
            if len(v) == 1 and (c.lower() != c or c.upper() != c)
        }
    )
    x, there = pa.array(some), cdevice.asarray(pa.array(some)).to(device)
    for c in random.Random(8).sample(some, 40) + [
        "k",
        "K",
        "s",
        "ſ",
        "ß",
        "ẞ",
        "İ",
        "ı",
        "i",
        "I",
        "µ",
        "Σ",
        "ς",
        "ǅ",
        "Ꭰ",
        "ꭰ",
    ]:
        want = pc.match_substring(x, c, ignore_case=True).to_pylist()
        assert cc.match_substring(there, c, ignore_case=True).to("cpu").to_pylist() == want, c


# ---- options and arguments ----
@everywhere
def test_options_come_as_pyarrow_has_them(device):
    x = cdevice.asarray(pa.array(['a", b', "A", None])).to(device)
    options = pc.MatchSubstringOptions('a", ', ignore_case=True)
    assert cc.match_substring(x, options=options).to("cpu").to_pylist() == [True, False, None]
    assert cc.starts_with(x, b"a").to("cpu").to_pylist() == [True, False, None]
    for wrong in (5, None, ["a"]):
        with pytest.raises(TypeError, match="pattern must be str or bytes"):
            cc.starts_with(x, wrong)
    with pytest.raises(TypeError, match="needs pattern="):
        cc.starts_with(x)
    with pytest.raises(ArgumentError, match="the pattern is not valid UTF-8"):
        cc.match_substring(x, b"\xff", ignore_case=True)
    assert cc.match_substring(x, b"\xff").to("cpu").to_pylist() == [False, False, None]


@everywhere
def test_a_function_of_pyarrow_alone_is_refused_by_name_on_devices(device):
    x = cdevice.asarray(pa.array(["ab"])).to(device)
    with pytest.raises((cc.NoKernel, cc.UnknownFunction), match="replace_substring_regex"):
        cc.call_function("replace_substring_regex", [x], pattern="a.", replacement="b")


def test_a_scalar_of_text_gives_a_scalar():
    assert cc.utf8_length("aé😀").as_py() == 3
    assert cc.starts_with(pa.scalar("abc"), "ab").as_py() is True
    assert cc.utf8_length([pa.array(["a"]), pa.array(["bc", None])]).to_pylist() == [1, 2, None]


def test_numbers_have_no_kernel():
    with pytest.raises(cc.NoKernel, match="utf8_length"):
        cc.utf8_length(cdevice.asarray([1, 2]))


# ---- rows of text ----
SLICES = [
    (0, 2, 1),
    (1, None, 1),
    (-3, None, 1),
    (-2, -1, 1),
    (2, 1, 1),
    (5, 99, 1),
    (-99, 3, 1),
    (0, -2, 1),
    (3, 2**62, 1),
]
STRIDES = [
    (0, None, 2),
    (1, -1, 3),
    (None, None, -1),
    (-1, None, -2),
    (4, 0, -1),
    (-2, -9, -1),
    (99, 1, -3),
    (0, 5, 2**62),
    (9, -99, -(2**63)),
]


@each_text
def test_slices_are_pythons(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=10)):
            for start, stop, step in SLICES + STRIDES:
                start = start if start is not None else 2**62
                want = [None if v is None else v[start:stop:step] for v in plain(x).to_pylist()]
                agree(
                    device, x, "utf8_slice_codeunits", pa.array(want, plain(x).type), start=start, stop=stop, step=step
                )


@pytest.mark.parametrize(
    ("device", "word"), cases(("binary", "large_binary", "binary_view", "fixed_size_binary")), indirect=["device"]
)
def test_slices_of_bytes_are_pythons(device, word):
    for x in slices(rows(word, seed=10)):
        for start, stop, step in SLICES + STRIDES:
            start = start if start is not None else 2**62
            want = [None if v is None else v[start:stop:step] for v in plain(x).to_pylist()]
            kind = plain(x).type
            if word == "fixed_size_binary":
                kind = pa.binary(len(b"abcdef"[start:stop:step]))
            agree(device, x, "binary_slice", pa.array(want, kind), start=start, stop=stop, step=step)
        agree(device, x, "binary_reverse", pa.array([v and v[::-1] for v in plain(x).to_pylist()], plain(x).type))


@each_text
def test_trimmed_rows_are_pyarrows(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=11)):
            for side in ("trim", "ltrim", "rtrim"):
                for characters in ("", "a", "abé", "😀a \t", "\u2028x"):
                    agree(device, x, f"utf8_{side}", characters=characters)
                agree(device, x, f"ascii_{side}", characters="ab ")
                agree(device, x, f"utf8_{side}_whitespace")
                agree(device, x, f"ascii_{side}_whitespace")


@each_text
def test_cases_and_reversed_rows_are_pyarrows(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=12)):
            for name in ("upper", "lower", "swapcase", "capitalize", "title"):
                agree(device, x, f"utf8_{name}")
                agree(device, x, f"ascii_{name}")
            agree(device, x, "utf8_reverse")
        ascii = rows(word, nulls=nulls, seed=13, pieces=["a", "Bc", " ", "1", "zZ"])
        for x in slices(ascii):
            for name in ("utf8_upper", "utf8_lower", "utf8_swapcase", "utf8_title", "ascii_reverse", "utf8_reverse"):
                agree(device, x, name)


@each
def test_padded_and_replaced_rows_are_pyarrows(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=14)):
            if word in TEXTS:
                for width in (0, 3, 7, 20):
                    for side in ("lpad", "rpad", "center"):
                        agree(device, x, f"utf8_{side}", width=width, padding="é")
                        agree(device, x, f"ascii_{side}", width=width, padding="*")
                    agree(device, x, "utf8_center", width=width, lean_left_on_odd_padding=False)
                    agree(device, x, "utf8_zero_fill", width=width)
                for start, stop in ((0, 1), (-2, -1), (1, 0), (2, 99), (-99, 99), (3, 3)):
                    agree(device, x, "utf8_replace_slice", start=start, stop=stop, replacement="é+")
            for start, stop in ((0, 1), (-2, -1), (1, 0), (2, 99)):
                if word not in TEXTS:
                    want = [None if v is None else replaced(v, start, stop, b"XY") for v in plain(x).to_pylist()]
                    agree(
                        device,
                        x,
                        "binary_replace_slice",
                        pa.array(want, plain(x).type),
                        start=start,
                        stop=stop,
                        replacement="XY",
                    )
            for pattern, by in (("a", ""), ("ab", "é"), ("aa", "aaa"), ("é", "x" * 20), ("x" * 30, "")):
                for most in (None, 0, 1, 2):
                    agree(device, x, "replace_substring", pattern=pattern, replacement=by, max_replacements=most)


@pytest.mark.parametrize("device", places("int64"), indirect=True)
def test_a_string_stays_utf8(device):
    """pyarrow moves the bytes and gives strings that its own validate() refuses."""
    x = cdevice.asarray(pa.array(["ab", None, "\u00dca", "\u00eax", "\u00e9"])).to(device)
    for call in (
        lambda: cc.binary_replace_slice(x, 0, 1, "-"),
        lambda: cc.ascii_reverse(x),
        lambda: cc.ascii_trim(x, "\u00e9"),
    ):
        with pytest.raises(ValueError, match="cast to binary, a character is cut: row [2-4] is not valid"):
            call()
    for name, call in (
        ("padding", lambda: cc.ascii_lpad(x, 5, b"\xff")),
        ("pattern", lambda: cc.replace_substring(x, b"\xc3", b"x")),
        ("pattern", lambda: cc.split_pattern(x, b"\xc3")),
        ("replacement", lambda: cc.utf8_replace_slice(x, 0, 1, b"\xff")),
        (
            "null_replacement",
            lambda: cc.binary_join_element_wise(x, "-", null_handling="replace", null_replacement=b"\xff"),
        ),
    ):
        with pytest.raises(ValueError, match=f"{name} is not valid UTF-8, the argument is strings"):
            call()
    assert pa.array(cc.binary_replace_slice(x, 0, 2, "-").to("cpu")).to_pylist() == ["-", None, "-a", "-x", "-"]
    assert pa.array(cc.ascii_trim(x[4:], "\u00e9").to("cpu")).to_pylist() == [""]
    assert pa.array(cc.ascii_reverse(x[:2]).to("cpu")).to_pylist() == ["ba", None]


def replaced(v, start, stop, by):
    begin, end, _ = slice(start, stop).indices(len(v))
    return v[:begin] + by + v[max(begin, end) :]


def parted(text, most, reverse):
    """What lies between runs of white space: pyarrow cuts a run at an end of the row into its characters."""
    spaces = [m.span() for m in re.finditer(r"\s+", text)]
    chosen = spaces if most is None else spaces[len(spaces) - min(most, len(spaces)) :] if reverse else spaces[:most]
    ends = [0, *(x for span in chosen for x in span), len(text)]
    return [text[i:j] for i, j in zip(ends[::2], ends[1::2], strict=True)]


@each
def test_parts_of_rows_are_pyarrows(device, word):
    for nulls in (0.2, 0):
        for x in slices(rows(word, nulls=nulls, seed=15)):
            for most in (None, 0, 1, 2):
                for reverse in (False, True):
                    options = {"max_splits": most, "reverse": reverse}
                    for pattern in ("a", "aa", "é", "x" * 30):
                        agree(device, x, "split_pattern", pattern=pattern, **options)
                    if word in TEXTS:
                        want = [v if v is None else parted(v, most, reverse) for v in plain(x).to_pylist()]
                        want = pa.array(want, pa.list_(plain(x).type))
                        agree(device, x, "utf8_split_whitespace", want, **options)
                        agree(device, x, "ascii_split_whitespace", **options)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cpu-base", "opencl-items"], indirect=True)
def test_every_code_point_has_pyarrows_cases_where_its_unicode_is_the_same(device):
    from unicode_versions import assigned, require_unicode_of_the_build

    require_unicode_of_the_build()
    x = pa.array([f"{c}a{c}" for c in EVERY])
    there = cdevice.asarray(x).to(device)
    for name in ("upper", "lower", "swapcase", "capitalize", "title"):
        got = getattr(cc, f"utf8_{name}")(there).to("cpu")
        got.validate("full")
        theirs = getattr(pc, f"utf8_{name}")(x).to_pylist()
        found = zip(EVERY, got.to_pylist(), theirs, strict=True)
        wrong = [(c, a, b) for c, a, b in found if a != b and assigned(c) and assigned(b[0])]
        assert wrong == [], (name, wrong[:20])


@everywhere
def test_functions_of_code_points_tell_the_row_that_is_not_utf8(device):
    calls = [
        lambda x: cc.utf8_upper(x),
        lambda x: cc.utf8_title(x),
        lambda x: cc.utf8_slice_codeunits(x, 0, 1),
        lambda x: cc.utf8_slice_codeunits(x, 0, None, 2),
        lambda x: cc.utf8_trim(x, "a"),
        lambda x: cc.utf8_ltrim_whitespace(x),
        lambda x: cc.utf8_replace_slice(x, 0, 1, "b"),
    ]
    for bad in NOT_UTF8[:4] + NOT_UTF8[-4:]:
        x = cdevice.asarray(not_checked([b"abc", None, "é".encode(), bad])).to(device)
        for call in calls:
            with pytest.raises(ArgumentError, match=r"row 3 is not valid UTF-8"):
                call(x)
        for call in (cc.utf8_reverse, lambda x: cc.utf8_lpad(x, 9), lambda x: cc.utf8_split_whitespace(x)):
            call(x).synchronize()  # these look at the first bytes of code points alone, and read no more than there is


@everywhere
def test_rows_of_text_are_refused_for_their_options(device):
    x = cdevice.asarray(pa.array(["a"])).to(device)
    for call in (lambda: cc.replace_substring(x, "", "b"), lambda: cc.split_pattern(x, "")):
        with pytest.raises(ArgumentError, match="the pattern must not be empty"):
            call()
    for padding in ("", "ab", "éé"):
        with pytest.raises(ArgumentError, match="utf8_lpad: padding must be one code point"):
            cc.utf8_lpad(x, 3, padding)
    with pytest.raises(ArgumentError, match="ascii_lpad: padding must be one byte"):
        cc.ascii_lpad(x, 3, "é")
    with pytest.raises(ValueError, match="step must not be 0"):
        cc.utf8_slice_codeunits(x, 0, 1, 0)
    with pytest.raises(TypeError, match="start must be an int"):
        cc.utf8_slice_codeunits(x, "0")
    with pytest.raises(ArgumentError, match="32-bit offsets can count; cast the argument to large_string"):
        cc.utf8_lpad(x, 1 << 32)
    rows = cdevice.asarray(pa.array(["abcd"] * 1000)).to(device)
    for call, n in ((lambda: cc.binary_repeat(x, 1 << 32), 1 << 32), (lambda: cc.binary_repeat(rows, 1 << 60), "")):
        words = f"binary_repeat: the result has {n}[0-9]* bytes, more than 32-bit offsets can count; cast the argument"
        with pytest.raises(ArgumentError, match=words):
            call()
    nothing = cdevice.asarray(pa.array(["", None, ""])).to(device)
    assert cc.binary_repeat(nothing, 1 << 40).to("cpu").to_pylist() == ["", None, ""]


def test_options_of_rows_of_text_come_as_pyarrow_has_them():
    x = pa.array(["a,b", " c ", None])
    y = cdevice.asarray(x)
    for name, options in (
        ("utf8_lpad", pc.PadOptions(5, ",")),
        ("utf8_slice_codeunits", pc.SliceOptions(1)),
        ("utf8_slice_codeunits", pc.SliceOptions(0, 2, 2)),
        ("utf8_trim", pc.TrimOptions('a"')),
        ("replace_substring", pc.ReplaceSubstringOptions(",", "=")),
        ("utf8_replace_slice", pc.ReplaceSliceOptions(0, 1, '"')),
        ("split_pattern", pc.SplitPatternOptions(",")),
        ("utf8_split_whitespace", pc.SplitOptions(max_splits=1)),
        ("utf8_zero_fill", pc.ZeroFillOptions(6)),
    ):
        assert getattr(cc, name)(y, options=options).to_pylist() == getattr(pc, name)(x, options=options).to_pylist()


@everywhere
def test_rows_over_many_tiles(device):
    """More rows than a tile has, with rows of several words of eight bytes, and without nulls."""
    some = words(20_000, 20)
    x = pa.array(some)
    there = cdevice.asarray(x).to(device)
    for name, options in (
        ("utf8_upper", {}),
        ("utf8_slice_codeunits", {"start": 1, "stop": 4}),
        ("utf8_trim_whitespace", {}),
        ("utf8_rpad", {"width": 9}),
        ("replace_substring", {"pattern": "a", "replacement": "xyz"}),
        ("utf8_reverse", {}),
        ("match_substring", {"pattern": "ab"}),
        ("utf8_length", {}),
        ("split_pattern", {"pattern": "b"}),
    ):
        got = pa.array(getattr(cc, name)(there, **options).to("cpu"))
        assert got.equals(getattr(pc, name)(x, **options)), name


# ---- joined rows ----
def joined(parts, between, how):
    """A second model of binary_join_element_wise; pyarrow leaves rows out where all is skipped."""
    if between is None or (how == "emit_null" and None in parts):
        return None
    return between.join("?" if p is None else p for p in parts if how == "replace" or p is not None)


def strings_of(n, seed, nulls=0.3):
    rng = random.Random(seed)
    return pa.array(
        [None if rng.random() < nulls else rng.choice(["", "a", "bc", "é", "x" * 20]) for _ in range(n)], pa.string()
    )


@everywhere
def test_joined_rows_are_the_models(device):
    for n in (0, 1, 70):
        columns = [strings_of(n + 2, k)[2:] for k in range(4)]
        there = [cdevice.asarray(c).to(device) for c in columns]
        for how in ("emit_null", "skip", "replace"):
            options = {"null_handling": how, "null_replacement": "?"}
            got = cc.binary_join_element_wise(*there, **options)
            want = [joined(row[:-1], row[-1], how) for row in zip(*(c.to_pylist() for c in columns), strict=True)]
            assert got.to("cpu").to_pylist() == want
            got = cc.binary_join_element_wise(there[0], "-", there[1], ", ", **options)
            want = [
                joined((a, "-", b), ", ", how)
                for a, b in zip(columns[0].to_pylist(), columns[1].to_pylist(), strict=True)
            ]
            assert got.to("cpu").to_pylist() == want


@everywhere
def test_one_scalar_may_be_a_part_and_the_separator(device):
    column = cdevice.asarray(["a", None, "b"]).to(device)
    one = cc.max(cdevice.asarray(["-", "+"]).to(device))
    assert cc.binary_join_element_wise(one, column, one).to("cpu").to_pylist() == ["--a", None, "--b"]


@everywhere
def test_joined_lists_and_repeated_rows_are_pyarrows(device):
    rng = random.Random(9)
    some = [None if rng.random() < 0.2 else [*strings_of(rng.randrange(4), k, 0.1).to_pylist()] for k in range(60)]
    between = strings_of(60, 1)
    for lists in (pa.array(some, pa.list_(pa.string())), pa.array(some, pa.large_list(pa.large_string()))):
        kind = lists.type.value_type
        there = cdevice.asarray(lists).to(device)
        for i in (0, 7, 60):
            want = pc.binary_join(lists[i:], pa.scalar("-", kind))
            got = pa.array(cc.binary_join(there[i:], "-").to("cpu"))
            assert got.cast(want.type).equals(want)
            want = pc.binary_join(lists[i:], between[i:].cast(kind))
            assert (
                pa.array(cc.binary_join(there[i:], cdevice.asarray(between).to(device)[i:]).to("cpu"))
                .cast(want.type)
                .equals(want)
            )
    x, times = strings_of(60, 2), pa.array([rng.choice([0, 1, 3, None]) for _ in range(60)])
    there, many = cdevice.asarray(x).to(device), cdevice.asarray(times).to(device)
    for i in (0, 7, 60):
        assert pa.array(cc.binary_repeat(there[i:], many[i:]).to("cpu")).equals(pc.binary_repeat(x[i:], times[i:]))
        assert pa.array(cc.binary_repeat(there[i:], 3).to("cpu")).equals(pc.binary_repeat(x[i:], 3))
        assert pa.array(cc.binary_repeat("ab", many[i:]).to("cpu")).equals(pc.binary_repeat("ab", times[i:]))
    with pytest.raises(ArgumentError, match="the number of repetitions must not be negative"):
        cc.binary_repeat(there, -1)
