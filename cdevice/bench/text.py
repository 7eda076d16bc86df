"""Functions of strings beside pyarrow's and polars', on the CPU with one thread."""

from __future__ import annotations

from . import one_thread
from .one_thread import beside, on_opencl
from .timing import pairs as in_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .one_thread import Pairs

# the least ratio of pyarrow's time to cdevice's; None: no promise
PYARROW: dict[str, float | None] = {
    "binary_length": 3.0,
    "utf8_length": 3.0,
    "utf8_length, not ASCII": None,
    "starts_with": 1.5,
    "match_substring": 1.5,
    "find_substring": None,
    "count_substring": None,
    "match_substring_regex": 1.5,
    "find_substring_regex": 1.5,
    "count_substring_regex": 1.5,
    "string_is_ascii": None,
    "utf8_is_alpha": None,
    "utf8_upper": 3.0,
    "utf8_upper, not ASCII": None,
    "utf8_slice_codeunits": 3.0,
    "utf8_trim_whitespace": None,
    "utf8_reverse": None,
    "utf8_lpad": None,
    "replace_substring": None,
}


def column(rows: int, letters: str) -> Any:
    """Words of 2 to 21 of the letters."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(7)
    words = ["".join(rng.choice(list(letters), rng.integers(2, 22))) for _ in range(5000)]
    return pa.array(words).take(pa.array(rng.integers(0, len(words), rows)))


def calls(x: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The rows of the table, for a library with Arrow's names."""
    ascii, other = x["ascii"], x["other"]
    return {
        "binary_length": lambda: lib.binary_length(ascii),
        "utf8_length": lambda: lib.utf8_length(ascii),
        "utf8_length, not ASCII": lambda: lib.utf8_length(other),
        "starts_with": lambda: lib.starts_with(ascii, pattern="ab"),
        "match_substring": lambda: lib.match_substring(ascii, pattern="abc"),
        "find_substring": lambda: lib.find_substring(ascii, pattern="abc"),
        "count_substring": lambda: lib.count_substring(ascii, pattern="ab"),
        "match_substring_regex": lambda: lib.match_substring_regex(ascii, pattern="[xyz]+a|b.$"),
        "find_substring_regex": lambda: lib.find_substring_regex(ascii, pattern="[xyz]+a|b.$"),
        "count_substring_regex": lambda: lib.count_substring_regex(ascii, pattern="[aeiou]+"),
        "string_is_ascii": lambda: lib.string_is_ascii(ascii),
        "utf8_is_alpha": lambda: lib.utf8_is_alpha(ascii),
        "utf8_upper": lambda: lib.utf8_upper(ascii),
        "utf8_upper, not ASCII": lambda: lib.utf8_upper(other),
        "utf8_slice_codeunits": lambda: lib.utf8_slice_codeunits(ascii, 1, 5),
        "utf8_trim_whitespace": lambda: lib.utf8_trim_whitespace(ascii),
        "utf8_reverse": lambda: lib.utf8_reverse(ascii),
        "utf8_lpad": lambda: lib.utf8_lpad(ascii, 16),
        "replace_substring": lambda: lib.replace_substring(ascii, "a", "xy"),
    }


def _polars(x: dict[str, Any]) -> dict[str, Any]:
    """Calls of polars by name; empty without it."""
    try:
        import polars as pl
    except ImportError:
        return {}
    ascii: Any = pl.from_arrow(x["ascii"])
    other: Any = pl.from_arrow(x["other"])
    return {
        "binary_length": ascii.str.len_bytes,
        "utf8_length": ascii.str.len_chars,
        "utf8_length, not ASCII": other.str.len_chars,
        "starts_with": lambda: ascii.str.starts_with("ab"),
        "match_substring": lambda: ascii.str.contains("abc", literal=True),
        "find_substring": lambda: ascii.str.find("abc", literal=True),
        "count_substring": lambda: ascii.str.count_matches("ab", literal=True),
        "match_substring_regex": lambda: ascii.str.contains("[xyz]+a|b.$"),
        "find_substring_regex": lambda: ascii.str.find("[xyz]+a|b.$"),
        "count_substring_regex": lambda: ascii.str.count_matches("[aeiou]+"),
        "utf8_upper": ascii.str.to_uppercase,
        "utf8_upper, not ASCII": other.str.to_uppercase,
        "utf8_slice_codeunits": lambda: ascii.str.slice(1, 4),
        "utf8_trim_whitespace": ascii.str.strip_chars,
        "utf8_reverse": ascii.str.reverse,
        "utf8_lpad": lambda: ascii.str.pad_start(16),
        "replace_substring": lambda: ascii.str.replace_all("a", "xy", literal=True),
    }


def rows(n: int, pairs: Pairs) -> list[tuple[Any, ...]]:
    """The rows of the table: (device, function, their ms, ms, ratio, target)."""
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    x = {"ascii": column(n, "abcdefghijklmnopqrstuvwxyzABC "), "other": column(n, "abcdefgéßüñ€漢字ABC ")}
    here = {k: cdevice.asarray(v) for k, v in x.items()}
    targets = {name: (least, 1.0) for name, least in PYARROW.items()}  # polars must not be faster
    there = on_opencl(x)
    opencl = calls(there, cc) if there else None
    return beside(calls(here, cc), calls(x, pc), _polars(x), targets, pairs, 3, opencl)


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"text": rows}."""
    return one_thread.section("text", rows, in_turns, options)
