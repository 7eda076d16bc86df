"""Case and classes of code points as C tables, from Python's ``unicodedata``; ``build_ffi.py`` puts them into kernels.

Two stages: code points are in blocks, and blocks that are the same are there once.  A code point has the number of a
record: what upper, lower and folded case add to it; or which classes it is in.
"""

import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SELECTORS = range(0xE0100, 0xE01F0)  # variation selectors: far from the others; class_of.h knows them
# as in cdevice/kernels/lang/protocol.h
ALPHA, DECIMAL, DIGIT, NUMERIC, SPACE, PRINTABLE, LOWER, UPPER, TITLE = (1 << k for k in range(9))


def _one(text):
    return ord(text) if len(text) == 1 else None


class Cases:
    """The simple cases, of one code point each, which ``str`` has not: its methods give several where there are."""

    def __init__(self):
        self.lower_of = {c: _one(chr(c).lower()) or c for c in CODE_POINTS}
        self.lower_of[0x130] = 0x69  # I with a dot
        self.upper_of = {c: _one(chr(c).upper()) for c in CODE_POINTS}
        inverse = {}
        for c, low in self.lower_of.items():
            if c != low:
                inverse.setdefault(low, []).append(c)
        for c, up in self.upper_of.items():  # what becomes several has an upper case where it is a lower one
            if up is None:
                found = inverse.get(c, [])
                self.upper_of[c] = found[0] if len(found) == 1 else c
        alike = {}  # some become several letters, each with those that become the same ones
        for c in CODE_POINTS:
            alike.setdefault(chr(c).casefold(), c)
        self.fold_of = {c: _one(fold := chr(c).casefold()) or alike[fold] for c in CODE_POINTS}
        assert all(self.fold_of[f] == f for f in self.fold_of.values())


def classes_of(c, cases):
    """Bits of the classes, as pyarrow's functions have them."""
    kind = unicodedata.category(chr(c))
    found = ALPHA * (kind in ("Lu", "Ll", "Lt", "Lm", "Lo"))
    found |= DECIMAL * (kind == "Nd") | DIGIT * (kind in ("Nd", "No")) | NUMERIC * (kind in ("Nd", "No", "Nl"))
    found |= SPACE * chr(c).isspace() | PRINTABLE * (kind[0] in "LMNPS" or c == 0x20) | TITLE * (kind == "Lt")
    up, low = cases.upper_of[c], cases.lower_of[c]
    found |= LOWER * (kind == "Ll" or (kind != "Lt" and up != c and low == c))
    return found | UPPER * (kind == "Lu" or (kind != "Lt" and up == c and low != c))


def _rows(values):
    line, lines = "", []
    for v in values:
        word = f"{v},"
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += word
    return [*lines, line]


def _table(kind, name, values):
    return [f"TABLE({kind}) {name}[{len(values)}] = {{", *_rows(values), "};"]


def two_stages(name, records, shift):
    """Tables of the numbers of records: ``NAME_LIMIT``, from where on all have number 0, ``NAME_SHIFT``, the block of
    each 1 << SHIFT code points, and the blocks."""
    size = 1 << shift
    blocks, first = {}, []
    for begin in range(0, len(records), size):
        block = tuple(records[begin : begin + size])
        first.append(blocks.setdefault(block + (0,) * (size - len(block)), len(blocks)))
    numbers = [x for block in blocks for x in block]
    kind = "u8" if len(blocks) <= 256 else "u16"
    assert max(numbers) < 256
    lines = [f"#define {name.upper()}_LIMIT {len(first) * size}u", f"#define {name.upper()}_SHIFT {shift}"]
    return [*lines, *_table(kind, f"{name}_blocks", first), *_table("u8", f"{name}_records", numbers)]


def numbered(values, zero):
    """The number of each value, and the values by number; trailing ones that are ``zero``, number 0, are left out."""
    known = {zero: 0}
    out = [known.setdefault(v, len(known)) for v in values]
    while out and not out[-1]:
        out.pop()
    return out, list(known)


def texts():
    """{name: lines} of the two."""
    cases = Cases()

    def added(c):
        """What the cases add, and 1: it is lower case, 2: upper case, 3: title case."""
        if c not in cases.upper_of:
            return 0, 0, 0, 0
        found = classes_of(c, cases)
        kind = 3 if found & TITLE else 2 if found & UPPER else 1 if found & LOWER else 0
        return cases.upper_of[c] - c, cases.lower_of[c] - c, cases.fold_of[c] - c, kind

    records, known = numbered([added(c) for c in range(0x110000)], (0, 0, 0, 0))
    version = f"/* Unicode {unicodedata.unidata_version}. */"
    case = [version, *two_stages("unicode_case", records, 6)]
    for k, name in enumerate(("upper", "lower", "fold")):
        case += _table("i32", f"unicode_to_{name}", [x[k] for x in known])
    case += _table("u8", "unicode_kinds", [x[3] for x in known])
    of = [classes_of(c, cases) if c in cases.upper_of and c not in SELECTORS else 0 for c in range(0x110000)]
    assert {classes_of(c, cases) for c in SELECTORS} == {PRINTABLE}
    records, known = numbered(of, 0)
    classes = [version, *two_stages("unicode_class", records, 7), *_table("u16", "unicode_classes", known)]
    classes += _table("u16", "ascii_classes", of[:128])  # again: one step for what most code points are
    return {"unicode_case": case, "unicode_class": classes}
