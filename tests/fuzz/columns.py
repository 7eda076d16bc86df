"""pyarrow's arrays that chance draws: values at their limits, nulls, slices, every layout that pyarrow makes."""

import decimal
import itertools
import math
import struct

import pyarrow as pa

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NUMBERS = [*INTEGERS, pa.float32(), pa.float64()]
TIMES = [pa.date32(), pa.time32("s"), pa.time64("us"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.duration("ns")]
NARROW = [pa.decimal32(7, 2), pa.decimal32(9, 0), pa.decimal64(16, 4), pa.decimal64(18, 18)]
WIDE = [pa.decimal256(40, 3), pa.decimal256(76, 0)]
DECIMALS = [pa.decimal128(12, 3), pa.decimal128(5, 0), pa.decimal128(20, 18), pa.decimal128(38, 2), *NARROW, *WIDE]
SCALES = [pa.decimal128(38, 38), pa.decimal128(38, 37), pa.decimal256(76, 76), pa.decimal64(18, 17)]  # at their limits
SIZED = [*NUMBERS, *TIMES, pa.bool_(), pa.decimal128(12, 3), pa.binary(5), pa.float16(), NARROW[0], NARROW[2], WIDE[0]]
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
VIEWS = [pa.string_view(), pa.binary_view()]
WORDS = ("", "a", "ab", "b", "Ü", "of fourteen b.", "rather longer than a view holds inline")


def value(rng, t):
    if pa.types.is_boolean(t):
        return rng.random() < 0.5
    if pa.types.is_floating(t):
        odd = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -7.0, 1e-300, 2.0**53)
        x = rng.choice(odd) if rng.random() < 0.2 else rng.uniform(-1000, 1000)
        return struct.unpack("e", struct.pack("e", x if abs(x) < 6e4 or x != x else 1.0))[0] if t == pa.float16() else x
    if pa.types.is_integer(t):
        low, high = (
            (0, 2**t.bit_width - 1)
            if str(t).startswith("u")
            else (-(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1)
        )
        return (
            rng.choice((low, high, 0, 1, low + 1))
            if rng.random() < 0.2
            else rng.randint(max(low, -100), min(high, 100))
        )
    if pa.types.is_decimal(t):
        most = 10**t.precision - 1
        whole = (
            rng.choice((most, -most, 0)) if rng.random() < 0.2 else rng.randint(max(-most, -(10**9)), min(most, 10**9))
        )
        return decimal.Decimal(whole).scaleb(-t.scale, decimal.Context(prec=90))
    if pa.types.is_temporal(t):
        return rng.randint(0, 80_000)
    if pa.types.is_fixed_size_binary(t):
        return rng.randbytes(5)
    word = rng.choice(WORDS)
    return word.encode() if t in (pa.binary(), pa.large_binary(), pa.binary_view()) else word


def sized(rng, t, n):
    nulls = rng.choice((0, 0.1, 0.5, 1))
    values = [None if rng.random() < nulls else value(rng, t) for _ in range(n)]
    if pa.types.is_temporal(t):
        return pa.array(values, pa.int32() if t.bit_width == 32 else pa.int64()).cast(t)
    return pa.array(values, t)


def column(rng, t, n):
    """So many rows of a type, cut out of more."""
    before, behind = rng.choice((0, 0, 1, 7, 31, 33)), rng.choice((0, 0, 3))
    return nested(rng, t, before + n + behind).slice(before, n)


def nested(rng, t, n):
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        sizes = [rng.randrange(4) for _ in range(n)]
        offsets = [0]
        for s in sizes:
            offsets.append(offsets[-1] + s)
        if rng.random() < 0.5 and n:
            offsets[rng.randrange(n)] = None
        kind = pa.ListArray if pa.types.is_list(t) else pa.LargeListArray
        width = pa.int32() if pa.types.is_list(t) else pa.int64()
        return kind.from_arrays(pa.array(offsets, width), nested(rng, t.value_type, (sizes and sum(sizes)) or 0))
    if pa.types.is_null(t):
        return pa.nulls(n)
    if pa.types.is_list_view(t) or pa.types.is_large_list_view(t):
        values, width = nested(rng, t.value_type, 9), pa.int32() if pa.types.is_list_view(t) else pa.int64()
        begins, kind = [rng.randrange(6) for _ in range(n)], type(pa.array([], t))
        mask = pa.array([rng.random() < 0.2 for _ in range(n)], pa.bool_()) if rng.random() < 0.5 else None
        sizes = pa.array([rng.randrange(4) for _ in range(n)], width)
        return kind.from_arrays(pa.array(begins, width), sizes, values, mask=mask)
    if pa.types.is_map(t):
        offsets = list(itertools.accumulate((rng.randrange(4) for _ in range(n)), initial=0))
        mask = pa.array([rng.random() < 0.2 for _ in range(n)], pa.bool_()) if rng.random() < 0.5 else None
        few = [v for v in sized(rng, t.key_type, 9).to_pylist() if v is not None] or [value(rng, t.key_type)]
        keys = pa.array([rng.choice(few) for _ in range(offsets[-1])], t.key_type)
        items = nested(rng, t.item_type, offsets[-1])
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, mask=mask)
    if pa.types.is_run_end_encoded(t):
        ends = list(itertools.accumulate(rng.randrange(1, 4) for _ in range(n)))
        ends = [min(e, n) for e in ends[: next((i + 1 for i, e in enumerate(ends) if e >= n), n)]]
        values = nested(rng, t.value_type, len(ends))
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, t.run_end_type), values)
    if pa.types.is_fixed_size_list(t) and not t.list_size:  # which pyarrow divides by
        return pa.array([None if rng.random() < 0.2 else [] for _ in range(n)], t)
    if pa.types.is_fixed_size_list(t):
        mask = pa.array([rng.random() < 0.2 for _ in range(n)], pa.bool_()) if rng.random() < 0.5 else None
        return pa.FixedSizeListArray.from_arrays(nested(rng, t.value_type, n * t.list_size), type=t, mask=mask)
    if pa.types.is_struct(t):
        mask = pa.array([rng.random() < 0.2 for _ in range(n)], pa.bool_()) if rng.random() < 0.5 else None
        return pa.StructArray.from_arrays([nested(rng, f.type, n) for f in t], fields=list(t), mask=mask)
    if pa.types.is_dictionary(t):
        words = sized(rng, t.value_type, 5)
        picks = pa.array([None if rng.random() < 0.1 else rng.randrange(5) for _ in range(n)], t.index_type)
        return pa.DictionaryArray.from_arrays(picks, words)
    return sized(rng, t, n)


def any_type(rng):
    t = rng.choice(SIZED + TEXTS)
    kind = rng.randrange(10)
    if kind == 0:
        return pa.list_(t)
    if kind == 8:
        return pa.list_(t, rng.randrange(1, 4))
    if kind == 9:
        return pa.null()
    if kind == 1:
        return pa.struct([("a", t), ("b", rng.choice(TEXTS))])
    if kind == 2:
        return pa.dictionary(pa.int8(), rng.choice(TEXTS))
    if kind == 3:
        return pa.large_list(pa.list_(t))
    return t
