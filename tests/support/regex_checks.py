"""Functions that take a regular expression, on every device, against pyarrow.compute and Python's re."""

import random
import re

import pytest
from compute_cases import OLDER_PYARROW
from everywhere import device, everywhere  # noqa: F401 - a fixture
from regex_patterns import LETTERS, as_bytes, drawn
from text_checks import LAYOUTS, agree, each, plain, rows, slices, words

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.compute.kernels.regex import nfa, syntax, tables  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

NAMES = [f"{word}_substring_regex" for word in ("match", "find", "count")]
PATTERNS = ["", "a", "^a", "b$", "^ab$", "a|b", "[ab]+$", "^[^a]", "(a|ab)(c|bcd)?", "a*?b", "\\bab\\b", "(?i)É.?", "."]
PATTERNS += ["(?m)^.*$", "a{2,3}", "x{9}", "[[:upper:]]\\B", "\\s|\\d", "é$|^😀", "(?:a?){3}b", "a$b", "\u2028"]


def names_as_in_pyarrow(text):
    """The functions whose values the pyarrow here has: before 26, it looks for places in text as if it was Latin-1."""
    return NAMES if not (OLDER_PYARROW and text) else [name for name in NAMES if not name.startswith("find")]


# ---- matches ----
@each
def test_regular_expressions_match_as_in_pyarrow_in_every_layout(device, word):
    names = names_as_in_pyarrow("binary" not in word)
    for x in slices(rows(word)):
        for pattern in PATTERNS:
            for name in names:
                agree(device, x, name, pattern=pattern)
    for pattern in ("^a", "é", "[s-t]", "k", "\\w\\W"):
        for name in names:
            agree(device, rows(word, nulls=0, seed=1), name, pattern=pattern, ignore_case=True)


def result(module, name, x, options):
    """As text; or "refused", or "no table"."""
    try:
        got = getattr(module, name)(x, **options)
    except (pa.ArrowInvalid, ArgumentError):
        return "refused"
    except cc.NoKernel:
        return "no table"
    return str(got if module is pc else pa.array(got.to("cpu")))


@everywhere
def test_drawn_regular_expressions_match_as_in_pyarrow(device):
    rng, left = random.Random(7), 0
    for k in range(400):
        pattern, ignore_case = drawn(rng, rng.choice((1, 2, 3, 4))), rng.random() < 0.2
        texts = ["".join(rng.choice(LETTERS) for _ in range(rng.choice((0, 1, 2, 3, 5, 9, 20)))) for _ in range(33)]
        x = pa.array(texts)
        if k % 4 == 0:
            pattern, x = as_bytes(pattern), pa.array([as_bytes(text) for text in texts])
        there = cdevice.asarray(x).to(device)
        for name in names_as_in_pyarrow(isinstance(pattern, str)):
            options = {"pattern": pattern, "ignore_case": ignore_case}
            if name.startswith("find") and pattern[:1] in ("?", b"?"):
                continue  # pyarrow puts it in parentheses: (?i) is something else
            got = result(cc, name, there, options)
            left += got == "no table"
            assert got in ("no table", result(pc, name, x, options)), (name, options)
    assert left < 20


def test_what_python_and_re2_agree_on_is_found_where_python_finds_it():
    texts = [text for text in words(300, 3) if not text.endswith("\n")]
    for pattern in ("a+b?", "[ab]{2}", "(?:ab|a)(?:b|$)", "^.b", "[^ab ]+", "a.*?b", "(?i:AB)", "(?s:a.)", "b\\Z"):
        of_re2 = pattern.replace("\\Z", "\\z")
        got = cc.find_substring_regex(texts, of_re2).to_pylist()
        found = [re.search(pattern, text) for text in texts]
        assert got == [-1 if m is None else len(m.string[: m.start()].encode()) for m in found], pattern
        assert cc.match_substring_regex(texts, of_re2).to_pylist() == [m is not None for m in found], pattern


@everywhere
def test_long_rows_and_rows_with_bytes_of_zero_are_searched_to_their_end(device):
    x = pa.array(["a" * 70_000 + "b", "a" * 70_000, "\0" * 300 + "ab\0", None, ""])
    for pattern in ("a+b", "b$", "\\x00ab", "[^a]$", "(a{3})+b", "\\bb"):
        for name in NAMES:
            agree(device, x, name, pattern=pattern)


def test_a_named_class_takes_the_characters_that_it_takes_in_pyarrow():
    x = pa.array([*map(chr, range(128)), "é", "٣", "\u2028"])
    posix = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
    classes = [f"[[:{sign}{name}:]]" for name in posix for sign in ("", "^")]
    for pattern in (*classes, "\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "[^\\s\\d]", "."):
        for ignore_case in (False, True):
            agree("cpu", x, "match_substring_regex", pattern=pattern, ignore_case=ignore_case)


# ---- case ----
@everywhere
def test_of_bytes_only_letters_of_ascii_have_a_case(device):
    x = pa.array([b"\xc9", b"\xe9", b"x\xc9", b"K", b"\xb5", b"\xff", b"\xdf"])
    for pattern in (b"\xe9", b"\xc9", b"k", b"\xb5", b"\xff", b"\xdf"):
        for name in ("starts_with", "ends_with", "match_substring", "find_substring", "count_substring", *NAMES):
            agree(device, x, name, pattern=pattern, ignore_case=True)
        for like in (pattern, b"%" + pattern, b"_" + pattern + b"%"):
            agree(device, x, "match_like", pattern=like, ignore_case=True)
        agree(device, x, "match_substring_regex", pattern=b"[" + pattern + b"-\xff]|z", ignore_case=True)


def test_a_set_of_characters_takes_those_that_differ_in_case_alone():
    x = pa.array(["k", "K", "\u212a", "ſ", "ß", "ẞ", "µ", "μ", "Σ", "ς", "ǅ", "İ", "ı", "Ꭰ", "ꭰ", "Å", "\u212b"])
    x = pa.concat_arrays(
        [x, pa.array(["\ufb05", "\ufb06", "\u0390", "\u1fd3", "\u03b0", "\u1fe3", "\u1f80", "\u1f88"])]
    )
    for c in x.to_pylist():
        for pattern in (f"[{c}]", f"[^{c}]", f"(?i){c}", f"{c}|\\d", f"[{c}-{c}]x|{c}"):
            agree("cpu", x, "match_substring_regex", pattern=pattern, ignore_case=True)
        agree("cpu", x, "match_substring", pattern=c, ignore_case=True)
    agree("cpu", x, "match_substring_regex", pattern="[\u1f00-\u1fff]", ignore_case=True)


# ---- patterns that are refused ----
@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "missing \\), at character 2"),
        ("a)b", "unexpected \\), at character 1"),
        ("[a", "missing \\]"),
        ("[b-a]", "a range whose end is before its beginning"),
        ("*a", "nothing to repeat"),
        ("a**", "a repetition of a repetition"),
        ("a{2,1}", "a repetition by a wrong number"),
        ("a{1001}", "a repetition by a wrong number"),
        ("\\", "a \\\\ at the end"),
        ("\\q", "an unknown escape"),
        ("(a)\\1", "a reference to a group"),
        ("\\x{110000}", "an escape above 10FFFF"),
        ("(?:a{500}){3}", "more than 1000 repetitions in repetitions"),
        ("\\pL(", "missing \\)"),
        ("\\p", "a class of Unicode's without a name"),
        ("(?P<\u20ac>a)", "a group with a wrong name"),
        ("\\x4", "a wrong number behind \\\\x"),
        ("[[:letter:]]", "an unknown class"),
        ("(?=a)", "a group of an unknown kind"),
        ("(?P<>a)", "a group without a name"),
        (b"\xff+", "not valid UTF-8"),
        (b"^a\xff", "not valid UTF-8"),
    ],
)
def test_a_pattern_that_is_no_regular_expression_is_refused_with_its_place(pattern, message):
    x = pa.array(["a"])
    with pytest.raises(pa.ArrowInvalid):
        pc.match_substring_regex(x, pattern)
    for name in NAMES:
        with pytest.raises(ArgumentError, match=f"{name}: pattern: {message}"):
            getattr(cc, name)(x, pattern)


WITHOUT_TABLE = ["\\pL+", "[\\p{Greek}]", "\\C\\C", "\\C*", "x|\\C?y", "(" * 150 + "a" + ")" * 150, "[ab]*a[ab]{14}"]


def test_patterns_without_a_table_are_left_to_pyarrow_on_the_cpu():
    x = pa.array(["aé1", "", None, "Ω"])
    for pattern in WITHOUT_TABLE:
        for name in names_as_in_pyarrow(True):
            assert getattr(cc, name)(x, pattern).to_pylist() == getattr(pc, name)(x, pattern).to_pylist()


def test_no_place_in_text_comes_from_a_pyarrow_that_reads_it_as_latin1(monkeypatch):
    class Older:
        def __getattr__(self, name):
            return getattr(pc, name)

        def find_substring_regex(self, *args, **options):
            return pa.scalar(-1, pa.int32())

    monkeypatch.setattr("cdevice.compute.providers.pyarrow._compute", Older)
    for x in (
        ["aé1", None],
        pa.chunked_array([["a"], ["é"]]),
        pa.array(["é"], "string_view"),
        pa.array(["é"], "large_string"),
    ):
        for pattern in WITHOUT_TABLE:
            with pytest.raises(cc.NoKernel, match="left to pyarrow 26 or newer, on the CPU"):
                cc.find_substring_regex(x, pattern)
    with pytest.raises(cc.NoKernel, match="pyarrow 26"):
        cc.find_substring_regex(["a"], "é*\\C")
    for x in (["b1", None], [None], [], [b"\xe9a"]):
        x = pa.array(x, pa.binary() if x[:1] == [b"\xe9a"] else pa.string())
        for pattern in WITHOUT_TABLE:
            assert cc.find_substring_regex(x, pattern).to_pylist() == pc.find_substring_regex(x, pattern).to_pylist()


def test_what_a_repetition_of_something_empty_matches_is_counted_by_pyarrow(monkeypatch):
    x = pa.array(["Saa", "ba", "aa", "baab", ""])
    patterns = ["(?:.*?)+a", "b?(?:|ab*)*", "()(?:|a+)*", "(?:(?:|a)*)+?", "(?:(?:a??)*)+?", "(a*)*b", "(?:a*|b)+"]
    for pattern in patterns:
        for name in NAMES:
            assert getattr(cc, name)(x, pattern).to_pylist() == getattr(pc, name)(x, pattern).to_pylist(), pattern
    monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
    for pattern in patterns:
        with pytest.raises(cc.NoKernel, match="a repetition without limit of something that may be empty"):
            cc.count_substring_regex(x, pattern)
        for name in NAMES[:2]:
            assert getattr(cc, name)(x, pattern).to_pylist() == getattr(pc, name)(x, pattern).to_pylist(), pattern


@everywhere
def test_patterns_without_a_table_are_refused_where_pyarrow_is_not(device):
    there = cdevice.asarray(["aé1", None]).to(device)
    for pattern in WITHOUT_TABLE:
        for name in NAMES:
            with pytest.raises(cc.NoKernel, match=f"{name}: pattern: .*: it is left to pyarrow.*, on the CPU"):
                getattr(cc, name)(there, pattern)


def test_a_pattern_with_too_many_states_is_refused_after_bounded_work():
    for pattern in (b"[ab]*a[ab]{20}c", b"(?:x[a-z]{0,30}y){0,30}z", b"(?:x[a-z]{0,30}y){30}z"):
        for what in ("match", "count", "find"):
            with pytest.raises(syntax.UnsupportedPattern, match="too (many|large)"):
                tables.tables_of(pattern, False, False, what)


def test_numbers_in_braces_that_re2_takes_for_characters_are_characters():
    x = pa.array(["a", "a{1,00}", "a{01}", "a{1000000000}", "a{,2}", "a{2,1000000000}", "aa"])
    for pattern in ("a{1,00}", "a{01}", "a{1000000000}", "a{,2}", "a{2,1000000000}", "a{0,01}$", "a{1,2}", "a{1,}"):
        for name in NAMES:
            agree("cpu", x, name, pattern=pattern)


def test_escapes_above_a_byte_are_refused_for_bytes():
    for pattern in (rb"\400", rb"\x{100}", rb"[a-\x{100}]", rb"[^\x{212a}]", rb"\x{000000000000000100}"):
        for name in NAMES:
            with pytest.raises(ArgumentError, match="an escape above FF"):
                getattr(cc, name)([b"a"], pattern)


# ---- parts ----
def test_ranges_of_code_points_become_the_bytes_of_utf8_and_no_others():
    rng = random.Random(5)
    edges = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0xFFFFF, 0x100000, 0x10FFFF]
    for _ in range(200):
        lo, hi = sorted(max(0, min(0x10FFFF, rng.choice(edges) + rng.choice((-1, 0, 1, 70)))) for _ in range(2))
        sequences = [*nfa.utf8_sequences(lo, hi)]
        for c in {*edges, lo, hi, *(rng.randrange(0x110000) for _ in range(20))} - {*range(0xD800, 0xE000)}:
            text = chr(c).encode()
            taken = [s for s in sequences if len(s) == len(text) and all(a <= x <= b for x, (a, b) in zip(text, s))]
            assert len(taken) == (lo <= c <= hi), (lo, hi, c)


def test_a_search_ends_where_no_match_can_come_any_more():
    made = tables.tables_of(b"^[a-z]+$", False, False, "match")
    start, digit = made.numbers[256], made.numbers[ord("1")]
    assert made.numbers[made.forward + start + digit] == 0  # row 0 of the table: the rest of the row is not read


@each
def test_characters_that_mean_themselves_are_found_as_the_functions_without_expressions_find_them(device, word):
    x = rows(word, seed=4)
    there = cdevice.asarray(x).to(device)
    for pattern in ("ab", "", "é", "1é😀"):
        for regex, name in ((pattern, "match_substring"), ("^" + pattern, "starts_with"), (pattern + "$", "ends_with")):
            want = getattr(pc, name)(plain(x), pattern).to_pylist()
            assert cc.match_substring_regex(there, regex).to("cpu").to_pylist() == want
    assert LAYOUTS[word] == x.type
