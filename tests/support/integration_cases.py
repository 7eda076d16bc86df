"""The cases of Arrow's integration tests, generated: {name: a file in their JSON format}."""

import random

from integration_json import PLAIN, format_of, letter_of, width_of

RANDOM = random.Random(20)
LETTERS = "abcdefgh äöü€𝄞"
RANGES = {"c": (-128, 127), "C": (0, 255), "s": (-(1 << 15), (1 << 15) - 1), "S": (0, (1 << 16) - 1)}
RANGES |= {"i": (-(1 << 31), (1 << 31) - 1), "I": (0, (1 << 32) - 1), "l": (-(1 << 63), (1 << 63) - 1)}
RANGES |= {"L": (0, (1 << 64) - 1), "tdD": (-700_000, 2_900_000), "tts": (0, 86_399), "ttm": (0, 86_399_999)}
DAY = 86_400_000


# ---- fields ----
def field(name, type, children=(), nullable=True, **more):
    type = {"name": type} if isinstance(type, str) else type
    return {"name": name, "nullable": nullable, "type": type, "children": list(children), **more}


def integer(bits, signed=True):
    return {"name": "int", "bitWidth": bits, "isSigned": signed}


def words(name, number, index, type, children=(), ordered=False, **more):
    """A field with a dictionary."""
    dictionary = {"id": number, "indexType": index, "isOrdered": ordered}
    return field(name, type, children, dictionary=dictionary, **more)


def with_unit(name, unit, **more):
    return {"name": name, "unit": unit, **more}


# ---- data ----
def scalar(format):
    """A value of a type with a fixed width, as it stands in JSON."""
    if format == "b":
        return RANDOM.random() < 0.5
    if format in ("e", "f", "g"):
        return RANDOM.randrange(-1000, 1000) / 8
    if format.startswith("w:"):
        return RANDOM.randbytes(width_of(format)).hex().upper()
    if format.startswith("d:"):
        most = 10 ** int(format[2:].split(",")[0]) - 1
        return str(RANDOM.randint(-most, most))
    if format == "tiM":
        return RANDOM.randrange(-1000, 1000)
    if format == "tiD":
        return {"days": RANDOM.randrange(-99, 99), "milliseconds": RANDOM.randrange(-DAY, DAY)}
    if format == "tin":
        nanos = RANDOM.randrange(-(10**15), 10**15)
        return {"months": RANDOM.randrange(-99, 99), "days": RANDOM.randrange(-99, 99), "nanoseconds": nanos}
    if format == "tdm":
        return str(RANDOM.randrange(-9999, 9999) * DAY)
    if format in ("ttu", "ttn"):
        return str(RANDOM.randrange(0, 86_400 * 10 ** (6 if format == "ttu" else 9)))
    value = RANDOM.randint(*RANGES.get(format, (-(10**15), 10**15)))
    return str(value) if letter_of(format) in ("q", "Q") else value


def text(format, most=9):
    size = RANDOM.randrange(0, most)
    if format in ("u", "U", "vu"):
        return "".join(RANDOM.choice(LETTERS) for _ in range(size))
    return RANDOM.randbytes(size).hex().upper()


def nbytes(format, value):
    return len(value.encode()) if format in ("u", "U", "vu") else len(value) // 2


def validity(f, count):
    return [int(not f["nullable"] or RANDOM.random() > 0.3) for _ in range(count)]


def offsets(format, sizes):
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return list(map(str, ends)) if format in ("U", "Z", "+L", "+vL") else ends


def column(f, count, sizes):
    """Data of a field; ``sizes``: {number of a dictionary: its length}."""
    if f.get("dictionary"):
        index = format_of(f["dictionary"]["indexType"])
        rows = [RANDOM.randrange(sizes[f["dictionary"]["id"]]) for _ in range(count)]
        rows = list(map(str, rows)) if letter_of(index) in ("q", "Q") else rows
        return {"name": f["name"], "count": count, "VALIDITY": validity(f, count), "DATA": rows}
    format, out = format_of(f["type"]), {"name": f["name"], "count": count}
    if format == "n":
        return out
    if format == "+r":
        return runs(f, out, sizes)
    if format.startswith("+u"):
        return union(f, format, out, sizes)
    out["VALIDITY"] = validity(f, count)
    below = lambda n: [column(c, n, sizes) for c in f["children"]]
    if format == "+s":
        return {**out, "children": below(count)} if f["children"] else out
    if format.startswith("+w:"):
        return {**out, "children": below(count * int(format[3:]))}
    if format in ("+l", "+L", "+m"):
        lengths = [RANDOM.randrange(4) * v for v in out["VALIDITY"]]
        return {**out, "OFFSET": offsets(format, lengths), "children": below(sum(lengths))}
    if format in ("+vl", "+vL"):
        return list_views(f, format, out, sizes)
    if format in ("vu", "vz"):
        return views(format, out)
    if format in PLAIN.values() and format != "b":
        rows = [text(format) if v else "" for v in out["VALIDITY"]]
        return {**out, "OFFSET": offsets(format, [nbytes(format, r) for r in rows]), "DATA": rows}
    return {**out, "DATA": [scalar(format) for _ in range(count)]}


def runs(f, out, sizes):
    ends, at = [], 0
    while at < out["count"]:
        at = min(out["count"], at + RANDOM.randrange(1, 5))
        ends.append(at)
    of, values = f["children"]
    data = list(map(str, ends)) if of["type"]["bitWidth"] == 64 else ends
    first = {"name": of["name"], "count": len(ends), "VALIDITY": [1] * len(ends), "DATA": data}
    return {**out, "children": [first, column(values, len(ends), sizes)]}


def union(f, format, out, sizes):
    ids = f["type"]["typeIds"]
    types = [RANDOM.choice(ids) for _ in range(out["count"])]
    out["TYPE_ID"] = types
    if format[2] == "s":
        return {**out, "children": [column(c, out["count"], sizes) for c in f["children"]]}
    out["OFFSET"] = [types[:i].count(t) for i, t in enumerate(types)]
    return {**out, "children": [column(c, types.count(i), sizes) for i, c in zip(ids, f["children"])]}


def list_views(f, format, out, sizes):
    """Lists that overlap and come in any order."""
    rows = 3 * out["count"]
    lengths = [RANDOM.randrange(4) * v for v in out["VALIDITY"]]
    starts = [RANDOM.randrange(0, rows - n + 1) for n in lengths]
    wide = (lambda values: list(map(str, values))) if format == "+vL" else list
    children = [column(c, rows, sizes) for c in f["children"]]
    return {**out, "OFFSET": wide(starts), "SIZE": wide(lengths), "children": children}


def views(format, out):
    shared, made = [b"", b""], []
    for valid in out["VALIDITY"]:
        value = text(format, 30) if valid else ""
        data = value.encode() if format == "vu" else bytes.fromhex(value)
        if len(data) <= 12:
            made.append({"SIZE": len(data), "INLINED": value})
            continue
        which = RANDOM.randrange(2)
        prefix = data[:4].hex().upper()
        view = {"SIZE": len(data), "PREFIX_HEX": prefix, "BUFFER_INDEX": which, "OFFSET": len(shared[which])}
        made.append(view)
        shared[which] += data
    shared = [b.hex().upper() for b in shared if b]
    if len(shared) < 2:
        for view in made:
            if "BUFFER_INDEX" in view:
                view["BUFFER_INDEX"] = 0
    return {**out, "VIEWS": made, "VARIADIC_DATA_BUFFERS": shared}


def dictionary_fields(fields):
    """The fields with dictionaries, what stands below first: a dictionary may have dictionaries below."""
    for f in fields:
        yield from dictionary_fields(f["children"])
        if f.get("dictionary"):
            yield f


def file(fields, counts=(7, 10), metadata=None):
    schema = {"fields": fields, **({"metadata": metadata} if metadata else {})}
    sizes = {f["dictionary"]["id"]: 5 + f["dictionary"]["id"] for f in dictionary_fields(fields)}
    tables = []
    for f in dictionary_fields(fields):
        number = f["dictionary"]["id"]
        plain = {k: v for k, v in f.items() if k != "dictionary"}
        data = column({**plain, "name": f"DICT{number}", "nullable": True}, sizes[number], sizes)
        tables.append({"id": number, "data": {"count": sizes[number], "columns": [data]}})
    batches = [{"count": n, "columns": [column(f, n, sizes) for f in fields]} for n in counts]
    out = {"schema": schema, "batches": batches}
    return {**out, "dictionaries": sorted(tables, key=lambda t: t["id"])} if tables and counts else out


# ---- the cases, by the names that Arrow's integration tests give them ----
def primitives():
    types = ["bool", *[integer(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)]]
    types += [{"name": "floatingpoint", "precision": p} for p in ("HALF", "SINGLE", "DOUBLE")]
    types += ["binary", "utf8", *[{"name": "fixedsizebinary", "byteWidth": n} for n in (19, 120)]]
    for i, type in enumerate(types):
        for nullable in (True, False):
            yield field(f"f{i}_{'nullable' if nullable else 'nonnullable'}", type, nullable=nullable)


def decimals(bits, digits):
    type = {"name": "decimal", "scale": 2, "bitWidth": bits}
    return [field(f"f{n}", {**type, "precision": n}) for n in digits]


def times():
    yield from (field(f"d{u}", with_unit("date", u)) for u in ("DAY", "MILLISECOND"))
    for unit, bits in (("SECOND", 32), ("MILLISECOND", 32), ("MICROSECOND", 64), ("NANOSECOND", 64)):
        yield field(f"t{unit}", with_unit("time", unit, bitWidth=bits))
        yield field(f"ts{unit}", with_unit("timestamp", unit))
        for zone in ("UTC", "US/Eastern", "+05:30"):
            yield field(f"ts{unit}{zone}", with_unit("timestamp", unit, timezone=zone))


def units(name, these):
    return [field(u, with_unit(name, u)) for u in these]


def map_field(name, item, entries=("entries", "key", "value"), **more):
    key = field(entries[1], "utf8", nullable=False)
    pair = field(entries[0], "struct", [key, {**item, "name": entries[2]}], nullable=False)
    return field(name, {"name": "map", "keysSorted": more.pop("sorted", False)}, [pair], **more)


def nested():
    item = field("item", integer(32))
    yield field("list", "list", [item])
    yield field("list of what is no null", "list", [field("item", integer(32), nullable=False)], nullable=False)
    yield field("fixed", {"name": "fixedsizelist", "listSize": 4}, [item])
    yield field("struct", "struct", [field("f1", integer(32)), field("f2", "utf8")])
    yield field("struct without fields", "struct")


def recursive():
    lists = field("inner", "list", [field("item", integer(16))])
    yield field("lists_list", "list", [lists])
    yield field("structs_list", "list", [field("item", "struct", [field("f1", integer(32)), field("f2", "utf8")])])
    yield field("maps", "list", [map_field("item", field("", integer(8)))])
    yield field("structs", "struct", [field("a", "struct", [lists, field("b", "bool")])])


def wide():
    item = field("item", integer(32))
    yield field("large_list", "largelist", [item])
    yield field("large_list_large", "largelist", [field("item", "largelist", [item])])
    yield field("struct", "struct", [field("f1", "largeutf8"), field("f2", "largebinary")])


def unions():
    numbers, short = [field("f1", integer(32)), field("f2", "utf8")], [field("f1", integer(16)), field("f2", "binary")]
    for mode in ("SPARSE", "DENSE"):
        yield field(f"{mode}_1", {"name": "union", "mode": mode, "typeIds": [5, 7]}, numbers)
        yield field(f"{mode}_2", {"name": "union", "mode": mode, "typeIds": [0, 1]}, short)


def encoded():
    for bits in (16, 32, 64):
        ends = field("run_ends", integer(bits), nullable=False)
        for name, type in (
            ("ints", integer(16)),
            ("texts", "utf8"),
            ("floats", {"name": "floatingpoint", "precision": "SINGLE"}),
        ):
            yield field(f"{name}{bits}", "runendencoded", [ends, field("values", type)])


def list_view_fields():
    yield field("lv", "listview", [field("item", {"name": "floatingpoint", "precision": "SINGLE"})])
    yield field("llv", "largelistview", [field("item", {"name": "floatingpoint", "precision": "SINGLE"})])
    yield field("lvs", "listview", [field("item", "list", [field("item", "utf8")])])


def dictionaries():
    yield words("dict0", 0, integer(8), "utf8")
    yield words("dict1", 1, integer(32), "utf8", ordered=True)
    yield words("dict2", 2, integer(64), integer(64))


def unsigned_dictionaries():
    yield from (words(f"u{bits}", i, integer(bits, False), "utf8") for i, bits in enumerate((8, 16, 32, 64)))


def nested_dictionaries():
    inner = words("str", 1, integer(8), "utf8")
    yield words("list", 0, integer(8), "list", [inner])
    inner = words("f", 3, integer(16), "utf8")
    yield words("struct", 2, integer(16), "struct", [inner, field("g", integer(32))])
    yield field("plain list", "list", [words("item", 4, integer(32), "utf8")])


def pair(key, value):
    return {"key": key, "value": value}


def extensions():
    uuid = [pair("ARROW:extension:name", "uuid"), pair("ARROW:extension:metadata", "uuid-serialized")]
    yield field("uuids", {"name": "fixedsizebinary", "byteWidth": 16}, metadata=uuid)
    own = [
        pair("ARROW:extension:name", "dict-extension"),
        pair("ARROW:extension:metadata", "dict-extension-serialized"),
    ]
    yield words("dict_exts", 0, integer(8), "utf8", metadata=own)
    yield field("lists", "list", [field("item", {"name": "fixedsizebinary", "byteWidth": 16}, metadata=uuid)])


def with_metadata():
    yield field("a", integer(8), metadata=[pair("k1", "v1"), pair("k2", ""), pair("", "äöü")])
    yield field("b", "list", [field("item", "utf8", metadata=[pair("inner", "value")])])


METADATA = [pair("schema_custom_0", "schema_custom_1"), pair("schema_custom_2", "")]
CASES = {
    "primitive_no_batches": lambda: file([*primitives()], ()),
    "primitive": lambda: file([*primitives()], (17, 20)),
    "primitive_zerolength": lambda: file([*primitives()], (0, 0, 0)),
    "primitive_large_offsets": lambda: file([field("lb", "largebinary"), field("lu", "largeutf8")]),
    "null": lambda: file([field("n", "null"), field("i", integer(32)), field("m", "null")], (10, 0)),
    "null_trivial": lambda: file([field("n", "null")], (0, 0)),
    "decimal32": lambda: file(decimals(32, range(3, 10))),
    "decimal64": lambda: file(decimals(64, range(3, 19))),
    "decimal128": lambda: file(decimals(128, range(3, 39))),
    "decimal256": lambda: file(decimals(256, range(3, 70))),
    "datetime": lambda: file([*times()]),
    "duration": lambda: file(units("duration", ("SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"))),
    "interval": lambda: file(units("interval", ("YEAR_MONTH", "DAY_TIME"))),
    "interval_mdn": lambda: file(units("interval", ("MONTH_DAY_NANO",))),
    "map": lambda: file([map_field("m", field("", integer(32))), map_field("s", field("", "utf8"), sorted=True)]),
    "map_non_canonical": lambda: file(
        [map_field("m", field("", integer(32)), ("some_entries", "some_key", "some_value"))]
    ),
    "nested": lambda: file([*nested()]),
    "recursive_nested": lambda: file([*recursive()]),
    "nested_large_offsets": lambda: file([*wide()]),
    "nested_zerolength": lambda: file([*nested(), *recursive()], (0, 0)),
    "union": lambda: file([*unions()]),
    "custom_metadata": lambda: file([*with_metadata()], metadata=METADATA),
    "duplicate_fieldnames": lambda: file(
        [field("ints", integer(8)), field("ints", integer(32)), field("ints", "utf8")]
    ),
    "dictionary": lambda: file([*dictionaries()]),
    "dictionary_unsigned": lambda: file([*unsigned_dictionaries()]),
    "nested_dictionary": lambda: file([*nested_dictionaries()]),
    "run_end_encoded": lambda: file([*encoded()]),
    "binary_view": lambda: file([field("bv", "binaryview"), field("sv", "utf8view")]),
    "list_view": lambda: file([*list_view_fields()]),
    "extension": lambda: file([*extensions()]),
}


def case(name):
    RANDOM.seed(name)
    return CASES[name]()
