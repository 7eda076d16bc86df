"""What is done to arrays that chance draws: joined, sent as frames, filled by hand, put into memory that was used before.

    python tests/fuzz/arrays.py SECONDS [SEED]

Values must come out as pyarrow has them; frames that somebody cut, lengthened, swapped or changed must be refused, or make
an array that the full check refuses, or one all of whose values can be read.  A finding ends the process.
"""

import contextlib
import pickle
import random
import sys

import driver
import numpy as np
import pyarrow as pa
from columns import any_type, column

import cdevice

try:
    from dask.base import tokenize
    from distributed import protocol
except ImportError:
    tokenize = protocol = None

OPENCL = cdevice.device("opencl").is_available
REFUSED = (cdevice.Error, ValueError, TypeError, OverflowError, NotImplementedError, pickle.UnpicklingError)
LENGTHS = (0, 1, 5, 31, 32, 33, 100, 700)


def somewhere(rng):
    return "opencl" if OPENCL and rng.random() < 0.3 else "cpu"


def joined(rng):
    t = any_type(rng)
    chunks = [column(rng, t, rng.choice(LENGTHS)) for _ in range(rng.randrange(1, 6))]
    place = somewhere(rng)
    ours = cdevice.concat([cdevice.asarray(c).to(place if rng.random() < 0.5 else "cpu") for c in chunks], device=place)
    want = pa.chunked_array(chunks, t)
    have = ours.to("cpu")
    have.validate("full")
    if pa.array(have).to_pylist() != want.to_pylist() and repr(have.to_pylist()) != repr(want.to_pylist()):
        raise AssertionError(f"joined on {place}: {have.to_pylist()} of {want.to_pylist()}")
    return "joined"


def values_of(array):
    """Every one of them; those of times may be too large for Python, which is said."""
    try:
        return array.to("cpu").to_pylist()
    except ValueError as e:
        if "Python cannot represent a value" not in str(e):
            raise
        return None


def read(array):
    """Every value, on the CPU; what the full check lets pass must have some."""
    try:
        array.validate("full")
    except cdevice.InvalidArray:
        return "frames, values refused"
    values_of(array)
    return "frames taken"


def changed(rng, frames):
    """Frames as a careless or hostile sender would have them."""
    frames = [bytearray(f) for f in frames]
    for _ in range(rng.randrange(1, 4)):
        if not frames:
            break
        k = rng.randrange(len(frames))
        kind = rng.randrange(6)
        if kind == 0:
            del frames[k][rng.randrange(len(frames[k]) + 1) :]
        elif kind == 1:
            frames[k] += rng.randbytes(rng.randrange(9))
        elif kind == 2 and frames[k]:
            frames[k][rng.randrange(len(frames[k]))] ^= 1 << rng.randrange(8)
        elif kind == 3:
            other = rng.randrange(len(frames))
            frames[k], frames[other] = frames[other], frames[k]
        elif kind == 4:
            frames[k] = bytearray(rng.randbytes(len(frames[k])))
        else:
            frames.pop(k)
    return frames


def by_pickle(array):
    frames = []
    data = pickle.dumps(array, protocol=5, buffer_callback=frames.append)
    return [f.raw() for f in frames], lambda frames: pickle.loads(data, buffers=frames)


def by_dask(array):
    header, frames = protocol.serialize(array)
    if header["serializer"] != "dask":
        raise AssertionError(f"{array!r} was sent by {header['serializer']}")
    return frames, lambda frames: protocol.deserialize(header, frames)


def sent(rng):
    a = column(rng, any_type(rng), rng.choice(LENGTHS))
    array = cdevice.asarray(a).to(somewhere(rng))
    frames, arrive = (by_dask if protocol and rng.random() < 0.5 else by_pickle)(array)
    whole = arrive(frames)
    if whole.device != array.device or repr(values_of(whole)) != repr(values_of(array)):
        raise AssertionError(f"sent {array!r}, came {whole!r}")
    with cdevice.pickling.load_on("cpu"):
        try:
            return read(arrive(changed(rng, frames)))
        except REFUSED:
            return "frames refused"


FILLED = ("int8", "int64", "float32", "float64", "bool", "date32", "timestamp[us]", "float16")


def filled(rng):
    types = {f"c{i}": rng.choice(FILLED) for i in range(rng.randrange(1, 4))}
    n, validity = rng.choice(LENGTHS), rng.random() < 0.5
    draft = cdevice.empty(types, n, device="cpu", validity=validity)
    for c in draft.children:
        for b in c.buffers if n else ():
            with contextlib.suppress(cdevice.CannotExport):  # no bitmap
                raw = b.memoryview().cast("B")
                raw[:] = rng.randbytes(len(raw))
    made = draft.freeze()
    made.validate("full")
    if len(made) != n or repr(values_of(made.to(somewhere(rng)))) != repr(values_of(made)):
        raise AssertionError(f"filled {types}, {n} rows")
    values_of(made)
    return "filled"


def used_again(rng):
    """Blocks of every size come and go, trims between them: each keeps what was written into it."""
    place, kept = somewhere(rng), []
    for i in range(rng.randrange(4, 20)):
        n = rng.choice((1, 1000, 70_000, 1 << 20, rng.randrange(3 << 20)))
        values = np.arange(n, dtype="u1") + np.uint8(i)
        kept.append((cdevice.asarray(values).to(place, copy=True), values))
        while kept and rng.random() < 0.4:
            array, values = kept.pop(rng.randrange(len(kept)))
            if not np.array_equal(array.to("cpu").to_numpy(), values):
                raise AssertionError(f"{len(values)} bytes on {place} are others")
        if rng.random() < 0.1:
            cdevice.device(place).trim()
    for array, values in kept:
        if not np.array_equal(array.to("cpu").to_numpy(), values):
            raise AssertionError(f"{len(values)} bytes on {place} are others")
    return "used again"


def named(rng):
    """Dask's tokens: the same whatever was asked of an array meanwhile, another for other rows."""
    t, n = any_type(rng), rng.choice(LENGTHS)
    one, other = (cdevice.asarray(column(rng, t, n)) for _ in range(2))
    token = tokenize(one)
    one.validate("full")
    one.to_pylist()
    if tokenize(one) != token:
        raise AssertionError(f"two tokens of {one!r}")
    if repr(one.to_pylist()) != repr(other.to_pylist()) and tokenize(other) == token:
        raise AssertionError(f"one token of {one!r} and {other!r}")
    return "named"


def case(seed):
    rng = random.Random(seed)
    kinds = [joined, joined, sent, sent, filled, used_again]
    if tokenize is not None:
        kinds.append(named)
    return rng.choice(kinds)(rng)


if __name__ == "__main__":
    seconds, seed = driver.arguments()
    try:
        driver.run("arrays", case, seconds, seed)
    except AssertionError as e:
        print(f"FOUND: {e}", file=sys.stderr)
        raise SystemExit(1) from e
