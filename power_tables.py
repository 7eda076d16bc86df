"""Powers of ten of 128 bits as a C table; ``build_ffi.py`` puts it into kernels that read and print floats.

Of each power the top 128 bits, cut: those of 10^0 to 10^55 are exact.
"""

LEAST, MOST = -342, 324  # what 64-bit floats and numbers of 19 digits need


def top_bits(power):
    """The first 128 bits of 10^power, whose highest is set."""
    if power >= 0:
        x = 10**power
        return x << (128 - x.bit_length()) if x.bit_length() <= 128 else x >> (x.bit_length() - 128)
    by = 10**-power
    x = (1 << (by.bit_length() + 128)) // by
    return x >> (x.bit_length() - 128)


def texts():
    """The lines of each file, by its name."""
    words = []
    for power in range(LEAST, MOST + 1):
        x = top_bits(power)
        words += [x >> 64, x & (1 << 64) - 1]
    lines = [f"#define POWER_LEAST ({LEAST})", f"#define POWER_MOST {MOST}", f"TABLE(u64) top_bits[{len(words)}] = {{"]
    row = [f"0x{x:016x}u," for x in words]
    return {"powers": [*lines, *("".join(row[i : i + 4]) for i in range(0, len(row), 4)), "};"]}
