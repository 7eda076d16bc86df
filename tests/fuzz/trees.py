"""Random valid arrays as plain data: format, rows, buffers, children."""

import struct
from dataclasses import dataclass, field

FIXED = {
    "c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "l": 8, "L": 8, "e": 2, "f": 4, "g": 8,
    "d:9,2,32": 4, "d:18,3,64": 8, "d:20,4": 16, "d:5,2,128": 16, "d:60,5,256": 32, "w:3": 3, "w:16": 16,
    "tdD": 4, "tdm": 8, "tts": 4, "ttm": 4, "ttu": 8, "ttn": 8, "tss:": 8, "tsm:UTC": 8, "tsu:": 8, "tsn:": 8,
    "tDs": 8, "tDm": 8, "tDu": 8, "tDn": 8, "tiM": 4, "tiD": 8, "tin": 16,
}  # fmt: skip


@dataclass
class Node:
    format: str
    length: int
    offset: int = 0
    nulls: int = 0
    buffers: list = field(default_factory=list)  # bytes or None
    children: list = field(default_factory=list)
    dictionary: "Node | None" = None
    name: str = ""
    flags: int = 2

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()
        if self.dictionary is not None:
            yield from self.dictionary.walk()


def _validity(rng, node, stop):
    """A bitmap over `stop` rows of which the node's own may be null."""
    if rng.random() < 0.4:
        return None
    bits = rng.getrandbits(stop + 7 & ~7 or 8)
    node.nulls = sum(not bits >> k & 1 for k in range(node.offset, node.offset + node.length))
    return bits.to_bytes(max(stop + 7 >> 3, 1), "little")


def _window(rng, most=20):
    length = rng.choice((0, 1, 2, 3, 7, 8, 9, rng.randrange(most)))
    return length, rng.choice((0, 0, 1, 3, 8, rng.randrange(12)))


def _offsets(rng, node, code, total_of):
    """Offsets of the rows; what lies before them is garbage, as it may be."""
    values, at = [rng.randrange(-5, 99) for _ in range(node.offset)], rng.randrange(4)
    for _ in range(node.length):
        values.append(at)
        at += rng.randrange(4)
    values.append(at)
    total_of.append(at)
    return struct.pack(f"={len(values)}{code}", *values)


def _text(rng, n):
    return "".join(rng.choice("abcäß€z") for _ in range(n))


def tree(rng, depth=0, length=None, kinds=None):
    """A valid node whose own rows are `length` where that is given (offset 0 then may differ)."""
    kinds = kinds or (FLAT if depth >= 3 else FLAT + NESTED)
    f = rng.choice(kinds)
    n, offset = _window(rng)
    node = Node(f, n if length is None else length, offset)
    stop = node.offset + node.length
    if f == "n":
        node.offset, node.nulls = 0, node.length
    elif f == "b":
        node.buffers = [_validity(rng, node, stop), rng.randbytes(max(stop + 7 >> 3, 1))]
    elif f in FIXED:
        node.buffers = [_validity(rng, node, stop), _fixed(rng, f, stop)]
    elif f in ("u", "z", "U", "Z"):
        total = []
        offsets = _offsets(rng, node, "q" if f in "UZ" else "i", total)
        data = "".join(rng.choice("abcdez") for _ in range(total[0])).encode()
        node.buffers = [_validity(rng, node, stop), offsets, data]
    elif f in ("vu", "vz"):
        _views(rng, node, stop)
    else:
        _NEST[f](rng, node, stop, depth)
    return node


def _fixed(rng, f, stop):
    if f[0] in "td":  # small numbers, which Python's types can hold
        width = FIXED[f]
        if f == "tin":
            return b"".join(struct.pack("=iiq", *(rng.randrange(-99, 99) for _ in "abc")) for _ in range(stop))
        parts = 2 if f == "tiD" else 1
        low = 0 if f[:2] == "tt" else -9999
        return b"".join(
            rng.randrange(low, 9999).to_bytes(width // parts, "little", signed=True) for _ in range(stop * parts)
        )
    return rng.randbytes(FIXED[f] * stop)


def _views(rng, node, stop):
    data, views = bytearray(), bytearray(rng.randbytes(16 * node.offset))
    for _ in range(node.length):
        text = _text(rng, rng.choice((0, 1, 5, 12, 13, 20))).encode()
        if len(text) <= 12:
            views += struct.pack("=i12s", len(text), text)
        else:
            views += struct.pack("=i4sii", len(text), text[:4], 0, len(data))
            data += text
    node.buffers = [_validity(rng, node, stop), bytes(views), bytes(data), struct.pack("=q", len(data))]


def _list(rng, node, stop, depth):
    total = []
    offsets = _offsets(rng, node, "q" if "L" in node.format else "i", total)
    node.buffers = [_validity(rng, node, stop), offsets]
    node.children = [tree(rng, depth + 1, total[0] + rng.randrange(3))]


def _list_view(rng, node, stop, depth):
    code = "q" if "L" in node.format else "i"
    many = rng.randrange(12)
    starts, sizes = [], []
    for k in range(stop):
        if k < node.offset:
            starts.append(rng.randrange(-9, 99))
            sizes.append(rng.randrange(-9, 99))
            continue
        size = rng.randrange(many + 1)
        starts.append(rng.randrange(many - size + 1))
        sizes.append(size)
    node.buffers = [
        _validity(rng, node, stop),
        struct.pack(f"={stop}{code}", *starts),
        struct.pack(f"={stop}{code}", *sizes),
    ]
    node.children = [tree(rng, depth + 1, many)]


def _fixed_list(rng, node, stop, depth):
    size = rng.randrange(4)
    node.format = f"+w:{size}"
    node.buffers = [_validity(rng, node, stop)]
    node.children = [tree(rng, depth + 1, stop * size + rng.randrange(2))]


def _struct(rng, node, stop, depth):
    node.buffers = [_validity(rng, node, stop)]
    node.children = [tree(rng, depth + 1, stop + rng.randrange(2)) for _ in range(rng.randrange(4))]
    for k, c in enumerate(node.children):
        c.name = f"f{k}"


def _map(rng, node, stop, depth):
    total = []
    node.buffers = [_validity(rng, node, stop), _offsets(rng, node, "i", total)]
    entries = Node("+s", total[0], name="entries", flags=0, buffers=[None])
    key = tree(rng, 9, total[0], kinds=["l", "u", "i"])
    key.buffers[0], key.nulls, key.flags = None, 0, 0
    entries.children = [key, tree(rng, depth + 1, total[0])]
    entries.children[0].name, entries.children[1].name = "key", "value"
    node.children = [entries]


def _sparse(rng, node, stop, depth):
    n = rng.randrange(1, 4)
    ids = rng.sample(range(20), n)
    node.format = f"+us:{','.join(map(str, ids))}"
    node.buffers = [bytes(rng.choice(ids) for _ in range(stop))]
    node.children = [tree(rng, depth + 1, stop) for _ in ids]


def _dense(rng, node, stop, depth):
    n = rng.randrange(1, 4)
    ids = rng.sample(range(20), n)
    node.format = f"+ud:{','.join(map(str, ids))}"
    types, offsets, used = [], [], [0] * n
    for k in range(stop):
        c = rng.randrange(n)
        types.append(ids[c])
        offsets.append(used[c] if k >= node.offset else rng.randrange(-5, 50))
        used[c] += k >= node.offset
    node.buffers = [bytes(types), struct.pack(f"={stop}i", *offsets)]
    node.children = [tree(rng, depth + 1, n + rng.randrange(2)) for n in used]


def _runs(rng, node, stop, depth):
    code = rng.choice("sil")
    ends, at = [], 0
    while at < stop:
        at += rng.randrange(1, 5)
        ends.append(at)
    pack = {"s": "h", "i": "i", "l": "q"}[code]
    node.children = [
        Node(code, len(ends), buffers=[None, struct.pack(f"={len(ends)}{pack}", *ends)], name="run_ends", flags=0),
        tree(rng, depth + 1, len(ends)),
    ]
    node.children[1].name = "values"


def _dictionary(rng, node, stop, depth):
    node.format = rng.choice("cCsSiIlL")
    node.dictionary = tree(rng, max(depth + 1, 2), rng.randrange(1, 9))
    code = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q"}[node.format]
    indices = [rng.randrange(node.dictionary.length) for _ in range(stop)]
    node.buffers = [_validity(rng, node, stop), struct.pack(f"={stop}{code}", *indices)]


_NEST = {
    "+l": _list, "+L": _list, "+vl": _list_view, "+vL": _list_view, "+w:": _fixed_list, "+s": _struct, "+m": _map,
    "+us:": _sparse, "+ud:": _dense, "+r": _runs, "dictionary": _dictionary,
}  # fmt: skip
FLAT = ["n", "b", *FIXED, "u", "z", "U", "Z", "vu", "vz"] + ["u", "vu", "l"] * 4
NESTED = [*_NEST] * 4
