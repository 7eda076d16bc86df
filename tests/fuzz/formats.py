"""Format strings, words for types, metadata blocks, device words, entry points and plug-in tables, mutated.

    python tests/fuzz/formats.py SECONDS [SEED]

What is accepted must come back as it went: a schema through its words, its pickle and its C struct, a block as a mapping.
A finding ends the process: a signal, an exception outside the documented family, or something that came back otherwise.
"""

import os
import pickle
import random
import struct
import warnings

import driver
from trees import FIXED

import cdevice
from cdevice._devices import plugins
from cdevice._runtime.ext import ffi, lib
from cdevice._schema.metadata import decode_metadata, encode_metadata
from cdevice.testing.cases import arrays
from cdevice.testing.fake import FakeBackend

FAMILY = (cdevice.Error, ValueError, TypeError, MemoryError, IndexError, KeyError)
FORMATS = [
    *FIXED,
    "n",
    "b",
    "u",
    "z",
    "U",
    "Z",
    "vu",
    "vz",
    "+l",
    "+L",
    "+vl",
    "+vL",
    "+w:3",
    "+s",
    "+m",
    "+r",
    "+us:0,1",
]
FORMATS += ["+ud:5", "+us:", "d:38,-3,128", "tsn:Europe/Berlin", "w:0"]
WORDS = sorted({a.schema.type for a in arrays().values()}) + [
    "list", "struct<>", "map<string, list<item: int8>>", "dense_union<a: int8=0, b: string=127>",
    "dictionary<values=string, indices=int8, ordered=1>", "decimal256(76, 76)", "fixed_size_list<x: bool not null>[2]",
    "timestamp[ns, tz=+05:30]", "run_end_encoded<run_ends: int16, values: struct<a: int8>>",
]  # fmt: skip
ALPHABET = "+:,<>[]()= \0abcdefilmnrsuvwzLTU0123456789-tzx\u00e9\u00b2\ud800"


def mutated(rng, text):
    text = list(text)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        what = rng.randrange(5)
        if what == 0:
            text.insert(at, rng.choice(ALPHABET))
        elif what == 1 and text:
            del text[at % len(text)]
        elif what == 2 and text:
            text[at % len(text)] = rng.choice(ALPHABET)
        elif what == 3:
            text[at:at] = list(rng.choice(WORDS + FORMATS))
        else:
            text *= rng.choice((1, 1, 2))
    return "".join(text)[:5000]


def comes_back(schema):
    again = pickle.loads(pickle.dumps(schema))
    if again != schema:
        raise AssertionError(f"pickled {schema!r} came back as {again!r}")
    schema.type, repr(schema), schema.children, schema.metadata, len(schema), schema.names
    if cdevice.asschema(type("S", (), {"__arrow_c_schema__": schema.__arrow_c_schema__})()) != schema:
        raise AssertionError(f"{schema!r} changed on its way through C")


def formats(rng):
    children = [cdevice.asschema("int8", f"c{k}") for k in range(rng.choice((0, 0, 1, 2, 3)))]
    if rng.random() < 0.2:
        children = [
            cdevice.Schema.make("+s", "entries", children=[cdevice.asschema("int32", "k"), cdevice.asschema("u", "v")])
        ]
    if rng.random() < 0.1:
        children = [cdevice.asschema("int32", "run_ends"), cdevice.asschema("int8", "values")]
    dictionary = cdevice.asschema("string") if rng.random() < 0.1 else None
    comes_back(
        cdevice.Schema.make(
            mutated(rng, rng.choice(FORMATS)),
            mutated(rng, "name"),
            children=children,
            dictionary=dictionary,
            flags=rng.choice((0, 2, 7, -1, 2**63 - 1)),
            metadata=rng.choice((None, {}, {"k": mutated(rng, "v")})),
        )
    )


def words(rng):
    schema = cdevice.asschema(mutated(rng, rng.choice(WORDS)))
    comes_back(schema)
    if cdevice.asschema(schema.type).type != schema.type:
        raise AssertionError(f"{schema.type!r} is understood as {cdevice.asschema(schema.type).type!r}")


def metadata(rng):
    block = bytearray(encode_metadata({mutated(rng, "key"): mutated(rng, "value") for _ in range(rng.randrange(4))}))
    for _ in range(rng.randrange(3)):
        what = rng.randrange(4)
        if what == 0:
            del block[rng.randrange(len(block) + 1) :]
        elif what == 1 and len(block) >= 4:
            at = rng.randrange(len(block) - 3)
            block[at : at + 4] = struct.pack("=i", rng.choice((-1, 0, 1, 2**31 - 1, -(2**31), rng.randrange(40))))
        elif what == 2 and block:
            block[rng.randrange(len(block))] = rng.randrange(256)
        else:
            block += rng.randbytes(rng.randrange(9))
    schema = cdevice.Schema.make("l", metadata=bytes(block))
    comes_back(schema)
    if decode_metadata(bytes(block)) != schema.metadata:
        raise AssertionError("a block is read in two ways")


def device_words(rng):
    word = mutated(rng, rng.choice(("cuda:1", "opencl", "99:2", "cuda-host:0", "fake51:1", "cpu", "17:0")))
    found = cdevice.device(word)
    if cdevice.device(str(found)) != found:
        raise AssertionError(f"{word!r} gives {found}, which gives {cdevice.device(str(found))}")


def entry_points(rng):
    number = plugins.type_named(mutated(rng, rng.choice(("12", "vulkan", "2147483647", "0", "-1", "99999999999"))))
    if number is not None and not 0 < number < 1 << 31:
        raise AssertionError(f"device type {number}")
    os.environ["CDEVICE_BACKENDS"] = (
        mutated(rng, rng.choice(("none", "-acme", "4=foo", "vulkan=acme,-x")))
        .replace("\0", "")
        .encode("utf-8", "replace")
        .decode()
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cdevice.DeviceWarning)  # of words that say nothing
            plugins.chosen(rng.randrange(20)), plugins.switched_off("x"), plugins._words()
    finally:
        del os.environ["CDEVICE_BACKENDS"]


KEEP = []


def tables(rng):
    """A table of a working backend with holes, odd sizes and names."""
    backend = FakeBackend(51, "fake51")
    good = ffi.cast("cdevice_backend *", backend.__cdevice_backend__())
    table = ffi.new("cdevice_backend *", good[0])
    KEEP[:] = KEEP[-50:] + [(backend, table)]
    for _ in range(rng.randrange(1, 3)):
        what = rng.randrange(7)
        if what == 0:
            table.struct_size = rng.choice(
                (0, 8, 40, 100, ffi.sizeof("cdevice_backend") - 8, ffi.sizeof("cdevice_backend"))
            )
        elif what == 1:
            table.abi_version = rng.choice((0, 1, 0x00010001, 0x00020000, 0xFFFFFFFF))
        elif what == 2:
            table.device_type = rng.choice((0, -1, 51, 52, 63, 64, 2**31 - 1, -(2**31)))
        elif what == 3:
            name = ffi.new("char[]", rng.choice((b"", b"cpu", b"Upper", b"fake51", b"x" * 100, b"9x", b"a:b", b"\xff")))
            KEEP.append(name)
            table.name = rng.choice((ffi.NULL, name))
        elif what == 4:
            table.capabilities = rng.choice((0, 0xFFFFFFFFFFFFFFFF, 1, 2, 4, rng.getrandbits(9)))
        else:
            setattr(
                table,
                rng.choice([f for f, t in ffi.typeof("cdevice_backend").fields if t.type.kind == "pointer"]),
                ffi.NULL,
            )
    type_id = table.device_type
    try:
        cdevice.register_backend(int(ffi.cast("uintptr_t", table)))
    except FAMILY:
        return
    try:
        cdevice.list_backends()
        honest = table.capabilities == good.capabilities and table.self == good.self and table.event_record
        if honest:  # a table that promises what its functions do not keep is beyond help
            array = cdevice.asarray([1, 2, 3]).to((type_id, 0))
            if array.to("cpu").to_pylist() != [1, 2, 3]:
                raise AssertionError("other rows")
            del array
    finally:
        from waiting import until

        until(lambda: not lib.cdv_backend_live(type_id))
        cdevice.unregister_backend(type_id)


KINDS = (formats, formats, words, words, metadata, device_words, entry_points, tables)


def case(seed):
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    try:
        kind(rng)
        return f"{kind.__name__} taken"
    except FAMILY:
        return f"{kind.__name__} refused"


if __name__ == "__main__":
    driver.run("formats", case, *driver.arguments())
