"""copy(): every byte, and no other."""

from __future__ import annotations

import errno

from .area import Area, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..suite import BackendSuite


check = Area("copies")


@check((0, 0, 1), (1, 0, 3), (0, 1, 3), (7, 5, 65), (64, 64, 4096), (3, 0, 100_003), (0, 9, 1_000_003))
def check_bytes_arrive_where_they_belong(s: BackendSuite, where: Any) -> None:
    at, start, n = where
    data = bytes((i * 7 + 3) & 255 for i in range(251)) * (1 + (start + n) // 251)
    with s.block(at + n + 16) as b:
        s.copy(1, [(b.data, 0, s.host(b"\xaa" * (at + n + 16)), 0, at + n + 16)])
        s.copy(1, [(b.data, at, s.host(data), start, n)])
        out = bytearray(at + n + 16)
        s.copy(2, [(s.host(out), 0, b.data, 0, at + n + 16)])
        expect(out[at : at + n], data[start : start + n], f"{n} bytes from offset {start} to offset {at}")
        assert out[:at] == b"\xaa" * at and out[at + n :] == b"\xaa" * 16, "bytes beside them were written"
        part = bytearray(n + 8)
        s.copy(2, [(s.host(part), 5, b.data, at, n)])
        expect(
            part[5 : 5 + n], data[start : start + n], f"{n} bytes from the device's offset {at} to the host's offset 5"
        )
        assert part[:5] == bytes(5), "host bytes before them were written"


@check()
def check_many_copies_in_one_call(s: BackendSuite) -> None:
    n = 200
    data = bytes(range(200))
    with s.block(4 * n) as b:
        s.copy(1, [(b.data, 4 * i, s.host(data), i, 1) for i in range(n)])
        out = bytearray(n)
        s.copy(2, [(s.host(out), i, b.data, 4 * i, 1) for i in range(n)])
        expect(bytes(out), data, "200 copies of one byte each")


@check()
def check_no_copies_are_no_error(s: BackendSuite) -> None:
    s.copy(1, [])


@check()
def check_copies_on_the_device(s: BackendSuite) -> None:
    data = bytes(range(256)) * 40
    with s.block(len(data)) as a, s.block(len(data)) as b:
        s.copy(1, [(a.data, 0, s.host(data), 0, len(data))])
        s.copy(1, [(b.data, 0, s.host(bytes(len(data))), 0, len(data))])
        try:
            s.copy(3, [(b.data, 100, a.data, 3, 5000)])
        except OSError as e:
            assert e.errno in (errno.ENOTSUP, errno.EOPNOTSUPP), f"a copy on the device: {e}"
            s.needs(False, "it does not copy on the device; the core goes through the host")
        out = bytearray(len(data))
        s.copy(2, [(s.host(out), 0, b.data, 0, len(data))])
        expect(out[100:5100], data[3:5003], "5000 bytes copied on the device from offset 3 to offset 100")
        assert not any(out[:100]) and not any(out[5100:]), "bytes beside them were written"
