"""An array under the type that was asked for: bits are never read as something else."""

from __future__ import annotations

from ..errors import ArgumentError
from .assemble import under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DeviceArray, Schema


def require(out: DeviceArray, want: Schema) -> None:
    if not out.schema.equals(want) and out.type != want.type:
        way = "; from_buffers(type, length, [None, buffer]) gives bytes another type" if out._format == "C" else ""
        raise ArgumentError(f"the data is {out.type}, not {want.type}; no conversion is done: cast first{way}")


# temporal types are counts: of what integer
_COUNTS = {"tdD": "i", "tdm": "l", "tts": "i", "ttm": "i", "ttu": "l", "ttn": "l", "tiM": "i"}


def _counted_in(f: str) -> str | None:
    """The format of the integers that a temporal type counts in; None for other types."""
    return _COUNTS.get(f, "l" if f.startswith(("ts", "tD")) else None)


def _same_values(f: str, g: str) -> bool:
    """Do the integers of one type mean the same in the other?  Units are never reinterpreted."""
    return _counted_in(f) == g or _counted_in(g) == f or (f[:2] == g[:2] == "ts" and f[2] == g[2])


def retyped(out: DeviceArray, want: Schema) -> DeviceArray:
    """Integers as a temporal type that counts in them, or back; timestamps in another zone; else its own type alone.

    Raises ArgumentError for another type: bits are never read as something else.
    """
    if out.schema.equals(want):
        return out
    plain = not (out._n_children or want._n_children or want.dictionary or out.dictionary)
    if not plain or not _same_values(out._format, want.format):
        require(out, want)
        return out
    return under(out, want, validate="structure")
