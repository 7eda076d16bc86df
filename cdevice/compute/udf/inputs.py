"""The arguments of a call as a kernel of a user's own reads them."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import check, lib
from ...errors import ArgumentError
from ...interop.concat import concat
from ..dispatch.datum import Datum, lone
from ..kernels import row_numbers as numbers
from ..kernels.cast.dictionary import known_rows
from ..kernels.columns import on_device_of
from ..kernels.elementwise import WORD, schema_of
from ..kernels.selection.take import take_array
from .kernels import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from .signature import Column

# kinds of operands, as in core/compute/launch_list.h
VALUES, VALIDITY, OUT, OUT_VALIDITY, TEMP = range(1, 6)
BUFFERS = 8  # of a kernel
_LETTERS = {"bits": "b", "8": "C", "16": "S", "32": "I", "64": "L"}  # by the bits of a value
_BROADCAST = 1  # ARG_BROADCAST of kernels/lang/protocol.h


class Inputs:
    """``columns``: the arrays of the call; ``readings``: how the kernel reads each argument, which is part of its text;
    ``operands``: the buffers of the kernel; ``rows``: of the result; ``nullable``: (number, is it one row for all) of
    the columns that may have nulls."""

    __slots__ = ("columns", "nullable", "operands", "readings", "rows")

    def __init__(
        self, call: Call, wanted: Sequence[Column], args: Sequence[Datum], slots: Sequence[int], bitmaps: bool
    ) -> None:
        """``slots``: the buffers of the kernel that are free; ``bitmaps``: the kernel reads which rows are null."""
        given = [a if a.array is not None else lone(call, a, w.schema) for a, w in zip(args, wanted, strict=True)]
        arrays = [on_device_of(call, a.array) for a in given if a.array is not None]
        ones = [a.one for a in given]
        lengths = sorted({x.length for x, one in zip(arrays, ones, strict=True) if not one})
        if len(lengths) > 1:
            raise ArgumentError(f"{call.function.name}: arguments of {' and '.join(map(str, lengths))} rows")
        self.rows = lengths[0] if lengths else 1
        has_nulls = [x.null_count != 0 for x in arrays]
        self.nullable = [(k, ones[k]) for k, null in enumerate(has_nulls) if null]
        self.columns = arrays
        self.operands: list[tuple[int, int, int]] = []
        self.readings: list[Reading] = []
        if len(arrays) + bitmaps * len(self.nullable) <= len(slots):
            free = [*slots]
            for k, (x, one, null) in enumerate(zip(wanted, ones, has_nulls, strict=True)):
                values = free.pop(0)
                self.operands.append((values, VALUES, k))
                validity = free.pop(0) if bitmaps and null else 0
                if validity:
                    self.operands.append((validity, VALIDITY, k))
                self.readings.append(Reading(x.type, x.name, one, bool(validity), (values, 0), (validity, 0)))
        else:
            self._pack(call, wanted, ones, has_nulls if bitmaps else [False] * len(ones), slots)

    def _pack(
        self, call: Call, wanted: Sequence[Column], ones: list[bool], has_nulls: list[bool], slots: Sequence[int]
    ) -> None:
        """More arguments than a kernel has buffers: those of one width one after the other in one buffer."""
        n = self.rows
        parts: dict[str, list[DeviceArray]] = {}
        known: list[DeviceArray] = []
        places = []
        for x, array, one, null in zip(wanted, self.columns, ones, has_nulls, strict=True):
            if one:
                array = _repeated(call, array, n, self.columns)
            letter = _LETTERS[x.type.lstrip("iuf")]
            like = parts.setdefault(letter, [])
            raw = assemble(schema_of(letter), n, [None, (array, 1)], offset=array.offset, null_count=0)
            places.append((letter, len(like), len(known)))
            like.append(raw)
            if null:
                known.append(known_rows(call, array))
        slot_of = dict(zip([*parts, *(["validity"] if known else [])], slots, strict=False))
        for letter, arrays in [*parts.items(), *([("validity", known)] if known else [])]:
            self.operands.append((slot_of[letter], VALUES, len(self.columns)))
            self.columns = [*self.columns, concat(arrays) if len(arrays) > 1 else arrays[0]]
        for x, null, (letter, part, bit) in zip(wanted, has_nulls, places, strict=True):
            validity = (slot_of["validity"], bit) if null else (0, 0)
            self.readings.append(Reading(x.type, x.name, False, null, (slot_of[letter], part), validity))


def null_where(columns: Sequence[tuple[int, bool]], out: int, rows: int) -> list[tuple[Any, ...]]:
    """The steps that write the bitmap of result ``out``: of columns, (number, is it one row for all)."""
    steps: list[tuple[Any, ...]] = []
    left = [*columns]
    while left:
        taken = [(OUT_VALIDITY, out, False)] if steps else []
        while left and len(taken) < 3:
            taken.append((VALIDITY, *left.pop(0)))
        kinds = sum(_BROADCAST << 2 * k for k, (_, _, one) in enumerate(taken) if one)
        operands = [(0, OUT_VALIDITY, out), *[(1 + k, kind, i) for k, (kind, i, _) in enumerate(taken)]]
        steps.append(("boolean", "bits", "valid_all", "", WORD, rows, tuple(operands), (kinds,)))
    return steps


def _repeated(call: Call, one: DeviceArray, rows: int, near: Sequence[DeviceArray]) -> DeviceArray:
    zeros = numbers.multiply(call, numbers.from_(call, near[0], 0, rows), 0)
    return take_array(call, one, zeros, False)


def register(text: str) -> str:
    """The name of the family of kernels that a text is."""
    import hashlib

    family = "own_" + hashlib.sha256(text.encode()).hexdigest()[:18]
    check(lib.cdv_kernel_register_source(family.encode(), text.encode()))
    return family


def kernels(text: str) -> tuple[str, str]:
    """Family and type of the kernels that a text is."""
    return register(text), "f64 i32" if "f64" in text else "i32"  # tells devices without it
