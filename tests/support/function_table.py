"""The table of functions, types and libraries in docs/compute.rst, from calls of four rows of each type.

python tests/support/function_table.py        writes it into the page
"""

import os
import pathlib
import sys
import textwrap

import pyarrow as pa

import cdevice
import cdevice.compute as cc
from cdevice.compute.dispatch.registry import Function
from cdevice.compute.providers import pyarrow

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "compute.rst"
BEGIN, END = ".. The table: python tests/support/function_table.py\n", "\n.. The end of the table.\n"
REFUSED = (cdevice.Error, ValueError, TypeError, LookupError)

SIGNED = [getattr(pa, f"int{n}")() for n in (8, 16, 32, 64)]
UNSIGNED = [getattr(pa, f"uint{n}")() for n in (8, 16, 32, 64)]
WORDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
# the head of a column: its types, of which all must be done
TYPES = {
    "bool": [pa.bool_()],
    "int": SIGNED,
    "uint": UNSIGNED,
    "float": [pa.float32(), pa.float64()],
    "half": [pa.float16()],
    "dec": [pa.decimal32(5, 1), pa.decimal64(10, 1), pa.decimal128(15, 1)],
    "dec256": [pa.decimal256(30, 1)],
    "date": [pa.date32(), pa.date64()],
    "time": [pa.time32("s"), pa.time64("us")],
    "stamp": [pa.timestamp("s"), pa.timestamp("us", "UTC")],
    "dur": [pa.duration("ms")],
    "text": WORDS[:2],
    "view": [pa.string_view()],
    "bytes": [*WORDS[2:], pa.binary_view()],
    "fixed": [pa.binary(2)],
    "dict": [pa.dictionary(pa.int8(), pa.int64())],
    "runs": [pa.run_end_encoded(pa.int32(), pa.int64())],
    "list": [pa.list_(pa.int32()), pa.large_list(pa.int32())],
    "vector": [pa.list_(pa.int32(), 2)],
    "struct": [pa.struct([("a", pa.int32())])],
    "map": [pa.map_(pa.string(), pa.int32())],
    "null": [pa.null()],
}


def rows(t):
    """Four rows, one of them null."""
    if pa.types.is_null(t):
        return pa.nulls(4)
    if pa.types.is_dictionary(t):
        return pa.array([1, 2, None, 1]).dictionary_encode().cast(t)
    if pa.types.is_run_end_encoded(t):
        return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), pa.array([1, 2, None, 1]))
    if pa.types.is_boolean(t):
        return pa.array([True, False, None, True])
    if pa.types.is_struct(t):
        return pa.array([{"a": 1}, {"a": 2}, None, {"a": 1}], t)
    if pa.types.is_map(t):
        return pa.array([[("a", 1)], [("b", 2)], None, [("a", 1)]], t)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return pa.array([[1, 2], [3, 4], None, [1, 2]], t)
    if t in WORDS or pa.types.is_binary_view(t) or pa.types.is_string_view(t) or pa.types.is_fixed_size_binary(t):
        return pa.array([b"aa", b"bb", None, b"aa"], pa.binary()).cast(t)
    if pa.types.is_date64(t):
        return pa.array([86_400_000, 172_800_000, None, 86_400_000]).cast(t)
    if pa.types.is_temporal(t):
        return pa.array([1, 2, None, 1], pa.int32() if t.bit_width == 32 else pa.int64()).cast(t)
    return pa.array([1, 2, None, 1], t)


def _decoded(t):
    encoded = pa.types.is_dictionary(t) or pa.types.is_run_end_encoded(t)
    return t.value_type if encoded else t


MASK = pa.array([True, False, True, True])
FIRST = pa.array([0, 1, 2, 3])
TWO_MASKS = pa.StructArray.from_arrays([MASK, MASK], ["a", "b"])
ZERO_OR_ONE = pa.array([0, 1, 1, 0])
# what is called with more than rows of the type, or with options: the arguments and the options
CALLS = {
    "assume_timezone": lambda x: ([x], {"timezone": "UTC"}),
    "strptime": lambda x: ([x], {"format": "aa", "unit": "s", "error_is_null": True}),
    "array_sort_indices": lambda x: ([x], {}),
    "cast": lambda x: ([x], {"target_type": _decoded(x.type)}),
    "case_when": lambda x: ([TWO_MASKS, x, x], {}),
    "choose": lambda x: ([ZERO_OR_ONE, x, x], {}),
    "coalesce": lambda x: ([x, x], {}),
    "fill_null": lambda x: ([x, x[0]], {}),
    "filter": lambda x: ([x, MASK], {}),
    "if_else": lambda x: ([MASK, x, x], {}),
    "index": lambda x: ([x], {"value": x[0]}),
    "index_in": lambda x: ([x], {"value_set": x}),
    "is_in": lambda x: ([x], {"value_set": x}),
    "list_element": lambda x: ([x, pa.scalar(0)], {}),
    "make_struct": lambda x: ([x, x], {}),
    "map_lookup": lambda x: ([x], {"query_key": "a", "occurrence": "first"}),
    "struct_field": lambda x: ([x], {"indices": 0}),
    "reshape": lambda x: ([x], {"shape": -1}),
    "list_slice": lambda x: ([x], {"start": 0, "stop": 1, "return_fixed_size_list": False}),
    "partition_nth_indices": lambda x: ([x], {"pivot": 2}),
    "replace_with_mask": lambda x: ([x, MASK, x], {}),
    "scatter": lambda x: ([x, FIRST], {}),
    "select_k_unstable": lambda x: ([x], {"k": 2, "sort_keys": [("", "ascending")]}),
    "sort_by": lambda x: ([x], {"sort_keys": [("", "ascending")]}),
    "take": lambda x: ([x, FIRST], {}),
    "inverse_permutation": lambda x: ([x], {"max_index": 9}),
    "divide": lambda x: ([x, pa.scalar(1)], {}) if pa.types.is_integer(x.type) else ([x, x], {}),
}
CALLS["divide_checked"] = CALLS["divide"]
for _name in ("modulo", "remainder", "modulo_checked", "remainder_checked"):
    CALLS[_name] = CALLS["divide"]
CALLS["round_binary"] = lambda x: ([x, pa.scalar(1, pa.int32())], {})
CALLS["min_element_wise"] = CALLS["max_element_wise"] = lambda x: ([x, x], {})
CALLS["binary_repeat"] = lambda x: ([x, pa.scalar(2)], {})
CALLS["binary_join"] = lambda x: ([x, pa.scalar(" ")], {})
CALLS["binary_join_element_wise"] = lambda x: ([x, x], {})
for _kind in ("utf8", "ascii"):
    for _name in ("lpad", "rpad", "center", "zero_fill"):
        CALLS[f"{_kind}_{_name}"] = lambda x: ([x], {"width": 1})
    for _name in ("trim", "ltrim", "rtrim"):
        CALLS[f"{_kind}_{_name}"] = lambda x: ([x], {"characters": "a"})
for _name in ("utf8_replace_slice", "binary_replace_slice"):
    CALLS[_name] = lambda x: ([x], {"start": 0, "stop": 1, "replacement": "b"})
for _name in ("utf8_slice_codeunits", "binary_slice"):
    CALLS[_name] = lambda x: ([x], {"start": 0, "stop": 1})
CALLS["replace_substring"] = lambda x: ([x], {"pattern": "a", "replacement": "b"})
CALLS["split_pattern"] = lambda x: ([x], {"pattern": "a"})
for _name in ("starts_with", "ends_with", "match_substring", "match_like", "find_substring", "count_substring"):
    CALLS[_name] = lambda x: ([x], {"pattern": "a"})


# functions of pyarrow alone
CALLS["approximate_median"] = CALLS["tdigest"] = CALLS["rank_normal"] = lambda x: ([x], {})
CALLS["winsorize"] = lambda x: ([x], {"lower_limit": 0.1, "upper_limit": 0.9})
CALLS["array_filter"], CALLS["array_take"] = CALLS["filter"], CALLS["take"]
CALLS["utf8_normalize"] = lambda x: ([x], {"form": "NFC"})
CALLS["search_sorted"] = lambda x: ([x.slice(0, 2), x.slice(0, 2)], {})
CALLS["pivot_wider"] = lambda x: ([pa.array(["a", "b"]), x.slice(0, 2)], {"key_names": ["a", "b"]})
CALLS["replace_substring_regex"] = CALLS["replace_substring"]
for _name in ("extract_regex", "extract_regex_span"):
    CALLS[_name] = lambda x: ([x], {"pattern": "(?P<first>a)"})
for _name in ("count_substring_regex", "find_substring_regex", "match_substring_regex", "split_pattern_regex"):
    CALLS[_name] = lambda x: ([x], {"pattern": "a"})


def arguments(f, t):
    x = rows(t)
    if f.name == "inverse_permutation" and pa.types.is_integer(t):
        x = pa.array([0, 1, 2, 3], t)
    return CALLS.get(f.name, lambda x: ([x] * f.arity, {}))(x)


def works(f, t):
    """Does a function take a type?"""
    args, options = arguments(f, t)
    try:
        f(cdevice.asarray(args[0]), *args[1:], **options)
    except REFUSED:
        return False
    return True


_ENDS_THE_PROCESS = {("list_parent_indices", pa.map_(pa.string(), pa.int32()))}  # pyarrow's function, of that type


def cell(f, theirs, types):
    """d: cdevice's kernels, on every device; p: pyarrow's function, on the CPU; "dp": it is asked first there."""
    os.environ["CDEVICE_BACKENDS"] = "-pyarrow"
    own = all(works(f, t) for t in types)
    os.environ["CDEVICE_BACKENDS"] = ""
    theirs = None if any((f.name, t) in _ENDS_THE_PROCESS for t in types) else theirs
    other = theirs is not None and all(works(theirs, t) for t in types)
    if not own:
        return "p" if other else ""
    ahead = other and f.kind != "meta" and all(_asks_pyarrow(f, t) for t in types)
    return "dp" if ahead else "d"


def _asks_pyarrow(f, t):
    """Is pyarrow's kernel the first of those for a type?"""
    formats = tuple(cdevice.asarray(a).schema.format if isinstance(a, pa.Array) else "l" for a in arguments(f, t)[0])
    try:
        return f._candidates(formats, 1)[0][0].library == "pyarrow"
    except cc.NoKernel:
        return False


def _of_pyarrow(f):
    """pyarrow's function alone, or None."""
    if f.name not in pyarrow.names() or f.kind == "meta":
        return None
    return Function(f.name, f.kind, f.arity, "", f.options, [pyarrow.kernel(f.name, f.arity)])


def table():
    """The table as a page has it."""
    before = os.environ.get("CDEVICE_BACKENDS")
    try:
        functions = [cc.get_function(name) for name in cc.list_functions()]
        found = []
        for f in functions:
            theirs = _of_pyarrow(f)
            found.append([f.name, *(cell(f, theirs, types) for types in TYPES.values())])
    finally:
        os.environ.pop("CDEVICE_BACKENDS") if before is None else os.environ.update(CDEVICE_BACKENDS=before)
    head = ["function", *TYPES]
    widths = [max(len(r[i]) for r in (head, *found)) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    # an empty first cell would begin no row, and the last ones may be left out
    lines = [" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in (head, *found)]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, "", *left_to_pyarrow()])


def left_to_pyarrow():
    """The lines that name the functions of which cdevice has no kernels."""
    names = sorted({*cc.list_functions(include_providers=True)} - {*cc.list_functions()})
    text = f"Left to pyarrow, on the CPU, for all types that it takes: ``{' '.join(names)}``."
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def shown():
    """The table that the page has."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip("\n")


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + "\n" + table() + "\n" + text[end:], encoding="utf-8")
    sys.exit(0)
