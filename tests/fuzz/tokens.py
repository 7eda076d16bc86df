"""Tokens of shared arrays and streams that were cut, changed, spliced or used again, and processes that answer wrong.

    python tokens.py SECONDS [SEED]

A finding is an exception that is not documented, a hang, a signal, other rows than were shared, and anything that is left:
descriptors, segments, tickets, rings, arrays, schemas.
"""

import contextlib
import gc
import os
import random
import socket
import struct
import sys

import driver
import pyarrow as pa
from waiting import until
from wrong_broker import ANSWER, OK, SEAL_ALL, broker, captured, segment, with_checksum

import cdevice
from cdevice._runtime.ext import _native, ffi, lib

FAMILY = (cdevice.Error, TypeError, ValueError, MemoryError)  # nested nulls make lists as long as they claim
HEAD, TICKET = 7, ffi.sizeof("struct cdv_ticket")
PLACES = {name: (field.offset, ffi.sizeof(field.type)) for name, field in ffi.typeof("struct cdv_ticket").fields}
VALUES = [
    pa.array([1, None, 3]),
    pa.array([], pa.int32()),
    pa.array([None, None], pa.null()),
    pa.array([True, False, None]),
    pa.array(["a", None, "bcd", "e" * 40]),
    pa.array(["a", None, "b" * 40], pa.string_view()),
    pa.array([[1, 2], None, [3]]),
    pa.array([[1, 2], None, [3]], pa.list_view(pa.int8())),
    pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
    pa.array(["x", "y", "x"]).dictionary_encode(),
    pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["x", "y"])),
    pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(["x", "y"])], ["a", "b"]),
    pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["x"])]
    ),
]
MOST = 1 << 20  # rows of nulls take no memory, however many are claimed: Python's list of them does
NUMBERS = (0, 1, -1, -2, -3, 7, 8, 63, 64, 1 << 20, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, -(1 << 63))


# ---- what is left ----
def state():
    gc.collect()
    _native.drain()
    counts = (lib.cdv_live_segments(), lib.cdv_live_tickets(), lib.cdv_live_rings(), lib.cdv_live_arrays())
    return *counts, lib.cdv_live_schemas(), len(os.listdir("/proc/self/fd"))


def read(token, validate="full"):
    """What it gives, read to its end; None for an error of the documented family."""
    try:
        opened = cdevice.open_shared(token, validate=validate)
        if isinstance(opened, cdevice.DeviceArrayStream):
            with opened:
                return [batch.to_pylist() for batch in opened]
        return opened.to_pylist() if opened.nbytes < MOST and opened.length < MOST else opened.validate("full")
    except FAMILY:
        return None


# ---- tokens ----
def cut(rng, token, other):
    at = rng.randrange(len(token))
    return rng.choice((token[:at], token[at:], token + token[:at], token[:at] + token[at + rng.randrange(1, 9) :]))


def flipped(rng, token, other):
    out = bytearray(token)
    for _ in range(rng.randrange(1, 4)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def spliced(rng, token, other):
    at = rng.randrange(1, min(len(token), len(other)))
    return token[:at] + other[at:]


def field_changed(rng, token, other):
    """A field of a ticket, by a value of its own or by another token's."""
    offset, size = PLACES[rng.choice([*PLACES])]
    tickets = (len(token) - HEAD - 4) // TICKET
    at = HEAD + TICKET * rng.randrange(tickets) + offset
    new = other[HEAD + offset : HEAD + offset + size]
    if rng.random() < 0.7:
        new = rng.randbytes(size) if size != 8 else struct.pack("<q", rng.choice(NUMBERS))
    return token[:at] + new + token[at + size :]


def renamed(rng, token, other):
    """An array's tickets as a stream's, and the other way round."""
    magic = rng.choice((b"cdvtok1", b"cdvstr1", b"cdvtok2", bytes(7)))
    body = token[HEAD:-4] * rng.choice((1, 2))
    return magic + rng.choice((body, body[:TICKET], body[TICKET:])) + token[-4:]


def schema_secret(token):
    """Of the empty array that a stream's token has its schema in."""
    offset, size = PLACES["secret"]
    return token[HEAD + TICKET + offset :][:size]


CHANGES = (cut, flipped, spliced, field_changed, renamed)


def tokens(rng):
    """Changed tokens, of both kinds, most with a checksum that fits."""
    values = cdevice.asarray(rng.choice(VALUES))
    with values.share() as one, cdevice.asstream([values] * 3).share() as stream:
        both = [one.token, stream.token]
        for _ in range(10):
            token, other = rng.sample(both, 2) if rng.random() < 0.7 else [rng.choice(both)] * 2
            wrong = rng.choice(CHANGES)(rng, token, other)
            if rng.random() < 0.8:
                wrong = with_checksum(wrong[:-4])
            given = rng.choice((bytes, bytearray, memoryview))(wrong)
            got = read(given, rng.choice(("full", "structure", None)))
            possible = [None, values.to_pylist(), [values.to_pylist()] * 3]
            if schema_secret(stream.token) in bytes(wrong):
                possible.append([])
            if got not in possible:
                raise AssertionError(f"other rows, {got}, of {bytes(wrong).hex()}")
        if read(one.token) != values.to_pylist():
            raise AssertionError("the array is not shared any more")


def replayed(rng):
    """Opened more often than it may be, and after it was closed."""
    values, opens = cdevice.asarray(rng.choice(VALUES)), rng.randrange(4)
    with values.share(opens=opens) as shared:
        got = [read(shared.token) for _ in range(opens + 2)]
        want = [values.to_pylist()] * (opens or 2)
        if got != want + [None] * (len(got) - len(want)):
            raise AssertionError(f"opened {got}, shared for {opens} times")
    with cdevice.asstream([values] * 2).share() as stream:
        got = [read(stream.token) for _ in range(2)]
        if got != [[values.to_pylist()] * 2, None]:
            raise AssertionError(f"a stream was read as {got}")
    if read(shared.token) is not None or read(stream.token) is not None:
        raise AssertionError("opened when it was closed")


# ---- answers ----
def handed_out(parts, head, seals):
    def answer(connection, _):
        made = [segment(p, s) for p, s in zip(parts, seals)]
        try:
            if made:
                socket.send_fds(connection, [head], made)
            else:
                connection.send(head)
        finally:
            for fd in made:
                os.close(fd)

    return answer


def changed(rng, part):
    """Numbers, bits or the length of a segment."""
    out = bytearray(part)
    for _ in range(rng.randrange(1, 4)):
        what = rng.randrange(3)
        if what == 0 and len(out) >= 8:
            struct.pack_into("<q", out, rng.randrange(len(out) // 8) * 8, rng.choice((*NUMBERS, rng.getrandbits(62))))
        elif what == 1 and out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        elif what == 2 and rng.random() < 0.3:
            out = out[: rng.randrange(len(out) + 1)] if rng.random() < 0.7 else out + bytes(rng.randrange(1, 99))
    return bytes(out)


def answers(rng):
    """A process that says something else than it should: words, numbers, segments, seals."""
    parts = captured(cdevice.asarray(rng.choice(VALUES)))
    image = parts[0]
    what = rng.randrange(6)
    if what < 3:
        parts[0] = changed(rng, image)
    elif what == 3:
        at = rng.randrange(len(parts))
        parts[at] = changed(rng, parts[at])
    elif what == 4:
        parts = rng.choice((parts[:-1], [*parts, b"x" * 64], parts[::-1], parts[:1] * len(parts), parts * 3))
    head = ANSWER.pack(OK, 0, len(parts))
    if what == 5 or rng.random() < 0.1:
        head = rng.choice((
            ANSWER.pack(OK, rng.choice(NUMBERS), len(parts)), ANSWER.pack(OK, 0, rng.choice(NUMBERS)),
            ANSWER.pack(rng.randbytes(8), 0, len(parts)), head[: rng.randrange(1, len(head))], head + b"x",
        ))  # fmt: skip
    seals = [SEAL_ALL if rng.random() < 0.97 else rng.randrange(16) for _ in parts]
    with broker(handed_out(parts, head, seals)) as token, contextlib.suppress(RecursionError):
        read(token)  # an array that can be read to its end, or an error


KINDS = (tokens, replayed, answers, answers, answers)


def case(seed):
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    before = state()
    kind(rng)
    until(lambda: state() == before, lambda: f"that nothing is left: {state()}, {before} before")
    return kind.__name__


if __name__ == "__main__":
    cdevice.asarray([1]).share().close()  # the thread and its socket
    read(cdevice.asarray([1]).share().token)
    sys.exit(driver.run("tokens", case, *driver.arguments()))
