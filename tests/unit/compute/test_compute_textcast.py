"""Casts of numbers and times to text and back, against pyarrow and Python's own."""

import pytest
from textcast_checks import *  # noqa: F403
from textcast_checks import agree, cast, cdevice, edges, halfway, np, pa, pc, strings


def test_random_bits_are_printed_and_read_as_pyarrow_and_python_do():
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**64 - 1, 100_000, "u8")
    x = pa.array(np.concatenate([bits.view("f8"), edges()]))
    text = cast("cpu", x, "string")
    agree("cpu", x, pa.string())
    agree("cpu", text, pa.float64())
    assert all(float(t) == v or v != v for t, v in zip(text.to_pylist(), x.to_pylist(), strict=True))
    shortest = [repr(v) for v in bits[:20_000].view("f8").tolist()]
    assert all(digits(t) == digits(r) for t, r in zip(text.to_pylist(), shortest) if r != "nan")
    small = pa.array(rng.integers(0, 2**32 - 1, 100_000, "u4").view("f4"))
    agree("cpu", small, pa.string())
    agree("cpu", cast("cpu", small, "string"), pa.float32())


def digits(text):
    """Without the point, the exponent and zeros at both ends."""
    return text.partition("e")[0].replace(".", "").replace("-", "").strip("0")


def test_what_is_halfway_between_two_floats_is_read_as_python_reads_it():
    texts = halfway(300, 12, 100)
    assert max(map(len, texts)) > 800
    assert cast("cpu", strings(texts), "float64").to_pylist() == [float(t) for t in texts]
    agree("cpu", strings(texts), pa.float32())


def test_many_rows_are_cast_by_several_threads():
    n = 300_000
    x = pa.array(np.arange(n) * 7919 - 10**9)
    for rows in (x, x[1:]):
        text = cast("cpu", rows, "string")
        assert text.equals(pc.cast(rows, pa.string())) and cast("cpu", text, "int64").equals(rows)
    with pytest.raises(cdevice.ArgumentError, match="row 200001 cannot be read as int64: 'x'"):
        cast("cpu", pa.concat_arrays([text[:200_001], strings(["x", "y"] * 9)]), "int64")
