"""Memory of zeros that costs nothing until it is written to, and arrays over it whose few other values are known."""

import mmap

import numpy as np

import cdevice

NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
EDGE31, EDGE32 = 1 << 31, 1 << 32


def zeros(nbytes):
    """Pages that were only read are all one page of the kernel's."""
    return mmap.mmap(-1, max(nbytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)


def numbers(dtype, n, marks=()):
    """``n`` zeros but for ``marks``, row -> value."""
    out = np.frombuffer(zeros(n * np.dtype(dtype).itemsize), dtype=dtype)
    for row, value in dict(marks).items():
        out[row] = value
    return out


def bits(n, set_rows=()):
    """A bitmap of ``n`` rows that is 0 but for some."""
    out = np.frombuffer(zeros((n + 7) // 8), dtype="u1")
    for row in set_rows:
        out[row // 8] |= 1 << row % 8
    return out


def bools(n, set_rows=()):
    return cdevice.from_buffers("bool", n, [None, bits(n, set_rows)], null_count=0)


def texts(type_, sizes, marks=(), validate="structure"):
    """Strings of 0 bytes of these sizes but for ``marks``, byte -> value."""
    ends = np.cumsum([0, *sizes], dtype="i8")
    offsets = ends.astype("i8" if type_.startswith("large") else "i4")
    data = numbers("u1", int(ends[-1]), marks)
    return cdevice.from_buffers(type_, len(sizes), [None, offsets, data], null_count=0, validate=validate)


def edges(n):
    """Rows at the beginning, the end and on both sides of 2^31 and 2^32, as far as there are such."""
    near = [0, 1, n - 2, n - 1]
    for edge in (EDGE31, EDGE32):
        near += [edge - 1, edge, edge + 1]
    return sorted({row for row in near if 0 <= row < n})


def marked(n):
    """row -> value, small and different ones at the edges."""
    return {row: k + 1 for k, row in enumerate(edges(n))}
