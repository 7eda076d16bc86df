"""The block of bytes that ArrowSchema.metadata is, and mappings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Metadata


def decode_metadata(raw: Any) -> dict[bytes, bytes] | None:
    if raw is None:
        return None
    import struct  # here: few ask for metadata, and everybody imports

    out, at = {}, 4
    for _ in range(struct.unpack_from("=i", raw)[0]):
        pair = []
        for _ in range(2):
            (n,) = struct.unpack_from("=i", raw, at)
            pair.append(raw[at + 4 : at + 4 + n])
            at += 4 + n
        out[pair[0]] = pair[1]
    return out


def encode_metadata(metadata: Metadata | None) -> bytes | None:
    """As ArrowSchema.metadata; a block of bytes is taken as it is, and checked where it is read."""
    if metadata is None or isinstance(metadata, bytes):
        return metadata
    if not hasattr(metadata, "items"):
        raise TypeError(f"metadata must be a mapping of str or bytes, not {type(metadata).__name__}")
    import struct

    pairs = list(metadata.items())
    out = [struct.pack("=i", len(pairs))]
    for pair in pairs:
        for part in pair:
            if not isinstance(part, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"metadata must be str or bytes, not {type(part).__name__}")
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else bytes(part)
            out += [struct.pack("=i", len(data)), data]
    return b"".join(out)
