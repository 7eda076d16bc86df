"""Calls of functions of whole columns that chance draws: running totals, fills, runs, lists, order, sets, summaries,
groups and joins."""

import decimal

import pyarrow as pa
import regex_patterns
from columns import DECIMALS, INTEGERS, NUMBERS, SIZED, TEXTS, TIMES, WIDE, any_type, column

FLOATS = (pa.float32(), pa.float64())
ORDERED = [*SIZED, *TEXTS, *WIDE]
# what the devices must not agree on to the bit with pyarrow: sums of floats by another tree, and which zero is shown
NEAR = (
    "cumulative_sum",
    "cumulative_sum_checked",
    "cumulative_prod",
    "cumulative_prod_checked",
    "cumulative_min",
    "cumulative_max",
    "cumulative_mean",
    "variance",
    "stddev",
    "skew",
    "kurtosis",
    "quantile",
    "rank_quantile",
    "product",
    "mode",
    "list_mean",
    "list_min",
    "list_max",
)


def _order(rng):
    return rng.choice(("ascending", "descending"))


def _counted(rng):
    return {"skip_nulls": rng.random() < 0.7, "min_count": rng.choice((0, 0, 1, 5))}


def running(rng, n):
    name = rng.choice(("sum", "sum_checked", "prod", "prod_checked", "min", "max", "mean"))
    t = rng.choice(INTEGERS if name.startswith("prod") else [*INTEGERS, pa.float64()])  # products depend on the order
    if name == "mean" and t.bit_width == 64:  # whose sums in float64 depend on the order where they cancel
        t = pa.float64()
    options = {"skip_nulls": rng.random() < 0.5}
    if rng.random() < 0.3 and name != "mean":
        options["start"] = pa.scalar(rng.choice((0, 1, 3)), t)
    return f"cumulative_{name}", [column(rng, t, n)], options


def difference(rng, n):
    t = rng.choice([*NUMBERS, *DECIMALS, *TIMES, pa.decimal256(40, 3)])
    name = rng.choice(("pairwise_diff", "pairwise_diff_checked"))
    return name, [column(rng, t, n)], {"period": rng.choice((1, 2, -1, -3, 0, 40))}


def filled(rng, n):
    kind = rng.randrange(3)
    t = rng.choice([*SIZED, *TEXTS])
    if kind < 2:
        return ("fill_null_forward", "fill_null_backward")[kind], [column(rng, t, n)], {}
    mask = column(rng, pa.bool_(), n)
    wanted = sum(x is True for x in mask.to_pylist())
    return "replace_with_mask", [column(rng, t, n), mask, column(rng, t, wanted + rng.randrange(3))], {}


def runs(rng, n):
    t = rng.choice([*SIZED, *TEXTS])
    x = column(rng, t, n)
    picks = pa.array(sorted(rng.randrange(max(n, 1)) for _ in range(n)), pa.int64())
    return "run_end_encode", [x.take(picks) if n else x], {}


def lists(rng, n):
    t = rng.choice([*INTEGERS, *TEXTS, pa.float64(), pa.bool_()])
    t = rng.choice((pa.list_(t), pa.large_list(t), pa.list_(t, 3), pa.list_(pa.list_(t))))
    x = column(rng, t, n)
    name = rng.choice(("list_value_length", "list_flatten", "list_parent_indices", "list_slice", "list_element"))
    if name == "list_slice":
        start = rng.randrange(3)
        stop = rng.choice((None, start, start + 1, start + 4))
        return name, [x], {"start": start, "stop": stop, "step": rng.choice((1, 1, 2)), "return_fixed_size_list": False}
    return name, [x, *([pa.scalar(rng.choice((0, 0, 1)), pa.int32())] if name == "list_element" else [])], {}


WORDS = ("", "a", "ab", "aa", "é", "A", "\u20ac", " ")


def text(rng, n):
    """Functions of strings, whose options are words too."""
    t = rng.choice(TEXTS)
    is_text = t in (pa.string(), pa.large_string())
    x, word = column(rng, t, n), rng.choice(WORDS)
    names = ["starts_with", "ends_with", "match_substring", "find_substring", "count_substring", "match_like"]
    kinds = [(name, {"pattern": word, "ignore_case": rng.random() < 0.3}) for name in names]
    kinds += [
        ("binary_length", {}),
        ("binary_replace_slice", {"start": rng.randrange(3), "stop": 4, "replacement": word}),
    ]
    kinds += [("replace_substring", {"pattern": word or "b", "replacement": rng.choice(WORDS)})]
    kinds += [("split_pattern", {"pattern": word or "b", "max_splits": rng.choice((None, 0, 1))})]
    if rng.random() < 0.2:
        return _of_expressions(rng, is_text, t, n)
    if is_text:
        return rng.choice((_of_words, _of_letters))(rng, x, word)
    name, options = rng.choice(kinds)
    return name, [x], options


def _of_expressions(rng, is_text, t, n):
    """Functions of strings and a regular expression; find_ has it in parentheses in pyarrow, where (?i) is something else."""
    pattern = regex_patterns.drawn(rng, rng.randrange(4))
    rows = ["".join(rng.choice(regex_patterns.LETTERS) for _ in range(rng.choice((0, 1, 2, 5, 20)))) for _ in range(n)]
    words = ("match", "count") if pattern.startswith("?") else ("match", "count", "find")
    if not is_text:
        pattern, rows = regex_patterns.as_bytes(pattern), [regex_patterns.as_bytes(row) for row in rows]
    x = pa.array([None if rng.random() < 0.1 else row for row in rows], t)
    return f"{rng.choice(words)}_substring_regex", [x], {"pattern": pattern, "ignore_case": rng.random() < 0.2}


CLASSES = "alnum alpha decimal lower printable space title upper"
EDITS = "capitalize lower reverse swapcase title upper ltrim_whitespace rtrim_whitespace trim_whitespace"
EVERY_LETTER = [f"{k}_{w}" for k in ("utf8", "ascii") for w in (*(f"is_{c}" for c in CLASSES.split()), *EDITS.split())]
EVERY_LETTER += ["utf8_is_digit", "utf8_is_numeric", "utf8_length", "string_is_ascii"]


def _of_words(rng, x, word):
    """Functions of strings that take no options; those of ASCII get words of it, as pyarrow's give what is no UTF-8 else."""
    name = rng.choice(EVERY_LETTER)
    if name in ("ascii_reverse", "ascii_title", "ascii_capitalize", "ascii_swapcase", "ascii_is_title"):
        x = _ascii(x)
    return name, [x], {}


def _ascii(x):
    return pa.array([None if v is None else v.encode("ascii", "replace").decode() for v in x.to_pylist()], x.type)


def _of_letters(rng, x, word):
    """Functions of strings whose options are numbers or letters."""
    side, kind = rng.choice(("trim", "ltrim", "rtrim")), rng.choice(("utf8", "ascii"))
    pad = rng.choice(("lpad", "rpad", "center"))
    span = {"start": rng.randrange(-5, 5), "stop": rng.choice((None, 0, 3, -1)), "step": rng.choice((1, 1, 2, -1))}
    cut = {"start": rng.randrange(-4, 4), "stop": rng.randrange(-4, 6), "replacement": word}
    splits = {"max_splits": rng.choice((None, 0, 1)), "reverse": rng.random() < 0.3}
    name, options = rng.choice(
        (
            (f"utf8_{pad}", {"width": rng.randrange(9), "padding": "é"}),
            (f"ascii_{pad}", {"width": rng.randrange(9), "padding": "-"}),
            (f"{kind}_{side}", {"characters": word if kind == "utf8" else "ab "}),
            (f"{kind}_split_whitespace", splits),
            ("utf8_zero_fill", {"width": rng.randrange(9)}),
            ("utf8_slice_codeunits", span),
            ("utf8_replace_slice", cut),
        )
    )
    if name.startswith("ascii"):
        x = _ascii(x)
    return name, [x], options


def bytes_of(rng, n):
    """Functions of bytes, and those that join strings."""
    t = rng.choice(TEXTS)
    x = column(rng, t, n)
    name = rng.choice(("binary_reverse", "binary_slice", "binary_repeat", "binary_join", "binary_join_element_wise"))
    if name == "binary_reverse":
        return name, [column(rng, rng.choice(TEXTS[2:]), n)], {}
    if name == "binary_slice":
        options = {"start": rng.randrange(-5, 5), "stop": rng.choice((0, 2, 4, -1)), "step": rng.choice((1, 1, 2))}
        return name, [column(rng, rng.choice(TEXTS[2:]), n)], options
    if name == "binary_repeat":
        times = pa.array([None if rng.random() < 0.1 else rng.randrange(4) for _ in range(n)], pa.int64())
        return name, [x, rng.choice((times, pa.scalar(rng.randrange(3), pa.int64())))], {}
    separator = column(rng, t, 1)[0] if rng.random() < 0.5 else column(rng, t, n)
    if name == "binary_join":
        return name, [column(rng, pa.list_(t), n), separator], {}
    options = {"null_handling": rng.choice(("emit_null", "skip", "replace")), "null_replacement": "?"}
    return name, [*(column(rng, t, n) for _ in range(rng.choice((2, 3)))), separator], options


def ordered(rng, n):
    name = rng.choice(("rank_quantile", "select_k_unstable", "inverse_permutation", "scatter", "partition", "sort"))
    if name == "partition":  # the order of equal ones is open: all rows of one value
        return "indices_nonzero", [column(rng, rng.choice([*NUMBERS, pa.bool_()]), n)], {}
    if name == "sort":
        keys = [("", _order(rng))]
        return "sort_indices", [column(rng, rng.choice(ORDERED), n)], {"sort_keys": keys}
    if name in ("inverse_permutation", "scatter"):
        indices = pa.array(rng.sample(range(n + 3), n), rng.choice((pa.int32(), pa.int64())))
        mask = pa.array([rng.random() < 0.1 for _ in range(n)], pa.bool_())
        indices = pa.array([None if m else i for i, m in zip(indices.to_pylist(), mask.to_pylist())], indices.type)
        options = {"max_index": n + 3}
        return name, [*([column(rng, any_type(rng), n)] if name == "scatter" else []), indices], options
    t = rng.choice(ORDERED)
    if name == "rank_quantile":
        return (
            name,
            [column(rng, t, n)],
            {"sort_keys": _order(rng), "null_placement": rng.choice(("at_end", "at_start"))},
        )
    n = rng.choice((n, n, 20_000))
    return name, [column(rng, t, n)], {"k": rng.choice((0, 1, 2, 7, n)), "sort_keys": [("", _order(rng))]}


def sets(rng, n):
    name = rng.choice(("is_in", "index_in", "index", "mode", "count_distinct"))
    t = rng.choice(ORDERED)
    x = column(rng, t, n)
    if name == "count_distinct" and t != pa.float16():  # of which pyarrow 26 finds fewer than its unique
        return name, [x], {"mode": rng.choice(("only_valid", "only_null", "all"))}
    if name in ("mode", "count_distinct"):
        name = "mode"
        t = rng.choice([*NUMBERS, pa.bool_(), *DECIMALS, *WIDE])
        return name, [column(rng, t, n)], {"n": rng.choice((1, 2, 100)), **_counted(rng)}
    if name == "index":
        return name, [x], {"value": x[rng.randrange(n)] if n and rng.random() < 0.8 else column(rng, t, 1)[0]}
    some = pa.concat_arrays([column(rng, t, rng.choice((0, 3, 40))), x[: rng.randrange(n + 1)]])
    return name, [x], {"value_set": some, "skip_nulls": rng.random() < 0.3}


def summaries(rng, n):
    name = rng.choice(("variance", "stddev", "skew", "kurtosis", "quantile", "product", "first", "last", "first_last"))
    options = _counted(rng)
    if name in ("first", "last", "first_last"):
        return name, [column(rng, rng.choice([*NUMBERS, *TIMES, *TEXTS, pa.bool_()]), n)], options
    if name == "product":
        return (
            name,
            [column(rng, rng.choice([*INTEGERS, pa.bool_(), pa.null(), pa.decimal128(12, 3), *WIDE]), n)],
            options,
        )
    if name == "quantile":
        how = rng.choice(("linear", "lower", "higher", "nearest", "midpoint"))
        q = [rng.choice((0, 0.5, 1, rng.random())) for _ in range(rng.choice((1, 3)))]
        return (
            name,
            [column(rng, rng.choice([*NUMBERS, *DECIMALS, *WIDE]), n)],
            {"q": q, "interpolation": how, **options},
        )
    options |= {"ddof": rng.choice((0, 1, 3))} if name in ("variance", "stddev") else {"biased": rng.random() < 0.5}
    return name, [column(rng, rng.choice((pa.int8(), pa.int32(), pa.uint16(), *FLOATS)), n)], options


DATED = [
    pa.date32(),
    pa.date64(),
    *(pa.timestamp(u) for u in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "+05:30"),
]
CLOCKED = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), *DATED[2:]]
OF_DATES = "year month day quarter day_of_year iso_year iso_week us_year us_week is_leap_year".split()
OF_CLOCKS = "hour minute second millisecond microsecond nanosecond subsecond".split()
UNITS = "year quarter month week day hour minute second millisecond microsecond nanosecond".split()
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


_PLAIN, _ZONED = (-70_000, 80_000), (-12_000, 24_000)  # days


def moments(rng, t, n):
    """Times of four centuries; nulls and offsets as columns have them.  Of a zone 1937 to 2035: pyarrow 26 has no summers
    after 2037, and no seconds of older offsets."""
    per = 1 if pa.types.is_date32(t) else 86400 * PER_SECOND[getattr(t, "unit", "ms")]
    days, ticks = not pa.types.is_time(t), not pa.types.is_date(t)
    made = [
        None
        if v is None
        else days * rng.randrange(*(_ZONED if getattr(t, "tz", None) else _PLAIN)) * per + ticks * rng.randrange(per)
        for v in column(rng, pa.int32(), n).to_pylist()
    ]
    return pa.array(made, pa.int32() if t.bit_width == 32 else pa.int64()).view(t)


def times(rng, n):
    kind = rng.randrange(8)
    if kind == 6:
        zone = rng.choice((None, "UTC", "Europe/Berlin", "America/St_Johns", "+05:30", "Asia/Kathmandu"))
        unit = rng.choice(("s", "ms", "us", "ns"))
        x = moments(rng, pa.timestamp(unit, zone or "UTC"), n)
        if zone is None:
            x = x.cast(pa.timestamp(unit))
            options = {"timezone": rng.choice(("UTC", "Europe/Berlin", "Africa/Casablanca"))}
            options |= {
                "ambiguous": rng.choice(("earliest", "latest")),
                "nonexistent": rng.choice(("earliest", "latest")),
            }
            return "assume_timezone", [x], options
        return rng.choice(("local_timestamp", "is_dst", *OF_DATES, *OF_CLOCKS)), [x], {}
    if kind == 7:
        name = rng.choice(("iso_calendar", "year_month_day", "month_day_nano_interval_between"))
        t = rng.choice(DATED[:-1])
        return name, [moments(rng, t, n), *([moments(rng, t, n)] if name.endswith("between") else [])], {}
    if kind == 0:
        return rng.choice(OF_DATES), [moments(rng, rng.choice(DATED), n)], {}
    if kind == 1:
        return rng.choice(OF_CLOCKS), [moments(rng, rng.choice(CLOCKED), n)], {}
    if kind == 2:
        options = {"week_starts_monday": rng.random() < 0.5, "count_from_zero": rng.random() < 0.5}
        options["first_week_is_fully_in_year"] = rng.random() < 0.5
        return "week", [moments(rng, rng.choice(DATED), n)], options
    if kind == 3:
        options = {"week_start": rng.randrange(1, 8), "count_from_zero": rng.random() < 0.5}
        return "day_of_week", [moments(rng, rng.choice(DATED), n)], options
    if kind == 4:
        t = rng.choice([t for t in DATED if getattr(t, "tz", None) is None])
        name = rng.choice(
            (
                "years",
                "quarters",
                "weeks",
                "days",
                "hours",
                "minutes",
                "seconds",
                "milliseconds",
                "microseconds",
                "nanoseconds",
            )
        )
        return f"{name}_between", [moments(rng, t, n), moments(rng, t, n)], {}
    options = {"multiple": rng.choice((1, 1, 2, 7, 45)), "unit": rng.choice(UNITS)}
    options |= {"week_starts_monday": rng.random() < 0.5, "ceil_is_strictly_greater": rng.random() < 0.5}
    options["calendar_based_origin"] = rng.random() < 0.3
    if options["unit"] in UNITS[8:]:  # of dates pyarrow's overflow
        options["multiple"] = 1
    t = rng.choice([t for t in DATED if getattr(t, "tz", None) is None])
    return rng.choice(("floor", "ceil", "round")) + "_temporal", [moments(rng, t, n)], options


ODD = (
    "",
    "0",
    "-0",
    "+1",
    "1.5",
    ".5",
    "1e3",
    "1e-7",
    "0x1f",
    "nan",
    "-Inf",
    "true",
    "1 ",
    "x",
    "9" * 17,
    "2024-02-29",
)
ODD += ("2024-02-29T12:30", "2024-02-29 12:30:01Z", "1.50", "12345.675", "0.1" + "0" * 30, "123456789012345678901", "é")


def text_casts(rng, n):
    """Numbers and times that become text, or text that may be some; each row may be another's text."""
    t = rng.choice([x for x in (*SIZED, *WIDE) if x != pa.binary(5)])
    x = column(rng, t, n)
    if rng.random() < 0.5:
        return "cast", [x], {"target_type": rng.choice((pa.string(), pa.string(), pa.large_string())), "safe": True}
    words = x.cast(pa.string()).to_pylist()
    words = [rng.choice(ODD) if rng.random() < 0.01 else w for w in words]
    if rng.random() < 0.2 and t not in DECIMALS + WIDE:  # whose digits pyarrow counts in other ways
        t = rng.choice([y for y in SIZED if y != pa.binary(5) and not pa.types.is_decimal(y)])
    if pa.types.is_time(t) or pa.types.is_duration(t):  # which pyarrow does not read
        t = pa.timestamp("ns")
    kind = rng.choice((pa.string(), pa.large_string()))
    return "cast", [pa.array(words, kind)], {"target_type": t, "safe": True}


def formats(rng, n):
    """Times by a format, and such text as times; some rows do not fit."""
    fields = rng.choice(("%Y-%m-%d %H:%M:%S", "%FT%T", "%d/%m/%Y", "%Y%m%d", "%j %Y", "%H:%M", "%m %y"))
    t = rng.choice([t for t in (*TIMES, pa.timestamp("s")) if not pa.types.is_duration(t)])
    x = column(rng, t, n)
    if rng.random() < 0.4:
        return "strftime", [x], {"format": fields}
    x = column(rng, pa.timestamp("s"), n)
    words = [w if rng.random() < 0.95 else rng.choice(ODD) for w in x.cast(pa.string()).to_pylist()]
    options = {"format": fields, "unit": rng.choice(("s", "ms", "us", "ns")), "error_is_null": rng.random() < 0.7}
    return "strptime", [pa.array(words, rng.choice((pa.string(), pa.large_string())))], options


REALS = "floor ceil trunc sign is_finite is_inf exp expm1 ln log2 log10 log1p sqrt sin cos tan asin acos atan sinh"
REALS += " cosh tanh asinh acosh atanh atan cbrt"
CHECKED = "ln log2 log10 log1p sqrt sin cos tan asin acos acosh atanh"
INEXACT = frozenset(REALS.split()[6:]) | {"power", "logb", "atan2", "hypot"}
INEXACT |= {f"{name}_checked" for name in (*CHECKED.split(), "logb", "power")}
MODES = "down up towards_zero towards_infinity half_down half_up half_towards_zero half_towards_infinity half_to_even"
MODES = [*MODES.split(), "half_to_odd"]
UNSIGNED = [pa.uint8(), pa.uint32(), pa.uint64()]
ROUNDED = [pa.decimal128(12, 2), pa.decimal256(40, 2)]


NEAR = (*NEAR, *sorted(INEXACT))


def numbers(rng, n):
    kind, floats = rng.randrange(8), [pa.float32(), pa.float64()]
    if kind == 6:
        few = [None if rng.random() < 0.1 else rng.uniform(0.01, 0.99) for _ in range(n)]
        name, odd = rng.choice(CHECKED.split()), rng.random() < 0.2
        if name == "acosh":
            few = [None if v is None else v + 1 for v in few]
        t = rng.choice(floats)
        x = column(rng, t, n) if odd else pa.array(few, t)
        if rng.random() < 0.1:
            return "logb_checked", [x, pa.array([None if v is None else abs(v) + 2 for v in few], t)], {}
        return f"{name}_checked", [x], {}
    if kind == 7:
        return _of_digits(rng, n)
    if kind == 0:
        return rng.choice(REALS.split()), [column(rng, rng.choice(floats), n)], {}
    if kind == 1:
        t = rng.choice(floats)
        name = rng.choice(("power", "logb", "atan2", "hypot", "modulo", "remainder"))
        return name, [column(rng, t, n), column(rng, t, n)], {}
    if kind == 2:
        t, mode = rng.choice([*floats, *INTEGERS, *ROUNDED]), rng.choice(MODES)
        if t in ROUNDED:  # pyarrow gives some below 0 that have more digits than the type
            mode = "towards_zero"
        if rng.random() < 0.5:
            return "round", [column(rng, t, n)], {"ndigits": rng.choice((0, 0, 1, -1, 3)), "round_mode": mode}
        multiple = decimal.Decimal(rng.choice((1, 2, 7))) if t in ROUNDED else rng.choice((1, 2, 7))
        return "round_to_multiple", [column(rng, t, n)], {"multiple": multiple, "round_mode": mode}
    if kind == 3:
        if rng.random() < 0.1:
            return "bit_wise_not", [column(rng, rng.choice(INTEGERS), n)], {}
        names = (
            "shift_right_checked",
            "remainder_checked",
            "bit_wise_and",
            "bit_wise_or",
            "bit_wise_xor",
            "shift_left",
            "shift_right",
            "power",
            "modulo",
        )
        name = rng.choice((*names, "remainder", "modulo_checked", "power_checked", "shift_left_checked"))
        t = rng.choice(UNSIGNED if name.startswith("power") else INTEGERS)  # pyarrow looks at powers of nulls
        return name, [column(rng, t, n), column(rng, t, n)], {}
    if kind == 4:
        t = rng.choice([*floats, *INTEGERS, *ROUNDED, pa.date32(), pa.string(), pa.large_binary()])
        name = rng.choice(("min_element_wise", "max_element_wise"))
        return name, [column(rng, t, n) for _ in range(rng.choice((1, 2, 3)))], {"skip_nulls": rng.random() < 0.5}
    name = rng.choice(("and_not", "and_not_kleene"))
    return name, [column(rng, pa.bool_(), n), column(rng, pa.bool_(), n)], {}


def _of_digits(rng, n):
    """Numbers rounded to as many digits as a column says."""
    name = rng.choice(("round_binary", "true_unless_null", "run_end_decode", "dictionary_decode"))
    if name == "round_binary":
        digits = pa.array([None if rng.random() < 0.1 else rng.randrange(-2, 4) for _ in range(n)], pa.int32())
        t = rng.choice([pa.float32(), pa.float64(), *INTEGERS])
        return name, [column(rng, t, n), digits], {"round_mode": rng.choice(MODES)}
    if name == "true_unless_null":
        return name, [column(rng, any_type(rng), n)], {}
    if name == "run_end_decode":
        t = pa.run_end_encoded(rng.choice((pa.int16(), pa.int32(), pa.int64())), rng.choice([*SIZED, *TEXTS]))
    else:
        t = pa.dictionary(rng.choice((pa.int8(), pa.int32())), rng.choice([*NUMBERS, *TEXTS]))
    return name, [column(rng, t, n)], {}


FAMILIES = (numbers, numbers, numbers, text, text, bytes_of, text_casts, formats, times)
FAMILIES += (running, difference, filled, runs, lists, ordered, sets, summaries)


def drawn(rng, n):
    """(name, arguments, options)"""
    return rng.choice(FAMILIES)(rng, n)


# ---- groups and joins: calls with batches ----
KEYS = [pa.int8(), pa.int64(), pa.string(), pa.bool_(), pa.float64(), pa.date32(), pa.decimal128(5, 0), *DECIMALS[4:]]
TOTALS = ("sum", "min", "max", "count", "mean", "count_distinct", "product", "first", "last")
JOINS = ("left semi", "right semi", "left anti", "right anti", "inner", "left outer", "right outer", "full outer")


def _few(rng, t, n):
    some = column(rng, t, 6)
    return some.take(pa.array([rng.randrange(6) for _ in range(n)], pa.int64()))


def batch(rng, types, n, value, t=None):
    """Keys of few values, and a column of integers, or of another type."""
    columns = {f"k{i}": _few(rng, t, n) for i, t in enumerate(types)}
    return pa.record_batch({**columns, value: column(rng, t or pa.int32(), n)})


def groups(rng, n):
    """(batch, keys, aggregations)"""
    types = [rng.choice(KEYS) for _ in range(rng.choice((1, 1, 2, 3)))]
    t, total = None, rng.choice(TOTALS)
    if rng.random() < 0.4:
        t, total = rng.choice(DECIMALS), rng.choice([x for x in TOTALS if x not in ("product", "first", "last")])
    elif rng.random() < 0.2:
        t, total = rng.choice(INTEGERS), rng.choice(("sum", "min", "max"))
    return (
        batch(rng, types, n, "x", t),
        [f"k{i}" for i in range(len(types))],
        [("x", total), ([], "count_all")],
    )


def joined(rng, n):
    """(left, right, keys, type of join)"""
    types = [rng.choice([t for t in KEYS if t != pa.float64()]) for _ in range(rng.choice((1, 1, 2)))]
    m = rng.choice((0, 1, n, 40))
    return batch(rng, types, n, "x"), batch(rng, types, m, "y"), [f"k{i}" for i in range(len(types))], rng.choice(JOINS)
